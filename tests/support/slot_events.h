/* The rest of the slot device: its clock, streams and events, and opening it.
   It must not know arenas, nor who runs the threads. Work of stream n, whose handle is n * 16, ends at a time.
   Included by schedule_world.h and thread_world.h. */
#ifndef TESTS_SLOT_EVENTS_H
#define TESTS_SLOT_EVENTS_H

#include "slot_device.h"

static inline uint64_t slot_now_ns(const gpuarena_driver *self)
{
    return __atomic_add_fetch(&slot_of(self)->clock_ns, slot_of(self)->tick_ns, __ATOMIC_RELAXED);
}

static inline uint64_t *slot_busy(slot_device *device, gpuarena_stream stream)
{
    intptr_t number = (intptr_t)stream / 16;
    if (number >= 0 && number < SLOT_STREAMS) return &device->busy_until_ns[number];
    device->blame("a stream that is none");
    return &device->busy_until_ns[0];
}

static inline uint64_t *slot_event(slot_device *device, const void *event)
{
    uint64_t number = slot_address(event);
    if (number && number < SLOT_EVENTS && number <= __atomic_load_n(&device->event_count, __ATOMIC_RELAXED))
        return &device->event_done_ns[number];
    device->blame("an event that is none");
    return &device->event_done_ns[0];
}

/* Later than it was, if need be. */
static inline void slot_raise(uint64_t *time_ns, uint64_t at_least)
{
    uint64_t now = __atomic_load_n(time_ns, __ATOMIC_RELAXED);
    while (now < at_least
           && !__atomic_compare_exchange_n(time_ns, &now, at_least, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}

/* Work of this stream that takes so long, behind what it has. */
static inline void slot_work(slot_device *device, int stream, uint64_t span_ns)
{
    slot_raise(&device->busy_until_ns[stream], __atomic_load_n(&device->clock_ns, __ATOMIC_RELAXED));
    __atomic_fetch_add(&device->busy_until_ns[stream], span_ns, __ATOMIC_RELAXED);
}

static inline int slot_event_create(const gpuarena_driver *self, void **event)
{
    uint32_t number;
    (void)slot_of(self)->begin(self, SLOT_EVENT, 0);
    number = __atomic_add_fetch(&slot_of(self)->event_count, 1, __ATOMIC_RELAXED);
    *event = slot_pointer(number);
    slot_of(self)->end(self, SLOT_EVENT);
    return number < SLOT_EVENTS ? GPUARENA_STATUS_DONE : GPUARENA_STATUS_NO_MEMORY;
}

static inline int slot_event_destroy(const gpuarena_driver *self, void *event)
{
    (void)slot_of(self)->begin(self, SLOT_EVENT, 0);
    (void)slot_event(slot_of(self), event);
    slot_of(self)->end(self, SLOT_EVENT);
    return GPUARENA_STATUS_DONE;
}

static inline int slot_event_record(const gpuarena_driver *self, void *event, gpuarena_stream stream)
{
    slot_device *device = slot_of(self);
    (void)device->begin(self, SLOT_EVENT, 0);
    __atomic_store_n(slot_event(device, event), __atomic_load_n(slot_busy(device, stream), __ATOMIC_RELAXED),
                     __ATOMIC_RELAXED);
    device->end(self, SLOT_EVENT);
    return GPUARENA_STATUS_DONE;
}

static inline int slot_event_query(const gpuarena_driver *self, void *event)
{
    uint64_t done_ns;
    (void)slot_of(self)->begin(self, SLOT_EVENT, 0);
    done_ns = __atomic_load_n(slot_event(slot_of(self), event), __ATOMIC_RELAXED);
    slot_of(self)->end(self, SLOT_EVENT);
    return done_ns <= slot_now_ns(self) ? GPUARENA_STATUS_DONE : GPUARENA_STATUS_NOT_READY;
}

static inline int slot_event_host_wait(const gpuarena_driver *self, void *event)
{
    (void)slot_of(self)->begin(self, SLOT_HOST_WAIT, 0);
    slot_wait_until(slot_of(self), __atomic_load_n(slot_event(slot_of(self), event), __ATOMIC_RELAXED));
    slot_of(self)->end(self, SLOT_HOST_WAIT);
    return GPUARENA_STATUS_DONE;
}

static inline int slot_event_stream_wait(const gpuarena_driver *self, gpuarena_stream stream, void *event)
{
    slot_device *device = slot_of(self);
    (void)device->begin(self, SLOT_EVENT, 0);
    slot_raise(slot_busy(device, stream), __atomic_load_n(slot_event(device, event), __ATOMIC_RELAXED));
    device->end(self, SLOT_EVENT);
    return GPUARENA_STATUS_DONE;
}

static inline int slot_device_wait(const gpuarena_driver *self)
{
    (void)slot_of(self)->begin(self, SLOT_DEVICE_WAIT, 0);
    slot_wait_all(slot_of(self));
    slot_of(self)->end(self, SLOT_DEVICE_WAIT);
    return GPUARENA_STATUS_DONE;
}

/* There is nothing to read what was cleared; but who has the memory, and that it is there, the hooks know. */
static inline int slot_clear(const gpuarena_driver *self, void *ptr, uint64_t bytes, gpuarena_stream stream)
{
    slot_device *device = slot_of(self);
    uint64_t offset = slot_address(ptr) - device->base;
    (void)stream;
    gpuarena_status status = device->begin(self, SLOT_CLEAR, 0);
    for (uint64_t at = offset / SLOT_BYTES; at * SLOT_BYTES < offset + bytes; at++)
        if (at >= SLOT_COUNT || !device->places[at].owner
            || (device->places[at].is_addresses && !device->places[at].page)) {
            device->blame("what is not held is cleared");
            break;
        }
    device->end(self, SLOT_CLEAR);
    return (int)status;
}

/* Zeroes all; hooks are the caller's to set. number: from 1, of a device of its own addresses. */
static inline void slot_open(slot_device *device, int number, uint64_t total_bytes)
{
    memset(device, 0, sizeof *device);
    device->base = (uint64_t)number << 43;
    device->total_bytes = total_bytes;
    device->table.user = device;
    device->table.now_ns = slot_now_ns;
    device->table.page_bytes = SLOT_BYTES;
    device->table.memory.info = slot_info;
    device->table.memory.obtain = slot_obtain;
    device->table.memory.give_back = slot_give_back;
    device->table.vm.reserve = slot_reserve;
    device->table.vm.release = slot_release;
    device->table.vm.create = slot_create;
    device->table.vm.destroy = slot_destroy;
    device->table.vm.map = slot_map;
    device->table.vm.access = slot_access;
    device->table.vm.unmap = slot_unmap;
    device->table.clear = slot_clear;
    device->table.events.create = slot_event_create;
    device->table.events.destroy = slot_event_destroy;
    device->table.events.record = slot_event_record;
    device->table.events.query = slot_event_query;
    device->table.events.host_wait = slot_event_host_wait;
    device->table.events.stream_wait = slot_event_stream_wait;
    device->table.events.device_wait = slot_device_wait;
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
