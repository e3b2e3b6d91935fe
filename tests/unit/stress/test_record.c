/* Records: what a pass tells, in what bounds it stays, and that its numbers are those of the row.
   It must not know of formats. */
#include <stdlib.h>

#include "stress/result/record.h"
#include "workload_text.h"
#include "stress/run/runner.h"

#define MIB ((uint64_t)1 << 20)

typedef struct bench {
    pass_settings settings;
    progress      quiet;
    policy        chosen;
    op_stream     stream;
    row           made;
} bench;

static problem why;
static uint64_t bench_times;                     /* rounds of the next run; 0: one */

static void bench_run(bench *bed, const char *workload, const char *policy_text, unsigned parts)
{
    const workload_options options = { 0 };
    runner_outcome outcome;
    memset(bed, 0, sizeof *bed);
    bed->quiet = progress_start("never", 1, 1);
    bed->settings.device.sim.capacity_bytes = 1024 * MIB;
    bed->settings.device.op_ns = 2000;
    bed->settings.verify = VERIFY_FULL;
    bed->settings.progress = &bed->quiet;
    bed->settings.times = bench_times;
    if (workload_make(workload, &options, &bed->stream, &why) || policy_parse(policy_text, 0, &bed->chosen, &why)) {
        give_up(why.text);
    }
    const runner_job job = { workload, "sim:1G", &bed->chosen, &bed->stream, 1, 1, 0, parts };
    runner_row(&job, &bed->settings, &bed->made, &outcome);
}

static void bench_close(bench *bed)
{
    row_free(&bed->made);
    op_stream_free(&bed->stream);
}

static uint64_t cell_of(const bench *bed, row_column column)
{
    return bed->made.cells[column].count;
}

static void test_nothing(void)
{
    bench bed;
    memory_use use = { 0 };
    bench_run(&bed, "uniform:n=100", "segments", 0);
    CHECK_MSG(!bed.made.recording, "nothing is recorded where nothing is asked for");
    record_begin(NULL, NULL, NULL, 1);
    record_pool(NULL, 0);
    record_op(NULL, 1);
    record_label(NULL, 0);
    record_alloc(NULL, 0, &bed, 1, 1, 0);
    record_free(NULL, 0);
    record_measure(NULL, &use);
    record_refuse(NULL, 1);
    record_finish(NULL, 1);
    record_destroy(NULL);
    CHECK_MSG(1, "and nobody can be told all the same");
    bench_close(&bed);
}

static uint64_t highest(const record *recording, size_t field_offset)
{
    uint64_t most = 0;
    for (size_t at = 0; at < recording->sample_count; at++) {
        uint64_t value;
        memcpy(&value, (const char *)&recording->samples[at].use + field_offset, sizeof value);
        if (value > most) most = value;
    }
    return most;
}

/* More ops than buckets: the extremes are there all the same. */
static void test_peaks(const char *policy_text)
{
    bench bed;
    bench_run(&bed, "uniform:n=20000,max=1,cap=512", policy_text, RECORD_SERIES);
    const record *recording = bed.made.recording;
    CHECK_STR(bed.made.cells[COLUMN_STATUS].text, "ok");
    CHECK_U64(recording->op_count, ==, cell_of(&bed, COLUMN_OPS));
    CHECK_U64(highest(recording, offsetof(memory_use, requested_bytes)), ==, cell_of(&bed, COLUMN_REQUESTED_PEAK));
    CHECK_U64(highest(recording, offsetof(memory_use, live_bytes)), ==, cell_of(&bed, COLUMN_LIVE_PEAK));
    CHECK_U64(highest(recording, offsetof(memory_use, reserved_bytes)), ==, cell_of(&bed, COLUMN_RESERVED_PEAK));
    CHECK_U64(highest(recording, offsetof(memory_use, stranded_bytes)), ==, cell_of(&bed, COLUMN_STRANDED_PEAK));
    CHECK_U64(highest(recording, offsetof(memory_use, pending_bytes)), ==, cell_of(&bed, COLUMN_PENDING_PEAK));
    CHECK_MSG(recording->sample_count <= (size_t)RECORD_BUCKETS * RECORD_KEPT, "%zu samples: within the bound",
              recording->sample_count);
    int ordered = 1;
    for (size_t at = 1; at < recording->sample_count; at++) {
        ordered &= recording->samples[at - 1].op < recording->samples[at].op;
    }
    CHECK_MSG(ordered && recording->sample_count > RECORD_BUCKETS / 2, "each op once, in order");
    CHECK_MSG(!recording->blocks && !recording->changes, "no map was asked for, and there is none");
    bench_close(&bed);
}

