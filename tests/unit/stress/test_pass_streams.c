/* Passes over several streams: op streams made by hand, right and racy ones, judged on a simulated device.
   It must not know of files or the command line. */
#include <stdlib.h>

#include "stress/run/pass.h"
#include "pass_bench.h"

/* Work on stream 1, a free on stream 2, which then wants as much: it has the memory if the op stream orders that work
   before the free; else the policy is told of it, or waits itself. */
static void test_freed_elsewhere(void)
{
    for (uint64_t is_ordered = 0; is_ordered < 2; is_ordered++) {
        bench bed;
        bench_open(&bed);
        add_alloc(&bed, 3 * MIB, 1);
        add_kernel(&bed, LONG_NS, 1, 0);
        if (is_ordered) add_wait(&bed, 2, 1);
        add_free(&bed, 0, 2);
        add_alloc(&bed, 3 * MIB, 2);
        add_kernel(&bed, 1000, 2, 1);
        expect_ok(&bed, is_ordered ? "work, wait, free" : "work, free");
        CHECK_U64(run(&bed, "segments:growth=exact", NULL)->memory.reserved_peak_bytes, ==,
                  (is_ordered ? 4 : 8) * MIB);
        CHECK_MSG(run(&bed, "raw", NULL)->driver_vns > LONG_NS - 100000,
                  "cudaFree waits for the device, and that counts");
    }
}

/* Freed and allocated on stream 1, used on stream 2, which waits for nothing: no policy can make that right. */
static void test_not_ordered(void)
{
    bench bed;
    bench_open(&bed);
    add_alloc(&bed, 3 * MIB, 1);
    add_kernel(&bed, LONG_NS, 1, 0);
    add_free(&bed, 0, 1);
    add_alloc(&bed, 3 * MIB, 1);
    add_kernel(&bed, 1000, 2, 1);
    const pass_result *result = run(&bed, "segments", NULL);
    CHECK_INT(result->status, ==, PASS_VERIFY_FAILED);
    CHECK_STR(result->message, "op 3: device: stream 2 uses 3145728 bytes at +0x200000: not ordered after op 1 on "
              "stream 1; the policy's mistake, or the workload's if no `w` line orders its own kernels");
    CHECK_U64(result->needed_ops, ==, 4);
    CHECK_MSG(run(&bed, "raw", NULL)->status == PASS_OK, "cudaFree has waited");
    bed.settings.verify = VERIFY_OFF;
    CHECK_INT(run(&bed, "segments", NULL)->status, ==, PASS_OK);
}

/* A block used on a further stream and freed on its own: policies that want to know are told. */
static void test_used_elsewhere(void)
{
    for (uint64_t other = 2; other < 80; other += 75) {
        bench bed;
        bench_open(&bed);
        add_alloc(&bed, 2 * MIB, 1);
        add_kernel(&bed, 1000, 1, 0);
        add_wait(&bed, other, 1);
        add_kernel(&bed, LONG_NS, other, 0);
        add_kernel(&bed, 1000, other, 0);
        add_free(&bed, 0, 1);
        add_alloc(&bed, 2 * MIB, 1);
        add_kernel(&bed, 1000, 1, 1);
        expect_ok(&bed, "used on another stream");
    }
}

/* Of many streams none hides another. */
static void test_many_streams(void)
{
    bench bed;
    bench_open(&bed);
    add_alloc(&bed, 2 * MIB, 0);
    for (uint64_t other = 1; other < 63; other++) add_wait(&bed, other, 0);
    for (uint64_t other = 63; other < 66; other++) {
        add_wait(&bed, other, 0);
        add_kernel(&bed, other == 65 ? LONG_NS : 1, other, 0);
    }
    add_free(&bed, 0, 0);
    add_alloc(&bed, 2 * MIB, 0);
    add_kernel(&bed, 1000, 0, 1);
    expect_ok(&bed, "used on the last of many streams");
}

/* Ops without work: every allocation gives its stream some, and streams are not ordered by themselves. */
static void test_no_kernels(void)
{
    bench bed;
    bench_open(&bed);
    bed.settings.device.op_ns = LONG_NS;
    add_alloc(&bed, 2 * MIB, 0);
    add_alloc(&bed, 2 * MIB, 1);
    add_alloc(&bed, 2 * MIB, 77);
    add_free(&bed, 0, 0);
    add_alloc(&bed, 2 * MIB, 1);
    add_free(&bed, 1, 77);
    add_alloc(&bed, 2 * MIB, 77);
    add_free(&bed, 2, 1);
    add_alloc(&bed, 2 * MIB, 0);
    bed.stream.alloc_count = 6;
    expect_ok(&bed, "no work of its own");
    const pass_result *result = run(&bed, "segments", NULL);
    CHECK_MSG(result->memory.pending_peak_bytes >= 2 * MIB, "freed and not quiet: %" PRIu64,
              result->memory.pending_peak_bytes);
    CHECK_U64(run(&bed, "raw", NULL)->memory.pending_peak_bytes, ==, 0);
}

