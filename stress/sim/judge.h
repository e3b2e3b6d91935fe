/* The judge: who touched which bytes of physical memory last, what must come before the next touch, and the
   findings: what was done that must not be, each with the operation that did it. It must not know streams or
   addresses. */
#ifndef STRESS_SIM_JUDGE_H
#define STRESS_SIM_JUDGE_H

#include "granules.h"

enum { JUDGE_KEPT = 64, JUDGE_TEXT = 256 };

typedef struct judge {
    uint64_t op;                                 /* the one under way */
    int      op_begun;                           /* 0: the first has not begun */
    uint64_t count;                              /* of findings; the first JUDGE_KEPT have texts */
    uint64_t by_device[SIM_MAX_DEVICES];
    char     texts[JUDGE_KEPT][JUDGE_TEXT];
    uint8_t  are_of_order[JUDGE_KEPT];           /* 1: two uses that nothing orders */
} judge;

void        judge_report(judge *book, int device, const char *format, ...) PROBLEM_FORMAT(3, 4);
const char *judge_text(const judge *book, uint64_t index);

/* ---- Vector clocks: for every line of work, up to which position all is known to come before */

typedef struct vclock {                          /* zeroed: nothing is known */
    uint64_t *at;                                /* lines from count on: 0 */
    uint32_t  count;
} vclock;

void     vclock_reserve(vclock *clock, uint32_t count);      /* room for this many lines at least */
uint64_t vclock_get(const vclock *clock, uint32_t line);
void     vclock_join(vclock *clock, const vclock *other);
void     vclock_copy(vclock *clock, const vclock *other);
void     vclock_destroy(vclock *clock);                      /* zeroed afterwards */

/* ---- Who touched which bytes of physical memory last: parts of granules, and what must come before the next owner's
        first touch of each */

typedef struct touch {
    uint64_t position, op, stream;
    uint32_t line;
    uint16_t is_launched;                        /* 1: by a graph */
    uint16_t is_own;                             /* 1: in this tenancy, as it is made; 0: in an earlier one */
    uint64_t place;                              /* through which addresses, of several that the bytes may have */
} touch;

typedef struct touch_by {
    touch         latest;
    uint64_t      owner;
    uint64_t      captured_op;                   /* by a graph: when it was captured */
    const vclock *seen;                          /* what the touch comes after */
    const vclock *host;                          /* what the host has outlived */
    int           is_end;                        /* 1: nobody will ask again: whatever comes next comes after the
                                                    host's word that it was given back. seen: the host's clock too;
                                                    of latest and owner nothing counts */
} touch_by;

typedef enum touch_verdict {
    TOUCH_UNORDERED,                             /* it does not come after another one */
    TOUCH_IN_ORDER,
    TOUCH_TAKEN                                  /* another owner, though in order, since a graph captured it */
} touch_verdict;

/* Bytes [from, to) of a granule. *other: the other touch, the first in memory, if there is one. O(log parts + parts
   in the range), moving what lies behind. This touch is the latest from now on, in order or not. */
touch_verdict touches_add(granule *touched, uint32_t from, uint32_t to, const touch_by *by, touch *other);

/* Looks alone: the first touch in memory through this place that the host has not outlived. 1: there is one. */
int  touches_pending(const granule *touched, uint64_t place, const vclock *host, touch *other);
void touches_forget(granule *touched);

#endif
