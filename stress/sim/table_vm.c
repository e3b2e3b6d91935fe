/* The vm group of the driver table: reserve to unmap, as cuMemAddressReserve to cuMemUnmap.
   Must not know of arenas; what the calls do is vmem.c's, faults and clock are the engine's.
   Tested by tests/test_sim_vm*.c. */
#include "table.h"

#include "vmem.h"
#include "work.h"

typedef struct table_vm_call { sim_device *device; sim_call kind; int code; uint64_t cost_ns; } table_vm_call;

/* Memory calls, so that what captures forbids of cudaMalloc is forbidden of these. */
static table_vm_call table_vm_begin(const gpuarena_driver *self, sim_call kind, uint64_t bytes, const char *action)
{
    table_vm_call call = { self->user, kind, 0, 0 };
    call.code = engine_begin_call(call.device, kind, bytes).code;
    call.cost_ns = engine_call_ns(call.device, kind);
    if (call.code == SIM_SUCCESS) {
        call.code = work_check_unsafe(call.device, action);
    }
    return call;
}

static int table_vm_end(const table_vm_call *call)
{
    return engine_end_call(call->device, call->kind, call->code, call->cost_ns);
}

static int table_vm_reserve(const gpuarena_driver *self, void **address, uint64_t bytes, uint64_t alignment)
{
    uint64_t reserved;
    table_vm_call call = table_vm_begin(self, SIM_CALL_VM_RESERVE, bytes, "reserve");
    if (call.code == SIM_SUCCESS) {
        call.code = address ? vmem_reserve(call.device, bytes, alignment, &reserved, &call.cost_ns)
                            : SIM_INVALID_VALUE;
        if (call.code == SIM_SUCCESS) {
            *address = (void *)(uintptr_t)reserved;
        }
    }
    return table_vm_end(&call);
}

static int table_vm_release(const gpuarena_driver *self, void *address, uint64_t bytes)
{
    table_vm_call call = table_vm_begin(self, SIM_CALL_VM_RELEASE, 0, "release");
    if (call.code == SIM_SUCCESS) {
        call.code = vmem_release(call.device, (uint64_t)(uintptr_t)address, bytes, &call.cost_ns);
    }
    return table_vm_end(&call);
}

/* Of traits, none changes what a simulated handle is. */
static int table_vm_create(const gpuarena_driver *self, uint64_t *page, uint64_t bytes, uint32_t traits)
{
    table_vm_call call = table_vm_begin(self, SIM_CALL_VM_CREATE, bytes, "create");
    (void)traits;
    if (call.code == SIM_SUCCESS) {
        call.code = page ? vmem_create(call.device, bytes, page, &call.cost_ns) : SIM_INVALID_VALUE;
    }
    return table_vm_end(&call);
}

static int table_vm_destroy(const gpuarena_driver *self, uint64_t page, uint64_t bytes)
{
    table_vm_call call = table_vm_begin(self, SIM_CALL_VM_DESTROY, 0, "destroy");
    if (call.code == SIM_SUCCESS) {
        call.code = vmem_destroy(call.device, page, bytes, &call.cost_ns);
    }
    return table_vm_end(&call);
}

static int table_vm_map(const gpuarena_driver *self, void *address, uint64_t bytes, uint64_t page)
{
    table_vm_call call = table_vm_begin(self, SIM_CALL_VM_MAP, bytes, "map");
    if (call.code == SIM_SUCCESS) {
        call.code = vmem_map(call.device, (uint64_t)(uintptr_t)address, bytes, page, &call.cost_ns);
    }
    return table_vm_end(&call);
}

static int table_vm_access(const gpuarena_driver *self, void *address, uint64_t bytes, uint32_t mode)
{
    table_vm_call call = table_vm_begin(self, SIM_CALL_VM_ACCESS, bytes, "access");
    if (call.code == SIM_SUCCESS) {
        uint64_t accessors = self->peers | (uint64_t)1 << call.device->ordinal;
        call.code = vmem_access(call.device, (uint64_t)(uintptr_t)address, bytes, accessors, mode, &call.cost_ns);
    }
    return table_vm_end(&call);
}

static int table_vm_unmap(const gpuarena_driver *self, void *address, uint64_t bytes)
{
    table_vm_call call = table_vm_begin(self, SIM_CALL_VM_UNMAP, 0, "unmap");
    if (call.code == SIM_SUCCESS) {
        call.code = vmem_unmap(call.device, (uint64_t)(uintptr_t)address, bytes, &call.cost_ns);
    }
    return table_vm_end(&call);
}

void table_fill_vm(gpuarena_driver *driver)
{
    driver->page_bytes = SIM_GRANULE;
    driver->vm.reserve = table_vm_reserve;
    driver->vm.release = table_vm_release;
    driver->vm.create = table_vm_create;
    driver->vm.destroy = table_vm_destroy;
    driver->vm.map = table_vm_map;
    driver->vm.access = table_vm_access;
    driver->vm.unmap = table_vm_unmap;
}
