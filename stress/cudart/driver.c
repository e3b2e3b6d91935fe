/* Driver functions: how they are found by name; versions, devices, contexts, kernels, and memory that no stream
   orders. Each device has one context, its primary one. With kernels=skip modules load unread, every kernel is found
   in them, and a launch is a command of its stream that touches nothing; without it all answer
   CUDA_ERROR_NOT_SUPPORTED.
   Must not know the effects of the runtime's calls of the same meaning. */
#include "driver.h"

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"   /* functions that programs still call */
#endif

/* ---- Functions by their names: the runtime's way and the driver's, in the form that each toolkit has */

extern const driver_row *const __start_driver_rows[] __attribute__((visibility("hidden")));
extern const driver_row *const __stop_driver_rows[] __attribute__((visibility("hidden")));

/* The latest row of that name that a CUDA version has. *known: 1 if any version has the name. per_thread: in the form
   in which stream 0 is the calling thread's. */
static const driver_row *driver_find(const char *name, unsigned version, int per_thread, int *known)
{
    const driver_row *found = NULL;
    *known = 0;
    for (const driver_row *const *at = __start_driver_rows; at < __stop_driver_rows; at++) {
        const driver_row *row = *at;
        if (strcmp(row->name, name) == 0 && row->form != (per_thread ? 1 : 2)) {
            *known = 1;
            if (row->since <= version && (!found || row->since > found->since)) found = row;
        }
    }
    return found;
}

/* The query result's values, which only toolkits from 12.0 on name. */
enum { ENTRY_FOUND = 0, ENTRY_NOT_FOUND = 1, ENTRY_TOO_OLD = 2 };

/* The runtime's own way: a function that is not served is not found, which is no error. */
static int entry_find(const char *name, void **function, unsigned version, unsigned long long flags, int *result)
{
    const unsigned long long most = cudaEnablePerThreadDefaultStream;
    if (!name || name[0] == '\0' || !function || flags > most || version > CUDART_VERSION) {
        return SIM_INVALID_VALUE;
    }
    int known;
    const driver_row *row = driver_find(name, version, flags == cudaEnablePerThreadDefaultStream, &known);
    *result = row ? ENTRY_FOUND : known ? ENTRY_TOO_OLD : ENTRY_NOT_FOUND;
    *function = NULL;
    if (row) {                                   /* ISO C has no cast for this; POSIX promises equal bytes */
        memcpy(function, &row->function, sizeof *function);
    }
    return SIM_SUCCESS;
}

/* The driver's own way: a function that is not found is an error. Versions beyond its own find the newest. Before
   CUDA 12 this is the runtime's way, too: there is no query result to say so. */
static int entry_look_up(const char *name, void **function, int version, cuuint64_t flags, int *result)
{
    unsigned asked = version > CUDART_VERSION ? CUDART_VERSION : (unsigned)version;
    int code = version < 0 ? SIM_INVALID_VALUE : entry_find(name, function, asked, flags, result);
    return code == SIM_SUCCESS && *result != ENTRY_FOUND ? CUDA_ERROR_NOT_FOUND : code;
}

#if CUDART_VERSION >= 12000
DRIVER(cuGetProcAddress, 12000, (const char *name, void **function, int version, cuuint64_t flags,
                                 CUdriverProcAddressQueryResult *told))
{
    int result = ENTRY_NOT_FOUND, code = entry_look_up(name, function, version, flags, &result);
    if (told) *told = (CUdriverProcAddressQueryResult)result;
    return (CUresult)code;
}

static int entry_tell(const char *name, void **function, unsigned version, unsigned long long flags,
                      enum cudaDriverEntryPointQueryResult *told)
{
    int result = ENTRY_NOT_FOUND, code = entry_find(name, function, version, flags, &result);
    if (told && code == SIM_SUCCESS) *told = (enum cudaDriverEntryPointQueryResult)result;
    return code;
}

CUDART_FUNCTION(cudaGetDriverEntryPoint, (const char *name, void **function, unsigned long long flags,
                                          enum cudaDriverEntryPointQueryResult *told),
                entry_tell(name, function, CUDART_VERSION, flags, told))
#else
DRIVER(cuGetProcAddress, 11030, (const char *name, void **function, int version, cuuint64_t flags))
{
    return (CUresult)entry_look_up(name, function, version, flags, &(int){ 0 });
}

CUDART_FUNCTION(cudaGetDriverEntryPoint, (const char *name, void **function, unsigned long long flags),
                entry_look_up(name, function, CUDART_VERSION, flags, &(int){ 0 }))
