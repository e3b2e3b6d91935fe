/* The memory group of the driver table: obtain, give_back and info, as cudaMalloc, cudaFree and cudaMemGetInfo.
   Must not know of arenas; what the calls do is memory.c's, faults and clock are the engine's.
   Tested by tests/test_sim_driver.c, test_sim_costs.c, test_sim_faults.c and test_sim_judge.c. */
#include "table.h"

#include "memory.h"
#include "work.h"

static int table_obtain(const gpuarena_driver *self, gpuarena_memory kind, void **ptr, uint64_t bytes,
                        gpuarena_stream stream)
{
    sim_device *device = self->user;
    (void)stream;
    fault_answer answer = engine_begin_call(device, SIM_CALL_OBTAIN, bytes);
    uint64_t cost_ns = engine_call_ns(device, SIM_CALL_OBTAIN);
    int code = answer.code;
    if (code == SIM_SUCCESS && (kind != GPUARENA_MEMORY_DEVICE || !ptr)) {
        code = ptr ? SIM_NOT_SUPPORTED : SIM_INVALID_VALUE;
    }
    if (code == SIM_SUCCESS && (code = work_check_unsafe(device, "obtain")) == SIM_SUCCESS) {
        code = memory_obtain(device, answer.lie, ptr, bytes, &cost_ns);
    }
    return engine_end_call(device, SIM_CALL_OBTAIN, code, cost_ns);
}

static int table_give_back(const gpuarena_driver *self, gpuarena_memory kind, void *ptr, uint64_t bytes,
                           gpuarena_stream stream)
{
    sim_device *device = self->user;
    (void)stream;
    fault_answer answer = engine_begin_call(device, SIM_CALL_GIVE_BACK, 0);
    uint64_t cost_ns = engine_call_ns(device, SIM_CALL_GIVE_BACK);
    int code = answer.code;
    if (code == SIM_SUCCESS && kind != GPUARENA_MEMORY_DEVICE) {
        code = SIM_NOT_SUPPORTED;
    }
    if (code == SIM_SUCCESS && (code = work_check_unsafe(device, "give_back")) == SIM_SUCCESS) {
        code = memory_give_back(device, (uint64_t)(uintptr_t)ptr, bytes, &cost_ns);
    }
    return engine_end_call(device, SIM_CALL_GIVE_BACK, code, cost_ns);
}

static int table_info(const gpuarena_driver *self, gpuarena_memory kind, uint64_t *free_bytes, uint64_t *total_bytes)
{
    sim_device *device = self->user;
    int code = engine_begin_call(device, SIM_CALL_INFO, 0).code;
    if (code == SIM_SUCCESS && kind != GPUARENA_MEMORY_DEVICE) {
        code = SIM_NOT_SUPPORTED;
    } else if (code == SIM_SUCCESS && (!free_bytes || !total_bytes)) {
        code = SIM_INVALID_VALUE;
    } else if (code == SIM_SUCCESS) {
        code = memory_info(device, free_bytes, total_bytes);
    }
    return engine_end_call(device, SIM_CALL_INFO, code, engine_call_ns(device, SIM_CALL_INFO));
}

void table_fill_memory(gpuarena_driver *driver)
{
    driver->memory.info = table_info;
    driver->memory.obtain = table_obtain;
    driver->memory.give_back = table_give_back;
}
