/* Sub-arenas: what counts in a parent's sums and limit, what is refused and why, and idle memory that passes from one
   to the other. On the simulated device, both backings. */
#include "tenant_bench.h"

/* Takes all that an arena may have, in blocks of 8 MiB. How much. */
static uint64_t fill(gpuarena *arena)
{
    uint64_t bytes = 0;
    void *ptr;
    while (gpuarena_alloc(arena, &ptr, MIB(8), NULL) == GPUARENA_OK) bytes += MIB(8);
    return bytes;
}

/* Two tenants that share a device: each held to the byte, neither sees what the other is refused. */
static void test_two_tenants(void)
{
    gpuarena *whole = make("whole", NULL, 0), *first, *second;
    gpuarena_stats before, after;
    CHECK_INT(gpuarena_set_limit(whole, GIB(16)), ==, GPUARENA_OK);
    first = make("first", whole, MIB(5000));
    second = make("second", whole, GIB(16) - MIB(5000));
    CHECK_U64(fill(first), ==, MIB(5000));
    CHECK_U64(reserved(first), ==, MIB(5000));
    before = stats_of(second);
    (void)refuse(first, 1, GPUARENA_REASON_OVER_LIMIT);
    after = stats_of(second);
    CHECK(!memcmp(&before, &after, sizeof before));
    CHECK_U64(fill(second), ==, GIB(16) - MIB(5000));
    before = stats_of(first);
    (void)refuse(second, MIB(2), GPUARENA_REASON_OVER_LIMIT);
    after = stats_of(first);
    CHECK(!memcmp(&before, &after, sizeof before));
    CHECK_U64(reserved(first) + reserved(second), ==, GIB(16));
    CHECK_U64(bench_counters(&bench).held_bytes, ==, GIB(16));
    CHECK_U64(bench_free_bytes(&bench.driver), ==, 0);
    CHECK_U64(stats_of(whole).children_bytes, ==, GIB(16));
    CHECK_U64(reserved(whole), ==, GIB(16));
    CHECK_U64(stats_of(whole).reserved_peak_bytes, ==, GIB(16));
    CHECK_U64(stats_of(whole).live_bytes, ==, 0);
    check(whole), check(first), check(second);
    gpuarena_reset(first, NULL), gpuarena_reset(second, NULL);
    end(first), end(second);
    CHECK_U64(reserved(whole), ==, 0);
    end(whole);
}

static void refuse_config(const gpuarena_config *config, const char *part)
{
    gpuarena_failure failure;
    gpuarena *arena = NULL;
    CHECK_INT(gpuarena_create(config, &arena), ==, GPUARENA_INVALID_CONFIG);
    gpuarena_last_failure(NULL, &failure);
    CHECK_MSG(strstr(failure.detail, part) != NULL, "\"%s\" says \"%s\"", failure.detail, part);
    CHECK(arena == NULL);
}

static void test_creation(void)
{
    gpuarena *whole = make("whole", NULL, GIB(4)), *first = make("first", whole, GIB(3)), *second;
    gpuarena_config config = plain_config("second", whole, GIB(2)), in_force;
    gpuarena_driver other = bench.driver;
    refuse_config(&config, "limit: 5G in all, of the parent's 4G; lower it, or oversubscribe");
    config.limit_bytes = 0;
    refuse_config(&config, "limit: 7G in all, of the parent's 4G");
    config.limit_bytes = GIB(2);
    config.oversubscribe = 2;
    refuse_config(&config, "oversubscribe: expected a number up to 1");
    config.oversubscribe = 0;
    CHECK_INT(gpuarena_config_parse("oversubscribe=1", &config, NULL, 0), ==, GPUARENA_OK);
    CHECK_U64(config.oversubscribe, ==, 1);
    CHECK_INT(gpuarena_create(&config, &second), ==, GPUARENA_OK);
    gpuarena_get_config(second, &in_force);
    CHECK(in_force.parent == whole && in_force.oversubscribe == 1);
    config.oversubscribe = 0;
    config.limit_bytes = MIB(2);
    refuse_config(&config, "limit: 5122M in all, of the parent's 4G");
    other.device++;
    config.driver = &other;
    refuse_config(&config, "driver: another than the parent's");
    config.driver = &bench.driver;
    config.parent = (gpuarena *)(void *)&config;
    refuse_config(&config, "parent: not a living arena");
    end(second), end(first), end(whole);
    config.parent = whole;
    refuse_config(&config, "parent: not a living arena");
}

