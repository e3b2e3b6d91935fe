/* Virtual memory as the driver's functions have it: every argument looked at, and the device found that it is about.
   Must not know how functions are looked up, nor how memory is kept: vmem.h does. */
#include "driver.h"

#include "../sim/vmem.h"

enum { VM_HOST_PAGE_BYTES = 4096 };

/* 1: the call goes on to `device`, NULL being the current one, which needs no context for it. */
static int vm_begin(call *self, sim_device *device, uint64_t bytes, const char *name)
{
    if (!call_serve(self, device ? device : self->device, bytes)) return 0;
    self->code = self->machine->without_vm ? SIM_NOT_SUPPORTED : work_check_unsafe(self->device, name);
    return self->code == SIM_SUCCESS;
}

/* A call about a device's memory, and what it answers where it goes on; expressions in `self`. */
#define VM_FUNCTION(name, parameters, kind, device, bytes, answer) \
    DRIVER_EXPORT name parameters \
    { \
        CALL_DRIVER_DOES(call_open(&self, kind) && vm_begin(&self, device, bytes, #name), answer); \
    }

static sim_device *vm_owner(const call *self, CUdeviceptr address)
{
    return engine_owner(self->machine, address);
}

/* The device of a location, or NULL and the code. */
static sim_device *vm_located(const call *self, const CUmemLocation *location, int *code)
{
    sim_device *found = call_find_device(self, location->id);
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

DRIVER_EXPORT cuMemGetAllocationGranularity(size_t *granularity, const CUmemAllocationProp *prop,
                                            CUmemAllocationGranularity_flags option)
{
    call self;
    if (call_begin_bare(&self, SIM_CALL_VM_GRANULARITY)) {
        const sim_device *device = vm_described(&self, prop, &self.code);
        if (device && (!granularity || (unsigned)option > CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)) {
            self.code = SIM_INVALID_VALUE;
        } else if (device) {
            self.code = self.machine->without_vm ? SIM_NOT_SUPPORTED : SIM_SUCCESS;
        }
        if (self.code == SIM_SUCCESS) *granularity = SIM_GRANULE;
    }
    return (CUresult)call_end_driver(&self);
}

/* Of the current device's addresses. The hint is not taken. */
DRIVER_EXPORT cuMemAddressReserve(CUdeviceptr *address, size_t bytes, size_t alignment, CUdeviceptr hint,
                                  unsigned long long flags)
{
    call self;
    uint64_t start;
    if (call_open(&self, SIM_CALL_VM_RESERVE) && vm_begin(&self, NULL, bytes, "cuMemAddressReserve")) {
        int fits = address && flags == 0 && hint % VM_HOST_PAGE_BYTES == 0;
        self.code = fits ? vmem_reserve(self.device, bytes, alignment, &start, &self.cost_ns) : SIM_INVALID_VALUE;
        if (self.code == SIM_SUCCESS) *address = start;
    }
    return (CUresult)call_end_driver(&self);
}

VM_FUNCTION(cuMemAddressFree, (CUdeviceptr address, size_t bytes), SIM_CALL_VM_RELEASE, vm_owner(&self, address), 0,
            vmem_release(self.device, address, bytes, &self.cost_ns))

DRIVER_EXPORT cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes, const CUmemAllocationProp *prop,
                          unsigned long long flags)
{
    call self;
    if (call_open(&self, SIM_CALL_VM_CREATE)) {
        int code;
        uint64_t made;
        sim_device *device = vm_described(&self, prop, &code);
        if (vm_begin(&self, device, bytes, "cuMemCreate")) {
            code = handle && flags == 0 ? code : SIM_INVALID_VALUE;
            int is_shared = prop && prop->requestedHandleTypes != 0;
            self.code = code == SIM_SUCCESS ? vmem_create(device, bytes, is_shared, &made, &self.cost_ns) : code;
            if (self.code == SIM_SUCCESS) *handle = made;
        }
    }
    return (CUresult)call_end_driver(&self);
}

VM_FUNCTION(cuMemRelease, (CUmemGenericAllocationHandle handle), SIM_CALL_VM_DESTROY,
            vmem_device_of(self.machine, handle), 0, vmem_destroy(self.device, handle, VMEM_ANY_BYTES, &self.cost_ns))
VM_FUNCTION(cuMemMap, (CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                       unsigned long long flags),
            SIM_CALL_VM_MAP, vmem_device_of(self.machine, handle), bytes,
            offset || flags ? SIM_INVALID_VALUE : vmem_map(self.device, address, bytes, handle, &self.cost_ns))
VM_FUNCTION(cuMemUnmap, (CUdeviceptr address, size_t bytes), SIM_CALL_VM_UNMAP, vm_owner(&self, address), 0,
            vmem_unmap(self.device, address, bytes, &self.cost_ns))

/* Who is to have access and who is not, a bit a device; of a device named twice, the last word. */
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

static int vm_set_access(call *self, uint64_t address, uint64_t bytes, const CUmemAccessDesc *list, size_t count)
{
    uint64_t give_ns = 0, take_ns = 0;
    vm_grants grants;
    int code = vm_read_grants(self, list, count, &grants);
    if (code != SIM_SUCCESS) return code;
    if (grants.give) code = vmem_access(self->device, address, bytes, grants.give, 1, &give_ns);
    if (code == SIM_SUCCESS && grants.take) {
        code = vmem_access(self->device, address, bytes, grants.take, 0, &take_ns);
    }
    self->cost_ns = give_ns + take_ns;
    return code;
}

VM_FUNCTION(cuMemSetAccess, (CUdeviceptr address, size_t bytes, const CUmemAccessDesc *list, size_t count),
            SIM_CALL_VM_ACCESS, vm_owner(&self, address), bytes, vm_set_access(&self, address, bytes, list, count))

static int vm_find_flags(const call *self, const CUmemLocation *location, uint64_t address, unsigned long long *flags)
{
    uint64_t offset;
    int code = location && flags ? SIM_SUCCESS : SIM_INVALID_VALUE;
    const sim_device *accessor = code == SIM_SUCCESS ? vm_located(self, location, &code) : NULL;
    const sim_device *owner = engine_owner(self->machine, address);
    if (!accessor) return code;
    if (!owner || !engine_offset(owner, address, &offset) || !vspace_at(&owner->memory.virtual, offset)) {
        return SIM_INVALID_VALUE;
    }
    *flags = vmem_has_access(owner, address, accessor->ordinal) ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                                                                : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return SIM_SUCCESS;
}

DRIVER_EXPORT cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location, CUdeviceptr address)
{
    CALL_DRIVER_DOES(call_begin_bare(&self, SIM_CALL_VM_GET_ACCESS),
                     vm_find_flags(&self, location, address, flags));
}

const driver_row driver_vm_rows[] = {
    DRIVER_ROW(cuMemGetAllocationGranularity, 10020),
    DRIVER_ROW(cuMemAddressReserve, 10020),
    DRIVER_ROW(cuMemAddressFree, 10020),
    DRIVER_ROW(cuMemCreate, 10020),
    DRIVER_ROW(cuMemRelease, 10020),
    DRIVER_ROW(cuMemMap, 10020),
    DRIVER_ROW(cuMemUnmap, 10020),
    DRIVER_ROW(cuMemSetAccess, 10020),
    DRIVER_ROW(cuMemGetAccess, 10020),
    { NULL, 0, NULL },
};
