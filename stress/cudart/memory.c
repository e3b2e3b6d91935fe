/* cudaMalloc, cudaFree and their kin: device, pinned and managed memory, attributes of pointers, memory pools, and
   memory of other processes.
   Must not know of contents, nor how device memory and pools are laid out: sim/ does. */
#include "../sim/memory.h"
#include "../sim/sim.h"
#include "call.h"

/* ---- Memory of the host: ordinary pages, and a list of them by address */

enum { HOST_PAGE = 4096 };
#define HOST_MOST ((uint64_t)512 << 30)          /* more than any machine pins: refused unasked */

static treap host_blocks;                        /* by address */

static int host_hold(const sim_device *owner, void *ptr, uint64_t bytes, host_kind kind)
{
    host_block *block = program_need(1, sizeof *block);
    const host_block held = { { .key = 0 }, ptr, bytes, owner->sim->handles.serial, owner->ordinal, kind };
    *block = held;
    treap_add(&host_blocks, &block->place, block, (uintptr_t)ptr, 0, 0);
    return SIM_SUCCESS;
}

/* Whole pages. A code. */
static int host_obtain(const sim_device *owner, void **ptr, uint64_t bytes, host_kind kind)
{
    void *made;
    if (bytes > HOST_MOST || posix_memalign(&made, HOST_PAGE, (size_t)bytes)) return SIM_OUT_OF_MEMORY;
    *ptr = made;
    return host_hold(owner, made, bytes, kind);
}

static void host_drop(host_block *block)
{
    treap_remove(&host_blocks, &block->place);
    if (block->kind != HOST_REGISTERED) free(block->ptr);
    free(block);
}

/* 1, and how many bytes it had; 0: no such block's base that is held. */
static int host_give_back(const void *ptr, host_kind kind, uint64_t *bytes)
{
    host_block *block = treap_until(&host_blocks, (uintptr_t)ptr);
    if (!block || block->ptr != ptr || block->kind != kind) return 0;
    *bytes = block->bytes;
    host_drop(block);
    return 1;
}

void host_reset(const sim_device *owner)
{
    for (host_block *block = treap_from(&host_blocks, 0, 0, 0), *next; block; block = next) {
        next = treap_from(&host_blocks, block->place.key + 1, 0, 0);
        if (block->machine == owner->sim->handles.serial && block->ordinal == owner->ordinal) host_drop(block);
    }
}

const host_block *host_find(const void *ptr)
{
    const host_block *below = treap_until(&host_blocks, (uintptr_t)ptr);
    return below && (uintptr_t)ptr - (uintptr_t)below->ptr < below->bytes ? below : NULL;
}

/* ---- Device, pinned and managed memory */

CUDART_EXPORT cudaError_t cudaMalloc(void **ptr, size_t bytes)
{
    CALL_DOES(call_open(&self, SIM_CALL_OBTAIN) && call_serve(&self, NULL, bytes),
              ptr ? memory_obtain(&self, ptr, bytes) : SIM_INVALID_VALUE);
}

/* Rows of 512 bytes, as textures want them. */
CUDART_SERVED(cudaMallocPitch, (void **ptr, size_t *pitch, size_t width, size_t height), (ptr, pitch, width, height))
{
    const uint64_t row = 512;
    uint64_t whole = width / row * row + (width % row ? row : 0);
    if (!ptr || !pitch || whole < width || (height > 0 && whole > UINT64_MAX / height)) {
        return SIM_INVALID_VALUE;
    }
    int code = memory_obtain(self, ptr, whole * height);
    if (code == SIM_SUCCESS) *pitch = whole;
    return code;
}

/* Any device's memory, whichever is current: addresses are the same to all. */
CUDART_SERVED_BY(cudaFree, (void *ptr), (ptr), call_begin_at(&self, SIM_CALL_GIVE_BACK, ptr))
{
    uint64_t bytes;
    if (!host_give_back(ptr, HOST_MANAGED, &bytes)) {
        return memory_give_back(self, (uint64_t)(uintptr_t)ptr, MEMORY_ANY_BYTES, 0);
    }
    work_drain_device(self);
    return SIM_SUCCESS;
}

