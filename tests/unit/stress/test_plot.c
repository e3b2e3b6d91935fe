/* Plots: round ticks from the smallest to the largest axis, and their texts. Pictures: pictures.t and
   tests/cli/cases/outputs.case. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stress/report/plot.h"
#include "tap.h"
#include "stress/base/text.h"

/* An axis, and its ticks and unit as text. */
static const struct { plot_unit unit; double least, most; int is_log; const char *text; } axes[] = {
    { PLOT_COUNT, 0, 37384, 0, "0 10k 20k 30k | " },
    { PLOT_COUNT, 0, 900, 0, "0 200 400 600 800 | " },
    { PLOT_COUNT, 0, 2, 0, "0 1 2 | " },
    { PLOT_COUNT, 0, 3e7, 0, "0 5M 10M 15M 20M 25M 30M | " },
    { PLOT_COUNT, 1, 65536, 1, "1 4 16 64 256 1,024 4,096 16,384 65,536 | " },
    { PLOT_BYTES, 0, 6.0 * 1073741824, 0, "0 1 2 3 4 5 6 | GiB" },
    { PLOT_BYTES, 0, 1.5 * 1073741824, 0, "0 500 1000 1500 | MiB" },
    { PLOT_BYTES, 0, 1, 0, "0 0.2 0.4 0.6 0.8 1 | B" },
    { PLOT_BYTES, 0, 18446744073709551615.0, 0, "0 5000000 10000000 15000000 | TiB" },
    { PLOT_SHARE, 0, 1, 0, "0 20 40 60 80 100 | %" },
    { PLOT_NS, 10, 100000, 1, "10 ns 100 ns 1 \xc2\xb5s 10 \xc2\xb5s 100 \xc2\xb5s | " },
};

static void test_ticks(void)
{
    for (size_t row = 0; row < sizeof axes / sizeof axes[0]; row++) {
        const plot_axis axis = { axes[row].least, axes[row].most, axes[row].is_log, axes[row].unit, "", 0 };
        double ticks[PLOT_TICKS];
        char text[512] = "", tick[32];
        size_t count = plot_ticks(&axis, ticks);
        for (size_t at = 0; at < count; at++)
            strcat(strcat(text, plot_tick_text(&axis, ticks[at], tick, sizeof tick)), " ");
        strcat(strcat(text, "| "), plot_unit_name(&axis));
        CHECK_STR(text, axes[row].text);
    }
}

/* For every axis: some ticks, not too many, within the axis, and the rounded end is one of them. */
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
    static const struct { uint64_t number; const char *bytes, *count; } rows[] = {
        { 0, "0 B", "0" }, { 999, "999 B", "999" }, { 1000, "1000 B", "1,000" }, { 1023, "1023 B", "1,023" },
        { 1024, "1.00 KiB", "1,024" }, { 327680000, "312 MiB", "327,680,000" },
        { 5806604763u, "5.41 GiB", "5,806,604,763" }, { UINT64_MAX, "16.0 EiB", "18,446,744,073,709,551,615" },
    };
    char text[32];
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        CHECK_STR(text_bytes(rows[row].number, text, sizeof text), rows[row].bytes);
        CHECK_STR(plot_count(rows[row].number, text, sizeof text), rows[row].count);
    }
}

int main(void)
{
    test_ticks();
    test_any();
    test_numbers();
    return tap_done();
}
