/* `phases`: trials of one program, each of which loads a model, trains it, evaluates it and writes a checkpoint.
   Must not know of policies or devices. */
#include "phases.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../base/splitmix64.h"

/* ---- `phases`: a transformer's evaluation, without gradients: a prompt, then one token a sequence at a
        time */

/* The pass reads all its weights, and multiplies them with every row: the slower of the two counts. */
static uint64_t phases_matrix_ns(phases *run, uint64_t elements)
{
    uint64_t read_ns = train_times(&run->model, 2, elements) / RATE_MEMORY_BYTES_PER_NS;
    uint64_t flops = train_times(&run->model, train_times(&run->model, 2, run->rows), elements);
    return flops / RATE_FLOPS_PER_NS > read_ns ? flops / RATE_FLOPS_PER_NS : read_ns;
}

static void phases_rows(phases *run, uint64_t rows)
{
    run->rows = rows;
    run->narrow_bytes = train_times(&run->model, train_times(&run->model, 2, rows), run->model.hidden);
    run->wide_bytes = train_times(&run->model, train_times(&run->model, 2, rows), run->model.ff);
}

/* Keys or values of this pass join the cached ones: in a new block, as concatenating does. The first ones are the
   cache. */
static void phases_cache(phases *run, uint32_t *cached, uint32_t fresh)
{
    train *model = &run->model;
    if (run->cached_rows == 0) {
        *cached = fresh;
        return;
    }
    uint64_t row_bytes = train_times(model, 2, model->hidden);
    uint64_t bytes = train_times(model, row_bytes, train_plus(model, run->cached_rows, run->rows));
    uint32_t longer = train_new(model, bytes);
    train_kernel(model, 0, train_times(model, 2, bytes) / RATE_MEMORY_BYTES_PER_NS);
    train_touch(model, *cached);
    train_touch(model, fresh);
    train_touch(model, longer);
    train_free(model, *cached);
    train_free(model, fresh);
    *cached = longer;
}

/* Takes the layer's input, which is freed; returns the input of its second half. */
static uint32_t phases_attention(phases *run, uint64_t layer, uint32_t source)
{
    train *model = &run->model;
    uint64_t narrow = run->narrow_bytes;
    uint32_t weights = model->weights + (uint32_t)layer * TRAIN_MATRICES, *cached = run->cache + layer * 2;
    uint32_t norm = train_new(model, narrow);
    uint32_t q = train_new(model, narrow), k = train_new(model, narrow), v = train_new(model, narrow);
    train_free(model, norm);
    uint32_t rotated_q = train_new(model, narrow), rotated_k = train_new(model, narrow);
    train_free(model, q);
    train_free(model, k);
    phases_cache(run, &cached[0], rotated_k);
    phases_cache(run, &cached[1], v);
    uint32_t attention = train_new(model, narrow), projected = train_new(model, narrow);
    uint32_t middle = train_new(model, narrow);
    const uint32_t touched[] = { source, cached[0], cached[1], rotated_q, attention, projected, middle };
    train_kernel(model, 0, phases_matrix_ns(run, train_times(model, 4, model->shapes[0])));
    train_touch_run(model, weights, 4);
    train_touch(model, model->norms + (uint32_t)layer * 2);
    train_touch_all(model, touched, sizeof touched / sizeof touched[0]);
    train_free(model, rotated_q);
    train_free(model, attention);
    train_free(model, projected);
    train_free(model, source);
    return middle;
}

/* Takes the middle, which is freed; returns the layer's output. */
static uint32_t phases_feed_forward(phases *run, uint64_t layer, uint32_t middle)
{
    train *model = &run->model;
    uint32_t weights = model->weights + (uint32_t)layer * TRAIN_MATRICES + 4;
    uint32_t norm = train_new(model, run->narrow_bytes);
    uint32_t gate = train_new(model, run->wide_bytes), up = train_new(model, run->wide_bytes);
    train_free(model, norm);
    uint32_t activation = train_new(model, run->wide_bytes);
    train_free(model, gate);
    uint32_t product = train_new(model, run->wide_bytes);
    train_free(model, activation);
    train_free(model, up);
    uint32_t down = train_new(model, run->narrow_bytes), output = train_new(model, run->narrow_bytes);
    const uint32_t touched[] = { middle, product, down, output };
    train_kernel(model, 0, phases_matrix_ns(run, train_times(model, 3, model->shapes[4])));
    train_touch_run(model, weights, 3);
    train_touch(model, model->norms + (uint32_t)layer * 2 + 1);
    train_touch_all(model, touched, sizeof touched / sizeof touched[0]);
    train_free(model, product);
    train_free(model, down);
    train_free(model, middle);
    return output;
}

