/* Blocks, slabs and the physical granules behind them. */
#include "devmem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "../base/array.h"
#include "../base/program.h"

/* ---- Virtual addresses: reservations in a treap; mappings as records, found from the granule of addresses that they
        lie at */

static void vspace_init(vspace *space, uint64_t from_offset, uint64_t end_offset)
{
    memset(space, 0, sizeof *space);
    addresses_init(&space->reserved, from_offset, end_offset);
    space->from_offset = space->high_offset = from_offset;
}

devmem_result vspace_reserve(vspace *space, uint64_t bytes, uint64_t alignment, uint64_t base, uint64_t *offset)
{
    uint64_t spare = alignment > SIM_GRANULE ? alignment - SIM_GRANULE : 0;
    if (bytes > MAPPING_SPACE || spare > MAPPING_SPACE) return DEVMEM_FULL;
    uint64_t gap = addresses_lowest_gap(&space->reserved, bytes + spare);
    if (gap == ADDRESSES_NONE) return DEVMEM_FULL;
    uint64_t past = spare > 0 ? (base + gap) % alignment : 0;
    *offset = gap + (past > 0 ? alignment - past : 0);
    addresses_insert(&space->reserved, *offset, bytes);
    space->reserved_bytes += bytes;
    memory_raise(&space->high_offset, *offset + bytes);
    return DEVMEM_OK;
}

address_range *vspace_reservation(const vspace *space, uint64_t offset)
{
    return addresses_at(&space->reserved, offset);
}

void vspace_release(vspace *space, address_range *reservation)
{
    space->reserved_bytes -= reservation->bytes;
    addresses_remove(&space->reserved, reservation);
}

static void vspace_destroy(vspace *space)
{
    addresses_clear(&space->reserved);
    mapping_destroy(&space->slots);
    free(space->mappings);
    free(space->idle);
}

void vspace_map(vspace *space, address_range *reservation, uint64_t offset, vspace_page *page, uint64_t serial)
{
    if (space->idle_count == 0) {
        ARRAY_RESERVE_BOTH(space->mappings, space->idle, space->capacity, (uint64_t)space->count + 1);
    }
    uint32_t number = space->idle_count > 0 ? space->idle[--space->idle_count] : space->count++;
    const vspace_mapping made = { offset, offset + page->bytes, serial, page, reservation, 0 };
    space->mappings[number] = made;
    for (uint64_t i = 0; i < page->bytes / SIM_GRANULE; i++) {
        const mapping_slot slot = { serial, page->granules[i], number };
        mapping_set(&space->slots, offset + i * SIM_GRANULE, slot);
    }
    page->mapping_count++;
    reservation->mapping_count++;
}

void vspace_unmap(vspace *space, vspace_mapping *mapped)
{
    for (uint64_t at = mapped->offset; at < mapped->end; at += SIM_GRANULE) {
        mapping_set(&space->slots, at, mapping_nothing);
    }
    mapped->page->mapping_count--;
    mapped->reservation->mapping_count--;
    mapped->page = NULL;
    space->idle[space->idle_count++] = (uint32_t)(mapped - space->mappings);
}

vspace_mapping *vspace_at(const vspace *space, uint64_t offset)
{
    uint32_t number = mapping_get(&space->slots, offset)->number;
    return number == MAPPING_NONE ? NULL : &space->mappings[number];
}

uint32_t vspace_mapping_count(const vspace *space)
{
    return space->count - space->idle_count;
}

/* 1: all of the range, within one reservation, is mapped with access for the device. O(mappings in the range). */
static int vspace_reaches(const vspace *space, uint64_t offset, uint64_t bytes, int device)
{
    const address_range *range = vspace_reservation(space, offset);
    if (!range || bytes > range->bytes - (offset - range->offset)) return 0;
    for (uint64_t at = offset; at < offset + bytes;) {
        const vspace_mapping *mapped = vspace_at(space, at);
        if (!mapped || !(mapped->accessors >> device & 1)) return 0;
        at = mapped->end;
    }
    return 1;
}

/* ---- Blocks and slabs */

