/* What one item of -w asks for, on any number of threads: workloads of their own, made one op stream by a seeded
   scheduler, which draws whose operation is next.
   It must not know of the command line, nor of policies and devices. Tested by tests/test_workload_mix.c. */
#ifndef STRESS_WORKLOAD_MIX_H
#define STRESS_WORKLOAD_MIX_H

#include "../base/slice.h"
#include "workload.h"

/* text: SPEC or SPEC+SPEC.., each as for workload_make. Behind replay: a '+' is the file's, unless a workload's name
   and then ':', '+' or the end follow.
   With options->threads_given so many threads are dealt out to the SPECs, from thread 0 and the first on, in turn:
     - a workload that has threads itself (larson) takes its share as its own `threads`;
     - of all others each thread runs one, with a seed of its own (turns_seed) where there is a seed.
   Else each SPEC is made once, as it says; the one numbered n (from 0) with the seed of thread n.
   What is made alone is what workload_make makes. Else each thread does the operations of its own, in their order;
   turns are drawn from the first SPEC's seed (turns.h). Streams are no other's: with `count` op streams, stream s of
   the one numbered n is stream s * count + n, so that stream 0 of the first stays 0. They are numbered in the order
   of SPECs, those of one SPEC in the order of threads. Blocks have their numbers for ids. --ops cuts the whole.
   Returns and fails as workload_make does; also: fewer threads than SPECs, more than WORKLOAD_MAX_THREADS, or more
   operations of all threads together than two streams may have. */
int mix_make(const char *text, const workload_options *options, op_stream *stream, problem *why);

/* The next SPEC of an item's text: 1, or 0: there is none (rest->bytes is NULL). */
int mix_take(slice *rest, slice *spec);
/* Whether a workload's name, and then ':', '+' or the end, stand here. */
int mix_is_name(slice text);

#endif
