/* The slot device for tests of single arenas: segments alone, and a ledger of driver calls and host memory.
   It must not know of the arena's policies. Faults, streams and virtual memory are the simulated device's.
   Included by the tests of the header. */
#ifndef TESTS_FAKE_DRIVER_H
#define TESTS_FAKE_DRIVER_H

#include <stdio.h>
#include "host_memory.h"
#include "slot_device.h"

#define GIB(count) ((uint64_t)(count) << 30)

typedef struct fake_device {
    slot_device slots;
    uint64_t calls[SLOT_CALLS];
    host_memory host;
} fake_device;

static uint64_t fake_wrong_count;                /* illegal driver calls, of all devices */

static inline void fake_begin(const gpuarena_driver *self, slot_call call, uint64_t claim_bytes)
{
    (void)claim_bytes;
    ((fake_device *)self->user)->calls[call]++;
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

/* Frees host memory that was kept. 1: nothing is held, all host memory came back, and every call was legal. */
static inline int fake_close(fake_device *device)
{
    return !host_close(&device->host) && !slot_left(&device->slots)[0] && !fake_wrong_count;
}

/* A configuration for the device: its host memory too, no environment, all else at zero. */
static inline gpuarena_config fake_config(fake_device *device)
{
    gpuarena_config config = GPUARENA_INIT;
    config.driver = &device->slots.table;
    config.environment = "";
    host_serve(&device->host, &config);
    return config;
}

#endif
