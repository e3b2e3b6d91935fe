/* The oracle is fed wrong answers of every kind, and must name each; and right ones, and must be silent. Contents
   that CUDA cannot write or read back: tests/cli/cases/cuda.case.
   It must not use a policy: answers are made up here, on memory of a simulated device. */
#include <stdlib.h>

#include "stress/run/oracle.h"
#include "stress/base/sets.h"
#include "tap.h"

enum { BLOCKS = 200 };
#define MIB ((uint64_t)1 << 20)

typedef struct bench {                           /* a device with 16 MiB held, and an oracle on it */
    device         *device;
    sim            *machine;
    gpuarena_driver driver;
    char           *base;
    gpuarena       *arena;
    pool            watched;
    oracle         *oracle;
    gpuarena_stats  stats;                       /* statistics that an arena would return */
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
    bed->watched = (pool){ .device = bed->device, .arena = bed->arena, .alignment_bytes = 256,
                           .limit_bytes = 64 * MIB };
    bed->oracle = oracle_create(verify, &bed->watched, BLOCKS);
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

/* Steps, of which the last is the wrong one. Numbers are an op's, a block's, and bytes. a: at, or `-` for NULL, so
   many bytes; f, t: a free, a touch; n: refused, with so much free; r: the free answers double_free. x: at, so many
   bytes are written by someone. h: the arena says it holds so much, l: that more is live; s: it is asked, S: it is
   not; e: the end, with so much reserved. */
static const struct { verify_mode verify; int with_arena; const char *steps, *name, *said; } trials[] = {
    { VERIFY_FULL, 0, "a 0 0 0 1000; a 1 1 1024 1000; a 2 2 768 100", "overlap", "" },
    { VERIFY_SAMPLE, 0, "a 0 0 4096 1000; a 1 1 0 4097", "overlap", "" },
    { VERIFY_FULL, 0, "a 0 3 128 100", "misaligned", "" },
    { VERIFY_FULL, 0, "a 0 3 15M 2M", "not_held", "" },
    { VERIFY_FULL, 0, "a 0 3 - 100", "null_block", "" },
    { VERIFY_FULL, 0, "a 0 3 0 0", "null_block", "" },
    { VERIFY_FULL, 0, "a 0 7 0 3M; t 1 7; x 2097157 1; f 1 7", "content", "2097157" },
    { VERIFY_FULL, 0, "a 0 7 0 3M; x 0 1; t 5 7", "content", "" },
    { VERIFY_SAMPLE, 0, "a 0 7 0 100; a 1 64 256 100; x 0 512; f 2 7; f 3 64", "content", "" },      /* one in 64 */
    { VERIFY_FULL, 1, "h 18M; s 0", "device_held", "" },
    { VERIFY_FULL, 1, "h 66M; s 0", "over_limit", "" },
    { VERIFY_SAMPLE, 1, "h 66M; s 63; s 64", "over_limit", "" },
    { VERIFY_FULL, 0, "n 0 0 1000 1023; n 0 0 18446744073709551615 18446744073709551615; n 0 0 1000 1024", "spurious",
      "" },
    { VERIFY_OFF, 0, "r 4 9", "result", "block 9: expected ok of free, found double_free" },
    { VERIFY_FULL, 0, "x 17M 1; s 0", "device", "" },
    { VERIFY_FULL, 1, "l; S 0; x 17M 1; S 0", "device", "" },
    { VERIFY_FULL, 0, "a 0 0 0 1000; e 1 0", "live_at_end", "" },
    { VERIFY_FULL, 0, "e 1 2M", "reserved_at_end", "" },
    { VERIFY_FULL, 0, "e 1 0", "held_at_end", "" },
    { VERIFY_OFF, 0, "a 0 0 - 1; f 1 0; s 1; e 1 5", NULL, "" },
};

static int take_step(bench *bed, const char *step, uint64_t *op)
{
    char words[4][24] = { "0", "0", "0", "0" };
    uint64_t numbers[4];
    sscanf(step + 1, " %23[^ ;] %23[^ ;] %23[^ ;] %23[^ ;]", words[0], words[1], words[2], words[3]);
    for (int i = 0; i < 4; i++) numbers[i] = strtoull(words[i], NULL, 10) << (strchr(words[i], 'M') ? 20 : 0);
    char *ptr = words[2][0] == '-' || step[0] != 'a' ? NULL : bed->base + numbers[2];
    uint32_t block = (uint32_t)numbers[1];
    *op = numbers[0];
    switch (step[0]) {
    case 'a': return oracle_alloc(bed->oracle, *op, block, ptr, numbers[3], NULL);
    case 'f': return oracle_free(bed->oracle, *op, block);
    case 't': return oracle_touch(bed->oracle, *op, block);
    case 'n': return oracle_refusal(bed->oracle, *op, block, numbers[2], numbers[3]);
    case 'r': return oracle_result(bed->oracle, *op, block, "free", "double_free");
    case 's': return oracle_settle(bed->oracle, *op, &bed->stats);
    case 'S': return oracle_settle(bed->oracle, *op, NULL);
    case 'e': return oracle_end(bed->oracle, *op, numbers[1]);
    case 'x': sim_fill(bed->machine, 0, bed->base + numbers[0], numbers[1], 99); return 0;
    case 'h': bed->stats.reserved_bytes = bed->stats.cached_bytes = numbers[0]; return 0;
    default:  bed->stats.live_bytes++; return 0;
    }
}

/* Makes the steps of a trial, all but the last of which are right. A violation stays, whatever follows, and is the
   policy's: the pass does not stop. */
static void test_trial(size_t at)
{
    bench bed;
    uint64_t op = 0;
    char start[64];
    int answers = 0, code = 0;
    bench_open(&bed, trials[at].verify, trials[at].with_arena);
    for (const char *step = trials[at].steps; step; step = strchr(step, ';') ? strchr(step, ';') + 2 : NULL) {
        answers |= code;
        code = take_step(&bed, step, &op);
    }
    const char *found = oracle_violation(bed.oracle);
    snprintf(start, sizeof start, "op %" PRIu64 ": %s: ", op, trials[at].name ? trials[at].name : "");
    CHECK_MSG(!answers && code == (trials[at].name ? -1 : 0) && oracle_whose(bed.oracle) != ORACLE_STUCK, "%s",
              trials[at].steps);
    if (!trials[at].name) CHECK(!found);
    else CHECK_MSG(found && strstr(found, start) == found && strstr(found, trials[at].said), "%s: %s", start,
                   found ? found : "(nothing)");
    CHECK_INT(oracle_alloc(bed.oracle, 70, 99, bed.base, 1, NULL), ==, code);
    CHECK_INT(oracle_settle(bed.oracle, 71, &bed.stats), ==, code);
    CHECK(oracle_violation(bed.oracle) == found);
    bench_close(&bed);
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

/* Random intervals against a table of owners, one per unit of address: many runs of them, and again and again few. */
static void test_map(void)
{
    enum { INTERVALS = 2000, UNITS = 16384, ROUNDS = 200000, PHASE = 20000 };
    static uint32_t owner[UNITS];
    oracle_map map;
    int wrong = 0, refused = 0;
    uint64_t random = 11;
    oracle_map_init(&map, INTERVALS);
    memset(owner, 0, sizeof owner);
    for (int round = 0; round < ROUNDS; round++) {
        uint32_t block = (uint32_t)(splitmix64_next(&random) % INTERVALS), other = ORACLE_MAP_NONE, expected = 0;
        if (map.spans[block].bytes) {
            uint32_t *first = &owner[map.spans[block].place.key];
            for (uint64_t unit = 0; unit < map.spans[block].bytes; unit++) first[unit] = 0;
            oracle_map_remove(&map, block);
            continue;
        }
        if (round / PHASE % 2 && splitmix64_next(&random) % 64) continue;
        uint64_t bytes = 1 + splitmix64_next(&random) % 12, address = splitmix64_next(&random) % (UNITS - bytes);
        for (uint64_t unit = 0; unit < bytes; unit++) expected |= owner[address + unit];
        int placed = oracle_map_insert(&map, block, address, bytes, &other);
        wrong += placed != !expected || (!placed && !map.spans[other].bytes);
        refused += !placed;
        for (uint64_t unit = 0; placed && unit < bytes; unit++) owner[address + unit] = block + 1;
    }
    CHECK_INT(wrong, ==, 0);
    CHECK_INT(refused, >, 1000);
    oracle_map_clear(&map);
}

int main(void)
{
    for (size_t at = 0; at < sizeof trials / sizeof trials[0]; at++) test_trial(at);
    test_statistics();
    test_check();
    test_map();
    return tap_done();
}
