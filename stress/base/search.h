/* Searches over numbers and lists, for the commands that try runs: bisection, the smallest limit, the largest
   batch, the shortest failing list. It must not know what is tried. */
#ifndef STRESS_BASE_SEARCH_H
#define STRESS_BASE_SEARCH_H

#include "program.h"

/* ---- Bisection between a number that will do and one that will not, for every search of a command */

/* 1: this number will do, 0: it will not, -1: nothing more can be tried. */
typedef int bisect_try(void *user, uint64_t number);

/* Brings *good, which does, and *bad, which does not, together until they are one step apart; they are whole steps
   apart before. Either may be the larger. Only numbers between the two are tried, each at most once.
   1: *good was the last tried that does, *bad the last that does not; -1: a try's answer. */
int bisect_between(uint64_t *good, uint64_t *bad, uint64_t step, bisect_try *tried, void *user);

/* ---- Steps that double */

/* Tries numbers from *known towards `end` until one has another answer than *known. 1: that number is *other. *known
   moves to the last that has its own answer. 0: there is none up to `end`; or, where it is known that `end` has the
   other answer, none that a step reaches before it. -1: a try's answer. */
int search_gallop(uint64_t *known, int answer, uint64_t end, int is_end_known, uint64_t step, bisect_try *tried,
                  void *user, uint64_t *other);

/* ---- Between bounds, from a number that is thought to be it */

typedef struct search_bounds { uint64_t least, likely, most; } search_bounds;        /* in this order */

typedef struct search_found {
    uint64_t good;                               /* tried, will do .. */
    uint64_t bad;                                /* .. and one step further: tried, will not; 0: there is none */
} search_found;

/* The smallest number of granules that suffices, by bisection. Bounds are whole granules; below the least, which is
   not 0, nothing can suffice; above the most nothing can be had; the likely one is tried first.
   Where what suffices has gaps, as a policy may need less in one layout than in another, what is found is the end of
   one of them, not always the lowest. Of all tries that failed, that of found->bad is the last.
   1: *found is filled; 0: not even the most suffices; -1: a try's answer, or less than the least sufficed. */
#define CAPACITY_GRANULE ((uint64_t)2 << 20)     /* in which the memory of a device is held */
int capacity_search(const search_bounds *bounds, bisect_try *tried, void *user, search_found *found);

/* The largest number that survives. What survives need not be an interval: a policy may fail with one number and
   survive a larger one. Tried are the likely number, what is above it as long as it survives, else the least (and 1,
   where that is 0, which may be of another kind: none instead of few), and from the likely one downwards, both in
   steps that double; what bisection between the two that are found asks for; and then the BATCH_LOOK numbers above
   the end, as far as they are below the likely one, or the first above it that failed, from the top: where one
   survives, it goes on from there. A number further up that survives is not seen. A number may be tried twice.
   1: *found is filled; 0: not even the least survives, which was tried; -1: a try's answer. */
enum { BATCH_LOOK = 8 };                         /* numbers above the end of a bisection that are tried, too */
int batch_search(const search_bounds *bounds, bisect_try *tried, void *user, search_found *found);

/* ---- Delta debugging: fewer and fewer of a list's units, as long as a test of them stays true */

/* Whether it is still true of the units that are kept. 1, and *needed is how many of the first units, kept or not,
   lead to it (at most as many as there are): the others go at once. 0: it is not. -1: nothing more can be tried. */
typedef int shrink_try(void *user, const unsigned char *keep, size_t *needed);

/* keep: by unit, 1 or 0; it is true of these at first. Leaves out chunks of what is kept, first halves, then ever
   smaller ones, to single units, as often as any could be left out. What it ends with is true, and not without any
   one of its units. 0, or -1: a try's answer: keep is then the fewest so far of which it is true. */
int shrink_search(unsigned char *keep, size_t count, shrink_try *tried, void *user);

#endif
