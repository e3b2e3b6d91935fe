/* The model pytorch-expandable against PyTorch's expandable segments, and the plain ranges best-fit and first-fit:
   all that live on virtual memory, on a simulated device.
   It must not know the implementation. Each test names the paragraph of allocators.md that it stands on.
   What PyTorch reserves: test_golden_peaks.c */
#include "stress/policy/policy.h"
#include "tap.h"

#define MIB(count) ((uint64_t)(count) << 20)
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

enum { LIVE = 256 };

static policy chosen;
static pool opened;
static device *on;
static problem why;
static void *blocks[LIVE];
static uint64_t sizes[LIVE];
static size_t count;

static void start(const char *text, uint64_t capacity_bytes)
{
    device_config config;
    memset(&config, 0, sizeof config);
    config.sim.capacity_bytes = capacity_bytes;
    on = device_open(&config, &why);
    count = 0;
    CHECK_MSG(on && !policy_parse(text, 0, &chosen, &why) && !pool_open(&opened, &chosen, on, &why), "%s %s", text,
              why.text);
}

static uint64_t held(void)
{
    device_counters counters;
    device_count(on, &counters);
    return counters.held_bytes;
}

static gpuarena_result take(uint64_t bytes)
{
    gpuarena_result result = pool_alloc(&opened, &blocks[count], bytes, NULL);
    sizes[count] = bytes;
    if (result == GPUARENA_OK) count++;
    return result;
}

static int take_many(int times, uint64_t bytes)
{
    while (times && take(bytes) == GPUARENA_OK) times--;
    return !times;
}

static void drop(size_t at)
{
    CHECK_INT(pool_free(&opened, blocks[at], sizes[at], NULL), ==, GPUARENA_OK);
    blocks[at] = blocks[--count];
    sizes[at] = sizes[count];
}

static void drop_from(size_t first)
{
    while (count > first) drop(count - 1);
}

static void finish(void)
{
    device_counters counters;
    drop_from(0);
    CHECK_INT(pool_trim(&opened), ==, GPUARENA_OK);
    CHECK_U64(held(), ==, 0);
    device_count(on, &counters);
    CHECK_MSG(!counters.findings, "every call legal");
    pool_close(&opened);
    CHECK_INT(device_close(on, &why), ==, 0);
}

/* B1, Expandable, and B7, [G]: pages of 20 MiB. 8 x 16 MiB take 7 of them, and 4 x 32 MiB fit there; nor does the
   other order take more. */
static void test_order(void)
{
    static const struct { int first; uint64_t first_mib; int second; uint64_t second_mib; } orders[] = {
        { 8, 16, 4, 32 }, { 4, 32, 8, 16 } };
    for (size_t at = 0; at < COUNT(orders); at++) {
        start("pytorch-expandable", MIB(8192));
        CHECK(take_many(orders[at].first, MIB(orders[at].first_mib)));
        CHECK_U64(held(), ==, MIB(140));
        drop_from(0);
        CHECK(take_many(orders[at].second, MIB(orders[at].second_mib)));
        CHECK_U64(held(), ==, MIB(140));
        finish();
    }
}

/* B1, Expandable: up to 1 MiB in pages of 2 MiB, larger ones in pages of 20 MiB; a block may begin in what is free at
   the end, and grow from there by whole pages. */
static void test_pages(void)
{
    static const struct { uint64_t take_mib, held_mib; } steps[] = {
        { 1, 2 }, { 18, 22 }, { 1, 22 }, { 22, 42 }, { 17, 62 }, { 2, 62 }, { 100, 162 }, { 1, 164 } };
    start("pytorch-expandable", MIB(8192));
    for (size_t at = 0; at < COUNT(steps); at++) {
        CHECK_INT(take(MIB(steps[at].take_mib)), ==, GPUARENA_OK);
        CHECK_U64(held(), ==, MIB(steps[at].held_mib));
    }
    drop_from(0);
    CHECK_U64(held(), ==, MIB(164));
    finish();
}

/* B1, Weak spots (a): the limit is asked for the request, and whole pages are mapped, which may pass it. */
static void test_limit(void)
{
    start("pytorch-expandable:limit=30M", MIB(8192));
    CHECK(take_many(1, MIB(22)));
    CHECK_U64(held(), ==, MIB(40));
    CHECK(take_many(1, MIB(8)));
    CHECK_INT(take(1), ==, GPUARENA_OUT_OF_MEMORY);
    finish();
}

/* B1, Miss chain 7: idle pages are unmapped before a request fails, and a large one is mapped where there is room. */
static void test_release(void)
{
    start("pytorch-expandable:limit=100M", MIB(8192));
    CHECK(take_many(5, MIB(20)));
    drop(2);
    drop(0);
    CHECK_U64(held(), ==, MIB(100));
    CHECK_INT(take(MIB(40)), ==, GPUARENA_OK);
    CHECK_U64(held(), ==, MIB(100));
    drop_from(0);
    CHECK_INT(take(MIB(100)), ==, GPUARENA_OK);
    CHECK_U64(held(), ==, MIB(100));
    finish();
}

/* B6, test_max_split_expandable: out of memory at 120 MB, all of which can be had after the frees. */
static void test_out_of_memory(void)
{
    start("pytorch-expandable:limit=120M", MIB(8192));
    CHECK(take_many(6, MIB(19)));
    CHECK_INT(take(MIB(40)), ==, GPUARENA_OUT_OF_MEMORY);
    drop_from(0);
    CHECK_MSG(take_many(1, MIB(120)), "all of the limit, in one block");
    finish();
    start("pytorch-expandable", MIB(90));
    CHECK_MSG(take_many(4, MIB(19)) && take(MIB(14)) == GPUARENA_OUT_OF_MEMORY,
              "a device that has less than a page of 20 MiB left");
    finish();
}

/* A1.10, A6.11: where bfc fails at a wall between regions (test_like_bfc.c), pages have none. */
static void test_wall(void)
{
    static const char *const texts[] = { "pytorch-expandable:limit=520M", "best-fit:limit=512M", "first:limit=512M" };
    for (size_t at = 0; at < COUNT(texts); at++) {
        start(texts[at], MIB(8192));
        CHECK(take_many(128, MIB(4)));
        void *last = blocks[127];
        blocks[127] = blocks[0];
        blocks[0] = last;
        drop_from(1);
        CHECK_MSG(take_many(1, MIB(508)), "%s: 508 MiB beside the last block", texts[at]);
        finish();
    }
}

/* Best fit takes the tightest hole, first fit the lowest; the range grows at its end alone. */
static void test_plain(void)
{
    static const struct { const char *name; size_t taken; } cases[] = { { "best-fit", 2 }, { "first-fit", 0 } };
    for (size_t at = 0; at < COUNT(cases); at++) {
        start(cases[at].name, MIB(64));
        CHECK(take(MIB(3)) + take(MIB(1)) + take(MIB(2)) + take(MIB(1)) == GPUARENA_OK);
        CHECK_U64(held(), ==, MIB(8));
        void *hole = blocks[cases[at].taken];
        drop(2);                                 /* the last takes its place */
        drop(0);
        CHECK(take(MIB(2)) == GPUARENA_OK && blocks[count - 1] == hole);
        CHECK_INT(take(MIB(60)), ==, GPUARENA_OUT_OF_MEMORY);
        CHECK_INT(take(MIB(56)), ==, GPUARENA_OK);
        CHECK_U64(held(), ==, MIB(64));
        finish();
    }
}

int main(void)
{
    test_order();
    test_pages();
    test_limit();
    test_release();
    test_out_of_memory();
    test_wall();
    test_plain();
    return tap_done();
}
