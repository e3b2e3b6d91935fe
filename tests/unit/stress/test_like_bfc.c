/* The models bfc and ort against the BFC allocator of TensorFlow and JAX, and ONNX Runtime's: a reference of their
   rules, numbers of their tests, and what growth costs.
   It must not know the implementation. Each test names the paragraph of allocators.md that it stands on.
   What they reserve themselves: test_golden_peaks.c */
#include "like.h"

static like_bench bench;
static like_model reference;

/* A1.2: up to 256 bytes. */
static uint64_t bfc_round(uint64_t bytes) { return (bytes + 255) / 256 * 256; }

static int bfc_pool(uint64_t rounded) { return rounded == 0; }

/* A1.4: a chunk is cut if the rest is as much as the request, or 128 MiB. */
static int bfc_splits(uint64_t chunk, uint64_t rounded)
{
    return chunk >= 2 * rounded || chunk - rounded >= MIB(128);
}

/* A1.7: the step doubles until it covers the request, or after the region, if it did. */
static uint64_t bfc_region(like_model *self, uint64_t rounded)
{
    uint64_t region = self->step_bytes;
    while (region < rounded) region *= 2;
    self->step_bytes = region > self->step_bytes ? region : 2 * region;
    return region;
}

/* A1.1 to A1.7: bins, best fit, rounding, split, merge and growth, all at once. */
static void test_rules(void)
{
    static const like_rules rules = { bfc_round, bfc_pool, bfc_splits, bfc_region };
    like_mixes(&bench, &reference, "bfc", &rules, MIB(2));
}

/* A6.1: sizes 1 to 1,023. */
static void test_no_dups(void)
{
    int wrong = 0;
    like_open(&bench, "bfc", GIB(4));
    for (uint64_t bytes = 1; bytes < 1024; bytes++) wrong += like_take(&bench, bytes) != GPUARENA_OK;
    for (size_t left = 0; left < bench.count; left++)
        for (size_t right = 0; right < left; right++) wrong += bench.blocks[left] == bench.blocks[right];
    CHECK_MSG(!wrong && bench.count == 1023, "1,023 blocks, no two the same");
    CHECK_U64(like_use(&bench).live_bytes, ==, 654336);
    CHECK(like_drop_from(&bench, 0));
    CHECK_U64(like_use(&bench).live_bytes, ==, 0);
    CHECK_U64(like_reserved(&bench), ==, MIB(2));
    like_close(&bench, "no duplicates");
}

/* A6.3: one region, everything freed in each of 1,024 rounds. */
static void test_coalescing(void)
{
    static const uint64_t sizes[] = { KIB(4), MIB(8), KIB(16), MIB(40) };
    uint64_t most = 0;
    int wrong = 0;
    like_open(&bench, "bfc", GIB(4));
    CHECK(like_take_many(&bench, 1, GIB(1)) && like_drop_from(&bench, 0));
    CHECK_INT(like_take(&bench, KIB(4)), ==, GPUARENA_OK);
    void *first = bench.blocks[0];
    CHECK(like_drop_from(&bench, 0));
    for (int round = 0; round < 1024; round++) {
        for (int at = 0; at < 4; at++) wrong += like_take(&bench, sizes[at]) != GPUARENA_OK;
        if (like_use(&bench).live_bytes > most) most = like_use(&bench).live_bytes;
        wrong += !like_drop_from(&bench, 0);
    }
    CHECK_INT(wrong, ==, 0);
    CHECK_U64(like_use(&bench).live_bytes, ==, 0);
    CHECK_U64(most, ==, 50352128);
    CHECK_U64(like_reserved(&bench), ==, GIB(1));
    CHECK(like_take(&bench, KIB(4)) == GPUARENA_OK && bench.blocks[0] == first);
    like_close(&bench, "coalescing");
}

