/* `stress holes`: what an allocation and its free cost among ever more free blocks.
   Knows nothing of formats. */
#ifndef STRESS_COMMAND_HOLES_H
#define STRESS_COMMAND_HOLES_H

#include "../base/cli.h"

/* The exit code; a problem with it is in why. */
int holes_command(const cli *asked, const char *const *argv, problem *why);

#endif
