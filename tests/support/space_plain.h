/* What holds after each call of a plain arena, one of segments on a device without events, where all that is free
   is quiet: why a request is refused is known from the ledger alone. And what holds in every arena: what a free of
   a pointer that is none answers. It must share no code with the header: it goes by the contracts. Included by
   space.h. */
#ifndef TESTS_SPACE_PLAIN_H
#define TESTS_SPACE_PLAIN_H

#include "space_state.h"

#define SPACE_PLAIN MIB(500)                     /* devices up to that, which are not small, are plain */
#define SPACE_MOST ((uint64_t)1 << 49)           /* of size and alignment together */

/* Another process and the headroom apart, the driver would give so much beside what is kept. */
static inline int plain_device_has(uint64_t kept, uint64_t bytes)
{
    return bytes <= space.largest_bytes
        && kept + bytes + space.shadow.rival_bytes + space.config.headroom_bytes <= space.shadow.device_bytes;
}

/* An allocation was refused. refused: how often the driver had refused before. */
static inline void plain_judge(const gpuarena_request *request, const gpuarena_failure *failure, uint64_t refused)
{
    uint64_t unit = space.config.alignment, held = space_held(), busy = shadow_busy(&space.shadow);
    uint64_t alignment = request->alignment_bytes > unit ? request->alignment_bytes : unit;
    uint64_t bytes = shadow_up(request->bytes < SPACE_MOST ? request->bytes : SPACE_MOST, unit);
    int too_large = request->bytes > SPACE_MOST || alignment > SPACE_MOST || bytes + alignment - unit > SPACE_MOST;
    uint64_t need = too_large ? UINT64_MAX / 4 : shadow_up(bytes + alignment - unit, SHADOW_GRANULE);
    uint64_t limit = space.shadow.limit, cached = held - space.live_bytes;
    int over = busy + need > limit;
    if (request->bytes > SPACE_MOST) {
        if (failure->reason != GPUARENA_REASON_TOO_LARGE) space_blame("too large, for another reason");
        return;
    }
    if (held > limit) {
        if (failure->reason != GPUARENA_REASON_OVER_LIMIT) space_blame("above a lowered limit, for another reason");
        return;
    }
    if (shadow_gap(&space.shadow, bytes, alignment)) space_blame("refused, though a free block fits");
    if (request->flags & GPUARENA_ALLOC_TRY) {
        if (failure->reason != GPUARENA_REASON_TRY_ONLY) space_blame("only tried, for another reason");
        return;
    }
    if (!over && !space.struck && plain_device_has(busy, need)) space_blame("refused, though it could have grown");
    int is_true = 0;
    switch (failure->reason) {
    case GPUARENA_REASON_OVER_LIMIT:
        is_true = over && cached < bytes && failure->missing_bytes == busy + need - limit;
        break;
    case GPUARENA_REASON_FRAGMENTED: is_true = cached >= bytes; break;
    case GPUARENA_REASON_DRIVER_REFUSED: is_true = space.refused_count > refused && cached < bytes; break;
    case GPUARENA_REASON_HEADROOM:
        is_true = space.config.headroom_bytes && !plain_device_has(busy, need) && cached < bytes;
        break;
    case GPUARENA_REASON_TOO_LARGE: is_true = too_large; break;
    default: break;
    }
    if (!is_true) space_blame("the reason %s is not true", gpuarena_reason_name(failure->reason));
}

/* Before an allocation: 1 if a free block is long enough, so that nothing can refuse it. */
static inline int plain_fits(const gpuarena_request *request)
{
    uint64_t unit = space.config.alignment;
    return space.plain && request->bytes <= SPACE_MOST && space_held() <= space.shadow.limit
        && shadow_gap(&space.shadow, shadow_up(request->bytes, unit),
                      request->alignment_bytes > unit ? request->alignment_bytes : unit);
}

/* What is held went from `before` to what it is now, down to `keep` at most, and what the call said. */
static inline void plain_judge_trim(uint64_t before, uint64_t keep, uint64_t released)
{
    uint64_t held = space_held();
    if (before - held != released) space_blame("trim says another sum than went back");
    if (held > keep && held != shadow_busy(&space.shadow)) space_blame("trim keeps too much");
    if (before <= keep && released) space_blame("trim gives back without need");
}

static inline void plain_judge_reserve(uint64_t before, uint64_t bytes, const gpuarena_failure *failure)
{
    uint64_t target = bytes > SPACE_MOST ? SPACE_MOST : shadow_up(bytes, SHADOW_GRANULE);
    if (before != space_held()) space_blame("a refused reserve changes what is held");
    if (failure->reason == GPUARENA_REASON_OVER_LIMIT && bytes <= SPACE_MOST && target <= space.shadow.limit)
        space_blame("reserve: over the limit is not true");
}

/* ---- frees of what is no block */

