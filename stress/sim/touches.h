/* Who touched which bytes of physical memory last: a map from pieces of granules to what must come before the next
   owner's first touch. It belongs to the granule, whatever addresses it is mapped at. Order is vector clocks' alone.
   It must not know of streams, addresses, calls or findings.
   Tested by tests/test_sim_touches.c and tests/test_sim_order.c.

   A tenancy is a run of touches of a byte by one owner. A touch must come after every touch of an earlier tenancy;
   what an owner does to its own memory is its own affair. Each piece keeps the latest touch of each line of work, and
   of each place, of this tenancy and of all before. Touches that the host has outlived come before all that can
   follow, and are dropped: with neighbours merged where they are equal, that bounds the memory. */
#ifndef STRESS_SIM_TOUCHES_H
#define STRESS_SIM_TOUCHES_H

#include "vclock.h"

typedef struct touch {
    uint64_t position, op, stream;
    uint32_t line;
    uint32_t is_launched;                        /* 1: by a graph */
    uint64_t place;                              /* through which addresses, of several that the bytes may have */
} touch;

typedef struct touch_history touch_history;      /* shared by pieces; NULL: nothing to come after */
typedef struct touch_piece { uint32_t from; touch_history *history; } touch_piece;

typedef struct touched_granule {                 /* pieces to the next one's from, or the granule's end */
    touch_piece *pieces;                         /* by from, the first's 0, neighbours differ; NULL: untouched */
    uint32_t     count, capacity;
} touched_granule;

typedef struct touches {                         /* zeroed: nothing was touched */
    touched_granule *list;
    uint32_t     count;
    touch_piece *fresh;                          /* for the change under way */
    uint32_t     fresh_capacity;
} touches;

typedef struct touch_by {
    touch         latest;
    uint64_t      owner;
    uint64_t      captured_op;                   /* by a graph: when it was captured */
    const vclock *seen;                          /* what the touch comes after */
    const vclock *host;                          /* what the host has outlived */
} touch_by;

typedef enum touch_verdict {
    TOUCH_NO_HOST_MEMORY = -1,
    TOUCH_UNORDERED,                             /* it does not come after another one */
    TOUCH_IN_ORDER,
    TOUCH_TAKEN                                  /* another owner, though in order, since a graph captured it */
} touch_verdict;

/* Bytes [from, to) of a granule. *other: the other touch, the first in memory, if there is one. O(log pieces + pieces
   in the range), moving what lies behind.
     add     this touch is the latest, in order or not
     end     nobody will ask again: whatever comes next comes after the host's word that it was given back. by.seen
             is the host's clock, by.latest and owner are not read */
touch_verdict touches_add(touches *all, uint32_t granule, uint32_t from, uint32_t to, const touch_by *by,
                          touch *other);
touch_verdict touches_end(touches *all, uint32_t granule, uint32_t from, uint32_t to, const touch_by *by,
                          touch *other);

/* Looks alone: the first touch in memory through this place that the host has not outlived. 1: there is one. */
int touches_pending(const touches *all, uint32_t granule, uint64_t place, const vclock *host, touch *other);
uint32_t touches_piece_count(const touches *all, uint32_t granule);
void touches_destroy(touches *all);

#endif
