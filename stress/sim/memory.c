/* Calls that obtain and give back memory, and pools: codes, costs, lies, and findings about forbidden calls. The
   memory itself is devmem's. */
#include "memory.h"

/* ---- Pools: chunks from the device and back, cut into pieces that are handed out and blocks that are free */

mempool *mempool_create(sim_device *device)
{
    mempool *made = program_need(1, sizeof *made), **end = &device->pools;
    made->device = device;
    made->follow = made->opportunistic = made->internal = 1;
    while (*end) end = &(*end)->next;
    return *end = made;
}

mempool *mempool_of(sim_device *device)
{
    return device->pools ? device->pools : mempool_create(device);
}

/* The set that has a block by its size: of blocks that the same line of work has freed, or of quiet ones. */
static treap *mempool_line(mempool *self, const mempool_block *block)
{
    const size_t count = self->line_count, line = block->is_quiet ? 0 : block->line + 1;
    ARRAY_RESERVE(self->lines, self->line_count, line + 1);
    if (self->line_count > count) memset(self->lines + count, 0, (self->line_count - count) * sizeof *self->lines);
    return &self->lines[line];
}

static void mempool_list(mempool *self, mempool_block *block)
{
    const uint64_t bytes = block->bytes, offset = block->offset;
    treap_add(&self->free, &block->by_offset, block, offset, 0, 0);
    treap_add(&self->ends, &block->by_end, block, bytes, offset, ~block->freed.end_ns);
    treap_add(mempool_line(self, block), &block->by_position, block, bytes, offset, ~block->position);
    if (block->is_quiet && bytes == block->chunk->bytes) treap_weigh(&block->chunk->hole, ~bytes);
}

/* Takes a block out of all sets, before it changes. */
static void mempool_unlist(mempool *self, mempool_block *block)
{
    treap_remove(&self->free, &block->by_offset);
    treap_remove(&self->ends, &block->by_end);
    treap_remove(mempool_line(self, block), &block->by_position);
    if (block->chunk->hole.weight) treap_weigh(&block->chunk->hole, 0);
}

/* Frees a block that is in no set. */
static void mempool_drop_block(mempool_block *block)
{
    vclock_destroy(&block->freed.seen);
    free(block);
}

/* Joins a free block with one that lies right above it. Two blocks that are not quiet join only if one stream freed
   both; the joined block waits for the later free. A quiet block waits for nothing and joins any free block; the
   joined block waits for the free of the other one. NULL: they stay apart. */
static mempool_block *mempool_join(mempool *self, mempool_block *below, mempool_block *above)
{
    if (!below || !above || above->chunk != below->chunk || above->offset != below->offset + below->bytes
        || (!below->is_quiet && !above->is_quiet && below->stream != above->stream)) {
        return NULL;
    }
    int waits_above = !above->is_quiet && (below->is_quiet || above->position > below->position);
    mempool_block *joined = waits_above ? above : below, *gone = waits_above ? below : above;
    mempool_unlist(self, below);
    mempool_unlist(self, above);
    joined->offset = below->offset;
    joined->bytes += gone->bytes;
    mempool_list(self, joined);
    mempool_drop_block(gone);
    return joined;
}

/* Joins a block with its free neighbours, the one below first, then as many above as are allowed. */
static void mempool_join_all(mempool *self, mempool_block *block)
{
    mempool_block *joined = mempool_join(self, treap_until(&self->free, block->offset - 1), block);
    block = joined ? joined : block;
    while (block) block = mempool_join(self, block, treap_from(&self->free, block->offset + 1, 0, 0));
}

/* Hands out the first `whole` bytes of a free block, of which `bytes` were asked for. */
static address_range *mempool_take(mempool *self, mempool_block *block, uint64_t whole, uint64_t bytes)
{
    address_range *piece = addresses_insert(block->chunk->pieces, block->offset, whole);
    piece->requested_bytes = bytes;
    piece->serial = ++self->serial;
    self->used_bytes += whole;
    memory_raise(&self->used_peak_bytes, self->used_bytes);
    mempool_unlist(self, block);
    block->offset += whole;
    block->bytes -= whole;
    if (block->bytes) mempool_list(self, block);
    else mempool_drop_block(block);
    return piece;
}

/* Frees a piece that was handed out, and joins it with its neighbours where that is allowed. freed: by whom, and
   when. */