/* What must be the same in the tables of a parent and a sub-arena. X(field) */
#define TABLE(X) \
    X(user) X(device) X(null_is_per_thread) X(per_thread) X(page_bytes) X(peers) X(classify) X(code_name) X(now_ns) \
    X(memory.info) X(memory.obtain) X(memory.give_back) X(vm.reserve) X(vm.release) X(vm.create) X(vm.destroy) \
    X(vm.map) X(vm.access) X(vm.unmap) X(events.create) X(events.destroy) X(events.record) X(events.query) \
    X(events.host_wait) X(events.stream_wait) X(events.device_wait) X(capture.active) X(capture.exchange_mode) \
    X(clear)

static void test_other_drivers(void)
{
    gpuarena *whole = make("whole", NULL, GIB(4)), *part = NULL;
    gpuarena_config config = plain_config("part", whole, MIB(8));
    gpuarena_driver other;
    config.driver = &other;
#define X(field) \
    other = bench.driver; \
    ((unsigned char *)&other.field)[0] ^= 1; \
    refuse_config(&config, "driver: another than the parent's");
    TABLE(X)
#undef X
    memset(&other, 0x5A, sizeof other);          /* what lies between the fields is no difference */
#define X(field) other.field = bench.driver.field;
    TABLE(X)
#undef X
    CHECK_INT(gpuarena_create(&config, &part), ==, GPUARENA_OK);
    end(part), end(whole);
}

/* The sum of limits is creation's concern: set_limit raises and lowers, and no limit is passed for it. */
static void test_raised_limit(void)
{
    gpuarena *whole = make("whole", NULL, MIB(64)), *first = make("first", whole, MIB(32)),
             *second = make("second", whole, MIB(32));
    gpuarena_config config = plain_config("third", whole, MIB(2));
    void *block;
    CHECK_INT(gpuarena_set_limit(second, GIB(32)), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_set_limit(first, GPUARENA_NO_LIMIT), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_set_limit(whole, MIB(48)), ==, GPUARENA_OK);
    block = take(first, MIB(40));
    (void)refuse(second, MIB(10), GPUARENA_REASON_OVER_PARENT);
    refuse_config(&config, "limit: 32818M in all, of the parent's 48M");
    drop(first, block);
    end(first), end(second), end(whole);
}

static void test_over_parent(void)
{
    gpuarena *whole = make("whole", NULL, MIB(64)), *first, *second;
    gpuarena_config config = plain_config("second", whole, MIB(48));
    gpuarena_failure failure;
    char text[512];
    void *blocks[3];
    first = make("first", whole, MIB(48));
    config.oversubscribe = 1;
    CHECK_INT(gpuarena_create(&config, &second), ==, GPUARENA_OK);
    blocks[0] = take(first, MIB(40));
    blocks[1] = take(whole, MIB(8));
    failure = refuse(second, MIB(20), GPUARENA_REASON_OVER_PARENT);
    CHECK_STR(failure.detail, "whole");
    CHECK_U64(failure.missing_bytes, ==, MIB(4));
    CHECK_U64(failure.limit_bytes, ==, MIB(48));
    (void)gpuarena_failure_text(&failure, text, sizeof text);
    CHECK_STR(text, "second: 20971520 bytes (20.00 MiB) would pass the limit of the arena above, whole, which its "
                    "sub-arenas share; raise that by 4194304 bytes (4.00 MiB), or free as much in any of them");
    failure = refuse(whole, MIB(18), GPUARENA_REASON_OVER_LIMIT);
    CHECK_U64(failure.missing_bytes, ==, MIB(2));
    CHECK_U64(failure.reserved_bytes, ==, MIB(48));
    CHECK_INT(gpuarena_reserve(second, MIB(20)), ==, GPUARENA_OUT_OF_MEMORY);
    gpuarena_last_failure(second, &failure);
    CHECK_INT(failure.reason, ==, GPUARENA_REASON_OVER_PARENT);
    CHECK_U64(failure.missing_bytes, ==, MIB(4));
    blocks[2] = take(second, MIB(16));
    CHECK_U64(reserved(whole), ==, MIB(64));
    CHECK_INT(gpuarena_destroy(whole), ==, GPUARENA_STILL_IN_USE);
    drop(whole, blocks[1]);
    CHECK_INT(gpuarena_destroy(whole), ==, GPUARENA_STILL_IN_USE);
    gpuarena_last_failure(whole, &failure);
    (void)gpuarena_failure_text(&failure, text, sizeof text);
    CHECK_STR(text, "whole: sub-arena second lives; destroy it before its parent");
    check(whole);
    drop(first, blocks[0]), drop(second, blocks[2]);
    end(second), end(first), end(whole);
}

