/* A driver call that fails, or all from one on, while other threads go on, in many orders: nothing is lost, frees
   beside it succeed, and all goes back at the end.
   GPUARENA_SCHEDULES=N: so many of each scenario. */
#include "schedule_scenario.h"

static void *pool[4];
static uint64_t calls, fail_at, fail_length;

/* By the seed: one of the first calls, alone or with all that follow. */
static void plan_faults(void)
{
    calls = 0;
    fail_at = 1 + schedule.seed / 4 % 14;
    fail_length = schedule.seed / 64 % 3 ? 1 : 1000;
}

static gpuarena_status fail(slot_call call)
{
    int asks = call == SLOT_OBTAIN || call == SLOT_CREATE || call == SLOT_RESERVE || call == SLOT_MAP;
    if (!schedule_is_on() || call >= SLOT_EVENT) return GPUARENA_STATUS_DONE;
    if (!calls) plan_faults();
    if (++calls < fail_at || calls - fail_at >= fail_length) return GPUARENA_STATUS_DONE;
    return asks && schedule.seed / 256 % 2 ? GPUARENA_STATUS_NO_MEMORY : GPUARENA_STATUS_FAILED;
}

static gpuarena_status lose(slot_call call)
{
    if (!schedule_is_on() || call >= SLOT_EVENT) return GPUARENA_STATUS_DONE;
    if (!calls) plan_faults();
    if (world.is_lost) schedule_blame("driver %s is called on a lost device", slot_names[call]);
    if (++calls < fail_at) return GPUARENA_STATUS_DONE;
    world.is_lost = 1;
    return GPUARENA_STATUS_LOST;
}

static void warm(void)
{
    for (int at = 0; at < 4; at++) pool[at] = world_alloc(KIB(256), 1);
    WANT(world_free(pool[3], 1) == GPUARENA_OK);
    calls = 0;
}

static void warm_and_fail(void)
{
    warm();
    world.on_call = fail;
}

static void warm_and_lose(void)
{
    warm();
    world.on_call = lose;
}

static int is_refusal(gpuarena_result result)
{
    return result == GPUARENA_OUT_OF_MEMORY || result == GPUARENA_DRIVER_ERROR
        || (world.is_lost && result == GPUARENA_DEVICE_LOST);
}

static void ask(uint64_t bytes, int stream)
{
    void *ptr;
    gpuarena_result result = world_try(&ptr, bytes, stream);
    WANT(result == GPUARENA_OK || is_refusal(result));
    if (ptr) WANT(world_free(ptr, stream) == GPUARENA_OK);
}

static void grow(void)
{
    ask(MIB(3), 1);
    ask(MIB(6), 1);
}

static void grow_elsewhere(void)
{
    ask(MIB(4), 2);
    ask(MIB(1), 1);
}

static void hit(void)
{
    for (int at = 0; at < 3; at++) {
        WANT(world_free(pool[at], 1) == GPUARENA_OK);
        ask(KIB(128), 1);
    }
}

static void give_back(void)
{
    gpuarena_result result = gpuarena_trim(world.arena, 0, NULL);
    WANT(result == GPUARENA_OK || is_refusal(result));
    result = gpuarena_set_limit(world.arena, MIB(6));
    WANT(result == GPUARENA_OK || is_refusal(result));
}

static void reserve(void)
{
    gpuarena_result result = gpuarena_reserve(world.arena, MIB(8));
    WANT(result == GPUARENA_OK || is_refusal(result));
}

static void resize(void)
{
    gpuarena_result result;
    void *ptr;
    if (world_try(&ptr, MIB(1), 2)) return;
    (void)world_disclaim(ptr);
    result = gpuarena_resize(world.arena, ptr, MIB(3), slot_stream(2));
    WANT(result == GPUARENA_OK || is_refusal(result));
    world_claim(ptr, result == GPUARENA_OK ? MIB(3) : MIB(1));
    WANT(world_free(ptr, 2) == GPUARENA_OK);
}

static void heal(void)
{
    if (!world.is_lost) world.on_call = NULL;
}

static const scenario scenarios[] = {
    { "growth that fails", NULL, warm_and_fail, { grow, hit }, heal, 0 },
    { "two growths, one fails", NULL, warm_and_fail, { grow, grow_elsewhere, hit }, heal, 0 },
    { "release that fails", NULL, warm_and_fail, { give_back, grow, hit }, heal, 0 },
    { "reserve that fails", NULL, warm_and_fail, { reserve, grow_elsewhere, hit }, heal, 0 },
    { "resize that fails", NULL, warm_and_fail, { resize, grow, hit }, heal, 0 },
    { "a device that is lost", NULL, warm_and_lose, { grow, give_back, hit }, heal, 0 },
};

int main(void)
{
    scenarios_run(scenarios, sizeof scenarios / sizeof scenarios[0]);
    return tap_done();
}