static void mempool_free(const devmem_place *place, const mempool_block *freed)
{
    mempool *self = place->range->pool;
    mempool_block *block = program_need(1, sizeof *block);
    *block = *freed;
    block->chunk = place->range;
    block->offset = place->offset;
    block->bytes = place->piece->bytes;
    self->used_bytes -= block->bytes;
    addresses_remove(place->range->pieces, place->piece);
    mempool_list(self, block);
    mempool_join_all(self, block);
}

/* Tells whether a pool gave it, and has not had it back. 0: place->range->pool says whose chunk the address lies
   in. */
static int mempool_find(const sim_device *device, uint64_t address, devmem_place *place)
{
    return engine_find(device, address, 1, place) && place->range->pool;
}

static void mempool_drop_chunk(mempool *self, address_range *chunk)
{
    const devmem_place place = { NULL, chunk, NULL, chunk->offset, chunk->bytes };
    mempool_block *block;
    while ((block = treap_from(&self->free, place.offset, 0, 0)) != NULL && block->chunk == chunk) {
        mempool_unlist(self, block);
        mempool_drop_block(block);
    }
    treap_remove(&self->chunks, &chunk->hole);
    self->reserved_bytes -= place.bytes;
    (void)devmem_give_back(&self->device->memory, &place);
}

/* NULL: there is no memory for it. */
static address_range *mempool_add_chunk(mempool *self, uint64_t whole)
{
    devmem_work work;
    devmem *memory = &self->device->memory;
    uint64_t most_bytes = self->most_bytes ? self->most_bytes : UINT64_MAX;
    if (whole > most_bytes || self->reserved_bytes > most_bytes - whole) return NULL;
    uint64_t offset = devmem_obtain(memory, whole, &work);
    if (!offset) return NULL;
    address_range *chunk = addresses_at(&memory->obtained, offset);
    devmem_cut(chunk);
    chunk->pool = self;
    treap_add(&self->chunks, &chunk->hole, chunk, ~++self->serial, 0, 0);
    self->reserved_bytes += whole;
    memory_raise(&self->reserved_peak_bytes, self->reserved_bytes);
    return chunk;
}

/* A free block, long enough, in a new chunk; NULL: there is no memory for it. */
static mempool_block *mempool_grow(mempool *self, uint64_t bytes)
{
    address_range *chunk = mempool_add_chunk(self, memory_round_up(bytes, self->device->pool_chunk_bytes));
    /* the rest of a chunk is no reason to refuse */
    if (!chunk) chunk = mempool_add_chunk(self, memory_round_up(bytes, SIM_GRANULE));
    if (!chunk) return NULL;
    mempool_block *block = program_need(1, sizeof *block);
    block->chunk = chunk;
    block->offset = chunk->offset;
    block->bytes = chunk->bytes;
    block->is_quiet = 1;
    mempool_list(self, block);
    return block;
}

/* Makes blocks quiet that the host has outlived, and joins them with their neighbours from low addresses to high
   ones. */
static void mempool_settle(mempool *self)
{
    mempool_block *block;
    for (uint32_t line = 1; line < self->line_count; line++) {
        const uint64_t outlived = vclock_get(&self->device->sim->streams.host, line - 1);
        while ((block = treap_from(&self->lines[line], 0, 0, ~outlived)) != NULL) {
            mempool_unlist(self, block);
            block->is_quiet = 1;
            mempool_list(self, block);
            treap_weigh(&block->by_offset, 1);
        }
    }
    while ((block = treap_from(&self->free, 0, 0, 1)) != NULL) {
        treap_weigh(&block->by_offset, 0);
        mempool_join_all(self, block);
    }
}

void mempool_trim(mempool *self, uint64_t keep_bytes)
{
    address_range *chunk;
    mempool_settle(self);
    while (self->reserved_bytes > keep_bytes
           && (chunk = treap_from(&self->chunks, 0, 0, ~(self->reserved_bytes - keep_bytes))) != NULL) {
        access_end(self->device, ACCESS_MEMORY, chunk->offset, chunk->bytes, "a pool's release");
        mempool_drop_chunk(self, chunk);
    }
}

static void mempool_destroy(mempool *self)
{
    mempool **at = &self->device->pools;
    address_range *chunk;
    while ((chunk = treap_from(&self->chunks, 0, 0, 0)) != NULL) mempool_drop_chunk(self, chunk);
    while (*at != self) at = &(*at)->next;
    *at = self->next;
    free(self->lines);
    free(self);
}

