/* `cnn`: forward and backward of one batch, in the order in which PyTorch's eager mode allocates and frees.
   Must not know of optimizers, nor of options.
   Tested by tests/test_workload_cnn.c. */
#include "cnn.h"

enum { CNN_INDEX_BYTES = 8, CNN_STATISTIC_BYTES = 4 };

uint64_t cnn_map_bytes(cnn *state, uint64_t channels, uint64_t side)
{
    maker *words = &state->words;
    return maker_times(words, maker_times(words, state->value_bytes * channels, state->batch), side * side);
}

uint32_t cnn_made(cnn *state, uint64_t bytes, uint32_t from)
{
    maker *words = &state->words;
    uint32_t made = maker_new(words, bytes, 0);
    maker_kernel(words, 0, bytes / RATE_MEMORY_BYTES_PER_NS);
    maker_touch(words, from);
    maker_touch(words, made);
    return made;
}

void cnn_convolve(cnn *state, uint32_t unit, uint32_t times, uint32_t from, uint32_t to)
{
    maker *words = &state->words;
    const cnn_unit *of = &state->net.units[unit];
    uint64_t pixels = state->kept[unit].out_side * state->kept[unit].out_side;
    uint64_t taps = (uint64_t)of->kernel * of->kernel * of->in;
    uint32_t matrix = of->kernel > 1 ? maker_new(words, state->value_bytes * taps * pixels, 0) : 0;
    uint64_t flops = maker_times(words, 2 * times * taps * of->out, maker_times(words, pixels, state->batch));
    maker_kernel(words, 0, flops / RATE_FLOPS_PER_NS);
    maker_touch(words, from);
    maker_touch(words, state->parameters[unit * CNN_UNIT_PARAMETERS]);
    if (of->kernel > 1) maker_touch(words, matrix);
    maker_touch(words, to);
    if (of->kernel > 1) maker_free(words, matrix, 0);
}

/* Convolution and norm; ReLU, where there is one, works in place. */
static uint32_t cnn_unit_forward(cnn *state, uint32_t unit, uint32_t input, uint64_t side)
{
    maker *words = &state->words;
    const cnn_unit *of = &state->net.units[unit];
    cnn_kept *kept = &state->kept[unit];
    kept->in_side = side;
    kept->out_side = (side - 1) / of->stride + 1;            /* padded by half the kernel */
    uint64_t bytes = cnn_map_bytes(state, of->out, kept->out_side);
    kept->convolved = maker_new(words, bytes, 0);
    cnn_convolve(state, unit, 1, input, kept->convolved);
    kept->made = maker_new(words, bytes, 0);
    kept->mean = maker_new(words, CNN_STATISTIC_BYTES * of->out, 0);
    kept->deviation = maker_new(words, CNN_STATISTIC_BYTES * of->out, 0);
    maker_kernel(words, 0, bytes / RATE_MEMORY_BYTES_PER_NS * 2);
    maker_touch(words, kept->convolved);
    maker_touch(words, kept->made);
    maker_touch(words, kept->mean);
    maker_touch(words, kept->deviation);
    return kept->made;
}

static uint32_t cnn_block_forward(cnn *state, const cnn_block *block, uint32_t input, uint64_t side)
{
    maker *words = &state->words;
    uint32_t first = block->first, shortcut = input;
    uint32_t at = cnn_unit_forward(state, first, input, side);
    at = cnn_unit_forward(state, first + 1, at, side);
    at = cnn_unit_forward(state, first + 2, at, state->kept[first + 1].out_side);
    if (block->has_shortcut) shortcut = cnn_unit_forward(state, first + 3, input, side);
    maker_kernel(words, 0, maker_bytes(words, at) / RATE_MEMORY_BYTES_PER_NS);
    maker_touch(words, shortcut);
    maker_touch(words, at);                      /* the sum is made in place */
    if (block->has_shortcut) maker_free(words, shortcut, 0);
    return at;
}

static void cnn_head_forward(cnn *state, uint32_t at)
{
    maker *words = &state->words;
    uint64_t logits_bytes = maker_times(words, state->value_bytes * state->classes, state->batch);
    state->features = cnn_made(state, cnn_map_bytes(state, CNN_FEATURES, 1), at);
    state->logits = cnn_made(state, logits_bytes, state->features);
    state->likelihoods = cnn_made(state, logits_bytes, state->logits);
    maker_free(words, state->logits, 0);
}

void cnn_forward(cnn *state, uint32_t images, uint64_t side)
{
    uint32_t at = cnn_unit_forward(state, 0, images, side);
    uint64_t wide = state->kept[0].out_side;
    state->pooled_side = (wide - 1) / 2 + 1;
    uint64_t bytes = cnn_map_bytes(state, state->net.units[0].out, state->pooled_side);
    state->pooled = cnn_made(state, bytes, at);
    state->places = cnn_made(state, bytes / state->value_bytes * CNN_INDEX_BYTES, at);
    at = state->pooled;
    side = state->pooled_side;
    for (uint32_t i = 0; i < CNN_BLOCKS && !maker_is_over(&state->words); i++) {
        at = cnn_block_forward(state, &state->net.blocks[i], at, side);
        side = state->kept[state->net.blocks[i].first + 1].out_side;
    }
    cnn_head_forward(state, at);
}

