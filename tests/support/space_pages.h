/* Paged ranges from inside: which page backs which addresses, which handles are spare, and so the state that a call
   which fails must leave unchanged; figures that few looks find. The implementation is private here. It must not know
   the subjects of tests. Included by space_state.h. */
#ifndef TESTS_SPACE_PAGES_H
#define TESTS_SPACE_PAGES_H

#include <stdint.h>

static uint64_t space_handle_part = 4096;        /* 2: large handles, though the device is small */
#define GPUARENA__HANDLE_PART space_handle_part
#define GPUARENA_STATIC
#ifdef GPUARENA_H
#error "the implementation is built without GPUARENA__HANDLE_PART: include this first"
#endif
#include "gpuarena.h"
#include "arena_walk.h"
#include "sim_device.h"

typedef struct pages_state {
    gpuarena_stats stats;
    arena_walk seen;
    uint64_t mapped, idle, held_bytes, handle_count, mapping_count;
    uint32_t spare_count;
    gpuarena__handle spare[64];
} pages_state;

/* A hash of which page backs which addresses; *idle: how many have their handle inside one free block, counted page
   by page. */
static inline uint64_t pages_mapped(const gpuarena *arena, uint64_t *idle)
{
    uint64_t hash = 0, page = arena->paged.page_bytes;
    *idle = 0;
    for (const gpuarena__range *range = arena->ranges.first; range; range = range->after) {
        for (uint32_t index = range->first; index && range->pages; index = gpuarena__node_at(arena, index)->next) {
            const gpuarena__node *node = gpuarena__node_at(arena, index);
            uint64_t begin = node->address - range->address, end = begin + gpuarena__node_bytes(node);
            for (uint64_t at = begin / page; !(node->size & GPUARENA__HOLE) && at * page < end; at++) {
                uint64_t first = at - gpuarena__pages_back(range, at);
                hash = walk_mix(walk_mix(hash, at), range->pages[first]);
                *idle += !(node->size & GPUARENA__LIVE) && first * page >= begin
                    && (first + range->parts[first]) * page <= end;
            }
        }
    }
    return hash;
}

static inline pages_state pages_look(const sim *machine, const gpuarena *arena)
{
    pages_state state;
    sim_counters counters;
    sim_get_counters(machine, 0, &counters);
    memset(&state, 0, sizeof state);
    gpuarena_walk_stats(arena, &state.stats);
    state.seen = walk_arena(arena);
    state.mapped = pages_mapped(arena, &state.idle);
    state.held_bytes = counters.held_bytes;
    state.handle_count = counters.handle_count;
    state.mapping_count = counters.mapping_count;
    state.spare_count = arena->paged.spare_count;
    for (uint32_t at = 0; at < state.spare_count && at < COUNT(state.spare); at++)
        state.spare[at] = arena->paged.spare[at];
    return state;
}

/* Tells whether some spare handle was not spare before. */
static inline int pages_have_new_spare(const pages_state *before, const pages_state *after)
{
    for (uint32_t at = 0, old; at < after->spare_count && at < COUNT(after->spare); at++) {
        for (old = 0; old < before->spare_count && old < COUNT(before->spare); old++)
            if (before->spare[old].id == after->spare[at].id) break;
        if (old == before->spare_count) return 1;
    }
    return 0;
}

/* The free blocks as they would be if all streams were done, by a walk over all blocks: see gpuarena__seen. */
static inline void pages_walk(const gpuarena *arena, gpuarena__seen *seen)
{
    gpuarena__node run = GPUARENA_INIT;     /* address and size of the run so far */
    for (gpuarena__iterator at = gpuarena__blocks(arena); at.index; gpuarena__next(arena, &at)) {
        int goes_on = gpuarena__is_free(at.node) && !gpuarena__in_capture_set(arena, at.node);
        if (run.size && (!goes_on || !at.node->prev)) {
            seen->page_count += gpuarena__pages_outside(arena, &run, seen);
            run.size = 0;
        }
        if (!goes_on) continue;
        if (!run.size) run.address = at.node->address;
        run.size += gpuarena__node_bytes(at.node);
        seen->longest = gpuarena__max(seen->longest, run.size);
    }
    if (run.size) seen->page_count += gpuarena__pages_outside(arena, &run, seen);
}

/* The longest free block, or the idle bytes where pages move, by a walk over all blocks. */
static inline uint64_t pages_longest(const gpuarena *arena)
{
    gpuarena__seen seen = { 0, 0, 0, 0 };
    pages_walk(arena, &seen);
    uint64_t count = arena->config.idle_fraction < 1 ? seen.page_count : 0;
    count = (count + arena->paged.spare_pages) * arena->paged.page_bytes;
    return seen.longest > count ? seen.longest : count;
}

/* The first difference in the state that a failure must not change; "": there is none. Addresses without memory may
   have been reserved: they cost nothing, and the next request has them. */
static inline const char *pages_differ(const pages_state *before, const pages_state *after)
{
#define SAME(field) if (before->field != after->field) return #field
    SAME(stats.requested_bytes); SAME(stats.live_bytes); SAME(stats.pending_bytes); SAME(stats.cached_bytes);
    SAME(stats.reserved_bytes); SAME(stats.limit_bytes); SAME(stats.largest_free_bytes); SAME(stats.stranded_bytes);
    SAME(stats.requested_peak_bytes); SAME(stats.live_peak_bytes); SAME(stats.reserved_peak_bytes);
    SAME(stats.live_count); SAME(stats.alloc_count); SAME(stats.free_count); SAME(stats.remapped_page_count);
    SAME(stats.grow_count); SAME(stats.release_count); SAME(seen.digest); SAME(mapped); SAME(held_bytes);
    SAME(handle_count); SAME(mapping_count);
#undef SAME
    return "";
}

/* "": all handles are mapped or spare, and idle pages are those counted. */
static inline const char *pages_audit(const pages_state *state, const gpuarena *arena)
{
    if (!arena->paged.unmap_failed_count && state->mapping_count + state->spare_count != state->handle_count)
        return "handles are not those mapped and those spare";
    return arena->paged.idle_count == state->idle ? "" : "idle pages are not those counted";
}

/* 1: the idle pages outside of a span, counted by few looks, are those that a walk over all blocks counts. */
static inline int pages_span_is_so(const gpuarena *arena, uint64_t chance)
{
    const gpuarena__range *range = arena->ranges.first;
    uint64_t page = arena->paged.page_bytes, begin, end;
    while (range && !range->pages) range = range->after;
    if (!range) return 1;
    begin = chance % (range->bytes < MIB(64) ? range->bytes : MIB(64));
    end = begin + 1 + (chance >> 32) % (range->bytes - begin < MIB(64) ? range->bytes - begin : MIB(64));
    gpuarena__seen walked = { 0, 0, gpuarena__round_down(range->address + begin, page),
                              gpuarena__whole(range->address + end, page) };
    pages_walk(arena, &walked);
    return gpuarena__idle_pages(arena, range->address + begin, range->address + end) == walked.page_count;
}

#endif