void mempools_settle(sim_device *device)
{
    mempool *self = device->pools, *next;
    for (; self; self = next) {
        next = self->next;
        mempool_trim(self, self->is_closed ? 0 : self->threshold_bytes);
        if (self->is_closed && self->reserved_bytes == 0) mempool_destroy(self);
    }
}

void mempools_destroy(sim_device *device)
{
    while (device->pools) mempool_destroy(device->pools);
    device->current_pool = NULL;
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

/* ---- Handing out and taking back: which free block is given again, to which stream, and when */

#define MEMPOOL_UNIT  ((uint64_t)512)
#define MEMPOOL_OWNER ((uint64_t)1 << 62)        /* | a piece's serial: whoever frees it, as an owner */

/* The position on a line up to which all commands come before the stream's next one. */
static uint64_t mempool_reach(const mempool *self, const stream_queue *to, uint32_t line)
{
    uint64_t reach = vclock_get(&self->device->sim->streams.host, line);
    if (self->follow || line == to->line) memory_raise(&reach, vclock_get(&to->done.seen, line));
    return reach;
}

/* The tightest block that the stream may have at once, the lowest of equal ones. NULL: none. */
static mempool_block *mempool_search(const mempool *self, const stream_queue *to, uint64_t bytes)
{
    mempool_block *best = NULL;
    for (uint32_t line = 0; line < self->line_count; line++) {
        const uint64_t reach = line ? mempool_reach(self, to, line - 1) : UINT64_MAX;
        mempool_block *found = treap_from(&self->lines[line], bytes, 0, ~reach);
        if (found && (!best || found->bytes < best->bytes
                      || (found->bytes == best->bytes && found->offset < best->offset))) best = found;
    }
    return best;
}

/* NULL: there is no memory for it. */
static mempool_block *mempool_supply(mempool *self, engine_call *by, uint64_t bytes)
{
    mempool_block *found = mempool_search(self, by->stream, bytes);
    if (!found && self->opportunistic) found = treap_from(&self->ends, bytes, 0, ~by->machine->now_ns);
    if (found) return found;
    by->cost_ns = engine_cost_ns(self->device, SIM_COST_ASYNC_MISS, bytes < SIM_MAX_CAPACITY ? bytes : 0);
    found = mempool_grow(self, bytes);
    if (!found && self->internal) found = treap_from(&self->ends, bytes, 0, 0);
    if (!found) {                                /* the release of free chunks may make room */
        mempool_trim(self, 0);
        found = mempool_grow(self, bytes);
    }
    return found;
}

/* Handing a piece out and taking it back are uses of it by an owner of its own: other uses must be in order. */
static void mempool_touch(sim_device *device, const stream_queue *by, const address_range *piece)
{
    access_range all = { engine_address(device, piece->offset), piece->requested_bytes, MEMPOOL_OWNER | piece->serial,
                         device->sim->judge.op, 0, 0, 0 };
    access_use(device, by, &all);
}

int mempool_hand_out(mempool *self, engine_call *by, void **ptr, uint64_t bytes)
{
    stream_queue *to = by->stream;
    uint64_t whole = memory_round_up(bytes, MEMPOOL_UNIT);
    if (bytes == 0) {
        *ptr = NULL;
        return SIM_SUCCESS;
    }
    int code = to->capture ? SIM_NOT_SUPPORTED : work_issue(by, to, 0);
    if (code != SIM_SUCCESS) return code;
    mempool_block *block = mempool_supply(self, by, whole);
    if (!block) return SIM_OUT_OF_MEMORY;
    if (!block->is_quiet && block->position > mempool_reach(self, to, block->line)) {
        streams_follow(&by->machine->streams, to, by->machine->now_ns, &block->freed);
    }
    const address_range *piece = mempool_take(self, block, whole, bytes);
    *ptr = (void *)(uintptr_t)engine_address(self->device, piece->offset);
    engine_tell(self->device, SIM_CALL_OBTAIN, (uint64_t)(uintptr_t)*ptr, bytes);
    mempool_touch(self->device, to, piece);      /* no other stream may use it before this */
    return SIM_SUCCESS;
}

int mempool_take_back(const engine_call *self, uint64_t address, uint64_t bytes, const char *action)
{
    devmem_place place;
    sim_device *device = self->device;
    stream_queue *by = self->stream;
    mempool_block freed = { .stream = by->id, .line = by->line };
    if (address == 0) return SIM_SUCCESS;
    if (!mempool_find(device, address, &place) || (bytes != MEMORY_ANY_BYTES && bytes != place.bytes)) {
        const char *wrong = place.range && place.range->pool && !place.piece ? "is not held now: given back already?"
                                                                             : "no pool gave like that";
        ENGINE_REPORT(device, "%s of %s, which %s", action, engine_name(device, address).text, wrong);
        return SIM_INVALID_VALUE;
    }
    if (by->capture) return SIM_NOT_SUPPORTED;
    int code = work_issue(self, by, 0);
    if (code != SIM_SUCCESS) return code;
    mark_copy(&freed.freed, &by->done);
    mempool_touch(device, by, place.piece);
    engine_tell(device, SIM_CALL_GIVE_BACK, address, place.bytes);
    freed.position = vclock_get(&by->done.seen, by->line);
    mempool_free(&place, &freed);
    return SIM_SUCCESS;
}

/* cudaFree, when the device was waited for. */
static int mempool_take_now(sim_device *device, uint64_t address)
{
    static const mempool_block quiet = { .is_quiet = 1 };
    devmem_place place;
    if (!mempool_find(device, address, &place)) return SIM_INVALID_VALUE;
    mempool_free(&place, &quiet);
    mempools_settle(device);
    return SIM_SUCCESS;
}

/* ---- A device's memory */

/* The offset of a lying answer: in the last granule of the lowest block, or that of the first piece of the lowest
   slab; or above all addresses that were ever used. 0: there is nothing to overlap. */
static uint64_t memory_lie_offset(const sim_device *device, fault_type lie)
{
    if (lie == FAULT_MISALIGNED) return device->memory.obtained.high_offset + DEVMEM_ALIGNMENT / 2;
    const address_range *lowest = addresses_lowest(&device->memory.obtained);
    if (!lowest) return 0;
    return lowest->pieces && !lowest->pool ? addresses_lowest(lowest->pieces)->offset
                                           : lowest->offset + lowest->bytes - SIM_GRANULE;
}

/* Tells a lie, if it can. 1: it was told. */
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

/* The common part of memory_obtain and bank_obtain. */
static int memory_take(sim_device *from, uint64_t bytes, void **ptr, devmem_work *work)
{
    uint64_t offset = devmem_obtain(&from->memory, bytes, work);
    if (!offset) return SIM_OUT_OF_MEMORY;
    *ptr = (void *)(uintptr_t)engine_address(from, offset);
    return SIM_SUCCESS;
}

int memory_obtain(engine_call *self, void **ptr, uint64_t bytes)
{
    devmem_work work;
    sim_device *device = self->device;
    if (bytes == 0) {
        self->cost_ns = 0;
        *ptr = NULL;
        return SIM_SUCCESS;
    }
    if (self->lie != FAULT_CALL && memory_lie(device, self->lie, ptr, bytes)) return SIM_SUCCESS;
    int code = memory_take(device, bytes, ptr, &work);
    if (code != SIM_SUCCESS) return code;
    engine_tell(device, SIM_CALL_OBTAIN, (uint64_t)(uintptr_t)*ptr, bytes);
    self->cost_ns = engine_cost_ns(device, work.in_slab ? SIM_COST_MALLOC_SLAB : SIM_COST_MALLOC_BLOCK, work.bytes);
    return SIM_SUCCESS;
}

/* Takes a range back if it was a lie. 1: it was. */
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
    if (place && place->range->pool) {
        ENGINE_REPORT(device, "%s of %s, which a pool gave", action, name.text);
    } else if (place && place->offset == offset) {
        ENGINE_REPORT(device, "give_back of %s as %" PRIu64 " bytes, which were obtained as %" PRIu64, name.text,
                      bytes, place->bytes);
    } else if (place) {
        ENGINE_REPORT(device, "%s of %s, which lies %" PRIu64 " bytes inside +0x%" PRIx64 " of %" PRIu64 " bytes",
                      action, name.text, offset - place->offset, place->offset, place->bytes);
    } else if (own && devmem_reservation(&device->memory, offset)) {
        ENGINE_REPORT(device, "%s of %s, which are reserved addresses: release is for those", action, name.text);
    } else if (own && offset >= SIM_GRANULE && offset < device->memory.obtained.high_offset) {
        ENGINE_REPORT(device, "%s of %s, which is not held now: given back already?", action, name.text);
    } else {
        ENGINE_REPORT(device, "%s of %s, which this device never gave", action, name.text);
    }
}

