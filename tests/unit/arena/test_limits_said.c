/* Limits as people write them: 5,000 MiB to the byte on both backings, at every growth and release; changed at run
   time; what a refusal tells of the reason. It must not know the implementation: the contracts, and what the
   simulated device counts. */
#include "sim_device.h"

static sim_bench bench;

static gpuarena_result create(gpuarena_config *config, gpuarena **arena)
{
    config->driver = &bench.driver;
    config->environment = "";
    return gpuarena_create(config, arena);
}

/* 5,000 MiB: all of it can be had, and not a byte more is ever held, by small requests and by one. */
static void test_to_the_byte(const char *text)
{
    gpuarena_config config = GPUARENA_INIT;
    gpuarena *arena = NULL;
    gpuarena_stats stats;
    void *ptr = NULL;
    char whole[200];
    int wrong = 0;
    snprintf(whole, sizeof whole, "%s,limit=5000M", text);
    if (gpuarena_config_parse(whole, &config, NULL, 0) || create(&config, &arena)) {
        CHECK_MSG(0, "%s", whole);
        return;
    }
    sim_reset_counters(bench.machine, 0);
    while (gpuarena_alloc(arena, &ptr, MIB(2), NULL) == GPUARENA_OK) continue;
    gpuarena_get_stats(arena, &stats);
    wrong += stats.live_bytes != 5242880000u || stats.reserved_bytes != 5242880000u;
    wrong += bench_counters(&bench).held_peak_bytes != 5242880000u;
    wrong += gpuarena_reset(arena, GPUARENA_ANY_STREAM) != GPUARENA_OK;
    wrong += gpuarena_alloc(arena, &ptr, 5242880000u, NULL) != GPUARENA_OK;
    wrong += gpuarena_free(arena, ptr, GPUARENA_ANY_STREAM) != GPUARENA_OK;
    wrong += gpuarena_alloc(arena, &ptr, 5242880001u, NULL) != GPUARENA_OUT_OF_MEMORY;
    wrong += bench_counters(&bench).held_peak_bytes != 5242880000u;
    wrong += gpuarena_destroy(arena) != GPUARENA_OK || bench_counters(&bench).held_bytes != 0;
    CHECK_MSG(wrong == 0, "%s: 5,242,880,000 bytes, %d wrong", whole, wrong);
}

