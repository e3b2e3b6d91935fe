/* The libcudart substitute beyond the words of scripts: bytes that differ, structures, functions that are called
   back, kernels, codes and their names. It must not know how calls are served. */
#include "cuda_machine.h"

#ifndef GPUARENA_NO_CUDA
#include <cuda.h>

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif

/* ---- memory */

static unsigned char host[3 << 20], back[3 << 20];

static void test_round_trips(void)
{
    char *block, *piece, *other;
    for (size_t i = 0; i < sizeof host; i++) host[i] = (unsigned char)(i * 7 + (i >> 11) + 1);
    CHECK_DONE(cudaMalloc((void **)&block, MIB(7)));
    CHECK_DONE(cudaMalloc((void **)&piece, 5000));
    CHECK_DONE(cudaMemcpy(block + MIB(2) - 3, host, MIB(3), cudaMemcpyHostToDevice));
    CHECK_DONE(cudaMemcpy(back, block + MIB(2) - 3, MIB(3), cudaMemcpyDeviceToHost));
    CHECK_MSG(memcmp(host, back, MIB(3)) == 0, "across borders of physical memory");
    CHECK_DONE(cudaMemcpy(piece, block + MIB(2), 5000, cudaMemcpyDeviceToDevice));
    CHECK_DONE(cudaMemcpy(back, piece, 5000, cudaMemcpyDefault));
    CHECK_MSG(memcmp(host + 3, back, 5000) == 0, "between blocks of one device");
    CHECK_DONE(cudaSetDevice(1));
    CHECK_DONE(cudaMalloc((void **)&other, MIB(6)));
    CHECK_DONE(cudaMemcpyPeer(other + 1, 1, block + MIB(2) - 3, 0, MIB(3)));
    CHECK_DONE(cudaMemcpyAsync(back, other + 1, MIB(3), cudaMemcpyDeviceToHost, NULL));
    CHECK_MSG(memcmp(host, back, MIB(3)) == 0, "between devices");
    CHECK_DONE(cudaMemcpy2D(other, 512, host, 400, 300, 20, cudaMemcpyHostToDevice));
    memset(back, 0, sizeof back);
    CHECK_DONE(cudaMemcpy2D(back, 1000, other, 512, 300, 20, cudaMemcpyDeviceToHost));
    size_t wrong = 0;
    for (size_t row = 0; row < 20; row++)
        wrong += memcmp(back + row * 1000, host + row * 400, 300) != 0 || back[row * 1000 + 300] != 0;
    CHECK_U64(wrong, ==, 0);
    CHECK_DONE(cudaMemcpy(back, host, 100000, cudaMemcpyHostToHost));
    CHECK_DONE(cudaMemcpy(back + 100000, host + 100000, 100000, cudaMemcpyDefault));
    CHECK(memcmp(host, back, 200000) == 0);
    CHECK_U64(sim_finding_count(cudart_machine()), ==, 0);
}

/* Blocks of the host are found by any address in them, in whatever order they go. */
static void test_pinned_memory(void)
{
    enum { BLOCKS = 100 };
    struct cudaPointerAttributes is;
    void *blocks[BLOCKS];
    int wrong = 0;
    for (int i = 0; i < BLOCKS; i++) {
        wrong += cudaHostAlloc(&blocks[i], 1 + 1000 * (size_t)i, cudaHostAllocPortable) != cudaSuccess;
        memset(blocks[i], i, 1 + 1000 * (size_t)i);
    }
    for (int i = 0; i < BLOCKS; i++) {
        wrong += cudaPointerGetAttributes(&is, (char *)blocks[i] + 1000 * (size_t)i) != cudaSuccess;
        wrong += is.type != cudaMemoryTypeHost || !is.hostPointer || ((char *)blocks[i])[0] != i;
    }
    for (int i = 0; i < BLOCKS; i++) wrong += cudaFreeHost(blocks[i * 37 % BLOCKS]) != cudaSuccess;
    CHECK_INT(wrong, ==, 0);
    CHECK_U64(sim_finding_count(cudart_machine()), ==, 0);
}

