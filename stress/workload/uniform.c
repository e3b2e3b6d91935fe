/* `uniform`: 2n steps, each an allocation of random size or the free of a random block, as RMM's benchmark does.
   Must not know of policies, devices or files. */
#include "family.h"
#include "../base/splitmix64.h"

#include <stdlib.h>

/* The rules of rapidsai/rmm, cpp/benchmarks/random_allocations: each step draws a size of 1 byte to max MiB; with
   nothing live it allocates; else 73 steps in 100 allocate, as long as fewer than n were made and live bytes stay
   below the cap of 16,000 MiB; all others free a random block, whose place the last one takes. That makes n
   allocations and n frees. The generator is ours: std::default_random_engine differs between C++ libraries. */
enum { UNIFORM_ALLOC_PERCENT = 73 };

enum { UNIFORM_N, UNIFORM_MAX, UNIFORM_CAP, UNIFORM_SEED, UNIFORM_OPTION_COUNT };

static const family_option uniform_options[UNIFORM_OPTION_COUNT] = {
    { "n",    1, 10000000,   10000, 10000, 0, NULL },  /* RMM: 1,000 10,000 100,000 */
    { "max",  1, 1 << 20,    4,     4,     0, NULL },  /* MiB; RMM: 1 4 64 256 1,024 4,096 */
    { "cap",  1, 1 << 30,    16000, 16000, 0, NULL },  /* MiB */
    { "seed", 0, UINT64_MAX, 1,     1,     0, NULL }
};

typedef struct uniform {
    stream_builder *builder;
    uint64_t  random, count, max_bytes, cap_bytes, made_count, live_bytes, live_count;
    uint32_t *live;                              /* blocks */
    uint64_t *live_sizes;
} uniform;

static int uniform_allocates(uniform *state, uint64_t bytes)
{
    if (state->live_count == 0) return 1;
    int chosen = splitmix64_below(&state->random, 100) < UNIFORM_ALLOC_PERCENT;
    return chosen && state->made_count < state->count && state->live_bytes + bytes < state->cap_bytes;
}

static int uniform_alloc(uniform *state, uint64_t bytes)
{
    slice no_tag = { NULL, 0 };
    uint32_t block;
    if (stream_alloc(state->builder, state->made_count, bytes, 0, no_tag, &block)) return -1;
    state->live[state->live_count] = block;
    state->live_sizes[state->live_count++] = bytes;
    state->live_bytes += bytes;
    state->made_count++;
    return 0;
}

static int uniform_free(uniform *state)
{
    uint64_t index = splitmix64_below(&state->random, state->count) % state->live_count;
    uint32_t block = state->live[index];
    state->live_bytes -= state->live_sizes[index];
    state->live_count--;
    state->live[index] = state->live[state->live_count];
    state->live_sizes[index] = state->live_sizes[state->live_count];
    return stream_free(state->builder, block);
}

static int uniform_steps(uniform *state)
{
    for (uint64_t step = 0; step < 2 * state->count && !state->builder->is_cut; step++) {
        uint64_t bytes = 1 + splitmix64_below(&state->random, state->max_bytes);
        if (uniform_allocates(state, bytes) ? uniform_alloc(state, bytes) : uniform_free(state)) {
            return -1;
        }
    }
    return 0;
}

static int uniform_make(const family_request *request, stream_builder *builder)
{
    uniform state = { 0 };
    state.builder = builder;
    state.random = request->values[UNIFORM_SEED].from;
    state.count = request->values[UNIFORM_N].from;
    state.max_bytes = request->values[UNIFORM_MAX].from << 20;
    state.cap_bytes = request->values[UNIFORM_CAP].from << 20;
    state.live = malloc(state.count * sizeof *state.live);
    state.live_sizes = malloc(state.count * sizeof *state.live_sizes);
    int failed = state.live && state.live_sizes ? uniform_steps(&state) : stream_no_memory(builder);
    free(state.live);
    free(state.live_sizes);
    return failed;
}

const family family_uniform = {
    { "uniform", "RMM's random_allocations: n allocations of up to max MiB, 73 in 100 steps, below cap MiB live",
      "n=10000,max=4,cap=16000,seed=1",
      "random: about 46/73 n blocks of max / 2 each; below cap, but for a block with nothing else live",
      UINT64_C(13296651197) },
    uniform_options, UNIFORM_OPTION_COUNT, uniform_make
};
