/* A tiny device for tests of threads: segments, addresses and pages in slots of 2 MiB; its streams and events are
   slot_events.h. It judges what it is asked for, and has no lock, for calls on memory are one at a time.
   It must not know arenas, nor who runs the threads: hooks do. Included by schedule_world.h and thread_world.h. */
#ifndef TESTS_SLOT_DEVICE_H
#define TESTS_SLOT_DEVICE_H

#include <string.h>

#define KIB(count) ((uint64_t)(count) << 10)
#define MIB(count) ((uint64_t)(count) << 20)
#define SLOT_BYTES MIB(2)
#define SLOT_MS    ((uint64_t)1000000)

enum { SLOT_COUNT = 256, SLOT_STREAMS = 4, SLOT_EVENTS = 256 };
typedef enum slot_call {
    SLOT_INFO, SLOT_OBTAIN, SLOT_GIVE_BACK, SLOT_RESERVE, SLOT_RELEASE, SLOT_CREATE, SLOT_DESTROY, SLOT_MAP,
    SLOT_ACCESS, SLOT_UNMAP, SLOT_EVENT, SLOT_HOST_WAIT, SLOT_DEVICE_WAIT, SLOT_CLEAR,
    SLOT_CALLS
} slot_call;
static const char *const slot_names[SLOT_CALLS] = { "info", "obtain", "give_back", "reserve", "release", "create",
                                                    "destroy", "map", "access", "unmap", "event", "host_wait",
                                                    "device_wait", "clear" };

typedef struct slot_place { uint32_t owner; uint16_t is_addresses, page; } slot_place;
typedef struct slot_device {
    gpuarena_driver table;
    /* In every call, when it begins and when it ends. claim_bytes: what it may make the device hold more. What begin
       answers, if not DONE, is the answer of calls on memory, which do nothing then. */
    gpuarena_status (*begin)(const gpuarena_driver *self, slot_call call, uint64_t claim_bytes);
    void (*end)(const gpuarena_driver *self, slot_call call);
    void (*blame)(const char *what);
    uint64_t total_bytes, held_bytes, base;      /* base: the first address, of this device alone */
    uint64_t tick_ns;                            /* the clock moves by it each time it is asked */
    uint64_t clock_ns, busy_until_ns[SLOT_STREAMS], event_done_ns[SLOT_EVENTS];     /* atomic, as events may be */
    uint32_t event_count, range_count;           /*   used by several threads at once */
    slot_place places[SLOT_COUNT];               /* owner: number of the range, from 1 */
    uint8_t pages[SLOT_COUNT];                   /* 1: there is this handle */
} slot_device;

static inline slot_device *slot_of(const gpuarena_driver *self) { return (slot_device *)self->user; }
static inline void *slot_pointer(uint64_t address) { return (void *)(uintptr_t)address; }
static inline uint64_t slot_address(const void *ptr) { return (uint64_t)(uintptr_t)ptr; }
static inline gpuarena_stream slot_stream(int number) { return (gpuarena_stream)(intptr_t)(number * 16); }

/* ---- memory */

/* A pointer's place. SLOT_COUNT: it is none of this device's. */
static inline uint32_t slot_place_of(const slot_device *device, const void *ptr)
{
    uint64_t offset = slot_address(ptr) - device->base;
    if (offset % SLOT_BYTES == 0 && offset / SLOT_BYTES < SLOT_COUNT) return (uint32_t)(offset / SLOT_BYTES);
    return SLOT_COUNT;
}

/* The lowest free places. NULL: there are none. */
static inline void *slot_place_take(slot_device *device, uint64_t bytes, int is_addresses)
{
    uint32_t need = (uint32_t)(bytes / SLOT_BYTES), first = 0, at;
    if (bytes % SLOT_BYTES || !bytes) device->blame("a size that is no multiple of 2 MiB");
    for (at = 0; at < SLOT_COUNT && at - first < need; at++) if (device->places[at].owner) first = at + 1;
    if (at - first < need) return NULL;
    device->range_count++;
    for (at = first; at < first + need; at++) {
        device->places[at].owner = device->range_count;
        device->places[at].is_addresses = (uint16_t)is_addresses;
    }
    return slot_pointer(device->base + first * SLOT_BYTES);
}

/* Exactly what was taken there. */
static inline void slot_place_leave(slot_device *device, const void *ptr, uint64_t bytes, int is_addresses)
{
    uint32_t first = slot_place_of(device, ptr), need = (uint32_t)(bytes / SLOT_BYTES), at;
    uint32_t owner = first < SLOT_COUNT ? device->places[first].owner : 0;
    if (first && owner && device->places[first - 1].owner == owner) device->blame("part of a range is given back");
    for (at = first; owner && at < SLOT_COUNT && device->places[at].owner == owner; at++) {
        if (device->places[at].page) device->blame("addresses are released that are mapped");
        if (device->places[at].is_addresses != is_addresses) device->blame("given back as what it is not");
        memset(&device->places[at], 0, sizeof device->places[at]);
    }
    if (at - first != need || !owner) device->blame("given back is what was never given");
}

static inline int slot_info(const gpuarena_driver *self, gpuarena_memory kind, uint64_t *free_bytes, uint64_t *total)
{
    (void)kind;
    slot_of(self)->begin(self, SLOT_INFO, 0);
    *free_bytes = slot_of(self)->total_bytes - slot_of(self)->held_bytes;
    *total = slot_of(self)->total_bytes;
    slot_of(self)->end(self, SLOT_INFO);
    return GPUARENA_STATUS_DONE;
}

