/* Arenas under one parent, world.arena of 8 MiB, in many orders: they need what others have idle, come and go, and
   end. And refusals: whoever is refused is so by what its own arena has at that moment, whatever changed while its
   siblings were asked for their idle memory.
   GPUARENA_SCHEDULES=N: so many of each scenario. */
#include "schedule_scenario.h"

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

/* ---- refusals, with a parent of 4 MiB, of which `full` has all live; `asking` asks for what cannot be */

static gpuarena *part, *full, *asking;
static void *full_block;

static void four_in_all(gpuarena_config *config)
{
    grow_exactly(config);
    config->limit_bytes = MIB(4);
}

static void make_refused(void)
{
    gpuarena **const made[] = { &part, &full, &asking };
    for (int at = 0; at < 3; at++) {
        WANT(make_part(world.arena, made[at]) == GPUARENA_OK);
        WANT(gpuarena_set_limit(*made[at], MIB(16)) == GPUARENA_OK);
    }
    WANT(gpuarena_alloc(full, &full_block, MIB(4), slot_stream(1)) == GPUARENA_OK);
}

static void end_refused(void)
{
    WANT(gpuarena_free(full, full_block, slot_stream(1)) == GPUARENA_OK);
    WANT(gpuarena_check(part, NULL, 0) == GPUARENA_OK);
    WANT(gpuarena_destroy(part) == GPUARENA_OK);
    WANT(gpuarena_destroy(full) == GPUARENA_OK);
    WANT(gpuarena_destroy(asking) == GPUARENA_OK);
}

/* By its record: figures are those at the end of the refused call. */
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

/* ---- half of it all is live, now in one arena, now in another; who asks for the other half gets it */

static void eight_in_all(gpuarena_config *config)
{
    grow_exactly(config);
    config->limit_bytes = MIB(8);
}

static void make_halves(void)
{
    void *idle = NULL;
    make_refused();
    WANT(gpuarena_alloc(part, &idle, MIB(4), slot_stream(1)) == GPUARENA_OK);
    WANT(gpuarena_free(part, idle, slot_stream(1)) == GPUARENA_OK);
}

static void half_moves(void)
{
    for (int at = 0; at < 4; at++) {
        gpuarena *from = at % 2 ? part : full, *to = at % 2 ? full : part;
        WANT(gpuarena_free(from, full_block, slot_stream(1)) == GPUARENA_OK);
        WANT(gpuarena_alloc(to, &full_block, MIB(4), slot_stream(1)) == GPUARENA_OK);
    }
}

/* The same of quarters, as blocks of pages shrink and grow. */
static void *part_block;

static void make_quarters(void)
{
    make_halves();
    WANT(gpuarena_alloc(part, &part_block, MIB(2), slot_stream(1)) == GPUARENA_OK);
}

static void quarter_moves(void)
{
    for (int at = 0; at < 4 && world.kind->backing == GPUARENA_BACKING_PAGED; at++) {
        gpuarena *from = at % 2 ? part : full, *to = at % 2 ? full : part;
        WANT(gpuarena_resize(from, at % 2 ? part_block : full_block, MIB(2), GPUARENA_OWN_STREAM) == GPUARENA_OK);
        WANT(gpuarena_resize(to, at % 2 ? full_block : part_block, MIB(4), GPUARENA_OWN_STREAM) == GPUARENA_OK);
    }
}

static void quarter_is_asked_for(void)
{
    void *ptr = NULL;
    WANT(gpuarena_check(asking, NULL, 0) == GPUARENA_OK);
    if (world.kind->backing != GPUARENA_BACKING_PAGED) return;   /* a part of a segment is not idle */
    WANT(gpuarena_alloc(asking, &ptr, MIB(2), slot_stream(2)) == GPUARENA_OK);
    if (ptr) WANT(gpuarena_free(asking, ptr, slot_stream(2)) == GPUARENA_OK);
}

static void end_quarters(void)
{
    WANT(gpuarena_free(part, part_block, slot_stream(1)) == GPUARENA_OK);
    end_refused();
}

static void half_is_asked_for(void)
{
    void *ptr = NULL;
    WANT(gpuarena_alloc(asking, &ptr, MIB(4), slot_stream(2)) == GPUARENA_OK);
    if (ptr) WANT(gpuarena_free(asking, ptr, slot_stream(2)) == GPUARENA_OK);
}

static const scenario scenarios[] = {
    { "parts that need what others have idle", grow_exactly, make_parts,
      { first_needs_a_quarter, second_needs_a_half, whole_needs_a_quarter }, end_parts, 4 },
    { "parts that want too much", grow_exactly, make_parts,
      { first_wants_most, second_wants_most }, judge_one_had, 4 },
    { "parts of a whole that is lowered", grow_exactly, make_parts,
      { first_wants_most, second_wants_most, lower_whole }, end_parts, 4 },
    { "parts that come and go", grow_exactly, make_parts, { come_and_go, come_and_go, end_whole }, end_parts, 2 },
    { "an end while a part is made", grow_exactly, make_victim,
      { end_victim, end_victim, join_victim }, judge_victim, 4 },
    { "an allocation beside a reserve", four_in_all, make_refused,
      { another_asks, part_allocates, reserve_for_part }, end_refused, 0 },
    { "a reserve beside a reserve", four_in_all, make_refused,
      { another_asks, part_reserves, reserve_for_part }, end_refused, 0 },
    { "an allocation beside a free", four_in_all, make_refused,
      { another_asks, part_allocates, free_in_part }, end_refused, 0 },
    { "a half beside a half that moves", eight_in_all, make_halves,
      { half_is_asked_for, half_moves }, end_refused, 0 },
    { "a quarter beside one that moves", eight_in_all, make_quarters,
      { quarter_is_asked_for, quarter_moves }, end_quarters, 0 },
};

int main(void)
{
    scenarios_run(scenarios, sizeof scenarios / sizeof scenarios[0]);
    return tap_done();
}
