/* Obtain, give back, info: memory itself is devmem's; here are codes, costs, lies, and findings for what must not
   be. */
#include "memory.h"

#include <inttypes.h>

#include "share.h"
#include "work.h"

/* Where a lying answer points: into the last granule of the lowest block, or to the first piece of the lowest slab;
   or above all addresses that were ever used. 0: there is nothing to overlap. */
static uint64_t memory_lie_offset(const sim_device *device, fault_type lie)
{
    if (lie == FAULT_MISALIGNED) return device->memory.high_offset + SLAB_ALIGNMENT / 2;
    const address_range *lowest = addresses_lowest(&device->memory.addresses);
    if (!lowest) return 0;
    return lowest->offset + (lowest->slab ? lowest->slab->pieces[0].offset : lowest->bytes - SIM_GRANULE);
}

/* 1: the lie was told. */
static int memory_lie(sim_device *device, fault_type lie, void **ptr, uint64_t bytes)
{
    sim *machine = device->sim;
    if (lie == FAULT_NULL) {
        *ptr = NULL;
        return 1;
    }
    uint64_t offset = memory_lie_offset(device, lie);
    if (offset == 0 || bytes > device->memory.capacity_bytes) return 0;
    sim_lie told = { device, engine_address(device, offset), bytes };
    machine->lies[machine->lie_count++] = told;
    *ptr = (void *)(uintptr_t)told.address;
    return 1;
}

int memory_obtain(sim_device *device, fault_type lie, void **ptr, uint64_t bytes, uint64_t *cost_ns)
{
    *cost_ns = 0;
    if (bytes == 0) {
        *ptr = NULL;
        return SIM_SUCCESS;
    }
    *cost_ns = engine_call_ns(device, SIM_CALL_OBTAIN);
    if (lie != FAULT_CALL && memory_lie(device, lie, ptr, bytes)) return SIM_SUCCESS;
    uint64_t offset;
    devmem_work work;
    devmem_result result = devmem_obtain(&device->memory, bytes, &offset, &work);
    if (result == DEVMEM_HOST_MEMORY) {
        judge_report(&device->sim->judge, device->ordinal, "no host memory left to simulate an obtain of %" PRIu64
                     " bytes", bytes);
    }
    if (result != DEVMEM_OK) return result == DEVMEM_FULL ? SIM_OUT_OF_MEMORY : SIM_UNKNOWN;
    *ptr = (void *)(uintptr_t)engine_address(device, offset);
    engine_tell(device, SIM_CALL_OBTAIN, engine_address(device, offset), bytes);
    *cost_ns = engine_cost_ns(device, work.in_slab ? SIM_COST_MALLOC_SLAB : SIM_COST_MALLOC_BLOCK, work.bytes);
    return SIM_SUCCESS;
}

/* 1: the range was a lie, and is taken back. */
static int memory_take_lie_back(sim_device *device, uint64_t address, uint64_t bytes)
{
    sim *machine = device->sim;
    for (int i = 0; i < machine->lie_count; i++) {
        const sim_lie *lie = &machine->lies[i];
        if (lie->device == device && lie->address == address && (lie->bytes == bytes || bytes == MEMORY_ANY_BYTES)) {
            machine->lies[i] = machine->lies[--machine->lie_count];
            return 1;
        }
    }
    return 0;
}

static const char *memory_free_name(uint64_t bytes)
{
    return bytes == MEMORY_ANY_BYTES ? "cudaFree" : "give_back";
}

/* Says why a range cannot be given back. offset: of the address, if own; place: the request it lies in, if held. */
static void memory_refuse_give_back(sim_device *device, uint64_t address, uint64_t bytes, const devmem_place *place)
{
    judge *book = &device->sim->judge;
    uint64_t offset;
    int own = engine_offset(device, address, &offset);
    engine_text name = engine_name(device, address);
    const char *action = memory_free_name(bytes);
    if (place && place->offset == offset) {
        judge_report(book, device->ordinal, "give_back of %s as %" PRIu64 " bytes, which were obtained as %" PRIu64,
                     name.text, bytes, place->bytes);
    } else if (place) {
        judge_report(book, device->ordinal, "%s of %s, which lies %" PRIu64 " bytes inside +0x%" PRIx64 " of %"
                     PRIu64 " bytes", action, name.text, offset - place->offset, place->offset, place->bytes);
    } else if (own && vspace_reservation(&device->memory.virtual, offset)) {
        judge_report(book, device->ordinal, "%s of %s, which are reserved addresses: release is for those", action,
                     name.text);
    } else if (own && offset >= SIM_GRANULE && offset < device->memory.high_offset) {
        judge_report(book, device->ordinal, "%s of %s, which is not held now: given back already?", action,
                     name.text);
    } else {
        judge_report(book, device->ordinal, "%s of %s, which this device never gave", action, name.text);
    }
}

