/* Elements of SVG, coordinates in tenths. */
#include "plot.h"

#include <math.h>

#include "../base/text.h"

/* ---- The look of figures: colours that most people with colour blindness can tell apart (Okabe and Ito's), and
        lines of different dashes */

const char plot_style[] =
    "svg{--ink:#1c1e21;--quiet:#5c6470;--grid:#dfe3e8;--page:#fff;--bad:#c1121f}"
    "@media (prefers-color-scheme:dark){svg{--ink:#e8eaed;--quiet:#a7afba;--grid:#3a4048;--page:#16181c;"
    "--bad:#ff6b6b}}"
    "@media print{svg{--ink:#000;--quiet:#333;--grid:#ccc;--page:#fff;--bad:#c1121f}}"
    "svg text{font:12px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;fill:var(--ink)}"
    "svg .t{font-weight:600;font-size:13px}svg .q{fill:var(--quiet);font-size:11px}svg .bad{fill:var(--bad)}"
    ".page{fill:var(--page)}.grid{stroke:var(--grid);fill:none}.edge{stroke:var(--quiet);fill:none}"
    ".line{fill:none;stroke-width:1.6;stroke-linejoin:round}"
    ".oom{stroke:var(--bad);stroke-width:1.6;stroke-dasharray:5 3;fill:none}"
    ".want{fill:none;stroke:#c1121f;stroke-width:2}.limit{stroke:var(--ink);stroke-dasharray:1 3;fill:none}"
    ".l0{stroke:#0072b2;fill:#0072b2}.l1{stroke:#e69f00;fill:#e69f00;stroke-dasharray:7 2}"
    ".l2{stroke:#009e73;fill:#009e73;stroke-dasharray:3 2}.l3{stroke:#cc79a7;fill:#cc79a7;stroke-dasharray:9 2 2 2}"
    ".l4{stroke:#d55e00;fill:#d55e00}.l5{stroke:#56b4e9;fill:#56b4e9;stroke-dasharray:5 3}"
    ".l6{stroke:#8c7a00;fill:#8c7a00;stroke-dasharray:2 2}.l7{stroke:#7a7a7a;fill:#7a7a7a;stroke-dasharray:10 3}"
    ".line.l0,.line.l1,.line.l2,.line.l3,.line.l4,.line.l5,.line.l6,.line.l7{fill:none}"
    "@media screen and (prefers-color-scheme:dark){.l0{stroke:#4aa3e0;fill:#4aa3e0}.l4{stroke:#ff8a4c;fill:#ff8a4c}"
    ".l2{stroke:#2fc59a;fill:#2fc59a}}"
    ".bar{stroke:none}"
    ".map path,.map rect,.key{shape-rendering:crispEdges;stroke:none}"
    ".c0{fill:#0072b2}.c1{fill:#e69f00}.c2{fill:#009e73}.c3{fill:#56b4e9}.c4{fill:#cc79a7}.c5{fill:#f0e442}"
    ".c6{fill:#e3170a}.c7{fill:#000}.c8{fill:#b4b8bf}.c9{fill:#fff}.key{stroke:#888;stroke-width:.5}";

/* ---- Round values, and their texts */

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

/* The distance of ticks: 1, 2 or 5 times a power of ten, so that at most axis->steps fit on the axis. */
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

size_t plot_ticks(const plot_axis *axis, double ticks[PLOT_TICKS])
{
    double size = plot_scale_of(axis).size, step = plot_step(axis);
    size_t count = 0;
    if (axis->is_log) {
        double base = axis->unit == PLOT_COUNT ? 4.0 : 10.0, tick = 1.0;
        while (tick < axis->least * 0.999) tick *= base;
        for (; tick <= axis->most * 1.001 && count < PLOT_TICKS; tick *= base) ticks[count++] = tick;
        return count;
    }
    double first = ceil(axis->least / size / step - 1e-9);
    for (; count < PLOT_TICKS; count++) {
        double tick = (first + (double)count) * step * size;
        if (tick > axis->most * (1.0 + 1e-9)) break;
        ticks[count] = tick;
    }
    return count;
}

const char *plot_tick_text(const plot_axis *axis, double tick, char *text, size_t size)
{
    double shown = tick / plot_scale_of(axis).size;
    if (axis->unit == PLOT_COUNT && axis->is_log) return plot_count((uint64_t)tick, text, size);
    if (axis->unit == PLOT_NS && tick < 1e3) snprintf(text, size, "%.0f ns", tick);
    else if (axis->unit == PLOT_NS && tick < 1e6) snprintf(text, size, "%.0f \xc2\xb5s", tick / 1e3);
    else if (axis->unit == PLOT_NS && tick < 1e9) snprintf(text, size, "%.0f ms", tick / 1e6);
    else if (axis->unit == PLOT_NS) snprintf(text, size, "%.0f s", tick / 1e9);
    else if (axis->unit == PLOT_COUNT && shown >= 1e6) snprintf(text, size, "%.10gM", shown / 1e6);
    else if (axis->unit == PLOT_COUNT && shown >= 1e3 && axis->most >= 1e4) {
        snprintf(text, size, "%.10gk", shown / 1e3);
    } else snprintf(text, size, "%.10g", shown);
    return text;
}

/* ---- Elements of SVG, coordinates in tenths */

enum { PLOT_LEFT = 46, PLOT_TOP = 42, PLOT_RIGHT = 408, PLOT_BOTTOM = 240, PLOT_LEGEND_LINE = 15 };

static double plot_tenths(double value)
{
    return floor(value * 10.0 + 0.5) / 10.0;
}

