/* Refusals among sibling arenas, in many orders: whoever is refused is so by what its own arena has at that moment,
   whatever changed while its siblings were asked for their idle memory.
   GPUARENA_SCHEDULES=N: so many of each scenario. */
#include "schedule_scenario.h"

/* Under world.arena, the parent, of 4 MiB: `full` has all of it live, `asking` asks for what cannot be. */
static gpuarena *part, *full, *asking;

static void grow_exactly(gpuarena_config *config)
{
    config->growth = GPUARENA_GROWTH_EXACT;
    config->limit_bytes = MIB(4);
}

static gpuarena *make_part(void)
{
    gpuarena_config config = world_config();
    gpuarena *made = NULL;
    config.growth = GPUARENA_GROWTH_EXACT;
    config.parent = world.arena;
    config.oversubscribe = 1;
    config.limit_bytes = MIB(16);
    WANT(gpuarena_create(&config, &made) == GPUARENA_OK);
    return made;
}

static void *full_block;

static void make_parts(void)
{
    part = make_part();
    full = make_part();
    asking = make_part();
    WANT(gpuarena_alloc(full, &full_block, MIB(4), slot_stream(1)) == GPUARENA_OK);
}

static void end_parts(void)
{
    WANT(gpuarena_free(full, full_block, slot_stream(1)) == GPUARENA_OK);
    WANT(gpuarena_check(part, NULL, 0) == GPUARENA_OK);
    WANT(gpuarena_destroy(part) == GPUARENA_OK);
    WANT(gpuarena_destroy(full) == GPUARENA_OK);
    WANT(gpuarena_destroy(asking) == GPUARENA_OK);
}

/* ---- what was refused, by its record: figures are those at the end of the refused call */

static void judge_refusal(uint64_t bytes)
{
    gpuarena_failure failure;
    gpuarena_last_failure(NULL, &failure);
    WANT(failure.result == GPUARENA_OUT_OF_MEMORY);
    if (failure.reason != GPUARENA_REASON_OVER_PARENT || failure.largest_free_bytes >= bytes)
        schedule_blame("refused as %s, with %d KiB free in one block", gpuarena_reason_name(failure.reason),
                       (int)(failure.largest_free_bytes >> 10));
}

static void part_allocates(void)
{
    void *ptr = NULL;
    if (gpuarena_alloc(part, &ptr, MIB(2), slot_stream(1)) == GPUARENA_OK)
        WANT(gpuarena_free(part, ptr, slot_stream(1)) == GPUARENA_OK);
    else judge_refusal(MIB(2));
}

static void part_reserves(void)
{
    gpuarena_failure failure;
    if (gpuarena_reserve(part, MIB(4)) == GPUARENA_OK) return;
    judge_refusal(MIB(4));
    gpuarena_last_failure(NULL, &failure);
    WANT(failure.reserved_bytes < MIB(4));
}

static void another_asks(void)
{
    void *ptr = NULL;
    WANT(gpuarena_alloc(asking, &ptr, MIB(12), slot_stream(2)) == GPUARENA_OUT_OF_MEMORY);
}

/* The parent gets room, and the part has all of it, by another thread. */
static void reserve_for_part(void)
{
    WANT(gpuarena_set_limit(world.arena, MIB(8)) == GPUARENA_OK);
    WANT(gpuarena_reserve(part, MIB(4)) == GPUARENA_OK);
}

/* Another thread's block there, which comes and goes. */
static void free_in_part(void)
{
    void *ptr = NULL;
    WANT(gpuarena_set_limit(world.arena, MIB(8)) == GPUARENA_OK);
    if (gpuarena_alloc(part, &ptr, MIB(4), slot_stream(1)) != GPUARENA_OK) return;
    WANT(gpuarena_free(part, ptr, slot_stream(1)) == GPUARENA_OK);
}

static const scenario scenarios[] = {
    { "an allocation beside a reserve", grow_exactly, make_parts,
      { another_asks, part_allocates, reserve_for_part }, end_parts, 0 },
    { "a reserve beside a reserve", grow_exactly, make_parts,
      { another_asks, part_reserves, reserve_for_part }, end_parts, 0 },
    { "an allocation beside a free", grow_exactly, make_parts,
      { another_asks, part_allocates, free_in_part }, end_parts, 0 },
};

int main(void)
{
    scenarios_run(scenarios, sizeof scenarios / sizeof scenarios[0]);
    return tap_done();
}
