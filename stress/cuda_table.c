/* The counting table: memory calls on the list, the rest as it is.
   It must not know what the memory is for.
   Tested by tests/test_device*.c on the libcudart substitute, by tests/gpu.t on a GPU. */
#include "cuda_table.h"

#ifndef GPUARENA_NO_CUDA

#include <cuda_runtime_api.h>

#include <string.h>

static gpuarena_status cuda_table_classify(const gpuarena_driver *table, int code)
{
    const cuda_table *self = table->user;
    return self->inner.classify(&self->inner, code);
}

static const char *cuda_table_code_name(const gpuarena_driver *table, int code)
{
    const cuda_table *self = table->user;
    return self->inner.code_name(&self->inner, code);
}

static int cuda_table_info(const gpuarena_driver *table, gpuarena_memory kind, uint64_t *free_bytes,
                           uint64_t *total_bytes)
{
    const cuda_table *self = table->user;
    return self->inner.memory.info(&self->inner, kind, free_bytes, total_bytes);
}

/* What cannot be put on the list would be lost: it is not even asked for. */
static int cuda_table_obtain(const gpuarena_driver *table, gpuarena_memory kind, void **ptr, uint64_t bytes,
                             gpuarena_stream stream)
{
    cuda_table *self = table->user;
    if (device_ranges_reserve(&self->ranges)) return (int)cudaErrorUnknown;
    self->calls++;
    int code = self->inner.memory.obtain(&self->inner, kind, ptr, bytes, stream);
    if (code || !*ptr || !bytes) return code;
    device_ranges_add(&self->ranges, (uint64_t)(uintptr_t)*ptr, bytes);
    uint64_t held_bytes = device_ranges_bytes(&self->ranges);
    if (held_bytes > self->held_peak_bytes) self->held_peak_bytes = held_bytes;
    return code;
}

static int cuda_table_give_back(const gpuarena_driver *table, gpuarena_memory kind, void *ptr, uint64_t bytes,
                                gpuarena_stream stream)
{
    cuda_table *self = table->user;
    self->calls++;
    int code = self->inner.memory.give_back(&self->inner, kind, ptr, bytes, stream);
    if (!code) device_ranges_remove(&self->ranges, (uint64_t)(uintptr_t)ptr);
    return code;
}

static uint64_t cuda_table_now_ns(const gpuarena_driver *table)
{
    const cuda_table *self = table->user;
    return self->inner.now_ns(&self->inner);
}

static int cuda_table_event_create(const gpuarena_driver *table, void **event)
{
    const cuda_table *self = table->user;
    return self->inner.events.create(&self->inner, event);
}

static int cuda_table_event_destroy(const gpuarena_driver *table, void *event)
{
    const cuda_table *self = table->user;
    return self->inner.events.destroy(&self->inner, event);
}

static int cuda_table_event_record(const gpuarena_driver *table, void *event, gpuarena_stream stream)
{
    const cuda_table *self = table->user;
    return self->inner.events.record(&self->inner, event, stream);
}

static int cuda_table_event_query(const gpuarena_driver *table, void *event)
{
    const cuda_table *self = table->user;
    return self->inner.events.query(&self->inner, event);
}

static int cuda_table_host_wait(const gpuarena_driver *table, void *event)
{
    const cuda_table *self = table->user;
    return self->inner.events.host_wait(&self->inner, event);
}

static int cuda_table_stream_wait(const gpuarena_driver *table, gpuarena_stream stream, void *event)
{
    const cuda_table *self = table->user;
    return self->inner.events.stream_wait(&self->inner, stream, event);
}

static int cuda_table_device_wait(const gpuarena_driver *table)
{
    const cuda_table *self = table->user;
    return self->inner.events.device_wait(&self->inner);
}

static int cuda_table_active(const gpuarena_driver *table, gpuarena_stream stream, int *active)
{
    const cuda_table *self = table->user;
    return self->inner.capture.active(&self->inner, stream, active);
}

static int cuda_table_exchange_mode(const gpuarena_driver *table, int *mode)
{
    const cuda_table *self = table->user;
    return self->inner.capture.exchange_mode(&self->inner, mode);
}

static void cuda_table_fill_events(gpuarena_driver *driver)
{
    driver->events.create = cuda_table_event_create;
    driver->events.destroy = cuda_table_event_destroy;
    driver->events.record = cuda_table_event_record;
    driver->events.query = cuda_table_event_query;
    driver->events.host_wait = cuda_table_host_wait;
    driver->events.stream_wait = cuda_table_stream_wait;
    driver->events.device_wait = cuda_table_device_wait;
}

void cuda_table_fill(cuda_table *self, gpuarena_driver *driver)
{
    memset(driver, 0, sizeof *driver);
    driver->user = self;
    driver->device = self->inner.device;
    driver->null_is_per_thread = self->inner.null_is_per_thread;
    driver->per_thread = self->inner.per_thread;
    driver->classify = cuda_table_classify;
    driver->code_name = cuda_table_code_name;
    driver->memory.info = cuda_table_info;
    driver->memory.obtain = cuda_table_obtain;
    driver->memory.give_back = cuda_table_give_back;
    driver->now_ns = cuda_table_now_ns;
    cuda_table_fill_events(driver);
    driver->capture.active = cuda_table_active;
    driver->capture.exchange_mode = cuda_table_exchange_mode;
}

uint64_t cuda_table_clear(cuda_table *self, int *failed)
{
    uint64_t kept_bytes = 0;
    for (size_t at = 0; at < self->ranges.held.capacity; at++) {
        const device_range *range = &self->ranges.held.slots[at];
        void *ptr = (void *)(uintptr_t)range->address;
        if (!range->bytes) continue;
        int code = self->inner.memory.give_back(&self->inner, GPUARENA_MEMORY_DEVICE, ptr, range->bytes, NULL);
        if (!code) continue;
        *failed = code;
        kept_bytes += range->bytes;
    }
    device_ranges_clear(&self->ranges);
    return kept_bytes;
}

#endif
