/* Halving the distance, whichever way it lies.
   It must not know what is tried.
   Tested by tests/test_capacity.c and tests/test_batch.c. */
#include "bisect.h"

int bisect_between(uint64_t *good, uint64_t *bad, uint64_t step, bisect_try *tried, void *user)
{
    for (;;) {
        uint64_t low = *good < *bad ? *good : *bad, high = *good < *bad ? *bad : *good;
        if (high - low <= step) return 1;
        uint64_t middle = low + (high - low) / step / 2 * step;
        int answer = tried(user, middle);
        if (answer < 0) return -1;
        *(answer ? good : bad) = middle;
    }
}
