/* `stress compare A.csv B.csv`: a verdict a row, B against A; or the rules of --fail-if, with A as base.
   Knows nothing of how rows were made. Tested by tests/compare.t. */
#ifndef STRESS_COMMAND_COMPARE_H
#define STRESS_COMMAND_COMPARE_H

#include "../base/cli.h"

int compare_command(const cli *asked, problem *why);         /* the exit code; a problem where there is one */

#endif
