/* Passes and rows beyond the output of commands: random programs of several streams, equal results of the timing pass
   and the verified one, and rows of which only completion is asked. Operations by hand, with all their numbers:
   tests/cli/cases/passes.case. It must not know of files. */
#include <stdlib.h>

#include "stress/base/sets.h"
#include "pass_bench.h"

enum { RANDOM_BLOCKS = 24, RANDOM_STREAMS = 6, PAIRS = 200 };

/* A correct program by chance: a stream that uses a block waits for its home before, one that frees it for any at
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
        if (choice > 3 && stream != homes[pick]) add_wait(bed, stream, homes[pick]);
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

/* Hits and misses apart, as many in the timing pass; and the same operations, whether or not somebody judges. */
static void test_timing(void)
{
    static bench bed;
    static latencies timing;
    bench_open(&bed);
    for (uint32_t pair = 0; pair < PAIRS; pair++) {
        add_alloc(&bed, MIB, pair % 2);
        add_kernel(&bed, 1000, pair % 2, pair);
        add_free(&bed, pair, pair % 2);
    }
    CHECK_MSG(run(&bed, "raw", NULL)->misses == PAIRS, "raw: every allocation calls the driver");
    const pass_result verified = *run(&bed, "segments", NULL), timed = *run(&bed, "segments", &timing);
    CHECK(verified.status == PASS_OK && timed.status == PASS_OK && verified.misses == timed.misses);
    CHECK(timed.digest == verified.digest && timed.driver_calls == verified.driver_calls);
    CHECK(timed.driver_vns == verified.driver_vns && timed.ops == verified.ops);
    CHECK(timing.allocs.count == PAIRS && timing.frees.count == PAIRS);
    CHECK_U64(timing.hits.count, ==, PAIRS - timed.misses);
    CHECK_U64(timing.misses.count, ==, timed.misses);
    CHECK_U64(timing.hits.sum + timing.misses.sum, ==, timing.allocs.sum);
}

/* Someone who lets the verifying pass be, and changes an op of the timing pass while that is under way. */
typedef struct meddler { op *changed; uint64_t value; int allocs, after; } meddler;

static void meddle(gpuarena *arena, const gpuarena_action *action, void *user)
{
    meddler *self = user;
    (void)arena;
    if (action->kind == GPUARENA_ACTION_ALLOC && ++self->allocs == self->after) self->changed->value = self->value;
}

/* 3 MiB, 5 MiB, 100 bytes; the second freed; a kernel touches the first. */
static void add_known(bench *bed)
{
    bench_open(bed);
    add_alloc(bed, 3 * MIB, 0);
    add_alloc(bed, 5 * MIB, 0);
    add_alloc(bed, 100, 7);
    add_free(bed, 1, 0);
    add_kernel(bed, 1000, 0, 0);
    bed->stream.alloc_count = 3;
    bed->stream.free_count = 1;
}

/* The third block has 300 bytes in the timing pass; or it is a kernel that lasts longer. */
static void test_void(size_t changed, uint64_t value, int after, int is_void)
{
    static bench bed;
    row made;
    runner_outcome outcome;
    policy segments;
    add_known(&bed);
    CHECK_INT(policy_parse("segments:growth=exact", 0, &segments, &why), ==, 0);
    meddler user = { &bed.ops[changed], value, 0, after };
    segments.config.observe = meddle;
    segments.config.observe_user = &user;
    const plan made_of = { .device = "sim:80G", .settings = bed.settings, .timed = 1 };
    const plan_workload by_hand = { .text = "by hand", .stream = bed.stream };
    const runner_job job = { &made_of, &by_hand, &segments, 0, 0 };
    runner_row(ROW_RUN, &job, &made, &outcome);
    CHECK_INT(outcome.status, ==, is_void ? PASS_ERROR : PASS_OK);
    CHECK_INT(!strncmp(made.note, "the timing pass differs: digest ", 32), ==, is_void);
    CHECK_STR(made.cells[COLUMN_STATUS].text, is_void ? "error" : "ok");
    CHECK_INT(made.times == NULL && made.cells[COLUMN_HOST_NS].kind == CELL_NONE, ==, is_void);
    CHECK_INT(user.allocs, ==, 6);
    row_free(&made);
}

/* A row of which only completion is asked: a policy that lies is not found out, and a refusal ends it with its
   reason. */
static void test_probe(void)
{
    static bench bed;
    pass_result verified;
    add_known(&bed);
    bed.settings.device.sim.faults = "overlap:2";
    CHECK_INT(run(&bed, "raw", NULL)->status, ==, PASS_VERIFY_FAILED);
    bed.settings.is_probe = 1;
    CHECK(run(&bed, "raw", NULL)->status == PASS_OK && !bed.result.memory.reserved_peak_bytes);
    add_known(&bed);
    bed.settings.device.sim.capacity_bytes = 8 * MIB;
    verified = *run(&bed, "segments", NULL);
    bed.settings.is_probe = 1;
    const pass_result *probed = run(&bed, "segments", NULL);
    CHECK_MSG(probed->status == PASS_OOM && probed->oom.happened && probed->oom.op == verified.oom.op,
              "it ends where the verified one does");
    CHECK_STR(probed->oom.refusal.text, verified.oom.refusal.text);
    CHECK(run(&bed, "segments:initial=1G,limit=2M", NULL)->is_unopened && !verified.is_unopened);
}

int main(void)
{
    test_random();
    test_timing();
    test_void(2, 300, 5, 1);
    test_void(4, 2000, 4, 1);
    test_void(2, 300, 6, 0);                     /* too late to change anything */
    test_probe();
    CHECK_MSG(why.exit_code == 0, "no problem is left: %s", why.text);
    return tap_done();
}
