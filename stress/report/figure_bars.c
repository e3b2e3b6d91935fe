/* One bar a policy: its overhead, the smallest limit, the largest batch.
   It must not know how either was found.
   Tested by tests/html.t. */
#include <stdlib.h>
#include <string.h>

#include "figure.h"
#include "table_columns.h"
#include "../base/text.h"

enum { FIGURE_BARS_LEFT = 116, FIGURE_BARS_RIGHT = 254, FIGURE_MOST_BARS = 24 };

typedef struct figure_bars {
    row_column  column;                          /* how long the bar is */
    row_column  beside;                          /* its number too; COLUMN_COUNT: none */
    row_column  within;                          /* drawn within the bar; COLUMN_COUNT: none */
    plot_unit   unit;
    double      zero;                            /* the value of no bar */
    const char *label, *within_name, *none;      /* none: what stands where the column is empty */
} figure_bars;

/* Of a run that ended early nothing is compared. */
static int figure_has_bar(const row *shown, const figure_bars *kind)
{
    return table_is_ok(shown) && shown->cells[kind->column].kind != CELL_NONE;
}

static double figure_bar_value(const row *shown, const figure_bars *kind, row_column column)
{
    if (column == COLUMN_COUNT || !figure_has_bar(shown, kind)) return 0.0;
    const cell *value = &shown->cells[column];
    double length = (value->kind == CELL_COUNT ? (double)value->count : value->real) - kind->zero;
    return value->kind != CELL_NONE && length > 0.0 ? length : 0.0;
}

static const char *figure_bar_number(const row *shown, row_column column, char *text, size_t size)
{
    const cell *value = &shown->cells[column];
    if (value->kind == CELL_RATIO) {
        snprintf(text, size, "%+.1f %%", (value->real - 1.0) * 100.0);
        return text;
    }
    if (value->kind != CELL_COUNT) return cell_print(value, text, size);
    int is_bytes = strstr(row_column_name(column), "_bytes") != NULL;
    return is_bytes ? text_bytes(value->count, text, size) : plot_count(value->count, text, size);
}

/* Where a bar would be: why there is none. */
static void figure_bar_missing(const plot *on, const figure_sheet *sheet, const figure_bars *kind, size_t index,
                               double y)
{
    const cell *cells = sheet->list->rows[index].cells;
    char number[64];
    if (cells[COLUMN_OOM_OP].kind == CELL_COUNT) {
        figure_text_begin(on, on->left + 4.0, y, "start");
        figure_number(on, sheet, index, COLUMN_OOM_OP, "out of memory at op ",
                      plot_count(cells[COLUMN_OOM_OP].count, number, sizeof number), "");
        figure_text_end(on);
        return;
    }
    int is_oom = cells[COLUMN_STATUS].kind != CELL_TEXT || !strcmp(cells[COLUMN_STATUS].text, "oom");
    plot_text(on, on->left + 4.0, y, "bad", "start",
              is_oom || !strcmp(cells[COLUMN_STATUS].text, "ok") ? kind->none : cells[COLUMN_STATUS].text);
}

/* What follows the bar: its number and the one beside it. */
static void figure_bar_text(const plot *on, const figure_sheet *sheet, const figure_bars *kind, size_t index,
                            double y)
{
    const row *shown = &sheet->list->rows[index];
    char number[64];
    double x = FIGURE_BARS_RIGHT + 6.0;
    figure_text_begin(on, x, y, "start");
    figure_number(on, sheet, index, kind->column, "",
                  figure_bar_number(shown, kind->column, number, sizeof number), "");
    figure_text_end(on);
    if (kind->beside == COLUMN_COUNT || shown->cells[kind->beside].kind == CELL_NONE) return;
    figure_text_begin(on, x + 62.0, y, "start");
    figure_number(on, sheet, index, kind->beside, "",
                  figure_bar_number(shown, kind->beside, number, sizeof number), "");
    figure_text_end(on);
}

