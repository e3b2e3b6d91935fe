/* Lines over time: bytes of a row, shares of a workload's policies.
   It must not know how samples were chosen.
   Tested by tests/html.t. */
#include <stdlib.h>
#include <string.h>

#include "../result/record.h"
#include "figure.h"
#include "../base/text.h"

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

static void figure_put(plot_point *points, size_t *count, const record *drawn, figure_value *value, size_t at)
{
    const plot_point made = { (double)drawn->samples[at].op, value(&drawn->samples[at].use) };
    points[(*count)++] = made;
}

/* Of samples that fall on one unit of the figure the first, the extremes and the last, in order. */
static void figure_flush(plot_point *points, size_t *count, const record *drawn, figure_value *value,
                         const figure_column *column)
{
    size_t low = column->least < column->most ? column->least : column->most;
    size_t high = column->least < column->most ? column->most : column->least;
    figure_put(points, count, drawn, value, column->first);
    if (low > column->first) figure_put(points, count, drawn, value, low);
    if (high > low) figure_put(points, count, drawn, value, high);
    if (column->last > high) figure_put(points, count, drawn, value, column->last);
}

static void figure_line(const plot *on, const figure_sheet *sheet, size_t row_index, figure_value *value,
                        const char *name, const char *class)
{
    const record *drawn = sheet->list->rows[row_index].recording;
    char data[96];
    size_t count = 0;
    plot_point *points = calloc(drawn->sample_count + 1, sizeof *points);
    figure_column column = { 0, 0, 0, 0 };
    if (!points) return;
    for (size_t at = 0; at < drawn->sample_count; at++) {
        double here = value(&drawn->samples[at].use);
        int is_same = (unsigned)plot_x(on, (double)drawn->samples[at].op) / sheet->grain
                   == (unsigned)plot_x(on, (double)drawn->samples[column.first].op) / sheet->grain;
        if (!is_same) {
            figure_flush(points, &count, drawn, value, &column);
            column.first = column.least = column.most = at;
        }
        if (here < value(&drawn->samples[column.least].use)) column.least = at;
        if (here > value(&drawn->samples[column.most].use)) column.most = at;
        column.last = at;
    }
    if (drawn->sample_count) figure_flush(points, &count, drawn, value, &column);
    snprintf(data, sizeof data, " data-row=\"%zu\" data-series=\"%s\"", row_index, name);
    plot_line(on, class, data, points, count);
    free(points);
}

static uint64_t figure_most_ops(const row_list *list, size_t first, size_t count)
{
    uint64_t most = 1;
    for (size_t at = first; at < first + count; at++) {
        const record *other = list->rows[at].recording;
        if (other && other->op_count > most) most = other->op_count;
    }
    return most;
}

static uint64_t figure_most_reserved(const row_list *list, size_t first, size_t count)
{
    uint64_t most = 1;
    for (size_t at = first; at < first + count; at++) {
        const cell *reserved = &list->rows[at].cells[COLUMN_RESERVED_PEAK];
        if (reserved->kind == CELL_COUNT && reserved->count > most) most = reserved->count;
    }
    return most;
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

void figure_memory(FILE *out, const figure_sheet *sheet, const figure *shown, plot_frame *frame)
{
    size_t first, count;
    const row *of = &sheet->list->rows[shown->first];
    const record *drawn = of->recording;
    figure_words words;
    char bytes[32];
    plot on;
    row_group(sheet->list, shown->first, &first, &count);
    const plot_axis x = { 0.0, (double)figure_most_ops(sheet->list, first, count), 0, PLOT_COUNT,
                          "allocations and frees so far", 0 };
    const plot_axis y = { 0.0, (double)figure_most_reserved(sheet->list, first, count), 0, PLOT_BYTES,
                          drawn->is_peaks ? "memory, highest so far" : "memory", 0 };
    figure_title(frame, &words, of, 1, "memory");
    frame->description = "Memory requested, live and reserved over time; a red line where memory ran out.";
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
    figure_text_begin(&on, on.right, 31.0, "end");
    figure_number(&on, sheet, shown->first, COLUMN_RESERVED_PEAK, "peak ",
                  text_bytes(of->cells[COLUMN_RESERVED_PEAK].count, bytes, sizeof bytes), "");
    figure_text_end(&on);
    figure_oom_line(&on, sheet, shown->first);
    plot_close(&on);
}

static void figure_shares(FILE *out, const figure_sheet *sheet, const figure *shown, plot_frame *frame,
                          figure_value *value, int arenas_only, const char *label)
{
    const row_list *list = sheet->list;
    char class[32];
    plot on;
    const plot_axis x = { 0.0, (double)figure_most_ops(list, shown->first, shown->count), 0, PLOT_COUNT,
                          "allocations and frees so far", 0 };
    const plot_axis y = { 0.0, 1.0, 0, PLOT_SHARE, label, 0 };
    plot_open(&on, out, frame, &x, &y, figure_legend(NULL, list, shown->first, shown->count, 0));
    figure_legend(&on, list, shown->first, shown->count, 0);
    plot_axes(&on);
    for (size_t at = shown->first; at < shown->first + shown->count; at++) {
        const row *of = &list->rows[at];
        if (!of->recording || !row_is_first(list, shown->first, at)) continue;
        if (arenas_only && of->cells[COLUMN_FRAGMENTATION].kind == CELL_NONE) continue;
        figure_line(&on, sheet, at, value, arenas_only ? "fragmentation" : "idle",
                    figure_class(list, shown->first, at, "", class, sizeof class));
    }
    plot_close(&on);
}

void figure_idle(FILE *out, const figure_sheet *sheet, const figure *shown, plot_frame *frame)
{
    figure_words words;
    figure_title(frame, &words, &sheet->list->rows[shown->first], 0, "idle");
    frame->description = "Share of the memory held from the driver that no block is in, over time, by policy.";
    figure_shares(out, sheet, shown, frame, figure_idle_share, 0, "reserved, not live");
}

void figure_fragmentation(FILE *out, const figure_sheet *sheet, const figure *shown, plot_frame *frame)
{
    figure_words words;
    figure_title(frame, &words, &sheet->list->rows[shown->first], 0, "fragmentation");
    frame->description = "1 - largest free / free, over time, by policy: what share of free memory the largest "
                         "request could not have.";
    figure_shares(out, sheet, shown, frame, figure_fragmentation_share, 1, "1 - largest free / free");
}
