/* Times gpuarena's hot path in one process, every case in every round, and prints medians with their quartiles.
   It must not know of stress: a driver that costs nothing stands in for the device, so only the pool is timed.
   Run by `make bench`; a number is never a test. Figures are ratios of one run, not of a machine. */
#include "../gpuarena.h"

#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 21, PAIRS = 40000, MAX_LIVE = 20000, MAX_HOLES = 65536, SCRIPT = 4096 };

static uint64_t next_address;

static int null_info(const gpuarena_driver *self, gpuarena_memory kind, uint64_t *free_bytes, uint64_t *total_bytes)
{
    (void)self; (void)kind;
    *free_bytes = *total_bytes = (uint64_t)1 << 46;
    return GPUARENA_STATUS_DONE;
}

static int null_obtain(const gpuarena_driver *self, gpuarena_memory kind, void **ptr, uint64_t bytes,
                       gpuarena_stream stream)
{
    (void)self; (void)kind; (void)stream;
    next_address += (uint64_t)4 << 20;           /* a gap, as between real segments */
    *ptr = (void *)(uintptr_t)next_address;
    next_address += bytes;
    return GPUARENA_STATUS_DONE;
}

static int null_give_back(const gpuarena_driver *self, gpuarena_memory kind, void *ptr, uint64_t bytes,
                          gpuarena_stream stream)
{
    (void)self; (void)kind; (void)ptr; (void)bytes; (void)stream;
    return GPUARENA_STATUS_DONE;
}

static uint64_t random_state = 1;

static uint64_t random_next(void)                /* splitmix64 */
{
    uint64_t mixed = random_state += 0x9E3779B97F4A7C15u;
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9u;
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBu;
    return mixed ^ mixed >> 31;
}

/* Sizes are drawn before anything is timed, few enough to stay in the first cache; victims by one multiplication. */
static uint64_t script_bytes[SCRIPT];

static void script_draw(void)
{
    int i;
    for (i = 0; i < SCRIPT; i++) {
        double exponent = 8 + 12 * (double)(random_next() >> 11) / 9007199254740992.0;      /* 256 B to 1 MiB */
        script_bytes[i] = (uint64_t)exp2(exponent);
    }
}

static void *idle_thread(void *user)
{
    return user;
}

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static gpuarena *arena_make(void)
{
    gpuarena_driver driver = GPUARENA_INIT;
    gpuarena_config config = GPUARENA_INIT;
    gpuarena *arena = NULL;
    driver.memory.info = null_info;
    driver.memory.obtain = null_obtain;
    driver.memory.give_back = null_give_back;
    config.driver = &driver;
    config.environment = "";
    if (gpuarena_create(&config, &arena) != GPUARENA_OK) exit(4);
    return arena;
}

static void *arena_alloc(gpuarena *arena, uint64_t bytes)
{
    void *ptr = NULL;
    if (gpuarena_alloc(arena, &ptr, bytes, NULL) != GPUARENA_OK) exit(4);
    return ptr;
}

/* A case: an arena in a state, and what is timed on it. */
typedef struct bench_case {
    const char *name;
    uint32_t live, holes;                        /* live blocks that are replaced; free holes around a pair */
    uint64_t fixed_bytes;                        /* 0: the script's sizes */
    gpuarena *arena;
    void **blocks;
    uint32_t at, victim;                         /* in the script; state of a linear congruential generator */
    double samples[ROUNDS];                      /* ns a pair */
} bench_case;

static uint64_t bench_bytes(const bench_case *bench)
{
    return bench->fixed_bytes ? bench->fixed_bytes : script_bytes[bench->at % SCRIPT];
}

static void bench_set_up(bench_case *bench)
{
    uint32_t count = bench->live + 2 * bench->holes, i;
    if (!count) return;
    bench->arena = arena_make();
    bench->blocks = (void **)calloc(count, sizeof *bench->blocks);
    if (!bench->blocks) exit(4);
    for (i = 0; i < count; i++, bench->at++) bench->blocks[i] = arena_alloc(bench->arena, bench_bytes(bench));
    for (i = 0; i < bench->holes; i++) (void)gpuarena_free(bench->arena, bench->blocks[2 * i], NULL);
}

