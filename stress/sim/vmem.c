/* Calls of virtual memory: which are refused and why, their effects, their costs. */
#include "memory.h"

typedef struct vmem_range { address_range *reservation; uint64_t offset, end; } vmem_range;

static int vmem_is_whole(uint64_t bytes)
{
    return bytes > 0 && bytes % SIM_GRANULE == 0;
}

static int vmem_refuse(const sim_device *device, const char *action, uint64_t address, uint64_t bytes,
                       const char *why)
{
    ENGINE_REPORT(device, "%s of %" PRIu64 " bytes at %s: %s", action, bytes, engine_name(device, address).text, why);
    return SIM_INVALID_VALUE;
}

/* Whole granules within one reservation of this device; else a code and a finding. */
static int vmem_find(const sim_device *device, const char *action, uint64_t address, uint64_t bytes,
                     vmem_range *found)
{
    uint64_t offset;
    int is_own = engine_offset(device, address, &offset);
    memset(found, 0, sizeof *found);
    if (!vmem_is_whole(bytes) || offset % SIM_GRANULE != 0) {
        return vmem_refuse(device, action, address, bytes, "not whole pages of 2 MiB");
    }
    address_range *reservation = is_own ? devmem_reservation(&device->memory, offset) : NULL;
    if (!reservation || bytes > reservation->bytes - (offset - reservation->offset)) {
        return vmem_refuse(device, action, address, bytes, "not within one reservation of this device");
    }
    found->reservation = reservation;
    found->offset = offset;
    found->end = offset + bytes;
    return SIM_SUCCESS;
}

/* Any number of whole mappings without a hole; else a code and a finding. */
static int vmem_find_mapped(const sim_device *device, const char *action, uint64_t address, uint64_t bytes,
                            vmem_range *found)
{
    int code = vmem_find(device, action, address, bytes, found);
    for (uint64_t at = found->offset; code == SIM_SUCCESS && at < found->end;) {
        const devmem_mapping *mapped = devmem_mapped(&device->memory, at);
        if (!mapped) {
            return vmem_refuse(device, action, address, bytes, "there is a hole, where nothing is mapped");
        }
        if (mapped->offset != at || mapped->page->bytes > found->end - at) {
            return vmem_refuse(device, action, address, bytes, "part of a mapping");
        }
        at += mapped->page->bytes;
    }
    return code;
}

int vmem_reserve(engine_call *self, uint64_t bytes, uint64_t alignment, void **address)
{
    sim_device *device = self->device;
    if (!vmem_is_whole(bytes) || (alignment & (alignment - 1)) != 0) return SIM_INVALID_VALUE;
    uint64_t offset = devmem_reserve(&device->memory, bytes, alignment, engine_address(device, 0));
    if (!offset) return SIM_OUT_OF_MEMORY;
    *address = (void *)(uintptr_t)engine_address(device, offset);
    self->cost_ns = engine_cost_ns(device, SIM_COST_VM_RESERVE, bytes);
    return SIM_SUCCESS;
}

int vmem_release(engine_call *self, uint64_t address, uint64_t bytes)
{
    sim_device *device = self->device;
    vmem_range range;
    int code = vmem_find(device, "release", address, bytes, &range);
    if (code != SIM_SUCCESS) return code;
    if (bytes != range.reservation->bytes) {
        return vmem_refuse(device, "release", address, bytes, "not a whole reservation");
    }
    if (range.reservation->mapping_count > 0) {
        return vmem_refuse(device, "release", address, bytes, "something is mapped there");
    }
    addresses_remove(&device->memory.reserved, range.reservation);
    self->cost_ns = engine_cost_ns(device, SIM_COST_VM_RELEASE, bytes);
    return SIM_SUCCESS;
}

static devmem_page *vmem_page(const sim *machine, uint64_t handle)
{
    return handles_find(&machine->handles, (const void *)(uintptr_t)handle, HANDLE_PAGE);
}

/* One more handle of a page. */
static uint64_t vmem_refer(sim *machine, devmem_page *page)
{
    page->reference_count++;
    return (uint64_t)(uintptr_t)handles_create(&machine->handles, HANDLE_PAGE, page);
}

int vmem_import_file(sim_device *device, uint64_t bytes, int file, uint64_t place, uint64_t *handle)
{
    if (!vmem_is_whole(bytes)) return SIM_INVALID_VALUE;
    devmem_page *page = devmem_take_page(&device->memory, bytes);
    if (!page) return SIM_OUT_OF_MEMORY;
    if (file && devmem_share(page, file, place, 0)) {
        devmem_give_page(&device->memory, page);
        ENGINE_REPORT(device, "no host memory left to simulate import");
        return SIM_UNKNOWN;
    }
    *handle = vmem_refer(device->sim, page);
    return SIM_SUCCESS;
}

int vmem_create(engine_call *self, uint64_t bytes, int is_shared, int is_rdma, uint64_t *handle)
{
    int code = vmem_import_file(self->device, bytes, 0, 0, handle);
    if (code != SIM_SUCCESS) return code;
    vmem_page(self->machine, *handle)->is_shared = is_shared;
    vmem_page(self->machine, *handle)->is_rdma = is_rdma;
    self->cost_ns = engine_cost_ns(self->device, SIM_COST_VM_CREATE, bytes);
    return SIM_SUCCESS;
}

/* The additional cost of a call that lets memory go. */
static uint64_t vmem_going_ns(const sim_device *device, uint64_t bytes)
{
    return engine_cost_ns(device, SIM_COST_VM_DESTROY, bytes) - engine_cost_ns(device, SIM_COST_VM_DESTROY, 0);
}

