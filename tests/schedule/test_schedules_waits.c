/* Threads that need what another has under way, in many orders: growth and release in progress are waited for before
   any failure; wait_ms waits for other threads' frees, and not longer; arenas under one parent help each other.
   GPUARENA_SCHEDULES=N: so many of each scenario. */
#include "schedule_scenario.h"

static void *pool[4];

static void limit_of_one_step(gpuarena_config *config)
{
    config->limit_bytes = MIB(2);
}

static void limit_of_two_steps(gpuarena_config *config)
{
    limit_of_one_step(config);
    config->limit_bytes = MIB(4);
}

static void no_limit_but_the_device(gpuarena_config *config)
{
    limit_of_one_step(config);
    config->limit_bytes = 0;
    device.total_bytes = MIB(2);
}

static void patient(gpuarena_config *config)
{
    limit_of_one_step(config);
    config->wait_ms = 20;
}

/* ---- growth and release under way */

static void need_half(void)
{
    pool[schedule.current] = world_alloc(MIB(1), 1);
}

static void need_half_and_free(void)
{
    void *ptr = world_alloc(MIB(1), 1);
    WANT(world_free(ptr, 1) == GPUARENA_OK);
}

static void need_some(void)
{
    pool[schedule.current] = world_alloc(KIB(512), 1);
}

static void have_two_idle(void)
{
    pool[0] = world_alloc(MIB(2), 1);
    pool[1] = world_alloc(MIB(2), 1);
    WANT(world_free(pool[0], 1) == GPUARENA_OK && world_free(pool[1], 1) == GPUARENA_OK);
}

static void trim_all(void)
{
    WANT(gpuarena_trim(world.arena, 0, NULL) == GPUARENA_OK);
}

static void trim_one(void)
{
    WANT(gpuarena_trim(world.arena, MIB(2), NULL) == GPUARENA_OK);
}

static void need_all(void)
{
    pool[2] = world_alloc(MIB(4), 1);
}

static void reserve_all(void)
{
    WANT(gpuarena_reserve(world.arena, MIB(4)) == GPUARENA_OK);
}

/* Somebody frees while the driver is asked what is missing: that serves the request, or it is refused as it was
   before. */
static void have_two_holes(void)
{
    for (int at = 0; at < 4; at++) pool[at] = world_alloc(KIB(512), 1);
    WANT(world_free(pool[1], 1) == GPUARENA_OK && world_free(pool[3], 1) == GPUARENA_OK);
}

static void free_between(void) { WANT(world_free(pool[2], 1) == GPUARENA_OK); }

static void need_half_or_be_refused(void)
{
    gpuarena_failure failure;
    void *ptr;
    if (world_try(&ptr, MIB(1), 1) == GPUARENA_OK) {
        WANT(world_free(ptr, 1) == GPUARENA_OK);
        return;
    }
    gpuarena_last_failure(NULL, &failure);
    WANT(failure.reason == GPUARENA_REASON_FRAGMENTED);
}

/* ---- wait_ms */

static void have_all_live(void)
{
    pool[0] = world_alloc(MIB(1), 1);
    pool[1] = world_alloc(MIB(1), 1);
}

static void wait_for_all(void)
{
    void *ptr = world_alloc(MIB(2), 1);
    WANT(ptr && world_free(ptr, 1) == GPUARENA_OK);
}

static void wait_for_half(void)
{
    void *ptr = world_alloc(MIB(1), 1);
    WANT(ptr && world_free(ptr, 1) == GPUARENA_OK);
}

static void free_both(void)
{
    gpuarena_stats stats;
    gpuarena_get_stats(world.arena, &stats);
    WANT(world_free(pool[0], 1) == GPUARENA_OK);
    WANT(world_free(pool[1], 1) == GPUARENA_OK);
}

static void free_first(void) { WANT(world_free(pool[0], 1) == GPUARENA_OK); }
static void free_second(void) { WANT(world_free(pool[1], 1) == GPUARENA_OK); }

static void patient_for_segments(gpuarena_config *config)
{
    patient(config);
    config->limit_bytes = MIB(4);
}

static void have_two_live(void)
{
    pool[0] = world_alloc(MIB(2), 1);
    pool[1] = world_alloc(MIB(2), 1);
}

/* As soon as both are free, be they side by side or not. */
static void wait_for_both(void)
{
    uint64_t begin = slot_now_ns(&device.table);
    void *ptr = world_alloc(MIB(4), 1);
    WANT(slot_now_ns(&device.table) - begin < 10 * SLOT_MS);
    WANT(ptr && world_free(ptr, 1) == GPUARENA_OK);
}

static void raise_limit(void)
{
    WANT(gpuarena_set_limit(world.arena, MIB(4)) == GPUARENA_OK);
}

/* What another thread's call has made free counts, though less may grow than before. */
static void wait_for_half_soon(void)
{
    uint64_t begin = slot_now_ns(&device.table);
    wait_for_half();
    WANT(slot_now_ns(&device.table) - begin < 10 * SLOT_MS);
}

