/* `producer`: blocks that one stream allocates and fills, and others use and free, through a queue of bounded
   depth. */
#include "maker.h"

/* Two kinds of items. RMM's test of a producer and a consumer: one block of 1 byte to max MiB, received over the
   link. And, with images=N, a batch of training for detection, as torchvision's GeneralizedRCNNTransform makes it: N
   images of 3 colours come from the host in one byte a value, each a block with sides of its own (there the shorter
   is 800 and the longer at most 1333; here both are drawn from that range, evenly); padded to common sides, which are
   multiples of 32, they become one block of 32-bit values; and their own blocks are freed.
   A consumer waits for the producer's stream, uses the item and frees it on its own stream; nobody ever tells the
   producer's stream that this has happened: to know it is the pool's task. */
enum { PRODUCER_COLOURS = 3, PRODUCER_PADDING = 32, PRODUCER_VALUE_BYTES = 4 };
enum { PRODUCER_STREAM = 1 };                    /* consumers: the next ones. Stream 0 is ordered with all on a GPU */

typedef struct producer_item { uint32_t block; uint64_t bytes; } producer_item;

typedef struct producer {
    maker     words;
    uint64_t  count, steps, max_mib, images, depth, consumers;
    family_range side;
    producer_item *queue;                        /* a ring of depth items */
    uint64_t  head, waiting_count;
    uint32_t *raw;                               /* the images of the batch that is being made */
} producer;

enum { PRODUCER_MAX_MIB = 1, PRODUCER_LEAST_SIDE = 800, PRODUCER_MOST_SIDE = 1333 };

static const family_option producer_options[] = {
    OPTION(producer, count, "n", 1, 10000000, 1000),         /* items a step; RMM: 100, one step */
    OPTION(producer, steps, "steps", 0, 1000000, 10),
    OPTION(producer, max_mib, "max", 1, 1 << 20, PRODUCER_MAX_MIB),          /* RMM: 1 */
    OPTION(producer, images, "images", 0, 65536, 0),
    OPTION_RANGE(producer, side, "side", 1, 65536, PRODUCER_LEAST_SIDE, PRODUCER_MOST_SIDE),
    OPTION(producer, depth, "depth", 1, 1 << 20, 16),        /* PyTorch: 2 a worker */
    OPTION(producer, consumers, "consumers", 0, 64, 1),      /* 0: the producer's own stream consumes */
    OPTION(producer, words.random, "seed", 0, UINT64_MAX, 1),
};

/* Reads the images, in one byte a value. Returns the bytes that they take when padded to one size, as 32-bit
   values. */
static uint64_t producer_read_images(producer *state)
{
    uint64_t height = 0, width = 0, read_bytes = 0;
    MAKER_EACH(state, i, state->images) {
        uint64_t own_height = maker_draw_of(state, state->side);
        uint64_t own_width = maker_draw_of(state, state->side);
        uint64_t own_bytes = PRODUCER_COLOURS * own_height * own_width;
        state->raw[i] = maker_new_on(state, own_bytes, PRODUCER_STREAM);
        height = own_height > height ? own_height : height;
        width = own_width > width ? own_width : width;
        read_bytes += own_bytes;
    }
    maker_kernel(state, PRODUCER_STREAM, read_bytes / RATE_HOST_BYTES_PER_NS);
    maker_touch_all(state, state->raw, (size_t)state->images);
    return state->images * PRODUCER_COLOURS * memory_round_up(height, PRODUCER_PADDING)
         * memory_round_up(width, PRODUCER_PADDING) * PRODUCER_VALUE_BYTES;
}

static void producer_batch(producer *state, producer_item *made)
{
    made->bytes = producer_read_images(state);
    made->block = maker_new_on(state, made->bytes, PRODUCER_STREAM);
    maker_kernel(state, PRODUCER_STREAM, made->bytes / RATE_MEMORY_BYTES_PER_NS);
    maker_touch_all(state, state->raw, (size_t)state->images);
    MAKER_TOUCH(state, made->block);
    maker_free_all(state, state->raw, (size_t)state->images, PRODUCER_STREAM);
}

static void producer_produce(producer *state)
{
    producer_item *made = &state->queue[(state->head + state->waiting_count++) % state->depth];
    if (state->images > 0) {
        producer_batch(state, made);
        return;
    }
    made->bytes = maker_draw(state, 1, state->max_mib << 20);
    made->block = maker_new_on(state, made->bytes, PRODUCER_STREAM);
    MAKER_KERNEL(state, PRODUCER_STREAM, made->bytes / RATE_LINK_BYTES_PER_NS, made->block);
}

/* Items are taken in order; which consumer takes one is chance. */
static void producer_consume(producer *state)
{
    const producer_item *taken = &state->queue[state->head];
    uint64_t on_stream = PRODUCER_STREAM;
    state->head = (state->head + 1) % state->depth;
    state->waiting_count--;
    if (state->consumers > 0) on_stream += maker_draw(state, 1, state->consumers);
    maker_wait(state, on_stream, PRODUCER_STREAM);
    MAKER_KERNEL(state, on_stream, taken->bytes / RATE_MEMORY_BYTES_PER_NS, taken->block);
    maker_free_all(state, &taken->block, 1, on_stream);
}

/* The pace of both sides is chance, within the bounds of the queue. Each step ends with an empty queue. */
static void producer_step(producer *state)
{
    uint64_t left = state->count;
    while ((left > 0 || state->waiting_count > 0) && !maker_is_over(state)) {
        int can_produce = left > 0 && state->waiting_count < state->depth;
        int produces = can_produce && (state->waiting_count == 0 || maker_draw_chance(state, 2));
        left -= (uint64_t)produces;
        if (produces) producer_produce(state);
        else producer_consume(state);
    }
}

static void producer_make(void *self)
{
    producer *state = self;
    int has_side = state->side.low != PRODUCER_LEAST_SIDE || state->side.high != PRODUCER_MOST_SIDE;
    /* An option that would be without effect is a mistake; said with its default it does no harm. */
    if (state->images > 0 && state->max_mib != PRODUCER_MAX_MIB) {
        MAKER_REFUSE(state, "max is given beside images, expected one of them: images have sides");
    } else if (state->images == 0 && has_side) {
        MAKER_REFUSE(state, "side is given without images, expected images=N beside it");
    }
    state->queue = maker_array(state, state->depth, sizeof *state->queue);
    state->raw = maker_array(state, state->images, sizeof *state->raw);
    MAKER_STEPS(state, "step", step, state->steps) producer_step(state);
}

FAMILY(producer, "blocks filled on one stream, used and freed on others: of up to max MiB, or batches of images",
       "random: at most depth items; images: and those of one batch", 12180482);
