/* What a pool hands out and takes back: which free block is given again, to which stream, and when.
   Must not know of calls, nor how blocks are kept.
   Tested by tests/test_sim_mempool.c. */
#include "mempool_blocks.h"

#include <inttypes.h>

#include "access.h"
#include "memory.h"

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
