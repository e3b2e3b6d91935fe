/* A program of arena calls as data, run on a simulated machine under any configuration text, and judged after each
   call: limit, overlap, contents, order of streams, sums, refusals. "": all well; else the first trouble. It must not
   know the implementation, nor where programs come from. Included by test_space.c and by the tests that it prints. */
#ifndef TESTS_SPACE_H
#define TESTS_SPACE_H

#include <pthread.h>
#include "space_judge.h"
#include "space_streams.h"

/* ---- statistics of each tag */

/* Blocks with a number that is not gpuarena_tag's count as those without a tag. */
static inline gpuarena_tag_stats *space_sum(int tag)
{
    return &space.sums[tag == SPACE_OWN_TAG ? 0 : tag];
}

static inline void space_raise(uint64_t *peak, uint64_t value)
{
    if (value > *peak) *peak = value;
}

/* Tells whether the driver's pool may hold memory that the arena has given back: a wait for that has failed. */
static inline int space_pool_lags(void)
{
    gpuarena_stats stats;
    if (space.config.backing != GPUARENA_BACKING_ASYNC) return 0;        /* where heaps count, nobody may look */
    gpuarena_get_stats(space.arena, &stats);
    return stats.event_error_count != 0;
}

/* Adds up live blocks, and raises the peaks to these sums. */
static inline void space_recount(void)
{
    space.live_bytes = 0;
    for (int tag = 0; tag < SPACE_OWN_TAG; tag++) space.sums[tag].live_bytes = space.sums[tag].live_count = 0;
    SHADOW_EACH(block) {
        space_sum(block->tag)->live_count++;
        space_sum(block->tag)->live_bytes += block->held;
        space.live_bytes += block->held;
    }
    space_raise(&space.requested_peak_bytes, shadow_requested());
    space_raise(&space.live_peak_bytes, space.live_bytes);
    for (gpuarena_tag_stats *sum = space.sums; sum < space.sums + SPACE_OWN_TAG; sum++)
        space_raise(&sum->live_peak_bytes, sum->live_bytes);
}

/* Judges a block with debug=guard: it has a mapping of its own, at whose begin (dedicated) or end it lies, as far as
   its alignment allows. The page behind is not mapped, nor are the addresses of the latest freed blocks. */
static inline void space_guard(const shadow_block *block, int is_dedicated, uint64_t alignment)
{
    const shadow_range *own = &space.mapped;
    uint64_t end = own->address + own->bytes, bytes = shadow_up(block->bytes, space.config.alignment);
    if (block->address - own->address >= own->bytes) space_blame("a block has pages of another");
    if (is_dedicated ? block->address != own->address : end - block->address >= bytes + alignment)
        space_blame("a block is not at the end of its pages");
    if (shadow_segment(end)) space_blame("the page behind a block is mapped");
    for (int at = 0; at < SPACE_GUARDED; at++)
        if (own->address < space.guarded[at].address + space.guarded[at].bytes && space.guarded[at].address < end)
            space_blame("a block has addresses of one freed lately");
    if (!shadow_enter(own->address, own->bytes)) space_blame("too many segments");
}

/* Removes the block from the shadow. Guarded addresses are remembered for a while. */
static inline void space_drop(shadow_block *block)
{
    shadow_range *guarded = space.config.debug == GPUARENA_DEBUG_GUARD ? shadow_segment(block->address) : NULL;
    if (guarded) {
        space.guarded[space.guarded_count++ % SPACE_GUARDED] = *guarded;
        *guarded = shadow_ranges[--shadow.range_count];
    }
    space.free_count++;
    block->address = 0;
    space_recount();
}

static inline void space_do_peaks(const space_op *op)
{
    (void)op;
    gpuarena_reset_peaks(space.arena);
    space.requested_peak_bytes = space.live_peak_bytes = 0;
    for (int tag = 0; tag < SPACE_OWN_TAG; tag++) space.sums[tag].live_peak_bytes = 0;
    space_recount();
}

/* A block that could not be cleared was live until it went back, and is counted as one that was. */
static inline void space_adopt_uncleared(const gpuarena_stats *stats)
{
    space_raise(&space.live_peak_bytes, stats->live_peak_bytes);
    space_raise(&space.requested_peak_bytes, stats->requested_peak_bytes);
    for (int tag = 0; tag < SPACE_OWN_TAG; tag++) {
        gpuarena_tag_stats found;
        if (gpuarena_get_tag(space.arena, space.tags[tag], &found)) continue;
        space_raise(&space.sums[tag].live_peak_bytes, found.live_peak_bytes);
        space_raise(&space.sums[tag].alloc_count, found.alloc_count);
    }
}