CUDART_SERVED(cudaMemGetInfo, (size_t *free_bytes, size_t *total_bytes), (free_bytes, total_bytes))
{
    const devmem *memory = &self->device->memory;
    if (!free_bytes || !total_bytes) return SIM_INVALID_VALUE;
    *free_bytes = devmem_free_bytes(memory);
    *total_bytes = memory->capacity_bytes;
    return SIM_SUCCESS;
}

static int memory_pin(call *self, void **ptr, uint64_t bytes, unsigned flags)
{
    const unsigned known = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
    if (!ptr || flags & ~known) return SIM_INVALID_VALUE;
    if (bytes == 0) *ptr = NULL;
    int code = bytes > 0 ? host_obtain(self->device, ptr, bytes, HOST_PINNED) : SIM_SUCCESS;
    if (code == SIM_SUCCESS) self->cost_ns = engine_cost_ns(self->device, SIM_COST_HOST_ALLOC, bytes);
    return code;
}

CUDART_FUNCTION(cudaMallocHost, (void **ptr, size_t bytes), memory_pin(&self, ptr, bytes, cudaHostAllocDefault))
CUDART_FUNCTION(cudaHostAlloc, (void **ptr, size_t bytes, unsigned int flags), memory_pin(&self, ptr, bytes, flags))

CUDART_SERVED(cudaFreeHost, (void *ptr), (ptr))
{
    uint64_t bytes = 0;
    if (ptr && !host_give_back(ptr, HOST_PINNED, &bytes)) {
        ENGINE_REPORT(self->device, "cudaFreeHost of an address that is not held as pinned memory now");
        return SIM_INVALID_VALUE;
    }
    self->cost_ns = engine_cost_ns(self->device, SIM_COST_HOST_FREE, bytes);
    return SIM_SUCCESS;
}

/* The program's own memory, none of which is in another such block. */
CUDART_SERVED(cudaHostRegister, (void *ptr, size_t bytes, unsigned int flags), (ptr, bytes, flags))
{
    const unsigned known = cudaHostRegisterPortable | cudaHostRegisterMapped | cudaHostRegisterIoMemory
                         | cudaHostRegisterReadOnly;
    const uintptr_t from = (uintptr_t)ptr;
    if (!ptr || bytes == 0 || flags & ~known || bytes - 1 > UINTPTR_MAX - from
        || engine_owner(self->machine, from, NULL)) return SIM_INVALID_VALUE;            /* a device's is no host's */
    const host_block *last = treap_until(&host_blocks, from + (bytes - 1));
    if (last && (uintptr_t)last->ptr + last->bytes > from) return cudaErrorHostMemoryAlreadyRegistered;
    return host_hold(self->device, ptr, bytes, HOST_REGISTERED);
}

static int host_unregister(const void *ptr)
{
    uint64_t bytes;
    return host_give_back(ptr, HOST_REGISTERED, &bytes) ? SIM_SUCCESS : cudaErrorHostMemoryNotRegistered;
}

CUDART_FUNCTION(cudaHostUnregister, (void *ptr), host_unregister(ptr))

/* All of it is mapped, at its own address. */
CUDART_SERVED_BY(cudaHostGetDevicePointer, (void **device, void *host, unsigned int flags), (device, host, flags),
                 call_begin(&self, SIM_CALL_POINTER_GET_ATTRIBUTES))
{
    (void)self;
    const host_block *pinned = host_find(host);
    if (!device || !pinned || pinned->kind == HOST_MANAGED || flags != 0) return SIM_INVALID_VALUE;
    *device = host;
    return SIM_SUCCESS;
}

