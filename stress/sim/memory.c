/* Obtain, give back, pools: memory itself is devmem's; here are codes, costs, lies, and findings for what must not
   be. */
#include "memory.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../base/program.h"
#include "share.h"
#include "work.h"

/* ---- Pools: chunks that blocks tile, from the device and back */

mempool *mempool_create(sim_device *device)
{
    mempool *made = program_need(1, sizeof *made), **end = &device->pools;
    made->follow = made->opportunistic = made->internal = 1;
    while (*end) end = &(*end)->next;
    return *end = made;
}

mempool *mempool_of(sim_device *device)
{
    return device->pools ? device->pools : mempool_create(device);
}

/* among the free ones of its pool */
static void mempool_list(mempool_block *block)
{
    mempool *pool = block->chunk->pool;
    block->free_before = NULL;
    block->free_after = pool->free;
    if (pool->free) pool->free->free_before = block;
    pool->free = block;
}

static void mempool_unlist(mempool_block *block)
{
    if (block->free_after) block->free_after->free_before = block->free_before;
    *(block->free_before ? &block->free_before->free_after : &block->chunk->pool->free) = block->free_after;
}

static void mempool_drop_block(mempool_block *block)
{
    vclock_destroy(&block->freed.seen);
    free(block);
}

/* What is behind the first bytes of a free block becomes one of its own. */
static void mempool_split(mempool_block *block, uint64_t bytes)
{
    if (block->bytes <= bytes) return;
    mempool_block *rest = program_need(1, sizeof *rest);
    *rest = *block;
    memset(&rest->freed.seen, 0, sizeof rest->freed.seen);
    vclock_copy(&rest->freed.seen, &block->freed.seen);
    rest->offset += bytes;
    rest->bytes -= bytes;
    rest->before = block;
    if (rest->after) rest->after->before = rest;
    block->after = rest;
    block->bytes = bytes;
    mempool_list(rest);
}

/* Joins a free block with the free block behind it. Two blocks that are not quiet join only if one stream freed both;
   the joined block waits for the later free. A quiet block waits for nothing and joins any free block; the joined
   block waits for what the other one waits for. 1: joined. */
static int mempool_join(mempool_block *block)
{
    mempool_block *next = block->after;
    if (!next || block->is_live || next->is_live
        || (!block->is_quiet && !next->is_quiet && block->stream != next->stream)) {
        return 0;
    }
    if (!next->is_quiet && (block->is_quiet || next->position > block->position)) {
        stream_mark earlier = block->freed;
        block->is_quiet = 0;
        block->stream = next->stream;
        block->line = next->line;
        block->position = next->position;
        block->freed = next->freed;
        next->freed = earlier;
    }
    block->bytes += next->bytes;
    block->after = next->after;
    if (next->after) next->after->before = block;
    mempool_unlist(next);
    mempool_drop_block(next);
    return 1;
}

/* Makes a free block live, or its first `whole` bytes, of which `bytes` were asked for. */
static void mempool_take(mempool *self, mempool_block *block, uint64_t whole, uint64_t bytes)
{
    mempool_split(block, whole);
    mempool_unlist(block);
    block->is_live = 1;
    block->is_quiet = 0;
    block->requested_bytes = bytes;
    block->serial = ++self->serial;
    self->used_bytes += block->bytes;
    memory_raise(&self->used_peak_bytes, self->used_bytes);
}

/* Makes a live block free, joined with its neighbours where that is allowed. */
static void mempool_free(mempool_block *block)
{
    block->is_live = 0;
    block->chunk->pool->used_bytes -= block->bytes;
    mempool_list(block);
    (void)mempool_join(block);
    if (block->before) (void)mempool_join(block->before);
}

static mempool_block *mempool_chunk_find(const mempool_chunk *chunk, uint64_t offset)
{
    mempool_block *block = chunk->first;
    while (block && offset >= block->offset + block->bytes) block = block->after;
    return block;
}

/* The block that the offset lies in; NULL: it is no pool's. */
static mempool_block *mempool_find(const sim_device *device, uint64_t offset)
{
    const address_range *range = device->pools ? addresses_at(&device->memory.addresses, offset) : NULL;
    return range && range->tenant ? mempool_chunk_find(range->tenant, offset) : NULL;
}

static int mempool_holds(const void *tenant, uint64_t offset, uint64_t bytes)
{
    const mempool_block *block = mempool_chunk_find(tenant, offset);
    return block && block->is_live && offset - block->offset + bytes <= block->requested_bytes;
}

