/* What holds after each call of a paged arena on a small device, which has large handles all the same: a call that is
   refused has changed nothing, though a driver call failed, once or from some on; and all handles add up.
   It must not know how pages are had. Included by space.h. */
#ifndef TESTS_SPACE_SMALL_H
#define TESTS_SPACE_SMALL_H

#include "space_state.h"

#define SPACE_SMALL MIB(100)                     /* devices up to that are small */

/* Where what was had could not be given back it is there still, as cache. */
static inline int small_may_leave(void)
{
    sim_call kind = (sim_call)space.fault.slot;
    return space.fault.kind == SPACE_FAULT
        && (kind == SIM_CALL_VM_DESTROY || kind == SIM_CALL_VM_UNMAP || kind == SIM_CALL_KINDS
            || kind == SIM_CALL_GIVE_BACK);
}

/* A refusal may: idle memory, or a large handle, or a segment. */
static inline int small_gives_back(const space_op *op)
{
    return op->kind == SPACE_RESERVE || op->kind == SPACE_TRIM || op->kind == SPACE_LIMIT
        || (op->kind == SPACE_ALLOC && op->flags & GPUARENA_ALLOC_DEDICATED) || space.arena->paged.segment_count
        || space.arena->paged.spare_pages > space.arena->paged.spare_count;
}

/* gives_back: what small_gives_back said before. */
static inline void small_judge_refusal(const pages_state *before, const pages_state *after, int gives_back)
{
    int stuck = space.arena->paged.unmap_failed_count != 0, left = stuck || small_may_leave();
    gpuarena_failure failure;
    space.tally.small_count++;
    if (space.result != GPUARENA_OUT_OF_MEMORY && space.result != GPUARENA_DRIVER_ERROR
        && space.result != GPUARENA_NOT_SUPPORTED) space_blame("answers %s", gpuarena_result_name(space.result));
    if (before->stats.live_bytes != after->stats.live_bytes || before->stats.live_count != after->stats.live_count
        || before->stats.requested_bytes != after->stats.requested_bytes)
        space_blame("a refusal changes what is live");
    if (!left && pages_have_new_spare(before, after)) space_blame("a refusal leaves spare handles");
    gpuarena_last_failure(space.arena, &failure);
    /* large handles went back, and then the driver failed */
    if (after->stats.release_count > before->stats.release_count
        && (space.fault.kind == SPACE_FAULT || failure.driver_code)) return;
    if (gives_back || left || before->stats.reserved_bytes > before->stats.limit_bytes) return;
    space.tally.compared_count++;
    if (pages_differ(before, after)[0]) space_blame("a refusal changes %s", pages_differ(before, after));
}

static inline void small_judge(const pages_state *before, int gives_back)
{
    pages_state after = pages_look(space.machine, space.arena);
    const char *trouble = pages_audit(&after, space.arena);
    uint64_t bad;
    space.tally.stuck_count += space.arena->paged.unmap_failed_count != 0;
    if (trouble[0]) space_blame("%s", trouble);
    SHADOW_EACH(&space.shadow, block)
        if (!sim_verify(space.machine, 0, (void *)(uintptr_t)block->address, block->bytes, block->owner, &bad))
            space_blame("contents are spoilt (slot %d)", (int)(block - space.shadow.blocks));
    if (space.result) small_judge_refusal(before, &after, gives_back);
}

#endif
