/* What the driver's functions say of an address: whose memory it is, and how much of it hangs together.
   Must not know how functions are looked up, nor of the host's memory: of that they know nothing here. */
#include "driver.h"


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

const driver_row driver_pointer_rows[] = {
    DRIVER_ROW(cuMemGetAddressRange, 3020),
    DRIVER_ROW(cuPointerGetAttribute, 4000),
    { NULL, 0, NULL },
};
