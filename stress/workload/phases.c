/* `phases`: trials of one program, each of which loads a model, trains it, evaluates it and writes a checkpoint. */
#include "train.h"

#include "../base/splitmix64.h"

enum { PHASES_RESULTS = 2 };                     /* blocks a trial: the prompt's likelihoods, and all tokens */

typedef struct phases {
    train     model;                             /* its steps are trials; its batch is drawn for each */
    uint64_t  updates, generate, streams;
    family_range batches;
    uint64_t  copy_stream;                       /* 1: copies from and to the host have a stream of their own */
    uint64_t  trial;
    uint32_t  data;                              /* of this trial */
    uint32_t *cache;                             /* layers x 2: keys and values */
    uint64_t  cached_rows;                       /* tokens of all sequences in it */
    uint64_t  rows;                              /* tokens of this pass through the layers */
    uint64_t  narrow_bytes, wide_bytes;          /* of this pass: rows x hidden, rows x ff */
    uint32_t  best;                              /* first of the best trial's weights */
    int       has_best;
    uint32_t *results;
    size_t    result_count;
} phases;

/* ---- Evaluation, without gradients: a prompt, then one token a sequence at a time */

/* The pass reads all its weights, and multiplies them with every row: the slower of the two counts. */
static uint64_t phases_matrix_ns(phases *run, uint64_t elements)
{
    maker *words = &run->model.words;
    uint64_t read_ns = maker_times(words, 2, elements) / RATE_MEMORY_BYTES_PER_NS;
    uint64_t flops = maker_times(words, maker_times(words, 2, run->rows), elements);
    return flops / RATE_FLOPS_PER_NS > read_ns ? flops / RATE_FLOPS_PER_NS : read_ns;
}

static void phases_rows(phases *run, uint64_t rows)
{
    maker *words = &run->model.words;
    run->rows = rows;
    run->narrow_bytes = maker_times(words, maker_times(words, 2, rows), run->model.hidden);
    run->wide_bytes = maker_times(words, maker_times(words, 2, rows), run->model.ff);
}

/* Keys or values of this pass join the cached ones: in a new block, as concatenating does. The first ones are the
   cache. */
static void phases_cache(phases *run, uint32_t *cached, uint32_t fresh)
{
    train *model = &run->model;
    maker *words = &model->words;
    if (run->cached_rows == 0) {
        *cached = fresh;
        return;
    }
    uint64_t row_bytes = maker_times(words, 2, model->hidden);
    uint64_t bytes = maker_times(words, row_bytes, maker_plus(words, run->cached_rows, run->rows));
    uint32_t longer = maker_new(words, bytes);
    MAKER_KERNEL(words, 0, maker_times(words, 2, bytes) / RATE_MEMORY_BYTES_PER_NS, *cached, fresh, longer);
    MAKER_FREE(words, *cached, fresh);
    *cached = longer;
}

/* Takes the layer's input, which is freed; returns the input of its second half. */
static uint32_t phases_attention(phases *run, uint64_t layer, uint32_t source)
{
    train *model = &run->model;
    maker *words = &model->words;
    uint64_t narrow = run->narrow_bytes;
    uint32_t weights = model->weights + (uint32_t)layer * TRAIN_MATRICES, *cached = run->cache + layer * 2;
    uint32_t norm = maker_new(words, narrow);
    uint32_t q = maker_new(words, narrow), k = maker_new(words, narrow), v = maker_new(words, narrow);
    maker_free(words, norm);
    uint32_t rotated_q = maker_new(words, narrow), rotated_k = maker_new(words, narrow);
    MAKER_FREE(words, q, k);
    phases_cache(run, &cached[0], rotated_k);
    phases_cache(run, &cached[1], v);
    uint32_t attention = maker_new(words, narrow), projected = maker_new(words, narrow);
    uint32_t middle = maker_new(words, narrow);
    maker_kernel(words, 0, phases_matrix_ns(run, maker_times(words, 4, model->shapes[0])));
    maker_touch_run(words, weights, 4);
    maker_touch(words, model->norms + (uint32_t)layer * 2);
    maker_touch_all(words, MAKER_BLOCKS(source, cached[0], cached[1], rotated_q, attention, projected, middle));
    MAKER_FREE(words, rotated_q, attention, projected, source);
    return middle;
}

/* Takes the middle, which is freed; returns the layer's output. */
static uint32_t phases_feed_forward(phases *run, uint64_t layer, uint32_t middle)
{
    train *model = &run->model;
    maker *words = &model->words;
    uint32_t weights = model->weights + (uint32_t)layer * TRAIN_MATRICES + 4;
    uint32_t norm = maker_new(words, run->narrow_bytes);
    uint32_t gate = maker_new(words, run->wide_bytes), up = maker_new(words, run->wide_bytes);
    maker_free(words, norm);
    uint32_t activation = maker_new(words, run->wide_bytes);
    maker_free(words, gate);
    uint32_t product = maker_new(words, run->wide_bytes);
    MAKER_FREE(words, activation, up);
    uint32_t down = maker_new(words, run->narrow_bytes), output = maker_new(words, run->narrow_bytes);
    maker_kernel(words, 0, phases_matrix_ns(run, maker_times(words, 3, model->shapes[4])));
    maker_touch_run(words, weights, 3);
    maker_touch(words, model->norms + (uint32_t)layer * 2 + 1);
    maker_touch_all(words, MAKER_BLOCKS(middle, product, down, output));
    MAKER_FREE(words, product, down, middle);
    return output;
}