static inline void space_audit_tags(const gpuarena_stats *stats)
{
    if (stats->live_bytes != space.live_bytes) space_blame("live is not what live blocks occupy");
    if (space.struck) space_adopt_uncleared(stats);
    if (stats->live_peak_bytes != space.live_peak_bytes) space_blame("the peak of live is not the highest");
    for (int tag = 0; tag < SPACE_OWN_TAG; tag++) {
        gpuarena_tag_stats found;
        if (gpuarena_get_tag(space.arena, space.tags[tag], &found)) space_blame("get_tag fails");
        else if (memcmp(&found, &space.sums[tag], sizeof found)) space_blame("a tag has other figures (%d)", tag);
    }
}

/* ---- refusals */

/* With debug the driver may lack memory though the books do not: the bytes by which it rounds up are not in them. */
static inline int space_is_by_rounding(gpuarena_reason reason)
{
    return space.config.debug && (reason == GPUARENA_REASON_DRIVER_REFUSED || reason == GPUARENA_REASON_HEADROOM);
}

/* A dedicated block begins its segment, and only the driver knows how that one will be aligned. */
static inline int space_is_by_alignment(const gpuarena_request *request, gpuarena_reason reason)
{
    return reason == GPUARENA_REASON_ALIGNMENT && request->flags & GPUARENA_ALLOC_DEDICATED
        && request->alignment_bytes && space.obtained_address % request->alignment_bytes;
}

/* A call was refused for want of memory: judges by sums whether it could have been served. */
static inline void space_judge(const gpuarena_request *request, uint64_t refused)
{
    gpuarena_stats stats;
    gpuarena_failure failure;
    gpuarena_last_failure(space.arena, &failure);
    gpuarena_get_stats(space.arena, &stats);
    if (failure.requested_bytes != request->bytes || failure.limit_bytes != shadow.limit)
        space_blame("the record of a refusal has other figures");
    if (failure.live_bytes != stats.live_bytes || failure.cached_bytes != stats.cached_bytes
        || failure.pending_bytes != stats.pending_bytes || failure.reserved_bytes != stats.reserved_bytes
        || failure.live_count != stats.live_count)
        space_blame("the record of a refusal has other figures than the statistics");
    space.tally.reasons[failure.reason]++;
    if (space.plain) plain_judge(request, &failure, refused);
    if (space.plain || space.busy || space.struck || request->flags & GPUARENA_ALLOC_TRY) return;
    if (space_is_by_rounding(failure.reason) || space_is_by_alignment(request, failure.reason)) return;
    const char *way = shadow_way(&space.config, request, space_held());
    if (way) space_blame("refused, though %s (%s, %" PRIu64 " bytes)", way, gpuarena_reason_name(failure.reason),
                         request->bytes);
}

/* A call returns HOST_MEMORY only if a request for host memory failed. On plain devices such a failure gives no other
   result than HOST_MEMORY or OUT_OF_MEMORY. */
static inline void space_judge_host(gpuarena_result result)
{
    int is_other = space.plain && result && result != GPUARENA_OUT_OF_MEMORY && space.host_fails;
    if (result == GPUARENA_HOST_MEMORY ? !space.host_fails : is_other)
        space_blame("host memory fails: %d, and the result is %s", space.host_fails, gpuarena_result_name(result));
}

/* ---- the calls */

/* Finds the bytes that the block occupies. In a quiet program only its size tells, until somebody looks. */
static inline void space_measure(shadow_block *block, int looks)
{
    gpuarena_block found;
    if (!looks) block->held = shadow_up(block->bytes, space.config.alignment);
    else if (gpuarena_lookup(space.arena, space_ptr(block), &found) || found.bytes < block->bytes)
        space_blame("lookup does not find a live block, or finds it too short");
    else if (found.tag != space.tags[block->tag] || found.state != GPUARENA_STATE_LIVE)
        space_blame("lookup finds another tag, or a block that is not live");
    else {
        block->held = found.bytes;
        if (found.serial <= block->mark) space_blame("a block is not behind an earlier mark");
        SHADOW_EACH(other)
            if (other != block && other->serial == found.serial) space_blame("two blocks have one serial");
        block->serial = found.serial;
    }
}

static inline void space_access(const shadow_block *block, int stream)
{
    space_must(sim_access(space.machine, 0, space_enter(stream), space_ptr(block), block->bytes, block->owner,
                          space.op));
    if (space.busy && space.op % 2) space_must(sim_work(space.machine, 0, space_enter(stream), block->bytes % 40000));
}

/* The stream behind whose work the block is ready uses the block; on a plain device the host alone does. */
static inline void space_fill(shadow_block *block)
{
    sim_fill(space.machine, 0, space_ptr(block), block->bytes, block->owner);
    if (space.plain || block->stream == SPACE_NOBODY || space_at(block->stream) != block->stream) return;
    space_access(block, block->stream);
    block->behind = space_bit(block->stream);
    if (block->stream != block->own) block->is_orphan = 0;
}

/* ---- after each call */

