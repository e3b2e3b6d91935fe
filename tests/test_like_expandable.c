/* The preset pytorch-expandable against PyTorch's expandable segments, and the wall that pages do not have.
   It must not know the implementation. Each test names the paragraph of allocators.md that it stands on.
   Run: make test, or prove build/tests/test_like_expandable; recorded workloads: tests/presets.t */
#include "paged.h"

static paged_bench bench;

static int take_many(int count, uint64_t bytes)
{
    while (count && paged_alloc(&bench, bytes) == GPUARENA_OK) count--;
    return !count;
}

static void drop_all(void)
{
    while (bench.block_count) paged_free(&bench, bench.block_count - 1);
}

static void finish(void)
{
    CHECK_STR(paged_audit(&bench), "");
    CHECK_STR(paged_close(&bench), "");
}

/* B1, Expandable, and B7, [G]: pages of 20 MiB. 8 x 16 MiB take 7 of them, and 4 x 32 MiB fit there; nor does the
   other order take more. */
static void test_order(void)
{
    static const struct { int first; uint64_t first_mib; int second; uint64_t second_mib; } orders[] = {
        { 8, 16, 4, 32 }, { 4, 32, 8, 16 } };
    for (size_t at = 0; at < COUNT(orders); at++) {
        paged_open(&bench, GIB(8), "pytorch-expandable");
        CHECK(take_many(orders[at].first, MIB(orders[at].first_mib)));
        CHECK_U64(paged_stats(&bench).reserved_bytes, ==, MIB(140));
        drop_all();
        CHECK(take_many(orders[at].second, MIB(orders[at].second_mib)));
        CHECK_U64(paged_stats(&bench).reserved_bytes, ==, MIB(140));
        finish();
    }
}

/* B1, Expandable: a block may begin in what is free at the end, and grow from there by whole pages of 20 MiB. */
static void test_pages(void)
{
    static const struct { uint64_t take_mib, reserved_mib; } steps[] = {
        { 1, 20 }, { 18, 20 }, { 1, 20 }, { 22, 60 }, { 17, 60 }, { 2, 80 }, { 100, 180 } };
    paged_open(&bench, GIB(8), "pytorch-expandable");
    for (size_t at = 0; at < COUNT(steps); at++) {
        CHECK_INT(paged_alloc(&bench, MIB(steps[at].take_mib)), ==, GPUARENA_OK);
        CHECK_U64(paged_stats(&bench).reserved_bytes, ==, MIB(steps[at].reserved_mib));
    }
    drop_all();
    CHECK_U64(paged_stats(&bench).reserved_bytes, ==, MIB(180));
    CHECK_U64(paged_stats(&bench).remapped_page_count, ==, 0);
    CHECK_INT(gpuarena_trim(bench.arena, 0, NULL), ==, GPUARENA_OK);
    CHECK_U64(paged_stats(&bench).reserved_bytes, ==, 0);
    finish();
}

/* B1, Expandable: a page of 20 MiB comes whole, where part of it was given back around a block that stayed, too. */
static void test_whole_pages(void)
{
    paged_open(&bench, GIB(8), "pytorch-expandable");
    CHECK(take_many(1, MIB(8)) && take_many(1, MIB(1)) && take_many(1, MIB(11)));
    CHECK(paged_free(&bench, 2) == GPUARENA_OK && paged_free(&bench, 0) == GPUARENA_OK);
    CHECK_INT(gpuarena_trim(bench.arena, 0, NULL), ==, GPUARENA_OK);
    CHECK_U64(paged_stats(&bench).reserved_bytes, ==, MIB(2));
    CHECK(take_many(1, MIB(10)));
    CHECK_U64(paged_stats(&bench).reserved_bytes, ==, MIB(20));
    finish();
}

