/* One set of ranges by offset that knows gaps, and one of those that have a hole: every question in O(log ranges). */
#include "addresses.h"

void addresses_init(addresses *space, uint64_t from, uint64_t space_bytes)
{
    memset(space, 0, sizeof *space);
    space->origin.bytes = space->high_offset = from;
    treap_add(&space->ranges, &space->origin.place, &space->origin, 0, 0, space_bytes - from);
}

uint64_t addresses_lowest_gap(const addresses *space, uint64_t bytes)
{
    const address_range *range = treap_from(&space->ranges, 0, 0, bytes);
    return range ? range->offset + range->bytes : ADDRESSES_NONE;
}

uint64_t addresses_largest_gap(const addresses *space)
{
    return treap_heaviest(&space->ranges);
}

address_range *addresses_insert(addresses *space, uint64_t offset, uint64_t bytes)
{
    address_range *below = treap_until(&space->ranges, offset), *made = program_need(1, sizeof *made);
    uint64_t before_bytes = offset - (below->offset + below->bytes);
    made->offset = offset;
    made->bytes = made->requested_bytes = bytes;
    space->count++;
    space->bytes += bytes;
    memory_raise(&space->high_offset, offset + bytes);
    treap_add(&space->ranges, &made->place, made, offset, 0, below->place.weight - before_bytes - bytes);
    treap_weigh(&below->place, before_bytes);
    return made;
}

void addresses_remove(addresses *space, address_range *range)
{
    addresses_set_hole(space, range, 0);
    space->count--;
    space->bytes -= range->bytes;
    treap_remove(&space->ranges, &range->place);
    address_range *below = treap_until(&space->ranges, range->offset);
    treap_weigh(&below->place, below->place.weight + range->bytes + range->place.weight);
    free(range->opened);
    free(range);
}

void addresses_clear(addresses *space)
{
    address_range *range;
    while ((range = addresses_lowest(space)) != NULL) addresses_remove(space, range);
}

address_range *addresses_at(const addresses *space, uint64_t offset)
{
    address_range *range = treap_until(&space->ranges, offset);
    return range != &space->origin && offset - range->offset < range->bytes ? range : NULL;
}

address_range *addresses_lowest(const addresses *space)
{
    return treap_from(&space->ranges, 1, 0, 0);  /* the origin is at 0 */
}

void addresses_set_hole(addresses *space, address_range *range, uint64_t bytes)
{
    if (range->hole.weight) treap_remove(&space->holes, &range->hole);
    range->hole.weight = 0;
    if (bytes) treap_add(&space->holes, &range->hole, range, range->offset, 0, bytes);
}

address_range *addresses_lowest_hole(const addresses *space, uint64_t bytes)
{
    return treap_from(&space->holes, 0, 0, bytes);
}
