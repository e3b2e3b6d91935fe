/* The memory group of the driver table: obtain, give_back and info, as cudaMalloc, cudaFree and cudaMemGetInfo.
   Must not know of arenas; memory itself is devmem's, faults and clock are the engine's.
   Tested by tests/test_sim_driver.c, test_sim_costs.c, test_sim_faults.c and test_sim_judge.c. */
#include "table.h"

#include <inttypes.h>

#include "engine.h"

static uint64_t table_number(const void *ptr)
{
    return (uint64_t)(uintptr_t)ptr;
}

static uint64_t table_cost(const sim_device *device, sim_cost_kind kind, uint64_t bytes)
{
    return sim_costs_ns(&device->sim->costs, kind, bytes);
}

static int table_end_obtain(sim_device *device, int code, const devmem_work *work)
{
    sim_cost_kind kind = work->in_slab ? SIM_COST_MALLOC_SLAB : SIM_COST_MALLOC_BLOCK;
    return engine_end_call(device, SIM_CALL_OBTAIN, code, table_cost(device, kind, work->bytes));
}

/* A call that fails costs its fixed part: obtain that of a block, give_back that of a piece. */
static int table_fail_obtain(sim_device *device, int code)
{
    static const devmem_work nothing = { 0, 0 };
    return table_end_obtain(device, code, &nothing);
}

static int table_fail_give_back(sim_device *device, int code)
{
    return engine_end_call(device, SIM_CALL_GIVE_BACK, code, table_cost(device, SIM_COST_FREE_SLAB, 0));
}

/* Where a lying answer points: into the last granule of the lowest block, or to the first piece of the lowest slab;
   or above all addresses that were ever used. 0: there is nothing to overlap. */
static uint64_t table_lie_offset(const sim_device *device, fault_type lie)
{
    if (lie == FAULT_MISALIGNED) {
        return device->memory.high_offset + SLAB_ALIGNMENT / 2;
    }
    const address_range *lowest = addresses_lowest(&device->memory.addresses);
    if (!lowest) {
        return 0;
    }
    return lowest->offset + (lowest->slab ? lowest->slab->pieces[0].offset : lowest->bytes - SIM_GRANULE);
}

/* 1: the lie was told. */
static int table_lie(sim_device *device, fault_type lie, void **ptr, uint64_t bytes)
{
    sim *machine = device->sim;
    if (lie == FAULT_NULL) {
        *ptr = NULL;
        return 1;
    }
    uint64_t offset = table_lie_offset(device, lie);
    if (offset == 0 || bytes > device->memory.capacity_bytes) {
        return 0;
    }
    sim_lie told = { device, engine_address(device, offset), bytes };
    machine->lies[machine->lie_count++] = told;
    *ptr = (void *)(uintptr_t)told.address;
    return 1;
}

/* 1: the range was a lie, and is taken back. */
static int table_take_lie_back(sim_device *device, uint64_t address, uint64_t bytes)
{
    sim *machine = device->sim;
    for (int i = 0; i < machine->lie_count; i++) {
        const sim_lie *lie = &machine->lies[i];
        if (lie->device == device && lie->address == address && lie->bytes == bytes) {
            machine->lies[i] = machine->lies[--machine->lie_count];
            return 1;
        }
    }
    return 0;
}

static int table_obtain(const gpuarena_driver *self, gpuarena_memory kind, void **ptr, uint64_t bytes,
                        gpuarena_stream stream)
{
    sim_device *device = self->user;
    (void)stream;
    fault_answer answer = engine_begin_call(device, SIM_CALL_OBTAIN, bytes);
    if (answer.code != SIM_SUCCESS) {
        return table_fail_obtain(device, answer.code);
    }
    if (kind != GPUARENA_MEMORY_DEVICE || !ptr) {
        return table_fail_obtain(device, ptr ? SIM_NOT_SUPPORTED : SIM_INVALID_VALUE);
    }
    if (bytes == 0) {
        *ptr = NULL;
        return engine_end_call(device, SIM_CALL_OBTAIN, SIM_SUCCESS, 0);
    }
    if (answer.lie != FAULT_CALL && table_lie(device, answer.lie, ptr, bytes)) {
        return table_fail_obtain(device, SIM_SUCCESS);
    }
    uint64_t offset;
    devmem_work work;
    devmem_result result = devmem_obtain(&device->memory, bytes, &offset, &work);
    if (result == DEVMEM_HOST_MEMORY) {
        judge_report(&device->sim->judge, device->ordinal, "no host memory left to simulate an obtain of %" PRIu64
                     " bytes", bytes);
    }
    if (result != DEVMEM_OK) {
        return table_fail_obtain(device, result == DEVMEM_FULL ? SIM_OUT_OF_MEMORY : SIM_UNKNOWN);
    }
    *ptr = (void *)(uintptr_t)engine_address(device, offset);
    return table_end_obtain(device, SIM_SUCCESS, &work);
}