/* A1.10, A6.11: the wall between regions, where pages have none (test_like_expandable.c). */
static void test_wall(void)
{
    static const uint64_t regions[] = { 4, 4, 8, 16, 32, 64, 128, 256, 0 };
    like_open(&bench, "bfc:limit=512M", GIB(4));
    CHECK(like_take_many(&bench, 128, MIB(4)) && like_asked(&bench, regions));
    void *last = bench.blocks[--bench.count];
    CHECK(like_drop_from(&bench, 0));
    CHECK_INT(like_take(&bench, MIB(508)), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_INT(bench.refused.reason, ==, GPUARENA_REASON_FRAGMENTED);
    CHECK_U64(like_reserved(&bench), ==, MIB(512));
    CHECK_U64(like_use(&bench).free_bytes, ==, MIB(508));
    CHECK_U64(bench.refused.largest_bytes, ==, MIB(252));
    CHECK_INT(model_free(bench.model, last, NULL, &bench.refused), ==, GPUARENA_OK);
    CHECK_MSG(like_take(&bench, MIB(508)) == GPUARENA_OK, "all regions empty: they go back, and it fits (A1.11)");
    like_close(&bench, "the wall");
}

/* A1.7: growth while 1,100 blocks live, under the least limit that has room for the last region. */
static void test_growth(void)
{
    static const uint64_t regions[] = { 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 0 };
    like_open(&bench, "bfc:limit=2046M", GIB(4));
    CHECK(like_take_many(&bench, 1100, MIB(1)) && like_asked(&bench, regions));
    CHECK_U64(like_reserved(&bench), ==, MIB(2046));
    like_close(&bench, "growth");
}

/* A1.4: a hole of 255 MiB is given whole for 128 MiB, and cut for 127 MiB. */
static void test_slack(void)
{
    like_open(&bench, "bfc:limit=256M", GIB(4));
    CHECK(like_take_many(&bench, 1, MIB(256)) && like_drop_from(&bench, 0));
    CHECK(like_take_many(&bench, 1, MIB(1)) && like_take_many(&bench, 1, MIB(127)));
    CHECK_U64(like_slack(&bench), ==, 0);
    CHECK(like_drop_from(&bench, 1) && like_take_many(&bench, 1, MIB(128)));
    CHECK_U64(like_use(&bench).live_bytes, ==, MIB(256));
    CHECK_U64(like_slack(&bench), ==, MIB(127));
    CHECK_INT(like_take(&bench, 1), ==, GPUARENA_OUT_OF_MEMORY);
    like_close(&bench, "slack");
}

/* A6.4 to A6.6: nothing, 4 bytes, and a request above the limit, after which smaller ones are served. */
static void test_edges(void)
{
    void *ptr = &bench;
    like_open(&bench, "bfc:limit=2M", GIB(4));
    CHECK(model_alloc(bench.model, &ptr, 0, NULL, &bench.refused) == GPUARENA_OK && !ptr);
    CHECK_INT(like_take(&bench, 4), ==, GPUARENA_OK);
    CHECK_U64(like_use(&bench).live_bytes, ==, 256);
    CHECK_INT(like_take(&bench, MIB(8)), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_INT(like_take(&bench, 256), ==, GPUARENA_OK);
    CHECK_INT(like_take(&bench, UINT64_MAX), ==, GPUARENA_OUT_OF_MEMORY);
    like_close(&bench, "edges");
}

/* A1.8: a driver that refuses is asked for less, down to the request, and no more often than it takes. */
static void test_back_off(void)
{
    like_open(&bench, "bfc", GIB(4));
    CHECK(like_take_many(&bench, 1, MIB(64)));
    bench.device.largest_bytes = MIB(100);
    CHECK_INT(like_take(&bench, MIB(60)), ==, GPUARENA_OK);
    CHECK(bench.device.asked[1] == MIB(64) && bench.device.obtained == 2);
    CHECK_INT(like_take(&bench, MIB(70)), ==, GPUARENA_OK);
    CHECK(bench.device.asked[2] == MIB(128) && bench.device.asked[3] < MIB(116) && bench.device.obtained > 3);
    CHECK_INT(like_take(&bench, MIB(101)), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_U64(bench.device.obtained, <, 1000);
    like_close(&bench, "back-off");
}

/* ---- ONNX Runtime's arena: BFC, but for its regions */

/* A4, ORT knobs: 1 MiB first; the step doubles, and is 1 GiB at most for the next region. */
static uint64_t ort_region(like_model *self, uint64_t rounded)
{
    uint64_t region = self->step_bytes;
    while (region < rounded) region *= 2;
    self->step_bytes = region > self->step_bytes ? region : 2 * region;
    if (self->step_bytes > GIB(1)) self->step_bytes = GIB(1);
    return region;
}

/* Rounding, pools and cuts are BFC's. */
static void test_ort_rules(void)
{
    static const like_rules rules = { bfc_round, bfc_pool, bfc_splits, ort_region };
    like_mixes(&bench, &reference, "ort", &rules, MIB(1));
}

/* A4, arena_extend_strategy: of 50 times a shape of 64 MiB and 7 more each time, and half of it, with a peak of
   611 MiB, kNextPowerOfTwo holds 1,024 MiB in 5 regions. */
static void test_rising_shapes(void)
{
    static const uint64_t regions[] = { 64, 64, 128, 256, 512, 0 };
    int wrong = 0;
    like_open(&bench, "ort", GIB(64));
    for (uint64_t round = 0; round < 50; round++) {
        uint64_t bytes = MIB(64 + 7 * round);
        wrong += like_take(&bench, bytes) != GPUARENA_OK || like_take(&bench, bytes / 2) != GPUARENA_OK;
        wrong += !like_drop_from(&bench, 0);
    }
    CHECK_INT(wrong, ==, 0);
    CHECK_U64(like_reserved(&bench), ==, MIB(1024));
    CHECK(like_asked(&bench, regions));
    like_close(&bench, "kNextPowerOfTwo");
}

/* Nothing goes back before it fails, as garbage collection is not ORT's. A trim gives back regions that are empty. */
static void test_idle(void)
{
    like_open(&bench, "ort:limit=127M", GIB(64));
    CHECK(like_take_many(&bench, 100, MIB(1)));
    CHECK_U64(like_reserved(&bench), ==, MIB(127));
    CHECK(like_drop_from(&bench, 1));
    CHECK_INT(like_take(&bench, MIB(65)), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_INT(bench.refused.reason, ==, GPUARENA_REASON_FRAGMENTED);
    CHECK_INT(model_trim(bench.model, &bench.refused), ==, GPUARENA_OK);
    CHECK_MSG(like_reserved(&bench) == MIB(1), "the region in use stays");
    CHECK_INT(like_take(&bench, MIB(65)), ==, GPUARENA_OK);
    like_close(&bench, "what is idle");
}

/* A6.7, [OT]: a limit next to what a size can be. */
static void test_limit(void)
{
    like_open(&bench, "ort:limit=18446744073709551614", GIB(64));
    CHECK_INT(like_take(&bench, UINT64_MAX - 1), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_INT(like_take(&bench, GIB(3)), ==, GPUARENA_OK);
    CHECK_MSG(like_reserved(&bench) == GIB(4), "above 1 GiB the step doubles, too");
    CHECK_INT(like_take(&bench, GIB(1) + 1), ==, GPUARENA_OK);
    CHECK_MSG(like_reserved(&bench) == GIB(6), "and the next begins at 1 GiB again");
    like_close(&bench, "limit");
}

int main(void)
{
    test_rules();
    test_no_dups();
    test_coalescing();
    test_wall();
    test_growth();
    test_slack();
    test_edges();
    test_back_off();
    test_ort_rules();
    test_rising_shapes();
    test_idle();
    test_limit();
    return tap_done();
}