#endif
CUDART_ALSO(cudaGetDriverEntryPoint, cudaGetDriverEntryPoint_ptsz);

#if CUDART_VERSION >= 12050
CUDART_FUNCTION(cudaGetDriverEntryPointByVersion, (const char *name, void **function, unsigned int version,
                                                   unsigned long long flags,
                                                   enum cudaDriverEntryPointQueryResult *told),
                entry_tell(name, function, version, flags, told))
CUDART_ALSO(cudaGetDriverEntryPointByVersion, cudaGetDriverEntryPointByVersion_ptsz);
#endif

/* ---- Versions, names of codes, devices */

int driver_keep_error(void)
{
    call self;
    call_enter(&self);
    self.thread->kept_error = self.thread->last_error;
    call_leave(&self);
    return call_initialized(0);
}

/* The runtime's numbers are the driver's, where the driver has them. A lost device stays the last error. */
CUresult driver_answer(cudaError_t code)
{
    call self;
    call_enter(&self);
    if (codes_of(self.thread->last_error)->status != GPUARENA_STATUS_LOST) {
        self.thread->last_error = self.thread->kept_error;
    }
    call_leave(&self);
    const code_row *row = codes_of((int)code);
    return row->code < 0 || row->driver_name ? (CUresult)code : CUDA_ERROR_INVALID_VALUE;
}

static CUresult driver_has_device(void)
{
    CALL_LOOKS(CUresult, self.machine ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE);
}

/* Everything but this, versions, and names of codes and functions waits for it. */
DRIVER(cuInit, 2000, (unsigned int flags))
{
    CUresult code = flags == 0 ? driver_has_device() : CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS) (void)call_initialized(1);
    return code;
}

DRIVER_ANSWERS(cuDriverGetVersion, 2020, (int *version), (CUresult)CALL_PUT(version, CUDART_VERSION))

static CUresult error_tell(const char *known, const char **told)
{
    if (told) *told = known;
    return told && known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* The runtime's numbers and texts are the driver's, where both have them. */
DRIVER_ANSWERS(cuGetErrorName, 6000, (CUresult error, const char **name),
               error_tell(codes_of((int)error)->driver_name, name))
DRIVER_ANSWERS(cuGetErrorString, 6000, (CUresult error, const char **text),
               error_tell(codes_of((int)error)->driver_name ? codes_of((int)error)->text : NULL, text))

DRIVER_CALL(cuDeviceGet, 2000, (CUdevice *device, int ordinal), call_begin(&self, SIM_CALL_GET_DEVICE),
            device && !engine_device(self.machine, ordinal) ? cudaErrorInvalidDevice : CALL_PUT(device, ordinal))

/* Attributes have the runtime's numbers, and a few more that it does not know. */
DRIVER_FUNCTION(cuDeviceGetAttribute, 2000, (int *value, CUdevice_attribute attribute, CUdevice device),
                cudaDeviceGetAttribute(value, (enum cudaDeviceAttr)attribute, device))
DRIVER_FUNCTION(cuDeviceGetCount, 2000, (int *count), cudaGetDeviceCount(count))
DRIVER_FUNCTION(cuDeviceGetPCIBusId, 4010, (char *text, int bytes, CUdevice device),
                cudaDeviceGetPCIBusId(text, bytes, device))
DRIVER_FUNCTION(cuDeviceCanAccessPeer, 4000, (int *can, CUdevice device, CUdevice peer),
                cudaDeviceCanAccessPeer(can, device, peer))
DRIVER_TAKES(cuDeviceGetName, 2000, (char *name, int bytes, CUdevice device), name && bytes > 0,
             struct cudaDeviceProp, cudaGetDeviceProperties(&made, device),
             snprintf(name, (size_t)bytes, "%s", made.name))
DRIVER_TAKES(cuDeviceGetUuid, 9020, (CUuuid *uuid, CUdevice device), uuid, struct cudaDeviceProp,
             cudaGetDeviceProperties(&made, device), memcpy(uuid, &made.uuid, sizeof *uuid))
DRIVER_TAKES(cuDeviceTotalMem, 3020, (size_t *bytes, CUdevice device), bytes, struct cudaDeviceProp,
             cudaGetDeviceProperties(&made, device), *bytes = made.totalGlobalMem)
DRIVER_TAKES(cuDeviceComputeCapability, 2000, (int *major, int *minor, CUdevice device), major && minor,
             struct cudaDeviceProp, cudaGetDeviceProperties(&made, device),
             (*major = made.major, *minor = made.minor))

/* ---- A device's context */

struct CUctx_st { char unused; };                /* its place in the table is its device */
static struct CUctx_st context_table[SIM_MAX_DEVICES];

/* -1: no context. */
static int context_device(CUcontext context)
{
    for (int i = 0; i < SIM_MAX_DEVICES; i++) {
        if (context == &context_table[i]) return i;
    }
    return -1;
}

CUcontext driver_context(int ordinal)
{
    return ordinal < 0 ? NULL : &context_table[ordinal];
}

static CUresult context_open(int ordinal, int opens, int *is_open)
{
    call self;
    *is_open = 0;
    DRIVER_NEEDS_INIT;
    if (call_open(&self, SIM_CALL_SET_DEVICE)) {
        sim_device *found = engine_device(self.machine, ordinal);
        self.code = found ? found->lost_code : CUDA_ERROR_INVALID_DEVICE;
        if (found && opens) engine_open_context(found);
        if (found) *is_open = found->has_context;
    }
    return (CUresult)call_end_driver(&self);
}

DRIVER(cuDevicePrimaryCtxRetain, 7000, (CUcontext *context, CUdevice device))
{
    int is_open;
    CUresult code = context ? context_open(device, 1, &is_open) : CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS) *context = driver_context(device);
    return code;
}