static void figure_bar(const plot *on, const figure_sheet *sheet, const figure *shown, const figure_bars *kind,
                       size_t index, double y, double height)
{
    const row *of = &sheet->list->rows[index];
    char name[64], class[32];
    double within = figure_bar_value(of, kind, kind->within), text_y = y + height * 0.5 + 4.0;
    figure_class(sheet->list, shown->first, index, "bar ", class, sizeof class);
    plot_text(on, on->left - 6.0, text_y, "q", "end", figure_policy(of, 17, name, sizeof name));
    if (!figure_has_bar(of, kind)) {
        figure_bar_missing(on, sheet, kind, index, text_y);
        return;
    }
    double length = plot_x(on, figure_bar_value(of, kind, kind->column)) - on->left;
    plot_box(on, class, on->left, y + 1.0, length, height - 2.0);
    if (within > 0.0) {
        fprintf(on->out, "<path class=\"limit\" d=\"M%.1f %.1fv%.1f\"/>\n", plot_x(on, within), y, height);
    }
    figure_bar_text(on, sheet, kind, index, text_y);
}

static void figure_bars_draw(FILE *out, const figure_sheet *sheet, const figure *shown, plot_frame *frame,
                             const figure_bars *kind)
{
    double most = 0.0;
    size_t rows = 0, drawn = 0;
    plot on;
    for (size_t at = shown->first; at < shown->first + shown->count; at++) {
        double value = figure_bar_value(&sheet->list->rows[at], kind, kind->column);
        double within = figure_bar_value(&sheet->list->rows[at], kind, kind->within);
        if (value > most) most = value;
        if (within > most) most = within;
        rows += (size_t)row_is_first(sheet->list, shown->first, at);
    }
    if (rows > FIGURE_MOST_BARS) rows = FIGURE_MOST_BARS;
    const plot_axis x = { 0.0, most, 0, kind->unit, kind->label, 3 };
    const plot_axis y = { 0.0, 1.0, 0, PLOT_COUNT, NULL, 0 };
    plot_open(&on, out, frame, &x, &y, 0);
    on.left = FIGURE_BARS_LEFT;
    on.right = FIGURE_BARS_RIGHT;
    on.x.most = plot_round_up(&on.x);
    plot_axes(&on);
    if (kind->within_name) plot_text(&on, 4.0, 31.0, "q", "start", kind->within_name);
    double height = (on.bottom - on.top) / (double)(rows ? rows : 1);
    double thick = height > 26.0 ? 26.0 : height;
    for (size_t at = shown->first; at < shown->first + shown->count && drawn < rows; at++) {
        if (!row_is_first(sheet->list, shown->first, at)) continue;
        figure_bar(&on, sheet, shown, kind, at, on.top + height * (double)drawn + (height - thick) * 0.5, thick);
        drawn++;
    }
    plot_close(&on);
}

void figure_overhead(FILE *out, const figure_sheet *sheet, const figure *shown, plot_frame *frame)
{
    static const figure_bars kind = { COLUMN_FOOTPRINT, COLUMN_RESERVED_PEAK, COLUMN_COUNT, PLOT_SHARE, 1.0,
                                      "overhead", "peak held from the driver, above the peak requested", "-" };
    figure_words words;
    figure_title(frame, &words, &sheet->list->rows[shown->first], 0, "overhead");
    frame->description = "Peak memory held from the driver by each policy, above what was requested at its peak, or "
                         "at which operation memory ran out.";
    figure_bars_draw(out, sheet, shown, frame, &kind);
}

void figure_capacity(FILE *out, const figure_sheet *sheet, const figure *shown, plot_frame *frame)
{
    static const figure_bars kind = { COLUMN_RATIO, COLUMN_MIN_LIMIT, COLUMN_COUNT, PLOT_SHARE, 1.0,
                                      "smallest limit", "smallest limit that completes, above the peak requested",
                                      "never completes" };
    figure_words words;
    figure_title(frame, &words, &sheet->list->rows[shown->first], 0, "capacity");
    frame->description = "The smallest limit with which the workload completes, by policy, above what was requested "
                         "at its peak.";
    figure_bars_draw(out, sheet, shown, frame, &kind);
}

void figure_batch(FILE *out, const figure_sheet *sheet, const figure *shown, plot_frame *frame)
{
    static const figure_bars kind = { COLUMN_LARGEST, COLUMN_COUNT, COLUMN_ALLOWED, PLOT_COUNT, 0.0,
                                      "largest batch that completes", "dotted: what was requested would allow",
                                      "none completes" };
    figure_words words;
    figure_title(frame, &words, &sheet->list->rows[shown->first], 0, "largest batch");
    frame->description = "The largest batch that completes, by policy.";
    figure_bars_draw(out, sheet, shown, frame, &kind);
}
