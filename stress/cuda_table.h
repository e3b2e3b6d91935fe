/* gpuarena's own CUDA table, with every call on memory counted and every range on a list, so that nothing of it stays
   on somebody's GPU. The other groups are handed through.
   It must not know of contents, streams in use, policies or workloads. Without CUDA there is none.
   Tested by tests/test_device*.c on the libcudart substitute, by tests/gpu.t on a GPU. */
#ifndef STRESS_CUDA_TABLE_H
#define STRESS_CUDA_TABLE_H

#include "../gpuarena.h"
#include "device_ranges.h"

typedef struct cuda_table {                      /* zeroed, but for `inner`: nothing obtained yet */
    gpuarena_driver inner;                       /* gpuarena_driver_cuda's */
    device_ranges   ranges;
    uint64_t        calls, held_peak_bytes;
} cuda_table;

/* *driver: the counting table, for as long as self is. */
void     cuda_table_fill(cuda_table *self, gpuarena_driver *driver);
/* Gives back what is on the list still, and clears it. How many bytes could not be, *failed: the last such code. */
uint64_t cuda_table_clear(cuda_table *self, int *failed);

#endif
