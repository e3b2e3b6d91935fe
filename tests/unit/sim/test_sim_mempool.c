/* Pools of the simulated device: who may have a freed block again, when memory goes back, figures, costs, findings.
   It must not know of arenas. */
#include "sim_device.h"

#include "stress/sim/mempool.h"

typedef struct pool_bench {
    sim_bench bench;
    sim_device *device;
    mempool *pool;
    gpuarena_stream one, two;
} pool_bench;

static pool_bench pool_open(uint64_t capacity_bytes)
{
    pool_bench made;
    made.bench = bench_open_sized(capacity_bytes, NULL);
    made.device = made.bench.driver.user;
    made.pool = mempool_of(made.device);
    sim_stream_create(made.bench.machine, 0, 0, &made.one);
    sim_stream_create(made.bench.machine, 0, 0, &made.two);
    return made;
}

static int give(pool_bench *self, gpuarena_stream stream, void **ptr, uint64_t bytes)
{
    const gpuarena_driver *driver = &self->bench.driver;
    return driver->memory.obtain(driver, GPUARENA_MEMORY_ASYNC, ptr, bytes, stream);
}

static int take(pool_bench *self, gpuarena_stream stream, void *ptr, uint64_t bytes)
{
    const gpuarena_driver *driver = &self->bench.driver;
    return driver->memory.give_back(driver, GPUARENA_MEMORY_ASYNC, ptr, bytes, stream);
}

/* A block that stream one has freed behind long work. */
static void *freed_block(pool_bench *self, uint64_t bytes)
{
    void *ptr = NULL;
    CHECK_INT(give(self, self->one, &ptr, bytes), ==, 0);
    sim_work(self->bench.machine, 0, self->one, 1000000000);
    sim_access(self->bench.machine, 0, self->one, ptr, bytes, 1, 1);
    CHECK_INT(take(self, self->one, ptr, bytes), ==, 0);
    return ptr;
}

static void no_findings(const pool_bench *self)
{
    CHECK_MSG(sim_finding_count(self->bench.machine) == 0, "%s", sim_finding_count(self->bench.machine)
              ? sim_finding(self->bench.machine, 0) : "no finding");
}

static void test_same_stream(void)
{
    pool_bench made = pool_open(MIB(256));
    void *first = freed_block(&made, MIB(4)), *next = NULL;
    CHECK_INT(give(&made, made.one, &next, MIB(4)), ==, 0);
    CHECK(next == first);
    sim_access(made.bench.machine, 0, made.one, next, MIB(4), 2, 2);
    CHECK_U64(made.pool->reserved_bytes, ==, MIB(32));
    CHECK_U64(made.pool->used_bytes, ==, MIB(4));
    no_findings(&made);
    bench_close(&made.bench);
}

static void test_chunk(void)
{
    pool_bench made = pool_open(MIB(512));
    sim *machine = made.bench.machine;
    void *ptr = NULL;
    CHECK_INT(give(&made, made.one, &ptr, MIB(33)), ==, 0);
    CHECK_U64(made.pool->reserved_bytes, ==, MIB(64));
    CHECK_INT(sim_pool_chunk(machine, 0, MIB(6) + 1), ==, 0);
    CHECK_INT(give(&made, made.one, &ptr, MIB(33)), ==, 0);
    CHECK_U64(made.pool->reserved_bytes, ==, MIB(64 + 40));
    CHECK_INT(sim_pool_chunk(machine, 0, SIM_GRANULE), ==, 0);
    CHECK_INT(give(&made, made.one, &ptr, MIB(33)), ==, 0);
    CHECK_U64(made.pool->reserved_bytes, ==, MIB(64 + 40 + 34));
    CHECK_INT(sim_pool_chunk(machine, 0, SIM_MAX_CAPACITY + 1), ==, -1);
    CHECK_INT(sim_pool_chunk(machine, 1, MIB(4)), ==, -1);
    CHECK_INT(give(&made, made.one, &ptr, MIB(33)), ==, 0);
    CHECK_U64(made.pool->reserved_bytes, ==, MIB(64 + 40 + 34 + 34));
    CHECK_INT(sim_pool_chunk(machine, 0, 0), ==, 0);
    CHECK_INT(give(&made, made.one, &ptr, MIB(33)), ==, 0);
    CHECK_U64(made.pool->reserved_bytes, ==, MIB(64 + 40 + 34 + 34 + 64));
    no_findings(&made);
    bench_close(&made.bench);
}

