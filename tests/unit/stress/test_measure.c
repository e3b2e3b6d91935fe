/* Histogram, repeats added up, memory track, digest: layout, edges, known values; and the bounds of a record.
   It must not know of policies. */
#include "stress/base/sets.h"
#include "stress/base/histogram.h"
#include "stress/base/memory.h"
#include "stress/device/device.h"
#include "stress/result/gate.h"
#include "stress/result/record.h"
#include "tap.h"

static histogram latency;

/* The layout is a promise to files that are there already. */
static void test_layout(void)
{
    static const struct { uint64_t lower; size_t bucket; } fixed[] = {
        { 0, 0 }, { 31, 31 }, { 32, 32 }, { 63, 63 }, { 64, 64 }, { 66, 65 }, { 126, 95 }, { 128, 96 }, { 992, 190 },
        { (uint64_t)1 << 32, 28 * 32 }, { UINT64_C(63) << 58, 1919 },
    };
    size_t broken = 0, wide = 0;
    CHECK_INT(HISTOGRAM_BUCKETS, ==, 1920);
    for (size_t at = 0; at < sizeof fixed / sizeof fixed[0]; at++) {
        CHECK_U64(histogram_bucket(fixed[at].lower), ==, fixed[at].bucket);
        CHECK_U64(histogram_lower(fixed[at].bucket), ==, fixed[at].lower);
    }
    for (size_t bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
        uint64_t lower = histogram_lower(bucket), upper = histogram_upper(bucket), width = upper - lower + 1;
        broken += histogram_bucket(lower) != bucket || histogram_bucket(upper) != bucket || lower > upper;
        broken += bucket && histogram_bucket(lower - 1) != bucket - 1;
        wide += bucket >= 32 && (width > lower / 32 || lower % width != 0);
    }
    CHECK_MSG(broken == 0 && histogram_upper(HISTOGRAM_BUCKETS - 1) == UINT64_MAX, "buckets tile the line");
    CHECK_MSG(wide == 0, "no bucket is wider than 1/32 of what is in it");
}

/* Percentiles of the values 1 to 20, and then of a large one, too. */
static void test_percentiles(void)
{
    static const struct { uint32_t per_mille; uint64_t value; } rows[] = {
        { 500, 10 }, { 990, 20 }, { 1, 1 }, { 1000, 20 },
    };
    memset(&latency, 0, sizeof latency);
    CHECK_U64(histogram_percentile(&latency, 500), ==, 0);
    for (uint64_t value = 1; value <= 20; value++) histogram_add(&latency, value);
    for (size_t at = 0; at < sizeof rows / sizeof rows[0]; at++)
        CHECK_U64(histogram_percentile(&latency, rows[at].per_mille), ==, rows[at].value);
    CHECK_U64(latency.sum, ==, 210);
    histogram_add(&latency, 1000001);
    CHECK_U64(histogram_percentile(&latency, 1000), ==, 1000001);
    CHECK_U64(latency.max, ==, 1000001);
}

static void test_support(void)
{
    memset(&latency, 0, sizeof latency);
    for (int index = 0; index < 999; index++) histogram_add(&latency, 7);
    CHECK(!histogram_supports(&latency, 990) && histogram_supports(&latency, 500));
    histogram_add(&latency, 7);
    CHECK(histogram_supports(&latency, 990) && !histogram_supports(&latency, 1000));
    CHECK_U64(histogram_percentile(&latency, 990), ==, 7);
}

/* Two rows of one workload and policy: their times together are one histogram, and its percentiles are no average. */
static void test_repeats(void)
{
    static row rows[3];
    static latencies times[3];
    const row_list list = { .rows = rows, .count = 3 };
    case_index cases;
    static repeats one, none;
    for (size_t at = 0; at < 3; at++) {
        row *made = &rows[at];
        made->times = &times[at];
        row_text(made, COLUMN_WORKLOAD, "a");
        row_text(made, COLUMN_POLICY, at == 2 ? "other" : "one");
        row_real(made, COLUMN_HOST_NS, 10.0 + (double)at);
        for (int sample = 0; sample < 1000; sample++) {
            histogram_add(&times[at].allocs, at || sample >= 985 ? 3000 : 20);
        }
    }
    case_index_make(&cases, &list, &list);
    CHECK(!repeats_of(&none, &cases, 1) && !repeats_of(&none, &cases, 2));
    CHECK(repeats_of(&one, &cases, 0) && one.count == 2 && one.ns.count == 2);
    const histogram *sum = one.sums[REPEATS_ALLOC];
    CHECK(sum->count == 2000 && sum->sum == 985 * 20 + 1015 * 3000 && sum->max == 3000);
    CHECK_U64(sum->buckets[histogram_bucket(20)], ==, 985);
    CHECK_U64(sum->buckets[histogram_bucket(3000)], ==, 1015);
    CHECK_MSG(histogram_percentile(&times[0].allocs, 500) == 20 && histogram_percentile(&times[1].allocs, 500) == 3000
              && histogram_percentile(sum, 500) == 3000, "the median is that of all samples, not the mean of two");
    CHECK_INT(histogram_supports(sum, 995), ==, 1);
    CHECK_INT(histogram_supports(&times[0].allocs, 995), ==, 0);
    CHECK(one.ns.middle > 10.49L && one.ns.middle < 10.51L && one.ns.low < 10.01L && one.ns.high > 10.99L);
    CHECK(!one.sums[REPEATS_WAITED]);
    case_index_free(&cases);
}

