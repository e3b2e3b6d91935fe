/* The libcudart substitute: kernels register and do not launch; driver functions are looked up by name; what is not
   there is not there. It must not know how. Entry points are those of calls that the substitute really serves. */
#ifdef GPUARENA_NO_CUDA
#include <stdio.h>
int main(void) { return printf("1..0 # SKIP no CUDA Toolkit\n") < 0; }
#else
#include <cuda.h>
#include <dlfcn.h>

#include "test_cudart.h"

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif

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
cudaError_t __cudaLaunchKernel(void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared_bytes,
                               cudaStream_t stream);
cudaError_t __cudaLaunchKernel_ptsz(void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared_bytes,
                                    cudaStream_t stream);
extern __typeof__(cudaLaunchKernel) cudaLaunchKernel_ptsz;
extern __typeof__(cudaLaunchKernelExC) cudaLaunchKernelExC_ptsz;

static char kernel;                              /* its address is the host's name for a kernel */

static void test_registration(void)
{
    sim *machine = cudart_open(1, GIB(1), NULL);
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
    cudart_close(machine);
}

static void test_launches_are_refused(void)
{
    sim *machine = cudart_open(1, GIB(1), NULL);
    const dim3 one = { 1, 1, 1 };
    struct cudaFuncAttributes attributes;
    cudaLaunchConfig_t config;
    cudaStream_t gone;
    int blocks;
    memset(&config, 0, sizeof config);
    CHECK_CODE(cudaLaunchKernel(&kernel, one, one, NULL, 0, NULL), cudaErrorNotSupported);
    CHECK_CODE(cudaGetLastError(), cudaErrorNotSupported);
    CHECK_CODE(cudaLaunchKernel_ptsz(&kernel, one, one, NULL, 0, NULL), cudaErrorNotSupported);
    CHECK_CODE(__cudaLaunchKernel(&kernel, one, one, NULL, 0, NULL), cudaErrorNotSupported);
    CHECK_CODE(__cudaLaunchKernel_ptsz(&kernel, one, one, NULL, 0, NULL), cudaErrorNotSupported);
    CHECK_CODE(cudaLaunchKernelExC(&config, &kernel, NULL), cudaErrorNotSupported);
    CHECK_CODE(cudaLaunchKernelExC_ptsz(&config, &kernel, NULL), cudaErrorNotSupported);
    CHECK_CODE(cudaFuncGetAttributes(&attributes, &kernel), cudaErrorNotSupported);
    CHECK_CODE(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, &kernel, 32, 0, 0),
               cudaErrorNotSupported);
    CHECK_DONE(cudaStreamCreate(&gone));
    CHECK_DONE(cudaStreamDestroy(gone));
    CHECK_CODE(cudaLaunchKernel(&kernel, one, one, NULL, 0, gone), cudaErrorInvalidResourceHandle);
    sim_fail_call(machine, SIM_CALL_LAUNCH_KERNEL, 1, 0, SIM_ILLEGAL_ADDRESS);
    CHECK_CODE(cudaLaunchKernel(&kernel, one, one, NULL, 0, NULL), cudaErrorIllegalAddress);
    CHECK_CODE(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    cudart_close(machine);
}

static void test_configurations_nest(void)
{
    sim *machine = cudart_open(1, GIB(1), NULL);
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
    cudart_close(machine);
}

/* The query result, or -1 and the code: one form for all toolkits. */
static int look_up(const char *name, void *function, unsigned long long flags, cudaError_t *code)
{
    void *found = &kernel;
#if CUDART_VERSION >= 12000
    enum cudaDriverEntryPointQueryResult told = (enum cudaDriverEntryPointQueryResult)-1;
    *code = cudaGetDriverEntryPoint(name, &found, flags, &told);
    int result = (int)told;
#else
    *code = cudaGetDriverEntryPoint(name, &found, flags);
    int result = *code == cudaSuccess ? 0 : *code == cudaErrorSymbolNotFound ? 1 : -1;
    if (*code == cudaErrorSymbolNotFound) *code = cudaSuccess;
#endif
    memcpy(function, &found, sizeof found);
    return result;
}

