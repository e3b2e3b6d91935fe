/* `train`: the steps of training a decoder-only transformer, byte for byte those of the reference, so order
   counts. */
#include "train.h"

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

static uint64_t train_shard(const train *state, uint64_t elements)       /* this rank's part */
{
    return elements / state->zero3 + (elements % state->zero3 != 0);
}

void train_begin(train *state)
{
    if (!state->zero3) state->zero3 = 1;
    state->gather_stream = state->streams - 1;
    uint64_t attention = MAKER_TIMES(state, state->hidden, state->hidden);
    uint64_t gated = MAKER_TIMES(state, state->hidden, state->ff);
    for (uint32_t i = 0; i < TRAIN_MATRICES; i++) {
        state->shapes[i] = state->trained[i] = i < 4 ? attention : gated;
        state->shapes_total = maker_plus(state, state->shapes_total, state->shapes[i]);
    }
    state->trained_count = state->lora > 0 ? TRAIN_ADAPTERS : TRAIN_MATRICES;
    for (uint32_t i = 0; state->lora > 0 && i < TRAIN_ADAPTERS; i++) {
        state->trained[i] = MAKER_TIMES(state, state->hidden, state->lora);
    }
    state->inputs = maker_array(state, state->layers, sizeof *state->inputs);
    state->saved = maker_array(state, state->layers * KEPT_COUNT, sizeof *state->saved);
    state->grads = maker_array(state, state->layers * TRAIN_ADAPTERS, sizeof *state->grads);
}

void train_tokens(train *state, uint64_t tokens)
{
    state->tokens = tokens;
    state->narrow_bytes = MAKER_TIMES(state, 2, state->tokens, state->hidden);
    state->wide_bytes = MAKER_TIMES(state, 2, state->tokens, state->ff);
    state->sums_bytes = MAKER_TIMES(state, 4, state->tokens);
    state->layer_ns = MAKER_TIMES(state, 2, state->tokens, state->shapes_total) / RATE_FLOPS_PER_NS;
}

void train_draw(train *state)
{
    const family_range *lengths = &state->lengths;
    state->seq = lengths->low + splitmix64_next(&state->words.random) % (lengths->high - lengths->low + 1);
    train_tokens(state, MAKER_TIMES(state, state->batch, state->seq));
}

/* ---- The steps */

void train_setup_weights(train *state)
{
    state->weights = maker_next(state);
    MAKER_EACH(state, i, state->layers * TRAIN_MATRICES) {
        maker_new(state, MAKER_TIMES(state, 2, train_shard(state, state->shapes[i % TRAIN_MATRICES])));
    }
    state->norms = maker_next(state);
    MAKER_EACH(state, i, state->layers * 2) maker_new(state, 2 * state->hidden);
    uint64_t table = MAKER_TIMES(state, 2, train_shard(state, MAKER_TIMES(state, state->vocab, state->hidden)));
    state->embedding = maker_new(state, table);
    state->head = maker_new(state, table);
    state->last_norm = maker_new(state, 2 * state->hidden);
}

/* The bytes of a tensor in 32 bits, of which this rank has its part; adapters are not sharded. */
static uint64_t train_moment_bytes(train *state, uint64_t tensor)
{
    uint64_t elements = state->trained[tensor % state->trained_count];
    return MAKER_TIMES(state, 4, state->lora > 0 ? elements : train_shard(state, elements));
}

void train_setup_state(train *state)
{
    uint64_t tensors = state->layers * state->trained_count;
    MAKER_EACH(state, i, state->lora > 0 ? tensors : 0) {
        maker_new(state, MAKER_TIMES(state, 2, state->trained[i % TRAIN_ADAPTERS]));
    }
    state->state = maker_next(state);
    MAKER_EACH(state, i, tensors * TRAIN_MOMENTS) maker_new(state, train_moment_bytes(state, i / TRAIN_MOMENTS));
}

/* The layer's whole matrices: its own weights, or copies gathered from all ranks. */
static void train_gather(train *state, uint64_t layer, uint32_t full[TRAIN_MATRICES])
{
    uint32_t own = state->weights + (uint32_t)layer * TRAIN_MATRICES;
    for (uint32_t i = 0; i < TRAIN_MATRICES; i++) {
        uint64_t bytes = MAKER_TIMES(state, 2, state->shapes[i]);
        full[i] = state->zero3 == 1 ? own + i : maker_new_on(state, bytes, state->gather_stream);
    }
    if (state->zero3 == 1) return;
    maker_kernel(state, state->gather_stream, MAKER_TIMES(state, 2, state->shapes_total) / RATE_LINK_BYTES_PER_NS);
    maker_touch_run(state, own, TRAIN_MATRICES);
    maker_touch_all(state, full, TRAIN_MATRICES);
    maker_wait(state, 0, state->gather_stream);
}