/* The same operations, whether or not somebody judges. */
static void test_timing(void)
{
    bench bed;
    bench_open(&bed);
    pass_timing timing = { calloc(1, sizeof(histogram)), calloc(1, sizeof(histogram)), NULL, NULL };
    add_alloc(&bed, 3 * MIB, 1);
    add_kernel(&bed, LONG_NS, 1, 0);
    add_free(&bed, 0, 1);
    add_alloc(&bed, 3 * MIB, 2);
    add_wait(&bed, 1, 2);
    const pass_result verified = *run(&bed, "segments", NULL), timed = *run(&bed, "segments", &timing);
    CHECK_INT(verified.status, ==, PASS_OK);
    CHECK_INT(timed.status, ==, PASS_OK);
    CHECK(timed.digest == verified.digest && timed.driver_calls == verified.driver_calls);
    CHECK(timed.driver_vns == verified.driver_vns && timed.ops == verified.ops);
    CHECK_U64(timing.allocs->count, ==, 2);
    free(timing.allocs);
    free(timing.frees);
}

static void test_pending_column(void)
{
    bench bed;
    row made;
    policy chosen;
    runner_outcome outcome;
    bench_open(&bed);
    add_alloc(&bed, 3 * MIB, 1);
    add_alloc(&bed, 1 * MIB, 2);
    add_kernel(&bed, LONG_NS, 1, 0);
    add_free(&bed, 0, 1);
    CHECK_INT(policy_parse("segments:growth=exact", 0, &chosen, &why), ==, 0);
    const runner_job job = { "by hand", "sim:80G", &chosen, &bed.stream, 1, 0, 0, 0 };
    runner_row(&job, &bed.settings, &made, &outcome);
    CHECK_STR(made.cells[COLUMN_STATUS].text, "ok");
    CHECK_U64(made.cells[COLUMN_PENDING_PEAK].count, ==, 3 * MIB);
    CHECK_U64(made.cells[COLUMN_GPU_WAITS].count, ==, 0);
    row_free(&made);
    add_alloc(&bed, 3 * MIB, 2);
    CHECK_INT(policy_parse("segments:growth=fixed,limit=4M", 0, &chosen, &why), ==, 0);
    runner_row(&job, &bed.settings, &made, &outcome);
    CHECK_STR(made.cells[COLUMN_STATUS].text, "ok");
    CHECK_U64(made.cells[COLUMN_GPU_WAITS].count, ==, 1);
    row_free(&made);
    CHECK_INT(policy_parse("raw", 0, &chosen, &why), ==, 0);
    runner_row(&job, &bed.settings, &made, &outcome);
    CHECK_MSG(made.cells[COLUMN_PENDING_PEAK].kind == CELL_NONE, "nobody can see it in cudaMalloc");
    row_free(&made);
}

/* Numbers are 64-bit, and found whatever their order; too many streams are refused. */
static void test_numbers(void)
{
    static op ops[PASS_MAX_STREAMS + 1];
    device_config config;
    op_stream stream;
    pass_streams found;
    memset(&config, 0, sizeof config);
    memset(&stream, 0, sizeof stream);
    stream.ops = ops;
    stream.op_count = PASS_MAX_STREAMS - 1;
    for (uint64_t index = 0; index <= PASS_MAX_STREAMS; index++) ops[index].stream = UINT64_MAX - index;
    device *on = device_open(&config, &why);
    CHECK_INT(pass_streams_open(&found, &stream, on, 2000, &why), ==, 0);
    CHECK_U64(found.count, ==, PASS_MAX_STREAMS);
    CHECK(pass_streams_index(&found, 0) == 0 && found.list[0].handle == NULL && !found.has_kernels);
    CHECK_U64(pass_streams_index(&found, UINT64_MAX), ==, PASS_MAX_STREAMS - 1);
    CHECK_U64(found.list[pass_streams_index(&found, UINT64_MAX - 5)].number, ==, UINT64_MAX - 5);
    CHECK(found.list[1].handle && found.list[1].handle != found.list[2].handle);
    CHECK_INT(pass_streams_close(&found, &why), ==, 0);
    CHECK_INT(pass_streams_fit(&stream, &why), ==, 0);
    stream.op_count++;
    CHECK_INT(pass_streams_fit(&stream, &why), ==, -1);
    CHECK_INT(pass_streams_open(&found, &stream, on, 2000, &why), ==, -1);
    CHECK_INT(why.exit_code, ==, EXIT_USAGE);
    CHECK_STR(why.text, "more than 1024 streams");
    why.exit_code = 0;
    CHECK_INT(pass_streams_close(&found, &why), ==, 0);
    device_close(on, NULL);
}

int main(void)
{
    test_freed_elsewhere();
    test_not_ordered();
    test_used_elsewhere();
    test_many_streams();
    test_no_kernels();
    test_timing();
    test_pending_column();
    test_numbers();
    CHECK_MSG(why.exit_code == 0, "no problem is left: %s", why.text);
    return tap_done();
}
