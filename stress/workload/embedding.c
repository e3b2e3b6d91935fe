/* `embedding`: recommendation with large tables: a jump at the first step, when gradients and slots come. */
#include "maker.h"

/* DLRM on Criteo's Kaggle data (facebookresearch/dlrm, bench/dlrm_s_criteo_kaggle.sh): 26 tables with so many rows,
   16 numbers each, below 13 dense features; batches of 128. A table is small beside the memory of the first step:
   with dense gradients one as large as the table, and then the optimizer's slots (Adam: 2), which stay.
   gradient=sparse: only the rows that the batch hit. rows=N: DLRM's --max-ind-range, which folds larger tables
   (Criteo's Terabyte data are used with 10 and 40 million). The script takes plain SGD, which is slots=0; Adam's two
   are our default. */
static const uint32_t embedding_rows[] = {
    1460, 583, 10131227, 2202608, 305, 24, 12517, 633, 3, 93145, 5683, 8351593, 3194, 27, 14992, 5461306, 10, 5652,
    2173, 4, 7046547, 18, 15, 286181, 105, 142572
};
enum {
    EMBEDDING_TABLES = sizeof embedding_rows / sizeof embedding_rows[0],
    EMBEDDING_VECTORS = EMBEDDING_TABLES + 1,    /* that interact: one a table, and the bottom network's */
    EMBEDDING_PAIRS = EMBEDDING_VECTORS * (EMBEDDING_VECTORS - 1) / 2,
    EMBEDDING_DENSE = 13,
    EMBEDDING_BOTTOM = 4, EMBEDDING_TOP = 3, EMBEDDING_LAYERS = EMBEDDING_BOTTOM + EMBEDDING_TOP,
    EMBEDDING_PARAMETERS = EMBEDDING_TABLES + 2 * EMBEDDING_LAYERS,  /* then a matrix and a bias a layer */
    EMBEDDING_MOST_SLOTS = 2
};

typedef struct embedding {
    maker    words;
    uint64_t dim, most_rows, steps, slots, is_sparse;
    family_range batches;
    uint64_t batch;                              /* of this step */
    uint64_t bytes[EMBEDDING_PARAMETERS];
    uint64_t inputs[EMBEDDING_LAYERS], outputs[EMBEDDING_LAYERS];        /* of layers: numbers a sample */
    uint32_t gradients[EMBEDDING_PARAMETERS + EMBEDDING_TABLES];         /* sparse: also the tables' indices */
    uint32_t gradient_count;
    uint32_t state;                              /* the first slot; after the first update */
    uint32_t kept[EMBEDDING_LAYERS];             /* each layer's output */
    uint32_t vectors, joined;                    /* all 27 as one; their products, and the bottom's vector */
} embedding;

static const char *const embedding_gradients[] = { "dense", "sparse" };
static const family_option embedding_options[] = {
    OPTION(embedding, dim, "dim", 1, 65536, 16),
    OPTION(embedding, most_rows, "rows", 1, 40000000, 40000000),
    OPTION_RANGE(embedding, batches, "batch", 1, 1 << 24, 128, 128),
    OPTION(embedding, steps, "steps", 0, 1000000, 8),
    OPTION(embedding, slots, "slots", 0, EMBEDDING_MOST_SLOTS, 2),
    OPTION_WORDS(embedding, is_sparse, "gradient", embedding_gradients),
    OPTION(embedding, words.random, "seed", 0, UINT64_MAX, 1),
};

static uint64_t embedding_sample(embedding *state, uint64_t numbers)
{
    return 4 * numbers * state->batch;           /* below 2^64: batch < 2^25, numbers < 2^24 */
}

static void embedding_setup(embedding *state)
{
    const uint64_t sizes[EMBEDDING_LAYERS + 1] = { 512, 256, 64, state->dim, 512, 256, 1, 0 };
    for (uint32_t i = 0; i < EMBEDDING_TABLES; i++) {
        uint64_t rows = embedding_rows[i] < state->most_rows ? embedding_rows[i] : state->most_rows;
        state->bytes[i] = 4 * state->dim * rows;
    }
    for (uint32_t i = 0; i < EMBEDDING_LAYERS; i++) {
        state->outputs[i] = sizes[i];
        state->inputs[i] = i == 0 ? EMBEDDING_DENSE : sizes[i - 1];
        if (i == EMBEDDING_BOTTOM) state->inputs[i] += EMBEDDING_PAIRS;
        state->bytes[EMBEDDING_TABLES + 2 * i] = 4 * state->inputs[i] * state->outputs[i];
        state->bytes[EMBEDDING_TABLES + 2 * i + 1] = 4 * state->outputs[i];
    }
    MAKER_EACH(state, i, EMBEDDING_PARAMETERS) maker_new(state, state->bytes[i]);
}

static uint32_t embedding_layer(embedding *state, uint32_t layer, uint32_t input)
{
    uint64_t bytes = embedding_sample(state, state->outputs[layer]);
    uint32_t linear = maker_made(state, bytes, input);
    state->kept[layer] = maker_made(state, bytes, linear);           /* behind ReLU */
    MAKER_FREE(state, linear);
    return state->kept[layer];
}

