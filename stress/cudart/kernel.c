/* What stands for kernels, which cannot run here: work that takes time and uses memory.
   Must not know of the runtime's calls. */
#include "../sim/work.h"
#include "call.h"
#include "cudart.h"

static int kernel_issue(sim_device *device, const void *stream, uint64_t work_ns, const void *const *ptrs,
                        const uint64_t *bytes, size_t count)
{
    int code = launch_command(device, stream, work_ns, NULL, NULL, 0, "cudart_kernel");
    for (size_t i = 0; code == SIM_SUCCESS && i < count; i++) {
        uint64_t address = (uint64_t)(uintptr_t)ptrs[i];
        access_range range = { address, bytes[i], access_owner_of(device, address), device->sim->judge.op, 0,
                               0, 0 };
        code = launch_use(device, stream, &range, "cudart_kernel");
    }
    return code;
}

__attribute__((visibility("default"))) int cudart_kernel(void *stream, uint64_t work_ns, const void *const *ptrs,
                                                         const uint64_t *bytes, size_t count)
{
    call self;
    int code = call_enter(&self);
    if (code == SIM_SUCCESS && !self.machine) code = cudaErrorNoDevice;
    if (code == SIM_SUCCESS) {
        sim_device *device = call_find_device(&self, self.thread->device);
        engine_open_context(device);
        code = kernel_issue(device, stream, work_ns, ptrs, bytes, count);
    }
    call_leave(&self);
    return code;
}

__attribute__((visibility("default"))) void cudart_work_ns(uint64_t work_ns)
{
    call self;
    if (call_enter(&self) == SIM_SUCCESS && self.machine) self.machine->runtime_work_ns = work_ns;
    call_leave(&self);
}
