/* The shadow model: what must be true of a policy's answers, worked out without any code of the arena.
   It must not drive anything: it is told what was asked and answered. Everything it finds has a name. */
#ifndef STRESS_RUN_ORACLE_H
#define STRESS_RUN_ORACLE_H

#include "../policy/policy.h"

/* ---- Live blocks in order of address: who would an interval overlap? It must not know of arenas or contents */

#define ORACLE_MAP_NONE UINT32_MAX

typedef struct oracle_span {
    treap_node place;                            /* by address */
    uint64_t   bytes;                            /* that it occupies; 0: not in the map */
    uint64_t   requested_bytes;                  /* the oracle's, not the map's */
} oracle_span;

typedef struct oracle_map {
    oracle_span *spans;                          /* by block number */
    treap        by_address;                     /* each block ends at or before the next begins */
} oracle_map;

void oracle_map_init(oracle_map *map, uint32_t block_count);
void oracle_map_clear(oracle_map *map);
/* Both O(log blocks). 1: done; 0: it would overlap *other. bytes > 0, block not in the map. */
int  oracle_map_insert(oracle_map *map, uint32_t block, uint64_t address, uint64_t bytes, uint32_t *other);
void oracle_map_remove(oracle_map *map, uint32_t block);                     /* in the map */

/* ---- What is known of an arena without asking it, against what it and its device say */

typedef struct oracle_sums {
    uint64_t requested_bytes, live_bytes, live_count, alloc_count, free_count;
} oracle_sums;

/* The first that differs, "NAME: expected .., found ..": 1; 0: none does. The limit of the pool may not be passed for
   an instant; the device's books are compared unless it may hold more than it was asked for. */
int oracle_differ(const oracle_sums *known, const pool *of, const gpuarena_stats *stats, char *text, size_t size);

/* off: nothing. sample: overlap, alignment and residence on every op, content of one block in 64, sums on one op
   in 64. full: everything on every op. gpuarena_check walks over all blocks: it comes every ORACLE_CHECK_OPS, or as
   many operations later as blocks are live if these are more, so that an operation's share is constant; and at the
   end. */
typedef enum verify_mode { VERIFY_OFF, VERIFY_SAMPLE, VERIFY_FULL } verify_mode;
enum { ORACLE_SAMPLE = 64, ORACLE_CHECK_OPS = 1024 };

#define ORACLE_NO_BLOCK UINT32_MAX

typedef struct oracle oracle;
/* Of a policy at work: its device holds the contents, and its arena, where there is one, is asked for statistics and
   checked. Blocks of the op stream have numbers below block_count. */
oracle *oracle_create(verify_mode verify, const pool *watched, uint32_t block_count);
void    oracle_destroy(oracle *self);

/* By which number the device knows a block: its contents, and whose its uses are. */
uint64_t oracle_owner(uint32_t block);

/* All below: 0, or -1 at a violation, which then stays (later calls return -1). `op` counts allocations and frees. */
/* It succeeded; the stream is the block's own from now on. */
int oracle_alloc(oracle *self, uint64_t op, uint32_t block, const void *ptr, uint64_t bytes, gpuarena_stream stream);
int oracle_touch(oracle *self, uint64_t op, uint32_t block);               /* content is still what was written */
int oracle_free(oracle *self, uint64_t op, uint32_t block);                /* before the free is made */
/* An allocation was refused for want of memory. Spurious if a free block would have held it. */
int oracle_refusal(oracle *self, uint64_t op, uint32_t block, uint64_t bytes, uint64_t largest_free_bytes);
/* A call returned what no correct policy can. */
int oracle_result(oracle *self, uint64_t op, uint32_t block, const char *call, const char *result);
/* After each op: the arena's statistics, sums, limit, the device's books; on simulated devices the judge. stats NULL:
   the policy was not called since they were last seen. */
int oracle_settle(oracle *self, uint64_t op, const gpuarena_stats *stats);
int oracle_check(oracle *self, uint64_t op);                                 /* gpuarena_check, now */
/* When every block is freed, the arena trimmed and ended: reserved_bytes was its last word. */
int oracle_end(oracle *self, uint64_t op, uint64_t reserved_bytes);

/* "overlap: block 7: expected .., found ..", or NULL. No addresses: the text is the same on every host. */
const char *oracle_violation(const oracle *self);
typedef enum oracle_fault {
    ORACLE_POLICY,
    ORACLE_ORDER,                                /* it is that nothing orders two uses */
    ORACLE_STUCK                                 /* it is no violation: the device failed, and nobody can go on */
} oracle_fault;
oracle_fault oracle_whose(const oracle *self);

#endif