/* All layers over the tokens of this pass; returns the last one's output. */
static uint32_t phases_layers(phases *run, uint32_t tokens)
{
    train *model = &run->model;
    uint32_t output = train_new(model, run->narrow_bytes);
    train_kernel(model, 0, run->narrow_bytes / RATE_MEMORY_BYTES_PER_NS);
    train_touch(model, tokens);
    train_touch(model, model->embedding);
    train_touch(model, output);
    for (uint64_t layer = 0; layer < model->layers && !train_is_over(model); layer++) {
        output = phases_feed_forward(run, layer, phases_attention(run, layer, output));
    }
    run->cached_rows = train_plus(model, run->cached_rows, run->rows);
    return output;
}

/* Takes the last layer's output, which is freed, by way of logits to what is made of them. */
static void phases_logits(phases *run, uint32_t output, uint32_t made)
{
    train *model = &run->model;
    uint64_t bytes = train_times(model, train_times(model, 2, run->rows), model->vocab);
    uint32_t logits = train_new(model, bytes);
    const uint32_t touched[] = { output, model->head, model->last_norm, logits, made };
    train_kernel(model, 0, phases_matrix_ns(run, train_times(model, model->vocab, model->hidden)));
    train_touch_all(model, touched, sizeof touched / sizeof touched[0]);
    train_free(model, logits);
    train_free(model, output);
}

/* One more token of every sequence goes through the layers, and joins the 64-bit ones that did before: in a new
   block. */
static uint32_t phases_generate(phases *run, uint32_t tokens)
{
    train *model = &run->model;
    uint32_t output = phases_layers(run, tokens);
    uint32_t longer = train_new(model, train_times(model, 8, run->cached_rows));
    phases_logits(run, output, longer);
    train_kernel(model, 0, 1);
    train_touch(model, tokens);
    train_touch(model, longer);
    train_free(model, tokens);
    return longer;
}

void phases_evaluate(phases *run)
{
    train *model = &run->model;
    train_draw(model);
    run->cached_rows = 0;
    phases_rows(run, model->tokens);
    uint32_t tokens = train_new(model, train_times(model, 8, run->rows));
    uint32_t likelihoods = train_new(model, train_times(model, 4, run->rows));
    train_kernel(model, 0, 1);
    train_touch(model, run->data);
    train_touch(model, tokens);
    train_free(model, run->data);
    phases_logits(run, phases_layers(run, tokens), likelihoods);
    phases_rows(run, model->batch);
    for (uint64_t token = 0; token < run->generate && !train_is_over(model); token++) {
        tokens = phases_generate(run, tokens);
    }
    train_free_all(model, run->cache, (size_t)model->layers * 2, 0);
    run->results[run->result_count++] = likelihoods;
    run->results[run->result_count++] = tokens;
}

/* ---- `phases`: trials of one program, each of which loads a model, trains it, evaluates it and writes
        a checkpoint */

/* What one phase needs, memory cached for another must serve: staging buffers of 32-bit tensors, activations and
   their gradients, key-value caches that grow token by token, a layer's state packed into one buffer. Some blocks
   outlive their phase (weights: load to checkpoint; data: load to evaluate; state: train to checkpoint), some their
   trial: the weights of the best one so far, and the results of all. */
