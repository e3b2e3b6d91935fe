/* The command shrink: of a run that fails, the fewest operations that still fail the same way, as a recording.
   Knows nothing of how a pass is made. */
#ifndef STRESS_COMMAND_SHRINK_H
#define STRESS_COMMAND_SHRINK_H

#include "../base/cli.h"
#include "../base/problem.h"

/* The exit code: that of the run which is shrunk, 0 where it is out of memory; or that of the problem. */
int shrink_command(const cli *asked, const char *const *argv, problem *why);

#endif