/* whole: with a walk over all blocks, and the check of all books. */
static inline void space_audit(int whole)
{
    char message[200];
    gpuarena_stats stats;
    gpuarena_get_stats(space.arena, &stats);
    if (space.quiet) {
        SHADOW_EACH(block) space_measure(block, 1);
        space_recount();
        space.last_mark = gpuarena_mark(space.arena);
    }
    if (space.struck && space.config.scrub & GPUARENA_SCRUB_ALLOC) space_adopt_uncleared(&stats);
    const char *sums = wrong_sums(&stats), *differs = space_wrong_counts(&stats);
    if (sums) space_blame("%s", sums);
    if (differs) space_blame("the statistics: %s", differs);
    if (stats.reserved_bytes != space_held() && !(space_pool_lags() && stats.reserved_bytes < space_held()))
        space_blame("reserved is not what the device holds");
    if (sim_finding_count(space.machine)) space_blame("finding: %s", sim_finding(space.machine, 0));
    space_audit_tags(&stats);
    if (!whole) return;
    gpuarena_walk_stats(space.arena, &stats);
    if (stats.largest_free_bytes != (space.config.debug ? 0 : pages_longest(space.arena)))
        space_blame("the longest free block is another");
    if (!pages_span_is_so(space.arena, walk_mix(space.op, 0)))
        space_blame("idle pages outside of a span are those walked");
    if (gpuarena_check(space.arena, message, sizeof message)) space_blame("check: %s", message);
}

/* ---- cleared memory */

/* Cleared memory is clear, as far as the arena still holds it. */
static inline void space_verify_clear(uint64_t address, uint64_t bytes)
{
    if (sim_holds(space.machine, 0, (const void *)(uintptr_t)address, bytes) && !space_holds(address, bytes, 0))
        space_blame("what is cleared is not");
}

/* Counts new memory that begins with the contents of one of the latest blocks: foreign data, which scrub is to
   prevent. */
static inline void space_look_foreign(uint64_t address, uint64_t bytes)
{
    uint64_t owner = space.owner > SPACE_LATEST ? space.owner - SPACE_LATEST : 1;
    if (bytes > SPACE_LOOK) bytes = SPACE_LOOK;
    while (owner < space.owner && !space_holds(address, bytes, owner)) owner++;
    if (owner == space.owner) return;
    space.tally.foreign_count++;
    if (space.config.scrub != GPUARENA_SCRUB_OFF) space_blame("new memory holds what was another's");
}

/* A call that has to clear may fail because a driver call has: then it is made again, without faults. */
static inline int space_is_uncleared(gpuarena_result result)
{
    if (!result || !(space.config.scrub & GPUARENA_SCRUB_FREE) || !space.struck) return 0;
    sim_fail_call(space.machine, SIM_CALL_KINDS, 0, 0, 0);
    return 1;
}
#define SPACE_CLEARS(name, call) do { \
    gpuarena_result clears_ = (call); \
    if (space_is_uncleared(clears_)) clears_ = (call); \
    if (clears_) space_blame(name " fails"); \
} while (0)

/* Managed memory is the driver's alone to grant: no figure tells its limits, except those of all devices and the
   host. */
static inline int space_is_the_drivers(const gpuarena_request *request)
{
    return space.config.backing == GPUARENA_BACKING_MANAGED
        && request->bytes > SIM_HOST_BYTES + shadow.device_bytes - space_held();
}

/* The op's slot; and its tag. */
static inline shadow_block *space_block(const space_op *op)
{
    int slot = op->slot, empty = op->kind == SPACE_ALLOC, tried = 0;
    while (op->flags & SPACE_NEXT && tried++ < shadow.slots && (shadow.blocks[slot].address == 0) != empty)
        slot = (slot + 1) % shadow.slots;
    return &shadow.blocks[slot];
}

static inline int space_tag(const space_op *op) { return (int)(op->flags / SPACE_TAG % SPACE_TAGS); }

/* Before the arena refuses, a block that its own stream alone uses is freed there, if this thread may. */
static inline int space_relieve(gpuarena *arena, const gpuarena_failure *failure, void *user)
{
    shadow_block *block = &shadow.blocks[space.op % (uint64_t)shadow.slots];
    void *ptr = space_ptr(block);
    (void)failure, (void)user;
    if (!space.relieves || !ptr || block->set || block->own < 0 || block->stream != block->own) return 0;
    const space_stream *own = &space.streams[block->own];
    if (own->thread && own->thread != space.thread) return 0;
    space_verify(block, block->bytes);
    space_drop(block);
    space.tally.relieved_count++;
    uint64_t caller = gpuarena__thread_number_;  /* a thread's own stream is known by its number alone */
    if (own->thread) gpuarena__thread_number_ = own->thread;
    if (gpuarena_free(arena, ptr, own->handle)) space_blame("free fails under pressure");
    gpuarena__thread_number_ = caller;
    return 1;
}

/* An allocation by a thread, perhaps with the thread's tag. */
typedef struct space_call {
    const space_op *op;
    gpuarena_request request;
    gpuarena_result result;
    void *ptr;
} space_call;