static void mempool_drop_chunk(sim_device *device, mempool_chunk *chunk)
{
    mempool *pool = chunk->pool;
    devmem_place place;
    devmem_work work;
    while (chunk->first) {
        mempool_block *block = chunk->first;
        chunk->first = block->after;
        if (!block->is_live) mempool_unlist(block);
        mempool_drop_block(block);
    }
    if (devmem_find(&device->memory, chunk->offset, &place)) {
        devmem_give_back(&device->memory, &place, &work);
    }
    pool->reserved_bytes -= chunk->bytes;
    if (chunk->after) chunk->after->before = chunk->before;
    *(chunk->before ? &chunk->before->after : &pool->chunks) = chunk->after;
    free(chunk);
}

static void mempool_add_chunk(mempool *self, mempool_chunk *chunk, mempool_block *block)
{
    chunk->pool = self;
    chunk->after = self->chunks;
    if (self->chunks) self->chunks->before = chunk;
    self->chunks = chunk;
    chunk->first = block;
    block->chunk = chunk;
    block->offset = chunk->offset;
    block->bytes = chunk->bytes;
    block->is_quiet = 1;
    mempool_list(block);
    self->reserved_bytes += chunk->bytes;
    memory_raise(&self->reserved_peak_bytes, self->reserved_bytes);
}

static devmem_result mempool_obtain(sim_device *device, const mempool *self, uint64_t whole, uint64_t *offset)
{
    devmem_work work;
    if (self->most_bytes && (whole > self->most_bytes || self->reserved_bytes > self->most_bytes - whole)) {
        return DEVMEM_FULL;
    }
    return devmem_obtain(&device->memory, whole, offset, &work);
}

/* A free block, long enough, in a new chunk; NULL: there is no memory for it. */
static mempool_block *mempool_grow(sim_device *device, mempool *self, uint64_t bytes)
{
    mempool_chunk *chunk = program_need(1, sizeof *chunk);
    chunk->bytes = memory_round_up(bytes, device->pool_chunk_bytes);
    devmem_result result = mempool_obtain(device, self, chunk->bytes, &chunk->offset);
    if (result == DEVMEM_FULL) {                 /* the rest of a chunk is no reason to refuse */
        chunk->bytes = memory_round_up(bytes, SIM_GRANULE);
        result = mempool_obtain(device, self, chunk->bytes, &chunk->offset);
    }
    if (result == DEVMEM_FULL) {
        free(chunk);
        return NULL;
    }
    mempool_block *block = program_need(1, sizeof *block);
    addresses_at(&device->memory.addresses, chunk->offset)->tenant = chunk;
    device->memory.tenant_holds = mempool_holds;
    mempool_add_chunk(self, chunk, block);
    return block;
}

/* Takes in what the host has outlived. 1: the whole chunk is free, and may go. */
static int mempool_settle_chunk(const sim_device *device, const mempool_chunk *chunk)
{
    for (mempool_block *block = chunk->first; block; block = block->after) {
        block->is_quiet = !block->is_live
            && (block->is_quiet || vclock_get(&device->sim->streams.host, block->line) >= block->position);
    }
    for (mempool_block *block = chunk->first; block;) {
        block = mempool_join(block) ? block : block->after;
    }
    return chunk->first->is_quiet && !chunk->first->after;
}

void mempool_trim(sim_device *device, mempool *self, uint64_t keep_bytes)
{
    mempool_chunk *chunk = self->chunks, *next;
    for (; chunk; chunk = next) {
        next = chunk->after;
        if (mempool_settle_chunk(device, chunk) && self->reserved_bytes > keep_bytes
            && self->reserved_bytes - chunk->bytes >= keep_bytes) {
            access_end(device, chunk->offset, chunk->bytes, "a pool's release");
            mempool_drop_chunk(device, chunk);
        }
    }
}

static void mempool_destroy(sim_device *device, mempool *self)
{
    mempool **at = &device->pools;
    while (self->chunks) mempool_drop_chunk(device, self->chunks);
    while (*at != self) at = &(*at)->next;
    *at = self->next;
    free(self);
}

void mempools_settle(sim_device *device)
{
    mempool *self = device->pools, *next;
    for (; self; self = next) {
        next = self->next;
        mempool_trim(device, self, self->is_closed ? 0 : self->threshold_bytes);
        if (self->is_closed && !self->chunks) mempool_destroy(device, self);
    }
}

void mempool_close(sim_device *device, mempool *self)
{
    self->is_closed = 1;
    mempools_settle(device);
}

void mempools_destroy(sim_device *device)
{
    while (device->pools) mempool_destroy(device, device->pools);
}

