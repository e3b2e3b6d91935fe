/* Virtual memory as the driver's functions have it: every argument looked at, and the device found that it is about.
   Must not know how functions are looked up, nor how memory is kept: memory.h does. */
#include "driver.h"

#include "../sim/memory.h"

enum { VM_HOST_PAGE_BYTES = 4096 };

/* Begins a call about the memory of `device`, NULL being the current one; and a function that is one. */
#define VM_BEGIN(name, device, bytes) (call_open(&self, SIM_CALL_OF_##name) && call_serve(&self, device, bytes))
#define VM_FUNCTION(name, parameters, device, bytes, answer) \
    DRIVER_CALL(name, 10020, parameters, VM_BEGIN(name, device, bytes), answer)

static sim_device *vm_owner(const call *self, CUdeviceptr address)
{
    return engine_owner(self->machine, address, NULL);
}

/* The device of a location, or NULL and the code. */
static sim_device *vm_located(const call *self, const CUmemLocation *location, int *code)
{
    sim_device *found = engine_device(self->machine, location->id);
    if (location->type != CU_MEM_LOCATION_TYPE_DEVICE) {
        *code = (int)location->type > CU_MEM_LOCATION_TYPE_DEVICE ? SIM_NOT_SUPPORTED : SIM_INVALID_VALUE;
        return NULL;
    }
    *code = found ? SIM_SUCCESS : cudaErrorInvalidDevice;
    return found;
}

/* Nothing reserved may be set, and nothing asked for that is not served: other handles than files, compression. */
static int vm_check_prop(const CUmemAllocationProp *prop)
{
    unsigned reserved = 0;
    for (size_t i = 0; i < sizeof prop->allocFlags.reserved; i++) {
        reserved |= prop->allocFlags.reserved[i];
    }
    if (prop->type != CU_MEM_ALLOCATION_TYPE_PINNED || prop->win32HandleMetaData || reserved
        || prop->allocFlags.compressionType > CU_MEM_ALLOCATION_COMP_GENERIC
        || prop->allocFlags.gpuDirectRDMACapable > 1 || prop->allocFlags.usage > CU_MEM_CREATE_USAGE_TILE_POOL) {
        return SIM_INVALID_VALUE;
    }
    if (prop->requestedHandleTypes & ~(unsigned)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
        || prop->allocFlags.compressionType || prop->allocFlags.usage) {
        return SIM_NOT_SUPPORTED;
    }
    return SIM_SUCCESS;
}

/* The device that memory of such properties is on, or NULL and the code. */
static sim_device *vm_described(const call *self, const CUmemAllocationProp *prop, int *code)
{
    *code = prop ? vm_check_prop(prop) : SIM_INVALID_VALUE;
    return *code == SIM_SUCCESS ? vm_located(self, &prop->location, code) : NULL;
}

DRIVER_SERVED(cuMemGetAllocationGranularity, 10020, (size_t *granularity, const CUmemAllocationProp *prop,
                                                     CUmemAllocationGranularity_flags option),
              (granularity, prop, option), call_begin(&self, SIM_CALL_VM_GRANULARITY))
{
    int code;
    if (!vm_described(self, prop, &code)) return code;
    if (!granularity || (unsigned)option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED) return SIM_INVALID_VALUE;
    if (self->machine->without_vm) return SIM_NOT_SUPPORTED;
    *granularity = SIM_GRANULE;
    return SIM_SUCCESS;
}

/* Takes addresses of the current device. The hint is not used. */
DRIVER_SERVED(cuMemAddressReserve, 10020, (CUdeviceptr *address, size_t bytes, size_t alignment, CUdeviceptr hint,
                                           unsigned long long flags),
              (address, bytes, alignment, hint, flags), VM_BEGIN(cuMemAddressReserve, NULL, bytes))
{
    void *start;
    int fits = address && flags == 0 && hint % VM_HOST_PAGE_BYTES == 0;
    int code = fits ? vmem_reserve(self, bytes, alignment, &start) : SIM_INVALID_VALUE;
    if (code == SIM_SUCCESS) *address = (CUdeviceptr)(uintptr_t)start;
    return code;
}

DRIVER_SERVED(cuMemCreate, 10020, (CUmemGenericAllocationHandle *handle, size_t bytes,
                                   const CUmemAllocationProp *prop, unsigned long long flags),
              (handle, bytes, prop, flags), VM_BEGIN(cuMemCreate, vm_described(&self, prop, &(int){ 0 }), bytes))
{
    int code;
    uint64_t made;
    if (!handle || flags != 0) return SIM_INVALID_VALUE;
    if (!vm_described(self, prop, &code)) return code;
    code = vmem_create(self, bytes, prop->requestedHandleTypes != 0, prop->allocFlags.gpuDirectRDMACapable, &made);
    if (code == SIM_SUCCESS) *handle = made;
    return code;
}

