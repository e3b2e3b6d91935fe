/* `dataset`: a data set that streams through a ring of batches, loaded and decoded ahead of the step that
   uses them. */
#include "maker.h"

/* The shapes of ImageNet's validation set: 50,000 images, here of side x side pixels and 3 colours. A batch comes
   from the host in one byte a value, with a 64-bit label an image; it is turned into 32-bit values, and its bytes are
   freed. `prefetch` such batches are ready before the first is used (PyTorch's DataLoader: 2 a worker; tf.data's
   prefetch(N)); then each step takes the oldest, and one more is made while it is used. The last batch of an epoch is
   the rest, and the ring runs empty there, since a new epoch is a new iterator.
   side=LO-HI: each batch has a side of its own, a multiple of 32 (training at several scales).
   Batches are made on stream 1, which stream 0 waits for before it uses one, and frees it. */
enum { DATASET_COLOURS = 3, DATASET_LABEL_BYTES = 8, DATASET_VALUE_BYTES = 4 };
enum { DATASET_USER = 0, DATASET_LOADER = 1 };   /* streams */

typedef struct dataset_batch { uint32_t values, labels; uint64_t bytes; } dataset_batch;

typedef struct dataset {
    maker    words;
    uint64_t items, batch, prefetch, epochs;
    family_range side;
    uint64_t left;                               /* items of this epoch not made yet */
    dataset_batch *ring;                         /* prefetch + 1 of them */
    uint64_t head, ready;
} dataset;

static const family_option dataset_options[] = {
    OPTION(dataset, items, "items", 1, UINT32_MAX, 50000),
    OPTION(dataset, batch, "batch", 1, UINT32_MAX, 256),
    OPTION_RANGE(dataset, side, "side", 32, 65536, 224, 224),
    OPTION(dataset, prefetch, "prefetch", 0, 65536, 2),
    OPTION(dataset, epochs, "steps", 0, 1000000, 2),
    OPTION(dataset, words.random, "seed", 0, UINT64_MAX, 1),
};

static void dataset_load(dataset *state)
{
    uint64_t count = state->left < state->batch ? state->left : state->batch;
    uint64_t side = maker_draw_side(state, state->side);
    uint64_t raw_bytes = MAKER_TIMES(state, count * DATASET_COLOURS, side, side);
    dataset_batch *made = &state->ring[(state->head + state->ready++) % (state->prefetch + 1)];
    state->left -= count;
    uint32_t raw = maker_new_on(state, raw_bytes, DATASET_LOADER);
    made->labels = maker_new_on(state, count * DATASET_LABEL_BYTES, DATASET_LOADER);
    MAKER_KERNEL(state, DATASET_LOADER, raw_bytes / RATE_HOST_BYTES_PER_NS, raw, made->labels);
    made->bytes = MAKER_TIMES(state, raw_bytes, DATASET_VALUE_BYTES);
    made->values = maker_new_on(state, made->bytes, DATASET_LOADER);
    MAKER_KERNEL(state, DATASET_LOADER, made->bytes / RATE_MEMORY_BYTES_PER_NS, raw, made->values);
    maker_free_all(state, &raw, 1, DATASET_LOADER);
}

static void dataset_use(dataset *state)
{
    if (state->ready == 0) dataset_load(state);              /* nothing is made ahead */
    const dataset_batch taken = state->ring[state->head];
    state->head = (state->head + 1) % (state->prefetch + 1);
    state->ready--;
    maker_wait(state, DATASET_USER, DATASET_LOADER);
    MAKER_KERNEL(state, DATASET_USER, taken.bytes / RATE_MEMORY_BYTES_PER_NS, taken.values, taken.labels);
    if (state->left > 0 && state->prefetch > 0) dataset_load(state);
    MAKER_FREE(state, taken.values, taken.labels);
}

static void dataset_make(void *self)
{
    dataset *state = self;
    state->ring = maker_array(state, state->prefetch, sizeof *state->ring);
    MAKER_STEPS(state, "epoch", epoch, state->epochs) {
        state->left = state->items;
        while (state->ready < state->prefetch && state->left > 0 && !maker_is_over(state)) dataset_load(state);
        while ((state->ready > 0 || state->left > 0) && !maker_is_over(state)) dataset_use(state);
    }
}

FAMILY(dataset, "a data set of images streams through a ring of prefetched batches, decoded on a stream of its own",
       "batch x (3 side^2 x (4 (prefetch + 1) + 1) + 8 (prefetch + 1)); prefetch=0: x 5, + 8", 500963328);
