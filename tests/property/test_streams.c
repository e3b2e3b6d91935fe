/* Property: random programs of streams, waits, uses, destroys and captures, legal by CUDA's rules and by the header's
   contracts: the simulated device's judge finds nothing, sums hold after every operation, no refusal is spurious.
   It must not know how order is kept. (GPUARENA_STREAM_OPS, .._SEED); a failure prints its repro. */
#include "world_sets.h"

#include <stdlib.h>

enum { PROGRAM_OPS = 2000, ALIKE_ONE_IN = 4, SILENT_CHECK_EVERY = 24, CHECK_EVERY = 64 };

static uint64_t reserved_before;

/* ---- properties */

static void audit_sums(const gpuarena_stats *stats)
{
    if (stats->requested_bytes != requested_bytes || stats->live_count != (uint64_t)block_count)
        blame("requested_bytes or live_count is not the program's", 0);
    if (stats->requested_bytes + stats->slack_bytes != stats->live_bytes) blame("requested + slack is live", 0);
    if (stats->live_bytes + stats->pending_bytes + stats->cached_bytes + stats->children_bytes
        != stats->reserved_bytes)
        blame("live + pending + cached + children is reserved", 0);
    if (stats->reserved_bytes != world_held() && !world.arena->paged.unmap_failed_count)
        blame("reserved is what the driver gave", (int)(stats->reserved_bytes >> 20));
    if (stats->alloc_count - stats->free_count != stats->live_count) blame("alloc - free is live_count", 0);
    if (stats->misuse_count) blame("nothing is taken for misuse", (int)stats->misuse_count);
}

static void audit_limit(uint64_t reserved)
{
    if (reserved > world.limit && reserved > reserved_before) blame("reserved never rises above the limit", 0);
    reserved_before = reserved;
}

static int world_has_sets(void)
{
    for (uint32_t at = 1; at < world.arena->streams.count; at++)
        if (world.arena->streams.list[at].home) return 1;
    return 0;
}

static void audit_whole(void)
{
    char message[200];
    const char *wrong = pages_audit(world.machine, world.arena);
    if (wrong[0]) blame(wrong, 0);
    if (gpuarena_check(world.arena, message, sizeof message) && !world.trouble[0])
        snprintf(world.trouble, sizeof world.trouble, "property: check finds nothing: %s", message);
}

static void audit(int thorough)
{
    gpuarena_stats stats;
    audit_limit(world.arena->stats.reserved_bytes);
    if (thorough || !with(WITH_SILENCE) || world.op % SILENT_CHECK_EVERY == 0) {
        gpuarena_walk_stats(world.arena, &stats);
        audit_sums(&stats);
        if (!world_has_sets() && stats.largest_free_bytes != pages_longest(world.arena))
            blame("largest_free is the longest run, or what is idle", (int)(stats.largest_free_bytes >> 10));
        if (!pages_span_is_so(world.arena, pages_mix(world.op, 0)))
            blame("idle pages outside of a span are those walked", 0);
        if (thorough) audit_whole();
    }
    if (sim_finding_count(world.machine) && !world.trouble[0])
        snprintf(world.trouble, sizeof world.trouble, "finding: %s", sim_finding(world.machine, 0));
}

/* ---- operations on the whole */

static void pass_on(int stream, int heir)
{
    block_pass_on(stream, heir);
    capture_pass_on(stream, heir);
}

static void do_wait(void)
{
    int stream = world_pick(), code;
    if (stream < 0 || world.captures) return;
    if (one_in(30)) {
        if (sim_device_wait(world.machine, 0)) blame("the program's own wait for the device", 0);
        for (int at = 0; at < WORLD_STREAMS; at++) pass_on(at, NOBODY);
        return;
    }
    gpuarena_stream handle = world_enter(stream);
    code = one_in(8) ? sim_stream_wait(world.machine, 0, handle) : sim_stream_query(world.machine, 0, handle);
    if (code == SIM_SUCCESS) pass_on(stream, NOBODY);
    else if (code != SIM_NOT_READY) blame("the program's own wait for a stream", code);
}

/* A stream goes, which is done, or its heir follows it. */
static void do_end_stream(int stream, int heir)
{
    pass_on(stream, heir);
    block_forget_stream(stream);
    world_arm();
    gpuarena_result result = gpuarena_forget(world.arena, world.streams[stream].handle);
    int struck = world_disarm();
    if (!block_expected(result, struck)) blame("result of forget", result);
    if (sim_stream_destroy(world.machine, 0, world.streams[stream].handle)) blame("the program's own destroy", 0);
    world.streams[stream].alive = 0;
    tally.destroys++;
}