/* Lowered: what can go goes, and what remains is said; raised: all is as before. */
static void test_lowered(const char *text)
{
    gpuarena_config config = GPUARENA_INIT, found;
    gpuarena *arena = NULL;
    gpuarena_stats stats;
    void *kept = NULL, *gone = NULL, *none = NULL;
    CHECK_INT(gpuarena_config_parse(text, &config, NULL, 0), ==, GPUARENA_OK);
    CHECK_INT(create(&config, &arena), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(arena, &kept, MIB(600), NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(arena, &gone, MIB(400), NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(arena, gone, GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_set_limit(arena, MIB(500)), ==, GPUARENA_OK);
    gpuarena_get_stats(arena, &stats);
    gpuarena_get_config(arena, &found);
    CHECK_MSG(stats.limit_bytes == MIB(500) && found.limit_bytes == MIB(500), "%s: the limit is in force", text);
    CHECK_U64(stats.reserved_bytes, ==, MIB(600));
    CHECK_U64(stats.excess_bytes, ==, MIB(100));
    CHECK_INT(gpuarena_alloc(arena, &none, 1, NULL), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_INT(gpuarena_free(arena, kept, GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
    gpuarena_get_stats(arena, &stats);
    CHECK_MSG(stats.reserved_bytes <= MIB(500) && stats.excess_bytes == 0, "what became idle is gone");
    CHECK_INT(gpuarena_alloc(arena, &none, MIB(600), NULL), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_INT(gpuarena_set_limit(arena, MIB(700)), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(arena, &kept, MIB(600), NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(arena, kept, GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    CHECK_U64(bench_counters(&bench).held_bytes, ==, 0);
}

/* The latest refusal, which is for this reason. */
static gpuarena_failure refusal(gpuarena *arena, gpuarena_reason reason)
{
    gpuarena_failure failure;
    gpuarena_last_failure(arena, &failure);
    CHECK_STR(gpuarena_reason_name(failure.reason), gpuarena_reason_name(reason));
    return failure;
}

/* A driver that refuses for want of something else than memory: which call it was, and no talk of missing bytes. */
static void test_other_limits(const char *text, sim_config device, const char *call)
{
    gpuarena_config config = GPUARENA_INIT;
    gpuarena *arena = NULL;
    void *ptr;
    device.capacity_bytes = GIB(4);
    bench = bench_open(&device);
    CHECK_INT(gpuarena_config_parse(text, &config, NULL, 0), ==, GPUARENA_OK);
    CHECK_INT(create(&config, &arena), ==, GPUARENA_OK);
    for (int block = 0; block < 4; block++) CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(2), NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(4), NULL), ==, GPUARENA_OUT_OF_MEMORY);
    gpuarena_failure failure = refusal(arena, GPUARENA_REASON_DRIVER_REFUSED);
    CHECK_STR(failure.driver_call, call);
    CHECK_STR(failure.detail, "cudaErrorMemoryAllocation");
    CHECK_U64(failure.device_free_bytes, ==, GIB(4) - MIB(8));
    CHECK_U64(failure.reserved_bytes, ==, MIB(8));
    CHECK_INT(gpuarena_reset(arena, GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    bench_close(&bench);
}

static void test_others(void)
{
    sim_config mappings = { .most_mappings = 4 }, create_fails = { .faults = "create:5+" };
    sim_config map_fails = { .faults = "map:5+=2" }, obtain_fails = { .faults = "obtain>2M" };
    test_other_limits("backing=paged", mappings, "access");
    test_other_limits("backing=paged", create_fails, "create");
    test_other_limits("backing=paged", map_fails, "map");
    test_other_limits("growth=exact,backing=segments", obtain_fails, "obtain");
}

/* Half is free, in pieces, and no piece waits for anybody. */
static void test_fragmented(void)
{
    gpuarena_config config = GPUARENA_INIT;
    gpuarena *arena = NULL;
    void *blocks[8], *ptr;
    bench = bench_open_sized(GIB(4), "create:5+");
    config.backing = GPUARENA_BACKING_PAGED;
    CHECK_INT(create(&config, &arena), ==, GPUARENA_OK);
    for (int block = 0; block < 8; block++)
        CHECK_INT(gpuarena_alloc(arena, &blocks[block], MIB(1), NULL), ==, GPUARENA_OK);
    for (int block = 0; block < 8; block += 2)
        CHECK_INT(gpuarena_free(arena, blocks[block], NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(3), NULL), ==, GPUARENA_OUT_OF_MEMORY);
    gpuarena_failure failure = refusal(arena, GPUARENA_REASON_FRAGMENTED);
    CHECK_STR(failure.driver_call, "create");
    CHECK_U64(failure.largest_free_bytes, ==, MIB(1));
    CHECK_U64(failure.missing_bytes, ==, MIB(2));
    CHECK_U64(failure.device_free_bytes, ==, GIB(4) - MIB(8));
    CHECK_INT(gpuarena_reset(arena, GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    bench_close(&bench);
}

/* Opens a device of 142 MiB, and an arena that has 60 MiB in pages that may move, and then 2 MiB live: `last`. */
static gpuarena *open_movable(const char *text, gpuarena_stream freed_on, void **last)
{
    gpuarena_config config = GPUARENA_INIT;
    gpuarena *arena = NULL;
    void *first = NULL;
    CHECK_INT(gpuarena_config_parse(text, &config, NULL, 0), ==, GPUARENA_OK);
    CHECK_INT(create(&config, &arena), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(arena, &first, MIB(60), freed_on), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(arena, last, MIB(2), NULL), ==, GPUARENA_OK);
    (void)sim_work(bench.machine, 0, freed_on, 1000000000);
    CHECK_INT(gpuarena_free(arena, first, freed_on), ==, GPUARENA_OK);
    return arena;
}

static void close_arena(gpuarena *arena)
{
    CHECK_INT(gpuarena_reset(arena, GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
    bench_close(&bench);
}

/* 120 MiB, as an allocation or by growth of what is live. */
static gpuarena_result ask(gpuarena *arena, void *grown)
{
    void *ptr;
    return grown ? gpuarena_resize(arena, grown, MIB(122), NULL) : gpuarena_alloc(arena, &ptr, MIB(120), NULL);
}

/* Pages that move need not be new. With so little more that the device is said to lack, the request is served. */
static void test_movable(const char *text, gpuarena_reason reason, uint64_t missing, int grows)
{
    gpuarena_failure failure;
    void *last = NULL;
    bench = bench_open_sized(MIB(142), NULL);
    gpuarena *arena = open_movable(text, NULL, &last);
    sim_rival(bench.machine, 0, MIB(30), 0);
    CHECK_INT(ask(arena, grows ? last : NULL), ==, GPUARENA_OUT_OF_MEMORY);
    gpuarena_last_failure(arena, &failure);
    CHECK_INT(failure.reason, ==, reason);
    CHECK_U64(failure.device_free_bytes, ==, MIB(50));
    CHECK_U64(failure.missing_bytes, ==, missing);
    CHECK_MSG(!failure.driver_call, "%s: memory is short, and nothing else", text);
    sim_rival(bench.machine, 0, missing - MIB(2), 1);
    CHECK_INT(ask(arena, grows ? last : NULL), ==, GPUARENA_OUT_OF_MEMORY);
    sim_rival(bench.machine, 0, MIB(2), 1);
    CHECK_INT(ask(arena, grows ? last : NULL), ==, GPUARENA_OK);
    close_arena(arena);
}

/* A driver that refuses what it reports as free: that, and not by how much it is too little. */
static void test_movable_refused(int grows)
{
    void *last = NULL;
    gpuarena_failure failure;
    bench = bench_open_sized(MIB(142), NULL);
    gpuarena *arena = open_movable("backing=paged", NULL, &last);
    sim_fail_call(bench.machine, SIM_CALL_VM_CREATE, 1, 1, SIM_OUT_OF_MEMORY);
    CHECK_INT(ask(arena, grows ? last : NULL), ==, GPUARENA_OUT_OF_MEMORY);
    failure = refusal(arena, GPUARENA_REASON_DRIVER_REFUSED);
    CHECK_STR(failure.driver_call ? failure.driver_call : "none", "create");
    CHECK_U64(failure.missing_bytes, ==, MIB(60));
    CHECK_U64(failure.device_free_bytes, ==, MIB(80));
    close_arena(arena);
}

/* Nothing moves while a stream is captured: all is to be new then. */
static void test_movable_captured(void)
{
    void *last = NULL, *graph = NULL;
    gpuarena_failure failure;
    gpuarena_stream stream;
    bench = bench_open_sized(MIB(142), NULL);
    CHECK_INT(sim_stream_create(bench.machine, 0, 1, &stream), ==, SIM_SUCCESS);
    gpuarena *arena = open_movable("backing=paged", stream, &last);
    CHECK_INT(sim_capture_begin(bench.machine, 0, stream, 2), ==, SIM_SUCCESS);
    CHECK_INT(ask(arena, NULL), ==, GPUARENA_OUT_OF_MEMORY);
    gpuarena_last_failure(arena, &failure);
    CHECK_INT(failure.reason, ==, GPUARENA_REASON_DRIVER_REFUSED);
    CHECK_U64(failure.missing_bytes, ==, MIB(40));
    CHECK_MSG(!failure.driver_call, "memory is short");
    CHECK_INT(sim_capture_end(bench.machine, 0, stream, &graph), ==, SIM_SUCCESS);
    CHECK_INT(sim_graph_destroy(bench.machine, graph), ==, SIM_SUCCESS);
    close_arena(arena);
}

/* Pages enough may move, and wait for nothing, but none may be mapped: nothing is to be waited for. */
static void test_movable_stays(void)
{
    void *last = NULL, *low = NULL, *between = NULL, *ptr;
    gpuarena_failure failure;
    bench = bench_open_sized(MIB(142), NULL);
    gpuarena *arena = open_movable("backing=paged", NULL, &last);
    CHECK_INT(gpuarena_alloc(arena, &low, MIB(32), NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(arena, &between, MIB(2), NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(arena, low, NULL), ==, GPUARENA_OK);
    sim_rival(bench.machine, 0, MIB(80), 0);
    (void)sim_device_wait(bench.machine, 0);
    sim_fail_call(bench.machine, SIM_CALL_VM_MAP, 1, 1, SIM_OUT_OF_MEMORY);
    CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(50), NULL), ==, GPUARENA_OUT_OF_MEMORY);
    gpuarena_last_failure(arena, &failure);
    CHECK_INT(failure.reason, ==, GPUARENA_REASON_DRIVER_REFUSED);
    CHECK_STR(failure.driver_call ? failure.driver_call : "none", "map");
    CHECK_U64(failure.missing_bytes, ==, 0);
    sim_fail_call(bench.machine, SIM_CALL_KINDS, 0, 0, 0);
    CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(50), NULL), ==, GPUARENA_OK);
    close_arena(arena);
}

/* What another stream freed may not be had while the request's own is captured: that is told, and not the driver's
   call, which was the reason before. */
static void test_captured(void)
{
    gpuarena_config config = GPUARENA_INIT;
    gpuarena_failure failure;
    gpuarena_stream one, other;
    gpuarena *arena = NULL;
    void *ptr, *graph = NULL;
    bench = bench_open_sized(GIB(4), NULL);
    CHECK_INT(sim_stream_create(bench.machine, 0, 1, &one), ==, SIM_SUCCESS);
    CHECK_INT(sim_stream_create(bench.machine, 0, 1, &other), ==, SIM_SUCCESS);
    config.backing = GPUARENA_BACKING_PAGED;
    CHECK_INT(create(&config, &arena), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(2), one), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(8), other), ==, GPUARENA_OK);
    CHECK_INT(sim_work(bench.machine, 0, other, 1000000000), ==, SIM_SUCCESS);
    CHECK_INT(gpuarena_free(arena, ptr, other), ==, GPUARENA_OK);
    CHECK_INT(sim_capture_begin(bench.machine, 0, one, 2), ==, SIM_SUCCESS);
    sim_fail_call(bench.machine, SIM_CALL_VM_CREATE, 1, 1, SIM_OUT_OF_MEMORY);
    CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(8), one), ==, GPUARENA_OUT_OF_MEMORY);
    gpuarena_last_failure(arena, &failure);
    CHECK_INT(failure.reason, ==, GPUARENA_REASON_CAPTURE);
    CHECK_MSG(!failure.driver_call, "no call is named: %s", failure.driver_call ? failure.driver_call : "none");
    CHECK_U64(failure.missing_bytes, ==, 0);
    CHECK_INT(sim_capture_end(bench.machine, 0, one, &graph), ==, SIM_SUCCESS);
    CHECK_INT(sim_graph_destroy(bench.machine, graph), ==, SIM_SUCCESS);
    close_arena(arena);
}

int main(void)
{
    static const char *const points[] = {
        "backing=paged", "backing=paged,page=4M", "backing=paged,growth=fixed", "backing=paged,release=idle",
        "backing=segments", "growth=double,step_max=512T", "growth=step,step=64M", "growth=exact",
        "backing=segments,growth=fixed",
        "backing=segments,release=idle,release_at=1", "backing=segments,release=age,release_age=10",
        "backing=segments,release=pressure,release_at=4G" };
    bench = bench_open_sized(GIB(8), NULL);
    for (size_t point = 0; point < COUNT(points); point++) test_to_the_byte(points[point]);
    test_lowered("backing=segments,growth=exact,limit=2G");
    test_lowered("backing=paged,limit=2G");
    bench_close(&bench);
    test_others();
    test_fragmented();
    for (int grows = 0; grows < 2; grows++) {
        test_movable("backing=paged", GPUARENA_REASON_DRIVER_REFUSED, MIB(10), grows);
        test_movable("backing=paged,headroom=20M", GPUARENA_REASON_HEADROOM, MIB(30), grows);
        test_movable_refused(grows);
    }
    test_movable_captured();
    test_movable_stays();
    test_captured();
    return tap_done();
}
