/* One case at work: an arena of each kind and who they are compared with, measured in turn.
   It must not know how results are told. Tested by tests/test_bench.c and tests/bench.t. */
#ifndef STRESS_MEASURE_STAGE_H
#define STRESS_MEASURE_STAGE_H

#include "cases.h"
#include "crowd.h"
#include "../base/rounds.h"

enum { STAGE_ARENAS = 4, STAGE_LANES = 2 * STAGE_ARENAS, STAGE_MOST_ROUNDS = 201, STAGE_COUNTED_PAIRS = 5000 };

typedef struct stage_lane {
    subject on;
    pairs  *crowd;                               /* NULL: the lane is not there */
    size_t  members;
    int     is_borrowed;                         /* crowd and its subject are another lane's */
    double  ns[STAGE_MOST_ROUNDS];               /* of a pair, by round */
} stage_lane;

typedef struct stage {
    const cases_row *row;
    stage_lane       lanes[STAGE_LANES];         /* the arenas, and the other's, or each one's other */
    size_t           lane_count, round_count;    /* rounds that count */
    rounds_end       ended;                      /* why there are no more */
    unsigned char   *cold;
    uint64_t         random;                     /* orders lanes */
} stage;

/* Opens and warms all lanes; a CUB that is not in this build is left out. -1 and a problem; stage_close in both
   cases. */
int  stage_open(stage *self, const cases_row *row, uint64_t seed, problem *why);
void stage_close(stage *self);

/* Every round measures every lane once, in a random order, until every arena's ratio, or its time where it has none,
   is known to the precision. limits: precision and budget are taken from it. is_quick: few and short ones, good for
   tests alone. */
int  stage_measure(stage *self, int is_quick, const rounds_length *limits, problem *why);
/* STAGE_COUNTED_PAIRS pairs of every lane that is there, in order. */
void stage_count(stage *self);
int  stage_verify(const stage *self, problem *why);          /* as subject_verify, all arenas; and no call failed */

/* The lane that this arena's is compared with. */
const stage_lane *stage_other(const stage *self, size_t arena);
size_t stage_other_index(const stage *self, size_t arena);
/* Of its times over the other's, of threads the other way round; of its times alone where that is not there. */
rounds_interval stage_ratio(const stage *self, size_t arena);
rounds_interval stage_time(const stage *self, const stage_lane *lane);

#endif
