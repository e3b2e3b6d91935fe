/* How a cost grows with the number of free blocks: which of O(1), O(log n) and O(n) fits it best.
   Knows nothing of rows. Tested by tests/test_bench.c and tests/holes.t. */
#ifndef STRESS_MEASURE_HOLES_GROWTH_H
#define STRESS_MEASURE_HOLES_GROWTH_H

#include <stddef.h>
#include <stdint.h>

enum { HOLES_CLASSES = 3, HOLES_LEAST_POINTS = 3, HOLES_MOST_ROUNDS = 201 };

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
   fewer than 6 rounds, which make no interval. round_count: 1 to HOLES_MOST_ROUNDS. */
holes_growth holes_growth_measured(const uint64_t *numbers, const double *const *costs, size_t count,
                                   size_t round_count);

#endif
