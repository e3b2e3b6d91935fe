/* Pinned and managed memory on the simulated device: what it takes, from whom, contents, costs, faults, findings.
   It must not know of arenas. */
#include "sim_device.h"

static int give(const sim_bench *bench, gpuarena_memory kind, void **ptr, uint64_t bytes)
{
    return bench->driver.memory.obtain(&bench->driver, kind, ptr, bytes, NULL);
}

static int take(const sim_bench *bench, gpuarena_memory kind, void *ptr, uint64_t bytes)
{
    return bench->driver.memory.give_back(&bench->driver, kind, ptr, bytes, NULL);
}

static void test_accounts(void)
{
    sim_bench bench = bench_open_sized(MIB(64), NULL);
    uint64_t free_bytes, total_bytes;
    void *pinned, *managed, *unused;
    CHECK_INT(give(&bench, GPUARENA_MEMORY_PINNED, &pinned, MIB(100)), ==, 0);
    CHECK_INT(give(&bench, GPUARENA_MEMORY_MANAGED, &managed, GIB(1)), ==, 0);
    sim_counters counters = bench_counters(&bench);
    CHECK(counters.held_bytes == 0 && counters.host_bytes == MIB(100) && counters.managed_bytes == GIB(1));
    CHECK_INT(bench.driver.memory.info(&bench.driver, GPUARENA_MEMORY_PINNED, &free_bytes, &total_bytes), ==, 0);
    CHECK(total_bytes == SIM_HOST_BYTES && free_bytes == SIM_HOST_BYTES - MIB(100));
    CHECK_INT(bench.driver.memory.info(&bench.driver, GPUARENA_MEMORY_MANAGED, &free_bytes, &total_bytes), ==, 0);
    CHECK(total_bytes == MIB(64) && free_bytes == MIB(64));
    CHECK_INT(give(&bench, GPUARENA_MEMORY_PINNED, &unused, SIM_HOST_BYTES), ==, SIM_OUT_OF_MEMORY);
    CHECK_INT(give(&bench, GPUARENA_MEMORY_PINNED, &unused, 0), ==, SIM_INVALID_VALUE);
    CHECK_INT(take(&bench, GPUARENA_MEMORY_PINNED, pinned, MIB(100)), ==, 0);
    CHECK_INT(take(&bench, GPUARENA_MEMORY_MANAGED, managed, GIB(1)), ==, 0);
    counters = bench_counters(&bench);
    CHECK(counters.host_bytes == 0 && counters.managed_bytes == 0 && counters.findings == 0);
    CHECK(counters.host_peak_bytes == MIB(100) && counters.managed_peak_bytes == GIB(1));
    CHECK_U64(counters.vns[SIM_CALL_MALLOC_MANAGED], ==, 60000);
    CHECK_U64(counters.vns[SIM_CALL_FREE_HOST], ==, 50000 + 100 * 200000);
    bench_close(&bench);
}

/* Apart from the device's addresses, and each other's. */
static void test_contents(void)
{
    sim_bench bench = bench_open_sized(MIB(64), NULL);
    void *ptr[3];
    uint64_t bad;
    for (int kind = GPUARENA_MEMORY_DEVICE; kind <= GPUARENA_MEMORY_MANAGED; kind++) {
        CHECK_INT(give(&bench, (gpuarena_memory)kind, &ptr[kind], MIB(4)), ==, 0);
        CHECK(sim_holds(bench.machine, 0, ptr[kind], MIB(4)) && !sim_holds(bench.machine, 0, ptr[kind], MIB(5)));
        sim_fill(bench.machine, 0, ptr[kind], MIB(4), (uint64_t)kind + 7);
    }
    for (int kind = GPUARENA_MEMORY_DEVICE; kind <= GPUARENA_MEMORY_MANAGED; kind++)
        CHECK(sim_verify(bench.machine, 0, ptr[kind], MIB(4), (uint64_t)kind + 7, &bad));
    CHECK_U64(bench_counters(&bench).findings, ==, 0);
    bench_close(&bench);
}

/* Pinned memory does not wait, and managed memory does; both as calls of their own. */
static void test_judged(void)
{
    sim_bench bench = bench_open_sized(MIB(64), NULL);
    gpuarena_stream one, two;
    void *pinned, *managed;
    sim_stream_create(bench.machine, 0, 0, &one);
    sim_stream_create(bench.machine, 0, 0, &two);
    CHECK_INT(give(&bench, GPUARENA_MEMORY_PINNED, &pinned, MIB(2)), ==, 0);
    CHECK_INT(give(&bench, GPUARENA_MEMORY_MANAGED, &managed, MIB(2)), ==, 0);
    sim_work(bench.machine, 0, one, 1000000);
    sim_access(bench.machine, 0, one, managed, MIB(2), 1, 1);
    CHECK_INT(take(&bench, GPUARENA_MEMORY_MANAGED, managed, MIB(2)), ==, 0);
    CHECK_U64(sim_finding_count(bench.machine), ==, 0);
    sim_work(bench.machine, 0, one, 1000000);
    sim_access(bench.machine, 0, one, pinned, MIB(2), 2, 2);
    sim_work(bench.machine, 0, two, 1000000);
    sim_access(bench.machine, 0, two, pinned, MIB(2), 3, 3);
    CHECK_MSG(sim_finding_count(bench.machine) == 1 && strstr(sim_finding(bench.machine, 0), "host +0x"), "%s",
              sim_finding(bench.machine, 0));
    CHECK_INT(take(&bench, GPUARENA_MEMORY_PINNED, pinned, MIB(2)), ==, 0);
    CHECK_MSG(sim_finding_count(bench.machine) == 2, "given back while it is in use");
    CHECK_INT(take(&bench, GPUARENA_MEMORY_PINNED, pinned, MIB(2)), ==, SIM_INVALID_VALUE);
    CHECK_MSG(sim_finding_count(bench.machine) == 3, "given back twice");
    bench_close(&bench);
}

static void test_faults(void)
{
    sim_bench bench = bench_open_sized(MIB(64), "cudaHostAlloc:1=2,cudaMallocManaged:2=999,cudaFreeHost:1=999");
    void *ptr = NULL;
    CHECK_INT(give(&bench, GPUARENA_MEMORY_PINNED, &ptr, MIB(2)), ==, 2);
    CHECK_INT(give(&bench, GPUARENA_MEMORY_MANAGED, &ptr, MIB(2)), ==, 0);
    CHECK_INT(give(&bench, GPUARENA_MEMORY_MANAGED, &ptr, MIB(2)), ==, 999);
    CHECK_INT(give(&bench, GPUARENA_MEMORY_PINNED, &ptr, MIB(2)), ==, 0);
    CHECK_INT(take(&bench, GPUARENA_MEMORY_PINNED, ptr, MIB(2)), ==, 999);
    CHECK_U64(bench_counters(&bench).host_bytes, ==, MIB(2));
    CHECK_INT(take(&bench, GPUARENA_MEMORY_PINNED, ptr, MIB(2)), ==, 0);
    bench_close(&bench);
}

int main(void)
{
    test_accounts();
    test_contents();
    test_judged();
    test_faults();
    return tap_done();
}
