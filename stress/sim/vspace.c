/* Reservations in a treap; mappings as records, found from the granule of addresses that they lie at. */
#include "vspace.h"

#include <stdlib.h>
#include <string.h>

#include "../base/array.h"

void vspace_init(vspace *space, uint64_t from_offset, uint64_t end_offset)
{
    memset(space, 0, sizeof *space);
    addresses_init(&space->reserved, from_offset, end_offset);
    space->from_offset = space->high_offset = from_offset;
}

void vspace_destroy(vspace *space)
{
    address_range *range;
    while ((range = addresses_lowest(&space->reserved)) != NULL) {
        vspace_release(space, range);
    }
    mapping_destroy(&space->slots);
    free(space->mappings);
    free(space->idle);
}

vspace_result vspace_reserve(vspace *space, uint64_t bytes, uint64_t alignment, uint64_t base, uint64_t *offset)
{
    uint64_t spare = alignment > SIM_GRANULE ? alignment - SIM_GRANULE : 0;
    if (bytes > MAPPING_SPACE || spare > MAPPING_SPACE) return VSPACE_FULL;
    uint64_t gap = addresses_lowest_gap(&space->reserved, bytes + spare);
    if (gap == ADDRESSES_NONE) return VSPACE_FULL;
    address_range *range = calloc(1, sizeof *range);
    if (!range) return VSPACE_HOST_MEMORY;
    uint64_t past = spare > 0 ? (base + gap) % alignment : 0;
    range->offset = gap + (past > 0 ? alignment - past : 0);
    range->bytes = bytes;
    addresses_insert(&space->reserved, range);
    space->reserved_bytes += bytes;
    if (range->offset + bytes > space->high_offset) {
        space->high_offset = range->offset + bytes;
    }
    *offset = range->offset;
    return VSPACE_OK;
}

address_range *vspace_reservation(const vspace *space, uint64_t offset)
{
    return addresses_at(&space->reserved, offset);
}

void vspace_release(vspace *space, address_range *reservation)
{
    space->reserved_bytes -= reservation->bytes;
    addresses_remove(&space->reserved, reservation);
    free(reservation);
}

static int vspace_reserve_record(vspace *space)
{
    if (space->idle_count > 0) return 0;
    if (space->count == MAPPING_NONE - 1) return -1;
    return ARRAY_RESERVE_BOTH(space->mappings, space->idle, space->capacity, space->count + 1);
}

static void vspace_set_slots(vspace *space, const vspace_mapping *mapped, uint32_t number)
{
    uint64_t start = mapped->offset - space->from_offset;
    for (uint64_t at = start; at < start + mapped->page->bytes; at += SIM_GRANULE) {
        mapping_set(&space->slots, at, number);
    }
}

int vspace_map(vspace *space, address_range *reservation, uint64_t offset, vspace_page *page, uint64_t serial)
{
    if (vspace_reserve_record(space) || mapping_reserve(&space->slots, offset - space->from_offset, page->bytes)) {
        return -1;
    }
    uint32_t number = space->idle_count > 0 ? space->idle[--space->idle_count] : space->count++;
    const vspace_mapping made = { offset, serial, page, reservation, 0 };
    space->mappings[number] = made;
    vspace_set_slots(space, &made, number);
    page->mapping_count++;
    reservation->mapping_count++;
    return 0;
}

void vspace_unmap(vspace *space, vspace_mapping *mapped)
{
    vspace_set_slots(space, mapped, MAPPING_NONE);
    mapped->page->mapping_count--;
    mapped->reservation->mapping_count--;
    mapped->page = NULL;
    space->idle[space->idle_count++] = (uint32_t)(mapped - space->mappings);
}

vspace_mapping *vspace_at(const vspace *space, uint64_t offset)
{
    uint32_t number = offset < space->from_offset ? MAPPING_NONE
                                                  : mapping_get(&space->slots, offset - space->from_offset);
    return number == MAPPING_NONE ? NULL : &space->mappings[number];
}

uint32_t vspace_mapping_count(const vspace *space)
{
    return space->count - space->idle_count;
}

int vspace_reaches(const vspace *space, uint64_t offset, uint64_t bytes, int device)
{
    const address_range *range = vspace_reservation(space, offset);
    if (!range || bytes > range->bytes - (offset - range->offset)) return 0;
    for (uint64_t at = offset; at < offset + bytes;) {
        const vspace_mapping *mapped = vspace_at(space, at);
        if (!mapped || !(mapped->accessors >> device & 1)) return 0;
        at = mapped->offset + mapped->page->bytes;
    }
    return 1;
}
