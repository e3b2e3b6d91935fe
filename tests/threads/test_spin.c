/* Who waits long for an arena's lock sleeps: a thread that only yields keeps a holder of lower real-time priority
   from the processor for ever. The holder is an observer here, which is called with the lock held. */
#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <time.h>
#include "sim_device.h"

enum { SLEEPS = 50, MOST_SECONDS = 60 };

static pthread_t waiter;
static int is_armed, waits;
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

/* Holds the lock until the other thread has slept for it: this one yields, which does not count. */
static void hold(gpuarena *arena, const gpuarena_action *action, void *user)
{
    time_t begin = time(NULL);
    long before;
    (void)action;
    (void)user;
    if (!is_armed) return;
    is_armed = 0;
    CHECK(pthread_create(&waiter, NULL, look, arena) == 0);
    while (!__atomic_load_n(&waits, __ATOMIC_ACQUIRE)) (void)sched_yield();
    before = sleeps();
    while ((slept = sleeps() - before) < SLEEPS && time(NULL) - begin < MOST_SECONDS) (void)sched_yield();
}

int main(void)
{
    sim_bench bench = bench_open_sized(GIB(1), NULL);
    gpuarena_config config = GPUARENA_INIT;
    gpuarena *arena;
    void *ptr = NULL;
    config.driver = &bench.driver;
    config.environment = "";
    config.observe = hold;
    CHECK_INT(gpuarena_create(&config, &arena), ==, GPUARENA_OK);
    is_armed = 1;
    CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(1), NULL), ==, GPUARENA_OK);
    CHECK_INT(pthread_join(waiter, NULL), ==, 0);
    CHECK_MSG(slept >= SLEEPS, "who waits for the lock has slept %ld times", slept);
    CHECK_INT(gpuarena_free(arena, ptr, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    bench_close(&bench);
    return tap_done();
}
