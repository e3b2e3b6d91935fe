/* Threads that need what another has under way, in many orders: growth and release in progress are waited for before
   any failure; wait_ms waits for other threads' frees, and not longer.
   It must not know the implementation. GPUARENA_SCHEDULES=N: so many of each scenario. Run: make test */
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
    { "wait_ms for two frees", patient, have_all_live, { wait_for_all, free_both }, NULL, 0 },
    { "wait_ms for two threads", patient, have_all_live, { wait_for_all, free_first, free_second }, NULL, 0 },
    { "two that wait", patient, have_all_live, { wait_for_half, wait_for_half, free_first }, NULL, 0 },
    { "wait_ms for two segments", patient_for_segments, have_two_live, { wait_for_both, free_both }, NULL, 0 },
    { "wait_ms for a limit", patient, have_all_live, { wait_for_half, raise_limit }, NULL, 0 },
    { "wait_ms in vain", patient, have_all_live, { wait_in_vain, hit_little, try_only }, NULL, 4 },
    { "two in vain", patient, have_all_live, { wait_in_vain, wait_in_vain, hit_little }, NULL, 2 },
};

int main(void)
{
    scenarios_run(scenarios, sizeof scenarios / sizeof scenarios[0]);
    return tap_done();
}
