/* Kernels: programs that hold some can be loaded and register them. A launch answers cudaErrorNotSupported, or, with
   kernels=skip, is a command of its stream that touches nothing.
   Must not know the work of kernels: nothing here could run one. */
#include "call.h"

/* ---- Functions that compiled CUDA code calls by itself. The toolkit declares these for its own compiler alone */

/* Registers nothing: 1, for those that are asked. Declared without arguments: only the symbol is CUDA's. */
#define LAUNCH_REGISTER(name) \
    CUDART_EXPORT int launch_##name(void) __asm__("__cuda" #name); \
    int launch_##name(void) { return 1; }
LAUNCH_REGISTER(RegisterFatBinaryEnd)
LAUNCH_REGISTER(UnregisterFatBinary)
LAUNCH_REGISTER(InitModule)
LAUNCH_REGISTER(RegisterFunction)
LAUNCH_REGISTER(RegisterVar)
LAUNCH_REGISTER(RegisterHostVar)

/* Any address stands for all modules. */
CUDART_EXPORT void **__cudaRegisterFatBinary(void *binary)
{
    static void *module;
    (void)binary;
    return &module;
}

/* A variable that is managed: the program's pointer to it is set before main. */
CUDART_EXPORT void __cudaRegisterManagedVar(void **module, void **variable, char *address, const char *name,
                                            int is_external, size_t bytes, int is_constant, int is_global)
{
    (void)module, (void)address, (void)name, (void)is_external, (void)is_constant, (void)is_global;
    *variable = program_need(1, bytes);
}

/* 0: the compiled code goes on to the launch. */
CUDART_EXPORT unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream)
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

static int launch_pop(call_thread *thread, dim3 *grid, dim3 *block, size_t *shared_bytes, cudaStream_t *stream)
{
    if (thread->launch_count == 0) return thread->last_error = cudaErrorMissingConfiguration;
    const call_launch *popped = &thread->launches[--thread->launch_count];
    *grid = popped->grid;
    *block = popped->block;
    *shared_bytes = popped->shared_bytes;
    *stream = popped->stream;
    return SIM_SUCCESS;
}

CUDART_EXPORT cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared_bytes, void *stream)
{
    CALL_LOOKS(cudaError_t, launch_pop(self.thread, grid, block, shared_bytes, stream));
}

CUDART_EXPORT cudaError_t __cudaGetKernel(void **kernel, const void *function)
{
    *kernel = (void *)(uintptr_t)function;
    return cudaSuccess;
}

/* ---- Launches, and questions about kernels, which have an answer only where kernels are skipped */

static int launch_nothing(const launch *now, const void *payload)
{
    (void)now, (void)payload;
    return SIM_SUCCESS;
}

/* Work of the stream, which a capture keeps as a node of its graph. */
static int launch_skip(const call *self)
{
    const char none = 0;
    if (!self->machine->runtime_skips_kernels) return SIM_NOT_SUPPORTED;
    self->machine->runtime_skipped_kernels++;
    return launch_command(self, self->machine->runtime_work_ns, launch_nothing, &none, sizeof none);
}

#define LAUNCH_FUNCTION(name) \
    CUDART_STREAM_FUNCTION(name, (const void *function, dim3 grid, dim3 block, void **arguments, \
                                  size_t shared_bytes, cudaStream_t stream), \
                           ((void)function, (void)grid, (void)block, (void)arguments, (void)shared_bytes, \
                            launch_skip(&self)))
LAUNCH_FUNCTION(cudaLaunchKernel)
LAUNCH_FUNCTION(cudaLaunchCooperativeKernel)
CUDART_ALSO(cudaLaunchKernel, __cudaLaunchKernel);
CUDART_ALSO(cudaLaunchKernel_ptsz, __cudaLaunchKernel_ptsz);

static cudaError_t launch_configured(cudaStream_t stream)
{
    CALL_DOES(stream_begin(&self, SIM_CALL_LAUNCH_KERNEL_EXC, stream), launch_skip(&self));
}

CUDART_EXPORT cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *function,
                                              void **arguments)
{
    (void)function, (void)arguments;
    return launch_configured(config ? config->stream : NULL);
}

CUDART_THREAD_FORM(cudaLaunchKernelExC, cudaLaunchKernelExC_ptsz)(const cudaLaunchConfig_t *config,
                                                                  const void *function, void **arguments)
{
    (void)function, (void)arguments;
    return launch_configured(stream_of_thread(config ? config->stream : NULL));
}

/* Attributes of a small kernel: no real one's are known. */
CUDART_SERVED(cudaFuncGetAttributes, (struct cudaFuncAttributes *attributes, const void *function),
              (attributes, function))
{
    (void)function;
    if (!self->machine->runtime_skips_kernels) return SIM_NOT_SUPPORTED;
    if (!attributes) return SIM_INVALID_VALUE;
    memset(attributes, 0, sizeof *attributes);
    attributes->maxThreadsPerBlock = attributes_of(self->device, cudaDevAttrMaxThreadsPerBlock);
    attributes->maxDynamicSharedSizeBytes = attributes_of(self->device, cudaDevAttrMaxSharedMemoryPerBlockOptin);
    attributes->numRegs = 32;
    attributes->binaryVersion = attributes->ptxVersion = 90;
    return SIM_SUCCESS;
}

CUDART_FUNCTION(cudaFuncSetAttribute, (const void *function, enum cudaFuncAttribute attribute, int value),
                ((void)function, (void)attribute, (void)value,
                 self.machine->runtime_skips_kernels ? SIM_SUCCESS : SIM_NOT_SUPPORTED))

/* The number of blocks that fit by their threads alone. */
CUDART_SERVED(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
              (int *blocks, const void *function, int block_size, size_t shared_bytes, unsigned int flags),
              (blocks, function, block_size, shared_bytes, flags))
{
    (void)function, (void)shared_bytes, (void)flags;
    if (!self->machine->runtime_skips_kernels) return SIM_NOT_SUPPORTED;
    if (!blocks || block_size <= 0) return SIM_INVALID_VALUE;
    int fit = attributes_of(self->device, cudaDevAttrMaxThreadsPerMultiProcessor) / block_size;
    int most = attributes_of(self->device, cudaDevAttrMaxBlocksPerMultiprocessor);
    *blocks = fit < most ? fit : most;
    return SIM_SUCCESS;
}

CUDART_EXPORT cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function,
                                                                        int block_size, size_t shared_bytes)
{
    return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, block_size, shared_bytes, 0);
}

/* ---- The stand-in for kernels: work that takes time and uses memory */

static int kernel_issue(call *self, const void *stream, uint64_t work_ns, const void *const *ptrs,
                        const uint64_t *bytes, size_t count)
{
    if (!self->machine) return cudaErrorNoDevice;
    self->device = engine_device(self->machine, self->thread->device);
    engine_open_context(self->device);
    if (!work_take_stream(self, stream)) return self->code;
    int code = launch_command(self, work_ns, NULL, NULL, 0);
    for (size_t i = 0; code == SIM_SUCCESS && i < count; i++) {
        uint64_t owner = access_owner_of(self->device, (uint64_t)(uintptr_t)ptrs[i]);
        code = launch_use(self, ptrs[i], bytes[i], owner, self->machine->judge.op);
    }
    return code;
}

CUDART_EXPORT int cudart_kernel(void *stream, uint64_t work_ns, const void *const *ptrs, const uint64_t *bytes,
                                size_t count)
{
    CALL_LOOKS(int, kernel_issue(&self, stream, work_ns, ptrs, bytes, count));
}