/* Sixteen devices have the addresses in which a program itself lies: they are no device's. */
static void test_the_host_among_sixteen_devices(void)
{
    sim *machine = cudart_machine();
    unsigned char here[16] = { 1 }, *heap = calloc(1, 16);
    char *block;
    void *const all_kinds[] = { here, heap, host, &machine };
    CHECK_DONE(cudaMalloc((void **)&block, MIB(2)));
    for (size_t i = 0; heap && i < 3; i++) {
        CHECK_DONE(cudaMemcpy(block, all_kinds[i], 16, cudaMemcpyHostToDevice));
        CHECK_DONE(cudaMemcpy(all_kinds[i], block, 16, cudaMemcpyDefault));
    }
    CHECK_U64(sim_finding_count(machine), ==, 0);
    for (size_t i = 0; i < COUNT(all_kinds); i++) {
        CHECK_CODE(cudaFree(all_kinds[i]), cudaErrorInvalidValue);
        CHECK_MSG(strstr(sim_finding(machine, i), "device 0: cudaFree of an address of no device") != NULL,
                  "no address of the host is told");
    }
    free(heap);
}

/* ---- devices */

static void test_attributes_and_properties(void)
{
    struct cudaDeviceProp first, second;
    int value = -1, wrong = 0;
    char text[64];
    CUuuid uuid;
    sim_fail_call(cudart_machine(), SIM_CALL_GET_DEVICE_PROPERTIES, 1, 0, SIM_UNKNOWN);
    CHECK_CODE(cudaGetDeviceProperties(&first, 0), cudaErrorUnknown);
    CHECK_DONE(cudaGetDeviceProperties(&first, 0));
    CHECK_DONE(cudaGetDeviceProperties(&second, 1));
    CHECK_CODE(cudaGetDeviceProperties(&first, 2), cudaErrorInvalidDevice);
    CHECK_CODE(cudaGetDeviceProperties(NULL, 0), cudaErrorInvalidValue);
    CHECK_STR(first.name, "gpuarena simulated device");
    CHECK(first.totalGlobalMem == GIB(1) && first.major == 9 && first.minor == 0 && first.warpSize == 32);
    CHECK(first.maxThreadsDim[2] == 64 && first.maxGridSize[0] == INT32_MAX && first.maxGridSize[2] == 65535);
    CHECK_MSG(first.managedMemory == 1 && first.concurrentManagedAccess == 1, "as the attributes say");
#if CUDART_VERSION >= 12000
    CHECK_MSG(first.memoryPoolsSupported == 1, "as the attribute says");
#endif
    CHECK_MSG(memcmp(&first.uuid, &second.uuid, sizeof first.uuid) != 0 && first.pciBusID != second.pciBusID,
              "devices are told apart");
    for (int i = cudaDevAttrMaxThreadsPerBlock; i < cudaDevAttrMax; i++)
        wrong += cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)i, 1) != cudaSuccess;
    CHECK_INT(wrong, ==, 0);
    CHECK_CODE(cudaDeviceGetAttribute(&value, cudaDevAttrMax, 0), cudaErrorInvalidValue);
    CHECK(!cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0) && value == first.multiProcessorCount);
    CHECK(!cudaDeviceGetAttribute(&value, cudaDevAttrPciBusId, 1) && value == second.pciBusID);
    CHECK_MSG(!cudaDeviceGetAttribute(&value, cudaDevAttrMemoryPoolsSupported, 0) && value == 1, "served: promised");
    CHECK_MSG(!cudaDeviceGetAttribute(&value, cudaDevAttrHostRegisterSupported, 0) && value == 0, "not served: not");
    CHECK(!cuDeviceGetName(text, sizeof text, 1) && strcmp(text, second.name) == 0);
    CHECK(!cuDeviceGetUuid(&uuid, 1) && memcmp(&uuid, &second.uuid, sizeof uuid) == 0);
    CHECK(!cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 1) && value == second.major);
}

/* ---- events */

