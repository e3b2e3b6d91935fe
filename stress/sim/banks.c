/* Banks: each is a device of which nothing is used but its memory.
   Must not know of calls: neither their counters, nor the faults that stop them.
   Tested by tests/test_sim_kinds.c. */
#include "banks.h"

#include <inttypes.h>

#include "access.h"
#include "memory.h"

#define BANK_FIRST_ADDRESS ((uint64_t)1 << 40)
#define BANK_SPACE         ((uint64_t)3 << 40)

static const struct { const char *name; sim_cost_kind obtain, give_back; } banks_kinds[SIM_BANK_COUNT] = {
    { "host", SIM_COST_HOST_ALLOC, SIM_COST_HOST_FREE }, { "managed", SIM_COST_MANAGED, SIM_COST_FREE_BLOCK },
};

/* Managed memory may be more than a device has. */
void banks_create(sim *machine, uint64_t device_bytes)
{
    uint64_t managed = SIM_HOST_BYTES + (device_bytes < SIM_HOST_BYTES ? device_bytes : SIM_HOST_BYTES);
    for (int i = 0; i < SIM_BANK_COUNT; i++) {
        sim_device *bank = &machine->banks[i];
        bank->sim = machine;
        bank->bank = banks_kinds[i].name;
        bank->base_address = BANK_FIRST_ADDRESS + (uint64_t)i * BANK_SPACE;
        bank->space_bytes = BANK_SPACE;
        devmem_init(&bank->memory, 0, i == SIM_BANK_HOST ? SIM_HOST_BYTES : managed, 0, BANK_SPACE - SIM_GRANULE,
                    BANK_SPACE);
    }
}

void banks_destroy(sim *machine)
{
    for (int i = 0; i < SIM_BANK_COUNT && machine->banks[i].sim; i++) {
        devmem_destroy(&machine->banks[i].memory);
        touches_destroy(&machine->banks[i].touches);
    }
}

static uint64_t bank_cost(const sim_device *device, sim_cost_kind kind, uint64_t bytes)
{
    return sim_costs_ns(&device->sim->costs, kind, bytes);
}

/* The fixed part alone; pieces of slabs are for device memory. */
int bank_obtain(sim_device *device, sim_bank kind, void **ptr, uint64_t bytes, uint64_t *cost_ns)
{
    sim_device *bank = &device->sim->banks[kind];
    uint64_t offset;
    devmem_work work;
    *cost_ns = bank_cost(device, banks_kinds[kind].obtain, 0);
    if (bytes == 0) {
        return SIM_INVALID_VALUE;
    }
    devmem_result result = devmem_obtain(&bank->memory, bytes < SIM_GRANULE ? SIM_GRANULE : bytes, &offset, &work);
    if (result == DEVMEM_HOST_MEMORY) {
        judge_report(&device->sim->judge, device->ordinal, "no host memory left to simulate %" PRIu64 " bytes of %s "
                     "memory", bytes, bank->bank);
    }
    if (result != DEVMEM_OK) {
        return result == DEVMEM_FULL ? SIM_OUT_OF_MEMORY : SIM_UNKNOWN;
    }
    *ptr = (void *)(uintptr_t)engine_address(bank, offset);
    *cost_ns = bank_cost(device, banks_kinds[kind].obtain, work.bytes);
    return SIM_SUCCESS;
}

int bank_give_back(sim_device *device, sim_bank kind, uint64_t address, uint64_t bytes, uint64_t *cost_ns)
{
    sim_device *bank = &device->sim->banks[kind];
    uint64_t offset, wait_ns = 0;
    devmem_place place;
    devmem_work work;
    *cost_ns = bank_cost(device, banks_kinds[kind].give_back, 0);
    if (address == 0) {
        return SIM_SUCCESS;
    }
    if (!engine_offset(bank, address, &offset) || !devmem_find(&bank->memory, offset, &place)
        || place.offset != offset
        || (bytes != MEMORY_ANY_BYTES && (bytes < SIM_GRANULE ? SIM_GRANULE : bytes) != place.bytes)) {
        judge_report(&device->sim->judge, device->ordinal, "give_back of %s as %" PRIu64 " bytes of %s memory, which "
                     "it is not", engine_name(device, address).text, bytes, bank->bank);
        return SIM_INVALID_VALUE;
    }
    if (kind == SIM_BANK_MANAGED) {
        work_drain_device(device, &wait_ns);
    }
    access_end(bank, offset, place.bytes, "give_back");
    devmem_give_back(&bank->memory, &place, &work);
    *cost_ns = wait_ns + bank_cost(device, banks_kinds[kind].give_back, work.bytes);
    return SIM_SUCCESS;
}

int bank_info(const sim_device *device, uint64_t *free_bytes, uint64_t *total_bytes)
{
    const devmem *memory = &device->sim->banks[SIM_BANK_HOST].memory;
    *free_bytes = devmem_free_bytes(memory);
    *total_bytes = memory->capacity_bytes;
    return SIM_SUCCESS;
}
