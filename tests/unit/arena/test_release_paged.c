/* The axis of release in paged arenas, on the simulated device: pages that were idle long enough, or are too many.
   It must not know the implementation: the contracts in gpuarena.h, and what the device counts. */
#include "paged.h"

static paged_bench bench;

static uint64_t held(void) { return paged_counters(&bench).held_bytes; }

static void finish(const char *name)
{
    char message[100] = "";
    CHECK_MSG(gpuarena_check(bench.arena, message, sizeof message) == GPUARENA_OK, "%s: check %s", name, message);
    CHECK_STR(paged_close(&bench), "");
}

/* Ten blocks of 8 MiB side by side, freed one after the other: above 24 MiB of idle pages go, down to 12. */
static void test_idle(void)
{
    static const uint64_t held_mib[] = { 80, 80, 80, 60, 60, 44, 44, 28, 28, 12 };
    int wrong = 0;
    paged_open(&bench, GIB(1), "release=idle,release_at=24M,large=1");
    for (int block = 0; block < 10; block++) (void)paged_alloc(&bench, MIB(8));
    for (int block = 0; block < 10; block++) {
        wrong += paged_free(&bench, 0) != GPUARENA_OK;
        if (held() == MIB(held_mib[block])) continue;
        wrong++;
        printf("# free %d: %" PRIu64 " MiB held\n", block, held() >> 20);
    }
    CHECK_MSG(wrong == 0, "idle: what is held after each free");
    finish("idle");
}

/* What is not quiet stays, and goes with a later free; nobody waits for the device. */
static void test_idle_pending(void)
{
    void *blocks[4];
    gpuarena_stats stats;
    paged_open(&bench, GIB(1), "release=idle,release_at=1");
    for (int block = 0; block < 4; block++)
        CHECK_INT(gpuarena_alloc(bench.arena, &blocks[block], MIB(8), NULL), ==, GPUARENA_OK);
    sim_work(bench.machine, 0, NULL, 100000000);
    CHECK_INT(gpuarena_free(bench.arena, blocks[0], NULL), ==, GPUARENA_OK);
    CHECK_U64(held(), ==, MIB(32));
    sim_advance(bench.machine, 200000000);
    CHECK_INT(gpuarena_free(bench.arena, blocks[1], NULL), ==, GPUARENA_OK);
    CHECK_U64(held(), ==, MIB(16));
    gpuarena_get_stats(bench.arena, &stats);
    CHECK_U64(stats.gpu_wait_count, ==, 0);
    for (int block = 2; block < 4; block++)
        CHECK_INT(gpuarena_free(bench.arena, blocks[block], GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
    CHECK_U64(held(), ==, 0);
    finish("idle, pending");
}

/* Of 100 MiB 20 are needed now and then, 70 never again: these go, once a span of 100 operations has passed. */
static void test_age(void)
{
    uint64_t at_first;
    paged_open(&bench, GIB(1), "release=age,release_age=100");
    for (int block = 0; block < 10; block++) (void)paged_alloc(&bench, MIB(10));
    for (int block = 0; block < 9; block++) (void)paged_free(&bench, 1);
    at_first = held();
    for (int round = 0; round < 45; round++) {   /* the span of 100 ends within */
        (void)paged_alloc(&bench, MIB(20));
        (void)paged_free(&bench, 1);
    }
    CHECK_U64(at_first, ==, MIB(100));
    CHECK_U64(held(), ==, MIB(100));             /* the first span began with nothing idle */
    for (int round = 0; round < 50; round++) {
        (void)paged_alloc(&bench, MIB(20));
        (void)paged_free(&bench, 1);
    }
    CHECK_U64(held(), ==, MIB(30));
    for (int round = 0; round < 300; round++) {
        (void)paged_alloc(&bench, round % 40 ? MIB(2) : MIB(20));
        (void)paged_free(&bench, 1);
    }
    CHECK_U64(held(), ==, MIB(30));              /* needed in every span */
    finish("age");
}

static void test_pressure(void)
{
    paged_open(&bench, MIB(200), "release=pressure,release_at=100M,idle=100%");
    for (int block = 0; block < 8; block++) (void)paged_alloc(&bench, MIB(10));
    for (int block = 0; block < 4; block++) (void)paged_free(&bench, block);     /* every second: 40 MiB idle */
    CHECK_U64(held(), ==, MIB(80));
    CHECK_INT(paged_alloc(&bench, MIB(20)), ==, GPUARENA_OK);    /* 120 - 20 are left: enough */
    CHECK_U64(held(), ==, MIB(100));
    CHECK_INT(paged_alloc(&bench, MIB(20)), ==, GPUARENA_OK);    /* 100 - 20: 20 are lacking, and go */
    CHECK_U64(held(), ==, MIB(100));
    CHECK_INT(paged_alloc(&bench, MIB(40)), ==, GPUARENA_OK);    /* all 20 that there are */
    CHECK_U64(held(), ==, MIB(120));
    finish("pressure");
}

int main(void)
{
    test_idle();
    test_idle_pending();
    test_age();
    test_pressure();
    return tap_done();
}
