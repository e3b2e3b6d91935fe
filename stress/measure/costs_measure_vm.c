/* The calls of virtual memory, one after the other as a range lives: reserve to release.
   Must not know what the numbers are for.
   Tested by tests/test_costs.c. */
#include "costs_bench.h"

enum { VM_RESERVE, VM_CREATE, VM_MAP, VM_ACCESS, VM_UNMAP, VM_DESTROY, VM_RELEASE, VM_STEPS };

/* undo: the step that goes on from it, if it fails. */
static const struct { sim_cost_kind kind; const char *name; int undo; } costs_vm_steps[VM_STEPS] = {
    [VM_RESERVE] = { SIM_COST_VM_RESERVE, "cuMemAddressReserve", VM_STEPS },
    [VM_CREATE] = { SIM_COST_VM_CREATE, "cuMemCreate", VM_RELEASE },
    [VM_MAP] = { SIM_COST_VM_MAP, "cuMemMap", VM_DESTROY },
    [VM_ACCESS] = { SIM_COST_VM_ACCESS, "cuMemSetAccess", VM_UNMAP },
    [VM_UNMAP] = { SIM_COST_VM_UNMAP, "cuMemUnmap", VM_STEPS },
    [VM_DESTROY] = { SIM_COST_VM_DESTROY, "cuMemRelease", VM_RELEASE },
    [VM_RELEASE] = { SIM_COST_VM_RELEASE, "cuMemAddressFree", VM_STEPS },
};

typedef struct costs_vm_range { void *address; uint64_t page, bytes; } costs_vm_range;

static int costs_vm_call(const gpuarena_driver *driver, costs_vm_range *range, int step)
{
    switch (step) {
    case VM_RESERVE: return driver->vm.reserve(driver, &range->address, range->bytes, 0);
    case VM_CREATE:  return driver->vm.create(driver, &range->page, range->bytes, 0);
    case VM_MAP:     return driver->vm.map(driver, range->address, range->bytes, range->page);
    case VM_ACCESS:  return driver->vm.access(driver, range->address, range->bytes, 1);
    case VM_UNMAP:   return driver->vm.unmap(driver, range->address, range->bytes);
    case VM_DESTROY: return driver->vm.destroy(driver, range->page, range->bytes);
    default:         return driver->vm.release(driver, range->address, range->bytes);
    }
}

/* A step failed: what is there goes again. 1: there was no memory for it. */
static int costs_vm_undo(costs_bench *bench, costs_vm_range *range, int step, int code)
{
    const char *name = costs_vm_steps[step].name;
    int failed = step < VM_UNMAP ? costs_check(bench, name, range->bytes, code)
                                 : costs_failed(bench, name, range->bytes, code);
    for (int undo = costs_vm_steps[step].undo; undo < VM_STEPS; undo++) {
        code = costs_vm_call(bench->driver, range, undo);
        if (code) return costs_failed(bench, costs_vm_steps[undo].name, range->bytes, code);
    }
    return failed;
}

static int costs_vm(costs_bench *bench, uint64_t bytes, int counts)
{
    costs_vm_range range = { NULL, 0, bytes };
    for (int step = 0; step < VM_STEPS; step++) {
        uint64_t start_ns = costs_now_ns(bench);
        int code = costs_vm_call(bench->driver, &range, step);
        uint64_t end_ns = costs_now_ns(bench);
        if (code) return costs_vm_undo(bench, &range, step, code);
        if (counts) costs_sample(bench, costs_vm_steps[step].kind, end_ns - start_ns);
    }
    return 0;
}

int costs_measure_vm(costs_bench *bench)
{
    uint64_t page_bytes = bench->driver->page_bytes;
    return page_bytes > 0 ? costs_sizes(bench, costs_vm, page_bytes, 2, COSTS_LARGEST + 1) : 0;
}
