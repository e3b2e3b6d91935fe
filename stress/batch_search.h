/* The largest number that survives, from one that is thought to be it.
   It must not know what is tried, nor what it survives.
   Tested by tests/test_batch.c. */
#ifndef STRESS_BATCH_SEARCH_H
#define STRESS_BATCH_SEARCH_H

#include "bisect.h"

enum { BATCH_LOOK = 8 };                         /* numbers above the end of a bisection that are tried, too */

typedef struct batch_bounds {
    uint64_t lowest, likely, highest;            /* in this order; likely is tried first */
} batch_bounds;

typedef struct batch_found {
    uint64_t largest;                            /* tried, survived .. */
    uint64_t next;                               /* .. and the one above it: tried, did not; 0: largest is highest */
} batch_found;

/* What survives need not be an interval: a policy may fail with one number and survive a larger one. Tried are the
   likely number, what is above it as long as it survives, else what bisection between it and the lowest asks for; and
   then the BATCH_LOOK numbers above the end that was found, as far as they are below one that failed before, from the
   top. A number further up that survives is not seen.
   1: *found is filled; 0: not even the lowest survives, and it was tried last; -1: a try's answer. */
int batch_search(const batch_bounds *bounds, bisect_try *tried, void *user, batch_found *found);

#endif
