/* The substitute as libcuda and libnvidia-ml: contexts, memory, streams, look-up by name, refusals, skipped kernels
   and the report of a run. It must not know how calls are served.
   Run by `make test`; alone: prove build/tests/test_cudart_driver. */
#ifdef GPUARENA_NO_CUDA
#include <stdio.h>
int main(void) { return printf("1..0 # SKIP no CUDA Toolkit\n") < 0; }
#else
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>

#include "test_cudart.h"

#define CHECK_DRIVER(call, expected) CHECK_INT(call, ==, expected)
#define CHECK_FINE(call) CHECK_DRIVER(call, CUDA_SUCCESS)

static void *contexts_of_a_new_thread(void *seen)
{
    return cuCtxGetCurrent(seen) == CUDA_SUCCESS ? seen : NULL;
}

static void test_contexts(void)
{
    sim *machine = cudart_open(2, GIB(1), NULL);
    CUcontext first, second, current = NULL;
    CUdevice device;
    unsigned flags;
    int active;
    pthread_t thread;
    void *told;
    CHECK_FINE(cuInit(0));
    CHECK_FINE(cuCtxGetCurrent(&current));
    CHECK_MSG(current == NULL, "a thread begins without a context");
    CHECK_FINE(cuDevicePrimaryCtxGetState(1, &flags, &active));
    CHECK_INT(active, ==, 0);
    CHECK_FINE(cuDevicePrimaryCtxRetain(&first, 0));
    CHECK_FINE(cuDevicePrimaryCtxRetain(&second, 1));
    CHECK_MSG(first != second, "each device has its own");
    CHECK_FINE(cuDevicePrimaryCtxGetState(1, &flags, &active));
    CHECK_INT(active, ==, 1);
    CHECK_DRIVER(cuCtxGetDevice(&device), CUDA_ERROR_INVALID_CONTEXT);
    CHECK_FINE(cuCtxPushCurrent(second));
    CHECK_FINE(cuCtxGetDevice(&device));
    CHECK_INT(device, ==, 1);
    CHECK_DONE(cudaGetDevice(&device));
    CHECK_MSG(device == 1, "the runtime's current device is the context's");
    CHECK_FINE(cuCtxPopCurrent(&current));
    CHECK_MSG(current == second, "a pop tells what it took");
    CHECK_FINE(cuCtxGetCurrent(&current));
    CHECK_MSG(current == NULL, "and what was there before is back");
    CHECK_DRIVER(cuCtxPopCurrent(&current), CUDA_ERROR_INVALID_CONTEXT);
    CHECK_DONE(cudaSetDevice(0));
    CHECK_DONE(cudaFree(NULL));
    CHECK_FINE(cuCtxGetCurrent(&current));
    CHECK_MSG(current == first, "the runtime makes its device's context current");
    CHECK_INT(pthread_create(&thread, NULL, contexts_of_a_new_thread, &current), ==, 0);
    CHECK_INT(pthread_join(thread, &told), ==, 0);
    CHECK_MSG(told && current == NULL, "in its own thread alone");
    CHECK_FINE(cuCtxSetCurrent(NULL));
    CHECK_FINE(cuCtxGetCurrent(&current));
    CHECK_MSG(current == NULL, "none can be current");
    CHECK_DRIVER(cuCtxSetCurrent((CUcontext)(void *)&thread), CUDA_ERROR_INVALID_CONTEXT);
    CHECK_DRIVER(cuDevicePrimaryCtxRetain(&first, 2), CUDA_ERROR_INVALID_DEVICE);
    for (int i = 0; i < 32; i++) if (cuCtxPushCurrent(first) != CUDA_SUCCESS) CHECK_MSG(0, "push %d", i);
    CHECK_DRIVER(cuCtxPushCurrent(first), CUDA_ERROR_NOT_SUPPORTED);
    cudart_close(machine);
}

