/* `train`: options, shapes, and the words of train.c, which are maker.h's on stream 0.
   Must not know the order of a training step.
   Tested by tests/test_workload_train.c. */
#include "train.h"

#include "../base/splitmix64.h"

#include <string.h>

enum { TRAIN_MOST = 1000000 };                   /* layers and steps; STREAM_MAX_OPS binds together */

const family_option train_options[TRAIN_OPTION_COUNT] = {
    { "layers",    0, TRAIN_MOST, 24,    24,    0, NULL },
    { "hidden",    0, UINT32_MAX, 2048,  2048,  0, NULL },
    { "ff",        0, UINT32_MAX, 5504,  5504,  0, NULL },
    { "heads",     0, UINT32_MAX, 16,    16,    0, NULL },
    { "vocab",     0, UINT32_MAX, 32000, 32000, 0, NULL },
    { "batch",     0, UINT32_MAX, 4,     4,     0, NULL },
    { "seq",       0, UINT32_MAX, 512,   2048,  1, NULL },
    { "steps",     0, TRAIN_MOST, 8,     8,     0, NULL },
    { "seed",      0, UINT64_MAX, 1,     1,     0, NULL },
    { "recompute", 0, 1,          0,     0,     0, NULL },
    { "zero3",     0, UINT32_MAX, 1,     1,     0, NULL },
    { "lora",      0, UINT32_MAX, 0,     0,     0, NULL },
    { "streams",   1, 2,          1,     1,     0, NULL }
};

uint64_t train_times(train *state, uint64_t left, uint64_t right)
{
    return maker_times(&state->words, left, right);
}

uint64_t train_plus(train *state, uint64_t left, uint64_t right)
{
    return maker_plus(&state->words, left, right);
}

uint64_t train_shard(const train *state, uint64_t elements)
{
    return elements / state->zero3 + (elements % state->zero3 != 0);
}

uint64_t train_part(const train *state, uint64_t elements)
{
    return state->lora > 0 ? elements : train_shard(state, elements);
}

static void train_layer_shapes(train *state)
{
    uint64_t attention = train_times(state, state->hidden, state->hidden);
    uint64_t gated = train_times(state, state->hidden, state->ff);
    for (uint32_t i = 0; i < TRAIN_MATRICES; i++) {
        state->shapes[i] = i < 4 ? attention : gated;
        state->shapes_total = train_plus(state, state->shapes_total, state->shapes[i]);
    }
    memcpy(state->trained, state->shapes, sizeof state->shapes);
    state->trained_count = TRAIN_MATRICES;
    if (state->lora > 0) {
        for (uint32_t i = 0; i < TRAIN_ADAPTERS; i++) {
            state->trained[i] = train_times(state, state->hidden, state->lora);
        }
        state->trained_count = TRAIN_ADAPTERS;
    }
}

void train_shapes(train *state, const family_request *request, stream_builder *builder)
{
    const family_value *values = request->values;
    memset(state, 0, sizeof *state);
    maker_begin(&state->words, builder, values[TRAIN_SEED].from);
    state->layers = values[TRAIN_LAYERS].from;
    state->hidden = values[TRAIN_HIDDEN].from;
    state->ff = values[TRAIN_FF].from;
    state->heads = values[TRAIN_HEADS].from;
    state->vocab = values[TRAIN_VOCAB].from;
    state->batch = values[TRAIN_BATCH].from;
    state->seq_low = values[TRAIN_SEQ].from;
    state->seq_high = values[TRAIN_SEQ].to;
    state->steps = values[TRAIN_STEPS].from;
    state->recompute = values[TRAIN_RECOMPUTE].from > 0;
    state->zero3 = values[TRAIN_ZERO3].from > 0 ? values[TRAIN_ZERO3].from : 1;
    state->lora = values[TRAIN_LORA].from;
    state->gather_stream = values[TRAIN_STREAMS].from - 1;
    train_layer_shapes(state);
}

void train_draw(train *state)
{
    state->seq = state->seq_low + splitmix64_next(&state->words.random) % (state->seq_high - state->seq_low + 1);
    state->tokens = train_times(state, state->batch, state->seq);
    state->narrow_bytes = train_times(state, train_times(state, 2, state->tokens), state->hidden);
    state->wide_bytes = train_times(state, train_times(state, 2, state->tokens), state->ff);
    state->sums_bytes = train_times(state, 4, state->tokens);
    uint64_t layer_flops = train_times(state, train_times(state, 2, state->tokens), state->shapes_total);
    state->layer_ns = layer_flops / RATE_FLOPS_PER_NS;
}

int train_is_over(const train *state)
{
    return maker_is_over(&state->words);
}

void train_step(train *state, const char *label)
{
    maker_label(&state->words, label);
}

uint32_t train_new_on(train *state, uint64_t bytes, uint64_t on_stream)
{
    return maker_new(&state->words, bytes, on_stream);
}

uint32_t train_new(train *state, uint64_t bytes)
{
    return train_new_on(state, bytes, 0);
}

void train_free_all(train *state, const uint32_t *blocks, size_t count, uint64_t on_stream)
{
    maker_free_all(&state->words, blocks, count, on_stream);
}

void train_free(train *state, uint32_t block)
{
    train_free_all(state, &block, 1, 0);
}

void train_kernel(train *state, uint64_t on_stream, uint64_t duration_ns)
{
    maker_kernel(&state->words, on_stream, duration_ns);
}

void train_touch_all(train *state, const uint32_t *blocks, size_t count)
{
    maker_touch_all(&state->words, blocks, count);
}

void train_touch(train *state, uint32_t block)
{
    train_touch_all(state, &block, 1);
}

void train_touch_run(train *state, uint32_t first, uint32_t count)
{
    maker_touch_run(&state->words, first, count);
}

void train_wait(train *state, uint64_t on_stream, uint64_t for_stream)
{
    maker_wait(&state->words, on_stream, for_stream);
}