static void embedding_forward(embedding *state, uint32_t dense, uint32_t indices)
{
    uint64_t vector_bytes = embedding_sample(state, state->dim);
    uint32_t found[EMBEDDING_TABLES], at = dense;
    for (uint32_t i = 0; i < EMBEDDING_BOTTOM; i++) at = embedding_layer(state, i, at);
    for (uint32_t i = 0; i < EMBEDDING_TABLES; i++) {
        found[i] = maker_made(state, vector_bytes, indices);
        MAKER_TOUCH(state, i);                   /* the table, by its block's number */
    }
    state->vectors = maker_made(state, EMBEDDING_VECTORS * vector_bytes, at);
    maker_touch_all(state, found, EMBEDDING_TABLES);
    maker_free_all(state, found, EMBEDDING_TABLES, 0);
    uint64_t products = (uint64_t)EMBEDDING_VECTORS * EMBEDDING_VECTORS;
    uint32_t all = maker_made(state, embedding_sample(state, products), state->vectors);
    uint32_t pairs = maker_made(state, embedding_sample(state, EMBEDDING_PAIRS), all);
    MAKER_FREE(state, all);
    state->joined = maker_made(state, embedding_sample(state, EMBEDDING_PAIRS + state->dim), pairs);
    MAKER_FREE(state, pairs);
    at = state->joined;
    for (uint32_t i = EMBEDDING_BOTTOM; i < EMBEDDING_LAYERS; i++) at = embedding_layer(state, i, at);
}

static void embedding_keep(embedding *state, uint64_t bytes, uint32_t from)
{
    state->gradients[state->gradient_count++] = maker_made(state, bytes, from);
}

/* Takes the gradient of the layer's output; frees it and the output that the layer kept; returns the gradient of the
   layer's input. */
static uint32_t embedding_layer_back(embedding *state, uint32_t layer, uint32_t gradient)
{
    uint32_t linear = maker_made(state, embedding_sample(state, state->outputs[layer]), state->kept[layer]);
    MAKER_FREE(state, gradient, state->kept[layer]);
    embedding_keep(state, state->bytes[EMBEDDING_TABLES + 2 * layer], linear);
    embedding_keep(state, state->bytes[EMBEDDING_TABLES + 2 * layer + 1], linear);
    if (layer == 0) return linear;               /* the dense features have none */
    uint32_t input = maker_made(state, embedding_sample(state, state->inputs[layer]), linear);
    MAKER_FREE(state, linear);
    return input;
}

static void embedding_backward(embedding *state)
{
    uint64_t products = (uint64_t)EMBEDDING_VECTORS * EMBEDDING_VECTORS;
    uint32_t at = maker_made(state, embedding_sample(state, 1), state->kept[EMBEDDING_LAYERS - 1]);
    for (uint32_t i = EMBEDDING_LAYERS; i-- > EMBEDDING_BOTTOM; ) at = embedding_layer_back(state, i, at);
    MAKER_FREE(state, state->joined);
    uint32_t all = maker_made(state, embedding_sample(state, products), at);
    uint32_t vectors = maker_made(state, maker_bytes(state, state->vectors), all);
    MAKER_TOUCH(state, state->vectors);
    MAKER_FREE(state, all, at, state->vectors);
    for (uint32_t i = 0; i < EMBEDDING_TABLES; i++) {
        if (state->is_sparse) embedding_keep(state, 8 * state->batch, vectors);
        embedding_keep(state, state->is_sparse ? embedding_sample(state, state->dim) : state->bytes[i], vectors);
    }
    at = maker_made(state, embedding_sample(state, state->dim), vectors);
    MAKER_FREE(state, vectors);
    for (uint32_t i = EMBEDDING_BOTTOM; i-- > 0; ) at = embedding_layer_back(state, i, at);
    MAKER_FREE(state, at);
}

/* All in one kernel a parameter. The slots are made when they are first needed. */
static void embedding_update(embedding *state, int is_first)
{
    uint32_t slots = (uint32_t)state->slots;
    if (is_first) state->state = maker_next(state);
    MAKER_EACH(state, i, is_first ? slots * EMBEDDING_PARAMETERS : 0) maker_new(state, state->bytes[i / slots]);
    for (uint32_t i = 0; i < EMBEDDING_PARAMETERS; i++) {
        MAKER_MOVE(state, (2 + state->slots) * state->bytes[i], i);
        maker_touch_run(state, state->state + i * slots, slots);
    }
    maker_free_all(state, state->gradients, state->gradient_count, 0);
    state->gradient_count = 0;
}

static void embedding_step(embedding *state, int is_first)
{
    state->batch = maker_draw_of(state, state->batches);
    uint32_t dense = maker_new(state, embedding_sample(state, EMBEDDING_DENSE));
    uint32_t indices = maker_new(state, 8 * EMBEDDING_TABLES * state->batch);
    uint32_t offsets = maker_new(state, 8 * EMBEDDING_TABLES * state->batch);
    uint32_t labels = maker_new(state, embedding_sample(state, 1));
    const uint32_t inputs[] = { dense, indices, offsets, labels };
    maker_kernel(state, 0, maker_bytes(state, indices) * 2 / RATE_HOST_BYTES_PER_NS);
    maker_touch_all(state, inputs, 4);
    embedding_forward(state, dense, indices);
    embedding_backward(state);
    embedding_update(state, is_first);
    maker_free_all(state, inputs, 4, 0);
}

static void embedding_make(void *self)
{
    embedding *state = self;
    embedding_setup(state);
    MAKER_STEPS(state, "step", step, state->steps) embedding_step(state, step == 0);
    if (state->steps > 0) maker_free_run(state, state->state, state->slots * EMBEDDING_PARAMETERS);
    maker_free_run(state, 0, EMBEDDING_PARAMETERS);
}

FAMILY(embedding, "recommendation: large tables, and at the first step as large gradients and optimizer's slots",
       "parameters x 4 bytes x (2 + slots), and 6,616 a sample - 28,672; sparse: about x (1 + slots)", 8651653648);
