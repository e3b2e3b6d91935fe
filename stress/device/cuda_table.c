/* The counting table: memory calls on the list, the rest as it is. */
#include "cuda_table.h"

/* ---- Ranges by address, and how many reach into each granule or page */

/* One more range in each unit that it reaches into, or one less. */
static void units_count(device_table *units, uint64_t unit_bytes, uint64_t address, uint64_t bytes, int goes)
{
    for (uint64_t at = address / unit_bytes; bytes > 0 && at <= (address + (bytes - 1)) / unit_bytes; at++) {
        uint64_t count = device_table_take(units, at);
        if (!goes || count > 1) device_table_add(units, at, goes ? count - 1 : count + 1);
    }
}

static void ranges_count(device_ranges *self, uint64_t address, uint64_t bytes, int goes)
{
    uint64_t whole_bytes = memory_round_up(bytes, SIM_GRANULE);
    if (bytes < SIM_GRANULE) units_count(&self->pages, SIM_GRANULE, address, bytes, goes);
    else self->block_bytes += goes ? 0 - whole_bytes : whole_bytes;
}

void device_ranges_add(device_ranges *self, uint64_t address, uint64_t bytes)
{
    device_table_add(&self->held, address, bytes);
    ranges_count(self, address, bytes, 0);
}

int device_ranges_remove(device_ranges *self, uint64_t address)
{
    uint64_t bytes = device_table_take(&self->held, address);
    ranges_count(self, address, bytes, 1);
    return bytes > 0;
}

static int ranges_reach(const device_range *range, uint64_t address, uint64_t bytes)
{
    uint64_t inside = address - range->address;
    return address >= range->address && inside < range->bytes && bytes <= range->bytes - inside;
}

int device_ranges_hold(const device_ranges *self, uint64_t address, uint64_t bytes)
{
    const device_range exact = { address, device_table_find(&self->held, address) };
    if (!bytes || ranges_reach(&exact, address, bytes)) return 1;
    for (size_t at = 0; at < self->held.capacity; at++) {
        if (ranges_reach(&self->held.slots[at], address, bytes)) return 1;
    }
    return 0;
}

uint64_t device_ranges_bytes(const device_ranges *self)
{
    return self->block_bytes + self->pages.count * SIM_GRANULE;
}

void device_ranges_clear(device_ranges *self)
{
    device_table_clear(&self->held);
    device_table_clear(&self->pages);
    self->block_bytes = 0;
}

/* ---- Books of virtual memory */

void device_pages_create(device_pages *self, uint64_t handle, uint64_t bytes)
{
    device_table_add(&self->handles, handle, bytes);
    self->held_bytes += bytes;
}

void device_pages_destroy(device_pages *self, uint64_t handle)
{
    self->held_bytes -= device_table_take(&self->handles, handle);
}

void device_pages_map(device_pages *self, uint64_t address, uint64_t bytes)
{
    units_count(&self->mapped, self->page_bytes, address, bytes, 0);
}

void device_pages_unmap(device_pages *self, uint64_t address, uint64_t bytes)
{
    units_count(&self->mapped, self->page_bytes, address, bytes, 1);
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
    self->held_bytes = 0;
}

/* ---- The counting table: memory calls on the list, the rest as it is */

#ifndef GPUARENA_NO_CUDA

#include <cuda_runtime_api.h>

#include "../sim/entries.h"

static uint64_t cuda_table_address(const void *ptr)
{
    return (uint64_t)(uintptr_t)ptr;
}

uint64_t cuda_table_held_bytes(const cuda_table *self)
{
    uint64_t held_bytes = self->pages.held_bytes;
    for (int kind = 0; kind < CUDA_TABLE_KINDS; kind++) held_bytes += device_ranges_bytes(&self->ranges[kind]);
    return held_bytes;
}

int cuda_table_holds(const cuda_table *self, const void *ptr, uint64_t bytes)
{
    uint64_t address = cuda_table_address(ptr);
    int holds = device_pages_hold(&self->pages, address, bytes);
    for (int kind = 0; kind < CUDA_TABLE_KINDS && !holds; kind++) {
        holds = device_ranges_hold(&self->ranges[kind], address, bytes);
    }
    return holds;
}

static void cuda_table_hold(cuda_table *self)
{
    uint64_t held_bytes = cuda_table_held_bytes(self);
    memory_raise(&self->held_peak_bytes, held_bytes);
}

static void cuda_table_tell(const cuda_table *self, sim_call kind, const void *address, uint64_t bytes)
{
    if (self->watch) self->watch(self->watch_user, kind, cuda_table_address(address), bytes);
}

static __thread uint64_t cuda_table_called;

uint64_t cuda_table_thread_calls(void)
{
    return cuda_table_called;
}

/* An entry that is counted, and what becomes of the list where it succeeds, in words of its parameters
   (sim/entries.h). */
#define CUDA_TABLE_ENTRY(group, name, names, booked) \
    static int cuda_table_##group##_##name ENTRY_##group##_##name \
    { \
        cuda_table *own = self->user; \
        const gpuarena_driver *behind = &own->inner; \
        pthread_mutex_lock(&own->mutex); \
        own->calls++; \
        cuda_table_called++; \
        int code = behind->group.name names; \
        if (!code) booked \
        pthread_mutex_unlock(&own->mutex); \
        return code; \
    }

