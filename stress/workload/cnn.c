/* `cnn`: training ResNet-50: images of one size or of several, SGD with momentum. */
#include "maker.h"

enum { CNN_UNITS = 53, CNN_BLOCKS = 16, CNN_FEATURES = 2048 };       /* a unit: a convolution and its norm */
enum { CNN_UNIT_PARAMETERS = 3, CNN_PARAMETERS = CNN_UNITS * CNN_UNIT_PARAMETERS + 2 };      /* and fc's two */

typedef struct cnn_unit {
    uint32_t in, out, kernel, stride;            /* channels; pixels */
} cnn_unit;

typedef struct cnn_block {
    uint32_t first;                              /* of three units in a row, and a fourth where it has a shortcut's */
    int      has_shortcut;
} cnn_block;

typedef struct cnn_net {
    cnn_unit  units[CNN_UNITS];                  /* in the order of torchvision's parameters */
    cnn_block blocks[CNN_BLOCKS];
} cnn_net;

/* What a unit keeps for its backward, and pixels a side of this step's. */
typedef struct cnn_kept {
    uint32_t convolved, mean, deviation;         /* the norm's input and its statistics */
    uint32_t made;                               /* behind the norm, and behind ReLU, in place */
    uint64_t in_side, out_side;
} cnn_kept;

typedef struct cnn {
    maker    words;
    cnn_net  net;
    uint64_t classes, steps, is_half, streams;   /* options */
    family_range batches, images;
    uint64_t value_bytes, batch;                 /* batch: of this step */
    uint64_t input_stream;
    uint64_t bytes[CNN_PARAMETERS];
    uint32_t parameters[CNN_PARAMETERS], gradients[CNN_PARAMETERS], momenta[CNN_PARAMETERS];
    int      has_momenta;
    cnn_kept kept[CNN_UNITS];
    uint32_t pooled, places, features, logits, likelihoods;
    uint64_t pooled_side;
} cnn;

/* ---- The layers of ResNet-50, version 1.5, as torchvision has them */

/* He et al., "Deep Residual Learning for Image Recognition" (2015), table 1: stages of 3, 4, 6 and 3 blocks, each of
   1 x 1, 3 x 3 and 1 x 1 convolutions, the last four times as wide; the first block of a stage has a convolution in
   its shortcut. Version 1.5 halves the image in the 3 x 3 one. */
enum { CNN_STAGES = 4, CNN_WIDENING = 4 };

static uint32_t cnn_add(cnn_net *net, uint32_t at, uint32_t in, uint32_t out, uint32_t kernel, uint32_t stride)
{
    const cnn_unit made = { in, out, kernel, stride };
    net->units[at] = made;
    return at + 1;
}

static void cnn_build(cnn_net *net)
{
    static const uint32_t depths[CNN_STAGES] = { 3, 4, 6, 3 };
    uint32_t in = 64, block = 0, unit = cnn_add(net, 0, 3, 64, 7, 2);
    for (uint32_t stage = 0; stage < CNN_STAGES; stage++) {
        uint32_t width = (uint32_t)64 << stage, out = width * CNN_WIDENING;
        for (uint32_t depth = 0; depth < depths[stage]; depth++, block++) {
            uint32_t stride = stage > 0 && depth == 0 ? 2 : 1;
            net->blocks[block].first = unit;
            net->blocks[block].has_shortcut = depth == 0;
            unit = cnn_add(net, unit, in, width, 1, 1);
            unit = cnn_add(net, unit, width, width, 3, stride);
            unit = cnn_add(net, unit, width, out, 1, 1);
            if (depth == 0) unit = cnn_add(net, unit, in, out, 1, stride);
            in = out;
        }
    }
}

/* ---- Forward and backward of one batch, in the order in which PyTorch's eager mode allocates and frees */

enum { CNN_INDEX_BYTES = 8, CNN_STATISTIC_BYTES = 4 };

/* of the whole batch */
static uint64_t cnn_map_bytes(cnn *state, uint64_t channels, uint64_t side)
{
    maker *words = &state->words;
    return maker_times(words, maker_times(words, state->value_bytes * channels, state->batch), side * side);
}

