/* The median and its interval: the kth sample from either end, k the largest with 2 P(binomial(n, 1/2) < k) <= 5 %.
   It must not know what was measured.
   Tested by tests/test_gate.c. */
#include "interval.h"

#include <math.h>
#include <stdlib.h>

static int interval_order(const void *one, const void *other)
{
    long double left = *(const long double *)one, right = *(const long double *)other;
    return (left > right) - (left < right);
}

/* Samples to leave out at either end. */
static size_t interval_margin(size_t count)
{
    long double chance = powl(0.5L, (long double)count), tail = chance;      /* of none below the median, so far */
    size_t margin = 0;
    while (tail + chance * (long double)(count - margin) / (long double)(margin + 1) <= 0.025L) {
        chance *= (long double)(count - margin) / (long double)(margin + 1);
        tail += chance;
        margin++;
    }
    return margin;
}

interval interval_of(long double *samples, size_t count, int is_timed)
{
    interval found = { count, 0, 0.0L, 0.0L, 0.0L };
    if (!count) return found;
    qsort(samples, count, sizeof *samples, interval_order);
    size_t margin = is_timed && count >= INTERVAL_LEAST_COUNT && count <= 10000 ? interval_margin(count) : 0;
    found.is_known = !is_timed || count >= INTERVAL_LEAST_COUNT;
    found.low = samples[margin];
    found.middle = (samples[(count - 1) / 2] + samples[count / 2]) / 2.0L;
    found.high = samples[count - 1 - margin];
    return found;
}
