/* The oracle is fed wrong answers of every kind, and must name each; and right ones, and must be silent.
   It must not use a policy: answers are made up here, on memory of a simulated device. */
#include <stdlib.h>

#include "stress/run/oracle.h"
#include "stress/base/splitmix64.h"
#include "tap.h"

#ifndef GPUARENA_NO_CUDA
#include "stress/cudart/cudart.h"
#endif

enum { BLOCKS = 200 };
#define MIB ((uint64_t)1 << 20)

typedef struct bench {                           /* a device with 16 MiB held, and an oracle on it */
    device         *device;
    sim            *machine;
    gpuarena_driver driver;
    char           *base;
    gpuarena       *arena;
    oracle         *oracle;
    gpuarena_stats  stats;                       /* what an arena would say */
} bench;

static problem why;

static void bench_open(bench *bed, verify_mode verify, int with_arena)
{
    device_config config;
    gpuarena_config arena_config = GPUARENA_INIT;
    void *memory = NULL;
    memset(bed, 0, sizeof *bed);
    memset(&config, 0, sizeof config);
    bed->device = device_open(&config, &why);
    bed->machine = device_simulated(bed->device);
    bed->driver = *device_driver(bed->device);
    arena_config.driver = &bed->driver;
    arena_config.environment = "";
    if (with_arena) gpuarena_create(&arena_config, &bed->arena);
    bed->driver.memory.obtain(&bed->driver, GPUARENA_MEMORY_DEVICE, &memory, 16 * MIB, NULL);
    bed->base = memory;
    oracle_settings settings = { verify, BLOCKS, 256, 64 * MIB, bed->device, bed->arena, 0 };
    bed->oracle = oracle_create(&settings);
    bed->stats.reserved_bytes = bed->stats.cached_bytes = 16 * MIB;
}

static void bench_close(bench *bed)
{
    oracle_destroy(bed->oracle);
    gpuarena_destroy(bed->arena);
    device_close(bed->device, NULL);
}

/* An arena's statistics after one more live block. */
static void bench_count(bench *bed, uint64_t requested_bytes, uint64_t live_bytes)
{
    bed->stats.requested_bytes += requested_bytes;
    bed->stats.live_bytes += live_bytes;
    bed->stats.slack_bytes += live_bytes - requested_bytes;
    bed->stats.cached_bytes -= live_bytes;
    bed->stats.live_count++;
    bed->stats.alloc_count++;
}

static void expect(bench *bed, const char *name)
{
    char start[64];
    const char *found = oracle_violation(bed->oracle);
    snprintf(start, sizeof start, ": %s: ", name);
    CHECK_MSG(found && strstr(found, start), "%s is found: %s", name, found ? found : "(nothing)");
    bench_close(bed);
}

static void test_placement(void)
{
    bench bed;
    bench_open(&bed, VERIFY_FULL, 0);
    oracle_alloc(bed.oracle, 0, 0, bed.base, 1000, NULL);
    oracle_alloc(bed.oracle, 1, 1, bed.base + 1024, 1000, NULL);
    CHECK(oracle_violation(bed.oracle) == NULL);
    oracle_alloc(bed.oracle, 2, 2, bed.base + 768, 100, NULL);
    expect(&bed, "overlap");
    bench_open(&bed, VERIFY_SAMPLE, 0);
    oracle_alloc(bed.oracle, 0, 0, bed.base + 4096, 1000, NULL);
    oracle_alloc(bed.oracle, 1, 1, bed.base, 4097, NULL);
    expect(&bed, "overlap");
    bench_open(&bed, VERIFY_FULL, 0);
    oracle_alloc(bed.oracle, 0, 3, bed.base + 128, 100, NULL);
    expect(&bed, "misaligned");
    bench_open(&bed, VERIFY_FULL, 0);
    oracle_alloc(bed.oracle, 0, 3, bed.base + 15 * MIB, 2 * MIB, NULL);
    expect(&bed, "not_held");
    bench_open(&bed, VERIFY_FULL, 0);
    oracle_alloc(bed.oracle, 0, 3, NULL, 100, NULL);
    expect(&bed, "null_block");
    bench_open(&bed, VERIFY_FULL, 0);
    oracle_alloc(bed.oracle, 0, 3, bed.base, 0, NULL);
    expect(&bed, "null_block");
}

