/* Passes over several streams: op streams made by hand, right and racy ones, judged on a simulated device.
   It must not know of files or the command line.
   Run: build/tests/test_pass_streams */
#include <stdlib.h>

#include "../stress/pass_streams.h"
#include "../stress/runner.h"
#include "../stress/workload/splitmix64.h"
#include "tap.h"

#define MIB ((uint64_t)1 << 20)
#define LONG_NS ((uint64_t)1000000000)           /* work that outlasts everything else here */

enum { OPS = 4000, RANDOM_BLOCKS = 24, RANDOM_STREAMS = 6 };

typedef struct bench {
    pass_settings settings;
    progress      quiet;
    op            ops[OPS];
    uint32_t      touches[OPS];                  /* kernel n touches block touches[n] */
    op_stream     stream;
    pass_result   result;
} bench;

static problem why;

static void bench_open(bench *bed)
{
    memset(bed, 0, sizeof *bed);
    bed->stream.ops = bed->ops;
    bed->stream.touches = bed->touches;
    bed->quiet = progress_start("never", 1, 1);
    bed->settings.device.op_ns = 2000;
    bed->settings.verify = VERIFY_FULL;
    bed->settings.progress = &bed->quiet;
}

static void add(bench *bed, op_kind kind, uint64_t value, uint64_t stream, uint32_t first, uint32_t count)
{
    const op next = { value, stream, first, count, kind };
    bed->ops[bed->stream.op_count++] = next;
}

static void add_alloc(bench *bed, uint64_t bytes, uint64_t stream)
{
    add(bed, OP_ALLOC, bytes, stream, (uint32_t)bed->stream.block_count++, 0);
}

static void add_free(bench *bed, uint32_t block, uint64_t stream)
{
    add(bed, OP_FREE, 0, stream, block, 1);
}

static void add_kernel(bench *bed, uint64_t work_ns, uint64_t stream, uint32_t block)
{
    bed->touches[bed->stream.touch_count] = block;
    add(bed, OP_KERNEL, work_ns, stream, (uint32_t)bed->stream.touch_count++, 1);
}

static void add_wait(bench *bed, uint64_t stream, uint64_t other)
{
    add(bed, OP_WAIT, other, stream, 0, 0);
}

static pass_result *run(bench *bed, const char *text, pass_timing *timing)
{
    policy chosen;
    CHECK_INT(policy_parse(text, 0, &chosen, &why), ==, 0);
    pass_run(&bed->settings, &bed->stream, &chosen, timing, &bed->result);
    return &bed->result;
}

/* Every policy of this build, one after the other. */
static void expect_ok(bench *bed, const char *name)
{
    static const char *const policies[] = { "raw", "segments", "segments:growth=exact", "cub-library" };
    uint64_t digest = 0;
    for (size_t index = 0; index < sizeof policies / sizeof policies[0]; index++) {
        if (!strcmp(policies[index], "cub-library") && !rival_present()) continue;
        const pass_result *result = run(bed, policies[index], NULL);
        CHECK_MSG(result->status == PASS_OK, "%s on %s: %s", name, policies[index], result->message);
        CHECK_MSG(!index || result->digest == digest, "the digest does not depend on the policy");
        digest = result->digest;
    }
}

