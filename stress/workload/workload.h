/* Workloads: op streams made from (specification, seed) alone.
   It must not know of policies, devices or results. A new family is one file here and one row in workload.c.
   Tested by tests/test_workload_*.c. */
#ifndef STRESS_WORKLOAD_WORKLOAD_H
#define STRESS_WORKLOAD_WORKLOAD_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include "../base/problem.h"
#include "../base/slice.h"
#include "stream.h"

typedef struct workload_options {                /* from the command line; a family without that option ignores it */
    int seed_given;  uint64_t seed;              /* default seed 1 */
    int steps_given; uint64_t steps;
    int ops_given;   uint64_t ops;               /* the stream is cut after this many allocations and frees */
    int threads_given; uint64_t threads;         /* of a workload that has threads; see mix.h for all others */
    uint64_t most_bytes;                         /* it is cut once more than this is live at once; 0: never */
    uint64_t thread;                             /* the first that makes this stream: its seed is turns_seed's */
    size_t   most_ops;                           /* more are refused; 0: STREAM_MAX_OPS, the most there can be */
} workload_options;

/* spec: NAME or NAME:key=value,key=value; replay:FILE. Fills *stream, to be freed by op_stream_free.
   -1 and a problem: unknown name or option, bad value, an option given twice or on both sides (seed, steps, threads),
   a broken or unreadable file (file and line named), EXIT_USAGE in all these cases; no host memory: EXIT_HARNESS.
   *stream is then empty. */
int  workload_make(const char *spec, const workload_options *options, op_stream *stream, problem *problem);
/* 1: the workload that spec names has that option. `threads`: it has threads of its own. */
int  workload_has_option(slice spec, const char *key);

/* An option of the one workload that spec names, to be varied: key NULL is the one that makes it larger: `batch`,
   where it has that, else the first it has of `seq`, `requests`, `depth`, `cap`, `blocks`, `n`. 0, or -1 and a
   problem, EXIT_USAGE: no such workload, a recording, no such option, or spec says already what it is. */
typedef struct workload_key { const char *key; uint64_t lowest, highest; } workload_key;
int  workload_vary(const char *spec, const char *key, workload_key *found, problem *why);

/* `stress list`: name, one line and options of each family, in order; NULL past the last. peak: how the highest sum
   of live bytes comes about, and what it is at the defaults; NULL and 0: as the file has it. */
typedef struct workload_family {
    const char *name, *summary, *options, *peak;
    uint64_t    peak_bytes;
} workload_family;
const workload_family *workload_family_at(size_t index);
/* An option of that family: `key=DEFAULT`, and what is allowed, as text. 1, or 0: it has no more of them. */
int workload_option_text(size_t family, size_t option, char *text, size_t size);

#endif
