/* Rules, numbers with units, intervals, CSV read back: what the parts of gates answer.
   It must not run anything: rows are texts. */
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

static void test_patterns(void)
{
    static const struct { const char *pattern, *text; int fits; } rows[] = {
        { "*", "", 1 }, { "*", "x", 1 }, { "a", "a", 1 }, { "a", "ab", 0 }, { "a*", "ab", 1 }, { "*b", "aab", 1 },
        { "*b", "aba", 0 }, { "a*b*c", "aXbYbZc", 1 }, { "a?c", "abc", 1 }, { "a?c", "ac", 0 }, { "", "", 1 },
        { "", "a", 0 }, { "**a", "ba", 1 }, { "train:*", "train:seq=512", 1 },
    };
    for (size_t index = 0; index < COUNT(rows); index++) {
        CHECK_MSG(slice_fits(slice_of(rows[index].pattern), rows[index].text) == rows[index].fits, "'%s' and '%s'",
                  rows[index].pattern, rows[index].text);
    }
}

static void check_rule(const char *text, const char *shown)
{
    rule made;
    problem why = { 0, "" };
    char found[512];
    int failed = rule_parse(&made, text, &why);
    if (failed) snprintf(found, sizeof found, "%s", why.text);
    else {
        snprintf(found, sizeof found, "[%s][%s] %s %d [%s] %c %.4Lf [%s]", made.workload ? made.workload : "",
                 made.policy ? made.policy : "", made.column, (int)made.compared,
                 made.reference ? made.reference : "", made.arithmetic ? made.arithmetic : '.', made.amount,
                 made.word ? made.word : "");
    }
    int passed = failed ? why.exit_code == EXIT_USAGE && strstr(found, shown) != NULL : !strcmp(found, shown);
    CHECK_MSG(passed, "%s: %s", text, found);
    rule_free(&made);
}

