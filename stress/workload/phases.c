/* `phases`: trials of one program, each of which loads a model, trains it, evaluates it and writes a checkpoint. */
#include "train.h"

/* Memory cached for one phase must serve another: staging buffers of 32-bit tensors, activations and their gradients,
   key-value caches that grow token by token, a layer's state packed into one buffer. Some blocks outlive their phase
   (weights: load to checkpoint; data: load to evaluate; state: train to checkpoint), some their trial: the weights of
   the best one so far, and the results of all. */
typedef struct phases {
    train     model;                             /* its steps are trials; its batch is drawn for each */
    uint64_t  updates, generate, streams;
    family_range batches;
    uint64_t  copy_stream;                       /* 1: copies from and to the host have a stream of their own */
    uint64_t  weight_count;
    uint32_t  data;                              /* of this trial */
    uint32_t *cache;                             /* layers x 2: keys and values */
    uint64_t  cached_rows;                       /* tokens of all sequences in it */
    uint32_t  best;                              /* first of the best trial's weights */
    uint64_t  best_count;                        /* of those weights; 0 before the first */
    uint32_t *results;                           /* two a trial: the prompt's likelihoods, and all tokens */
    size_t    result_count;
} phases;

static const family_option phases_options[] = {
    TRAIN_SHAPES(phases, model., 1, 16),
    OPTION_RANGE(phases, batches, "batch", 1, UINT32_MAX, 2, 8),
    OPTION_RANGE(phases, model.lengths, "seq", 1, UINT32_MAX, 256, 2048),
    TRAIN_STEPS(phases, model., 4),
    OPTION(phases, updates, "updates", 0, 1000000, 2),
    OPTION(phases, generate, "generate", 0, 1000000, 16),
    OPTION(phases, streams, "streams", 1, 2, 1),
};

/* ---- Evaluation, without gradients: a prompt, then one token a sequence at a time */

/* The pass reads all its weights, and multiplies them with every row: the slower of the two counts. */
static uint64_t phases_matrix_ns(train *model, uint64_t elements)
{
    uint64_t read_ns = MAKER_TIMES(model, 2, elements) / RATE_MEMORY_BYTES_PER_NS;
    uint64_t compute_ns = MAKER_TIMES(model, 2, model->tokens, elements) / RATE_FLOPS_PER_NS;
    return compute_ns > read_ns ? compute_ns : read_ns;
}

/* Keys or values of this pass join the cached ones: in a new block, as concatenating does. The first ones are the
   cache. */
static void phases_cache(phases *run, uint32_t *cached, uint32_t fresh)
{
    if (run->cached_rows > 0) {
        uint64_t rows = maker_plus(run, run->cached_rows, run->model.tokens);
        uint64_t bytes = MAKER_TIMES(run, 2, run->model.hidden, rows);
        uint32_t longer = maker_new(run, bytes);
        MAKER_MOVE(run, MAKER_TIMES(run, 2, bytes), *cached, fresh, longer);
        MAKER_FREE(run, *cached, fresh);
        fresh = longer;
    }
    *cached = fresh;
}

/* Takes the layer's input, which is freed; returns the input of its second half. */
static uint32_t phases_attention(phases *run, uint64_t layer, uint32_t source)
{
    train *model = &run->model;
    uint64_t narrow = model->narrow_bytes;
    uint32_t *cached = run->cache + layer * 2;
    uint32_t norm = maker_new(run, narrow);
    uint32_t q = maker_new(run, narrow), k = maker_new(run, narrow), v = maker_new(run, narrow);
    MAKER_FREE(run, norm);
    uint32_t rotated_q = maker_new(run, narrow), rotated_k = maker_new(run, narrow);
    MAKER_FREE(run, q, k);
    phases_cache(run, &cached[0], rotated_k);
    phases_cache(run, &cached[1], v);
    uint32_t attention = maker_new(run, narrow), projected = maker_new(run, narrow), middle = maker_new(run, narrow);
    maker_kernel(run, 0, phases_matrix_ns(model, MAKER_TIMES(run, 4, model->shapes[0])));
    maker_touch_run(run, model->weights + (uint32_t)layer * TRAIN_MATRICES, 4);
    MAKER_TOUCH(run, model->norms + (uint32_t)layer * 2);
    MAKER_TOUCH(run, source, cached[0], cached[1], rotated_q, attention, projected, middle);
    MAKER_FREE(run, rotated_q, attention, projected, source);
    return middle;
}