/* An address to free, by chance: 0 inside of a live block; 1, 2 in a segment, or shortly behind; 3 in another arena's
   memory, or behind; else anywhere. 0: there is none such. */
static inline uint64_t space_wrong_address(int whose, uint64_t chance)
{
    const shadow_block *block = &space.shadow.blocks[chance % SHADOW_SLOTS];
    if (whose == 0) return block->address ? block->address + 1 + chance / SHADOW_SLOTS % block->bytes : 0;
    if (whose == 3) return space.other_range.address + chance * 256 % (2 * space.other_range.bytes);
    if (whose > 3 || !space.shadow.range_count) return 256 * (1 + chance % (1 << 20));
    const shadow_range *range = &shadow_ranges[chance % (uint64_t)space.shadow.range_count];
    return range->address + chance * 256 % (range->bytes + SHADOW_GRANULE);
}

/* What a free of it answers; *around: the live block, where it is in one. Pages and guarded blocks lie in addresses
   that the shadow does not know: there the memory may be free. */
static inline gpuarena_result space_classify(uint64_t address, const shadow_block **around)
{
    const shadow_range *other = &space.other_range;
    for (*around = NULL; (*around = shadow_next(&space.shadow, *around)) != NULL;)
        if (address - (*around)->address < (*around)->held)
            return address == (*around)->address ? GPUARENA_OK : GPUARENA_INTERIOR_POINTER;
    for (int at = 0; at < space.shadow.range_count; at++)
        if (address - shadow_ranges[at].address < shadow_ranges[at].bytes) return GPUARENA_DOUBLE_FREE;
    return address - other->address < other->bytes ? GPUARENA_WRONG_ARENA : GPUARENA_FOREIGN_POINTER;
}

static inline void space_do_misuse(const space_op *op)
{
    uint64_t address = space_wrong_address(op->slot, op->bytes);
    const shadow_block *around;
    gpuarena_failure failure;
    gpuarena_result wanted = space_classify(address, &around), result;
    if (!address || wanted == GPUARENA_OK) return;
    result = gpuarena_free(space.arena, (void *)(uintptr_t)address, space.streams[op->stream % SPACE_STREAMS].handle);
    if (result == GPUARENA_DOUBLE_FREE && space.config.page_bytes && wanted == GPUARENA_FOREIGN_POINTER)
        wanted = result;
    if (result != wanted)
        space_blame("a free answers %s, not %s", gpuarena_result_name(result), gpuarena_result_name(wanted));
    gpuarena_last_failure(space.arena, &failure);
    if (failure.result != result) space_blame("the record of misuse has another result");
    if (around && failure.block.ptr != (void *)(uintptr_t)around->address)
        space_blame("the record of misuse has another block");
    space.misuse_count++;
}

/* The other arena, with one block, on the machine's second device. */
static inline void space_open_other(void)
{
    gpuarena_config config = GPUARENA_INIT;
    void *ptr = NULL;
    sim_driver(space.machine, 1, &space.other_driver);
    config.driver = &space.other_driver;
    config.environment = "";
    config.backing = GPUARENA_BACKING_SEGMENTS;
    config.limit_bytes = SHADOW_GRANULE;
    if (gpuarena_create(&config, &space.other) || gpuarena_alloc(space.other, &ptr, 1000, NULL))
        space_blame("there is no other arena");
    space.other_range = (shadow_range){ bench_number(ptr), SHADOW_GRANULE };
}

static inline void space_close_other(void)
{
    gpuarena_stats stats;
    gpuarena_get_stats(space.other, &stats);
    if (stats.live_count != 1 || stats.free_count) space_blame("the other arena has changed");
    (void)gpuarena_reset(space.other, NULL);
    if (gpuarena_destroy(space.other)) space_blame("destroy of the other arena fails");
}

/* ---- what is counted */

static inline const char *space_wrong_counts(const gpuarena_stats *stats)
{
    uint64_t live = 0;
    SHADOW_EACH(&space.shadow, block) live++;
    if (stats->live_count != live) return "live_count";
    if (stats->misuse_count != space.misuse_count) return "misuse_count";
    if (stats->limit_bytes != space.shadow.limit) return "limit_bytes";
    if (stats->host_bytes != space.host.bytes) return "host_bytes";
    if (stats->requested_peak_bytes != space.requested_peak_bytes) return "requested_peak_bytes";
    if (stats->live_peak_bytes < stats->live_bytes || stats->reserved_peak_bytes < stats->reserved_bytes)
        return "a peak that is below its value";
    if (stats->alloc_count - stats->free_count != stats->live_count) return "alloc_count or free_count";
    if (space.plain && stats->free_count != space.free_count) return "free_count";
    if (space.plain && stats->fail_count != space.tally.fail_count) return "fail_count";
    if (space.plain && (stats->pending_bytes || stats->children_bytes)) return "pending or children";
    return NULL;
}

#endif
