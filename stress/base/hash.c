#include "hash.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "program.h"
#include "splitmix64.h"

/* ---- FNV-1a over the eight bytes of a word */

#define DIGEST_PRIME   UINT64_C(0x100000001b3)
#define DIGEST_PRIME_8 UINT64_C(0x1efac7090aef4a21)          /* its eighth power: most words are one byte and zeros */

uint64_t digest_word(uint64_t digest, uint64_t word)
{
    if (word <= 0xff) return (digest ^ word) * DIGEST_PRIME_8;
    for (unsigned shift = 0; shift < 64; shift += 8) digest = (digest ^ (word >> shift & 0xff)) * DIGEST_PRIME;
    return digest;
}

/* ---- Hash tables without tombstones: what follows a removed slot moves up */

enum { DEVICE_TABLE_FIRST = 64 };                /* slots */

/* Mixed, as numbers are often dense, or 2 MiB apart. */
static size_t device_table_home(const device_table *self, uint64_t address)
{
    return (size_t)splitmix64_mix(address) & (self->capacity - 1);
}

/* The address's, or the empty one where it belongs: half of the slots are empty. */
static device_range *device_table_slot(const device_table *self, uint64_t address)
{
    size_t at = device_table_home(self, address);
    while (self->slots[at].bytes && self->slots[at].address != address) at = (at + 1) & (self->capacity - 1);
    return &self->slots[at];
}

static void device_table_grow(device_table *self)
{
    device_table larger = *self;
    larger.capacity = self->capacity ? self->capacity * 2 : DEVICE_TABLE_FIRST;
    larger.slots = program_need(larger.capacity, sizeof *larger.slots);
    for (size_t at = 0; at < self->capacity; at++) {
        if (self->slots[at].bytes) *device_table_slot(&larger, self->slots[at].address) = self->slots[at];
    }
    free(self->slots);
    *self = larger;
}

void device_table_add(device_table *self, uint64_t address, uint64_t bytes)
{
    if (self->count + 1 > self->capacity / 2) device_table_grow(self);
    device_range *slot = device_table_slot(self, address);
    self->count += !slot->bytes;
    slot->address = address;
    slot->bytes += bytes;
}

uint64_t device_table_find(const device_table *self, uint64_t address)
{
    return self->count ? device_table_slot(self, address)->bytes : 0;
}

uint64_t device_table_take(device_table *self, uint64_t address)
{
    uint64_t bytes = device_table_find(self, address);
    if (!bytes) return 0;
    size_t mask = self->capacity - 1, hole = (size_t)(device_table_slot(self, address) - self->slots);
    self->count--;
    for (size_t at = (hole + 1) & mask; self->slots[at].bytes; at = (at + 1) & mask) {
        size_t home = device_table_home(self, self->slots[at].address);
        if (((at - home) & mask) < ((at - hole) & mask)) continue;           /* its home lies behind the hole */
        self->slots[hole] = self->slots[at];
        hole = at;
    }
    self->slots[hole] = (device_range){ 0, 0 };
    return bytes;
}

void device_table_clear(device_table *self)
{
    free(self->slots);
    memset(self, 0, sizeof *self);
}

/* ---- Entries in the order in which they came */

id_entry *id_map_find(const id_map *map, uint64_t id)
{
    uint64_t number = device_table_find(&map->index, id);
    return number ? &map->entries[number - 1] : NULL;
}

id_entry *id_map_add(id_map *map, uint64_t id)
{
    id_entry *found = id_map_find(map, id);
    if (found) return found;
    ARRAY_RESERVE(map->entries, map->capacity, map->count + 1);
    found = &map->entries[map->count++];
    *found = (id_entry){ .id = id };
    device_table_add(&map->index, id, map->count);
    return found;
}

void id_map_free(id_map *map)
{
    free(map->entries);
    device_table_clear(&map->index);
    memset(map, 0, sizeof *map);
}
