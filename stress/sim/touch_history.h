/* What must come before the next touch of a piece: immutable, shared, counted.
   It must not know of pieces or granules.
   Tested by tests/test_sim_touches.c. */
#ifndef STRESS_SIM_TOUCH_HISTORY_H
#define STRESS_SIM_TOUCH_HISTORY_H

#include "touches.h"

/* Touches of earlier tenancies, then those of this one: each part by line and place, the latest touch of each. */
struct touch_history {
    uint64_t owner;                              /* of this tenancy */
    uint32_t references, earlier_count, own_count;
    touch    touches[];
};

touch_history *touch_history_keep(touch_history *self);      /* NULL stays NULL */
void           touch_history_drop(touch_history *self);

/* The history after one more touch, kept once. 0, or -1: no host memory. */
int touch_history_next(const touch_history *self, const touch_by *by, touch_history **next);

/* The first touch that this one does not come after; NULL: none. ending: the tenancy's own count, too. */
const touch *touch_history_unordered(const touch_history *self, const touch_by *by, int ending);

/* A touch by the present owner, another one and no graph, since this graph was captured; NULL: none. */
const touch *touch_history_taken(const touch_history *self, const touch_by *by);
/* The first touch through the place that the host has not outlived; NULL: none. */
const touch *touch_history_pending(const touch_history *self, uint64_t place, const vclock *host);
int touch_history_equal(const touch_history *one, const touch_history *other);

#endif
