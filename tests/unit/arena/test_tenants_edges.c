/* Sub-arenas at the edges: captures, pressure, headroom, reserves and resizes, other kinds of memory, deep
   trees. On the simulated device. */
#include "tenant_bench.h"

/* ---- who is asked, and who is not */

static void test_capture(void)
{
    family made = open_family(MIB(32), "");
    gpuarena_stream stream;
    uint64_t set = 0;
    void *block;
    CHECK_INT(sim_stream_create(bench.machine, 0, 0, &stream), ==, SIM_SUCCESS);
    leave_idle(made.first, MIB(24));
    CHECK_INT(gpuarena_capture_begin(made.first, stream, &set), ==, GPUARENA_OK);
    (void)refuse(made.second, MIB(24), GPUARENA_REASON_OVER_PARENT);
    CHECK_INT(gpuarena_reserve(made.second, MIB(24)), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_U64(reserved(made.first), ==, MIB(24));
    CHECK_INT(gpuarena_capture_end(made.first, stream), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_capture_release(made.first, set, stream), ==, GPUARENA_OK);
    block = take(made.second, MIB(24));
    CHECK_U64(reserved(made.first), <=, MIB(8));
    drop(made.second, block);
    set = 0;                                     /* now it is the caller that captures: nobody is asked */
    CHECK_INT(gpuarena_capture_begin(made.first, stream, &set), ==, GPUARENA_OK);
    (void)refuse(made.first, MIB(24), GPUARENA_REASON_OVER_PARENT);
    CHECK_U64(reserved(made.second), ==, MIB(24));
    CHECK_INT(gpuarena_capture_end(made.first, stream), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_capture_release(made.first, set, stream), ==, GPUARENA_OK);
    drop(made.first, take(made.first, MIB(24)));
    close_family(&made);
}

/* The stream is captured without a word to the arena: the driver says so. */
static void test_untold_capture(void)
{
    family made = open_family(MIB(32), "");
    gpuarena_stream stream;
    void *block = NULL, *graph = NULL;
    CHECK_INT(sim_stream_create(bench.machine, 0, 0, &stream), ==, SIM_SUCCESS);
    CHECK_INT(gpuarena_alloc(made.first, &block, MIB(24), stream), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(made.first, block, stream), ==, GPUARENA_OK);
    CHECK_INT(sim_capture_begin(bench.machine, 0, stream, 2), ==, SIM_SUCCESS);
    (void)refuse(made.second, MIB(24), GPUARENA_REASON_OVER_PARENT);
    CHECK_U64(reserved(made.first), ==, MIB(24));
    CHECK_INT(sim_capture_end(bench.machine, 0, stream, &graph), ==, SIM_SUCCESS);
    CHECK_INT(sim_graph_destroy(bench.machine, graph), ==, SIM_SUCCESS);
    drop(made.second, take(made.second, MIB(24)));
    close_family(&made);
}

/* What a callback frees, of whom, and what it tries beside. */
typedef struct helper {
    family *kin;
    gpuarena *of;
    void *block;
    int calls;
} helper;

static int help(gpuarena *arena, const gpuarena_failure *failure, void *user)
{
    helper *self = user;
    void *ptr = NULL;
    self->calls++;
    CHECK_INT(failure->reason, ==, GPUARENA_REASON_OVER_PARENT);
    CHECK_INT(gpuarena_alloc(arena, &ptr, MIB(2), NULL), ==, GPUARENA_REENTRANT);
    CHECK_INT(gpuarena_reserve(arena, MIB(2)), ==, GPUARENA_REENTRANT);
    CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_REENTRANT);
    CHECK_INT(gpuarena_destroy(self->kin->whole), ==, GPUARENA_STILL_IN_USE);
    CHECK_INT(gpuarena_alloc(self->kin->first, &ptr, MIB(64), NULL), ==, GPUARENA_OUT_OF_MEMORY);
    if (!self->block) return 0;
    drop(self->of, self->block);
    self->block = NULL;
    return 1;
}

