/* Searches over numbers and lists, for the commands that try runs: bisection, the smallest limit, the largest
   batch, the shortest failing list. It must not know the workloads or policies that are tried. */
#ifndef STRESS_BASE_SEARCH_H
#define STRESS_BASE_SEARCH_H

#include "program.h"

/* ---- Bisection between a number that will do and one that will not, for every search of a command */

/* 1: this number will do, 0: it will not, -1: nothing more can be tried. */
typedef int bisect_try(void *user, uint64_t number);

/* Brings *good, which will do, and *bad, which will not, together until they are one step apart. The distance before
   is a multiple of the step. Either may be the larger. Only numbers between the two are tried, each at most once.
   1: *good was the last tried number that will do, *bad the last that will not; -1: a try's answer. */
int bisect_between(uint64_t *good, uint64_t *bad, uint64_t step, bisect_try *tried, void *user);

/* ---- Steps that double */

/* Tries numbers from *known towards `end`, in steps that double, until one has another answer than *known. *known
   moves to the last number that has its own answer. 1: *other is the number with the other answer. 0: no number up to
   `end` has it; or, where `end` is known to have it, no tried number before `end` has it. -1: a try's answer. */
int search_gallop(uint64_t *known, int answer, uint64_t end, int is_end_known, uint64_t step, bisect_try *tried,
                  void *user, uint64_t *other);

/* ---- Between bounds, from a number that is thought to be it */

typedef struct search_bounds { uint64_t least, likely, most; } search_bounds;        /* in this order */

typedef struct search_found {
    uint64_t good;                               /* tried, will do .. */
    uint64_t bad;                                /* .. and one step further: tried, will not; 0: there is none */
} search_found;

/* Finds the smallest number of granules that suffices, by bisection. Bounds are whole granules. Nothing below
   `least`, which is not 0, can suffice; nothing above `most` can be had; `likely` is tried first.
   The numbers that suffice may have gaps, as a policy may need less in one layout than in another. The number found
   is then the end of a gap, not always of the lowest. The try of found->bad is the last of all that failed.
   1: *found is filled; 0: not even the most suffices; -1: a try's answer, or less than the least sufficed. */
#define CAPACITY_GRANULE ((uint64_t)2 << 20)     /* in which the memory of a device is held */
int capacity_search(const search_bounds *bounds, bisect_try *tried, void *user, search_found *found);

/* Finds the largest number that survives. The numbers that survive need not be an interval: a policy may fail with
   one number and survive a larger one. The likely number is tried first. If it survives, numbers above it are tried,
   in steps that double, until one fails. If it fails, the least is tried (and 1 after a least of 0, which may differ
   in kind: none instead of few), and then numbers below the likely one, in steps that double, until one survives.
   Bisection between the two follows. At its end up to BATCH_LOOK more numbers are tried, from the top; they lie below
   the likely number or the first above it that failed. If one survives, the search continues from there. A surviving
   number further up is not seen. A number may be tried twice.
   1: *found is filled; 0: not even the least survives, which was tried; -1: a try's answer. */
enum { BATCH_LOOK = 8 };                         /* numbers to try above the end of a bisection */
int batch_search(const search_bounds *bounds, bisect_try *tried, void *user, search_found *found);

/* ---- Delta debugging: fewer and fewer of a list's units, as long as a test of them stays true */

/* Tests the kept units. 1: the test is still true, and *needed is how many of the first units, kept or not, it needs
   (at most as many as there are); all units behind them are left out at once. 0: it is false. -1: nothing more can be
   tried. */
typedef int shrink_try(void *user, const unsigned char *keep, size_t *needed);

/* keep has 1 or 0 for each unit; the test must be true of the kept units at first. Leaves out chunks of the kept
   units, first halves, then ever smaller ones, and single units until none can be left out. The result is minimal:
   the test is true of it, and false without any one of its units. 0, or -1: a try's answer; keep then holds the
   fewest units so far of which the test was true. */
int shrink_search(unsigned char *keep, size_t count, shrink_try *tried, void *user);

#endif
