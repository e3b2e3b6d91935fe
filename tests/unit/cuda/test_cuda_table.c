/* The driver table over the CUDA runtime, on the libcudart substitute: how it is filled, or is not, whose devices and
   errors are whose, codes, absence; and arenas over it, of each kind of memory, and in a child of fork. Effects of
   its entries, and the caller's current device: tests/contract. */
#include "cuda_machine.h"

#ifndef GPUARENA_NO_CUDA
#include <cuda.h>

#include "stress/base/progress.h"
#include "stress/sim/base.h"

/* ---- functions of the driver, which a table looks up: some of them look on, and may answer otherwise */

static struct {
    CUdevice_attribute denied;                   /* this attribute no device has */
    size_t page_bytes, shared_bytes;             /* the granularity, unless 0; and of pages that can be exported */
    const char *hidden;                          /* a function that is not found: the look-up answers */
    cudaError_t hidden_code;                     /* this, and if it is success, nothing */
} plays;
static struct {
    int wrong_look_ups, calls, device, place, option, access_count, wrong_access;
    uint64_t access;
    CUmemAllocationProp asked[2], created;       /* pages whose granularity was asked: that cannot, and can, be
                                                    exported; and the last ones that were made */
} seen;

static CUresult CUDAAPI spy_attribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
    CUresult code = cuDeviceGetAttribute(value, attribute, device);
    seen.calls++;
    seen.device = device;
    if (attribute == plays.denied) *value = 0;
    return code;
}

static CUresult CUDAAPI spy_granularity(size_t *bytes, const CUmemAllocationProp *prop,
                                        CUmemAllocationGranularity_flags option)
{
    CUresult code = cuMemGetAllocationGranularity(bytes, prop, option);
    seen.calls++;
    seen.option = (int)option;
    seen.place = prop->location.id;
    seen.asked[prop->requestedHandleTypes != 0] = *prop;
    if (plays.page_bytes) *bytes = plays.page_bytes;
    if (plays.shared_bytes && prop->requestedHandleTypes) *bytes = plays.shared_bytes;
    return code;
}

static CUresult CUDAAPI spy_create(CUmemGenericAllocationHandle *handle, size_t bytes,
                                   const CUmemAllocationProp *prop, unsigned long long flags)
{
    seen.created = *prop;
    return cuMemCreate(handle, bytes, prop, flags);
}

