/* Threads as fibers of one thread, run in an order that a seed decides: by priorities that fall at a few steps, or
   drawn at each step. A step is a call of schedule_point, by locks and driver calls. Sees deadlock and endless loops.
   It must not know of arenas. Included by test_schedules.c. */
#ifndef TESTS_SCHEDULE_H
#define TESTS_SCHEDULE_H

#include <ucontext.h>
#include "stress/base/sets.h"
#include "tests/support/tap.h"

enum { SCHEDULE_FIBERS = 4, SCHEDULE_NOBODY = -1, SCHEDULE_CHANGES = 3, SCHEDULE_MAX_STEPS = 20000 };
enum { SCHEDULE_TRACE = 4096, SCHEDULE_SEEN_LOG2 = 18 };
/* Stacks lie this far apart, for valgrind to tell a switch from a deep call. */
enum { SCHEDULE_STACK_BYTES = 4 << 20 };

typedef struct schedule_fiber {
    ucontext_t  context;
    void      (*body)(void);
    const void *waits_for;                       /* NULL: it can run */
    const char *waits_in;
    int64_t     priority;                        /* the highest runs */
    int         is_done;
    int         is_pausing;                      /* has waited in a loop since time passed */
} schedule_fiber;

typedef struct schedule_step { int fiber; const char *what; } schedule_step;

typedef struct schedule_state {
    schedule_fiber fibers[SCHEDULE_FIBERS];
    ucontext_t main;
    int fiber_count, current;                    /* NOBODY: outside, where nothing is switched */
    void (*swap)(int from, int to);              /* exchanges the state that each thread has of its own; NULL:
                                                    nothing */
    uint64_t seed, random, digest, steps, span;  /* span: how many steps a schedule takes, about */
    int      is_random;                          /* each step's fiber is drawn; else by priority */
    uint64_t changes[SCHEDULE_CHANGES];          /* steps at which the running fiber's priority falls */
    int64_t  lowest;
    int      is_stuck;                           /* given up: the fibers are left where they were */
    char     trouble[300];                       /* the first; "": none */
    schedule_step trace[SCHEDULE_TRACE];
    uint64_t seen[1 << SCHEDULE_SEEN_LOG2], seen_count;      /* digests of orders and of plans */
    uint64_t distinct_count;                     /* orders, each of which is counted once */
    int      is_repeated;                        /* the latest has run before */
} schedule_state;

static schedule_state schedule = { .current = SCHEDULE_NOBODY };
static char schedule_stacks[SCHEDULE_FIBERS][SCHEDULE_STACK_BYTES];

#define schedule_blame(...) tap_keep(schedule.trouble, sizeof schedule.trouble, __VA_ARGS__)

static inline int schedule_can_run(int fiber)
{
    return !schedule.fibers[fiber].is_done && !schedule.fibers[fiber].waits_for;
}

/* The fiber that runs next; NOBODY: none can. */
static inline int schedule_choose(void)
{
    int best = SCHEDULE_NOBODY, able = 0;
    for (int at = 0; at < schedule.fiber_count; at++) {
        if (!schedule_can_run(at)) continue;
        able++;
        if (schedule.is_random ? splitmix64_next(&schedule.random) % (uint64_t)able == 0
            : best == SCHEDULE_NOBODY || schedule.fibers[at].priority > schedule.fibers[best].priority) best = at;
    }
    return best;
}

static inline void schedule_switch(int next)
{
    int from = schedule.current;
    if (next == from) return;
    if (schedule.swap) schedule.swap(from, next);
    schedule.current = next;
    swapcontext(from == SCHEDULE_NOBODY ? &schedule.main : &schedule.fibers[from].context,
                next == SCHEDULE_NOBODY ? &schedule.main : &schedule.fibers[next].context);
}

/* Names the thing that each fiber waits for, and leaves for good. */
static inline void schedule_give_up(const char *why)
{
    size_t used;
    schedule_blame("%s", why);
    schedule.is_stuck = 1;
    used = strlen(schedule.trouble);
    for (int at = 0; at < schedule.fiber_count && used < sizeof schedule.trouble; at++)
        if (schedule.fibers[at].waits_for)
            used += (size_t)snprintf(schedule.trouble + used, sizeof schedule.trouble - used,
                                     "; fiber %d waits in %s", at, schedule.fibers[at].waits_in);
    schedule_switch(SCHEDULE_NOBODY);
}

static inline void schedule_next(void)
{
    int next = schedule_choose();
    int all_done = 1;
    for (int at = 0; at < schedule.fiber_count; at++) all_done &= schedule.fibers[at].is_done;
    schedule.digest = (schedule.digest ^ (uint64_t)(next + 2)) * 0x9E3779B97F4A7C15u;
    if (next != SCHEDULE_NOBODY || all_done) schedule_switch(next);
    else schedule_give_up("deadlock");
}

static inline int schedule_is_on(void)
{
    return schedule.current != SCHEDULE_NOBODY;
}

static inline void schedule_note(const char *what)
{
    schedule_step step = { schedule.current, what };
    schedule.trace[schedule.steps % SCHEDULE_TRACE] = step;
    if (schedule.steps++ == SCHEDULE_MAX_STEPS) schedule_give_up("no end");
}

