/* Pages and mappings, and the blocks and slabs that obtains make of them. */
#include "devmem.h"

#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- Addresses: one set of ranges by offset that knows gaps, and one of those that have a hole: every question in
        O(log ranges) */

void addresses_init(addresses *space, uint64_t from, uint64_t space_bytes)
{
    memset(space, 0, sizeof *space);
    space->origin.bytes = space->high_offset = from;
    treap_add(&space->ranges, &space->origin.place, &space->origin, 0, 0, space_bytes - from);
}

uint64_t addresses_lowest_gap(const addresses *space, uint64_t bytes)
{
    const address_range *range = treap_from(&space->ranges, 0, 0, bytes);
    return range ? range->offset + range->bytes : 0;
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

/* ---- Pages: physical memory, as it is counted */

uint64_t devmem_free_bytes(const devmem *memory)
{
    return memory->capacity_bytes - memory->context_bytes - memory->held_bytes - memory->rival_bytes;
}

devmem_page *devmem_take_page(devmem *memory, uint64_t bytes)
{
    if (bytes > devmem_free_bytes(memory)) return NULL;
    devmem_page *page = program_need(1, sizeof *page + (bytes / SIM_GRANULE) * sizeof page->granules[0]);
    page->bytes = bytes;
    page->device = memory->device;
    page->next = memory->pages;
    if (page->next) page->next->previous = page;
    memory->pages = page;
    memory->page_count++;
    memory->held_bytes += bytes;
    memory_raise(&memory->held_peak_bytes, memory->held_bytes);
    return page;
}

void devmem_give_page(devmem *memory, devmem_page *page)
{
    for (uint64_t i = 0; i < page->bytes / SIM_GRANULE; i++) {
        touches_forget(&page->granules[i]);
        granule_clear(&page->granules[i]);
    }
    *(page->previous ? &page->previous->next : &memory->pages) = page->next;
    if (page->next) page->next->previous = page->previous;
    memory->page_count--;
    memory->held_bytes -= page->bytes;
    devmem_close(page->file);
    free(page);
}

void devmem_forget_touches(devmem *memory)
{
    for (devmem_page *page = memory->pages; page; page = page->next) {
        for (uint64_t i = 0; i < page->bytes / SIM_GRANULE; i++) touches_forget(&page->granules[i]);
    }
}

int devmem_share(devmem_page *page, int file, uint64_t place, int keep)
{
    unsigned char *bytes = mmap(NULL, (size_t)page->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)place);
    if (bytes == MAP_FAILED) return -1;
    for (uint64_t at = 0; at < page->bytes; at += SIM_GRANULE) {
        granule_share(&page->granules[at / SIM_GRANULE], bytes + at, keep);
    }
    return 0;
}

void devmem_close(int file)
{
    if (!file) return;
    (void)flock(file, LOCK_UN);
    close(file);
}

/* ---- Mappings: found from the granules of addresses that they lie at */

enum { DEVMEM_LEAF = 2048 };                     /* granules of a leaf */

static void devmem_set_behind(devmem *memory, uint64_t from, uint64_t end, devmem_mapping *behind)
{
    for (uint64_t at = from / SIM_GRANULE; at < end / SIM_GRANULE; at++) {
        size_t leaf = (size_t)(at / DEVMEM_LEAF), count = memory->leaf_count;
        ARRAY_RESERVE(memory->leaves, memory->leaf_count, leaf + 1);
        for (; count < memory->leaf_count; count++) memory->leaves[count] = NULL;
        if (!memory->leaves[leaf]) memory->leaves[leaf] = program_need(DEVMEM_LEAF, sizeof **memory->leaves);
        memory->leaves[leaf][at % DEVMEM_LEAF] = behind;
    }
}

/* NULL: nothing. O(1). */
static devmem_mapping *devmem_behind(const devmem *memory, uint64_t offset)
{
    uint64_t at = offset / SIM_GRANULE, leaf = at / DEVMEM_LEAF;
    return leaf < memory->leaf_count && memory->leaves[leaf] ? memory->leaves[leaf][at % DEVMEM_LEAF] : NULL;
}

devmem_mapping *devmem_map(devmem *memory, address_range *range, uint64_t offset, devmem_page *page, uint64_t serial)
{
    const devmem_mapping mapped = { offset, offset + page->bytes, serial, page, range, 0 };
    devmem_mapping *made = program_need(1, sizeof *made);
    *made = mapped;
    devmem_set_behind(memory, made->offset, made->end, made);
    memory->mapping_count++;
    page->mapping_count++;
    range->mapping_count++;
    return made;
}

void devmem_unmap(devmem *memory, devmem_mapping *mapped)
{
    devmem_set_behind(memory, mapped->offset, mapped->end, NULL);
    memory->mapping_count--;
    mapped->page->mapping_count--;
    mapped->range->mapping_count--;
    free(mapped);
}

devmem_mapping *devmem_mapped(const devmem *memory, uint64_t offset)
{
    devmem_mapping *found = devmem_behind(memory, offset);
    return found && found->serial ? found : NULL;
}