/* Free one random live block, allocate another. */
static void bench_replace(bench_case *bench)
{
    uint32_t i;
    for (i = 0; i < PAIRS; i++, bench->at++) {
        uint32_t drawn = bench->victim = bench->victim * 1664525u + 1013904223u;
        void **block = &bench->blocks[(uint64_t)drawn * bench->live >> 32];
        (void)gpuarena_free(bench->arena, *block, NULL);
        *block = arena_alloc(bench->arena, bench_bytes(bench));
    }
}

/* Allocate one block among the holes, free it. */
static void bench_among_holes(bench_case *bench)
{
    uint32_t i;
    for (i = 0; i < PAIRS; i++, bench->at++)
        (void)gpuarena_free(bench->arena, arena_alloc(bench->arena, bench_bytes(bench)), NULL);
}

static void bench_mutex(void)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    uint32_t i;
    for (i = 0; i < 2 * PAIRS; i++) {            /* a pair of calls locks and unlocks twice */
        (void)pthread_mutex_lock(&mutex);
        (void)pthread_mutex_unlock(&mutex);
    }
}

static void bench_round(bench_case *bench, int round)
{
    uint64_t begin = now_ns();
    if (bench->live) bench_replace(bench);
    else if (bench->holes) bench_among_holes(bench);
    else bench_mutex();
    bench->samples[round] = (double)(now_ns() - begin) / PAIRS;
}

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static bench_case cases[] = {
    { "two bare mutex pairs", 0, 0, 0, NULL, NULL, 0, 0, { 0 } },
    { "pair, 16 live", 16, 0, 0, NULL, NULL, 0, 0, { 0 } },
    { "pair, 1000 live", 1000, 0, 0, NULL, NULL, 0, 0, { 0 } },
    { "pair, 20000 live", MAX_LIVE, 0, 0, NULL, NULL, 0, 0, { 0 } },
    { "pair, 1000 live, all of 4 KiB", 1000, 0, 4096, NULL, NULL, 0, 0, { 0 } },
    { "pair among 64 holes", 0, 64, 0, NULL, NULL, 0, 0, { 0 } },
    { "pair among 65536 holes", 0, MAX_HOLES, 0, NULL, NULL, 0, 0, { 0 } }
};
enum { CASES = sizeof cases / sizeof *cases };

int main(void)
{
    pthread_t thread;
    double first = 0;
    int round, i;
    /* glibc's mutex skips its atomics until the process has had a second thread */
    if (pthread_create(&thread, NULL, idle_thread, NULL) || pthread_join(thread, NULL)) return 4;
    script_draw();
    for (i = 0; i < CASES; i++) bench_set_up(&cases[i]);
    for (i = 0; i < CASES; i++) bench_round(&cases[i], 0);           /* warm-up; overwritten */
    for (round = 0; round < ROUNDS; round++)
        for (i = 0; i < CASES; i++) bench_round(&cases[i], round);
    printf("%-32s %10s %10s %10s %8s\n", "case", "median ns", "quarter", "3 quarters", "ratio");
    for (i = 0; i < CASES; i++) {
        double *samples = cases[i].samples;
        qsort(samples, ROUNDS, sizeof *samples, compare_doubles);
        if (!i) first = samples[ROUNDS / 2];
        printf("%-32s %10.1f %10.1f %10.1f %8.2f\n", cases[i].name, samples[ROUNDS / 2], samples[ROUNDS / 4],
               samples[3 * ROUNDS / 4], samples[ROUNDS / 2] / first);
        free(cases[i].blocks);
        if (!cases[i].arena) continue;
        (void)gpuarena_reset(cases[i].arena, NULL);
        (void)gpuarena_destroy(cases[i].arena);
    }
    printf("holes, 65536 / 64: %.2f\n", cases[CASES - 1].samples[ROUNDS / 2] / cases[CASES - 2].samples[ROUNDS / 2]);
    return 0;
}
