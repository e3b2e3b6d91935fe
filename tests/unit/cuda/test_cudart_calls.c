/* The libcudart substitute where a script does not reach: bytes that differ, floats, structures, functions that
   are looked up or called back, kernels, names of errors. It must not know how calls are served. */
#include "cuda_machine.h"

#ifndef GPUARENA_NO_CUDA
#include <cuda.h>
#include <dlfcn.h>

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

static void test_pushed_contexts(void)
{
    CUcontext context;
    int wrong = cuDevicePrimaryCtxRetain(&context, 0) != CUDA_SUCCESS;
    for (int i = 0; i < 32; i++) wrong += cuCtxPushCurrent(context) != CUDA_SUCCESS;
    CHECK_INT(wrong, ==, 0);
    CHECK_MSG(cuCtxPushCurrent(context) == CUDA_ERROR_NOT_SUPPORTED, "so deep is no program");
}

/* ---- events */

static void test_elapsed(void)
{
    cudaEvent_t start, end;
    float milliseconds = -1;
    CHECK_DONE(cudaEventCreate(&start));
    CHECK_DONE(cudaEventCreate(&end));
    CHECK_DONE(cudaEventRecord(start, NULL));
    sim_advance(cudart_machine(), 2500000);
    CHECK_DONE(cudaEventRecord(end, NULL));
    CHECK_DONE(cudaEventElapsedTime(&milliseconds, start, end));
    CHECK_MSG(milliseconds > 2.4999f && milliseconds < 2.51f, "the virtual clock's: %f ms", (double)milliseconds);
    CHECK_DONE(cudaEventElapsedTime(&milliseconds, end, start));
    CHECK(milliseconds < -2.4999f);
}

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

/* ---- functions that are looked up */

/* The query result, or -1 and the code: one form for all toolkits. */
static int look_up(const char *name, void **found, unsigned long long flags, cudaError_t *code)
{
#if CUDART_VERSION >= 12000
    enum cudaDriverEntryPointQueryResult told = (enum cudaDriverEntryPointQueryResult)-1;
    *code = cudaGetDriverEntryPoint(name, found, flags, &told);
    return (int)told;
#else
    *code = cudaGetDriverEntryPoint(name, found, flags);
    int result = *code == cudaSuccess ? 0 : *code == cudaErrorSymbolNotFound ? 1 : -1;
    if (*code == cudaErrorSymbolNotFound) *code = cudaSuccess;
    return result;
#endif
}

static void test_entry_points(void)
{
    sim *machine = cudart_machine();
    cudaError_t code;
    void *found = NULL, *kept = machine;
    CUresult (*count)(int *);
    int number = -1;
    const char *text = NULL;
    sim_fail_call(machine, SIM_CALL_ENTRY_POINT, 1, 0, SIM_UNKNOWN);
    CHECK(look_up("cuInit", &kept, cudaEnableDefault, &code) == -1 && code == cudaErrorUnknown && kept == machine);
    CHECK_CODE(cudaGetLastError(), cudaErrorUnknown);
    CHECK(look_up("cuDeviceGetCount", &found, cudaEnablePerThreadDefaultStream, &code) == 0 && code == cudaSuccess);
    memcpy(&count, &found, sizeof count);
    CHECK(count(&number) == CUDA_SUCCESS && number == 2);
    CHECK(look_up("cuMemCreate", &found, cudaEnableLegacyStream, &code) == 0 && code == cudaSuccess && found);
    CHECK_INT(look_up("cuNothing", &found, cudaEnableDefault, &code), ==, 1);
    CHECK_MSG(code == cudaSuccess && found == NULL, "what is not served is not found, and that is no error");
    CHECK_INT(look_up("", &kept, cudaEnableDefault, &code), ==, -1);
    CHECK_MSG(code == cudaErrorInvalidValue && kept == machine, "a failed look-up leaves its outputs alone");
    look_up("cuInit", &kept, 3, &code);
    CHECK_CODE(code, cudaErrorInvalidValue);
    CHECK(cuGetErrorString(CUDA_ERROR_OUT_OF_MEMORY, &text) == CUDA_SUCCESS && strcmp(text, "out of memory") == 0);
    CHECK(cuGetErrorName(CUDA_ERROR_NO_DEVICE, &text) == CUDA_SUCCESS && strcmp(text, "CUDA_ERROR_NO_DEVICE") == 0);
    CHECK(cuGetErrorName((CUresult)998, &text) == CUDA_ERROR_INVALID_VALUE && text == NULL);
}

