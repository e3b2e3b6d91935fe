/* How often the rows of a workload are made: so often, or on a GPU until their times are known.
   Knows nothing of running. Tested by tests/cuda_stress.t. */
#ifndef STRESS_RUN_REPEAT_H
#define STRESS_RUN_REPEAT_H

#include "../base/rounds.h"
#include "../base/cli.h"
#include "plan.h"
#include "../result/row.h"

enum { REPEAT_LEAST = ROUNDS_LEAST_COUNT, REPEAT_MOST = 60 };        /* of --repeat auto */

typedef struct repeat {
    rounds_length   length;
    int             is_auto;
    uint64_t        begin_ns;                    /* of the workload under way .. */
    size_t          first;                       /* .. its first row, of these */
    const row_list *rows;
} repeat;

/* Of run and its kin. -1 and a problem, EXIT_USAGE: an option that means nothing to the command. */
int  repeat_check(const cli *asked, row_kind kind, problem *why);
/* -1 and a problem, EXIT_USAGE: a clock may not say how many rows a simulated device or a shard has. */
int  repeat_check_plan(const cli *asked, const plan *made, int is_part, problem *why);

repeat repeat_of(const cli *asked, row_kind kind, const row_list *rows);
void   repeat_begin(repeat *self);               /* a workload; its rows follow those that there are */
/* After so many times all of its rows. When they are enough, and a clock said so, each row has why. */
int    repeat_is_over(repeat *self, row_list *rows, uint64_t times);

#endif
