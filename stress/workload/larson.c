/* `larson`: threads that replace random blocks in an array each, and pass the arrays on, round after round. */
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

/* Phase 0 fills the thread's array, in `blocks` steps; phases from 1 to `rounds` are the rounds, each of twice as
   many steps, which free and allocate in turn; the one behind them frees the array, in as many as it has. */
typedef struct larson_thread {
    uint64_t random;                             /* its own: the thread's operations do not depend on the others'
                                                    speed */
    uint64_t phase, step;                        /* the next step in the phase, from 0 */
    uint64_t array;                              /* which one it has */
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

static uint64_t larson_before(const larson *state, uint64_t thread)
{
    return (thread + state->thread_count - 1) % state->thread_count;
}

/* Into a round other than the first a thread comes with the array of the one before it. */
static int larson_takes_over(const larson *state, const larson_thread *self)
{
    return state->thread_count > 1 && self->step == 0 && self->phase > 1 && self->phase <= state->rounds;
}

/* The one before must have finished with the array. */
static int larson_can_run(const larson *state, uint64_t thread)
{
    const larson_thread *self = &state->threads[thread];
    const larson_thread *before = &state->threads[larson_before(state, thread)];
    int has_steps = self->phase <= state->rounds + 1;
    return has_steps && (!larson_takes_over(state, self) || before->phase >= self->phase);
}

static void larson_alloc(larson *state, uint64_t thread, uint32_t *place)
{
    uint64_t *random = &state->threads[thread].random, on_stream = LARSON_FIRST_STREAM + thread;
    uint64_t low = state->kib.low << 10, high = state->kib.high << 10;
    uint64_t bytes = low + splitmix64_below(random, high - low + 1);
    *place = maker_new_on(state, bytes, on_stream);
    MAKER_KERNEL(state, on_stream, bytes / RATE_MEMORY_BYTES_PER_NS, *place);
}

static void larson_turn(larson *state, uint64_t thread)
{
    larson_thread *self = &state->threads[thread];
    uint64_t count = state->block_count, before = larson_before(state, thread);
    int is_round = self->phase > 0 && self->phase <= state->rounds;
    int frees = is_round ? self->step % 2 == 0 : self->phase > 0;
    state->words.builder->thread = (uint8_t)thread;
    if (larson_takes_over(state, self)) {
        maker_wait(state, LARSON_FIRST_STREAM + thread, LARSON_FIRST_STREAM + before);
        self->array = larson_before(state, self->array);
    }
    if (!is_round) self->victim = count - 1 - self->step;
    else if (frees) self->victim = splitmix64_below(&self->random, count);
    uint32_t *place = &state->arrays[self->array * count + self->victim];
    if (frees) maker_free_all(state, place, 1, LARSON_FIRST_STREAM + thread);
    else larson_alloc(state, thread, place);
    if (++self->step < (is_round ? 2 * count : count)) return;
    self->phase++;
    self->step = 0;
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
        state->threads[thread].array = thread;
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