int memory_give_back(engine_call *self, uint64_t address, uint64_t bytes, int is_done)
{
    sim_device *device = self->device;
    devmem_place place;
    if (address == 0) {
        self->cost_ns = 0;
        return SIM_SUCCESS;
    }
    if (memory_take_lie_back(device, address, bytes)) {
        self->cost_ns = engine_cost_ns(device, SIM_COST_FREE_BLOCK, 0);
        return SIM_SUCCESS;
    }
    const int is_held = engine_find(device, address, 0, &place), has_bytes = bytes != MEMORY_ANY_BYTES;
    if (place.range && place.range->pool && !has_bytes) {
        self->cost_ns = 0;
        work_drain_device(self);
        return mempool_take_now(device, address);
    }
    if (!is_held || place.range->pool || engine_address(device, place.offset) != address
        || (has_bytes && place.bytes != bytes)) {
        memory_refuse_give_back(device, address, bytes, is_held ? &place : NULL);
        return SIM_INVALID_VALUE;
    }
    const char *holder = share_holder(device, &place);
    if (holder) {
        ENGINE_REPORT(device, "%s of %s, which %s", memory_free_name(bytes), engine_name(device, address).text,
                      holder);
        return SIM_INVALID_VALUE;
    }
    self->cost_ns = 0;
    if (is_done) access_end(device, ACCESS_MEMORY, place.offset, place.bytes, memory_free_name(bytes));
    work_drain_device(self);
    access_end(device, ACCESS_MEMORY, place.offset, place.bytes, memory_free_name(bytes));
    engine_tell(device, SIM_CALL_GIVE_BACK, address, place.bytes);
    const devmem_work work = devmem_give_back(&device->memory, &place);
    self->cost_ns += engine_cost_ns(device, work.in_slab ? SIM_COST_FREE_SLAB : SIM_COST_FREE_BLOCK, work.bytes);
    return SIM_SUCCESS;
}

