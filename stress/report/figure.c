/* Which figures there are, and what they share: names, numbers, legends. */
#include "figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../base/program.h"
#include "../base/text.h"
#include "../policy/policy_name.h"
#include "../result/record.h"
#include "table_columns.h"
#include "writers.h"

/* ---- What figures share: names, numbers, legends */

/* letters */
static const char *figure_policy(const row *shown, size_t most, char *text, size_t size)
{
    policy_name_shown(shown->cells[COLUMN_POLICY].text, text, size);
    table_cut(text, most);
    return text;
}

static void figure_join(char *text, size_t size, const char *workload, const char *policy, const char *what)
{
    snprintf(text, size, "%s%s%s%s%s", workload, *workload && *policy ? " / " : "", policy,
             (*workload || *policy) && *what ? ": " : "", what);
}

enum { FIGURE_ROOM = 38 };                       /* letters of a heading, but for what the figure shows */

void figure_title(plot_frame *frame, figure_words *words, const row *shown, int is_row, const char *what)
{
    char workload[1024], policy[64] = "";
    table_name(row_workload(shown), workload, sizeof workload);
    if (is_row) figure_policy(shown, sizeof policy - 1, policy, sizeof policy);
    figure_join(words->title, sizeof words->title, workload, policy, what);
    table_cut(policy, strlen(workload) < 16 ? FIGURE_ROOM - strlen(workload) : FIGURE_ROOM - 16);
    table_cut(workload, FIGURE_ROOM - strlen(policy));
    figure_join(words->heading, sizeof words->heading, workload, policy, what);
    frame->title = words->title;
    frame->heading = words->heading;
}

void figure_text_begin(const plot *on, double x, double y, const char *anchor)
{
    fprintf(on->out, "<text class=\"q\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
}

void figure_number(const plot *on, const figure_sheet *sheet, size_t row_index, row_column column, const char *before,
                   const char *as, const char *after)
{
    char text[64];
    const cell *value = &sheet->list->rows[row_index].cells[column];
    text_print(on->out, xml_text, "%s<tspan data-row=\"%zu\" data-column=\"%s\" data-value=\"%s\">%s</tspan>%s",
               before, row_index, row_table[column].name, value->kind == CELL_TEXT ? value->text
               : cell_print(value, text, sizeof text), as, after);
}

void figure_text_end(const plot *on)
{
    fputs("</text>\n", on->out);
}

/* A text of one cell alone. */
static void figure_one_number(const plot *on, const figure_sheet *sheet, double x, double y, const char *anchor,
                              size_t row_index, row_column column, const char *before, const char *as)
{
    figure_text_begin(on, x, y, anchor);
    figure_number(on, sheet, row_index, column, before, as, "");
    figure_text_end(on);
}

/* "l2": of a policy in its group. Returns text. */
static const char *figure_class(const row_list *list, size_t first, size_t row_index, const char *prefix,
                                char *text, size_t size)
{
    size_t number = 0;
    for (size_t at = first; at < row_index; at++) number += (size_t)row_is_first(list, first, at);
    snprintf(text, size, "%sl%zu", prefix, number % PLOT_LINES);
    return text;
}

/* The figure's axes, and above them a legend of the policies of these rows. */
static void figure_open(plot *on, FILE *out, const plot_frame *frame, const plot_axis *x, const plot_axis *y,
                        const row_list *list, size_t first, size_t count)
{
    enum { FIGURE_MOST_NAMES = 16 };
    char names[FIGURE_MOST_NAMES][64], class[32];
    const char *shown[FIGURE_MOST_NAMES] = { NULL };
    size_t rows[FIGURE_MOST_NAMES], used = 0;
    for (size_t at = first; at < first + count && used < FIGURE_MOST_NAMES; at++) {
        if (!row_is_first(list, first, at)) continue;
        shown[used] = figure_policy(&list->rows[at], 28, names[used], sizeof names[used]);
        rows[used++] = at;
    }
    plot_open(on, out, frame, x, y, plot_legend_lines(shown, used));
    plot_legend legend = { on, 0.0, 0 };
    for (size_t at = 0; at < used; at++) {
        plot_legend_add(&legend, figure_class(list, first, rows[at], "line ", class, sizeof class), shown[at]);
    }
    plot_axes(on);
}

/* ---- One bar a policy: its overhead, the smallest limit, the largest batch */

enum { FIGURE_BARS_LEFT = 116, FIGURE_BARS_RIGHT = 254, FIGURE_MOST_BARS = 24 };

typedef struct figure_bar_kind {
    row_column  column;                          /* how long the bar is */
    row_column  beside;                          /* its number too; COLUMN_COUNT: none */
    row_column  within;                          /* drawn within the bar; COLUMN_COUNT: none */
    plot_unit   unit;
    double      zero;                            /* the value of no bar */
    const char *label, *within_name, *none;      /* none: what stands where the column is empty */
} figure_bar_kind;

static const figure_bar_kind figure_bar_kinds[] = {
    [FIGURE_OVERHEAD] = { COLUMN_FOOTPRINT, COLUMN_RESERVED_PEAK, COLUMN_COUNT, PLOT_SHARE, 1.0, "overhead",
        "peak held from the driver, above the peak requested", "-" },
    [FIGURE_CAPACITY] = { COLUMN_RATIO, COLUMN_MIN_LIMIT, COLUMN_COUNT, PLOT_SHARE, 1.0, "smallest limit",
        "smallest limit that completes, above the peak requested", "never completes" },
    [FIGURE_BATCH] = { COLUMN_LARGEST, COLUMN_COUNT, COLUMN_ALLOWED, PLOT_COUNT, 0.0, "largest batch that completes",
        "dotted: what was requested would allow", "none completes" },
};

/* Of a run that ended early nothing is compared. */
static int figure_has_bar(const row *shown, const figure_bar_kind *kind)
{
    return table_is_ok(shown) && shown->cells[kind->column].kind != CELL_NONE;
}

static double figure_bar_value(const row *shown, const figure_bar_kind *kind, row_column column)
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
    int is_bytes = strstr(row_table[column].name, "_bytes") != NULL;
    return is_bytes ? text_bytes(value->count, text, size) : plot_count(value->count, text, size);
}

