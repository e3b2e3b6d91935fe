/* Hits and misses apart, and operations that come at a rate: what is waited for an op and what it takes.
   It must not judge policies. */
#include <stdlib.h>

#include "pass_bench.h"

enum { PAIRS = 200 };

static void fill(bench *bed)
{
    bench_open(bed);
    bed->settings.device.sim.capacity_bytes = 1024 * MIB;
    for (uint32_t pair = 0; pair < PAIRS; pair++) {
        add_alloc(bed, MIB, 0);
        add_free(bed, pair, 0);
    }
}

static void test_misses(bench *bed)
{
    fill(bed);
    CHECK_MSG(run(bed, "raw", NULL)->misses == PAIRS, "raw: every allocation calls the driver");
    CHECK_MSG(run(bed, "segments", NULL)->misses == 1, "segments: the first alone");
    pass_timing timing = { calloc(1, sizeof(histogram)), calloc(1, sizeof(histogram)), calloc(1, sizeof(histogram)),
                           calloc(1, sizeof(histogram)) };
    if (timing.allocs && timing.frees && timing.hits && timing.misses) {
        CHECK_MSG(run(bed, "segments", &timing)->misses == 1, "the timing pass has the same");
        CHECK_U64(timing.allocs->count, ==, PAIRS);
        CHECK_U64(timing.frees->count, ==, PAIRS);
        CHECK_U64(timing.hits->count, ==, PAIRS - 1);
        CHECK_U64(timing.misses->count, ==, 1);
        CHECK_U64(timing.hits->sum + timing.misses->sum, ==, timing.allocs->sum);
    }
    free(timing.allocs);
    free(timing.frees);
    free(timing.hits);
    free(timing.misses);
}

static uint64_t rated(bench *bed, uint64_t rate, arrivals *found)
{
    memset(found, 0, sizeof *found);
    bed->settings.rate = rate;
    bed->settings.arrivals = found;
    const pass_result *result = run(bed, "raw", NULL);
    CHECK_MSG(result->status == PASS_OK && found->waited.count == 2 * PAIRS && found->served.count == 2 * PAIRS,
              "%d a second: every allocation and free counts", (int)rate);
    return result->digest;
}

static void test_rate(bench *bed)
{
    arrivals slow, fast, unasked;
    fill(bed);
    uint64_t digest = run(bed, "raw", NULL)->digest;
    CHECK_MSG(rated(bed, 100, &slow) == digest && rated(bed, 1000000, &fast) == digest, "the rate changes no result");
    CHECK_MSG(slow.waited.sum == slow.served.sum && slow.waited.max == slow.served.max,
              "ten milliseconds apart nothing waits for what came before");
    CHECK_U64(slow.served.sum, ==, fast.served.sum);
    /* a microsecond apart, each op waits for all before: the last for the sum of what they take, but for its
       due time */
    uint64_t last_due_ns = 2 * PAIRS * UINT64_C(1000) - 1000;
    CHECK_U64(fast.waited.max, ==, fast.served.sum - last_due_ns);
    CHECK_MSG(histogram_percentile(&fast.waited, 500) > 50 * histogram_percentile(&fast.served, 500),
              "which a loop that waits for each op does not show");
    memset(&unasked, 0, sizeof unasked);
    bed->settings.rate = 0;
    bed->settings.arrivals = &unasked;
    CHECK_MSG(run(bed, "raw", NULL)->digest == digest && !unasked.waited.count, "without a rate nothing is due");
}

/* What is left live is freed between rounds and at the end: nobody waited for that. */
static void test_rest(bench *bed)
{
    arrivals found;
    memset(&found, 0, sizeof found);
    bench_open(bed);
    bed->settings.device.sim.capacity_bytes = 64 * MIB;
    bed->settings.rate = 1000;
    bed->settings.arrivals = &found;
    bed->settings.times = 3;
    bed->settings.skip_oom = 1;
    for (uint32_t block = 0; block < 5; block++) add_alloc(bed, MIB, 0);
    add_alloc(bed, 1024 * MIB, 0);
    add_free(bed, 5, 0);                         /* was refused: the last to arrive, and never made */
    const pass_result *result = run(bed, "raw", NULL);
    CHECK_INT(result->status, ==, PASS_OOM);
    CHECK_U64(result->ops, ==, 3 * 6 + 2 * 5);
    CHECK_U64(found.waited.count, ==, 3 * 6);
    CHECK_U64(found.served.count, ==, 3 * 6);
    CHECK_MSG(found.waited.sum == found.served.sum, "at a thousand a second nothing waits for anything");
    memset(&found, 0, sizeof found);
    bed->settings.rate = 1000000;
    run(bed, "raw", NULL);
    uint64_t thrice_ns = found.waited.sum;
    memset(&found, 0, sizeof found);
    bed->settings.times = 1;
    run(bed, "raw", NULL);
    CHECK_MSG(found.waited.sum > found.served.sum && thrice_ns == 3 * found.waited.sum, "every round begins anew");
}

/* Numbers that do not divide a second leave no drift: due times are those of exact arithmetic. */
static void test_odd_rate(bench *bed)
{
    arrivals odd;
    fill(bed);
    rated(bed, 7, &odd);
    CHECK_U64(odd.waited.sum, ==, odd.served.sum);
    rated(bed, 999999937, &odd);
    CHECK_U64(odd.waited.max, ==, odd.served.sum - (2 * PAIRS - 1) * UINT64_C(1000000000) / 999999937);
}

int main(void)
{
    bench *bed = malloc(sizeof *bed);
    if (!bed) return 1;
    test_misses(bed);
    test_rate(bed);
    test_odd_rate(bed);
    test_rest(bed);
    free(bed);
    return tap_done();
}
