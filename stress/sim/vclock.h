/* Vector clocks: for every line of work, up to which position all is known to come before.
   It must not know what a line is, nor of virtual time: an order that holds by timing alone is none.
   Tested by tests/test_sim_order.c. */
#ifndef STRESS_SIM_VCLOCK_H
#define STRESS_SIM_VCLOCK_H

#include "base.h"

typedef struct vclock {                          /* zeroed: nothing is known */
    uint64_t *at;                                /* lines from count on: 0 */
    uint32_t  count;
} vclock;

/* Room for this many lines, so that joins of clocks of at most as many cannot fail. -1: no host memory. */
int      vclock_reserve(vclock *clock, uint32_t count);
uint64_t vclock_get(const vclock *clock, uint32_t line);
void     vclock_raise(vclock *clock, uint32_t line, uint64_t position);      /* room reserved */
void     vclock_join(vclock *clock, const vclock *other);                    /* room reserved */
void     vclock_copy(vclock *clock, const vclock *other);                    /* room reserved */
void     vclock_destroy(vclock *clock);                                      /* zeroed afterwards */

#endif