VM_FUNCTION(cuMemAddressFree, (CUdeviceptr address, size_t bytes), vm_owner(&self, address), 0,
            vmem_release(&self, address, bytes))
VM_FUNCTION(cuMemRelease, (CUmemGenericAllocationHandle handle), vmem_device_of(self.machine, handle), 0,
            vmem_destroy(&self, handle, MEMORY_ANY_BYTES))
VM_FUNCTION(cuMemMap, (CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                       unsigned long long flags),
            vmem_device_of(self.machine, handle), bytes,
            offset || flags ? SIM_INVALID_VALUE : vmem_map(&self, address, bytes, handle))
VM_FUNCTION(cuMemUnmap, (CUdeviceptr address, size_t bytes), vm_owner(&self, address), 0,
            vmem_unmap(&self, address, bytes))

/* Devices that get access, and devices that lose it, a bit each; of a device named twice, the last word counts. */
typedef struct vm_grants { uint64_t give, take; } vm_grants;

static int vm_read_grants(const call *self, const CUmemAccessDesc *list, size_t count, vm_grants *grants)
{
    int code = list && count > 0 ? SIM_SUCCESS : SIM_INVALID_VALUE;
    grants->give = grants->take = 0;
    for (size_t i = 0; code == SIM_SUCCESS && i < count; i++) {
        const sim_device *device = vm_located(self, &list[i].location, &code);
        int flags = (int)list[i].flags;
        uint64_t bit = device ? (uint64_t)1 << device->ordinal : 0;
        int gives = flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
        if (device && !gives && flags != CU_MEM_ACCESS_FLAGS_PROT_NONE) {
            code = flags == CU_MEM_ACCESS_FLAGS_PROT_READ ? SIM_NOT_SUPPORTED : SIM_INVALID_VALUE;
        }
        grants->give = gives ? grants->give | bit : grants->give & ~bit;
        grants->take = gives ? grants->take & ~bit : grants->take | bit;
    }
    return code;
}

DRIVER_SERVED(cuMemSetAccess, 10020, (CUdeviceptr address, size_t bytes, const CUmemAccessDesc *list, size_t count),
              (address, bytes, list, count), VM_BEGIN(cuMemSetAccess, vm_owner(&self, address), bytes))
{
    vm_grants grants;
    int code = vm_read_grants(self, list, count, &grants);
    if (code == SIM_SUCCESS && grants.give) code = vmem_access(self, address, bytes, grants.give, 1);
    uint64_t given_ns = grants.give ? self->cost_ns : 0;
    if (code == SIM_SUCCESS && grants.take) {    /* which nothing refuses once the former was granted */
        code = vmem_access(self, address, bytes, grants.take, 0);
        self->cost_ns += given_ns;
    }
    return code;
}

DRIVER_SERVED(cuMemGetAccess, 10020, (unsigned long long *flags, const CUmemLocation *location, CUdeviceptr address),
              (flags, location, address), call_begin(&self, SIM_CALL_VM_GET_ACCESS))
{
    uint64_t offset;
    int code = location && flags ? SIM_SUCCESS : SIM_INVALID_VALUE;
    const sim_device *accessor = code == SIM_SUCCESS ? vm_located(self, location, &code) : NULL;
    const sim_device *owner = engine_owner(self->machine, address, &offset);
    if (!accessor) return code;
    if (!owner || !devmem_mapped(&owner->memory, offset)) return SIM_INVALID_VALUE;
    *flags = vmem_has_access(owner, address, accessor->ordinal) ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                                                                : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return SIM_SUCCESS;
}

/* ---- Handles as file descriptors. Must not know how memory is found again: sim/ does */

DRIVER_SERVED(cuMemExportToShareableHandle, 10020, (void *exported, CUmemGenericAllocationHandle handle,
                                                    CUmemAllocationHandleType type, unsigned long long flags),
              (exported, handle, type, flags), VM_BEGIN(cuMemExportToShareableHandle, NULL, 0))
{
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return SIM_NOT_SUPPORTED;
    return flags ? SIM_INVALID_VALUE : share_export(self->device, SHARE_OTHERS, handle, exported);
}

DRIVER_SERVED(cuMemImportFromShareableHandle, 10020, (CUmemGenericAllocationHandle *handle, void *exported,
                                                      CUmemAllocationHandleType type),
              (handle, exported, type), VM_BEGIN(cuMemImportFromShareableHandle, NULL, 0))
{
    uint64_t made;
    const int file = (int)(intptr_t)exported;
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) return SIM_NOT_SUPPORTED;
    int code = handle ? share_import(self->device, SHARE_OTHERS, file, &made) : SIM_INVALID_VALUE;
    if (code == SIM_SUCCESS) *handle = made;
    return code;
}
