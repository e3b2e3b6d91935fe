/* `uniform`: 2n steps, each an allocation of random size or the free of a random block, as RMM's benchmark does. */
#include "family.h"
#include "maker.h"
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
    maker     words;
    uint64_t  count, max_bytes, cap_bytes, made_count, live_bytes, live_count;
    uint32_t *live;                              /* blocks */
    uint64_t *live_sizes;
} uniform;

static int uniform_allocates(uniform *state, uint64_t bytes)
{
    if (state->live_count == 0) return 1;
    int chosen = splitmix64_below(&state->words.random, 100) < UNIFORM_ALLOC_PERCENT;
    return chosen && state->made_count < state->count && state->live_bytes + bytes < state->cap_bytes;
}

static void uniform_alloc(uniform *state, uint64_t bytes)
{
    state->live[state->live_count] = maker_new(&state->words, bytes);
    state->live_sizes[state->live_count++] = bytes;
    state->live_bytes += bytes;
    state->made_count++;
}

static void uniform_free(uniform *state)
{
    uint64_t index = splitmix64_below(&state->words.random, state->count) % state->live_count;
    state->words.failed = stream_free(state->words.builder, state->live[index]);
    state->live_bytes -= state->live_sizes[index];
    state->live_count--;
    state->live[index] = state->live[state->live_count];
    state->live_sizes[index] = state->live_sizes[state->live_count];
}

static int uniform_make(const family_request *request, stream_builder *builder)
{
    const family_value *values = request->values;
    uniform state = { 0 };
    maker *words = &state.words;
    maker_begin(words, builder, values[UNIFORM_SEED].from);
    state.count = values[UNIFORM_N].from;
    state.max_bytes = values[UNIFORM_MAX].from << 20;
    state.cap_bytes = values[UNIFORM_CAP].from << 20;
    state.live = maker_array(words, state.count, sizeof *state.live);
    state.live_sizes = maker_array(words, state.count, sizeof *state.live_sizes);
    for (uint64_t step = 0; step < 2 * state.count && !maker_is_over(words); step++) {
        uint64_t bytes = 1 + splitmix64_below(&words->random, state.max_bytes);
        if (uniform_allocates(&state, bytes)) uniform_alloc(&state, bytes);
        else uniform_free(&state);
    }
    free(state.live);
    free(state.live_sizes);
    return maker_end(words);
}

const family family_uniform = {
    { "uniform", "RMM's random_allocations: n allocations of up to max MiB, 73 in 100 steps, below cap MiB live",
      "random: about 46/73 n blocks of max / 2 each; below cap, but for a block with nothing else live",
      UINT64_C(13296651197) },
    uniform_options, UNIFORM_OPTION_COUNT, uniform_make
};
