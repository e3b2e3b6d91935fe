/* Pools: chunks that blocks tile, from the device and back. */
#include "mempool.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "access.h"

mempool *mempool_create(sim_device *device)
{
    mempool *made = calloc(1, sizeof *made), **end = &device->pools;
    if (!made) return NULL;
    made->follow = made->opportunistic = made->internal = 1;
    while (*end) end = &(*end)->next;
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

/* What is behind the first bytes of a free block becomes one of its own; without host memory it stays. */
static void mempool_split(mempool_block *block, uint64_t bytes)
{
    mempool_block *rest = block->bytes > bytes ? calloc(1, sizeof *rest) : NULL;
    if (!rest) return;
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

void mempool_take(mempool *self, mempool_block *block, uint64_t whole, uint64_t bytes)
{
    mempool_split(block, whole);
    mempool_unlist(block);
    block->is_live = 1;
    block->is_quiet = 0;
    block->requested_bytes = bytes;
    block->serial = ++self->serial;
    self->used_bytes += block->bytes;
    self->used_peak_bytes = self->used_bytes > self->used_peak_bytes ? self->used_bytes : self->used_peak_bytes;
}

void mempool_free(mempool_block *block)
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

mempool_block *mempool_find(const sim_device *device, uint64_t offset)
{
    const address_range *range = device->pools ? addresses_at(&device->memory.addresses, offset) : NULL;
    return range && range->tenant ? mempool_chunk_find(range->tenant, offset) : NULL;
}

static int mempool_holds(const void *tenant, uint64_t offset, uint64_t bytes)
{
    const mempool_block *block = mempool_chunk_find(tenant, offset);
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

mempool_block *mempool_grow(sim_device *device, mempool *self, uint64_t bytes, int *code)
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
