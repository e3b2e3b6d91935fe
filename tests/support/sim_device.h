/* Shared parts of tests of the simulated device: a sim of one configuration, calls on its table, counters at hand. It
   must not know the subjects of tests. Included by test_sim_*.c. */
#ifndef TESTS_SIM_DEVICE_H
#define TESTS_SIM_DEVICE_H

#include <stdlib.h>
#include "stress/base/sets.h"
#include "stress/sim/costs.h"
#include "stress/sim/sim.h"
#include "tap.h"

#define KIB(count) ((uint64_t)(count) << 10)
#define MIB(count) ((uint64_t)(count) << 20)
#define GIB(count) ((uint64_t)(count) << 30)
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

typedef struct sim_bench {                       /* a sim under test, and the table of its device 0 */
    sim *machine;
    gpuarena_driver driver;
} sim_bench;

/* Ends the test program if the sim cannot be made: nothing could be tested. */
static inline sim *bench_machine(const sim_config *config)
{
    problem why = { 0, "" };
    sim *machine = sim_create(config, &why);
    if (machine) return machine;
    printf("Bail out! no simulated device: %s\n", why.text);
    exit(1);
}

static inline sim_bench bench_open(const sim_config *config)
{
    sim_bench bench = { .machine = bench_machine(config) };
    sim_driver(bench.machine, 0, &bench.driver);
    return bench;
}

static inline sim_bench bench_open_sized(uint64_t capacity_bytes, const char *faults)
{
    sim_config config = { 0, 0, 0, NULL, NULL, 0, 0 };
    config.capacity_bytes = capacity_bytes;
    config.faults = faults;
    return bench_open(&config);
}

static inline void bench_close(sim_bench *bench)
{
    sim_destroy(bench->machine);
}

static inline int bench_obtain(const gpuarena_driver *driver, uint64_t bytes, void **ptr)
{
    return driver->memory.obtain(driver, GPUARENA_MEMORY_DEVICE, ptr, bytes, NULL);
}

static inline int bench_give_back(const gpuarena_driver *driver, void *ptr, uint64_t bytes)
{
    return driver->memory.give_back(driver, GPUARENA_MEMORY_DEVICE, ptr, bytes, NULL);
}

static inline uint64_t bench_free_bytes(const gpuarena_driver *driver)
{
    uint64_t free_bytes = UINT64_MAX, total_bytes;
    driver->memory.info(driver, GPUARENA_MEMORY_DEVICE, &free_bytes, &total_bytes);
    return free_bytes;
}

static inline sim_counters bench_counters(const sim_bench *bench)
{
    sim_counters counters;
    sim_get_counters(bench->machine, 0, &counters);
    return counters;
}

/* Takes a group of entries out of a table. 0: there is none of this name. */
static inline int bench_without(gpuarena_driver *table, const char *group)
{
    if (!strcmp(group, "vm")) memset(&table->vm, 0, sizeof table->vm), table->page_bytes = 0;
    else if (!strcmp(group, "events")) memset(&table->events, 0, sizeof table->events);
    else if (!strcmp(group, "capture")) memset(&table->capture, 0, sizeof table->capture);
    else if (!strcmp(group, "ipc")) memset(&table->ipc, 0, sizeof table->ipc);
    else if (!strcmp(group, "fd")) memset(&table->fd, 0, sizeof table->fd);
    else if (!strcmp(group, "clear")) table->clear = NULL;
    else if (!strcmp(group, "clock")) table->now_ns = NULL;
    else if (!strcmp(group, "names")) table->code_name = NULL;
    else if (!strcmp(group, "classify")) table->classify = NULL;
    else return 0;
    return 1;
}

/* The kind of memory that device 0 still has, once all arenas have ended; NULL: none. */
static inline const char *bench_left(const sim *machine)
{
    sim_counters counters;
    sim_get_counters(machine, 0, &counters);
    if (counters.held_bytes || counters.host_bytes || counters.managed_bytes) return "memory is left";
    if (counters.handle_count || counters.mapping_count) return "pages are left";
    return counters.reserved_address_bytes ? "addresses are left" : NULL;
}

/* The address some bytes on. Device addresses are numbers: no memory of the host lies behind them. */
static inline void *bench_at(const void *ptr, uint64_t offset)
{
    return (void *)(uintptr_t)((uint64_t)(uintptr_t)ptr + offset);
}

static inline uint64_t bench_number(const void *ptr)
{
    return (uint64_t)(uintptr_t)ptr;
}

#endif