int memory_give_back(sim_device *device, uint64_t address, uint64_t bytes, uint64_t *cost_ns)
{
    *cost_ns = 0;
    if (address == 0) return SIM_SUCCESS;
    if (memory_take_lie_back(device, address, bytes)) {
        *cost_ns = engine_cost_ns(device, SIM_COST_FREE_BLOCK, 0);
        return SIM_SUCCESS;
    }
    uint64_t offset;
    devmem_place place;
    int held = engine_offset(device, address, &offset) && devmem_find(&device->memory, offset, &place);
    if (held && place.range->tenant && bytes == MEMORY_ANY_BYTES) {
        work_drain_device(device, cost_ns);
        return mempool_take_now(device, address);
    }
    if (!held || place.offset != offset || (place.bytes != bytes && bytes != MEMORY_ANY_BYTES)) {
        memory_refuse_give_back(device, address, bytes, held ? &place : NULL);
        *cost_ns = engine_call_ns(device, SIM_CALL_GIVE_BACK);
        return SIM_INVALID_VALUE;
    }
    const char *holder = share_holder(device, &place);
    if (holder) {
        judge_report(&device->sim->judge, device->ordinal, "%s of %s, which %s", memory_free_name(bytes),
                     engine_name(device, address).text, holder);
        *cost_ns = engine_call_ns(device, SIM_CALL_GIVE_BACK);
        return SIM_INVALID_VALUE;
    }
    uint64_t wait_ns = 0;
    devmem_work work;
    work_drain_device(device, &wait_ns);
    access_end(device, offset, place.bytes, memory_free_name(bytes));
    engine_tell(device, SIM_CALL_GIVE_BACK, address, place.bytes);
    devmem_give_back(&device->memory, &place, &work);
    *cost_ns = wait_ns + engine_cost_ns(device, work.in_slab ? SIM_COST_FREE_SLAB : SIM_COST_FREE_BLOCK, work.bytes);
    return SIM_SUCCESS;
}

int memory_info(const sim_device *device, uint64_t *free_bytes, uint64_t *total_bytes)
{
    *free_bytes = devmem_free_bytes(&device->memory);
    *total_bytes = device->memory.capacity_bytes;
    return SIM_SUCCESS;
}

void memory_reset(sim_device *device)
{
    sim *machine = device->sim;
    mempools_destroy(device);
    devmem_clear(&device->memory);
    share_reset(device);
    touches_destroy(&device->touches);
    for (int i = machine->lie_count - 1; i >= 0; i--) {
        if (machine->lies[i].device == device) {
            machine->lies[i] = machine->lies[--machine->lie_count];
        }
    }
}

/* ---- Banks: each is a device of which nothing is used but its memory */

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

/* The fixed part alone; pieces of slabs are for device memory. */
int bank_obtain(sim_device *device, sim_bank kind, void **ptr, uint64_t bytes, uint64_t *cost_ns)
{
    sim_device *bank = &device->sim->banks[kind];
    uint64_t offset;
    devmem_work work;
    *cost_ns = engine_cost_ns(device, banks_kinds[kind].obtain, 0);
    if (bytes == 0) return SIM_INVALID_VALUE;
    devmem_result result = devmem_obtain(&bank->memory, bytes < SIM_GRANULE ? SIM_GRANULE : bytes, &offset, &work);
    if (result == DEVMEM_HOST_MEMORY) {
        judge_report(&device->sim->judge, device->ordinal, "no host memory left to simulate %" PRIu64 " bytes of %s "
                     "memory", bytes, bank->bank);
    }
    if (result != DEVMEM_OK) return result == DEVMEM_FULL ? SIM_OUT_OF_MEMORY : SIM_UNKNOWN;
    *ptr = (void *)(uintptr_t)engine_address(bank, offset);
    *cost_ns = engine_cost_ns(device, banks_kinds[kind].obtain, work.bytes);
    return SIM_SUCCESS;
}