void memory_reset(sim_device *device)
{
    sim *machine = device->sim;
    mempools_destroy(device);
    devmem_clear(&device->memory);
    device->opened = (treap){ NULL, 0 };
    devmem_forget_touches(&device->memory);
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

/* Whole granules: pieces of slabs are for device memory alone. */
int bank_obtain(engine_call *self, sim_bank kind, void **ptr, uint64_t bytes)
{
    sim_device *bank = &self->machine->banks[kind];
    devmem_work work;
    if (bytes == 0) return SIM_INVALID_VALUE;
    int code = memory_take(bank, bytes < SIM_GRANULE ? SIM_GRANULE : bytes, ptr, &work);
    if (code != SIM_SUCCESS) return code;
    engine_tell(bank, SIM_CALL_OBTAIN, (uint64_t)(uintptr_t)*ptr, bytes);
    self->cost_ns = engine_cost_ns(bank, banks_kinds[kind].obtain, work.bytes);
    return SIM_SUCCESS;
}

int bank_give_back(engine_call *self, sim_bank kind, uint64_t address, uint64_t bytes)
{
    sim_device *device = self->device, *bank = &self->machine->banks[kind];
    devmem_place place;
    self->cost_ns = engine_cost_ns(device, banks_kinds[kind].give_back, 0);
    if (address == 0) return SIM_SUCCESS;
    if (!engine_find(bank, address, 1, &place) || (bytes < SIM_GRANULE ? SIM_GRANULE : bytes) != place.bytes) {
        ENGINE_REPORT(device, "give_back of %s as %" PRIu64 " bytes of %s memory, which it is not",
                      engine_name(device, address).text, bytes, bank->bank);
        return SIM_INVALID_VALUE;
    }
    self->cost_ns = 0;
    if (kind == SIM_BANK_MANAGED) work_drain_device(self);
    access_end(bank, ACCESS_MEMORY, place.offset, place.bytes, "give_back");
    engine_tell(bank, SIM_CALL_GIVE_BACK, address, bytes);
    const devmem_work work = devmem_give_back(&bank->memory, &place);
    self->cost_ns += engine_cost_ns(device, banks_kinds[kind].give_back, work.bytes);
    return SIM_SUCCESS;
}