/* rule: 0 nothing allowed, 1 by events, 2 when done, 3 where there is no more memory. 1: the block was
   given again. */
static int reused(int rule, int ordered, int done, uint64_t capacity_bytes)
{
    pool_bench made = pool_open(capacity_bytes);
    void *first = freed_block(&made, MIB(32)), *next = NULL;
    made.pool->follow = rule == 1;
    made.pool->opportunistic = rule == 2;
    made.pool->internal = rule == 3;
    if (ordered) sim_stream_follow(made.bench.machine, 0, made.two, made.one);
    if (done) sim_advance(made.bench.machine, 2000000000);
    int code = give(&made, made.two, &next, MIB(32));
    if (!code) sim_access(made.bench.machine, 0, made.two, next, MIB(32), 2, 2);
    no_findings(&made);
    bench_close(&made.bench);
    return code ? -code : next == first;
}

static void test_rules(void)
{
    CHECK_INT(reused(0, 1, 1, MIB(64)), ==, 0);
    CHECK_INT(reused(1, 0, 1, MIB(64)), ==, 0);
    CHECK_INT(reused(1, 1, 0, MIB(64)), ==, 1);
    CHECK_INT(reused(2, 1, 0, MIB(64)), ==, 0);
    CHECK_INT(reused(2, 0, 1, MIB(64)), ==, 1);
    CHECK_INT(reused(3, 0, 0, MIB(64)), ==, 0);
    CHECK_INT(reused(3, 0, 0, MIB(32)), ==, 1);
    CHECK_INT(reused(0, 0, 0, MIB(32)), ==, -SIM_OUT_OF_MEMORY);
}

/* Asks for a chunk of 32 MiB whole, of which stream one freed 28 MiB behind long work; the other 4 MiB are quiet, and
   lie behind these or before them. Returns the code. */
static int whole_chunk(int is_other_stream, int is_quiet_before, int internal)
{
    pool_bench made = pool_open(MIB(32));
    gpuarena_stream to = is_other_stream ? made.two : made.one;
    void *quiet = NULL, *busy = NULL, *whole = NULL;
    made.pool->internal = internal;
    if (is_quiet_before) {
        CHECK_INT(give(&made, made.one, &quiet, MIB(4)), ==, 0);
    }
    CHECK_INT(give(&made, made.one, &busy, MIB(28)), ==, 0);
    CHECK_INT(take(&made, made.one, quiet, MIB(4)), ==, 0);
    sim_stream_wait(made.bench.machine, 0, made.one);
    sim_work(made.bench.machine, 0, made.one, 1000000000);
    sim_access(made.bench.machine, 0, made.one, busy, MIB(28), 1, 1);
    CHECK_INT(take(&made, made.one, busy, MIB(28)), ==, 0);
    int code = give(&made, to, &whole, MIB(32));
    if (!code) sim_access(made.bench.machine, 0, to, whole, MIB(32), 2, 2);
    no_findings(&made);
    bench_close(&made.bench);
    return code;
}

static void test_join(void)
{
    for (int is_before = 0; is_before < 2; is_before++) {
        CHECK_INT(whole_chunk(0, is_before, 0), ==, 0);
        CHECK_INT(whole_chunk(1, is_before, 1), ==, 0);
        CHECK_INT(whole_chunk(1, is_before, 0), ==, SIM_OUT_OF_MEMORY);
    }
}

