/* gpuarena's own CUDA table, with every call on memory counted, plain or virtual, and all that it holds on lists, so
   that nothing of it stays on somebody's GPU. The other groups are handed through.
   It must not know of contents, streams in use, policies or workloads. Without CUDA there is none.
   Tested by tests/test_device*.c on the libcudart substitute, by tests/gpu.t on a GPU. */
#ifndef STRESS_DEVICE_CUDA_TABLE_H
#define STRESS_DEVICE_CUDA_TABLE_H

#include "../../gpuarena.h"
#include "pages.h"
#include "ranges.h"
#include "../sim/base.h"

enum { CUDA_TABLE_KINDS = GPUARENA_MEMORY_ASYNC + 1 };

typedef struct cuda_table {                      /* zeroed, but for `inner`: nothing obtained yet */
    gpuarena_driver inner;                       /* gpuarena_driver_cuda's */
    device_ranges   ranges[CUDA_TABLE_KINDS];    /* of each kind of memory */
    device_pages    pages;                       /* where `inner` has the group vm */
    uint64_t        calls, held_peak_bytes;
    sim_watch_fn   *watch;                       /* told what comes and goes; NULL: nobody */
    void           *watch_user;
} cuda_table;

/* *driver: the counting table, for as long as self is. */
void     cuda_table_fill(cuda_table *self, gpuarena_driver *driver);
/* Memory that is held, at least (device_ranges.h), pinned and managed too; and whether the bytes lie in it. */
uint64_t cuda_table_held_bytes(const cuda_table *self);
int      cuda_table_holds(const cuda_table *self, const void *ptr, uint64_t bytes);
/* Gives back what is on the lists still, and clears them. How many bytes could not, *failed: the last such code. */
uint64_t cuda_table_clear(cuda_table *self, int *failed);

#endif