static void test_rules(void)
{
    check_rule("footprint > 1.05", "[][] footprint 2 [] . 1.0500 []");
    check_rule("footprint>20%", "[][] footprint 2 [] . 0.2000 []");
    check_rule("train/paged: reserved_peak_bytes >= 1.5G",
               "[train][paged] reserved_peak_bytes 3 [] . 1610612736.0000 []");
    check_rule("\"train:seq=512\"/'config:step=4M' : driver_calls < 3",
               "[train:seq=512][config:step=4M] driver_calls 0 [] . 3.0000 []");
    check_rule("*/paged:footprint > base*1.05", "[*][paged] footprint 2 [base] * 1.0500 []");
    check_rule("driver_calls > raw/10", "[][] driver_calls 2 [raw] / 10.0000 []");
    check_rule("fragmentation > base + 3pp", "[][] fragmentation 2 [base] + 0.0300 []");
    check_rule("reserved_peak_bytes <= base-64M", "[][] reserved_peak_bytes 1 [base] - 67108864.0000 []");
    check_rule("alloc_p99_ns > pytorch-expandable*2", "[][] alloc_p99_ns 2 [pytorch-expandable] * 2.0000 []");
    check_rule("footprint != \"segments:growth=step\"", "[][] footprint 5 [segments:growth=step] . 0.0000 []");
    check_rule("status != ok", "[][] status 5 [] . 0.0000 [ok]");
    check_rule("digest != base", "[][] digest 5 [base] . 0.0000 []");
    check_rule("", "expected [WORKLOAD/POLICY:]METRIC OP VALUE");
    check_rule("train: footprint > 1", "expected WORKLOAD/POLICY before the ':'");
    check_rule("/paged: footprint > 1", "expected WORKLOAD/POLICY before the ':'");
    check_rule("\"train/paged: footprint > 1", "expected [WORKLOAD/POLICY:]METRIC OP VALUE");
    check_rule("a/b/c: footprint > 1", "expected WORKLOAD/POLICY before the ':'");
    check_rule("footprints > 1", "no metric 'footprints', did you mean 'footprint'?");
    check_rule("workload == train", "workload names the row, expected a metric: rows are picked by WORKLOAD/POLICY:");
    check_rule("seed == 1", "seed names the row, expected a metric");
    check_rule("footprint", "expected one of < <= > >= == != behind footprint");
    check_rule("footprint = 1", "expected one of < <= > >= == != behind footprint");
    check_rule("status > ok", "status is a word: expected == or !=");
    check_rule("status ==", "expected one word");
    check_rule("status == OOM", "status is never 'OOM': expected base or one of ok oom verify_failed error");
    check_rule("met == yess", "met is never 'yess': expected base or one of yes no unclear");
    check_rule("met == ye", "met is never 'ye'");
    check_rule("oom_reason == fragment", "expected base or one of none over_limit over_parent");
    check_rule("stop_reason != not_made", "[][] stop_reason 5 [] . 0.0000 [not_made]");
    check_rule("stop_reason == option_maximum", "[][] stop_reason 4 [] . 0.0000 [option_maximum]");
    check_rule("oom_reason == try_only", "[][] oom_reason 4 [] . 0.0000 [try_only]");
    check_rule("status != base+1", "status is never 'base+1'");
    check_rule("digest == 0123456789abcdef", "[][] digest 4 [] . 0.0000 [0123456789abcdef]");
    check_rule("status == \"ok\" or", "expected one word");
    check_rule("footprint >", "expected a number, such as 1.05 or 20%, found ''");
    check_rule("footprint > 5us", "expected a number, such as 1.05 or 20%, found '5us'");
    check_rule("alloc_p50_ns > 5M", "expected a time");
    check_rule("reserved_peak_bytes > 5pp", "expected a number of bytes");
    check_rule("footprint > 3pp", "expected a number");
    check_rule("footprint > base^2", "expected one of * / + - behind base, found '^2'");
    check_rule("footprint > base/0", "above 0");
    check_rule("footprint > base*5%", "expected a plain number");
    check_rule("footprint > 'base", "a quote that does not end");
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

static void test_intervals(void)
{
    long double samples[100];
    for (int at = 0; at < 100; at++) samples[at] = (at * 37) % 100;
    interval found = interval_of(samples, 100, 1);
    CHECK(found.is_known && found.low > 38.5L && found.low < 39.5L && found.high > 59.5L && found.high < 60.5L);
    CHECK(found.middle > 49.4L && found.middle < 49.6L);
    found = interval_of(samples, 6, 1);
    CHECK(found.is_known && found.low < 0.5L && found.high > 4.5L);
    CHECK(!interval_of(samples, 5, 1).is_known);
    CHECK(interval_of(samples, 1, 0).is_known);
    CHECK(interval_of(samples, 0, 0).count == 0);
    found = interval_of(samples, 9, 1);
    CHECK_MSG(found.low > 0.5L && found.low < 1.5L, "of 9 the second: 2 x 10 / 512 is below 5 %%");
    found = interval_of(samples, 8, 1);
    CHECK_MSG(found.low < 0.5L, "of 8 the first: 2 x 9 / 256 is not");
}

static void check_csv(const char *text, const char *expected, const char *trouble)
{
    csv_table made;
    problem why = { 0, "" };
    int failed = csv_table_parse(&made, "name", text, strlen(text), &why);
    if (!trouble) {
        CHECK_MSG(!failed && made.row_count == 1, "one row: %s", why.text);
        if (failed || made.row_count != 1) expected = "one row";
        CHECK_STR(failed ? why.text : csv_table_cell(&made, 0, csv_table_column(&made, "b")), expected);
    } else {
        CHECK_MSG(failed && strstr(why.text, trouble), "refused: %s", why.text);
    }
    csv_table_free(&made);
}

static void test_csv(void)
{
    check_csv("a,b\n1,2\n", "2", NULL);
    check_csv("a,b\r\n1,2\r\n", "2", NULL);
    check_csv("a,b\n1,2", "2", NULL);
    check_csv("a,b\n1,\"2,\"\"3\"\"\n\"\n", "2,\"3\"\n", NULL);
    check_csv("a,b\n1,\"2\"\r\n", "2", NULL);
    check_csv("b\n\"\"\n", "", NULL);
    check_csv("a,b\n1,\n", "", NULL);
    check_csv("a,b\n1,2\na,b\n", "2", NULL);
    check_csv("", NULL, "name: empty");
    check_csv("a,b\n1\n", NULL, "name: line 2: expected 2 cells, as the header has, found 1");
    check_csv("a,b\n1,2,3\n", NULL, "found 3");
    check_csv("a,b\n1,\"2\n", NULL, "a quote that does not end");
    check_csv("a,b\n1,\"2\"x\n", NULL, "line 2: expected ',' behind a quote");
}

int main(void)
{
    test_numbers();
    test_patterns();
    test_rules();
    test_exact();
    test_shown();
    test_intervals();
    test_csv();
    return tap_done();
}
