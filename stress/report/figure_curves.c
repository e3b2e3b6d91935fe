/* Curves by policy: latency at percentiles, cost of a pair against holes.
   It must not measure.
   Tested by tests/html.t. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "figure.h"
#include "series.h"

static size_t figure_latency_points(const histogram *latency, plot_point points[LATENCY_POINTS])
{
    size_t count = 0;
    for (size_t at = 0; latency && at < LATENCY_POINTS; at++) {
        unsigned per_mille = latency_points[at].per_mille;
        if (!histogram_supports(latency, per_mille)) continue;
        double ns = (double)histogram_percentile(latency, per_mille);
        const plot_point made = { -log10(1.0 - per_mille / 1000.0), ns };
        points[count++] = made;
    }
    return count;
}

static void figure_marks(const plot *on, const char *class, const plot_point *points, size_t count)
{
    for (size_t at = 0; at < count; at++) {
        fprintf(on->out, "<circle class=\"%s\" cx=\"%.10g\" cy=\"%.10g\" r=\"2.6\"/>\n", class,
                plot_x(on, points[at].x), plot_y(on, points[at].y));
    }
}

static void figure_curve(const plot *on, const row_list *list, size_t first, size_t index, const plot_point *points,
                         size_t count, const char *name)
{
    char class[32], data[96];
    if (!count) return;
    snprintf(data, sizeof data, " data-row=\"%zu\" data-series=\"%s\"", index, name);
    plot_line(on, figure_class(list, first, index, "", class, sizeof class), data, points, count);
    figure_marks(on, figure_class(list, first, index, "bar ", class, sizeof class), points, count);
}

/* A log axis that holds these values, from a power of ten to one. */
static void figure_hold(plot_axis *axis, const plot_point *points, size_t count)
{
    for (size_t at = 0; at < count; at++) {
        while (points[at].y >= 1.0 && points[at].y < axis->least) axis->least /= 10.0;
        while (points[at].y > axis->most) axis->most *= 10.0;
    }
}

static void figure_percentile_names(const plot *on)
{
    static const size_t named[] = { 0, 2, 4, 6 };
    for (size_t at = 0; at < sizeof named / sizeof named[0]; at++) {
        const latency_point *shown = &latency_points[named[at]];
        double x = plot_x(on, -log10(1.0 - shown->per_mille / 1000.0));
        fprintf(on->out, "<path class=\"edge\" d=\"M%.10g %.10gv4\"/>\n", x, on->bottom);
        plot_text(on, x, on->bottom + 17.0, "q", named[at] == 6 ? "end" : "middle", shown->name);
    }
    fprintf(on->out, "<path class=\"edge\" d=\"M%.10g %.10gH%.10g\"/>\n", on->left, on->bottom, on->right);
    plot_text(on, on->right, on->bottom + 33.0, "q", "end", "percentile of allocations, in this process");
}

void figure_latency(FILE *out, const figure_sheet *sheet, const figure *shown, plot_frame *frame)
{
    const row_list *list = sheet->list;
    plot_point points[LATENCY_POINTS];
    plot_axis x = { 0.25, 3.05, 0, PLOT_COUNT, NULL, 0 };
    plot_axis y = { 100.0, 1000.0, 1, PLOT_NS, "time of an allocation", 0 };
    figure_words words;
    plot on;
    for (size_t at = shown->first; at < shown->first + shown->count; at++) {
        figure_hold(&y, points, figure_latency_points(list->rows[at].allocs, points));
    }
    figure_title(frame, &words, &list->rows[shown->first], 0, "latency");
    frame->description = "Measured time of an allocation at percentiles from 50 to 99.9, by policy, on a log scale.";
    plot_open(&on, out, frame, &x, &y, figure_legend(NULL, list, shown->first, shown->count, 0));
    on.x = x;
    figure_legend(&on, list, shown->first, shown->count, 0);
    plot_axes(&on);
    figure_percentile_names(&on);
    for (size_t at = shown->first; at < shown->first + shown->count; at++) {
        if (!row_is_first(list, shown->first, at)) continue;
        size_t count = figure_latency_points(list->rows[at].allocs, points);
        figure_curve(&on, list, shown->first, at, points, count, "alloc");
    }
    plot_close(&on);
}

static double figure_cost(const row *shown, row_column column)
{
    return shown->cells[column].kind == CELL_NONE ? -1.0 : shown->cells[column].real;
}

/* The rows of one policy, which follow one another. */
static size_t figure_holes_points(const row_list *list, size_t from, row_column column, plot_point *points,
                                  size_t *used)
{
    size_t at = from;
    for (*used = 0; at < list->count; at++) {
        const row *shown = &list->rows[at];
        if (strcmp(shown->cells[COLUMN_POLICY].text, list->rows[from].cells[COLUMN_POLICY].text)) break;
        if (figure_cost(shown, column) < 0.0 || shown->cells[COLUMN_HOLES].kind == CELL_NONE) continue;
        const plot_point made = { (double)shown->cells[COLUMN_HOLES].count, figure_cost(shown, column) };
        points[(*used)++] = made;
    }
    return at - from;
}

static void figure_holes_axes(const row_list *list, row_column column, plot_axis *x, plot_axis *y)
{
    for (size_t at = 0; at < list->count; at++) {
        const cell *holes = &list->rows[at].cells[COLUMN_HOLES];
        double cost = figure_cost(&list->rows[at], column);
        if (holes->kind == CELL_NONE || cost < 0.0) continue;
        if ((double)holes->count < x->least) x->least = (double)holes->count;
        if ((double)holes->count > x->most) x->most = (double)holes->count;
        if (cost > y->most) y->most = cost;
    }
    if (x->least < 1.0) x->least = 1.0;
}

void figure_holes(FILE *out, const figure_sheet *sheet, const figure *shown, plot_frame *frame)
{
    const row_list *list = sheet->list;
    int is_ns = shown->kind == FIGURE_HOLES_NS;
    row_column column = is_ns ? COLUMN_NS_PER_PAIR : COLUMN_PAIR_INSTRUCTIONS;
    plot_axis x = { 1e18, 1.0, 1, PLOT_COUNT, "free blocks around it", 0 };
    plot_axis y = { 0.0, 0.0, 0, PLOT_RATIO, is_ns ? "ns an allocation and a free" : "instructions of both", 0 };
    plot_point *points = calloc(list->count + 1, sizeof *points);
    plot on;
    size_t used;
    figure_holes_axes(list, column, &x, &y);
    if (x.least > x.most) x.least = x.most;
    frame->title = frame->heading = is_ns ? "time against free blocks" : "instructions against free blocks";
    frame->description = "Cost of one allocation and free against the number of free blocks, by policy.";
    plot_open(&on, out, frame, &x, &y, figure_legend(NULL, list, 0, list->count, 0));
    figure_legend(&on, list, 0, list->count, 0);
    plot_axes(&on);
    for (size_t at = 0; points && at < list->count;) {
        size_t rows = figure_holes_points(list, at, column, points, &used);
        figure_curve(&on, list, 0, at, points, used, row_column_name(column));
        at += rows;
    }
    free(points);
    plot_close(&on);
}
