/* `cnn`: training ResNet-50: images of one size or of several, SGD with momentum. */
#include "maker.h"

/* He et al., "Deep Residual Learning for Image Recognition" (2015), table 1: stages of 3, 4, 6 and 3 blocks, each of
   1 x 1, 3 x 3 and 1 x 1 convolutions, the last four times as wide; the first block of a stage has a convolution in
   its shortcut. Version 1.5, as torchvision has it, halves the image in the 3 x 3 one. A unit is a convolution and
   its norm, of three parameters; units come in the order of torchvision's parameters, before fc's two. */
enum { CNN_STAGES = 4, CNN_BLOCKS = 16, CNN_UNITS = 53, CNN_WIDENING = 4, CNN_FEATURES = 2048 };
enum { CNN_FC_MATRIX = 3 * CNN_UNITS, CNN_FC_BIAS, CNN_PARAMETERS };
enum { CNN_INDEX_BYTES = 8, CNN_STATISTIC_BYTES = 4 };

typedef struct cnn_map { uint32_t block; uint64_t side; } cnn_map;   /* of a batch: pixels a side */

/* A unit, and the blocks that it keeps for its backward: the norm's input and its statistics; the norm's output,
   which ReLU changes in place. */
typedef struct cnn_unit {
    uint32_t in, out, kernel, stride;            /* channels; pixels */
    uint32_t convolved, mean, deviation;
    cnn_map  made;
} cnn_unit;

typedef struct cnn_block {
    cnn_unit *first;                             /* of three in a row, and a fourth where it has a shortcut's */
    int       has_shortcut;
    cnn_map   input;
} cnn_block;

/* Parameters, buffers, activations and gradients as PyTorch's eager mode has them: each norm keeps its input, each
   ReLU its output; gradients come as activations go. A convolution of more than a pixel works in the matrix of one
   image (im2col) for as long as it lasts. The momenta are made at the first update. Norms are of 32 bits with either
   dtype. image=LO-HI: each step has a size of its own, a multiple of 32, as training at several resolutions has;
   batch=LO-HI likewise. streams=2: images come from the host on stream 1. */
typedef struct cnn {
    maker     words;
    uint64_t  classes, steps, is_half, streams;  /* options */
    family_range batches, images;
    uint64_t  value_bytes, batch;                /* batch: of this step */
    cnn_unit  units[CNN_UNITS];
    uint32_t  unit_count, parameter_count;       /* made so far */
    cnn_block blocks[CNN_BLOCKS + 1];            /* the last one's input is the output of all */
    uint64_t  bytes[CNN_PARAMETERS];
    uint32_t  parameters[CNN_PARAMETERS], gradients[CNN_PARAMETERS], momenta[CNN_PARAMETERS];
    int       has_momenta;
    uint32_t  places, features, likelihoods;
} cnn;

static const char *const cnn_dtypes[] = { "fp32", "fp16" };
static const family_option cnn_options[] = {
    OPTION_RANGE(cnn, batches, "batch", 1, 65536, 32, 32),
    OPTION_RANGE(cnn, images, "image", 32, 65536, 224, 224),
    OPTION(cnn, classes, "classes", 1, UINT32_MAX, 1000),
    OPTION(cnn, steps, "steps", 0, 1000000, 4),
    OPTION_WORDS(cnn, is_half, "dtype", cnn_dtypes),
    OPTION(cnn, streams, "streams", 1, 2, 1),
    OPTION(cnn, words.random, "seed", 0, UINT64_MAX, 1),
};

/* ---- The net and its parameters */

static void cnn_add_parameter(cnn *state, uint64_t bytes)
{
    state->bytes[state->parameter_count] = bytes;
    state->parameters[state->parameter_count++] = maker_new(state, bytes);
}

/* Adds a unit; its norm's means and variances so far, and how many batches they are of, come behind its
   parameters. */
