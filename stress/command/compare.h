/* `stress compare A.csv B.csv`: a verdict a row, B against A; or the rules of --fail-if, with A as base.
   Knows nothing of how rows were made. */
#ifndef STRESS_COMMAND_COMPARE_H
#define STRESS_COMMAND_COMPARE_H

#include "../base/cli.h"

/* The exit code; a problem where there is one. */
int compare_command(const cli *asked, const char *const *argv, problem *why);

#endif