/* The context stays until the device is reset. */
DRIVER(cuDevicePrimaryCtxRelease, 7000, (CUdevice device))
{
    int is_open;
    return context_open(device, 0, &is_open);
}

DRIVER(cuDevicePrimaryCtxGetState, 7000, (CUdevice device, unsigned int *flags, int *active))
{
    int is_open;
    CUresult code = flags && active ? context_open(device, 0, &is_open) : CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS) {
        *flags = 0;
        *active = is_open;
    }
    return code;
}

/* ---- The thread's current context */

/* Its device; -1: there is none. */
static int context_current(const call_thread *thread)
{
    return thread->has_context ? thread->device : -1;
}

DRIVER_LOOKS(cuCtxGetCurrent, 4000, (CUcontext *context),
             CALL_PUT(context, driver_context(context_current(self.thread))))

/* Notes whether a context is current: only in some versions cudaSetDevice does so. */
static CUresult context_keep(int ordinal) DRIVER_LOOK((self.thread->has_context = ordinal >= 0, SIM_SUCCESS))

static CUresult context_make_current(int ordinal)
{
    CUresult code = ordinal >= 0 ? DRIVER_DOES(cudaSetDevice(ordinal)) : CUDA_SUCCESS;
    return code == CUDA_SUCCESS ? context_keep(ordinal) : code;
}

DRIVER_ANSWERS(cuCtxSetCurrent, 4000, (CUcontext context),
               context && context_device(context) < 0 ? CUDA_ERROR_INVALID_CONTEXT
                                                      : context_make_current(context_device(context)))

static int context_push(call_thread *thread, CUcontext context)
{
    if (context_device(context) < 0) return context ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_VALUE;
    if (thread->stack_count == CALL_CONTEXTS) return CUDA_ERROR_NOT_SUPPORTED;
    thread->stack[thread->stack_count++] = context_current(thread);
    return SIM_SUCCESS;
}

static CUresult context_save(CUcontext context) DRIVER_LOOK(context_push(self.thread, context))

DRIVER(cuCtxPushCurrent, 4000, (CUcontext context))
{
    CUresult code = context_save(context);
    return code == CUDA_SUCCESS ? cuCtxSetCurrent(context) : code;
}

static int context_pop(call_thread *thread, CUcontext *context, int *below)
{
    if (!thread->has_context) return CUDA_ERROR_INVALID_CONTEXT;
    if (context) *context = driver_context(thread->device);
    *below = thread->stack_count > 0 ? thread->stack[--thread->stack_count] : -1;
    return SIM_SUCCESS;
}

static CUresult context_restore(CUcontext *context, int *below) DRIVER_LOOK(context_pop(self.thread, context, below))

/* The context that was current before the push is so again; without a push, none is. */
DRIVER(cuCtxPopCurrent, 4000, (CUcontext *context))
{
    int below = -1;
    CUresult code = context_restore(context, &below);
    return code == CUDA_SUCCESS ? context_make_current(below) : code;
}

