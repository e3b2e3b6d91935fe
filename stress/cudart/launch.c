/* Kernels: programs that hold some can be loaded and register them. A launch answers cudaErrorNotSupported, or, with
   kernels=skip, is a command of its stream that touches nothing.
   Must not know what kernels do: nothing here could run one. */
#include "cudart.h"
#include "call.h"

#include <string.h>

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

static int launch_nothing(void *now, const void *payload)
{
    (void)now, (void)payload;
    return SIM_SUCCESS;
}

/* Work of the stream, which a capture keeps as a node of its graph. */
static int launch_skip(call *self, cudaStream_t stream)
{
    const char none = 0;
    if (!self->machine->runtime_skips_kernels) return SIM_NOT_SUPPORTED;
    self->machine->runtime_skipped_kernels++;
    return stream_command(self, stream, launch_nothing, &none, sizeof none, "a kernel");
}

static cudaError_t launch_kernel(sim_call kind, cudaStream_t stream)
{
    CALL_DOES(call_begin(&self, kind, 0) && stream_check(&self, stream), launch_skip(&self, stream));
}

/* A question about a kernel, which has an answer only where kernels are skipped. */
static int launch_ask(call *self, sim_call kind)
{
    if (call_begin(self, kind, 0)) {
        self->code = self->machine->runtime_skips_kernels ? SIM_SUCCESS : SIM_NOT_SUPPORTED;
    }
    return self->code == SIM_SUCCESS;
}

cudaError_t __cudaLaunchKernel(void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared_bytes,
                               cudaStream_t stream)
{
    (void)kernel, (void)grid, (void)block, (void)arguments, (void)shared_bytes;
    return launch_kernel(SIM_CALL_LAUNCH_KERNEL, stream);
}

CUDART_EXPORT cudaError_t cudaLaunchKernel(const void *function, dim3 grid, dim3 block, void **arguments,
                                           size_t shared_bytes, cudaStream_t stream)
{
    (void)function, (void)grid, (void)block, (void)arguments, (void)shared_bytes;
    return launch_kernel(SIM_CALL_LAUNCH_KERNEL, stream);
}

CUDART_EXPORT cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function,
                                              void **arguments)
{
    (void)function, (void)arguments;
    return launch_kernel(SIM_CALL_LAUNCH_KERNEL_EXC, config ? config->stream : NULL);
}

CUDART_EXPORT cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *attributes, const void *function)
{
    call self;
    (void)function;
    if (launch_ask(&self, SIM_CALL_FUNC_GET_ATTRIBUTES)) {
        self.code = attributes ? SIM_SUCCESS : SIM_INVALID_VALUE;
        if (attributes) {                        /* those of a small kernel: no real one's are known */
            memset(attributes, 0, sizeof *attributes);
            attributes->maxThreadsPerBlock = attributes_of(self.device, cudaDevAttrMaxThreadsPerBlock);
            attributes->maxDynamicSharedSizeBytes = attributes_of(self.device,
                                                                  cudaDevAttrMaxSharedMemoryPerBlockOptin);
            attributes->numRegs = 32;
            attributes->binaryVersion = attributes->ptxVersion = 90;
        }
    }
    return call_end(&self);
}

CUDART_EXPORT cudaError_t cudaFuncSetAttribute(const void *function, enum cudaFuncAttribute attribute, int value)
{
    call self;
    (void)function, (void)attribute, (void)value;
    launch_ask(&self, SIM_CALL_FUNC_SET_ATTRIBUTE);
    return call_end(&self);
}

CUDART_EXPORT cudaError_t cudaLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block, void **arguments,
                                                      size_t shared_bytes, cudaStream_t stream)
{
    (void)function, (void)grid, (void)block, (void)arguments, (void)shared_bytes;
    return launch_kernel(SIM_CALL_LAUNCH_COOPERATIVE, stream);
}

CUDART_EXPORT cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *blocks, const void *function, int block_size, size_t shared_bytes, unsigned int flags)
{
    call self;
    (void)function, (void)shared_bytes, (void)flags;
    if (launch_ask(&self, SIM_CALL_OCCUPANCY)) {
        self.code = blocks && block_size > 0 ? SIM_SUCCESS : SIM_INVALID_VALUE;
        if (self.code == SIM_SUCCESS) {          /* as its threads alone allow */
            int fit = attributes_of(self.device, cudaDevAttrMaxThreadsPerMultiProcessor) / block_size;
            int most = attributes_of(self.device, cudaDevAttrMaxBlocksPerMultiprocessor);
            *blocks = fit < most ? fit : most;
        }
    }
    return call_end(&self);
}

CUDART_EXPORT cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function,
                                                                        int block_size, size_t shared_bytes)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, block_size, shared_bytes, 0);
}

CUDART_ALSO(__cudaLaunchKernel, __cudaLaunchKernel_ptsz);
CUDART_ALSO(cudaLaunchKernel, cudaLaunchKernel_ptsz);
CUDART_ALSO(cudaLaunchKernelExC, cudaLaunchKernelExC_ptsz);
CUDART_ALSO(cudaLaunchCooperativeKernel, cudaLaunchCooperativeKernel_ptsz);

/* ---- What stands for kernels: work that takes time and uses memory */

static int kernel_issue(sim_device *device, const void *stream, uint64_t work_ns, const void *const *ptrs,
                        const uint64_t *bytes, size_t count)
{
    int code = launch_command(device, stream, work_ns, NULL, NULL, 0, "cudart_kernel");
    for (size_t i = 0; code == SIM_SUCCESS && i < count; i++) {
        uint64_t address = (uint64_t)(uintptr_t)ptrs[i];
        access_range range = { address, bytes[i], access_owner_of(device, address), device->sim->judge.op, 0,
                               0, 0 };
        code = launch_use(device, stream, &range, "cudart_kernel");
    }
    return code;
}

__attribute__((visibility("default"))) int cudart_kernel(void *stream, uint64_t work_ns, const void *const *ptrs,
                                                         const uint64_t *bytes, size_t count)
{
    call self;
    int code = call_enter(&self);
    if (code == SIM_SUCCESS && !self.machine) code = cudaErrorNoDevice;
    if (code == SIM_SUCCESS) {
        sim_device *device = call_find_device(&self, self.thread->device);
        engine_open_context(device);
        code = kernel_issue(device, stream, work_ns, ptrs, bytes, count);
    }
    call_leave(&self);
    return code;
}

__attribute__((visibility("default"))) void cudart_work_ns(uint64_t work_ns)
{
    call self;
    if (call_enter(&self) == SIM_SUCCESS && self.machine) self.machine->runtime_work_ns = work_ns;
    call_leave(&self);
}