static void test_many_handles(void)
{
    enum { MOST = 1000 };
    static cudaEvent_t events[MOST];
    int wrong = 0;
    for (int i = 0; i < MOST; i++) wrong += cudaEventCreate(&events[i]) != cudaSuccess;
    for (int i = 0; i < MOST; i += 2) wrong += cudaEventDestroy(events[i]) != cudaSuccess;
    for (int i = 0; i < MOST; i++)
        wrong += cudaEventQuery(events[i]) != (i % 2 ? cudaSuccess : cudaErrorInvalidResourceHandle);
    for (int i = 0; i < MOST; i += 2) wrong += cudaEventCreate(&events[i]) != cudaSuccess;
    for (int i = 0; i < MOST; i++) wrong += cudaEventDestroy(events[i]) != cudaSuccess;
    CHECK_INT(wrong, ==, 0);
}

/* ---- pools: one may lie where another one lay */

static void test_current_pool(void)
{
    enum { MOST = 20 };
    cudaMemPool_t own, pools[MOST], now;
    struct cudaMemPoolProps props;
    int wrong = 0;
    memset(&props, 0, sizeof props);
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    CHECK_DONE(cudaDeviceGetDefaultMemPool(&own, 0));
    for (int i = 0; i < MOST; i++) wrong += cudaMemPoolCreate(&pools[i], &props) != cudaSuccess;
    CHECK_DONE(cudaDeviceSetMemPool(0, pools[MOST / 2]));
    for (int i = 0; i < MOST; i++) wrong += cudaMemPoolDestroy(pools[i]) != cudaSuccess;
    for (int i = 0; i < MOST; i++) {
        wrong += cudaMemPoolCreate(&pools[i], &props) != cudaSuccess;
        wrong += cudaDeviceGetMemPool(&now, 0) != cudaSuccess || now != own;
    }
    CHECK_MSG(wrong == 0, "when the current pool is destroyed, the device's own is current, whatever is made then");
}

/* ---- functions that are called back; kernels */

static int host_calls;

static void CUDART_CB count_host_call(void *count)
{
    ++*(int *)count;
}

/* Nothing is permitted in there, and errors are those of a thread of the driver's. */
static void CUDART_CB call_from_host(void *stream)
{
    void *ptr;
    int count;
    CHECK_CODE(cudaPeekAtLastError(), cudaSuccess);
    CHECK_CODE(cudaMalloc(&ptr, MIB(2)), cudaErrorNotPermitted);
    CHECK_CODE(cudaGetLastError(), cudaErrorNotPermitted);
    CHECK_CODE(cudaGetLastError(), cudaSuccess);
    CHECK_CODE(cudaStreamSynchronize(stream), cudaErrorNotPermitted);
    CHECK_CODE(cudaLaunchHostFunc(stream, count_host_call, &host_calls), cudaErrorNotPermitted);
    CHECK_INT(cuDeviceGetCount(&count), ==, CUDA_ERROR_NOT_PERMITTED);
    CHECK_INT(cuStreamQuery(stream), ==, CUDA_ERROR_NOT_PERMITTED);
}

static void test_host_functions(void)
{
    cudaStream_t stream;
    CHECK_DONE(cudaStreamCreate(&stream));
    sim_fail_call(cudart_machine(), SIM_CALL_LAUNCH_HOST_FUNC, 1, 0, SIM_UNKNOWN);
    CHECK_CODE(cudaLaunchHostFunc(stream, count_host_call, &host_calls), cudaErrorUnknown);
    CHECK_INT(host_calls, ==, 0);
    CHECK_DONE(cudaLaunchHostFunc(stream, count_host_call, &host_calls));
    CHECK_INT(host_calls, ==, 1);
    CHECK_DONE(cudaLaunchHostFunc(stream, call_from_host, stream));
    CHECK_INT(cuLaunchHostFunc(stream, call_from_host, stream), ==, CUDA_SUCCESS);
    CHECK_CODE(cudaGetLastError(), cudaErrorUnknown);            /* the thread's own, as it was */
    CHECK_DONE(cudaStreamSynchronize(stream));
    CHECK_DONE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK_CODE(cudaLaunchHostFunc(stream, count_host_call, &host_calls), cudaErrorNotSupported);
    CHECK_INT(host_calls, ==, 1);
    (void)cudaGetLastError();
    CHECK_CODE(cudaUserObjectRetain(NULL, 1), cudaErrorNotSupported);
    CHECK_CODE(cudaGetLastError(), cudaErrorNotSupported);
}

