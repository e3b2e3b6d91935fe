/* Numbers with units, limits of decimals, intervals: what the parts of gates answer.
   What rules mean, and which are refused: tests/cli/cases/gate.case. */
#include "stress/result/gate.h"
#include "tap.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static void test_numbers(void)
{
    static const struct { const char *text; column_unit unit; double value; } good[] = {
        { "0", UNIT_COUNT, 0 }, { "1.5", UNIT_COUNT, 1.5 }, { "512M", UNIT_BYTES, 536870912 },
        { "1.5GiB", UNIT_BYTES, 1610612736 }, { "7B", UNIT_BYTES, 7 }, { "20us", UNIT_NS, 20000 },
        { "1.5ms", UNIT_NS, 1500000 }, { "2s", UNIT_NS, 2e9 }, { "20%", UNIT_SHARE, 0.2 },
        { "1.05", UNIT_SHARE, 1.05 },
    };
    static const struct { const char *text; column_unit unit; } bad[] = {
        { "", UNIT_COUNT }, { "1K", UNIT_COUNT }, { ".5", UNIT_SHARE }, { "1.", UNIT_SHARE },
        { "1.2.3", UNIT_SHARE }, { "1e3", UNIT_COUNT }, { "0x10", UNIT_COUNT }, { "inf", UNIT_NS },
        { "nan", UNIT_NS }, { "-1", UNIT_COUNT }, { "1us", UNIT_BYTES }, { "1M", UNIT_NS },
        { "5pp", UNIT_SHARE }, { "1 ", UNIT_COUNT },
        { "111111111111111111111111111111111111111111111111111111111111", UNIT_COUNT },
    };
    long double value;
    for (size_t index = 0; index < COUNT(good); index++) {
        int result = metric_read(slice_of(good[index].text), good[index].unit, &value);
        CHECK_MSG(!result && (double)value >= good[index].value - 1e-9 && (double)value <= good[index].value + 1e-9,
                  "%s is read", good[index].text);
    }
    for (size_t index = 0; index < COUNT(bad); index++) {
        CHECK_MSG(metric_read(slice_of(bad[index].text), bad[index].unit, &value), "'%s' is no number",
                  bad[index].text);
    }
    CHECK(!metric_read(slice_of("18446744073709551615"), UNIT_BYTES, &value) && (uint64_t)value == UINT64_MAX);
}

/* What is exact is compared exactly: no product, quotient or sum of decimals is off by a bit. */
static void test_exact(void)
{
    size_t wrong = 0;
    for (int base = 1; base < 40000; base++) {
        static const struct { const char *form; long by, per; } limits[] = {
            { "footprint > base*1.05", 105, 100 }, { "footprint > base*0.9", 9, 10 }, { "footprint > base/8", 1, 8 },
        };
        for (size_t index = 0; index < COUNT(limits); index++) {
            char found[32], limit[32];
            long double before, after;
            rule made;
            problem why = { 0, "" };
            if (base * limits[index].by % limits[index].per) continue;
            long scaled = base * limits[index].by / limits[index].per;
            snprintf(found, sizeof found, "%d.%04d", base / 10000, base % 10000);
            snprintf(limit, sizeof limit, "%ld.%04ld", scaled / 10000, scaled % 10000);
            wrong += metric_read(slice_of(found), UNIT_COUNT, &before)
                || metric_read(slice_of(limit), UNIT_COUNT, &after)
                || rule_parse(&made, limits[index].form, &why) || rule_holds(&made, after, rule_limit(&made, before))
                || !rule_holds(&made, after + 0.0001L, rule_limit(&made, before));
            rule_free(&made);
        }
    }
    CHECK_MSG(!wrong, "%zu limits of decimals are off", wrong);
    CHECK(metric_equal(140737488355328.0L, 140737488355328.0L)
          && !metric_equal(140737488355328.0L, 140737488355329.0L));
    CHECK(!metric_equal(0.0L, 0.0001L) && !metric_equal(1.0001L, 1.0L));
}

static void test_shown(void)
{
    static const struct { double value; column_unit unit; const char *text; } rows[] = {
        { 1.05, UNIT_SHARE, "1.0500" }, { 1.00005, UNIT_SHARE, "1.00005" },
        { 1.0 / 3.0, UNIT_SHARE, "0.33333333" },
        { 12.3, UNIT_NS, "12.3" }, { 129.57, UNIT_NS, "129.57" }, { 600, UNIT_COUNT, "600" },
        { 181.5, UNIT_COUNT, "181.5" }, { 0, UNIT_BYTES, "0" }, { -3, UNIT_COUNT, "-3" },
    };
    char text[40];
    for (size_t index = 0; index < COUNT(rows); index++) {
        CHECK_STR(metric_show((long double)rows[index].value, rows[index].unit, text, sizeof text), rows[index].text);
    }
}

/* Of n values, (37 i) mod 100 each, those at the ranks that test_bench.c asks for. */
static void test_intervals(void)
{
    static const struct { size_t count; int is_timed, is_known; double low, middle, high; } rows[] = {
        { 100, 1, 1, 39, 49.5, 60 }, { 6, 1, 1, 0, 42.5, 85 }, { 9, 1, 1, 11, 48, 85 }, { 8, 1, 1, 0, 42.5, 85 },
        { 5, 1, 0, 0, 37, 74 }, { 1, 0, 1, 0, 0, 0 }, { 0, 0, 0, 0, 0, 0 },
    };
    for (size_t of = 0; of < COUNT(rows); of++) {
        long double samples[100];
        for (int at = 0; at < 100; at++) samples[at] = (at * 37) % 100;
        interval found = interval_of(samples, rows[of].count, rows[of].is_timed);
        CHECK_MSG(found.count == rows[of].count && found.is_known == rows[of].is_known
                  && metric_equal(found.low, rows[of].low) && metric_equal(found.middle, rows[of].middle)
                  && metric_equal(found.high, rows[of].high), "of %zu: %.1Lf, %.1Lf to %.1Lf", found.count,
                  found.middle, found.low, found.high);
    }
}

int main(void)
{
    test_numbers();
    test_exact();
    test_shown();
    test_intervals();
    return tap_done();
}
