/* Memory pools of the driver, as cudaMallocAsync has them: chunks of the device's memory, blocks in them, and what is
   kept. Who may have which block, and when, says memory.h.
   It must not count calls or know of faults. */
#ifndef STRESS_SIM_MEMPOOL_H
#define STRESS_SIM_MEMPOOL_H

#include "engine.h"

typedef struct mempool_chunk mempool_chunk;
typedef struct mempool_block mempool_block;
typedef struct mempool {
    struct mempool *next;                       /* of the device */
    mempool_chunk *chunks;
    mempool_block *free;
    uint64_t serial;                             /* of the latest block handed out */
    uint64_t threshold_bytes, most_bytes;        /* most: 0: all the device has */
    uint64_t reserved_bytes, reserved_peak_bytes, used_bytes, used_peak_bytes;
    int      follow, opportunistic, internal;    /* all 1 at first */
    int      is_closed;                          /* goes when it holds no more */
} mempool;

struct mempool_chunk {                           /* an obtain, which blocks tile */
    mempool   *pool;
    mempool_chunk *before, *after;
    uint64_t    offset, bytes;
    mempool_block *first;
};

struct mempool_block {
    mempool_chunk *chunk;
    mempool_block *before, *after;               /* by address */
    mempool_block *free_before, *free_after;
    uint64_t    offset, bytes, requested_bytes, serial;
    int         is_live, is_quiet;               /* quiet: free, and outlived by the host */
    uint64_t    stream, position;                /* free: who freed it, and at which of its commands */
    uint32_t    line;
    stream_mark freed;
};

mempool *mempool_of(sim_device *device);           /* the device's own, made if need be; NULL: no host memory */
mempool *mempool_create(sim_device *device);       /* NULL: no host memory */
void      mempool_close(sim_device *device, mempool *self);
void      mempools_destroy(sim_device *device);

/* Blocks:
     find  the one that the offset lies in; NULL: it is no pool's
     grow  a free one, long enough, in a new chunk; NULL and a code
     take  makes a free one live, or its first `whole` bytes, of which `bytes` were asked for
     free  makes a live one free, joined with its neighbours where that is allowed */
mempool_block *mempool_find(const sim_device *device, uint64_t offset);
mempool_block *mempool_grow(sim_device *device, mempool *self, uint64_t bytes, int *code);
void           mempool_take(mempool *self, mempool_block *block, uint64_t whole, uint64_t bytes);
void           mempool_free(mempool_block *block);

/* Chunks that are all free go back, down to so many bytes. */
void mempool_trim(sim_device *device, mempool *self, uint64_t keep_bytes);
void mempools_settle(sim_device *device);           /* the host has waited */

void mempools_count(const sim_device *device, sim_counters *counters);

#endif
