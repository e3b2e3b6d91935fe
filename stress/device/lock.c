/* Each entry: in, the call, out.
   It must not know what the entries do.
   Tested by tests/test_pass_threads.c. */
#include "lock.h"

#include <pthread.h>
#include <stdlib.h>

struct device_lock {
    gpuarena_driver behind;
    pthread_mutex_t mutex;
    int             with_streams;
};

static __thread uint64_t device_lock_called;     /* each thread its own: counting keeps nobody waiting */

uint64_t device_lock_calls(void)
{
    return device_lock_called;
}

static const gpuarena_driver *device_lock_enter(const gpuarena_driver *self, int is_locked)
{
    device_lock *lock = self->user;
    if (is_locked) pthread_mutex_lock(&lock->mutex);
    return &lock->behind;
}

static void device_lock_leave(const gpuarena_driver *self, int is_locked)
{
    device_lock *lock = self->user;
    if (is_locked) pthread_mutex_unlock(&lock->mutex);
}

static int device_lock_streams(const gpuarena_driver *self)
{
    const device_lock *lock = self->user;
    return lock->with_streams;
}

/* An entry of a group, its parameters behind the table, and their names; those on memory are counted. */
#define DEVICE_LOCK_ENTRY_IF(is_locked, is_counted, group, name, parameters, names) \
    static int device_lock_##group##_##name parameters \
    { \
        int locked = is_locked; \
        device_lock_called += is_counted; \
        const gpuarena_driver *behind = device_lock_enter(self, locked); \
        int code = behind->group.name names; \
        device_lock_leave(self, locked); \
        return code; \
    }
#define DEVICE_LOCK_ENTRY(group, name, parameters, names) \
    DEVICE_LOCK_ENTRY_IF(1, 0, group, name, parameters, names)
#define DEVICE_LOCK_COUNTED_ENTRY(group, name, parameters, names) \
    DEVICE_LOCK_ENTRY_IF(1, 1, group, name, parameters, names)
#define DEVICE_LOCK_STREAM_ENTRY(group, name, parameters, names) \
    DEVICE_LOCK_ENTRY_IF(device_lock_streams(self), 0, group, name, parameters, names)
DEVICE_LOCK_ENTRY(memory, info, (const gpuarena_driver *self, gpuarena_memory kind, uint64_t *free_bytes,
                                 uint64_t *total_bytes), (behind, kind, free_bytes, total_bytes))
DEVICE_LOCK_COUNTED_ENTRY(memory, obtain, (const gpuarena_driver *self, gpuarena_memory kind, void **ptr,
                                           uint64_t bytes, gpuarena_stream stream),
                                           (behind, kind, ptr, bytes, stream))
DEVICE_LOCK_COUNTED_ENTRY(memory, give_back, (const gpuarena_driver *self, gpuarena_memory kind, void *ptr,
                                              uint64_t bytes, gpuarena_stream stream),
                          (behind, kind, ptr, bytes, stream))
DEVICE_LOCK_COUNTED_ENTRY(vm, reserve, (const gpuarena_driver *self, void **address, uint64_t bytes,
                                        uint64_t alignment), (behind, address, bytes, alignment))
DEVICE_LOCK_COUNTED_ENTRY(vm, release, (const gpuarena_driver *self, void *address, uint64_t bytes),
                          (behind, address, bytes))
DEVICE_LOCK_COUNTED_ENTRY(vm, create, (const gpuarena_driver *self, uint64_t *page, uint64_t bytes, uint32_t traits),
                          (behind, page, bytes, traits))
DEVICE_LOCK_COUNTED_ENTRY(vm, destroy, (const gpuarena_driver *self, uint64_t page, uint64_t bytes),
                          (behind, page, bytes))
DEVICE_LOCK_COUNTED_ENTRY(vm, map, (const gpuarena_driver *self, void *address, uint64_t bytes, uint64_t page),
                          (behind, address, bytes, page))
DEVICE_LOCK_COUNTED_ENTRY(vm, access, (const gpuarena_driver *self, void *address, uint64_t bytes, uint32_t mode),
                          (behind, address, bytes, mode))
DEVICE_LOCK_COUNTED_ENTRY(vm, unmap, (const gpuarena_driver *self, void *address, uint64_t bytes),
                          (behind, address, bytes))