static const family_option phases_options[PHASES_OPTION_COUNT] = {
    { "layers",   1, 1000000,    16,    16,    0, NULL },
    { "hidden",   1, UINT32_MAX, 2048,  2048,  0, NULL },
    { "ff",       1, UINT32_MAX, 5504,  5504,  0, NULL },
    { "heads",    1, UINT32_MAX, 16,    16,    0, NULL },
    { "vocab",    1, UINT32_MAX, 32000, 32000, 0, NULL },
    { "batch",    1, UINT32_MAX, 2,     8,     1, NULL },
    { "seq",      1, UINT32_MAX, 256,   2048,  1, NULL },
    { "steps",    0, 1000000,    4,     4,     0, NULL },
    { "seed",     0, UINT64_MAX, 1,     1,     0, NULL },
    { "updates",  0, 1000000,    2,     2,     0, NULL },
    { "generate", 0, 1000000,    16,    16,    0, NULL },
    { "streams",  1, 2,          1,     1,     0, NULL }
};

static void phases_label(phases *run, const char *phase)
{
    char label[40];
    snprintf(label, sizeof label, "%s%" PRIu64, phase, run->trial);
    train_step(&run->model, label);
}

static uint32_t phases_weight_count(const phases *run)
{
    return (uint32_t)run->model.layers * (TRAIN_MATRICES + 2) + 3;
}

static void phases_free_run(phases *run, uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count && !train_is_over(&run->model); i++) {
        train_free(&run->model, first + i);
    }
}

/* What follows on `stream` comes after all that was done on the other one so far. */
static void phases_follow(phases *run, uint64_t stream, uint64_t other)
{
    if (stream != other) train_wait(&run->model, stream, other);
}

/* From the host in 32 bits, to the weight in 16. The buffer is freed where it was used last. */
static void phases_load_tensor(phases *run, uint32_t weight)
{
    train *model = &run->model;
    uint64_t bytes = train_times(model, 2, model->words.builder->blocks[weight].bytes);
    uint32_t staging = train_new_on(model, bytes, run->copy_stream);
    train_kernel(model, run->copy_stream, bytes / RATE_HOST_BYTES_PER_NS);
    train_touch(model, staging);
    phases_follow(run, 0, run->copy_stream);
    train_kernel(model, 0, bytes / RATE_MEMORY_BYTES_PER_NS);
    train_touch(model, staging);
    train_touch(model, weight);
    train_free(model, staging);
}

/* Data: the 64-bit tokens of all updates. */
static void phases_load(phases *run)
{
    train *model = &run->model;
    phases_label(run, "load");
    model->batch = run->batch_low + splitmix64_below(&model->words.random, run->batch_high - run->batch_low + 1);
    uint64_t tokens = train_times(model, train_times(model, model->batch, model->seq_high), run->updates + 1);
    uint64_t bytes = train_times(model, 8, tokens);
    run->data = train_new_on(model, bytes, run->copy_stream);
    train_kernel(model, run->copy_stream, bytes / RATE_HOST_BYTES_PER_NS);
    train_touch(model, run->data);
    train_setup_weights(model);
    for (uint32_t i = 0; i < phases_weight_count(run) && !train_is_over(model); i++) {
        phases_load_tensor(run, model->weights + i);
    }
}

static void phases_use_data(phases *run)
{
    train_kernel(&run->model, 0, 1);
    train_touch(&run->model, run->data);
}

static void phases_train(phases *run)
{
    phases_label(run, "train");
    train_setup_state(&run->model);
    for (uint64_t update = 0; update < run->updates && !train_is_over(&run->model); update++) {
        phases_use_data(run);
        train_one_step(&run->model);
    }
}

/* A layer's state goes out in three buffers, each packed on stream 0 and freed where it is written to the host. */
static void phases_save_layer(phases *run, uint32_t layer, uint32_t moment)
{
    train *model = &run->model;
    uint64_t bytes = train_times(model, 4, model->shapes_total);
    uint32_t tensor = model->state + layer * TRAIN_MATRICES * TRAIN_MOMENTS + moment;
    uint32_t packed = train_new(model, bytes);
    train_kernel(model, 0, bytes / RATE_MEMORY_BYTES_PER_NS);
    for (uint32_t i = 0; i < TRAIN_MATRICES; i++) train_touch(model, tensor + i * TRAIN_MOMENTS);
    train_touch(model, packed);
    phases_follow(run, run->copy_stream, 0);
    train_kernel(model, run->copy_stream, bytes / RATE_HOST_BYTES_PER_NS);
    train_touch(model, packed);
    train_free_all(model, &packed, 1, run->copy_stream);
}