void mempools_count(const sim_device *device, sim_counters *counters)
{
    counters->pool_reserved_bytes = counters->pool_reserved_peak_bytes = 0;
    counters->pool_used_bytes = counters->pool_used_peak_bytes = 0;
    for (const mempool *self = device->pools; self; self = self->next) {
        counters->pool_reserved_bytes += self->reserved_bytes;
        counters->pool_reserved_peak_bytes += self->reserved_peak_bytes;
        counters->pool_used_bytes += self->used_bytes;
        counters->pool_used_peak_bytes += self->used_peak_bytes;
    }
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

/* NULL: there is no memory for it. *cost_ns: of what was done. */
static mempool_block *mempool_supply(sim_device *device, mempool *self, const stream_queue *to, uint64_t bytes,
                                     mempool_way *way, uint64_t *cost_ns)
{
    const sim *machine = device->sim;
    mempool_block *found = mempool_search(machine, self, to, bytes, MEMPOOL_OPPORTUNISTIC, way);
    if (found) return found;
    *cost_ns = engine_cost_ns(device, SIM_COST_ASYNC_MISS, bytes < SIM_MAX_CAPACITY ? bytes : 0);
    *way = MEMPOOL_AT_ONCE;
    found = mempool_grow(device, self, bytes);
    if (found) return found;
    found = mempool_search(machine, self, to, bytes, MEMPOOL_INTERNAL, way);
    if (!found) {                                /* what is of no use as it is may make room */
        mempool_trim(device, self, 0);
        *way = MEMPOOL_AT_ONCE;
        found = mempool_grow(device, self, bytes);
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
                     uint64_t *cost_ns)
{
    int code = SIM_SUCCESS;
    sim *machine = device->sim;
    mempool_way way;
    uint64_t whole = memory_round_up(bytes, MEMPOOL_UNIT);
    if (bytes == 0) {
        *ptr = NULL;
        return SIM_SUCCESS;
    }
    stream_queue *to = mempool_stream(device, handle, &code);
    code = to ? work_issue(device, to, 0) : code;
    if (code != SIM_SUCCESS) return code;
    mempool_block *block = mempool_supply(device, self, to, whole, &way, cost_ns);
    if (!block) return SIM_OUT_OF_MEMORY;
    if (way < MEMPOOL_AT_ONCE) streams_follow(&machine->streams, to, machine->now_ns, &block->freed);
    mempool_take(self, block, whole, bytes);
    *ptr = (void *)(uintptr_t)engine_address(device, block->offset);
    mempool_touch(device, to, block);            /* no other stream may use it before this */
    return SIM_SUCCESS;
}

int mempool_take_back(sim_device *device, const void *handle, uint64_t address, uint64_t bytes, const char *action)
{
    int code = SIM_SUCCESS;
    sim *machine = device->sim;
    uint64_t offset;
    if (address == 0) return SIM_SUCCESS;
    mempool_block *block = engine_offset(device, address, &offset) ? mempool_find(device, offset) : NULL;
    if (!block || !block->is_live || block->offset != offset
        || (bytes != MEMORY_ANY_BYTES && bytes != block->requested_bytes)) {
        const char *wrong = block && !block->is_live ? "is not held now: given back already?"
                          : "no pool gave like that";
        ENGINE_REPORT(device, "%s of %s, which %s", action, engine_name(device, address).text, wrong);
        return SIM_INVALID_VALUE;
    }
    stream_queue *by = mempool_stream(device, handle, &code);
    if (!by) return code;
    streams_record(&machine->streams, by, machine->now_ns, &block->freed);
    mempool_touch(device, by, block);
    block->stream = by->id;
    block->line = by->line;
    block->position = vclock_get(&by->seen, by->line);
    mempool_free(block);
    return SIM_SUCCESS;
}

/* cudaFree, when the device was waited for. */
static int mempool_take_now(sim_device *device, uint64_t address)
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

/* ---- A device's memory */

/* Where a lying answer points: into the last granule of the lowest block, or to the first piece of the lowest slab;
   or above all addresses that were ever used. 0: there is nothing to overlap. */
static uint64_t memory_lie_offset(const sim_device *device, fault_type lie)
{
    if (lie == FAULT_MISALIGNED) return device->memory.high_offset + DEVMEM_ALIGNMENT / 2;
    const address_range *lowest = addresses_lowest(&device->memory.addresses);
    if (!lowest) return 0;
    return lowest->slab ? addresses_lowest(lowest->slab)->offset : lowest->offset + lowest->bytes - SIM_GRANULE;
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

/* What obtains of all kinds do. */
static int memory_take(sim_device *from, uint64_t bytes, void **ptr, devmem_work *work)
{
    uint64_t offset;
    if (devmem_obtain(&from->memory, bytes, &offset, work) != DEVMEM_OK) return SIM_OUT_OF_MEMORY;
    *ptr = (void *)(uintptr_t)engine_address(from, offset);
    return SIM_SUCCESS;
}

int memory_obtain(sim_device *device, fault_type lie, void **ptr, uint64_t bytes, uint64_t *cost_ns)
{
    devmem_work work;
    if (bytes == 0) {
        *cost_ns = 0;
        *ptr = NULL;
        return SIM_SUCCESS;
    }
    if (lie != FAULT_CALL && memory_lie(device, lie, ptr, bytes)) return SIM_SUCCESS;
    int code = memory_take(device, bytes, ptr, &work);
    if (code != SIM_SUCCESS) return code;
    engine_tell(device, SIM_CALL_OBTAIN, (uint64_t)(uintptr_t)*ptr, bytes);
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
    uint64_t offset;
    int own = engine_offset(device, address, &offset);
    engine_text name = engine_name(device, address);
    const char *action = memory_free_name(bytes);
    if (place && place->offset == offset) {
        ENGINE_REPORT(device, "give_back of %s as %" PRIu64 " bytes, which were obtained as %" PRIu64, name.text,
                      bytes, place->bytes);
    } else if (place) {
        ENGINE_REPORT(device, "%s of %s, which lies %" PRIu64 " bytes inside +0x%" PRIx64 " of %" PRIu64 " bytes",
                      action, name.text, offset - place->offset, place->offset, place->bytes);
    } else if (own && vspace_reservation(&device->memory.virtual, offset)) {
        ENGINE_REPORT(device, "%s of %s, which are reserved addresses: release is for those", action, name.text);
    } else if (own && offset >= SIM_GRANULE && offset < device->memory.high_offset) {
        ENGINE_REPORT(device, "%s of %s, which is not held now: given back already?", action, name.text);
    } else {
        ENGINE_REPORT(device, "%s of %s, which this device never gave", action, name.text);
    }
}

int memory_give_back(sim_device *device, uint64_t address, uint64_t bytes, uint64_t *cost_ns)
{
    uint64_t offset, wait_ns = 0;
    devmem_place place;
    devmem_work work;
    if (address == 0) {
        *cost_ns = 0;
        return SIM_SUCCESS;
    }
    if (memory_take_lie_back(device, address, bytes)) {
        *cost_ns = engine_cost_ns(device, SIM_COST_FREE_BLOCK, 0);
        return SIM_SUCCESS;
    }
    int held = engine_offset(device, address, &offset) && devmem_find(&device->memory, offset, &place);
    if (held && place.range->tenant && bytes == MEMORY_ANY_BYTES) {
        work_drain_device(device, &wait_ns);
        *cost_ns = wait_ns;
        return mempool_take_now(device, address);
    }
    if (!held || place.offset != offset || (place.bytes != bytes && bytes != MEMORY_ANY_BYTES)) {
        memory_refuse_give_back(device, address, bytes, held ? &place : NULL);
        return SIM_INVALID_VALUE;
    }
    const char *holder = share_holder(device, &place);
    if (holder) {
        ENGINE_REPORT(device, "%s of %s, which %s", memory_free_name(bytes), engine_name(device, address).text,
                      holder);
        return SIM_INVALID_VALUE;
    }
    work_drain_device(device, &wait_ns);
    access_end(device, offset, place.bytes, memory_free_name(bytes));
    engine_tell(device, SIM_CALL_GIVE_BACK, address, place.bytes);
    devmem_give_back(&device->memory, &place, &work);
    *cost_ns = wait_ns + engine_cost_ns(device, work.in_slab ? SIM_COST_FREE_SLAB : SIM_COST_FREE_BLOCK, work.bytes);
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
    devmem_work work;
    if (bytes == 0) return SIM_INVALID_VALUE;
    int code = memory_take(bank, bytes < SIM_GRANULE ? SIM_GRANULE : bytes, ptr, &work);
    if (code == SIM_SUCCESS) *cost_ns = engine_cost_ns(device, banks_kinds[kind].obtain, work.bytes);
    return code;
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
        ENGINE_REPORT(device, "give_back of %s as %" PRIu64 " bytes of %s memory, which it is not",
                      engine_name(device, address).text, bytes, bank->bank);
        return SIM_INVALID_VALUE;
    }
    if (kind == SIM_BANK_MANAGED) work_drain_device(device, &wait_ns);
    access_end(bank, offset, place.bytes, "give_back");
    devmem_give_back(&bank->memory, &place, &work);
    *cost_ns = wait_ns + engine_cost_ns(device, banks_kinds[kind].give_back, work.bytes);
    return SIM_SUCCESS;
}