static void train_release(train *state, const uint32_t full[TRAIN_MATRICES])
{
    if (state->zero3 == 1) return;
    maker_wait(state, state->gather_stream, 0);
    maker_free_all(state, full, TRAIN_MATRICES, state->gather_stream);
}

/* One layer's forward: keeps the blocks that backward needs, returns the layer's output. */
static uint32_t train_forward(train *state, uint64_t layer, const uint32_t full[TRAIN_MATRICES])
{
    uint32_t *kept = state->saved + layer * KEPT_COUNT;
    uint64_t narrow = state->narrow_bytes, wide = state->wide_bytes;
    kept[KEPT_NORM] = maker_new(state, narrow);
    kept[KEPT_RSTD] = maker_new(state, state->sums_bytes);
    uint32_t plain_q = maker_new(state, narrow);
    uint32_t plain_k = maker_new(state, narrow);
    kept[KEPT_V] = maker_new(state, narrow);
    kept[KEPT_Q] = maker_new(state, narrow);     /* q and k after rotary embedding */
    kept[KEPT_K] = maker_new(state, narrow);
    MAKER_FREE(state, plain_q, plain_k);
    kept[KEPT_ATTENTION] = maker_new(state, narrow);
    /* FlashAttention keeps one 32-bit number a head and token. */
    kept[KEPT_LSE] = maker_new(state, MAKER_TIMES(state, 4, state->batch, state->heads, state->seq));
    uint32_t projected = maker_new(state, narrow);
    kept[KEPT_MIDDLE] = maker_new(state, narrow);
    MAKER_FREE(state, projected);
    kept[KEPT_NORM2] = maker_new(state, narrow);
    kept[KEPT_RSTD2] = maker_new(state, state->sums_bytes);
    kept[KEPT_GATE] = maker_new(state, wide);
    kept[KEPT_UP] = maker_new(state, wide);
    kept[KEPT_ACTIVATION] = maker_new(state, wide);
    kept[KEPT_PRODUCT] = maker_new(state, wide);
    uint32_t down = maker_new(state, narrow);
    uint32_t output = maker_new(state, narrow);
    MAKER_FREE(state, down);
    MAKER_KERNEL(state, 0, state->layer_ns, state->inputs[layer]);
    maker_touch_all(state, full, TRAIN_MATRICES);
    maker_touch_run(state, state->norms + (uint32_t)layer * 2, 2);
    maker_touch_all(state, kept, KEPT_COUNT);
    MAKER_TOUCH(state, output);
    return output;
}

static void train_forward_pass(train *state)
{
    state->inputs[0] = maker_new(state, state->narrow_bytes);
    MAKER_MOVE(state, state->narrow_bytes, state->embedding, state->inputs[0]);
    MAKER_EACH(state, layer, state->layers) {
        uint32_t full[TRAIN_MATRICES];
        train_gather(state, layer, full);
        state->inputs[layer + 1] = train_forward(state, layer, full);
        if (state->recompute) maker_free_all(state, state->saved + layer * KEPT_COUNT, KEPT_COUNT, 0);
        train_release(state, full);
    }
}

/* Logits in 16 bits, their loss and its gradient by way of 32 bits. Returns the gradient of the last layer's
   output. */
static uint32_t train_loss(train *state)
{
    uint64_t logits_bytes = MAKER_TIMES(state, 2, state->tokens, state->vocab);
    uint64_t logits32_bytes = MAKER_TIMES(state, 2, logits_bytes);
    uint64_t flops = MAKER_TIMES(state, 3, logits_bytes, state->hidden);
    uint32_t logits = maker_new(state, logits_bytes);
    uint32_t logits32 = maker_new(state, logits32_bytes);
    uint32_t loss = maker_new(state, 4);
    uint32_t gradient32 = maker_new(state, logits32_bytes);
    MAKER_FREE(state, logits32);
    uint32_t gradient = maker_new(state, logits_bytes);
    MAKER_FREE(state, gradient32);
    uint32_t output_gradient = maker_new(state, state->narrow_bytes);
    MAKER_KERNEL(state, 0, flops / RATE_FLOPS_PER_NS, state->inputs[state->layers], state->head, state->last_norm,
                 logits, loss, gradient, output_gradient);
    MAKER_FREE(state, gradient, logits, loss);
    return output_gradient;
}

