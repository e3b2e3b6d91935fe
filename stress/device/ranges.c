/* Ranges by address, and how many small ones lie in each granule.
   It must not know what the ranges are for.
   Tested by tests/test_device.c. */
#include "ranges.h"

#define RANGES_GRANULE ((uint64_t)2 << 20)       /* in which CUDA takes physical memory */
enum { RANGES_PAGES = 2 };                       /* granules that a smaller range reaches into, at most */

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
    return device_table_reserve(&self->held, 1) || device_table_reserve(&self->pages, RANGES_PAGES) ? -1 : 0;
}

void device_ranges_add(device_ranges *self, uint64_t address, uint64_t bytes)
{
    const device_range added = { address, bytes };
    uint64_t pages[RANGES_PAGES];
    device_table_add(&self->held, address, bytes);
    if (bytes >= RANGES_GRANULE) {
        self->block_bytes += ranges_round_up(bytes);
        return;
    }
    for (int page = ranges_pages(&added, pages); page-- > 0;) device_table_add(&self->pages, pages[page], 1);
}

static void ranges_leave_page(device_ranges *self, uint64_t page)
{
    device_range *slot = device_table_slot(&self->pages, page);
    if (slot->bytes > 1) slot->bytes--;
    else device_table_remove(&self->pages, slot);
}

int device_ranges_remove(device_ranges *self, uint64_t address)
{
    uint64_t pages[RANGES_PAGES];
    device_range *slot = self->held.count ? device_table_slot(&self->held, address) : NULL;
    if (!slot || !slot->bytes) return 0;
    const device_range removed = *slot;
    device_table_remove(&self->held, slot);
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
    if (ranges_reach(device_table_slot(&self->held, address), address, bytes)) return 1;
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
    device_table_clear(&self->held);
    device_table_clear(&self->pages);
    self->block_bytes = 0;
}
