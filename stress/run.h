/* The command `run`: every workload through every policy, then table and files.
   Knows nothing of how a row is measured. Tested by tests/cli.t and tests/run.t. */
#ifndef STRESS_RUN_H
#define STRESS_RUN_H

#include "cli.h"

/* The exit code; a problem where there is one to be told. argv as main got it. */
int run_command(const cli *asked, const char *const *argv, problem *why);

#endif
