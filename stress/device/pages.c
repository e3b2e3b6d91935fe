/* Books of virtual memory: each mapped page knows the memory behind it, which is counted until nobody has it.
   It must not know what the pages are for.
   Tested by tests/test_device_pages.c. */
#include "pages.h"

#include <stdlib.h>
#include <string.h>

static int device_pages_reserve_memory(device_pages *self)
{
    size_t capacity = self->memory_capacity ? self->memory_capacity * 2 : 64;
    if (self->gone || self->memory_count < self->memory_capacity) return 0;
    device_memory *grown = realloc(self->memories, capacity * sizeof *grown);
    if (!grown) return -1;
    self->memories = grown;
    self->memory_capacity = capacity;
    return 0;
}

int device_pages_reserve(device_pages *self, uint64_t mapped_bytes)
{
    size_t pages = (size_t)(mapped_bytes / self->page_bytes);
    return device_table_reserve(&self->ranges, 1) || device_table_reserve(&self->handles, 1)
        || device_table_reserve(&self->mapped, pages) || device_pages_reserve_memory(self) ? -1 : 0;
}

void device_pages_add_range(device_pages *self, uint64_t address, uint64_t bytes)
{
    device_table_add(&self->ranges, address, bytes);
}

void device_pages_remove_range(device_pages *self, uint64_t address)
{
    if (!device_table_find(&self->ranges, address)) return;
    device_table_remove(&self->ranges, device_table_slot(&self->ranges, address));
}

static void device_pages_leave(device_pages *self, uint64_t number)
{
    device_memory *memory = &self->memories[number - 1];
    if (--memory->uses) return;
    self->held_bytes -= memory->bytes;
    memory->bytes = self->gone;
    self->gone = number;
}

void device_pages_create(device_pages *self, uint64_t handle, uint64_t bytes)
{
    const device_memory made = { bytes, 1 };
    if (device_table_find(&self->handles, handle)) return;
    uint64_t number = self->gone ? self->gone : ++self->memory_count;
    if (self->gone) self->gone = self->memories[number - 1].bytes;
    self->memories[number - 1] = made;
    device_table_add(&self->handles, handle, number);
    self->held_bytes += bytes;
}

void device_pages_destroy(device_pages *self, uint64_t handle)
{
    uint64_t number = device_table_find(&self->handles, handle);
    if (!number) return;
    device_table_remove(&self->handles, device_table_slot(&self->handles, handle));
    device_pages_leave(self, number);
}

void device_pages_map(device_pages *self, uint64_t address, uint64_t bytes, uint64_t handle)
{
    uint64_t number = device_table_find(&self->handles, handle), first = address / self->page_bytes;
    if (!number) return;
    for (uint64_t page = first; page - first < bytes / self->page_bytes; page++) {
        if (device_table_find(&self->mapped, page)) continue;
        device_table_add(&self->mapped, page, number);
        self->memories[number - 1].uses++;
    }
}

void device_pages_unmap(device_pages *self, uint64_t address, uint64_t bytes)
{
    uint64_t first = address / self->page_bytes;
    for (uint64_t page = first; page - first < bytes / self->page_bytes; page++) {
        uint64_t number = device_table_find(&self->mapped, page);
        if (!number) continue;
        device_table_remove(&self->mapped, device_table_slot(&self->mapped, page));
        device_pages_leave(self, number);
    }
}

uint64_t device_pages_run(const device_pages *self, uint64_t address, uint64_t most_bytes)
{
    uint64_t reached = 0;
    if (!self->page_bytes) return 0;
    while (reached < most_bytes && address <= UINT64_MAX - reached
           && device_table_find(&self->mapped, (address + reached) / self->page_bytes)) {
        reached += self->page_bytes - (address + reached) % self->page_bytes;
    }
    return reached < most_bytes ? reached : most_bytes;
}

int device_pages_hold(const device_pages *self, uint64_t address, uint64_t bytes)
{
    return device_pages_run(self, address, bytes) == bytes;
}

void device_pages_clear(device_pages *self)
{
    device_table_clear(&self->ranges);
    device_table_clear(&self->handles);
    device_table_clear(&self->mapped);
    free(self->memories);
    self->memories = NULL;
    self->memory_count = self->memory_capacity = 0;
    self->gone = self->held_bytes = 0;
}
