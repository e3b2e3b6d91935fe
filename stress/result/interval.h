/* Where a value lies, from what was measured of it: exact ones from least to most, timed ones by the 95 % confidence
   interval of the median, which order statistics give whatever the distribution.
   Knows nothing of metrics. Tested by tests/test_gate.c. */
#ifndef STRESS_RESULT_INTERVAL_H
#define STRESS_RESULT_INTERVAL_H

#include "../base/rounds.h"

typedef struct interval {
    size_t      count;                           /* samples; 0: none, and nothing below counts */
    int         is_timed;                        /* measured: of an exact one low is the least, high the most */
    int         is_known;                        /* 0: too few samples of something timed to say where it lies */
    long double low, middle, high;               /* middle: the median */
} interval;

enum { INTERVAL_LEAST_COUNT = ROUNDS_LEAST_COUNT };   /* samples of something timed */

interval interval_of(long double *samples, size_t count, int is_timed);     /* sorts them */

#endif
