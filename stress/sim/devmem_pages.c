/* Physical memory as it is counted, and pages of it for virtual addresses.
   Must not know where they are mapped.
   Tested by tests/test_sim_parts.c and tests/test_sim_vm*.c. */
#include "devmem.h"

#include <stdlib.h>

int devmem_has_room(const devmem *memory, uint64_t bytes)
{
    uint64_t free_bytes = devmem_free_bytes(memory);
    return bytes <= free_bytes && free_bytes - bytes >= (SIM_GRANULE - bytes % SIM_GRANULE) % SIM_GRANULE;
}

void devmem_hold(devmem *memory, uint64_t bytes)
{
    memory->held_bytes += bytes;
    if (memory->held_bytes > memory->held_peak_bytes) {
        memory->held_peak_bytes = memory->held_bytes;
    }
}

devmem_result devmem_take_page(devmem *memory, uint64_t bytes, vspace_page **taken)
{
    if (!devmem_has_room(memory, bytes)) {
        return DEVMEM_FULL;
    }
    uint32_t count = (uint32_t)(bytes / SIM_GRANULE);
    vspace_page *page = calloc(1, sizeof *page + count * sizeof page->granules[0]);
    if (!page || granules_reserve(&memory->granules, count)) {
        free(page);
        return DEVMEM_HOST_MEMORY;
    }
    for (uint32_t i = 0; i < count; i++) {
        page->granules[i] = granules_take(&memory->granules);
    }
    page->bytes = bytes;
    page->device = memory->device;
    page->next = memory->pages;
    if (page->next) {
        page->next->previous = page;
    }
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
    if (page->next) {
        page->next->previous = page->previous;
    }
    memory->page_count--;
    memory->held_bytes -= page->bytes;
    free(page);
}