static inline void *space_call_alloc(void *user)
{
    space_call *self = user;
    const gpuarena_request *request = &self->request;
    uint32_t tag = space.tags[space_tag(self->op)], is_scoped = self->op->flags & SPACE_SCOPED;
    if (is_scoped) (void)gpuarena_tag_scope(tag);
    self->result = is_scoped && !request->alignment_bytes && !request->flags && !request->room_bytes
        ? gpuarena_alloc(space.arena, &self->ptr, request->bytes, request->stream)
        : gpuarena_alloc_ex(space.arena, &self->ptr, request);
    if (is_scoped && gpuarena_tag_scope(0) != tag) space_blame("the thread's tag is another");
    return NULL;
}

static inline gpuarena_request space_request(const space_op *op, int stream)
{
    gpuarena_request request = GPUARENA_INIT;
    request.bytes = op->bytes;
    request.alignment_bytes = op->alignment;
    request.stream = space_enter(stream);
    request.flags = op->flags & 3;
    if (op->flags & SPACE_ROOM && space.config.backing == GPUARENA_BACKING_PAGED
        && !(op->flags & GPUARENA_ALLOC_DEDICATED))
        request.room_bytes = op->bytes + MIB(op->slot % 12);
    if (request.flags & GPUARENA_ALLOC_DEDICATED && op->alignment > SIM_GRANULE) request.alignment_bytes = 0;
    if (!(op->flags & SPACE_SCOPED)) request.tag = space.tags[space_tag(op)];
    return request;
}

/* A block was allocated on the stream, into the op's slot. */
static inline void space_admit(const space_op *op, const gpuarena_request *request, int stream, void *ptr)
{
    shadow_block *block = space_block(op);
    uint64_t unit = shadow_alignment(&space.config, request);
    int used_on = stream == SPACE_ANY ? space_usable_from(1) : stream;
    if (space_held() > shadow.limit && !space_pool_lags())
        space_blame("served while more is held than the limit allows");
    space.tally.alloc_count++;
    space.places = walk_mix(space.places, bench_number(ptr));
    *block = (shadow_block){ .address = bench_number(ptr), .bytes = op->bytes, .tag = space_tag(op),
                             .mark = space.last_mark, .owner = ++space.owner, .own = stream, .stream = used_on,
                             .behind = space_bit(used_on) };
    space_sum(block->tag)->alloc_count++;
    space_enter_set(block, stream);
    if (block->address % unit) space_blame("an address is not aligned");
    if (space.config.debug == GPUARENA_DEBUG_GUARD && !request->room_bytes)
        space_guard(block, request->flags & GPUARENA_ALLOC_DEDICATED, unit);
    space_measure(block, !space.quiet);
    space_recount();
    if (shadow_overlaps(block)) space_blame("two live blocks overlap");
    if (space.config.scrub & GPUARENA_SCRUB_ALLOC) space_verify_clear(block->address, block->held);
    for (uint64_t at = 0, share = block->bytes / 4; at + share <= block->bytes && at < 4 * share; at += share)
        space_look_foreign(block->address + at, share);
    if (op->flags & SPACE_UNUSED && !block->set) {   /* so that nothing waits for work of its own */
        space_drop(block);
        SPACE_CLEARS("free", gpuarena_free(space.arena, ptr, GPUARENA_ANY_STREAM));
    } else space_fill(block);
}

/* Judges the result of alloc by the earlier answer of can_alloc. No estimate knows the memory of plans, room that
   draining makes, or, with debug, the bytes by which the driver has rounded up. */
static inline void space_judge_estimate(const gpuarena_request *request, gpuarena_result can, gpuarena_result result,
                                        int drains)
{
    int is_unknown = space.quiet || space.busy || space.struck || space_is_the_drivers(request)
        || (!can && space.largest_bytes < UINT64_MAX);
    int may_serve = space.config.debug || space.has_steps || drains
        || request->alignment_bytes > space.config.alignment;
    if (result != can && !is_unknown && (result || !may_serve))
        space_blame("can_alloc answers %s, and alloc %s", gpuarena_result_name(can), gpuarena_result_name(result));
}

static inline void space_do_alloc(const space_op *op)
{
    int stream = op->stream == SPACE_ANY ? SPACE_ANY : space_at(op->stream);
    pthread_t thread;
    if (space_block(op)->address || stream == SPACE_NOBODY) return;
    space_call call = { op, space_request(op, stream), GPUARENA_OK, &space };
    int drains = space_held() > shadow.limit || space.config.release == GPUARENA_RELEASE_PRESSURE;
    gpuarena_result can = space.quiet ? GPUARENA_OK : gpuarena_can_alloc(space.arena, &call.request);
    if (plain_fits(&call.request) && can) space_blame("can_alloc denies what a free block can serve");
    uint64_t refused = space.refused_count;
    space.obtained_address = 0;
    space.relieves = space.busy && op->slot % 2;
    if (!(op->flags & SPACE_ELSEWHERE)) (void)space_call_alloc(&call);
    else if (pthread_create(&thread, NULL, space_call_alloc, &call) || pthread_join(thread, NULL))
        space_blame("the test has no thread");
    space.relieves = 0;
    gpuarena_result result = space.result = call.result;
    if (result && call.ptr != &space) space_blame("an allocation that fails sets its pointer");
    if (!op->bytes) {
        if (result || can || call.ptr) space_blame("0 bytes are not NULL");
        return;
    }
    space_judge_host(result);
    space_judge_estimate(&call.request, can, result, drains);
    if (result == GPUARENA_OUT_OF_MEMORY) space_judge(&call.request, refused);
    else space_expect("alloc", result);
    space.tally.fail_count += result != GPUARENA_OK;
    if (!result) space_admit(op, &call.request, stream, call.ptr);
}

