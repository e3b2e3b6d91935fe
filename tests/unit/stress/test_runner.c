/* Passes and rows: op streams made by hand, whose every number is known.
   It must not know of files or the command line. */
#include "stress/run/runner.h"
#include "tap.h"

#define MIB ((uint64_t)1 << 20)

enum { OPS = 8 };

typedef struct bench {
    pass_settings settings;
    progress      quiet;
    policy        raw, segments;
    op            ops[OPS];
    op_stream     stream;
} bench;

static problem why;

/* 3 MiB, 5 MiB, 100 bytes; the second freed; a kernel touches the first; a refused giant, freed; the first freed. */
static void bench_open(bench *bed)
{
    static uint32_t touches[] = { 0 };
    static const op ops[OPS] = {
        { 3 * MIB, 0, 0, 0, OP_ALLOC }, { 5 * MIB, 0, 1, 0, OP_ALLOC }, { 100, 7, 2, 0, OP_ALLOC },
        { 0, 0, 1, 0, OP_FREE }, { 1000, 0, 0, 1, OP_KERNEL }, { 64 * MIB, 0, 3, 0, OP_ALLOC },
        { 0, 0, 3, 0, OP_FREE }, { 0, 0, 0, 0, OP_FREE },
    };
    memset(bed, 0, sizeof *bed);
    memcpy(bed->ops, ops, sizeof ops);
    bed->stream.ops = bed->ops;
    bed->stream.op_count = OPS;
    bed->stream.block_count = 4;
    bed->stream.touches = touches;
    bed->stream.touch_count = 1;
    bed->stream.alloc_count = 4;
    bed->stream.free_count = 3;
    bed->quiet = progress_start("never", 1, 1);
    bed->settings.device.sim.capacity_bytes = 32 * MIB;
    bed->settings.device.op_ns = 2000;
    bed->settings.verify = VERIFY_FULL;
    bed->settings.progress = &bed->quiet;
    policy_parse("raw", 0, &bed->raw, &why);
    policy_parse("segments:growth=exact", 0, &bed->segments, &why);
}

static void test_stop(void)
{
    bench bed;
    pass_result raw, segments;
    bench_open(&bed);
    pass_run(&bed.settings, &bed.stream, &bed.raw, NULL, &raw);
    CHECK_INT(raw.status, ==, PASS_OOM);
    CHECK_U64(raw.ops, ==, 5);
    CHECK_U64(raw.oom.op, ==, 4);
    CHECK_U64(raw.driver_calls, ==, 5);
    CHECK_U64(raw.memory.requested_peak_bytes, ==, 8 * MIB + 100);
    CHECK_U64(raw.memory.live_peak_bytes, ==, 8 * MIB + 256);
    pass_run(&bed.settings, &bed.stream, &bed.segments, NULL, &segments);
    CHECK_INT(segments.status, ==, PASS_OOM);
    CHECK_U64(segments.oom.refusal.requested_bytes, ==, 64 * MIB);
    CHECK_STR(segments.oom.refusal.reason, "driver_refused");
    CHECK_MSG(segments.digest == raw.digest, "the digest is of ops and results, not of the policy");
    CHECK_STR(segments.message, "");
}

static void test_skip(void)
{
    bench bed;
    pass_result stopped, skipped;
    bench_open(&bed);
    pass_run(&bed.settings, &bed.stream, &bed.segments, NULL, &stopped);
    bed.settings.skip_oom = 1;
    pass_run(&bed.settings, &bed.stream, &bed.segments, NULL, &skipped);
    CHECK_INT(skipped.status, ==, PASS_OOM);
    CHECK_MSG(skipped.ops == 6, "the refused block's free is left out, the next op made: %d ops", (int)skipped.ops);
    CHECK_U64(skipped.oom.op, ==, 4);
    CHECK(skipped.digest != stopped.digest);
}

static void test_violations(void)
{
    bench bed;
    pass_result result;
    bench_open(&bed);
    bed.settings.device.sim.faults = "overlap:2";
    pass_run(&bed.settings, &bed.stream, &bed.raw, NULL, &result);
    CHECK_INT(result.status, ==, PASS_VERIFY_FAILED);
    CHECK_U64(result.needed_ops, ==, 2);
    CHECK(strncmp(result.message, "op 1: ", 6) == 0);
    bed.settings.device.sim.faults = "give_back:1";
    pass_run(&bed.settings, &bed.stream, &bed.raw, NULL, &result);
    CHECK_INT(result.status, ==, PASS_ERROR);
    CHECK_U64(result.needed_ops, ==, 4);
    bed.stream.op_count = 4;
    pass_run(&bed.settings, &bed.stream, &bed.segments, NULL, &result);
    CHECK_MSG(result.status == PASS_ERROR && strstr(result.message, "trim"), "a give_back that fails at the end: %s",
              result.message);
    bed.settings.device.sim.faults = NULL;
    bed.stream.op_count = OPS;
    bed.ops[3].first = 0;
    pass_run(&bed.settings, &bed.stream, &bed.segments, NULL, &result);
    CHECK_MSG(result.status == PASS_OOM, "a kernel that touches a freed block is left to the workload's own checks");
}