static void raise_limit_and_reserve(void)
{
    raise_limit();
    WANT(gpuarena_reserve(world.arena, MIB(4)) == GPUARENA_OK);
}

static void shrink_first(void)
{
    for (int at = 0; at < WORLD_BLOCKS; at++)
        if (world.blocks[at].ptr == pool[0]) world.blocks[at].bytes = KIB(256);
    WANT(gpuarena_resize(world.arena, pool[0], KIB(256), slot_stream(1)) == GPUARENA_OK);
}

static void wait_for_some_soon(void)
{
    uint64_t begin = slot_now_ns(&device.table);
    void *ptr = world_alloc(KIB(512), 1);
    WANT(ptr && world_free(ptr, 1) == GPUARENA_OK);
    WANT(slot_now_ns(&device.table) - begin < 10 * SLOT_MS);
}

/* Nobody frees: refused, and not before the time is over. */
static void wait_in_vain(void)
{
    uint64_t begin = slot_now_ns(&device.table);
    void *ptr;
    WANT(world_try(&ptr, MIB(2), 1) == GPUARENA_OUT_OF_MEMORY);
    WANT(slot_now_ns(&device.table) - begin >= 20 * SLOT_MS);
    WANT(slot_now_ns(&device.table) - begin <= 30 * SLOT_MS);
}

static void hit_little(void)
{
    gpuarena_stats stats;
    gpuarena_get_stats(world.arena, &stats);
    WANT(gpuarena_lookup(world.arena, pool[0], &(gpuarena_block){ 0 }) == GPUARENA_OK);
}

/* The request without patience fails at once. */
static void try_only(void)
{
    gpuarena_request request = GPUARENA_INIT;
    uint64_t begin = device.clock_ns;
    void *ptr = NULL;
    request.bytes = MIB(2);
    request.flags = GPUARENA_ALLOC_TRY;
    if (gpuarena_alloc_ex(world.arena, &ptr, &request) == GPUARENA_OK) {
        world.alloc_count++;
        WANT(gpuarena_free(world.arena, ptr, NULL) == GPUARENA_OK);
        world.free_count++;
    }
    WANT(device.clock_ns == begin);
}

/* ---- arenas under one parent: world.arena, of 8 MiB */

static gpuarena *parts[2], *victim;
static gpuarena_result results[SCHEDULE_FIBERS];

static void grow_exactly(gpuarena_config *config)
{
    config->growth = GPUARENA_GROWTH_EXACT;
}

static gpuarena_result make_part(gpuarena *parent, gpuarena **made)
{
    gpuarena_config config = world_config();
    config.growth = GPUARENA_GROWTH_EXACT;
    config.parent = parent;
    config.oversubscribe = 1;
    return gpuarena_create(&config, made);
}

static gpuarena_result part_takes(gpuarena *part, uint64_t bytes)
{
    void *ptr = NULL;
    gpuarena_result result = gpuarena_alloc(part, &ptr, bytes, slot_stream(1 + schedule.current));
    if (result != GPUARENA_OK) {
        gpuarena_failure failure;
        gpuarena_last_failure(NULL, &failure);
        WANT(result == GPUARENA_OUT_OF_MEMORY && failure.reason == GPUARENA_REASON_OVER_PARENT);
        return result;
    }
    world_claim(ptr, bytes);
    (void)world_disclaim(ptr);
    WANT(gpuarena_free(part, ptr, slot_stream(1 + schedule.current)) == GPUARENA_OK);
    return result;
}

/* Idle memory is where it is not needed, in pieces of 2 MiB. */
static void make_parts(void)
{
    void *blocks[2];
    victim = NULL;
    memset(results, 0, sizeof results);
    for (int at = 0; at < 2; at++) WANT(make_part(world.arena, &parts[at]) == GPUARENA_OK);
    for (int at = 0; at < 2; at++)
        WANT(gpuarena_alloc(parts[0], &blocks[at], MIB(2), slot_stream(1)) == GPUARENA_OK);
    for (int at = 0; at < 2; at++) WANT(gpuarena_free(parts[0], blocks[at], slot_stream(1)) == GPUARENA_OK);
    WANT(world_free(world_alloc(MIB(2), 1), 1) == GPUARENA_OK);
}

static void end_parts(void)
{
    for (int at = 0; at < 2; at++) {
        WANT(part_takes(parts[at], MIB(8)) == GPUARENA_OK);  /* all that there is */
        WANT(gpuarena_check(parts[at], NULL, 0) == GPUARENA_OK);
    }
    for (int at = 0; at < 2; at++) WANT(gpuarena_destroy(parts[at]) == GPUARENA_OK);
}

static void first_needs_a_quarter(void) { WANT(part_takes(parts[0], MIB(2)) == GPUARENA_OK); }
static void second_needs_a_half(void)   { WANT(part_takes(parts[1], MIB(4)) == GPUARENA_OK); }
static void whole_needs_a_quarter(void) { WANT(world_free(world_alloc(MIB(2), 3), 3) == GPUARENA_OK); }
static void first_wants_most(void)      { results[0] = part_takes(parts[0], MIB(6)); }
static void second_wants_most(void)     { results[1] = part_takes(parts[1], MIB(6)); }

