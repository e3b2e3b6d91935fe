/* Callbacks beside other threads, in many orders: a pressure callback that frees, trims and waits for others, two at
   once; observers, visitors and a driver that call back into the arena and are refused, not left hanging.
   GPUARENA_SCHEDULES=N: so many of each scenario. */
#include "schedule_scenario.h"

static void *pool[4];
static int relieved, is_told, is_freed;

static void judge_unlocked(void)
{
    const lock_held *held = lock_held_now();
    WANT(!held->spins && !held->mutexes && !held->registry);
}

/* What must answer REENTRANT, and leave all as it was. */
static void try_forbidden(gpuarena *arena, int pressure)
{
    void *ptr = NULL;
    WANT(gpuarena_alloc(arena, &ptr, KIB(4), NULL) == GPUARENA_REENTRANT && !ptr);
    WANT(gpuarena_reserve(arena, MIB(4)) == GPUARENA_REENTRANT);
    WANT(gpuarena_destroy(arena) == GPUARENA_REENTRANT);
    if (pressure) return;
    WANT(gpuarena_free(arena, pool[3], NULL) == GPUARENA_REENTRANT);
    WANT(gpuarena_trim(arena, 0, NULL) == GPUARENA_REENTRANT);
    WANT(gpuarena_set_limit(arena, MIB(4)) == GPUARENA_REENTRANT);
}

/* What works everywhere. */
static void look(gpuarena *arena)
{
    gpuarena_stats stats;
    gpuarena_config config;
    gpuarena_failure failure;
    gpuarena_get_stats(arena, &stats);
    gpuarena_get_config(arena, &config);
    gpuarena_last_failure(arena, &failure);
    WANT(stats.reserved_bytes && config.driver);
    WANT(gpuarena_owner(pool[3]) == arena);
}

/* ---- pressure */

static int relieve(gpuarena *arena, const gpuarena_failure *failure, void *user)
{
    int me = schedule.current;
    (void)user;
    WANT(failure->result == GPUARENA_OUT_OF_MEMORY);
    judge_unlocked();
    schedule_point("pressure");
    try_forbidden(arena, 1);
    look(arena);
    if (!pool[me]) return 0;
    relieved++;
    WANT(world_free(pool[me], 1) == GPUARENA_OK);
    pool[me] = NULL;
    WANT(gpuarena_trim(arena, MIB(2), NULL) == GPUARENA_OK);
    return 1;
}

static int relieve_by_others(gpuarena *arena, const gpuarena_failure *failure, void *user)
{
    (void)failure;
    (void)user;
    judge_unlocked();
    look(arena);
    is_told = 1;
    schedule_wake(&is_told);
    if (!is_freed) schedule_wait(&is_freed, "pressure, for another's free");
    return relieved++ == 0;
}

static void pressed(gpuarena_config *config)
{
    relieved = is_told = is_freed = 0;
    config->limit_bytes = MIB(4);
    config->pressure = relieve;
}

static void pressed_by_others(gpuarena_config *config)
{
    pressed(config);
    config->pressure = relieve_by_others;
}

static void fill(void)
{
    for (int at = 0; at < 4; at++) pool[at] = world_alloc(MIB(1), 1);
}

static void need_one(void)
{
    void *ptr = world_alloc(MIB(1), 1);
    WANT(ptr && world_free(ptr, 1) == GPUARENA_OK);
}

/* What it frees under pressure another may have had: then it has nothing more to free. */
static void need_one_of_two(void)
{
    void *ptr;
    int me = schedule.current;
    if (world_try(&ptr, MIB(1), 1) == GPUARENA_OK) WANT(world_free(ptr, 1) == GPUARENA_OK);
    else WANT(!pool[me]);
}

static void need_two(void)
{
    void *ptr;
    if (world_try(&ptr, MIB(2), 1) == GPUARENA_OK) WANT(world_free(ptr, 1) == GPUARENA_OK);
}

static void free_third(void)
{
    WANT(world_free(pool[2], 1) == GPUARENA_OK);
}

static void judge_relieved(void)
{
    WANT(relieved <= 2);
}

static void free_when_told(void)
{
    if (!is_told) schedule_wait(&is_told, "until it is pressed");
    WANT(world_free(pool[0], 1) == GPUARENA_OK);
    need_one();
    is_freed = 1;
    schedule_wake(&is_freed);
}

static void judge_told(void)
{
    WANT(relieved == 1);
}

/* ---- observers and visitors */

static void watch(gpuarena *arena, const gpuarena_action *action, void *user)
{
    (void)user;
    (void)action;
    if (!schedule_is_on()) return;
    look(arena);
    if (action->kind != GPUARENA_ACTION_MISUSE) try_forbidden(arena, 0);
}

static void watched(gpuarena_config *config)
{
    config->limit_bytes = MIB(8);
    config->observe = watch;
}

static void alloc_free_trim(void)
{
    void *ptr = world_alloc(MIB(2), 1);
    WANT(world_free(ptr, 1) == GPUARENA_OK);
    WANT(gpuarena_trim(world.arena, MIB(4), NULL) == GPUARENA_OK);
}

static gpuarena_result visit(const gpuarena_block *block, void *user)
{
    int *count = user;
    WANT(block->bytes > 0);
    if (!(*count)++) try_forbidden(world.arena, 0);
    return GPUARENA_OK;
}

static gpuarena_result write_nowhere(const char *text, size_t bytes, void *user)
{
    (void)text;
    (void)user;
    WANT(bytes > 0);
    return GPUARENA_OK;
}

static void walk_and_report(void)
{
    int count = 0;
    gpuarena_device figures;
    WANT(gpuarena_walk(world.arena, visit, &count) == GPUARENA_OK && count >= 4);
    WANT(gpuarena_report(world.arena, GPUARENA_FORMAT_JSON, write_nowhere, NULL) == GPUARENA_OK);
    WANT(gpuarena_get_device(world.arena, &figures) == GPUARENA_OK);
    gpuarena_reset_peaks(world.arena);
}

/* ---- a driver that calls back */

static gpuarena_status call_back(slot_call call)
{
    static int is_inside;
    gpuarena_stats stats;
    if (!schedule_is_on() || is_inside || call == SLOT_INFO) return GPUARENA_STATUS_DONE;
    is_inside = 1;
    gpuarena_get_stats(world.arena, &stats);
    try_forbidden(world.arena, 0);
    is_inside = 0;
    return GPUARENA_STATUS_DONE;
}

static void fill_and_call_back(void)
{
    fill();
    world.on_call = call_back;
}

static void free_one(void)
{
    WANT(world_free(pool[1], 1) == GPUARENA_OK);
}

static const scenario scenarios[] = {
    { "pressure that frees", pressed, fill, { need_one_of_two, need_two, free_third }, judge_relieved, 0 },
    { "two under pressure", pressed, fill, { need_one_of_two, need_one_of_two }, judge_relieved, 0 },
    { "pressure that waits for another", pressed_by_others, fill, { need_one, free_when_told }, judge_told, 2 },
    { "observers that call back", watched, fill, { alloc_free_trim, alloc_free_trim, free_one }, NULL, 0 },
    { "walk and report", watched, fill, { walk_and_report, alloc_free_trim, free_one }, NULL, 0 },
    { "a driver that calls back", NULL, fill_and_call_back, { alloc_free_trim, alloc_free_trim, free_one }, NULL, 0 },
};

int main(void)
{
    scenarios_run(scenarios, sizeof scenarios / sizeof scenarios[0]);
    return tap_done();
}
