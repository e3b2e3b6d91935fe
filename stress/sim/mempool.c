/* Pools: chunks that blocks tile, from the device and back.
   Must not know who may have which block. */
#include "mempool.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"
#include "memory.h"

typedef struct mempool_block {
    mempool_chunk *chunk;
    struct mempool_block *before, *after;           /* by address */
    struct mempool_block *free_before, *free_after;
    uint64_t    offset, bytes, requested_bytes, serial;
    int         is_live, is_quiet;               /* quiet: free, and outlived by the host */
    uint64_t    stream, position;                /* free: who freed it, and at which of its commands */
    uint32_t    line;
    stream_mark freed;
} mempool_block;

struct mempool_chunk {
    mempool   *pool;
    mempool_chunk *before, *after;
    uint64_t    offset, bytes;
    mempool_block *first;
};

mempool *mempool_create(sim_device *device)
{
    mempool *made = calloc(1, sizeof *made), **end = &device->pools;
    if (!made) {
        return NULL;
    }
    made->follow = made->opportunistic = made->internal = 1;
    while (*end) {
        end = &(*end)->next;
    }
    return *end = made;
}

mempool *mempool_of(sim_device *device)
{
    return device->pools ? device->pools : mempool_create(device);
}

/* ---- blocks */

/* among the free ones of its pool */
static void mempool_list(mempool_block *block)
{
    mempool *pool = block->chunk->pool;
    block->free_before = NULL;
    block->free_after = pool->free;
    if (pool->free) {
        pool->free->free_before = block;
    }
    pool->free = block;
}

static void mempool_unlist(mempool_block *block)
{
    if (block->free_after) {
        block->free_after->free_before = block->free_before;
    }
    *(block->free_before ? &block->free_before->free_after : &block->chunk->pool->free) = block->free_after;
}

static void mempool_drop_block(mempool_block *block)
{
    vclock_destroy(&block->freed.seen);
    free(block);
}

/* What is behind the first bytes of a free block becomes one of its own; without host memory it stays. */
/* the rest apart; without host memory it stays */
static void mempool_split(mempool_block *block, uint64_t bytes)
{
    mempool_block *rest = block->bytes > bytes ? calloc(1, sizeof *rest) : NULL;
    if (!rest) {
        return;
    }
    *rest = *block;
    memset(&rest->freed.seen, 0, sizeof rest->freed.seen);
    if (vclock_reserve(&rest->freed.seen, block->freed.seen.count)) {
        free(rest);
        return;
    }
    vclock_copy(&rest->freed.seen, &block->freed.seen);
    rest->offset += bytes;
    rest->bytes -= bytes;
    rest->before = block;
    if (rest->after) {
        rest->after->before = rest;
    }
    block->after = rest;
    block->bytes = bytes;
    mempool_list(rest);
}

/* Joins a free block with the free block behind it. Two blocks that are not quiet join only if one stream freed both;
   the joined block waits for the later free. A quiet block waits for nothing and joins any free block; the joined
   block waits for what the other one waits for. */
/* 1: with the one behind it, unless two streams freed them */
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
    if (next->after) {
        next->after->before = block;
    }
    mempool_unlist(next);
    mempool_drop_block(next);
    return 1;
}

/* The block that the offset lies in; NULL: it is no pool's. */
/* NULL: it lies in none */
static mempool_block *mempool_find(const sim_device *device, uint64_t offset)
{
    const address_range *range = device->pools ? addresses_at(&device->memory.addresses, offset) : NULL;
    const mempool_chunk *chunk = range ? range->tenant : NULL;
    mempool_block *block = chunk ? chunk->first : NULL;
    while (block && offset >= block->offset + block->bytes) {
        block = block->after;
    }
    return block;
}