DRIVER_LOOKS(cuCtxGetDevice, 2000, (CUdevice *device),
             device && !self.thread->has_context ? CUDA_ERROR_INVALID_CONTEXT : CALL_PUT(device, self.thread->device))

DRIVER(cuCtxGetApiVersion, 3020, (CUcontext context, unsigned int *version))
{
    DRIVER_NEEDS_INIT;
    if (!version || (context && context_device(context) < 0)) {
        return version ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_VALUE;
    }
    *version = 3020;                             /* of contexts since CUDA 3.2 */
    return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12000
static int context_number(int ordinal, unsigned long long *id)
{
    if (!id || ordinal < 0) return id ? CUDA_ERROR_INVALID_CONTEXT : CUDA_ERROR_INVALID_VALUE;
    *id = (unsigned long long)ordinal + 1;
    return SIM_SUCCESS;
}

DRIVER_LOOKS(cuCtxGetId, 12000, (CUcontext context, unsigned long long *id),
             context_number(context ? context_device(context) : context_current(self.thread), id))
#endif

DRIVER_FUNCTION(cuCtxGetFlags, 7000, (unsigned int *flags), cudaGetDeviceFlags(flags))
DRIVER_FUNCTION(cuCtxSynchronize, 2000, (void), cudaDeviceSynchronize())
DRIVER_FUNCTION(cuCtxGetStreamPriorityRange, 5050, (int *least, int *greatest),
                cudaDeviceGetStreamPriorityRange(least, greatest))

/* ---- Modules and kernels */

static char kernel_stand_in;                     /* its address stands for all modules, libraries and kernels */

static CUresult kernel_find(const void *source, void *handle)
{
    struct cudaFuncAttributes any;
    CUresult code = DRIVER_DOES(cudaFuncGetAttributes(&any, &kernel_stand_in));
    if (code == CUDA_SUCCESS) code = source && handle ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS) *(void **)handle = &kernel_stand_in;
    return code;
}

static CUresult kernel_forget(const void *handle)
{
    DRIVER_NEEDS_INIT;
    return handle ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

DRIVER_ANSWERS(cuModuleLoadData, 2000, (CUmodule *module, const void *image), kernel_find(image, module))
DRIVER_ANSWERS(cuModuleLoadDataEx, 2010, (CUmodule *module, const void *image, unsigned int count,
                                          CUjit_option *options, void **values),
               ((void)count, (void)options, (void)values, kernel_find(image, module)))
DRIVER_ANSWERS(cuModuleUnload, 2000, (CUmodule module), kernel_forget(module))
DRIVER_ANSWERS(cuModuleGetFunction, 2000, (CUfunction *function, CUmodule module, const char *name),
               module ? kernel_find(name, function) : CUDA_ERROR_INVALID_HANDLE)

#if CUDA_VERSION >= 12000
DRIVER_ANSWERS(cuLibraryLoadData, 12000, (CUlibrary *library, const void *image, CUjit_option *options,
                                          void **values, unsigned int count, CUlibraryOption *library_options,
                                          void **library_values, unsigned int library_count),
               ((void)options, (void)values, (void)count, (void)library_options, (void)library_values,
                (void)library_count, kernel_find(image, library)))
DRIVER_ANSWERS(cuLibraryUnload, 12000, (CUlibrary library), kernel_forget(library))
DRIVER_ANSWERS(cuLibraryGetKernel, 12000, (CUkernel *kernel, CUlibrary library, const char *name),
               library ? kernel_find(name, kernel) : CUDA_ERROR_INVALID_HANDLE)
DRIVER_ANSWERS(cuKernelGetFunction, 12000, (CUfunction *function, CUkernel kernel), kernel_find(kernel, function))
#endif

/* The numbers of those attributes that have an answer here. */
DRIVER_TAKES(cuFuncGetAttribute, 2020, (int *value, CUfunction_attribute attribute, CUfunction function),
             value && function, struct cudaFuncAttributes, cudaFuncGetAttributes(&made, function),
             *value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? made.maxThreadsPerBlock
                    : attribute == CU_FUNC_ATTRIBUTE_NUM_REGS              ? made.numRegs
                    : attribute == CU_FUNC_ATTRIBUTE_PTX_VERSION           ? made.ptxVersion
                    : attribute == CU_FUNC_ATTRIBUTE_BINARY_VERSION        ? made.binaryVersion
                                                                           : 0)
DRIVER_ANSWERS(cuFuncSetAttribute, 9000, (CUfunction function, CUfunction_attribute attribute, int value),
               ((void)attribute, DRIVER_DOES(cudaFuncSetAttribute(function,
                cudaFuncAttributeMaxDynamicSharedMemorySize, value))))

DRIVER_FUNCTION(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050,
                (int *blocks, CUfunction function, int block_size, size_t shared_bytes),
                cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, block_size, shared_bytes))

