/* The model pytorch against PyTorch's native caching allocator: a reference of its rules, and its tests' numbers.
   It must not know the implementation. Each test names the paragraph of allocators.md that it stands on.
   What PyTorch reserves: test_golden_peaks.c */
#include "like.h"

static like_bench bench;
static like_model reference;

/* B1, Sizes: blocks of 512 bytes; up to 1 MiB from the small pool. */
static uint64_t pytorch_round(uint64_t bytes) { return bytes < 512 ? 512 : (bytes + 511) / 512 * 512; }

static int pytorch_pool(uint64_t rounded) { return rounded > MIB(1); }

/* B1, Split. */
static int pytorch_splits(uint64_t chunk, uint64_t rounded)
{
    return rounded > MIB(1) ? chunk - rounded > MIB(1) : chunk - rounded >= 512;
}

/* B1, Sizes: segments of 2 MiB, 20 MiB, or whole multiples of 2 MiB. */
static uint64_t pytorch_region(like_model *self, uint64_t rounded)
{
    (void)self;
    if (rounded <= MIB(1)) return MIB(2);
    return rounded < MIB(10) ? MIB(20) : (rounded + MIB(2) - 1) / MIB(2) * MIB(2);
}

/* B1: pools, rounding, best fit, split, merge and segments, all at once. */
static void test_rules(void)
{
    static const like_rules rules = { pytorch_round, pytorch_pool, pytorch_splits, pytorch_region };
    like_mixes(&bench, &reference, "pytorch", &rules, 0);
}

/* B7, [G]: sizes that double, and that halve. */
static void test_order(void)
{
    static const struct { int first; uint64_t first_mib; int second; uint64_t second_mib, reserved_mib; } orders[] = {
        { 8, 16, 4, 32, 256 }, { 4, 32, 8, 16, 128 } };
    for (size_t at = 0; at < 2; at++) {
        like_open(&bench, "pytorch", GIB(4));
        CHECK(like_take_many(&bench, orders[at].first, MIB(orders[at].first_mib)) && like_drop_from(&bench, 0));
        CHECK(like_take_many(&bench, orders[at].second, MIB(orders[at].second_mib)));
        CHECK_U64(like_reserved(&bench), ==, MIB(orders[at].reserved_mib));
        like_close(&bench, "order");
    }
}

/* B6, test_graph_memory_stats_and_use_result_after_destroy_graph: segments for three live blocks of each size. */
static void test_segments(void)
{
    static const struct { uint64_t bytes, segments_mib[4]; uint64_t reserved_mib; } cases[] = {
        { 512, { 2, 0, 0, 0 }, 2 }, { MIB(1), { 2, 2, 0, 0 }, 4 }, { MIB(1) + 512, { 20, 0, 0, 0 }, 20 },
        { MIB(10) - 512, { 20, 20, 0, 0 }, 40 }, { MIB(10) + 512, { 12, 12, 12, 0 }, 36 } };
    for (size_t at = 0; at < sizeof cases / sizeof cases[0]; at++) {
        like_open(&bench, "pytorch", GIB(4));
        CHECK_MSG(like_take_many(&bench, 3, cases[at].bytes) && like_asked(&bench, cases[at].segments_mib),
                  "3 x %" PRIu64 " bytes: the segments", cases[at].bytes);
        CHECK_U64(like_reserved(&bench), ==, MIB(cases[at].reserved_mib));
        like_close(&bench, "segments");
    }
}

/* B1, Split: 1 MiB and less stays with a large block; a small one keeps nothing. */
static void test_slack(void)
{
    like_open(&bench, "pytorch", GIB(4));
    CHECK(like_take_many(&bench, 2, MIB(9) + KIB(512)));
    CHECK_U64(like_reserved(&bench), ==, MIB(20));
    CHECK_U64(like_slack(&bench), ==, MIB(1));
    CHECK(like_drop_from(&bench, 0) && like_take_many(&bench, 1, MIB(1) - 1));
    CHECK_U64(like_slack(&bench), ==, 1);
    CHECK_MSG(like_reserved(&bench) == MIB(22), "20 MiB are free, and none of them is for small blocks");
    like_close(&bench, "slack");
}

/* B1, Miss chain 7, and B6, test_out_of_memory_retry: what is cached goes back before a request fails. */
static void test_release(void)
{
    like_open(&bench, "pytorch:limit=120M", GIB(4));
    CHECK(like_take_many(&bench, 5, MIB(20)) && like_take_many(&bench, 2, MIB(1)));
    CHECK_INT(like_take(&bench, MIB(60)), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_U64(like_reserved(&bench), ==, MIB(102));
    CHECK(like_drop_from(&bench, 0));
    CHECK_U64(like_reserved(&bench), ==, MIB(102));
    CHECK_INT(like_take(&bench, MIB(120)), ==, GPUARENA_OK);
    like_close(&bench, "release");
    like_open(&bench, "pytorch:limit=500M", MIB(1000));
    CHECK_INT(like_take(&bench, MIB(502)), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_INT(like_take(&bench, MIB(500)), ==, GPUARENA_OK);
    like_close(&bench, "half of the device (B6, test_set_per_process_memory_fraction)");
}

/* B1, Miss chain 7, and Streams: what another stream used comes back by an event, at the latest before a failure. */
static void test_streams(void)
{
    gpuarena_stream side = (gpuarena_stream)(intptr_t)16;
    void *ptr = NULL, *again = NULL;
    like_open(&bench, "pytorch:limit=20M", GIB(4));
    CHECK(model_alloc(bench.model, &ptr, MIB(20), NULL, &bench.refused) == GPUARENA_OK);
    CHECK_INT(model_use(bench.model, ptr, side, &bench.refused), ==, GPUARENA_OK);
    CHECK_INT(model_free(bench.model, ptr, side, &bench.refused), ==, GPUARENA_OK);
    CHECK_U64(like_use(&bench).pending_bytes, ==, MIB(20));
    CHECK_INT(model_alloc(bench.model, &again, MIB(20), side, &bench.refused), ==, GPUARENA_OK);
    CHECK_MSG(again != ptr && bench.device.given_back == 1, "another stream's segment goes back first");
    like_close(&bench, "streams");
}

/* B6, test_memory_stats, test_out_of_memory. */
static void test_statistics(void)
{
    like_open(&bench, "pytorch", GIB(4));
    CHECK(like_take_many(&bench, 1, 1000));
    CHECK_MSG(like_use(&bench).live_bytes == 1024, "1,000 bytes asked for, 1,024 live");
    CHECK_INT(like_take(&bench, UINT64_C(1) << 60), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK(like_take_many(&bench, 1, 1) && like_use(&bench).live_bytes == 1536 && like_drop_from(&bench, 0));
    CHECK_U64(like_use(&bench).live_bytes, ==, 0);
    like_close(&bench, "statistics");
}

int main(void)
{
    test_rules();
    test_order();
    test_segments();
    test_slack();
    test_release();
    test_streams();
    test_statistics();
    return tap_done();
}
