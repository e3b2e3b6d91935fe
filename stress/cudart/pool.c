/* cudaMallocAsync, cudaFreeAsync and memory pools; and managed memory, which is ordinary memory of the host here.
   Must not know how a pool lays its memory out, or when it may give a block again: ../mempool.c does. */
#include "../sim/memory.h"

#include "call.h"

/* The pool that the handle is of, and its device; NULL and cudaErrorInvalidValue: it is none. */
static mempool *pool_find_handle(call *self, cudaMemPool_t handle, sim_device **device)
{
    for (int i = 0; i < self->machine->device_count; i++) {
        *device = &self->machine->devices[i];
        for (mempool *pool = (*device)->pools; pool; pool = pool->next) {
            if ((cudaMemPool_t)(void *)pool == handle && !pool->is_closed) return pool;
        }
    }
    self->code = SIM_INVALID_VALUE;
    return NULL;
}

/* A call about the pool of a handle: what it answers where there is one; expressions in `self`, `pool` and its
   `device`. */
#define POOL_FUNCTION(name, parameters, kind, bytes, handle, answer) \
    CUDART_EXPORT cudaError_t name parameters \
    { \
        call self; \
        sim_device *device; \
        mempool *pool = call_begin(&self, kind, bytes) ? pool_find_handle(&self, handle, &device) : NULL; \
        if (pool) self.code = (answer); \
        return call_end(&self); \
    }

/* The one that cudaMallocAsync takes from: NULL and a code. */
static mempool *pool_current(call *self, sim_device *device)
{
    mempool *own = mempool_of(device);
    for (mempool *pool = own; pool; pool = pool->next) {
        if (pool == device->current_pool && !pool->is_closed) return pool;
    }
    self->code = own ? SIM_SUCCESS : SIM_OUT_OF_MEMORY;
    return own;
}

CUDART_EXPORT cudaError_t cudaMallocAsync(void **ptr, size_t bytes, cudaStream_t stream)
{
    call self;
    if (call_begin(&self, SIM_CALL_MALLOC_ASYNC, bytes)) {
        mempool *pool = ptr ? pool_current(&self, self.device) : NULL;
        self.code = !ptr ? SIM_INVALID_VALUE
                  : pool ? mempool_hand_out(self.device, pool, stream, ptr, bytes, "cudaMallocAsync", &self.cost_ns)
                         : self.code;
    }
    return call_end(&self);
}

POOL_FUNCTION(cudaMallocFromPoolAsync, (void **ptr, size_t bytes, cudaMemPool_t handle, cudaStream_t stream),
              SIM_CALL_MALLOC_FROM_POOL_ASYNC, bytes, handle,
              !ptr ? SIM_INVALID_VALUE
              : mempool_hand_out(device, pool, stream, ptr, bytes, "cudaMallocFromPoolAsync", &self.cost_ns))

CUDART_STREAM_FUNCTION(cudaFreeAsync, (void *ptr, cudaStream_t stream),
                       call_begin_at(&self, SIM_CALL_FREE_ASYNC, ptr),
                       mempool_take_back(self.device, stream, (uint64_t)(uintptr_t)ptr, MEMORY_ANY_BYTES,
                                         "cudaFreeAsync", &self.cost_ns))

/* Pinned memory of one of the devices, shared with nobody. */
static int pool_make(call *self, cudaMemPool_t *handle, const struct cudaMemPoolProps *props)
{
    sim_device *device = props ? call_find_device(self, props->location.id) : NULL;
    if (!handle || !device || props->allocType != cudaMemAllocationTypePinned
        || props->location.type != cudaMemLocationTypeDevice) {
        return SIM_INVALID_VALUE;
    }
    if (props->handleTypes != cudaMemHandleTypeNone) return SIM_NOT_SUPPORTED;
    mempool *made = mempool_of(device) ? mempool_create(device) : NULL;
    if (!made) return SIM_OUT_OF_MEMORY;
#if CUDART_VERSION >= 12090
    made->most_bytes = props->maxSize;
#endif
    *handle = (cudaMemPool_t)(void *)made;
    return SIM_SUCCESS;
}

CUDART_FUNCTION(cudaMemPoolCreate, (cudaMemPool_t *handle, const struct cudaMemPoolProps *props),
                call_begin(&self, SIM_CALL_POOL_CREATE, 0), pool_make(&self, handle, props))

/* Not a device's own. What it has handed out stays. */
static int pool_destroy(sim_device *device, mempool *pool)
{
    if (pool == device->pools) return SIM_INVALID_VALUE;
    mempool_close(device, pool);
    return SIM_SUCCESS;
}

POOL_FUNCTION(cudaMemPoolDestroy, (cudaMemPool_t handle), SIM_CALL_POOL_DESTROY, 0, handle,
              pool_destroy(device, pool))