static void cnn_add_unit(cnn *state, uint32_t in, uint32_t out, uint32_t kernel, uint32_t stride)
{
    const cnn_unit made = { .in = in, .out = out, .kernel = kernel, .stride = stride };
    uint64_t norm_bytes = CNN_STATISTIC_BYTES * (uint64_t)out;
    state->units[state->unit_count++] = made;
    cnn_add_parameter(state, state->value_bytes * in * out * kernel * kernel);
    cnn_add_parameter(state, norm_bytes);
    cnn_add_parameter(state, norm_bytes);
    maker_new(state, norm_bytes);
    maker_new(state, norm_bytes);
    maker_new(state, 8);
}

static void cnn_setup(cnn *state)
{
    static const uint32_t depths[CNN_STAGES] = { 3, 4, 6, 3 };
    uint32_t in = 64;
    cnn_block *block = state->blocks;
    cnn_add_unit(state, 3, in, 7, 2);
    for (uint32_t stage = 0; stage < CNN_STAGES; stage++) {
        uint32_t width = (uint32_t)64 << stage, out = width * CNN_WIDENING;
        for (uint32_t depth = 0; depth < depths[stage]; depth++, block++) {
            uint32_t stride = stage > 0 && depth == 0 ? 2 : 1;
            block->first = &state->units[state->unit_count];
            block->has_shortcut = depth == 0;
            cnn_add_unit(state, in, width, 1, 1);
            cnn_add_unit(state, width, width, 3, stride);
            cnn_add_unit(state, width, out, 1, 1);
            if (block->has_shortcut) cnn_add_unit(state, in, out, 1, stride);
            in = out;
        }
    }
    cnn_add_parameter(state, state->value_bytes * state->classes * CNN_FEATURES);
    cnn_add_parameter(state, state->value_bytes * state->classes);
}

/* ---- Forward and backward of one batch, in the order in which PyTorch's eager mode allocates and frees */

static uint64_t cnn_map_bytes(cnn *state, uint64_t channels, uint64_t side)
{
    return MAKER_TIMES(state, state->value_bytes * channels, state->batch, side * side);
}

static uint32_t cnn_index(const cnn *state, const cnn_unit *unit)    /* of its first parameter */
{
    return 3 * (uint32_t)(unit - state->units);
}

/* The convolution's matrix of one image, and its kernel's time: 1 x 1 needs no matrix. */
static void cnn_convolve(cnn *state, const cnn_unit *unit, uint32_t times, uint32_t from, uint32_t to)
{
    uint64_t pixels = unit->made.side * unit->made.side, taps = (uint64_t)unit->kernel * unit->kernel * unit->in;
    uint32_t matrix = unit->kernel > 1 ? maker_new(state, state->value_bytes * taps * pixels) : 0;
    uint64_t flops = MAKER_TIMES(state, 2 * times * taps * unit->out, MAKER_TIMES(state, pixels, state->batch));
    MAKER_KERNEL(state, 0, flops / RATE_FLOPS_PER_NS, from, state->parameters[cnn_index(state, unit)]);
    if (unit->kernel > 1) MAKER_TOUCH(state, matrix);
    MAKER_TOUCH(state, to);
    if (unit->kernel > 1) MAKER_FREE(state, matrix);
}

/* Convolution and norm; ReLU, where there is one, works in place. */
static cnn_map cnn_unit_forward(cnn *state, cnn_unit *unit, cnn_map input)
{
    unit->made.side = (input.side - 1) / unit->stride + 1;   /* padded by half the kernel */
    uint64_t bytes = cnn_map_bytes(state, unit->out, unit->made.side);
    unit->convolved = maker_new(state, bytes);
    cnn_convolve(state, unit, 1, input.block, unit->convolved);
    unit->made.block = maker_new(state, bytes);
    unit->mean = maker_new(state, CNN_STATISTIC_BYTES * unit->out);
    unit->deviation = maker_new(state, CNN_STATISTIC_BYTES * unit->out);
    MAKER_KERNEL(state, 0, bytes / RATE_MEMORY_BYTES_PER_NS * 2, unit->convolved, unit->made.block, unit->mean,
                 unit->deviation);
    return unit->made;
}