/* The program's last look at a block, which goes on a stream that is behind its work. 0: it cannot be. */
static inline int space_leave(shadow_block *block, int stream)
{
    int own = block->own == SPACE_ANY || block->is_orphan;       /* the arena alone knows the work that is to end
                                                                    first */
    if (stream == SPACE_ANY ? !space_wait() : stream == SPACE_OWN ? !own && !space_behind(block, block->own)
                                                                  : !space_behind(block, stream)) return 0;
    space_verify(block, block->bytes);
    space_drop(block);
    return 1;
}

static inline void space_do_free(const space_op *op)
{
    shadow_block *block = space_block(op);
    void *ptr = space_ptr(block);
    int stream = op->stream == SPACE_ANY || op->stream == SPACE_OWN ? op->stream : space_usable_from(op->stream);
    if (!block->address) return;
    uint64_t held = space_held();
    if (block->set) stream = space_stream_of_set(block, op->stream);
    if (stream == SPACE_NOBODY || !space_leave(block, stream)) return;
    if (op->flags & SPACE_SCOPED) (void)gpuarena_tag_scope(space.tags[1]);       /* which must not affect a free */
    SPACE_CLEARS("free", gpuarena_free(space.arena, ptr, space_enter(stream)));
    (void)gpuarena_tag_scope(0);
    if (space.config.scrub & GPUARENA_SCRUB_FREE) space_verify_clear(bench_number(ptr), block->held);
    if (space.config.release == GPUARENA_RELEASE_IDLE && !space.config.page_bytes && !space.struck
        && space_held() - shadow_busy() > space.config.release_bytes)
        space_blame("more is idle than release_at allows");
    if (space.plain && space_held() != held && (held <= shadow.limit || space_held() > held))
        space_blame("a free changes what is held");
}

static inline void space_do_mark(const space_op *op)
{
    int at = op->slot % SPACE_MARKS;
    space.marks[at] = space.last_mark = gpuarena_mark(space.arena);
    space.marked[at] = space.owner;
}

/* Frees all blocks younger than the mark, of one tag or of any. */
static inline void space_do_since(const space_op *op)
{
    int mark = op->slot % SPACE_MARKS, tag = space_tag(op);
    SHADOW_EACH(block)
        if (block->address && block->owner > space.marked[mark] && (!tag || block->tag == tag))
            (void)space_leave(block, op->stream);
    gpuarena_stream stream = space_enter(op->stream);
    SPACE_CLEARS("free_since", gpuarena_free_since(space.arena, space.marks[mark], space.tags[tag], stream));
}

static inline void space_do_use(const space_op *op)
{
    shadow_block *block = space_block(op);
    int stream = space_usable_from(op->stream);
    if (!block->address) return;
    if (block->set) stream = space_use_of_set(block, op->stream);
    if (stream == SPACE_NOBODY || !space_behind(block, stream)) return;
    space_access(block, stream);
    int is_after = block->set && !block->capture;            /* it may go back behind all that used its set */
    if (is_after && space.op / 2 % 2) {
        block->is_unnamed = 1;
        return;
    }
    gpuarena_result result = gpuarena_use(space.arena, space_ptr(block), space_enter(stream));
    space_expect("use", result);
    if (is_after) {
        block->is_unnamed |= result != GPUARENA_OK;
        return;
    }
    block->named |= space_bit(stream);
    if (!result) return;
    block->named = 0;                            /* the program orders uses that the arena is not told of */
    block->stream = stream;
    block->behind = space_bit(stream);
    block->is_orphan = 0;
}

