/* The rows of a run, of all its shards: how many, which are here, and what makes two runs the same.
   Knows nothing of running. */
#ifndef STRESS_RUN_SWEEP_H
#define STRESS_RUN_SWEEP_H

#include <stdio.h>

#include "../base/cli.h"
#include "plan.h"
#include "shard.h"

typedef struct sweep {
    const cli  *asked;
    const plan *made;
    uint64_t    times;                           /* every row so often */
    shard       part;                            /* which of the rows are here */
    shard_mark  mark;
} sweep;

/* After shard_find and plan_make: the mark, and a word on stderr where rows are left out. -1 and a problem,
   EXIT_USAGE: what cannot be asked of one shard. */
int      sweep_start(sweep *self, const cli *asked, const plan *made, problem *why);
int      sweep_is_part(const sweep *self);
const char *sweep_part(const sweep *self, char *text, size_t size);          /* "shard 1/4: 3 of 12 rows";
                                                                                NULL: all */
uint64_t sweep_rows_of(const sweep *self, const plan_workload *workload);    /* of all shards */
/* How many of so many rows from the first on are this shard's. */
uint64_t sweep_owned(const sweep *self, uint64_t first, uint64_t count);

/* ---- The command line that shows a failure again: options that shape results, and no more */

typedef struct repro {
    const char *program, *command;               /* argv[0]; "run", or what searches */
    const cli  *asked;
    const char *device;                          /* the one it was, where `auto` was asked for */
    const char *workload, *policy;
    int         is_recording;                    /* what shaped the generated workload is left out */
    uint64_t    times;                           /* --repeat; 0: none */
    uint64_t    ops;                             /* cut after so many allocations and frees; UINT64_MAX: as asked */
    uint64_t    limit_bytes, capacity_bytes;     /* beside --limit; instead of --device; 0: none */
    const char *faults;                          /* beside --faults; NULL or "": none */
} repro;

void repro_write(FILE *out, const repro *line);  /* "repro: ..", with its newline */

#endif