static cnn_map cnn_block_forward(cnn *state, const cnn_block *block)
{
    cnn_unit *first = block->first;
    uint32_t shortcut = block->input.block;
    cnn_map at = cnn_unit_forward(state, first, block->input);
    at = cnn_unit_forward(state, first + 1, at);
    at = cnn_unit_forward(state, first + 2, at);
    if (block->has_shortcut) shortcut = cnn_unit_forward(state, first + 3, block->input).block;
    MAKER_MOVE(state, maker_bytes(state, at.block), shortcut, at.block);     /* the sum is made in place */
    if (block->has_shortcut) MAKER_FREE(state, shortcut);
    return at;
}

/* One step's halves. The gradients are all there at the end of the latter, and all else is freed. */
static void cnn_forward(cnn *state, cnn_map images)
{
    cnn_map at = cnn_unit_forward(state, &state->units[0], images), *pooled = &state->blocks[0].input;
    pooled->side = (at.side - 1) / 2 + 1;
    uint64_t bytes = cnn_map_bytes(state, state->units[0].out, pooled->side);
    pooled->block = maker_made(state, bytes, at.block);
    state->places = maker_made(state, bytes / state->value_bytes * CNN_INDEX_BYTES, at.block);
    MAKER_EACH(state, i, CNN_BLOCKS) state->blocks[i + 1].input = cnn_block_forward(state, &state->blocks[i]);
    bytes = MAKER_TIMES(state, state->value_bytes * state->classes, state->batch);
    state->features = maker_made(state, cnn_map_bytes(state, CNN_FEATURES, 1), state->blocks[CNN_BLOCKS].input.block);
    uint32_t logits = maker_made(state, bytes, state->features);
    state->likelihoods = maker_made(state, bytes, logits);
    MAKER_FREE(state, logits);
}

/* Takes the gradient behind ReLU; frees it and the output that ReLU kept; returns the gradient before ReLU. */
static uint32_t cnn_relu_back(cnn *state, const cnn_unit *unit, uint32_t gradient)
{
    uint32_t made = unit->made.block, before = maker_made(state, maker_bytes(state, made), made);
    MAKER_TOUCH(state, gradient);
    MAKER_FREE(state, gradient, made);
    return before;
}

static void cnn_keep(cnn *state, uint32_t parameter, uint32_t from)
{
    state->gradients[parameter] = maker_made(state, state->bytes[parameter], from);
}

/* Norm and convolution. The gradient behind the norm stays the caller's; returns that of the input, of which the
   first unit has none. */
static uint32_t cnn_unit_back(cnn *state, const cnn_unit *unit, uint32_t gradient, uint32_t input)
{
    uint32_t before = maker_made(state, maker_bytes(state, unit->convolved), gradient), made = before;
    uint32_t index = cnn_index(state, unit);
    MAKER_TOUCH(state, unit->convolved);
    cnn_keep(state, index + 1, before);
    cnn_keep(state, index + 2, before);
    MAKER_FREE(state, unit->convolved, unit->mean, unit->deviation);
    if (index > 0) made = maker_new(state, maker_bytes(state, input));
    cnn_convolve(state, unit, 2, input, made);
    cnn_keep(state, index, before);
    if (index > 0) MAKER_FREE(state, before);
    return made;
}

/* The three convolutions of a block, then its shortcut, whose gradient joins the other one in place. */
static uint32_t cnn_block_back(cnn *state, const cnn_block *block, uint32_t gradient)
{
    const cnn_unit *first = block->first;
    uint32_t behind = cnn_relu_back(state, first + 2, gradient), shortcut = behind;
    uint32_t at = cnn_unit_back(state, first + 2, behind, first[1].made.block);
    for (int i = 1; i >= 0; i--) {
        uint32_t before = cnn_relu_back(state, first + i, at);
        at = cnn_unit_back(state, first + i, before, i > 0 ? first->made.block : block->input.block);
        MAKER_FREE(state, before);
    }
    if (block->has_shortcut) {
        shortcut = cnn_unit_back(state, first + 3, behind, block->input.block);
        MAKER_FREE(state, behind);
    }
    MAKER_MOVE(state, maker_bytes(state, at), shortcut, at);
    MAKER_FREE(state, shortcut);
    return at;
}

