/* Workloads: op streams made from (specification, seed) alone.
   It must not know of policies, devices or results. A new family is one file here and one word in maker.h. */
#ifndef STRESS_WORKLOAD_WORKLOAD_H
#define STRESS_WORKLOAD_WORKLOAD_H

#include "maker.h"

/* ---- Whose turn it is: a seeded scheduler of threads, some of them faster than others, and that for a while only */

typedef struct turns {
    uint64_t random;
    uint32_t count, left;                        /* left: turns until some thread's speed changes */
    uint32_t weights[WORKLOAD_MAX_THREADS];
} turns;

void     turns_begin(turns *self, uint64_t seed, uint32_t count);            /* count: 1 .. WORKLOAD_MAX_THREADS */
#define TURNS_NONE UINT32_MAX
/* can_run: by thread. TURNS_NONE: none can. */
uint32_t turns_next(turns *self, const uint8_t *can_run);

/* A thread's own seed: thread 0 has the seed itself, so that one thread alone makes the operations of a workload
   without threads. */
uint64_t turns_seed(uint64_t seed, uint64_t thread);

typedef struct workload_options {                /* from the command line; a family without that option ignores it */
    int seed_given;  uint64_t seed;              /* default seed 1 */
    int steps_given; uint64_t steps;
    int ops_given;   uint64_t ops;               /* the stream is cut after this many allocations and frees */
    int threads_given; uint64_t threads;         /* of a workload that has threads; of others, as mix_make says */
    uint64_t most_bytes;                         /* it is cut once more than this is live at once; 0: never */
    uint64_t thread;                             /* the first that makes this stream: its seed is turns_seed's */
    size_t   most_ops;                           /* more are refused; 0: STREAM_MAX_OPS, the most there can be */
} workload_options;

/* spec: NAME or NAME:key=value,key=value; replay:FILE. Fills *stream, to be freed by op_stream_free.
   -1 and a problem: unknown name or option, bad value, an option given twice or on both sides (seed, steps, threads),
   a broken or unreadable file (file and line named); EXIT_USAGE. *stream is then empty. */
int  workload_make(const char *spec, const workload_options *options, op_stream *stream, problem *problem);
/* Tells whether the workload that spec names has that option. `threads`: it has threads of its own. */
int  workload_has_option(slice spec, const char *key);

/* An option of the one workload that spec names, to be varied: key NULL is the one that makes it larger: `batch`,
   where it has that, else the first it has of `seq`, `requests`, `depth`, `cap`, `blocks`, `n`. 0, or -1 and a
   problem, EXIT_USAGE: no such workload, a recording, no such option, or spec gives it a value already. */
typedef struct workload_key { const char *key; uint64_t lowest, highest; } workload_key;
int  workload_vary(const char *spec, const char *key, workload_key *found, problem *why);

/* `stress list`: name, one line and options of each family, in order; NULL past the last. peak: how the highest sum
   of live bytes comes about. peak_bytes: that sum at the defaults. NULL and 0: as the file has it. */
const workload_family *workload_family_at(size_t index);
/* An option of that family: `key=DEFAULT`, and the allowed values, as text. 1, or 0: it has no more of them. */
int workload_option_text(size_t family, size_t option, char *text, size_t size);

/* ---- One item of -w, on any number of threads: workloads of their own, made one op stream by a seeded scheduler,
        which draws whose operation is next */

/* text: SPEC or SPEC+SPEC.., each as for workload_make. Behind replay: a '+' is the file's, unless a workload's name
   and then ':', '+' or the end follow.
   With options->threads_given so many threads are dealt out to the SPECs, from thread 0 and the first on, in turn:
     - a workload that has threads itself (larson) takes its share as its own `threads`;
     - of all others each thread runs one, with a seed of its own (turns_seed) where there is a seed.
   Else each SPEC is made once, as it says; the one numbered n (from 0) with the seed of thread n.
   A SPEC alone is made by workload_make. Else each thread does the operations of its own, in their order;
   turns are drawn from the first SPEC's seed. Streams are no other's: with `count` op streams, stream s of
   the one numbered n is stream s * count + n, so that stream 0 of the first stays 0. They are numbered in the order
   of SPECs, those of one SPEC in the order of threads. Blocks have their numbers for ids. --ops cuts the whole.
   Returns and fails as workload_make does; also: fewer threads than SPECs, more than WORKLOAD_MAX_THREADS, or more
   operations of all threads together than two streams may have. */
int mix_make(const char *text, const workload_options *options, op_stream *stream, problem *why);

/* The next SPEC of an item's text: 1, or 0: there is none (rest->bytes is NULL). */
int mix_take(slice *rest, slice *spec);
/* Tells whether a workload's name, and then ':', '+' or the end, stand here. */
int mix_is_name(slice text);

#endif