CUDA_TABLE_ENTRY(memory, obtain, (behind, kind, ptr, bytes, stream), {
    if (*ptr && bytes) {
        device_ranges_add(&own->ranges[kind], cuda_table_address(*ptr), bytes);
        cuda_table_tell(own, SIM_CALL_OBTAIN, *ptr, bytes);
        cuda_table_hold(own);
    }
})
CUDA_TABLE_ENTRY(memory, give_back, (behind, kind, ptr, bytes, stream), {
    device_ranges_remove(&own->ranges[kind], cuda_table_address(ptr));
    cuda_table_tell(own, SIM_CALL_GIVE_BACK, ptr, bytes);
})
CUDA_TABLE_ENTRY(vm, reserve, (behind, address, bytes, alignment), {
    if (*address && bytes) device_table_add(&own->pages.ranges, cuda_table_address(*address), bytes);
})
CUDA_TABLE_ENTRY(vm, release, (behind, address, bytes), {
    (void)device_table_take(&own->pages.ranges, cuda_table_address(address));
})
CUDA_TABLE_ENTRY(vm, create, (behind, page, bytes, traits), {
    device_pages_create(&own->pages, *page, bytes);
    cuda_table_hold(own);
})
CUDA_TABLE_ENTRY(vm, destroy, (behind, page, bytes), {
    device_pages_destroy(&own->pages, page);
})
CUDA_TABLE_ENTRY(vm, map, (behind, address, bytes, page), {
    device_pages_map(&own->pages, cuda_table_address(address), bytes);
    cuda_table_tell(own, SIM_CALL_VM_MAP, address, bytes);
})
CUDA_TABLE_ENTRY(vm, access, (behind, address, bytes, mode), { })
CUDA_TABLE_ENTRY(vm, unmap, (behind, address, bytes), {
    device_pages_unmap(&own->pages, cuda_table_address(address), bytes);
    cuda_table_tell(own, SIM_CALL_VM_UNMAP, address, bytes);
})

void cuda_table_fill(cuda_table *self, gpuarena_driver *driver)
{
    *driver = self->inner;                       /* whose entries look at device and peers alone, not at the user */
    driver->user = self;
    driver->clear = NULL;
    driver->memory.obtain = cuda_table_memory_obtain;
    driver->memory.give_back = cuda_table_memory_give_back;
#define X(group, name, names) driver->group.name = cuda_table_##group##_##name;
    if (driver->vm.reserve) {
        ENTRIES_VM(X)
    }
#undef X
    driver->fd.from_page = NULL;                 /* what comes from elsewhere is on no list */
    driver->fd.to_page = NULL;
    self->pages.page_bytes = driver->page_bytes;
}

/* How many bytes a call could not give back. */
static uint64_t cuda_table_kept(int code, uint64_t bytes, int *failed)
{
    if (code) *failed = code;
    return code ? bytes : 0;
}

/* What of a reserved range is mapped, each run of whole mappings at once. Addresses that stay are of no weight: only
   the code is told. */
static uint64_t cuda_table_clear_range(cuda_table *self, const device_range *range, int *failed)
{
    const gpuarena_driver *inner = &self->inner;
    uint64_t kept_bytes = 0;
    for (uint64_t at = 0, run; at < range->bytes; at += run ? run : self->pages.page_bytes) {
        void *address = (void *)(uintptr_t)(range->address + at);
        run = device_pages_run(&self->pages, range->address + at, range->bytes - at);
        if (run) kept_bytes += cuda_table_kept(inner->vm.unmap(inner, address, run), run, failed);
    }
    if (range->bytes && !kept_bytes) {
        int code = inner->vm.release(inner, (void *)(uintptr_t)range->address, range->bytes);
        (void)cuda_table_kept(code, 0, failed);
    }
    return kept_bytes;
}

static uint64_t cuda_table_clear_pages(cuda_table *self, int *failed)
{
    uint64_t kept_bytes = 0;
    for (size_t at = 0; at < self->pages.ranges.capacity; at++) {
        kept_bytes += cuda_table_clear_range(self, &self->pages.ranges.slots[at], failed);
    }
    for (size_t at = 0; at < self->pages.handles.capacity; at++) {
        const device_range *held = &self->pages.handles.slots[at];
        int code = held->bytes ? self->inner.vm.destroy(&self->inner, held->address, held->bytes) : 0;
        kept_bytes += cuda_table_kept(code, held->bytes, failed);
    }
    device_pages_clear(&self->pages);
    return kept_bytes;
}

uint64_t cuda_table_clear(cuda_table *self, int *failed)
{
    const gpuarena_driver *inner = &self->inner;
    uint64_t kept_bytes = 0;
    for (int kind = 0; kind < CUDA_TABLE_KINDS; kind++) {
        for (size_t at = 0; at < self->ranges[kind].held.capacity; at++) {
            const device_range held = self->ranges[kind].held.slots[at];
            void *ptr = (void *)(uintptr_t)held.address;
            if (!held.bytes) continue;
            int code = inner->memory.give_back(inner, (gpuarena_memory)kind, ptr, held.bytes, NULL);
            kept_bytes += cuda_table_kept(code, held.bytes, failed);
        }
        device_ranges_clear(&self->ranges[kind]);
    }
    return kept_bytes + cuda_table_clear_pages(self, failed);
}

#endif