/* A copy of the weights is made before the one of an earlier trial is dropped. */
static void phases_keep_best(phases *run)
{
    train *model = &run->model;
    uint32_t best = (uint32_t)model->words.builder->stream->block_count, count = phases_weight_count(run);
    for (uint32_t i = 0; i < count && !train_is_over(model); i++) {
        uint64_t bytes = model->words.builder->blocks[model->weights + i].bytes;
        train_new(model, bytes);
        train_kernel(model, 0, bytes / RATE_MEMORY_BYTES_PER_NS);
        train_touch(model, model->weights + i);
        train_touch(model, best + i);
    }
    phases_free_run(run, run->best, run->has_best ? count : 0);
    run->best = best;
    run->has_best = 1;
}

/* Of trials in random order, the one with number t (from 0) is the best so far with probability 1 / (t + 1). */
static void phases_checkpoint(phases *run)
{
    train *model = &run->model;
    uint32_t layers = (uint32_t)model->layers;
    phases_label(run, "checkpoint");
    for (uint32_t i = 0; i < layers * TRAIN_MOMENTS && !train_is_over(model); i++) {
        phases_save_layer(run, i / TRAIN_MOMENTS, i % TRAIN_MOMENTS);
    }
    phases_free_run(run, model->state, layers * TRAIN_MATRICES * TRAIN_MOMENTS);
    if (splitmix64_below(&model->words.random, run->trial + 1) == 0) phases_keep_best(run);
    phases_free_run(run, model->weights, phases_weight_count(run));
}

static void phases_trials(phases *run)
{
    train *model = &run->model;
    for (run->trial = 0; run->trial < model->steps && !train_is_over(model); run->trial++) {
        phases_load(run);
        phases_train(run);
        phases_label(run, "evaluate");
        phases_evaluate(run);
        phases_checkpoint(run);
    }
    phases_free_run(run, run->best, run->has_best ? phases_weight_count(run) : 0);
    train_free_all(model, run->results, run->result_count, 0);
}

/* Values of train's options, in its order: the first nine are the same ones. */
static void phases_train_request(const family_request *request, family_request *model)
{
    static const family_value one = { 1, 1, 0 };
    memset(model, 0, sizeof *model);
    memcpy(model->values, request->values, (PHASES_SEED + 1) * sizeof request->values[0]);
    model->values[TRAIN_ZERO3] = model->values[TRAIN_STREAMS] = one;
}

static int phases_make(const family_request *request, stream_builder *builder)
{
    const family_value *values = request->values;
    family_request model;
    phases run = { 0 };
    phases_train_request(request, &model);
    int failed = train_begin(&run.model, &model, builder);
    run.batch_low = values[PHASES_BATCH].from;
    run.batch_high = values[PHASES_BATCH].to;
    run.updates = values[PHASES_UPDATES].from;
    run.generate = values[PHASES_GENERATE].from;
    run.copy_stream = values[PHASES_STREAMS].from - 1;
    run.cache = calloc(run.model.layers, 2 * sizeof *run.cache);
    run.results = calloc(run.model.steps + 1, PHASES_RESULTS * sizeof *run.results);
    if (!failed && (!run.cache || !run.results)) {
        run.model.words.failed = stream_no_memory(builder);
    } else if (!failed) {
        phases_trials(&run);
    }
    free(run.cache);
    free(run.results);
    return train_end(&run.model);
}

const family family_phases = {
    { "phases", "trials that load, train, evaluate and save a transformer: memory of one phase must serve the next",
      "layers=16,hidden=2048,ff=5504,heads=16,vocab=32000,batch=2-8,seq=256-2048,steps=4,seed=1,updates=2,"
      "generate=16,streams=1",
      "of training: weights x 16 bytes and activations, beside the best weights so far", UINT64_C(32078961452) },
    phases_options, PHASES_OPTION_COUNT, phases_make
};