int mempools_hold(const sim_device *device, uint64_t offset, uint64_t bytes)
{
    const address_range *range = device->pools ? addresses_at(&device->memory.addresses, offset) : NULL;
    const mempool_block *block = range && range->tenant ? mempool_find(device, offset) : NULL;
    if (!range || !range->tenant) {
        return 1;
    }
    return block && block->is_live && offset - block->offset + bytes <= block->requested_bytes;
}

/* ---- chunks */

static uint64_t mempool_round(uint64_t bytes, uint64_t unit)
{
    return bytes > UINT64_MAX - unit ? bytes : (bytes + unit - 1) / unit * unit;
}

static void mempool_drop_chunk(sim_device *device, mempool_chunk *chunk)
{
    mempool *pool = chunk->pool;
    devmem_place place;
    devmem_work work;
    while (chunk->first) {
        mempool_block *block = chunk->first;
        chunk->first = block->after;
        if (!block->is_live) {
            mempool_unlist(block);
        }
        mempool_drop_block(block);
    }
    if (devmem_find(&device->memory, chunk->offset, &place)) {
        devmem_give_back(&device->memory, &place, &work);
    }
    pool->reserved_bytes -= chunk->bytes;
    if (chunk->after) {
        chunk->after->before = chunk->before;
    }
    *(chunk->before ? &chunk->before->after : &pool->chunks) = chunk->after;
    free(chunk);
}

static void mempool_add_chunk(mempool *self, mempool_chunk *chunk, mempool_block *block)
{
    chunk->pool = self;
    chunk->after = self->chunks;
    if (self->chunks) {
        self->chunks->before = chunk;
    }
    self->chunks = chunk;
    chunk->first = block;
    block->chunk = chunk;
    block->offset = chunk->offset;
    block->bytes = chunk->bytes;
    block->is_quiet = 1;
    mempool_list(block);
    self->reserved_bytes += chunk->bytes;
    self->reserved_peak_bytes = self->reserved_bytes > self->reserved_peak_bytes ? self->reserved_bytes
                                                                                 : self->reserved_peak_bytes;
}

static devmem_result mempool_obtain(sim_device *device, const mempool *self, uint64_t whole, uint64_t *offset)
{
    devmem_work work;
    if (self->most_bytes && (whole > self->most_bytes || self->reserved_bytes > self->most_bytes - whole)) {
        return DEVMEM_FULL;
    }
    return devmem_obtain(&device->memory, whole, offset, &work);
}

/* One that fits, all free; NULL and a code. */
/* A free block, so long at least, of a new chunk; NULL and a code. */
static mempool_block *mempool_grow(sim_device *device, mempool *self, uint64_t bytes, int *code)
{
    mempool_chunk *chunk = calloc(1, sizeof *chunk);
    mempool_block *block = calloc(1, sizeof *block);
    devmem_result result = DEVMEM_HOST_MEMORY;
    if (chunk && block) {
        chunk->bytes = mempool_round(bytes, device->pool_chunk_bytes);
        result = mempool_obtain(device, self, chunk->bytes, &chunk->offset);
    }
    if (result == DEVMEM_FULL) {                 /* the rest of a chunk is no reason to refuse */
        chunk->bytes = mempool_round(bytes, SIM_GRANULE);
        result = mempool_obtain(device, self, chunk->bytes, &chunk->offset);
    }
    if (result != DEVMEM_OK) {
        *code = result == DEVMEM_FULL ? SIM_OUT_OF_MEMORY : SIM_UNKNOWN;
        free(chunk);
        free(block);
        return NULL;
    }
    addresses_at(&device->memory.addresses, chunk->offset)->tenant = chunk;
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
    while (self->chunks) {
        mempool_drop_chunk(device, self->chunks);
    }
    while (*at != self) {
        at = &(*at)->next;
    }
    *at = self->next;
    free(self);
}

void mempools_settle(sim_device *device)
{
    mempool *self = device->pools, *next;
    for (; self; self = next) {
        next = self->next;
        mempool_trim(device, self, self->is_closed ? 0 : self->threshold_bytes);
        if (self->is_closed && !self->chunks) {
            mempool_destroy(device, self);
        }
    }
}