/* What one has idle the other gets: before it fails, and no more than that takes. */
static void test_idle_passes_on(void)
{
    gpuarena *whole = make("whole", NULL, MIB(64)), *first = make("first", whole, MIB(32)), *second;
    gpuarena_config config = plain_config("second", whole, MIB(64));
    gpuarena_request request = GPUARENA_INIT;
    void *blocks[4];
    config.oversubscribe = 1;
    CHECK_INT(gpuarena_create(&config, &second), ==, GPUARENA_OK);
    for (int at = 0; at < 4; at++) blocks[at] = take(first, MIB(8));
    for (int at = 0; at < 4; at++) drop(first, blocks[at]);
    blocks[0] = take(whole, MIB(16));
    drop(whole, blocks[0]);
    CHECK_U64(reserved(whole), ==, MIB(48));
    request.bytes = MIB(24);
    CHECK_INT(gpuarena_can_alloc(second, &request), ==, GPUARENA_OK);
    blocks[0] = take(second, MIB(24));
    CHECK_U64(reserved(first) + stats_of(whole).cached_bytes, ==, MIB(40));
    CHECK_U64(stats_of(second).reclaim_count, ==, 1);
    request.bytes = MIB(42);
    CHECK_INT(gpuarena_can_alloc(second, &request), ==, GPUARENA_OUT_OF_MEMORY);
    (void)refuse(second, MIB(42), GPUARENA_REASON_OVER_PARENT);
    CHECK_U64(reserved(first) + stats_of(whole).cached_bytes, ==, MIB(40));
    blocks[1] = take(second, MIB(40));
    CHECK_U64(reserved(first) + stats_of(whole).cached_bytes, ==, 0);
    CHECK_U64(reserved(whole), ==, MIB(64));
    (void)refuse(first, MIB(2), GPUARENA_REASON_OVER_PARENT);
    drop(second, blocks[0]);
    CHECK_INT(gpuarena_reserve(first, MIB(20)), ==, GPUARENA_OK);
    CHECK_U64(reserved(whole), ==, MIB(64) - (backing == GPUARENA_BACKING_PAGED ? 0 : MIB(4)));
    CHECK_INT(gpuarena_trim(first, 0, NULL), ==, GPUARENA_OK);
    blocks[2] = take(whole, MIB(24));            /* the parent, too, has what sub-arenas have idle */
    CHECK_U64(reserved(whole), ==, MIB(64));
    drop(whole, blocks[2]), drop(second, blocks[1]);
    check(whole), check(first), check(second);
    end(second), end(first), end(whole);
}

