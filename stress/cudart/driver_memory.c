/* Driver functions of memory that no stream orders: each is the runtime's call of the same meaning.
   Must not know how memory is kept. */
#include "driver.h"

#include <string.h>

static CUdeviceptr memory_number(const void *ptr)
{
    return (CUdeviceptr)(uintptr_t)ptr;
}

DRIVER_EXPORT cuMemAlloc(CUdeviceptr *address, size_t bytes)
{
    void *made = NULL;
    CUresult code = address && bytes > 0 ? DRIVER_DOES(cudaMalloc(&made, bytes)) : CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS) *address = memory_number(made);
    return code;
}

DRIVER_EXPORT cuMemAllocManaged(CUdeviceptr *address, size_t bytes, unsigned int flags)
{
    void *made = NULL;
    CUresult code = address ? DRIVER_DOES(cudaMallocManaged(&made, bytes, flags)) : CUDA_ERROR_INVALID_VALUE;
    if (code == CUDA_SUCCESS) *address = memory_number(made);
    return code;
}

/* ---- pools */

DRIVER_EXPORT cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props)
{
    struct cudaMemPoolProps asked;
    memset(&asked, 0, sizeof asked);
    if (!props) return CUDA_ERROR_INVALID_VALUE;
    asked.allocType = (enum cudaMemAllocationType)props->allocType;
    asked.handleTypes = (enum cudaMemAllocationHandleType)props->handleTypes;
    asked.location.type = (enum cudaMemLocationType)props->location.type;
    asked.location.id = props->location.id;
#if CUDA_VERSION >= 12090
    asked.maxSize = props->maxSize;
#endif
    return DRIVER_DOES(cudaMemPoolCreate(pool, &asked));
}

/* The attributes' numbers are the runtime's. */
DRIVER_EXPORT cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value)
{
    return DRIVER_DOES(cudaMemPoolSetAttribute(pool, (enum cudaMemPoolAttr)attribute, value));
}

DRIVER_EXPORT cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *list, size_t count)
{
    CUresult code = list || count == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; code == CUDA_SUCCESS && i < count; i++) {
        struct cudaMemAccessDesc one;
        memset(&one, 0, sizeof one);
        one.location.type = (enum cudaMemLocationType)list[i].location.type;
        one.location.id = list[i].location.id;
        one.flags = (enum cudaMemAccessFlags)list[i].flags;
        code = DRIVER_DOES(cudaMemPoolSetAccess(pool, &one, 1));
    }
    return code;
}

/* ---- what an address is: whose memory, and how much of it hangs together; nothing is known of the host's */

typedef struct pointer_place { const sim_device *device; uint64_t base, bytes; } pointer_place;

/* The cudaMalloc or the one mapping that an address lies in. 0: neither. */
static int pointer_find(const call *self, uint64_t address, pointer_place *found)
{
    uint64_t offset;
    devmem_place place;
    const vspace_mapping *mapped;
    const sim_device *owner = engine_owner(self->machine, address);
    if (!owner || !engine_offset(owner, address, &offset)) return 0;
    found->device = owner;
    if ((mapped = vspace_at(&owner->memory.virtual, offset)) != NULL) {
        found->base = engine_address(owner, mapped->offset);
        found->bytes = mapped->page->bytes;
        return 1;
    }
    if (!devmem_find(&owner->memory, offset, &place)) return 0;
    found->base = engine_address(owner, place.offset);
    found->bytes = place.bytes;
    return 1;
}

DRIVER_EXPORT cuMemGetAddressRange(CUdeviceptr *base, size_t *bytes, CUdeviceptr address)
{
    call self;
    pointer_place found;
    if (call_begin(&self, SIM_CALL_POINTER_GET_ATTRIBUTES, 0)) {
        self.code = pointer_find(&self, address, &found) ? SIM_SUCCESS : CUDA_ERROR_NOT_FOUND;
        if (self.code == SIM_SUCCESS && base) *base = found.base;
        if (self.code == SIM_SUCCESS && bytes) *bytes = found.bytes;
    }
    return (CUresult)call_end_driver(&self);
}

static int pointer_describe(const pointer_place *place, CUpointer_attribute attribute, CUdeviceptr address,
                            void *value)
{
    switch ((int)attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *)value = CU_MEMORYTYPE_DEVICE;
        return SIM_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *(CUdeviceptr *)value = address;
        return SIM_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *(int *)value = place->device->ordinal;
        return SIM_SUCCESS;
    default:
        return SIM_NOT_SUPPORTED;
    }
}

DRIVER_EXPORT cuPointerGetAttribute(void *value, CUpointer_attribute attribute, CUdeviceptr address)
{
    call self;
    pointer_place found;
    if (call_begin(&self, SIM_CALL_POINTER_GET_ATTRIBUTES, 0)) {
        self.code = SIM_INVALID_VALUE;
        if (value && pointer_find(&self, address, &found)) {
            self.code = pointer_describe(&found, attribute, address, value);
        }
    }
    return (CUresult)call_end_driver(&self);
}

/* Those that are one call of the runtime. */
#define DRIVER_MEMORY_CALLS(X) \
    X(cuMemFree, 3020, (CUdeviceptr address), cudaFree((void *)(uintptr_t)address)) \
    X(cuMemAllocHost, 3020, (void **ptr, size_t bytes), cudaMallocHost(ptr, bytes)) \
    X(cuMemHostAlloc, 2020, (void **ptr, size_t bytes, unsigned int flags), cudaHostAlloc(ptr, bytes, flags)) \
    X(cuMemFreeHost, 2000, (void *ptr), cudaFreeHost(ptr)) \
    X(cuMemPoolDestroy, 11020, (CUmemoryPool pool), cudaMemPoolDestroy(pool)) \
    X(cuMemPoolGetAttribute, 11020, (CUmemoryPool pool, CUmemPool_attribute attribute, void *value), \
      cudaMemPoolGetAttribute(pool, (enum cudaMemPoolAttr)attribute, value)) \
    X(cuMemPoolTrimTo, 11020, (CUmemoryPool pool, size_t keep_bytes), cudaMemPoolTrimTo(pool, keep_bytes)) \
    X(cuDeviceGetDefaultMemPool, 11020, (CUmemoryPool *pool, CUdevice device), \
      cudaDeviceGetDefaultMemPool(pool, device)) \
    X(cuDeviceGetMemPool, 11020, (CUmemoryPool *pool, CUdevice device), cudaDeviceGetMemPool(pool, device)) \
    X(cuDeviceSetMemPool, 11020, (CUdevice device, CUmemoryPool pool), cudaDeviceSetMemPool(device, pool))
DRIVER_MEMORY_CALLS(DRIVER_FUNCTION)

const driver_row driver_memory_rows[] = {
    DRIVER_MEMORY_CALLS(DRIVER_FUNCTION_ROW)
    DRIVER_ROW(cuMemAlloc, 3020),
    DRIVER_ROW(cuMemAllocManaged, 6000),
    DRIVER_ROW(cuMemPoolCreate, 11020),
    DRIVER_ROW(cuMemPoolSetAttribute, 11020),
    DRIVER_ROW(cuMemPoolSetAccess, 11020),
    DRIVER_ROW(cuMemGetAddressRange, 3020),
    DRIVER_ROW(cuPointerGetAttribute, 4000),
    { NULL, 0, NULL },
};
