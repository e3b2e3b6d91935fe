/* Scenarios of a few threads on one arena, each run in many schedules and judged after each: sums, gpuarena_check,
   what is left at the end. A failed one is named, with what it did last and what runs it again.
   It must not know what the scenarios do. Included by test_schedules*.c. */
#ifndef TESTS_SCHEDULE_SCENARIO_H
#define TESTS_SCHEDULE_SCENARIO_H

#include "schedule_world.h"
#include "tap.h"

enum { SCENARIO_COUNT = 2000 };

typedef struct scenario {
    const char *name;
    void (*begin)(gpuarena_config *config);      /* changes the configuration of the arena to be made; may be NULL */
    void (*ready)(void);                         /* the arena is there, and no other thread; may be NULL */
    void (*bodies[SCHEDULE_FIBERS])(void);
    void (*judge)(void);                         /* all have ended; may be NULL */
    int  share;                                  /* in 1/16 of the usual count of schedules; 0: all of it */
} scenario;

/* ---- one schedule */

static inline void world_judge_sums(const gpuarena_stats *stats)
{
    WANT(stats->requested_bytes + stats->slack_bytes == stats->live_bytes);
    WANT(stats->live_bytes + stats->pending_bytes + stats->cached_bytes == stats->reserved_bytes);
    WANT(stats->alloc_count - stats->free_count == stats->live_count);
    WANT(stats->largest_free_bytes <= stats->pending_bytes + stats->cached_bytes);
    WANT(stats->reserved_bytes % SLOT_BYTES == 0);
}

/* Nobody is inside any more: all is exact, and goes back. */
static inline void world_end(void)
{
    char message[200];
    gpuarena_stats stats;
    if (world.arena) {
        gpuarena_walk_stats(world.arena, &stats);
        world_judge_sums(&stats);
        if (gpuarena_check(world.arena, message, sizeof message)) schedule_blame("check: %s", message);
        WANT(stats.reserved_bytes == device.held_bytes || world.is_lost);
        WANT(stats.alloc_count == world.alloc_count);
        WANT(stats.free_count == world.free_count);
        WANT(!world.arena->growing);
        for (int at = 0; at < WORLD_BLOCKS; at++)
            if (world.blocks[at].ptr) WANT(world_free(world.blocks[at].ptr, 0) == GPUARENA_OK);
        WANT(gpuarena_destroy(world.arena) == GPUARENA_OK);
        world.arena = NULL;
    }
    if (slot_left(&device)[0] && !world.is_lost) schedule_blame("%s", slot_left(&device));
    if (host_close(&world.host)) schedule_blame("%s", host_close(&world.host));
}

static inline void world_begin(const scenario *self, const world_kind *kind)
{
    gpuarena_config config;
    memset(&world, 0, sizeof world);
    memset(lock_helds, 0, sizeof lock_helds);
    schedule.trouble[0] = '\0';
    world.kind = kind;
    world_open_device(MIB(64));
    config = world_config();
    if (self->begin) self->begin(&config);
    if (gpuarena_create(&config, &world.arena)) schedule_blame("no arena");
    else world.arena->heaps.wanted = 1;          /* streams have heaps from the second one on */
    lock_clock_ns = &device.clock_ns;
    schedule.swap = world_swap;
    if (self->ready) self->ready();
}

/* 0: the fibers are stuck. */
static inline int world_schedule(const scenario *self, const world_kind *kind, uint64_t seed)
{
    int count = 0;
    world_begin(self, kind);
    while (count < SCHEDULE_FIBERS && self->bodies[count]) count++;
    if (schedule.trouble[0]) return 1;
    if (!schedule_run(self->bodies, count, seed)) return 0;
    if (self->judge) self->judge();
    world_end();
    return 1;
}

/* ---- many schedules */

static inline void scenario_blame(const char *name, uint64_t seed)
{
    uint64_t first = schedule.steps > 60 ? schedule.steps - 60 : 0;
    printf("# %s, seed %" PRIu64 ": %s\n", name, seed, schedule.trouble);
    for (uint64_t at = first; at < schedule.steps; at++) {
        const schedule_step *step = &schedule.trace[at % SCHEDULE_TRACE];
        printf("#   step %" PRIu64 ": fiber %d: %s\n", at, step->fiber, step->what);
    }
    printf("# again: GPUARENA_SCHEDULE='%s:%" PRIu64 "' PROGRAM\n", name, seed);
}

/* How many schedules of this; one alone, or none: where GPUARENA_SCHEDULE says so. */
static inline uint64_t scenario_count(const scenario *self, const char *name, uint64_t *first)
{
    const char *only = getenv("GPUARENA_SCHEDULE");
    uint64_t usual = tap_number("GPUARENA_SCHEDULES", SCENARIO_COUNT);
    *first = 1;
    if (!only) return usual * (uint64_t)(self->share ? self->share : 16) / 16;
    if (strncmp(only, name, strlen(name)) || only[strlen(name)] != ':') return 0;
    *first = strtoull(only + strlen(name) + 1, NULL, 10);
    return 1;
}

static inline void scenario_run(const scenario *self, const world_kind *kind)
{
    char name[100];
    uint64_t seed, end, longest = 0;
    snprintf(name, sizeof name, "%s, %s", self->name, kind->name);
    end = scenario_count(self, name, &seed);
    if (!end) return;
    end += seed;
    schedule.span = 64;
    schedule.distinct_count = 0;
    memset(schedule.seen, 0, sizeof schedule.seen);
    if (world_schedule(self, kind, 0)) schedule.span = schedule.steps;    /* to see how long they are */
    for (; !schedule.trouble[0] && seed < end; seed++) {
        if (!world_schedule(self, kind, seed)) break;
        if (schedule.trouble[0]) break;
        if (schedule.steps > longest) longest = schedule.steps;
    }
    CHECK_MSG(!schedule.trouble[0], "%s: %" PRIu64 " different schedules, up to %" PRIu64 " steps", name,
              schedule.distinct_count, longest);
    if (!schedule.trouble[0]) return;
    scenario_blame(name, schedule.span == 64 ? 0 : seed);
    if (!schedule.is_stuck) return;
    printf("Bail out! fibers are left inside\n");
    exit(1);
}

/* Each on both backings. */
static inline void scenarios_run(const scenario *list, size_t count)
{
    static const world_kind kinds[] = {
        { "segments", GPUARENA_BACKING_SEGMENTS }, { "paged", GPUARENA_BACKING_PAGED },
    };
    for (size_t at = 0; at < count; at++)
        for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) scenario_run(&list[at], &kinds[kind]);
}

#endif
