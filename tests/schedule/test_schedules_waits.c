/* Threads that need what another has under way, in many orders: growth and release in progress are waited for before
   any failure; wait_ms waits for other threads' frees, and not longer.
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
};

int main(void)
{
    scenarios_run(scenarios, sizeof scenarios / sizeof scenarios[0]);
    return tap_done();
}