/* The convolution's matrix of one image, and its kernel's time: 1 x 1 needs no matrix. */
static void cnn_convolve(cnn *state, uint32_t unit, uint32_t times, uint32_t from, uint32_t to)
{
    maker *words = &state->words;
    const cnn_unit *of = &state->net.units[unit];
    uint64_t pixels = state->kept[unit].out_side * state->kept[unit].out_side;
    uint64_t taps = (uint64_t)of->kernel * of->kernel * of->in;
    uint32_t matrix = of->kernel > 1 ? maker_new(words, state->value_bytes * taps * pixels) : 0;
    uint64_t flops = maker_times(words, 2 * times * taps * of->out, maker_times(words, pixels, state->batch));
    MAKER_KERNEL(words, 0, flops / RATE_FLOPS_PER_NS, from, state->parameters[unit * CNN_UNIT_PARAMETERS]);
    if (of->kernel > 1) maker_touch(words, matrix);
    maker_touch(words, to);
    if (of->kernel > 1) maker_free(words, matrix);
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
    kept->convolved = maker_new(words, bytes);
    cnn_convolve(state, unit, 1, input, kept->convolved);
    kept->made = maker_new(words, bytes);
    kept->mean = maker_new(words, CNN_STATISTIC_BYTES * of->out);
    kept->deviation = maker_new(words, CNN_STATISTIC_BYTES * of->out);
    MAKER_KERNEL(words, 0, bytes / RATE_MEMORY_BYTES_PER_NS * 2, kept->convolved, kept->made, kept->mean,
                 kept->deviation);
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
    MAKER_KERNEL(words, 0, maker_bytes(words, at) / RATE_MEMORY_BYTES_PER_NS, shortcut);
    maker_touch(words, at);                      /* the sum is made in place */
    if (block->has_shortcut) maker_free(words, shortcut);
    return at;
}

static void cnn_head_forward(cnn *state, uint32_t at)
{
    maker *words = &state->words;
    uint64_t logits_bytes = maker_times(words, state->value_bytes * state->classes, state->batch);
    state->features = maker_made(words, cnn_map_bytes(state, CNN_FEATURES, 1), at);
    state->logits = maker_made(words, logits_bytes, state->features);
    state->likelihoods = maker_made(words, logits_bytes, state->logits);
    maker_free(words, state->logits);
}

/* One step's halves. The gradients are all there at the end of the latter, and all else is freed. */
static void cnn_forward(cnn *state, uint32_t images, uint64_t side)
{
    uint32_t at = cnn_unit_forward(state, 0, images, side);
    uint64_t wide = state->kept[0].out_side;
    state->pooled_side = (wide - 1) / 2 + 1;
    uint64_t bytes = cnn_map_bytes(state, state->net.units[0].out, state->pooled_side);
    state->pooled = maker_made(&state->words, bytes, at);
    state->places = maker_made(&state->words, bytes / state->value_bytes * CNN_INDEX_BYTES, at);
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
    maker *words = &state->words;
    uint32_t made = state->kept[unit].made, before = maker_made(words, maker_bytes(words, made), made);
    maker_touch(words, gradient);
    MAKER_FREE(words, gradient, made);
    return before;
}

static void cnn_keep(cnn *state, uint32_t unit, uint32_t which, uint32_t from)
{
    uint32_t parameter = unit * CNN_UNIT_PARAMETERS + which;
    state->gradients[parameter] = maker_made(&state->words, state->bytes[parameter], from);
}

/* Norm and convolution. The gradient behind the norm stays the caller's; returns that of the input, of which the
   first unit has none. */
static uint32_t cnn_unit_back(cnn *state, uint32_t unit, uint32_t gradient, uint32_t input)
{
    maker *words = &state->words;
    const cnn_kept *kept = &state->kept[unit];
    uint32_t before = maker_made(words, maker_bytes(words, kept->convolved), gradient), made = before;
    maker_touch(words, kept->convolved);
    cnn_keep(state, unit, 1, before);
    cnn_keep(state, unit, 2, before);
    MAKER_FREE(words, kept->convolved, kept->mean, kept->deviation);
    if (unit > 0) made = maker_new(words, maker_bytes(words, input));
    cnn_convolve(state, unit, 2, input, made);
    cnn_keep(state, unit, 0, before);
    if (unit > 0) maker_free(words, before);
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
        maker_free(words, before);
    }
    if (block->has_shortcut) {
        shortcut = cnn_unit_back(state, first + 3, behind, input);
        maker_free(words, behind);
    }
    MAKER_KERNEL(words, 0, maker_bytes(words, at) / RATE_MEMORY_BYTES_PER_NS, shortcut, at);
    maker_free(words, shortcut);
    return at;
}

static uint32_t cnn_head_back(cnn *state, uint32_t last)
{
    maker *words = &state->words;
    uint32_t matrix = CNN_PARAMETERS - 2, bias = CNN_PARAMETERS - 1;
    uint32_t logits = maker_made(words, maker_bytes(words, state->likelihoods), state->likelihoods);
    maker_free(words, state->likelihoods);
    uint32_t features = maker_made(words, maker_bytes(words, state->features), logits);
    state->gradients[matrix] = maker_made(words, state->bytes[matrix], state->features);
    state->gradients[bias] = maker_made(words, state->bytes[bias], logits);
    MAKER_FREE(words, logits, state->features);
    uint32_t map = maker_made(words, maker_bytes(words, last), features);
    maker_free(words, features);
    return map;
}

