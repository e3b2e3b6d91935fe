/* Who waits long for an arena's lock sleeps, in the end: a thread that only yields keeps a holder of lower real-time
   priority from the processor for ever. How soon it sleeps is not tested. The holder is an observer here, which is
   called with the lock held. */
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <time.h>
#include "sim_device.h"

enum { SLEEPS = 50, MOST_SECONDS = 60 };

static pthread_t waiter;
static void *(*wait_for)(void *arena);
static void *block;
static gpuarena_result freed = GPUARENA_STOPPED;
static int waits;
static long slept;

/* How often threads of this process have given up the processor to sleep. */
static long sleeps(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) ? 0 : usage.ru_nvcsw;
}

static void *look(void *arena)
{
    gpuarena_stats stats;
    __atomic_store_n(&waits, 1, __ATOMIC_RELEASE);
    gpuarena_get_stats(arena, &stats);
    return NULL;
}

static void *hit(void *arena)
{
    __atomic_store_n(&waits, 1, __ATOMIC_RELEASE);
    freed = gpuarena_free(arena, block, NULL);
    return NULL;
}

/* Holds the lock until the other thread has slept for it: this one yields, which does not count. */
static void hold(gpuarena *arena, const gpuarena_action *action, void *user)
{
    time_t begin = time(NULL);
    long before;
    (void)action;
    (void)user;
    if (!wait_for) return;
    waits = 0;
    CHECK(pthread_create(&waiter, NULL, wait_for, arena) == 0);
    wait_for = NULL;
    while (!__atomic_load_n(&waits, __ATOMIC_ACQUIRE)) (void)sched_yield();
    before = sleeps();
    while ((slept = sleeps() - before) < SLEEPS && time(NULL) - begin < MOST_SECONDS) (void)sched_yield();
}

static void check(gpuarena *arena, void *(*call)(void *arena), const char *name)
{
    void *ptr = NULL;
    wait_for = call;
    CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(1), NULL), ==, GPUARENA_OK);
    CHECK_INT(pthread_join(waiter, NULL), ==, 0);
    CHECK_MSG(slept >= SLEEPS, "%s: who waits for the lock has slept %ld times", name, slept);
    CHECK_INT(gpuarena_free(arena, ptr, NULL), ==, GPUARENA_OK);
}

int main(void)
{
    sim_bench bench = bench_open_sized(GIB(1), NULL);
    gpuarena_config config = GPUARENA_INIT;
    gpuarena *arena;
    config.driver = &bench.driver;
    config.environment = "";
    config.observe = hold;
    CHECK_INT(gpuarena_create(&config, &arena), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(arena, &block, MIB(1), NULL), ==, GPUARENA_OK);
    check(arena, look, "a look at figures");
    check(arena, hit, "a plain free");
    CHECK_INT(freed, ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    bench_close(&bench);
    return tap_done();
}
