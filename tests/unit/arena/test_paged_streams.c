/* Paged ranges, resize and runs of free blocks between streams, on the virtual clock: tails that are freed in order,
   growth that takes nobody's pending memory, waits that help and none that does not.
   It must not know how pages are chosen. */
#include "stream_stage.h"

/* An arena of pages that have a limit; its streams are not busy. */
static stage paged_stage(uint64_t limit)
{
    stage made = stage_device();
    gpuarena_config config = stage_config(&made);
    config.limit_bytes = limit;
    stage_arena(&made, &config);
    return made;
}

/* The tail that a shrink gives back is its stream's at once, and another's after the work on it. */
static void test_tail(void)
{
    stage test = paged_stage(MIB(8));
    tenancy block = stage_take_working(&test, MIB(8), 0, STAGE_SECOND);
    CHECK_INT(gpuarena_resize(test.arena, block.ptr, MIB(2), test.streams[0]), ==, GPUARENA_OK);
    CHECK_U64(stage_stats(&test).pending_bytes, ==, MIB(6));
    tenancy same = stage_take(&test, MIB(3), 0);
    CHECK_MSG(same.ptr == block.ptr + MIB(2) && stage_is_busy(&test, 0), "its own stream has it at once");
    tenancy other = stage_take(&test, MIB(3), 1);
    CHECK_MSG(other.ptr && stage_end_ns(&test, 1) >= STAGE_SECOND, "another only after the work");
    CHECK_INT(sim_finding_count(test.machine), ==, 0);
    stage_close(&test, "a tail");
}

/* A block that another stream used, too: so was its tail. */
static void test_tail_of_two(void)
{
    stage test = paged_stage(MIB(8));
    tenancy block = stage_take(&test, MIB(8), 0);
    CHECK_INT(stage_work(&test, 0, &block, 0), ==, 1);
    CHECK_INT(gpuarena_use(test.arena, block.ptr, test.streams[1]), ==, GPUARENA_OK);
    CHECK_INT(sim_stream_follow(test.machine, 0, test.streams[1], test.streams[0]), ==, SIM_SUCCESS);
    CHECK_INT(stage_work(&test, 1, &block, STAGE_SECOND), ==, 1);
    CHECK_INT(gpuarena_resize(test.arena, block.ptr, MIB(2), test.streams[0]), ==, GPUARENA_OK);
    tenancy next = stage_take(&test, MIB(6), 0);
    CHECK_MSG(next.ptr && stage_end_ns(&test, 0) >= STAGE_SECOND, "the tail waits for both streams");
    stage_close(&test, "a tail of two streams");
}

