/* What honest measuring takes: a process that has had a second thread, rounds in a seeded random order, medians with
   confidence intervals. It must not know what is measured. Tested by tests/test_bench.c. */
#ifndef STRESS_BENCH_ROUNDS_H
#define STRESS_BENCH_ROUNDS_H

#include <stddef.h>
#include <stdint.h>

#include "../problem.h"

typedef struct rounds_interval { double low, median, high; } rounds_interval;

/* Starts a thread and waits for its end: until then, glibc's mutex does without atomics. */
int rounds_second_thread(problem *why);

/* Time that this thread has had a processor for: what others do on the machine meanwhile is not counted, else who
   takes longer would be interrupted more often. A system call: not for single pairs. */
uint64_t rounds_clock_ns(void);

/* order becomes 0 .. count - 1, shuffled. */
void rounds_shuffle(size_t *order, size_t count, uint64_t *random);

/* The median, and the ranks between which it lies with 95 % confidence, whatever the distribution. Below 6 values no
   ranks do: then it is all of them. Sorts values; count > 0. */
rounds_interval rounds_median(double *values, size_t count);
size_t          rounds_low_rank(size_t count);   /* from 0; the high one is as far from the other end */

#endif
