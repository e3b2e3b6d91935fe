/* The program build/bench: every case measured, told as a table and as files.
   Knows nothing of how a case is measured. */
#ifndef STRESS_COMMAND_BENCH_H
#define STRESS_COMMAND_BENCH_H

#include "../base/cli.h"

/* The exit code; a problem with it is in why. program: as a shell would find it, to run it again under valgrind. */
int bench_command(const cli *asked, const char *program, problem *why);

#endif
