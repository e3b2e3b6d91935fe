/* Delta debugging: fewer and fewer of a list's units, as long as a test of them stays true.
   It must not know what a unit is, nor what is tested.
   Tested by tests/test_shrink.c. */
#ifndef STRESS_BASE_SHRINK_SEARCH_H
#define STRESS_BASE_SHRINK_SEARCH_H

#include <stddef.h>

/* Whether it is still true of the units that are kept. 1, and *needed is how many of the first units, kept or not,
   lead to it (at most as many as there are): the others go at once. 0: it is not. -1: nothing more can be tried. */
typedef int shrink_try(void *user, const unsigned char *keep, size_t *needed);

/* keep: by unit, 1 or 0; it is true of these at first. Leaves out chunks of what is kept, first halves, then ever
   smaller ones, to single units, as often as any could be left out. What it ends with is true, and not without any
   one of its units. 0, or -1: a try's answer, or no host memory: keep is then the fewest so far of which it
   is true. */
int shrink_search(unsigned char *keep, size_t count, shrink_try *tried, void *user);

#endif
