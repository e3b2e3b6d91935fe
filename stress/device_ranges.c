/* Hash tables without tombstones: what follows a removed slot moves up.
   It must not know what the ranges are for.
   Tested by tests/test_device.c. */
#include "device_ranges.h"

#include <stdlib.h>
#include <string.h>

#define RANGES_GRANULE ((uint64_t)2 << 20)       /* in which CUDA takes physical memory */
enum { RANGES_FIRST_CAPACITY = 64, RANGES_PAGES = 2 };   /* granules that a smaller range reaches into, at most */

static size_t table_home(const device_table *self, uint64_t address)
{
    return (size_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (self->capacity - 1);
}

/* The slot of the address, or the empty one where it belongs; ends, since half of them are empty. */
static device_range *table_slot(const device_table *self, uint64_t address)
{
    size_t at = table_home(self, address);
    while (self->slots[at].bytes && self->slots[at].address != address) at = (at + 1) & (self->capacity - 1);
    return &self->slots[at];
}

static int table_reserve(device_table *self, size_t more)
{
    if (self->count + more <= self->capacity / 2) return 0;
    device_table larger = *self;
    larger.capacity = self->capacity ? self->capacity * 2 : RANGES_FIRST_CAPACITY;
    larger.slots = calloc(larger.capacity, sizeof *larger.slots);
    if (!larger.slots) return -1;
    for (size_t at = 0; at < self->capacity; at++) {
        if (self->slots[at].bytes) *table_slot(&larger, self->slots[at].address) = self->slots[at];
    }
    free(self->slots);
    *self = larger;
    return 0;
}

/* More bytes at an address; its slot, new if it has none, takes them. */
static void table_add(device_table *self, uint64_t address, uint64_t bytes)
{
    device_range *slot = table_slot(self, address);
    self->count += !slot->bytes;
    slot->address = address;
    slot->bytes += bytes;
}

static void table_remove(device_table *self, device_range *removed)
{
    static const device_range empty;
    size_t mask = self->capacity - 1, hole = (size_t)(removed - self->slots);
    self->count--;
    for (size_t at = (hole + 1) & mask; self->slots[at].bytes; at = (at + 1) & mask) {
        size_t home = table_home(self, self->slots[at].address);
        if (((at - home) & mask) < ((at - hole) & mask)) continue;           /* its home lies behind the hole */
        self->slots[hole] = self->slots[at];
        hole = at;
    }
    self->slots[hole] = empty;
}

static uint64_t ranges_round_up(uint64_t bytes)
{
    if (bytes > UINT64_MAX - RANGES_GRANULE) return bytes;
    return (bytes + RANGES_GRANULE - 1) / RANGES_GRANULE * RANGES_GRANULE;
}

/* The granules of a range that is smaller than one. */
static int ranges_pages(const device_range *range, uint64_t pages[RANGES_PAGES])
{
    pages[0] = range->address / RANGES_GRANULE;
    pages[1] = (range->address + (range->bytes - 1)) / RANGES_GRANULE;
    return 1 + (pages[1] != pages[0]);
}

int device_ranges_reserve(device_ranges *self)
{
    return table_reserve(&self->held, 1) || table_reserve(&self->pages, RANGES_PAGES) ? -1 : 0;
}

void device_ranges_add(device_ranges *self, uint64_t address, uint64_t bytes)
{
    const device_range added = { address, bytes };
    uint64_t pages[RANGES_PAGES];
    table_add(&self->held, address, bytes);
    if (bytes >= RANGES_GRANULE) {
        self->block_bytes += ranges_round_up(bytes);
        return;
    }
    for (int page = ranges_pages(&added, pages); page-- > 0;) table_add(&self->pages, pages[page], 1);
}

static void ranges_leave_page(device_ranges *self, uint64_t page)
{
    device_range *slot = table_slot(&self->pages, page);
    if (slot->bytes > 1) slot->bytes--;
    else table_remove(&self->pages, slot);
}

int device_ranges_remove(device_ranges *self, uint64_t address)
{
    uint64_t pages[RANGES_PAGES];
    device_range *slot = self->held.count ? table_slot(&self->held, address) : NULL;
    if (!slot || !slot->bytes) return 0;
    const device_range removed = *slot;
    table_remove(&self->held, slot);
    if (removed.bytes >= RANGES_GRANULE) {
        self->block_bytes -= ranges_round_up(removed.bytes);
        return 1;
    }
    for (int page = ranges_pages(&removed, pages); page-- > 0;) ranges_leave_page(self, pages[page]);
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
    if (!self->held.count) return 0;
    if (ranges_reach(table_slot(&self->held, address), address, bytes)) return 1;
    for (size_t at = 0; at < self->held.capacity; at++) {
        if (ranges_reach(&self->held.slots[at], address, bytes)) return 1;
    }
    return 0;
}

uint64_t device_ranges_bytes(const device_ranges *self)
{
    return self->block_bytes + self->pages.count * RANGES_GRANULE;
}

void device_ranges_clear(device_ranges *self)
{
    free(self->held.slots);
    free(self->pages.slots);
    memset(self, 0, sizeof *self);
}
