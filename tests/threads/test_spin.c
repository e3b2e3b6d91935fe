/* Who waits long for an arena's lock sleeps, in the end: a thread that only yields keeps a holder of lower real-time
   priority from the processor for ever. A holder who may take long, as an observer does, is waited for without asking
   again, and its unlock wakes all who wait; a hit is asked for again and again. How soon they sleep is not tested. */
#ifndef GPUARENA_STATIC
#define GPUARENA_STATIC
#endif
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <time.h>
#include "sim_device.h"

enum { SLEEPS = 50, MOST_MS = 15000, WAKE_MS = 10000, HOLD_MS = 300, WAITERS = 4, MOST_SLEEPS = 5 * WAITERS };

static pthread_t waiters[WAITERS];
static void *blocks[WAITERS];
static gpuarena *arena;
static void *(*wait_for)(void *block);
static gpuarena_result freed = GPUARENA_OK;
static int waits, done;
static long before, slept;                       /* sleeps */

/* How often threads of this process have given up the processor to sleep. */
static long sleeps(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) ? 0 : usage.ru_nvcsw;
}

static uint64_t milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void *look(void *block)
{
    gpuarena_stats stats;
    (void)block;
    __atomic_add_fetch(&waits, 1, __ATOMIC_RELEASE);
    gpuarena_get_stats(arena, &stats);
    __atomic_add_fetch(&done, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void *hit(void *block)
{
    __atomic_add_fetch(&waits, 1, __ATOMIC_RELEASE);
    gpuarena_result result = gpuarena_free(arena, block, NULL);
    if (result != GPUARENA_OK) freed = result;
    __atomic_add_fetch(&done, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void start(int count)
{
    waits = done = 0;
    before = sleeps();
    for (int at = 0; at < count; at++) CHECK(pthread_create(&waiters[at], NULL, wait_for, blocks[at]) == 0);
    while (__atomic_load_n(&waits, __ATOMIC_ACQUIRE) < count) (void)sched_yield();
}

/* Holds the lock until other threads have slept so often since they were started, or this time is over. This thread
   yields, which does not count. */
static void hold(long most, uint64_t ms)
{
    uint64_t begin = milliseconds();
    while ((slept = sleeps() - before) < most && milliseconds() - begin < ms) (void)sched_yield();
}

/* An observer: called with the lock held. */
static void observe(gpuarena *told, const gpuarena_action *action, void *user)
{
    (void)told, (void)action, (void)user;
    if (!wait_for) return;
    start(WAITERS);
    wait_for = NULL;
    hold(WAITERS, MOST_MS);
    CHECK_MSG(slept >= WAITERS, "who waits for an observer sleeps: %ld times", slept);
    hold(LONG_MAX, HOLD_MS);
}

/* Waits for the threads that were started. If they do not come, nothing else can be tested. */
static void finish(const char *name)
{
    uint64_t begin = milliseconds();
    while (__atomic_load_n(&done, __ATOMIC_ACQUIRE) < WAITERS && milliseconds() - begin < WAKE_MS)
        (void)sched_yield();
    CHECK_MSG(done == WAITERS, "%s: %d of %d threads that wait go on", name, done, WAITERS);
    if (done < WAITERS) exit(tap_done());
    for (int at = 0; at < WAITERS; at++) CHECK_INT(pthread_join(waiters[at], NULL), ==, 0);
}

static void check_observer(void *(*call)(void *block), const char *name)
{
    void *ptr = NULL;
    wait_for = call;
    CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(1), NULL), ==, GPUARENA_OK);
    finish(name);
    CHECK_MSG(slept <= MOST_SLEEPS, "%s: %d threads that wait have slept %ld times", name, WAITERS, slept);
    CHECK_INT(gpuarena_free(arena, ptr, NULL), ==, GPUARENA_OK);
}

static void fill(void)
{
    for (int at = 0; at < WAITERS; at++) CHECK_INT(gpuarena_alloc(arena, &blocks[at], MIB(1), NULL), ==, GPUARENA_OK);
}

int main(void)
{
    sim_bench bench = bench_open_sized(GIB(1), NULL);
    gpuarena_config config = GPUARENA_INIT;
    config.driver = &bench.driver;
    config.environment = "";
    CHECK_INT(gpuarena_create(&config, &arena), ==, GPUARENA_OK);
    fill();
    wait_for = hit;
    gpuarena__spin_lock_hit(&arena->lock);
    start(1);
    hold(SLEEPS, MOST_MS);
    gpuarena__spin_unlock_hit(&arena->lock);
    CHECK_INT(pthread_join(waiters[0], NULL), ==, 0);
    CHECK_MSG(slept >= SLEEPS, "who waits for a hit has slept %ld times", slept);
    wait_for = NULL;
    CHECK_INT(gpuarena_alloc(arena, &blocks[0], MIB(1), NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_observe(arena, observe, NULL), ==, GPUARENA_OK);
    check_observer(look, "a look at figures");
    check_observer(hit, "a plain free");
    CHECK_INT(freed, ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    bench_close(&bench);
    return tap_done();
}