/* At the next wait, down to the threshold; by a trim what the host has outlived alone. */
static void test_threshold(void)
{
    pool_bench made = pool_open(MIB(256));
    void *keep = NULL;
    CHECK_INT(give(&made, made.two, &keep, 1000), ==, 0);
    (void)freed_block(&made, MIB(36));
    mempool_trim(made.device, made.pool, 0);
    CHECK_U64(made.pool->reserved_bytes, ==, MIB(96));
    made.pool->threshold_bytes = MIB(96);
    sim_stream_wait(made.bench.machine, 0, made.one);
    CHECK_U64(made.pool->reserved_bytes, ==, MIB(96));
    made.pool->threshold_bytes = 0;
    sim_stream_wait(made.bench.machine, 0, made.one);
    CHECK_U64(made.pool->reserved_bytes, ==, MIB(32));
    CHECK_U64(bench_counters(&made.bench).held_bytes, ==, MIB(32));
    CHECK_U64(made.pool->reserved_peak_bytes, ==, MIB(96));
    CHECK_U64(made.pool->used_bytes, ==, 1024);
    CHECK_INT(take(&made, made.two, keep, 1000), ==, 0);
    sim_device_wait(made.bench.machine, 0);
    CHECK_U64(bench_counters(&made.bench).held_bytes, ==, 0);
    no_findings(&made);
    bench_close(&made.bench);
}

static void test_findings(void)
{
    pool_bench made = pool_open(MIB(64));
    sim *machine = made.bench.machine;
    void *ptr = NULL, *other = NULL;
    CHECK_INT(give(&made, made.one, &ptr, KIB(64)), ==, 0);
    sim_stream_follow(machine, 0, made.two, made.one);
    CHECK_INT(give(&made, made.one, &other, MIB(3)), ==, 0);
    sim_work(machine, 0, made.two, 1000);
    sim_access(machine, 0, made.two, ptr, KIB(64), 1, 1);
    CHECK_INT(take(&made, made.one, ptr, KIB(64)), ==, 0);
    CHECK_MSG(sim_finding_count(machine) == 1, "a free that does not come after a use on another stream");
    sim_access(machine, 0, made.one, ptr, KIB(64), 1, 2);
    CHECK_MSG(sim_finding_count(machine) == 2, "a use of what was freed");
    CHECK_INT(take(&made, made.one, ptr, KIB(64)), ==, SIM_INVALID_VALUE);
    CHECK_MSG(sim_finding_count(machine) == 3, "a second free");
    sim_access(machine, 0, made.two, other, MIB(3), 9, 3);
    CHECK_MSG(sim_finding_count(machine) == 4, "a use on another stream that does not come after the allocation");
    CHECK_INT(give(&made, made.one, &ptr, KIB(64)), ==, 0);
    CHECK_MSG(sim_finding_count(machine) == 5, "handed out again, and the use that came too late still there");
    CHECK_INT(take(&made, made.one, bench_at(ptr, 512), KIB(64)), ==, SIM_INVALID_VALUE);
    CHECK_INT(take(&made, made.one, ptr, KIB(63)), ==, SIM_INVALID_VALUE);
    CHECK_MSG(sim_holds(machine, 0, ptr, KIB(64)) && !sim_holds(machine, 0, ptr, KIB(64) + 1),
              "the block, and no more");
    CHECK_U64(sim_finding_count(machine), ==, 7);
    bench_close(&made.bench);
}

