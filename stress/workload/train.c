/* `train`: the steps of training a decoder-only transformer, byte for byte those of the reference, so order
   counts. */
#include "train.h"

#include <string.h>

#include "../base/splitmix64.h"

/* ---- Options and shapes */

static const family_option train_options[] = {
    TRAIN_SHAPES(train, , 0, 24),
    OPTION(train, batch, "batch", 0, UINT32_MAX, 4),
    OPTION_RANGE(train, lengths, "seq", 0, UINT32_MAX, 512, 2048),
    TRAIN_STEPS(train, , 8),
    OPTION(train, recompute, "recompute", 0, 1, 0),
    OPTION(train, zero3, "zero3", 0, UINT32_MAX, 1),
    OPTION(train, lora, "lora", 0, UINT32_MAX, 0),
    OPTION(train, streams, "streams", 1, 2, 1),
};

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
    maker *words = &state->words;
    uint64_t attention = maker_times(words, state->hidden, state->hidden);
    uint64_t gated = maker_times(words, state->hidden, state->ff);
    for (uint32_t i = 0; i < TRAIN_MATRICES; i++) {
        state->shapes[i] = i < 4 ? attention : gated;
        state->shapes_total = maker_plus(words, state->shapes_total, state->shapes[i]);
    }
    memcpy(state->trained, state->shapes, sizeof state->shapes);
    state->trained_count = TRAIN_MATRICES;
    if (state->lora > 0) {
        for (uint32_t i = 0; i < TRAIN_ADAPTERS; i++) {
            state->trained[i] = maker_times(words, state->hidden, state->lora);
        }
        state->trained_count = TRAIN_ADAPTERS;
    }
}

void train_begin(train *state)
{
    maker *words = &state->words;
    if (!state->zero3) state->zero3 = 1;
    state->gather_stream = state->streams - 1;
    train_layer_shapes(state);
    state->inputs = maker_array(words, state->layers, sizeof *state->inputs);
    state->saved = maker_array(words, state->layers * KEPT_COUNT, sizeof *state->saved);
    state->grads = maker_array(words, state->layers * TRAIN_ADAPTERS, sizeof *state->grads);
}

void train_draw(train *state)
{
    maker *words = &state->words;
    const family_range *lengths = &state->lengths;
    state->seq = lengths->low + splitmix64_next(&words->random) % (lengths->high - lengths->low + 1);
    state->tokens = maker_times(words, state->batch, state->seq);
    state->narrow_bytes = maker_times(words, maker_times(words, 2, state->tokens), state->hidden);
    state->wide_bytes = maker_times(words, maker_times(words, 2, state->tokens), state->ff);
    state->sums_bytes = maker_times(words, 4, state->tokens);
    uint64_t layer_flops = maker_times(words, maker_times(words, 2, state->tokens), state->shapes_total);
    state->layer_ns = layer_flops / RATE_FLOPS_PER_NS;
}

/* ---- The steps */

void train_setup_weights(train *state)
{
    maker *words = &state->words;
    state->weights = maker_next(&state->words);
    for (uint64_t i = 0; i < state->layers * TRAIN_MATRICES && !maker_is_over(words); i++) {
        maker_new(words, maker_times(words, 2, train_shard(state, state->shapes[i % TRAIN_MATRICES])));
    }
    state->norms = maker_next(&state->words);
    for (uint64_t i = 0; i < state->layers * 2 && !maker_is_over(words); i++) {
        maker_new(words, 2 * state->hidden);
    }
    uint64_t table = maker_times(words, 2, train_shard(state, maker_times(words, state->vocab, state->hidden)));
    state->embedding = maker_new(words, table);
    state->head = maker_new(words, table);
    state->last_norm = maker_new(words, 2 * state->hidden);
}

void train_setup_state(train *state)
{
    maker *words = &state->words;
    uint64_t tensors = state->layers * state->trained_count;
    for (uint64_t i = 0; state->lora > 0 && i < tensors && !maker_is_over(words); i++) {
        maker_new(words, maker_times(words, 2, state->trained[i % TRAIN_ADAPTERS]));
    }
    state->state = maker_next(&state->words);
    for (uint64_t i = 0; i < tensors * TRAIN_MOMENTS && !maker_is_over(words); i++) {
        uint64_t elements = state->trained[i / TRAIN_MOMENTS % state->trained_count];
        maker_new(words, maker_times(words, 4, train_part(state, elements)));
    }
}

/* The layer's whole matrices: its own weights, or copies gathered from all ranks. */
static void train_gather(train *state, uint64_t layer, uint32_t full[TRAIN_MATRICES])
{
    maker *words = &state->words;
    uint32_t own = state->weights + (uint32_t)layer * TRAIN_MATRICES;
    for (uint32_t i = 0; i < TRAIN_MATRICES; i++) {
        uint64_t bytes = maker_times(words, 2, state->shapes[i]);
        full[i] = state->zero3 == 1 ? own + i : maker_new_on(words, bytes, state->gather_stream);
    }
    if (state->zero3 == 1) return;
    maker_kernel(words, state->gather_stream, maker_times(words, 2, state->shapes_total) / RATE_LINK_BYTES_PER_NS);
    maker_touch_run(words, own, TRAIN_MATRICES);
    maker_touch_all(words, full, TRAIN_MATRICES);
    maker_wait(words, 0, state->gather_stream);
}

