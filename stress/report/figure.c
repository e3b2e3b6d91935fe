/* The kinds of figures, and the drawing of each. */
#include "figure.h"

#include <ctype.h>
#include <math.h>

#include "table.h"
#include "output.h"

/* ---- The common parts of figures: names, numbers, legends */

typedef struct drawing {                         /* of one figure */
    plot                on;
    const figure_sheet *sheet;
    const row_list     *list;
    figure_kind         kind;
    size_t              first, end;              /* its rows */
    size_t             *policies;                /* the first row of each policy; the index selects its colour */
    size_t              policy_count;
    uint64_t            most_ops, most_axis_bytes, most_reserved_bytes;      /* of the workload's rows, at least 1 */
} drawing;
typedef void figure_draw(drawing *self);

static const char *figure_policy(const row *shown, size_t letters, char text[64])
{
    row_policy_shown(shown, text, 64);
    table_cut(text, letters);
    return text;
}

static void figure_join(char *text, size_t size, const char *workload, const char *policy, const char *what)
{
    snprintf(text, size, "%s%s%s%s%s", workload, *workload && *policy ? " / " : "", policy,
             (*workload || *policy) && *what ? ": " : "", what);
}

void figure_title(figure_words *words, const row *shown, int is_row, const char *what)
{
    enum { FIGURE_ROOM = 38 };                   /* letters of workload and policy in a heading */
    char workload[1024], policy[64] = "";
    table_name(row_workload(shown), workload, sizeof workload);
    if (is_row) figure_policy(shown, sizeof policy - 1, policy);
    figure_join(words->title, sizeof words->title, workload, policy, what);
    table_cut(policy, strlen(workload) < 16 ? FIGURE_ROOM - strlen(workload) : FIGURE_ROOM - 16);
    table_cut(workload, FIGURE_ROOM - strlen(policy));
    figure_join(words->heading, sizeof words->heading, workload, policy, what);
}

/* Writes a piece of a text with the number of a row's cell: bytes in a unit that suits, a ratio as its excess over
   1. */
static void figure_number(const drawing *self, size_t row_index, row_column column, const char *before,
                          const char *after)
{
    const cell *value = &self->list->rows[row_index].cells[column];
    char text[CELL_ROOM], shown[64];
    if (value->kind == CELL_RATIO) snprintf(shown, sizeof shown, "%+.1f %%", (value->real - 1.0) * 100.0);
    else if (row_table[column].unit == UNIT_BYTES) text_bytes(value->count, shown, sizeof shown);
    else plot_count(value->count, shown, sizeof shown);
    text_print(self->on.out, xml_text, "%s<tspan data-row=\"%zu\" data-column=\"%s\" data-value=\"%s\">%s</tspan>%s",
               before, row_index, row_table[column].name, cell_text(value, text), shown, after);
}

