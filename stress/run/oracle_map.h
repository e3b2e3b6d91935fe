/* Live blocks in order of address: who would an interval overlap?
   It must not know of arenas or contents. Insert and remove are a binary search and a move of 4 bytes a live block.
   Tested by tests/test_oracle.c. */
#ifndef STRESS_RUN_ORACLE_MAP_H
#define STRESS_RUN_ORACLE_MAP_H

#include <stddef.h>
#include <stdint.h>

#define ORACLE_MAP_NONE UINT32_MAX

typedef struct oracle_span {                     /* by block number; bytes 0: not in the map */
    uint64_t address, bytes;
} oracle_span;

typedef struct oracle_map {
    oracle_span *spans;                          /* by block number */
    uint32_t    *order;                          /* blocks by address: each ends at or before the next begins */
    size_t       count, capacity;
} oracle_map;

int  oracle_map_init(oracle_map *map, uint32_t block_count);                 /* -1: no host memory */
void oracle_map_clear(oracle_map *map);
/* 1: done; 0: it would overlap *other, nothing is changed; -1: no host memory. bytes > 0, block not in the map. */
int  oracle_map_insert(oracle_map *map, uint32_t block, uint64_t address, uint64_t bytes, uint32_t *other);
void oracle_map_remove(oracle_map *map, uint32_t block);                     /* in the map */

#endif