/* ---- Streams, events and graphs, as they are made and ended. The numbers of modes are the runtime's */

DRIVER(cuThreadExchangeStreamCaptureMode, 10010, (CUstreamCaptureMode *mode))
{
    enum cudaStreamCaptureMode wanted = mode ? (enum cudaStreamCaptureMode)*mode : cudaStreamCaptureModeGlobal;
    CUresult code = mode ? DRIVER_DOES(cudaThreadExchangeStreamCaptureMode(&wanted)) : CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS) *mode = (CUstreamCaptureMode)wanted;
    return code;
}

DRIVER_FUNCTION(cuStreamCreate, 2000, (CUstream *stream, unsigned int flags),
                cudaStreamCreateWithFlags(stream, flags))
DRIVER_FUNCTION(cuStreamCreateWithPriority, 5050, (CUstream *stream, unsigned int flags, int priority),
                cudaStreamCreateWithPriority(stream, flags, priority))
DRIVER_FUNCTION(cuStreamDestroy, 4000, (CUstream stream), cudaStreamDestroy(stream))
DRIVER_FUNCTION(cuEventCreate, 2000, (CUevent *event, unsigned int flags), cudaEventCreateWithFlags(event, flags))
DRIVER_FUNCTION(cuEventDestroy, 4000, (CUevent event), cudaEventDestroy(event))
DRIVER_FUNCTION(cuEventQuery, 2000, (CUevent event), cudaEventQuery(event))
DRIVER_FUNCTION(cuEventSynchronize, 2000, (CUevent event), cudaEventSynchronize(event))
DRIVER_FUNCTION(cuEventElapsedTime, 2000, (float *milliseconds, CUevent start, CUevent end),
                cudaEventElapsedTime(milliseconds, start, end))
DRIVER_FUNCTION(cuGraphDestroy, 10000, (CUgraph value), cudaGraphDestroy(value))
DRIVER_FUNCTION(cuGraphExecDestroy, 10000, (CUgraphExec exec), cudaGraphExecDestroy(exec))

/* ---- Memory that no stream orders */

DRIVER_FUNCTION(cuMemGetInfo, 3020, (size_t *free_bytes, size_t *total_bytes),
                cudaMemGetInfo(free_bytes, total_bytes))
DRIVER_TAKES(cuMemAlloc, 3020, (CUdeviceptr *address, size_t bytes), address && bytes > 0, void *,
             cudaMalloc(&made, bytes), *address = (CUdeviceptr)(uintptr_t)made)
DRIVER_TAKES(cuMemAllocManaged, 6000, (CUdeviceptr *address, size_t bytes, unsigned int flags), address, void *,
             cudaMallocManaged(&made, bytes, flags), *address = (CUdeviceptr)(uintptr_t)made)
DRIVER_FUNCTION(cuMemFree, 3020, (CUdeviceptr address), cudaFree((void *)(uintptr_t)address))
DRIVER_FUNCTION(cuMemAllocHost, 3020, (void **ptr, size_t bytes), cudaMallocHost(ptr, bytes))
DRIVER_FUNCTION(cuMemHostAlloc, 2020, (void **ptr, size_t bytes, unsigned int flags),
                cudaHostAlloc(ptr, bytes, flags))
DRIVER_FUNCTION(cuMemFreeHost, 2000, (void *ptr), cudaFreeHost(ptr))

/* ---- Pools. The attributes' numbers are the runtime's, and so is the layout of structs, field by field */

typedef char pool_structs_are_alike[sizeof(CUmemPoolProps) == sizeof(struct cudaMemPoolProps)
                                    && sizeof(CUmemAccessDesc) == sizeof(struct cudaMemAccessDesc) ? 1 : -1];

DRIVER(cuMemPoolCreate, 11020, (CUmemoryPool *pool, const CUmemPoolProps *props))
{
    struct cudaMemPoolProps asked;
    if (!props) return CUDA_ERROR_INVALID_VALUE;
    memcpy(&asked, props, sizeof asked);
    return DRIVER_DOES(cudaMemPoolCreate(pool, &asked));
}

