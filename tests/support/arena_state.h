/* What tests ask after calls: do sums hold, does the walk tile the ledger, did anything change.
   It must not know how the arena works inside: it reads public calls and the fake device's ledger alone.
   Included by the tests of the header; run them with `make test`. */
#ifndef TESTS_ARENA_STATE_H
#define TESTS_ARENA_STATE_H

#include "fake_driver.h"
#include "tap.h"

typedef struct arena_state {
    gpuarena_stats stats;
    uint64_t digest;                             /* of all blocks */
    uint64_t live_count, live_bytes, requested_bytes, free_bytes, largest_bytes, free_count;
    uint64_t failure_serial;
    const fake_device *device;                   /* the walk's place in the ledger; NULL: not compared */
    size_t   range;
    uint64_t end;                                /* of the last block */
    int      last_free;
    const char *wrong;                           /* NULL: the walk is sound */
} arena_state;

static inline uint64_t state_mix(uint64_t digest, uint64_t value)
{
    digest = (digest ^ value) * UINT64_C(0x9E3779B97F4A7C15);
    return digest ^ digest >> 29;
}

/* The ledger: blocks follow each other without a gap from the start of each range to its end. */
static inline void state_tile(arena_state *state, const gpuarena_block *block)
{
    const fake_device *device = state->device;
    uint64_t address = fake_address(block->ptr);
    int starts = state->range < device->range_count && device->ranges[state->range].address == address;
    if (!starts && address != state->end) state->wrong = "a gap between blocks inside a segment";
    if (state->range >= device->range_count) {
        state->wrong = "a block outside what the driver gave";
        return;
    }
    const fake_range *range = &device->ranges[state->range];
    if (address < range->address || address + block->bytes > range->address + range->bytes)
        state->wrong = "a block passes its segment";
    if (!starts && state->last_free && block->state == GPUARENA_STATE_FREE) state->wrong = "two free neighbours";
    if (address + block->bytes == range->address + range->bytes) state->range++;
}

static inline gpuarena_result state_visit(const gpuarena_block *block, void *user)
{
    arena_state *state = user;
    int live = block->state == GPUARENA_STATE_LIVE;
    uint64_t address = fake_address(block->ptr);
    if (address < state->end) state->wrong = "blocks are not in address order";
    if (block->bytes == 0 || block->bytes % 256 != 0 || address % 256 != 0) state->wrong = "a block is not aligned";
    if (block->resident_bytes != block->bytes) state->wrong = "resident is not bytes";
    if (live && (block->serial == 0 || block->requested_bytes == 0 || block->requested_bytes > block->bytes))
        state->wrong = "a live block's serial or requested";
    if (!live && (block->state != GPUARENA_STATE_FREE || block->serial || block->requested_bytes || block->tag))
        state->wrong = "a free block's fields";
    if (state->device) state_tile(state, block);
    uint64_t digest = state_mix(state_mix(address, block->bytes), (uint64_t)block->state);
    digest = state_mix(state_mix(digest, block->serial), block->requested_bytes ^ (uint64_t)block->tag << 32);
    digest = state_mix(digest, (uint64_t)(uintptr_t)block->stream);
    state->digest = state_mix(state->digest, digest);
    if (live) {
        state->live_count++;
        state->live_bytes += block->bytes;
        state->requested_bytes += block->requested_bytes;
    } else {
        state->free_count++;
        state->free_bytes += block->bytes;
        if (block->bytes > state->largest_bytes) state->largest_bytes = block->bytes;
    }
    state->end = address + block->bytes;
    state->last_free = !live;
    return GPUARENA_OK;
}

/* Everything that can be seen of the arena. device: NULL, or the one that serves this arena alone. */
static inline void state_take(const gpuarena *arena, const fake_device *device, arena_state *state)
{
    gpuarena_failure failure;
    memset(state, 0, sizeof *state);
    state->device = device;
    if (gpuarena_walk(arena, state_visit, state) != GPUARENA_OK) state->wrong = "walk failed";
    if (device && !state->wrong && state->range != device->range_count) state->wrong = "a segment without blocks";
    gpuarena_walk_stats(arena, &state->stats);
    gpuarena_last_failure(arena, &failure);
    state->failure_serial = failure.serial;
}