/* What is pending on the block's stream is for that stream's resizes alone. */
static void test_growth_takes_nobodys(void)
{
    stage test = paged_stage(MIB(8));
    void *ptr = NULL;
    CHECK_INT(gpuarena_alloc(test.arena, &ptr, MIB(2), test.streams[0]), ==, GPUARENA_OK);
    stage_pending(&test, MIB(6), 0, STAGE_SECOND);
    CHECK_INT(gpuarena_resize(test.arena, ptr, MIB(4), test.streams[1]), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_INT(gpuarena_resize(test.arena, ptr, MIB(4), GPUARENA_ANY_STREAM), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_INT(stage_is_busy(&test, 0), ==, 1);
    CHECK_INT(gpuarena_resize(test.arena, ptr, MIB(4), GPUARENA_OWN_STREAM), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_resize(test.arena, ptr, MIB(6), test.streams[0]), ==, GPUARENA_OK);
    CHECK_MSG(!stage_wrong(&test)[0] && stage_is_busy(&test, 0), "its own stream grows into it at once");
    stage_close(&test, "growth");
}

/* A block for every stream grows into quiet memory, while one stream alone has freed any. */
static void test_growth_for_all(void)
{
    stage test = paged_stage(MIB(16));
    void *ptr = NULL;
    CHECK_INT(gpuarena_alloc(test.arena, &ptr, MIB(2), GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
    tenancy next = stage_take(&test, MIB(2), 0);
    CHECK_INT(gpuarena_free(test.arena, next.ptr, GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
    stage_pending(&test, MIB(1), 0, STAGE_SECOND);
    (void)gpuarena_resize(test.arena, ptr, MIB(4), GPUARENA_OWN_STREAM);
    CHECK_MSG(!stage_wrong(&test)[0], "books: %s", stage_wrong(&test));
    stage_close(&test, "growth for all");
}

/* Many runs of a stream's own block and a quiet one, all alike, so that most are in a bin's list: each fits to the
   byte, and what is not needed of longer ones stays quiet. */
static void test_runs_alike(void)
{
    enum { RUNS = 24 };
    stage test = paged_stage(MIB(256));
    tenancy own[RUNS], quiet[RUNS], pin[RUNS];
    stage_pending(&test, KIB(64), 1, 0);        /* a second stream */
    for (int at = 0; at < RUNS; at++) {
        own[at] = stage_take(&test, MIB(1), 0);
        quiet[at] = stage_take(&test, at % 2 ? MIB(1) : MIB(3), 0);
        pin[at] = stage_take(&test, KIB(4), 0);
    }
    for (int at = RUNS; at-- > 0;) {             /* the lowest, which are taken first, are in the list */
        CHECK_INT(gpuarena_free(test.arena, quiet[at].ptr, GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
        CHECK_INT(stage_free(&test, &own[at], 0), ==, GPUARENA_OK);
    }
    uint64_t pending = stage_stats(&test).pending_bytes, reserved = stage_stats(&test).reserved_bytes;
    for (int at = 0; at < RUNS; at++) {
        tenancy made = stage_take(&test, at < RUNS / 2 ? MIB(4) : MIB(2), 0);
        CHECK_MSG(made.ptr && !stage_wrong(&test)[0], "run %d: %s", at, stage_wrong(&test));
    }
    CHECK_U64(stage_stats(&test).pending_bytes, <=, pending);
    CHECK_U64(stage_stats(&test).reserved_bytes, ==, reserved);
    CHECK_MSG(pin[0].ptr != NULL, "what keeps them apart");
    stage_close(&test, "runs alike");
}

/* At the limit, where the pages that are wanted are another stream's: the host waits, and it is enough. */
static void test_wait_helps(void)
{
    stage test = paged_stage(MIB(16));
    tenancy front = stage_take(&test, MIB(1), 0), gap = stage_take(&test, MIB(3), 0);
    tenancy hole = stage_take(&test, MIB(4), 0), pin = stage_take(&test, MIB(2), 0);
    tenancy busy = stage_take_working(&test, MIB(4), 1, STAGE_SECOND), last = stage_take(&test, MIB(2), 0);
    CHECK_MSG(front.ptr && pin.ptr && last.ptr, "blocks");
    CHECK_U64(stage_end_ns(&test, 0), <, STAGE_SECOND);      /* the GPU is done with it */
    CHECK_INT(gpuarena_free(test.arena, hole.ptr, GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_trim(test.arena, MIB(12), NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_set_limit(test.arena, MIB(12)), ==, GPUARENA_OK);
    CHECK_INT(stage_free(&test, &gap, 0), ==, GPUARENA_OK);
    CHECK_INT(stage_free(&test, &busy, 1), ==, GPUARENA_OK);
    tenancy made = stage_take(&test, MIB(7), 0);
    CHECK_MSG(made.ptr != NULL, "7 MiB of a gap of 3 MiB, a hole, and two pages of another stream");
    CHECK_U64(stage_stats(&test).gpu_wait_count, >=, 1);
    CHECK_U64(stage_stats(&test).remapped_page_count, ==, 2);
    CHECK_U64(sim_now_ns(test.machine), >=, STAGE_SECOND);
    stage_close(&test, "a wait that helps");
}

/* A refusal leaves nothing behind: no addresses, no host memory. */
static void test_refusal_leaves_nothing(void)
{
    stage test = paged_stage(MIB(64));
    tenancy block = stage_take(&test, MIB(2), 0);
    sim_counters before, after;
    sim_get_counters(test.machine, 0, &before);
    uint64_t host_bytes = stage_stats(&test).host_bytes;
    for (uint64_t bytes = MIB(256); bytes < (uint64_t)1 << 48; bytes *= 8) {
        gpuarena_failure failure;
        void *ptr = NULL;
        CHECK_INT(gpuarena_alloc(test.arena, &ptr, bytes, test.streams[0]), ==, GPUARENA_OUT_OF_MEMORY);
        gpuarena_last_failure(test.arena, &failure);
        CHECK_INT(failure.reason, ==, GPUARENA_REASON_OVER_LIMIT);
    }
    sim_get_counters(test.machine, 0, &after);
    CHECK_U64(after.reserved_address_bytes, ==, before.reserved_address_bytes);
    CHECK_U64(stage_stats(&test).host_bytes, ==, host_bytes);
    CHECK_MSG(block.ptr != NULL, "a block");
    stage_close(&test, "refusals");
}

int main(void)
{
    stage_backing = GPUARENA_BACKING_PAGED;
    test_tail();
    test_tail_of_two();
    test_growth_takes_nobodys();
    test_growth_for_all();
    test_runs_alike();
    test_wait_helps();
    test_refusal_leaves_nothing();
    return tap_done();
}
