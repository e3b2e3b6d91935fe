/* Pairs on several threads at once.
   It must not know whose they are, nor what the time is compared with. Tested by tests/test_bench.c. */
#ifndef STRESS_MEASURE_CROWD_H
#define STRESS_MEASURE_CROWD_H

#include "pairs.h"

enum { CROWD_MOST = 4 };

/* Each of these does so many pairs on a thread of its own; they begin together, warm. The time from the first one's
   begin to the last one's end, over the pairs of all: what a pair takes, as throughput has it. -1 and a problem: a
   thread cannot be started. */
int crowd_ns(pairs *crowd, size_t count, uint64_t each, double *ns, problem *why);

#endif