/* Where a bar would be: why there is none. */
static void figure_bar_missing(const plot *on, const figure_sheet *sheet, const figure_bar_kind *kind, size_t index,
                               double y)
{
    const cell *cells = sheet->list->rows[index].cells;
    char number[64];
    if (cells[COLUMN_OOM_OP].kind == CELL_COUNT) {
        figure_one_number(on, sheet, on->left + 4.0, y, "start", index, COLUMN_OOM_OP, "out of memory at op ",
                          plot_count(cells[COLUMN_OOM_OP].count, number, sizeof number));
        return;
    }
    int is_oom = cells[COLUMN_STATUS].kind != CELL_TEXT || !strcmp(cells[COLUMN_STATUS].text, "oom");
    plot_text(on, on->left + 4.0, y, "bad", "start",
              is_oom || !strcmp(cells[COLUMN_STATUS].text, "ok") ? kind->none : cells[COLUMN_STATUS].text);
}

static void figure_bar(const plot *on, const figure_sheet *sheet, const figure *shown, const figure_bar_kind *kind,
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
    const double x = FIGURE_BARS_RIGHT + 6.0;
    figure_one_number(on, sheet, x, text_y, "start", index, kind->column, "",
                      figure_bar_number(of, kind->column, name, sizeof name));
    if (kind->beside == COLUMN_COUNT || of->cells[kind->beside].kind == CELL_NONE) return;
    figure_one_number(on, sheet, x + 62.0, text_y, "start", index, kind->beside, "",
                      figure_bar_number(of, kind->beside, name, sizeof name));
}

