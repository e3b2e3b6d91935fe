/* `cnn`: training ResNet-50: images of one size or of several, SGD with momentum.
   Must not know of policies, devices or files.
   Tested by tests/test_workload_cnn.c. */
#include "cnn.h"

/* Parameters, buffers, activations and gradients as PyTorch's eager mode has them: each norm keeps its input, each
   ReLU its output; gradients come as activations go. A convolution of more than a pixel works in the matrix of one
   image (im2col) for as long as it lasts. The momenta are made at the first update. Norms are of 32 bits with either
   dtype. image=LO-HI: each step has a size of its own, a multiple of 32, as training at several resolutions has;
   batch=LO-HI likewise. streams=2: images come from the host on stream 1. */
enum { CNN_BATCH, CNN_IMAGE, CNN_CLASSES, CNN_STEPS, CNN_DTYPE, CNN_STREAMS, CNN_SEED, CNN_OPTION_COUNT };

static const char *const cnn_dtypes[] = { "fp32", "fp16" };
static const family_option cnn_options[CNN_OPTION_COUNT] = {
    { "batch",   1,  65536,      32,   32,   1, NULL },
    { "image",   32, 65536,      224,  224,  1, NULL },
    { "classes", 1,  UINT32_MAX, 1000, 1000, 0, NULL },
    { "steps",   0,  1000000,    4,    4,    0, NULL },
    { "dtype",   0,  1,          0,    0,    0, cnn_dtypes },
    { "streams", 1,  2,          1,    1,    0, NULL },
    { "seed",    0,  UINT64_MAX, 1,    1,    0, NULL }
};

/* A norm's means and variances so far, and how many batches they are of. */
static void cnn_setup_buffers(cnn *state, uint32_t unit)
{
    uint64_t bytes = 4 * (uint64_t)state->net.units[unit].out;
    maker_new(&state->words, bytes, 0);
    maker_new(&state->words, bytes, 0);
    maker_new(&state->words, 8, 0);
}

static void cnn_setup(cnn *state)
{
    for (uint32_t i = 0; i < CNN_PARAMETERS && !maker_is_over(&state->words); i++) {
        uint32_t unit = i / CNN_UNIT_PARAMETERS;
        const cnn_unit *of = &state->net.units[unit < CNN_UNITS ? unit : 0];
        uint64_t features = i % 3 == 0 ? CNN_FEATURES : 1;
        if (unit == CNN_UNITS) state->bytes[i] = state->value_bytes * state->classes * features;
        else if (i % 3 == 0) state->bytes[i] = state->value_bytes * of->in * of->out * of->kernel * of->kernel;
        else state->bytes[i] = 4 * (uint64_t)of->out;
        state->parameters[i] = maker_new(&state->words, state->bytes[i], 0);
        if (unit < CNN_UNITS && i % 3 == 2) cnn_setup_buffers(state, unit);
    }
}

/* Weight decay makes a temporary of each gradient; the first one becomes the momentum. */
static void cnn_update(cnn *state)
{
    maker *words = &state->words;
    for (uint32_t i = 0; i < CNN_PARAMETERS && !maker_is_over(words); i++) {
        uint32_t decayed = cnn_made(state, state->bytes[i], state->gradients[i]);
        maker_touch(words, state->parameters[i]);
        if (!state->has_momenta) state->momenta[i] = maker_new(words, state->bytes[i], 0);
        maker_kernel(words, 0, 3 * state->bytes[i] / RATE_MEMORY_BYTES_PER_NS);
        maker_touch(words, decayed);
        maker_touch(words, state->momenta[i]);
        maker_touch(words, state->parameters[i]);
        maker_free(words, decayed, 0);
    }
    state->has_momenta = 1;
    maker_free_all(words, state->gradients, CNN_PARAMETERS, 0);
}

static void cnn_step(cnn *state, uint64_t side)
{
    maker *words = &state->words;
    uint64_t bytes = cnn_map_bytes(state, 3, side), on_stream = state->input_stream;
    uint32_t images = maker_new(words, bytes, on_stream);
    uint32_t labels = maker_new(words, 8 * state->batch, on_stream);
    maker_kernel(words, on_stream, bytes / RATE_HOST_BYTES_PER_NS);
    maker_touch(words, images);
    maker_touch(words, labels);
    maker_wait(words, 0, on_stream);
    cnn_forward(state, images, side);
    maker_kernel(words, 0, 1);
    maker_touch(words, labels);
    cnn_backward(state);
    maker_free(words, images, 0);
    maker_free(words, labels, 0);
    cnn_update(state);
}

static int cnn_make(const family_request *request, stream_builder *builder)
{
    const family_value *values = request->values;
    cnn state = { 0 };
    maker *words = &state.words;
    maker_begin(words, builder, values[CNN_SEED].from);
    cnn_build(&state.net);
    state.value_bytes = values[CNN_DTYPE].from > 0 ? 2 : 4;
    state.classes = values[CNN_CLASSES].from;
    state.input_stream = values[CNN_STREAMS].from - 1;
    cnn_setup(&state);
    uint32_t permanent = (uint32_t)builder->stream->block_count;
    for (uint64_t step = 0; step < values[CNN_STEPS].from && !maker_is_over(words); step++) {
        maker_step(words, "step", step);
        state.batch = maker_draw(words, values[CNN_BATCH].from, values[CNN_BATCH].to);
        cnn_step(&state, maker_draw_side(words, values[CNN_IMAGE].from, values[CNN_IMAGE].to));
    }
    if (state.has_momenta) maker_free_all(words, state.momenta, CNN_PARAMETERS, 0);
    maker_free_run(words, 0, permanent, 0);
    return maker_end(words);
}

const family family_cnn = {
    { "cnn", "training ResNet-50, with SGD and momentum: activations and gradients of images of one size or several",
      "batch=32,image=224,classes=1000,steps=4,dtype=fp32,streams=1,seed=1",
      "2 x parameters (25,557,032), and of each image 11.1 M numbers before norms, 9.6 M behind them, and its own",
      UINT64_C(2987609992) },
    cnn_options, CNN_OPTION_COUNT, cnn_make
};
