/* Pinned memory of the host: which blocks cudaHostAlloc and cudaMallocHost gave, and on behalf of which device.
   Managed memory, which cudaMallocManaged gave, is of the same sort here.
   It must not know of calls. One thread at a time. */
#ifndef STRESS_CUDART_HOST_H
#define STRESS_CUDART_HOST_H

#include "../sim/engine.h"

typedef struct host_block {
    void       *ptr;
    uint64_t    bytes;
    uint64_t    machine;                         /* its runtime_serial: it may be gone */
    int         ordinal;
    int         is_managed;
} host_block;

void *host_obtain(const sim_device *owner, uint64_t bytes, int is_managed);      /* whole pages; NULL: no memory */
int   host_give_back(void *ptr, int is_managed, uint64_t *bytes);    /* 1, or 0: no such block's base that is held */
void  host_reset(const sim_device *owner);                       /* gives back what this device's calls obtained */
const host_block *host_find(const void *ptr);                    /* that ptr lies in; NULL: none */

#endif