int bank_give_back(sim_device *device, sim_bank kind, uint64_t address, uint64_t bytes, uint64_t *cost_ns)
{
    sim_device *bank = &device->sim->banks[kind];
    uint64_t offset, wait_ns = 0;
    devmem_place place;
    devmem_work work;
    *cost_ns = engine_cost_ns(device, banks_kinds[kind].give_back, 0);
    if (address == 0) return SIM_SUCCESS;
    if (!engine_offset(bank, address, &offset) || !devmem_find(&bank->memory, offset, &place)
        || place.offset != offset
        || (bytes != MEMORY_ANY_BYTES && (bytes < SIM_GRANULE ? SIM_GRANULE : bytes) != place.bytes)) {
        judge_report(&device->sim->judge, device->ordinal, "give_back of %s as %" PRIu64 " bytes of %s memory, which "
                     "it is not", engine_name(device, address).text, bytes, bank->bank);
        return SIM_INVALID_VALUE;
    }
    if (kind == SIM_BANK_MANAGED) work_drain_device(device, &wait_ns);
    access_end(bank, offset, place.bytes, "give_back");
    devmem_give_back(&bank->memory, &place, &work);
    *cost_ns = wait_ns + engine_cost_ns(device, banks_kinds[kind].give_back, work.bytes);
    return SIM_SUCCESS;
}

int bank_info(const sim_device *device, uint64_t *free_bytes, uint64_t *total_bytes)
{
    const devmem *memory = &device->sim->banks[SIM_BANK_HOST].memory;
    *free_bytes = devmem_free_bytes(memory);
    *total_bytes = memory->capacity_bytes;
    return SIM_SUCCESS;
}

/* ---- What a pool hands out and takes back: which free block is given again, to which stream, and when */

#define MEMPOOL_UNIT  ((uint64_t)512)
#define MEMPOOL_OWNER ((uint64_t)1 << 62)        /* | a block's serial: whoever frees it, as an owner */

typedef enum mempool_way { MEMPOOL_NEVER, MEMPOOL_INTERNAL, MEMPOOL_OPPORTUNISTIC, MEMPOOL_AT_ONCE } mempool_way;

/* How a stream, whose next command this is, may have a free block. */
static mempool_way mempool_way_of(const sim *machine, const mempool *self, const stream_queue *to,
                                  const mempool_block *block)
{
    if (block->is_quiet || block->stream == to->id
        || vclock_get(&machine->streams.host, block->line) >= block->position
        || (self->follow && vclock_get(&to->seen, block->line) >= block->position)) {
        return MEMPOOL_AT_ONCE;
    }
    if (self->opportunistic && block->freed.end_ns <= machine->now_ns) return MEMPOOL_OPPORTUNISTIC;
    return self->internal ? MEMPOOL_INTERNAL : MEMPOOL_NEVER;
}

/* The best way first, of equal ones the tightest, then the lowest. */
static mempool_block *mempool_search(const sim *machine, const mempool *self, const stream_queue *to, uint64_t bytes,
                               mempool_way least, mempool_way *way)
{
    mempool_block *best = NULL;
    *way = MEMPOOL_NEVER;
    for (mempool_block *block = self->free; block; block = block->free_after) {
        mempool_way here = block->bytes >= bytes ? mempool_way_of(machine, self, to, block) : MEMPOOL_NEVER;
        if (here < least) continue;
        if (here > *way || (here == *way && (block->bytes < best->bytes
                                             || (block->bytes == best->bytes && block->offset < best->offset)))) {
            best = block;
            *way = here;
        }
    }
    return best;
}

/* NULL and a code. *cost_ns: of what was done. */
static mempool_block *mempool_supply(sim_device *device, mempool *self, const stream_queue *to, uint64_t bytes,
                               mempool_way *way, int *code, uint64_t *cost_ns)
{
    const sim *machine = device->sim;
    mempool_block *found = mempool_search(machine, self, to, bytes, MEMPOOL_OPPORTUNISTIC, way);
    if (found) return found;
    *cost_ns = engine_cost_ns(device, SIM_COST_ASYNC_MISS, bytes < SIM_MAX_CAPACITY ? bytes : 0);
    *way = MEMPOOL_AT_ONCE;
    found = mempool_grow(device, self, bytes, code);
    if (found || *code != SIM_OUT_OF_MEMORY) return found;
    found = mempool_search(machine, self, to, bytes, MEMPOOL_INTERNAL, way);
    if (!found) {                                /* what is of no use as it is may make room */
        mempool_trim(device, self, 0);
        *way = MEMPOOL_AT_ONCE;
        found = mempool_grow(device, self, bytes, code);
    }
    return found;
}

