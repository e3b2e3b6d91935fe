/* Shards: one run's rows dealt out to several processes, row k to shard k modulo n; and the mark by which the files
   of a shard are known, their first line.
   Knows nothing of rows. */
#ifndef STRESS_RUN_SHARD_H
#define STRESS_RUN_SHARD_H

#include <stddef.h>
#include <stdint.h>

#include "../base/problem.h"
#include "../base/slice.h"

typedef struct shard {
    uint64_t    index, count;                    /* index from 0; count 1: all rows are here */
    const char *source;                          /* "--shard", or what the environment said */
} shard;

typedef struct shard_mark {
    uint64_t index, count;
    uint64_t rows;                               /* of all shards */
    uint64_t seed, sweep;                        /* sweep: a hash of all that was asked for */
    char     version[24];
} shard_mark;

enum { SHARD_MARK_ROOM = 200 };

/* --shard's text (NULL: not given): i/n, none, or auto/n where the environment has an index alone. Without it what a
   Slurm array, MPI or a Kubernetes job says. -1 and a problem, EXIT_USAGE. */
int      shard_find(shard *made, const char *text, problem *why);
int      shard_owns(uint64_t index, uint64_t count, uint64_t row);
uint64_t shard_rows(uint64_t index, uint64_t count, uint64_t rows);          /* how many of all rows it has */

const char *shard_mark_print(const shard_mark *mark, char *text, size_t size);       /* without the newline */
int      shard_mark_read(slice line, shard_mark *mark);                      /* 0, or -1: the line is no mark */
/* A path with {shard} in it, by "03-of-16" in its place; free it. NULL: no host memory. */
char    *shard_path(const char *text, uint64_t index, uint64_t count);

#endif
