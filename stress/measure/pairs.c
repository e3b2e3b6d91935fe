/* The loop, and the clock around it.
   It must not know whose calls it makes.
   Tested by tests/test_bench.c. */
#include "pairs.h"

#include <stdlib.h>
#include <string.h>

#include "../base/progress.h"
#include "../base/rounds.h"
#include "sizes.h"

static uint64_t pairs_next_bytes(pairs *self)
{
    return self->sizes[self->at++ % PAIRS_SIZES];
}

static void pairs_fill_sizes(pairs *self, uint64_t bytes, uint64_t seed)
{
    if (!bytes) sizes_draw(self->sizes, PAIRS_SIZES, seed);
    for (size_t index = 0; bytes && index < PAIRS_SIZES; index++) self->sizes[index] = bytes;
}

int pairs_open(pairs *self, subject *on, uint32_t live, uint64_t bytes, gpuarena_stream stream, uint64_t seed,
               problem *why)
{
    memset(self, 0, sizeof *self);
    self->on = on;
    self->stream = stream;
    self->live = live;
    self->random = seed;
    pairs_fill_sizes(self, bytes, seed);
    self->blocks = calloc(live, sizeof *self->blocks);
    if (!self->blocks) return problem_set(why, EXIT_HARNESS, "no host memory for %u blocks", live);
    for (uint32_t index = 0; index < live && !self->failed; index++) {
        self->failed = subject_alloc(on, &self->blocks[index], pairs_next_bytes(self), stream);
    }
    if (!self->failed) return 0;
    return problem_set(why, EXIT_HARNESS, "%s: block refused: %d", subject_name(on->kind), self->failed);
}

void pairs_close(pairs *self)
{
    free(self->blocks);
    self->blocks = NULL;
}

/* Who is freed is one multiplication away: the harness is to cost little beside what it measures. */
static inline void **pairs_choose(pairs *self)
{
    self->random = self->random * 6364136223846793005u + 1442695040888963407u;
    return &self->blocks[(self->random >> 32) * self->live >> 32];
}

static inline void pairs_replace(pairs *self, void **block, void *freed, uint64_t bytes)
{
    self->failed |= subject_free(self->on, freed, self->stream);
    self->failed |= subject_alloc(self->on, block, bytes, self->stream);
}

void pairs_run(pairs *self, uint64_t count)
{
    for (uint64_t done = 0; done < count; done++) {
        void **block = pairs_choose(self);
        pairs_replace(self, block, *block, pairs_next_bytes(self));
    }
}

void pairs_counted(pairs *self, uint64_t count)
{
    pairs_run(self, count);
}

/* What was measured before this has left other things in the caches. */
double pairs_warm_ns(pairs *self, uint64_t count)
{
    pairs_run(self, count / 4);
    uint64_t begin_ns = rounds_clock_ns();
    pairs_run(self, count);
    return (double)(rounds_clock_ns() - begin_ns) / (double)count;
}

/* What the harness reads itself, the clock's own included, is warm again when the pair begins. */
double pairs_cold_ns(pairs *self, uint64_t count, unsigned char *cold)
{
    uint64_t total_ns = 0;
    for (uint64_t done = 0; done < count; done++) {
        for (size_t at = 0; at < PAIRS_COLD_BYTES; at += 64) cold[at]++;
        void **block = pairs_choose(self), *freed = *block;
        uint64_t bytes = pairs_next_bytes(self);
        (void)progress_clock_ns();
        uint64_t begin_ns = progress_clock_ns();
        pairs_replace(self, block, freed, bytes);
        total_ns += progress_clock_ns() - begin_ns;
    }
    return (double)total_ns / (double)count;
}