/* Work on stream 1, a free on stream 2, which then has the memory: only what the op stream orders is in order. */
static void test_freed_elsewhere(void)
{
    for (int is_ordered = 0; is_ordered < 2; is_ordered++) {
        bench bed;
        bench_open(&bed);
        add_alloc(&bed, 3 * MIB, 1);
        add_kernel(&bed, LONG_NS, 1, 0);
        if (is_ordered) add_wait(&bed, 2, 1);
        add_free(&bed, 0, 2);
        add_alloc(&bed, 3 * MIB, 2);
        add_kernel(&bed, 1000, 2, 1);
        if (is_ordered) {
            expect_ok(&bed, "work, wait, free");
            continue;
        }
        const pass_result *result = run(&bed, "segments", NULL);
        CHECK_INT(result->status, ==, PASS_VERIFY_FAILED);
        CHECK_STR(result->message, "op 3: device: op 3: device 0: op 3 on stream 2 uses 3145728 bytes at +0x200000: "
                  "not ordered after op 1 on stream 1");
        CHECK_U64(result->needed_ops, ==, 4);
        CHECK_MSG(run(&bed, "raw", NULL)->status == PASS_OK && bed.result.driver_vns > LONG_NS - 100000,
                  "cudaFree waits for the device, and that counts");
        bed.settings.verify = VERIFY_OFF;
        CHECK_INT(run(&bed, "segments", NULL)->status, ==, PASS_OK);
    }
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

/* A block used on further streams and freed on its own, which then asks for as much. waits: the op stream's, in pairs
   of the waiting stream and the other; `before` of them come before the uses on streams 2 and 3. */
typedef struct naming {
    const char *name;
    uint64_t    waits[3][2];
    size_t      wait_count, before;
    int         third_uses;
    int         is_named;                        /* a use is not ordered before the free: what it left is pending */
} naming;

static void expect_naming(const naming *known)
{
    bench bed;
    bench_open(&bed);
    add_alloc(&bed, 2 * MIB, 1);
    add_wait(&bed, 2, 1);
    add_wait(&bed, 3, 1);
    for (size_t index = 0; index <= known->wait_count; index++) {
        if (index == known->before) add_kernel(&bed, LONG_NS, 2, 0);
        if (index == known->before && known->third_uses) add_kernel(&bed, 1000, 3, 0);
        if (index < known->wait_count) add_wait(&bed, known->waits[index][0], known->waits[index][1]);
    }
    add_free(&bed, 0, 1);
    add_alloc(&bed, 2 * MIB, 1);
    add_kernel(&bed, 1000, 1, 1);
    expect_ok(&bed, known->name);
    const pass_result *result = run(&bed, "segments:growth=exact", NULL);
    CHECK_MSG(result->memory.reserved_peak_bytes == (known->is_named ? 4 : 2) * MIB, "%s: %" PRIu64 " bytes held",
              known->name, result->memory.reserved_peak_bytes);
}

/* A program names what no wait orders before the free, and no more: memory would lie idle for nothing. */
static void test_naming(void)
{
    static const naming cases[] = {
        { "not ordered", { { 0, 0 } }, 0, 0, 0, 1 },
        { "ordered", { { 1, 2 } }, 1, 0, 0, 0 },
        { "ordered before the use alone", { { 1, 2 } }, 1, 1, 0, 1 },
        { "ordered before the use, and after it", { { 1, 2 }, { 1, 2 } }, 2, 1, 0, 0 },
        { "ordered over a third stream", { { 4, 2 }, { 1, 4 } }, 2, 0, 0, 0 },
        { "the third stream waits too late", { { 1, 4 }, { 4, 2 } }, 2, 0, 0, 1 },
        { "the third stream waited too early", { { 4, 2 }, { 1, 4 } }, 2, 1, 0, 1 },
        { "the other way round", { { 2, 1 } }, 1, 0, 0, 1 },
        { "two uses, both ordered", { { 1, 2 }, { 1, 3 } }, 2, 0, 1, 0 },
        { "two uses, one through the other", { { 3, 2 }, { 1, 3 } }, 2, 0, 1, 0 },
        { "two uses, the longer one not ordered", { { 1, 3 } }, 1, 0, 1, 1 },
    };
    for (size_t index = 0; index < sizeof cases / sizeof cases[0]; index++) expect_naming(&cases[index]);
}

/* The latest use of a stream counts, and every block has its own. */
static void test_latest_use(void)
{
    bench bed;
    bench_open(&bed);
    add_alloc(&bed, 2 * MIB, 1);
    add_alloc(&bed, 2 * MIB, 1);
    add_wait(&bed, 2, 1);
    add_kernel(&bed, LONG_NS, 2, 0);
    add_kernel(&bed, 1000, 2, 1);
    add_wait(&bed, 1, 2);
    add_kernel(&bed, LONG_NS, 2, 0);
    add_free(&bed, 0, 1);
    add_free(&bed, 1, 1);
    add_alloc(&bed, 2 * MIB, 1);
    add_kernel(&bed, 1000, 1, 2);
    expect_ok(&bed, "one of two used again");
    CHECK_U64(run(&bed, "segments:growth=exact", NULL)->memory.reserved_peak_bytes, ==, 4 * MIB);
    add_alloc(&bed, 2 * MIB, 1);
    add_kernel(&bed, 1000, 1, 3);
    expect_ok(&bed, "one of two used again, and both wanted");
    CHECK_U64(run(&bed, "segments:growth=exact", NULL)->memory.reserved_peak_bytes, ==, 6 * MIB);
}

/* Freed on the stream that used it last: that one may have it at once, and needs no name. */
static void test_freed_by_user(void)
{
    bench bed;
    bench_open(&bed);
    add_alloc(&bed, 2 * MIB, 1);
    add_wait(&bed, 2, 1);
    add_kernel(&bed, LONG_NS, 2, 0);
    add_free(&bed, 0, 2);
    add_alloc(&bed, 2 * MIB, 2);
    add_kernel(&bed, 1000, 2, 1);
    const pass_result *result = run(&bed, "segments:growth=exact", NULL);
    CHECK_INT(result->status, ==, PASS_OK);
    CHECK_U64(result->memory.reserved_peak_bytes, ==, 2 * MIB);
}

/* A correct program by chance: a stream that uses or frees a block waits for its home before, and for others at
   times. Uses that nothing orders are many; a name left out, or a stream too few that waits, is a finding. */
static void add_random(bench *bed, uint64_t seed)
{
    uint64_t draw = seed;
    uint32_t live[RANDOM_BLOCKS];
    uint64_t homes[RANDOM_BLOCKS], count = 0;
    while (bed->stream.op_count < OPS - 4) {
        uint64_t pick = count ? splitmix64_below(&draw, count) : 0;
        uint64_t stream = splitmix64_below(&draw, RANDOM_STREAMS), choice = splitmix64_below(&draw, 8);
        if (choice == 0) add_wait(bed, stream, splitmix64_below(&draw, RANDOM_STREAMS));
        if (choice > 0 && choice < 3 && count < RANDOM_BLOCKS) {
            live[count] = (uint32_t)bed->stream.block_count;
            homes[count++] = stream;
            add_alloc(bed, (1 + splitmix64_below(&draw, 8)) * MIB, stream);
            add_kernel(bed, 1000 + splitmix64_below(&draw, 100000), stream, live[count - 1]);
        }
        if (choice < 3 || !count) continue;
        if (stream != homes[pick]) add_wait(bed, stream, homes[pick]);
        if (choice > 4) add_kernel(bed, splitmix64_below(&draw, 100000), stream, live[pick]);
        if (choice > 4) continue;
        add_free(bed, live[pick], stream);
        live[pick] = live[--count];
        homes[pick] = homes[count];
    }
}

static void test_random(void)
{
    static const char *const policies[] = { "raw", "segments", "segments:growth=exact,limit=160M",
                                            "segments:growth=fixed,limit=112M", "segments:streams=same" };
    static bench bed;
    for (uint64_t seed = 1; seed < 9; seed++) {
        bench_open(&bed);
        bed.settings.skip_oom = 1;
        add_random(&bed, seed);
        for (size_t index = 0; index < sizeof policies / sizeof policies[0]; index++) {
            const pass_result *result = run(&bed, policies[index], NULL);
            CHECK_MSG(result->status <= PASS_OOM, "seed %" PRIu64 " on %s: %s", seed, policies[index],
                      result->message);
        }
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
    pass_timing timing = { calloc(1, sizeof(histogram)), calloc(1, sizeof(histogram)) };
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
    const runner_job job = { "by hand", "sim:80G", &chosen, &bed.stream, 1, 0, 0 };
    runner_row(&job, &bed.settings, &made, &outcome);
    CHECK_STR(made.cells[COLUMN_STATUS].text, "ok");
    CHECK_U64(made.cells[COLUMN_PENDING_PEAK].count, ==, 3 * MIB);
    CHECK_U64(made.cells[COLUMN_GPU_WAITS].count, ==, 0);
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
    stream.op_count++;
    CHECK_INT(pass_streams_open(&found, &stream, on, 2000, &why), ==, -1);
    CHECK_STR(why.text, "the workload has more than 1024 streams");
    why.exit_code = 0;
    CHECK_INT(pass_streams_close(&found, &why), ==, 0);
    device_close(on, NULL);
}

int main(void)
{
    test_freed_elsewhere();
    test_used_elsewhere();
    test_naming();
    test_latest_use();
    test_freed_by_user();
    test_random();
    test_many_streams();
    test_no_kernels();
    test_timing();
    test_pending_column();
    test_numbers();
    CHECK_MSG(why.exit_code == 0, "no problem is left: %s", why.text);
    return tap_done();
}
