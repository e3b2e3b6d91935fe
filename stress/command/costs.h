/* The command `costs`: measures a device's driver calls, and writes a file for --costs.
   Knows nothing of how they are measured. */
#ifndef STRESS_COMMAND_COSTS_H
#define STRESS_COMMAND_COSTS_H

#include "../base/cli.h"

/* The exit code; a problem where there is one to be told. */
int costs_command(const cli *asked, const char *const *argv, problem *why);

#endif