static inline void space_do_resize(const space_op *op)
{
    shadow_block *block = space_block(op);
    uint64_t least = op->bytes < block->bytes ? op->bytes : block->bytes;
    int stream = op->stream == SPACE_OWN ? block->own : op->stream;
    if (!block->address || !op->bytes || block->set) return;
    if (stream == SPACE_ANY ? !space_wait() : stream == SPACE_NOBODY || !space_usable(stream)
                                              || !space_behind(block, stream)) return;
    gpuarena_result result = gpuarena_resize(space.arena, space_ptr(block), op->bytes,
                                             space_enter(op->stream));
    space.result = result;
    if (result != GPUARENA_OUT_OF_MEMORY) space_expect("resize", result);
    if (result && op->bytes <= block->bytes && !space.struck) space_blame("to shrink is refused");
    space.tally.fail_count += result != GPUARENA_OK;
    space_verify(block, result ? block->bytes : least);
    if (result) return;
    block->bytes = op->bytes;
    uint64_t had = block->held;
    space_measure(block, 1);
    space_recount();
    uint64_t more = block->held > had ? block->held - had : 0;
    if (more && space.config.scrub & GPUARENA_SCRUB_ALLOC) space_verify_clear(block->address + had, more);
    if (more) space_look_foreign(block->address + had, more);
    if (shadow_overlaps(block)) space_blame("two live blocks overlap");
    space_fill(block);
}

static inline void space_do_limit(const space_op *op)
{
    uint64_t bytes = op->bytes, before = shadow.limit;
    shadow.limit = bytes;
    gpuarena_result result = space.result = gpuarena_set_limit(space.arena, bytes);
    space_expect("set_limit", result);
    space.config.limit_bytes = bytes;
    if (bytes < before && !space.struck && !space.busy && space_held() > bytes
        && space_held() > shadow_most_kept(&space.config))
        space_blame("idle memory is held above a lowered limit");
}

static inline void space_do_trim(const space_op *op)
{
    uint64_t keep = op->bytes, held = space_held(), released = UINT64_MAX;
    space.result = gpuarena_trim(space.arena, keep, &released);
    space_expect("trim", space.result);
    if (space.plain) plain_judge_trim(held, keep, released);
}

static inline void space_do_reserve(const space_op *op)
{
    uint64_t bytes = op->bytes, before = space_held();
    gpuarena_result result = space.result = gpuarena_reserve(space.arena, bytes);
    gpuarena_failure failure;
    uint64_t held = space_held();
    gpuarena_last_failure(space.arena, &failure);
    if (result == GPUARENA_OK && held < bytes) space_blame("reserve: less than asked for");
    if (result == GPUARENA_OUT_OF_MEMORY && !space.struck && !space_is_by_rounding(failure.reason)
        && shadow_may_reserve(&space.config, held, bytes))
        space_blame("reserve is refused, though there is room (%" PRIu64 " held, %" PRIu64 " asked for)", held,
                    bytes);
    if (space.plain && result) plain_judge_reserve(before, bytes, &failure);
    if (result != GPUARENA_OUT_OF_MEMORY) space_expect("reserve", result);
    space_judge_host(result);
    space.tally.fail_count += result != GPUARENA_OK;
}

static inline void space_do_rival(const space_op *op)
{
    uint64_t bytes = op->bytes;
    sim_fail_call(space.machine, SIM_CALL_KINDS, 0, 0, 0);   /* faults are the arena's alone */
    space.host_fails = 0;
    if (space.rival) (void)bench_give_back(&space.driver, space.rival, shadow.rival_bytes);
    space.rival = NULL;
    shadow.rival_bytes = 0;
    if (bytes > bench_free_bytes(&space.driver)) bytes = bench_free_bytes(&space.driver);
    bytes = bytes / SIM_GRANULE * SIM_GRANULE;
    if (bytes && bench_obtain(&space.driver, bytes, &space.rival) == SIM_SUCCESS) shadow.rival_bytes = bytes;
}

static inline void space_do_reset(const space_op *op)
{
    int stream = space_usable_from(op->stream);
    SHADOW_EACH(block) if (block->set) return;
    if (stream == SPACE_NOBODY || !space_wait()) return;
    SHADOW_EACH(block) space_drop(block);
    SPACE_CLEARS("reset", gpuarena_reset(space.arena, space_enter(stream)));
}

static inline int space_packed_plans(void)
{
    int count = 0;
    for (size_t at = 0; at < COUNT(space.arena->plans.list); at++) count += space.arena->plans.list[at].packed != 0;
    return count;
}

/* A step that comes again may have a plan, which pages that move are worth: the arena believes that some did. */
static inline void space_do_plan(const space_op *op)
{
    int packed = space_packed_plans();
    space.has_steps = 1;
    space.arena->plans.moved_count++;
    gpuarena_result result = gpuarena_step(space.arena, (uint32_t)op->slot);
    space_expect("step", result);
    if (space_captures() && space_packed_plans() > packed) space_blame("a plan is packed while a stream is captured");
    space.arena->plans.moved_count = 0;
}

/* Ends a stream, whose blocks are freed on it before, or go to an heir that is behind its work; another stream may
   take its place. Where there is no stream, one begins. */
