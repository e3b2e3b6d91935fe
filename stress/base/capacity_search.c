/* Bisection that keeps two tries: one that sufficed, and a smaller one that did not.
   It must not know what is tried, nor what it suffices for.
   Tested by tests/test_capacity.c. */
#include "capacity_search.h"

/* What was thought to suffice may not, since what is limited behaves otherwise: the distance doubles. */
static int capacity_upper(const capacity_bounds *bounds, bisect_try *tried, void *user, uint64_t *enough_bytes)
{
    uint64_t bytes = bounds->likely_bytes;
    for (;;) {
        int answer = tried(user, bytes);
        if (answer) *enough_bytes = bytes;
        if (answer || bytes >= bounds->most_bytes) return answer;
        uint64_t step = bytes - bounds->least_bytes + CAPACITY_GRANULE;
        bytes = step < bounds->most_bytes - bytes ? bytes + step : bounds->most_bytes;
    }
}

int capacity_search(const capacity_bounds *bounds, bisect_try *tried, void *user, capacity_found *found)
{
    uint64_t below_bytes = bounds->least_bytes - CAPACITY_GRANULE, enough_bytes = 0;
    int answer = capacity_upper(bounds, tried, user, &enough_bytes);
    if (answer <= 0) return answer;
    if (below_bytes && tried(user, below_bytes)) return -1;
    if (bisect_between(&enough_bytes, &below_bytes, CAPACITY_GRANULE, tried, user) < 0) return -1;
    found->enough_bytes = enough_bytes;
    found->below_bytes = below_bytes;
    return 1;
}