uint64_t devmem_mapping_count(const devmem *memory)
{
    return memory->mapping_count - memory->obtained.count;
}

/* ---- Reservations */

uint64_t devmem_reserve(devmem *memory, uint64_t bytes, uint64_t alignment, uint64_t base)
{
    uint64_t spare = alignment > SIM_GRANULE ? alignment - SIM_GRANULE : 0;
    if (bytes > DEVMEM_SPACE || spare > DEVMEM_SPACE) return 0;
    uint64_t gap = addresses_lowest_gap(&memory->reserved, bytes + spare);
    uint64_t past = spare > 0 ? (base + gap) % alignment : 0;
    return gap ? addresses_insert(&memory->reserved, gap + (past > 0 ? alignment - past : 0), bytes)->offset : 0;
}

address_range *devmem_reservation(const devmem *memory, uint64_t offset)
{
    return addresses_at(&memory->reserved, offset);
}

/* ---- Obtains: blocks and slabs, a range with a page behind it each, that every device may use */

void devmem_init(devmem *memory, int device, uint64_t capacity_bytes, uint64_t context_bytes, uint64_t obtain_end,
                 uint64_t address_end)
{
    memset(memory, 0, sizeof *memory);
    memory->device = device;
    addresses_init(&memory->obtained, SIM_GRANULE, obtain_end);
    addresses_init(&memory->reserved, obtain_end, address_end);
    memory->capacity_bytes = capacity_bytes;
    memory->context_bytes = context_bytes;
}

void devmem_destroy(devmem *memory)
{
    devmem_clear(memory);
    for (size_t leaf = 0; memory->mapping_count; leaf++)
        for (int at = 0; memory->leaves[leaf] && at < DEVMEM_LEAF; at++)
            if (memory->leaves[leaf][at]) devmem_unmap(memory, memory->leaves[leaf][at]);
    while (memory->pages) devmem_give_page(memory, memory->pages);
    addresses_clear(&memory->reserved);
    for (size_t i = 0; i < memory->leaf_count; i++) free(memory->leaves[i]);
    free(memory->leaves);
}

static address_range *devmem_add_range(devmem *memory, uint64_t bytes)
{
    uint64_t whole = memory_round_up(bytes, SIM_GRANULE), offset = addresses_lowest_gap(&memory->obtained, whole);
    devmem_page *page = offset ? devmem_take_page(memory, whole) : NULL;
    if (!page) return NULL;
    address_range *added = addresses_insert(&memory->obtained, offset, whole);
    devmem_map(memory, added, offset, page, 0)->accessors = UINT64_MAX;
    return added;
}

static void devmem_drop_range(devmem *memory, address_range *range)
{
    devmem_mapping *mapped = devmem_behind(memory, range->offset);
    devmem_page *page = mapped->page;
    devmem_unmap(memory, mapped);
    devmem_give_page(memory, page);
    if (range->pieces) addresses_clear(range->pieces);
    free(range->pieces);
    addresses_remove(&memory->obtained, range);
}

void devmem_clear(devmem *memory)
{
    address_range *range;
    while ((range = addresses_lowest(&memory->obtained)) != NULL) devmem_drop_range(memory, range);
}

void devmem_cut(address_range *range)
{
    range->pieces = program_need(1, sizeof *range->pieces);
    addresses_init(range->pieces, range->offset, range->offset + range->bytes);
}

uint64_t devmem_obtain(devmem *memory, uint64_t bytes, devmem_work *work)
{
    int is_piece = bytes < SIM_GRANULE;
    address_range *range = is_piece ? addresses_lowest_hole(&memory->obtained, bytes) : NULL;
    *work = (devmem_work){ range != NULL, 0 };
    if (!range) {
        range = devmem_add_range(memory, bytes);
        if (!range) return 0;
        if (is_piece) devmem_cut(range);
        else range->requested_bytes = bytes;
        work->bytes = range->bytes;
    }
    if (!is_piece) return range->offset;
    uint64_t offset = addresses_lowest_gap(range->pieces, bytes);
    addresses_insert(range->pieces, offset, memory_round_up(bytes, DEVMEM_ALIGNMENT))->requested_bytes = bytes;
    addresses_set_hole(&memory->obtained, range, addresses_largest_gap(range->pieces));
    return offset;
}

/* The piece of a mapping's range that the offset lies in; the range itself, if it has no pieces. NULL: in no
   piece. */
static address_range *devmem_held(const devmem_mapping *mapped, uint64_t offset)
{
    return mapped->range->pieces ? addresses_at(mapped->range->pieces, offset) : mapped->range;
}

int devmem_find(const devmem *memory, uint64_t offset, devmem_place *place)
{
    const devmem_mapping *mapped = devmem_behind(memory, offset);
    memset(place, 0, sizeof *place);
    if (!mapped || mapped->serial) return 0;
    address_range *held = devmem_held(mapped, offset);
    place->page = mapped->page;
    place->range = mapped->range;
    if (!held) return 0;
    place->piece = held != mapped->range ? held : NULL;
    place->offset = held->offset;
    place->bytes = held->requested_bytes;
    return 1;
}

