/* Growth of paged ranges by whole steps of pages (growth=step): what it takes, and what it does not go with.
   It must not know the implementation.
   Run: make test, or prove build/tests/test_paged_step */
#include "paged.h"

#define STEPS "backing=paged,growth=step,placement=best,idle=100%,step=20M,alignment=512"

static paged_bench bench;

static int take_many(int count, uint64_t bytes)
{
    while (count && paged_alloc(&bench, bytes) == GPUARENA_OK) count--;
    return !count;
}

static void finish(void)
{
    CHECK_STR(paged_audit(&bench), "");
    CHECK_STR(paged_close(&bench), "");
}

/* A block may begin in what is free at the end, and grow from there by whole steps. */
static void test_pages(void)
{
    static const struct { uint64_t take_mib, reserved_mib; } steps[] = {
        { 1, 20 }, { 18, 20 }, { 1, 20 }, { 22, 60 }, { 17, 60 }, { 2, 80 }, { 100, 180 } };
    paged_open(&bench, GIB(8), STEPS);
    for (size_t at = 0; at < COUNT(steps); at++) {
        CHECK_INT(paged_alloc(&bench, MIB(steps[at].take_mib)), ==, GPUARENA_OK);
        CHECK_U64(paged_stats(&bench).reserved_bytes, ==, MIB(steps[at].reserved_mib));
    }
    while (bench.block_count) paged_free(&bench, bench.block_count - 1);
    CHECK_U64(paged_stats(&bench).reserved_bytes, ==, MIB(180));
    CHECK_U64(paged_stats(&bench).remapped_page_count, ==, 0);
    CHECK_INT(gpuarena_trim(bench.arena, 0, NULL), ==, GPUARENA_OK);
    CHECK_U64(paged_stats(&bench).reserved_bytes, ==, 0);
    finish();
}

/* A step comes whole, where part of it was given back around a block that stayed, too. */
static void test_whole_steps(void)
{
    paged_open(&bench, GIB(8), STEPS);
    CHECK(take_many(1, MIB(8)) && take_many(1, MIB(1)) && take_many(1, MIB(11)));
    CHECK(paged_free(&bench, 2) == GPUARENA_OK && paged_free(&bench, 0) == GPUARENA_OK);
    CHECK_INT(gpuarena_trim(bench.arena, 0, NULL), ==, GPUARENA_OK);
    CHECK_U64(paged_stats(&bench).reserved_bytes, ==, MIB(2));
    CHECK(take_many(1, MIB(10)));
    CHECK_U64(paged_stats(&bench).reserved_bytes, ==, MIB(20));
    finish();
}

/* The limit holds, and what is left below it can be had. */
static void test_limit(void)
{
    paged_open(&bench, GIB(8), STEPS ",limit=30M");
    CHECK(take_many(1, MIB(22)));
    CHECK_U64(paged_stats(&bench).reserved_bytes, <=, MIB(30));
    CHECK(take_many(1, MIB(8)));
    CHECK_U64(paged_stats(&bench).reserved_bytes, ==, MIB(30));
    CHECK_INT(paged_alloc(&bench, 1), ==, GPUARENA_OUT_OF_MEMORY);
    finish();
}

/* What model bfc cannot serve for the walls between its regions (test_like_bfc.c), pages can. */
static void test_wall(void)
{
    static const char *const texts[] = { "backing=paged,limit=512M", STEPS ",limit=512M" };
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
    paged_open(&bench, MIB(100), STEPS);
    CHECK_MSG(take_many(5, MIB(20)), "a device that whole steps fill");
    finish();
    paged_open(&bench, MIB(90), STEPS);
    CHECK_MSG(take_many(4, MIB(19)) && take_many(1, MIB(14)), "and one that has less than the last of them");
    finish();
}

int main(void)
{
    test_pages();
    test_whole_steps();
    test_limit();
    test_wall();
    test_step();
    return tap_done();
}
