/* The shadow model: checks a policy's answers without any code of the arena.
   It must not drive anything: it is told each request and its answer. Each kind of violation has a name. */
#ifndef STRESS_RUN_ORACLE_H
#define STRESS_RUN_ORACLE_H

#include "../policy/policy.h"

/* ---- Live blocks in order of address, to find the block that an interval would overlap. It must not know of arenas
        or contents */

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
void oracle_map_remove(oracle_map *map, uint32_t block);                     /* the block is in the map */

/* ---- Sums that are known without asking the arena, against the statistics of the arena and its device */

typedef struct oracle_sums {
    uint64_t requested_bytes, live_bytes, live_count, alloc_count, free_count;
} oracle_sums;

/* Tells whether a sum differs, and describes the first that does: "NAME: expected .., found ..". The pool's limit
   must never have been exceeded, even briefly. The device's books are compared unless the device may hold more than
   it was asked for. */
int oracle_differ(const oracle_sums *known, const pool *of, const gpuarena_stats *stats, char *text, size_t size);

/* off: no checks. sample: overlap, alignment and residence on every op, content of one block in 64, sums on one op
   in 64. full: all checks on every op. gpuarena_check walks over all blocks. It is therefore called every
   ORACLE_CHECK_OPS operations, or after as many operations as blocks are live if these are more, so that its cost for
   each operation is constant; and at the end. */
typedef enum verify_mode { VERIFY_OFF, VERIFY_SAMPLE, VERIFY_FULL } verify_mode;
enum { ORACLE_SAMPLE = 64, ORACLE_CHECK_OPS = 1024 };

#define ORACLE_NO_BLOCK UINT32_MAX

typedef struct oracle oracle;
/* Watches a policy at work. The policy's device holds the contents of blocks; its arena, if there is one, is asked
   for statistics and checked. Blocks of the op stream have numbers below block_count. */
oracle *oracle_create(verify_mode verify, const pool *watched, uint32_t block_count);
void    oracle_destroy(oracle *self);

/* The number by which the device knows a block, for its contents and its uses. */
uint64_t oracle_owner(uint32_t block);

/* All functions below return 0, or -1 at a violation. The first violation stays, and later calls return -1. `op`
   counts allocations and frees. */
/* An allocation succeeded. The stream is the block's own from now on. */
int oracle_alloc(oracle *self, uint64_t op, uint32_t block, const void *ptr, uint64_t bytes, gpuarena_stream stream);
int oracle_touch(oracle *self, uint64_t op, uint32_t block);               /* checks that content is as written */
int oracle_free(oracle *self, uint64_t op, uint32_t block);                /* call before the free is made */
/* An allocation was refused for want of memory. The refusal is spurious if a free block would have held it. */
int oracle_refusal(oracle *self, uint64_t op, uint32_t block, uint64_t bytes, uint64_t largest_free_bytes);
/* A call returned a result that no correct policy returns. */
int oracle_result(oracle *self, uint64_t op, uint32_t block, const char *call, const char *result);
/* Call after each op. Checks the arena's statistics, sums and limit, and the device's books; on simulated devices the
   judge. stats NULL: the policy was not called since the last ones. */
int oracle_settle(oracle *self, uint64_t op, const gpuarena_stats *stats);
int oracle_check(oracle *self, uint64_t op);                                 /* calls gpuarena_check now */
/* Call when every block is freed, and the arena trimmed and destroyed. reserved_bytes is the arena's last figure. */
int oracle_end(oracle *self, uint64_t op, uint64_t reserved_bytes);

/* "overlap: block 7: expected .., found ..", or NULL. No addresses: the text is the same on every host. */
const char *oracle_violation(const oracle *self);
typedef enum oracle_fault {
    ORACLE_POLICY,
    ORACLE_ORDER,                                /* two uses without an order */
    ORACLE_STUCK                                 /* no violation: the device failed, and the pass cannot continue */
} oracle_fault;
oracle_fault oracle_whose(const oracle *self);

#endif