static void test_memory(void)
{
    memory_track track;
    memset(&track, 0, sizeof track);
    CHECK(memory_footprint(&track) == 0.0);
    CHECK(memory_fragmentation(0, 0) == 0.0);
    CHECK(memory_fragmentation(100, 25) == 0.75);
    CHECK(memory_fragmentation(100, 100) == 0.0);
    const memory_use first = { 100, 128, 200, 72, 18, 1, 5 };
    const memory_use second = { 150, 160, 200, 40, 40, 9, 30 };
    const memory_use third = { 50, 64, 400, 336, 84, 0, 7 };
    memory_sample(&track, &first);
    memory_sample(&track, &second);
    CHECK_MSG(track.fragmentation == 0.75, "fragmentation is that of the first op at the reserved peak");
    CHECK_U64(track.requested_peak_bytes, ==, 150);
    CHECK_U64(track.live_peak_bytes, ==, 160);
    CHECK_U64(track.stranded_peak_bytes, ==, 9);
    memory_failure(&track, 40, 20);
    memory_failure(&track, 40, 40);
    memory_sample(&track, &third);
    CHECK_MSG(track.fragmentation == 0.5, "after a failure, fragmentation is that of the first failure");
    CHECK_U64(track.reserved_peak_bytes, ==, 400);
    CHECK_U64(track.pending_peak_bytes, ==, 30);
    CHECK(memory_footprint(&track) == 400.0 / 150.0);
}

static void test_digest(void)
{
    CHECK_U64(digest_word(DIGEST_START, 0), ==, UINT64_C(0xa8c7f832281a39c5));
    CHECK_U64(digest_word(DIGEST_START, 255), ==, UINT64_C(0x9016b196e349a31a));
    CHECK_U64(digest_word(DIGEST_START, 256), ==, UINT64_C(0xe3757ca7d64666ea));
    CHECK(digest_word(DIGEST_START, 1) != digest_word(DIGEST_START, 256));
    CHECK(digest_word(digest_word(DIGEST_START, 1), 2) != digest_word(digest_word(DIGEST_START, 2), 1));
}

/* Past its bound a list of a record takes no more, and map_ops tells from which op on blocks are missing. Frees of
   recorded blocks still count. */
static void test_bounds_of_records(void)
{
    problem trouble = { 0, "" };
    device_config config;
    op_stream stream;
    memset(&config, 0, sizeof config);
    memset(&stream, 0, sizeof stream);
    stream.block_count = RECORD_MOST_BLOCKS + 1;
    device *on = device_open(&config, &trouble);
    record *recording = record_create(RECORD_SERIES | RECORD_MAP);
    if (!CHECK(on && recording)) return;
    record_begin(recording, on, &stream, 1);
    for (uint32_t number = 0; number <= RECORD_MOST_BLOCKS; number++) {
        record_op(recording, number);
        record_alloc(recording, number, (void *)(uintptr_t)(4096 + 256 * (uint64_t)number), 1, 256, 0);
        if (number <= RECORD_MOST_STEPS) record_label(recording, 0);
    }
    record_free(recording, 5);
    record_finish(recording, RECORD_MOST_BLOCKS + 1);
    CHECK_U64(recording->block_count, ==, RECORD_MOST_BLOCKS);
    CHECK_U64(recording->map_ops, ==, RECORD_MOST_BLOCKS);
    CHECK_U64(recording->step_count, ==, RECORD_MOST_STEPS);
    CHECK_U64(recording->blocks[5].death_op, ==, RECORD_MOST_BLOCKS);
    CHECK_U64(recording->axis_bytes, ==, (uint64_t)256 * RECORD_MOST_BLOCKS);
    record_destroy(recording);
    device_close(on, NULL);
}

int main(void)
{
    test_layout();
    test_percentiles();
    test_support();
    test_repeats();
    test_memory();
    test_digest();
    test_bounds_of_records();
    return tap_done();
}
