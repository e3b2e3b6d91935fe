/* The largest number that survives, from one that is thought to be it.
   It must not know what is tried, nor what it survives.
   Tested by tests/test_batch.c. */
#ifndef STRESS_BASE_BATCH_SEARCH_H
#define STRESS_BASE_BATCH_SEARCH_H

#include "bisect.h"

enum { BATCH_LOOK = 8, BATCH_FAR = 16 };         /* numbers above the end of a bisection that are tried, too */

typedef struct batch_bounds {
    uint64_t lowest, likely, highest;            /* in this order; likely is tried first */
} batch_bounds;

typedef struct batch_found {
    uint64_t largest;                            /* tried, survived .. */
    uint64_t next;                               /* .. and the one above it: tried, did not; 0: largest is highest */
} batch_found;

/* What survives need not be an interval: a policy may fail with one number and survive a larger one. Tried are the
   likely number, what is above it as long as it survives, else the lowest (and 1, where that is 0, which may be of
   another kind: none instead of few), and from the likely one downwards, both in steps that double; what bisection
   between the two that are found asks for; and then the BATCH_LOOK numbers above the end, as far as they are below
   the likely one, or the first above it that failed, from the top: where one survives, it goes on from there.
   A number further up that survives is not seen.
   A number may be tried twice: whoever answers should remember.
   1: *found is filled; 0: not even the lowest survives, which was tried; -1: a try's answer. */
int batch_search(const batch_bounds *bounds, bisect_try *tried, void *user, batch_found *found);
/* The same, for tries that are cheap: where it ends, BATCH_FAR numbers up to twice the largest are tried, too, evenly
   spread and from the top; where one survives, the search goes on from there. */
int batch_search_far(const batch_bounds *bounds, bisect_try *tried, void *user, batch_found *found);

#endif