/* A struct, which no refusal could stand for. */
static void test_channels(void)
{
    const struct cudaChannelFormatDesc made = cudaCreateChannelDesc(8, 16, 0, 0, cudaChannelFormatKindUnsigned);
    CHECK_INT(made.x, ==, 8);
    CHECK_INT(made.y, ==, 16);
    CHECK_INT(made.f, ==, cudaChannelFormatKindUnsigned);
}

/* Functions that nvcc's code calls by itself; the toolkit declares them for its own compiler alone. */
void **__cudaRegisterFatBinary(void *binary);
void   __cudaRegisterFatBinaryEnd(void **module);
void   __cudaUnregisterFatBinary(void **module);
char   __cudaInitModule(void **module);
void   __cudaRegisterFunction(void **module, const char *host, char *device, const char *name, int limit,
                              uint3 *thread, uint3 *block, dim3 *block_size, dim3 *grid_size, int *warp);
void   __cudaRegisterVar(void **module, char *host, char *device, const char *name, int is_external, size_t bytes,
                         int is_constant, int is_global);
unsigned    __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, void *stream);
cudaError_t __cudaGetKernel(void **kernel, const void *function);

static char kernel;                              /* its address is the host's name for a kernel */

static void test_registration(void)
{
    void **module = __cudaRegisterFatBinary(&kernel), *found = NULL;
    CHECK(module != NULL);
    __cudaRegisterFunction(module, &kernel, &kernel, "kernel", -1, NULL, NULL, NULL, NULL, NULL);
    __cudaRegisterVar(module, &kernel, &kernel, "variable", 0, 4, 0, 0);
    __cudaRegisterFatBinaryEnd(module);
    CHECK(__cudaInitModule(module) != 0);
    CHECK_DONE(__cudaGetKernel(&found, &kernel));
    CHECK(found != NULL);
    __cudaUnregisterFatBinary(module);
    CHECK_DONE(cudaGetLastError());
}

/* Sixteen configurations nest, more than in any program. */
static void test_configurations_nest(void)
{
    dim3 pushed = { 1, 1, 1 }, grid, block;
    size_t shared_bytes;
    cudaStream_t stream;
    int wrong = 0;
    while (!__cudaPushCallConfiguration(pushed, pushed, pushed.x, cudaStreamPerThread)) pushed.x++;
    CHECK_INT(pushed.x, ==, 17);
    CHECK_CODE(cudaGetLastError(), cudaErrorInvalidConfiguration);
    while (!__cudaPopCallConfiguration(&grid, &block, &shared_bytes, &stream)) {
        pushed.x--;
        wrong += grid.x != pushed.x || block.x != pushed.x || shared_bytes != pushed.x
              || stream != cudaStreamPerThread;
    }
    CHECK(pushed.x == 1 && !wrong);
    CHECK_CODE(cudaGetLastError(), cudaErrorMissingConfiguration);
}

/* ---- errors */

static void test_last_error(void)
{
    void *ptr;
    CHECK_DONE(cudaGetLastError());
    CHECK_CODE(cudaMalloc(&ptr, GIB(2)), cudaErrorMemoryAllocation);
    CHECK_DONE(cudaMalloc(&ptr, 1));
    CHECK_MSG(cudaPeekAtLastError() == cudaErrorMemoryAllocation, "success leaves it alone");
    CHECK_INT(cuMemAlloc((CUdeviceptr *)&ptr, GIB(2)), ==, CUDA_ERROR_OUT_OF_MEMORY);
    CHECK_MSG(cudaPeekAtLastError() == cudaErrorMemoryAllocation, "and so does libcuda");
    CHECK_CODE(cudaSetDevice(7), cudaErrorInvalidDevice);
    CHECK_MSG(cudaGetLastError() == cudaErrorInvalidDevice, "the last one counts");
    CHECK_DONE(cudaPeekAtLastError());
}