DRIVER(cuMemPoolSetAccess, 11020, (CUmemoryPool pool, const CUmemAccessDesc *list, size_t count))
{
    CUresult code = list || count == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; code == CUDA_SUCCESS && i < count; i++) {
        struct cudaMemAccessDesc one;
        memcpy(&one, &list[i], sizeof one);
        code = DRIVER_DOES(cudaMemPoolSetAccess(pool, &one, 1));
    }
    return code;
}

DRIVER_FUNCTION(cuMemPoolDestroy, 11020, (CUmemoryPool pool), cudaMemPoolDestroy(pool))
DRIVER_FUNCTION(cuMemPoolSetAttribute, 11020, (CUmemoryPool pool, CUmemPool_attribute attribute, void *value),
                cudaMemPoolSetAttribute(pool, (enum cudaMemPoolAttr)attribute, value))
DRIVER_FUNCTION(cuMemPoolGetAttribute, 11020, (CUmemoryPool pool, CUmemPool_attribute attribute, void *value),
                cudaMemPoolGetAttribute(pool, (enum cudaMemPoolAttr)attribute, value))
DRIVER_FUNCTION(cuMemPoolTrimTo, 11020, (CUmemoryPool pool, size_t keep_bytes), cudaMemPoolTrimTo(pool, keep_bytes))
DRIVER_FUNCTION(cuDeviceGetDefaultMemPool, 11020, (CUmemoryPool *pool, CUdevice device),
                cudaDeviceGetDefaultMemPool(pool, device))
DRIVER_FUNCTION(cuDeviceGetMemPool, 11020, (CUmemoryPool *pool, CUdevice device), cudaDeviceGetMemPool(pool, device))
DRIVER_FUNCTION(cuDeviceSetMemPool, 11020, (CUdevice device, CUmemoryPool pool), cudaDeviceSetMemPool(device, pool))

/* ---- Addresses: the device and the request or mapping that each lies in */

typedef struct pointer_place { const sim_device *device; uint64_t base, bytes; int is_rdma; } pointer_place;

/* The request (of cudaMalloc, or of a pool) or the one mapping that an address lies in. 0: neither. */
static int pointer_find(const call *self, uint64_t address, pointer_place *found)
{
    uint64_t offset;
    devmem_place place;
    const devmem_mapping *mapped;
    const sim_device *owner = engine_owner(self->machine, address, &offset);
    if (!owner) return 0;
    found->device = owner;
    if ((mapped = devmem_mapped(&owner->memory, offset)) != NULL) {
        found->base = engine_address(owner, mapped->offset);
        found->bytes = mapped->page->bytes;
        found->is_rdma = mapped->page->is_rdma;
        return 1;
    }
    if (!devmem_find(&owner->memory, offset, &place)) return 0;
    found->base = engine_address(owner, place.offset);
    found->bytes = place.bytes;
    found->is_rdma = !place.range->pool;
    return 1;
}

DRIVER_SERVED(cuMemGetAddressRange, 3020, (CUdeviceptr *base, size_t *bytes, CUdeviceptr address),
              (base, bytes, address), call_begin(&self, SIM_CALL_POINTER_GET_ATTRIBUTES))
{
    pointer_place found;
    if (!pointer_find(self, address, &found)) return CUDA_ERROR_NOT_FOUND;
    if (base) *base = found.base;
    if (bytes) *bytes = found.bytes;
    return SIM_SUCCESS;
}

/* Answers for host memory, too, which has no pointer_place but a pinned, managed or registered block. */
DRIVER_SERVED(cuPointerGetAttribute, 4000, (void *value, CUpointer_attribute attribute, CUdeviceptr address),
              (value, attribute, address), call_begin(&self, SIM_CALL_POINTER_GET_ATTRIBUTES))
{
    pointer_place found;
    const host_block *host = host_find((const void *)(uintptr_t)address);
    int is_managed = host && host->kind == HOST_MANAGED;
    if (!value || (!host && !pointer_find(self, address, &found))) return SIM_INVALID_VALUE;
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *)value = host && !is_managed ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        return SIM_SUCCESS;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (!host) return SIM_INVALID_VALUE;
        *(void **)value = (void *)(uintptr_t)address;
        return SIM_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: *(CUdeviceptr *)value = address;           return SIM_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
        *(unsigned *)value = host ? 0 : (unsigned)found.is_rdma;
        return SIM_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:     *(unsigned *)value = (unsigned)is_managed; return SIM_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *(int *)value = host ? host->ordinal : found.device->ordinal;
        return SIM_SUCCESS;
    default: return SIM_NOT_SUPPORTED;
    }
}
