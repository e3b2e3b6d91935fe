/* `stress merge FILE..`: the files of all shards of one run (--shard), as the run without shards would have written
   it. Knows nothing of columns. */
#ifndef STRESS_COMMAND_MERGE_H
#define STRESS_COMMAND_MERGE_H

#include "../base/cli.h"

/* The exit code; a problem where there is one. */
int merge_command(const cli *asked, const char *const *argv, problem *why);

#endif