/* A parent's limit below what is held: it only falls, and nobody grows until it is there. */
static void test_lowered_limit(void)
{
    gpuarena *whole = make("whole", NULL, MIB(64)), *first = make("first", whole, MIB(32)),
             *second = make("second", whole, MIB(32));
    void *blocks[8], *ptr = NULL;
    uint64_t released = 0;
    for (int at = 0; at < 8; at++) blocks[at] = take(at < 4 ? first : second, MIB(8));
    drop(first, blocks[3]);
    CHECK_INT(gpuarena_set_limit(whole, MIB(32)), ==, GPUARENA_OK);
    CHECK_U64(reserved(whole), ==, MIB(56));     /* what was idle has gone at once */
    CHECK_U64(stats_of(whole).excess_bytes, ==, MIB(24));
    check(first), check(whole);
    drop(second, blocks[4]);
    CHECK_U64(reserved(second), ==, MIB(24));
    (void)refuse(second, MIB(8), GPUARENA_REASON_OVER_PARENT);
    (void)refuse(first, MIB(8), GPUARENA_REASON_OVER_PARENT);
    drop(second, blocks[5]), drop(first, blocks[2]);
    CHECK_U64(reserved(whole), ==, MIB(32));
    (void)refuse(second, MIB(8), GPUARENA_REASON_OVER_PARENT);
    drop(second, blocks[6]);
    CHECK_U64(reserved(whole), ==, MIB(32));     /* it is cached again */
    CHECK_INT(gpuarena_alloc(second, &ptr, MIB(8), NULL), ==, GPUARENA_OK);
    check(second), check(whole);
    drop(second, ptr), drop(first, blocks[0]);
    CHECK_INT(gpuarena_trim(whole, MIB(20), &released), ==, GPUARENA_OK);
    CHECK_U64(released, >=, MIB(12));
    CHECK_U64(reserved(whole), ==, MIB(32) - released);
    CHECK_INT(gpuarena_trim(whole, 0, NULL), ==, GPUARENA_OK);
    CHECK_U64(reserved(whole), ==, MIB(16));
    drop(first, blocks[1]), drop(second, blocks[7]);
    end(first), end(second), end(whole);
}

/* Three of one above the other: each limit counts what is below. */
static void test_tower(void)
{
    gpuarena *top = make("top", NULL, MIB(64)), *middle = make("middle", top, MIB(48)), *low = make("low", middle, 0);
    gpuarena_failure failure;
    gpuarena_device device;
    void *block = take(low, MIB(32)), *beside = take(top, MIB(24));
    CHECK_U64(stats_of(top).children_bytes, ==, MIB(32));
    CHECK_U64(stats_of(middle).children_bytes, ==, MIB(32));
    CHECK_U64(stats_of(middle).reserved_bytes, ==, MIB(32));
    failure = refuse(low, MIB(10), GPUARENA_REASON_OVER_PARENT);
    CHECK_STR(failure.detail, "top");
    CHECK_INT(gpuarena_set_limit(middle, MIB(34)), ==, GPUARENA_OK);
    failure = refuse(low, MIB(10), GPUARENA_REASON_OVER_PARENT);
    CHECK_STR(failure.detail, "middle");
    CHECK_U64(failure.missing_bytes, ==, MIB(8));
    CHECK_INT(gpuarena_get_device(top, &device), ==, GPUARENA_OK);
    CHECK_INT(device.other_bytes, ==, 0);
    CHECK_INT(gpuarena_get_device(low, &device), ==, GPUARENA_OK);
    CHECK_INT(device.other_bytes, ==, MIB(24));
    check(top), check(middle), check(low);
    drop(low, block), drop(top, beside);
    CHECK_INT(gpuarena_destroy(middle), ==, GPUARENA_STILL_IN_USE);
    end(low), end(middle), end(top);
}

/* A thread's tag, which its calls do not name, is no call that kin cannot be waited for in. */
static void test_scope_of_a_tag(void)
{
    gpuarena *whole = make("whole", NULL, MIB(32)), *first = make("first", whole, MIB(32)), *second;
    gpuarena_config config = plain_config("second", whole, MIB(32));
    config.oversubscribe = 1;
    CHECK_INT(gpuarena_create(&config, &second), ==, GPUARENA_OK);
    drop(first, take(first, MIB(24)));
    (void)gpuarena_tag_scope(gpuarena_tag("kv"));
    drop(second, take(second, MIB(24)));
    CHECK_INT(gpuarena_reserve(first, MIB(32)), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_trim(whole, 0, NULL), ==, GPUARENA_OK);
    CHECK_U64(reserved(whole), ==, 0);
    (void)gpuarena_tag_scope(0);
    end(second), end(first), end(whole);
}

