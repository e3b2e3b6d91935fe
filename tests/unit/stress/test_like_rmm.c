/* The model rmm against RMM's pool_memory_resource: a reference of its rules, its tests' cases; and rmm-arena.
   It must not know the implementation. Each test names the paragraph of allocators.md that it stands on.
   What RMM itself reserves: test_golden_peaks.c */
#include "like.h"

static like_bench bench;
static like_model reference;

/* C1, RMM pool: multiples of 256 bytes. */
static uint64_t rmm_round(uint64_t bytes) { return (bytes + 255) / 256 * 256; }

static int rmm_pool(uint64_t rounded) { return rounded == 0; }

/* C1, Free list: the rest is always kept. */
static int rmm_splits(uint64_t chunk, uint64_t rounded) { return chunk > rounded; }

/* C1, Growth without a cap: the request, or as much as there is. */
static uint64_t rmm_region(like_model *self, uint64_t rounded)
{
    return rounded > self->reserved_bytes ? rounded : self->reserved_bytes;
}

static void test_rules(void)
{
    static const like_rules rules = { rmm_round, rmm_pool, rmm_splits, rmm_region };
    like_mixes(&bench, &reference, "rmm", &rules, 0);
}

/* C1, Growth with a cap: the request, or half of what remains. */
static void test_halves(void)
{
    static const uint64_t regions[] = { 32, 16, 8, 4, 2, 1, 1, 0 };
    like_open(&bench, "rmm:limit=64M", GIB(1));
    CHECK(like_take_many(&bench, 64, MIB(1)) && like_asked(&bench, regions));
    CHECK_INT(like_take(&bench, 1), ==, GPUARENA_OUT_OF_MEMORY);
    like_close(&bench, "halves of what remains");
    static const uint64_t request[] = { 40, 20, 4, 0 };
    like_open(&bench, "rmm:limit=64M", GIB(1));
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
    like_open(&bench, "rmm", 6000);
    for (size_t at = 0; at < 4; at++)
        CHECK_MSG(like_take(&bench, without[at].bytes) == without[at].result, "no cap: %" PRIu64 ": %s",
                  without[at].bytes, gpuarena_result_name(without[at].result));
    CHECK_MSG(bench.device.obtained > 4, "the third was had by asking for less");
    like_close(&bench, "no cap");
    like_open(&bench, "rmm:limit=8192", 6000);
    for (size_t at = 0; at < 4; at++)
        CHECK_MSG(like_take(&bench, capped[at].bytes) == capped[at].result, "cap 8,192: %" PRIu64 ": %s",
                  capped[at].bytes, gpuarena_result_name(capped[at].result));
    like_close(&bench, "with a cap");
}

/* C1, Growth: a pool under a cap gives back what is idle and whole before it fails, and else nothing. */
static void test_reclaim(void)
{
    like_open(&bench, "rmm:limit=64M", GIB(1));
    CHECK(like_take_many(&bench, 2, MIB(30)) && like_drop_from(&bench, 0));
    CHECK_U64(like_reserved(&bench), ==, MIB(62));
    CHECK_INT(like_take(&bench, MIB(64)), ==, GPUARENA_OK);
    CHECK_U64(bench.device.given_back, ==, 2);
    CHECK_INT(like_take(&bench, 1), ==, GPUARENA_OUT_OF_MEMORY);
    like_close(&bench, "reclaim");
}

/* C1, Alloc order: another stream's block before growth, then what lists merged make, then the driver. */
static void test_streams(void)
{
    gpuarena_stream one = (gpuarena_stream)(intptr_t)16, two = (gpuarena_stream)(intptr_t)32;
    void *blocks[4];
    like_open(&bench, "rmm", GIB(1));
    for (int at = 0; at < 2; at++)
        CHECK_INT(model_alloc(bench.model, &blocks[at], MIB(4), at ? two : one, &bench.refused), ==, GPUARENA_OK);
    CHECK_INT(model_free(bench.model, blocks[0], one, &bench.refused), ==, GPUARENA_OK);
    CHECK_INT(model_alloc(bench.model, &blocks[2], MIB(4), two, &bench.refused), ==, GPUARENA_OK);
    CHECK_MSG(blocks[2] == blocks[0] && bench.device.obtained == 2, "the other stream's block");
    CHECK_INT(model_alloc(bench.model, &blocks[0], MIB(8), one, &bench.refused), ==, GPUARENA_OK);
    CHECK_U64(bench.device.obtained, ==, 3);
    CHECK_INT(model_alloc(bench.model, &blocks[3], MIB(2), one, &bench.refused), ==, GPUARENA_OK);
    CHECK_U64(like_reserved(&bench), ==, MIB(32));
    like_close(&bench, "streams");
}

