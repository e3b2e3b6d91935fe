/* The CUDA driver table's groups vm and fd: how they are filled, or are not, whose devices and errors are whose, and
   argument by argument where no behaviour shows them: what is handed to functions of the driver that are this
   program's own. What its calls do is tests/contract's. */
#include "cuda_machine.h"

#ifndef GPUARENA_NO_CUDA
#include <cuda.h>

enum { ADDRESS = 0x40000000, PAGE_BYTES = 4 << 20 };

/* What the latest call was given, and what calls answer. */
static struct {
    size_t bytes, desc_count;
    CUdeviceptr address;
    CUmemAccessDesc descs[65];
    CUmemAllocationGranularity_flags option;
    CUdevice_attribute attribute;                /* the latest */
    int device, call_count;
} seen;
static int answer, supported = 1, exported = 1, wrong_look_ups;
static int is_real;                              /* the functions are the substitute's */
static const char *hidden;                       /* found by no look-up, */
static cudaError_t hidden_code;                  /* which answers this */

static CUresult tell(void)
{
    seen.call_count++;
    return (CUresult)answer;
}

static CUresult CUDAAPI fake_attribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    if (is_real) return cuDeviceGetAttribute(value, attribute, device);
    seen.attribute = attribute;
    seen.device = device;
    *value = attribute == 103 ? exported : supported;
    return tell();
}

static CUresult CUDAAPI fake_granularity(size_t *bytes, const CUmemAllocationProp *prop,
                                         CUmemAllocationGranularity_flags option)
{
    if (is_real) return cuMemGetAllocationGranularity(bytes, prop, option);
    seen.option = option;
    *bytes = PAGE_BYTES;
    return tell();
}

static CUresult CUDAAPI fake_access(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *descs, size_t count)
{
    if (is_real) return cuMemSetAccess(address, bytes, descs, count);
    seen.address = address;
    seen.bytes = bytes;
    seen.desc_count = count;
    memcpy(seen.descs, descs, (count < COUNT(seen.descs) ? count : COUNT(seen.descs)) * sizeof descs[0]);
    return tell();
}

enum { VM_FUNCTIONS = 9 };                       /* the others are of the group fd */
static const struct { const char *name; void (*function)(void); } functions[] = {
    { "cuDeviceGetAttribute", (void (*)(void))fake_attribute },
    { "cuMemGetAllocationGranularity", (void (*)(void))fake_granularity },
    { "cuMemAddressReserve", (void (*)(void))cuMemAddressReserve },
    { "cuMemAddressFree", (void (*)(void))cuMemAddressFree },
    { "cuMemCreate", (void (*)(void))cuMemCreate }, { "cuMemRelease", (void (*)(void))cuMemRelease },
    { "cuMemMap", (void (*)(void))cuMemMap }, { "cuMemUnmap", (void (*)(void))cuMemUnmap },
    { "cuMemSetAccess", (void (*)(void))fake_access },
    { "cuMemExportToShareableHandle", (void (*)(void))cuMemExportToShareableHandle },
    { "cuMemImportFromShareableHandle", (void (*)(void))cuMemImportFromShareableHandle },
};

static cudaError_t look_up(const char *name, void **function, unsigned version, unsigned long long flags)
{
    *function = NULL;
    for (size_t i = 0; i < COUNT(functions); i++)
        if (strcmp(functions[i].name, name) == 0) memcpy(function, &functions[i].function, sizeof *function);
    if (!*function || version != 10020 || flags != cudaEnableDefault) wrong_look_ups++;
    if (!hidden || strcmp(hidden, name) != 0) return cudaSuccess;
    if (hidden_code == cudaSuccess) *function = NULL;
    return hidden_code;
}

/* Instead of libcudart's own, for this program is asked first. */
#if CUDART_VERSION >= 12050
#undef cudaGetDriverEntryPointByVersion
cudaError_t CUDARTAPI cudaGetDriverEntryPointByVersion(const char *name, void **function, unsigned version,
                                                       unsigned long long flags,
                                                       enum cudaDriverEntryPointQueryResult *result)
{
    if (result) *result = cudaDriverEntryPointSuccess;
    return look_up(name, function, version, flags);
}
#elif CUDART_VERSION >= 12000
#undef cudaGetDriverEntryPoint
cudaError_t CUDARTAPI cudaGetDriverEntryPoint(const char *name, void **function, unsigned long long flags,
                                              enum cudaDriverEntryPointQueryResult *result)
{
    if (result) *result = cudaDriverEntryPointSuccess;
    return look_up(name, function, 10020, flags);
}
#else
#undef cudaGetDriverEntryPoint
cudaError_t CUDARTAPI cudaGetDriverEntryPoint(const char *name, void **function, unsigned long long flags)
{
    return look_up(name, function, 10020, flags);
}
#endif

