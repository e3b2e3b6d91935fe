/* What every call of the simulated machine shares: addresses, counting, faults, the clock.
   Must not know what any single call does.
   Tested by tests/test_sim_driver.c. */
#include "engine.h"

#include <inttypes.h>

#include "codes.h"

uint64_t engine_share_space(int device_count)
{
    return (MAPPING_SPACE - ENGINE_FIRST_ADDRESS) / (uint64_t)device_count / SIM_GRANULE * SIM_GRANULE;
}

uint64_t engine_obtain_space(const sim *machine)
{
    uint64_t share = machine->device_space / SIM_GRANULE * 5 / 8 * SIM_GRANULE;
    return share < ENGINE_MOST_OBTAIN ? share : ENGINE_MOST_OBTAIN;
}

uint64_t engine_address(const sim_device *device, uint64_t offset)
{
    return device->base_address + offset;
}

int engine_offset(const sim_device *device, uint64_t address, uint64_t *offset)
{
    *offset = address - device->base_address;
    return address >= device->base_address && *offset < device->space_bytes;
}

sim_device *engine_owner(const sim *machine, uint64_t address)
{
    uint64_t from = address - ENGINE_FIRST_ADDRESS, owner = from / machine->device_space, offset;
    for (int i = 0; i < SIM_BANK_COUNT && address < ENGINE_FIRST_ADDRESS; i++) {
        const sim_device *bank = &machine->banks[i];
        if (engine_offset(bank, address, &offset) && devmem_has_given(&bank->memory, offset)) {
            return bank->sim->banks + i;
        }
    }
    if (address < ENGINE_FIRST_ADDRESS || owner >= (uint64_t)machine->device_count) {
        return NULL;
    }
    sim_device *found = &machine->devices[owner];
    return devmem_has_given(&found->memory, from % machine->device_space) ? found : NULL;
}

engine_text engine_name(const sim_device *device, uint64_t address)
{
    engine_text name = { "an address of no device" };
    const sim_device *owner = engine_owner(device->sim, address);
    uint64_t offset;
    if (!owner || !engine_offset(owner, address, &offset)) {
        return name;
    }
    if (owner->bank) {
        snprintf(name.text, sizeof name.text, "%s +0x%" PRIx64, owner->bank, offset);
    } else if (owner == device) {
        snprintf(name.text, sizeof name.text, "+0x%" PRIx64, offset);
    } else {
        snprintf(name.text, sizeof name.text, "device %d +0x%" PRIx64, owner->ordinal, offset);
    }
    return name;
}

void engine_open_context(sim_device *device)
{
    if (!device->has_context) {
        device->has_context = 1;
        engine_advance(device->sim, sim_costs_ns(&device->sim->costs, SIM_COST_CONTEXT, 0));
    }
}

static void engine_count_call(sim_device *device, sim_call kind)
{
    device->calls[kind]++;
    faults_count(&device->sim->faults, kind);
}

static fault_answer engine_answer(sim_device *device, sim_call kind, uint64_t bytes)
{
    fault_answer answer = faults_answer(&device->sim->faults, kind, bytes);
    if (!device->lost_code && codes_status(answer.code) == GPUARENA_STATUS_LOST) {
        device->lost_code = answer.code;
    }
    return answer;
}

fault_answer engine_begin_call(sim_device *device, sim_call kind, uint64_t bytes)
{
    fault_answer lost = { device->lost_code, FAULT_CALL };
    engine_count_call(device, kind);
    return device->lost_code ? lost : engine_answer(device, kind, bytes);
}

fault_answer engine_begin_bare_call(sim_device *device, sim_call kind)
{
    engine_count_call(device, kind);
    return engine_answer(device, kind, 0);
}

uint64_t engine_call_ns(const sim_device *device, sim_call kind)
{
    static const sim_cost_kind kinds[SIM_CALL_KINDS] = {
#define X(name, text, runtime_name, code, cost) SIM_COST_##cost,
        SIM_CALLS(X)
#undef X
    };
    return sim_costs_ns(&device->sim->costs, kinds[kind], 0);
}

int engine_end_call(sim_device *device, sim_call kind, int code, uint64_t cost_ns)
{
    cost_ns += faults_stall_ns(&device->sim->faults, kind);
    device->vns[kind] += cost_ns;
    engine_advance(device->sim, cost_ns);
    return code;
}

void engine_tell(const sim_device *device, sim_call kind, uint64_t address, uint64_t bytes)
{
    if (device->sim->watch) {
        device->sim->watch(device->sim->watch_user, kind, address, bytes);
    }
}

void engine_advance(sim *machine, uint64_t ns)
{
    machine->now_ns = ns > UINT64_MAX - machine->now_ns ? UINT64_MAX : machine->now_ns + ns;
}
