/* One row: a workload through a policy, verified in one pass and timed in another, as cells of the report.
   Knows nothing of files or the command line. */
#ifndef STRESS_RUN_RUNNER_H
#define STRESS_RUN_RUNNER_H

#include "../result/row.h"
#include "plan.h"

typedef struct runner_job {
    const plan          *made;                   /* made, workload and chosen must outlive the row */
    const plan_workload *workload;
    const policy        *chosen;
    int                  is_baseline;            /* for the table alone */
    unsigned             record;                 /* record_part bits: parts of its run that the row keeps;
                                                    0: none */
} runner_job;

typedef struct runner_outcome {
    pass_status status;
    uint64_t    needed_ops;                      /* VERIFY_FAILED, ERROR: allocations and frees that lead to it;
                                                    0: the device could not be opened */
    int         is_lost, kept;                   /* the device is lost; memory could not be given back to it */
    uint64_t    limit_bytes, capacity_bytes;     /* limit and simulated device that the run had; 0: as asked */
} runner_outcome;

/* Checks for BATCH that each workload of the plan has such an option to vary, and does not set it. -1 and a problem,
   EXIT_USAGE: one has none. */
int runner_check_batch(const plan *made, problem *why);

/* Fills *made (free it by row_free), which must not move any more: a cell may show its note. A failure is the row's
   status, with a note that describes it.
   CAPACITY: the smallest limit under which a workload completes. There are two whole runs, verified as the settings
   say: one without a limit, whose peaks bound the search, and one under the limit found. Between them are probes,
   which end at the first refusal. A policy without a limit is tried on smaller simulated devices; on CUDA its peak of
   reserved bytes is its limit.
   BATCH: the largest batch, or other option of a workload, with which it completes.
   All other kinds: one run. */
void runner_row(row_kind kind, const runner_job *job, row *made, runner_outcome *outcome);

#endif