static gpuarena_driver fill(void)
{
    memset(&seen, 0, sizeof seen);
    gpuarena_driver driver = GPUARENA_INIT;
    CHECK_INT(gpuarena_driver_cuda(1, &driver), ==, GPUARENA_OK);
    return driver;
}

static void test_what_filling_asks(void)
{
    gpuarena_driver driver = fill();
    CHECK_U64(driver.page_bytes, ==, PAGE_BYTES);
    CHECK_INT(wrong_look_ups, ==, 0);
    CHECK(driver.fd.from_page && driver.fd.to_page);
    CHECK_INT(seen.call_count, ==, 3);
    CHECK_INT(seen.attribute, ==, 103);
    CHECK_INT(seen.device, ==, 1);
    CHECK_INT(seen.option, ==, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    exported = 0;
    driver = fill();
    CHECK_MSG(driver.vm.unmap && !driver.fd.from_page && !driver.fd.to_page, "pages that cannot be exported");
    exported = 1;
    supported = 0;
    driver = fill();
    CHECK_INT(seen.attribute, ==, 102);
    CHECK(!driver.page_bytes && !driver.vm.reserve && !driver.vm.unmap);
    CHECK_MSG(seen.call_count == 1, "a device without is asked no more");
    supported = 1;
    answer = 101;
    driver = fill();
    CHECK(!driver.page_bytes && !driver.vm.reserve && !driver.vm.unmap);
    answer = 0;
}

/* Nothing found, with success or without; or found, and an error all the same. */
static void test_what_is_not_found(void)
{
    for (size_t i = 0; i < COUNT(functions); i++) {
        hidden = functions[i].name;
        for (hidden_code = cudaSuccess; hidden_code <= cudaErrorInvalidValue; hidden_code++) {
            gpuarena_driver driver = fill();
            int is_there = i < VM_FUNCTIONS ? !driver.page_bytes && !driver.vm.map && seen.call_count == 0
                                            : driver.vm.map && !driver.fd.from_page && !driver.fd.to_page;
            CHECK_MSG(is_there, "without %s, code %d", hidden, (int)hidden_code);
        }
    }
    hidden = NULL;
    gpuarena_driver driver = fill();
    CHECK(driver.page_bytes && driver.vm.map && driver.fd.from_page);
}

/* The device first, then its peers, each once; all of them with the same flags. */
static void expect_access(const gpuarena_driver *driver, uint32_t mode, size_t count)
{
    char *at = (char *)(uintptr_t)ADDRESS + MIB(6);
    uint64_t named = 0;
    int bad = 0;
    CHECK_INT(driver->vm.access(driver, at, GIB(9), mode), ==, 0);
    CHECK(seen.address == ADDRESS + MIB(6) && seen.bytes == GIB(9));
    CHECK_U64(seen.desc_count, ==, count);
    for (size_t i = 0; i < seen.desc_count; i++) {
        const CUmemAccessDesc *desc = &seen.descs[i];
        bad += desc->location.type != CU_MEM_LOCATION_TYPE_DEVICE || (int)desc->flags != (mode ? 3 : 0);
        named |= (uint64_t)1 << desc->location.id;
    }
    CHECK_INT(bad, ==, 0);
    CHECK_U64(named, ==, driver->peers | 2);
}

static void test_access(void)
{
    static const struct { uint64_t peers; size_t count; } rows[] = {
        { 0, 1 }, { 2, 1 }, { 1, 2 }, { 5, 3 }, { (uint64_t)1 << 63 | 2, 2 }, { UINT64_MAX, 64 },
    };
    gpuarena_driver driver = fill();
    for (size_t row = 0; row < COUNT(rows); row++) {
        driver.peers = rows[row].peers;
        expect_access(&driver, 1, rows[row].count);
        expect_access(&driver, 0, rows[row].count);
    }
}

/* ---- over the substitute's own functions */

static int is_whole(const gpuarena_driver *driver)
{
    return driver->page_bytes == MIB(2) && driver->vm.reserve && driver->vm.release && driver->vm.create
        && driver->vm.destroy && driver->vm.map && driver->vm.access && driver->vm.unmap;
}

static void test_filling(void)
{
    int current = -1;
    gpuarena_driver driver = fill();
    CHECK(is_whole(&driver) && driver.fd.from_page && driver.fd.to_page && driver.peer);
    CHECK(driver.ipc.get_handle && driver.ipc.open_handle && driver.ipc.close_handle);
    CHECK_U64(driver.peers, ==, 0);
    CHECK(!cudaGetDevice(&current) && current == 0);
    CHECK_DONE(cudaGetLastError());
    CHECK_MSG(sim_now_ns(cudart_machine()) < 1000000, "filling a table makes no context");
}

static void test_devices_without(void)
{
    sim_config config = { 2, GIB(1), 0, NULL, NULL, 1, 0 };
    problem why = { 0, "" };
    sim *machine = sim_create(&config, &why);
    cudart_attach(machine);
    gpuarena_driver driver = fill();
    CHECK(!driver.page_bytes && !driver.vm.reserve && !driver.vm.unmap);
    CHECK(driver.memory.obtain && driver.events.create && driver.capture.active);
    CHECK(!driver.fd.from_page && !driver.fd.to_page && driver.ipc.open_handle);
    CHECK_DONE(cudaGetLastError());
    CHECK_CODE(cudaSetDevice(99), cudaErrorInvalidDevice);
    driver = fill();
    CHECK_CODE(cudaGetLastError(), cudaErrorInvalidDevice);
    cudart_close(machine);
}

/* Whichever device is current, pages are the table's device's; only reserve makes that current, and so a context. */
static void test_current_device(void)
{
    sim *machine = cudart_machine();
    gpuarena_driver driver = fill();
    uint64_t page = 0;
    CHECK_INT(driver.vm.create(&driver, &page, MIB(6), 0), ==, 0);
    CHECK_U64(machine_held(machine, 1), ==, MIB(6));
    CHECK_U64(machine_held(machine, 0), ==, 0);
    CHECK_INT(driver.vm.destroy(&driver, page, MIB(6)), ==, 0);
    CHECK_MSG(sim_now_ns(machine) < 1000000, "no context was made");
    CHECK_U64(machine_held(machine, 1), ==, 0);
    CHECK(sim_finding(machine, 0) == NULL);
}

/* Whatever fails when the table is filled leaves it without the groups that need it, and an error of the caller's, or
   one of ours in its place, but never none. */
static void test_filling_fails(void)
{
    static const struct { const char *faults; int is_there; } rows[] = {
        { "cudaDeviceGetAttribute:2=101", 1 }, { "cudaDeviceGetAttribute:1=101", 0 },
        { "cuMemGetAllocationGranularity:1=801", 0 },
    };
    for (size_t row = 0; row < COUNT(rows); row++) {
        sim *machine = machine_attach(rows[row].faults);
        gpuarena_driver driver = fill();
        CHECK_MSG(rows[row].is_there ? is_whole(&driver) : !driver.page_bytes && !driver.vm.map, "%s",
                  rows[row].faults);
        CHECK_MSG(driver.memory.obtain && cudaGetLastError() == cudaSuccess, "the rest is there, the slot is clean");
        driver = fill();
        CHECK_MSG(is_whole(&driver), "and the next table has it");
        cudart_close(machine);
    }
    sim *machine = machine_attach(NULL);
    hidden = "cuMemCreate";
    hidden_code = cudaErrorNotSupported;
    CHECK_CODE(cudaSetDevice(99), cudaErrorInvalidDevice);
    gpuarena_driver driver = fill();
    CHECK(!driver.page_bytes && !driver.vm.map && cudaGetLastError() != cudaSuccess);
    hidden = NULL;
    cudart_close(machine);
}

/* An error of the caller's outlives calls of ours, whether they succeed or not: the driver knows no slot. */
static void test_the_callers_error(void)
{
    gpuarena_driver driver = fill();
    uint64_t page;
    CHECK_CODE(cudaSetDevice(99), cudaErrorInvalidDevice);
    CHECK_INT(driver.vm.create(&driver, &page, GIB(4), 0), ==, 2);
    CHECK_INT(driver.vm.create(&driver, &page, MIB(2), 0), ==, 0);
    CHECK_INT(driver.vm.destroy(&driver, page, MIB(2)), ==, 0);
    CHECK_CODE(cudaGetLastError(), cudaErrorInvalidDevice);
}

static void run(void)
{
    static const machine_test faked[] = { { test_what_is_not_found, 2, NULL }, { test_what_filling_asks, 2, NULL },
                                          { test_access, 2, NULL } };
    static const machine_test real[] = { { test_filling, 2, NULL }, { test_current_device, 2, NULL },
                                         { test_the_callers_error, 2, NULL } };
    machine_tests(faked, COUNT(faked));
    is_real = 1;
    machine_tests(real, COUNT(real));
    test_devices_without();
    test_filling_fails();
}
#endif

CUDA_TEST_MAIN(run)
