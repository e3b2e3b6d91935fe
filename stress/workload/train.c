/* `train`: the steps of training a decoder-only transformer, byte for byte those of the reference, so order counts.
   Must not know of policies or devices. */
#include "train.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../base/splitmix64.h"

/* ---- `train`: options, shapes, and the words of train.c, which are maker.h's on stream 0 */

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

/* this rank's part */
static uint64_t train_shard(const train *state, uint64_t elements)
{
    return elements / state->zero3 + (elements % state->zero3 != 0);
}

/* the same, but adapters are not sharded */
static uint64_t train_part(const train *state, uint64_t elements)
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

/* ---- `train`: the steps of training a decoder-only transformer, byte for byte those of the reference,
        so order counts */

void train_setup_weights(train *state)
{
    state->weights = (uint32_t)state->words.builder->stream->block_count;
    for (uint64_t i = 0; i < state->layers * TRAIN_MATRICES && !train_is_over(state); i++) {
        train_new(state, train_times(state, 2, train_shard(state, state->shapes[i % TRAIN_MATRICES])));
    }
    state->norms = (uint32_t)state->words.builder->stream->block_count;
    for (uint64_t i = 0; i < state->layers * 2 && !train_is_over(state); i++) {
        train_new(state, 2 * state->hidden);
    }
    uint64_t table = train_times(state, 2, train_shard(state, train_times(state, state->vocab, state->hidden)));
    state->embedding = train_new(state, table);
    state->head = train_new(state, table);
    state->last_norm = train_new(state, 2 * state->hidden);
}

void train_setup_state(train *state)
{
    uint64_t tensors = state->layers * state->trained_count;
    for (uint64_t i = 0; state->lora > 0 && i < tensors && !train_is_over(state); i++) {
        train_new(state, train_times(state, 2, state->trained[i % TRAIN_ADAPTERS]));
    }
    state->state = (uint32_t)state->words.builder->stream->block_count;
    for (uint64_t i = 0; i < tensors * TRAIN_MOMENTS && !train_is_over(state); i++) {
        uint64_t elements = state->trained[i / TRAIN_MOMENTS % state->trained_count];
        train_new(state, train_times(state, 4, train_part(state, elements)));
    }
}

/* The layer's whole matrices: its own weights, or copies gathered from all ranks. */
static void train_gather(train *state, uint64_t layer, uint32_t full[TRAIN_MATRICES])
{
    uint32_t own = state->weights + (uint32_t)layer * TRAIN_MATRICES;
    for (uint32_t i = 0; i < TRAIN_MATRICES; i++) {
        uint64_t bytes = train_times(state, 2, state->shapes[i]);
        full[i] = state->zero3 == 1 ? own + i : train_new_on(state, bytes, state->gather_stream);
    }
    if (state->zero3 == 1) return;
    train_kernel(state, state->gather_stream, train_times(state, 2, state->shapes_total) / RATE_LINK_BYTES_PER_NS);
    train_touch_run(state, own, TRAIN_MATRICES);
    train_touch_all(state, full, TRAIN_MATRICES);
    if (state->gather_stream > 0) train_wait(state, 0, state->gather_stream);
}

static void train_release(train *state, const uint32_t full[TRAIN_MATRICES])
{
    if (state->zero3 == 1) return;
    if (state->gather_stream > 0) train_wait(state, state->gather_stream, 0);
    train_free_all(state, full, TRAIN_MATRICES, state->gather_stream);
}

static uint64_t train_lse_bytes(train *state)    /* FlashAttention keeps one 32-bit number a head and token */
{
    return train_times(state, train_times(state, train_times(state, 4, state->batch), state->heads), state->seq);
}

