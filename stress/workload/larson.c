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

/* Stage 0 fills the array, 1 .. rounds are the rounds, then all is freed. A round's odd steps free, its even ones
   allocate. */
typedef struct larson_thread {
    uint64_t random;                             /* its own: what it does does not depend on the others' speed */
    uint64_t stage, steps_left;
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

static uint64_t larson_previous(const larson *state, uint64_t thread, uint64_t by)
{
    return (thread + state->thread_count - by % state->thread_count) % state->thread_count;
}

/* The place in the array that the thread has now. */
static uint32_t *larson_place(const larson *state, uint64_t thread, uint64_t place)
{
    uint64_t stage = state->threads[thread].stage, passed = stage < state->rounds ? stage : state->rounds;
    uint64_t array = larson_previous(state, thread, passed > 0 ? passed - 1 : 0);
    return &state->arrays[array * state->block_count + place];
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

static uint64_t larson_stage_steps(const larson *state, uint64_t stage)
{
    if (stage > state->rounds + 1) return 0;
    return stage == 0 || stage > state->rounds ? state->block_count : 2 * state->block_count;
}

static int larson_is_round(const larson *state, uint64_t stage)
{
    return stage > 0 && stage <= state->rounds;
}

/* Into a round other than the first, a thread comes with the array of the one before it, which must have finished. */
static int larson_takes_over(const larson *state, uint64_t thread)
{
    uint64_t stage = state->threads[thread].stage;
    return state->thread_count > 1 && larson_is_round(state, stage) && larson_is_round(state, stage + 1);
}

static int larson_can_run(const larson *state, uint64_t thread)
{
    const larson_thread *self = &state->threads[thread];
    if (self->steps_left > 0) return 1;
    if (!larson_takes_over(state, thread)) return larson_stage_steps(state, self->stage + 1) > 0;
    const larson_thread *before = &state->threads[larson_previous(state, thread, 1)];
    return before->stage > self->stage || (before->stage == self->stage && before->steps_left == 0);
}

static void larson_enter(larson *state, uint64_t thread)
{
    larson_thread *self = &state->threads[thread];
    uint64_t before = larson_previous(state, thread, 1);
    int takes_over = larson_takes_over(state, thread);
    self->stage++;
    self->steps_left = larson_stage_steps(state, self->stage);
    if (takes_over) maker_wait(state, LARSON_FIRST_STREAM + thread, LARSON_FIRST_STREAM + before);
}

static void larson_turn(larson *state, uint64_t thread)
{
    larson_thread *self = &state->threads[thread];
    state->words.builder->thread = (uint8_t)thread;
    if (self->steps_left == 0) larson_enter(state, thread);
    uint64_t step = --self->steps_left;
    if (!larson_is_round(state, self->stage)) {
        if (self->stage == 0) larson_alloc(state, thread, step);
        else larson_free(state, thread, step);
    } else if (step % 2 == 0) {
        larson_alloc(state, thread, self->victim);
    } else {
        self->victim = splitmix64_below(&self->random, state->block_count);
        larson_free(state, thread, self->victim);
    }
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
        state->threads[thread].steps_left = state->block_count;
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