static void figure_bars(FILE *out, const figure_sheet *sheet, const figure *shown, plot_frame *frame)
{
    const figure_bar_kind *kind = &figure_bar_kinds[shown->kind];
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

/* ---- Lines over time: bytes of a row, shares of a workload's policies */

typedef double figure_value(const memory_use *use);          /* below 0: there is none */

static double figure_requested(const memory_use *use) { return (double)use->requested_bytes; }
static double figure_live(const memory_use *use) { return (double)use->live_bytes; }
static double figure_reserved(const memory_use *use) { return (double)use->reserved_bytes; }

static double figure_idle_share(const memory_use *use)
{
    if (!use->reserved_bytes) return 0.0;
    return use->live_bytes > use->reserved_bytes ? 0.0 : 1.0 - (double)use->live_bytes / (double)use->reserved_bytes;
}

static double figure_fragmentation_share(const memory_use *use)
{
    return memory_fragmentation(use->free_bytes, use->largest_bytes);
}

typedef struct figure_column { size_t first, least, most, last; } figure_column;

/* Of samples that fall on one unit of the figure the first, the extremes and the last, in order. */
static size_t figure_flush(plot_point *points, size_t count, const record *drawn, figure_value *value,
                           const figure_column *column)
{
    int falls = column->most < column->least;
    const size_t kept[] = { column->first, falls ? column->most : column->least, falls ? column->least : column->most,
                            column->last };
    for (size_t at = 0; at < sizeof kept / sizeof kept[0]; at++) {
        const record_sample *sample = &drawn->samples[kept[at]];
        if (at && kept[at] <= kept[at - 1]) continue;
        points[count].x = (double)sample->op;
        points[count++].y = value(&sample->use);
    }
    return count;
}

static void figure_line(const plot *on, const figure_sheet *sheet, size_t row_index, figure_value *value,
                        const char *name, const char *class)
{
    const record *drawn = sheet->list->rows[row_index].recording;
    char data[96];
    size_t count = 0;
    plot_point *points = program_need(drawn->sample_count, sizeof *points);
    figure_column column = { 0, 0, 0, 0 };
    for (size_t at = 0; at < drawn->sample_count; at++) {
        double here = value(&drawn->samples[at].use);
        int is_same = (unsigned)plot_x(on, (double)drawn->samples[at].op) / sheet->grain
                   == (unsigned)plot_x(on, (double)drawn->samples[column.first].op) / sheet->grain;
        if (!is_same) {
            count = figure_flush(points, count, drawn, value, &column);
            column.first = column.least = column.most = at;
        }
        if (here < value(&drawn->samples[column.least].use)) column.least = at;
        if (here > value(&drawn->samples[column.most].use)) column.most = at;
        column.last = at;
    }
    if (drawn->sample_count) count = figure_flush(points, count, drawn, value, &column);
    snprintf(data, sizeof data, " data-row=\"%zu\" data-series=\"%s\"", row_index, name);
    plot_line(on, class, data, points, count);
    free(points);
}

figure_most figure_most_of(const row_list *list, size_t first, size_t count)
{
    figure_most made = { 1, 1, 1 };
    for (size_t at = first; at < first + count; at++) {
        const record *drawn = list->rows[at].recording;
        const cell *reserved = &list->rows[at].cells[COLUMN_RESERVED_PEAK];
        if (drawn && drawn->op_count > made.ops) made.ops = drawn->op_count;
        if (drawn && drawn->axis_bytes > made.axis_bytes) made.axis_bytes = drawn->axis_bytes;
        if (reserved->kind != CELL_COUNT || reserved->count <= made.reserved_bytes) continue;
        made.reserved_bytes = reserved->count;
    }
    return made;
}

static void figure_oom_line(const plot *on, const figure_sheet *sheet, size_t row_index)
{
    const record *drawn = sheet->list->rows[row_index].recording;
    char number[32];
    if (!drawn->refusal.happened) return;
    double x = plot_x(on, (double)drawn->refusal.op);
    fprintf(on->out, "<path class=\"oom\" d=\"M%.10g %.10gV%.10g\"/>\n", x, on->bottom, on->top);
    figure_text_begin(on, x > 240.0 ? x - 4.0 : x + 4.0, on->bottom - 6.0, x > 240.0 ? "end" : "start");
    figure_number(on, sheet, row_index, COLUMN_OOM_OP, "out of memory at op ",
                  plot_count(drawn->refusal.op, number, sizeof number), "");
    figure_text_end(on);
}

static void figure_limit(const plot *on, const record *drawn)
{
    if ((double)drawn->limit_bytes > on->y.most) return;
    double y = plot_y(on, (double)drawn->limit_bytes);
    fprintf(on->out, "<path class=\"limit\" d=\"M%.10g %.10gH%.10g\"/>\n", on->left, y, on->right);
    plot_text(on, on->right - 4.0, y - 4.0, "q", "end", "limit");
}

static void figure_memory(FILE *out, const figure_sheet *sheet, const figure *shown, plot_frame *frame)
{
    size_t first, count;
    const row *of = &sheet->list->rows[shown->first];
    const record *drawn = of->recording;
    char bytes[32];
    plot on;
    row_group(sheet->list, shown->first, &first, &count);
    const figure_most most = figure_most_of(sheet->list, first, count);
    const plot_axis x = { 0.0, (double)most.ops, 0, PLOT_COUNT, "allocations and frees so far", 0 };
    const plot_axis y = { 0.0, (double)most.reserved_bytes, 0, PLOT_BYTES, "memory", 0 };
    plot_open(&on, out, frame, &x, &y, 1);
    figure_steps_room(&on, drawn);
    plot_legend legend = { &on, 0.0, 0 };
    plot_legend_add(&legend, "line l4", "reserved");
    plot_legend_add(&legend, "line l2", "live");
    plot_legend_add(&legend, "line l0", "requested");
    plot_axes(&on);
    figure_steps(&on, drawn);
    figure_limit(&on, drawn);
    figure_line(&on, sheet, shown->first, figure_reserved, "reserved_bytes", "l4");
    figure_line(&on, sheet, shown->first, figure_live, "live_bytes", "l2");
    figure_line(&on, sheet, shown->first, figure_requested, "requested_bytes", "l0");
    figure_one_number(&on, sheet, on.right, 31.0, "end", shown->first, COLUMN_RESERVED_PEAK, "peak ",
                      text_bytes(of->cells[COLUMN_RESERVED_PEAK].count, bytes, sizeof bytes));
    figure_oom_line(&on, sheet, shown->first);
    plot_close(&on);
}

static void figure_shares(FILE *out, const figure_sheet *sheet, const figure *shown, plot_frame *frame)
{
    const row_list *list = sheet->list;
    int is_idle = shown->kind == FIGURE_IDLE;
    char class[32];
    plot on;
    const figure_most most = figure_most_of(list, shown->first, shown->count);
    const plot_axis x = { 0.0, (double)most.ops, 0, PLOT_COUNT, "allocations and frees so far", 0 };
    const plot_axis y = { 0.0, 1.0, 0, PLOT_SHARE, is_idle ? "reserved, not live" : "1 - largest free / free", 0 };
    figure_open(&on, out, frame, &x, &y, list, shown->first, shown->count);
    for (size_t at = shown->first; at < shown->first + shown->count; at++) {
        const row *of = &list->rows[at];
        if (!of->recording || !row_is_first(list, shown->first, at)) continue;
        if (!is_idle && of->cells[COLUMN_FRAGMENTATION].kind == CELL_NONE) continue;
        figure_line(&on, sheet, at, is_idle ? figure_idle_share : figure_fragmentation_share,
                    is_idle ? "idle" : "fragmentation",
                    figure_class(list, shown->first, at, "", class, sizeof class));
    }
    plot_close(&on);
}

/* ---- Curves by policy: latency at percentiles, cost of a pair against holes */

static size_t figure_latency_points(const latencies *times, plot_point points[LATENCY_POINTS])
{
    size_t count = 0;
    for (size_t at = 0; times && at < LATENCY_POINTS; at++) {
        unsigned per_mille = latency_points[at].per_mille;
        if (!histogram_supports(&times->allocs, per_mille)) continue;
        double ns = (double)histogram_percentile(&times->allocs, per_mille);
        const plot_point made = { -log10(1.0 - per_mille / 1000.0), ns };
        points[count++] = made;
    }
    return count;
}

static void figure_curve(const plot *on, const row_list *list, size_t first, size_t index, const plot_point *points,
                         size_t count, const char *name)
{
    char class[32], data[96];
    if (!count) return;
    snprintf(data, sizeof data, " data-row=\"%zu\" data-series=\"%s\"", index, name);
    plot_line(on, figure_class(list, first, index, "", class, sizeof class), data, points, count);
    figure_class(list, first, index, "bar ", class, sizeof class);
    for (size_t at = 0; at < count; at++) {
        fprintf(on->out, "<circle class=\"%s\" cx=\"%.10g\" cy=\"%.10g\" r=\"2.6\"/>\n", class,
                plot_x(on, points[at].x), plot_y(on, points[at].y));
    }
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

static void figure_latency(FILE *out, const figure_sheet *sheet, const figure *shown, plot_frame *frame)
{
    const row_list *list = sheet->list;
    plot_point points[LATENCY_POINTS];
    plot_axis x = { 0.25, 3.05, 0, PLOT_COUNT, NULL, 0 };
    plot_axis y = { 100.0, 1000.0, 1, PLOT_NS, "time of an allocation", 0 };
    plot on;
    for (size_t at = shown->first; at < shown->first + shown->count; at++) {
        figure_hold(&y, points, figure_latency_points(list->rows[at].times, points));
    }
    figure_open(&on, out, frame, &x, &y, list, shown->first, shown->count);
    figure_percentile_names(&on);
    for (size_t at = shown->first; at < shown->first + shown->count; at++) {
        if (!row_is_first(list, shown->first, at)) continue;
        size_t count = figure_latency_points(list->rows[at].times, points);
        figure_curve(&on, list, shown->first, at, points, count, "alloc");
    }
    plot_close(&on);
}

/* The rows of one policy, which follow one another; how many. */
static size_t figure_holes_points(const row_list *list, size_t from, row_column column, plot_point *points,
                                  size_t *used)
{
    size_t at = from;
    for (*used = 0; at < list->count; at++) {
        const cell *cells = list->rows[at].cells;
        if (strcmp(cells[COLUMN_POLICY].text, list->rows[from].cells[COLUMN_POLICY].text)) break;
        if (cells[column].kind == CELL_NONE || cells[COLUMN_HOLES].kind == CELL_NONE) continue;
        points[*used].x = (double)cells[COLUMN_HOLES].count;
        points[(*used)++].y = cells[column].real;
    }
    return at - from;
}

static void figure_holes(FILE *out, const figure_sheet *sheet, const figure *shown, plot_frame *frame)
{
    const row_list *list = sheet->list;
    int is_ns = shown->kind == FIGURE_HOLES_NS;
    row_column column = is_ns ? COLUMN_NS_PER_PAIR : COLUMN_PAIR_INSTRUCTIONS;
    plot_axis x = { 1e18, 1.0, 1, PLOT_COUNT, "free blocks around it", 0 };
    plot_axis y = { 0.0, 0.0, 0, PLOT_RATIO, is_ns ? "ns an allocation and a free" : "instructions of both", 0 };
    plot_point *points = program_need(list->count, sizeof *points);
    plot on;
    size_t used;
    for (size_t at = 0; at < list->count;) {
        at += figure_holes_points(list, at, column, points, &used);
        for (size_t point = 0; point < used; point++) {
            x.least = fmin(x.least, points[point].x);
            x.most = fmax(x.most, points[point].x);
            y.most = fmax(y.most, points[point].y);
        }
    }
    x.least = fmin(fmax(x.least, 1.0), x.most);
    figure_open(&on, out, frame, &x, &y, list, 0, list->count);
    for (size_t at = 0, next; at < list->count; at = next) {
        next = at + figure_holes_points(list, at, column, points, &used);
        figure_curve(&on, list, 0, at, points, used, row_table[column].name);
    }
    free(points);
    plot_close(&on);
}

/* ---- Which figures there are */

typedef struct figure_maker { figure *made; size_t count, rows, left_out; } figure_maker;

static void figure_add(figure_maker *maker, figure_kind kind, size_t first, size_t count)
{
    const figure made = { kind, first, count };
    maker->made[maker->count++] = made;
}

static void figure_add_row(figure_maker *maker, const row_list *list, size_t first, size_t index)
{
    const record *drawn = list->rows[index].recording;
    if (!drawn || !row_is_first(list, first, index)) return;
    if (drawn->block_count) figure_add(maker, FIGURE_MAP, index, 1);
    if (drawn->sample_count) figure_add(maker, FIGURE_MEMORY, index, 1);
}

static void figure_add_run(figure_maker *maker, const row_list *list, size_t first, size_t count)
{
    int is_timed = 0, has_samples = 0, has_arena = 0, is_whole = 0;
    for (size_t at = first; at < first + count; at++) {
        const row *shown = &list->rows[at];
        is_whole |= table_is_ok(shown);
        is_timed |= shown->times && histogram_supports(&shown->times->allocs, 500);
        has_samples |= shown->recording && shown->recording->sample_count;
        has_arena |= has_samples && shown->cells[COLUMN_FRAGMENTATION].kind != CELL_NONE;
    }
    if (is_whole) figure_add(maker, FIGURE_OVERHEAD, first, count);
    if (is_timed) figure_add(maker, FIGURE_LATENCY, first, count);
    if (has_arena) figure_add(maker, FIGURE_FRAGMENTATION, first, count);
    if (has_samples) figure_add(maker, FIGURE_IDLE, first, count);
    for (size_t at = first; at < first + count; at++) figure_add_row(maker, list, first, at);
    maker->rows += count;
}

static void figure_add_holes(figure_maker *maker, const row_list *list)
{
    int has_ns = 0, has_instructions = 0;
    for (size_t at = 0; at < list->count; at++) {
        has_ns |= list->rows[at].cells[COLUMN_NS_PER_PAIR].kind != CELL_NONE;
        has_instructions |= list->rows[at].cells[COLUMN_PAIR_INSTRUCTIONS].kind != CELL_NONE;
    }
    if (has_ns) figure_add(maker, FIGURE_HOLES_NS, 0, list->count);
    if (has_instructions) figure_add(maker, FIGURE_HOLES_INSTRUCTIONS, 0, list->count);
}

figure *figure_list(const row_list *list, size_t *count, size_t *left_out)
{
    figure_maker maker = { program_need(list->count * 7 + 2, sizeof *maker.made), 0, 0, 0 };
    if (list->kind == ROW_HOLES) figure_add_holes(&maker, list);
    for (size_t at = 0, first, rows; list->kind != ROW_HOLES && at < list->count; at += rows) {
        row_group(list, at, &first, &rows);
        if (maker.rows && maker.rows + rows > FIGURE_MOST_ROWS) {
            maker.left_out += rows;
            continue;
        }
        if (row_is_run(list->kind)) figure_add_run(&maker, list, first, rows);
        if (list->kind == ROW_CAPACITY) figure_add(&maker, FIGURE_CAPACITY, first, rows);
        if (list->kind == ROW_BATCH) figure_add(&maker, FIGURE_BATCH, first, rows);
    }
    *count = maker.count;
    *left_out = maker.left_out;
    return maker.made;
}

/* what: behind the names of the workload and, of a figure of one row, of its policy. */
typedef struct figure_type {
    figure_write_fn *write;
    int         is_of_row;
    const char *what, *description;
} figure_type;

static const figure_type figure_types[] = {
    [FIGURE_OVERHEAD] = { figure_bars, 0, "overhead",
        "Peak memory held from the driver by each policy, above what was requested at its peak, or at which "
        "operation memory ran out." },
    [FIGURE_MAP] = { figure_map, 1, "addresses",
        "Map of time and addresses: live blocks in the colours of their batches, slack red, blocks too small to draw "
        "black, free memory white, addresses without memory grey." },
    [FIGURE_MEMORY] = { figure_memory, 1, "memory",
        "Memory requested, live and reserved over time; a red line where memory ran out." },
    [FIGURE_IDLE] = { figure_shares, 0, "idle",
        "Share of the memory held from the driver that no block is in, over time, by policy." },
    [FIGURE_FRAGMENTATION] = { figure_shares, 0, "fragmentation",
        "1 - largest free / free, over time, by policy: what share of free memory the largest request could not "
        "have." },
    [FIGURE_LATENCY] = { figure_latency, 0, "latency",
        "Measured time of an allocation at percentiles from 50 to 99.9, by policy, on a log scale." },
    [FIGURE_CAPACITY] = { figure_bars, 0, "capacity",
        "The smallest limit with which the workload completes, by policy, above what was requested at its peak." },
    [FIGURE_BATCH] = { figure_bars, 0, "largest batch", "The largest batch that completes, by policy." },
    [FIGURE_HOLES_NS] = { figure_holes, 0, "time against free blocks",
        "Cost of one allocation and free against the number of free blocks, by policy." },
    [FIGURE_HOLES_INSTRUCTIONS] = { figure_holes, 0, "instructions against free blocks",
        "Cost of one allocation and free against the number of free blocks, by policy." },
};

int figure_begins(const figure *figures, size_t at)
{
    return !at || figures[at].first != figures[at - 1].first
        || figure_types[figures[at].kind].is_of_row != figure_types[figures[at - 1].kind].is_of_row;
}

figure_sheet figure_sheet_for(const row_list *list, const figure *figures, size_t count, size_t maps_bytes)
{
    enum { FIGURE_MAP_BYTES = 60000 };
    figure_sheet sheet = { list, FIGURE_MAP_BYTES, 1, 0 };
    size_t maps = 0;
    for (size_t at = 0; at < count; at++) maps += figures[at].kind == FIGURE_MAP;
    if (maps && maps_bytes / maps < sheet.map_bytes) sheet.map_bytes = maps_bytes / maps;
    if (maps > 8) sheet.grain = maps > 20 ? 4 : 2;
    return sheet;
}

void figure_write(FILE *out, const figure_sheet *sheet, const figure *shown, unsigned number, const char *placement)
{
    const figure_type *type = &figure_types[shown->kind];
    plot_frame frame = { number, placement, "", "", type->description };
    figure_words words;
    figure_title(&frame, &words, &sheet->list->rows[shown->first], type->is_of_row, type->what);
    type->write(out, sheet, shown, &frame);
}
