/* What the streams test knows of memory as a whole: the walk against the sums and the device, page by page, and which
   refusals are spurious.
   It must not know blocks, streams' order or captures. Included by test_streams.c. */
#ifndef TESTS_WORLD_PAGES_H
#define TESTS_WORLD_PAGES_H

#include "world.h"

/* busy: handles that hold a live byte, and segments that do. run: of free blocks side by side. */
typedef struct walk_sums {
    uint64_t live_bytes, free_bytes, longest_bytes, live_count, paged_bytes, idle_bytes, busy_bytes;
    uint64_t handle_count, handle_bytes;
    uint64_t run_begin, run_end, busy_end;
    const world_range *range;
} walk_sums;

static inline const world_range *world_range_of(const void *ptr)
{
    for (uint32_t at = 0; at < world.range_count; at++)
        if (bench_number(ptr) - world.ranges[at].address < world.ranges[at].bytes) return &world.ranges[at];
    return NULL;
}

/* The handle around a backed address of a paged range. */
static inline void world_handle(uint64_t address, uint64_t *begin, uint64_t *end)
{
    const gpuarena__range *range = world.arena->ranges.first;
    uint64_t page = world.page_bytes, at;
    while (address - range->address >= range->bytes) range = range->after;
    at = (address - range->address) / page;
    if (range->parts[at] & GPUARENA__INSIDE) at -= range->parts[at] & ~GPUARENA__INSIDE;
    *begin = range->address + at * page;
    *end = *begin + range->parts[at] * page;
}

static inline void walk_end_run(walk_sums *sums)
{
    uint64_t bytes = sums->run_end - sums->run_begin, at = sums->run_begin, begin, end;
    if (bytes > sums->longest_bytes) sums->longest_bytes = bytes;
    for (; at < sums->run_end && sums->range && sums->range->is_addresses; at = end) {
        world_handle(at, &begin, &end);
        if (begin >= sums->run_begin && end <= sums->run_end) sums->idle_bytes += end - begin;
    }
    sums->run_begin = sums->run_end = 0;
}

static inline void walk_live(walk_sums *sums, uint64_t begin, uint64_t end)
{
    uint64_t from = sums->range->address, to = from + sums->range->bytes, ignored;
    if (sums->range->is_addresses) {
        world_handle(begin, &from, &ignored);
        world_handle(end - 1, &ignored, &to);
    }
    if (from < sums->busy_end) from = sums->busy_end;
    if (to > from) sums->busy_bytes += to - from;
    sums->busy_end = to > sums->busy_end ? to : sums->busy_end;
}

static inline gpuarena_result walk_visit(const gpuarena_block *at, void *user)
{
    walk_sums *sums = user;
    const world_range *range = world_range_of(at->ptr);
    uint64_t begin = bench_number(at->ptr);
    int live = at->state == GPUARENA_STATE_LIVE, hole = at->state == GPUARENA_STATE_HOLE;
    if (!range) {
        blame("a block of the walk is in no range", 0);
        return GPUARENA_OK;
    }
    if (range != sums->range || live || hole) walk_end_run(sums);
    sums->range = range;
    if (at->resident_bytes != (hole ? 0 : at->bytes)) blame("what is no hole is resident", 0);
    if (range->is_addresses && !hole) {
        uint64_t from = begin, first, end;
        sums->paged_bytes += at->bytes;
        for (; from < begin + at->bytes; from = end) {
            world_handle(from, &first, &end);
            sums->handle_count += first >= begin;
            if (first >= begin) sums->handle_bytes += end - first;
        }
    }
    if (hole) return GPUARENA_OK;
    if (live) {
        sums->live_bytes += at->bytes;
        sums->live_count++;
        walk_live(sums, begin, begin + at->bytes);
        return GPUARENA_OK;
    }
    sums->free_bytes += at->bytes;
    if (!sums->run_end) sums->run_begin = begin;
    sums->run_end = begin + at->bytes;
    return GPUARENA_OK;
}

static inline walk_sums world_walk(void)
{
    walk_sums sums;
    memset(&sums, 0, sizeof sums);
    if (gpuarena_walk(world.arena, walk_visit, &sums)) blame("walk", 0);
    walk_end_run(&sums);
    return sums;
}

static inline int world_has_sets(void)
{
    for (uint32_t at = 1; at < world.arena->streams.count; at++)
        if (world.arena->streams.list[at].home) return 1;
    return 0;
}