static inline void space_do_renew(const space_op *op)
{
    int stream = op->stream, heir = space_usable_from(op->slot);
    if (stream < 1 || stream >= SPACE_THREADS_OWN || stream == SPACE_ANY || stream == SPACE_OWN) return;
    if (!space.streams[stream].alive) {
        space_begin_stream(stream, op->bytes % 2 != 0);
        return;
    }
    if (!space_usable(stream) || heir == stream) return;
    SHADOW_EACH(block) {
        const space_op gone = { SPACE_FREE, (int)(block - shadow.blocks), stream, 0, 0, 0 };
        if (block->address && block->stream == stream && !(op->flags & SPACE_KEEP)) space_do_free(&gone);
    }
    space_end_stream(stream, heir);
    if (!(op->flags & SPACE_STAY)) space_begin_stream(stream, op->bytes % 2 != 0);
}

/* All work is done, and no call fails, so nothing keeps the longest free run from being served. */
static inline void space_do_longest(const space_op *op)
{
    gpuarena_stats stats;
    space_op all = *op;
    if (space.struck || space.config.streams == GPUARENA_STREAMS_SAME || !space_wait()) return;
    gpuarena_walk_stats(space.arena, &stats);
    all.kind = SPACE_ALLOC;
    all.bytes = stats.largest_free_bytes;
    if (stats.reserved_bytes <= shadow.limit) space_do_alloc(&all);
    if (space.result) space_blame("all work is done, and the longest run of free memory is not served");
}

static inline void space_do_fault(const space_op *op)
{
    int code = op->flags & SPACE_UNKNOWN ? SIM_UNKNOWN
        : op->flags & SPACE_CAPTURING ? SIM_CAPTURE_UNSUPPORTED : SIM_OUT_OF_MEMORY;
    if (op->flags & SPACE_BRIEF) space.fault = *op;
    if (!(op->flags & SPACE_BRIEF) || space.busy) space.struck = 1;
    space.host_fails = op->slot == SPACE_HOST;
    if (op->slot <= SIM_CALL_KINDS)
        sim_fail_call(space.machine, (sim_call)op->slot, op->alignment, (op->flags & SPACE_LASTING) != 0, code);
}

static inline void space_do_work(const space_op *op)
{
    int stream = space_at(op->stream);
    if (stream != SPACE_NOBODY) space_must(sim_work(space.machine, 0, space_enter(stream), op->bytes));
}

static inline void space_do_quiet(const space_op *op)
{
    space.quiet = 1;
    space.look_every = op->bytes;
    shadow.slots = SHADOW_MOST;
}

static inline void space_do_pass(const space_op *op) { sim_advance(space.machine, op->bytes); }
static inline void space_do_largest(const space_op *op) { space.largest_bytes = op->bytes; }
static inline void space_do_heaps(const space_op *op) { (void)op, space.arena->heaps.wanted = 1; }
static inline void space_do_nothing(const space_op *op) { (void)op; }

static inline void space_do(const space_op *op)
{
#define X(name, call) space_do_##call,
    static void (*const calls[])(const space_op *) = { SPACE_ALL_KINDS(X) };
#undef X
    sim_begin_op(space.machine, space.op);
    if (space.busy) space_be(1 + (op->bytes + (uint64_t)op->slot) % SPACE_THREADS);
    calls[op->kind](op);
    sim_advance(space.machine, 2000);
}

/* A fault that the op alone should meet ends here. */
static inline void space_heal(void)
{
    if (space.fault.kind != SPACE_FAULT) return;
    space.tally.fired_count += (uint64_t)(space.host_fails ? space.struck : sim_fail_fired(space.machine));
    sim_fail_call(space.machine, SIM_CALL_KINDS, 0, 0, 0);
    space.host_fails = 0;
    space.struck = space.small;
}

/* Runs an op that is no fault, with the judgements for small devices. */
static inline void space_step(const space_op *op)
{
    pages_state before = { .mapped = 0 };
    int gives_back = space.small && small_gives_back(op);
    if (space.small) before = pages_look(space.machine, space.arena);
    space.result = GPUARENA_OK;
    space_do(op);
    space_heal();
    if (space.small) small_judge(&before, gives_back);
    space.fault.kind = SPACE_KINDS;
}

/* ---- a program from its beginning to its end */

/* The configuration for a text on this machine; 0: the text is none. */
static inline int space_config(const char *text, gpuarena_driver *watched, gpuarena_config *config)
{
    static const char *const groups[] = { "vm", "events", "capture", "clear" };
    *config = (gpuarena_config)GPUARENA_INIT;
    *watched = space.driver;
    watched->memory.obtain = space_obtain;
    watched->memory.give_back = space_give_back;
    watched->vm.create = space_create;
    watched->vm.destroy = space_destroy;
    watched->vm.map = space_map;
    watched->now_ns = space_now_ns;
    for (size_t at = 0; at < COUNT(groups) && space.plain; at++) (void)bench_without(watched, groups[at]);
    config->driver = watched;
    config->environment = "";
    space.host.refuses = space_host_refuses;
    host_serve(&space.host, config);
    config->pressure = space.busy ? space_relieve : NULL;
    return gpuarena_config_parse(text, config, space.trouble, sizeof space.trouble) == GPUARENA_OK;
}

