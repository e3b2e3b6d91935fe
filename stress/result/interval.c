/* The median and its interval: as many samples left out at either end as rounds_low_rank says.
   It must not know what was measured.
   Tested by tests/test_gate.c. */
#include "interval.h"

#include <stdlib.h>

static int interval_order(const void *one, const void *other)
{
    long double left = *(const long double *)one, right = *(const long double *)other;
    return (left > right) - (left < right);
}

interval interval_of(long double *samples, size_t count, int is_timed)
{
    interval found = { count, is_timed, 0, 0.0L, 0.0L, 0.0L };
    if (!count) return found;
    qsort(samples, count, sizeof *samples, interval_order);
    size_t margin = is_timed && count >= INTERVAL_LEAST_COUNT ? rounds_low_rank(count) : 0;
    found.is_known = !is_timed || count >= INTERVAL_LEAST_COUNT;
    found.low = samples[margin];
    found.middle = (samples[(count - 1) / 2] + samples[count / 2]) / 2.0L;
    found.high = samples[count - 1 - margin];
    return found;
}
