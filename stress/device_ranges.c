/* A hash table without tombstones: what follows a removed range moves up.
   It must not know what the ranges are for.
   Tested by tests/test_device.c. */
#include "device_ranges.h"

#include <stdlib.h>
#include <string.h>

#define RANGES_GRANULE ((uint64_t)2 << 20)       /* in which CUDA takes physical memory */
#define RANGES_PIECE   ((uint64_t)256)           /* cudaMalloc's alignment */
enum { RANGES_FIRST_CAPACITY = 64 };

static uint64_t ranges_round_up(uint64_t bytes, uint64_t unit)
{
    return bytes > UINT64_MAX - unit ? bytes : (bytes + unit - 1) / unit * unit;
}

static size_t ranges_home(const device_ranges *self, uint64_t address)
{
    return (size_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (self->capacity - 1);
}

/* The slot of the address, or the empty one where it belongs; ends, since half of them are empty. */
static size_t ranges_slot(const device_ranges *self, uint64_t address)
{
    size_t at = ranges_home(self, address);
    while (self->slots[at].bytes && self->slots[at].address != address) at = (at + 1) & (self->capacity - 1);
    return at;
}

static uint64_t *ranges_share(device_ranges *self, uint64_t bytes, uint64_t *rounded)
{
    int is_piece = bytes < RANGES_GRANULE;
    *rounded = ranges_round_up(bytes, is_piece ? RANGES_PIECE : RANGES_GRANULE);
    return is_piece ? &self->piece_bytes : &self->block_bytes;
}

int device_ranges_reserve(device_ranges *self)
{
    if (self->count < self->capacity / 2) return 0;
    device_ranges larger = *self;
    larger.capacity = self->capacity ? self->capacity * 2 : RANGES_FIRST_CAPACITY;
    larger.slots = calloc(larger.capacity, sizeof *larger.slots);
    if (!larger.slots) return -1;
    for (size_t at = 0; at < self->capacity; at++) {
        if (self->slots[at].bytes) larger.slots[ranges_slot(&larger, self->slots[at].address)] = self->slots[at];
    }
    free(self->slots);
    *self = larger;
    return 0;
}

void device_ranges_add(device_ranges *self, uint64_t address, uint64_t bytes)
{
    const device_range added = { address, bytes };
    uint64_t rounded, *share = ranges_share(self, bytes, &rounded);
    self->slots[ranges_slot(self, address)] = added;
    self->count++;
    *share += rounded;
}

int device_ranges_remove(device_ranges *self, uint64_t address)
{
    static const device_range empty;
    if (!self->count) return 0;
    size_t mask = self->capacity - 1, hole = ranges_slot(self, address);
    if (!self->slots[hole].bytes) return 0;
    uint64_t rounded, *share = ranges_share(self, self->slots[hole].bytes, &rounded);
    *share -= rounded;
    self->count--;
    for (size_t at = (hole + 1) & mask; self->slots[at].bytes; at = (at + 1) & mask) {
        size_t home = ranges_home(self, self->slots[at].address);
        if (((at - home) & mask) < ((at - hole) & mask)) continue;           /* its home lies behind the hole */
        self->slots[hole] = self->slots[at];
        hole = at;
    }
    self->slots[hole] = empty;
    return 1;
}

static int ranges_reach(const device_range *range, uint64_t address, uint64_t bytes)
{
    uint64_t inside = address - range->address;
    return address >= range->address && inside < range->bytes && bytes <= range->bytes - inside;
}

int device_ranges_hold(const device_ranges *self, uint64_t address, uint64_t bytes)
{
    if (!bytes) return 1;
    if (!self->count) return 0;
    if (ranges_reach(&self->slots[ranges_slot(self, address)], address, bytes)) return 1;
    for (size_t at = 0; at < self->capacity; at++) {
        if (ranges_reach(&self->slots[at], address, bytes)) return 1;
    }
    return 0;
}

uint64_t device_ranges_bytes(const device_ranges *self)
{
    return self->block_bytes + ranges_round_up(self->piece_bytes, RANGES_GRANULE);
}

void device_ranges_clear(device_ranges *self)
{
    free(self->slots);
    memset(self, 0, sizeof *self);
}
