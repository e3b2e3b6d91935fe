/* Pages, mappings, and what obtains make of them: blocks and slabs. */
#include "devmem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "../base/array.h"
#include "../base/program.h"

/* ---- Pages: physical memory, as it is counted */

uint64_t devmem_free_bytes(const devmem *memory)
{
    return memory->capacity_bytes - memory->context_bytes - memory->held_bytes - memory->rival_bytes;
}

devmem_result devmem_take_page(devmem *memory, uint64_t bytes, devmem_page **taken)
{
    if (bytes > devmem_free_bytes(memory)) return DEVMEM_FULL;
    uint32_t count = (uint32_t)(bytes / SIM_GRANULE);
    devmem_page *page = program_need(1, sizeof *page + count * sizeof page->granules[0]);
    for (uint32_t i = 0; i < count; i++) page->granules[i] = granules_take(&memory->granules);
    page->bytes = bytes;
    page->device = memory->device;
    page->next = memory->pages;
    if (page->next) page->next->previous = page;
    memory->pages = page;
    memory->page_count++;
    memory->held_bytes += bytes;
    memory_raise(&memory->held_peak_bytes, memory->held_bytes);
    *taken = page;
    return DEVMEM_OK;
}

void devmem_give_page(devmem *memory, devmem_page *page)
{
    for (uint64_t i = 0; i < page->bytes / SIM_GRANULE; i++) granules_give(&memory->granules, page->granules[i]);
    *(page->previous ? &page->previous->next : &memory->pages) = page->next;
    if (page->next) page->next->previous = page->previous;
    memory->page_count--;
    memory->held_bytes -= page->bytes;
    devmem_close(page->file);
    free(page);
}

int devmem_share(devmem *memory, const devmem_page *page, int file, uint64_t place, int keep)
{
    for (uint64_t at = 0; at < page->bytes; at += SIM_GRANULE) {
        uint32_t number = page->granules[at / SIM_GRANULE];
        if (granules_share(&memory->granules, number, file, place + at, keep)) return -1;
    }
    return 0;
}

void devmem_close(int file)
{
    if (!file) return;
    (void)flock(file, LOCK_UN);
    close(file);
}

uint64_t devmem_handle_count(const devmem *memory)
{
    return memory->page_count - memory->obtained.count;      /* one page each */
}

/* ---- Mappings: records, found from the granule of addresses that they lie at */

void devmem_map(devmem *memory, address_range *range, uint64_t offset, devmem_page *page, uint64_t serial)
{
    if (memory->idle_count == 0) {
        ARRAY_RESERVE_BOTH(memory->mappings, memory->idle, memory->capacity, (uint64_t)memory->mapping_count + 1);
    }
    uint32_t number = memory->idle_count > 0 ? memory->idle[--memory->idle_count] : memory->mapping_count++;
    const devmem_mapping made = { offset, offset + page->bytes, serial, page, range, 0 };
    memory->mappings[number] = made;
    for (uint64_t i = 0; i < page->bytes / SIM_GRANULE; i++) {
        const mapping_slot slot = { serial, page->granules[i], number };
        mapping_set(&memory->slots, offset + i * SIM_GRANULE, slot);
    }
    page->mapping_count++;
    range->mapping_count++;
}

void devmem_unmap(devmem *memory, devmem_mapping *mapped)
{
    for (uint64_t at = mapped->offset; at < mapped->end; at += SIM_GRANULE) {
        mapping_set(&memory->slots, at, mapping_nothing);
    }
    mapped->page->mapping_count--;
    mapped->range->mapping_count--;
    memory->idle[memory->idle_count++] = (uint32_t)(mapped - memory->mappings);
}

/* What is behind any address. */
static devmem_mapping *devmem_behind(const devmem *memory, uint64_t offset)
{
    uint32_t number = mapping_get(&memory->slots, offset)->number;
    return number == MAPPING_NONE ? NULL : &memory->mappings[number];
}

devmem_mapping *devmem_mapped(const devmem *memory, uint64_t offset)
{
    devmem_mapping *found = devmem_behind(memory, offset);
    return found && found->serial ? found : NULL;
}

uint64_t devmem_mapping_count(const devmem *memory)
{
    return memory->mapping_count - memory->idle_count - memory->obtained.count;
}

/* ---- Reservations */