void mempool_close(sim_device *device, mempool *self)
{
    self->is_closed = 1;
    mempools_settle(device);
}

void mempools_destroy(sim_device *device)
{
    while (device->pools) {
        mempool_destroy(device, device->pools);
    }
}

void mempools_count(const sim_device *device, sim_counters *counters)
{
    for (const mempool *self = device->pools; self; self = self->next) {
        counters->pool_reserved_bytes += self->reserved_bytes;
        counters->pool_reserved_peak_bytes += self->reserved_peak_bytes;
        counters->pool_used_bytes += self->used_bytes;
        counters->pool_used_peak_bytes += self->used_peak_bytes;
    }
}

/* ---- What a pool hands out and takes back: which free block is given again, to which stream, and when
        */

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
    if (self->opportunistic && block->freed.end_ns <= machine->now_ns) {
        return MEMPOOL_OPPORTUNISTIC;
    }
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
        if (here < least) {
            continue;
        }
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
    if (found) {
        return found;
    }
    *cost_ns = sim_costs_ns(&machine->costs, SIM_COST_ASYNC_MISS, bytes < SIM_MAX_CAPACITY ? bytes : 0);
    *way = MEMPOOL_AT_ONCE;
    found = mempool_grow(device, self, bytes, code);
    if (found || *code != SIM_OUT_OF_MEMORY) {
        return found;
    }
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
    if (!found || !found->capture) {
        return found;
    }
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
    *cost_ns = sim_costs_ns(&machine->costs, SIM_COST_ASYNC_HIT, 0);
    if (bytes == 0) {
        *ptr = NULL;
        return SIM_SUCCESS;
    }
    stream_queue *to = mempool_stream(device, handle, &code);
    code = to ? work_issue(device, to, 0, action) : code;
    mempool_block *block = code == SIM_SUCCESS ? mempool_supply(device, self, to, whole, &way, &code, cost_ns) : NULL;
    if (!block) {
        return code;
    }
    if (way < MEMPOOL_AT_ONCE && streams_follow(&machine->streams, to, machine->now_ns, &block->freed)) {
        return SIM_OUT_OF_MEMORY;
    }
    mempool_split(block, whole);
    mempool_unlist(block);
    block->is_live = 1;
    block->is_quiet = 0;
    block->requested_bytes = bytes;
    block->serial = ++self->serial;
    self->used_bytes += block->bytes;
    self->used_peak_bytes = self->used_bytes > self->used_peak_bytes ? self->used_bytes : self->used_peak_bytes;
    *ptr = (void *)(uintptr_t)engine_address(device, block->offset);
    mempool_touch(device, to, block);            /* no other stream may use it before this */
    return SIM_SUCCESS;
}

static void mempool_free(mempool_block *block)
{
    block->is_live = 0;
    block->chunk->pool->used_bytes -= block->bytes;
    mempool_list(block);
    (void)mempool_join(block);
    if (block->before) {
        (void)mempool_join(block->before);
    }
}

int mempool_take_back(sim_device *device, const void *handle, uint64_t address, uint64_t bytes, const char *action,
                   uint64_t *cost_ns)
{
    int code = SIM_SUCCESS;
    sim *machine = device->sim;
    uint64_t offset;
    *cost_ns = sim_costs_ns(&machine->costs, SIM_COST_ASYNC_FREE, 0);
    if (address == 0) {
        return SIM_SUCCESS;
    }
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
    if (code != SIM_SUCCESS) {
        return code;
    }
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
    if (!block || !block->is_live || block->offset != offset) {
        return SIM_INVALID_VALUE;
    }
    block->position = 0;
    block->is_quiet = 1;
    mempool_free(block);
    mempools_settle(device);
    return SIM_SUCCESS;
}