/* One layer's forward: fills kept[] with what backward needs, returns the layer's output. */
static uint32_t train_forward(train *state, uint64_t layer, uint32_t source, const uint32_t full[TRAIN_MATRICES],
                              uint32_t kept[KEPT_COUNT])
{
    uint64_t narrow = state->narrow_bytes, wide = state->wide_bytes;
    kept[KEPT_NORM] = train_new(state, narrow);
    kept[KEPT_RSTD] = train_new(state, state->sums_bytes);
    uint32_t plain_q = train_new(state, narrow);
    uint32_t plain_k = train_new(state, narrow);
    kept[KEPT_V] = train_new(state, narrow);
    kept[KEPT_Q] = train_new(state, narrow);     /* q and k after rotary embedding */
    kept[KEPT_K] = train_new(state, narrow);
    train_free(state, plain_q);
    train_free(state, plain_k);
    kept[KEPT_ATTENTION] = train_new(state, narrow);
    kept[KEPT_LSE] = train_new(state, train_lse_bytes(state));
    uint32_t projected = train_new(state, narrow);
    kept[KEPT_MIDDLE] = train_new(state, narrow);
    train_free(state, projected);
    kept[KEPT_NORM2] = train_new(state, narrow);
    kept[KEPT_RSTD2] = train_new(state, state->sums_bytes);
    kept[KEPT_GATE] = train_new(state, wide);
    kept[KEPT_UP] = train_new(state, wide);
    kept[KEPT_ACTIVATION] = train_new(state, wide);
    kept[KEPT_PRODUCT] = train_new(state, wide);
    uint32_t down = train_new(state, narrow);
    uint32_t output = train_new(state, narrow);
    train_free(state, down);
    train_kernel(state, 0, state->layer_ns);
    train_touch(state, source);
    train_touch_all(state, full, TRAIN_MATRICES);
    train_touch_run(state, state->norms + (uint32_t)layer * 2, 2);
    train_touch_all(state, kept, KEPT_COUNT);
    train_touch(state, output);
    return output;
}

static void train_forward_pass(train *state)
{
    state->inputs[0] = train_new(state, state->narrow_bytes);
    train_kernel(state, 0, state->narrow_bytes / RATE_MEMORY_BYTES_PER_NS);
    train_touch(state, state->embedding);
    train_touch(state, state->inputs[0]);
    for (uint64_t layer = 0; layer < state->layers && !train_is_over(state); layer++) {
        uint32_t full[TRAIN_MATRICES], *kept = state->saved + layer * KEPT_COUNT;
        train_gather(state, layer, full);
        state->inputs[layer + 1] = train_forward(state, layer, state->inputs[layer], full, kept);
        if (state->recompute) train_free_all(state, kept, KEPT_COUNT, 0);
        train_release(state, full);
    }
}

/* Logits in 16 bits, their loss and its gradient by way of 32 bits. Returns the gradient of the last layer's
   output. */
static uint32_t train_loss(train *state)
{
    uint64_t logits_bytes = train_times(state, train_times(state, 2, state->tokens), state->vocab);
    uint64_t logits32_bytes = train_times(state, 2, logits_bytes);
    uint64_t flops = train_times(state, train_times(state, 3, logits_bytes), state->hidden);
    uint32_t logits = train_new(state, logits_bytes);
    uint32_t logits32 = train_new(state, logits32_bytes);
    uint32_t loss = train_new(state, 4);
    uint32_t gradient32 = train_new(state, logits32_bytes);
    train_free(state, logits32);
    uint32_t gradient = train_new(state, logits_bytes);
    train_free(state, gradient32);
    uint32_t output_gradient = train_new(state, state->narrow_bytes);
    const uint32_t touched[] = { state->inputs[state->layers], state->head, state->last_norm, logits, loss, gradient,
                                 output_gradient };
    train_kernel(state, 0, flops / RATE_FLOPS_PER_NS);
    train_touch_all(state, touched, sizeof touched / sizeof touched[0]);
    train_free(state, gradient);
    train_free(state, logits);
    train_free(state, loss);
    return output_gradient;
}

/* The temporaries of a layer's backward, up to the gradient of its input, which is returned. */
static uint32_t train_activation_gradients(train *state)
{
    uint64_t narrow = state->narrow_bytes, wide = state->wide_bytes;
    uint32_t product = train_new(state, wide), gate = train_new(state, wide), up = train_new(state, wide);
    train_free(state, product);
    uint32_t norm_of_gate = train_new(state, narrow), norm_of_up = train_new(state, narrow);
    train_free(state, gate);
    train_free(state, up);
    uint32_t middle = train_new(state, narrow);
    train_free(state, norm_of_gate);
    train_free(state, norm_of_up);
    uint32_t attention = train_new(state, narrow);
    uint32_t q = train_new(state, narrow), k = train_new(state, narrow), v = train_new(state, narrow);
    uint32_t work = train_new(state, train_times(state, train_times(state, 4, state->tokens), state->heads));
    train_free(state, work);
    train_free(state, attention);
    uint32_t norm = train_new(state, narrow);
    train_free(state, q);
    train_free(state, k);
    train_free(state, v);
    train_free(state, middle);
    uint32_t input = train_new(state, narrow);
    train_free(state, norm);
    return input;
}

/* A gradient a trained tensor; with sharded weights it is made whole, reduced and scattered, and this rank's part
   stays. */