static inline int slot_obtain(const gpuarena_driver *self, gpuarena_memory kind, void **ptr, uint64_t bytes,
                              gpuarena_stream stream)
{
    slot_device *device = slot_of(self);
    gpuarena_status status;
    void *made = NULL;
    (void)kind;
    (void)stream;
    status = device->begin(self, SLOT_OBTAIN, bytes);
    if (!status && bytes <= device->total_bytes - device->held_bytes) made = slot_place_take(device, bytes, 0);
    if (made) {
        device->held_bytes += bytes;
        *ptr = made;
    }
    device->end(self, SLOT_OBTAIN);
    return made || status ? (int)status : GPUARENA_STATUS_NO_MEMORY;
}

static inline void slot_wait_until(slot_device *device, uint64_t time_ns)
{
    uint64_t now = __atomic_load_n(&device->clock_ns, __ATOMIC_RELAXED);
    while (now < time_ns && !__atomic_compare_exchange_n(&device->clock_ns, &now, time_ns, 0, __ATOMIC_RELAXED,
                                                         __ATOMIC_RELAXED)) {}
}

static inline void slot_wait_all(slot_device *device)
{
    for (int at = 0; at < SLOT_STREAMS; at++)
        slot_wait_until(device, __atomic_load_n(&device->busy_until_ns[at], __ATOMIC_RELAXED));
}

static inline int slot_give_back(const gpuarena_driver *self, gpuarena_memory kind, void *ptr, uint64_t bytes,
                                 gpuarena_stream stream)
{
    slot_device *device = slot_of(self);
    gpuarena_status status = device->begin(self, SLOT_GIVE_BACK, 0);
    (void)stream;
    if (!status) {
        slot_place_leave(device, ptr, bytes, 0);
        device->held_bytes -= bytes;             /* as cudaFree waits, and cudaFreeHost need not: */
        if (kind == GPUARENA_MEMORY_DEVICE || kind == GPUARENA_MEMORY_MANAGED) slot_wait_all(device);
    }
    device->end(self, SLOT_GIVE_BACK);
    return (int)status;
}

/* ---- virtual memory */

static inline int slot_reserve(const gpuarena_driver *self, void **address, uint64_t bytes, uint64_t alignment)
{
    gpuarena_status status = slot_of(self)->begin(self, SLOT_RESERVE, 0);
    (void)alignment;
    *address = status ? NULL : slot_place_take(slot_of(self), bytes, 1);
    slot_of(self)->end(self, SLOT_RESERVE);
    return *address || status ? (int)status : GPUARENA_STATUS_NO_MEMORY;
}

static inline int slot_release(const gpuarena_driver *self, void *address, uint64_t bytes)
{
    gpuarena_status status = slot_of(self)->begin(self, SLOT_RELEASE, 0);
    if (!status) slot_place_leave(slot_of(self), address, bytes, 1);
    slot_of(self)->end(self, SLOT_RELEASE);
    return (int)status;
}

static inline int slot_create(const gpuarena_driver *self, uint64_t *page, uint64_t bytes, uint32_t traits)
{
    slot_device *device = slot_of(self);
    gpuarena_status status = device->begin(self, SLOT_CREATE, bytes);
    uint32_t at = 1;
    (void)traits;
    while (at < SLOT_COUNT && device->pages[at]) at++;
    if (!status && at < SLOT_COUNT && bytes <= device->total_bytes - device->held_bytes) {
        device->pages[at] = 1;
        device->held_bytes += bytes;
        *page = at;
    } else at = 0;
    device->end(self, SLOT_CREATE);
    return at || status ? (int)status : GPUARENA_STATUS_NO_MEMORY;
}

static inline int slot_destroy(const gpuarena_driver *self, uint64_t page, uint64_t bytes)
{
    slot_device *device = slot_of(self);
    gpuarena_status status = device->begin(self, SLOT_DESTROY, 0);
    if (page >= SLOT_COUNT || !device->pages[page]) device->blame("a page is destroyed that is none");
    else if (!status) {
        device->pages[page] = 0;
        device->held_bytes -= bytes;
    }
    device->end(self, SLOT_DESTROY);
    return (int)status;
}

static inline int slot_map(const gpuarena_driver *self, void *address, uint64_t bytes, uint64_t page)
{
    slot_device *device = slot_of(self);
    uint32_t at = slot_place_of(device, address);
    gpuarena_status status = device->begin(self, SLOT_MAP, 0);
    if (bytes != SLOT_BYTES || at == SLOT_COUNT || !device->places[at].is_addresses || device->places[at].page
        || page >= SLOT_COUNT || !device->pages[page]) device->blame("a page is mapped where it must not be");
    else if (!status) device->places[at].page = (uint16_t)page;
    device->end(self, SLOT_MAP);
    return (int)status;
}

/* Changes nothing, or unmaps; all of it must be mapped. */
static inline int slot_mapped(const gpuarena_driver *self, slot_call call, void *address, uint64_t bytes)
{
    slot_device *device = slot_of(self);
    uint32_t first = slot_place_of(device, address), end = first + (uint32_t)(bytes / SLOT_BYTES);
    gpuarena_status status = device->begin(self, call, 0);
    for (uint32_t at = first; at < end; at++) {
        if (at >= SLOT_COUNT || !device->places[at].page) device->blame("what is not mapped is opened or unmapped");
        else if (call == SLOT_UNMAP && !status) device->places[at].page = 0;
    }
    device->end(self, call);
    return (int)status;
}

static inline int slot_access(const gpuarena_driver *self, void *address, uint64_t bytes, uint32_t mode)
{
    (void)mode;
    return slot_mapped(self, SLOT_ACCESS, address, bytes);
}

static inline int slot_unmap(const gpuarena_driver *self, void *address, uint64_t bytes)
{
    return slot_mapped(self, SLOT_UNMAP, address, bytes);
}

#endif
