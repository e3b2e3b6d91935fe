/* The table: addresses and page handles count upwards, and all else is done already.
   It must not allocate, lock or ask the system for anything. */
#include "null_driver.h"

#include <string.h>

#define NULL_DRIVER_TOTAL ((uint64_t)256 << 30)
#define NULL_DRIVER_PAGE  ((uint64_t)2 << 20)

static uint64_t null_driver_address = NULL_DRIVER_PAGE;
static uint64_t null_driver_page;

static int null_driver_info(const gpuarena_driver *self, gpuarena_memory kind, uint64_t *free_bytes,
                            uint64_t *total_bytes)
{
    (void)self; (void)kind;
    *free_bytes = *total_bytes = NULL_DRIVER_TOTAL;
    return GPUARENA_STATUS_DONE;
}

/* A page lies between two ranges, so that they never touch. */
static void *null_driver_range(uint64_t bytes)
{
    uint64_t taken = (bytes + 2 * NULL_DRIVER_PAGE - 1) / NULL_DRIVER_PAGE * NULL_DRIVER_PAGE;
    return (void *)(uintptr_t)__atomic_fetch_add(&null_driver_address, taken, __ATOMIC_RELAXED);
}

static int null_driver_obtain(const gpuarena_driver *self, gpuarena_memory kind, void **ptr, uint64_t bytes,
                              gpuarena_stream stream)
{
    (void)self; (void)kind; (void)stream;
    *ptr = null_driver_range(bytes);
    return GPUARENA_STATUS_DONE;
}

static int null_driver_give_back(const gpuarena_driver *self, gpuarena_memory kind, void *ptr, uint64_t bytes,
                                 gpuarena_stream stream)
{
    (void)self; (void)kind; (void)ptr; (void)bytes; (void)stream;
    return GPUARENA_STATUS_DONE;
}

static int null_driver_reserve(const gpuarena_driver *self, void **address, uint64_t bytes, uint64_t alignment)
{
    (void)self;
    if (alignment > NULL_DRIVER_PAGE) return GPUARENA_STATUS_NOT_SUPPORTED;
    *address = null_driver_range(bytes);
    return GPUARENA_STATUS_DONE;
}

static int null_driver_create(const gpuarena_driver *self, uint64_t *page, uint64_t bytes, uint32_t traits)
{
    (void)self; (void)bytes; (void)traits;
    *page = __atomic_add_fetch(&null_driver_page, 1, __ATOMIC_RELAXED);
    return GPUARENA_STATUS_DONE;
}

static int null_driver_destroy(const gpuarena_driver *self, uint64_t page, uint64_t bytes)
{
    (void)self; (void)page; (void)bytes;
    return GPUARENA_STATUS_DONE;
}

static int null_driver_map(const gpuarena_driver *self, void *address, uint64_t bytes, uint64_t page)
{
    (void)self; (void)address; (void)bytes; (void)page;
    return GPUARENA_STATUS_DONE;
}

static int null_driver_access(const gpuarena_driver *self, void *address, uint64_t bytes, uint32_t mode)
{
    (void)self; (void)address; (void)bytes; (void)mode;
    return GPUARENA_STATUS_DONE;
}

static int null_driver_addresses(const gpuarena_driver *self, void *address, uint64_t bytes)
{
    (void)self; (void)address; (void)bytes;
    return GPUARENA_STATUS_DONE;
}

static int null_driver_event_create(const gpuarena_driver *self, void **event)
{
    static char null_driver_event;
    (void)self;
    *event = &null_driver_event;
    return GPUARENA_STATUS_DONE;
}

static int null_driver_event(const gpuarena_driver *self, void *event)
{
    (void)self; (void)event;
    return GPUARENA_STATUS_DONE;
}

static int null_driver_record(const gpuarena_driver *self, void *event, gpuarena_stream stream)
{
    (void)self; (void)event; (void)stream;
    return GPUARENA_STATUS_DONE;
}

static int null_driver_stream_wait(const gpuarena_driver *self, gpuarena_stream stream, void *event)
{
    (void)self; (void)stream; (void)event;
    return GPUARENA_STATUS_DONE;
}

static int null_driver_device_wait(const gpuarena_driver *self)
{
    (void)self;
    return GPUARENA_STATUS_DONE;
}

void null_driver_fill(gpuarena_driver *driver)
{
    memset(driver, 0, sizeof *driver);
    driver->page_bytes = NULL_DRIVER_PAGE;
    driver->memory.info = null_driver_info;
    driver->memory.obtain = null_driver_obtain;
    driver->memory.give_back = null_driver_give_back;
    driver->vm.reserve = null_driver_reserve;
    driver->vm.release = null_driver_addresses;
    driver->vm.create = null_driver_create;
    driver->vm.destroy = null_driver_destroy;
    driver->vm.map = null_driver_map;
    driver->vm.access = null_driver_access;
    driver->vm.unmap = null_driver_addresses;
    driver->events.create = null_driver_event_create;
    driver->events.destroy = null_driver_event;
    driver->events.record = null_driver_record;
    driver->events.query = null_driver_event;
    driver->events.host_wait = null_driver_event;
    driver->events.stream_wait = null_driver_stream_wait;
    driver->events.device_wait = null_driver_device_wait;
}