static void test_look_up_by_libcuda(void)
{
    void *found = NULL, *refused = NULL;
#if CUDA_VERSION >= 12000
    CUdriverProcAddressQueryResult told = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
#define LOOK_UP(name, version, flags) cuGetProcAddress(name, &found, version, flags, &told)
#else
#define LOOK_UP(name, version, flags) cuGetProcAddress(name, &found, version, flags)
#endif
    CUresult (*take)(CUdeviceptr *, size_t);
    CUdeviceptr block;
    CHECK_INT(CUDA_SUCCESS, ==, LOOK_UP("cuMemAlloc", 3020, 0));
    memcpy(&take, &found, sizeof take);
    CHECK_INT(CUDA_SUCCESS, ==, take(&block, 100));
    CHECK_INT(CUDA_SUCCESS, ==, LOOK_UP("cuMemAlloc", CUDA_VERSION + 1000, 0));
    CHECK_INT(LOOK_UP("cuMemAlloc", 2000, 0), ==, CUDA_ERROR_NOT_FOUND);
    CHECK_INT(LOOK_UP("cuNothing", 12000, 0), ==, CUDA_ERROR_NOT_FOUND);
    CHECK_MSG(found == NULL, "what is not found is not told");
    CHECK_INT(CUDA_SUCCESS, ==, LOOK_UP("cuMemFree", 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM));
    CHECK_INT(LOOK_UP("cuStreamQuery", 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM), ==,
              CUDA_ERROR_NOT_FOUND);
    CHECK_INT(CUDA_SUCCESS, ==, LOOK_UP("cuStreamWriteValue32", 12000, 0));
    refused = found;
    CUresult (*call)(void);
    memcpy(&call, &refused, sizeof call);
    CHECK_INT(call(), ==, CUDA_ERROR_NOT_SUPPORTED);
}

static void test_what_is_not_there(void)
{
    void *process = dlopen(NULL, RTLD_NOW);
    CHECK_MSG(process && dlsym(process, "cudaMalloc"), "a call that is served is found by name");
    CHECK_MSG(process && !dlsym(process, "cudaMallocArray"), "one that is not is nowhere");
    CHECK_MSG(process && !dlsym(process, "call_begin"), "nor is what lies behind them");
}

/* ---- functions that are called back; kernels */

static int host_calls;

static void CUDART_CB count_host_call(void *count)
{
    ++*(int *)count;
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
    CHECK_DONE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK_CODE(cudaLaunchHostFunc(stream, count_host_call, &host_calls), cudaErrorNotSupported);
    CHECK_INT(host_calls, ==, 1);
    CHECK_CODE(cudaHostRegister(&host_calls, sizeof host_calls, 0), cudaErrorNotSupported);
}

/* What nvcc's code calls by itself; the toolkit declares it for its own compiler alone. */
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

