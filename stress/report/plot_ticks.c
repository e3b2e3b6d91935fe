/* Round values and how they are written.
   It must not draw.
   Tested by tests/test_plot.c. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "plot.h"

const char *plot_count(uint64_t count, char *text, size_t size)
{
    char digits[24];
    size_t length = (size_t)snprintf(digits, sizeof digits, "%" PRIu64, count), used = 0;
    for (size_t at = 0; at < length && used + 2 < size; at++) {
        if (at && (length - at) % 3 == 0) text[used++] = ',';
        text[used++] = digits[at];
    }
    text[used] = '\0';
    return text;
}

typedef struct plot_scale { double size; const char *name; } plot_scale;

/* The largest unit of which the axis shows at least two. */
static plot_scale plot_scale_of(const plot_axis *axis)
{
    static const plot_scale bytes[] = {
        { 1.0, "B" }, { 1024.0, "KiB" }, { 1048576.0, "MiB" }, { 1073741824.0, "GiB" }, { 1099511627776.0, "TiB" },
    };
    static const plot_scale share = { 0.01, "%" }, plain = { 1.0, "" };
    size_t at = 0;
    if (axis->unit == PLOT_SHARE) return share;
    if (axis->unit != PLOT_BYTES) return plain;
    while (at + 1 < sizeof bytes / sizeof bytes[0] && axis->most >= 2.0 * bytes[at + 1].size) at++;
    return bytes[at];
}

const char *plot_unit_name(const plot_axis *axis)
{
    return plot_scale_of(axis).name;
}

/* 1, 2 or 5 times a power of ten, of which at most so many make the axis. */
static double plot_step(const plot_axis *axis)
{
    double wanted = (axis->most - axis->least) / plot_scale_of(axis).size, power = 1.0;
    wanted *= (1.0 - 1e-9) / (axis->steps ? axis->steps : 6.0);      /* a rounded axis rounds to itself */
    if (!(wanted > 0.0)) return 1.0;
    while (power > wanted) power /= 10.0;
    while (power * 10.0 <= wanted) power *= 10.0;
    double step = wanted <= power ? power : wanted <= 2.0 * power ? 2.0 * power
                : wanted <= 5.0 * power ? 5.0 * power : 10.0 * power;
    return step < 1.0 && (axis->unit == PLOT_COUNT || axis->unit == PLOT_SHARE) ? 1.0 : step;
}

double plot_round_up(const plot_axis *axis)
{
    double step = plot_step(axis) * plot_scale_of(axis).size;
    return axis->is_log ? axis->most : axis->least + ceil((axis->most - axis->least) / step - 1e-9) * step;
}

static size_t plot_log_ticks(const plot_axis *axis, double ticks[PLOT_TICKS])
{
    double base = axis->unit == PLOT_COUNT ? 4.0 : 10.0, tick = 1.0;
    size_t count = 0;
    while (tick < axis->least * 0.999) tick *= base;
    for (; tick <= axis->most * 1.001 && count < PLOT_TICKS; tick *= base) ticks[count++] = tick;
    return count;
}

size_t plot_ticks(const plot_axis *axis, double ticks[PLOT_TICKS])
{
    double size = plot_scale_of(axis).size, step = plot_step(axis);
    size_t count = 0;
    if (axis->is_log) return plot_log_ticks(axis, ticks);
    double first = ceil(axis->least / size / step - 1e-9);
    for (; count < PLOT_TICKS; count++) {
        double tick = (first + (double)count) * step * size;
        if (tick > axis->most * (1.0 + 1e-9)) break;
        ticks[count] = tick;
    }
    return count;
}

static const char *plot_ns_text(double ns, char *text, size_t size)
{
    if (ns < 1e3) snprintf(text, size, "%.0f ns", ns);
    else if (ns < 1e6) snprintf(text, size, "%.0f \xc2\xb5s", ns / 1e3);
    else if (ns < 1e9) snprintf(text, size, "%.0f ms", ns / 1e6);
    else snprintf(text, size, "%.0f s", ns / 1e9);
    return text;
}

const char *plot_tick_text(const plot_axis *axis, double tick, char *text, size_t size)
{
    double shown = tick / plot_scale_of(axis).size;
    if (axis->unit == PLOT_NS) return plot_ns_text(tick, text, size);
    if (axis->unit == PLOT_COUNT && axis->is_log) return plot_count((uint64_t)tick, text, size);
    if (axis->unit == PLOT_COUNT && shown >= 1e6) snprintf(text, size, "%.10gM", shown / 1e6);
    else if (axis->unit == PLOT_COUNT && shown >= 1e3 && axis->most >= 1e4) {
        snprintf(text, size, "%.10gk", shown / 1e3);
    } else snprintf(text, size, "%.10g", shown);
    return text;
}