/* C4, 4, 1 and 2: nothing, a petabyte, quarters of the device, and 100 random sizes kept. */
static void test_edges(void)
{
    uint64_t state = 4;
    void *ptr = &bench;
    like_open(&bench, "rmm", GIB(2));
    CHECK(model_alloc(bench.model, &ptr, 0, NULL, &bench.refused) == GPUARENA_OK && !ptr);
    CHECK_INT(like_take(&bench, UINT64_C(1) << 50), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK(like_take_many(&bench, 1, 4) && like_take_many(&bench, 1, KIB(1)) && like_take_many(&bench, 1, MIB(1))
          && like_take_many(&bench, 1, GIB(1)));
    CHECK(like_drop_from(&bench, 0));
    int wrong = 0;
    for (int at = 0; at < 100; at++) wrong += !like_take_many(&bench, 1, 1 + splitmix64_next(&state) % MIB(5));
    for (size_t at = 0; at < bench.count; at++) wrong += (uintptr_t)bench.blocks[at] % 256 != 0;
    CHECK_MSG(!wrong && like_drop_from(&bench, 0), "100 random sizes up to 5 MiB, aligned to 256");
    like_close(&bench, "edges");
    like_open(&bench, "rmm", GIB(1));
    CHECK_MSG(like_take_many(&bench, 2, MIB(250)), "two buffers of a quarter of the device");
    like_close(&bench, "two buffers");
}

/* C1, arena: half of the device at once; superblocks of a stream's own to 1 MiB, the global arena's above; what it
   has can be had whole again after every free. C4, 8 to 10. */
static void test_arena(void)
{
    gpuarena_stream side = (gpuarena_stream)(intptr_t)16;
    void *small[2], *large = NULL;
    like_open(&bench, "rmm-arena", MIB(64));
    CHECK_U64(like_reserved(&bench), ==, MIB(32));
    CHECK_INT(model_alloc(bench.model, &small[0], 1000, NULL, &bench.refused), ==, GPUARENA_OK);
    CHECK_INT(model_alloc(bench.model, &small[1], 1000, side, &bench.refused), ==, GPUARENA_OK);
    CHECK_MSG((char *)small[1] == (char *)small[0] + MIB(1), "a superblock of 1 MiB for each stream");
    CHECK_U64(like_use(&bench).live_bytes, ==, 2048);
    CHECK_INT(model_alloc(bench.model, &large, MIB(30) + 1, NULL, &bench.refused), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_INT(model_alloc(bench.model, &large, MIB(30), NULL, &bench.refused), ==, GPUARENA_OK);
    CHECK_INT(model_free(bench.model, large, NULL, &bench.refused), ==, GPUARENA_OK);
    CHECK_INT(model_free(bench.model, small[0], NULL, &bench.refused), ==, GPUARENA_OK);
    CHECK_INT(model_free(bench.model, small[1], side, &bench.refused), ==, GPUARENA_OK);
    CHECK_MSG(like_take(&bench, MIB(32)) == GPUARENA_OK, "all of it, once the streams' superblocks have gone back");
    CHECK(like_drop_from(&bench, 0));
    uint64_t state = 5;
    int wrong = 0;
    for (int op = 0; op < 20000; op++) {
        if (bench.count && (bench.count == 60 || splitmix64_next(&state) % 2)) {
            wrong += !like_drop(&bench, splitmix64_next(&state) % bench.count);
        } else (void)like_take(&bench, like_draw_size(&state, 22));
    }
    CHECK(!wrong && like_drop_from(&bench, 0));
    CHECK_MSG(like_take(&bench, MIB(32)) == GPUARENA_OK && bench.device.obtained == 1, "20,000 operations later too");
    like_close(&bench, "rmm-arena");
}

int main(void)
{
    test_rules();
    test_halves();
    test_upstream();
    test_reclaim();
    test_streams();
    test_edges();
    test_arena();
    return tap_done();
}