/* Takes the gradient behind ReLU, frees it and what ReLU kept; returns that before it. */
static uint32_t cnn_relu_back(cnn *state, uint32_t unit, uint32_t gradient)
{
    uint32_t made = state->kept[unit].made, before = cnn_made(state, maker_bytes(&state->words, made), made);
    maker_touch(&state->words, gradient);
    maker_free(&state->words, gradient, 0);
    maker_free(&state->words, made, 0);
    return before;
}

static void cnn_keep(cnn *state, uint32_t unit, uint32_t which, uint32_t from)
{
    uint32_t parameter = unit * CNN_UNIT_PARAMETERS + which;
    state->gradients[parameter] = cnn_made(state, state->bytes[parameter], from);
}

/* Norm and convolution. The gradient behind the norm stays the caller's; returns that of the input, of which the
   first unit has none. */
static uint32_t cnn_unit_back(cnn *state, uint32_t unit, uint32_t gradient, uint32_t input)
{
    maker *words = &state->words;
    const cnn_kept *kept = &state->kept[unit];
    uint32_t before = cnn_made(state, maker_bytes(words, kept->convolved), gradient), made = before;
    maker_touch(words, kept->convolved);
    cnn_keep(state, unit, 1, before);
    cnn_keep(state, unit, 2, before);
    maker_free(words, kept->convolved, 0);
    maker_free(words, kept->mean, 0);
    maker_free(words, kept->deviation, 0);
    if (unit > 0) made = maker_new(words, maker_bytes(words, input), 0);
    cnn_convolve(state, unit, 2, input, made);
    cnn_keep(state, unit, 0, before);
    if (unit > 0) maker_free(words, before, 0);
    return made;
}

/* The three convolutions of a block, then its shortcut, whose gradient joins the other one in place. */
static uint32_t cnn_block_back(cnn *state, const cnn_block *block, uint32_t gradient, uint32_t input)
{
    maker *words = &state->words;
    uint32_t first = block->first, behind = cnn_relu_back(state, first + 2, gradient), shortcut = behind;
    uint32_t at = cnn_unit_back(state, first + 2, behind, state->kept[first + 1].made);
    for (uint32_t unit = first + 1; unit + 1 > first; unit--) {
        uint32_t before = cnn_relu_back(state, unit, at);
        at = cnn_unit_back(state, unit, before, unit > first ? state->kept[unit - 1].made : input);
        maker_free(words, before, 0);
    }
    if (block->has_shortcut) {
        shortcut = cnn_unit_back(state, first + 3, behind, input);
        maker_free(words, behind, 0);
    }
    maker_kernel(words, 0, maker_bytes(words, at) / RATE_MEMORY_BYTES_PER_NS);
    maker_touch(words, shortcut);
    maker_touch(words, at);
    maker_free(words, shortcut, 0);
    return at;
}

static uint32_t cnn_head_back(cnn *state, uint32_t last)
{
    maker *words = &state->words;
    uint32_t matrix = CNN_PARAMETERS - 2, bias = CNN_PARAMETERS - 1;
    uint32_t logits = cnn_made(state, maker_bytes(words, state->likelihoods), state->likelihoods);
    maker_free(words, state->likelihoods, 0);
    uint32_t features = cnn_made(state, maker_bytes(words, state->features), logits);
    state->gradients[matrix] = cnn_made(state, state->bytes[matrix], state->features);
    state->gradients[bias] = cnn_made(state, state->bytes[bias], logits);
    maker_free(words, logits, 0);
    maker_free(words, state->features, 0);
    uint32_t map = cnn_made(state, maker_bytes(words, last), features);
    maker_free(words, features, 0);
    return map;
}

void cnn_backward(cnn *state)
{
    maker *words = &state->words;
    const cnn_block *blocks = state->net.blocks;
    uint32_t at = cnn_head_back(state, state->kept[blocks[CNN_BLOCKS - 1].first + 2].made);
    for (uint32_t i = CNN_BLOCKS; i-- > 0 && !maker_is_over(words); ) {
        uint32_t input = i > 0 ? state->kept[blocks[i - 1].first + 2].made : state->pooled;
        at = cnn_block_back(state, &blocks[i], at, input);
    }
    maker_free(words, state->pooled, 0);
    uint32_t wide = cnn_made(state, maker_bytes(words, state->kept[0].made), at);
    maker_touch(words, state->places);
    maker_free(words, state->places, 0);
    maker_free(words, at, 0);
    uint32_t before = cnn_relu_back(state, 0, wide);
    maker_free(words, cnn_unit_back(state, 0, before, before), 0);
    maker_free(words, before, 0);
}