static void test_devices(void)
{
    sim *machine = cudart_open(2, GIB(3), NULL);
    struct cudaDeviceProp properties;
    char text[64];
    size_t bytes;
    int major, minor;
    CUuuid uuid;
    CHECK_DONE(cudaGetDeviceProperties(&properties, 1));
    CHECK_FINE(cuDeviceGetName(text, sizeof text, 1));
    CHECK_STR(text, properties.name);
    CHECK_FINE(cuDeviceGetUuid(&uuid, 1));
    CHECK_INT(memcmp(&uuid, &properties.uuid, sizeof uuid), ==, 0);
    CHECK_FINE(cuDeviceTotalMem(&bytes, 1));
    CHECK_INT(bytes, ==, GIB(3));
    CHECK_FINE(cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 1));
    CHECK_FINE(cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 1));
    CHECK_INT(major * 10 + minor, ==, properties.major * 10 + properties.minor);
    CHECK_DRIVER(cuDeviceGetName(text, sizeof text, 2), CUDA_ERROR_INVALID_DEVICE);
    CHECK_MSG(cudaGetLastError() == cudaSuccess, "the driver's failures are not the runtime's last error");
    cudart_close(machine);
}

static void test_memory_and_streams(void)
{
    sim *machine = cudart_open(1, GIB(1), NULL);
    CUdeviceptr block = 0, other = 0;
    CUstream stream;
    CUevent event;
    CUmemoryPool pool;
    char here[64] = "by the driver", there[64] = "";
    size_t free_before, free_after, total;
    cuuint64_t threshold = MIB(64), told = 0;
    CHECK_FINE(cuMemAlloc(&block, MIB(4)));
    CHECK_FINE(cuMemGetInfo(&free_before, &total));
    CHECK_DRIVER(cuMemAlloc(&other, GIB(2)), CUDA_ERROR_OUT_OF_MEMORY);
    CHECK_MSG(cudaGetLastError() == cudaSuccess, "a refusal is no last error");
    CHECK_CODE(cudaMalloc((void **)&other, GIB(2)), cudaErrorMemoryAllocation);
    CHECK_FINE(cuMemAlloc(&other, 100));
    CHECK_MSG(cudaGetLastError() == cudaErrorMemoryAllocation, "and none that there was is taken away");
    CHECK_FINE(cuMemFree(other));
    CHECK_FINE(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK_FINE(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    CHECK_FINE(cuMemcpyHtoDAsync(block, here, sizeof here, stream));
    CHECK_FINE(cuEventRecord(event, stream));
    CHECK_FINE(cuEventSynchronize(event));
    CHECK_FINE(cuMemcpyDtoH(there, block, sizeof there));
    CHECK_STR(there, "by the driver");
    CHECK_FINE(cuMemsetD32Async(block, 0x41414141u, 4, stream));
    CHECK_DRIVER(cuMemsetD32Async(block, 0x41414142u, 4, stream), CUDA_ERROR_NOT_SUPPORTED);
    CHECK_FINE(cuStreamSynchronize(stream));
    CHECK_FINE(cuMemcpyDtoH(there, block, sizeof there));
    CHECK_STR(there, "AAAAAAAAAAAAAAAA");
    CHECK_FINE(cuDeviceGetDefaultMemPool(&pool, 0));
    CHECK_FINE(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
    CHECK_FINE(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &told));
    CHECK_INT(told, ==, threshold);
    CHECK_FINE(cuMemAllocAsync(&other, MIB(1), stream));
    CHECK_FINE(cuMemFreeAsync(other, stream));
    CHECK_FINE(cuStreamSynchronize(stream));
    CHECK_FINE(cuMemPoolTrimTo(pool, 0));
    CHECK_FINE(cuMemGetInfo(&free_after, &total));
    CHECK_INT(free_after, ==, free_before);
    CHECK_FINE(cuMemFree(block));
    CHECK_DRIVER(cuMemFree(block), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(sim_finding_count(machine), ==, 1);
    CHECK_FINE(cuEventDestroy(event));
    CHECK_FINE(cuStreamDestroy(stream));
    cudart_close(machine);
}

static void test_look_up(void)
{
    sim *machine = cudart_open(1, GIB(1), NULL);
    void *found = NULL, *refused = NULL;
#if CUDA_VERSION >= 12000
    CUdriverProcAddressQueryResult told = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
#define LOOK_UP(name, version, flags) cuGetProcAddress(name, &found, version, flags, &told)
#else
#define LOOK_UP(name, version, flags) cuGetProcAddress(name, &found, version, flags)
#endif
    CUresult (*take)(CUdeviceptr *, size_t);
    CUdeviceptr block;
    CHECK_FINE(LOOK_UP("cuMemAlloc", 3020, 0));
    memcpy(&take, &found, sizeof take);
    CHECK_FINE(take(&block, 100));
    CHECK_FINE(LOOK_UP("cuMemAlloc", CUDA_VERSION + 1000, 0));
    CHECK_DRIVER(LOOK_UP("cuMemAlloc", 2000, 0), CUDA_ERROR_NOT_FOUND);
    CHECK_DRIVER(LOOK_UP("cuNothing", 12000, 0), CUDA_ERROR_NOT_FOUND);
    CHECK_MSG(found == NULL, "what is not found is not told");
    CHECK_FINE(LOOK_UP("cuMemFree", 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM));
    CHECK_DRIVER(LOOK_UP("cuStreamQuery", 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM),
                 CUDA_ERROR_NOT_FOUND);
    CHECK_FINE(LOOK_UP("cuMemExportToShareableHandle", 12000, 0));
    refused = found;
    CUresult (*call)(void);
    memcpy(&call, &refused, sizeof call);
    CHECK_DRIVER(call(), CUDA_ERROR_NOT_SUPPORTED);
    cudart_close(machine);
}

static int host_calls;

static void CUDART_CB count_host_call(void *count)
{
    ++*(int *)count;
}

static void test_more_of_the_runtime(void)
{
    sim *machine = cudart_open(1, GIB(1), NULL);
    cudaStream_t stream;
    cudaGraph_t graph;
    size_t nodes = 0;
    void *block;
    CHECK_DONE(cudaStreamCreate(&stream));
    CHECK_DONE(cudaMalloc(&block, 100));
    CHECK_DONE(cudaLaunchHostFunc(stream, count_host_call, &host_calls));
    CHECK_INT(host_calls, ==, 1);
    CHECK_DONE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK_CODE(cudaLaunchHostFunc(stream, count_host_call, &host_calls), cudaErrorNotSupported);
    CHECK_INT(host_calls, ==, 1);
#if CUDART_VERSION >= 13000
    enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    unsigned long long id = 0;
    size_t follows = 7;
    CHECK_DONE(cudaStreamGetCaptureInfo(stream, &status, &id, &graph, NULL, NULL, &follows));
    CHECK_INT(status, ==, cudaStreamCaptureStatusActive);
    CHECK_INT(follows, ==, 0);
    CHECK_MSG(id > 0, "a capture has a number");
    CHECK_DONE(cudaMemsetAsync(block, 0, 100, stream));
    CHECK_DONE(cudaStreamGetCaptureInfo(stream, &status, &id, NULL, NULL, NULL, &follows));
    CHECK_INT(follows, ==, 1);
#else
    CHECK_DONE(cudaMemsetAsync(block, 0, 100, stream));
#endif
    CHECK_DONE(cudaStreamEndCapture(stream, &graph));
    CHECK_DONE(cudaGraphGetNodes(graph, NULL, &nodes));
    CHECK_INT(nodes, ==, 1);
    CHECK_DONE(cudaGraphDestroy(graph));
    CHECK_CODE(cudaHostRegister(&nodes, sizeof nodes, 0), cudaErrorNotSupported);
    cudart_close(machine);
}

/* nvml.h is not everywhere. */
static void test_nvml(void)
{
    sim *machine = cudart_open(2, GIB(3), NULL);
    int (*count)(unsigned *), (*by_index)(unsigned, void **), (*by_bus)(const char *, void **);
    int (*memory)(void *, unsigned long long *);
    unsigned devices = 0;
    unsigned long long told[3] = { 0, 0, 0 };
    void *device = NULL, *same = NULL, *block, *all = dlopen(NULL, RTLD_NOW);
    *(void **)&count = dlsym(all, "nvmlDeviceGetCount_v2");
    *(void **)&by_index = dlsym(all, "nvmlDeviceGetHandleByIndex_v2");
    *(void **)&by_bus = dlsym(all, "nvmlDeviceGetHandleByPciBusId_v2");
    *(void **)&memory = dlsym(all, "nvmlDeviceGetMemoryInfo");
    CHECK_MSG(count && by_index && by_bus && memory, "NVML is there");
    CHECK_INT(count(&devices), ==, 0);
    CHECK_INT(devices, ==, 2);
    CHECK_INT(by_index(1, &device), ==, 0);
    CHECK_INT(by_bus("0000:02:00.0", &same), ==, 0);
    CHECK_MSG(device == same, "the second device is on bus 2");
    CHECK_INT(by_index(2, &same), ==, 2);
    CHECK_DONE(cudaSetDevice(1));
    CHECK_DONE(cudaMalloc(&block, MIB(100)));
    CHECK_DONE(cudaSetDevice(0));
    CHECK_INT(memory(device, told), ==, 0);
    CHECK_INT(told[2], ==, MIB(100));
    CHECK_INT(told[0], ==, told[1] + told[2]);
    cudart_close(machine);
}

/* ---- run again, with a machine of GPUARENA_SIM's */

static int launch(void)
{
    static char kernel;
    const dim3 one = { 1, 1, 1 };
    struct cudaFuncAttributes attributes;
    cudaStream_t stream;
    cudaGraph_t graph;
    size_t nodes = 0;
    int blocks = 0, wrong = cudaStreamCreate(&stream) != cudaSuccess;
    wrong += cudaLaunchKernel(&kernel, one, one, NULL, 0, stream) != cudaSuccess;
    wrong += cudaStreamQuery(stream) != cudaErrorNotReady;
    wrong += cudaStreamSynchronize(stream) != cudaSuccess;
    wrong += cudaFuncGetAttributes(&attributes, &kernel) != cudaSuccess || attributes.maxThreadsPerBlock != 1024;
    wrong += cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &kernel, 512, 0) != cudaSuccess || blocks != 4;
    wrong += cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal) != cudaSuccess;
    wrong += cudaLaunchKernel(&kernel, one, one, NULL, 0, stream) != cudaSuccess;
    wrong += cudaStreamEndCapture(stream, &graph) != cudaSuccess;
    wrong += cudaGraphGetNodes(graph, NULL, &nodes) != cudaSuccess || nodes != 1;
    CUmodule module;
    CUfunction function;
    wrong += cuModuleLoadData(&module, "any") != CUDA_SUCCESS;
    wrong += cuModuleGetFunction(&function, module, "name") != CUDA_SUCCESS;
    wrong += cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL) != CUDA_SUCCESS;
    wrong += cudaIpcGetMemHandle(NULL, NULL) != cudaErrorNotSupported;
    return wrong;
}

