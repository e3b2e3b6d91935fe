/* The CUDA driver table's group vm: how it is filled, or is not, and whose devices and errors are whose.
   What its calls do is tests/contract's. It must not know the implementation. */
#include "cuda_machine.h"

#ifndef GPUARENA_NO_CUDA

static gpuarena_driver driver_of(int device)
{
    gpuarena_driver driver = GPUARENA_INIT;
    CHECK_INT(gpuarena_driver_cuda(device, &driver), ==, GPUARENA_OK);
    return driver;
}

static int is_whole(const gpuarena_driver *driver)
{
    return driver->page_bytes == MIB(2) && driver->vm.reserve && driver->vm.release && driver->vm.create
        && driver->vm.destroy && driver->vm.map && driver->vm.access && driver->vm.unmap;
}

static int is_absent(const gpuarena_driver *driver)
{
    return driver->page_bytes == 0 && !driver->vm.reserve && !driver->vm.release && !driver->vm.create
        && !driver->vm.destroy && !driver->vm.map && !driver->vm.access && !driver->vm.unmap;
}

static void test_filling(void)
{
    sim *machine = machine_attach(NULL);
    int current = -1;
    for (int device = 1; device >= 0; device--) {
        gpuarena_driver driver = driver_of(device);
        CHECK(is_whole(&driver) && driver.fd.from_page && driver.fd.to_page && driver.peer);
        CHECK(driver.ipc.get_handle && driver.ipc.open_handle && driver.ipc.close_handle);
        CHECK_U64(driver.peers, ==, 0);
    }
    CHECK(!cudaGetDevice(&current) && current == 0);
    CHECK_DONE(cudaGetLastError());
    CHECK_MSG(sim_now_ns(machine) < 1000000, "filling a table makes no context");
    cudart_close(machine);
}

static void test_devices_without(void)
{
    sim_config config = { 2, GIB(1), 0, NULL, NULL, 1, 0 };
    problem why = { 0, "" };
    sim *machine = sim_create(&config, &why);
    cudart_attach(machine);
    gpuarena_driver driver = driver_of(1);
    CHECK(is_absent(&driver) && driver.memory.obtain && driver.events.create && driver.capture.active);
    CHECK(!driver.fd.from_page && !driver.fd.to_page && driver.ipc.open_handle);
    CHECK_DONE(cudaGetLastError());
    CHECK_CODE(cudaSetDevice(99), cudaErrorInvalidDevice);
    driver = driver_of(1);
    CHECK_CODE(cudaGetLastError(), cudaErrorInvalidDevice);
    cudart_close(machine);
}

/* Whichever device is current, pages are the table's device's; only reserve makes that current, and so a context. */
static void test_current_device(void)
{
    sim *machine = machine_attach(NULL);
    gpuarena_driver driver = driver_of(1);
    uint64_t page = 0;
    CHECK_INT(driver.vm.create(&driver, &page, MIB(6), 0), ==, 0);
    CHECK_U64(machine_held(machine, 1), ==, MIB(6));
    CHECK_U64(machine_held(machine, 0), ==, 0);
    CHECK_INT(driver.vm.destroy(&driver, page, MIB(6)), ==, 0);
    CHECK_MSG(sim_now_ns(machine) < 1000000, "no context was made");
    CHECK_U64(machine_held(machine, 1), ==, 0);
    CHECK(sim_finding(machine, 0) == NULL);
    cudart_close(machine);
}

#if CUDART_VERSION >= 12050
#define LOOK_UP "cudaGetDriverEntryPointByVersion"
#else
#define LOOK_UP "cudaGetDriverEntryPoint"
#endif

enum { LOOK_UPS = 9, SHARE_LOOK_UPS = 2 };       /* of the group vm, then of the group fd */

static void expect_filling(const char *faults, int is_there)
{
    sim *machine = machine_attach(faults);
    gpuarena_driver driver = driver_of(0);
    CHECK_MSG(is_there ? is_whole(&driver) : is_absent(&driver), "%s", faults);
    CHECK_MSG(driver.memory.obtain && cudaGetLastError() == cudaSuccess, "%s: the rest is there, the slot is clean",
              faults);
    driver = driver_of(0);
    CHECK_MSG(is_whole(&driver), "%s: and the next table has it", faults);
    cudart_close(machine);
}

/* Whatever fails when a table is filled leaves the table without the group, and says nothing. */
static void test_filling_fails(void)
{
    static const int codes[] = { 1, 3, 35, 46, 500, 801, 999 };
    char faults[80];
    for (int nth = 1; nth <= LOOK_UPS; nth++) {
        snprintf(faults, sizeof faults, LOOK_UP ":%d=%d", nth, codes[nth % 7]);
        expect_filling(faults, 0);
    }
    snprintf(faults, sizeof faults, LOOK_UP ":%d=1", 2 * (LOOK_UPS + SHARE_LOOK_UPS) + 1);
    expect_filling(faults, 1);
    expect_filling("cudaDeviceGetAttribute:2=101", 1);
    for (int nth = 1; nth <= SHARE_LOOK_UPS; nth++) {
        snprintf(faults, sizeof faults, LOOK_UP ":%d=%d", LOOK_UPS + nth, codes[nth]);
        expect_filling(faults, 1);
    }
    expect_filling("cudaDeviceGetAttribute:1=101", 0);
    expect_filling("cuMemGetAllocationGranularity:1=801", 0);
}

/* The caller's error stays, or one of ours is there in its place: never none. */
static void test_filling_fails_on_an_error(void)
{
    sim *machine = machine_attach(LOOK_UP ":3=801");
    CHECK_CODE(cudaSetDevice(99), cudaErrorInvalidDevice);
    gpuarena_driver driver = driver_of(0);
    CHECK(is_absent(&driver));
    CHECK_INT(cudaGetLastError(), !=, cudaSuccess);
    cudart_close(machine);
}

/* An error of the caller's outlives calls of ours, whether they succeed or not: the driver knows no slot. */
static void test_the_callers_error(void)
{
    sim *machine = machine_attach("cudaSetDevice:3=46");
    gpuarena_driver driver = driver_of(1);
    uint64_t page;
    void *range = &driver;
    CHECK_CODE(cudaSetDevice(99), cudaErrorInvalidDevice);
    CHECK_INT(driver.vm.create(&driver, &page, GIB(4), 0), ==, 2);
    CHECK_INT(driver.vm.create(&driver, &page, MIB(2), 0), ==, 0);
    CHECK_INT(driver.vm.destroy(&driver, page, MIB(2)), ==, 0);
    CHECK_CODE(cudaGetLastError(), cudaErrorInvalidDevice);
    CHECK_MSG(driver.vm.reserve(&driver, &range, MIB(4), 0) == -1,
              "the caller's device cannot be made current again");
    CHECK(range == &driver);
    CHECK_DONE(cudaGetLastError());
    sim_counters counters;
    sim_get_counters(machine, 1, &counters);
    CHECK_U64(counters.reserved_address_bytes, ==, 0);
    cudart_close(machine);
}

static void run(void)
{
    test_filling();
    test_devices_without();
    test_current_device();
    test_filling_fails();
    test_filling_fails_on_an_error();
    test_the_callers_error();
}
#endif

CUDA_TEST_MAIN(run)
