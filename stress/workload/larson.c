/* `larson`: threads that replace random blocks in an array each, and pass the arrays on, round after round. */
#include "maker.h"
#include "../base/splitmix64.h"
#include "workload.h"

/* Larson and Krishnan's test of a server: each thread fills an array of blocks, then in each round replaces as many
   random ones as the array has; after a round the array, as it is, goes to the next thread, so that most blocks are
   freed by another thread than allocated them, and here on another stream. There a thread ends and a new one takes
   its array; here they stand in a ring, which is the same to the allocator. Sizes are uniform, there 8 to 1,000
   bytes, 5,000 blocks a thread (mimalloc-bench); here as many KiB.
   Thread t does all on stream t + 1 (stream 0 is ordered with all on a GPU): each new block is written once. Who
   takes an array over makes its stream wait for the one that had it: that is all the order there is, and all it
   takes. */
enum { LARSON_FIRST_STREAM = 1 };

/* In `blocks` steps a thread fills its array; each round's twice as many steps free and allocate in turn; then as
   many as the array has free it. */
typedef struct larson_thread {
    uint64_t random;                             /* its own: what it does does not depend on the others' speed */
    uint64_t step;                               /* the next, from 0 */
    uint64_t victim;                             /* the place in the array that is being replaced */
} larson_thread;

typedef struct larson {
    maker     words;
    uint64_t  thread_count, block_count, rounds;
    family_range kib;                            /* of a block */
    uint32_t *arrays;                            /* [array * block_count + place] */
    larson_thread threads[WORKLOAD_MAX_THREADS];
} larson;

static const family_option larson_options[] = {
    OPTION(larson, thread_count, "threads", 1, WORKLOAD_MAX_THREADS, 4),
    OPTION(larson, block_count, "blocks", 1, 1000000, 250),  /* a thread */
    OPTION(larson, rounds, "rounds", 0, 1000000, 10),
    OPTION_RANGE(larson, kib, "size", 1, 1 << 20, 8, 1000),
    OPTION(larson, words.random, "seed", 0, UINT64_MAX, 1),
};

/* How many rounds a thread has ended before this step, from which on all are the last. */
static uint64_t larson_ended(const larson *state, uint64_t step)
{
    return step < state->block_count ? 0 : (step - state->block_count) / (2 * state->block_count);
}

static uint64_t larson_before(const larson *state, uint64_t thread, uint64_t by)
{
    return (thread + state->thread_count - by % state->thread_count) % state->thread_count;
}

/* The place in the array that the thread has now: after each round but the last it takes that of the one before. */
static uint32_t *larson_place(const larson *state, uint64_t thread, uint64_t place)
{
    uint64_t ended = larson_ended(state, state->threads[thread].step);
    uint64_t passed = ended < state->rounds ? ended : state->rounds > 0 ? state->rounds - 1 : 0;
    return &state->arrays[larson_before(state, thread, passed) * state->block_count + place];
}

/* Into a round other than the first a thread comes with the array of the one before it. */
static int larson_takes_over(const larson *state, uint64_t thread)
{
    uint64_t step = state->threads[thread].step, ended = larson_ended(state, step);
    int begins = step == (1 + 2 * ended) * state->block_count;
    return state->thread_count > 1 && begins && ended > 0 && ended < state->rounds;
}

/* The one before must have finished with the array. */
static int larson_can_run(const larson *state, uint64_t thread)
{
    const larson_thread *self = &state->threads[thread];
    const larson_thread *before = &state->threads[larson_before(state, thread, 1)];
    int has_steps = self->step < (2 + 2 * state->rounds) * state->block_count;
    return has_steps && (!larson_takes_over(state, thread) || before->step >= self->step);
}

static void larson_alloc(larson *state, uint64_t thread, uint64_t place)
{
    uint64_t *random = &state->threads[thread].random, on_stream = LARSON_FIRST_STREAM + thread;
    uint64_t low = state->kib.low << 10, high = state->kib.high << 10;
    uint64_t bytes = low + splitmix64_below(random, high - low + 1);
    uint32_t block = maker_new_on(state, bytes, on_stream);
    *larson_place(state, thread, place) = block;
    MAKER_KERNEL(state, on_stream, bytes / RATE_MEMORY_BYTES_PER_NS, block);
}

static void larson_free(larson *state, uint64_t thread, uint64_t place)
{
    maker_free_all(state, larson_place(state, thread, place), 1, LARSON_FIRST_STREAM + thread);
}

static void larson_turn(larson *state, uint64_t thread)
{
    larson_thread *self = &state->threads[thread];
    uint64_t count = state->block_count, last = count - 1;
    state->words.builder->thread = (uint8_t)thread;
    if (larson_takes_over(state, thread)) {
        maker_wait(state, LARSON_FIRST_STREAM + thread, LARSON_FIRST_STREAM + larson_before(state, thread, 1));
    }
    if (self->step < count) {
        larson_alloc(state, thread, last - self->step);
    } else if (larson_ended(state, self->step) >= state->rounds) {
        larson_free(state, thread, last - self->step % count);
    } else if ((self->step - count) % 2 == 0) {
        self->victim = splitmix64_below(&self->random, count);
        larson_free(state, thread, self->victim);
    } else {
        larson_alloc(state, thread, self->victim);
    }
    self->step++;
}

static void larson_make(void *self)
{
    larson *state = self;
    const uint64_t seed = state->words.random;
    uint8_t can_run[WORKLOAD_MAX_THREADS];
    turns order;
    state->arrays = maker_array(state, state->thread_count * state->block_count, sizeof *state->arrays);
    state->words.builder->stream->thread_count = (uint32_t)state->thread_count;
    turns_begin(&order, seed, (uint32_t)state->thread_count);
    for (uint64_t thread = 0; thread < state->thread_count; thread++) {
        state->threads[thread].random = turns_seed(seed, thread + 1);
    }
    while (!maker_is_over(state)) {
        for (uint64_t thread = 0; thread < state->thread_count; thread++) {
            can_run[thread] = (uint8_t)larson_can_run(state, thread);
        }
        uint32_t next = turns_next(&order, can_run);
        if (next == TURNS_NONE) return;
        larson_turn(state, next);
    }
}

FAMILY(larson, "threads that replace random blocks (size: KiB) of their arrays, and pass these on after each round",
       "random: about threads x blocks x mean size", 528971069);