static void test_content(void)
{
    bench bed;
    bench_open(&bed, VERIFY_FULL, 0);
    oracle_alloc(bed.oracle, 0, 7, bed.base, 3 * MIB, NULL);
    CHECK_INT(oracle_touch(bed.oracle, 1, 7), ==, 0);
    sim_fill(bed.machine, 0, bed.base + 2 * MIB + 5, 1, 99);
    CHECK_INT(oracle_free(bed.oracle, 1, 7), ==, -1);
    CHECK(strstr(oracle_violation(bed.oracle), "2097157") != NULL);
    expect(&bed, "content");
    bench_open(&bed, VERIFY_FULL, 0);
    oracle_alloc(bed.oracle, 0, 7, bed.base, 3 * MIB, NULL);
    sim_fill(bed.machine, 0, bed.base, 1, 99);
    oracle_touch(bed.oracle, 5, 7);
    CHECK(strncmp(oracle_violation(bed.oracle), "op 5: ", 6) == 0);
    expect(&bed, "content");
    bench_open(&bed, VERIFY_SAMPLE, 0);
    oracle_alloc(bed.oracle, 0, 7, bed.base, 100, NULL);
    oracle_alloc(bed.oracle, 1, 64, bed.base + 256, 100, NULL);
    sim_fill(bed.machine, 0, bed.base, 512, 99);
    CHECK_MSG(oracle_free(bed.oracle, 2, 7) == 0, "sample: block 7 is not one in 64");
    oracle_free(bed.oracle, 3, 64);
    expect(&bed, "content");
}

/* Each statistic wrong by one, in turn. */
static void test_statistics(void)
{
    static const struct { const char *name; size_t at; } fields[] = {
        { "requested_bytes", offsetof(gpuarena_stats, requested_bytes) },
        { "live_bytes", offsetof(gpuarena_stats, live_bytes) },
        { "live_count", offsetof(gpuarena_stats, live_count) },
        { "alloc_count", offsetof(gpuarena_stats, alloc_count) },
        { "free_count", offsetof(gpuarena_stats, free_count) },
        { "misuse_count", offsetof(gpuarena_stats, misuse_count) },
        { "sum_live", offsetof(gpuarena_stats, slack_bytes) },
        { "sum_reserved", offsetof(gpuarena_stats, cached_bytes) },
        { "sum_reserved", offsetof(gpuarena_stats, pending_bytes) },
        { "sum_reserved", offsetof(gpuarena_stats, children_bytes) },
    };
    for (size_t index = 0; index < sizeof fields / sizeof fields[0]; index++) {
        bench bed;
        bench_open(&bed, VERIFY_FULL, 1);
        oracle_alloc(bed.oracle, 0, 0, bed.base, 1000, NULL);
        bench_count(&bed, 1000, 1024);
        CHECK_INT(oracle_settle(bed.oracle, 0, &bed.stats), ==, 0);
        uint64_t *field = (uint64_t *)(void *)((char *)&bed.stats + fields[index].at);
        ++*field;
        oracle_settle(bed.oracle, 1, &bed.stats);
        expect(&bed, fields[index].name);
    }
}

static void test_reserved(void)
{
    bench bed;
    bench_open(&bed, VERIFY_FULL, 1);
    bed.stats.reserved_bytes = bed.stats.cached_bytes = 18 * MIB;
    oracle_settle(bed.oracle, 0, &bed.stats);
    expect(&bed, "device_held");
    bench_open(&bed, VERIFY_FULL, 1);
    bed.stats.reserved_bytes = bed.stats.cached_bytes = 66 * MIB;
    oracle_settle(bed.oracle, 0, &bed.stats);
    expect(&bed, "over_limit");
    bench_open(&bed, VERIFY_SAMPLE, 1);
    bed.stats.reserved_bytes = bed.stats.cached_bytes = 66 * MIB;
    CHECK_MSG(oracle_settle(bed.oracle, 63, &bed.stats) == 0, "sample: op 63 is not one in 64");
    oracle_settle(bed.oracle, 64, &bed.stats);
    expect(&bed, "over_limit");
}

