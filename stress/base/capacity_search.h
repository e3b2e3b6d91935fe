/* The smallest number of granules that suffices, by bisection.
   It must not know what is tried, nor what it suffices for.
   Tested by tests/test_capacity.c. */
#ifndef STRESS_BASE_CAPACITY_SEARCH_H
#define STRESS_BASE_CAPACITY_SEARCH_H

#include "bisect.h"

#define CAPACITY_GRANULE ((uint64_t)2 << 20)     /* in which the memory of a device is held */

typedef struct capacity_bounds {                 /* all whole granules */
    uint64_t least_bytes;                        /* nothing below it can suffice; not 0 */
    uint64_t likely_bytes;                       /* at least least_bytes; thought to suffice, and tried first */
    uint64_t most_bytes;                         /* at least likely_bytes: nothing above it can be had */
} capacity_bounds;

typedef struct capacity_found {
    uint64_t enough_bytes;                       /* tried, sufficed .. */
    uint64_t below_bytes;                        /* .. and one granule less: tried, did not; 0 is not tried */
} capacity_found;

/* Where what suffices has gaps, as a policy may need less in one layout than in another, this is the end of one of
   them, not always the lowest. Of all tries that failed, the one of below_bytes is the last.
   1: *found is filled; 0: not even most_bytes suffices; -1: a try's answer, or less than least_bytes sufficed. */
int capacity_search(const capacity_bounds *bounds, bisect_try *tried, void *user, capacity_found *found);

#endif
