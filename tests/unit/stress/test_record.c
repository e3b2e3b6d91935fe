/* Records: that blocks lie in memory that is there, where a refusal stands, and in what bounds a record stays.
   What files say of records: tests/cli/cases/outputs.case, pictures.t and timelines.t. */
#include <stdlib.h>

#include "workload_text.h"
#include "pass_bench.h"
#include "stress/result/record.h"

/* A row of the workload on the policy, with a record of these parts. */
static row record_run(bench *bed, const char *workload, const char *policy_text, unsigned parts)
{
    const workload_options options = { 0 };
    runner_outcome outcome;
    policy chosen;
    row made;
    bench_open(bed);
    bed->settings.device.sim.capacity_bytes = 1024 * MIB;
    if (workload_make(workload, &options, &bed->stream, &why) || policy_parse(policy_text, 0, &chosen, &why)) {
        give_up(why.text);
    }
    const runner_job job = { workload, "sim:1G", &chosen, &bed->stream, &bed->settings, 1, 0, parts };
    runner_row(&job, &made, &outcome);
    return made;
}

/* Every live block lies in memory that came and did not go, and no two overlap. */
static void test_backed(const char *policy_text)
{
    bench bed;
    row made = record_run(&bed, "train:steps=2,layers=2,hidden=512,seq=128", policy_text, RECORD_MAP);
    const record *recording = made.recording;
    size_t pages = (size_t)(recording->axis_bytes / (2 * MIB)) + 1, change = 0, bare = 0;
    unsigned char *held = calloc(pages, 1);
    CHECK_MSG(held && recording->block_count > 100, "%zu blocks, %zu changes", recording->block_count,
              recording->change_count);
    for (size_t at = 0; held && at < recording->block_count; at++) {
        const record_block *block = &recording->blocks[at];
        for (; change < recording->change_count && recording->changes[change].op <= block->birth_op; change++) {
            const record_change *now = &recording->changes[change];
            int comes = now->kind == SIM_CALL_OBTAIN || now->kind == SIM_CALL_VM_MAP;
            memset(held + now->offset / (2 * MIB), comes, (size_t)(now->bytes / (2 * MIB)));
        }
        bare += !held[block->offset / (2 * MIB)] || !held[(block->offset + block->bytes - 1) / (2 * MIB)];
    }
    CHECK_MSG(!bare, "%s: every block lies in memory that is there (%zu do not)", policy_text, bare);
    free(held);
    row_free(&made);
    op_stream_free(&bed.stream);
}

static void test_refusal(void)
{
    static const char trace[] = "gpuarena-trace 1\na 1 3000000 0\na 2 2000000000 0\na 3 2000000001 0\n";
    char workload[64];
    bench bed;
    write_trace(trace, strlen(trace));
    snprintf(workload, sizeof workload, "replay:%s", trace_path);
    row made = record_run(&bed, workload, "paged", RECORD_SERIES | RECORD_MAP);
    const record *recording = made.recording;
    CHECK_STR(made.cells[COLUMN_STATUS].text, "oom");
    CHECK_INT(recording->refusal.happened, ==, 1);
    CHECK_U64(recording->refusal.op, ==, made.cells[COLUMN_OOM_OP].count);
    CHECK_U64(recording->refusal.requested_bytes, ==, made.cells[COLUMN_OOM_REQUESTED].count);
    CHECK_U64(recording->op_count, ==, 2);
    CHECK_U64(recording->blocks[0].death_op, ==, RECORD_NEVER);
    row_free(&made);
    op_stream_free(&bed.stream);
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
    CHECK_U64(recording->blocks[5].death_op, ==, RECORD_MOST_BLOCKS);
    CHECK_U64(recording->axis_bytes, ==, (uint64_t)256 * RECORD_MOST_BLOCKS);
    record_destroy(recording);
    device_close(on, NULL);
}

int main(void)
{
    test_backed("segments");
    test_backed("paged:idle=0");
    test_refusal();
    test_bounds();
    return tap_done();
}
