#include "hash.h"

#include <stdlib.h>
#include <string.h>

/* ---- FNV-1a over the eight bytes of a word */

uint64_t digest_word(uint64_t digest, uint64_t word)
{
    for (unsigned shift = 0; shift < 64; shift += 8) {
        digest ^= (word >> shift) & 0xff;
        digest *= UINT64_C(0x100000001b3);
    }
    return digest;
}

/* ---- A hash map from 64-bit ids to entries: open addressing, linear probes, doubling */

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
    if (!larger.entries) return 0;
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
    if (map->count == 0) return NULL;
    id_entry *entry = id_map_slot(map, id);
    return entry->state != ID_UNKNOWN ? entry : NULL;
}

id_entry *id_map_add(id_map *map, uint64_t id)
{
    if (map->count >= map->capacity / 4 * 3 && !id_map_grow(map)) return NULL;
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

/* ---- Hash tables without tombstones: what follows a removed slot moves up */

enum { DEVICE_TABLE_FIRST = 64 };                /* slots */

static size_t device_table_home(const device_table *self, uint64_t address)
{
    return (size_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (self->capacity - 1);
}

/* Ends, since half of the slots are empty. */
device_range *device_table_slot(const device_table *self, uint64_t address)
{
    size_t at = device_table_home(self, address);
    while (self->slots[at].bytes && self->slots[at].address != address) at = (at + 1) & (self->capacity - 1);
    return &self->slots[at];
}

int device_table_reserve(device_table *self, size_t more)
{
    if (self->count + more <= self->capacity / 2) return 0;
    device_table larger = *self;
    larger.capacity = self->capacity ? self->capacity * 2 : DEVICE_TABLE_FIRST;
    larger.slots = calloc(larger.capacity, sizeof *larger.slots);
    if (!larger.slots) return -1;
    for (size_t at = 0; at < self->capacity; at++) {
        if (self->slots[at].bytes) *device_table_slot(&larger, self->slots[at].address) = self->slots[at];
    }
    free(self->slots);
    *self = larger;
    return 0;
}

void device_table_add(device_table *self, uint64_t address, uint64_t bytes)
{
    device_range *slot = device_table_slot(self, address);
    self->count += !slot->bytes;
    slot->address = address;
    slot->bytes += bytes;
}

void device_table_remove(device_table *self, device_range *removed)
{
    static const device_range empty;
    size_t mask = self->capacity - 1, hole = (size_t)(removed - self->slots);
    self->count--;
    for (size_t at = (hole + 1) & mask; self->slots[at].bytes; at = (at + 1) & mask) {
        size_t home = device_table_home(self, self->slots[at].address);
        if (((at - home) & mask) < ((at - hole) & mask)) continue;           /* its home lies behind the hole */
        self->slots[hole] = self->slots[at];
        hole = at;
    }
    self->slots[hole] = empty;
}

uint64_t device_table_find(const device_table *self, uint64_t address)
{
    return self->count ? device_table_slot(self, address)->bytes : 0;
}

void device_table_clear(device_table *self)
{
    free(self->slots);
    memset(self, 0, sizeof *self);
}