static void train_release(train *state, const uint32_t full[TRAIN_MATRICES])
{
    maker *words = &state->words;
    if (state->zero3 == 1) return;
    maker_wait(words, state->gather_stream, 0);
    maker_free_all(words, full, TRAIN_MATRICES, state->gather_stream);
}

static uint64_t train_lse_bytes(train *state)    /* FlashAttention keeps one 32-bit number a head and token */
{
    maker *words = &state->words;
    return maker_times(words, maker_times(words, maker_times(words, 4, state->batch), state->heads), state->seq);
}

/* One layer's forward: fills kept[] with what backward needs, returns the layer's output. */
static uint32_t train_forward(train *state, uint64_t layer, uint32_t source, const uint32_t full[TRAIN_MATRICES],
                              uint32_t kept[KEPT_COUNT])
{
    maker *words = &state->words;
    uint64_t narrow = state->narrow_bytes, wide = state->wide_bytes;
    kept[KEPT_NORM] = maker_new(words, narrow);
    kept[KEPT_RSTD] = maker_new(words, state->sums_bytes);
    uint32_t plain_q = maker_new(words, narrow);
    uint32_t plain_k = maker_new(words, narrow);
    kept[KEPT_V] = maker_new(words, narrow);
    kept[KEPT_Q] = maker_new(words, narrow);     /* q and k after rotary embedding */
    kept[KEPT_K] = maker_new(words, narrow);
    MAKER_FREE(words, plain_q, plain_k);
    kept[KEPT_ATTENTION] = maker_new(words, narrow);
    kept[KEPT_LSE] = maker_new(words, train_lse_bytes(state));
    uint32_t projected = maker_new(words, narrow);
    kept[KEPT_MIDDLE] = maker_new(words, narrow);
    maker_free(words, projected);
    kept[KEPT_NORM2] = maker_new(words, narrow);
    kept[KEPT_RSTD2] = maker_new(words, state->sums_bytes);
    kept[KEPT_GATE] = maker_new(words, wide);
    kept[KEPT_UP] = maker_new(words, wide);
    kept[KEPT_ACTIVATION] = maker_new(words, wide);
    kept[KEPT_PRODUCT] = maker_new(words, wide);
    uint32_t down = maker_new(words, narrow);
    uint32_t output = maker_new(words, narrow);
    maker_free(words, down);
    MAKER_KERNEL(words, 0, state->layer_ns, source);
    maker_touch_all(words, full, TRAIN_MATRICES);
    maker_touch_run(words, state->norms + (uint32_t)layer * 2, 2);
    maker_touch_all(words, kept, KEPT_COUNT);
    maker_touch(words, output);
    return output;
}

static void train_forward_pass(train *state)
{
    maker *words = &state->words;
    state->inputs[0] = maker_new(words, state->narrow_bytes);
    MAKER_KERNEL(words, 0, state->narrow_bytes / RATE_MEMORY_BYTES_PER_NS, state->embedding, state->inputs[0]);
    for (uint64_t layer = 0; layer < state->layers && !maker_is_over(words); layer++) {
        uint32_t full[TRAIN_MATRICES], *kept = state->saved + layer * KEPT_COUNT;
        train_gather(state, layer, full);
        state->inputs[layer + 1] = train_forward(state, layer, state->inputs[layer], full, kept);
        if (state->recompute) maker_free_all(words, kept, KEPT_COUNT, 0);
        train_release(state, full);
    }
}

/* Logits in 16 bits, their loss and its gradient by way of 32 bits. Returns the gradient of the last layer's
   output. */
static uint32_t train_loss(train *state)
{
    maker *words = &state->words;
    uint64_t logits_bytes = maker_times(words, maker_times(words, 2, state->tokens), state->vocab);
    uint64_t logits32_bytes = maker_times(words, 2, logits_bytes);
    uint64_t flops = maker_times(words, maker_times(words, 3, logits_bytes), state->hidden);
    uint32_t logits = maker_new(words, logits_bytes);
    uint32_t logits32 = maker_new(words, logits32_bytes);
    uint32_t loss = maker_new(words, 4);
    uint32_t gradient32 = maker_new(words, logits32_bytes);
    maker_free(words, logits32);
    uint32_t gradient = maker_new(words, logits_bytes);
    maker_free(words, gradient32);
    uint32_t output_gradient = maker_new(words, state->narrow_bytes);
    maker_kernel(words, 0, flops / RATE_FLOPS_PER_NS);
    maker_touch_all(words, MAKER_BLOCKS(state->inputs[state->layers], state->head, state->last_norm, logits, loss,
                                        gradient, output_gradient));
    MAKER_FREE(words, gradient, logits, loss);
    return output_gradient;
}