/* The figure that is found by a few looks, against a walk over all blocks. */
static inline void audit_largest(const gpuarena_stats *stats)
{
    if (world_has_sets()) return;
    walk_sums sums = world_walk();
    uint64_t spare = stats->reserved_bytes - sums.live_bytes - sums.free_bytes;
    uint64_t idle = spare + (world.idle_moves ? sums.idle_bytes : 0);
    if ((sums.longest_bytes > idle ? sums.longest_bytes : idle) != stats->largest_free_bytes)
        blame("largest_free is the longest run, or what is idle", (int)(stats->largest_free_bytes >> 10));
}

/* The idle pages outside of a span, which are counted by few looks, against a walk over all blocks. */
static inline void audit_idle_pages(const void *ptr)
{
    const gpuarena__range *range = gpuarena__range_of(world.arena, bench_number(ptr));
    uint64_t begin, end, most = MIB(64);
    if (!world.page_bytes || !range || !range->pages) return;
    begin = range->address + draw_look(bench_number(ptr) - range->address + 1);
    if (range->address + range->bytes - begin < most) most = range->address + range->bytes - begin;
    end = begin + 1 + draw_look(most);
    tally.idle_spans++;
    gpuarena__seen walked = { 0, 0, gpuarena__round_down(begin, world.page_bytes),
                              gpuarena__whole(end, world.page_bytes) };
    gpuarena__free_runs(world.arena, &walked);
    if (gpuarena__idle_pages(world.arena, begin, end) != walked.page_count)
        blame("idle pages outside of a span are those walked", (int)((end - begin) >> 10));
}

/* How figures are found: by a few looks at the ends of runs; of streams that have more than fits into slots. */
static inline void world_count_figures(void)
{
    gpuarena__seen seen = { 0, 0, 0, 0 };
    int crowded = 0;
    tally.quick_figures += world.arena->streams.many && gpuarena__seams_show(world.arena, &seen);
    for (uint32_t at = 1; at < world.arena->streams.count; at++) {
        const gpuarena__bins *bins = world.arena->streams.list[at].bins;
        crowded |= bins != &world.arena->bins && (bins->root[0] || bins->root[1]);
        for (uint32_t number = 0; number < GPUARENA__CLASSES && bins != &world.arena->bins; number++)
            crowded |= bins->overflow[number] != 0;
    }
    tally.crowded += (uint64_t)crowded;
}

static inline void audit_walk(const gpuarena_stats *stats)
{
    char message[200];
    walk_sums sums = world_walk();
    sim_counters counters = world_counters();
    uint64_t spare = stats->reserved_bytes - sums.live_bytes - sums.free_bytes;
    if (gpuarena_check(world.arena, message, sizeof message) && !world.trouble[0])
        snprintf(world.trouble, sizeof world.trouble, "property: check finds nothing: %s", message);
    if (sums.live_count != stats->live_count || sums.live_bytes != stats->live_bytes)
        blame("walk and statistics agree", 0);
    if (spare != world.arena->paged.spare_pages * world.page_bytes) blame("what is reserved is walked or spare", 0);
    if (world.page_bytes && !world.arena->paged.unmap_failed_count) {
        if (counters.mapping_count != sums.handle_count || sums.handle_bytes != sums.paged_bytes)
            blame("what is mapped is what is walked", (int)counters.mapping_count);
        if (counters.handle_count != sums.handle_count + world.arena->paged.spare_count)
            blame("handles are those mapped and spare ones", (int)counters.handle_count);
    }
}

/* A refusal, with nothing in the way but memory, of a paged arena: it is spurious, if the request's pages would fit
   beside all that hold a live byte, for all others can be waited for, and move. */
static inline void world_judge_refusal(const gpuarena_request *request)
{
    uint64_t unit = request->flags & GPUARENA_ALLOC_DEDICATED ? SIM_GRANULE : world.page_bytes, need;
    if (!with(WITH_PAGES) || !world.idle_moves || world.captures || request->flags & GPUARENA_ALLOC_TRY
        || world.arena->paged.unmap_failed_count || world_has_sets()
        || (request->flags & GPUARENA_ALLOC_DEDICATED && request->alignment_bytes)) return;
    walk_sums sums = world_walk();
    need = sums.busy_bytes + (request->bytes + unit - 1) / unit * unit;
    tally.judged++;
    if (need <= world.limit && need <= world.device_bytes) blame("a refusal is not spurious", (int)(need >> 20));
}

#endif