static void test_configurations_nest(void)
{
    dim3 grid = { 0, 0, 0 }, block = grid;
    size_t shared_bytes = 0;
    cudaStream_t stream = NULL;
    for (unsigned i = 1; i <= 16; i++) {
        const dim3 size = { i, 1, 1 };
        if (__cudaPushCallConfiguration(size, size, i, cudaStreamPerThread)) CHECK_MSG(0, "push %u", i);
    }
    CHECK_MSG(__cudaPushCallConfiguration(grid, block, 0, NULL) != 0, "so deep is no program");
    CHECK_CODE(cudaGetLastError(), cudaErrorInvalidConfiguration);
    for (unsigned i = 16; i >= 1; i--) {
        cudaError_t code = __cudaPopCallConfiguration(&grid, &block, &shared_bytes, &stream);
        if (code != cudaSuccess || grid.x != i || block.x != i || shared_bytes != i || stream != cudaStreamPerThread)
            CHECK_MSG(0, "pop %u", i);
    }
    CHECK_CODE(__cudaPopCallConfiguration(&grid, &block, &shared_bytes, &stream), cudaErrorMissingConfiguration);
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

static void test_names_and_texts(void)
{
    static const struct { int code; const char *name; } rows[] = {
#define ROW(name) { (int)name, #name }
        ROW(cudaSuccess), ROW(cudaErrorInvalidValue), ROW(cudaErrorMemoryAllocation),
        ROW(cudaErrorInitializationError),
        ROW(cudaErrorCudartUnloading), ROW(cudaErrorInvalidPitchValue), ROW(cudaErrorInvalidMemcpyDirection),
        ROW(cudaErrorStubLibrary), ROW(cudaErrorInsufficientDriver), ROW(cudaErrorCallRequiresNewerDriver),
        ROW(cudaErrorDevicesUnavailable), ROW(cudaErrorNoDevice), ROW(cudaErrorInvalidDevice),
        ROW(cudaErrorECCUncorrectable), ROW(cudaErrorNvlinkUncorrectable), ROW(cudaErrorInvalidResourceHandle),
        ROW(cudaErrorSymbolNotFound), ROW(cudaErrorNotReady), ROW(cudaErrorIllegalAddress),
        ROW(cudaErrorLaunchTimeout),
        ROW(cudaErrorPeerAccessAlreadyEnabled), ROW(cudaErrorPeerAccessNotEnabled), ROW(cudaErrorContextIsDestroyed),
        ROW(cudaErrorAssert), ROW(cudaErrorHardwareStackError), ROW(cudaErrorIllegalInstruction),
        ROW(cudaErrorMisalignedAddress), ROW(cudaErrorInvalidAddressSpace), ROW(cudaErrorInvalidPc),
        ROW(cudaErrorLaunchFailure), ROW(cudaErrorNotSupported),
        ROW(cudaErrorMpsClientTerminated), ROW(cudaErrorStreamCaptureUnsupported),
        ROW(cudaErrorStreamCaptureWrongThread), ROW(cudaErrorExternalDevice),
        ROW(cudaErrorUnknown),
#undef ROW
    };
    int wrong = 0;
    for (size_t i = 0; i < COUNT(rows); i++) {
        cudaError_t error = (cudaError_t)rows[i].code;
        const char *name = cudaGetErrorName(error), *text = cudaGetErrorString(error);
        if (strcmp(name, rows[i].name) || !text || !text[0] || strcmp(text, codes_of(rows[i].code)->text)) {
            printf("# %d is %s, named %s: %s\n", rows[i].code, rows[i].name, name, text);
            wrong++;
        }
    }
    CHECK_INT(wrong, ==, 0);
    CHECK_STR(cudaGetErrorName((cudaError_t)998), "unrecognized error code");
    CHECK_STR(cudaGetErrorString((cudaError_t)-5), "unrecognized error code");
    CHECK_STR(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory");
}

/* The engine's table names codes once, and says of each what gpuarena makes of it. */
static void test_meanings(void)
{
    static const int lost[] = { 214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 810, 911 };
    static const int unsupported[] = { 34, 35, 36, 46, 100, 801 };
    int counts[8] = { 0 }, named = 0;
    for (int code = 0; code <= 10000; code++) {
        if (strcmp(codes_of(code)->name, "unrecognized error code") == 0) continue;
        named++;
        counts[codes_of(code)->status]++;
    }
    CHECK_INT(named, ==, 49);
    for (size_t i = 0; i < COUNT(lost); i++)
        counts[GPUARENA_STATUS_LOST] -= codes_of(lost[i])->status == GPUARENA_STATUS_LOST;
    for (size_t i = 0; i < COUNT(unsupported); i++)
        counts[GPUARENA_STATUS_NOT_SUPPORTED] -= codes_of(unsupported[i])->status == GPUARENA_STATUS_NOT_SUPPORTED;
    for (int code = 900; code <= 908; code++)
        counts[GPUARENA_STATUS_CAPTURING] -= codes_of(code)->status == GPUARENA_STATUS_CAPTURING;
    CHECK_INT(counts[GPUARENA_STATUS_LOST], ==, 0);
    CHECK_INT(counts[GPUARENA_STATUS_NOT_SUPPORTED], ==, 0);
    CHECK_INT(counts[GPUARENA_STATUS_CAPTURING], ==, 0);
    CHECK(counts[GPUARENA_STATUS_NO_MEMORY] == 1 && counts[GPUARENA_STATUS_NOT_READY] == 1);
    CHECK(counts[GPUARENA_STATUS_UNLOADING] == 1 && counts[GPUARENA_STATUS_DONE] == 1);
}

static void run(void)
{
    static const machine_test tests[] = {
        { test_round_trips, 2, NULL }, { test_pinned_memory, 1, NULL },
        { test_the_host_among_sixteen_devices, 16, NULL },
        { test_attributes_and_properties, 2, NULL }, { test_pushed_contexts, 1, NULL }, { test_elapsed, 1, NULL },
        { test_many_handles, 1, NULL }, { test_entry_points, 2, NULL }, { test_look_up_by_libcuda, 1, NULL },
        { test_what_is_not_there, 1, NULL }, { test_host_functions, 1, NULL }, { test_registration, 1, NULL },
        { test_configurations_nest, 1, NULL }, { test_last_error, 1, NULL }, { test_names_and_texts, 1, NULL },
        { test_meanings, 1, NULL }
    };
    machine_tests(tests, COUNT(tests));
}
#endif

CUDA_TEST_MAIN(run)