/* A stream goes: the host waited for it, or another follows it, and the arena may be told what else it uses. */
static void do_destroy(void)
{
    int stream = WORLD_MADE + (int)draw(WORLD_STREAMS - WORLD_MADE), heir;
    if (!with(WITH_DESTROYS) || with(WITH_ALONE)) return;
    if (!world.streams[stream].alive) {
        world_make_stream(stream);
        return;
    }
    heir = world_pick();
    if (heir < 0 || heir == stream || !world_is_usable(stream)) return;
    block *last = one_in(4) ? NULL : block_pick();
    if (last) block_last_use(last, stream);
    if (one_in(2)) block_name_all(stream);
    if (!world.captures && one_in(4)) {
        if (sim_stream_wait(world.machine, 0, world_enter(stream))) blame("the program's own wait for a stream", 0);
        heir = NOBODY;
    } else world_follow(heir, stream);
    do_end_stream(stream, heir);
    if (last && last->own >= 0 && !last->pins && one_in(2)) block_free_on(last, last->own, 0);
    if (one_in(2)) world_make_stream(stream);
}

/* A stream is made for one use. */
static void do_errand(void)
{
    int stream = WORLD_MADE + (int)draw(WORLD_STREAMS - WORLD_MADE);
    block *at = block_pick();
    if (!with(WITH_DESTROYS) || with(WITH_ALONE) || world.streams[stream].alive || !at) return;
    world_make_stream(stream);
    block_last_use(at, stream);
    do_end_stream(stream, NOBODY);
    if (at->own >= 0 && !at->pins && one_in(2)) block_free_on(at, at->own, 0);
}

static void do_trim(void)
{
    if (!with(WITH_RELEASE)) return;
    world_arm();
    gpuarena_result result = gpuarena_trim(world.arena, draw(world_held() + 1), NULL);
    int struck = world_disarm();
    if (!block_expected(result, struck)) blame("result of trim", result);
}

static void do_limit(void)
{
    if (!with(WITH_RELEASE)) return;
    world.limit = one_in(4) ? MIB(2) * draw(4) : MIB(4) + MIB(2) * draw(16);
    gpuarena_result result = gpuarena_set_limit(world.arena, world.limit);
    if (!block_expected(result, 0)) blame("result of set_limit", result);
    tally.limits++;
}

/* Once all work is done, what fits into free memory is served. */
static void do_must_fit(void)
{
    gpuarena_stats stats;
    gpuarena_request request = GPUARENA_INIT;
    int any = with(WITH_ANY) && !with(WITH_ALONE) && one_in(4), stream = any ? NOBODY : world_pick();
    if (world.captures || (stream < 0 && !any) || block_count == BLOCKS || world_held() > world.limit) return;
    if (world.streams_in_force == GPUARENA_STREAMS_SAME) return;
    if (sim_device_wait(world.machine, 0)) blame("the program's own wait for the device", 0);
    for (int at = 0; at < WORLD_STREAMS; at++) pass_on(at, NOBODY);
    gpuarena_walk_stats(world.arena, &stats);
    request.bytes = stats.largest_free_bytes;
    request.stream = any ? GPUARENA_ANY_STREAM : world_enter(stream);
    void *ptr = NULL;
    gpuarena_result result = gpuarena_alloc_ex(world.arena, &ptr, &request);
    if (result) blame("all work is done, and the longest run of free memory is served", result);
    if (result || !request.bytes) return;
    block *made = block_add(ptr, request.bytes, stream);
    tally.must_fit++;
    if (!any) block_touch(made, stream);
    if (any || !one_in(8)) block_free_on(made, any ? world_pick() : stream, 0);
}

static void do_rare(void)
{
    switch (draw(20)) {
    case 0: case 1: do_trim(); break;
    case 2: do_limit(); break;
    case 3: if (one_in(8)) do_reset(); break;
    case 4: case 5: do_must_fit(); break;
    default: do_destroy();
    }
}