static void cnn_backward(cnn *state)
{
    maker *words = &state->words;
    const cnn_block *blocks = state->net.blocks;
    uint32_t at = cnn_head_back(state, state->kept[blocks[CNN_BLOCKS - 1].first + 2].made);
    for (uint32_t i = CNN_BLOCKS; i-- > 0 && !maker_is_over(words); ) {
        uint32_t input = i > 0 ? state->kept[blocks[i - 1].first + 2].made : state->pooled;
        at = cnn_block_back(state, &blocks[i], at, input);
    }
    maker_free(words, state->pooled);
    uint32_t wide = maker_made(words, maker_bytes(words, state->kept[0].made), at);
    maker_touch(words, state->places);
    MAKER_FREE(words, state->places, at);
    uint32_t before = cnn_relu_back(state, 0, wide);
    MAKER_FREE(words, cnn_unit_back(state, 0, before, before), before);
}

/* ---- Options and steps */

/* Parameters, buffers, activations and gradients as PyTorch's eager mode has them: each norm keeps its input, each
   ReLU its output; gradients come as activations go. A convolution of more than a pixel works in the matrix of one
   image (im2col) for as long as it lasts. The momenta are made at the first update. Norms are of 32 bits with either
   dtype. image=LO-HI: each step has a size of its own, a multiple of 32, as training at several resolutions has;
   batch=LO-HI likewise. streams=2: images come from the host on stream 1. */
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

/* Behind a norm's parameters its means and variances so far, and how many batches they are of. */
static void cnn_setup(cnn *state)
{
    maker *words = &state->words;
    for (uint32_t i = 0; i < CNN_PARAMETERS && !maker_is_over(words); i++) {
        uint32_t unit = i / CNN_UNIT_PARAMETERS;
        const cnn_unit *of = &state->net.units[unit < CNN_UNITS ? unit : 0];
        uint64_t features = i % 3 == 0 ? CNN_FEATURES : 1;
        if (unit == CNN_UNITS) state->bytes[i] = state->value_bytes * state->classes * features;
        else if (i % 3 == 0) state->bytes[i] = state->value_bytes * of->in * of->out * of->kernel * of->kernel;
        else state->bytes[i] = 4 * (uint64_t)of->out;
        state->parameters[i] = maker_new(words, state->bytes[i]);
        if (unit == CNN_UNITS || i % 3 != 2) continue;
        maker_new(words, state->bytes[i]);
        maker_new(words, state->bytes[i]);
        maker_new(words, 8);
    }
}

/* Weight decay makes a temporary of each gradient; the first one becomes the momentum. */
static void cnn_update(cnn *state)
{
    maker *words = &state->words;
    for (uint32_t i = 0; i < CNN_PARAMETERS && !maker_is_over(words); i++) {
        uint32_t decayed = maker_made(words, state->bytes[i], state->gradients[i]);
        maker_touch(words, state->parameters[i]);
        if (!state->has_momenta) state->momenta[i] = maker_new(words, state->bytes[i]);
        MAKER_KERNEL(words, 0, 3 * state->bytes[i] / RATE_MEMORY_BYTES_PER_NS, decayed, state->momenta[i],
                     state->parameters[i]);
        maker_free(words, decayed);
    }
    state->has_momenta = 1;
    maker_free_all(words, state->gradients, CNN_PARAMETERS, 0);
}

static void cnn_step(cnn *state, uint64_t side)
{
    maker *words = &state->words;
    uint64_t bytes = cnn_map_bytes(state, 3, side), on_stream = state->input_stream;
    uint32_t images = maker_new_on(words, bytes, on_stream);
    uint32_t labels = maker_new_on(words, 8 * state->batch, on_stream);
    MAKER_KERNEL(words, on_stream, bytes / RATE_HOST_BYTES_PER_NS, images, labels);
    maker_wait(words, 0, on_stream);
    cnn_forward(state, images, side);
    MAKER_KERNEL(words, 0, 1, labels);
    cnn_backward(state);
    MAKER_FREE(words, images, labels);
    cnn_update(state);
}

static void cnn_make(void *self)
{
    cnn *state = self;
    maker *words = &state->words;
    cnn_build(&state->net);
    state->value_bytes = state->is_half ? 2 : 4;
    state->input_stream = state->streams - 1;
    cnn_setup(state);
    uint32_t permanent = maker_next(words);
    for (uint64_t step = 0; step < state->steps && !maker_is_over(words); step++) {
        maker_step(words, "step", step);
        state->batch = maker_draw(words, state->batches.low, state->batches.high);
        cnn_step(state, maker_draw_side(words, state->images.low, state->images.high));
    }
    if (state->has_momenta) maker_free_all(words, state->momenta, CNN_PARAMETERS, 0);
    maker_free_run(words, 0, permanent);
}

FAMILY(cnn, "training ResNet-50, with SGD and momentum: activations and gradients of images of one size or several",
       "2 x parameters (25,557,032), and of each image 11.1 M numbers before norms, 9.6 M behind them, and its own",
       2987609992);
