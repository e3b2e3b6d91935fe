/* The preset rmm against RMM's pool_memory_resource: a model of its rules, and the cases of its tests.
   It must not know the implementation. Each test names the paragraph of allocators.md that it stands on; RMM counts
   bytes where segments are of 2 MiB, so its cases have every size x 8,192 (C4, 5).
   Run: make test, or prove build/tests/test_like_rmm */
#include "like.h"

#define SCALED(bytes) ((uint64_t)(bytes) * 8192)

static like_bench bench;
static like_model model;

/* C1, RMM pool: multiples of 256 bytes. */
static uint64_t rmm_round(uint64_t bytes) { return (bytes + 255) / 256 * 256; }

static int rmm_pool(uint64_t rounded) { return rounded == 0; }

/* C1, Free list: the rest is always kept. */
static int rmm_splits(uint64_t chunk, uint64_t rounded) { return chunk > rounded; }

/* C1, Growth without a cap: the request, or as much as there is; in granules. */
static uint64_t rmm_region(like_model *self, uint64_t rounded)
{
    uint64_t need = (rounded + MIB(2) - 1) / MIB(2) * MIB(2);
    return need > self->reserved_bytes ? need : self->reserved_bytes;
}

static const like_rules rmm_rules = { rmm_round, rmm_pool, rmm_splits, rmm_region };

static void test_rules(void)
{
    static const struct { unsigned bits; int live; } mixes[] = {
        { 12, 1000 }, { 21, 600 }, { 27, 200 }, { 30, 100 } };
    for (size_t at = 0; at < sizeof mixes / sizeof mixes[0]; at++) {
        like_open(&bench, "rmm", GIB(4096));
        like_begin(&model, &rmm_rules, 0);
        CHECK_MSG(like_follow(&bench, &model, 20000, mixes[at].live, mixes[at].bits),
                  "20,000 operations below 2^%u bytes, as the model has them", mixes[at].bits);
        like_close(&bench, "the model's operations");
    }
}

/* C1, Growth with a cap: the request, or half of what remains. */
static void test_halves(void)
{
    static const uint64_t regions[] = { 32, 16, 8, 4, 2, 2, 0 };
    like_open(&bench, "rmm,limit=64M", GIB(1));
    CHECK(like_take_many(&bench, 64, MIB(1)) && like_asked(&bench, regions));
    CHECK_INT(like_take(&bench, 1), ==, GPUARENA_OUT_OF_MEMORY);
    like_close(&bench, "halves of what remains");
    static const uint64_t request[] = { 40, 20, 4, 0 };
    like_open(&bench, "rmm,limit=64M", GIB(1));
    CHECK(like_take(&bench, MIB(40)) == GPUARENA_OK && like_take(&bench, MIB(20)) == GPUARENA_OK
          && like_take(&bench, MIB(4)) == GPUARENA_OK && like_asked(&bench, request));
    like_close(&bench, "a request above half of what remains");
}

/* C4, 5: the driver below has 6,000 bytes; with a cap of 8,192 and without. */
static void test_upstream(void)
{
    static const struct { uint64_t bytes; gpuarena_result result; } without[] = {
        { 1000, GPUARENA_OK }, { 4000, GPUARENA_OK }, { 500, GPUARENA_OK }, { 2000, GPUARENA_OUT_OF_MEMORY } },
        capped[] = {
        { 1000, GPUARENA_OK }, { 4000, GPUARENA_OUT_OF_MEMORY }, { 500, GPUARENA_OK }, { 2000, GPUARENA_OK } };
    like_open(&bench, "rmm", SCALED(6000));
    for (size_t at = 0; at < 4; at++)
        CHECK_MSG(like_take(&bench, SCALED(without[at].bytes)) == without[at].result,
                  "no cap: %" PRIu64 " x 8,192: %s", without[at].bytes, gpuarena_result_name(without[at].result));
    CHECK_MSG(like_stats(&bench).backoff_count > 0, "the third was had by asking for less");
    like_close(&bench, "no cap");
    like_open(&bench, "rmm,limit=64M", SCALED(8192));
    bench.device.rival_bytes = SCALED(8192 - 6000);
    for (size_t at = 0; at < 4; at++)
        CHECK_MSG(like_take(&bench, SCALED(capped[at].bytes)) == capped[at].result,
                  "cap 8,192: %" PRIu64 " x 8,192: %s", capped[at].bytes, gpuarena_result_name(capped[at].result));
    like_close(&bench, "with a cap");
}