/* Says why a range cannot be given back. offset: of the address, if own; place: the request it lies in, if held. */
static int table_refuse_give_back(sim_device *device, uint64_t address, uint64_t bytes, const devmem_place *place)
{
    judge *book = &device->sim->judge;
    uint64_t offset;
    int own = engine_offset(device, address, &offset);
    engine_text name = engine_name(device, address);
    if (place && place->offset == offset) {
        judge_report(book, device->ordinal, "give_back of %s as %" PRIu64 " bytes, which were obtained as %" PRIu64,
                     name.text, bytes, place->bytes);
    } else if (place) {
        judge_report(book, device->ordinal, "give_back of %s, which lies %" PRIu64 " bytes inside +0x%" PRIx64 " of %"
                     PRIu64 " bytes", name.text, offset - place->offset, place->offset, place->bytes);
    } else if (own && offset >= SIM_GRANULE && offset < device->memory.high_offset) {
        judge_report(book, device->ordinal, "give_back of %s, which is not held now: given back already?", name.text);
    } else {
        judge_report(book, device->ordinal, "give_back of %s, which this device never gave", name.text);
    }
    return table_fail_give_back(device, SIM_INVALID_VALUE);
}

static int table_give_back(const gpuarena_driver *self, gpuarena_memory kind, void *ptr, uint64_t bytes,
                           gpuarena_stream stream)
{
    sim_device *device = self->user;
    uint64_t offset, address = table_number(ptr);
    (void)stream;
    fault_answer answer = engine_begin_call(device, SIM_CALL_GIVE_BACK, 0);
    if (answer.code != SIM_SUCCESS || kind != GPUARENA_MEMORY_DEVICE) {
        return table_fail_give_back(device, answer.code != SIM_SUCCESS ? answer.code : SIM_NOT_SUPPORTED);
    }
    if (!ptr) {
        return engine_end_call(device, SIM_CALL_GIVE_BACK, SIM_SUCCESS, 0);
    }
    if (table_take_lie_back(device, address, bytes)) {
        return engine_end_call(device, SIM_CALL_GIVE_BACK, SIM_SUCCESS, table_cost(device, SIM_COST_FREE_BLOCK, 0));
    }
    devmem_place place;
    int held = engine_offset(device, address, &offset) && devmem_find(&device->memory, offset, &place);
    if (!held || place.offset != offset || place.bytes != bytes) {
        return table_refuse_give_back(device, address, bytes, held ? &place : NULL);
    }
    /* cudaFree waits here for all work of the device. Nothing can be pending: this group has no streams. */
    devmem_work work;
    devmem_give_back(&device->memory, &place, &work);
    sim_cost_kind cost = work.in_slab ? SIM_COST_FREE_SLAB : SIM_COST_FREE_BLOCK;
    return engine_end_call(device, SIM_CALL_GIVE_BACK, SIM_SUCCESS, table_cost(device, cost, work.bytes));
}

static int table_info(const gpuarena_driver *self, gpuarena_memory kind, uint64_t *free_bytes, uint64_t *total_bytes)
{
    sim_device *device = self->user;
    fault_answer answer = engine_begin_call(device, SIM_CALL_INFO, 0);
    int code = answer.code;
    if (code == SIM_SUCCESS && kind != GPUARENA_MEMORY_DEVICE) {
        code = SIM_NOT_SUPPORTED;
    } else if (code == SIM_SUCCESS && (!free_bytes || !total_bytes)) {
        code = SIM_INVALID_VALUE;
    }
    if (code == SIM_SUCCESS) {
        *free_bytes = devmem_free_bytes(&device->memory);
        *total_bytes = device->memory.capacity_bytes;
    }
    return engine_end_call(device, SIM_CALL_INFO, code, table_cost(device, SIM_COST_INFO, 0));
}

void table_fill_memory(gpuarena_driver *driver)
{
    driver->memory.info = table_info;
    driver->memory.obtain = table_obtain;
    driver->memory.give_back = table_give_back;
}