/* Takes the middle, which is freed; returns the layer's output. */
static uint32_t phases_feed_forward(train *model, uint64_t layer, uint32_t middle)
{
    uint64_t narrow = model->narrow_bytes, wide = model->wide_bytes;
    uint32_t norm = maker_new(model, narrow), gate = maker_new(model, wide), up = maker_new(model, wide);
    MAKER_FREE(model, norm);
    uint32_t activation = maker_new(model, wide);
    MAKER_FREE(model, gate);
    uint32_t product = maker_new(model, wide);
    MAKER_FREE(model, activation, up);
    uint32_t down = maker_new(model, narrow), output = maker_new(model, narrow);
    maker_kernel(model, 0, phases_matrix_ns(model, MAKER_TIMES(model, 3, model->shapes[4])));
    maker_touch_run(model, model->weights + (uint32_t)layer * TRAIN_MATRICES + 4, 3);
    MAKER_TOUCH(model, model->norms + (uint32_t)layer * 2 + 1, middle, product, down, output);
    MAKER_FREE(model, product, down, middle);
    return output;
}

/* All layers over the tokens of this pass; returns the last one's output. */
static uint32_t phases_layers(phases *run, uint32_t tokens)
{
    train *model = &run->model;
    uint32_t output = maker_new(run, model->narrow_bytes);
    MAKER_MOVE(run, model->narrow_bytes, tokens, model->embedding, output);
    MAKER_EACH(run, layer, model->layers) {
        output = phases_feed_forward(model, layer, phases_attention(run, layer, output));
    }
    run->cached_rows = maker_plus(run, run->cached_rows, model->tokens);
    return output;
}

/* Takes the last layer's output, which is freed, by way of logits to `made`, which a kernel computes from them. */
static void phases_logits(train *model, uint32_t output, uint32_t made)
{
    uint32_t logits = maker_new(model, MAKER_TIMES(model, 2, model->tokens, model->vocab));
    maker_kernel(model, 0, phases_matrix_ns(model, MAKER_TIMES(model, model->vocab, model->hidden)));
    MAKER_TOUCH(model, output, model->head, model->last_norm, logits, made);
    MAKER_FREE(model, logits, output);
}

/* Scores a prompt of drawn length, then generates token after token: each joins the 64-bit ones before it in a new
   block. Frees the trial's data, keeps two results. */
static void phases_evaluate(phases *run)
{
    train *model = &run->model;
    train_draw(model);
    run->cached_rows = 0;
    uint32_t tokens = maker_new(run, MAKER_TIMES(run, 8, model->tokens));
    uint32_t likelihoods = maker_new(run, MAKER_TIMES(run, 4, model->tokens));
    MAKER_KERNEL(run, 0, 1, run->data, tokens);
    MAKER_FREE(run, run->data);
    phases_logits(model, phases_layers(run, tokens), likelihoods);
    train_tokens(model, model->batch);
    MAKER_EACH(run, token, run->generate) {
        uint32_t output = phases_layers(run, tokens), longer = maker_new(run, MAKER_TIMES(run, 8, run->cached_rows));
        phases_logits(model, output, longer);
        MAKER_KERNEL(run, 0, 1, tokens, longer);
        MAKER_FREE(run, tokens);
        tokens = longer;
    }
    maker_free_all(run, run->cache, (size_t)model->layers * 2, 0);
    run->results[run->result_count++] = likelihoods;
    run->results[run->result_count++] = tokens;
}

/* ---- The other phases */

/* From the host in 32 bits, to the weight in 16. The buffer is freed where it was used last. */
static void phases_load_weight(phases *run, uint32_t weight)
{
    uint64_t bytes = MAKER_TIMES(run, 2, maker_bytes(run, weight));
    uint32_t staging = maker_new_on(run, bytes, run->copy_stream);
    MAKER_KERNEL(run, run->copy_stream, bytes / RATE_HOST_BYTES_PER_NS, staging);
    maker_wait(run, 0, run->copy_stream);
    MAKER_MOVE(run, bytes, staging, weight);
    MAKER_FREE(run, staging);
}

