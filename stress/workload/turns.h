/* Whose turn it is: a seeded scheduler of threads, some of them faster than others, and that for a while only.
   It must not know what a turn is. The same seed gives the same turns, whatever is done in them.
   Tested by tests/test_workload_larson.c and tests/test_workload_mix.c. */
#ifndef STRESS_WORKLOAD_TURNS_H
#define STRESS_WORKLOAD_TURNS_H

#include "stream.h"

typedef struct turns {
    uint64_t random;
    uint32_t count, left;                        /* left: turns until some thread's speed changes */
    uint32_t weights[WORKLOAD_MAX_THREADS];
} turns;

void     turns_begin(turns *self, uint64_t seed, uint32_t count);            /* count: 1 .. WORKLOAD_MAX_THREADS */
/* can_run: by thread, not 0 for at least one. */
uint32_t turns_next(turns *self, const uint8_t *can_run);

/* A thread's own seed: thread 0 has the seed itself, so that one thread alone does what no threads do. */
uint64_t turns_seed(uint64_t seed, uint64_t thread);

#endif
