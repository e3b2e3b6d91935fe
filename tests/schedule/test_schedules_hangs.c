/* Threads beside one that the driver keeps, and beside one that destroys the arena, in many orders: hits, frees and
   looks end while a driver call hangs; of destroy and a use at the same time one is refused.
   GPUARENA_SCHEDULES=N: so many of each scenario. */
#include "schedule_scenario.h"

static void *pool[4];
static gpuarena_result results[SCHEDULE_FIBERS];
static int is_held, is_hung, is_done;            /* hung: a driver call was held; held: or there is none any more */
static uint32_t held_calls;                      /* a bit each */

/* ---- hits while the driver does not answer */

static gpuarena_status hold_call(slot_call call)
{
    if (!schedule_is_on() || schedule.current != 0 || is_held || !(held_calls >> call & 1))
        return GPUARENA_STATUS_DONE;
    is_held = is_hung = 1;
    schedule_wake(&is_held);
    if (!is_done) schedule_wait(&is_done, "a driver call that hangs");
    return GPUARENA_STATUS_DONE;
}

static void warm_and_hold(uint32_t calls)
{
    is_held = is_hung = is_done = 0;
    held_calls = calls;
    for (int at = 0; at < 4; at++) pool[at] = world_alloc(KIB(128), 1);
    world.on_call = hold_call;
}

static void hold_growth(void)  { warm_and_hold(1u << SLOT_OBTAIN | 1u << SLOT_CREATE); }
static void hold_mapping(void) { warm_and_hold(1u << SLOT_MAP); }
static void hold_access(void)  { warm_and_hold(1u << SLOT_ACCESS); }

static void grow(void)
{
    void *ptr = world_alloc(MIB(4), 1);
    WANT(world_free(ptr, 1) == GPUARENA_OK);
    WANT(gpuarena_trim(world.arena, 0, NULL) == GPUARENA_OK);
    is_held = 1;
    schedule_wake(&is_held);
}

static void trim_only(void)
{
    WANT(gpuarena_trim(world.arena, 0, NULL) == GPUARENA_OK);
    is_held = 1;
    schedule_wake(&is_held);
}

static void warm_with_idle_and_hold(uint32_t calls)
{
    void *large = world_alloc(MIB(4), 2);
    warm_and_hold(calls);
    slot_work(&device, 2, 1000 * SLOT_MS);
    WANT(world_free(large, 2) == GPUARENA_OK);
}

static void hold_release(void) { warm_with_idle_and_hold(1u << SLOT_GIVE_BACK | 1u << SLOT_UNMAP); }
static void hold_destroy(void) { warm_with_idle_and_hold(1u << SLOT_DESTROY); }
static void hold_waits(void)   { warm_with_idle_and_hold(1u << SLOT_HOST_WAIT | 1u << SLOT_DEVICE_WAIT); }

/* All in one segment, which cannot go back. */
static void six_at_once(gpuarena_config *config)
{
    config->limit_bytes = config->initial_bytes = MIB(6);
    config->streams = GPUARENA_STREAMS_EVENTS;
}

static void wait_for_other_stream(void)
{
    void *ptr = world_alloc(MIB(4), 1);
    WANT(is_held && world_free(ptr, 1) == GPUARENA_OK);
}

/* All of it while the other is held: it is let go on at the end alone. */
static void hit_often(void)
{
    gpuarena_stats stats;
    gpuarena_failure failure;
    gpuarena_block block;
    if (!is_held) schedule_wait(&is_held, "until the driver hangs");
    for (int at = 0; at < 4; at++) {
        WANT(world_free(pool[at], 1) == GPUARENA_OK);
        pool[at] = world_alloc(KIB(100), 1);
        gpuarena_get_stats(world.arena, &stats);
        gpuarena_last_failure(world.arena, &failure);
        WANT(!failure.serial);
        WANT(gpuarena_lookup(world.arena, pool[at], &block) == GPUARENA_OK);
        WANT(gpuarena_owner(pool[at]) == world.arena);
    }
    is_done = 1;
    schedule_wake(&is_done);
}

