/* Elements of SVG, coordinates in tenths.
   It must not know what is drawn.
   Tested by tests/test_plot.c and tests/html.t. */
#include "plot.h"

#include <math.h>
#include <string.h>

#include "../base/text.h"

enum { PLOT_LEFT = 46, PLOT_TOP = 42, PLOT_RIGHT = 408, PLOT_BOTTOM = 240, PLOT_LEGEND_LINE = 15 };

static double plot_tenths(double value)
{
    return floor(value * 10.0 + 0.5) / 10.0;
}

void plot_open(plot *self, FILE *out, const plot_frame *frame, const plot_axis *x, const plot_axis *y,
               unsigned legend_lines)
{
    self->out = out;
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
    fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\"%s viewBox=\"0 0 %d %d\" role=\"img\" "
            "aria-labelledby=\"t%u d%u\">", frame->placement, PLOT_WIDTH, PLOT_HEIGHT, frame->number, frame->number);
    fprintf(out, "<title id=\"t%u\">", frame->number);
    xml_text(out, frame->title);
    fprintf(out, "</title><desc id=\"d%u\">", frame->number);
    xml_text(out, frame->description);
    fputs("</desc>\n", out);
    plot_text(self, 4.0, 15.0, "t", "start", frame->heading);
}

void plot_close(const plot *self)
{
    fputs("</svg>\n", self->out);
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
    fprintf(self->out, "<text x=\"%.10g\" y=\"%.10g\" class=\"%s\"%s%s%s>", plot_tenths(x), plot_tenths(y), class,
            strcmp(anchor, "start") ? " text-anchor=\"" : "", strcmp(anchor, "start") ? anchor : "",
            strcmp(anchor, "start") ? "\"" : "");
    xml_text(self->out, text);
    fputs("</text>\n", self->out);
}

void plot_box(const plot *self, const char *class, double x, double y, double width, double height)
{
    fprintf(self->out, "<rect class=\"%s\" x=\"%.10g\" y=\"%.10g\" width=\"%.10g\" height=\"%.10g\"/>\n", class,
            plot_tenths(x), plot_tenths(y), plot_tenths(width), plot_tenths(height));
}

static void plot_axis_name(const plot *self, const plot_axis *axis, double x, double y, const char *anchor)
{
    char text[96];
    const char *unit = plot_unit_name(axis);
    snprintf(text, sizeof text, "%s%s%s", axis->label, *unit ? ", " : "", unit);
    plot_text(self, x, y, "q", anchor, text);
}

static void plot_y_axis(const plot *self)
{
    double ticks[PLOT_TICKS];
    char text[32];
    size_t count = plot_ticks(&self->y, ticks);
    fputs("<path class=\"grid\" d=\"", self->out);
    for (size_t at = 0; at < count; at++) {
        fprintf(self->out, "M%.10g %.10gH%.10g", self->left, plot_y(self, ticks[at]), self->right);
    }
    fputs("\"/>\n", self->out);
    for (size_t at = 0; at < count; at++) {
        plot_text(self, self->left - 6.0, plot_y(self, ticks[at]) + 4.0, "q", "end",
                  plot_tick_text(&self->y, ticks[at], text, sizeof text));
    }
    plot_axis_name(self, &self->y, 4.0, self->name_y, "start");
}

static void plot_x_axis(const plot *self)
{
    double ticks[PLOT_TICKS];
    char text[32];
    size_t count = plot_ticks(&self->x, ticks);
    fputs("<path class=\"edge\" d=\"", self->out);
    fprintf(self->out, "M%.10g %.10gH%.10g", self->left, self->bottom, self->right);
    for (size_t at = 0; at < count; at++) {
        fprintf(self->out, "M%.10g %.10gv4", plot_x(self, ticks[at]), self->bottom);
    }
    fputs("\"/>\n", self->out);
    for (size_t at = 0; at < count; at++) {
        double x = plot_x(self, ticks[at]);
        plot_text(self, x, self->bottom + 17.0, "q", x > self->right - 8.0 ? "end" : "middle",
                  plot_tick_text(&self->x, ticks[at], text, sizeof text));
    }
    plot_axis_name(self, &self->x, self->right, self->bottom + 33.0, "end");
}

void plot_axes(const plot *self)
{
    const char *const kinds[] = { "lin", "log" };
    fprintf(self->out, "<g class=\"axes\" data-x=\"%.15g %.15g %s\" data-y=\"%.15g %.15g %s\"", self->x.least,
            self->x.most, kinds[self->x.is_log], self->y.least, self->y.most, kinds[self->y.is_log]);
    fprintf(self->out, " data-area=\"%.10g %.10g %.10g %.10g\">\n", self->left, self->top, self->right, self->bottom);
    if (self->y.label) plot_y_axis(self);
    if (self->x.label) plot_x_axis(self);
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

static double plot_legend_width(const char *name)
{
    return 32.0 + (double)strlen(name) * 6.4;    /* of a wide font */
}

unsigned plot_legend_lines(const char *const *names, size_t count)
{
    double used = 0.0;
    unsigned lines = count ? 1 : 0;
    for (size_t at = 0; at < count; at++) {
        double width = plot_legend_width(names[at]);
        if (used > 0.0 && used + width > PLOT_RIGHT) {
            lines++;
            used = 0.0;
        }
        used += width;
    }
    return lines;
}

void plot_legend_add(plot_legend *self, const char *class, const char *name)
{
    double width = plot_legend_width(name);
    if (self->x > 0.0 && self->x + width > PLOT_RIGHT) {
        self->line++;
        self->x = 0.0;
    }
    double y = 31.0 + self->line * (double)PLOT_LEGEND_LINE;
    if (!strncmp(class, "line", 4)) {
        fprintf(self->on->out, "<path class=\"%s\" d=\"M%.10g %.10gh16\"/>\n", class, self->x + 4.0, y - 4.0);
    } else {
        plot_box(self->on, class, self->x + 6.0, y - 9.0, 12.0, 10.0);
    }
    plot_text(self->on, self->x + 24.0, y, "q", "start", name);
    self->x += width;
}
