/* Caches of streams, one thing each: that they need no lock of the arena; what they give back, and when; misuse of
   what they keep; with what they are refused.
   It must not know how blocks are chosen. */
#include "caches.h"

static caches_world world;

/* Hits and frees of a stream that has its memory go on while another thread is inside: its lock is held here. */
static void test_needs_no_lock(void)
{
    gpuarena *arena;
    caches_open(&world, "cache=1M");
    arena = world.arena;
    void *first = NULL, *ptr = NULL;
    CHECK_INT(gpuarena_alloc(arena, &first, KIB(4), NULL), ==, GPUARENA_OK);         /* makes the stream known */
    CHECK_INT(gpuarena_alloc(arena, &ptr, KIB(4), NULL), ==, GPUARENA_OK);
    gpuarena__spin_lock(&arena->lock);
    int failed = 0;
    for (int round = 0; round < 1000; round++) {
        failed |= gpuarena_free(arena, ptr, NULL);
        failed |= gpuarena_alloc(arena, &ptr, KIB(4) - (uint64_t)round % 200, NULL);
    }
    gpuarena__spin_unlock(&arena->lock);
    CHECK_INT(failed, ==, 0);
    gpuarena_stats stats;
    gpuarena_get_stats(arena, &stats);
    CHECK_U64(stats.alloc_count, ==, 1002);
    CHECK_U64(stats.free_count, ==, 1000);
    CHECK_U64(stats.requested_bytes, ==, KIB(8) - 199);
    CHECK_U64(stats.live_bytes, ==, KIB(8));
    CHECK_U64(stats.requested_peak_bytes, ==, KIB(8));
    CHECK_INT(gpuarena_free(arena, ptr, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(arena, first, NULL), ==, GPUARENA_OK);
    caches_close(&world);
}

/* What is kept is nobody's loss: all of a limit can be had behind it, it counts as free, and goes back. */
static void test_is_given_up(const char *keys)
{
    enum { SMALL = 128 };
    gpuarena *arena;
    caches_open(&world, keys);
    arena = world.arena;
    gpuarena_stats stats;
    void *small[SMALL] = { NULL }, *large = NULL;
    int failed = 0;
    for (int round = 0; round < 2; round++) {
        for (int at = 0; at < SMALL; at++)
            failed |= gpuarena_alloc(arena, &small[at], KIB(64), NULL);
        for (int at = 0; at < SMALL; at++) failed |= gpuarena_free(arena, small[at], NULL);
        CHECK_MSG(caches_kept_bytes(&world) > 0 || !round, "%s: what is freed is kept", keys);
    }
    CHECK_INT(gpuarena_alloc(arena, &large, MIB(8), NULL), ==, GPUARENA_OK);
    CHECK_U64(caches_kept_bytes(&world), ==, 0);
    CHECK_INT(gpuarena_free(arena, large, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(arena, &small[0], KIB(64), NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(arena, small[0], NULL), ==, GPUARENA_OK);
    CHECK_U64(caches_kept_bytes(&world), ==, KIB(64));
    gpuarena_get_stats(arena, &stats);
    CHECK_U64(stats.live_bytes, ==, 0);
    CHECK_U64(stats.pending_bytes + stats.cached_bytes, ==, stats.reserved_bytes);
    CHECK_INT(gpuarena_trim(arena, 0, NULL), ==, GPUARENA_OK);
    gpuarena_get_stats(arena, &stats);
    CHECK_U64(stats.reserved_bytes, ==, 0);
    CHECK_INT(failed, ==, 0);
    caches_close(&world);
}

/* What its own stream keeps, joined, serves a request that nothing else does; what another keeps stays there. */
static void test_own_serves_first(void)
{
    enum { BLOCKS = 30 };
    gpuarena_stream own, other;
    void *blocks[BLOCKS] = { NULL }, *first = NULL, *kept = NULL, *joined = NULL;
    int failed = 0;
    caches_open(&world, "backing=segments,cache=4M,limit=2M");
    sim_stream_create(world.bench.machine, 0, 0, &own);
    sim_stream_create(world.bench.machine, 0, 0, &other);
    failed |= gpuarena_alloc(world.arena, &first, KIB(64), other);
    failed |= gpuarena_alloc(world.arena, &blocks[0], KIB(64), own);
    failed |= gpuarena_alloc(world.arena, &kept, KIB(64), other);
    for (int at = 1; at < BLOCKS - 1; at++) failed |= gpuarena_alloc(world.arena, &blocks[at], KIB(64), own);
    for (int at = 10; at < 14; at++) failed |= gpuarena_free(world.arena, blocks[at], own);
    failed |= gpuarena_free(world.arena, kept, other);
    CHECK_U64(caches_kept_bytes(&world), ==, 5 * KIB(64));
    failed |= gpuarena_alloc(world.arena, &joined, KIB(256), own);
    CHECK(joined == blocks[10]);
    CHECK_U64(caches_kept_bytes(&world), ==, KIB(64));
    CHECK_INT(failed, ==, 0);
    CHECK_INT(gpuarena_reset(world.arena, NULL), ==, GPUARENA_OK);
    caches_close(&world);
}

/* A block that is kept is free: freed once more it is a double free, on any stream; used, it is no live block. */
static void test_misuse_of_kept(void)
{
    gpuarena *arena;
    caches_open(&world, "cache=1M");
    arena = world.arena;
    const gpuarena_stream streams[3] = { NULL, GPUARENA_OWN_STREAM, GPUARENA_ANY_STREAM };
    void *first = NULL, *ptr = NULL;
    gpuarena_failure failure;
    CHECK_INT(gpuarena_alloc(arena, &first, KIB(4), NULL), ==, GPUARENA_OK);
    for (int at = 0; at < 3; at++) {
        CHECK_INT(gpuarena_alloc(arena, &ptr, KIB(4), NULL), ==, GPUARENA_OK);
        CHECK_INT(gpuarena_free(arena, ptr, NULL), ==, GPUARENA_OK);
        CHECK_U64(caches_kept_bytes(&world), ==, KIB(4));
        CHECK_INT(gpuarena_free(arena, ptr, streams[at]), ==, GPUARENA_DOUBLE_FREE);
        gpuarena_last_failure(arena, &failure);
        CHECK_INT(failure.block.state, ==, GPUARENA_STATE_PENDING);
    }
    CHECK_INT(gpuarena_alloc(arena, &ptr, KIB(4), NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(arena, ptr, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_use(arena, ptr, NULL), ==, GPUARENA_DOUBLE_FREE);
    CHECK_INT(gpuarena_free(arena, first, NULL), ==, GPUARENA_OK);
    caches_close(&world);
}

/* Above a lowered limit what is freed goes back, and is not kept. */
static void test_lowered_limit(void)
{
    enum { COUNT_EACH = 68 };
    void *blocks[COUNT_EACH] = { NULL };
    gpuarena_stats stats;
    int failed = 0;
    caches_open(&world, "backing=segments,growth=exact,cache=16M");
    for (int round = 0; round < 2; round++) {    /* those of the second are known to the cache */
        for (int at = 0; at < COUNT_EACH; at++) failed |= gpuarena_alloc(world.arena, &blocks[at], KIB(512), NULL);
        for (int at = 0; at < COUNT_EACH && !round; at++) failed |= gpuarena_free(world.arena, blocks[at], NULL);
    }
    (void)gpuarena_set_limit(world.arena, MIB(2));
    for (int at = 0; at < COUNT_EACH; at++) failed |= gpuarena_free(world.arena, blocks[at], NULL);
    CHECK_INT(failed, ==, 0);
    gpuarena_get_stats(world.arena, &stats);
    CHECK_U64(stats.reserved_bytes, <=, MIB(2));
    caches_close(&world);
}

/* A block of ordinary memory that a captured stream frees is not for the capture's allocations. */
static void test_capture(void)
{
    void *first = NULL, *ptr = NULL, *inside = NULL;
    gpuarena_stream stream;
    uint64_t set = 0;
    caches_open(&world, "cache=1M");
    sim_stream_create(world.bench.machine, 0, 0, &stream);
    CHECK_INT(gpuarena_alloc(world.arena, &first, KIB(4), stream), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(world.arena, &ptr, KIB(4), stream), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_capture_begin(world.arena, stream, &set), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(world.arena, ptr, stream), ==, GPUARENA_OK);
    CHECK_U64(caches_kept_bytes(&world), ==, 0);
    CHECK_INT(gpuarena_alloc(world.arena, &inside, KIB(4), stream), ==, GPUARENA_OK);
    CHECK(inside != ptr);
    CHECK_INT(gpuarena_free(world.arena, inside, stream), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_capture_end(world.arena, stream), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_capture_release(world.arena, set, GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(world.arena, first, stream), ==, GPUARENA_OK);
    caches_close(&world);
}

static void test_configuration(void)
{
    gpuarena_config config = GPUARENA_INIT;
    gpuarena_failure failure;
    gpuarena *arena = NULL;
    char text[200];
    sim_bench bench = bench_open_sized(GIB(1), NULL);
    config.driver = &bench.driver;
    config.environment = "";
    config.release = GPUARENA_RELEASE_AGE;
    config.cache_bytes = 1;
    CHECK_INT(gpuarena_create(&config, &arena), ==, GPUARENA_INVALID_CONFIG);
    gpuarena_last_failure(NULL, &failure);
    CHECK_STR(failure.detail, "cache: only with release=on_demand, pressure");
    config.release = GPUARENA_RELEASE_ON_DEMAND;
    config.cache_bytes = MIB(3);
    (void)gpuarena_config_text(&config, text, sizeof text);
    CHECK_STR(text, "cache=3M");
    bench_close(&bench);
}

int main(void)
{
    test_needs_no_lock();
    test_is_given_up("backing=segments,cache=4M,limit=8M");
    test_is_given_up("backing=paged,cache=4M,limit=8M");
    test_own_serves_first();
    test_misuse_of_kept();
    test_lowered_limit();
    test_capture();
    test_configuration();
    return tap_done();
}
