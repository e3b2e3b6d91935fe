/* A walk over an arena's blocks, and the sums that statistics must have at any time: by public calls alone. It must
   not know devices, nor its callers. Included by script_world.h and space_pages.h. */
#ifndef TESTS_ARENA_WALK_H
#define TESTS_ARENA_WALK_H

#include <stdint.h>
#include <string.h>
#include "gpuarena.h"

typedef struct arena_walk {                      /* sums by state; digests: of all but holes, and of live blocks */
    uint64_t live_count, live, requested, pending, free, free_count, holes, largest, digest, live_digest, end;
    const char *wrong;                           /* NULL: blocks follow each other in the order of their addresses */
} arena_walk;

static inline uint64_t walk_mix(uint64_t digest, uint64_t value)
{
    digest = (digest ^ value) * UINT64_C(0x9E3779B97F4A7C15);
    return digest ^ digest >> 29;
}

static inline void walk_add(arena_walk *seen, const gpuarena_block *block)
{
    switch (block->state) {
    case GPUARENA_STATE_LIVE:
        seen->live_count++;
        seen->live += block->bytes;
        seen->requested += block->requested_bytes;
        if (!block->serial || !block->requested_bytes || block->requested_bytes > block->bytes)
            seen->wrong = "a live block's serial or requested bytes";
        break;
    case GPUARENA_STATE_HOLE: seen->holes += block->bytes; break;
    case GPUARENA_STATE_PENDING: seen->pending += block->bytes; break;
    default:
        seen->free += block->bytes;
        seen->free_count++;
        if (block->bytes > seen->largest) seen->largest = block->bytes;
    }
    if (block->state != GPUARENA_STATE_LIVE && (block->serial || block->requested_bytes || block->tag))
        seen->wrong = "the fields of a block that is not live";
    if (block->resident_bytes != (block->state == GPUARENA_STATE_HOLE ? 0 : block->bytes))
        seen->wrong = "a block's resident bytes";
}

static inline gpuarena_result walk_visit(const gpuarena_block *block, void *user)
{
    arena_walk *seen = user;
    uint64_t address = (uint64_t)(uintptr_t)block->ptr;
    const uint64_t figures[] = { block->bytes, (uint64_t)block->state, block->serial, block->requested_bytes,
                                 block->tag, (uint64_t)(uintptr_t)block->stream };
    uint64_t digest = address;
    if (address < seen->end) seen->wrong = "blocks that are not in the order of addresses";
    if (!block->bytes || block->bytes % 256 || address % 256) seen->wrong = "a block that is not aligned";
    walk_add(seen, block);
    for (size_t at = 0; at < sizeof figures / sizeof *figures; at++) digest = walk_mix(digest, figures[at]);
    if (block->state != GPUARENA_STATE_HOLE) seen->digest = walk_mix(seen->digest, digest);
    if (block->state == GPUARENA_STATE_LIVE) seen->live_digest = walk_mix(seen->live_digest, digest);
    seen->end = address + block->bytes;
    return GPUARENA_OK;
}

static inline arena_walk walk_arena(const gpuarena *arena)
{
    arena_walk seen;
    memset(&seen, 0, sizeof seen);
    if (gpuarena_walk(arena, walk_visit, &seen)) seen.wrong = "a walk that fails";
    return seen;
}

/* NULL: the sums hold. */
static inline const char *wrong_sums(const gpuarena_stats *stats)
{
    uint64_t within = stats->reserved_bytes < stats->limit_bytes ? stats->reserved_bytes : stats->limit_bytes;
    if (stats->requested_bytes + stats->slack_bytes != stats->live_bytes) return "requested + slack is not live";
    if (stats->live_bytes + stats->pending_bytes + stats->cached_bytes + stats->children_bytes
        != stats->reserved_bytes) return "live + pending + cached + children is not reserved";
    if (stats->alloc_count - stats->free_count != stats->live_count) return "alloc - free is not live_count";
    if (stats->excess_bytes != stats->reserved_bytes - within) return "excess is not what is above the limit";
    if (stats->requested_peak_bytes < stats->requested_bytes || stats->live_peak_bytes < stats->live_bytes
        || stats->reserved_peak_bytes < stats->reserved_bytes) return "a peak below its value";
    return NULL;
}

#endif