/* B1, Weak spots (a), which are not reproduced: the limit holds, and what is left below it can be had. */
static void test_limit(void)
{
    paged_open(&bench, GIB(8), "pytorch-expandable,limit=30M");
    CHECK(take_many(1, MIB(22)));
    CHECK_U64(paged_stats(&bench).reserved_bytes, <=, MIB(30));
    CHECK(take_many(1, MIB(8)));
    CHECK_U64(paged_stats(&bench).reserved_bytes, ==, MIB(30));
    CHECK_INT(paged_alloc(&bench, 1), ==, GPUARENA_OUT_OF_MEMORY);
    finish();
}

/* B6, test_max_split_expandable: out of memory at 120 MB, all of which can be had after the frees. */
static void test_out_of_memory(void)
{
    paged_open(&bench, GIB(8), "pytorch-expandable,limit=120M");
    CHECK(take_many(6, MIB(19)));
    CHECK_INT(paged_alloc(&bench, MIB(40)), ==, GPUARENA_OUT_OF_MEMORY);
    drop_all();
    CHECK_MSG(take_many(1, MIB(120)), "all of the limit, in one block");
    finish();
}

/* A1.10, A6.11: where `bfc` fails at a wall between regions (test_like_bfc.c), pages have none. */
static void test_wall(void)
{
    static const char *const texts[] = { "backing=paged,limit=512M", "pytorch-expandable,limit=512M" };
    for (size_t at = 0; at < COUNT(texts); at++) {
        paged_open(&bench, GIB(8), texts[at]);
        CHECK(take_many(128, MIB(4)));
        while (bench.block_count > 1) paged_free(&bench, 0);
        CHECK_MSG(take_many(1, MIB(508)), "%s: 508 MiB beside the last block", texts[at]);
        CHECK_U64(paged_stats(&bench).reserved_bytes, ==, MIB(512));
        finish();
    }
}

/* The axis itself: whole steps of pages, and what it does not go with. */
static void test_step(void)
{
    static const struct { const char *text, *said; } cases[] = {
        { "backing=paged,growth=step,step=20M", "growth: step with backing=paged only with idle=100%" },
        { "backing=paged,idle=100%,page=8M,growth=step,step=20M", "step: expected a multiple of page" },
        { "backing=paged,idle=100%,growth=double", "growth, step, step_max: expected growth auto, exact, fixed or" },
        { "backing=paged,idle=100%,step=20M", "growth, step, step_max: expected growth" } };
    sim_bench machine = bench_open_sized(GIB(1), NULL);
    for (size_t at = 0; at < COUNT(cases); at++) {
        gpuarena_config config = GPUARENA_INIT;
        gpuarena_failure failure;
        gpuarena *arena = NULL;
        CHECK_INT(gpuarena_config_parse(cases[at].text, &config, NULL, 0), ==, GPUARENA_OK);
        config.driver = &machine.driver;
        config.environment = "";
        gpuarena_result result = gpuarena_create(&config, &arena);
        gpuarena_last_failure(NULL, &failure);
        CHECK_MSG(result == GPUARENA_INVALID_CONFIG && strstr(failure.detail, cases[at].said) == failure.detail,
                  "%s: %s", cases[at].text, failure.detail);
    }
    bench_close(&machine);
    paged_open(&bench, GIB(1), "backing=paged,idle=100%,page=4M,growth=step");
    CHECK(take_many(1, 1));
    CHECK_U64(paged_stats(&bench).reserved_bytes, ==, MIB(64));
    finish();
    paged_open(&bench, MIB(100), "pytorch-expandable");
    CHECK_MSG(take_many(5, MIB(20)), "a device that whole steps fill");
    finish();
    paged_open(&bench, MIB(90), "pytorch-expandable");
    CHECK_MSG(take_many(4, MIB(19)) && take_many(1, MIB(14)), "and one that has less than the last of them");
    finish();
}

int main(void)
{
    test_order();
    test_pages();
    test_whole_pages();
    test_limit();
    test_out_of_memory();
    test_wall();
    test_step();
    return tap_done();
}