/* All layers over the tokens of this pass; returns the last one's output. */
static uint32_t phases_layers(phases *run, uint32_t tokens)
{
    train *model = &run->model;
    maker *words = &model->words;
    uint32_t output = maker_new(words, run->narrow_bytes);
    MAKER_KERNEL(words, 0, run->narrow_bytes / RATE_MEMORY_BYTES_PER_NS, tokens, model->embedding, output);
    for (uint64_t layer = 0; layer < model->layers && !maker_is_over(words); layer++) {
        output = phases_feed_forward(run, layer, phases_attention(run, layer, output));
    }
    run->cached_rows = maker_plus(words, run->cached_rows, run->rows);
    return output;
}

/* Takes the last layer's output, which is freed, by way of logits to what is made of them. */
static void phases_logits(phases *run, uint32_t output, uint32_t made)
{
    train *model = &run->model;
    maker *words = &model->words;
    uint64_t bytes = maker_times(words, maker_times(words, 2, run->rows), model->vocab);
    uint32_t logits = maker_new(words, bytes);
    maker_kernel(words, 0, phases_matrix_ns(run, maker_times(words, model->vocab, model->hidden)));
    maker_touch_all(words, MAKER_BLOCKS(output, model->head, model->last_norm, logits, made));
    MAKER_FREE(words, logits, output);
}

/* One more token of every sequence goes through the layers, and joins the 64-bit ones that did before: in a new
   block. */
static uint32_t phases_generate(phases *run, uint32_t tokens)
{
    maker *words = &run->model.words;
    uint32_t output = phases_layers(run, tokens);
    uint32_t longer = maker_new(words, maker_times(words, 8, run->cached_rows));
    phases_logits(run, output, longer);
    MAKER_KERNEL(words, 0, 1, tokens, longer);
    maker_free(words, tokens);
    return longer;
}

/* Scores a prompt of drawn length, then generates token after token. Frees the trial's data, keeps two results. */
static void phases_evaluate(phases *run)
{
    train *model = &run->model;
    maker *words = &model->words;
    train_draw(model);
    run->cached_rows = 0;
    phases_rows(run, model->tokens);
    uint32_t tokens = maker_new(words, maker_times(words, 8, run->rows));
    uint32_t likelihoods = maker_new(words, maker_times(words, 4, run->rows));
    MAKER_KERNEL(words, 0, 1, run->data, tokens);
    maker_free(words, run->data);
    phases_logits(run, phases_layers(run, tokens), likelihoods);
    phases_rows(run, model->batch);
    for (uint64_t token = 0; token < run->generate && !maker_is_over(words); token++) {
        tokens = phases_generate(run, tokens);
    }
    maker_free_all(words, run->cache, (size_t)model->layers * 2, 0);
    run->results[run->result_count++] = likelihoods;
    run->results[run->result_count++] = tokens;
}

/* ---- Options and trials */

/* What one phase needs, memory cached for another must serve: staging buffers of 32-bit tensors, activations and
   their gradients, key-value caches that grow token by token, a layer's state packed into one buffer. Some blocks
   outlive their phase (weights: load to checkpoint; data: load to evaluate; state: train to checkpoint), some their
   trial: the weights of the best one so far, and the results of all. */
static const family_option phases_options[] = {
    TRAIN_SHAPES(phases, model., 1, 16),
    OPTION_RANGE(phases, batches, "batch", 1, UINT32_MAX, 2, 8),
    OPTION_RANGE(phases, model.lengths, "seq", 1, UINT32_MAX, 256, 2048),
    TRAIN_STEPS(phases, model., 4),
    OPTION(phases, updates, "updates", 0, 1000000, 2),
    OPTION(phases, generate, "generate", 0, 1000000, 16),
    OPTION(phases, streams, "streams", 1, 2, 1),
};

static uint32_t phases_weight_count(const phases *run)
{
    return (uint32_t)run->model.layers * (TRAIN_MATRICES + 2) + 3;
}

/* From the host in 32 bits, to the weight in 16. The buffer is freed where it was used last. */
static void phases_load_tensor(phases *run, uint32_t weight)
{
    train *model = &run->model;
    maker *words = &model->words;
    uint64_t bytes = maker_times(words, 2, maker_bytes(words, weight));
    uint32_t staging = maker_new_on(words, bytes, run->copy_stream);
    MAKER_KERNEL(words, run->copy_stream, bytes / RATE_HOST_BYTES_PER_NS, staging);
    maker_wait(words, 0, run->copy_stream);
    MAKER_KERNEL(words, 0, bytes / RATE_MEMORY_BYTES_PER_NS, staging, weight);
    maker_free(words, staging);
}