CUDART_FUNCTION(cudaMallocManaged, (void **ptr, size_t bytes, unsigned int flags),
                !ptr || !bytes || (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost)
                    ? SIM_INVALID_VALUE : host_obtain(self.device, ptr, bytes, HOST_MANAGED))

/* An address that nothing holds is an ordinary one of the host's. */
CUDART_SERVED(cudaPointerGetAttributes, (struct cudaPointerAttributes *attributes, const void *ptr),
              (attributes, ptr))
{
    const sim_device *owner = engine_owner(self->machine, (uint64_t)(uintptr_t)ptr, NULL);
    const host_block *pinned = host_find(ptr);
    if (!attributes) return SIM_INVALID_VALUE;
    memset(attributes, 0, sizeof *attributes);
    attributes->type = cudaMemoryTypeUnregistered;
    attributes->device = cudaInvalidDeviceId;
    if (owner && sim_holds(self->machine, owner->ordinal, ptr, 1)) {
        attributes->type = cudaMemoryTypeDevice;
        attributes->device = owner->ordinal;
        attributes->devicePointer = (void *)(uintptr_t)ptr;
    } else if (pinned) {
        attributes->type = pinned->kind == HOST_MANAGED ? cudaMemoryTypeManaged : cudaMemoryTypeHost;
        attributes->device = pinned->ordinal;
        attributes->devicePointer = (void *)(uintptr_t)ptr;
        attributes->hostPointer = (void *)(uintptr_t)ptr;
    }
    return SIM_SUCCESS;
}

/* ---- Memory pools */

/* The pool that the handle is of; NULL and cudaErrorInvalidValue: it is none. */
static mempool *pool_find_handle(call *self, cudaMemPool_t handle)
{
    for (int i = 0; i < self->machine->device_count; i++) {
        for (mempool *pool = self->machine->devices[i].pools; pool; pool = pool->next) {
            if ((cudaMemPool_t)(void *)pool == handle && !pool->is_closed) return pool;
        }
    }
    self->code = SIM_INVALID_VALUE;
    return NULL;
}

