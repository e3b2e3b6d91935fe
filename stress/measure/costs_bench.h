/* The bench on which calls are measured: a clock, samples of the size under way, and what becomes of them.
   It must not know which calls there are.
   Tested by tests/test_costs.c. */
#ifndef STRESS_MEASURE_COSTS_BENCH_H
#define STRESS_MEASURE_COSTS_BENCH_H

#include "costs_measure.h"

#define COSTS_LARGEST ((uint64_t)16 << 30)

typedef struct costs_samples {
    uint64_t ns[COSTS_REPEATS];
    size_t   count;
} costs_samples;

typedef struct costs_bench {
    const gpuarena_driver *driver;
    costs_table           *table;
    costs_samples          samples[SIM_COST_KINDS];      /* of the size under way */
    problem               *why;
} costs_bench;

/* One set of calls at a size, sampled if it counts. 1: there is no memory for it; -1 and a problem: a call failed. */
typedef int (*costs_turn)(costs_bench *bench, uint64_t bytes, int counts);

uint64_t costs_now_ns(const costs_bench *bench);
void     costs_sample(costs_bench *bench, sim_cost_kind kind, uint64_t ns);
void     costs_settle(costs_bench *bench, uint64_t bytes);   /* samples become rows */
void     costs_refused(costs_bench *bench, uint64_t bytes);  /* there was no memory for this size */

/* check: what a code means: 0; 1, there is no memory; or -1 and a problem that names the call. failed: -1, whatever
   it is. */
int costs_failed(costs_bench *bench, const char *call, uint64_t bytes, int code);
int costs_check(costs_bench *bench, const char *call, uint64_t bytes, int code);

/* The calls of virtual memory, at sizes from a page to 16 GiB; nothing, if the device has none. */
int costs_measure_vm(costs_bench *bench);

int costs_free_bytes(costs_bench *bench, uint64_t *free_bytes);

/* Turns at sizes times `factor` from the smallest on, below the end and while they fit into half of what is free. The
   first turn of a size does not count. */
int costs_sizes(costs_bench *bench, costs_turn turn, uint64_t bytes, uint64_t factor, uint64_t end);

#endif
