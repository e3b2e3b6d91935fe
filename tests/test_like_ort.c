/* The preset ort against ONNX Runtime's BFC arena: a model of its rules, and what its two strategies cost.
   It must not know the implementation. Each test names the paragraph of allocators.md that it stands on.
   Run: make test, or prove build/tests/test_like_ort */
#include "like.h"

static like_bench bench;
static like_model model;

/* A1.2 to A1.4, which are BFC's, with max_dead_bytes_per_chunk of 128 MiB. */
static uint64_t ort_round(uint64_t bytes) { return (bytes + 255) / 256 * 256; }

static int ort_pool(uint64_t rounded) { return rounded == 0; }

static int ort_splits(uint64_t chunk, uint64_t rounded)
{
    return chunk >= 2 * rounded || chunk - rounded >= MIB(128);
}

/* A4, ORT knobs: the step doubles up to 1 GiB; what is larger is served as it is, in granules. */
static uint64_t ort_region(like_model *self, uint64_t rounded)
{
    uint64_t region = self->step_bytes, need = (rounded + MIB(2) - 1) / MIB(2) * MIB(2);
    while (region < rounded && region < GIB(1)) region *= 2;
    if (region == self->step_bytes && region < GIB(1)) self->step_bytes *= 2;
    else self->step_bytes = region;
    return region > need ? region : need;
}

static uint64_t ort_same(like_model *self, uint64_t rounded)
{
    (void)self;
    return (rounded + MIB(2) - 1) / MIB(2) * MIB(2);
}

static const like_rules ort_rules = { ort_round, ort_pool, ort_splits, ort_region };
static const like_rules ort_same_rules = { ort_round, ort_pool, ort_splits, ort_same };

static void test_rules(void)
{
    static const struct { unsigned bits; int live; } mixes[] = {
        { 12, 1000 }, { 21, 600 }, { 27, 200 }, { 31, 100 } };
    static const struct { const char *text; const like_rules *rules; } strategies[] = {
        { "ort", &ort_rules }, { "ort,growth=exact,step_max=0", &ort_same_rules } };
    for (size_t at = 0; at < sizeof mixes / sizeof mixes[0]; at++)
        for (size_t which = 0; which < 2; which++) {
            like_open(&bench, strategies[which].text, GIB(4096));
            like_begin(&model, strategies[which].rules, MIB(2));
            CHECK_MSG(like_follow(&bench, &model, 20000, mixes[at].live, mixes[at].bits),
                      "%s: 20,000 operations below 2^%u bytes, as the model has them", strategies[which].text,
                      mixes[at].bits);
            like_close(&bench, "the model's operations");
        }
}

/* 50 times a shape of 64 MiB and 7 more each time, and half of it; the peak is 611 MiB. */
static void rising_shapes(uint64_t scale)
{
    int wrong = 0;
    for (uint64_t round = 0; round < 50; round++) {
        uint64_t bytes = MIB(64 + 7 * round) * scale;
        wrong += like_take(&bench, bytes) != GPUARENA_OK || like_take(&bench, bytes / 2) != GPUARENA_OK;
        wrong += !like_drop_from(&bench, 0);
    }
    CHECK_INT(wrong, ==, 0);
    CHECK_U64((like_stats(&bench).requested_peak_bytes + MIB(1) - 1) >> 20, ==, scale == 1 ? 611 : 1221);
}

/* A4, arena_extend_strategy: kSameAsRequested holds 11,807 MiB in 51 regions, kNextPowerOfTwo 1,024 MiB in 5. Shapes
   of an odd number of MiB have a segment of one more, of which there are 25: so the first is shown to the byte with
   everything twice as large, max_dead_bytes_per_chunk too. */
static void test_strategies(void)
{
    static const uint64_t regions[] = { 64, 64, 128, 256, 512, 0 };
    like_open(&bench, "ort", GIB(64));
    rising_shapes(1);
    CHECK_U64(like_stats(&bench).reserved_bytes, ==, MIB(1024));
    CHECK(like_asked(&bench, regions));
    like_close(&bench, "kNextPowerOfTwo");
    like_open(&bench, "ort,growth=exact,step_max=0", GIB(64));
    rising_shapes(1);
    CHECK_U64(like_stats(&bench).reserved_bytes, ==, MIB(11807 + 25));
    CHECK_U64(like_stats(&bench).grow_count, ==, 51);
    like_close(&bench, "kSameAsRequested");
    like_open(&bench, "ort,growth=exact,step_max=0,split_least=256M", GIB(64));
    rising_shapes(2);
    CHECK_U64(like_stats(&bench).reserved_bytes, ==, 2 * MIB(11807));
    CHECK_U64(like_stats(&bench).grow_count, ==, 51);
    like_close(&bench, "kSameAsRequested, twice as large");
}

/* A4, ORT shrinkage, and A6, ORT extra: what is empty goes back, and the step starts again. */
static void test_shrink(void)
{
    uint64_t released = 0;
    like_open(&bench, "ort", GIB(64));
    CHECK(like_take_many(&bench, 100, MIB(1)));
    CHECK_U64(like_stats(&bench).reserved_bytes, ==, MIB(126));
    void *kept = bench.blocks[0];
    bench.blocks[0] = NULL;
    CHECK(like_drop_from(&bench, 0));
    CHECK_INT(gpuarena_trim(bench.arena, 0, &released), ==, GPUARENA_OK);
    CHECK_MSG(released == MIB(124) && like_stats(&bench).reserved_bytes == MIB(2), "the region in use stays");
    CHECK_INT(gpuarena_free(bench.arena, kept, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_trim(bench.arena, 0, NULL), ==, GPUARENA_OK);
    fake_forget_calls(&bench.device);
    CHECK(like_take_many(&bench, 1, 1) && bench.device.asked[0] == MIB(2));
    like_close(&bench, "shrinkage");
}

/* A6.7, [OT]: a limit next to what a size can be. */
static void test_limit(void)
{
    gpuarena *arena = NULL;
    like_open(&bench, "ort", GIB(64));
    gpuarena_config config = fake_config(&bench.device);
    CHECK_INT(gpuarena_config_parse("ort", &config, NULL, 0), ==, GPUARENA_OK);
    config.limit_bytes = UINT64_MAX - 1;
    CHECK_INT(gpuarena_create(&config, &arena), ==, GPUARENA_INVALID_CONFIG);
    CHECK_INT(like_take(&bench, UINT64_MAX - 1), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_INT(like_take(&bench, GIB(3)), ==, GPUARENA_OK);
    CHECK_MSG(like_stats(&bench).reserved_bytes == GIB(3), "above 1 GiB: what is asked for");
    like_close(&bench, "limit");
}

int main(void)
{
    test_rules();
    test_strategies();
    test_shrink();
    test_limit();
    return tap_done();
}