void plot_open(plot *self, const plot_axis *x, const plot_axis *y, unsigned legend_lines)
{
    self->left = PLOT_LEFT;
    self->right = PLOT_RIGHT;
    self->top = PLOT_TOP + (double)legend_lines * PLOT_LEGEND_LINE;
    self->bottom = PLOT_BOTTOM;
    self->name_y = self->top - 9.0;
    self->x = *x;
    self->y = *y;
    if (!(self->x.most > self->x.least)) self->x.most = self->x.least + 1.0;
    if (!(self->y.most > self->y.least)) self->y.most = self->y.least + 1.0;
    self->y.most = plot_round_up(&self->y);
}

static double plot_share(const plot_axis *axis, double value)
{
    if (value < axis->least) value = axis->least;
    if (value > axis->most) value = axis->most;
    return axis->is_log ? log(value / axis->least) / log(axis->most / axis->least)
                        : (value - axis->least) / (axis->most - axis->least);
}

double plot_x(const plot *self, double value)
{
    return plot_tenths(self->left + plot_share(&self->x, value) * (self->right - self->left));
}

double plot_y(const plot *self, double value)
{
    return plot_tenths(self->bottom - plot_share(&self->y, value) * (self->bottom - self->top));
}

void plot_text(const plot *self, double x, double y, const char *class, const char *anchor, const char *text)
{
    text_print(self->out, xml_text, "<text x=\"%.10g\" y=\"%.10g\" class=\"%s\"", plot_tenths(x), plot_tenths(y),
               class);
    if (strcmp(anchor, "start")) fprintf(self->out, " text-anchor=\"%s\"", anchor);
    text_print(self->out, xml_text, ">%s</text>\n", text);
}

void plot_box(const plot *self, const char *class, double x, double y, double width, double height)
{
    fprintf(self->out, "<rect class=\"%s\" x=\"%.10g\" y=\"%.10g\" width=\"%.10g\" height=\"%.10g\"/>\n", class,
            plot_tenths(x), plot_tenths(y), plot_tenths(width), plot_tenths(height));
}

/* Draws the axis: lines or marks at its ticks, their values, and its name. */
static void plot_axis_draw(const plot *self, const plot_axis *axis)
{
    const int is_x = axis == &self->x;
    const char *unit = plot_unit_name(axis);
    double ticks[PLOT_TICKS];
    char text[96];
    size_t count = plot_ticks(axis, ticks);
    fprintf(self->out, "<path class=\"%s\" d=\"", is_x ? "edge" : "grid");
    if (is_x) fprintf(self->out, "M%.10g %.10gH%.10g", self->left, self->bottom, self->right);
    for (size_t at = 0; at < count; at++) {
        if (is_x) fprintf(self->out, "M%.10g %.10gv4", plot_x(self, ticks[at]), self->bottom);
        else fprintf(self->out, "M%.10g %.10gH%.10g", self->left, plot_y(self, ticks[at]), self->right);
    }
    fputs("\"/>\n", self->out);
    for (size_t at = 0; at < count; at++) {
        double x = is_x ? plot_x(self, ticks[at]) : self->left - 6.0;
        double y = is_x ? self->bottom + 17.0 : plot_y(self, ticks[at]) + 4.0;
        plot_text(self, x, y, "q", is_x && x <= self->right - 8.0 ? "middle" : "end",
                  plot_tick_text(axis, ticks[at], text, sizeof text));
    }
    snprintf(text, sizeof text, "%s%s%s", axis->label, *unit ? ", " : "", unit);
    plot_text(self, is_x ? self->right : 4.0, is_x ? self->bottom + 33.0 : self->name_y, "q", is_x ? "end" : "start",
              text);
}

void plot_axes(const plot *self)
{
    const char *const kinds[] = { "lin", "log" };
    fprintf(self->out, "<g class=\"axes\" data-x=\"%.15g %.15g %s\" data-y=\"%.15g %.15g %s\"", self->x.least,
            self->x.most, kinds[self->x.is_log], self->y.least, self->y.most, kinds[self->y.is_log]);
    fprintf(self->out, " data-area=\"%.10g %.10g %.10g %.10g\">\n", self->left, self->top, self->right, self->bottom);
    if (self->y.label) plot_axis_draw(self, &self->y);
    if (self->x.label) plot_axis_draw(self, &self->x);
    fputs("</g>\n", self->out);
}

void plot_line(const plot *self, const char *class, const char *data, const plot_point *values, size_t count)
{
    double last_x = -1.0, last_y = -1.0;
    fprintf(self->out, "<path class=\"line %s\"%s d=\"", class, data);
    for (size_t at = 0; at < count; at++) {
        double x = plot_x(self, values[at].x), y = plot_y(self, values[at].y);
        if (at && fabs(x - last_x) < 0.05 && fabs(y - last_y) < 0.05) continue;
        fprintf(self->out, "%s%.10g %.10g", at ? "L" : "M", x, y);
        last_x = x;
        last_y = y;
    }
    fputs("\"/>\n", self->out);
}

void plot_legend_add(plot_legend *self, const char *class, const char *name)
{
    double width = 32.0 + (double)strlen(name) * 6.4;        /* of a wide font */
    if (self->x > 0.0 && self->x + width > PLOT_RIGHT) {
        self->line++;
        self->x = 0.0;
    }
    double x = self->x, y = 31.0 + self->line * (double)PLOT_LEGEND_LINE;
    self->x += width;
    if (!self->on) return;
    if (!strncmp(class, "line", 4)) {
        fprintf(self->on->out, "<path class=\"%s\" d=\"M%.10g %.10gh16\"/>\n", class, x + 4.0, y - 4.0);
    } else {
        plot_box(self->on, class, x + 6.0, y - 9.0, 12.0, 10.0);
    }
    plot_text(self->on, x + 24.0, y, "q", "start", name);
}
