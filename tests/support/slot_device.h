/* A tiny device for tests of threads: segments, addresses and pages in slots of 2 MiB, streams and events. It judges
   what it is asked for. Its only lock is for memory, of which an arena makes one call at a time, and two arenas may
   make one each; events have none, lest it orders what threads do. Work of stream n ends at a time. The first
   streams' handles are n * 16; from SLOT_STREAMS on come threads' own, if the table has a handle for these.
   It must not know arenas, nor who runs the threads: hooks do. Included by thread_world.h. */
#ifndef TESTS_SLOT_DEVICE_H
#define TESTS_SLOT_DEVICE_H

#include <pthread.h>
#include <string.h>
#include "gpuarena.h"

#define KIB(count) ((uint64_t)(count) << 10)
#define MIB(count) ((uint64_t)(count) << 20)
#define SLOT_BYTES MIB(2)

enum { SLOT_COUNT = 1024, SLOT_STREAMS = 4, SLOT_OWNS = 65, SLOT_EVENTS = 256 };
typedef struct slot_place { uint32_t owner; uint16_t is_addresses, page; } slot_place;
typedef struct slot_device {
    gpuarena_driver table;
    /* When a call on memory begins and ends, and when another begins. claim_bytes: what it may make the device hold
       more; less_bytes: what of that it has not got, or has given back. */
    void (*begin)(const gpuarena_driver *self, uint64_t claim_bytes);
    void (*end)(const gpuarena_driver *self, uint64_t less_bytes);
    void (*begin_other)(void);
    void (*blame)(const char *what);
    int (*thread)(void);                         /* the number of its own stream. NULL: a stream as others are */
    pthread_mutex_t lock;                        /* of what follows, but for what is atomic */
    uint64_t total_bytes, held_bytes, base;      /* base: the first address, of this device alone */
    uint64_t tick_ns;                            /* the clock moves by it each time it is asked */
    uint64_t clock_ns, busy_until_ns[SLOT_STREAMS + SLOT_OWNS], event_done_ns[SLOT_EVENTS];  /* atomic, as */
    uint32_t event_count, range_count;           /*   several threads may use them */
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

/* A call on memory, from its beginning to its end; in between it has the lock. */
static inline slot_device *slot_enter(const gpuarena_driver *self, uint64_t claim_bytes)
{
    slot_of(self)->begin(self, claim_bytes);
    pthread_mutex_lock(&slot_of(self)->lock);
    return slot_of(self);
}

static inline int slot_leave(const gpuarena_driver *self, uint64_t less_bytes, int done)
{
    pthread_mutex_unlock(&slot_of(self)->lock);
    slot_of(self)->end(self, less_bytes);
    return done ? GPUARENA_STATUS_DONE : GPUARENA_STATUS_NO_MEMORY;
}

/* Takes so many bytes of the device's memory. 0: it has not so many. */
static inline int slot_hold(slot_device *device, uint64_t bytes)
{
    if (bytes > device->total_bytes - device->held_bytes) return 0;
    device->held_bytes += bytes;
    return 1;
}

static inline int slot_info(const gpuarena_driver *self, gpuarena_memory kind, uint64_t *free_bytes, uint64_t *total)
{
    const slot_device *device = slot_enter(self, 0);
    (void)kind;
    *free_bytes = device->total_bytes - device->held_bytes;
    *total = device->total_bytes;
    return slot_leave(self, 0, 1);
}

static inline int slot_obtain(const gpuarena_driver *self, gpuarena_memory kind, void **ptr, uint64_t bytes,
                              gpuarena_stream stream)
{
    slot_device *device = slot_enter(self, bytes);
    void *made = slot_hold(device, bytes) ? slot_place_take(device, bytes, 0) : NULL;
    (void)kind, (void)stream;
    if (made) *ptr = made;
    return slot_leave(self, made ? 0 : bytes, made != NULL);
}

/* ---- clock: of the device, and for each stream when its work ends */

static inline uint64_t slot_load(const uint64_t *time_ns) { return __atomic_load_n(time_ns, __ATOMIC_RELAXED); }

/* Later than it was, if need be. */
static inline void slot_raise(uint64_t *time_ns, uint64_t at_least)
{
    uint64_t now = slot_load(time_ns);
    while (now < at_least
           && !__atomic_compare_exchange_n(time_ns, &now, at_least, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}

static inline void slot_wait_all(slot_device *device)
{
    for (int at = 0; at < SLOT_STREAMS + SLOT_OWNS; at++)
        slot_raise(&device->clock_ns, slot_load(&device->busy_until_ns[at]));
}

static inline uint64_t slot_now_ns(const gpuarena_driver *self)
{
    return __atomic_add_fetch(&slot_of(self)->clock_ns, slot_of(self)->tick_ns, __ATOMIC_RELAXED);
}

/* Work of this stream that takes so long, behind what it has. */
static inline void slot_work(slot_device *device, int stream, uint64_t span_ns)
{
    slot_raise(&device->busy_until_ns[stream], slot_load(&device->clock_ns));
    __atomic_fetch_add(&device->busy_until_ns[stream], span_ns, __ATOMIC_RELAXED);
}

/* As cudaFree waits, and cudaFreeHost need not. */
static inline int slot_give_back(const gpuarena_driver *self, gpuarena_memory kind, void *ptr, uint64_t bytes,
                                 gpuarena_stream stream)
{
    slot_device *device = slot_enter(self, 0);
    (void)stream;
    slot_place_leave(device, ptr, bytes, 0);
    device->held_bytes -= bytes;
    if (kind == GPUARENA_MEMORY_DEVICE || kind == GPUARENA_MEMORY_MANAGED) slot_wait_all(device);
    return slot_leave(self, bytes, 1);
}

/* ---- virtual memory */

static inline int slot_reserve(const gpuarena_driver *self, void **address, uint64_t bytes, uint64_t alignment)
{
    slot_device *device = slot_enter(self, 0);
    (void)alignment;
    *address = slot_place_take(device, bytes, 1);
    return slot_leave(self, 0, *address != NULL);
}

static inline int slot_release(const gpuarena_driver *self, void *address, uint64_t bytes)
{
    slot_place_leave(slot_enter(self, 0), address, bytes, 1);
    return slot_leave(self, 0, 1);
}

static inline int slot_create(const gpuarena_driver *self, uint64_t *page, uint64_t bytes, uint32_t traits)
{
    slot_device *device = slot_enter(self, bytes);
    uint32_t at = 1;
    (void)traits;
    while (at < SLOT_COUNT && device->pages[at]) at++;
    int done = at < SLOT_COUNT && slot_hold(device, bytes);
    if (done) device->pages[*page = at] = 1;
    return slot_leave(self, done ? 0 : bytes, done);
}

static inline int slot_destroy(const gpuarena_driver *self, uint64_t page, uint64_t bytes)
{
    slot_device *device = slot_enter(self, 0);
    if (page >= SLOT_COUNT || !device->pages[page]) device->blame("a page is destroyed that is none");
    else {
        device->pages[page] = 0;
        device->held_bytes -= bytes;
    }
    return slot_leave(self, bytes, 1);
}

static inline int slot_map(const gpuarena_driver *self, void *address, uint64_t bytes, uint64_t page)
{
    slot_device *device = slot_enter(self, 0);
    uint32_t at = slot_place_of(device, address);
    if (bytes != SLOT_BYTES || at == SLOT_COUNT || !device->places[at].is_addresses || device->places[at].page
        || page >= SLOT_COUNT || !device->pages[page]) device->blame("a page is mapped where it must not be");
    else device->places[at].page = (uint16_t)page;
    return slot_leave(self, 0, 1);
}

/* Changes nothing, or unmaps; all of it must be mapped. */
static inline int slot_mapped(const gpuarena_driver *self, int unmaps, const void *address, uint64_t bytes)
{
    slot_device *device = slot_enter(self, 0);
    uint32_t first = slot_place_of(device, address), end = first + (uint32_t)(bytes / SLOT_BYTES);
    for (uint32_t at = first; at < end; at++) {
        if (at >= SLOT_COUNT || !device->places[at].page) device->blame("what is not mapped is opened or unmapped");
        else if (unmaps) device->places[at].page = 0;
    }
    return slot_leave(self, 0, 1);
}

static inline int slot_access(const gpuarena_driver *self, void *address, uint64_t bytes, uint32_t mode)
{
    return (void)mode, slot_mapped(self, 0, address, bytes);
}

static inline int slot_unmap(const gpuarena_driver *self, void *address, uint64_t bytes)
{
    return slot_mapped(self, 1, address, bytes);
}

/* ---- streams, events: an event is the time when what it was recorded behind is done */

static inline int slot_number(const slot_device *device, gpuarena_stream stream)
{
    intptr_t number = (intptr_t)stream / 16;
    if (device->thread && stream && stream == device->table.per_thread) return device->thread();
    if (number >= 0 && number < SLOT_STREAMS) return (int)number;
    device->blame("a stream that is none");
    return 0;
}

/* A call begins: when this stream's work ends; when what the event tells of ends. */
static inline uint64_t *slot_busy(const gpuarena_driver *self, gpuarena_stream stream)
{
    return &slot_of(self)->busy_until_ns[slot_number(slot_of(self), stream)];
}

static inline uint64_t *slot_event(const gpuarena_driver *self, const void *event)
{
    slot_device *device = slot_of(self);
    uint64_t number = slot_address(event);
    device->begin_other();
    if (number && number < SLOT_EVENTS && number <= __atomic_load_n(&device->event_count, __ATOMIC_RELAXED))
        return &device->event_done_ns[number];
    device->blame("an event that is none");
    return &device->event_done_ns[0];
}

static inline int slot_event_create(const gpuarena_driver *self, void **event)
{
    slot_of(self)->begin_other();
    uint32_t number = __atomic_add_fetch(&slot_of(self)->event_count, 1, __ATOMIC_RELAXED);
    *event = slot_pointer(number);
    return number < SLOT_EVENTS ? GPUARENA_STATUS_DONE : GPUARENA_STATUS_NO_MEMORY;
}

static inline int slot_event_destroy(const gpuarena_driver *self, void *event)
{
    return (void)slot_event(self, event), GPUARENA_STATUS_DONE;
}

static inline int slot_event_record(const gpuarena_driver *self, void *event, gpuarena_stream stream)
{
    uint64_t *done_ns = slot_event(self, event);
    __atomic_store_n(done_ns, slot_load(slot_busy(self, stream)), __ATOMIC_RELAXED);
    return GPUARENA_STATUS_DONE;
}

static inline int slot_event_query(const gpuarena_driver *self, void *event)
{
    uint64_t done_ns = slot_load(slot_event(self, event));
    return done_ns <= slot_now_ns(self) ? GPUARENA_STATUS_DONE : GPUARENA_STATUS_NOT_READY;
}

static inline int slot_event_host_wait(const gpuarena_driver *self, void *event)
{
    slot_raise(&slot_of(self)->clock_ns, slot_load(slot_event(self, event)));
    return GPUARENA_STATUS_DONE;
}

static inline int slot_event_stream_wait(const gpuarena_driver *self, gpuarena_stream stream, void *event)
{
    slot_raise(slot_busy(self, stream), slot_load(slot_event(self, event)));
    return GPUARENA_STATUS_DONE;
}

static inline int slot_device_wait(const gpuarena_driver *self)
{
    slot_of(self)->begin_other();
    slot_wait_all(slot_of(self));
    return GPUARENA_STATUS_DONE;
}

/* There is nothing to read what was cleared; but who has the memory, and that it is there, the hooks know. */
static inline int slot_clear(const gpuarena_driver *self, void *ptr, uint64_t bytes, gpuarena_stream stream)
{
    slot_device *device = slot_of(self);
    uint64_t offset = slot_address(ptr) - device->base;
    device->begin_other();
    for (uint64_t at = offset / SLOT_BYTES; at * SLOT_BYTES < offset + bytes; at++)
        if (at >= SLOT_COUNT || !device->places[at].owner
            || (device->places[at].is_addresses && !device->places[at].page)) {
            device->blame("what is not held is cleared");
            break;
        }
    slot_work(device, slot_number(device, stream), 1000);
    return GPUARENA_STATUS_DONE;
}

/* Zeroes all; hooks are the caller's to set. number: from 1, of a device of its own addresses. */
static inline void slot_open(slot_device *device, int number, uint64_t total_bytes)
{
    static const gpuarena_driver table = {
        .now_ns = slot_now_ns, .page_bytes = SLOT_BYTES,
        .memory = { slot_info, slot_obtain, slot_give_back },
        .vm = { slot_reserve, slot_release, slot_create, slot_destroy, slot_map, slot_access, slot_unmap },
        .events = { slot_event_create, slot_event_destroy, slot_event_record, slot_event_query, slot_event_host_wait,
                    slot_event_stream_wait, slot_device_wait },
        .clear = slot_clear };
    memset(device, 0, sizeof *device);
    device->base = (uint64_t)number << 43;
    device->total_bytes = total_bytes;
    pthread_mutex_init(&device->lock, NULL);
    device->table = table;
    device->table.user = device;
}

/* "": nothing is held. */
static inline const char *slot_left(const slot_device *device)
{
    if (device->held_bytes) return "device memory is left";
    for (int at = 0; at < SLOT_COUNT; at++) if (device->places[at].owner) return "addresses are left";
    for (int at = 0; at < SLOT_COUNT; at++) if (device->pages[at]) return "pages are left";
    return "";
}

#endif