/* The sums of the manual, from the statistics alone: cheap. "": they hold. */
static inline const char *state_sums(const gpuarena_stats *stats)
{
    if (stats->requested_bytes + stats->slack_bytes != stats->live_bytes) return "requested + slack is not live";
    if (stats->live_bytes + stats->pending_bytes + stats->cached_bytes
        + stats->children_bytes != stats->reserved_bytes)
        return "live + pending + cached + children is not reserved";
    if (stats->pending_bytes || stats->children_bytes
        || stats->stranded_bytes) return "pending, children or stranded";
    if (stats->alloc_count - stats->free_count != stats->live_count) return "alloc - free is not live_count";
    if (stats->largest_free_bytes > stats->cached_bytes) return "largest free above cached";
    if ((stats->largest_free_bytes == 0) != (stats->cached_bytes == 0)) return "largest free 0 and cached not, or so";
    if (stats->reserved_bytes % FAKE_GRANULE != 0) return "reserved is no multiple of the granule";
    if (stats->requested_peak_bytes < stats->requested_bytes || stats->live_peak_bytes < stats->live_bytes
        || stats->reserved_peak_bytes < stats->reserved_bytes)
        return "a peak below its current value";
    return "";
}

/* The whole audit: sums, walk against sums and ledger, gpuarena_check. "": nothing wrong. */
static inline const char *state_audit(const gpuarena *arena, const fake_device *device)
{
    static char message[128];
    arena_state state;
    state_take(arena, device, &state);
    if (state.wrong) return state.wrong;
    if (state_sums(&state.stats)[0]) return state_sums(&state.stats);
    if (state.live_count != state.stats.live_count || state.live_bytes != state.stats.live_bytes
        || state.requested_bytes != state.stats.requested_bytes)
        return "walk and statistics differ in live blocks";
    if (state.free_bytes != state.stats.cached_bytes) return "walk and cached differ";
    if (state.largest_bytes != state.stats.largest_free_bytes) return "walk and largest free differ";
    if (device && device->held_bytes != state.stats.reserved_bytes) return "ledger and reserved differ";
    if (device && device->host_bytes != state.stats.host_bytes) return "host_bytes is not what was allocated";
    if (gpuarena_check(arena, message, sizeof message) != GPUARENA_OK) return message;
    return "";
}

/* 1: the same blocks and bytes; counters may differ. */
static inline int state_same(const arena_state *before, const arena_state *after)
{
    const gpuarena_stats *left = &before->stats, *right = &after->stats;
    return before->digest == after->digest && left->requested_bytes == right->requested_bytes
        && left->slack_bytes == right->slack_bytes && left->live_bytes == right->live_bytes
        && left->cached_bytes == right->cached_bytes && left->reserved_bytes == right->reserved_bytes
        && left->limit_bytes == right->limit_bytes && left->largest_free_bytes == right->largest_free_bytes
        && left->requested_peak_bytes == right->requested_peak_bytes
            && left->live_peak_bytes == right->live_peak_bytes
        && left->live_count == right->live_count && left->alloc_count == right->alloc_count
        && left->free_count == right->free_count;
}

/* A new arena that the test cannot do without: NULL after a failed check. */
static inline gpuarena *state_arena(const gpuarena_config *config)
{
    gpuarena *arena = NULL;
    gpuarena_result result = gpuarena_create(config, &arena);
    if (result != GPUARENA_OK) {
        gpuarena_failure failure;
        gpuarena_last_failure(NULL, &failure);
        CHECK_MSG(0, "create: %s: %s", gpuarena_result_name(result), failure.detail);
        return NULL;
    }
    return arena;
}

/* Allocates, or NULL after a failed check. */
static inline void *state_alloc(gpuarena *arena, uint64_t bytes)
{
    void *ptr = NULL;
    gpuarena_result result = gpuarena_alloc(arena, &ptr, bytes, NULL);
    if (result != GPUARENA_OK) CHECK_MSG(0, "alloc %" PRIu64 ": %s", bytes, gpuarena_result_name(result));
    return ptr;
}

/* Ends the arena and its device: all audited, nothing left anywhere. */
static inline void state_end(gpuarena *arena, fake_device *device, const char *name)
{
    const char *wrong = state_audit(arena, device);
    CHECK_MSG(wrong[0] == '\0', "%s: audit %s", name, wrong);
    CHECK_MSG(gpuarena_reset(arena, NULL) == GPUARENA_OK, "%s: reset", name);
    CHECK_MSG(gpuarena_destroy(arena) == GPUARENA_OK, "%s: destroy", name);
    CHECK_MSG(fake_close(device), "%s: no memory left, every call legal, limit never passed", name);
}

#endif
