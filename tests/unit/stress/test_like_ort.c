/* The model ort against ONNX Runtime's BFC arena: a reference of its rules, and what its growth costs.
   It must not know the implementation. Each test names the paragraph of allocators.md that it stands on.
   What the library reserves: test_golden_peaks.c */
#include "like.h"

static like_bench bench;
static like_model reference;

/* A1.2 to A1.4, which are BFC's, with max_dead_bytes_per_chunk of 128 MiB. */
static uint64_t ort_round(uint64_t bytes) { return (bytes + 255) / 256 * 256; }

static int ort_pool(uint64_t rounded) { return rounded == 0; }

static int ort_splits(uint64_t chunk, uint64_t rounded)
{
    return chunk >= 2 * rounded || chunk - rounded >= MIB(128);
}

/* A4, ORT knobs: 1 MiB first; the step doubles, and is 1 GiB at most for the next region. */
static uint64_t ort_region(like_model *self, uint64_t rounded)
{
    uint64_t region = self->step_bytes;
    while (region < rounded) region *= 2;
    self->step_bytes = region > self->step_bytes ? region : 2 * region;
    if (self->step_bytes > GIB(1)) self->step_bytes = GIB(1);
    return region;
}

static void test_rules(void)
{
    static const like_rules rules = { ort_round, ort_pool, ort_splits, ort_region };
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
    test_rising_shapes();
    test_idle();
    test_limit();
    return tap_done();
}
