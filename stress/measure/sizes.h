/* Sizes of blocks, drawn before anything is timed.
   It must not know what is done with them. Tested by tests/test_bench.c. */
#ifndef STRESS_MEASURE_SIZES_H
#define STRESS_MEASURE_SIZES_H

#include <stddef.h>
#include <stdint.h>

/* Log-uniform from 256 B up to 1 MiB, the same for a seed. */
void sizes_draw(uint64_t *sizes, size_t count, uint64_t seed);

#endif