static cudaError_t pool_get(sim_call kind, cudaMemPool_t *handle, int ordinal)
{
    call self;
    if (call_begin(&self, kind, 0)) {
        sim_device *device = call_find_device(&self, ordinal);
        if (!handle || !device) {
            self.code = device ? SIM_INVALID_VALUE : cudaErrorInvalidDevice;
        } else {
            mempool *pool = kind == SIM_CALL_POOL_GET ? pool_current(&self, device) : mempool_of(device);
            self.code = pool ? SIM_SUCCESS : SIM_OUT_OF_MEMORY;
            if (pool) *handle = (cudaMemPool_t)(void *)pool;
        }
    }
    return call_end(&self);
}

CUDART_EXPORT cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t *handle, int device)
{
    return pool_get(SIM_CALL_POOL_GET_DEFAULT, handle, device);
}

CUDART_EXPORT cudaError_t cudaDeviceGetMemPool(cudaMemPool_t *handle, int device)
{
    return pool_get(SIM_CALL_POOL_GET, handle, device);
}

static int pool_choose(sim_device *device, int ordinal, mempool *pool)
{
    if (device->ordinal != ordinal) return cudaErrorInvalidDevice;
    device->current_pool = pool;
    return SIM_SUCCESS;
}

POOL_FUNCTION(cudaDeviceSetMemPool, (int ordinal, cudaMemPool_t handle), SIM_CALL_POOL_SET, 0, handle,
              pool_choose(device, ordinal, pool))

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

POOL_FUNCTION(cudaMemPoolSetAttribute, (cudaMemPool_t handle, enum cudaMemPoolAttr attribute, void *value),
              SIM_CALL_POOL_SET_ATTRIBUTE, 0, handle,
              value ? pool_set_attribute(pool, attribute, value) : SIM_INVALID_VALUE)

static int pool_get_attribute(mempool *pool, enum cudaMemPoolAttr attribute, void *value)
{
    const int *set = pool_switch(pool, attribute);
    const uint64_t *figure = pool_figure(pool, attribute);
    if (!value || (!set && !figure)) return SIM_INVALID_VALUE;
    if (set) *(int *)value = *set;
    else *(uint64_t *)value = *figure;
    return SIM_SUCCESS;
}

POOL_FUNCTION(cudaMemPoolGetAttribute, (cudaMemPool_t handle, enum cudaMemPoolAttr attribute, void *value),
              SIM_CALL_POOL_GET_ATTRIBUTE, 0, handle, pool_get_attribute(pool, attribute, value))

/* Every device of the machine reaches every pool: what there is to give is there, and nothing is taken. */
static int pool_set_access(const call *self, const struct cudaMemAccessDesc *list, size_t count)
{
    int code = list || count == 0 ? SIM_SUCCESS : SIM_INVALID_VALUE;
    for (size_t i = 0; code == SIM_SUCCESS && i < count; i++) {
        code = !call_find_device(self, list[i].location.id)       ? cudaErrorInvalidDevice
             : list[i].flags == cudaMemAccessFlagsProtReadWrite ? SIM_SUCCESS
                                                                : SIM_NOT_SUPPORTED;
    }
    return code;
}

POOL_FUNCTION(cudaMemPoolSetAccess, (cudaMemPool_t handle, const struct cudaMemAccessDesc *list, size_t count),
              SIM_CALL_POOL_SET_ACCESS, 0, handle, pool_set_access(&self, list, count))

POOL_FUNCTION(cudaMemPoolTrimTo, (cudaMemPool_t handle, size_t keep_bytes), SIM_CALL_POOL_TRIM, 0, handle,
              (mempool_trim(device, pool, keep_bytes), SIM_SUCCESS))

static int pool_malloc_managed(call *self, void **ptr, size_t bytes, unsigned flags)
{
    int code = work_check_unsafe(self->device, "cudaMallocManaged");
    if (code != SIM_SUCCESS) return code;
    if (!ptr || !bytes || (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost)) return SIM_INVALID_VALUE;
    void *made = host_obtain(self->device, bytes, 1);
    if (made) *ptr = made;
    return made ? SIM_SUCCESS : SIM_OUT_OF_MEMORY;
}

CUDART_FUNCTION(cudaMallocManaged, (void **ptr, size_t bytes, unsigned int flags),
                call_begin(&self, SIM_CALL_MALLOC_MANAGED, bytes), pool_malloc_managed(&self, ptr, bytes, flags))

CUDART_PER_THREAD(cudaMallocAsync, (void **ptr, size_t bytes, cudaStream_t stream),
                  (ptr, bytes, stream_of_thread(stream)))
CUDART_PER_THREAD(cudaMallocFromPoolAsync,
                  (void **ptr, size_t bytes, cudaMemPool_t handle, cudaStream_t stream),
                  (ptr, bytes, handle, stream_of_thread(stream)))