/* Writes a text with the number of a cell; nothing if the row has no number. */
static void figure_number_text(const drawing *self, double x, double y, const char *anchor, size_t row_index,
                               row_column column, const char *before)
{
    if (column == COLUMN_COUNT || self->list->rows[row_index].cells[column].kind == CELL_NONE) return;
    fprintf(self->on.out, "<text class=\"q\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    figure_number(self, row_index, column, before, "");
    fputs("</text>\n", self->on.out);
}

/* "bar l2": the colour of a policy. */
static const char *figure_class(const char *prefix, size_t policy, char text[32])
{
    snprintf(text, 32, "%sl%zu", prefix, policy % PLOT_LINES);
    return text;
}

/* Draws the figure's axes, and above them a legend of its policies. */
static void figure_open(drawing *self, const plot_axis *x, const plot_axis *y)
{
    enum { FIGURE_MOST_NAMES = 16 };
    char name[64], class[32];
    plot_legend legend = { NULL, 0.0, 0 };       /* the first time it only counts its lines */
    size_t count = self->policy_count < FIGURE_MOST_NAMES ? self->policy_count : FIGURE_MOST_NAMES;
    for (int is_drawn = 0; is_drawn < 2; is_drawn++) {
        for (size_t at = 0; at < count; at++) {
            const row *of = &self->list->rows[self->policies[at]];
            plot_legend_add(&legend, figure_class("line ", at, class), figure_policy(of, 28, name));
        }
        if (!is_drawn) plot_open(&self->on, x, y, count ? legend.line + 1 : 0);
        legend = (plot_legend){ &self->on, 0.0, 0 };
    }
    plot_axes(&self->on);
}

/* The axis of time, from the first op to the last of the workload's rows. */
static plot_axis figure_ops_axis(const drawing *self)
{
    return (plot_axis){ 0.0, (double)self->most_ops, 0, PLOT_COUNT, "allocations and frees so far", 0 };
}

/* Draws a line where memory ran out, beside which a text may follow. Returns its place. */
static double figure_refusal_line(const drawing *self)
{
    const plot *on = &self->on;
    double x = plot_x(on, (double)self->list->rows[self->first].recording->refusal.op);
    fprintf(on->out, "<path class=\"oom\" d=\"M%.10g %.10gV%.10g\"/>\n", x, on->bottom, on->top);
    return x;
}

/* ---- The begin of each step: a mark above the plot area, and the step's name if there is room for it */

enum { FIGURE_MOST_STEPS = 64, FIGURE_STEPS_HEIGHT = 14 };
#define FIGURE_LETTER 6.4                        /* of a wide font */

/* The record if its steps are to be drawn; NULL: there are none, or too many. */
static const record *figure_stepped(const drawing *self)
{
    const record *drawn = self->list->rows[self->first].recording;
    return drawn->step_count && drawn->step_count <= FIGURE_MOST_STEPS ? drawn : NULL;
}

/* Makes room for the steps. Call it before the axes are drawn. */
static void figure_steps_room(drawing *self)
{
    if (figure_stepped(self)) self->on.top += FIGURE_STEPS_HEIGHT;
}

/* "step12", or "12" if only that fits; NULL: neither fits. */
static const char *figure_step_name(const char *label, double room)
{
    const char *number = label + strlen(label);
    while (number > label && isdigit((unsigned char)number[-1])) number--;
    if (FIGURE_LETTER * (double)strlen(label) <= room) return label;
    return *number && FIGURE_LETTER * (double)strlen(number) <= room ? number : NULL;
}

static void figure_steps(const drawing *self)
{
    const plot *on = &self->on;
    const record *drawn = figure_stepped(self);
    if (!drawn) return;
    fputs("<path class=\"edge\" d=\"", on->out);
    for (size_t at = 0; at < drawn->step_count; at++) {
        fprintf(on->out, "M%.10g %.10gv4", plot_x(on, (double)drawn->steps[at].op), on->top - 4.0);
    }
    fputs("\"/>\n", on->out);
    for (size_t at = 0; at < drawn->step_count; at++) {
        double x = plot_x(on, (double)drawn->steps[at].op);
        double end = at + 1 < drawn->step_count ? plot_x(on, (double)drawn->steps[at + 1].op) : on->right;
        const char *name = figure_step_name(drawn->stream->labels[drawn->steps[at].label], end - x - 4.0);
        if (name) plot_text(on, x, on->top - 6.0, "q", "start", name);
    }
}

/* ---- One bar a policy: its overhead, the smallest limit, the largest batch */

enum { FIGURE_BARS_LEFT = 116, FIGURE_BARS_RIGHT = 254, FIGURE_MOST_BARS = 24 };

typedef struct figure_bar_kind {
    row_column  column;                          /* the length of the bar */
    row_column  beside;                          /* a second number beside the bar; COLUMN_COUNT: none */
    row_column  within;                          /* drawn within the bar; COLUMN_COUNT: none */
    plot_unit   unit;
    double      zero;                            /* the value of no bar */
    const char *label, *within_name, *none;      /* none: the text if the column is empty */
} figure_bar_kind;

static const figure_bar_kind figure_bar_kinds[] = {
    [FIGURE_OVERHEAD] = { COLUMN_FOOTPRINT, COLUMN_RESERVED_PEAK, COLUMN_COUNT, PLOT_SHARE, 1.0, "overhead",
        "peak held from the driver, above the peak requested", "-" },
    [FIGURE_CAPACITY] = { COLUMN_RATIO, COLUMN_MIN_LIMIT, COLUMN_COUNT, PLOT_SHARE, 1.0, "smallest limit",
        "smallest limit that completes, above the peak requested", "never completes" },
    [FIGURE_BATCH] = { COLUMN_LARGEST, COLUMN_COUNT, COLUMN_ALLOWED, PLOT_COUNT, 0.0, "largest batch that completes",
        "dotted: the requested peak would allow", "none completes" },
};

/* Below 0: there is no value. A run that ended early has none, because it cannot be compared. */
static double figure_bar_value(const row *shown, const figure_bar_kind *kind, row_column column)
{
    if (column == COLUMN_COUNT || !table_is_ok(shown) || shown->cells[column].kind == CELL_NONE) return -1.0;
    const cell *value = &shown->cells[column];
    return fmax(0.0, (value->kind == CELL_COUNT ? (double)value->count : value->real) - kind->zero);
}

static void figure_bar(const drawing *self, const figure_bar_kind *kind, size_t policy, double y, double height)
{
    const plot *on = &self->on;
    const size_t index = self->policies[policy];
    const row *of = &self->list->rows[index];
    char name[64], class[32];
    double value = figure_bar_value(of, kind, kind->column), within = figure_bar_value(of, kind, kind->within);
    double text_y = y + height * 0.5 + 4.0;
    plot_text(on, on->left - 6.0, text_y, "q", "end", figure_policy(of, 17, name));
    if (value < 0.0) {                           /* the reason stands in place of the bar */
        const char *status = row_status(of);
        int is_none = !*status || !strcmp(status, "oom") || !strcmp(status, "ok");
        if (of->cells[COLUMN_OOM_OP].kind == CELL_COUNT) {
            figure_number_text(self, on->left + 4.0, text_y, "start", index, COLUMN_OOM_OP, "out of memory at op ");
        } else plot_text(on, on->left + 4.0, text_y, "bad", "start", is_none ? kind->none : status);
        return;
    }
    plot_box(on, figure_class("bar ", policy, class), on->left, y + 1.0, plot_x(on, value) - on->left, height - 2.0);
    if (within > 0.0) {
        fprintf(on->out, "<path class=\"limit\" d=\"M%.1f %.1fv%.1f\"/>\n", plot_x(on, within), y, height);
    }
    figure_number_text(self, FIGURE_BARS_RIGHT + 6.0, text_y, "start", index, kind->column, "");
    figure_number_text(self, FIGURE_BARS_RIGHT + 68.0, text_y, "start", index, kind->beside, "");
}

static void figure_bars(drawing *self)
{
    const figure_bar_kind *kind = &figure_bar_kinds[self->kind];
    plot *on = &self->on;
    size_t count = self->policy_count < FIGURE_MOST_BARS ? self->policy_count : FIGURE_MOST_BARS;
    plot_axis x = { 0.0, 0.0, 0, kind->unit, kind->label, 3 };
    const plot_axis y = { 0.0, 1.0, 0, PLOT_COUNT, NULL, 0 };
    for (size_t at = self->first; at < self->end; at++) {
        const row *of = &self->list->rows[at];
        x.most = fmax(x.most, figure_bar_value(of, kind, kind->column));
        x.most = fmax(x.most, figure_bar_value(of, kind, kind->within));
    }
    plot_open(on, &x, &y, 0);
    on->left = FIGURE_BARS_LEFT;
    on->right = FIGURE_BARS_RIGHT;
    on->x.most = plot_round_up(&on->x);
    plot_axes(on);
    if (kind->within_name) plot_text(on, 4.0, 31.0, "q", "start", kind->within_name);
    double height = (on->bottom - on->top) / (double)(count ? count : 1), thick = fmin(height, 26.0);
    for (size_t at = 0; at < count; at++) {
        figure_bar(self, kind, at, on->top + height * (double)at + (height - thick) * 0.5, thick);
    }
}

/* ---- Lines over time: bytes of a row, shares of a workload's policies */

typedef double figure_value(const memory_use *use);          /* below 0: there is none */

static double figure_requested(const memory_use *use) { return (double)use->requested_bytes; }
static double figure_live(const memory_use *use) { return (double)use->live_bytes; }
static double figure_reserved(const memory_use *use) { return (double)use->reserved_bytes; }

static double figure_idle(const memory_use *use)
{
    if (!use->reserved_bytes) return 0.0;
    return use->live_bytes > use->reserved_bytes ? 0.0 : 1.0 - (double)use->live_bytes / (double)use->reserved_bytes;
}

static double figure_fragmentation(const memory_use *use)
{
    return memory_fragmentation(use->free_bytes, use->largest_bytes);
}

static unsigned figure_slot(const drawing *self, const record_sample *sample)
{
    return (unsigned)plot_x(&self->on, (double)sample->op) / self->sheet->grain;
}

static void figure_series(const drawing *self, const char *class, size_t row_index, const char *name,
                          const plot_point *points, size_t count)
{
    char data[96];
    snprintf(data, sizeof data, " data-row=\"%zu\" data-series=\"%s\"", row_index, name);
    plot_line(&self->on, class, data, points, count);
}

/* Draws a line over time. Of samples that fall on one unit of the figure it keeps the first, the extremes and the
   last, in order. */
static void figure_line(const drawing *self, size_t row_index, figure_value *value, const char *name,
                        const char *class)
{
    const record *drawn = self->list->rows[row_index].recording;
    const record_sample *samples = drawn->samples;
    size_t count = 0;
    plot_point *points = program_need(drawn->sample_count, sizeof *points);
    for (size_t first = 0, next; first < drawn->sample_count; first = next) {
        size_t least = first, most = first;
        for (next = first; next < drawn->sample_count
             && figure_slot(self, &samples[next]) == figure_slot(self, &samples[first]); next++) {
            if (value(&samples[next].use) < value(&samples[least].use)) least = next;
            if (value(&samples[next].use) > value(&samples[most].use)) most = next;
        }
        const size_t kept[] = { first, least < most ? least : most, least < most ? most : least, next - 1 };
        for (size_t at = 0; at < sizeof kept / sizeof kept[0]; at++) {
            if (at && kept[at] <= kept[at - 1]) continue;
            points[count++] = (plot_point){ (double)samples[kept[at]].op, value(&samples[kept[at]].use) };
        }
    }
    figure_series(self, class, row_index, name, points, count);
    free(points);
}

static void figure_memory(drawing *self)
{
    static const struct { const char *class, *name, *series; figure_value *value; } lines[] = {
        { "line l4", "reserved", "reserved_bytes", figure_reserved },
        { "line l2", "live", "live_bytes", figure_live },
        { "line l0", "requested", "requested_bytes", figure_requested },
    };
    enum { FIGURE_LINES = sizeof lines / sizeof lines[0] };
    const row *of = &self->list->rows[self->first];
    plot *on = &self->on;
    const plot_axis x = figure_ops_axis(self);
    const plot_axis y = { 0.0, (double)self->most_reserved_bytes, 0, PLOT_BYTES, "memory", 0 };
    plot_open(on, &x, &y, 1);
    figure_steps_room(self);
    plot_legend legend = { on, 0.0, 0 };
    for (size_t at = 0; at < FIGURE_LINES; at++) plot_legend_add(&legend, lines[at].class, lines[at].name);
    plot_axes(on);
    figure_steps(self);
    if ((double)of->recording->limit_bytes <= on->y.most) {
        double limit_y = plot_y(on, (double)of->recording->limit_bytes);
        fprintf(on->out, "<path class=\"limit\" d=\"M%.10g %.10gH%.10g\"/>\n", on->left, limit_y, on->right);
        plot_text(on, on->right - 4.0, limit_y - 4.0, "q", "end", "limit");
    }
    for (size_t at = 0; at < FIGURE_LINES; at++) {
        figure_line(self, self->first, lines[at].value, lines[at].series, lines[at].class + strlen("line "));
    }
    figure_number_text(self, on->right, 31.0, "end", self->first, COLUMN_RESERVED_PEAK, "peak ");
    if (!of->recording->refusal.happened) return;
    double line_x = figure_refusal_line(self);
    int is_right = line_x > 240.0;
    figure_number_text(self, is_right ? line_x - 4.0 : line_x + 4.0, on->bottom - 6.0, is_right ? "end" : "start",
                       self->first, COLUMN_OOM_OP, "out of memory at op ");
}

static void figure_shares(drawing *self)
{
    int is_idle = self->kind == FIGURE_IDLE;
    char class[32];
    const plot_axis x = figure_ops_axis(self);
    const plot_axis y = { 0.0, 1.0, 0, PLOT_SHARE, is_idle ? "reserved, not live" : "1 - largest free / free", 0 };
    figure_open(self, &x, &y);
    for (size_t at = 0; at < self->policy_count; at++) {
        const row *of = &self->list->rows[self->policies[at]];
        if (!of->recording || (!is_idle && of->cells[COLUMN_FRAGMENTATION].kind == CELL_NONE)) continue;
        figure_line(self, self->policies[at], is_idle ? figure_idle : figure_fragmentation,
                    is_idle ? "idle" : "fragmentation", figure_class("", at, class));
    }
}

/* ---- Curves by policy: latency at percentiles, cost of a pair against holes */

static void figure_curve(const drawing *self, size_t policy, const plot_point *points, size_t count, const char *name)
{
    const plot *on = &self->on;
    char class[32];
    if (!count) return;
    figure_series(self, figure_class("", policy, class), self->policies[policy], name, points, count);
    figure_class("bar ", policy, class);
    for (size_t at = 0; at < count; at++) {
        fprintf(on->out, "<circle class=\"%s\" cx=\"%.10g\" cy=\"%.10g\" r=\"2.6\"/>\n", class,
                plot_x(on, points[at].x), plot_y(on, points[at].y));
    }
}

static double figure_percentile_x(const latency_point *point)
{
    return -log10(1.0 - point->per_mille / 1000.0);
}

static size_t figure_latency_points(const latencies *times, plot_point points[LATENCY_POINTS])
{
    size_t count = 0;
    for (const latency_point *at = latency_points; times && at < latency_points + LATENCY_POINTS; at++) {
        if (!histogram_supports(&times->allocs, at->per_mille)) continue;
        points[count].x = figure_percentile_x(at);
        points[count++].y = (double)histogram_percentile(&times->allocs, at->per_mille);
    }
    return count;
}

/* The log axis begins and ends at a power of ten. */
static void figure_latency(drawing *self)
{
    const plot *on = &self->on;
    plot_point points[LATENCY_POINTS];
    const plot_axis x = { 0.25, 3.05, 0, PLOT_COUNT, NULL, 0 };
    plot_axis y = { 100.0, 1000.0, 1, PLOT_NS, "time of an allocation", 0 };
    for (size_t at = self->first; at < self->end; at++) {
        for (size_t count = figure_latency_points(self->list->rows[at].times, points); count--;) {
            while (points[count].y >= 1.0 && points[count].y < y.least) y.least /= 10.0;
            while (points[count].y > y.most) y.most *= 10.0;
        }
    }
    figure_open(self, &x, &y);
    for (size_t at = 0; at < LATENCY_POINTS; at += 2) {          /* every second percentile is named */
        double place = plot_x(on, figure_percentile_x(&latency_points[at]));
        fprintf(on->out, "<path class=\"edge\" d=\"M%.10g %.10gv4\"/>\n", place, on->bottom);
        plot_text(on, place, on->bottom + 17.0, "q", at + 1 == LATENCY_POINTS ? "end" : "middle",
                  latency_points[at].name);
    }
    fprintf(on->out, "<path class=\"edge\" d=\"M%.10g %.10gH%.10g\"/>\n", on->left, on->bottom, on->right);
    plot_text(on, on->right, on->bottom + 33.0, "q", "end", "percentile of allocations, in this process");
    for (size_t at = 0; at < self->policy_count; at++) {
        size_t count = figure_latency_points(self->list->rows[self->policies[at]].times, points);
        figure_curve(self, at, points, count, "alloc");
    }
}

/* The points of a policy, whose rows follow one another. */
static size_t figure_holes_points(const drawing *self, size_t policy, row_column column, plot_point *points)
{
    size_t end = policy + 1 < self->policy_count ? self->policies[policy + 1] : self->end, count = 0;
    for (size_t at = self->policies[policy]; at < end; at++) {
        const cell *cells = self->list->rows[at].cells;
        if (cells[column].kind == CELL_NONE || cells[COLUMN_HOLES].kind == CELL_NONE) continue;
        points[count].x = (double)cells[COLUMN_HOLES].count;
        points[count++].y = cells[column].real;
    }
    return count;
}

static void figure_holes(drawing *self)
{
    int is_ns = self->kind == FIGURE_HOLES_NS;
    row_column column = is_ns ? COLUMN_NS_PER_PAIR : COLUMN_PAIR_INSTRUCTIONS;
    plot_axis x = { 1e18, 1.0, 1, PLOT_COUNT, "free blocks around it", 0 };
    plot_axis y = { 0.0, 0.0, 0, PLOT_RATIO, is_ns ? "ns an allocation and a free" : "instructions of both", 0 };
    plot_point *points = program_need(self->end - self->first, sizeof *points);
    for (size_t at = 0; at < self->policy_count; at++) {
        for (size_t count = figure_holes_points(self, at, column, points); count--;) {
            x.least = fmin(x.least, points[count].x);
            x.most = fmax(x.most, points[count].x);
            y.most = fmax(y.most, points[count].y);
        }
    }
    x.least = fmin(fmax(x.least, 1.0), x.most);
    figure_open(self, &x, &y);
    for (size_t at = 0; at < self->policy_count; at++) {
        size_t count = figure_holes_points(self, at, column, points);
        figure_curve(self, at, points, count, row_table[column].name);
    }
    free(points);
}

/* ---- Time x addresses as a grid of cells, each shown as the kind that covers most of it. The grid is computed from
        a record's blocks and changes in whole numbers, so that every machine draws the same. Areas are sums of
        differences along time: a rectangle is a step up at its begin and a step down at its end, so that its cost is
        its height. Lengths are in units of 1/65536 of a cell, in both directions */

enum { MAP_BATCHES = 6 };
typedef enum map_cell {                          /* the kind shown; the first MAP_BATCHES: live blocks of a batch */
    MAP_SLACK = MAP_BATCHES,                     /* bytes of live blocks beyond the requested ones */
    MAP_SMALL,                                   /* blocks that are smaller than a cell */
    MAP_HOLE,                                    /* addresses without memory */
    MAP_FREE,
    MAP_NOTHING                                  /* after the end of the run, or beyond its addresses */
} map_cell;

enum { MAP_WIDTH = 400, MAP_HEIGHT = 192, MAP_UNIT_LOG2 = 16, MAP_AREAS = MAP_HOLE + 1, MAP_AXIS_LOG2 = 38 };
#define MAP_UNIT ((int64_t)1 << MAP_UNIT_LOG2)

typedef struct map_area { int64_t sums[MAP_AREAS]; } map_area;

typedef struct map {
    const record  *drawn;
    unsigned       width, height;                /* cells */
    uint64_t       ops, axis;                    /* extent of the cells; axis: in units of 2^shift bytes */
    unsigned       shift;
    map_area      *areas;                        /* used while the map is made; one column more than cells */
    unsigned char  cells[MAP_HEIGHT][MAP_WIDTH]; /* map_cell, the lowest address first */
} map;

static int64_t map_x(const map *self, uint64_t at)
{
    uint64_t most = self->drawn->map_ops < self->ops ? self->drawn->map_ops : self->ops;
    return (int64_t)(((at < most ? at : most) * self->width << MAP_UNIT_LOG2) / self->ops);
}

static int64_t map_y(const map *self, uint64_t offset)
{
    uint64_t scaled = offset >> self->shift;
    return (int64_t)(((scaled < self->axis ? scaled : self->axis) * self->height << MAP_UNIT_LOG2) / self->axis);
}

/* Adds a step to a line of the map: from x on, `high` units of the line's height are of this kind. */
static void map_step(const map *self, int area, int64_t line, int64_t x, int64_t high)
{
    size_t column = (size_t)(x >> MAP_UNIT_LOG2);
    int64_t within = x & (MAP_UNIT - 1);
    map_area *first = &self->areas[(size_t)line * (self->width + 1) + column];
    first[0].sums[area] += high * (MAP_UNIT - within);
    if (column < self->width) first[1].sums[area] += high * within;
}

/* Adds a rectangle. sign: 1, or -1 to take it away. */
static void map_rectangle(const map *self, int area, int sign, int64_t from_x, int64_t to_x, int64_t from_y,
                          int64_t to_y)
{
    if (from_x >= to_x) return;
    for (int64_t y = from_y, end; y < to_y; y = end) {
        int64_t line = y >> MAP_UNIT_LOG2, next = (line + 1) << MAP_UNIT_LOG2;
        end = next < to_y ? next : to_y;
        map_step(self, area, line, from_x, sign * (end - y));
        map_step(self, area, line, to_x, sign * (y - end));
    }
}

/* Adds a block in the batch of its step. Blocks born before the first step have the first batch; steps take turns in
   the others. Without steps, the batch is the sixth of most_ops in which the block was born. */
static void map_add_block(const map *self, const record_block *block)
{
    const record *drawn = self->drawn;
    int64_t from_x = map_x(self, block->birth_op), to_x = map_x(self, block->death_op);
    int64_t from_y = map_y(self, block->offset), slack_y = map_y(self, block->offset + block->requested_bytes);
    int64_t to_y = map_y(self, block->offset + block->bytes);
    int area = block->step ? 1 + (int)((block->step - 1) % (MAP_BATCHES - 1)) : 0;
    if (!drawn->step_count && block->birth_op < drawn->most_ops) {
        area = (int)(block->birth_op * MAP_BATCHES / drawn->most_ops);
    }
    if ((to_x - from_x) * (to_y - from_y) < MAP_UNIT * MAP_UNIT) area = MAP_SMALL;
    map_rectangle(self, area, 1, from_x, to_x, from_y, slack_y);
    map_rectangle(self, MAP_SLACK, 1, from_x, to_x, slack_y, to_y);
}

/* The kind that a cell shows. Used memory wins over holes and free memory if it covers at least as much as each. It
   shows its largest kind; small blocks win a tie. */
static map_cell map_choose(const map_area *area)
{
    int64_t used = 0, hole = area->sums[MAP_HOLE];
    int most = MAP_SMALL;
    for (int at = 0; at < MAP_HOLE; at++) {
        used += area->sums[at];
        if (area->sums[at] > area->sums[most]) most = at;
    }
    int64_t idle = MAP_UNIT * MAP_UNIT - used - hole;
    if (used > 0 && used >= hole && used >= idle) return (map_cell)most;
    return hole >= idle ? MAP_HOLE : MAP_FREE;
}

static void map_make(map *self)
{
    const record *drawn = self->drawn;
    int64_t end_x = map_x(self, RECORD_NEVER), end_y = map_y(self, drawn->axis_bytes);
    const unsigned columns = (unsigned)((end_x + MAP_UNIT - 1) >> MAP_UNIT_LOG2);
    const unsigned lines = (unsigned)((end_y + MAP_UNIT - 1) >> MAP_UNIT_LOG2);
    self->areas = program_need((size_t)(self->width + 1) * self->height, sizeof *self->areas);
    map_rectangle(self, MAP_HOLE, 1, 0, end_x, 0, end_y);        /* all is a hole until memory comes */
    for (const record_change *at = drawn->changes; at < drawn->changes + drawn->change_count; at++) {
        map_rectangle(self, MAP_HOLE, at->comes ? -1 : 1, map_x(self, at->op), end_x, map_y(self, at->offset),
                      map_y(self, at->offset + at->bytes));
    }
    for (size_t at = 0; at < drawn->block_count; at++) map_add_block(self, &drawn->blocks[at]);
    memset(self->cells, MAP_NOTHING, sizeof self->cells);
    for (unsigned line = 0; line < lines; line++) {              /* sum up the steps of the line */
        const map_area *steps = &self->areas[(size_t)line * (self->width + 1)];
        map_area sum = { { 0 } };
        for (unsigned column = 0; column < columns; column++) {
            for (int at = 0; at < MAP_AREAS; at++) sum.sums[at] += steps[column].sums[at];
            self->cells[line][column] = (unsigned char)map_choose(&sum);
        }
    }
    free(self->areas);
}

static unsigned map_run(const map *self, unsigned x, unsigned y)
{
    const unsigned char *line = self->cells[y];
    unsigned end = x;
    while (end < self->width && line[end] == line[x]) end++;
    return end - x;
}

/* Tells whether this line has a run of the same kind that begins at x and has this width. */
static int map_same_run(const map *self, unsigned x, unsigned y, unsigned width, unsigned char seen)
{
    const unsigned char *line = self->cells[y];
    return line[x] == seen && (!x || line[x - 1] != seen) && map_run(self, x, y) == width;
}

/* Joins equal runs of neighbouring lines into rectangles. Rectangles of the wanted kind are written as parts of a
   path, in whole units of a grid that the figure's transform lays over the plot area; each begins at the last one's
   corner. Returns the number of rectangles of all kinds but free ones, which are never written. out NULL: they are
   only counted. */
static size_t map_walk(const map *self, int wanted, FILE *out)
{
    size_t count = 0;
    unsigned pen_x = 0, pen_y = 0;
    for (unsigned y = 0; y < self->height; y++) {
        for (unsigned x = 0, width; x < self->width; x += width) {
            unsigned char seen = self->cells[y][x];
            unsigned height = 1;
            width = map_run(self, x, y);
            if (seen == MAP_NOTHING || (y && map_same_run(self, x, y - 1, width, seen))) continue;
            count += seen != MAP_FREE;
            if (!out || seen != wanted) continue;
            while (y + height < self->height && map_same_run(self, x, y + height, width, seen)) height++;
            fprintf(out, "m%d %dh%uv%uh-%uz", (int)x - (int)pen_x, (int)y - (int)pen_y, width, height, width);
            pen_x = x;
            pen_y = y;
        }
    }
    return count;
}

/* Makes the map over the workload's axes, coarser and coarser until it fits its share of the document. */
static map map_of(const drawing *self, const record *drawn)
{
    enum { MAP_PIECE_BYTES = 15 };
    map made = { .drawn = drawn, .ops = self->most_ops };
    while (self->most_axis_bytes >> made.shift >> MAP_AXIS_LOG2) made.shift++;
    made.axis = self->most_axis_bytes >> made.shift;
    for (unsigned divisor = 1;; divisor *= 2) {
        made.width = MAP_WIDTH / divisor;
        made.height = MAP_HEIGHT / divisor;
        map_make(&made);
        if (divisor == 16 || map_walk(&made, 0, NULL) * MAP_PIECE_BYTES <= self->sheet->map_bytes) return made;
    }
}

/* ---- Blocks of a map that show their size, tag, step and lifetime, with no script */

/* The end of a block's life on the map. */
static uint64_t figure_block_end(const record *drawn, const record_block *block)
{
    return block->death_op < drawn->map_ops ? block->death_op : drawn->map_ops;
}

static double figure_block_area(const record *drawn, const record_block *block)
{
    uint64_t end = figure_block_end(drawn, block);
    return end > block->birth_op ? (double)(end - block->birth_op) * (double)block->bytes : 0.0;
}

/* Finds the blocks of the largest areas, the largest first. Returns their number. */
static size_t figure_largest(const record *drawn, size_t most, const record_block **found)
{
    size_t count = 0;
    for (size_t at = 0; at < drawn->block_count; at++) {
        double area = figure_block_area(drawn, &drawn->blocks[at]);
        size_t place = count < most ? count++ : most;
        for (; place && figure_block_area(drawn, found[place - 1]) < area; place--) {
            if (place < most) found[place] = found[place - 1];
        }
        if (place < most) found[place] = &drawn->blocks[at];
    }
    return count;
}

static void figure_block_words(const record *drawn, const record_block *block, char *text, size_t size)
{
    const op_stream *stream = drawn->stream;
    char bytes[32], born[32], died[32] = "the end", tag[32] = "";
    const char *step = block->step ? stream->labels[drawn->steps[block->step - 1].label] : "";
    if (stream->tags[block->number]) {
        snprintf(tag, sizeof tag, ", %s", stream->labels[stream->tags[block->number] - 1]);
        table_cut(tag, 24);
    }
    if (block->death_op != RECORD_NEVER) plot_count(block->death_op, died, sizeof died);
    snprintf(text, size, "%s%s%s%.16s, op %s to %s", text_bytes(block->requested_bytes, bytes, sizeof bytes), tag,
             *step ? ", " : "", step, plot_count(block->birth_op, born, sizeof born), died);
}

/* Lays a map's largest blocks over it. Each shows its words while it is pointed at or tapped. */
static void figure_blocks(const plot *on, const record *drawn, size_t most)
{
    const record_block **found = program_need(most, sizeof *found);
    size_t count = figure_largest(drawn, most, found);
    char text[160];
    for (size_t at = 0; at < count; at++) {
        const record_block *block = found[at];
        double x = plot_x(on, (double)block->birth_op), y = plot_y(on, (double)(block->offset + block->bytes));
        fputs("<g class=\"block\">", on->out);
        plot_box(on, "hit", x, y, plot_x(on, (double)figure_block_end(drawn, block)) - x,
                 plot_y(on, (double)block->offset) - y);
        figure_block_words(drawn, block, text, sizeof text);
        plot_text(on, on->right, on->name_y, "q", "end", text);
        fputs("</g>\n", on->out);
    }
    free(found);
}

/* ---- Time x addresses: the place of each block, and the refused request */

static void figure_map_legend(const plot *on, const record *drawn)
{
    static const char *const names[] = { "slack", "too small", "hole", "free" };
    const double side = 11.0, line = 37.0;
    plot_legend legend = { on, 152.0, 1 };
    char class[24];
    for (int seen = 0; seen <= MAP_FREE; seen++) {
        snprintf(class, sizeof class, "key c%d", seen);
        if (seen < MAP_BATCHES) {
            plot_box(on, class, 6.0 + side * seen, line, side, 10.0);
            continue;
        }
        if (seen == MAP_BATCHES) {
            plot_text(on, 10.0 + side * MAP_BATCHES, line + 9.0, "q", "start",
                      drawn->step_count ? "live, by step" : "live, by age");
        }
        plot_legend_add(&legend, class, names[seen - MAP_SLACK]);
        legend.x -= 10.0;
    }
}

/* Writes the numbers of the refusal that the CSV has; without a refusal the peak. */
static void figure_map_caption(const drawing *self)
{
    static const struct { row_column column; const char *before, *after; } parts[] = {
        { COLUMN_OOM_OP, "out at op ", "" }, { COLUMN_OOM_REQUESTED, ": ", " asked" },
        { COLUMN_OOM_FREE, ", ", " free" }, { COLUMN_OOM_LARGEST, ", longest ", "" },
    };
    const cell *cells = self->list->rows[self->first].cells;
    fputs("<text class=\"q\" x=\"4.0\" y=\"31.0\" text-anchor=\"start\">", self->on.out);
    if (cells[COLUMN_OOM_OP].kind == CELL_NONE && cells[COLUMN_RESERVED_PEAK].kind == CELL_COUNT) {
        figure_number(self, self->first, COLUMN_RESERVED_PEAK, "takes ", " at most");
    }
    for (size_t at = 0; at < sizeof parts / sizeof parts[0]; at++) {
        if (cells[parts[at].column].kind == CELL_NONE) continue;
        figure_number(self, self->first, parts[at].column, parts[at].before, parts[at].after);
    }
    fputs("</text>\n", self->on.out);
}

/* Draws a white box over the recorded time and addresses, and all other kinds over it. */
static void figure_map(drawing *self)
{
    const record *drawn = self->list->rows[self->first].recording;
    plot *on = &self->on;
    const plot_axis x = figure_ops_axis(self);
    const plot_axis y = { 0.0, (double)self->most_axis_bytes, 0, PLOT_BYTES, "addresses", 0 };
    plot_open(on, &x, &y, 2);
    figure_steps_room(self);
    on->y.most = y.most;                         /* not rounded up: whole cells fill the axis */
    figure_map_legend(on, drawn);
    figure_map_caption(self);
    plot_axes(on);
    const map made = map_of(self, drawn);
    double right = plot_x(on, (double)drawn->map_ops), top = plot_y(on, (double)drawn->axis_bytes);
    fprintf(on->out, "<g class=\"map\" data-width=\"%u\" data-height=\"%u\">\n", made.width, made.height);
    plot_box(on, "c9", on->left, top, right - on->left, on->bottom - top);
    fprintf(on->out, "<g transform=\"translate(%.10g %.10g) scale(%.10g -%.10g)\">\n", on->left, on->bottom,
            (on->right - on->left) / made.width, (on->bottom - on->top) / made.height);
    for (int seen = 0; seen < MAP_FREE; seen++) {
        fprintf(on->out, "<path class=\"c%d\" d=\"M0 0", seen);
        (void)map_walk(&made, seen, on->out);
        fputs("\"/>\n", on->out);
    }
    fputs("</g></g>\n", on->out);
    figure_steps(self);
    if (drawn->refusal.happened) {               /* a box as high as the requested bytes in one piece */
        double end = figure_refusal_line(self), high = plot_y(on, (double)drawn->refusal.requested_bytes);
        plot_box(on, "want", end + 2.0 > on->right - 8.0 ? end - 10.0 : end + 2.0, high, 8.0, on->bottom - high);
    }
    if (drawn->map_ops < drawn->op_count) {
        plot_text(on, on->right, on->name_y, "q", "end", "too many blocks: no more was recorded");
    }
    figure_blocks(on, drawn, self->sheet->told_blocks);
}

/* ---- The figures of a sheet */

/* Tells whether the row has data for such a figure. */
static int figure_has(const row_list *list, const row *of, figure_kind kind)
{
    const record *drawn = of->recording;
    const int has_samples = drawn && drawn->sample_count;
    switch (kind) {
    case FIGURE_OVERHEAD:      return row_is_run(list->kind) && table_is_ok(of);
    case FIGURE_LATENCY:       return of->times && histogram_supports(&of->times->allocs, 500);
    case FIGURE_FRAGMENTATION: return has_samples && of->cells[COLUMN_FRAGMENTATION].kind != CELL_NONE;
    case FIGURE_IDLE:
    case FIGURE_MEMORY:        return has_samples;
    case FIGURE_MAP:           return drawn && drawn->block_count;
    case FIGURE_CAPACITY:      return list->kind == ROW_CAPACITY;
    case FIGURE_BATCH:         return list->kind == ROW_BATCH;
    case FIGURE_HOLES_NS:      return of->cells[COLUMN_NS_PER_PAIR].kind != CELL_NONE;
    case FIGURE_HOLES_INSTRUCTIONS: break;
    }
    return of->cells[COLUMN_PAIR_INSTRUCTIONS].kind != CELL_NONE;
}

/* Adds the figures of these rows, from one kind to another, if a row has data. */
static void figure_add(figure_sheet *sheet, figure_kind kind, figure_kind last, size_t first, size_t count)
{
    const row_list *list = sheet->list;
    for (; kind <= last; kind++) {
        const figure made = { kind, first, count };
        size_t at = first;
        while (at < first + count && !figure_has(list, &list->rows[at], kind)) at++;
        if (at == first + count || (sheet->is_maps && kind != FIGURE_MAP)) continue;
        sheet->figures[sheet->count++] = made;
        sheet->map_count += kind == FIGURE_MAP;
    }
}

figure_sheet figure_sheet_of(const row_list *list, int is_maps, size_t maps_bytes)
{
    enum { FIGURE_MAP_BYTES = 60000 };
    figure_sheet made = { .list = list, .is_maps = is_maps, .map_bytes = FIGURE_MAP_BYTES };
    size_t shown = 0, *firsts = program_need(list->count, sizeof *firsts);   /* shown: rows of run */
    made.figures = program_need(list->count * 7 + 2, sizeof *made.figures);
    for (size_t at = 0, first, rows; at < list->count; at += rows) {
        row_group(list, at, &first, &rows);
        if (row_is_run(list->kind) && shown && shown + rows > FIGURE_MOST_ROWS) {
            made.left_out += rows;
            continue;
        }
        figure_add(&made, FIGURE_OVERHEAD, FIGURE_HOLES_INSTRUCTIONS, first, rows);
        const size_t policies = row_firsts(list, first, rows, firsts);
        for (size_t one = 0; one < policies; one++) figure_add(&made, FIGURE_MAP, FIGURE_MEMORY, firsts[one], 1);
        shown += rows;
    }
    free(firsts);
    if (made.map_count && maps_bytes / made.map_count < made.map_bytes) made.map_bytes = maps_bytes / made.map_count;
    made.grain = made.map_count > 20 ? 4 : made.map_count > 8 ? 2 : 1;
    return made;
}

/* A type of figure. Its word `what` ends the title, behind the names of the workload and, for one row, its policy. */
typedef struct figure_type {
    figure_draw *draw;
    int          is_of_row;
    const char  *what, *description;
} figure_type;

static const figure_type figure_types[] = {
    [FIGURE_OVERHEAD] = { figure_bars, 0, "overhead",
        "Peak memory held from the driver by each policy, above the requested peak, or at which "
        "operation memory ran out." },
    [FIGURE_MAP] = { figure_map, 1, "addresses",
        "Map of time and addresses: live blocks in the colours of their batches, slack red, blocks too small to draw "
        "black, free memory white, addresses without memory grey." },
    [FIGURE_MEMORY] = { figure_memory, 1, "memory",
        "Memory requested, live and reserved over time; a red line where memory ran out." },
    [FIGURE_IDLE] = { figure_shares, 0, "idle",
        "Share of the memory held from the driver that no block is in, over time, by policy." },
    [FIGURE_FRAGMENTATION] = { figure_shares, 0, "fragmentation",
        "1 - largest free / free, over time, by policy: the share of free memory that the largest request could not "
        "have." },
    [FIGURE_LATENCY] = { figure_latency, 0, "latency",
        "Measured time of an allocation at percentiles from 50 to 99.9, by policy, on a log scale." },
    [FIGURE_CAPACITY] = { figure_bars, 0, "capacity",
        "The smallest limit with which the workload completes, by policy, above the requested peak." },
    [FIGURE_BATCH] = { figure_bars, 0, "largest batch", "The largest batch that completes, by policy." },
    [FIGURE_HOLES_NS] = { figure_holes, 0, "time against free blocks",
        "Cost of one allocation and free against the number of free blocks, by policy." },
    [FIGURE_HOLES_INSTRUCTIONS] = { figure_holes, 0, "instructions against free blocks",
        "Cost of one allocation and free against the number of free blocks, by policy." },
};

int figure_begins(const figure_sheet *sheet, size_t at)
{
    const figure *begun = &sheet->figures[at], *before = at ? begun - 1 : begun;
    return !at || (!sheet->is_maps && (begun->first != before->first
        || figure_types[begun->kind].is_of_row != figure_types[before->kind].is_of_row));
}

/* The element has a title and a description for readers who cannot see it. */
void figure_write(FILE *out, const figure_sheet *sheet, size_t at, const char *placement)
{
    const figure *shown = &sheet->figures[at];
    const figure_type *type = &figure_types[shown->kind];
    const unsigned number = (unsigned)at + 1;    /* makes ids */
    figure_words words;
    const row_list *list = sheet->list;
    drawing self = { .on = { .out = out }, .sheet = sheet, .list = list, .kind = shown->kind, .first = shown->first,
                     .end = shown->first + shown->count, .most_ops = 1, .most_axis_bytes = 1,
                     .most_reserved_bytes = 1 };
    size_t first, count;
    self.policies = program_need(shown->count, sizeof *self.policies);
    self.policy_count = row_firsts(list, self.first, shown->count, self.policies);
    row_group(list, shown->first, &first, &count);
    for (const row *of = list->rows + first; of < list->rows + first + count; of++) {
        const record *drawn = of->recording;
        const cell *reserved = &of->cells[COLUMN_RESERVED_PEAK];
        if (drawn) memory_raise(&self.most_ops, drawn->op_count);
        if (drawn) memory_raise(&self.most_axis_bytes, drawn->axis_bytes);
        if (reserved->kind == CELL_COUNT) memory_raise(&self.most_reserved_bytes, reserved->count);
    }
    figure_title(&words, &list->rows[shown->first], type->is_of_row, type->what);
    fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\"%s viewBox=\"0 0 %d %d\" role=\"img\" "
            "aria-labelledby=\"t%u d%u\">", placement, PLOT_WIDTH, PLOT_HEIGHT, number, number);
    text_print(out, xml_text, "<title id=\"t%u\">%s</title><desc id=\"d%u\">%s</desc>\n", number, words.title,
               number, type->description);
    plot_text(&self.on, 4.0, 15.0, "t", "start", words.heading);
    type->draw(&self);
    fputs("</svg>\n", out);
    free(self.policies);
}