static void test_refusals_and_results(void)
{
    bench bed;
    bench_open(&bed, VERIFY_FULL, 0);
    CHECK_INT(oracle_refusal(bed.oracle, 0, 0, 1000, 1023), ==, 0);
    CHECK_INT(oracle_refusal(bed.oracle, 0, 0, UINT64_MAX, UINT64_MAX), ==, 0);
    oracle_refusal(bed.oracle, 0, 0, 1000, 1024);
    expect(&bed, "spurious");
    bench_open(&bed, VERIFY_OFF, 0);
    oracle_result(bed.oracle, 4, 9, "free", "double_free");
    CHECK_STR(oracle_violation(bed.oracle), "op 4: result: block 9: expected ok of free, found double_free");
    expect(&bed, "result");
    bench_open(&bed, VERIFY_FULL, 0);
    sim_fill(bed.machine, 0, bed.base + 17 * MIB, 1, 1);
    oracle_settle(bed.oracle, 0, &bed.stats);
    expect(&bed, "device");
    bench_open(&bed, VERIFY_FULL, 1);
    bed.stats.live_bytes++;
    CHECK_MSG(oracle_settle(bed.oracle, 0, NULL) == 0, "the policy was not called: nobody asks it");
    sim_fill(bed.machine, 0, bed.base + 17 * MIB, 1, 1);
    oracle_settle(bed.oracle, 0, NULL);
    expect(&bed, "device");
}

static void test_end(void)
{
    bench bed;
    bench_open(&bed, VERIFY_FULL, 0);
    oracle_alloc(bed.oracle, 0, 0, bed.base, 1000, NULL);
    oracle_end(bed.oracle, 1, 0);
    expect(&bed, "live_at_end");
    bench_open(&bed, VERIFY_FULL, 0);
    oracle_end(bed.oracle, 1, 2 * MIB);
    expect(&bed, "reserved_at_end");
    bench_open(&bed, VERIFY_FULL, 0);
    oracle_end(bed.oracle, 1, 0);
    expect(&bed, "held_at_end");
}

/* The first violation stays, whatever follows; and off is off. */
static void test_first_stays(void)
{
    bench bed;
    bench_open(&bed, VERIFY_FULL, 0);
    oracle_alloc(bed.oracle, 0, 0, NULL, 1, NULL);
    CHECK_INT(oracle_alloc(bed.oracle, 1, 1, bed.base, 1, NULL), ==, -1);
    CHECK_INT(oracle_settle(bed.oracle, 1, &bed.stats), ==, -1);
    expect(&bed, "null_block");
    bench_open(&bed, VERIFY_OFF, 0);
    CHECK_INT(oracle_alloc(bed.oracle, 0, 0, NULL, 1, NULL) | oracle_free(bed.oracle, 1, 0)
              | oracle_settle(bed.oracle, 1, &bed.stats) | oracle_end(bed.oracle, 1, 5), ==, 0);
    bench_close(&bed);
}

/* A violation is the policy's, being stuck is not. */
static void test_violation_is_not_stuck(void)
{
    bench bed;
    bench_open(&bed, VERIFY_FULL, 0);
    CHECK_INT(oracle_is_stuck(bed.oracle), ==, 0);
    oracle_alloc(bed.oracle, 0, 0, NULL, 1, NULL);
    CHECK_INT(oracle_is_stuck(bed.oracle), ==, 0);
    expect(&bed, "null_block");
}

#ifdef GPUARENA_NO_CUDA
static void test_stuck(void)
{
    SKIP("an oracle that is stuck: this build is without CUDA, and a simulated device's contents never fail");
}
#else

