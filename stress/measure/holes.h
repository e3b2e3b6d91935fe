/* Free blocks that do not touch, pairs of calls among them, and which of O(1), O(log n) and O(n) fits what
   the pairs cost. It must not know what a report is. */
#ifndef STRESS_MEASURE_HOLES_H
#define STRESS_MEASURE_HOLES_H

#include <stddef.h>
#include <stdint.h>

#include "../base/rounds.h"
#include "../policy/policy.h"

/* ---- A policy on a device, with so many free blocks that do not touch */

enum { HOLES_SIZES = 4096, HOLES_COUNTED_PAIRS = HOLES_SIZES };

typedef struct holes_field {
    device  *device;
    pool     pool;
    uint64_t sizes[HOLES_SIZES];                 /* of free blocks, drawn before anything is timed */
    uint32_t at;                                 /* in sizes, modulo HOLES_SIZES */
    gpuarena_result failed;                      /* of a measured call: the first, or OK */
    pool_refusal    refusal;                     /* after an open that ran out of memory */
} holes_field;

/* Log-uniform blocks by seed, twice as many as holes; every second in order of address is freed. 0; 1: there is no
   memory for them, refusal says why; -1 and a problem. holes_close in all cases. */
int  holes_open(holes_field *self, const device_config *config, const policy *chosen, uint64_t holes, uint64_t seed,
                problem *why);
int  holes_close(holes_field *self, problem *why);           /* -1 and a problem: as device_close */

/* So many times: a block of one of the free sizes, and its free. holes_counted is what callgrind counts by name. */
void holes_pairs(holes_field *self, uint64_t count);
void holes_counted(holes_field *self, uint64_t count);

uint64_t holes_driver_calls(const holes_field *self);        /* since it was opened */

/* ---- How a cost grows with the number of free blocks: which of O(1), O(log n) and O(n) fits it best */

enum { HOLES_CLASSES = 3, HOLES_LEAST_POINTS = 3 };

typedef struct holes_growth {
    const char *name;                            /* "O(1)", "O(log n)", "O(n)"; "unclear"; NULL: too few points */
    double      rms;                             /* of the class that fits best */
} holes_growth;

/* The curves are c, c log2 n and c n; for each, the c of least squares, c = sum(t f(n)) / sum(f(n)^2), and of what is
   left the root of the mean square, over the mean cost: rms. The least rms is the class, as in Google Benchmark's
   complexity. From HOLES_LEAST_POINTS points on; n > 1. */
holes_growth holes_growth_of(const uint64_t *numbers, const double *costs, size_t count);

/* Likewise of costs measured in rounds, costs[point][round]: the class by the medians. It is "unclear" where the 95 %
   confidence interval of the median difference of the rounds' rms, to that of another class, is not below 0; and with
   fewer than 6 rounds, which make no interval. round_count: 1 to ROUNDS_MOST_COUNT. */
holes_growth holes_growth_measured(const uint64_t *numbers, const double *const *costs, size_t count,
                                   size_t round_count);

#endif
