/* A hash map from 64-bit ids to entries: open addressing, linear probes, doubling.
   Must not know where ids come from, nor report problems.
   Tested by tests/test_workload_text.c. */
#include "id_map.h"

#include <stdlib.h>

enum { ID_MAP_FIRST_CAPACITY = 64 };

/* The finaliser of splitmix64: ids are often dense, or 2 MiB apart. */
static uint64_t id_map_mix(uint64_t id)
{
    id = (id ^ id >> 30) * 0xbf58476d1ce4e5b9u;
    id = (id ^ id >> 27) * 0x94d049bb133111ebu;
    return id ^ id >> 31;
}

/* The id's entry, or the empty one where it belongs; ends, since a quarter of the entries is empty. */
static id_entry *id_map_slot(const id_map *map, uint64_t id)
{
    size_t at = (size_t)id_map_mix(id) & (map->capacity - 1);
    while (map->entries[at].state != ID_UNKNOWN && map->entries[at].id != id) {
        at = (at + 1) & (map->capacity - 1);
    }
    return &map->entries[at];
}

static int id_map_grow(id_map *map)
{
    id_map larger = { NULL, map->capacity ? map->capacity * 2 : ID_MAP_FIRST_CAPACITY, map->count };
    larger.entries = calloc(larger.capacity, sizeof *larger.entries);
    if (!larger.entries) {
        return 0;
    }
    for (size_t i = 0; i < map->capacity; i++) {
        if (map->entries[i].state != ID_UNKNOWN) {
            *id_map_slot(&larger, map->entries[i].id) = map->entries[i];
        }
    }
    free(map->entries);
    *map = larger;
    return 1;
}

id_entry *id_map_find(const id_map *map, uint64_t id)
{
    if (map->count == 0) {
        return NULL;
    }
    id_entry *entry = id_map_slot(map, id);
    return entry->state != ID_UNKNOWN ? entry : NULL;
}

id_entry *id_map_add(id_map *map, uint64_t id)
{
    if (map->count >= map->capacity / 4 * 3 && !id_map_grow(map)) {
        return NULL;
    }
    id_entry *entry = id_map_slot(map, id);
    if (entry->state == ID_UNKNOWN) {
        entry->id = id;
        map->count++;
    }
    return entry;
}

void id_map_free(id_map *map)
{
    id_map empty = { NULL, 0, 0 };
    free(map->entries);
    *map = empty;
}
