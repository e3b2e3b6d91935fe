/* The rows of a run, of all its shards: how many, which are here, and what makes two runs the same; and the command
   line that shows a failure again. Knows nothing of running. */
#ifndef STRESS_RUN_SWEEP_H
#define STRESS_RUN_SWEEP_H

#include "plan.h"

/* ---- Shards: one run's rows dealt out to several processes, row k to shard k modulo n; and the mark by which the
        files of a shard are known, their first line */

typedef struct shard_mark {
    uint64_t    index, count;                    /* index from 0; count 1: all rows are here */
    uint64_t    rows;                            /* of all shards .. */
    uint64_t    times;                           /* .. each case of the plan so often */
    uint64_t    seed, sweep;                     /* sweep: a hash of all that was asked for */
    char        version[24];
    const char *source;                          /* "--shard", or what the environment said; NULL: a file */
} shard_mark;

enum { SHARD_MARK_ROOM = 200 };

/* --shard's text (NULL: not given): i/n, none, or auto/n where the environment has an index alone. Without it what a
   Slurm array, MPI or a Kubernetes job says. -1 and a problem, EXIT_USAGE. */
int      shard_find(shard_mark *made, const char *text, problem *why);
uint64_t shard_rows(uint64_t index, uint64_t count, uint64_t rows);          /* how many of all rows it has */

const char *shard_mark_print(const shard_mark *mark, char *text, size_t size);       /* without the newline */
int      shard_mark_read(slice line, shard_mark *mark);                      /* 0, or -1: the line is no mark */
/* A path with {shard} in it, by "03-of-16" in its place; of no mark as it is. Free it. */
char    *shard_path(const char *text, const shard_mark *mark);

/* After shard_find and plan_make: the rest of the mark, of rows that come so often, and a word on stderr where rows
   are left out. -1 and a problem, EXIT_USAGE: what cannot be asked of one shard. */
int      shard_start(shard_mark *mark, const cli *asked, const plan *made, uint64_t times, problem *why);
const char *shard_part(const shard_mark *mark, char *text, size_t size);     /* "shard 1/4: 3 of 12 rows";
                                                                                NULL: all */
/* How many of so many rows from the first on are this shard's. */
uint64_t shard_owned(const shard_mark *mark, uint64_t first, uint64_t count);

/* ---- The command line that shows a failure again: options that shape results, and no more */

typedef struct repro {
    const char *command;                         /* "run", or what searches */
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
