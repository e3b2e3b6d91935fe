/* The driver table's clear: contents, order for the judge, captures, faults, ranges that are not held.
   It must not know of arenas. */
#include "sim_device.h"

static int has(const sim_bench *bench, const void *ptr, uint64_t bytes, uint64_t pattern)
{
    uint64_t bad_offset;
    return sim_verify(bench->machine, 0, ptr, bytes, pattern, &bad_offset);
}

static void test_contents_and_order(void)
{
    sim_bench bench = bench_open_sized(MIB(64), NULL);
    gpuarena_stream first, second;
    void *block;
    CHECK_INT(bench_obtain(&bench.driver, MIB(4), &block), ==, 0);
    CHECK_INT(sim_stream_create(bench.machine, 0, 0, &first), ==, 0);
    CHECK_INT(sim_stream_create(bench.machine, 0, 0, &second), ==, 0);
    sim_fill(bench.machine, 0, block, MIB(4), 7);
    CHECK_INT(bench.driver.clear(&bench.driver, bench_at(block, MIB(1)), MIB(2), first), ==, 0);
    CHECK_MSG(has(&bench, block, MIB(1), 7) && has(&bench, bench_at(block, MIB(1)), MIB(2), 0)
              && has(&bench, bench_at(block, MIB(3)), MIB(1), 7), "just the range is cleared");
    CHECK_INT(bench.driver.clear(&bench.driver, bench_at(block, MIB(1)), MIB(2), first), ==, 0);
    CHECK_INT(bench.driver.clear(&bench.driver, block, 0, first), ==, 0);
    CHECK_U64(sim_finding_count(bench.machine), ==, 0);
    CHECK_INT(sim_access(bench.machine, 0, second, block, MIB(1), 1, 0), ==, 0);
    CHECK_U64(sim_finding_count(bench.machine), ==, 0);
    CHECK_INT(sim_access(bench.machine, 0, second, bench_at(block, MIB(1)), MIB(1), 2, 0), ==, 0);
    CHECK_MSG(sim_finding_count(bench.machine) == 1, "a use that does not come after the clear is a finding");
    CHECK_INT(bench.driver.clear(&bench.driver, bench_at(block, MIB(3)), MIB(2), first), !=, 0);
    CHECK_MSG(sim_finding_count(bench.machine) == 2, "so is a clear of what is not held");
    CHECK_U64(bench_counters(&bench).calls[SIM_CALL_MEMSET_ASYNC], ==, 4);
    bench_close(&bench);
}

static void test_capture_and_fault(void)
{
    sim_bench bench = bench_open_sized(MIB(64), NULL);
    gpuarena_stream stream;
    void *block, *graph;
    CHECK_INT(bench_obtain(&bench.driver, MIB(2), &block), ==, 0);
    CHECK_INT(sim_stream_create(bench.machine, 0, 0, &stream), ==, 0);
    sim_fill(bench.machine, 0, block, MIB(2), 7);
    CHECK_INT(sim_capture_begin(bench.machine, 0, stream, 2), ==, 0);
    CHECK_INT(bench.driver.clear(&bench.driver, block, MIB(2), stream), ==, 0);
    CHECK_INT(sim_capture_end(bench.machine, 0, stream, &graph), ==, 0);
    CHECK_MSG(has(&bench, block, MIB(2), 7), "a captured clear clears nothing yet");
    CHECK_INT(sim_graph_launch(bench.machine, 0, graph, stream, 1), ==, 0);
    CHECK_MSG(has(&bench, block, MIB(2), 0), "but with the launch");
    CHECK_INT(sim_graph_destroy(bench.machine, graph), ==, 0);
    sim_fill(bench.machine, 0, block, MIB(2), 7);
    sim_fail_call(bench.machine, SIM_CALL_MEMSET_ASYNC, 1, 0, 999);
    CHECK_INT(bench.driver.clear(&bench.driver, block, MIB(2), stream), ==, 999);
    CHECK_MSG(has(&bench, block, MIB(2), 7), "one that fails clears nothing");
    bench_close(&bench);
}

int main(void)
{
    test_contents_and_order();
    test_capture_and_fault();
    return tap_done();
}
