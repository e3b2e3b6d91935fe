/* The CUDA driver table's group vm where calls fail, on the libcudart substitute: look-ups, the codes of every entry,
   the state after, the caller's device and last error. */
#include "cuda_vm.h"

#ifndef GPUARENA_NO_CUDA

#if CUDART_VERSION >= 12050
#define LOOK_UP "cudaGetDriverEntryPointByVersion"
#else
#define LOOK_UP "cudaGetDriverEntryPoint"
#endif

enum { LOOK_UPS = 9 };

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
    snprintf(faults, sizeof faults, LOOK_UP ":%d=1", 2 * LOOK_UPS + 1);
    expect_filling(faults, 1);
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

/* Every call in turn, with the arguments of one that would do. The code; outputs must be as they were. */
static int call_nth(const bench *self, int nth)
{
    const gpuarena_driver *driver = &self->driver;
    void *range = (void *)(uintptr_t)self;
    uint64_t page = 77;
    int code;
    switch (nth) {
    case 0:  code = driver->vm.reserve(driver, &range, MIB(4), 0); break;
    case 1:  code = driver->vm.release(driver, self->range, MIB(4)); break;
    case 2:  code = driver->vm.create(driver, &page, MIB(2), 0); break;
    case 3:  code = driver->vm.destroy(driver, self->page, MIB(2)); break;
    case 4:  code = driver->vm.map(driver, self->range + MIB(2), MIB(2), self->page); break;
    case 5:  code = driver->vm.access(driver, self->range, MIB(2), 1); break;
    default: code = driver->vm.unmap(driver, self->range, MIB(2)); break;
    }
    CHECK_MSG(code == 0 || (range == (const void *)self && page == 77), "call %d: outputs are untouched", nth);
    return code;
}

static void test_each_call_fails(void)
{
    static const sim_call kinds[] = { SIM_CALL_VM_RESERVE, SIM_CALL_VM_RELEASE, SIM_CALL_VM_CREATE,
                                      SIM_CALL_VM_DESTROY, SIM_CALL_VM_MAP, SIM_CALL_VM_ACCESS, SIM_CALL_VM_UNMAP };
    static const struct { int code; gpuarena_status status; } codes[] = {
        { 1, GPUARENA_STATUS_FAILED }, { 2, GPUARENA_STATUS_NO_MEMORY }, { 3, GPUARENA_STATUS_FAILED },
        { 4, GPUARENA_STATUS_UNLOADING }, { 101, GPUARENA_STATUS_FAILED }, { 201, GPUARENA_STATUS_FAILED },
        { 800, GPUARENA_STATUS_FAILED }, { 801, GPUARENA_STATUS_NOT_SUPPORTED }, { 900, GPUARENA_STATUS_CAPTURING },
        { 999, GPUARENA_STATUS_FAILED },
    };
    bench self = bench_open(1, 2, 0);
    sim_counters before, after;
    sim_get_counters(self.machine, 1, &before);
    for (int nth = 0; nth < (int)COUNT(kinds); nth++) {
        for (size_t row = 0; row < COUNT(codes); row++) {
            sim_fail_call(self.machine, kinds[nth], 1, 0, codes[row].code);
            int code = call_nth(&self, nth);
            CHECK_MSG(code == codes[row].code && self.driver.classify(&self.driver, code) == codes[row].status
                      && self.driver.code_name(&self.driver, code), "call %d answers %d: %d", nth, codes[row].code,
                      code);
            CHECK_INT(cudaGetLastError(), ==, cudaSuccess);
            CHECK_INT(current_device(), ==, 0);
        }
    }
    sim_get_counters(self.machine, 1, &after);
    CHECK(after.held_bytes == before.held_bytes && after.handle_count == before.handle_count
          && after.mapping_count == before.mapping_count
          && after.reserved_address_bytes == before.reserved_address_bytes);
    CHECK(sim_finding(self.machine, 0) == NULL);
    bench_close(&self);
}

/* One that is sticky comes back from each, and from all that follow. */
static void test_lost(void)
{
    bench self = bench_open(0, 1, 0);
    sim_fail_call(self.machine, SIM_CALL_VM_MAP, 1, 0, 719);
    for (int nth = 4; nth >= 0; nth--)
        CHECK_INT(self.driver.classify(&self.driver, call_nth(&self, nth)), ==, GPUARENA_STATUS_LOST);
    cudart_close(self.machine);
}

/* An error of the caller's outlives calls of ours, whether they succeed or not: the driver knows no slot. */
static void test_the_callers_error(void)
{
    bench self = bench_open(1, 2, 0);
    uint64_t page;
    CHECK_CODE(cudaSetDevice(99), cudaErrorInvalidDevice);
    CHECK_INT(self.driver.vm.create(&self.driver, &page, GIB(4), 0), ==, 2);
    CHECK_INT(self.driver.vm.create(&self.driver, &page, MIB(2), 0), ==, 0);
    CHECK_INT(self.driver.vm.destroy(&self.driver, page, MIB(2)), ==, 0);
    CHECK_CODE(cudaGetLastError(), cudaErrorInvalidDevice);
    bench_close(&self);
}

static void test_return_fails(void)
{
    sim *machine = machine_attach("cudaSetDevice:2=46");
    gpuarena_driver driver = driver_of(1);
    void *range = &driver;
    CHECK_INT(driver.vm.reserve(&driver, &range, MIB(4), 0), ==, -1);
    CHECK(range == &driver);
    CHECK_DONE(cudaGetLastError());
    expect_nothing_left(machine, 1);
    cudart_close(machine);
}

static void run(void)
{
    test_filling_fails();
    test_filling_fails_on_an_error();
    test_each_call_fails();
    test_lost();
    test_the_callers_error();
    test_return_fails();
}
#endif

CUDA_TEST_MAIN(run)
