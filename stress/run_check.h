/* What can be said against a command line of run, capacity or batch before anything runs. Each: -1 and a problem,
   EXIT_USAGE. Knows nothing of running. Tested by tests/cli.t and tests/gate.t. */
#ifndef STRESS_RUN_CHECK_H
#define STRESS_RUN_CHECK_H

#include "gate/gate.h"
#include "plan.h"

int run_check_options(const cli *asked, row_kind kind, problem *why);
int run_check_rules(const plan *made, const gate *gates, problem *why);      /* each is about some row, and
                                                                                a policy */

#endif
