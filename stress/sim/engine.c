/* What every call of the simulated machine shares: addresses, counting, faults, the clock.
   Must not know what any single call does.
   Tested by tests/test_sim_driver.c. */
#include "engine.h"

#include <inttypes.h>

#include "codes.h"

uint64_t engine_address(const sim_device *device, uint64_t offset)
{
    return ((uint64_t)device->ordinal + 1) * MAPPING_SPACE + offset;
}

int engine_offset(const sim_device *device, uint64_t address, uint64_t *offset)
{
    *offset = address % MAPPING_SPACE;
    return address / MAPPING_SPACE == (uint64_t)device->ordinal + 1;
}

engine_text engine_name(const sim_device *device, uint64_t address)
{
    engine_text name = { "an address of no device" };
    uint64_t owner = address / MAPPING_SPACE, offset = address % MAPPING_SPACE;
    if (owner == (uint64_t)device->ordinal + 1) {
        snprintf(name.text, sizeof name.text, "+0x%" PRIx64, offset);
    } else if (owner >= 1 && owner <= (uint64_t)device->sim->device_count) {
        snprintf(name.text, sizeof name.text, "device %" PRIu64 " +0x%" PRIx64, owner - 1, offset);
    }
    return name;
}

fault_answer engine_begin_call(sim_device *device, sim_call kind, uint64_t bytes)
{
    faults *set = &device->sim->faults;
    fault_answer lost = { device->lost_code, FAULT_CALL };
    device->calls[kind]++;
    faults_count(set, kind);
    if (device->lost_code) {
        return lost;
    }
    fault_answer answer = faults_answer(set, kind, bytes);
    if (codes_status(answer.code) == GPUARENA_STATUS_LOST) {
        device->lost_code = answer.code;
    }
    return answer;
}

int engine_end_call(sim_device *device, sim_call kind, int code, uint64_t cost_ns)
{
    device->vns[kind] += cost_ns;
    sim_advance(device->sim, cost_ns);
    return code;
}