/* Contents that cannot be written, or cannot be read back, on CUDA: faults of the substitute. */
static void stick(const char *faults, int is_filled, const char *expected)
{
    sim_config machine;
    device_config config;
    void *memory = NULL;
    memset(&machine, 0, sizeof machine);
    memset(&config, 0, sizeof config);
    machine.device_count = 1;
    machine.faults = faults;
    config.is_cuda = 1;
    sim *served = sim_create(&machine, &why);
    cudart_attach(served);
    device *opened = device_open(&config, &why);
    const gpuarena_driver *driver = device_driver(opened);
    driver->memory.obtain(driver, GPUARENA_MEMORY_DEVICE, &memory, MIB, NULL);
    oracle_settings settings = { VERIFY_FULL, BLOCKS, 256, 64 * MIB, opened, NULL, 0 };
    oracle *judge = oracle_create(&settings);
    CHECK_INT(oracle_alloc(judge, 3, 7, memory, 1000, NULL), ==, is_filled ? 0 : -1);
    CHECK_INT(oracle_is_stuck(judge), ==, !is_filled);
    if (is_filled) CHECK_INT(oracle_free(judge, 4, 7), ==, -1);
    CHECK_INT(oracle_is_stuck(judge), ==, 1);
    CHECK_STR(oracle_violation(judge) ? oracle_violation(judge) : "(nothing)", expected);
    oracle_destroy(judge);
    device_close(opened, NULL);
    cudart_attach(NULL);
    sim_destroy(served);
}

static void test_stuck(void)
{
    stick("cudaMemset:1", 0, "op 3: unverified: block 7: cudaMemset: cudaErrorUnknown (999)");
    stick("cudaMemcpy:2", 0, "op 3: unverified: block 7: cudaMemcpy to the device: cudaErrorUnknown (999)");
    stick("cudaMemcpy:3", 1, "op 4: unverified: block 7: cudaMemcpy from the device: cudaErrorUnknown (999)");
}
#endif

/* From inside a callback an arena refuses to be checked: an answer of gpuarena_check that is not OK. */
static void check_inside(gpuarena *arena, const gpuarena_action *action, void *user)
{
    (void)arena;
    if (action->kind == GPUARENA_ACTION_ALLOC) oracle_check(((bench *)user)->oracle, 8);
}

static void test_check(void)
{
    bench bed;
    void *memory = NULL;
    bench_open(&bed, VERIFY_FULL, 1);
    CHECK_INT(oracle_check(bed.oracle, 7), ==, 0);
    gpuarena_observe(bed.arena, check_inside, &bed);
    CHECK_INT(gpuarena_alloc(bed.arena, &memory, 100, NULL), ==, GPUARENA_OK);
    gpuarena_observe(bed.arena, NULL, NULL);
    gpuarena_free(bed.arena, memory, NULL);
    expect(&bed, "check");
}

/* Random intervals against a table of owners, one per unit of address. */
static void test_map(void)
{
    enum { UNITS = 4096, ROUNDS = 200000 };
    static uint32_t owner[UNITS];
    oracle_map map;
    int wrong = 0, refused = 0;
    uint64_t random = 11;
    oracle_map_init(&map, BLOCKS);
    memset(owner, 0, sizeof owner);
    for (int round = 0; round < ROUNDS; round++) {
        uint32_t block = (uint32_t)(splitmix64_next(&random) % BLOCKS), other = ORACLE_MAP_NONE, expected = 0;
        if (map.spans[block].bytes) {
            uint32_t *first = &owner[map.spans[block].place.key];
            for (uint64_t unit = 0; unit < map.spans[block].bytes; unit++) first[unit] = 0;
            oracle_map_remove(&map, block);
            continue;
        }
        uint64_t bytes = 1 + splitmix64_next(&random) % 40, address = splitmix64_next(&random) % (UNITS - bytes);
        for (uint64_t unit = 0; unit < bytes; unit++) expected |= owner[address + unit];
        int placed = oracle_map_insert(&map, block, address, bytes, &other);
        wrong += placed != !expected;
        refused += !placed;
        for (uint64_t unit = 0; placed && unit < bytes; unit++) owner[address + unit] = block + 1;
    }
    CHECK_INT(wrong, ==, 0);
    CHECK_INT(refused, >, 1000);
    oracle_map_clear(&map);
}

int main(void)
{
    test_placement();
    test_content();
    test_statistics();
    test_reserved();
    test_refusals_and_results();
    test_end();
    test_first_stays();
    test_violation_is_not_stuck();
    test_stuck();
    test_check();
    test_map();
    return tap_done();
}
