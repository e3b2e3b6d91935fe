/* Two or three threads on one arena, or on a tree, in many orders: the scripts of this folder, whose threads are
   fibers of one thread. Judges locks, and the calls inside them; that an arena makes one driver call on memory
   at a time; and that reserved and requested memory is within the limit, in every driver call.
   GPUARENA_SCHEDULES=N: so many orders of a case that has 2000, and of others in proportion; GPUARENA_SCHEDULE=N:
   that one alone. */
#define GPUARENA_STATIC
#ifndef GPUARENA_NO_CUDA
#define GPUARENA_NO_CUDA
#endif
#define GPUARENA_TEST_LOCK "tests/schedule/schedule_lock.h"
#include "schedule.h"
#include "gpuarena.h"
#include "script_files.h"

typedef struct own_state {                       /* state that each thread has of its own */
    const gpuarena__frame *frames;
    gpuarena_failure failure;
    uint64_t number;
    struct call_state call;
    int arena, line;
} own_state;

enum { OUTSIDE = SCHEDULE_FIBERS, PAUSE_NS = 250000 };
static own_state owns[SCHEDULE_FIBERS + 1];
static const gpuarena_driver *inside[SCHEDULE_FIBERS + 1];   /* whose call on memory each thread is in */
static char *bodies[SCHEDULE_FIBERS];

static int fiber_now(void) { return schedule_is_on() ? schedule.current : OUTSIDE; }

static void swap(int from, int to)
{
    own_state *left = &owns[from == SCHEDULE_NOBODY ? OUTSIDE : from];
    const own_state *next = &owns[to == SCHEDULE_NOBODY ? OUTSIDE : to];
    *left = (own_state){ gpuarena__frames, gpuarena__thread_failure, gpuarena__thread_number_, call, world.arena,
                         place.line };
    gpuarena__frames = next->frames;
    gpuarena__thread_failure = next->failure;
    gpuarena__thread_number_ = next->number;
    call = next->call;
    world.arena = next->arena;
    place.line = next->line;
    sim_thread(device.machine, to == SCHEDULE_NOBODY ? 0 : 1 + (uint64_t)to);
}

/* ---- in driver calls */

static int is_of_memory(device_entry entry) { return entry <= ENTRY_unmap; }

/* The arena that calls the driver; NULL: none yet. */
static const gpuarena *calling_arena(const gpuarena_driver *self)
{
    for (int at = 0; at < world.arena_count; at++)
        if (device.holders[at].table == self) return world.arenas[at].ptr;
    return NULL;
}

/* Checks the limit when a driver call requests more: of the arena that charges it, and of those above it. Another
   arena may be above a limit that was lowered, since a capture keeps its memory. */
static void judge_limits(const gpuarena_driver *self, device_entry entry)
{
    if (entry != ENTRY_obtain && entry != ENTRY_create) return;
    for (const gpuarena *arena = calling_arena(self); arena; arena = arena->config.parent)
        for (int at = 0; at < world.arena_count; at++)
            if (world.arenas[at].ptr == arena && !world.arenas[at].is_over
                && arena->family.reserved + arena->family.growing > device.holders[at].ceiling)
                blame("in %s: reserved + growing is above the limit", device_entries[entry]);
}

static void judge_call(const gpuarena_driver *self, device_entry entry)
{
    int is_waiting = entry == ENTRY_host_wait || entry == ENTRY_device_wait || entry == ENTRY_clear;
    if (entry == ENTRY_COUNT && lock_held_now()->count) blame("config.pressure is called inside a lock");
    if ((is_of_memory(entry) || is_waiting) && lock_blocks_all())
        blame("driver %s is called inside a lock that every call needs", device_entries[entry]);
    for (int at = 0; at <= OUTSIDE && is_of_memory(entry); at++)
        if (inside[at] == self) blame("driver %s is called while another call is in progress", device_entries[entry]);
    judge_limits(self, entry);
}

/* The first thread's call waits, once, if `hold` says so. */
static void hold_call(device_entry entry)
{
    value_entry *hung = value_of("hung"), *done = value_of("done");
    if (schedule.current != 0 || hung->value || !(threads.held >> entry & 1)) return;
    hung->value = 2;
    schedule_wake(hung);
    if (!done->value) schedule_wait(done, "a driver call that hangs");
}

static void at_call(const gpuarena_driver *self, device_entry entry, int ends)
{
    if (ends) {
        schedule_point(device_entries[entry]);
        if (is_of_memory(entry)) inside[fiber_now()] = NULL;
        return;
    }
    judge_call(self, entry);
    if (is_of_memory(entry)) inside[fiber_now()] = self;
    if (!schedule_is_on()) return;
    schedule_point(device_entries[entry]);
    hold_call(entry);
    judge_limits(self, entry);
}

/* ---- threads */

/* A use of host memory after its free is to be seen, not suffered; streams have heaps from the second one on. */
static void made(gpuarena *arena)
{
    device.host.keeps = 1;
    device.host.spoils = 0;
    arena->heaps.wanted = 1;
}

static void time_passes(void) { sim_advance(device.machine, PAUSE_NS); }

static void run_body(void) { run_line(bodies[schedule.current], ';'); }

/* Prints the last steps. */
static void told(void)
{
    uint64_t first = schedule.steps > 60 ? schedule.steps - 60 : 0;
    for (uint64_t at = first; at < schedule.steps; at++) {
        const schedule_step *step = &schedule.trace[at % SCHEDULE_TRACE];
        printf("#   step %" PRIu64 ": fiber %d: %s\n", at, step->fiber, step->what);
    }
}

static void run_bodies(char *const *texts, int count)
{
    void (*runs[SCHEDULE_FIBERS])(void);
    memset(owns, 0, sizeof owns);
    for (int at = 0; at < count; at++) {
        bodies[at] = texts[at];
        runs[at] = run_body;
        owns[at].arena = world.arena;
        owns[at].line = place.line;
    }
    if (threads.seed == 0) {
        schedule.span = 64;                      /* to see how long they are */
        schedule.distinct_count = schedule.seen_count = 0;
        memset(schedule.seen, 0, sizeof schedule.seen);
    }
    threads.are_on = 1;
    (void)schedule_run(runs, count, threads.seed);
    threads.are_on = 0;
    if (threads.seed == 0) schedule.span = schedule.steps;
    threads.distinct = schedule.distinct_count;
    threads.is_known = schedule.is_repeated && !turn.is_on;  /* calls fail by the seed */
    if (schedule.trouble[0]) blame("%s", schedule.trouble);
    schedule.trouble[0] = '\0';
    if (!schedule.is_stuck) return;
    told();
    printf("# GPUARENA_SCHEDULE=%" PRIu64 ": %s\nBail out! threads are left inside\n", threads.seed, place.trouble);
    exit(1);
}

int main(int argc, char **argv)
{
    static const char *const folders[] = { TESTS_FOLDER "/schedule" };
    schedule.swap = swap;
    lock_time_passes = time_passes;
    threads.at = at_call;
    threads.made = made;
    threads.wait = schedule_wait;
    threads.wake = schedule_wake;
    threads.run = run_bodies;
    threads.repeats = schedule_repeats;
    threads.told = told;
    run_scripts(folders, COUNT(folders), argc, argv);
    return tap_done();
}
