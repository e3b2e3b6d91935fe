/* What tests of virtual memory on the simulated device share: its calls in short, and ranges made of pages.
   It must not know what is tested.
   Included by test_sim_vm*.c. */
#ifndef TESTS_SIM_VM_H
#define TESTS_SIM_VM_H

#include "sim_device.h"

#define PAGE SIM_GRANULE

#define vm_reserve(driver, address, bytes, alignment) (driver)->vm.reserve(driver, address, bytes, alignment)
#define vm_release(driver, address, bytes)            (driver)->vm.release(driver, address, bytes)
#define vm_create(driver, page, bytes)                (driver)->vm.create(driver, page, bytes, 0)
#define vm_destroy(driver, page, bytes)               (driver)->vm.destroy(driver, page, bytes)
#define vm_map(driver, address, bytes, page)          (driver)->vm.map(driver, address, bytes, page)
#define vm_access(driver, address, bytes, mode)       (driver)->vm.access(driver, address, bytes, mode)
#define vm_unmap(driver, address, bytes)              (driver)->vm.unmap(driver, address, bytes)

/* Ends the test program if a step that must succeed does not: nothing could be tested. */
static inline void vm_must(int code, const char *step)
{
    if (code != SIM_SUCCESS) {
        printf("Bail out! %s answers %d\n", step, code);
        exit(1);
    }
}

static inline char *vm_reserved(const gpuarena_driver *driver, uint64_t bytes)
{
    void *address = NULL;
    vm_must(vm_reserve(driver, &address, bytes, 0), "reserve");
    return address;
}

static inline uint64_t vm_created(const gpuarena_driver *driver, uint64_t bytes)
{
    uint64_t page = 0;
    vm_must(vm_create(driver, &page, bytes), "create");
    return page;
}

/* A fresh handle mapped at the address, with access. */
static inline uint64_t vm_backed(const gpuarena_driver *driver, void *address, uint64_t bytes)
{
    uint64_t page = vm_created(driver, bytes);
    vm_must(vm_map(driver, address, bytes, page), "map");
    vm_must(vm_access(driver, address, bytes, 1), "access");
    return page;
}

/* Nothing of virtual memory is left, and so many findings were made. */
static inline void vm_expect_clean(const sim_bench *bench, uint64_t findings)
{
    sim_counters counters = bench_counters(bench);
    CHECK_U64(counters.handle_count, ==, 0);
    CHECK_U64(counters.mapping_count, ==, 0);
    CHECK_U64(counters.reserved_address_bytes, ==, 0);
    CHECK_U64(counters.held_bytes, ==, 0);
    CHECK_U64(sim_finding_count(bench->machine), ==, findings);
}

#endif