/* Segments have no pages that could be mapped or destroyed. */
static void judge_hung(void)
{
    const uint32_t plain = 1u << SLOT_OBTAIN | 1u << SLOT_GIVE_BACK | 1u << SLOT_DEVICE_WAIT;
    WANT(is_hung || (world.kind->backing == GPUARENA_BACKING_SEGMENTS && !(held_calls & plain)));
}

/* ---- destroy beside use: one of them is refused */

static void one_block(void)
{
    pool[0] = world_alloc(KIB(64), 1);
}

static void destroy(void)
{
    results[schedule.current] = gpuarena_destroy(world.arena);
}

static void alloc_late(void)
{
    void *ptr = NULL;
    results[schedule.current] = gpuarena_alloc(world.arena, &ptr, KIB(64), NULL);
    if (results[schedule.current] == GPUARENA_OK) world.alloc_count++;
    pool[1] = ptr;
}

static void judge_destroyed(void)
{
    if (results[0] == GPUARENA_OK) {
        WANT(results[1] != GPUARENA_OK);
        world.arena = NULL;
    } else {
        WANT(results[0] == GPUARENA_STILL_IN_USE);
        WANT(results[1] == GPUARENA_OK);
        if (pool[1]) world_claim(pool[1], KIB(64));
    }
}

static void free_last(void)
{
    results[schedule.current] = world_free(pool[0], 1);
}

static void judge_freed(void)
{
    WANT(results[1] == GPUARENA_OK);
    if (results[0] == GPUARENA_OK) world.arena = NULL;
    else WANT(results[0] == GPUARENA_STILL_IN_USE);
}

static void judge_one_destroyed(void)
{
    WANT((results[0] == GPUARENA_OK) + (results[1] == GPUARENA_OK) == 1);
    world.arena = NULL;
}

/* Under pressure, and in a wait, a thread is inside, though it has no lock. */
static int press(gpuarena *arena, const gpuarena_failure *failure, void *user)
{
    (void)arena;
    (void)failure;
    (void)user;
    schedule_point("pressure");
    return 0;
}

static void pressed(gpuarena_config *config)
{
    config->limit_bytes = MIB(2);
    config->pressure = press;
}

static void patient(gpuarena_config *config)
{
    config->limit_bytes = MIB(2);
    config->wait_ms = 1;
}

static void need_too_much(void)
{
    void *ptr;
    (void)world_try(&ptr, MIB(3), 1);
}

static void free_and_destroy(void)
{
    WANT(world_free(pool[0], 1) == GPUARENA_OK);
    results[0] = gpuarena_destroy(world.arena);
    results[1] = GPUARENA_OK;
}

static const scenario scenarios[] = {
    { "hits while growth hangs", NULL, hold_growth, { grow, hit_often }, judge_hung, 0 },
    { "hits while mapping hangs", NULL, hold_mapping, { grow, hit_often }, judge_hung, 0 },
    { "hits while access hangs", NULL, hold_access, { grow, hit_often }, judge_hung, 0 },
    { "hits while trim hangs", NULL, hold_release, { trim_only, hit_often }, judge_hung, 0 },
    { "hits while destruction hangs", NULL, hold_destroy, { trim_only, hit_often }, judge_hung, 0 },
    { "hits while a wait hangs", six_at_once, hold_waits, { wait_for_other_stream, hit_often }, judge_hung, 0 },
    { "destroy and alloc", NULL, NULL, { destroy, alloc_late }, judge_destroyed, 0 },
    { "destroy and free", NULL, one_block, { destroy, free_last }, judge_freed, 0 },
    { "destroy under pressure", pressed, one_block, { need_too_much, free_and_destroy }, judge_freed, 0 },
    { "destroy beside a wait", patient, one_block, { need_too_much, free_and_destroy }, judge_freed, 0 },
    { "destroy and destroy", NULL, NULL, { destroy, destroy }, judge_one_destroyed, 0 },
};

int main(void)
{
    scenarios_run(scenarios, sizeof scenarios / sizeof scenarios[0]);
    return tap_done();
}
