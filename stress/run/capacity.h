/* `stress capacity`: a row with the smallest limit under which a workload completes.
   Knows nothing of files or the command line, but for what this command cannot have. */
#ifndef STRESS_RUN_CAPACITY_H
#define STRESS_RUN_CAPACITY_H

#include "plan.h"
#include "runner.h"

/* Limits are what is searched for: none may be given. -1 and a problem, EXIT_USAGE; the second, of policies. */
int capacity_check(const cli *asked, problem *why);
int capacity_check_plan(const plan *made, problem *why);

/* As runner_row. Whole runs, verified as the settings say: one without a limit, whose peaks bound the search, and one
   under the limit found. Between them probes, which end at the first refusal.
   What has no limit is tried on smaller simulated devices; on CUDA what it held is its limit. */
void capacity_row(const runner_job *job, const pass_settings *settings, row *made, runner_outcome *outcome);

#endif
