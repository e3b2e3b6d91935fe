/* Memory pools of the driver, as cudaMallocAsync has them: memory of the device that is handed out and taken back in
   the order of streams, and kept in between.
   It must not count calls or know of faults. */
#ifndef STRESS_SIM_MEMPOOL_H
#define STRESS_SIM_MEMPOOL_H

#include "engine.h"

typedef struct mempool_chunk mempool_chunk;
struct mempool_block;
typedef struct mempool {
    struct mempool *next;                       /* of the device */
    mempool_chunk *chunks;
    struct mempool_block *free;
    uint64_t serial;                             /* of the latest block handed out */
    uint64_t threshold_bytes, most_bytes;        /* most: 0: all the device has */
    uint64_t reserved_bytes, reserved_peak_bytes, used_bytes, used_peak_bytes;
    int      follow, opportunistic, internal;    /* all 1 at first */
    int      is_closed;                          /* goes when it holds no more */
} mempool;

mempool *mempool_of(sim_device *device);           /* the device's own, made if need be; NULL: no host memory */
mempool *mempool_create(sim_device *device);       /* NULL: no host memory */
void      mempool_close(sim_device *device, mempool *self);
void      mempools_destroy(sim_device *device);

/* Codes, and what the call costs. handle: of the stream; while it is captured: SIM_NOT_SUPPORTED, as what graphs hold
   of their own is not simulated. action: the call's name, for findings. Taking back: the stream must come after all
   uses of the block, and what uses it after handing out, else it is a finding. bytes of mempool_take_back: as asked
   for, or MEMORY_ANY_BYTES. */
int mempool_hand_out(sim_device *device, mempool *self, const void *handle, void **ptr, uint64_t bytes,
                  const char *action, uint64_t *cost_ns);
int mempool_take_back(sim_device *device, const void *handle, uint64_t address, uint64_t bytes, const char *action,
                   uint64_t *cost_ns);
int mempool_take_now(sim_device *device, uint64_t address);     /* cudaFree, when the device was waited for */

/* Chunks back, as above, down to so many bytes. */
void mempool_trim(sim_device *device, mempool *self, uint64_t keep_bytes);
void mempools_settle(sim_device *device);           /* the host has waited */

/* 1: the range lies in no pool's memory, or within one block that is handed out. */
int  mempools_hold(const sim_device *device, uint64_t offset, uint64_t bytes);
void mempools_count(const sim_device *device, sim_counters *counters);

#endif