/* Data: the 64-bit tokens of all updates. */
static void phases_load(phases *run)
{
    train *model = &run->model;
    maker *words = &model->words;
    maker_step(&run->model.words, "load", run->trial);
    model->batch = maker_draw(words, run->batches.low, run->batches.high);
    uint64_t tokens = maker_times(words, maker_times(words, model->batch, model->lengths.high), run->updates + 1);
    uint64_t bytes = maker_times(words, 8, tokens);
    run->data = maker_new_on(words, bytes, run->copy_stream);
    MAKER_KERNEL(words, run->copy_stream, bytes / RATE_HOST_BYTES_PER_NS, run->data);
    train_setup_weights(model);
    for (uint32_t i = 0; i < phases_weight_count(run) && !maker_is_over(words); i++) {
        phases_load_tensor(run, model->weights + i);
    }
}

static void phases_train(phases *run)
{
    maker_step(&run->model.words, "train", run->trial);
    train_setup_state(&run->model);
    for (uint64_t update = 0; update < run->updates && !maker_is_over(&run->model.words); update++) {
        MAKER_KERNEL(&run->model.words, 0, 1, run->data);
        train_one_step(&run->model);
    }
}

/* A layer's state goes out in three buffers, each packed on stream 0 and freed where it is written to the host. */
static void phases_save_layer(phases *run, uint32_t layer, uint32_t moment)
{
    train *model = &run->model;
    maker *words = &model->words;
    uint64_t bytes = maker_times(words, 4, model->shapes_total);
    uint32_t tensor = model->state + layer * TRAIN_MATRICES * TRAIN_MOMENTS + moment;
    uint32_t packed = maker_new(words, bytes);
    maker_kernel(words, 0, bytes / RATE_MEMORY_BYTES_PER_NS);
    for (uint32_t i = 0; i < TRAIN_MATRICES; i++) maker_touch(words, tensor + i * TRAIN_MOMENTS);
    maker_touch(words, packed);
    maker_wait(words, run->copy_stream, 0);
    MAKER_KERNEL(words, run->copy_stream, bytes / RATE_HOST_BYTES_PER_NS, packed);
    maker_free_all(words, &packed, 1, run->copy_stream);
}

/* A copy of the weights is made before the one of an earlier trial is dropped. */
static void phases_keep_best(phases *run)
{
    train *model = &run->model;
    maker *words = &model->words;
    uint32_t best = maker_next(words), count = phases_weight_count(run);
    for (uint32_t i = 0; i < count && !maker_is_over(words); i++) {
        uint64_t bytes = maker_bytes(words, model->weights + i);
        maker_new(words, bytes);
        MAKER_KERNEL(words, 0, bytes / RATE_MEMORY_BYTES_PER_NS, model->weights + i, best + i);
    }
    maker_free_run(&run->model.words, run->best, run->has_best ? count : 0);
    run->best = best;
    run->has_best = 1;
}

/* Of trials in random order, the one with number t (from 0) is the best so far with probability 1 / (t + 1). */
static void phases_checkpoint(phases *run)
{
    train *model = &run->model;
    uint32_t layers = (uint32_t)model->layers;
    maker_step(&run->model.words, "checkpoint", run->trial);
    for (uint32_t i = 0; i < layers * TRAIN_MOMENTS && !maker_is_over(&model->words); i++) {
        phases_save_layer(run, i / TRAIN_MOMENTS, i % TRAIN_MOMENTS);
    }
    maker_free_run(&run->model.words, model->state, layers * TRAIN_MATRICES * TRAIN_MOMENTS);
    if (splitmix64_below(&model->words.random, run->trial + 1) == 0) phases_keep_best(run);
    maker_free_run(&run->model.words, model->weights, phases_weight_count(run));
}

static void phases_trials(phases *run)
{
    train *model = &run->model;
    maker *words = &model->words;
    for (run->trial = 0; run->trial < model->steps && !maker_is_over(words); run->trial++) {
        phases_load(run);
        phases_train(run);
        maker_step(&run->model.words, "evaluate", run->trial);
        phases_evaluate(run);
        phases_checkpoint(run);
    }
    maker_free_run(&run->model.words, run->best, run->has_best ? phases_weight_count(run) : 0);
    maker_free_all(words, run->results, run->result_count, 0);
}

static void phases_make(void *self)
{
    phases *run = self;
    maker *words = &run->model.words;
    run->model.streams = 1;
    run->copy_stream = run->streams - 1;
    train_begin(&run->model);
    run->cache = maker_array(words, run->model.layers * 2, sizeof *run->cache);
    run->results = maker_array(words, run->model.steps * PHASES_RESULTS, sizeof *run->results);
    phases_trials(run);
}

FAMILY(phases, "trials that load, train, evaluate and save a transformer: memory of one phase must serve the next",
       "of training: weights x 16 bytes and activations, beside the best weights so far", 32078961452);