static int misuse(void)
{
    void *block;
    return cudaMalloc(&block, 100) != cudaSuccess || cudaFree(block) != cudaSuccess || cudaFree(block) == cudaSuccess;
}

static void test_runs(const char *program)
{
    static char said[1 << 14];
    CHECK_INT(cudart_run_again(program, "launch", "work=50000,kernels=skip,report=-", said, sizeof said), ==, 0);
    CHECK_MSG(strstr(said, "gpuarena sim: 3 kernels were skipped: ") == said, "skipped kernels are told");
    CHECK_MSG(strstr(said, "\ncall cudaLaunchKernel 3 ") != NULL, "the report counts calls");
    CHECK_MSG(strstr(said, "\nskipped 3\n") != NULL, "and kernels");
    CHECK_MSG(strstr(said, "\nrefused cudaIpcGetMemHandle 1\n") != NULL, "and refusals, by name");
    CHECK_INT(cudart_run_again(program, "launch", "work=50000", said, sizeof said), !=, 0);
    CHECK_MSG(strstr(said, "skipped") == NULL, "by default none is skipped");
    CHECK_INT(cudart_run_again(program, "misuse", NULL, said, sizeof said), ==, 3);
    CHECK_INT(cudart_run_again(program, "misuse", "findings=pass", said, sizeof said), ==, 0);
    CHECK_MSG(strstr(said, "gpuarena sim: 1 finding:") == said, "a finding that passes is told all the same");
}

int main(int count, char **words)
{
    if (count > 1) return strcmp(words[1], "launch") == 0 ? launch() : misuse();
    test_contexts();
    test_devices();
    test_memory_and_streams();
    test_look_up();
    test_more_of_the_runtime();
    test_nvml();
    test_runs(words[0]);
    return tap_done();
}
#endif