DEVICE_LOCK_STREAM_ENTRY(events, create, (const gpuarena_driver *self, void **event), (behind, event))
DEVICE_LOCK_STREAM_ENTRY(events, destroy, (const gpuarena_driver *self, void *event), (behind, event))
DEVICE_LOCK_STREAM_ENTRY(events, record, (const gpuarena_driver *self, void *event, gpuarena_stream stream),
                         (behind, event, stream))
DEVICE_LOCK_STREAM_ENTRY(events, query, (const gpuarena_driver *self, void *event), (behind, event))
DEVICE_LOCK_STREAM_ENTRY(events, host_wait, (const gpuarena_driver *self, void *event), (behind, event))
DEVICE_LOCK_STREAM_ENTRY(events, stream_wait, (const gpuarena_driver *self, gpuarena_stream stream, void *event),
                         (behind, stream, event))
DEVICE_LOCK_STREAM_ENTRY(events, device_wait, (const gpuarena_driver *self), (behind))
DEVICE_LOCK_STREAM_ENTRY(capture, active, (const gpuarena_driver *self, gpuarena_stream stream, int *active),
                         (behind, stream, active))
DEVICE_LOCK_STREAM_ENTRY(capture, exchange_mode, (const gpuarena_driver *self, int *mode), (behind, mode))

/* The meaning of codes is constant: nobody is kept out. */
static gpuarena_status device_lock_classify(const gpuarena_driver *self, int code)
{
    const gpuarena_driver *behind = device_lock_enter(self, 0);
    return behind->classify(behind, code);
}

static const char *device_lock_code_name(const gpuarena_driver *self, int code)
{
    const gpuarena_driver *behind = device_lock_enter(self, 0);
    return behind->code_name(behind, code);
}

static uint64_t device_lock_now_ns(const gpuarena_driver *self)
{
    const gpuarena_driver *behind = device_lock_enter(self, 1);
    uint64_t now_ns = behind->now_ns(behind);
    device_lock_leave(self, 1);
    return now_ns;
}

static int device_lock_clear(const gpuarena_driver *self, void *ptr, uint64_t bytes, gpuarena_stream stream)
{
    int locked = device_lock_streams(self);
    const gpuarena_driver *behind = device_lock_enter(self, locked);
    int code = behind->clear(behind, ptr, bytes, stream);
    device_lock_leave(self, locked);
    return code;
}

/* What is not there behind the lock is not there in front of it. */
#define DEVICE_LOCK_PUT(group, name) if (driver->group.name) driver->group.name = device_lock_##group##_##name

static void device_lock_put_memory(gpuarena_driver *driver)
{
    DEVICE_LOCK_PUT(memory, info);
    DEVICE_LOCK_PUT(memory, obtain);
    DEVICE_LOCK_PUT(memory, give_back);
    DEVICE_LOCK_PUT(vm, reserve);
    DEVICE_LOCK_PUT(vm, release);
    DEVICE_LOCK_PUT(vm, create);
    DEVICE_LOCK_PUT(vm, destroy);
    DEVICE_LOCK_PUT(vm, map);
    DEVICE_LOCK_PUT(vm, access);
    DEVICE_LOCK_PUT(vm, unmap);
}

static void device_lock_put_streams(gpuarena_driver *driver)
{
    DEVICE_LOCK_PUT(events, create);
    DEVICE_LOCK_PUT(events, destroy);
    DEVICE_LOCK_PUT(events, record);
    DEVICE_LOCK_PUT(events, query);
    DEVICE_LOCK_PUT(events, host_wait);
    DEVICE_LOCK_PUT(events, stream_wait);
    DEVICE_LOCK_PUT(events, device_wait);
    DEVICE_LOCK_PUT(capture, active);
    DEVICE_LOCK_PUT(capture, exchange_mode);
    if (driver->clear) driver->clear = device_lock_clear;
}

device_lock *device_lock_open(gpuarena_driver *driver, int with_streams)
{
    device_lock *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    if (pthread_mutex_init(&made->mutex, NULL)) {
        free(made);
        return NULL;
    }
    made->behind = *driver;
    made->with_streams = with_streams;
    driver->user = made;
    if (driver->classify) driver->classify = device_lock_classify;
    if (driver->code_name) driver->code_name = device_lock_code_name;
    if (driver->now_ns) driver->now_ns = device_lock_now_ns;
    device_lock_put_memory(driver);
    device_lock_put_streams(driver);
    return made;
}

void device_lock_close(device_lock *self)
{
    if (!self) return;
    pthread_mutex_destroy(&self->mutex);
    free(self);
}