/* Numbers and names are the toolkit's: of those that each toolkit has. */
static void test_names_of_codes(void)
{
    static const struct { int code; const char *name; } rows[] = {
#define ROW(name) { (int)name, #name }
        ROW(cudaSuccess), ROW(cudaErrorInvalidValue), ROW(cudaErrorMemoryAllocation),
        ROW(cudaErrorInitializationError), ROW(cudaErrorCudartUnloading), ROW(cudaErrorInvalidPitchValue),
        ROW(cudaErrorInvalidMemcpyDirection), ROW(cudaErrorStubLibrary), ROW(cudaErrorInsufficientDriver),
        ROW(cudaErrorCallRequiresNewerDriver), ROW(cudaErrorDevicesUnavailable), ROW(cudaErrorNoDevice),
        ROW(cudaErrorInvalidDevice), ROW(cudaErrorECCUncorrectable), ROW(cudaErrorNvlinkUncorrectable),
        ROW(cudaErrorInvalidResourceHandle), ROW(cudaErrorSymbolNotFound), ROW(cudaErrorNotReady),
        ROW(cudaErrorIllegalAddress), ROW(cudaErrorLaunchTimeout), ROW(cudaErrorPeerAccessAlreadyEnabled),
        ROW(cudaErrorPeerAccessNotEnabled), ROW(cudaErrorUnsupportedLimit),
        ROW(cudaErrorHostMemoryAlreadyRegistered), ROW(cudaErrorHostMemoryNotRegistered),
        ROW(cudaErrorContextIsDestroyed), ROW(cudaErrorAssert),
        ROW(cudaErrorHardwareStackError), ROW(cudaErrorIllegalInstruction), ROW(cudaErrorMisalignedAddress),
        ROW(cudaErrorInvalidAddressSpace), ROW(cudaErrorInvalidPc), ROW(cudaErrorLaunchFailure),
        ROW(cudaErrorNotPermitted), ROW(cudaErrorNotSupported), ROW(cudaErrorMpsClientTerminated),
        ROW(cudaErrorStreamCaptureUnsupported),
        ROW(cudaErrorStreamCaptureWrongThread), ROW(cudaErrorExternalDevice), ROW(cudaErrorUnknown),
#undef ROW
    };
    for (size_t i = 0; i < COUNT(rows); i++) CHECK_STR(cudaGetErrorName((cudaError_t)rows[i].code), rows[i].name);
}

/* All codes, by codes.txt: number, the runtime's name, the driver's, and gpuarena's meaning. */
static void test_codes(void)
{
    static const char *const meanings[] = { "done", "no_memory", "not_ready", "capturing", "not_supported", "failed",
                                            "lost", "unloading" };
    char line[200] = "#", now[200];
    FILE *file = fopen(TESTS_FOLDER "/unit/cuda/codes.txt", "r");
    for (int code = 0; file && code <= 10000; code++) {
        const char *name = cudaGetErrorName((cudaError_t)code), *text = cudaGetErrorString((cudaError_t)code);
        const char *of_driver = NULL;
        if (strcmp(name, "unrecognized error code") == 0) continue;
        (void)cuGetErrorName((CUresult)code, &of_driver);
        snprintf(now, sizeof now, "%d %s %s %s: %s\n", code, name, of_driver ? of_driver : "-",
                 meanings[codes_of(code)->status], text);
        while (line[0] == '#' && fgets(line, sizeof line, file)) continue;
        if (!CHECK_MSG(strcmp(line, now) == 0, "%s", name)) printf("#   codes.txt: %s#   now:       %s", line, now);
        line[0] = '#';
    }
    CHECK_MSG(file && !fgets(line, sizeof line, file), "no other codes in codes.txt");
    if (file) fclose(file);
    CHECK_STR(cudaGetErrorName((cudaError_t)998), "unrecognized error code");
    CHECK_STR(cudaGetErrorString((cudaError_t)-5), "unrecognized error code");
}

static void run(void)
{
    static const machine_test tests[] = {
        { test_round_trips, 2, NULL }, { test_pinned_memory, 1, NULL },
        { test_the_host_among_sixteen_devices, 16, NULL }, { test_attributes_and_properties, 2, NULL },
        { test_many_handles, 1, NULL }, { test_current_pool, 1, NULL }, { test_host_functions, 1, NULL },
        { test_channels, 1, NULL },
        { test_registration, 1, NULL }, { test_configurations_nest, 1, NULL }, { test_last_error, 1, NULL },
        { test_names_of_codes, 1, NULL }, { test_codes, 1, NULL }
    };
    machine_tests(tests, COUNT(tests));
}
#endif

CUDA_TEST_MAIN(run)