static stream_queue *mempool_stream(sim_device *device, const void *handle, int *code)
{
    stream_queue *found = work_find_stream(device, handle, code);
    if (!found || !found->capture) return found;
    *code = SIM_NOT_SUPPORTED;
    return NULL;
}

/* To hand a block out, and to take it back, is a use of it, by nobody else's number: others must be in order. */
static void mempool_touch(sim_device *device, const stream_queue *by, const mempool_block *block)
{
    access_range all = { engine_address(device, block->offset), block->requested_bytes, MEMPOOL_OWNER | block->serial,
                         device->sim->judge.op, 0, 0, 0 };
    access_use(device, by, &all);
}

int mempool_hand_out(sim_device *device, mempool *self, const void *handle, void **ptr, uint64_t bytes,
                  const char *action, uint64_t *cost_ns)
{
    int code = SIM_SUCCESS;
    sim *machine = device->sim;
    mempool_way way;
    uint64_t unit = MEMPOOL_UNIT, whole = bytes > UINT64_MAX - unit ? bytes : (bytes + unit - 1) / unit * unit;
    *cost_ns = engine_cost_ns(device, SIM_COST_ASYNC_HIT, 0);
    if (bytes == 0) {
        *ptr = NULL;
        return SIM_SUCCESS;
    }
    stream_queue *to = mempool_stream(device, handle, &code);
    code = to ? work_issue(device, to, 0, action) : code;
    mempool_block *block = code == SIM_SUCCESS ? mempool_supply(device, self, to, whole, &way, &code, cost_ns) : NULL;
    if (!block) return code;
    if (way < MEMPOOL_AT_ONCE && streams_follow(&machine->streams, to, machine->now_ns, &block->freed)) {
        return SIM_OUT_OF_MEMORY;
    }
    mempool_take(self, block, whole, bytes);
    *ptr = (void *)(uintptr_t)engine_address(device, block->offset);
    mempool_touch(device, to, block);            /* no other stream may use it before this */
    return SIM_SUCCESS;
}

int mempool_take_back(sim_device *device, const void *handle, uint64_t address, uint64_t bytes, const char *action,
                   uint64_t *cost_ns)
{
    int code = SIM_SUCCESS;
    sim *machine = device->sim;
    uint64_t offset;
    *cost_ns = engine_cost_ns(device, SIM_COST_ASYNC_FREE, 0);
    if (address == 0) return SIM_SUCCESS;
    mempool_block *block = engine_offset(device, address, &offset) ? mempool_find(device, offset) : NULL;
    if (!block || !block->is_live || block->offset != offset
        || (bytes != MEMORY_ANY_BYTES && bytes != block->requested_bytes)) {
        const char *wrong = block && !block->is_live ? "is not held now: given back already?"
                          : "no pool gave like that";
        judge_report(&machine->judge, device->ordinal, "%s of %s, which %s", action,
                     engine_name(device, address).text, wrong);
        return SIM_INVALID_VALUE;
    }
    stream_queue *by = mempool_stream(device, handle, &code);
    if (by && streams_record(&machine->streams, by, machine->now_ns, &block->freed)) {
        code = SIM_OUT_OF_MEMORY;
    }
    if (code != SIM_SUCCESS) return code;
    mempool_touch(device, by, block);
    block->stream = by->id;
    block->line = by->line;
    block->position = vclock_get(&by->seen, by->line);
    mempool_free(block);
    return SIM_SUCCESS;
}

int mempool_take_now(sim_device *device, uint64_t address)
{
    uint64_t offset;
    mempool_block *block = engine_offset(device, address, &offset) ? mempool_find(device, offset) : NULL;
    if (!block || !block->is_live || block->offset != offset) return SIM_INVALID_VALUE;
    block->position = 0;
    block->is_quiet = 1;
    mempool_free(block);
    mempools_settle(device);
    return SIM_SUCCESS;
}
