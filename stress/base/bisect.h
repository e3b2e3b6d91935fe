/* Bisection between a number that will do and one that will not, for every search of a command.
   It must not know what is tried, nor on which side what will do lies.
   Tested by tests/test_capacity.c and tests/test_batch.c. */
#ifndef STRESS_BASE_BISECT_H
#define STRESS_BASE_BISECT_H

#include <stdint.h>

/* 1: this number will do, 0: it will not, -1: nothing more can be tried. */
typedef int bisect_try(void *user, uint64_t number);

/* Brings *good, which does, and *bad, which does not, together until they are one step apart; they are whole steps
   apart before. Either may be the larger. Only numbers between the two are tried, each at most once.
   1: *good was the last tried that does, *bad the last that does not; -1: a try's answer. */
int bisect_between(uint64_t *good, uint64_t *bad, uint64_t step, bisect_try *tried, void *user);

#endif
