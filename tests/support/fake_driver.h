/* A tiny made-up device: addresses from nowhere, and a ledger of what is held.
   It must not know of the arena's policies: it sees driver and host memory calls and judges their legality. Faults,
   streams and virtual memory are the simulated device's. Included by the tests of the header. */
#ifndef TESTS_FAKE_DRIVER_H
#define TESTS_FAKE_DRIVER_H

#include <stdlib.h>
#include <string.h>
#include "gpuarena.h"

#define KIB(count) ((uint64_t)(count) << 10)
#define MIB(count) ((uint64_t)(count) << 20)
#define GIB(count) ((uint64_t)(count) << 30)
#define FAKE_GRANULE MIB(2)

enum { FAKE_MAX_RANGES = 4096, FAKE_POISONED_BYTES = 1 << 18 };
typedef enum fake_call { FAKE_INFO, FAKE_OBTAIN, FAKE_GIVE_BACK, FAKE_CALL_KINDS } fake_call;

typedef struct fake_range { uint64_t address, bytes; } fake_range;

typedef union fake_header {                      /* before each host block: its size, and the list of kept ones */
    struct { size_t bytes; union fake_header *next; } tie;
    long double alignment;
} fake_header;

typedef struct fake_device {
    gpuarena_driver table;
    uint64_t total_bytes, held_bytes;
    uint64_t wrong_count;                        /* illegal calls: sizes, ranges never given, wrong host sizes */
    uint64_t calls[FAKE_CALL_KINDS];
    uint64_t host_bytes, base_address;
    int      keep_host;                          /* 1: freed host memory stays readable until fake_close */
    int      no_host;                            /* 1: there is no host memory */
    fake_header *kept;
    size_t range_count;
    fake_range ranges[FAKE_MAX_RANGES];          /* by address */
} fake_device;

/* The pointer that stands for an address of the device, and back. */
static inline void *fake_pointer(uint64_t address) { return (void *)(uintptr_t)address; }
static inline uint64_t fake_address(const void *ptr) { return (uint64_t)(uintptr_t)ptr; }
static inline gpuarena_stream fake_stream(int number) { return (gpuarena_stream)(intptr_t)(number * 16); }

static inline fake_device *fake_of(const gpuarena_driver *self) { return (fake_device *)self->user; }

/* Index of the first range that ends after the address. */
static inline size_t fake_find(const fake_device *device, uint64_t address)
{
    size_t low = 0, high = device->range_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (device->ranges[middle].address + device->ranges[middle].bytes <= address) low = middle + 1;
        else high = middle;
    }
    return low;
}

static inline int fake_info(const gpuarena_driver *self, gpuarena_memory kind, uint64_t *free_bytes,
                            uint64_t *total_bytes)
{
    fake_device *device = fake_of(self);
    device->calls[FAKE_INFO]++;
    if (kind != GPUARENA_MEMORY_DEVICE) device->wrong_count++;
    *total_bytes = device->total_bytes;
    *free_bytes = device->total_bytes - device->held_bytes;
    return 0;
}

/* At the lowest free address. */
static inline int fake_obtain(const gpuarena_driver *self, gpuarena_memory kind, void **ptr, uint64_t bytes,
                              gpuarena_stream stream)
{
    fake_device *device = fake_of(self);
    fake_range made = { device->base_address, bytes };
    size_t at = 0;
    (void)stream;
    device->calls[FAKE_OBTAIN]++;
    if (bytes == 0 || bytes % FAKE_GRANULE != 0 || kind != GPUARENA_MEMORY_DEVICE) device->wrong_count++;
    if (device->range_count == FAKE_MAX_RANGES || bytes > device->total_bytes - device->held_bytes)
        return GPUARENA_STATUS_NO_MEMORY;
    for (; at < device->range_count && device->ranges[at].address - made.address < bytes; at++)
        made.address = device->ranges[at].address + device->ranges[at].bytes;
    memmove(&device->ranges[at + 1], &device->ranges[at], (device->range_count - at) * sizeof device->ranges[0]);
    device->ranges[at] = made;
    device->range_count++;
    device->held_bytes += bytes;
    *ptr = fake_pointer(made.address);
    return GPUARENA_STATUS_DONE;
}

static inline int fake_give_back(const gpuarena_driver *self, gpuarena_memory kind, void *ptr, uint64_t bytes,
                                 gpuarena_stream stream)
{
    fake_device *device = fake_of(self);
    size_t index = fake_find(device, fake_address(ptr));
    (void)stream;
    (void)kind;
    device->calls[FAKE_GIVE_BACK]++;
    if (index == device->range_count || device->ranges[index].address != fake_address(ptr)
        || device->ranges[index].bytes != bytes) {
        device->wrong_count++;
        return GPUARENA_STATUS_DONE;
    }
    memmove(&device->ranges[index], &device->ranges[index + 1],
            (device->range_count - index - 1) * sizeof device->ranges[0]);
    device->range_count--;
    device->held_bytes -= bytes;
    return GPUARENA_STATUS_DONE;
}

static inline void *fake_host_alloc(size_t bytes, void *user)
{
    fake_device *device = user;
    fake_header *header = device->no_host ? NULL : malloc(sizeof *header + bytes);
    if (!header) return NULL;
    header->tie.bytes = bytes;
    header->tie.next = NULL;
    memset(header + 1, 0xA5, bytes < FAKE_POISONED_BYTES ? bytes : FAKE_POISONED_BYTES);
    device->host_bytes += bytes;
    return header + 1;
}

static inline void fake_host_free(void *memory, size_t bytes, void *user)
{
    fake_device *device = user;
    fake_header *header = (fake_header *)memory - 1;
    if (header->tie.bytes != bytes) device->wrong_count++;
    device->host_bytes -= header->tie.bytes;
    if (!device->keep_host) {
        free(header);
        return;
    }
    header->tie.next = device->kept;
    device->kept = header;
}

/* Opens a device of its own address space. */
static inline void fake_open(fake_device *device, uint64_t total_bytes)
{
    static uint64_t opened;
    memset(device, 0, sizeof *device);
    device->total_bytes = total_bytes;
    device->base_address = (1 + opened++ % 4096) << 43;
    device->table.user = device;
    device->table.device = 3;
    device->table.memory.info = fake_info;
    device->table.memory.obtain = fake_obtain;
    device->table.memory.give_back = fake_give_back;
}

/* Frees what keep_host kept. 1: the ledger is empty, all host memory came back, and every call was legal. */
static inline int fake_close(fake_device *device)
{
    while (device->kept) {
        fake_header *header = device->kept;
        device->kept = header->tie.next;
        free(header);
    }
    return device->held_bytes == 0 && device->range_count == 0 && device->host_bytes == 0 && device->wrong_count == 0;
}

/* A configuration for the device: its host memory too, no environment, all else at zero. */
static inline gpuarena_config fake_config(fake_device *device)
{
    gpuarena_config config = GPUARENA_INIT;
    config.driver = &device->table;
    config.environment = "";
    config.host_alloc = fake_host_alloc;
    config.host_free = fake_host_free;
    config.host_user = device;
    return config;
}

#endif
