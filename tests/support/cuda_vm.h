/* What tests of the CUDA driver table's group vm share: tables, and addresses with a page behind them. It must not
   know what is tested. Included by test_cuda_vm*.c where the CUDA Toolkit is. */
#ifndef TESTS_CUDA_VM_H
#define TESTS_CUDA_VM_H

#include "cuda_machine.h"

#ifndef GPUARENA_NO_CUDA
static inline gpuarena_driver driver_of(int device)
{
    gpuarena_driver driver = GPUARENA_INIT;
    CHECK_INT(gpuarena_driver_cuda(device, &driver), ==, GPUARENA_OK);
    return driver;
}

static inline int current_device(void)
{
    int device = -1;
    cudaGetDevice(&device);
    return device;
}

static inline int is_whole(const gpuarena_driver *driver)
{
    return driver->page_bytes == MIB(2) && driver->vm.reserve && driver->vm.release && driver->vm.create
        && driver->vm.destroy && driver->vm.map && driver->vm.access && driver->vm.unmap;
}

static inline int is_absent(const gpuarena_driver *driver)
{
    return driver->page_bytes == 0 && !driver->vm.reserve && !driver->vm.release && !driver->vm.create
        && !driver->vm.destroy && !driver->vm.map && !driver->vm.access && !driver->vm.unmap;
}

static inline void expect_nothing_left(const sim *machine, int device)
{
    sim_counters counters;
    sim_get_counters(machine, device, &counters);
    CHECK_U64(counters.held_bytes, ==, 0);
    CHECK_U64(counters.handle_count, ==, 0);
    CHECK_U64(counters.mapping_count, ==, 0);
    CHECK_U64(counters.reserved_address_bytes, ==, 0);
}

/* Addresses for two pages, the first of them mapped and accessible. */
typedef struct bench { sim *machine; gpuarena_driver driver; char *range; uint64_t page; } bench;

static inline bench bench_open(int device, uint32_t devices, uint64_t peers)
{
    bench made = { cudart_open(devices, GIB(1), NULL), GPUARENA_INIT, NULL, 0 };
    void *range = NULL;
    made.driver = driver_of(device);
    made.driver.peers = peers;
    if (!is_whole(&made.driver)) {
        printf("Bail out! no group vm\n");
        exit(1);
    }
    CHECK_INT(made.driver.vm.reserve(&made.driver, &range, MIB(4), MIB(4)), ==, 0);
    CHECK_INT(made.driver.vm.create(&made.driver, &made.page, MIB(2), 0), ==, 0);
    CHECK_INT(made.driver.vm.map(&made.driver, range, MIB(2), made.page), ==, 0);
    CHECK_INT(made.driver.vm.access(&made.driver, range, MIB(2), 1), ==, 0);
    made.range = range;
    return made;
}

static inline void bench_close(bench *self)
{
    const gpuarena_driver *driver = &self->driver;
    CHECK_INT(driver->vm.unmap(driver, self->range, MIB(2)), ==, 0);
    CHECK_INT(driver->vm.destroy(driver, self->page, MIB(2)), ==, 0);
    CHECK_INT(driver->vm.release(driver, self->range, MIB(4)), ==, 0);
    expect_nothing_left(self->machine, driver->device);
    cudart_close(self->machine);
}
#endif

#endif