/* A call about the pool of a handle: answer is its code if there is one; expressions in `self` and `pool`. */
#define POOL_FUNCTION(name, parameters, answer) \
    CUDART_EXPORT cudaError_t name parameters \
    { \
        call self; \
        mempool *pool = call_begin(&self, SIM_CALL_OF_##name) ? pool_find_handle(&self, handle) : NULL; \
        if (pool) self.code = (answer); \
        return call_end(&self); \
    }

/* The one that cudaMallocAsync takes from. */
static mempool *pool_current(sim_device *device)
{
    return device->current_pool ? device->current_pool : mempool_of(device);
}

static int pool_hand_out(call *self, mempool *pool, void **ptr, size_t bytes)
{
    return pool && ptr ? mempool_hand_out(pool, self, ptr, bytes) : SIM_INVALID_VALUE;
}

/* The memory's device may be another one than the stream's. Memory of cudaMalloc goes back as by cudaFree, which
   captures of other streams forbid. */
static int pool_take_back(call *self, uint64_t address, cudaStream_t stream)
{
    int code;
    devmem_place place;
    self->stream = work_find_stream(engine_device(self->machine, self->thread->device), stream, &code);
    if (!self->stream) return code;
    if (engine_find(self->device, address, 0, &place) && !place.range->pool) {
        code = self->stream->capture ? SIM_NOT_SUPPORTED : capture_check_unsafe(self);
        return code ? code : memory_give_back(self, address, MEMORY_ANY_BYTES, 0);
    }
    return mempool_take_back(self, address, MEMORY_ANY_BYTES, "cudaFreeAsync");
}

/* The stream's device may be another one than the current one. */
CUDART_STREAM_FUNCTION(cudaMallocAsync, (void **ptr, size_t bytes, cudaStream_t stream),
                       pool_hand_out(&self, pool_current(&self.machine->devices[self.stream->device]), ptr, bytes))
CUDART_STREAM_FUNCTION(cudaMallocFromPoolAsync,
                       (void **ptr, size_t bytes, cudaMemPool_t handle, cudaStream_t stream),
                       pool_hand_out(&self, pool_find_handle(&self, handle), ptr, bytes))
CUDART_FORMS(cudaFreeAsync, (void *ptr, cudaStream_t stream), call_begin_at(&self, SIM_CALL_FREE_ASYNC, ptr),
             pool_take_back(&self, (uint64_t)(uintptr_t)ptr, stream))

/* Pinned memory of one of the devices, shared with nobody. */
CUDART_SERVED(cudaMemPoolCreate, (cudaMemPool_t *handle, const struct cudaMemPoolProps *props), (handle, props))
{
    sim_device *device = props ? engine_device(self->machine, props->location.id) : NULL;
    if (!handle || !device || props->allocType != cudaMemAllocationTypePinned
        || props->location.type != cudaMemLocationTypeDevice) {
        return SIM_INVALID_VALUE;
    }
    if (props->handleTypes != cudaMemHandleTypeNone) return SIM_NOT_SUPPORTED;
    (void)mempool_of(device);                    /* which comes first */
    mempool *made = mempool_create(device);
#if CUDART_VERSION >= 12090
    made->most_bytes = props->maxSize;
#endif
    *handle = (cudaMemPool_t)(void *)made;
    return SIM_SUCCESS;
}

/* Destroys a pool that is not a device's own. Pieces that it has handed out stay. */
static int pool_destroy(mempool *pool)
{
    sim_device *device = pool->device;
    if (pool == device->pools) return SIM_INVALID_VALUE;
    pool->is_closed = 1;
    if (device->current_pool == pool) device->current_pool = NULL;
    mempools_settle(device);
    return SIM_SUCCESS;
}

POOL_FUNCTION(cudaMemPoolDestroy, (cudaMemPool_t handle), pool_destroy(pool))

static int pool_get(const call *self, cudaMemPool_t *handle, int ordinal, mempool *(*choose)(sim_device *device))
{
    sim_device *device = engine_device(self->machine, ordinal);
    if (!handle || !device) return device ? SIM_INVALID_VALUE : cudaErrorInvalidDevice;
    *handle = (cudaMemPool_t)(void *)choose(device);
    return SIM_SUCCESS;
}

CUDART_FUNCTION(cudaDeviceGetDefaultMemPool, (cudaMemPool_t *handle, int device),
                pool_get(&self, handle, device, mempool_of))
CUDART_FUNCTION(cudaDeviceGetMemPool, (cudaMemPool_t *handle, int device),
                pool_get(&self, handle, device, pool_current))

POOL_FUNCTION(cudaDeviceSetMemPool, (int ordinal, cudaMemPool_t handle),
              pool->device->ordinal == ordinal ? (pool->device->current_pool = pool, SIM_SUCCESS)
                                               : cudaErrorInvalidDevice)

/* The switch of an attribute; NULL: it is none. */
static int *pool_switch(mempool *pool, enum cudaMemPoolAttr attribute)
{
    return attribute == cudaMemPoolReuseFollowEventDependencies   ? &pool->follow
         : attribute == cudaMemPoolReuseAllowOpportunistic        ? &pool->opportunistic
         : attribute == cudaMemPoolReuseAllowInternalDependencies ? &pool->internal
                                                                  : NULL;
}

/* The figure of an attribute; NULL: it is none. */
static uint64_t *pool_figure(mempool *pool, enum cudaMemPoolAttr attribute)
{
    switch (attribute) {
    case cudaMemPoolAttrReleaseThreshold:   return &pool->threshold_bytes;
    case cudaMemPoolAttrReservedMemCurrent: return &pool->reserved_bytes;
    case cudaMemPoolAttrReservedMemHigh:    return &pool->reserved_peak_bytes;
    case cudaMemPoolAttrUsedMemCurrent:     return &pool->used_bytes;
    case cudaMemPoolAttrUsedMemHigh:        return &pool->used_peak_bytes;
    default:                                return NULL;
    }
}

static int pool_set_attribute(mempool *pool, enum cudaMemPoolAttr attribute, const void *value)
{
    int *set = pool_switch(pool, attribute);
    uint64_t *figure = pool_figure(pool, attribute);
    if (!value) return SIM_INVALID_VALUE;
    if (set) {
        *set = *(const int *)value != 0;
    } else if (attribute == cudaMemPoolAttrReleaseThreshold) {
        *figure = *(const uint64_t *)value;
    } else if ((attribute == cudaMemPoolAttrReservedMemHigh || attribute == cudaMemPoolAttrUsedMemHigh)
               && *(const uint64_t *)value == 0) {           /* from now on */
        *figure = attribute == cudaMemPoolAttrUsedMemHigh ? pool->used_bytes : pool->reserved_bytes;
    } else {
        return SIM_INVALID_VALUE;
    }
    return SIM_SUCCESS;
}

static int pool_get_attribute(mempool *pool, enum cudaMemPoolAttr attribute, void *value)
{
    const int *set = pool_switch(pool, attribute);
    const uint64_t *figure = pool_figure(pool, attribute);
    if (!value || (!set && !figure)) return SIM_INVALID_VALUE;
    if (set) *(int *)value = *set;
    else *(uint64_t *)value = *figure;
    return SIM_SUCCESS;
}

POOL_FUNCTION(cudaMemPoolSetAttribute, (cudaMemPool_t handle, enum cudaMemPoolAttr attribute, void *value),
              pool_set_attribute(pool, attribute, value))
POOL_FUNCTION(cudaMemPoolGetAttribute, (cudaMemPool_t handle, enum cudaMemPoolAttr attribute, void *value),
              pool_get_attribute(pool, attribute, value))

/* Every device of the machine may use every pool: a grant changes nothing, and no access can be taken away. */
static int pool_set_access(const call *self, const struct cudaMemAccessDesc *list, size_t count)
{
    int code = list || count == 0 ? SIM_SUCCESS : SIM_INVALID_VALUE;
    for (size_t i = 0; code == SIM_SUCCESS && i < count; i++) {
        code = !engine_device(self->machine, list[i].location.id)            ? cudaErrorInvalidDevice
             : list[i].flags == cudaMemAccessFlagsProtReadWrite ? SIM_SUCCESS
                                                                : SIM_NOT_SUPPORTED;
    }
    return code;
}

POOL_FUNCTION(cudaMemPoolSetAccess, (cudaMemPool_t handle, const struct cudaMemAccessDesc *list, size_t count),
              pool_set_access(&self, list, count))
POOL_FUNCTION(cudaMemPoolTrimTo, (cudaMemPool_t handle, size_t keep_bytes),
              (mempool_trim(pool, keep_bytes), SIM_SUCCESS))

/* ---- Memory of other processes: sim/memory.h */

CUDART_SERVED_BY(cudaIpcGetMemHandle, (cudaIpcMemHandle_t *handle, void *ptr), (handle, ptr),
                 call_begin_at(&self, SIM_CALL_IPC_GET, ptr))
{
    return share_get(self->device, SHARE_OTHERS, (uint64_t)(uintptr_t)ptr,
                     handle ? (unsigned char *)handle->reserved : NULL);
}

CUDART_FUNCTION(cudaIpcOpenMemHandle, (void **ptr, cudaIpcMemHandle_t handle, unsigned int flags),
                flags > cudaIpcMemLazyEnablePeerAccess
                    ? SIM_INVALID_VALUE
                    : share_open_memory(self.device, SHARE_OTHERS, (const unsigned char *)handle.reserved, ptr))
CUDART_FUNCTION(cudaIpcCloseMemHandle, (void *ptr), share_close(self.device, (uint64_t)(uintptr_t)ptr))