static void do_op(uint64_t target_count)
{
    uint64_t choice = draw(100);
    sim_begin_op(world.machine, world.op);
    sim_advance(world.machine, draw(8000));
    world_be(1 + draw(WORLD_THREADS));
    if (choice < 4) do_rare();
    else if (choice < 8) {
        if (with(WITH_WAITS)) do_wait();
    } else if (choice < 16) do_use();
    else if (choice < 18) do_resize();
    else if (choice < 20) do_errand();
    else if (choice < 45 && with(WITH_CAPTURES) && !with(WITH_ALONE)) do_graph();
    else if (draw(2 * target_count) < (uint64_t)block_count) do_free();
    else do_alloc();
    world.op++;
}

/* ---- programs */

/* Captures end, the device is waited for, and all is given back. */
static void wind_up(void)
{
    for (int number = 1; number <= CAPTURES; number++)
        if (captures[number].set) capture_finish(number);
    if (sim_device_wait(world.machine, 0)) blame("the program's own wait for the device", 0);
    for (int at = 0; at < GRAPHS; at++) graph_drop(&graphs[at]);
    while (block_count) block_free(&blocks[0], GPUARENA_ANY_STREAM);
    for (int set = 1; set <= SETS; set++)
        if (sets[set].id && gpuarena_capture_release(world.arena, sets[set].id, GPUARENA_ANY_STREAM))
            blame("result of the last capture_release", set);
    memset(sets, 0, sizeof sets);
    audit(1);
}

/* One program from its seed; the number of its operation that failed, or `ops`. */
static uint64_t run_program(uint64_t seed, int alike, uint64_t ops)
{
    capture_clear();
    block_count = 0;
    world_open(seed, alike, block_relieve);
    requested_bytes = reserved_before = 0;
    if (world.trouble[0]) return 0;
    uint64_t target_count = 4 + draw((uint64_t)1 << (3 + draw(5)));
    if (with(WITH_ALIKE)) target_count = BLOCKS - 10;
    uint64_t heaps_at = with(WITH_LATE_HEAPS) ? draw(ops / 2) : UINT64_MAX;
    while (world.op < ops && !world.trouble[0]) {
        if (world.op == heaps_at) world_want_heaps();
        do_op(target_count);
        audit(world.op % CHECK_EVERY == 0);
    }
    uint64_t done = world.op;
    if (!world.trouble[0]) {
        wind_up();
        world_close();
    }
    return done;
}

/* ---- all */

/* Each of these must have happened, or the test does not test it. */
static void test_it_all_happened(uint64_t ops)
{
#define SHOW(field) printf("# %s: %" PRIu64 "\n", #field, tally.field);
#define MISSING(field) missing = tally.field ? missing : #field;
    const char *missing = NULL;
    WORLD_TALLY(SHOW)
    WORLD_TALLY(MISSING)
    CHECK_MSG(ops < 400000 || !missing, "all of this happened%s%s", missing ? ", but " : "", missing ? missing : "");
}

int main(void)
{
    uint64_t seed = tap_number("GPUARENA_STREAM_SEED", 1), done = 0;
    uint64_t ops = tap_number("GPUARENA_STREAM_OPS", TAP_SANITIZED ? 100000 : 400000), program = 0;
    uint64_t all = ops + ops / ALIKE_ONE_IN;     /* with those of many blocks that are alike, behind the others */
    space_handle_part = 2;                       /* large handles, though the devices are small */
    printf("# seed %" PRIu64 ", %" PRIu64 " operations\n", seed, all);
    for (; done < all; program++) {
        int alike = done >= ops || tap_number("GPUARENA_STREAM_ALIKE", 0);
        uint64_t end = alike ? all : ops, length = end - done < PROGRAM_OPS ? end - done : PROGRAM_OPS;
        uint64_t at = run_program(seed + program, alike, length);
        done += at;
        if (!world.trouble[0]) continue;
        CHECK_MSG(0, "operation %" PRIu64 ", number %" PRIu64 " of seed %" PRIu64 ": %s", done, at, seed + program,
                  world.trouble);
        printf("# repro: GPUARENA_STREAM_SEED=%" PRIu64 " GPUARENA_STREAM_OPS=%d GPUARENA_STREAM_ALIKE=%d "
               "build/tests/test_streams\n", seed + program, (int)PROGRAM_OPS, alike);
        return tap_done();
    }
    CHECK_MSG(1, "%" PRIu64 " operations in %" PRIu64 " programs: nothing found", done, program);
    test_it_all_happened(ops);
    return tap_done();
}
