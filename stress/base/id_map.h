/* A hash map from 64-bit ids to what became of them. Ids are never removed: a freed id keeps its entry, so that a
   second free can be told from an unknown id. It must not know where ids come from.
   Tested by tests/test_workload_text.c. */
#ifndef STRESS_BASE_ID_MAP_H
#define STRESS_BASE_ID_MAP_H

#include <stddef.h>
#include <stdint.h>

typedef enum id_state { ID_UNKNOWN, ID_LIVE, ID_FREED } id_state;

typedef struct id_entry {
    uint64_t id;
    uint64_t line;                               /* of its last allocation or free */
    uint32_t value;                              /* the block */
    id_state state;                              /* ID_UNKNOWN: the entry is empty */
} id_entry;

/* Zeroed is empty. Open addressing, linear probes; count <= 3/4 of capacity, which is 0 or a power of two. */
typedef struct id_map { id_entry *entries; size_t capacity, count; } id_map;

/* The id's entry, or NULL: never added. */
id_entry *id_map_find(const id_map *map, uint64_t id);

/* The id's entry, good until the next add. A new one is ID_UNKNOWN: the caller must set its state before the next
   call. NULL: no host memory, map unchanged. */
id_entry *id_map_add(id_map *map, uint64_t id);

void id_map_free(id_map *map);

#endif