/* Gives the page's memory back if no handle or mapping of it is left. Answers the bytes given back. */
static uint64_t vmem_let_go(sim_device *device, devmem_page *page, int is_reported, const char *action)
{
    uint64_t bytes = page->bytes;
    if (page->reference_count > 0 || page->mapping_count > 0) return 0;
    access_end_page(device, page, is_reported, action);
    devmem_give_page(&device->memory, page);
    return bytes;
}

int vmem_destroy(engine_call *self, uint64_t handle, uint64_t bytes)
{
    sim_device *device = self->device;
    sim *machine = self->machine;
    devmem_page *page = vmem_page(machine, handle);
    if (!page || page->device != device->ordinal) {
        ENGINE_REPORT(device, "destroy of a handle that this device does not have");
        return SIM_INVALID_VALUE;
    }
    if (bytes != page->bytes && bytes != MEMORY_ANY_BYTES) {
        ENGINE_REPORT(device, "destroy of %" PRIu64 " bytes by a handle of %" PRIu64, bytes, page->bytes);
        return SIM_INVALID_VALUE;
    }
    handles_drop(&machine->handles, (const void *)(uintptr_t)handle);
    page->reference_count--;
    self->cost_ns += vmem_going_ns(device, vmem_let_go(device, page, 0, "destroy"));
    return SIM_SUCCESS;
}

devmem_page *vmem_exported(const sim_device *device, uint64_t handle)
{
    devmem_page *page = vmem_page(device->sim, handle);
    if (page && page->is_shared) return page;
    ENGINE_REPORT(device, "export of %s",
                  page ? "memory that was not created to be exported" : "a handle that there is not");
    return NULL;
}

int vmem_import(sim_device *device, uint64_t exported, uint64_t *handle)
{
    devmem_page *page = vmem_page(device->sim, exported);
    if (!page) {
        ENGINE_REPORT(device, "import of memory whose handle was given up");
        return SIM_INVALID_VALUE;
    }
    *handle = vmem_refer(device->sim, page);
    return SIM_SUCCESS;
}

int vmem_map(engine_call *self, uint64_t address, uint64_t bytes, uint64_t handle)
{
    vmem_range range;
    sim_device *device = self->device;
    sim *machine = self->machine;
    devmem *memory = &device->memory;
    devmem_page *page = vmem_page(machine, handle);
    int code = vmem_find(device, "map", address, bytes, &range);
    if (code != SIM_SUCCESS) return code;
    if (!page || page->device != device->ordinal || page->bytes != bytes) {
        return vmem_refuse(device, "map", address, bytes, "not all of a handle that this device has");
    }
    for (uint64_t at = range.offset; at < range.end; at += SIM_GRANULE) {
        if (devmem_mapped(memory, at)) {
            return vmem_refuse(device, "map", address, bytes, "something is mapped there already");
        }
    }
    devmem_map(memory, range.reservation, range.offset, page, ++machine->mapping_serial);
    engine_tell(device, SIM_CALL_VM_MAP, address, bytes);
    self->cost_ns = engine_cost_ns(device, SIM_COST_VM_MAP, bytes);
    return SIM_SUCCESS;
}

int vmem_access(engine_call *self, uint64_t address, uint64_t bytes, uint64_t accessors, uint32_t mode)
{
    vmem_range range;
    sim_device *device = self->device;
    devmem *memory = &device->memory;
    int code = vmem_find_mapped(device, "access", address, bytes, &range);
    if (code != SIM_SUCCESS) return code;
    if (mode > 1 || accessors == 0 || accessors >> device->sim->device_count != 0) {
        return vmem_refuse(device, "access", address, bytes, "a mode or a device that there is not");
    }
    if (mode == 1 && devmem_mapping_count(memory) > device->sim->most_mappings) {
        return SIM_OUT_OF_MEMORY;
    }
    if (mode == 0) access_end(device, ACCESS_ADDRESSES, range.offset, bytes, "end of access");
    devmem_mapping *mapped;
    for (uint64_t at = range.offset; at < range.end; at += mapped->page->bytes) {
        mapped = devmem_mapped(memory, at);
        mapped->accessors = mode ? mapped->accessors | accessors : mapped->accessors & ~accessors;
    }
    self->cost_ns = engine_cost_ns(device, SIM_COST_VM_ACCESS, bytes) * (uint64_t)__builtin_popcountll(accessors);
    return SIM_SUCCESS;
}

int vmem_unmap(engine_call *self, uint64_t address, uint64_t bytes)
{
    vmem_range range;
    sim_device *device = self->device;
    uint64_t gone_bytes = 0;
    int code = vmem_find_mapped(device, "unmap", address, bytes, &range);
    if (code != SIM_SUCCESS) return code;
    access_end(device, ACCESS_ADDRESSES, range.offset, bytes, "unmap");
    for (uint64_t at = range.offset; at < range.end;) {
        devmem_mapping *mapped = devmem_mapped(&device->memory, at);
        devmem_page *page = mapped->page;
        at += page->bytes;
        devmem_unmap(&device->memory, mapped);
        gone_bytes += vmem_let_go(device, page, 1, "unmap");
    }
    engine_tell(device, SIM_CALL_VM_UNMAP, address, bytes);
    self->cost_ns = engine_cost_ns(device, SIM_COST_VM_UNMAP, bytes) + vmem_going_ns(device, gone_bytes);
    return SIM_SUCCESS;
}

sim_device *vmem_device_of(const sim *machine, uint64_t handle)
{
    const devmem_page *page = vmem_page(machine, handle);
    return page ? &machine->devices[page->device] : NULL;
}

int vmem_has_access(const sim_device *device, uint64_t address, int accessor)
{
    uint64_t offset;
    int is_own = engine_offset(device, address, &offset);
    const devmem_mapping *mapped = is_own ? devmem_mapped(&device->memory, offset) : NULL;
    return mapped && (mapped->accessors >> accessor & 1);
}
