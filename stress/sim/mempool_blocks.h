/* Inside a memory pool: its blocks, for the two files that work on them.
   It must not be included by others than mempool.c and mempool_serve.c.
   Tested by tests/test_sim_mempool.c. */
#ifndef STRESS_SIM_MEMPOOL_BLOCKS_H
#define STRESS_SIM_MEMPOOL_BLOCKS_H

#include "mempool.h"

typedef struct mempool_block {
    mempool_chunk *chunk;
    struct mempool_block *before, *after;           /* by address */
    struct mempool_block *free_before, *free_after;
    uint64_t    offset, bytes, requested_bytes, serial;
    int         is_live, is_quiet;               /* quiet: free, and outlived by the host */
    uint64_t    stream, position;                /* free: who freed it, and at which of its commands */
    uint32_t    line;
    stream_mark freed;
} mempool_block;

struct mempool_chunk {
    mempool   *pool;
    mempool_chunk *before, *after;
    uint64_t    offset, bytes;
    mempool_block *first;
};

void mempool_list(mempool_block *block);         /* among the free ones of its pool */
void mempool_unlist(mempool_block *block);
void mempool_split(mempool_block *block, uint64_t bytes);    /* the rest apart; without host memory it stays */
int  mempool_join(mempool_block *block);         /* 1: with the one behind it, unless two streams freed them */
mempool_block *mempool_find(const sim_device *device, uint64_t offset);      /* NULL: it lies in none */
/* A free block, so long at least, of a new chunk; NULL and a code. */
mempool_block *mempool_grow(sim_device *device, mempool *self, uint64_t bytes, int *code);

#endif