/* What sub-arenas have counts as reserved: to take it from them would gain nothing. */
static void test_reserve_above_children(void)
{
    gpuarena *whole = make("whole", NULL, MIB(64)), *middle = make("middle", whole, 0), *low = make("low", middle, 0);
    void *block = take(whole, MIB(32));
    drop(low, take(low, MIB(16)));
    CHECK_INT(gpuarena_reserve(middle, MIB(48)), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_U64(reserved(middle), ==, MIB(16));
    CHECK_INT(gpuarena_reserve(middle, MIB(32)), ==, GPUARENA_OK);
    CHECK_U64(reserved(middle), ==, MIB(32));
    drop(whole, block);
    CHECK_INT(gpuarena_reserve(middle, MIB(64)), ==, GPUARENA_OK);
    CHECK_U64(reserved(middle), ==, MIB(64));
    CHECK_U64(reserved(low), ==, MIB(16));
    check(low), check(middle), check(whole);
    end(low), end(middle), end(whole);
}

/* Above a lowered limit what kin have idle must make up for that, too: else nothing is taken from them. */
static void test_relief_above_limit(void)
{
    gpuarena *whole = make("whole", NULL, MIB(64)), *first, *second = make("second", whole, MIB(32)), *third;
    gpuarena_config config = plain_config("first", whole, MIB(32));
    gpuarena_request request = GPUARENA_INIT;
    gpuarena_stream stream;
    void *block, *late;
    CHECK_INT(sim_stream_create(bench.machine, 0, 0, &stream), ==, 0);
    config.oversubscribe = 1;
    config.streams = GPUARENA_STREAMS_SAME;
    CHECK_INT(gpuarena_create(&config, &first), ==, GPUARENA_OK);
    config = plain_config("third", whole, MIB(32));
    config.oversubscribe = 1;
    CHECK_INT(gpuarena_create(&config, &third), ==, GPUARENA_OK);
    block = take(second, MIB(24));
    late = take(first, MIB(4));
    CHECK_INT(gpuarena_use(first, late, stream), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_set_limit(whole, MIB(26)), ==, GPUARENA_OK);
    drop(first, late);                           /* pending: pages wait */
    if (backing == GPUARENA_BACKING_PAGED) {
        CHECK_U64(reserved(first), ==, MIB(4));
        request.bytes = MIB(4);
        CHECK_INT(gpuarena_can_alloc(third, &request), ==, GPUARENA_OUT_OF_MEMORY);
        (void)refuse(third, MIB(4), GPUARENA_REASON_OVER_PARENT);
        CHECK_U64(reserved(first), ==, MIB(4));
        CHECK_U64(stats_of(third).reclaim_count, ==, 0);
        request.bytes = MIB(2);
        CHECK_INT(gpuarena_can_alloc(third, &request), ==, GPUARENA_OK);
        drop(third, take(third, MIB(2)));
        CHECK_U64(stats_of(third).reclaim_count, ==, 1);
        CHECK_U64(reserved(whole), ==, MIB(26));
    }
    drop(second, block);
    end(third), end(first), end(second), end(whole);
    CHECK_INT(sim_stream_destroy(bench.machine, 0, stream), ==, 0);
}

/* A resize that the limit above forbids says so, as an allocation does. */
static void test_resize_over_parent(void)
{
    gpuarena *whole = make("whole", NULL, MIB(32)), *low = make("low", whole, 0);
    gpuarena_request request = GPUARENA_INIT;
    gpuarena_failure failure;
    void *block = take(whole, MIB(16)), *roomy = NULL;
    request.bytes = MIB(8);
    request.room_bytes = MIB(24);
    CHECK_INT(gpuarena_alloc_ex(low, &roomy, &request), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_resize(low, roomy, MIB(20), NULL), ==, GPUARENA_OUT_OF_MEMORY);
    gpuarena_last_failure(low, &failure);
    CHECK_INT(failure.reason, ==, GPUARENA_REASON_OVER_PARENT);
    CHECK_STR(failure.detail, "whole");
    CHECK_U64(failure.missing_bytes, ==, MIB(4));
    drop(low, roomy), drop(whole, block);
    end(low), end(whole);
}

static void test_backing(gpuarena_backing which)
{
    backing = which;
    bench = bench_open_sized(GIB(16), NULL);
    test_two_tenants();
    test_creation();
    test_other_drivers();
    test_raised_limit();
    test_over_parent();
    test_idle_passes_on();
    test_lowered_limit();
    test_tower();
    test_scope_of_a_tag();
    test_reserve_above_children();
    test_relief_above_limit();
    if (which == GPUARENA_BACKING_PAGED) test_resize_over_parent();
    close_bench();
}

int main(void)
{
    test_backing(GPUARENA_BACKING_PAGED);
    test_backing(GPUARENA_BACKING_SEGMENTS);
    return tap_done();
}