/* Data: the 64-bit tokens of all updates. */
static void phases_load(phases *run)
{
    train *model = &run->model;
    model->batch = maker_draw_of(run, run->batches);
    uint64_t bytes = MAKER_TIMES(run, 8, MAKER_TIMES(run, model->batch, model->lengths.high, run->updates + 1));
    run->data = maker_new_on(run, bytes, run->copy_stream);
    MAKER_KERNEL(run, run->copy_stream, bytes / RATE_HOST_BYTES_PER_NS, run->data);
    train_setup_weights(model);
    MAKER_EACH(run, i, run->weight_count) phases_load_weight(run, model->weights + (uint32_t)i);
}

static void phases_train(phases *run)
{
    train_setup_state(&run->model);
    MAKER_EACH(run, update, run->updates) {
        MAKER_KERNEL(run, 0, 1, run->data);
        train_one_step(&run->model);
    }
}

/* A layer's state goes out in three buffers, each packed on stream 0 and freed where it is written to the host. */
static void phases_save_layer(phases *run, uint32_t layer, uint32_t moment)
{
    uint64_t bytes = MAKER_TIMES(run, 4, run->model.shapes_total);
    uint32_t tensor = run->model.state + layer * TRAIN_MATRICES * TRAIN_MOMENTS + moment;
    uint32_t packed = maker_new(run, bytes);
    maker_kernel(run, 0, bytes / RATE_MEMORY_BYTES_PER_NS);
    for (uint32_t i = 0; i < TRAIN_MATRICES; i++) MAKER_TOUCH(run, tensor + i * TRAIN_MOMENTS);
    MAKER_TOUCH(run, packed);
    maker_wait(run, run->copy_stream, 0);
    MAKER_KERNEL(run, run->copy_stream, bytes / RATE_HOST_BYTES_PER_NS, packed);
    maker_free_all(run, &packed, 1, run->copy_stream);
}

/* A copy of the weights is made before the one of an earlier trial is dropped. */
static void phases_keep_best(phases *run)
{
    uint32_t best = maker_next(run);
    MAKER_EACH(run, i, run->weight_count) {
        uint32_t weight = run->model.weights + (uint32_t)i;
        uint64_t bytes = maker_bytes(run, weight);
        maker_new(run, bytes);
        MAKER_MOVE(run, bytes, weight, best + (uint32_t)i);
    }
    maker_free_run(run, run->best, run->best_count);
    run->best = best;
    run->best_count = run->weight_count;
}

/* Of trials in random order, the one with number t (from 0) is the best so far with probability 1 / (t + 1). */
static void phases_checkpoint(phases *run, uint64_t trial)
{
    uint32_t layers = (uint32_t)run->model.layers;
    MAKER_EACH(run, i, layers * TRAIN_MOMENTS) {
        phases_save_layer(run, (uint32_t)i / TRAIN_MOMENTS, (uint32_t)i % TRAIN_MOMENTS);
    }
    maker_free_run(run, run->model.state, layers * TRAIN_MATRICES * TRAIN_MOMENTS);
    if (maker_draw_chance(run, trial + 1)) phases_keep_best(run);
    maker_free_run(run, run->model.weights, run->weight_count);
}

static void phases_make(void *self)
{
    phases *run = self;
    train *model = &run->model;
    model->streams = 1;
    run->copy_stream = run->streams - 1;
    run->weight_count = model->layers * (TRAIN_MATRICES + 2) + 3;
    train_begin(model);
    run->cache = maker_array(run, model->layers * 2, sizeof *run->cache);
    run->results = maker_array(run, model->steps * 2, sizeof *run->results);
    MAKER_STEPS(run, "load", trial, model->steps) {
        phases_load(run);
        maker_step(run, "train", trial);
        phases_train(run);
        maker_step(run, "evaluate", trial);
        phases_evaluate(run);
        maker_step(run, "checkpoint", trial);
        phases_checkpoint(run, trial);
    }
    maker_free_run(run, run->best, run->best_count);
    maker_free_all(run, run->results, run->result_count, 0);
}

FAMILY(phases, "trials that load, train, evaluate and save a transformer: memory of one phase must serve the next",
       "of training: weights x 16 bytes and activations, beside the best weights so far", 32078961452);
