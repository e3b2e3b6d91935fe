/* Which physical granule lies behind which granule of one device's addresses: a table in two levels.
   It must not know of blocks, contents or calls: whatever maps addresses writes here, whatever touches memory reads.
   Tested by tests/test_sim_parts.c. */
#ifndef STRESS_SIM_MAPPING_H
#define STRESS_SIM_MAPPING_H

#include "base.h"

#define MAPPING_SPACE ((uint64_t)1 << 47)        /* of addresses: half of what 48 bits have, as programs have them */
#define MAPPING_NONE  UINT32_MAX                 /* nothing is mapped there */

enum { MAPPING_LEAF_SLOTS = 2048 };

typedef struct mapping {                         /* zeroed: nothing mapped */
    uint32_t **leaves;                           /* NULL: nothing was ever mapped there */
    size_t     leaf_count;
} mapping;

/* Offsets are those of granules, or inside them, below the space's end. reserve: the next sets of [offset, offset +
   bytes) cannot fail; -1: no host memory. O(granules). */
int      mapping_reserve(mapping *map, uint64_t offset, uint64_t bytes);
void     mapping_set(mapping *map, uint64_t offset, uint32_t number);        /* reserved before; or MAPPING_NONE */
uint32_t mapping_get(const mapping *map, uint64_t offset);
void     mapping_destroy(mapping *map);

#endif
