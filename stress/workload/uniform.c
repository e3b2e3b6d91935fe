/* `uniform`: 2n steps, each an allocation of random size or the free of a random block, as RMM's benchmark does. */
#include "maker.h"

/* The rules of rapidsai/rmm, cpp/benchmarks/random_allocations: each step draws a size of 1 byte to max MiB; with
   nothing live it allocates; else 73 steps in 100 allocate, as long as fewer than n were made and live bytes stay
   below the cap of 16,000 MiB; all others free a random block, whose place the last one takes. That makes n
   allocations and n frees. The generator is ours: std::default_random_engine differs between C++ libraries. */
enum { UNIFORM_ALLOC_PERCENT = 73 };

typedef struct uniform {
    maker     words;
    uint64_t  count, max_mib, cap_mib, live_count;
    uint32_t *live;                              /* blocks */
} uniform;

static const family_option uniform_options[] = {
    OPTION(uniform, count, "n", 1, 10000000, 10000),         /* RMM: 1,000 10,000 100,000 */
    OPTION(uniform, max_mib, "max", 1, 1 << 20, 4),          /* RMM: 1 4 64 256 1,024 4,096 */
    OPTION(uniform, cap_mib, "cap", 1, 1 << 30, 16000),
    OPTION(uniform, words.random, "seed", 0, UINT64_MAX, 1),
};

static void uniform_make(void *self)
{
    uniform *state = self;
    stream_builder *builder = state->words.builder;
    state->live = maker_array(state, state->count, sizeof *state->live);
    MAKER_EACH(state, step, 2 * state->count) {
        uint64_t bytes = maker_draw(state, 1, state->max_mib << 20);
        int allocates = state->live_count == 0
            || (maker_draw(state, 1, 100) <= UNIFORM_ALLOC_PERCENT && builder->stream->alloc_count < state->count
                && builder->live_bytes + bytes < state->cap_mib << 20);
        if (allocates) {
            state->live[state->live_count++] = maker_new(state, bytes);
        } else {
            uint64_t index = maker_draw(state, 0, state->count - 1) % state->live_count;
            stream_free(builder, state->live[index], NULL);
            state->live[index] = state->live[--state->live_count];
        }
    }
}

FAMILY(uniform, "RMM's random_allocations: n allocations of up to max MiB, 73 in 100 steps, below cap MiB live",
       "random: about 46/73 n blocks of max / 2 each; below cap, but for a block with nothing else live",
       13296651197);
