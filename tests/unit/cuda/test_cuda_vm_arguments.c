/* The CUDA driver table's group vm, argument by argument where no behaviour shows them: what it hands to the driver's
   functions, which are this program's own, and what it makes of look-ups that find nothing. */
#include "cuda_machine.h"

#ifndef GPUARENA_NO_CUDA
#include <cuda.h>

enum { ADDRESS = 0x40000000, PAGE_BYTES = 4 << 20 };

/* What the latest call was given, and what calls answer. */
static struct {
    size_t bytes, desc_count;
    CUdeviceptr address;
    CUmemAllocationProp prop;
    CUmemAccessDesc descs[65];
    CUmemAllocationGranularity_flags option;
    CUdevice_attribute attribute;                /* the latest */
    int device, call_count;
} seen;
static int answer, supported, exported = 1, wrong_look_ups;
static const char *hidden;                       /* found by no look-up, */
static cudaError_t hidden_code;                  /* which answers this */

static CUresult tell(void)
{
    seen.call_count++;
    return (CUresult)answer;
}

static CUresult CUDAAPI fake_attribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    seen.attribute = attribute;
    seen.device = device;
    *value = attribute == 103 ? exported : supported;
    return tell();
}

static CUresult CUDAAPI fake_granularity(size_t *bytes, const CUmemAllocationProp *prop,
                                         CUmemAllocationGranularity_flags option)
{
    seen.prop = *prop;
    seen.option = option;
    *bytes = PAGE_BYTES;
    return tell();
}

static CUresult CUDAAPI fake_create(CUmemGenericAllocationHandle *handle, size_t bytes,
                                    const CUmemAllocationProp *prop, unsigned long long flags)
{
    (void)bytes, (void)flags;
    seen.prop = *prop;
    *handle = 0x1234;
    return tell();
}

static CUresult CUDAAPI fake_access(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *descs, size_t count)
{
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
    { "cuMemCreate", (void (*)(void))fake_create }, { "cuMemRelease", (void (*)(void))cuMemRelease },
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

static void expect_prop(CUmemAllocationHandleType type)
{
    CUmemAllocationProp expected;
    memset(&expected, 0, sizeof expected);
    expected.requestedHandleTypes = type;
    expected.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    expected.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    expected.location.id = 1;
    CHECK_MSG(memcmp(&seen.prop, &expected, sizeof expected) == 0, "the properties of a page");
}

/* Codes come back as they are; outputs of a call that fails are not touched, whatever the driver wrote. */
static void test_codes(void)
{
    gpuarena_driver driver = fill();
    uint64_t page = 77;
    expect_prop(CU_MEM_HANDLE_TYPE_NONE);
    answer = 709;
    CHECK_INT(driver.vm.create(&driver, &page, MIB(8), 0), ==, 709);
    CHECK_U64(page, ==, 77);
    expect_prop(CU_MEM_HANDLE_TYPE_NONE);
    CHECK_INT(driver.vm.create(&driver, &page, MIB(8), GPUARENA_PAGE_SHARED), ==, 709);
    expect_prop(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    answer = 0;
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

static void run(void)
{
    sim *machine = cudart_open(2, GIB(1), NULL);
    supported = 1;
    test_what_is_not_found();
    test_what_filling_asks();
    test_codes();
    test_access();
    cudart_close(machine);
}
#endif

CUDA_TEST_MAIN(run)