static uint32_t cnn_head_back(cnn *state)
{
    uint32_t last = state->blocks[CNN_BLOCKS].input.block;
    uint32_t logits = maker_made(state, maker_bytes(state, state->likelihoods), state->likelihoods);
    MAKER_FREE(state, state->likelihoods);
    uint32_t features = maker_made(state, maker_bytes(state, state->features), logits);
    cnn_keep(state, CNN_FC_MATRIX, state->features);
    cnn_keep(state, CNN_FC_BIAS, logits);
    MAKER_FREE(state, logits, state->features);
    uint32_t map = maker_made(state, maker_bytes(state, last), features);
    MAKER_FREE(state, features);
    return map;
}

static void cnn_backward(cnn *state)
{
    uint32_t at = cnn_head_back(state);
    MAKER_EACH(state, i, CNN_BLOCKS) at = cnn_block_back(state, &state->blocks[CNN_BLOCKS - 1 - i], at);
    MAKER_FREE(state, state->blocks[0].input.block);
    uint32_t wide = maker_made(state, maker_bytes(state, state->units[0].made.block), at);
    MAKER_TOUCH(state, state->places);
    MAKER_FREE(state, state->places, at);
    uint32_t before = cnn_relu_back(state, &state->units[0], wide);
    MAKER_FREE(state, cnn_unit_back(state, &state->units[0], before, before), before);
}

/* ---- Steps */

/* Weight decay makes a temporary of each gradient; the first one becomes the momentum. */
static void cnn_update(cnn *state)
{
    MAKER_EACH(state, i, CNN_PARAMETERS) {
        uint32_t decayed = maker_made(state, state->bytes[i], state->gradients[i]);
        MAKER_TOUCH(state, state->parameters[i]);
        if (!state->has_momenta) state->momenta[i] = maker_new(state, state->bytes[i]);
        MAKER_MOVE(state, 3 * state->bytes[i], decayed, state->momenta[i], state->parameters[i]);
        MAKER_FREE(state, decayed);
    }
    state->has_momenta = 1;
    maker_free_all(state, state->gradients, CNN_PARAMETERS, 0);
}

static void cnn_step(cnn *state)
{
    uint64_t on_stream = state->streams - 1;
    state->batch = maker_draw_of(state, state->batches);
    cnn_map images = { 0, maker_draw_side(state, state->images) };
    uint64_t bytes = cnn_map_bytes(state, 3, images.side);
    images.block = maker_new_on(state, bytes, on_stream);
    uint32_t labels = maker_new_on(state, 8 * state->batch, on_stream);
    MAKER_KERNEL(state, on_stream, bytes / RATE_HOST_BYTES_PER_NS, images.block, labels);
    maker_wait(state, 0, on_stream);
    cnn_forward(state, images);
    MAKER_KERNEL(state, 0, 1, labels);
    cnn_backward(state);
    MAKER_FREE(state, images.block, labels);
    cnn_update(state);
}

static void cnn_make(void *self)
{
    cnn *state = self;
    state->value_bytes = state->is_half ? 2 : 4;
    cnn_setup(state);
    uint32_t permanent = maker_next(state);
    MAKER_STEPS(state, "step", step, state->steps) cnn_step(state);
    if (state->has_momenta) maker_free_all(state, state->momenta, CNN_PARAMETERS, 0);
    maker_free_run(state, 0, permanent);
}

FAMILY(cnn, "training ResNet-50, with SGD and momentum: activations and gradients of images of one size or several",
       "2 x parameters (25,557,032), and of each image 11.1 M numbers before norms, 9.6 M behind them, and its own",
       2987609992);
