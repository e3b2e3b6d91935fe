/* The judgement of each call. On plain devices, without events, where segments are all and free memory is quiet: why
   a request is refused is known from the ledger alone. On small devices, which have large handles even so: a call
   that is refused has changed nothing, though a driver call failed, once or from some on; and all handles add up. In
   every arena: results of frees of invalid pointers, and counts. It must share no code with the header: it goes by
   the contracts. Included by space.h. */
#ifndef TESTS_SPACE_JUDGE_H
#define TESTS_SPACE_JUDGE_H

#include "space_state.h"

#define SPACE_MOST ((uint64_t)1 << 49)           /* of size and alignment together */

/* ---- plain devices */

/* Apart from another process and the headroom, the driver would grant these bytes beside the memory that is kept. */
static inline int plain_device_has(uint64_t kept, uint64_t bytes)
{
    return bytes <= space.largest_bytes
        && kept + bytes + shadow.rival_bytes + space.config.headroom_bytes <= shadow.device_bytes;
}

/* Tells whether the reason is true, of a request for so many bytes, for which `need` more were to be obtained.
   refused: how often the driver had refused before. */
static inline int plain_is_true(const gpuarena_failure *failure, uint64_t bytes, uint64_t need, uint64_t refused)
{
    uint64_t busy = shadow_busy(), cached = space_held() - space.live_bytes;
    switch (failure->reason) {
    case GPUARENA_REASON_OVER_LIMIT:
        return cached < bytes && failure->missing_bytes == busy + need - shadow.limit && busy + need > shadow.limit;
    case GPUARENA_REASON_FRAGMENTED:     return cached >= bytes;
    case GPUARENA_REASON_DRIVER_REFUSED: return space.refused_count > refused && cached < bytes;
    case GPUARENA_REASON_HEADROOM:
        return space.config.headroom_bytes && !plain_device_has(busy, need) && cached < bytes;
    default: return 0;
    }
}

/* An allocation was refused. */
static inline void plain_judge(const gpuarena_request *request, const gpuarena_failure *failure, uint64_t refused)
{
    uint64_t unit = space.config.alignment, alignment = shadow_alignment(&space.config, request);
    uint64_t bytes = shadow_up(request->bytes < SPACE_MOST ? request->bytes : SPACE_MOST, unit);
    int too_large = request->bytes > SPACE_MOST || alignment > SPACE_MOST || bytes + alignment - unit > SPACE_MOST;
    uint64_t need = too_large ? UINT64_MAX / 4 : shadow_up(bytes + alignment - unit, SHADOW_GRANULE);
    gpuarena_reason wanted = request->bytes > SPACE_MOST ? GPUARENA_REASON_TOO_LARGE
        : space_held() > shadow.limit ? GPUARENA_REASON_OVER_LIMIT
        : request->flags & GPUARENA_ALLOC_TRY ? GPUARENA_REASON_TRY_ONLY : GPUARENA_REASON_END;
    int could_fit = request->bytes <= SPACE_MOST && space_held() <= shadow.limit;
    if (could_fit && shadow_gap(bytes, alignment)) space_blame("refused, though a free block fits");
    if (wanted != GPUARENA_REASON_END) {
        if (failure->reason != wanted) space_blame("the reason should be %s", gpuarena_reason_name(wanted));
        return;
    }
    if (shadow_busy() + need <= shadow.limit && !space.struck && plain_device_has(shadow_busy(), need))
        space_blame("refused, though it could have grown");
    if (failure->reason == GPUARENA_REASON_TOO_LARGE ? !too_large : !plain_is_true(failure, bytes, need, refused))
        space_blame("the reason %s is not true", gpuarena_reason_name(failure->reason));
}

/* Before an allocation: 1 if a free block is long enough, so that nothing can refuse it. */
static inline int plain_fits(const gpuarena_request *request)
{
    return space.plain && request->bytes <= SPACE_MOST && space_held() <= shadow.limit
        && shadow_gap(shadow_up(request->bytes, space.config.alignment), shadow_alignment(&space.config, request));
}

/* The bytes held fell from `before` to their present value, at most down to `keep`, and the call returned the
   difference. */
static inline void plain_judge_trim(uint64_t before, uint64_t keep, uint64_t released)
{
    uint64_t held = space_held();
    if (before - held != released) space_blame("trim says another sum than went back");
    if (held > keep && held != shadow_busy()) space_blame("trim keeps too much");
    if (before <= keep && released) space_blame("trim gives back without need");
}

static inline void plain_judge_reserve(uint64_t before, uint64_t bytes, const gpuarena_failure *failure)
{
    if (before != space_held()) space_blame("a refused reserve changes what is held");
    if (failure->reason == GPUARENA_REASON_OVER_LIMIT && bytes <= SPACE_MOST
        && shadow_up(bytes, SHADOW_GRANULE) <= shadow.limit) space_blame("reserve: over the limit is not true");
}

/* ---- small devices */

