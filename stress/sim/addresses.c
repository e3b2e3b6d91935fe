/* Slabs, and ranges of addresses in sets that know the largest gap and hole: every question in O(log ranges). */
#include "addresses.h"

#include <stdlib.h>
#include <string.h>

#include "../base/array.h"

/* ---- Pieces of one slab in a sorted array: at most 8,192 small records, so a scan or a move stays within
        microseconds */

static uint32_t slab_round(uint32_t bytes)                   /* bytes: at most a granule */
{
    return (bytes + SLAB_ALIGNMENT - 1) / SLAB_ALIGNMENT * SLAB_ALIGNMENT;
}

static uint32_t slab_end(const slab *area, uint32_t index)   /* of the piece before index, 0 for the first */
{
    return index == 0 ? 0 : area->pieces[index - 1].offset + slab_round(area->pieces[index - 1].bytes);
}

static uint32_t slab_hole(const slab *area, uint32_t index)  /* free before the piece at index, or the end */
{
    return (index < area->count ? area->pieces[index].offset : (uint32_t)SIM_GRANULE) - slab_end(area, index);
}

uint32_t slab_take(slab *area, uint32_t bytes)
{
    uint32_t index = 0;
    while (index < area->count && slab_hole(area, index) < bytes) index++;
    slab_piece piece = { slab_end(area, index), bytes };
    ARRAY_RESERVE(area->pieces, area->capacity, area->count + 1);
    memmove(area->pieces + index + 1, area->pieces + index, (area->count - index) * sizeof piece);
    area->pieces[index] = piece;
    area->count++;
    return piece.offset;
}

void slab_drop(slab *area, const slab_piece *piece)
{
    uint32_t index = (uint32_t)(piece - area->pieces);
    area->count--;
    memmove(area->pieces + index, area->pieces + index + 1, (area->count - index) * sizeof *piece);
}

slab_piece *slab_at(const slab *area, uint32_t offset)
{
    size_t rank;                                             /* of the first piece that starts after offset */
    ARRAY_RANK(&rank, area->count, i, area->pieces[i].offset <= offset);
    return offset < slab_end(area, (uint32_t)rank) ? &area->pieces[rank - 1] : NULL;
}

uint32_t slab_largest_hole(const slab *area)
{
    uint32_t largest = 0;
    for (uint32_t i = 0; i <= area->count; i++) {
        uint32_t hole = slab_hole(area, i);
        largest = hole > largest ? hole : largest;
    }
    return largest;
}

void slab_destroy(slab *area)
{
    if (area) {
        free(area->pieces);
        free(area);
    }
}

/* ---- Ranges of addresses: one set by offset that knows gaps, and one of those ranges that have a hole */

static void addresses_add(addresses *space, address_range *range, uint64_t gap_bytes)
{
    const treap_node place = { .key = range->offset, .weight = gap_bytes, .owner = range };
    range->place = place;
    treap_add(&space->ranges, &range->place);
}

void addresses_init(addresses *space, uint64_t from, uint64_t space_bytes)
{
    memset(space, 0, sizeof *space);
    space->origin.bytes = from;
    addresses_add(space, &space->origin, space_bytes - from);
}

uint64_t addresses_lowest_gap(const addresses *space, uint64_t bytes)
{
    const address_range *range = treap_heavy(&space->ranges, bytes);
    return range ? range->offset + range->bytes : ADDRESSES_NONE;
}

void addresses_insert(addresses *space, address_range *range)
{
    address_range *below = treap_until(&space->ranges, range->offset);
    uint64_t before_bytes = range->offset - (below->offset + below->bytes);
    addresses_add(space, range, below->place.weight - before_bytes - range->bytes);
    treap_weigh(&space->ranges, &below->place, before_bytes);
}

void addresses_remove(addresses *space, address_range *range)
{
    addresses_set_hole(space, range, 0);
    treap_remove(&space->ranges, &range->place);
    address_range *below = treap_until(&space->ranges, range->offset);
    treap_weigh(&space->ranges, &below->place, below->place.weight + range->bytes + range->place.weight);
}

address_range *addresses_at(const addresses *space, uint64_t offset)
{
    address_range *range = treap_until(&space->ranges, offset);
    return range != &space->origin && offset - range->offset < range->bytes ? range : NULL;
}

address_range *addresses_lowest(const addresses *space)
{
    return treap_from(&space->ranges, 1, 0);     /* the origin is at 0 */
}

void addresses_set_hole(addresses *space, address_range *range, uint64_t bytes)
{
    const treap_node hole = { .key = range->offset, .weight = bytes, .owner = range };
    if (range->hole.weight) treap_remove(&space->holes, &range->hole);
    range->hole = hole;
    if (bytes) treap_add(&space->holes, &range->hole);
}

address_range *addresses_lowest_hole(const addresses *space, uint64_t bytes)
{
    return treap_heavy(&space->holes, bytes);
}
