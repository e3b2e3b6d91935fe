/* The preset pytorch against PyTorch's native caching allocator: a model of its rules, and the numbers of its tests.
   It must not know the implementation. Each test names the paragraph of allocators.md that it stands on.
   Run: make test, or prove build/tests/test_like_pytorch; recorded snapshots: tests/presets.t */
#include "like.h"

static like_bench bench;
static like_model model;

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

static const like_rules pytorch_rules = { pytorch_round, pytorch_pool, pytorch_splits, pytorch_region };

/* B1: pools, rounding, best fit, split, merge and segments, all at once. */
static void test_rules(void)
{
    static const struct { unsigned bits; int live; } mixes[] = {
        { 12, 1000 }, { 22, 500 }, { 25, 200 }, { 30, 100 } };
    for (size_t at = 0; at < sizeof mixes / sizeof mixes[0]; at++) {
        like_open(&bench, "pytorch", GIB(4096));
        like_begin(&model, &pytorch_rules, 0);
        CHECK_MSG(like_follow(&bench, &model, 20000, mixes[at].live, mixes[at].bits),
                  "20,000 operations below 2^%u bytes, as the model has them", mixes[at].bits);
        like_close(&bench, "the model's operations");
    }
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
        CHECK_U64(like_stats(&bench).reserved_bytes, ==, MIB(orders[at].reserved_mib));
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
        CHECK_U64(like_stats(&bench).reserved_bytes, ==, MIB(cases[at].reserved_mib));
        like_close(&bench, "segments");
    }
}

/* B1, Rounding: within its power of two, from 512 B a part on. */
static void test_divisions(void)
{
    static const struct { const char *text; uint64_t bytes, rounded; } cases[] = {
        { "pytorch", 1, 512 }, { "pytorch", 1200, 1536 }, { "pytorch", MIB(4) + 1, MIB(4) + 512 },
        { "pytorch,round_divisions=4", 1200, 1536 }, { "pytorch,round_divisions=4", 2048, 2048 },
        { "pytorch,round_divisions=4", 2049, 2560 }, { "pytorch,round_divisions=4", MIB(4) + 1, MIB(5) },
        { "pytorch,round_divisions=8", MIB(4) + 1, MIB(4) + KIB(512) },
        { "pytorch,round_divisions=2", MIB(4) + 1, MIB(6) } };
    for (size_t at = 0; at < sizeof cases / sizeof cases[0]; at++) {
        gpuarena_stats stats;
        like_open(&bench, cases[at].text, GIB(4));
        CHECK_INT(like_take(&bench, cases[at].bytes), ==, GPUARENA_OK);
        stats = like_stats(&bench);
        CHECK_MSG(stats.live_bytes == cases[at].rounded, "%s: %" PRIu64 " bytes occupy %" PRIu64 ", found %" PRIu64,
                  cases[at].text, cases[at].bytes, cases[at].rounded, stats.live_bytes);
        like_close(&bench, "rounding");
    }
}

/* B1, Split: 1 MiB and less stays with a large block; a small one keeps nothing. */
static void test_slack(void)
{
    like_open(&bench, "pytorch", GIB(4));
    CHECK(like_take_many(&bench, 2, MIB(9) + KIB(512)));
    CHECK_U64(like_stats(&bench).reserved_bytes, ==, MIB(20));
    CHECK_U64(like_stats(&bench).slack_bytes, ==, MIB(1));
    CHECK(like_drop_from(&bench, 0) && like_take_many(&bench, 1, MIB(1) - 1));
    CHECK_U64(like_stats(&bench).slack_bytes, ==, 1);
    CHECK_MSG(like_stats(&bench).reserved_bytes == MIB(22), "20 MiB are free, and none of them is for small blocks");
    like_close(&bench, "slack");
}

/* B1, Miss chain 7, and B6, test_out_of_memory_retry: what is cached goes back before a request fails. */
static void test_release(void)
{
    like_open(&bench, "pytorch,limit=120M", GIB(4));
    CHECK(like_take_many(&bench, 5, MIB(20)) && like_take_many(&bench, 2, MIB(1)));
    CHECK_INT(like_take(&bench, MIB(60)), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_U64(like_stats(&bench).reserved_bytes, ==, MIB(102));
    CHECK(like_drop_from(&bench, 0));
    CHECK_U64(like_stats(&bench).reserved_bytes, ==, MIB(102));
    CHECK_INT(like_take(&bench, MIB(120)), ==, GPUARENA_OK);
    like_close(&bench, "release");
    like_open(&bench, "pytorch,limit=50%", MIB(1000));
    CHECK_INT(like_take(&bench, MIB(502)), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_INT(like_take(&bench, MIB(500)), ==, GPUARENA_OK);
    like_close(&bench, "half of the device (B6, test_set_per_process_memory_fraction)");
}

/* B6, test_memory_stats, test_out_of_memory. */
static void test_statistics(void)
{
    gpuarena_stats stats;
    like_open(&bench, "pytorch", GIB(4));
    CHECK(like_take_many(&bench, 1, 1000));
    stats = like_stats(&bench);
    CHECK_MSG(stats.live_bytes == 1024 && stats.requested_bytes == 1000, "1,000 bytes asked for, 1,024 live");
    CHECK_INT(like_take(&bench, UINT64_C(1) << 60), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK(like_take_many(&bench, 1, 1) && like_drop_from(&bench, 0));
    stats = like_stats(&bench);
    CHECK_MSG(stats.live_bytes == 0 && stats.live_peak_bytes == 1536 && stats.free_count == 2, "all free, peak kept");
    like_close(&bench, "statistics");
}

int main(void)
{
    test_rules();
    test_order();
    test_segments();
    test_divisions();
    test_slack();
    test_release();
    test_statistics();
    return tap_done();
}