static void test_pressure(void)
{
    family made = open_family(MIB(32), "");
    gpuarena_config config = plain_config("helped", made.whole, MIB(64));
    helper user = { NULL, NULL, NULL, 0 };
    gpuarena *helped;
    void *block;
    user.kin = &made;
    config.oversubscribe = 1;
    config.pressure = help;
    config.pressure_user = &user;
    CHECK_INT(gpuarena_create(&config, &helped), ==, GPUARENA_OK);
    user.of = made.first;
    user.block = take(made.first, MIB(24));
    block = take(helped, MIB(16));               /* of a sibling's */
    CHECK_INT(user.calls, ==, 1);
    user.of = helped;
    user.block = block;
    block = take(helped, MIB(28));               /* of its own */
    CHECK_INT(user.calls, ==, 2);
    (void)refuse(helped, MIB(8), GPUARENA_REASON_OVER_PARENT);
    CHECK_INT(user.calls, ==, 3);
    drop(helped, block);
    leave_idle(made.first, MIB(30));             /* kin help before it is called */
    drop(helped, take(helped, MIB(30)));
    CHECK_INT(user.calls, ==, 3);
    end(helped);
    close_family(&made);
}

static void test_headroom(void)
{
    gpuarena *whole = make_of("whole", NULL, 0, "headroom=15G"), *first = make_of("first", whole, 0, ""),
             *second = make_of("second", first, 0, "headroom=1M");
    gpuarena_config in_force;
    gpuarena_failure failure;
    void *block;
    gpuarena_get_config(first, &in_force);
    CHECK_U64(in_force.headroom_bytes, ==, GIB(15));
    gpuarena_get_config(second, &in_force);
    CHECK_U64(in_force.headroom_bytes, ==, GIB(15));
    leave_idle(first, MIB(512));
    failure = refuse(second, GIB(1) + MIB(2), GPUARENA_REASON_HEADROOM);
    CHECK_U64(reserved(first), ==, MIB(512));
    CHECK_U64(failure.missing_bytes, >, 0);
    block = take(second, GIB(1));                /* what a sibling has idle makes up for it */
    CHECK_U64(bench_free_bytes(&bench.driver), ==, GIB(15));
    CHECK_U64(reserved(first), ==, GIB(1));      /* the second's */
    drop(second, block);
    end(second), end(first), end(whole);
}

/* The greater of the parent's headroom and the environment's is in force. */
static void test_headroom_from_outside(const char *inside, const char *outside, uint64_t expected)
{
    gpuarena *whole = make_of("whole", NULL, 0, inside), *part = NULL;
    gpuarena_config config = plain_config("part", whole, 0);
    config.environment = "GPUARENA_TEST_HEADROOM";
    CHECK_INT(setenv(config.environment, outside, 1), ==, 0);
    CHECK_INT(gpuarena_create(&config, &part), ==, GPUARENA_OK);
    gpuarena_get_config(part, &config);
    CHECK_U64(config.headroom_bytes, ==, expected);
    end(part), end(whole);
}

/* `fixed` takes all that there is, if that is less than its limit. */
static void test_fixed(uint64_t limit_bytes, uint64_t expected, const char *text)
{
    gpuarena *whole = make_of("whole", NULL, limit_bytes, ""), *fixed = make_of("fixed", whole, GIB(4), text);
    CHECK_U64(reserved(fixed), ==, expected);
    end(fixed), end(whole);
}

static void test_resize_and_reserve(void)
{
    family made = open_family(MIB(32), "");
    gpuarena_request request = GPUARENA_INIT;
    void *block = NULL;
    leave_idle(made.first, MIB(24));
    CHECK_INT(gpuarena_reserve(made.second, MIB(16)), ==, GPUARENA_OK);
    CHECK_U64(reserved(made.second), ==, MIB(16));
    CHECK_U64(reserved(made.whole), <=, MIB(32));
    CHECK_INT(gpuarena_trim(made.whole, 0, NULL), ==, GPUARENA_OK);
    if (backing == GPUARENA_BACKING_PAGED) {
        request.bytes = MIB(8);
        request.room_bytes = MIB(32);
        leave_idle(made.first, MIB(24));
        CHECK_INT(gpuarena_alloc_ex(made.second, &block, &request), ==, GPUARENA_OK);
        CHECK_INT(gpuarena_resize(made.second, block, MIB(20), NULL), ==, GPUARENA_OK);
        CHECK_U64(reserved(made.first), ==, MIB(12));
        drop(made.second, block);
    }
    close_family(&made);
}