void devmem_init(devmem *memory, int device, uint64_t capacity_bytes, uint64_t context_bytes, uint64_t obtain_end,
                 uint64_t address_end)
{
    memset(memory, 0, sizeof *memory);
    memory->device = device;
    addresses_init(&memory->addresses, SIM_GRANULE, obtain_end);
    vspace_init(&memory->virtual, obtain_end, address_end);
    memory->capacity_bytes = capacity_bytes;
    memory->context_bytes = context_bytes;
    memory->high_offset = SIM_GRANULE;
}

void devmem_close(int file)
{
    if (!file) return;
    (void)flock(file, LOCK_UN);
    close(file);
}

static void devmem_destroy_range(devmem *memory, address_range *range)
{
    if (range->slab) addresses_clear(range->slab);
    free(range->slab);
    devmem_close(range->file);
    addresses_remove(&memory->addresses, range);
}

void devmem_destroy(devmem *memory)
{
    address_range *range;
    while ((range = addresses_lowest(&memory->addresses)) != NULL) {
        devmem_destroy_range(memory, range);
    }
    while (memory->pages) {
        vspace_page *page = memory->pages;
        memory->pages = page->next;
        devmem_close(page->file);
        free(page);
    }
    vspace_destroy(&memory->virtual);
    granules_destroy(&memory->granules);
}

uint64_t devmem_free_bytes(const devmem *memory)
{
    return memory->capacity_bytes - memory->context_bytes - memory->held_bytes - memory->rival_bytes;
}

/* counts them; there is room */
static void devmem_hold(devmem *memory, uint64_t bytes)
{
    memory->held_bytes += bytes;
    memory_raise(&memory->held_peak_bytes, memory->held_bytes);
}

/* 1: in whole granules */
static int devmem_has_room(const devmem *memory, uint64_t bytes)
{
    uint64_t free_bytes = devmem_free_bytes(memory);
    return bytes <= free_bytes && free_bytes - bytes >= (SIM_GRANULE - bytes % SIM_GRANULE) % SIM_GRANULE;
}

/* A range of whole granules with physical memory behind all of them. */
static devmem_result devmem_add_range(devmem *memory, uint64_t bytes, address_range **added)
{
    if (!devmem_has_room(memory, bytes)) return DEVMEM_FULL;
    uint64_t whole = memory_round_up(bytes, SIM_GRANULE);
    uint64_t offset = addresses_lowest_gap(&memory->addresses, whole);
    if (offset == ADDRESSES_NONE) return DEVMEM_FULL;
    address_range *range = addresses_insert(&memory->addresses, offset, whole);
    for (uint64_t at = offset; at < offset + whole; at += SIM_GRANULE) {
        const mapping_slot slot = { 0, granules_take(&memory->granules), MAPPING_NONE };
        memory->granules.list[slot.granule].holder = range;
        mapping_set(&memory->virtual.slots, at, slot);
    }
    devmem_hold(memory, whole);
    memory_raise(&memory->high_offset, offset + whole);
    *added = range;
    return DEVMEM_OK;
}

static void devmem_drop_range(devmem *memory, address_range *range)
{
    for (uint64_t at = range->offset; at < range->offset + range->bytes; at += SIM_GRANULE) {
        granules_give(&memory->granules, mapping_get(&memory->virtual.slots, at)->granule);
        mapping_set(&memory->virtual.slots, at, mapping_nothing);
    }
    memory->held_bytes -= range->bytes;
    devmem_destroy_range(memory, range);
}

static devmem_result devmem_obtain_block(devmem *memory, uint64_t bytes, uint64_t *offset, devmem_work *work)
{
    address_range *range;
    devmem_result result = devmem_add_range(memory, bytes, &range);
    if (result == DEVMEM_OK) {
        range->requested_bytes = bytes;
        *offset = range->offset;
        work->bytes = range->bytes;
    }
    return result;
}

static devmem_result devmem_obtain_piece(devmem *memory, uint64_t bytes, uint64_t *offset, devmem_work *work)
{
    address_range *range = addresses_lowest_hole(&memory->addresses, bytes);
    work->in_slab = range != NULL;
    if (!range) {
        if (devmem_add_range(memory, SIM_GRANULE, &range) != DEVMEM_OK) return DEVMEM_FULL;
        range->slab = program_need(1, sizeof *range->slab);
        addresses_init(range->slab, range->offset, range->offset + SIM_GRANULE);
        work->bytes = range->bytes;
    }
    *offset = addresses_lowest_gap(range->slab, bytes);
    addresses_insert(range->slab, *offset, memory_round_up(bytes, DEVMEM_ALIGNMENT))->requested_bytes = bytes;
    addresses_set_hole(&memory->addresses, range, addresses_largest_gap(range->slab));
    return DEVMEM_OK;
}