static bench map_of(const char *text, const char *policy_text)
{
    char path[] = "/tmp/gpuarena-record-XXXXXX", workload[64];
    bench bed;
    int file = mkstemp(path);
    if (file < 0 || write(file, text, strlen(text)) != (ssize_t)strlen(text)) give_up("cannot write a trace");
    close(file);
    snprintf(workload, sizeof workload, "replay:%s", path);
    bench_run(&bed, workload, policy_text, RECORD_SERIES | RECORD_MAP);
    unlink(path);
    bed.made.cells[COLUMN_WORKLOAD].text = "";   /* was on this function's stack */
    return bed;
}

#define MAP_TRACE "gpuarena-trace 1\ns one\na 1 3000000 0 w\na 2 100 0\nf 1\ns two\na 3 5000000 7\nf 2\nf 3\n"

static void test_map(void)
{
    bench bed = map_of(MAP_TRACE, "segments:growth=exact");
    const record *recording = bed.made.recording;
    const record_block *blocks = recording->blocks;
    CHECK_U64(recording->block_count, ==, 3);
    CHECK_U64(blocks[0].birth_op, ==, 0);
    CHECK_U64(blocks[0].death_op, ==, 2);
    CHECK_U64(blocks[0].requested_bytes, ==, 3000000);
    CHECK_U64(blocks[0].bytes, ==, 3000064);
    CHECK_U64(blocks[0].offset, ==, 0);
    CHECK_U64(blocks[1].offset, ==, 3000064);
    CHECK_INT(blocks[0].step, ==, 1);
    CHECK_INT(blocks[2].step, ==, 2);
    CHECK_U64(blocks[2].stream, ==, 7);
    CHECK_U64(blocks[2].death_op, ==, 5);
    CHECK_STR(bed.stream.labels[bed.stream.tags[blocks[0].number] - 1], "w");
    CHECK_INT(recording->step_count, ==, 2);
    CHECK_U64(recording->steps[1].op, ==, 3);
    CHECK_STR(bed.stream.labels[recording->steps[1].label], "two");
    CHECK_INT(recording->change_count, ==, 2);
    CHECK_INT(recording->changes[0].kind, ==, SIM_CALL_OBTAIN);
    CHECK_U64(recording->changes[0].bytes, ==, 4 * MIB);
    CHECK_U64(recording->changes[1].op, ==, 3);
    CHECK_U64(recording->changes[1].offset, ==, 4 * MIB);
    CHECK_U64(recording->axis_bytes, ==, 10 * MIB);
    CHECK_U64(recording->map_ops, ==, 6);
    CHECK_MSG(recording->samples[5].now_vns > recording->samples[0].now_vns, "the virtual clock goes on");
    CHECK_MSG(!recording->device && !recording->buckets, "what was needed while it ran is gone");
    bench_close(&bed);
}

/* Each block of raw memory is a range of its own, which comes and goes with it. */
static void test_raw(void)
{
    bench bed = map_of(MAP_TRACE, "raw");
    const record *recording = bed.made.recording;
    int agrees = recording->change_count == 6;
    for (size_t at = 0; agrees && at < 3; at++) {
        const record_block *block = &recording->blocks[at];
        const record_change *came = NULL;
        for (size_t index = 0; index < 6; index++) {
            const record_change *change = &recording->changes[index];
            if (change->kind == SIM_CALL_OBTAIN && change->op == block->birth_op) came = change;
        }
        agrees = came && came->offset == block->offset && came->bytes == block->requested_bytes;
    }
    CHECK_MSG(agrees, "raw: a change where each block is");
    bench_close(&bed);
}

/* Every live block lies in memory that came and did not go, and no two overlap. */
static void test_backed(const char *policy_text)
{
    bench bed;
    bench_run(&bed, "train:steps=2,layers=2,hidden=512,seq=128", policy_text, RECORD_MAP);
    const record *recording = bed.made.recording;
    size_t pages = (size_t)(recording->axis_bytes / (2 * MIB)) + 1, change = 0, bare = 0;
    unsigned char *held = calloc(pages, 1);
    CHECK_MSG(held && recording->block_count > 100, "%zu blocks, %zu changes", recording->block_count,
              recording->change_count);
    for (size_t at = 0; held && at < recording->block_count; at++) {
        const record_block *block = &recording->blocks[at];
        for (; change < recording->change_count && recording->changes[change].op <= block->birth_op; change++) {
            const record_change *made = &recording->changes[change];
            int comes = made->kind == SIM_CALL_OBTAIN || made->kind == SIM_CALL_VM_MAP;
            memset(held + made->offset / (2 * MIB), comes, (size_t)(made->bytes / (2 * MIB)));
        }
        bare += !held[block->offset / (2 * MIB)] || !held[(block->offset + block->bytes - 1) / (2 * MIB)];
    }
    CHECK_MSG(!bare, "%s: every block lies in memory that is there (%zu do not)", policy_text, bare);
    free(held);
    bench_close(&bed);
}

