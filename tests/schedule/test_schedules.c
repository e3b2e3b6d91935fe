/* Two or three threads on one arena in many orders: one pointer freed by two, allocations beside trim, limits and
   statistics, first uses, threads that end, failures by thread.
   GPUARENA_SCHEDULES=N: so many of each scenario. */
#include "schedule_scenario.h"

static void *pool[4];
static gpuarena_result results[SCHEDULE_FIBERS];

static void small_limit(gpuarena_config *config)
{
    config->limit_bytes = MIB(4);
}

static void warm(void)
{
    for (int at = 0; at < 4; at++) pool[at] = world_alloc(KIB(256), 1);
}

/* ---- one pointer, two frees */

static void free_same(void)
{
    int me = schedule.current;
    if (me == 0) (void)world_disclaim(pool[0]);
    results[me] = gpuarena_free(world.arena, pool[0], slot_stream(1));
    if (results[me] == GPUARENA_OK) world.free_count++;
    else {
        gpuarena_failure failure;
        gpuarena_last_failure(NULL, &failure);
        WANT(failure.result == GPUARENA_DOUBLE_FREE);
    }
}

static void judge_same(void)
{
    WANT(results[0] == GPUARENA_OK ? results[1] == GPUARENA_DOUBLE_FREE
                                   : results[0] == GPUARENA_DOUBLE_FREE && results[1] == GPUARENA_OK);
}

static void free_others(void)
{
    WANT(world_free(pool[1], 1) == GPUARENA_OK);
    WANT(world_free(pool[2], 2) == GPUARENA_OK);
}

/* ---- allocations beside what takes memory away */

static void alloc_and_free(void)
{
    void *one = world_alloc(KIB(600), 1 + schedule.current), *two = world_alloc(KIB(100), 1);
    WANT(world_free(one, 1 + schedule.current) == GPUARENA_OK);
    WANT(world_free(two, 1) == GPUARENA_OK);
}

static void trim_twice(void)
{
    uint64_t released;
    WANT(gpuarena_trim(world.arena, 0, &released) == GPUARENA_OK);
    WANT(gpuarena_trim(world.arena, MIB(2), NULL) == GPUARENA_OK);
}

static void drop_pool(void)
{
    for (int at = 0; at < 4; at++) WANT(world_free(pool[at], 1) == GPUARENA_OK);
}

/* What fails for the limit alone fails rightly only while it is low. */
static void alloc_under_limits(void)
{
    void *ptr;
    results[schedule.current] = world_try(&ptr, MIB(3), 1);
    if (!ptr) {
        gpuarena_failure failure;
        gpuarena_last_failure(NULL, &failure);
        WANT(failure.result == GPUARENA_OUT_OF_MEMORY && failure.reason == GPUARENA_REASON_OVER_LIMIT);
    } else WANT(world_free(ptr, 1) == GPUARENA_OK);
}

static void change_limit(void)
{
    gpuarena_stats stats;
    WANT(gpuarena_set_limit(world.arena, MIB(2)) == GPUARENA_OK);
    gpuarena_get_stats(world.arena, &stats);
    WANT(stats.limit_bytes == MIB(2));
    WANT(gpuarena_set_limit(world.arena, MIB(4)) == GPUARENA_OK);
}

/* Lowered for good: what is reserved falls to it as blocks are freed. */
static void lower_limit(void)
{
    WANT(gpuarena_set_limit(world.arena, MIB(2)) == GPUARENA_OK);
}

static void free_pool_slowly(void)
{
    void *ptr;
    WANT(world_free(pool[0], 1) == GPUARENA_OK);
    (void)world_try(&ptr, MIB(2), 1);
    if (ptr) WANT(world_free(ptr, 1) == GPUARENA_OK);
}

static void warm_large(void)
{
    pool[0] = world_alloc(MIB(2), 1);
    pool[1] = world_alloc(MIB(2), 1);
}

static void judge_low(void)
{
    WANT(device.held_bytes <= MIB(4));
    WANT(world_free(pool[1], 1) == GPUARENA_OK);
    WANT(device.held_bytes <= MIB(2));
}

/* ---- looking on */

static void look(void)
{
    gpuarena_stats stats;
    gpuarena_block block;
    char message[200];
    gpuarena_get_stats(world.arena, &stats);
    world_judge_sums(&stats);
    if (gpuarena_check(world.arena, message, sizeof message)) schedule_blame("check beside others: %s", message);
    WANT(gpuarena_owner(pool[3]) == world.arena);
    WANT(gpuarena_lookup(world.arena, pool[3], &block) == GPUARENA_OK && block.state == GPUARENA_STATE_LIVE);
    gpuarena_get_stats(world.arena, &stats);
    world_judge_sums(&stats);
}