devmem_result devmem_obtain(devmem *memory, uint64_t bytes, uint64_t *offset, devmem_work *work)
{
    memset(work, 0, sizeof *work);
    return bytes < SIM_GRANULE ? devmem_obtain_piece(memory, bytes, offset, work)
                               : devmem_obtain_block(memory, bytes, offset, work);
}

int devmem_find(const devmem *memory, uint64_t offset, devmem_place *place)
{
    const mapping_slot *slot = mapping_get(&memory->virtual.slots, offset);
    if (slot->granule == MAPPING_NONE || slot->number != MAPPING_NONE) return 0;
    address_range *range = memory->granules.list[slot->granule].holder;
    address_range *piece = range->slab ? addresses_at(range->slab, offset) : NULL, *held = piece ? piece : range;
    const devmem_place found = { range, piece, held->offset, held->requested_bytes };
    if (range->slab && !piece) return 0;
    *place = found;
    return 1;
}

devmem_part devmem_part_at(const devmem *memory, uint64_t offset, uint64_t end)
{
    uint64_t from = offset % SIM_GRANULE, left = end - offset;
    uint64_t to = left < SIM_GRANULE - from ? from + left : SIM_GRANULE;
    const mapping_slot *slot = mapping_get(&memory->virtual.slots, offset);
    const devmem_part part = { offset, end, slot->granule, (uint32_t)from, (uint32_t)to, slot->place };
    return part;
}

void devmem_give_back(devmem *memory, const devmem_place *place, devmem_work *work)
{
    address_range *range = place->range;
    memset(work, 0, sizeof *work);
    if (place->piece) addresses_remove(range->slab, place->piece);
    if (!place->piece || !addresses_lowest(range->slab)) {
        work->bytes = range->bytes;
        devmem_drop_range(memory, range);
        return;
    }
    devmem_part part = devmem_part_at(memory, place->offset, place->offset + place->bytes);      /* all of a piece */
    granules_forget(&memory->granules, part.granule, part.from, part.to);
    work->in_slab = 1;
    addresses_set_hole(&memory->addresses, range, addresses_largest_gap(range->slab));
}

void devmem_clear(devmem *memory)
{
    address_range *range;
    while ((range = addresses_lowest(&memory->addresses)) != NULL) {
        devmem_drop_range(memory, range);
    }
}

int devmem_base(const devmem *memory, uint64_t offset, uint64_t *base)
{
    devmem_place place;
    const address_range *reservation = vspace_reservation(&memory->virtual, offset);
    if (reservation) {
        *base = reservation->offset;
        return 1;
    }
    if (!devmem_find(memory, offset, &place)) return 0;
    *base = place.offset;
    return 1;
}

int devmem_has_given(const devmem *memory, uint64_t offset)
{
    const vspace *space = &memory->virtual;
    return offset >= space->from_offset ? space->high_offset > space->from_offset
                                              && offset < space->high_offset + SIM_GRANULE
                                        : offset >= SIM_GRANULE && offset < memory->high_offset + SIM_GRANULE;
}

int devmem_reaches(const devmem *memory, uint64_t offset, uint64_t bytes, int device)
{
    devmem_place place;
    if (bytes == 0) return 1;
    if (offset >= memory->virtual.from_offset) {
        return vspace_reaches(&memory->virtual, offset, bytes, device);
    }
    if (!devmem_find(memory, offset, &place)) return 0;
    uint64_t inside = offset - place.offset;
    return inside < place.bytes && bytes <= place.bytes - inside;
}

int devmem_serves(const devmem *memory, uint64_t offset, uint64_t bytes, int device)
{
    const address_range *range = memory->tenant_holds ? addresses_at(&memory->addresses, offset) : NULL;
    return devmem_reaches(memory, offset, bytes, device)
        && (!range || !range->tenant || memory->tenant_holds(range->tenant, offset, bytes));
}