/* C4, 7: the whole cap can be had, where what was taken at first is idle, or of whole requests. */
static void test_cap(void)
{
    gpuarena_failure failure;
    like_open(&bench, "rmm,initial=2M,limit=8M", GIB(1));
    CHECK_U64(like_stats(&bench).reserved_bytes, ==, SCALED(256));
    CHECK_MSG(like_take(&bench, SCALED(1024)) == GPUARENA_OK, "initial 256, cap 1,024: 1,024 (rmm#1957)");
    like_close(&bench, "the whole cap in one");
    static const uint64_t initials[] = { 1, 2, 3, 5, 6, 7, 8, 16, 24, 32, 40, 48, 56, 64 };
    for (size_t at = 0; at < sizeof initials / sizeof initials[0]; at++) {
        char text[64];
        snprintf(text, sizeof text, "rmm,initial=%" PRIu64 "M,limit=64M", initials[at]);
        like_open(&bench, text, GIB(1));
        int all = like_take_many(&bench, 8, MIB(8));
        gpuarena_last_failure(bench.arena, &failure);
        CHECK_MSG(all, "%s: 8 x 8 MiB (rmm#1664) %s", text, gpuarena_reason_name(failure.reason));
        like_close(&bench, "the whole cap in eight");
    }
}

/* C4, 4: the cap and what is taken at first. */
static void test_sizes(void)
{
    gpuarena *arena = NULL;
    like_open(&bench, "rmm,initial=64M,limit=64M", MIB(71));
    CHECK_INT(like_take(&bench, MIB(64)), ==, GPUARENA_OK);
    CHECK_INT(like_take(&bench, 1), ==, GPUARENA_OUT_OF_MEMORY);
    gpuarena_config config = fake_config(&bench.device);
    config.initial_bytes = MIB(8);
    config.limit_bytes = MIB(4);
    CHECK_MSG(gpuarena_create(&config, &arena) == GPUARENA_INVALID_CONFIG, "a cap below what is taken at first");
    like_close(&bench, "the cap taken at first, of 90 % of the device");
    like_open(&bench, "rmm", GIB(1));
    CHECK_MSG(like_take_many(&bench, 2, MIB(250)), "two buffers of a quarter of the device");
    like_close(&bench, "two buffers");
}

/* C4, 1 and 2: nothing, a petabyte, and 100 random sizes kept. */
static void test_edges(void)
{
    uint64_t state = 4;
    void *ptr = &bench;
    like_open(&bench, "rmm", GIB(2));
    CHECK(gpuarena_alloc(bench.arena, &ptr, 0, NULL) == GPUARENA_OK && !ptr);
    CHECK_INT(like_take(&bench, UINT64_C(1) << 50), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK(like_take_many(&bench, 1, 4) && like_take_many(&bench, 1, KIB(1)) && like_take_many(&bench, 1, MIB(1))
          && like_take_many(&bench, 1, GIB(1)));
    CHECK(like_drop_from(&bench, 0));
    int wrong = 0;
    for (int at = 0; at < 100; at++) wrong += !like_take_many(&bench, 1, 1 + like_draw(&state) % MIB(5));
    for (size_t at = 0; at < bench.count; at++) wrong += fake_address(bench.blocks[at]) % 256 != 0;
    CHECK_MSG(!wrong && like_drop_from(&bench, 0), "100 random sizes up to 5 MiB, aligned to 256");
    like_close(&bench, "edges");
}

int main(void)
{
    test_rules();
    test_halves();
    test_upstream();
    test_cap();
    test_sizes();
    test_edges();
    return tap_done();
}
