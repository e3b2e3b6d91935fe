/* Limits as people write them: 5,000 MiB to the byte on both backings, at every growth and release; each limit that
   is none refused with a sentence of its own; changed at run time. It must not know the implementation: the
   contracts, and what the simulated device counts. */
#include "sim_device.h"

static sim_bench bench;

static gpuarena_result create(gpuarena_config *config, gpuarena **arena)
{
    config->driver = &bench.driver;
    config->environment = "";
    return gpuarena_create(config, arena);
}

/* What is said of a limit, by the parser or by creation; "": it is one. */
static const char *said(const char *text)
{
    static char message[1024];
    gpuarena_config config = GPUARENA_INIT;
    gpuarena_failure failure;
    gpuarena *arena;
    if (gpuarena_config_parse(text, &config, message, sizeof message)) return message;
    if (create(&config, &arena) == GPUARENA_OK) {
        CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK);
        return "";
    }
    gpuarena_last_failure(NULL, &failure);
    CHECK_INT(failure.result, ==, GPUARENA_INVALID_CONFIG);
    memcpy(message, failure.detail, sizeof failure.detail);
    return message;
}

#define WANTED ": expected 4G, none, 80%, 80%free, total-2G or free-2G"

static void test_refused(void)
{
    CHECK_STR(said("limit=0%"), "limit=0%" WANTED);
    CHECK_STR(said("limit=0.0%free"), "limit=0.0%free" WANTED);
    CHECK_STR(said("limit=0"), "limit=0" WANTED);
    CHECK_STR(said("limit=110%"), "limit=110%" WANTED);
    CHECK_STR(said("limit=100.5%free"), "limit=100.5%free" WANTED);
    CHECK_STR(said("limit=-10%"), "limit=-10%" WANTED);
    CHECK_STR(said("limit=-1G"), "limit=-1G" WANTED);
    CHECK_STR(said("limit=much"), "limit=much" WANTED);
    CHECK_STR(said("limit=100"), "limit: 100 bytes are less than one page; a share is written 100%");
    CHECK_STR(said("limit=80,backing=segments"),
              "limit: 80 bytes are less than one segment of 2M; a share is written 100%");
    CHECK_STR(said("limit=1M"), "limit: 1048576 bytes are less than one page");
    CHECK_STR(said("limit=2097151,backing=segments"), "limit: 2097151 bytes are less than one segment of 2M");
    CHECK_STR(said("limit=8M,page=16M"), "limit: 8388608 bytes are less than one page");
    CHECK_STR(said("limit=9G"), "limit: 9663676416 is above the device's 8589934592 bytes");
    CHECK_STR(said("limit=8589934593"), "limit: 8589934593 is above the device's 8589934592 bytes");
    CHECK_STR(said("limit=total-9G"), "limit: 0 bytes are less than one page");
    CHECK_STR(said("limit=4G,limit=50%"), "limit=50%: limit is given twice");
    CHECK_STR(said("headroom=9G"), "headroom: above the device's size");
    CHECK_STR(said("limit=2M"), "");
    CHECK_STR(said("limit=8G"), "");
    CHECK_STR(said("limit=100%"), "");
}

/* In fields: bytes and a fraction, and a fraction that is none. */
static void test_refused_fields(void)
{
    static const struct { gpuarena_limit_base base; uint64_t bytes; double fraction; const char *says; } rows[] = {
        { GPUARENA_LIMIT_BYTES, GIB(1), 0.5, "limit: give bytes or a fraction, not both" },
        { GPUARENA_LIMIT_OF_TOTAL, GIB(1), 0.5, "limit: give bytes or a fraction, not both" },
        { GPUARENA_LIMIT_TOTAL_MINUS, GIB(1), 0.5, "limit: give bytes or a fraction, not both" },
        { GPUARENA_LIMIT_OF_TOTAL, 0, 1.1, "limit: a fraction must be above 0 and at most 1 (100%)" },
        { GPUARENA_LIMIT_OF_FREE, 0, -0.1, "limit: a fraction must be above 0 and at most 1 (100%)" } };
    for (size_t row = 0; row < COUNT(rows); row++) {
        gpuarena_config config = GPUARENA_INIT;
        gpuarena_failure failure;
        gpuarena *arena = NULL;
        config.limit_base = rows[row].base;
        config.limit_bytes = rows[row].bytes;
        config.limit_fraction = rows[row].fraction;
        CHECK_INT(create(&config, &arena), ==, GPUARENA_INVALID_CONFIG);
        gpuarena_last_failure(NULL, &failure);
        CHECK_STR(failure.detail, rows[row].says);
    }
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

/* Why the latest allocation was refused. */
static const char *refusal(gpuarena *arena, gpuarena_reason reason)
{
    static char text[512];
    gpuarena_failure failure;
    gpuarena_last_failure(arena, &failure);
    CHECK_INT(failure.reason, ==, reason);
    gpuarena_failure_text(&failure, text, sizeof text);
    return text;
}

/* A driver that refuses for want of something else than memory: which call it was, and no talk of missing bytes. */
static void test_other_limits(const char *text, sim_config device, const char *call)
{
    char says[400];
    gpuarena_config config = GPUARENA_INIT;
    gpuarena *arena = NULL;
    void *ptr;
    device.capacity_bytes = GIB(4);
    bench = bench_open(&device);
    CHECK_INT(gpuarena_config_parse(text, &config, NULL, 0), ==, GPUARENA_OK);
    CHECK_INT(create(&config, &arena), ==, GPUARENA_OK);
    for (int block = 0; block < 4; block++) CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(2), NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(4), NULL), ==, GPUARENA_OUT_OF_MEMORY);
    snprintf(says, sizeof says, "arena: 4194304 bytes (4.00 MiB) were refused by the driver (%s: code 2, "
             "cudaErrorMemoryAllocation), though it reports 4286578688 bytes (3.99 GiB) free on the device: with "
             "8388608 bytes (8.00 MiB) reserved a limit other than memory is reached, or another process was faster; "
             "trim, or ask for larger pages or segments", call);
    CHECK_STR(refusal(arena, GPUARENA_REASON_DRIVER_REFUSED), says);
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
    CHECK_STR(refusal(arena, GPUARENA_REASON_FRAGMENTED), "arena: 3145728 bytes (3.00 MiB) fit in no single free "
              "block, though enough is free: the longest is 1048576 bytes (1.00 MiB), short by 2097152 bytes (2.00 "
              "MiB); the driver refused more (create: code 2, cudaErrorMemoryAllocation), though it reports "
              "4286578688 bytes (3.99 GiB) free; trim, or allocate large blocks first");
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
    gpuarena_last_failure(arena, &failure);
    CHECK_STR(failure.driver_call ? failure.driver_call : "none", "create");
    CHECK_U64(failure.missing_bytes, ==, MIB(60));
    CHECK_MSG(strstr(refusal(arena, GPUARENA_REASON_DRIVER_REFUSED), "though it reports 83886080 bytes (80.00 MiB) "
                     "free on the device: with") != NULL, "a limit other than memory");
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
    test_refused();
    test_refused_fields();
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