void devmem_fill(devmem *memory, uint64_t offset, uint64_t bytes, uint64_t pattern)
{
    for (DEVMEM_EACH(part, memory, offset, bytes)) {
        granules_fill(&memory->granules, part.granule, part.from, part.to, 1, pattern);
    }
}

int devmem_verify(const devmem *memory, uint64_t offset, uint64_t bytes, uint64_t pattern, uint64_t *bad_offset)
{
    for (DEVMEM_EACH(part, memory, offset, bytes)) {
        uint32_t bad = granules_matches(&memory->granules, part.granule, part.from, part.to, pattern);
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
        if (granules_write(&memory->granules, part.granule, part.from, part.to, next)) return -1;
    }
    return 0;
}

void devmem_read(const devmem *memory, uint64_t offset, uint64_t bytes, void *target)
{
    for (DEVMEM_EACH(part, memory, offset, bytes)) {
        granules_read(&memory->granules, part.granule, part.from, part.to,
                      (unsigned char *)target + (part.offset - offset));
    }
}

int devmem_set(devmem *memory, uint64_t offset, uint64_t bytes, unsigned char value)
{
    for (DEVMEM_EACH(part, memory, offset, bytes)) {
        if (granules_set(&memory->granules, part.granule, part.from, part.to, value)) return -1;
    }
    return 0;
}

int devmem_copy(devmem *to, uint64_t to_offset, const devmem *from, uint64_t from_offset, uint64_t bytes)
{
    unsigned char buffer[16384];
    uint64_t end = from_offset + bytes;
    while (from_offset < end) {
        devmem_part part = devmem_part_at(from, from_offset, end);
        uint64_t count = part.to - part.from;
        unsigned char value;
        int failed;
        if (granules_even(&from->granules, part.granule, &value)) {     /* nothing to look at, however much it is */
            failed = devmem_set(to, to_offset, count, value);
        } else {
            count = count < sizeof buffer ? count : sizeof buffer;
            devmem_read(from, from_offset, count, buffer);
            failed = devmem_write(to, to_offset, count, buffer);
        }
        if (failed) return -1;
        from_offset += count;
        to_offset += count;
    }
    return 0;
}

/* ---- Physical memory as it is counted, and pages of it for virtual addresses */

devmem_result devmem_take_page(devmem *memory, uint64_t bytes, vspace_page **taken)
{
    if (!devmem_has_room(memory, bytes)) return DEVMEM_FULL;
    uint32_t count = (uint32_t)(bytes / SIM_GRANULE);
    vspace_page *page = program_need(1, sizeof *page + count * sizeof page->granules[0]);
    for (uint32_t i = 0; i < count; i++) {
        page->granules[i] = granules_take(&memory->granules);
    }
    page->bytes = bytes;
    page->device = memory->device;
    page->next = memory->pages;
    if (page->next) page->next->previous = page;
    memory->pages = page;
    memory->page_count++;
    devmem_hold(memory, bytes);
    *taken = page;
    return DEVMEM_OK;
}

void devmem_give_page(devmem *memory, vspace_page *page)
{
    for (uint64_t i = 0; i < page->bytes / SIM_GRANULE; i++) {
        granules_give(&memory->granules, page->granules[i]);
    }
    *(page->previous ? &page->previous->next : &memory->pages) = page->next;
    if (page->next) page->next->previous = page->previous;
    memory->page_count--;
    memory->held_bytes -= page->bytes;
    devmem_close(page->file);
    free(page);
}

int devmem_share_page(devmem *memory, const vspace_page *page, int file, uint64_t place, int keep)
{
    for (uint64_t at = 0; at < page->bytes; at += SIM_GRANULE) {
        uint32_t number = page->granules[at / SIM_GRANULE];
        if (granules_share(&memory->granules, number, file, place + at, keep)) return -1;
    }
    return 0;
}

int devmem_share_range(devmem *memory, const address_range *range, int file, uint64_t place, int keep)
{
    for (uint64_t at = 0; at < range->bytes; at += SIM_GRANULE) {
        uint32_t number = mapping_get(&memory->virtual.slots, range->offset + at)->granule;
        if (granules_share(&memory->granules, number, file, place + at, keep)) return -1;
    }
    return 0;
}
