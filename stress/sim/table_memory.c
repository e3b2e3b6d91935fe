/* The memory group of the driver table: obtain, give_back and info, as cudaMalloc and the other kinds' calls.
   Must not know of arenas; what the calls do is memory.c's, faults and clock are the engine's.
   Tested by tests/test_sim_driver.c, test_sim_costs.c, test_sim_faults.c and test_sim_judge.c. */
#include "table.h"

#include "banks.h"
#include "memory.h"
#include "mempool.h"
#include "work.h"

/* What the kinds' calls are counted as, and may be made to fail as. */
static sim_call table_obtain_call(gpuarena_memory kind)
{
    switch (kind) {
    case GPUARENA_MEMORY_PINNED:  return SIM_CALL_HOST_ALLOC;
    case GPUARENA_MEMORY_MANAGED: return SIM_CALL_MALLOC_MANAGED;
    case GPUARENA_MEMORY_ASYNC:   return SIM_CALL_MALLOC_ASYNC;
    case GPUARENA_MEMORY_DEVICE:  break;
    }
    return SIM_CALL_OBTAIN;
}

static sim_call table_give_back_call(gpuarena_memory kind)
{
    return kind == GPUARENA_MEMORY_PINNED ? SIM_CALL_FREE_HOST
         : kind == GPUARENA_MEMORY_ASYNC  ? SIM_CALL_FREE_ASYNC
                                          : SIM_CALL_GIVE_BACK;
}

static int table_obtain_async(sim_device *device, void **ptr, uint64_t bytes, const void *stream, uint64_t *cost_ns)
{
    mempool *pool = mempool_of(device);
    return pool ? mempool_hand_out(device, pool, stream, ptr, bytes, "obtain", cost_ns) : SIM_OUT_OF_MEMORY;
}

static int table_obtain_kind(sim_device *device, gpuarena_memory kind, fault_type lie, void **ptr, uint64_t bytes,
                             const void *stream, uint64_t *cost_ns)
{
    int code = kind == GPUARENA_MEMORY_ASYNC ? SIM_SUCCESS : work_check_unsafe(device, "obtain");
    if (code != SIM_SUCCESS) {
        return code;
    }
    switch (kind) {
    case GPUARENA_MEMORY_PINNED:  return bank_obtain(device, SIM_BANK_HOST, ptr, bytes, cost_ns);
    case GPUARENA_MEMORY_MANAGED: return bank_obtain(device, SIM_BANK_MANAGED, ptr, bytes, cost_ns);
    case GPUARENA_MEMORY_ASYNC:   return table_obtain_async(device, ptr, bytes, stream, cost_ns);
    case GPUARENA_MEMORY_DEVICE:  return memory_obtain(device, lie, ptr, bytes, cost_ns);
    }
    return SIM_NOT_SUPPORTED;
}

static int table_obtain(const gpuarena_driver *self, gpuarena_memory kind, void **ptr, uint64_t bytes,
                        gpuarena_stream stream)
{
    sim_device *device = self->user;
    sim_call call = table_obtain_call(kind);
    fault_answer answer = engine_begin_call(device, call, bytes);
    uint64_t cost_ns = engine_call_ns(device, call);
    int code = answer.code;
    if (code == SIM_SUCCESS) {
        code = ptr ? table_obtain_kind(device, kind, answer.lie, ptr, bytes, stream, &cost_ns) : SIM_INVALID_VALUE;
    }
    if (code == SIM_SUCCESS && kind != GPUARENA_MEMORY_DEVICE) {
        engine_tell(device, SIM_CALL_OBTAIN, (uint64_t)(uintptr_t)*ptr, bytes);    /* of DEVICE, memory.c does */
    }
    return engine_end_call(device, call, code, cost_ns);
}

static int table_give_back_kind(sim_device *device, gpuarena_memory kind, uint64_t address, uint64_t bytes,
                                const void *stream, uint64_t *cost_ns)
{
    int code = kind == GPUARENA_MEMORY_ASYNC ? SIM_SUCCESS : work_check_unsafe(device, "give_back");
    if (code != SIM_SUCCESS) {
        return code;
    }
    switch (kind) {
    case GPUARENA_MEMORY_PINNED:  return bank_give_back(device, SIM_BANK_HOST, address, bytes, cost_ns);
    case GPUARENA_MEMORY_MANAGED: return bank_give_back(device, SIM_BANK_MANAGED, address, bytes, cost_ns);
    case GPUARENA_MEMORY_ASYNC:   return mempool_take_back(device, stream, address, bytes, "give_back", cost_ns);
    case GPUARENA_MEMORY_DEVICE:  return memory_give_back(device, address, bytes, cost_ns);
    }
    return SIM_NOT_SUPPORTED;
}

static int table_give_back(const gpuarena_driver *self, gpuarena_memory kind, void *ptr, uint64_t bytes,
                           gpuarena_stream stream)
{
    sim_device *device = self->user;
    sim_call call = table_give_back_call(kind);
    uint64_t cost_ns = engine_call_ns(device, call);
    int code = engine_begin_call(device, call, 0).code;
    if (code == SIM_SUCCESS) {
        code = table_give_back_kind(device, kind, (uint64_t)(uintptr_t)ptr, bytes, stream, &cost_ns);
    }
    if (code == SIM_SUCCESS && kind != GPUARENA_MEMORY_DEVICE) {
        engine_tell(device, SIM_CALL_GIVE_BACK, (uint64_t)(uintptr_t)ptr, bytes);
    }
    return engine_end_call(device, call, code, cost_ns);
}

static int table_info(const gpuarena_driver *self, gpuarena_memory kind, uint64_t *free_bytes, uint64_t *total_bytes)
{
    sim_device *device = self->user;
    int code = engine_begin_call(device, SIM_CALL_INFO, 0).code;
    if (code == SIM_SUCCESS && (uint32_t)kind > GPUARENA_MEMORY_ASYNC) {
        code = SIM_NOT_SUPPORTED;
    } else if (code == SIM_SUCCESS && (!free_bytes || !total_bytes)) {
        code = SIM_INVALID_VALUE;
    } else if (code == SIM_SUCCESS) {
        code = kind == GPUARENA_MEMORY_PINNED ? bank_info(device, free_bytes, total_bytes)
                                              : memory_info(device, free_bytes, total_bytes);
    }
    return engine_end_call(device, SIM_CALL_INFO, code, engine_call_ns(device, SIM_CALL_INFO));
}

void table_fill_memory(gpuarena_driver *driver)
{
    driver->memory.info = table_info;
    driver->memory.obtain = table_obtain;
    driver->memory.give_back = table_give_back;
}