int devmem_next(const devmem *memory, devmem_part *part)
{
    part->offset += part->to - part->from;
    if (part->offset == part->end) return 0;
    const uint64_t from = part->offset % SIM_GRANULE, left = part->end - part->offset;
    const devmem_mapping *mapped = devmem_behind(memory, part->offset);
    part->from = (uint32_t)from;
    part->to = (uint32_t)(left < SIM_GRANULE - from ? from + left : SIM_GRANULE);
    part->unit = &mapped->page->granules[(part->offset - mapped->offset) / SIM_GRANULE];
    part->place = mapped->serial;
    return 1;
}

devmem_work devmem_give_back(devmem *memory, const devmem_place *place)
{
    address_range *range = place->range;
    if (place->piece) addresses_remove(range->pieces, place->piece);
    if (!place->piece || range->pieces->count == 0) {
        const devmem_work whole = { 0, range->bytes };
        devmem_drop_range(memory, range);
        return whole;
    }
    for (DEVMEM_EACH(part, memory, place->offset, place->bytes)) granule_forget(part.unit, part.from, part.to);
    addresses_set_hole(&memory->obtained, range, addresses_largest_gap(range->pieces));
    return (devmem_work){ 1, 0 };
}

int devmem_base(const devmem *memory, uint64_t offset, uint64_t *base)
{
    devmem_place place;
    const address_range *reservation = devmem_reservation(memory, offset);
    int is_held = reservation || devmem_find(memory, offset, &place);
    if (is_held) *base = reservation ? reservation->offset : place.offset;
    return is_held;
}

int devmem_has_given(const devmem *memory, uint64_t offset)
{
    uint64_t reserved_from = memory->reserved.origin.bytes, reserved_end = memory->reserved.high_offset;
    return offset >= reserved_from ? reserved_end > reserved_from && offset < reserved_end + SIM_GRANULE
                                   : offset >= SIM_GRANULE && offset < memory->obtained.high_offset + SIM_GRANULE;
}

int devmem_reaches(const devmem *memory, uint64_t offset, uint64_t bytes, int device)
{
    const devmem_mapping *mapped = devmem_behind(memory, offset);
    const address_range *held = mapped ? devmem_held(mapped, offset) : NULL;
    uint64_t inside = held ? offset - held->offset : 0;
    if (bytes == 0) return 1;
    if (!held || inside >= held->requested_bytes || bytes > held->requested_bytes - inside) return 0;
    for (; mapped && mapped->accessors >> device & 1; mapped = devmem_behind(memory, mapped->end)) {
        if (bytes <= mapped->end - offset) return 1;
    }
    return 0;
}

void devmem_fill(devmem *memory, uint64_t offset, uint64_t bytes, uint64_t pattern)
{
    for (DEVMEM_EACH(part, memory, offset, bytes)) {
        granule_fill(part.unit, part.from, part.to, 1, pattern);
    }
}

int devmem_verify(const devmem *memory, uint64_t offset, uint64_t bytes, uint64_t pattern, uint64_t *bad_offset)
{
    for (DEVMEM_EACH(part, memory, offset, bytes)) {
        uint32_t bad = granule_matches(part.unit, part.from, part.to, pattern);
        if (bad < part.to) {
            *bad_offset = part.offset - offset + (bad - part.from);
            return 0;
        }
    }
    return 1;
}

/* ---- Real bytes of a device's memory */

int devmem_write(devmem *memory, uint64_t offset, uint64_t bytes, const void *source)
{
    for (DEVMEM_EACH(part, memory, offset, bytes)) {
        const unsigned char *next = (const unsigned char *)source + (part.offset - offset);
        if (granule_write(part.unit, part.from, part.to, next)) return -1;
    }
    return 0;
}

void devmem_read(const devmem *memory, uint64_t offset, uint64_t bytes, void *target)
{
    for (DEVMEM_EACH(part, memory, offset, bytes)) {
        granule_read(part.unit, part.from, part.to, (unsigned char *)target + (part.offset - offset));
    }
}

int devmem_set(devmem *memory, uint64_t offset, uint64_t bytes, unsigned char value)
{
    for (DEVMEM_EACH(part, memory, offset, bytes)) {
        if (granule_set(part.unit, part.from, part.to, value)) return -1;
    }
    return 0;
}

int devmem_copy(devmem *to, uint64_t to_offset, const devmem *from, uint64_t from_offset, uint64_t bytes)
{
    unsigned char buffer[16384], value;
    for (DEVMEM_EACH(part, from, from_offset, bytes)) {
        const uint64_t target = to_offset + (part.offset - from_offset);
        const int is_even = granule_is_even(part.unit, &value);      /* nothing to look at, however much it is */
        if (!is_even && part.to - part.from > sizeof buffer) part.to = part.from + (uint32_t)sizeof buffer;
        const uint64_t count = part.to - part.from;
        if (!is_even) devmem_read(from, part.offset, count, buffer);
        if (is_even ? devmem_set(to, target, count, value) : devmem_write(to, target, count, buffer)) return -1;
    }
    return 0;
}