/* The temporaries of a layer's backward, up to the gradient of its input, which is returned. */
static uint32_t train_activation_gradients(train *state)
{
    maker *words = &state->words;
    uint64_t narrow = state->narrow_bytes, wide = state->wide_bytes;
    uint32_t product = maker_new(words, wide), gate = maker_new(words, wide), up = maker_new(words, wide);
    maker_free(words, product);
    uint32_t norm_of_gate = maker_new(words, narrow), norm_of_up = maker_new(words, narrow);
    MAKER_FREE(words, gate, up);
    uint32_t middle = maker_new(words, narrow);
    MAKER_FREE(words, norm_of_gate, norm_of_up);
    uint32_t attention = maker_new(words, narrow);
    uint32_t q = maker_new(words, narrow), k = maker_new(words, narrow), v = maker_new(words, narrow);
    uint32_t work = maker_new(words, maker_times(words, maker_times(words, 4, state->tokens), state->heads));
    MAKER_FREE(words, work, attention);
    uint32_t norm = maker_new(words, narrow);
    MAKER_FREE(words, q, k, v, middle);
    uint32_t input = maker_new(words, narrow);
    maker_free(words, norm);
    return input;
}

/* A gradient a trained tensor; with sharded weights it is made whole, reduced and scattered, and this rank's part
   stays. */
static void train_weight_gradients(train *state)
{
    maker *words = &state->words;
    for (uint32_t i = 0; i < state->trained_count; i++) {
        uint64_t whole_bytes = maker_times(words, 2, state->trained[i]);
        uint32_t gradient = maker_new(words, whole_bytes);
        if (state->zero3 > 1 && state->lora == 0) {
            uint32_t whole = gradient;
            gradient = maker_new(words, maker_times(words, 2, train_shard(state, state->trained[i])));
            MAKER_KERNEL(words, 0, whole_bytes / RATE_LINK_BYTES_PER_NS, whole, gradient);
            maker_free(words, whole);
        }
        state->grads[state->grad_count++] = gradient;
    }
}

/* Takes the gradient of the layer's output, returns that of its input. */
static uint32_t train_backward(train *state, uint64_t layer, uint32_t output_gradient)
{
    maker *words = &state->words;
    uint32_t full[TRAIN_MATRICES], *kept = state->saved + layer * KEPT_COUNT;
    train_gather(state, layer, full);
    if (state->recompute) {
        maker_free(words, train_forward(state, layer, state->inputs[layer], full, kept));
    }
    uint32_t input_gradient = train_activation_gradients(state);
    train_weight_gradients(state);
    MAKER_KERNEL(words, 0, maker_times(words, 2, state->layer_ns), output_gradient, state->inputs[layer]);
    maker_touch_all(words, full, TRAIN_MATRICES);
    maker_touch_all(words, kept, KEPT_COUNT);
    maker_touch(words, input_gradient);
    maker_touch_all(words, state->grads + state->grad_count - state->trained_count, state->trained_count);
    maker_free(words, output_gradient);
    train_release(state, full);
    maker_free_all(words, kept, KEPT_COUNT, 0);
    maker_free(words, state->inputs[layer + 1]);
    return input_gradient;
}

/* AdamW, one 32-bit temporary a tensor. The optimizer's state is taken in the order of setup, gradients in that of
   backward. */
static void train_update(train *state)
{
    maker *words = &state->words;
    for (size_t i = 0; i < state->grad_count && !maker_is_over(words); i++) {
        uint64_t elements = train_part(state, state->trained[i % state->trained_count]);
        uint32_t temporary = maker_new(words, maker_times(words, 4, elements));
        MAKER_KERNEL(words, 0, maker_times(words, 16, elements) / RATE_MEMORY_BYTES_PER_NS, state->grads[i]);
        maker_touch_run(words, state->state + (uint32_t)i * TRAIN_MOMENTS, TRAIN_MOMENTS);
        maker_touch(words, temporary);
        maker_free(words, temporary);
    }
    maker_free_all(words, state->grads, state->grad_count, 0);
}

void train_one_step(train *state)
{
    maker *words = &state->words;
    train_draw(state);
    if (state->zero3 > 1) maker_wait(words, state->gather_stream, 0);    /* gathers read what stream 0 made */
    train_forward_pass(state);
    uint32_t gradient = train_loss(state);
    state->grad_count = 0;
    for (uint64_t layer = state->layers; layer > 0 && !maker_is_over(words); layer--) {
        gradient = train_backward(state, layer - 1, gradient);
    }
    MAKER_FREE(words, gradient, state->inputs[0]);
    train_update(state);
}

void train_run(train *state)
{
    maker_label(&state->words, "setup");
    train_setup_weights(state);
    train_setup_state(state);
    for (uint64_t step = 0; step < state->steps && !maker_is_over(&state->words); step++) {
        maker_step(&state->words, "step", step);
        train_one_step(state);
    }
}

static void train_make(void *self)
{
    train_begin(self);
    train_run(self);
}

FAMILY(train, "training a decoder-only transformer: AdamW, recompute, ZeRO-3, LoRA, sequences of varying length",
       "weights x (2 + 12 + 2) bytes, and the activations of the longest sequence", 33434101764);
