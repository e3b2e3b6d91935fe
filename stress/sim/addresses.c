/* Ranges of addresses in a treap that knows its largest gap and hole: every question in O(log ranges). */
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

int slab_reserve(slab *area)
{
    return ARRAY_RESERVE(area->pieces, area->capacity, area->count + 1);
}

uint32_t slab_take(slab *area, uint32_t bytes)
{
    uint32_t index = 0;
    while (index < area->count && slab_hole(area, index) < bytes) index++;
    slab_piece piece = { slab_end(area, index), bytes };
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
    uint32_t low = 0, high = area->count;                    /* the first piece that starts after offset */
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (area->pieces[middle].offset <= offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return offset < slab_end(area, low) ? &area->pieces[low - 1] : NULL;
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

slab *slab_create(void)
{
    slab *made = calloc(1, sizeof *made);
    if (made && slab_reserve(made)) {
        free(made);
        made = NULL;
    }
    return made;
}

/* ---- Ranges of addresses in a treap that knows its largest gap and hole: every question in O(log ranges) */

static uint64_t addresses_hash(uint64_t value)               /* splitmix64 */
{
    value += 0x9E3779B97F4A7C15u;
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9u;
    value = (value ^ value >> 27) * 0x94D049BB133111EBu;
    return value ^ value >> 31;
}

static uint64_t addresses_max(uint64_t left, uint64_t right)
{
    return left > right ? left : right;
}

static void addresses_refresh(address_range *range)
{
    range->gap_max_bytes = range->gap_bytes;
    range->hole_max_bytes = range->hole_bytes;
    const address_range *children[2] = { range->lower, range->upper };
    for (int i = 0; i < 2; i++) {
        if (children[i]) {
            range->gap_max_bytes = addresses_max(range->gap_max_bytes, children[i]->gap_max_bytes);
            range->hole_max_bytes = addresses_max(range->hole_max_bytes, children[i]->hole_max_bytes);
        }
    }
}

static void addresses_split(address_range *root, uint64_t offset, address_range **below, address_range **rest)
{
    if (!root) {
        *below = *rest = NULL;
        return;
    }
    if (root->offset < offset) {
        addresses_split(root->upper, offset, &root->upper, rest);
        *below = root;
    } else {
        addresses_split(root->lower, offset, below, &root->lower);
        *rest = root;
    }
    addresses_refresh(root);
}

static address_range *addresses_merge(address_range *below, address_range *above)
{
    if (!below || !above) return below ? below : above;
    if (below->rank > above->rank) {
        below->upper = addresses_merge(below->upper, above);
        addresses_refresh(below);
        return below;
    }
    above->lower = addresses_merge(below, above->lower);
    addresses_refresh(above);
    return above;
}

static address_range *addresses_first(address_range *root)
{
    while (root && root->lower) root = root->lower;
    return root;
}

/* Sets the gap after the last range of a subtree, which has one: the origin is below all others. */
static void addresses_set_last_gap(address_range *root, uint64_t end)
{
    if (root->upper) {
        addresses_set_last_gap(root->upper, end);
    } else {
        root->gap_bytes = end - (root->offset + root->bytes);
    }
    addresses_refresh(root);
}

void addresses_init(addresses *space, uint64_t from, uint64_t space_bytes)
{
    memset(space, 0, sizeof *space);
    space->space_bytes = space_bytes;
    space->origin.bytes = from;
    space->origin.gap_bytes = space_bytes - from;
    addresses_refresh(&space->origin);
    space->root = &space->origin;
}

uint64_t addresses_lowest_gap(const addresses *space, uint64_t bytes)
{
    const address_range *range = space->root;
    while (range && range->gap_max_bytes >= bytes) {
        if (range->lower && range->lower->gap_max_bytes >= bytes) {
            range = range->lower;
        } else if (range->gap_bytes >= bytes) {
            return range->offset + range->bytes;
        } else {
            range = range->upper;
        }
    }
    return ADDRESSES_NONE;
}

void addresses_insert(addresses *space, address_range *range)
{
    address_range *below, *above;
    uint64_t end = range->offset + range->bytes;
    addresses_split(space->root, range->offset, &below, &above);
    addresses_set_last_gap(below, range->offset);
    range->gap_bytes = (above ? addresses_first(above)->offset : space->space_bytes) - end;
    range->rank = addresses_hash(range->offset);
    range->lower = range->upper = NULL;
    addresses_refresh(range);
    space->root = addresses_merge(addresses_merge(below, range), above);
}

void addresses_remove(addresses *space, address_range *range)
{
    address_range *below, *above, *alone;
    uint64_t next = range->offset + range->bytes + range->gap_bytes;
    addresses_split(space->root, range->offset, &below, &above);
    addresses_split(above, range->offset + 1, &alone, &above);
    addresses_set_last_gap(below, next);
    space->root = addresses_merge(below, above);
}

address_range *addresses_at(const addresses *space, uint64_t offset)
{
    address_range *range = space->root, *last = NULL;
    while (range) {
        if (range->offset <= offset) {
            last = range;
            range = range->upper;
        } else {
            range = range->lower;
        }
    }
    return last && last != &space->origin && offset - last->offset < last->bytes ? last : NULL;
}

address_range *addresses_lowest(const addresses *space)
{
    address_range *range = NULL, *next = space->root;
    while (next) {                                           /* the lowest but the origin */
        if (next->offset > 0) {
            range = next;
            next = next->lower;
        } else {
            next = next->upper;
        }
    }
    return range;
}

static void addresses_set_hole_below(address_range *root, const address_range *range, uint64_t bytes)
{
    if (root == range) {
        root->hole_bytes = bytes;
    } else {
        addresses_set_hole_below(range->offset < root->offset ? root->lower : root->upper, range, bytes);
    }
    addresses_refresh(root);
}

void addresses_set_hole(addresses *space, address_range *range, uint64_t bytes)
{
    addresses_set_hole_below(space->root, range, bytes);
}

address_range *addresses_lowest_hole(const addresses *space, uint64_t bytes)
{
    address_range *range = space->root;
    while (range && range->hole_max_bytes >= bytes) {
        if (range->lower && range->lower->hole_max_bytes >= bytes) {
            range = range->lower;
        } else if (range->hole_bytes >= bytes) {
            return range;
        } else {
            range = range->upper;
        }
    }
    return NULL;
}
