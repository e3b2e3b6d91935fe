/* The slot device for tests of single arenas: segments alone, and a ledger of driver calls and host memory.
   It must not know of the arena's policies. Faults, streams and virtual memory are the simulated device's.
   Included by the tests of the header. */
#ifndef TESTS_FAKE_DRIVER_H
#define TESTS_FAKE_DRIVER_H

#include <stdio.h>
#include <stdlib.h>
#include "slot_device.h"

#define GIB(count) ((uint64_t)(count) << 30)

enum { FAKE_POISONED_BYTES = 1 << 18 };

typedef union fake_header {                      /* before each host block: its size, and the list of kept ones */
    struct { size_t bytes; union fake_header *next; } tie;
    long double alignment;
} fake_header;

typedef struct fake_device {
    slot_device slots;
    uint64_t calls[SLOT_CALLS];
    uint64_t host_bytes, wrong_host_count;       /* wrong: sizes that are not those of the allocation */
    int      keep_host;                          /* 1: freed host memory stays readable until fake_close */
    int      no_host;                            /* 1: there is no host memory */
    fake_header *kept;
} fake_device;

static uint64_t fake_wrong_count;                /* illegal driver calls, of all devices */

static inline gpuarena_status fake_begin(const gpuarena_driver *self, slot_call call, uint64_t claim_bytes)
{
    (void)claim_bytes;
    ((fake_device *)self->user)->calls[call]++;
    return GPUARENA_STATUS_DONE;
}

static inline void fake_end(const gpuarena_driver *self, slot_call call, uint64_t less_bytes)
{
    (void)self, (void)call, (void)less_bytes;
}

static inline void fake_blame(const char *what)
{
    printf("# %s\n", what);
    fake_wrong_count++;
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
    if (header->tie.bytes != bytes) device->wrong_host_count++;
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
    static int opened;
    gpuarena_driver *table = &device->slots.table, all;
    memset(device, 0, sizeof *device);
    slot_open(&device->slots, 1 + opened++ % 4096, total_bytes);
    device->slots.begin = fake_begin;
    device->slots.end = fake_end;
    device->slots.blame = fake_blame;
    all = *table;
    memset(table, 0, sizeof *table);
    table->user = all.user;
    table->device = 3;
    table->memory = all.memory;
}

/* Frees what keep_host kept. 1: nothing is held, all host memory came back, and every call was legal. */
static inline int fake_close(fake_device *device)
{
    while (device->kept) {
        fake_header *header = device->kept;
        device->kept = header->tie.next;
        free(header);
    }
    return !slot_left(&device->slots)[0] && !device->host_bytes && !device->wrong_host_count && !fake_wrong_count;
}

/* A configuration for the device: its host memory too, no environment, all else at zero. */
static inline gpuarena_config fake_config(fake_device *device)
{
    gpuarena_config config = GPUARENA_INIT;
    config.driver = &device->slots.table;
    config.environment = "";
    config.host_alloc = fake_host_alloc;
    config.host_free = fake_host_free;
    config.host_user = device;
    return config;
}

#endif
