/* The two-level table from addresses to granules; leaves of 4 GiB are made when first needed and stay.
   Must not know of blocks, contents or calls.
   Tested by tests/test_sim_parts.c. */
#include "mapping.h"

#include <stdlib.h>
#include <string.h>

#define MAPPING_LEAF_BYTES (MAPPING_LEAF_SLOTS * SIM_GRANULE)

static size_t mapping_leaf(uint64_t offset)
{
    return (size_t)(offset / MAPPING_LEAF_BYTES);
}

static size_t mapping_slot(uint64_t offset)
{
    return (size_t)(offset % MAPPING_LEAF_BYTES / SIM_GRANULE);
}

static int mapping_reserve_leaves(mapping *map, size_t leaf_count)
{
    if (leaf_count <= map->leaf_count) {
        return 0;
    }
    size_t count = leaf_count > map->leaf_count * 2 ? leaf_count : map->leaf_count * 2;
    uint32_t **leaves = realloc(map->leaves, count * sizeof *leaves);
    if (!leaves) {
        return -1;
    }
    for (size_t i = map->leaf_count; i < count; i++) {
        leaves[i] = NULL;
    }
    map->leaves = leaves;
    map->leaf_count = count;
    return 0;
}

int mapping_reserve(mapping *map, uint64_t offset, uint64_t bytes)
{
    if (mapping_reserve_leaves(map, mapping_leaf(offset + bytes - 1) + 1)) {
        return -1;
    }
    for (size_t i = mapping_leaf(offset); i <= mapping_leaf(offset + bytes - 1); i++) {
        if (map->leaves[i]) {
            continue;
        }
        map->leaves[i] = malloc(MAPPING_LEAF_SLOTS * sizeof *map->leaves[i]);
        if (!map->leaves[i]) {
            return -1;
        }
        memset(map->leaves[i], 0xFF, MAPPING_LEAF_SLOTS * sizeof *map->leaves[i]);     /* MAPPING_NONE everywhere */
    }
    return 0;
}

void mapping_set(mapping *map, uint64_t offset, uint32_t number)
{
    map->leaves[mapping_leaf(offset)][mapping_slot(offset)] = number;
}

uint32_t mapping_get(const mapping *map, uint64_t offset)
{
    const uint32_t *leaf = mapping_leaf(offset) < map->leaf_count ? map->leaves[mapping_leaf(offset)] : NULL;
    return leaf ? leaf[mapping_slot(offset)] : MAPPING_NONE;
}

void mapping_destroy(mapping *map)
{
    for (size_t i = 0; i < map->leaf_count; i++) {
        free(map->leaves[i]);
    }
    free(map->leaves);
    memset(map, 0, sizeof *map);
}
