/* The command batch, row by row: the largest batch, or other option of a workload, with which it completes.
   Knows nothing of files or the command line beyond its own checks. */
#ifndef STRESS_RUN_BATCH_H
#define STRESS_RUN_BATCH_H

#include "../base/cli.h"
#include "plan.h"
#include "runner.h"

typedef struct batch_asked {
    const workload_options *options;             /* the plan's */
    const char             *vary;                /* --vary; NULL: the workload's own */
    uint64_t                times;               /* the workload so often, on one pool; 0 is 1 */
} batch_asked;

/* -1 and EXIT_USAGE: an option that batch cannot have; a workload that has no such option to vary, or gives it. */
int  batch_check(const cli *asked, problem *why);
int  batch_check_plan(const plan *made, const char *vary, problem *why);

/* As runner_row does, for the columns of ROW_BATCH. The row must not move any more: a cell shows its note. */
void batch_row(const runner_job *job, const pass_settings *settings, const batch_asked *asked, row *made,
               runner_outcome *outcome);

#endif