static void grow_and_shrink(void)
{
    void *large = world_alloc(MIB(3), 2);
    WANT(world_free(large, 2) == GPUARENA_OK);
    WANT(gpuarena_trim(world.arena, 0, NULL) == GPUARENA_OK);
}

static void resize_and_use(void)
{
    WANT(gpuarena_use(world.arena, pool[0], slot_stream(2)) == GPUARENA_OK);
    WANT(gpuarena_resize(world.arena, pool[0], KIB(128), slot_stream(1)) == GPUARENA_OK);
    WANT(world_free(pool[0], 1) == GPUARENA_OK);
}

/* ---- the first use, the last one, and thread's own failures */

static void use_first(void)
{
    void *ptr = world_alloc(KIB(64), 1 + schedule.current);
    WANT(gpuarena_owner(ptr) == world.arena);
    WANT(world_free(ptr, 1 + schedule.current) == GPUARENA_OK);
}

static void live_a_life(void)
{
    gpuarena_config config = world_config();
    gpuarena *mine = NULL;
    WANT(gpuarena_create(&config, &mine) == GPUARENA_OK);
    WANT(gpuarena_free(mine, pool[0], NULL) == GPUARENA_WRONG_ARENA);
    WANT(gpuarena_destroy(mine) == GPUARENA_OK);
}

static void fail_on_my_own(void)
{
    gpuarena_failure failure;
    uint64_t me = (uint64_t)schedule.current, bytes = MIB(100) + me;
    void *ptr = NULL;
    gpuarena_last_failure(NULL, &failure);
    WANT(failure.serial == 0);
    WANT(gpuarena_alloc(world.arena, &ptr, bytes, NULL) == GPUARENA_OUT_OF_MEMORY);
    gpuarena_last_failure(NULL, &failure);
    WANT(failure.serial && failure.requested_bytes == bytes);
    WANT(gpuarena_free(world.arena, &failure, NULL) == GPUARENA_FOREIGN_POINTER);
    gpuarena_last_failure(NULL, &failure);
    WANT(failure.serial && failure.result == GPUARENA_FOREIGN_POINTER);
    gpuarena_last_failure(world.arena, &failure);
    WANT(failure.serial >= 2);
}

/* A thread that ends leaves memory that the others have all of. */
static void end_with_memory(void)
{
    void *ptr;
    if (world_try(&ptr, MIB(1), 1) == GPUARENA_OK) WANT(world_free(ptr, 1) == GPUARENA_OK);
}

static void need_it_all(void)
{
    void *ptr;
    if (world_try(&ptr, MIB(4), 1) == GPUARENA_OK) WANT(world_free(ptr, 1) == GPUARENA_OK);
}

static void judge_all(void)
{
    void *ptr = world_alloc(MIB(4), 1);
    WANT(world_free(ptr, 1) == GPUARENA_OK);
}

static const scenario scenarios[] = {
    { "one pointer freed twice", NULL, warm, { free_same, free_same, free_others }, judge_same, 0 },
    { "alloc and trim", NULL, warm, { alloc_and_free, trim_twice, drop_pool }, NULL, 0 },
    { "alloc and alloc and trim", NULL, NULL, { alloc_and_free, alloc_and_free, trim_twice }, NULL, 0 },
    { "alloc and limit", small_limit, NULL, { alloc_under_limits, change_limit }, NULL, 0 },
    { "two allocs and limit", small_limit, NULL, { alloc_under_limits, alloc_under_limits, change_limit }, NULL, 0 },
    { "a lower limit", small_limit, warm_large, { lower_limit, free_pool_slowly }, judge_low, 0 },
    { "looking on", NULL, warm, { look, grow_and_shrink, resize_and_use }, NULL, 0 },
    { "first use", NULL, NULL, { use_first, use_first, use_first }, NULL, 0 },
    { "arenas come and go", NULL, warm, { live_a_life, live_a_life, grow_and_shrink }, NULL, 4 },
    { "failures by thread", NULL, NULL, { fail_on_my_own, fail_on_my_own, alloc_and_free }, NULL, 0 },
    { "threads end", small_limit, NULL, { end_with_memory, end_with_memory, need_it_all }, judge_all, 0 },
};

int main(void)
{
    scenarios_run(scenarios, sizeof scenarios / sizeof scenarios[0]);
    return tap_done();
}
