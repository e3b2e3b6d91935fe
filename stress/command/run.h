/* The commands `run` and `capacity`: every workload through every policy, then table and files.
   Knows nothing of how a row is measured. */
#ifndef STRESS_COMMAND_RUN_H
#define STRESS_COMMAND_RUN_H

#include "../base/cli.h"
#include "../result/gate.h"
#include "../result/row.h"
#include "../run/plan.h"

/* ---- What can be said against a command line of run, capacity or batch before anything runs */

/* The latter of one rule; besides: the policy that runs without being asked for, or "". */
int run_check_reference(const plan *made, const rule *asked, const char *besides, problem *why);

/* The exit code; a problem where there is one to be told. argv as main got it. */
int run_command(const cli *asked, const char *const *argv, row_kind kind, problem *why);

#endif