static void test_entry_points(void)
{
    sim *machine = cudart_open(2, GIB(1), NULL);
    union { void *any; CUresult (*init)(unsigned); CUresult (*version)(int *); CUresult (*count)(int *);
            CUresult (*device)(CUdevice *, int); CUresult (*attribute)(int *, CUdevice_attribute, CUdevice);
            CUresult (*info)(size_t *, size_t *); CUresult (*text)(CUresult, const char **); } call;
    cudaError_t code;
    CUdevice device = -1;
    int number = -1;
    size_t free_bytes = 0, total_bytes = 0;
    const char *text = NULL;
    CHECK_INT(look_up("cuInit", &call, cudaEnableDefault, &code), ==, 0);
    CHECK(code == cudaSuccess && call.init(0) == CUDA_SUCCESS && call.init(1) == CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(look_up("cuDriverGetVersion", &call, cudaEnableLegacyStream, &code), ==, 0);
    CHECK(call.version(&number) == CUDA_SUCCESS && number == CUDART_VERSION);
    CHECK_INT(look_up("cuDeviceGetCount", &call, cudaEnablePerThreadDefaultStream, &code), ==, 0);
    CHECK(call.count(&number) == CUDA_SUCCESS && number == 2 && call.count(NULL) == CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(look_up("cuDeviceGet", &call, cudaEnableDefault, &code), ==, 0);
    CHECK(call.device(&device, 1) == CUDA_SUCCESS && device == 1);
    CHECK(call.device(&device, 2) == CUDA_ERROR_INVALID_DEVICE && call.device(NULL, 0) == CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(look_up("cuDeviceGetAttribute", &call, cudaEnableDefault, &code), ==, 0);
    CHECK(call.attribute(&number, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0) == CUDA_SUCCESS && number == 32);
    CHECK(call.attribute(&number, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 2) == CUDA_ERROR_INVALID_DEVICE);
    CHECK_INT(look_up("cuMemGetInfo", &call, cudaEnableDefault, &code), ==, 0);
    CHECK(call.info(&free_bytes, &total_bytes) == CUDA_SUCCESS && free_bytes == GIB(1) && total_bytes == GIB(1));
    CHECK(call.info(NULL, &total_bytes) == CUDA_ERROR_INVALID_VALUE);
    CHECK_MSG(cudaGetLastError() == cudaSuccess, "the driver's functions leave the runtime's last error alone");
    CHECK_INT(look_up("cuGetErrorString", &call, cudaEnableDefault, &code), ==, 0);
    CHECK(call.text(CUDA_ERROR_OUT_OF_MEMORY, &text) == CUDA_SUCCESS && strcmp(text, "out of memory") == 0);
    CHECK(call.text((CUresult)998, &text) == CUDA_ERROR_INVALID_VALUE && text == NULL);
    CHECK_INT(look_up("cuGetErrorName", &call, cudaEnableDefault, &code), ==, 0);
    CHECK(call.text(CUDA_ERROR_NO_DEVICE, &text) == CUDA_SUCCESS && strcmp(text, "CUDA_ERROR_NO_DEVICE") == 0);
    CHECK(call.text((CUresult)998, &text) == CUDA_ERROR_INVALID_VALUE && text == NULL);
    CHECK_INT(look_up("cuNothing", &call, cudaEnableDefault, &code), ==, 1);
    CHECK_MSG(code == cudaSuccess && call.any == NULL, "what is not served is not found, and that is no error");
    CHECK_INT(look_up("", &call, cudaEnableDefault, &code), ==, -1);
    CHECK_CODE(code, cudaErrorInvalidValue);
    CHECK_MSG(call.any == &kernel, "a failed look-up leaves its outputs alone");
    look_up("cuInit", &call, 3, &code);
    CHECK_CODE(code, cudaErrorInvalidValue);
    cudart_close(machine);
}

static void test_entry_points_by_version(void)
{
#if CUDART_VERSION >= 12050
    sim *machine = cudart_open(1, GIB(1), NULL);
    enum cudaDriverEntryPointQueryResult told;
    void *found = NULL;
    CHECK_DONE(cudaGetDriverEntryPointByVersion("cuMemGetInfo", &found, 12000, cudaEnableDefault, &told));
    CHECK(found != NULL && told == cudaDriverEntryPointSuccess);
    CHECK_DONE(cudaGetDriverEntryPointByVersion("cuMemGetInfo", &found, 3000, cudaEnableDefault, &told));
    CHECK(found == NULL && told == cudaDriverEntryPointVersionNotSufficent);
    CHECK_DONE(cudaGetDriverEntryPointByVersion("cuNothing", &found, 12000, cudaEnableDefault, NULL));
    CHECK(found == NULL);
    CHECK_CODE(cudaGetDriverEntryPointByVersion("cuInit", &found, CUDART_VERSION + 10, cudaEnableDefault, &told),
               cudaErrorInvalidValue);
    CHECK_CODE(cudaGetDriverEntryPointByVersion("cuInit", NULL, 12000, cudaEnableDefault, &told),
               cudaErrorInvalidValue);
    cudart_close(machine);
#else
    SKIP("cudaGetDriverEntryPointByVersion: from CUDA 12.5 on");
#endif
}

static void test_what_is_not_there(void)
{
    void *process = dlopen(NULL, RTLD_NOW);
    CHECK_MSG(process && dlsym(process, "cudaMalloc"), "a call that is served is found by name");
    CHECK_MSG(process && !dlsym(process, "cudaMallocArray"), "one that is not is nowhere");
    CHECK_MSG(process && !dlsym(process, "call_begin"), "nor is what lies behind them");
}

int main(void)
{
    test_registration();
    test_launches_are_refused();
    test_configurations_nest();
    test_entry_points();
    test_entry_points_by_version();
    test_what_is_not_there();
    return tap_done();
}
#endif