/* The device first, then its peers, each once; all of them with the same flags. */
static CUresult CUDAAPI spy_access(CUdeviceptr address, size_t bytes, const CUmemAccessDesc *descs, size_t count)
{
    seen.access_count = (int)count;
    for (size_t i = 0; i < count; i++) {
        seen.access |= (uint64_t)1 << descs[i].location.id;
        seen.wrong_access += descs[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE || descs[i].flags != descs->flags;
    }
    return cuMemSetAccess(address, bytes, descs, count);
}

static const struct { const char *name; void (*function)(void); } functions[] = {
#define FOUND(name, function) { #name, (void (*)(void))function }
    FOUND(cuDeviceGetAttribute, spy_attribute), FOUND(cuMemGetAllocationGranularity, spy_granularity),
    FOUND(cuMemAddressReserve, cuMemAddressReserve), FOUND(cuMemAddressFree, cuMemAddressFree),
    FOUND(cuMemCreate, spy_create), FOUND(cuMemRelease, cuMemRelease), FOUND(cuMemMap, cuMemMap),
    FOUND(cuMemUnmap, cuMemUnmap), FOUND(cuMemSetAccess, spy_access),
    FOUND(cuMemExportToShareableHandle, cuMemExportToShareableHandle),
    FOUND(cuMemImportFromShareableHandle, cuMemImportFromShareableHandle)
#undef FOUND
};

static cudaError_t look_up(const char *name, void **function, unsigned version, unsigned long long flags)
{
    *function = NULL;
    for (size_t i = 0; i < COUNT(functions); i++)
        if (strcmp(functions[i].name, name) == 0) memcpy(function, &functions[i].function, sizeof *function);
    if (!*function || version != 10020 || flags != cudaEnableDefault) seen.wrong_look_ups++;
    if (!plays.hidden || strcmp(plays.hidden, name) != 0) return cudaSuccess;
    if (plays.hidden_code == cudaSuccess) *function = NULL;
    else (void)cudaSetDevice(-9);                /* as of a look-up that fails, there is an error in the slot */
    return plays.hidden_code;
}

/* Replaces libcudart's own function, since symbols of the program come first. */
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

/* ---- filling */

static gpuarena_driver fill(void)
{
    memset(&seen, 0, sizeof seen);
    gpuarena_driver driver = GPUARENA_INIT;
    CHECK_INT(gpuarena_driver_cuda(1, &driver), ==, GPUARENA_OK);
    return driver;
}

/* The table has the group vm and the group fd, or lacks them; the other groups are there. */
static void expect_groups(const char *what, int vm, int fd)
{
    gpuarena_driver driver = fill();
    int has_vm = driver.page_bytes && driver.vm.reserve && driver.vm.release && driver.vm.create && driver.vm.destroy
              && driver.vm.map && driver.vm.access && driver.vm.unmap;
    int has_none = !driver.page_bytes && !driver.vm.reserve && !driver.vm.map && !driver.vm.unmap;
    CHECK_MSG(vm ? has_vm : has_none, "%s: virtual memory", what);
    CHECK_MSG(!driver.fd.from_page == !fd && !driver.fd.to_page == !fd, "%s: descriptors", what);
    CHECK(driver.memory.info && driver.memory.obtain && driver.memory.give_back && driver.events.create);
    CHECK(driver.capture.active && driver.peer && driver.ipc.get_handle && driver.ipc.open_handle);
}

/* Each function of the driver is not found, with success or without, or is found with an error; calls fail; devices
   lack attributes. An error of the caller's outlives all of this, or one of ours takes its place, but there is never
   none. */
static void test_what_is_not_there(void)
{
    static const struct { const char *faults; int vm, fd; } rows[] = {
        { "cudaDeviceGetAttribute:1=101", 0, 0 }, { "cudaDeviceGetAttribute:2=101", 1, 1 },
        { "cudaDeviceGetAttribute:3=101", 1, 0 }, { "cuMemGetAllocationGranularity:1=801", 0, 0 },
        { "cuMemGetAllocationGranularity:2=801", 1, 0 },
    };
    sim *machine = machine_attach(NULL);
    for (size_t i = 0; i < COUNT(functions); i++) {
        plays.hidden = functions[i].name;
        for (int code = cudaSuccess; code <= cudaErrorInvalidValue; code++) {
            plays.hidden_code = (cudaError_t)code;
            expect_groups(plays.hidden, 0, 0);
            CHECK_INT(seen.calls, ==, 0);
            CHECK_DONE(cudaGetLastError());
        }
    }
    CHECK_CODE(cudaSetDevice(99), cudaErrorInvalidDevice);
    expect_groups("the caller's error", 0, 0);
    CHECK_INT(cudaGetLastError(), !=, cudaSuccess);
    plays.hidden = NULL;
    expect_groups("all of it", 1, 1);
    plays.denied = CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED;
    expect_groups("pages that cannot be exported", 1, 0);
    plays.denied = CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED;
    expect_groups("a device without", 0, 0);
    CHECK_MSG(seen.calls == 1, "which is asked no more");
    plays.denied = (CUdevice_attribute)0;
    plays.shared_bytes = MIB(4);
    expect_groups("pages of a size that cannot be exported", 1, 0);
    plays.shared_bytes = MIB(1);
    expect_groups("pages of a size that can", 1, 1);
    plays.shared_bytes = 0;
    cudart_close(machine);
    for (size_t row = 0; row < COUNT(rows); row++) {
        machine = machine_attach(rows[row].faults);
        expect_groups(rows[row].faults, rows[row].vm, rows[row].fd);
        CHECK_DONE(cudaGetLastError());
        expect_groups("and the next table has it", 1, 1);
        cudart_close(machine);
    }
}

static void test_devices(void)
{
    gpuarena_driver driver = fill(), untouched = GPUARENA_INIT;
    uint64_t page = 0, started_ns = progress_clock_ns(), now_ns = driver.now_ns(&driver);
    CHECK_INT(seen.wrong_look_ups, ==, 0);
    CHECK(seen.calls == 6 && seen.device == 1 && seen.place == 1 && seen.option == CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    CHECK(driver.device == 1 && driver.page_bytes == MIB(2) && !driver.peers && !driver.null_is_per_thread);
    CHECK(started_ns <= now_ns && now_ns <= progress_clock_ns() && driver.per_thread == cudaStreamPerThread);
    CHECK_INT(driver.vm.create(&driver, &page, MIB(6), 0), ==, 0);
    CHECK(machine_held(cudart_machine(), 1) == MIB(6) && machine_held(cudart_machine(), 0) == 0);
    CHECK_INT(driver.vm.destroy(&driver, page, MIB(6)), ==, 0);
    CHECK_MSG(sim_now_ns(cudart_machine()) < 1000000, "neither a table nor its pages make a context");
    plays.page_bytes = MIB(4);
    driver = fill();
    CHECK_U64(driver.page_bytes, ==, MIB(4));
    plays.page_bytes = 0;
    for (int device = 1; device >= 0; device--) {
        CHECK_DONE(cudaSetDevice(device));
        CHECK_INT(gpuarena_driver_cuda(-1, &driver), ==, GPUARENA_OK);
        CHECK_INT(driver.device, ==, device);
    }
    static const int wrong[] = { 2, -2, INT32_MAX };
    for (size_t i = 0; i < COUNT(wrong); i++)
        CHECK_INT(gpuarena_driver_cuda(wrong[i], &untouched), ==, GPUARENA_INVALID_ARGUMENT);
    CHECK(untouched.classify == NULL);
    CHECK_INT(gpuarena_driver_cuda(0, NULL), ==, GPUARENA_INVALID_ARGUMENT);
    CHECK_DONE(cudaGetLastError());
}

/* Network cards may reach pages where the device allows it. Pages are made as the driver was asked for their
   granularity. */
static void test_pages(void)
{
    for (int rdma = 0; rdma < 2; rdma++)
        for (uint32_t traits = 0; traits <= GPUARENA_PAGE_SHARED; traits++) {
            plays.denied = rdma ? (CUdevice_attribute)0 : CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED;
            gpuarena_driver driver = fill();
            uint64_t page = 0;
            CHECK_INT(driver.vm.create(&driver, &page, MIB(2), traits), ==, 0);
            CHECK(seen.created.requestedHandleTypes == traits * CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
                  && seen.created.allocFlags.gpuDirectRDMACapable == rdma
                  && memcmp(&seen.created, &seen.asked[traits], sizeof seen.created) == 0);
            CHECK_INT(driver.vm.destroy(&driver, page, MIB(2)), ==, 0);
        }
    plays.denied = (CUdevice_attribute)0;
}

static void test_access(void)
{
    static const struct { uint64_t peers; int count; } rows[] = {
        { 0, 1 }, { 2, 1 }, { 1, 2 }, { 5, 3 }, { (uint64_t)1 << 63 | 2, 2 }, { UINT64_MAX, 64 },
    };
    for (size_t row = 0; row < COUNT(rows); row++) {
        gpuarena_driver driver = fill();
        driver.peers = rows[row].peers;
        (void)driver.vm.access(&driver, NULL, GIB(9), 1);
        CHECK(seen.access_count == rows[row].count && seen.access == (driver.peers | 2) && !seen.wrong_access);
    }
}

/* ---- arenas */

static gpuarena_failure last(void)
{
    gpuarena_failure failure;
    gpuarena_last_failure(NULL, &failure);
    return failure;
}

/* Makes an arena on device 1, by the table that an arena makes itself of the current device; the caller is on device
   0 then. */
static gpuarena *arena_of(gpuarena_backing backing)
{
    gpuarena_config config = GPUARENA_INIT;
    gpuarena *arena = NULL;
    gpuarena_device figures;
    int current = -1;
    config.backing = backing;
    config.environment = "";
    CHECK_DONE(cudaSetDevice(1));
    CHECK_INT(gpuarena_create(&config, &arena), ==, GPUARENA_OK);
    if (!arena) {
        printf("Bail out! no arena\n");
        exit(1);
    }
    CHECK_INT(gpuarena_get_device(arena, &figures), ==, GPUARENA_OK);
    CHECK_DONE(cudaGetDevice(&current));
    CHECK(figures.device == 1 && current == 1);
    CHECK(backing == GPUARENA_BACKING_PINNED ? figures.free_bytes < figures.total_bytes
                                             : figures.total_bytes == GIB(1));
    CHECK_DONE(cudaSetDevice(0));
    return arena;
}

/* Calls of the runtime that fail. The peer's access has been enabled before, which is no failure. */
static int call_failing(const gpuarena_driver *driver, int call)
{
    int mode = 77;
    void *ptr = NULL;
    switch (call) {
    case 0:  return driver->memory.obtain(driver, GPUARENA_MEMORY_DEVICE, &ptr, GIB(4), NULL) == 2;
    case 1:  return driver->capture.exchange_mode(driver, &mode) == cudaErrorInvalidValue;
    default: return driver->peer(driver, 0) == 0;
    }
}

/* An error of ours leaves no trace. One of the caller's outlives calls of ours that succeed, and calls of virtual
   memory that fail, too; after other calls that fail there is still an error. */
static void test_last_error(void)
{
    gpuarena *arena = arena_of(GPUARENA_BACKING_AUTO);
    gpuarena_driver driver = fill();
    uint64_t page;
    void *ptr = NULL;
    CHECK_INT(gpuarena_alloc(arena, &ptr, GIB(4), NULL), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_INT(last().driver_code, ==, cudaErrorMemoryAllocation);
    CHECK_STR(last().detail, "cudaErrorMemoryAllocation");
    CHECK_INT(cudaGetLastError(), ==, cudaSuccess);
    CHECK_INT(cudaSetDevice(99), ==, cudaErrorInvalidDevice);
    CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(1), NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(arena, ptr, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_trim(arena, 0, NULL), ==, GPUARENA_OK);
    CHECK_INT(driver.vm.create(&driver, &page, GIB(4), 0), ==, 2);
    CHECK_INT(cudaPeekAtLastError(), ==, cudaErrorInvalidDevice);
    CHECK_INT(gpuarena_alloc(arena, &ptr, GIB(4), NULL), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_INT(cudaGetLastError(), !=, cudaSuccess);
    CHECK_INT(cudaGetLastError(), ==, cudaSuccess);
    CHECK_INT(driver.peer(&driver, 0), ==, 0);
    for (int call = 0; call < 3; call++)
        for (int has_error = 0; has_error < 2; has_error++) {
            if (has_error) CHECK_CODE(cudaSetDevice(99), cudaErrorInvalidDevice);
            CHECK_INT(call_failing(&driver, call), ==, 1);
            CHECK_INT(cudaGetLastError() != cudaSuccess, ==, has_error);
        }
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
}

/* Two arenas of a kind of memory, on two streams: they leave nothing, neither memory nor a pool. */
static void test_backing(gpuarena_backing backing)
{
    sim *machine = machine_attach(NULL);
    gpuarena *const arenas[2] = { arena_of(backing), arena_of(backing) };
    cudaStream_t streams[2];
    sim_counters counters;
    void *blocks[40];
    int wrong = 0;
    CHECK_DONE(cudaSetDevice(1));
    for (int i = 0; i < 2; i++) wrong += cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking) != 0;
    CHECK_DONE(cudaSetDevice(0));
    for (size_t round = 0; round < 8; round++) {
        for (size_t i = 0; i < COUNT(blocks); i++)
            wrong += gpuarena_alloc(arenas[i % 8 == 0], &blocks[i], KIB(900) + KIB(30) * round,
                                    streams[(i + round) % 2]) != 0;
        for (size_t i = 0; i < COUNT(blocks); i++)
            wrong += gpuarena_free(arenas[i % 8 == 0], blocks[i], streams[(i + round) % 2]) != 0;
        if (round % 3 == 2) wrong += gpuarena_trim(arenas[0], 0, NULL) != 0;
        wrong += gpuarena_check(arenas[0], NULL, 0) != 0;
    }
    for (int i = 0; i < 2; i++) wrong += gpuarena_destroy(arenas[i]) != 0;
    sim_get_counters(machine, 1, &counters);
    CHECK_MSG(wrong == 0 && sim_finding_count(machine) == 0, "backing %d: %d things are wrong", (int)backing, wrong);
    CHECK_U64(counters.held_bytes + counters.host_bytes + counters.managed_bytes, ==, 0);
    CHECK_U64(counters.calls[SIM_CALL_POOL_CREATE], ==, counters.calls[SIM_CALL_POOL_DESTROY]);
    cudart_close(machine);
}

/* cudaFree need not wait for work on the memory. So the device is waited for before memory goes back that a stream
   may still use, and for no other. */
static void test_free_waits(void)
{
    static const gpuarena_backing backings[] = { GPUARENA_BACKING_SEGMENTS, GPUARENA_BACKING_MANAGED };
    for (size_t at = 0; at < COUNT(backings); at++)
        for (int is_used = 0; is_used < 2; is_used++) {
            sim *machine = machine_attach(NULL);
            gpuarena *arena = arena_of(backings[at]);
            sim_counters counters;
            void *block = NULL;
            CHECK_INT(gpuarena_alloc(arena, &block, MIB(1), NULL), ==, GPUARENA_OK);
            CHECK_INT(gpuarena_free(arena, block, is_used ? NULL : GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
            CHECK_INT(gpuarena_trim(arena, 0, NULL), ==, GPUARENA_OK);
            sim_get_counters(machine, 1, &counters);
            CHECK(counters.calls[SIM_CALL_GIVE_BACK] == 1 && counters.held_bytes + counters.managed_bytes == 0);
            CHECK_U64(counters.calls[SIM_CALL_DEVICE_SYNCHRONIZE], ==, (uint64_t)is_used);
            CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
            cudart_close(machine);
        }
}

/* Memory of the pool goes back on the default stream, which must not be used while a blocking stream captures, be it
   one that the arena does not know. */
static void test_async_capture(void)
{
    gpuarena *arena = arena_of(GPUARENA_BACKING_ASYNC);
    cudaStream_t stream;
    cudaGraph_t graph;
    CHECK_INT(gpuarena_reserve(arena, MIB(2)), ==, GPUARENA_OK);
    CHECK_DONE(cudaSetDevice(1));
    CHECK_DONE(cudaStreamCreate(&stream));
    CHECK_DONE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    CHECK_INT(gpuarena_trim(arena, 0, NULL), ==, GPUARENA_CAPTURE);
    CHECK_DONE(cudaStreamEndCapture(stream, &graph));
    CHECK_INT(gpuarena_trim(arena, 0, NULL), ==, GPUARENA_OK);
    CHECK_U64(sim_finding_count(cudart_machine()), ==, 0);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
}

/* ---- calls that fail at one step of several: they leave nothing, no memory, no event, no error in the slot */

typedef enum entry { OBTAIN, CREATE_EVENT, ASK_CAPTURE, RESERVE, OPEN_HANDLE, PEER, ENTRIES } entry;

static int call_entry(const gpuarena_driver *driver, entry called, gpuarena_memory kind, void **out)
{
    static const unsigned char handle[GPUARENA_IPC_BYTES] = { 0 };
    int active = 0;
    switch (called) {
    case OBTAIN:       return driver->memory.obtain(driver, kind, out, MIB(2), NULL);
    case CREATE_EVENT: return driver->events.create(driver, out);
    case ASK_CAPTURE:  return driver->capture.active(driver, NULL, &active);
    case RESERVE:      return driver->vm.reserve(driver, out, MIB(2), MIB(2));
    case PEER:         return driver->peer(driver, 0);
    default:           return driver->ipc.open_handle(driver, handle, out);
    }
}

static void expect_nothing(const char *what)
{
    sim_counters counters;
    int current = -1;
    CHECK_DONE(cudaPeekAtLastError());
    CHECK_DONE(cudaSetDevice(1));
    CHECK_DONE(cudaDeviceSynchronize());         /* a destroyed pool keeps memory until its streams are done */
    sim_get_counters(cudart_machine(), 1, &counters);
    CHECK_MSG(counters.held_bytes + counters.host_bytes + counters.managed_bytes == 0
              && !counters.reserved_address_bytes
              && counters.calls[SIM_CALL_POOL_CREATE] == counters.calls[SIM_CALL_POOL_DESTROY]
              && counters.calls[SIM_CALL_EVENT_WITH_FLAGS] == counters.calls[SIM_CALL_EVENT_DESTROY],
              "%s: nothing is left", what);
    CHECK_DONE(cudaSetDevice(0));
    CHECK_MSG(cudaGetDevice(&current) == 0 && current == 0, "%s: the device can be chosen", what);
}

/* The table's device cannot be made current, or the caller's not again. */
static void test_not_current(void)
{
    for (int called = 0; called < ENTRIES; called++)
        for (int kind = GPUARENA_MEMORY_DEVICE; kind <= (called == OBTAIN ? GPUARENA_MEMORY_ASYNC : 0); kind++)
            for (uint64_t step = 1; step <= 1 + (called < OPEN_HANDLE); step++) {
                sim *machine = machine_attach(NULL);
                gpuarena_driver driver = fill();
                void *out = &machine;
                sim_fail_call(machine, SIM_CALL_SET_DEVICE, step, 0, 46);
                CHECK_INT(call_entry(&driver, (entry)called, (gpuarena_memory)kind, &out), ==, step == 1 ? 46 : -1);
                CHECK_MSG(out == &machine && sim_fail_fired(machine), "entry %d, kind %d: nothing is handed out",
                          called, kind);
                expect_nothing("a device that cannot be made current");
                cudart_close(machine);
            }
}

/* Obtained memory can neither be handed out nor be given back. */
static void test_not_given_back(void)
{
    gpuarena_driver driver = fill();
    void *out = NULL;
    for (int has_error = 0; has_error < 2; has_error++) {
        CHECK_DONE(cudaSetDevice(0));
        if (has_error) CHECK_CODE(cudaSetDevice(99), cudaErrorInvalidDevice);
        sim_fail_call(cudart_machine(), SIM_CALL_SET_DEVICE, 2, 0, 46);
        CHECK_INT(driver.memory.obtain(&driver, GPUARENA_MEMORY_DEVICE, &out, MIB(2), NULL), ==, -1);
        CHECK(!out && machine_held(cudart_machine(), 1) == MIB(2) * (uint64_t)(1 + has_error));
        CHECK_INT(cudaGetLastError() != cudaSuccess, ==, has_error);
    }
}

/* Memory that is not given back stays: memory that a stream may use, if the device cannot be waited for; and a
   pool. */
static void test_stays(void)
{
    gpuarena_driver driver = fill();
    gpuarena *arena = arena_of(GPUARENA_BACKING_ASYNC);
    void *out = NULL;
    CHECK_INT(driver.memory.obtain(&driver, GPUARENA_MEMORY_DEVICE, &out, MIB(2), NULL), ==, 0);
    sim_fail_call(cudart_machine(), SIM_CALL_DEVICE_SYNCHRONIZE, 1, 0, 46);
    CHECK_INT(driver.memory.give_back(&driver, GPUARENA_MEMORY_DEVICE, out, MIB(2), NULL), ==, 46);
    CHECK_U64(machine_held(cudart_machine(), 1), ==, MIB(2));
    CHECK_INT(driver.memory.give_back(&driver, GPUARENA_MEMORY_DEVICE, out, MIB(2), NULL), ==, 0);
    CHECK_INT(gpuarena_reserve(arena, MIB(2)), ==, GPUARENA_OK);
    sim_fail_call(cudart_machine(), SIM_CALL_FREE_ASYNC, 1, 0, 46);
    CHECK_INT(gpuarena_trim(arena, 0, NULL), ==, GPUARENA_DRIVER_ERROR);
    for (uint64_t destroyed = 0; destroyed < 2; destroyed++) {
        sim_counters counters;
        sim_get_counters(cudart_machine(), 1, &counters);
        CHECK_U64(counters.calls[SIM_CALL_POOL_DESTROY], ==, destroyed);
        if (!destroyed) CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    }
}

/* A pool that is not destroyed is no error of the call that gave the last memory back, and leaves none in the slot,
   unless the caller had one. */
static void test_pool_stays(void)
{
    for (int has_error = 0; has_error < 2; has_error++) {
        gpuarena *arena = arena_of(GPUARENA_BACKING_ASYNC);
        CHECK_INT(gpuarena_reserve(arena, MIB(2)), ==, GPUARENA_OK);
        CHECK(machine_held(cudart_machine(), 1) > 0);
        if (has_error) CHECK_CODE(cudaSetDevice(99), cudaErrorInvalidDevice);
        sim_fail_call(cudart_machine(), SIM_CALL_POOL_DESTROY, 1, 0, 46);
        CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
        CHECK(sim_fail_fired(cudart_machine()));
        CHECK_INT(cudaGetLastError() != cudaSuccess, ==, has_error);
    }
}

/* The pool of the kind async. */
static void test_pool_refused(void)
{
    static const sim_call calls[] = { SIM_CALL_POOL_CREATE, SIM_CALL_MALLOC_FROM_POOL_ASYNC };
    for (size_t at = 0; at < COUNT(calls); at++) {
        sim *machine = machine_attach(NULL);
        gpuarena *arena = arena_of(GPUARENA_BACKING_ASYNC);
        sim_counters counters;
        void *block = NULL;
        sim_fail_call(machine, calls[at], 1, 0, 46);
        CHECK_INT(gpuarena_alloc(arena, &block, MIB(1), NULL), ==, GPUARENA_DRIVER_ERROR);
        CHECK(!block && last().driver_code == 46 && sim_fail_fired(machine));
        CHECK_INT(gpuarena_alloc(arena, &block, MIB(1), NULL), ==, GPUARENA_OK);
        CHECK_INT(gpuarena_free(arena, block, NULL), ==, GPUARENA_OK);
        CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
        sim_get_counters(machine, 1, &counters);
        CHECK_U64(counters.held_bytes, ==, 0);
        CHECK_U64(counters.calls[SIM_CALL_POOL_CREATE], ==, 2);
        CHECK_U64(counters.calls[SIM_CALL_POOL_DESTROY], ==, calls[at] == SIM_CALL_POOL_CREATE ? 1 : 2);
        cudart_close(machine);
    }
}

/* Defaults, of the current device; memory of no kind. */
static void test_defaults(void)
{
    gpuarena_driver driver = fill();
    gpuarena *arena = NULL;
    gpuarena_device figures;
    uint64_t idle, total;
    float ms;
    void *out = NULL, *event = NULL;
    CHECK_INT(gpuarena_create(NULL, &arena), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_get_device(arena, &figures), ==, GPUARENA_OK);
    CHECK_INT(figures.device, ==, 0);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    CHECK_INT(driver.memory.info(&driver, (gpuarena_memory)99, &idle, &total), ==, cudaErrorNotSupported);
    CHECK_INT(driver.memory.obtain(&driver, (gpuarena_memory)99, &out, MIB(2), NULL), ==, cudaErrorNotSupported);
    CHECK(!out);
    CHECK_INT(driver.events.create(&driver, &event), ==, 0);
    CHECK_INT(driver.events.record(&driver, event, NULL), ==, 0);
    CHECK_INT(driver.events.host_wait(&driver, event), ==, 0);
    CHECK_MSG(cudaEventElapsedTime(&ms, (cudaEvent_t)event, (cudaEvent_t)event) == cudaErrorInvalidResourceHandle,
              "events take no time");
    CHECK_INT(driver.events.destroy(&driver, event), ==, 0);
}

/* ---- codes and absence */

/* The classes of codes are those of the simulator's table, but that a device in use (46) is no lack of support. */
static void test_codes(void)
{
    gpuarena_driver driver = fill();
    int wrong_code = -2;
    for (int code = -1; code <= 1100; code++) {
        gpuarena_status expected = code == 46 ? GPUARENA_STATUS_FAILED : codes_of(code)->status;
        if (driver.classify(&driver, code) != expected) wrong_code = code;
    }
    CHECK_INT(wrong_code, ==, -2);
    CHECK_STR(driver.code_name(&driver, 2), "cudaErrorMemoryAllocation");
    CHECK_STR(driver.code_name(&driver, 700), "cudaErrorIllegalAddress");
    CHECK_STR(driver.code_name(&driver, -1), "the caller's device could not be made current again");
}

/* Whatever the runtime answers, creation ends with a result, the code and a sentence, and leaves nothing but an
   error that the caller had. */
static void test_absence(void)
{
    static const struct { const char *faults; int code; gpuarena_result result; const char *says; } rows[] = {
        { "any:1+=35", 35, GPUARENA_NOT_SUPPORTED, "cudaErrorInsufficientDriver (35): no CUDA driver" },
        { "any:1+=34", 34, GPUARENA_NOT_SUPPORTED, "cudaErrorStubLibrary" },
        { "any:1+=100", 100, GPUARENA_NOT_SUPPORTED, "cudaErrorNoDevice (100): the driver sees no CUDA device" },
        { "any:1+=3", 3, GPUARENA_DRIVER_ERROR, "cudaErrorInitializationError (3): or a fork of a process" },
        { "any:1+=4", 4, GPUARENA_DRIVER_ERROR, "cudaErrorCudartUnloading" },
        { "cudaGetDeviceCount:1=719", 719, GPUARENA_DEVICE_LOST, "cudaErrorLaunchFailure" },
        { "cudaGetDevice:1=46", 46, GPUARENA_DRIVER_ERROR, "cudaErrorDevicesUnavailable" },
        { "cudaMemGetInfo:1=2", 2, GPUARENA_OUT_OF_MEMORY, "2.00 MiB) were refused by the driver" },
        { "cudaMemGetInfo:1=46", 46, GPUARENA_DRIVER_ERROR, "cudaErrorDevicesUnavailable" },
        { "cudaGetDeviceCount:1+=999", 999, GPUARENA_DRIVER_ERROR, "cudaErrorUnknown" },
    };
    for (size_t row = 0; row < COUNT(rows); row++) {
        sim *machine = machine_attach(rows[row].faults);
        gpuarena_config config = GPUARENA_INIT;
        gpuarena *arena = NULL;
        char text[512] = "";
        config.environment = "";
        gpuarena_result result = gpuarena_create(&config, &arena);
        gpuarena_failure failure = last();
        gpuarena_failure_text(&failure, text, sizeof text);
        CHECK_MSG(result == rows[row].result && failure.result == result && failure.driver_code == rows[row].code
                  && strstr(text, rows[row].says) && !arena, "%s: %s", rows[row].faults, text);
        CHECK_U64(failure.missing_bytes, ==, result == GPUARENA_OUT_OF_MEMORY ? MIB(2) : 0);
        if (rows[row].code == 999) {
            CHECK_DONE(cudaGetLastError());
            CHECK_CODE(cudaSetDevice(99), cudaErrorInvalidDevice);
            CHECK_INT(gpuarena_create(&config, &arena), ==, GPUARENA_DRIVER_ERROR);
            CHECK_INT(cudaGetLastError(), !=, cudaSuccess);
        }
        cudart_close(machine);
    }
}

/* ---- fork after the first use of CUDA: the child is refused by its parent's arenas and by the driver table alike,
        frees nothing, and the parent goes on */

/* The number of the first thing that is wrong; 0: nothing. */
static int child(gpuarena *arena, void *block, const gpuarena_driver *driver)
{
    gpuarena_driver own = GPUARENA_INIT;
    gpuarena_config config = GPUARENA_INIT;
    gpuarena *made = NULL;
    if (gpuarena_free(arena, block, NULL) != GPUARENA_FORKED || gpuarena_destroy(arena) != GPUARENA_FORKED) return 1;
    if (gpuarena_driver_cuda(0, &own) != GPUARENA_FORKED || own.classify || !strstr(last().detail, "exec")) return 2;
    config.environment = "";
    if (gpuarena_create(&config, &made) != GPUARENA_FORKED || made) return 3;
    config.driver = driver;                      /* a table of before */
    if (gpuarena_create(&config, &made) != GPUARENA_DRIVER_ERROR || made) return 4;
    if (last().driver_code != cudaErrorInitializationError) return 5;
    return driver->memory.give_back(driver, GPUARENA_MEMORY_DEVICE, block, MIB(2), NULL)
        == cudaErrorInitializationError ? 0 : 6;
}

static void test_fork(void)
{
    gpuarena *arena = arena_of(GPUARENA_BACKING_AUTO);
    gpuarena_driver driver = fill();
    int status = -1;
    void *block;
    CHECK_INT(gpuarena_alloc(arena, &block, MIB(3), NULL), ==, GPUARENA_OK);
    uint64_t held = machine_held(cudart_machine(), 1);
    fflush(stdout);
    pid_t process = fork();
    if (process == 0) {
        status = child(arena, block, &driver);
        if (TAP_SANITIZED) _exit(status);        /* the parent's memory is no leak */
        exit(status);                            /* make coverage counts code that ends by exit */
    }
    CHECK(process > 0 && waitpid(process, &status, 0) == process && WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), ==, 0);
    CHECK_U64(machine_held(cudart_machine(), 1), ==, held);
    CHECK_INT(gpuarena_check(arena, NULL, 0), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(arena, block, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    CHECK_U64(machine_held(cudart_machine(), 1), ==, 0);
}

static void run(void)
{
    static const machine_test tests[] = { { test_devices, 2, NULL }, { test_pages, 2, NULL },
                                          { test_access, 2, NULL },
                                          { test_last_error, 2, NULL }, { test_codes, 2, NULL },
                                          { test_not_given_back, 2, "cudaFree:1+=46" }, { test_stays, 2, NULL },
                                          { test_defaults, 2, NULL },
                                          { test_async_capture, 2, NULL }, { test_pool_stays, 2, NULL },
                                          { test_fork, 2, NULL } };
    test_what_is_not_there();                    /* first: a table does not look again for functions that it has
                                                    found */
    machine_tests(tests, COUNT(tests));
    for (int backing = GPUARENA_BACKING_PAGED; backing <= GPUARENA_BACKING_ASYNC; backing++)
        test_backing((gpuarena_backing)backing);
    test_free_waits();
    test_not_current();
    test_pool_refused();
    test_absence();
}
#endif

CUDA_TEST_MAIN(run)