/* The temporaries of a layer's backward, up to the gradient of its input, which is returned. */
static uint32_t train_activation_gradients(train *state)
{
    uint64_t narrow = state->narrow_bytes, wide = state->wide_bytes;
    uint32_t product = maker_new(state, wide), gate = maker_new(state, wide), up = maker_new(state, wide);
    MAKER_FREE(state, product);
    uint32_t norm_of_gate = maker_new(state, narrow), norm_of_up = maker_new(state, narrow);
    MAKER_FREE(state, gate, up);
    uint32_t middle = maker_new(state, narrow);
    MAKER_FREE(state, norm_of_gate, norm_of_up);
    uint32_t attention = maker_new(state, narrow);
    uint32_t q = maker_new(state, narrow), k = maker_new(state, narrow), v = maker_new(state, narrow);
    uint32_t work = maker_new(state, MAKER_TIMES(state, 4, state->tokens, state->heads));
    MAKER_FREE(state, work, attention);
    uint32_t norm = maker_new(state, narrow);
    MAKER_FREE(state, q, k, v, middle);
    uint32_t input = maker_new(state, narrow);
    MAKER_FREE(state, norm);
    return input;
}

/* A gradient a trained tensor; with sharded weights it is made whole, reduced and scattered, and this rank's part
   stays. */
static void train_weight_gradients(train *state)
{
    for (uint32_t i = 0; i < state->trained_count; i++) {
        uint64_t whole_bytes = MAKER_TIMES(state, 2, state->trained[i]);
        uint32_t whole = maker_new(state, whole_bytes), *kept = &state->grads[state->grad_count++];
        *kept = whole;
        if (state->zero3 == 1 || state->lora > 0) continue;
        *kept = maker_new(state, MAKER_TIMES(state, 2, train_shard(state, state->trained[i])));
        MAKER_KERNEL(state, 0, whole_bytes / RATE_LINK_BYTES_PER_NS, whole, *kept);
        MAKER_FREE(state, whole);
    }
}

/* Takes the gradient of the layer's output, returns that of its input. */
static uint32_t train_backward(train *state, uint64_t layer, uint32_t output_gradient)
{
    uint32_t full[TRAIN_MATRICES];
    const uint32_t *kept = state->saved + layer * KEPT_COUNT;
    train_gather(state, layer, full);
    if (state->recompute) MAKER_FREE(state, train_forward(state, layer, full));
    uint32_t input_gradient = train_activation_gradients(state);
    train_weight_gradients(state);
    MAKER_KERNEL(state, 0, MAKER_TIMES(state, 2, state->layer_ns), output_gradient, state->inputs[layer]);
    maker_touch_all(state, full, TRAIN_MATRICES);
    maker_touch_all(state, kept, KEPT_COUNT);
    MAKER_TOUCH(state, input_gradient);
    maker_touch_all(state, state->grads + state->grad_count - state->trained_count, state->trained_count);
    MAKER_FREE(state, output_gradient);
    train_release(state, full);
    maker_free_all(state, kept, KEPT_COUNT, 0);
    MAKER_FREE(state, state->inputs[layer + 1]);
    return input_gradient;
}

/* AdamW, one 32-bit temporary a tensor. The optimizer's state is taken in the order of setup, gradients in that of
   backward. */
static void train_update(train *state)
{
    MAKER_EACH(state, i, state->grad_count) {
        uint64_t bytes = train_moment_bytes(state, i);
        uint32_t temporary = maker_new(state, bytes);
        MAKER_MOVE(state, MAKER_TIMES(state, 4, bytes), state->grads[i]);
        maker_touch_run(state, state->state + (uint32_t)i * TRAIN_MOMENTS, TRAIN_MOMENTS);
        MAKER_TOUCH(state, temporary);
        MAKER_FREE(state, temporary);
    }
    maker_free_all(state, state->grads, state->grad_count, 0);
}

void train_one_step(train *state)
{
    train_draw(state);
    if (state->zero3 > 1) maker_wait(state, state->gather_stream, 0);    /* gathers read blocks of stream 0 */
    train_forward_pass(state);
    uint32_t gradient = train_loss(state);
    state->grad_count = 0;
    for (uint64_t layer = state->layers; layer > 0 && !maker_is_over(state); layer--) {
        gradient = train_backward(state, layer - 1, gradient);
    }
    MAKER_FREE(state, gradient, state->inputs[0]);
    train_update(state);
}

void train_run(train *state)
{
    maker_label(state, "setup");
    train_setup_weights(state);
    train_setup_state(state);
    MAKER_STEPS(state, "step", step, state->steps) train_one_step(state);
}

static void train_make(void *self)
{
    train_begin(self);
    train_run(self);
}

FAMILY(train, "training a decoder-only transformer: AdamW, recompute, ZeRO-3, LoRA, sequences of varying length",
       "weights x (2 + 12 + 2) bytes, and the activations of the longest sequence", 33434101764);