/* What one was refused for the other had. */
static void judge_one_had(void)
{
    WANT(results[0] == GPUARENA_OK || results[1] == GPUARENA_OK);
    end_parts();
}

static void lower_whole(void)
{
    world.is_lowered = 1;
    WANT(gpuarena_set_limit(world.arena, MIB(4)) == GPUARENA_OK);
    world.is_lowered = 0;                        /* from here on nobody passes it */
    WANT(gpuarena_set_limit(world.arena, MIB(8)) == GPUARENA_OK);
}

static void come_and_go(void)
{
    gpuarena *part = NULL;
    WANT(make_part(world.arena, &part) == GPUARENA_OK);
    (void)part_takes(part, MIB(2));
    WANT(gpuarena_destroy(part) == GPUARENA_OK);
}

static void end_whole(void)
{
    WANT(gpuarena_destroy(world.arena) == GPUARENA_STILL_IN_USE);
}

static void make_victim(void)
{
    make_parts();
    WANT(make_part(world.arena, &victim) == GPUARENA_OK);
}

static void end_victim(void) { results[schedule.current] = gpuarena_destroy(victim); }

static void join_victim(void)
{
    gpuarena *part = NULL;
    gpuarena_result result = make_part(victim, &part);
    WANT(result == GPUARENA_OK || result == GPUARENA_INVALID_CONFIG);
    if (result == GPUARENA_OK) WANT(gpuarena_destroy(part) == GPUARENA_OK);
}

/* It has ended once, if not both came while it was a parent. */
static void judge_victim(void)
{
    int ends = 0;
    for (int at = 0; at < 2; at++) {
        ends += results[at] == GPUARENA_OK;
        WANT(results[at] == GPUARENA_OK || results[at] == GPUARENA_STILL_IN_USE
             || results[at] == GPUARENA_INVALID_ARGUMENT);
    }
    WANT(ends == 1 || (!ends && gpuarena_destroy(victim) == GPUARENA_OK));
    end_parts();
}

static const scenario scenarios[] = {
    { "two halves of one growth", limit_of_one_step, NULL, { need_half, need_half }, NULL, 0 },
    { "three parts of one growth", limit_of_one_step, NULL, { need_some, need_some, need_half }, NULL, 0 },
    { "three of two growths", limit_of_two_steps, NULL, { need_half, need_half_and_free, need_half }, NULL, 0 },
    { "all that the device has", no_limit_but_the_device, NULL, { need_half, need_half }, NULL, 0 },
    { "trim beside the need for all", limit_of_two_steps, have_two_idle, { need_all, trim_all }, NULL, 0 },
    { "two trims and need for all", limit_of_two_steps, have_two_idle, { need_all, trim_one, trim_all }, NULL, 0 },
    { "trim beside reserve", limit_of_two_steps, have_two_idle, { reserve_all, trim_all }, NULL, 0 },
    { "a refusal beside a free", no_limit_but_the_device, have_two_holes,
      { need_half_or_be_refused, free_between }, NULL, 0 },
    { "wait_ms for two frees", patient, have_all_live, { wait_for_all, free_both }, NULL, 0 },
    { "wait_ms for two threads", patient, have_all_live, { wait_for_all, free_first, free_second }, NULL, 0 },
    { "two that wait", patient, have_all_live, { wait_for_half, wait_for_half, free_first }, NULL, 0 },
    { "wait_ms for two segments", patient_for_segments, have_two_live, { wait_for_both, free_both }, NULL, 0 },
    { "wait_ms for a limit", patient, have_all_live, { wait_for_half, raise_limit }, NULL, 0 },
    { "wait_ms for a reserve", patient, have_all_live, { wait_for_half_soon, raise_limit_and_reserve }, NULL, 0 },
    { "wait_ms for a resize", patient, have_all_live, { wait_for_some_soon, shrink_first }, NULL, 0 },
    { "wait_ms in vain", patient, have_all_live, { wait_in_vain, hit_little, try_only }, NULL, 4 },
    { "two in vain", patient, have_all_live, { wait_in_vain, wait_in_vain, hit_little }, NULL, 2 },
    { "parts that need what others have idle", grow_exactly, make_parts,
      { first_needs_a_quarter, second_needs_a_half, whole_needs_a_quarter }, end_parts, 4 },
    { "parts that want too much", grow_exactly, make_parts,
      { first_wants_most, second_wants_most }, judge_one_had, 4 },
    { "parts of a whole that is lowered", grow_exactly, make_parts,
      { first_wants_most, second_wants_most, lower_whole }, end_parts, 4 },
    { "parts that come and go", grow_exactly, make_parts, { come_and_go, come_and_go, end_whole }, end_parts, 2 },
    { "an end while a part is made", grow_exactly, make_victim,
      { end_victim, end_victim, join_victim }, judge_victim, 4 },
};

int main(void)
{
    scenarios_run(scenarios, sizeof scenarios / sizeof scenarios[0]);
    return tap_done();
}
