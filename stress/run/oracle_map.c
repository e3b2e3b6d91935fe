/* A sorted array of block numbers: simple enough to be trusted, and fast at tens of thousands of live blocks.
   It must share no code with the arena that it judges.
   Tested by tests/test_oracle.c. */
#include "oracle_map.h"

#include <stdlib.h>
#include <string.h>

int oracle_map_init(oracle_map *map, uint32_t block_count)
{
    memset(map, 0, sizeof *map);
    map->spans = calloc((size_t)block_count + 1, sizeof *map->spans);        /* + 1: an empty stream is no failure */
    return map->spans ? 0 : -1;
}

void oracle_map_clear(oracle_map *map)
{
    free(map->spans);
    free(map->order);
    memset(map, 0, sizeof *map);
}

/* How many blocks begin below the address. */
static size_t oracle_map_rank(const oracle_map *map, uint64_t address)
{
    size_t low = 0, high = map->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (map->spans[map->order[middle]].address < address) low = middle + 1;
        else high = middle;
    }
    return low;
}

static int oracle_map_grow(oracle_map *map)
{
    if (map->count < map->capacity) return 0;
    size_t capacity = map->capacity ? map->capacity * 2 : 256;
    uint32_t *order = realloc(map->order, capacity * sizeof *order);
    if (!order) return -1;
    map->order = order;
    map->capacity = capacity;
    return 0;
}

int oracle_map_insert(oracle_map *map, uint32_t block, uint64_t address, uint64_t bytes, uint32_t *other)
{
    size_t rank = oracle_map_rank(map, address);
    if (rank) {
        uint32_t below = map->order[rank - 1];
        *other = below;
        if (address - map->spans[below].address < map->spans[below].bytes) return 0;
    }
    if (rank < map->count) {
        uint32_t above = map->order[rank];
        *other = above;
        if (map->spans[above].address - address < bytes) return 0;
    }
    if (oracle_map_grow(map)) return -1;
    memmove(map->order + rank + 1, map->order + rank, (map->count - rank) * sizeof *map->order);
    map->order[rank] = block;
    map->count++;
    map->spans[block].address = address;
    map->spans[block].bytes = bytes;
    return 1;
}

void oracle_map_remove(oracle_map *map, uint32_t block)
{
    size_t rank = oracle_map_rank(map, map->spans[block].address);
    map->count--;
    memmove(map->order + rank, map->order + rank + 1, (map->count - rank) * sizeof *map->order);
    map->spans[block].bytes = 0;
}