/* Of a workload that goes round the numbers are the same every time, the blocks are not. */
static void test_rounds(void)
{
    bench bed;
    size_t overlaps = 0, live = 0;
    bench_times = 3;
    bench_run(&bed, "uniform:n=500,max=1,cap=64", "segments", RECORD_SERIES | RECORD_MAP);
    bench_times = 0;
    const record *recording = bed.made.recording;
    CHECK_U64(recording->block_count, ==, cell_of(&bed, COLUMN_ALLOCS));
    CHECK_U64(recording->block_count, ==, 3 * bed.stream.alloc_count);
    for (size_t at = 0; at < recording->block_count; at++) {
        const record_block *block = &recording->blocks[at];
        const record_block *next = at + bed.stream.block_count < recording->block_count
            ? &recording->blocks[at + bed.stream.block_count] : NULL;
        overlaps += block->death_op <= block->birth_op;
        overlaps += next && (next->number != block->number || block->death_op > next->birth_op);
        live += block->death_op == RECORD_NEVER;
    }
    CHECK_MSG(!overlaps && live < bed.stream.block_count, "each dies before its namesake of the next round is born");
    CHECK_U64(highest(recording, offsetof(memory_use, live_bytes)), ==, cell_of(&bed, COLUMN_LIVE_PEAK));
    CHECK_MSG(recording->sample_count > RECORD_BUCKETS / 2, "%zu samples over all rounds", recording->sample_count);
    bench_close(&bed);
}

static void test_refusal(void)
{
    bench bed = map_of("gpuarena-trace 1\na 1 3000000 0\na 2 2000000000 0\na 3 2000000001 0\n", "paged");
    const record *recording = bed.made.recording;
    CHECK_STR(bed.made.cells[COLUMN_STATUS].text, "oom");
    CHECK_INT(recording->refusal.happened, ==, 1);
    CHECK_U64(recording->refusal.op, ==, cell_of(&bed, COLUMN_OOM_OP));
    CHECK_U64(recording->refusal.requested_bytes, ==, cell_of(&bed, COLUMN_OOM_REQUESTED));
    CHECK_U64(recording->op_count, ==, 2);
    CHECK_U64(recording->blocks[0].death_op, ==, RECORD_NEVER);
    bench_close(&bed);
}

/* What cannot be opened leaves an empty record, and no more. */
static void test_unopened(void)
{
    bench bed = map_of(MAP_TRACE, "segments:growth=fixed,limit=100G");
    const record *recording = bed.made.recording;
    CHECK_STR(bed.made.cells[COLUMN_STATUS].text, "error");
    CHECK_INT(recording->sample_count, ==, 0);
    CHECK_INT(recording->block_count, ==, 0);
    CHECK_MSG(!recording->device, "the device is not known any more");
    bench_close(&bed);
}

/* Past its bound a list stays as it is, and what follows is told to be missing. */
static void test_bounds(void)
{
    problem trouble = { 0, "" };
    device_config config;
    op_stream stream;
    memset(&config, 0, sizeof config);
    memset(&stream, 0, sizeof stream);
    stream.block_count = RECORD_MOST_BLOCKS + 1;
    device *on = device_open(&config, &trouble);
    record *recording = record_create(RECORD_SERIES | RECORD_MAP);
    if (!on || !recording) give_up("no device");
    record_begin(recording, on, &stream, 1);
    for (uint32_t number = 0; number <= RECORD_MOST_BLOCKS; number++) {
        record_op(recording, number);
        record_alloc(recording, number, (void *)(uintptr_t)(4096 + 256 * (uint64_t)number), 1, 256, 0);
        if (number <= RECORD_MOST_STEPS) record_label(recording, 0);
    }
    record_free(recording, 5);
    record_finish(recording, RECORD_MOST_BLOCKS + 1);
    CHECK_U64(recording->block_count, ==, RECORD_MOST_BLOCKS);
    CHECK_U64(recording->map_ops, ==, RECORD_MOST_BLOCKS);
    CHECK_U64(recording->step_count, ==, RECORD_MOST_STEPS);
    CHECK_U64(recording->step_ops, ==, RECORD_MOST_STEPS);
    CHECK_U64(recording->blocks[5].death_op, ==, RECORD_MOST_BLOCKS);
    CHECK_U64(recording->axis_bytes, ==, (uint64_t)256 * RECORD_MOST_BLOCKS);
    CHECK_INT(recording->region_count, ==, 1);
    record_destroy(recording);
    device_close(on, NULL);
}

int main(void)
{
    test_nothing();
    test_peaks("segments");
    test_peaks("paged");
    test_map();
    test_raw();
    test_backed("segments");
    test_backed("paged:idle=0");
    test_rounds();
    test_refusal();
    test_unopened();
    test_bounds();
    return tap_done();
}