/* A child of another kind of memory than the parent's counts elsewhere; of the same, kin help each other. */
static void test_kind(const char *text)
{
    family made = open_family(MIB(32), text);
    gpuarena_config config = plain_config("other", made.whole, MIB(8));
    gpuarena_stream stream;
    gpuarena_failure failure;
    gpuarena *other = NULL;
    void *block = NULL;
    config.oversubscribe = 1;
    config.backing = strcmp(text, "backing=managed") ? GPUARENA_BACKING_MANAGED : GPUARENA_BACKING_PINNED;
    CHECK_INT(gpuarena_create(&config, &other), ==, GPUARENA_INVALID_CONFIG);
    gpuarena_last_failure(NULL, &failure);
    CHECK(strstr(failure.detail, "backing: memory of another kind") != NULL);
    CHECK_INT(sim_stream_create(bench.machine, 0, 0, &stream), ==, SIM_SUCCESS);
    CHECK_INT(gpuarena_alloc(made.first, &block, MIB(24), stream), ==, GPUARENA_OK);
    CHECK_INT(sim_work(bench.machine, 0, stream, 1000000), ==, SIM_SUCCESS);
    CHECK_INT(gpuarena_free(made.first, block, stream), ==, GPUARENA_OK);
    CHECK_U64(stats_of(made.whole).children_bytes, ==, reserved(made.first));
    block = take(made.second, MIB(24));
    CHECK_U64(reserved(made.whole), <=, MIB(32));
    (void)refuse(made.first, MIB(24), GPUARENA_REASON_OVER_PARENT);
    drop(made.second, block);
    drop(made.first, take(made.first, MIB(24)));
    close_family(&made);
}

/* ---- deep trees */

static void test_deep(void)
{
    gpuarena *top = make_of("top", NULL, MIB(96), ""), *middle = make_of("middle", top, MIB(96), ""),
             *low = make_of("low", middle, MIB(96), ""), *lowest = make_of("lowest", low, MIB(96), ""),
             *beside = make_of("beside", top, MIB(96), "");
    void *blocks[8];
    for (int at = 0; at < 8; at++) blocks[at] = take(at < 4 ? lowest : beside, MIB(8));
    CHECK_INT(gpuarena_set_limit(top, MIB(32)), ==, GPUARENA_OK);
    CHECK_U64(reserved(top), ==, MIB(64));
    for (int at = 0; at < 4; at++) {
        drop(at % 2 ? beside : lowest, blocks[at % 2 ? 4 + at : at]);
        CHECK_U64(reserved(top), ==, MIB(64) - MIB(8) * (uint64_t)(at + 1));
    }
    (void)refuse(lowest, MIB(2), GPUARENA_REASON_OVER_PARENT);
    CHECK_STR(refuse(low, MIB(2), GPUARENA_REASON_OVER_PARENT).detail, "top");
    drop(lowest, blocks[1]);
    CHECK_U64(reserved(top), ==, MIB(32));       /* within the limit: it is kept */
    blocks[1] = take(beside, MIB(8));
    CHECK_U64(reserved(top), ==, MIB(32));
    CHECK_U64(reserved(middle), ==, MIB(8));
    CHECK_INT(gpuarena_set_limit(top, MIB(96)), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_set_limit(low, MIB(8)), ==, GPUARENA_OK);
    CHECK_STR(refuse(lowest, MIB(8), GPUARENA_REASON_OVER_PARENT).detail, "low");
    gpuarena_reset(lowest, NULL), gpuarena_reset(beside, NULL);
    check(top), check(middle), check(low), check(lowest), check(beside);
    end(lowest), end(low), end(middle), end(beside), end(top);
}

static void test_backing(gpuarena_backing which)
{
    backing = which;
    bench = bench_open_sized(GIB(16), NULL);
    test_capture();
    test_untold_capture();
    test_pressure();
    test_headroom();
    test_fixed(MIB(203), MIB(202), "growth=fixed");
    test_fixed(0, MIB(202), "growth=fixed,headroom=16181M");
    test_headroom_from_outside("headroom=1G", "headroom=3G", GIB(3));
    test_headroom_from_outside("headroom=3G", "headroom=1G", GIB(3));
    test_headroom_from_outside("headroom=3G", "growth=exact", GIB(3));
    test_resize_and_reserve();
    test_deep();
    close_bench();
}

int main(void)
{
    test_backing(GPUARENA_BACKING_PAGED);
    test_backing(GPUARENA_BACKING_SEGMENTS);
    bench = bench_open_sized(GIB(1), NULL);
    test_kind("backing=pinned");
    test_kind("backing=managed");
    test_kind("backing=async");
    CHECK_U64(bench_counters(&bench).findings, ==, 0);
    bench_close(&bench);
    return tap_done();
}