/* A refusal may give back: idle memory, or a large handle, or a segment. */
static inline int small_gives_back(const space_op *op)
{
    return op->kind == SPACE_RESERVE || op->kind == SPACE_TRIM || op->kind == SPACE_LIMIT
        || (op->kind == SPACE_ALLOC && op->flags & GPUARENA_ALLOC_DEDICATED) || space.arena->paged.segment_count
        || space.arena->paged.spare_pages > space.arena->paged.spare_count;
}

/* gives_back: the earlier answer of small_gives_back. Memory that could not be given back is there still. */
static inline void small_judge_refusal(const pages_state *before, const pages_state *after, int gives_back)
{
    const gpuarena_stats *was = &before->stats, *is = &after->stats;
    int is_struck = space.fault.kind == SPACE_FAULT, kind = space.fault.slot;
    int left = space.arena->paged.unmap_failed_count
        || (is_struck && (kind == SIM_CALL_VM_DESTROY || kind == SIM_CALL_VM_UNMAP || kind == SIM_CALL_KINDS
                          || kind == SIM_CALL_GIVE_BACK));
    gpuarena_failure failure;
    space.tally.small_count++;
    if (space.result != GPUARENA_OUT_OF_MEMORY && space.result != GPUARENA_DRIVER_ERROR
        && space.result != GPUARENA_NOT_SUPPORTED) space_blame("answers %s", gpuarena_result_name(space.result));
    if (before->seen.live_digest != after->seen.live_digest || was->live_bytes != is->live_bytes
        || was->live_count != is->live_count) space_blame("a refusal changes what is live");
    if (!left && pages_have_new_spare(before, after)) space_blame("a refusal leaves spare handles");
    gpuarena_last_failure(space.arena, &failure);
    /* large handles went back, and then the driver failed */
    if (is->release_count > was->release_count && (is_struck || failure.driver_code)) return;
    if (gives_back || left || was->reserved_bytes > was->limit_bytes) return;
    space.tally.compared_count++;
    if (pages_differ(before, after)[0]) space_blame("a refusal changes %s", pages_differ(before, after));
}

static inline void small_judge(const pages_state *before, int gives_back)
{
    pages_state after = pages_look(space.machine, space.arena);
    const char *trouble = pages_audit(&after, space.arena);
    space.tally.stuck_count += space.arena->paged.unmap_failed_count != 0;
    if (trouble[0]) space_blame("%s", trouble);
    SHADOW_EACH(block) space_verify(block, block->bytes);
    if (space.result) small_judge_refusal(before, &after, gives_back);
}

/* ---- frees of invalid pointers */

/* An address to free, by chance: 0 inside of a live block; 1, 2 in a segment, or shortly behind; 3 in another arena's
   memory, or behind; else anywhere. 0: there is none such. */
static inline uint64_t space_wrong_address(int whose, uint64_t chance)
{
    const shadow_block *block = &shadow.blocks[chance % SHADOW_SLOTS];
    if (whose == 0) return block->address ? block->address + 1 + chance / SHADOW_SLOTS % block->bytes : 0;
    if (whose == 3) return space.other_range.address + chance * 256 % (2 * space.other_range.bytes);
    if (whose > 3 || !shadow.range_count) return 256 * (1 + chance % (1 << 20));
    const shadow_range *range = &shadow_ranges[chance % (uint64_t)shadow.range_count];
    return range->address + chance * 256 % (range->bytes + SHADOW_GRANULE);
}

/* The result that a free of the address must have; *around: the live block, if it lies in one. Pages and guarded
   blocks lie in addresses that the shadow does not know: there the memory may be free. */
static inline gpuarena_result space_classify(uint64_t address, const shadow_block **around)
{
    *around = NULL;
    SHADOW_EACH(block) {
        if (address - block->address >= block->held) continue;
        *around = block;
        return address == block->address ? GPUARENA_OK : GPUARENA_INTERIOR_POINTER;
    }
    if (shadow_segment(address)) return GPUARENA_DOUBLE_FREE;
    return address - space.other_range.address < space.other_range.bytes ? GPUARENA_WRONG_ARENA
                                                                         : GPUARENA_FOREIGN_POINTER;
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
    if (around && failure.block.ptr != space_ptr(around)) space_blame("the record of misuse has another block");
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

/* ---- counts */

static inline const char *space_wrong_counts(const gpuarena_stats *stats)
{
    uint64_t live = 0;
    SHADOW_EACH(block) live++;
    if (stats->requested_bytes != shadow_requested()) return "requested_bytes";
    if (stats->live_count != live) return "live_count";
    if (stats->misuse_count != space.misuse_count) return "misuse_count";
    if (stats->limit_bytes != shadow.limit) return "limit_bytes";
    if (stats->host_bytes != space.host.bytes) return "host_bytes";
    if (stats->requested_peak_bytes != space.requested_peak_bytes) return "requested_peak_bytes";
    if (space.plain && stats->free_count != space.free_count) return "free_count";
    if (space.plain && stats->fail_count != space.tally.fail_count) return "fail_count";
    if (space.plain && (stats->pending_bytes || stats->children_bytes)) return "pending or children";
    return NULL;
}

#endif
