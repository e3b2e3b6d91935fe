/* Plots: round ticks from the smallest to the largest axis, and what is written for them.
   What is drawn: pictures.t and tests/cli/cases/outputs.case. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stress/report/plot.h"
#include "tap.h"
#include "stress/base/text.h"

/* Ticks of an axis as text: "0 2 4 | GiB". */
static const char *ticks_of(plot_unit unit, double least, double most, int is_log, char *text, size_t size)
{
    const plot_axis axis = { least, most, is_log, unit, "", 0 };
    double ticks[PLOT_TICKS];
    char tick[32];
    size_t used = 0, count = plot_ticks(&axis, ticks);
    for (size_t at = 0; at < count && used < size; at++) {
        used += (size_t)snprintf(text + used, size - used, "%s ",
                                 plot_tick_text(&axis, ticks[at], tick, sizeof tick));
    }
    snprintf(text + used, size - used, "| %s", plot_unit_name(&axis));
    return text;
}

static void test_ticks(void)
{
    char text[512];
    CHECK_STR(ticks_of(PLOT_COUNT, 0, 37384, 0, text, sizeof text), "0 10k 20k 30k | ");
    CHECK_STR(ticks_of(PLOT_COUNT, 0, 900, 0, text, sizeof text), "0 200 400 600 800 | ");
    CHECK_STR(ticks_of(PLOT_COUNT, 0, 2, 0, text, sizeof text), "0 1 2 | ");
    CHECK_STR(ticks_of(PLOT_COUNT, 0, 3e7, 0, text, sizeof text), "0 5M 10M 15M 20M 25M 30M | ");
    CHECK_STR(ticks_of(PLOT_COUNT, 1, 65536, 1, text, sizeof text), "1 4 16 64 256 1,024 4,096 16,384 65,536 | ");
    CHECK_STR(ticks_of(PLOT_BYTES, 0, 6.0 * 1073741824, 0, text, sizeof text), "0 1 2 3 4 5 6 | GiB");
    CHECK_STR(ticks_of(PLOT_BYTES, 0, 1.5 * 1073741824, 0, text, sizeof text), "0 500 1000 1500 | MiB");
    CHECK_STR(ticks_of(PLOT_BYTES, 0, 1, 0, text, sizeof text), "0 0.2 0.4 0.6 0.8 1 | B");
    CHECK_STR(ticks_of(PLOT_BYTES, 0, 18446744073709551615.0, 0, text, sizeof text),
              "0 5000000 10000000 15000000 | TiB");
    CHECK_STR(ticks_of(PLOT_SHARE, 0, 1, 0, text, sizeof text), "0 20 40 60 80 100 | %");
    CHECK_STR(ticks_of(PLOT_NS, 10, 100000, 1, text, sizeof text),
              "10 ns 100 ns 1 \xc2\xb5s 10 \xc2\xb5s 100 \xc2\xb5s | ");
}

/* Of whatever is shown: some ticks, not too many, within the axis, and the rounded end is one of them. */
static void test_any(void)
{
    int bad = 0;
    for (int unit = PLOT_COUNT; unit <= PLOT_RATIO; unit++) {
        for (double most = 1e-3; most < 2e19; most *= 1.37) {
            plot_axis axis = { 0.0, most, 0, (plot_unit)unit, "", 0 };
            double ticks[PLOT_TICKS];
            axis.most = plot_round_up(&axis);
            size_t count = plot_ticks(&axis, ticks);
            int is_bad = axis.most < most || count < 2 || count > 8 || fabs(ticks[0]) > 0.0
                || fabs(ticks[count - 1] - axis.most) > 1e-6 * axis.most;
            if (is_bad) printf("#   unit %d, most %.10g: %zu ticks to %.10g\n", unit, most, count, axis.most);
            bad += is_bad;
        }
    }
    CHECK_INT(bad, ==, 0);
}

static void test_numbers(void)
{
    char text[32];
    CHECK_STR(text_bytes(0, text, sizeof text), "0 B");
    CHECK_STR(text_bytes(1023, text, sizeof text), "1023 B");
    CHECK_STR(text_bytes(1024, text, sizeof text), "1.00 KiB");
    CHECK_STR(text_bytes(5806604763u, text, sizeof text), "5.41 GiB");
    CHECK_STR(text_bytes(327680000, text, sizeof text), "312 MiB");
    CHECK_STR(text_bytes(UINT64_MAX, text, sizeof text), "16.0 EiB");
    CHECK_STR(plot_count(0, text, sizeof text), "0");
    CHECK_STR(plot_count(999, text, sizeof text), "999");
    CHECK_STR(plot_count(1000, text, sizeof text), "1,000");
    CHECK_STR(plot_count(UINT64_MAX, text, sizeof text), "18,446,744,073,709,551,615");
}

int main(void)
{
    test_ticks();
    test_any();
    test_numbers();
    return tap_done();
}
