/* Kernels: programs that hold some can be loaded and register them, and every launch answers cudaErrorNotSupported.
   Must not know what kernels do: nothing here could run one.
   Tested by tests/test_cudart_launch.c. */
#include "stream.h"

/* What compiled CUDA code calls by itself. The toolkit declares these for its own compiler alone. */
CUDART_EXPORT void **__cudaRegisterFatBinary(void *binary);
CUDART_EXPORT void   __cudaRegisterFatBinaryEnd(void **module);
CUDART_EXPORT void   __cudaUnregisterFatBinary(void **module);
CUDART_EXPORT char   __cudaInitModule(void **module);
CUDART_EXPORT void   __cudaRegisterFunction(void **module, const char *host, char *device, const char *name,
                                            int limit, uint3 *thread, uint3 *block, dim3 *block_size,
                                            dim3 *grid_size, int *warp);
CUDART_EXPORT void   __cudaRegisterVar(void **module, char *host, char *device, const char *name, int is_external,
                                       size_t bytes, int is_constant, int is_global);
CUDART_EXPORT unsigned    __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
                                                      cudaStream_t stream);
CUDART_EXPORT cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, void *stream);
CUDART_EXPORT cudaError_t __cudaGetKernel(void **kernel, const void *function);
CUDART_EXPORT cudaError_t __cudaLaunchKernel(void *kernel, dim3 grid, dim3 block, void **arguments,
                                             size_t shared_bytes, cudaStream_t stream);

static void *launch_module;                      /* its address stands for all modules */

void **__cudaRegisterFatBinary(void *binary)
{
    (void)binary;
    return &launch_module;
}

void __cudaRegisterFatBinaryEnd(void **module)
{
    (void)module;
}

void __cudaUnregisterFatBinary(void **module)
{
    (void)module;
}

char __cudaInitModule(void **module)
{
    (void)module;
    return 1;
}

void __cudaRegisterFunction(void **module, const char *host, char *device, const char *name, int limit, uint3 *thread,
                            uint3 *block, dim3 *block_size, dim3 *grid_size, int *warp)
{
    (void)module, (void)host, (void)device, (void)name, (void)limit;
    (void)thread, (void)block, (void)block_size, (void)grid_size, (void)warp;
}

void __cudaRegisterVar(void **module, char *host, char *device, const char *name, int is_external, size_t bytes,
                       int is_constant, int is_global)
{
    (void)module, (void)host, (void)device, (void)name, (void)is_external, (void)bytes, (void)is_constant;
    (void)is_global;
}

/* 0: the compiled code goes on to the launch. */
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream)
{
    call self;
    int fits = call_enter(&self) == SIM_SUCCESS && self.thread->launch_count < CALL_NESTED_LAUNCHES;
    if (fits) {
        call_launch pushed = { grid, block, shared_bytes, stream };
        self.thread->launches[self.thread->launch_count++] = pushed;
    } else {
        self.thread->last_error = self.code != SIM_SUCCESS ? self.code : cudaErrorInvalidConfiguration;
    }
    call_leave(&self);
    return fits ? 0 : 1;
}

cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, void *stream)
{
    call self;
    int code = call_enter(&self);
    if (code == SIM_SUCCESS && self.thread->launch_count == 0) {
        code = self.thread->last_error = cudaErrorMissingConfiguration;
    }
    if (code == SIM_SUCCESS) {
        const call_launch *popped = &self.thread->launches[--self.thread->launch_count];
        *grid = popped->grid;
        *block = popped->block;
        *shared_bytes = popped->shared_bytes;
        *(cudaStream_t *)stream = popped->stream;
    }
    call_leave(&self);
    return (cudaError_t)code;
}

cudaError_t __cudaGetKernel(void **kernel, const void *function)
{
    *kernel = (void *)(uintptr_t)function;
    return cudaSuccess;
}

static cudaError_t launch_refuse(sim_call kind, cudaStream_t stream)
{
    call self;
    if (call_begin(&self, kind, 0) && stream_check(&self, stream)) {
        self.code = SIM_NOT_SUPPORTED;
    }
    return call_end(&self);
}

cudaError_t __cudaLaunchKernel(void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared_bytes,
                               cudaStream_t stream)
{
    (void)kernel, (void)grid, (void)block, (void)arguments, (void)shared_bytes;
    return launch_refuse(SIM_CALL_LAUNCH_KERNEL, stream);
}

CUDART_EXPORT cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments,
                                           size_t shared_bytes, cudaStream_t stream)
{
    (void)function, (void)grid, (void)block, (void)arguments, (void)shared_bytes;
    return launch_refuse(SIM_CALL_LAUNCH_KERNEL, stream);
}

CUDART_EXPORT cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function,
                                              void **arguments)
{
    (void)function, (void)arguments;
    return launch_refuse(SIM_CALL_LAUNCH_KERNEL_EXC, config ? config->stream : NULL);
}

CUDART_EXPORT cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function)
{
    (void)attributes, (void)function;
    return launch_refuse(SIM_CALL_FUNC_GET_ATTRIBUTES, NULL);
}

CUDART_EXPORT cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *blocks, const void *function, int block_size, size_t shared_bytes, unsigned int flags)
{
    (void)blocks, (void)function, (void)block_size, (void)shared_bytes, (void)flags;
    return launch_refuse(SIM_CALL_OCCUPANCY, NULL);
}

CUDART_ALSO(__cudaLaunchKernel, __cudaLaunchKernel_ptsz);
CUDART_ALSO(cudaLaunchKernel, cudaLaunchKernel_ptsz);
CUDART_ALSO(cudaLaunchKernelExC, cudaLaunchKernelExC_ptsz);