static void test_costs(void)
{
    pool_bench made = pool_open(MIB(64));
    void *ptr[3];
    CHECK_INT(give(&made, made.one, &ptr[0], MIB(4)), ==, 0);
    CHECK_U64(bench_counters(&made.bench).vns[SIM_CALL_MALLOC_ASYNC], ==, 150000 + 4 * 150);
    CHECK_INT(take(&made, made.one, ptr[0], MIB(4)), ==, 0);
    CHECK_U64(bench_counters(&made.bench).vns[SIM_CALL_FREE_ASYNC], ==, 1200);
    CHECK_INT(give(&made, made.one, &ptr[0], MIB(4)), ==, 0);
    CHECK_U64(bench_counters(&made.bench).vns[SIM_CALL_MALLOC_ASYNC], ==, 150000 + 4 * 150 + 1700);
    sim_fail_call(made.bench.machine, SIM_CALL_MALLOC_ASYNC, 1, 0, 2);
    CHECK_INT(give(&made, made.one, &ptr[1], MIB(4)), ==, 2);
    sim_fail_call(made.bench.machine, SIM_CALL_FREE_ASYNC, 1, 0, 999);
    CHECK_INT(take(&made, made.one, ptr[0], MIB(4)), ==, 999);
    CHECK_U64(made.pool->used_bytes, ==, MIB(4));
    CHECK_INT(give(&made, made.one, &ptr[2], 0), ==, 0);
    CHECK(ptr[2] == NULL);
    sim_capture_begin(made.bench.machine, 0, made.one, 2);
    CHECK_INT(give(&made, made.one, &ptr[1], MIB(4)), ==, SIM_NOT_SUPPORTED);
    CHECK_INT(take(&made, made.one, ptr[0], MIB(4)), ==, SIM_NOT_SUPPORTED);
    CHECK_INT(give(&made, made.two, &ptr[1], MIB(4)), ==, 0);
    bench_close(&made.bench);
}

/* Against a list of what is live: blocks never overlap, figures are sums, all goes back. */
static void test_random(void)
{
    pool_bench made = pool_open(MIB(256));
    struct { void *ptr; uint64_t bytes; int stream; } live[100];
    uint64_t random = 7, used = 0;
    unsigned wrong = 0, served = 0;
    memset(live, 0, sizeof live);
    for (int i = 0; i < 20000; i++) {
        size_t at = splitmix64_next(&random) % COUNT(live);
        gpuarena_stream stream = live[at].stream ? made.one : made.two;
        if (live[at].ptr) {
            sim_work(made.bench.machine, 0, stream, 30000);
            sim_access(made.bench.machine, 0, stream, live[at].ptr, live[at].bytes, (uint64_t)at + 1, (uint64_t)i);
            wrong += take(&made, stream, live[at].ptr, live[at].bytes) != 0;
            used -= (live[at].bytes + 511) / 512 * 512;
            live[at].ptr = NULL;
        } else {
            live[at].bytes = 1 + splitmix64_next(&random) % (i % 10 ? KIB(300) : MIB(6));
            live[at].stream = (int)(splitmix64_next(&random) % 2);
            if (give(&made, live[at].stream ? made.one : made.two, &live[at].ptr, live[at].bytes)) {
                live[at].ptr = NULL;
                continue;
            }
            served++;
            used += (live[at].bytes + 511) / 512 * 512;
            wrong += !sim_holds(made.bench.machine, 0, live[at].ptr, live[at].bytes);
        }
        wrong += made.pool->used_bytes != used || made.pool->reserved_bytes != bench_counters(&made.bench).held_bytes;
        for (size_t j = 0; j < COUNT(live) && i % 50 == 0 && live[at].ptr; j++) {
            uint64_t a = bench_number(live[at].ptr), b = bench_number(live[j].ptr);
            wrong += j != at && live[j].ptr && a < b + live[j].bytes && b < a + live[at].bytes;
        }
        if (i % 700 == 0) sim_device_wait(made.bench.machine, 0);
    }
    CHECK_MSG(wrong == 0 && served > 5000, "%u things wrong, %u blocks", wrong, served);
    for (size_t at = 0; at < COUNT(live); at++)
        if (live[at].ptr) (void)take(&made, live[at].stream ? made.one : made.two, live[at].ptr, live[at].bytes);
    sim_device_wait(made.bench.machine, 0);
    CHECK_U64(bench_counters(&made.bench).held_bytes, ==, 0);
    no_findings(&made);
    bench_close(&made.bench);
}

int main(void)
{
    test_same_stream();
    test_chunk();
    test_rules();
    test_join();
    test_threshold();
    test_findings();
    test_costs();
    test_random();
    return tap_done();
}
