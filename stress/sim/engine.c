/* What every call of the simulated machine shares: addresses, counting, faults, the clock. */
#include "engine.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../base/array.h"
#include "../base/program.h"

/* ---- Handles: one growing table a machine, records reused, the latest first */

enum { HANDLES_FIRST = 16, HANDLES_INDEX_BITS = 24 };        /* so that no value is that of a default stream */
#define HANDLES_MOST  (((uint32_t)1 << HANDLES_INDEX_BITS) - HANDLES_FIRST)
#define HANDLES_LOW   ((uint64_t)0xFFFFFF)

/* From low bits to high: record, generation, machine. */
static uint64_t handles_value(uint64_t serial, uint64_t generation, uint32_t index)
{
    return (serial & 0x7FFF) << 48 | (generation & HANDLES_LOW) << HANDLES_INDEX_BITS | (index + HANDLES_FIRST);
}

void *handles_create(handles *all, handle_kind kind, void *object)
{
    uint32_t index;
    uint64_t generation = 1;
    if (all->idle_count > 0) {
        index = all->idle[--all->idle_count];
        generation = (all->records[index].value >> HANDLES_INDEX_BITS & HANDLES_LOW) + !all->reuse;
    } else {
        if (all->count == HANDLES_MOST) program_no_memory();
        ARRAY_RESERVE_BOTH(all->records, all->idle, all->capacity, all->count + 1);
        index = all->count++;
    }
    handle_record made = { handles_value(all->serial, generation, index), object, kind };
    all->records[index] = made;
    return (void *)(uintptr_t)made.value;
}

static handle_record *handles_record(const handles *all, const void *value)
{
    uint64_t number = (uint64_t)(uintptr_t)value, index = (number & HANDLES_LOW) - HANDLES_FIRST;
    return index < all->count && all->records[index].value == number ? &all->records[index] : NULL;
}

void *handles_find(const handles *all, const void *value, handle_kind kind)
{
    const handle_record *found = handles_record(all, value);
    return found && found->kind == kind ? found->object : NULL;
}

void handles_drop(handles *all, const void *value)
{
    handle_record *record = handles_record(all, value);
    record->kind = HANDLE_NONE;
    record->object = NULL;
    all->idle[all->idle_count++] = (uint32_t)(record - all->records);
}

void *handles_each(const handles *all, uint32_t index, handle_kind kind, void **value)
{
    const handle_record *record = &all->records[index];
    *value = (void *)(uintptr_t)record->value;
    return record->kind == kind ? record->object : NULL;
}

void handles_destroy(handles *all)
{
    free(all->records);
    free(all->idle);
    memset(all, 0, sizeof *all);
}

/* ---- What every call of the simulated machine shares: addresses, counting, faults, the clock */

uint64_t engine_address(const sim_device *device, uint64_t offset)
{
    return device->base_address + offset;
}

int engine_offset(const sim_device *device, uint64_t address, uint64_t *offset)
{
    *offset = address - device->base_address;
    return address >= device->base_address && *offset < device->space_bytes;
}

sim_device *engine_device(const sim *machine, int ordinal)
{
    return ordinal >= 0 && ordinal < machine->device_count ? &machine->devices[ordinal] : NULL;
}

sim_device *engine_owner(const sim *machine, uint64_t address)
{
    uint64_t from = address - ENGINE_FIRST_ADDRESS, owner = from / machine->device_space, offset;
    for (int i = 0; i < SIM_BANK_COUNT && address < ENGINE_FIRST_ADDRESS; i++) {
        sim_device *bank = &machine->banks[i];
        if (engine_offset(bank, address, &offset) && devmem_has_given(&bank->memory, offset)) return bank;
    }
    if (address < ENGINE_FIRST_ADDRESS || owner >= (uint64_t)machine->device_count) return NULL;
    sim_device *found = &machine->devices[owner];
    return devmem_has_given(&found->memory, from % machine->device_space) ? found : NULL;
}

engine_text engine_name(const sim_device *device, uint64_t address)
{
    engine_text name = { "an address of no device" };
    const sim_device *owner = engine_owner(device->sim, address);
    uint64_t offset;
    if (!owner || !engine_offset(owner, address, &offset)) return name;
    if (owner->bank) {
        snprintf(name.text, sizeof name.text, "%s +0x%" PRIx64, owner->bank, offset);
    } else if (owner == device) {
        snprintf(name.text, sizeof name.text, "+0x%" PRIx64, offset);
    } else {
        snprintf(name.text, sizeof name.text, "device %d +0x%" PRIx64, owner->ordinal, offset);
    }
    return name;
}

uint64_t engine_thread(const sim *machine)
{
    return machine->acting_thread ? machine->acting_thread : (uint64_t)(uintptr_t)pthread_self();
}

void engine_lock(sim *machine)
{
    if (machine->is_shared) pthread_mutex_lock(&machine->mutex);
}

void engine_unlock(sim *machine)
{
    if (machine->is_shared) pthread_mutex_unlock(&machine->mutex);
}

void engine_open_context(sim_device *device)
{
    if (!device->has_context) {
        device->has_context = 1;
        engine_advance(device->sim, engine_cost_ns(device, SIM_COST_CONTEXT, 0));
    }
}

static const struct { const char *name; sim_cost_kind cost; unsigned traits; } engine_kinds[SIM_CALL_KINDS] = {
#define X(name, text, cuda_name, code, cost, trait) { #cuda_name, SIM_COST_##cost, SIM_##trait },
    SIM_CALLS(X)
#undef X
};

const char *engine_call_name(sim_call kind)
{
    return engine_kinds[kind].name;
}

int engine_call_is(sim_call kind, sim_trait trait)
{
    return (engine_kinds[kind].traits & trait) != 0;
}

uint64_t engine_cost_ns(const sim_device *device, sim_cost_kind kind, uint64_t bytes)
{
    return sim_costs_ns(&device->sim->costs, kind, bytes);
}

uint64_t engine_call_ns(const sim_device *device, sim_call kind)
{
    return engine_cost_ns(device, engine_kinds[kind].cost, 0);
}

int engine_end_call(sim_device *device, sim_call kind, int code, uint64_t cost_ns)
{
    cost_ns += faults_stall_ns(&device->sim->faults, kind);
    device->vns[kind] += cost_ns;
    device->memory_vns += engine_call_is(kind, SIM_COUNTED) ? cost_ns : 0;
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
