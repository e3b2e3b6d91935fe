/* Instructions, counted by running a program again under valgrind's callgrind.
   It must not know what is counted. */
#ifndef STRESS_MEASURE_CALLGRIND_H
#define STRESS_MEASURE_CALLGRIND_H

#include <stddef.h>
#include <stdint.h>

#include "../base/problem.h"

/* Runs the program of these words (found as a shell would), silently, and counts the instructions of each call of one
   external function, all that it calls included. There must be exactly count of them, one after another. 0; 1: there
   is no valgrind here; -1 and a problem: anything else. */
int callgrind_count(const char *const *words, const char *function, uint64_t *instructions, size_t count,
                    problem *why);

#endif