static inline void schedule_lower(void)
{
    schedule.fibers[schedule.current].priority = --schedule.lowest;
}

/* A step: another fiber may go on here. */
static inline void schedule_point(const char *what)
{
    if (!schedule_is_on()) return;
    schedule_note(what);
    for (int at = 0; at < SCHEDULE_CHANGES; at++) if (schedule.changes[at] == schedule.steps) schedule_lower();
    schedule_next();
}

/* Other fibers go first: a fiber that waits in a loop must let those go on that it waits for. */
static inline void schedule_yield(const char *what)
{
    if (!schedule_is_on()) return;
    schedule_note(what);
    schedule_lower();
    schedule_next();
}

/* The running fiber waits in a loop. 1: time may pass, since all fibers that can run have waited so since it last
   did. */
static inline int schedule_pauses(void)
{
    if (!schedule_is_on()) return 1;
    schedule.fibers[schedule.current].is_pausing = 1;
    for (int at = 0; at < schedule.fiber_count; at++)
        if (schedule_can_run(at) && !schedule.fibers[at].is_pausing) return 0;
    for (int at = 0; at < schedule.fiber_count; at++) schedule.fibers[at].is_pausing = 0;
    return 1;
}

/* Waits until schedule_wake of this thing. */
static inline void schedule_wait(const void *thing, const char *what)
{
    schedule_note(what);
    schedule.fibers[schedule.current].waits_for = thing;
    schedule.fibers[schedule.current].waits_in = what;
    schedule_next();
}

static inline void schedule_wake(const void *thing)
{
    for (int at = 0; at < schedule.fiber_count; at++)
        if (schedule.fibers[at].waits_for == thing) schedule.fibers[at].waits_for = NULL;
}

static inline void schedule_enter(void)
{
    schedule.fibers[schedule.current].body();
    schedule.fibers[schedule.current].is_done = 1;
    schedule_next();
}

/* Plans how often priorities change, and where: depth bugs need depth - 1 changes. For a fourth of the seeds each
   step's fiber is drawn. */
static inline void schedule_plan(uint64_t seed)
{
    int depth = (int)(seed % 4);
    schedule.seed = seed;
    schedule.random = seed * 0xD1342543DE82EF95u + 1;
    schedule.is_random = depth == 3;
    schedule.lowest = 0;
    for (int at = 0; at < SCHEDULE_CHANGES; at++)
        schedule.changes[at] = at <= depth ? 1 + splitmix64_next(&schedule.random) % schedule.span : 0;
    for (int at = 0; at < schedule.fiber_count; at++) {
        int place = (int)(splitmix64_next(&schedule.random) % (uint64_t)(at + 1));
        schedule.fibers[at].priority = schedule.fibers[place].priority;
        schedule.fibers[place].priority = at + 1;
    }
}

/* Keeps a digest. 1: it is new, or there is no room. */
static inline int schedule_is_new(uint64_t digest)
{
    uint64_t mask = ((uint64_t)1 << SCHEDULE_SEEN_LOG2) - 1, at = digest & mask;
    while (schedule.seen[at] && schedule.seen[at] != digest) at = (at + 1) & mask;
    if (schedule.seen[at]) return 0;
    if (schedule.seen_count < mask / 2) {
        schedule.seen_count++;
        schedule.seen[at] = digest;
    }
    return 1;
}

/* Tells whether an earlier seed has the same plan: as many fibers, whose priorities fall at the same steps. A seed
   that draws a fiber at each step has no plan. It may be asked once for each seed. */
static inline int schedule_repeats(uint64_t seed)
{
    uint64_t digest = SPLITMIX64_STEP;
    schedule_plan(seed);
    if (schedule.is_random) return 0;
    for (int at = 0; at < schedule.fiber_count; at++)
        digest = splitmix64_mix(digest ^ (uint64_t)schedule.fibers[at].priority);
    for (int at = 0; at < SCHEDULE_CHANGES; at++)
        digest += splitmix64_mix(schedule.changes[at] * SPLITMIX64_STEP);    /* in any order */
    return !schedule_is_new(digest);
}

/* Makes a fiber that begins with its body. It is a function of its own, since compilers warn that getcontext may
   return twice. */
static inline void schedule_make(schedule_fiber *fiber, void (*body)(void), char *stack)
{
    memset(fiber, 0, sizeof *fiber);
    fiber->body = body;
    getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = stack;
    fiber->context.uc_stack.ss_size = SCHEDULE_STACK_BYTES;
    makecontext(&fiber->context, schedule_enter, 0);
}

/* Runs the bodies to their ends, in the seed's order. 0: they are stuck, and everything they use is lost. */
static inline int schedule_run(void (*const *bodies)(void), int count, uint64_t seed)
{
    schedule.fiber_count = count;
    schedule.steps = schedule.digest = 0;
    schedule.trouble[0] = '\0';
    for (int at = 0; at < count; at++) schedule_make(&schedule.fibers[at], bodies[at], schedule_stacks[at]);
    schedule_plan(seed);
    schedule_next();
    schedule.is_repeated = !schedule_is_new(schedule.digest);
    schedule.distinct_count += !schedule.is_repeated;
    return !schedule.is_stuck;
}

#endif