devmem_result devmem_reserve(devmem *memory, uint64_t bytes, uint64_t alignment, uint64_t base, uint64_t *offset)
{
    uint64_t spare = alignment > SIM_GRANULE ? alignment - SIM_GRANULE : 0;
    if (bytes > MAPPING_SPACE || spare > MAPPING_SPACE) return DEVMEM_FULL;
    uint64_t gap = addresses_lowest_gap(&memory->reserved, bytes + spare);
    if (gap == ADDRESSES_NONE) return DEVMEM_FULL;
    uint64_t past = spare > 0 ? (base + gap) % alignment : 0;
    *offset = gap + (past > 0 ? alignment - past : 0);
    addresses_insert(&memory->reserved, *offset, bytes);
    return DEVMEM_OK;
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
    while (memory->pages) devmem_give_page(memory, memory->pages);
    addresses_clear(&memory->reserved);
    mapping_destroy(&memory->slots);
    free(memory->mappings);
    free(memory->idle);
    granules_destroy(&memory->granules);
}

static devmem_result devmem_add_range(devmem *memory, uint64_t bytes, address_range **added)
{
    devmem_page *page;
    uint64_t whole = memory_round_up(bytes, SIM_GRANULE), offset = addresses_lowest_gap(&memory->obtained, whole);
    if (offset == ADDRESSES_NONE || devmem_take_page(memory, whole, &page) != DEVMEM_OK) return DEVMEM_FULL;
    *added = addresses_insert(&memory->obtained, offset, whole);
    devmem_map(memory, *added, offset, page, 0);
    devmem_behind(memory, offset)->accessors = UINT64_MAX;
    return DEVMEM_OK;
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

static devmem_result devmem_obtain_block(devmem *memory, uint64_t bytes, uint64_t *offset, devmem_work *work)
{
    address_range *range;
    if (devmem_add_range(memory, bytes, &range) != DEVMEM_OK) return DEVMEM_FULL;
    range->requested_bytes = bytes;
    *offset = range->offset;
    work->bytes = range->bytes;
    return DEVMEM_OK;
}

static devmem_result devmem_obtain_piece(devmem *memory, uint64_t bytes, uint64_t *offset, devmem_work *work)
{
    address_range *range = addresses_lowest_hole(&memory->obtained, bytes);
    work->in_slab = range != NULL;
    if (!range) {
        if (devmem_add_range(memory, SIM_GRANULE, &range) != DEVMEM_OK) return DEVMEM_FULL;
        devmem_cut(range);
        work->bytes = range->bytes;
    }
    *offset = addresses_lowest_gap(range->pieces, bytes);
    addresses_insert(range->pieces, *offset, memory_round_up(bytes, DEVMEM_ALIGNMENT))->requested_bytes = bytes;
    addresses_set_hole(&memory->obtained, range, addresses_largest_gap(range->pieces));
    return DEVMEM_OK;
}

devmem_result devmem_obtain(devmem *memory, uint64_t bytes, uint64_t *offset, devmem_work *work)
{
    memset(work, 0, sizeof *work);
    return bytes < SIM_GRANULE ? devmem_obtain_piece(memory, bytes, offset, work)
                               : devmem_obtain_block(memory, bytes, offset, work);
}

/* What of a mapping's range the offset lies in: a piece, where there are pieces. NULL: in none. */
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

devmem_part devmem_part_at(const devmem *memory, uint64_t offset, uint64_t end)
{
    uint64_t from = offset % SIM_GRANULE, left = end - offset;
    uint64_t to = left < SIM_GRANULE - from ? from + left : SIM_GRANULE;
    const mapping_slot *slot = mapping_get(&memory->slots, offset);
    const devmem_part part = { offset, end, slot->granule, (uint32_t)from, (uint32_t)to, slot->place };
    return part;
}

void devmem_give_back(devmem *memory, const devmem_place *place, devmem_work *work)
{
    address_range *range = place->range;
    memset(work, 0, sizeof *work);
    if (place->piece) addresses_remove(range->pieces, place->piece);
    if (!place->piece || range->pieces->count == 0) {
        work->bytes = range->bytes;
        devmem_drop_range(memory, range);
        return;
    }
    devmem_part part = devmem_part_at(memory, place->offset, place->offset + place->bytes);      /* all of a piece */
    granules_forget(&memory->granules, part.granule, part.from, part.to);
    work->in_slab = 1;
    addresses_set_hole(&memory->obtained, range, addresses_largest_gap(range->pieces));
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
