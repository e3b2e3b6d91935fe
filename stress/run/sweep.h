/* The rows of a run, of all its shards: how many, which are here, and what makes two runs the same.
   Knows nothing of running. Tested by tests/shard.t. */
#ifndef STRESS_RUN_SWEEP_H
#define STRESS_RUN_SWEEP_H

#include "plan.h"
#include "shard.h"

typedef struct sweep {
    const cli  *asked;
    const plan *made;
    uint64_t    times;                           /* every row so often */
    shard       part;                            /* which of the rows are here */
    shard_mark  mark;
} sweep;

/* After shard_find and plan_make: the mark, and a word on stderr where rows are left out. -1 and a problem,
   EXIT_USAGE: what cannot be asked of one shard. */
int      sweep_start(sweep *self, const cli *asked, const plan *made, problem *why);
int      sweep_is_part(const sweep *self);
const char *sweep_part(const sweep *self, char *text, size_t size);          /* "shard 1/4: 3 of 12 rows";
                                                                                NULL: all */
uint64_t sweep_rows_of(const sweep *self, const plan_workload *workload);    /* of all shards */
/* How many of so many rows from the first on are this shard's. */
uint64_t sweep_owned(const sweep *self, uint64_t first, uint64_t count);

#endif