static void test_row(void)
{
    bench bed;
    row made;
    runner_outcome outcome;
    char text[64];
    bench_open(&bed);
    bed.stream.op_count = 5;
    const runner_job job = { "by hand", "sim:32M", &bed.segments, &bed.stream, 9, 1, 0, 0 };
    runner_row(&job, &bed.settings, &made, &outcome);
    CHECK_INT(outcome.status, ==, PASS_OK);
    CHECK_STR(made.cells[COLUMN_STATUS].text, "ok");
    CHECK_U64(made.cells[COLUMN_SEED].count, ==, 9);
    CHECK_U64(made.cells[COLUMN_OPS].count, ==, 4);
    CHECK_U64(made.cells[COLUMN_DRIVER_CALLS].count, ==, 2);     /* 4 MiB, where the 100 bytes fit too, and 6 MiB */
    CHECK_U64(made.cells[COLUMN_RESERVED_PEAK].count, ==, 10 * MIB);
    CHECK_STR(cell_print(&made.cells[COLUMN_FOOTPRINT], text, sizeof text), "1.2500");
    CHECK_INT(made.cells[COLUMN_ALLOC_P99].kind, ==, CELL_NONE);
    CHECK_INT(made.cells[COLUMN_ALLOC_MAX].kind, ==, CELL_COUNT);
    CHECK_INT(made.cells[COLUMN_OOM_OP].kind, ==, CELL_NONE);
    CHECK(made.allocs && made.allocs->count == 3 && made.frees && made.frees->count == 1);
    row_free(&made);
    const runner_job untimed = { "by hand", "sim:32M", &bed.segments, &bed.stream, 9, 0, 0, 0 };
    runner_row(&untimed, &bed.settings, &made, &outcome);
    CHECK(!made.allocs && !made.frees && made.cells[COLUMN_HOST_NS].kind == CELL_NONE);
    row_free(&made);
}

/* Someone who lets the verifying pass be, and changes an op of the timing pass while that is under way. */
typedef struct meddler { op *changed; uint64_t value; int allocs, after; } meddler;

static void meddle(gpuarena *arena, const gpuarena_action *action, void *user)
{
    meddler *self = user;
    (void)arena;
    if (action->kind == GPUARENA_ACTION_ALLOC && ++self->allocs == self->after) self->changed->value = self->value;
}

/* The third block has 300 bytes in the timing pass; or it is a kernel that lasts longer. */
static void test_void(size_t changed, uint64_t value, int after, int is_void)
{
    bench bed;
    row made;
    runner_outcome outcome;
    bench_open(&bed);
    meddler user = { &bed.ops[changed], value, 0, after };
    bed.stream.op_count = 5;
    bed.segments.config.observe = meddle;
    bed.segments.config.observe_user = &user;
    const runner_job job = { "by hand", "sim:32M", &bed.segments, &bed.stream, 9, 1, 0, 0 };
    runner_row(&job, &bed.settings, &made, &outcome);
    CHECK_INT(outcome.status, ==, is_void ? PASS_ERROR : PASS_OK);
    CHECK_INT(!strncmp(made.note, "the timing pass differs: digest ", 32), ==, is_void);
    CHECK_STR(made.cells[COLUMN_STATUS].text, is_void ? "error" : "ok");
    CHECK_INT(made.allocs == NULL && made.cells[COLUMN_HOST_NS].kind == CELL_NONE, ==, is_void);
    CHECK_INT(user.allocs, ==, 6);
    row_free(&made);
}

/* Asked only whether it completes: who lies is not found out, and a refusal ends it with its reason. */
static void test_probe(void)
{
    bench bed;
    pass_result probed, verified;
    bench_open(&bed);
    bed.settings.device.sim.capacity_bytes = 256 * MIB;
    bed.settings.device.sim.faults = "overlap:2";
    pass_run(&bed.settings, &bed.stream, &bed.raw, NULL, &verified);
    bed.settings.is_probe = 1;
    pass_run(&bed.settings, &bed.stream, &bed.raw, NULL, &probed);
    CHECK_INT(verified.status, ==, PASS_VERIFY_FAILED);
    CHECK_INT(probed.status, ==, PASS_OK);
    CHECK_U64(probed.ops, ==, 7);
    CHECK_U64(probed.memory.reserved_peak_bytes, ==, 0);
    bench_open(&bed);
    pass_run(&bed.settings, &bed.stream, &bed.segments, NULL, &verified);
    bed.settings.is_probe = 1;
    pass_run(&bed.settings, &bed.stream, &bed.segments, NULL, &probed);
    CHECK_MSG(probed.status == PASS_OOM && probed.oom.happened && probed.oom.op == verified.oom.op,
              "it ends where the verified one does");
    CHECK_STR(probed.oom.refusal.reason, verified.oom.refusal.reason);
    CHECK_STR(probed.oom.refusal.text, verified.oom.refusal.text);
    policy never;
    policy_parse("segments:initial=1G,limit=2M", 0, &never, &why);
    pass_run(&bed.settings, &bed.stream, &never, NULL, &probed);
    CHECK(probed.status == PASS_ERROR && probed.is_unopened && !verified.is_unopened);
}

int main(void)
{
    test_stop();
    test_skip();
    test_violations();
    test_row();
    test_void(2, 300, 5, 1);
    test_void(4, 2000, 4, 1);
    test_void(2, 300, 6, 0);                     /* too late to change anything */
    test_probe();
    return tap_done();
}