/* 1: there is an arena. 0: refused; `detail` says why, or space.trouble does. */
static inline int space_open(uint64_t device_bytes, const char *text, char detail[96])
{
    gpuarena_driver watched;
    gpuarena_config config;
    gpuarena_failure failure;
    sim_config machine = { 2, device_bytes, 0, NULL, NULL, 0, 0 };
    sim_bench bench = bench_open(&machine);
    (void)sim_pool_chunk(bench.machine, 0, SIM_GRANULE);     /* so that the bytes held are those requested */
    memset(&space, 0, sizeof space);
    memset(&shadow, 0, sizeof shadow);
    space.machine = bench.machine;
    space.driver = bench.driver;
    shadow.device_bytes = device_bytes;
    shadow.slots = device_bytes <= SPACE_BUSY ? SHADOW_MOST : SHADOW_SLOTS;
    shadow.limit = space.largest_bytes = UINT64_MAX;
    space.plain = device_bytes > SPACE_SMALL && device_bytes <= SPACE_PLAIN;
    space.small = device_bytes > SPACE_BUSY && device_bytes <= SPACE_SMALL;
    space.busy = device_bytes <= SPACE_BUSY;
    space.fault.kind = SPACE_KINDS;
    space.struck = space.small;                  /* sums alone prove nothing where handles are large */
    space_handle_part = space.small || space.busy ? 2 : 4096;    /* 4096: none are large, for sums to prove it */
    detail[0] = '\0';
    space_begin_streams();
    space.tags[SPACE_OWN_TAG] = 77;
    for (int tag = 1; tag < SPACE_OWN_TAG; tag++) {
        const char name[] = { (char)('a' + tag), '\0' };
        space.tags[tag] = gpuarena_tag(name);
    }
    if (!space_config(text, &watched, &config)) return 0;
    if (gpuarena_create(&config, &space.arena) == GPUARENA_OK) {
        gpuarena_get_config(space.arena, &space.config);
        shadow.limit = space.config.limit_bytes;
        space.begun = space.config;
        if (space_held() > shadow.limit) space_blame("more than the limit is held from the start");
        return 1;
    }
    gpuarena_last_failure(NULL, &failure);
    memcpy(detail, failure.detail, 96);
    if (failure.result != GPUARENA_INVALID_CONFIG)
        space_blame("create answers %s", gpuarena_result_name(failure.result));
    if (space_held() || space.host.bytes) space_blame("a refused creation leaves memory behind");
    return 0;
}

/* The text of the configuration in force, read again, makes an arena that has this text, too. */
static inline void space_judge_text(void)
{
    char text[1024], again[1024];
    gpuarena_config config, found;
    gpuarena_driver watched;
    gpuarena *arena;
    gpuarena_config_text(&space.begun, text, sizeof text);
    shadow.limit = space.begun.limit_bytes;
    if (!space_config(text, &watched, &config)) return;      /* the trouble is there */
    if (gpuarena_create(&config, &arena)) {
        space_blame("what was in force is refused: %s", text);
        return;
    }
    gpuarena_get_config(arena, &found);
    gpuarena_config_text(&found, again, sizeof again);
    if (strcmp(text, again)) space_blame("in force is %s, and then %s", text, again);
    if (gpuarena_destroy(arena)) space_blame("destroy fails");
}

static inline void space_close(void)
{
    if (space.arena && !space.trouble[0]) {
        gpuarena_get_stats(space.arena, &space.tally.last);
        space_do_rival(&(space_op){ .kind = SPACE_RIVAL });
        space_end_captures();
        space_do_reset(&(space_op){ .kind = SPACE_RESET, .stream = 1 });
        if (gpuarena_destroy(space.arena)) space_blame("destroy fails");
        space_close_other();
        if (bench_left(space.machine)) space_blame("%s", bench_left(space.machine));
        space_judge_text();
        if (host_close(&space.host)) space_blame("%s", host_close(&space.host));
        if (sim_finding_count(space.machine)) space_blame("finding: %s", sim_finding(space.machine, 0));
    }
    sim_destroy(space.machine);
}

/* Runs the program. Returns the first trouble, or "". thorough: the check of all books after every op; else nobody
   asks for figures for a while, now and then, and peaks must be exact even so. */
static inline const char *space_run(uint64_t device_bytes, const char *text, const space_op *ops, size_t count,
                                    int thorough)
{
    char detail[96];
    if (!space_open(device_bytes, text, detail)) space_blame("refused: %s", detail);
    else space_open_other();
    for (space.op = 0; space.op < count && !space.trouble[0]; space.op++) {
        if (ops[space.op].kind == SPACE_FAULT) space_do(&ops[space.op]);
        else space_step(&ops[space.op]);
        int whole = thorough || space.small || space.op % 16 == 0;
        if (space.quiet ? ops[space.op].kind == SPACE_SEE || (space.look_every && space.op % space.look_every == 0)
                        : whole || space.op / 64 % 2) space_audit(whole || space.quiet);
    }
    space_close();
    return space.trouble;
}

#endif