static void train_weight_gradients(train *state)
{
    for (uint32_t i = 0; i < state->trained_count; i++) {
        uint64_t whole_bytes = train_times(state, 2, state->trained[i]);
        uint32_t gradient = train_new(state, whole_bytes);
        if (state->zero3 > 1 && state->lora == 0) {
            uint32_t whole = gradient;
            gradient = train_new(state, train_times(state, 2, train_shard(state, state->trained[i])));
            train_kernel(state, 0, whole_bytes / RATE_LINK_BYTES_PER_NS);
            train_touch(state, whole);
            train_touch(state, gradient);
            train_free(state, whole);
        }
        state->grads[state->grad_count++] = gradient;
    }
}

/* Takes the gradient of the layer's output, returns that of its input. */
static uint32_t train_backward(train *state, uint64_t layer, uint32_t output_gradient)
{
    uint32_t full[TRAIN_MATRICES], *kept = state->saved + layer * KEPT_COUNT;
    train_gather(state, layer, full);
    if (state->recompute) {
        train_free(state, train_forward(state, layer, state->inputs[layer], full, kept));
    }
    uint32_t input_gradient = train_activation_gradients(state);
    train_weight_gradients(state);
    train_kernel(state, 0, train_times(state, 2, state->layer_ns));
    train_touch(state, output_gradient);
    train_touch(state, state->inputs[layer]);
    train_touch_all(state, full, TRAIN_MATRICES);
    train_touch_all(state, kept, KEPT_COUNT);
    train_touch(state, input_gradient);
    train_touch_all(state, state->grads + state->grad_count - state->trained_count, state->trained_count);
    train_free(state, output_gradient);
    train_release(state, full);
    train_free_all(state, kept, KEPT_COUNT, 0);
    train_free(state, state->inputs[layer + 1]);
    return input_gradient;
}

/* AdamW, one 32-bit temporary a tensor. The optimizer's state is taken in the order of setup, gradients in that of
   backward. */
static void train_update(train *state)
{
    for (size_t i = 0; i < state->grad_count && !train_is_over(state); i++) {
        uint64_t elements = train_part(state, state->trained[i % state->trained_count]);
        uint32_t temporary = train_new(state, train_times(state, 4, elements));
        train_kernel(state, 0, train_times(state, 16, elements) / RATE_MEMORY_BYTES_PER_NS);
        train_touch(state, state->grads[i]);
        train_touch_run(state, state->state + (uint32_t)i * TRAIN_MOMENTS, TRAIN_MOMENTS);
        train_touch(state, temporary);
        train_free(state, temporary);
    }
    train_free_all(state, state->grads, state->grad_count, 0);
}

void train_one_step(train *state)
{
    train_draw(state);
    if (state->zero3 > 1 && state->gather_stream > 0) {
        train_wait(state, state->gather_stream, 0);      /* gathers read weights that stream 0 made */
    }
    train_forward_pass(state);
    uint32_t gradient = train_loss(state);
    state->grad_count = 0;
    for (uint64_t layer = state->layers; layer > 0 && !train_is_over(state); layer--) {
        gradient = train_backward(state, layer - 1, gradient);
    }
    train_free(state, gradient);
    train_free(state, state->inputs[0]);
    train_update(state);
}

int train_begin(train *state, const family_request *request, stream_builder *builder)
{
    train_shapes(state, request, builder);
    state->inputs = calloc(state->layers + 1, sizeof *state->inputs);
    state->saved = calloc(state->layers * KEPT_COUNT + 1, sizeof *state->saved);
    state->grads = calloc(state->layers * TRAIN_ADAPTERS + 1, sizeof *state->grads);
    if (!state->inputs || !state->saved || !state->grads) {
        state->words.failed = stream_no_memory(builder);
    }
    return state->words.failed;
}

int train_end(train *state)
{
    free(state->inputs);
    free(state->saved);
    free(state->grads);
    return maker_end(&state->words);
}

static int train_make(const family_request *request, stream_builder *builder)
{
    train state;
    train_begin(&state, request, builder);
    train_step(&state, "setup");
    train_setup_weights(&state);
    train_setup_state(&state);
    for (uint64_t step = 0; step < state.steps && !train_is_over(&state); step++) {
        char label[32];
        snprintf(label, sizeof label, "step%" PRIu64, step);
        train_step(&state, label);
        train_one_step(&state);
    }
    return train_end(&state);
}

const family family_train = {
    { "train", "training a decoder-only transformer: AdamW, recompute, ZeRO-3, LoRA, sequences of varying length",
      "layers=24,hidden=2048,ff=5504,heads=16,vocab=32000,batch=4,seq=512-2048,steps=8,seed=1,recompute=0,zero3=1,"
      "lora=0,streams=1",
      "weights x (2 + 12 + 2) bytes, and the activations of the longest sequence", UINT64_C(33434101764) },
    train_options, TRAIN_OPTION_COUNT, train_make
};
