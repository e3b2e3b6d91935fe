/* What can be said against a command line of run, capacity or batch before anything runs. Each: -1 and a problem,
   EXIT_USAGE. Knows nothing of running. Tested by tests/cli.t and tests/gate.t. */
#ifndef STRESS_COMMAND_RUN_CHECK_H
#define STRESS_COMMAND_RUN_CHECK_H

#include "../result/gate.h"
#include "../run/plan.h"

int run_check_options(const cli *asked, row_kind kind, problem *why);
/* Each is about some row; the policy that it compares with runs, or is raw, which run adds. */
int run_check_rules(const plan *made, const gate *gates, row_kind kind, problem *why);
/* The latter of one rule; besides: the policy that runs without being asked for, or "". */
int run_check_reference(const plan *made, const rule *asked, const char *besides, problem *why);

#endif
