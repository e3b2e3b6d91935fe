/* The entry of the driver table that clears memory, as cudaMemsetAsync with 0: pattern 0, from the call on. For the
   judge it is a use by an owner of its own: after all that was done to the bytes before, and before all that follows.
   Must not know of arenas; faults and clock are the engine's, streams and captures launch.c's.
   Tested by tests/test_sim_clear.c. */
#include "launch.h"
#include "table.h"

typedef struct table_cleared { uint64_t address, bytes, owner; } table_cleared;

static int table_act_clear(void *context, const void *payload)
{
    const launch *now = context;
    const table_cleared *asked = payload;
    access_range range = { asked->address, asked->bytes, asked->owner, now->op, 0, 0, 0 };
    uint64_t offset;
    sim_device *memory = engine_owner(now->device->sim, asked->address);     /* a bank, of other kinds */
    access_use(now->device, now->by, &range);
    if (!memory || !engine_offset(memory, asked->address, &offset)
        || !devmem_reaches(&memory->memory, offset, asked->bytes, now->device->ordinal)) {
        return SIM_INVALID_VALUE;
    }
    return devmem_fill(&memory->memory, offset, asked->bytes, 0) ? SIM_OUT_OF_MEMORY : SIM_SUCCESS;
}

static int table_clear(const gpuarena_driver *self, void *ptr, uint64_t bytes, gpuarena_stream stream)
{
    sim_device *device = self->user;
    int code = engine_begin_call(device, SIM_CALL_MEMSET_ASYNC, bytes).code;
    table_cleared asked = { (uint64_t)(uintptr_t)ptr, bytes, ACCESS_BY_CLEAR | ++device->sim->clear_serial };
    if (code == SIM_SUCCESS && bytes > 0) {
        code = launch_command(device, stream, device->sim->runtime_work_ns, table_act_clear, &asked, sizeof asked,
                              "cudaMemsetAsync");
    }
    return engine_end_call(device, SIM_CALL_MEMSET_ASYNC, code, engine_call_ns(device, SIM_CALL_MEMSET_ASYNC));
}

void table_fill_clear(gpuarena_driver *driver)
{
    driver->clear = table_clear;
}
