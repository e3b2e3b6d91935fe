/* Time x addresses: what lies where, and what there was no place for. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "../base/program.h"
#include "../base/text.h"
#include "../result/record.h"
#include "figure.h"
#include "table_columns.h"

/* ---- Time x addresses as a grid of cells: what takes most of each. From a record's blocks and changes, in whole
        numbers, so that every machine draws the same. Areas are sums of differences along time: a rectangle is a
        step up where it begins and one down where it ends, so that its cost is its height. In units of 1/65536 of a
        cell each way */

enum { MAP_BATCHES = 6 };
typedef enum map_cell {                          /* what is seen; the first MAP_BATCHES: live blocks of a batch */
    MAP_SLACK = MAP_BATCHES,                     /* of live blocks: not asked for */
    MAP_SMALL,                                   /* blocks that are smaller than a cell */
    MAP_HOLE,                                    /* addresses without memory */
    MAP_FREE,
    MAP_NOTHING                                  /* the run was over, or the addresses are beyond its own */
} map_cell;

typedef struct map {
    unsigned       width, height;                /* cells */
    unsigned char *cells;                        /* map_cell, line by line, the lowest address first */
} map;

enum { MAP_UNIT_LOG2 = 16, MAP_AREAS = MAP_HOLE + 1, MAP_AXIS_LOG2 = 38 };
#define MAP_UNIT ((int64_t)1 << MAP_UNIT_LOG2)

typedef struct map_area { int64_t sums[MAP_AREAS]; } map_area;

typedef struct map_sheet {
    const record *drawn;
    map          *made;
    map_area     *areas;                         /* a column more than the map has */
    uint64_t      ops, axis;                     /* axis: in units of 2^shift bytes */
    unsigned      shift;
} map_sheet;

static int64_t map_x(const map_sheet *sheet, uint64_t at)
{
    uint64_t most = sheet->drawn->map_ops < sheet->ops ? sheet->drawn->map_ops : sheet->ops;
    if (at > most) at = most;
    return (int64_t)((at * sheet->made->width << MAP_UNIT_LOG2) / sheet->ops);
}

static int64_t map_y(const map_sheet *sheet, uint64_t offset)
{
    uint64_t scaled = offset >> sheet->shift;
    if (scaled > sheet->axis) scaled = sheet->axis;
    return (int64_t)((scaled * sheet->made->height << MAP_UNIT_LOG2) / sheet->axis);
}

/* From x on there is so much more of it, in a line that it fills to `high`. */
static void map_step(const map_sheet *sheet, int area, int64_t line, int64_t x, int64_t high)
{
    size_t column = (size_t)(x >> MAP_UNIT_LOG2);
    int64_t within = x & (MAP_UNIT - 1);
    map_area *first = &sheet->areas[(size_t)line * (sheet->made->width + 1) + column];
    first[0].sums[area] += high * (MAP_UNIT - within);
    if (column < sheet->made->width) first[1].sums[area] += high * within;
}

/* sign: 1, or -1: it is taken away. */
static void map_rectangle(const map_sheet *sheet, int area, int sign, int64_t from_x, int64_t to_x, int64_t from_y,
                          int64_t to_y)
{
    if (from_x >= to_x) return;
    for (int64_t y = from_y; y < to_y;) {
        int64_t next = ((y >> MAP_UNIT_LOG2) + 1) << MAP_UNIT_LOG2, end = next < to_y ? next : to_y;
        map_step(sheet, area, y >> MAP_UNIT_LOG2, from_x, sign * (end - y));
        map_step(sheet, area, y >> MAP_UNIT_LOG2, to_x, sign * (y - end));
        y = end;
    }
}

/* Which batch a block is of, 0 to MAP_BATCHES - 1: before the first step, then the others by turns; without steps by
   the sixth of most_ops in which it was born. */
static unsigned map_batch(const record *drawn, const record_block *block)
{
    uint64_t ops = drawn->most_ops, born = block->birth_op;
    if (!drawn->step_count) return born < ops ? (unsigned)(born * MAP_BATCHES / ops) : 0;
    return block->step ? 1 + (block->step - 1) % (MAP_BATCHES - 1) : 0;
}

static void map_add_block(const map_sheet *sheet, const record_block *block)
{
    int64_t from_x = map_x(sheet, block->birth_op), to_x = map_x(sheet, block->death_op);
    int64_t from_y = map_y(sheet, block->offset), slack_y = map_y(sheet, block->offset + block->requested_bytes);
    int64_t to_y = map_y(sheet, block->offset + block->bytes);
    int is_small = (to_x - from_x) * (to_y - from_y) < MAP_UNIT * MAP_UNIT;
    int seen = is_small ? MAP_SMALL : (int)map_batch(sheet->drawn, block);
    map_rectangle(sheet, seen, 1, from_x, to_x, from_y, slack_y);
    map_rectangle(sheet, MAP_SLACK, 1, from_x, to_x, slack_y, to_y);
}

/* Everything is a hole until memory comes, and again when it has gone. */
static void map_add_change(const map_sheet *sheet, const record_change *change)
{
    int comes = change->kind == SIM_CALL_OBTAIN || change->kind == SIM_CALL_VM_MAP;
    int64_t from_x = map_x(sheet, change->op), end_x = map_x(sheet, RECORD_NEVER);
    int64_t from_y = map_y(sheet, change->offset), to_y = map_y(sheet, change->offset + change->bytes);
    map_rectangle(sheet, MAP_HOLE, comes ? -1 : 1, from_x, end_x, from_y, to_y);
}

/* What is in use comes before what is free, where there is as much of it; and what is seen of it is what most of it
   is, small blocks first. */
static map_cell map_choose(const map_area *area)
{
    int64_t used = 0, hole = area->sums[MAP_HOLE];
    int most = MAP_SMALL;
    for (int at = 0; at < MAP_HOLE; at++) used += area->sums[at];
    int64_t idle = MAP_UNIT * MAP_UNIT - used - hole;
    if (used > 0 && used >= hole && used >= idle) {
        for (int at = 0; at < MAP_SMALL; at++) {
            if (area->sums[at] > area->sums[most]) most = at;
        }
        return (map_cell)most;
    }
    return hole >= idle ? MAP_HOLE : MAP_FREE;
}

/* Sums up the steps of a line, and says what is seen in it. */
static void map_finish_line(const map_sheet *sheet, unsigned line, unsigned columns)
{
    map_area sum;
    const map *made = sheet->made;
    memset(&sum, 0, sizeof sum);
    for (unsigned column = 0; column < made->width; column++) {
        const map_area *steps = &sheet->areas[(size_t)line * (made->width + 1) + column];
        for (int at = 0; at < MAP_AREAS; at++) sum.sums[at] += steps->sums[at];
        made->cells[(size_t)line * made->width + column] =
            (unsigned char)(column < columns ? map_choose(&sum) : MAP_NOTHING);
    }
}

static void map_fill(const map_sheet *sheet)
{
    const record *drawn = sheet->drawn;
    int64_t end_x = map_x(sheet, RECORD_NEVER), end_y = map_y(sheet, drawn->axis_bytes);
    unsigned columns = (unsigned)((end_x + MAP_UNIT - 1) >> MAP_UNIT_LOG2);
    unsigned lines = (unsigned)((end_y + MAP_UNIT - 1) >> MAP_UNIT_LOG2);
    map_rectangle(sheet, MAP_HOLE, 1, 0, end_x, 0, end_y);
    for (size_t at = 0; at < drawn->change_count; at++) map_add_change(sheet, &drawn->changes[at]);
    for (size_t at = 0; at < drawn->block_count; at++) map_add_block(sheet, &drawn->blocks[at]);
    memset(sheet->made->cells, MAP_NOTHING, (size_t)sheet->made->width * sheet->made->height);
    for (unsigned line = 0; line < lines; line++) map_finish_line(sheet, line, columns);
}

/* ops and axis_bytes: what the grid is wide and high; at least the record's. */
static void map_make(map *self, const record *drawn, unsigned width, unsigned height, uint64_t ops,
                    uint64_t axis_bytes)
{
    map_sheet sheet = { drawn, self, NULL, ops ? ops : 1, axis_bytes, 0 };
    while (sheet.axis >> MAP_AXIS_LOG2) {
        sheet.axis >>= 1;
        sheet.shift++;
    }
    if (!sheet.axis) sheet.axis = 1;
    self->width = width;
    self->height = height;
    self->cells = program_need((size_t)width * height, 1);
    sheet.areas = program_need((size_t)(width + 1) * height, sizeof *sheet.areas);
    map_fill(&sheet);
    free(sheet.areas);
}

static unsigned map_run(const map *self, unsigned x, unsigned y)
{
    const unsigned char *line = self->cells + (size_t)y * self->width;
    unsigned end = x;
    while (end < self->width && line[end] == line[x]) end++;
    return end - x;
}

/* 1: the same run stands in this line, begins and ends there. */
static int map_same_run(const map *self, unsigned x, unsigned y, unsigned width, unsigned char seen)
{
    const unsigned char *line = self->cells + (size_t)y * self->width;
    return line[x] == seen && (!x || line[x - 1] != seen) && map_run(self, x, y) == width;
}

/* Rectangles of equal cells, the largest that can be told apart going by lines. Of this kind they are written, as
   parts of a path: in whole units of a grid that the figure's transform lays over the plot area, each from the last
   one's corner on. How many there are of all kinds but free ones, which nobody writes. out NULL: they are counted. */
static size_t map_walk(const map *self, int wanted, FILE *out)
{
    size_t count = 0;
    unsigned pen_x = 0, pen_y = 0;
    for (unsigned y = 0; y < self->height; y++) {
        for (unsigned x = 0, width; x < self->width; x += width) {
            unsigned char seen = self->cells[(size_t)y * self->width + x];
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

/* ---- Blocks of a map that say what they are: size, tag, step and lifetime, with no script */

static double figure_block_area(const record *drawn, const record_block *block)
{
    uint64_t end = block->death_op < drawn->map_ops ? block->death_op : drawn->map_ops;
    return end > block->birth_op ? (double)(end - block->birth_op) * (double)block->bytes : 0.0;
}

/* The blocks of the largest areas, the largest first; how many. */
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
    char bytes[32], born[32], died[32], tag[32] = "";
    const char *step = block->step ? stream->labels[drawn->steps[block->step - 1].label] : "";
    if (stream->tags[block->number]) {
        snprintf(tag, sizeof tag, ", %s", stream->labels[stream->tags[block->number] - 1]);
        table_cut(tag, 24);
    }
    text_bytes(block->requested_bytes, bytes, sizeof bytes);
    plot_count(block->birth_op, born, sizeof born);
    if (block->death_op == RECORD_NEVER) snprintf(died, sizeof died, "the end");
    else plot_count(block->death_op, died, sizeof died);
    snprintf(text, size, "%s%s%s%.16s, op %s to %s", bytes, tag, *step ? ", " : "", step, born, died);
}

/* Over a map: its largest blocks, each of which says what it is while it is pointed at or tapped. */
static void figure_blocks(const plot *on, const record *drawn, size_t most)
{
    const record_block **found = program_need(most, sizeof *found);
    size_t count = figure_largest(drawn, most, found);
    char text[160];
    for (size_t at = 0; at < count; at++) {
        const record_block *block = found[at];
        uint64_t end = block->death_op < drawn->map_ops ? block->death_op : drawn->map_ops;
        double x = plot_x(on, (double)block->birth_op), y = plot_y(on, (double)(block->offset + block->bytes));
        fputs("<g class=\"block\">", on->out);
        plot_box(on, "hit", x, y, plot_x(on, (double)end) - x, plot_y(on, (double)block->offset) - y);
        figure_block_words(drawn, block, text, sizeof text);
        plot_text(on, on->right, on->name_y, "q", "end", text);
        fputs("</g>\n", on->out);
    }
    free(found);
}

/* ---- Where steps begin: a mark above the plot area, and the step's name where there is room for it */

enum { FIGURE_MOST_STEPS = 64, FIGURE_STEPS_HEIGHT = 14 };

static int figure_has_steps(const record *drawn)
{
    return drawn->step_count && drawn->step_count <= FIGURE_MOST_STEPS;
}

void figure_steps_room(plot *on, const record *drawn)
{
    if (figure_has_steps(drawn)) on->top += FIGURE_STEPS_HEIGHT;
}

static double figure_step_width(const char *name)
{
    return 6.4 * (double)strlen(name);           /* of a wide font */
}

/* "step12", or "12" where only that fits; NULL: nothing does. */
static const char *figure_step_name(const char *label, double room)
{
    const char *number = label + strlen(label);
    while (number > label && isdigit((unsigned char)number[-1])) number--;
    if (figure_step_width(label) <= room) return label;
    return *number && figure_step_width(number) <= room ? number : NULL;
}

void figure_steps(const plot *on, const record *drawn)
{
    if (!figure_has_steps(drawn)) return;
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

/* ---- Time x addresses: what lies where, and what there was no place for */

enum { FIGURE_MAP_WIDTH = 400, FIGURE_MAP_HEIGHT = 192 };

/* Coarser until it takes no more than its share of the document. */
static void figure_map_cells(map *made, const record *drawn, uint64_t ops, uint64_t axis_bytes, size_t most_bytes)
{
    enum { FIGURE_PIECE_BYTES = 15 };
    for (unsigned divisor = 1;; divisor *= 2) {
        unsigned width = FIGURE_MAP_WIDTH / divisor, height = FIGURE_MAP_HEIGHT / divisor;
        map_make(made, drawn, width, height, ops, axis_bytes);
        if (divisor == 16 || map_walk(made, 0, NULL) * FIGURE_PIECE_BYTES <= most_bytes) return;
        free(made->cells);
    }
}

/* The whole of what was recorded is white, and everything else is laid over it. */
static void figure_map_draw(const plot *on, const map *made, const record *drawn)
{
    double right = plot_x(on, (double)drawn->map_ops), top = plot_y(on, (double)drawn->axis_bytes);
    fprintf(on->out, "<g class=\"map\" data-width=\"%u\" data-height=\"%u\">\n", made->width, made->height);
    plot_box(on, "c9", on->left, top, right - on->left, on->bottom - top);
    fprintf(on->out, "<g transform=\"translate(%.10g %.10g) scale(%.10g -%.10g)\">\n", on->left, on->bottom,
            (on->right - on->left) / made->width, (on->bottom - on->top) / made->height);
    for (int seen = 0; seen < MAP_FREE; seen++) {
        fprintf(on->out, "<path class=\"c%d\" d=\"M0 0", seen);
        (void)map_walk(made, seen, on->out);
        fputs("\"/>\n", on->out);
    }
    fputs("</g></g>\n", on->out);
}

/* Where it ended, and as high as what it would have taken in one piece. */
static void figure_map_refusal(const plot *on, const record *drawn)
{
    const record_refusal *refusal = &drawn->refusal;
    if (!refusal->happened) return;
    double x = plot_x(on, (double)refusal->op), high = plot_y(on, (double)refusal->requested_bytes);
    fprintf(on->out, "<path class=\"oom\" d=\"M%.10g %.10gV%.10g\"/>\n", x, on->bottom, on->top);
    plot_box(on, "want", x + 2.0 > on->right - 8.0 ? x - 10.0 : x + 2.0, high, 8.0, on->bottom - high);
}

static void figure_map_legend(const plot *on, const record *drawn)
{
    static const char *const names[] = { "slack", "too small", "hole", "free" };
    const double side = 11.0, line = 37.0;
    plot_legend legend = { on, 0.0, 1 };
    char class[24];
    for (int batch = 0; batch < MAP_BATCHES; batch++) {
        snprintf(class, sizeof class, "key c%d", batch);
        plot_box(on, class, 6.0 + side * batch, line, side, 10.0);
    }
    plot_text(on, 10.0 + side * MAP_BATCHES, line + 9.0, "q", "start",
              drawn->step_count ? "live, by step" : "live, by age");
    legend.x = 152.0;
    for (int seen = MAP_SLACK; seen <= MAP_FREE; seen++) {
        snprintf(class, sizeof class, "key c%d", seen);
        plot_legend_add(&legend, class, names[seen - MAP_SLACK]);
        legend.x -= 10.0;
    }
}

/* The refusal in numbers, each where the CSV has it; or how high it went. */
static void figure_map_caption(const plot *on, const figure_sheet *sheet, size_t row_index)
{
    static const row_column columns[] = { COLUMN_OOM_OP, COLUMN_OOM_REQUESTED, COLUMN_OOM_FREE, COLUMN_OOM_LARGEST };
    static const char *const before[] = { "out at op ", ": ", ", ", ", longest " };
    static const char *const after[] = { "", " asked", " free", "" };
    const row *shown = &sheet->list->rows[row_index];
    const cell *reserved = &shown->cells[COLUMN_RESERVED_PEAK];
    char number[32];
    figure_text_begin(on, 4.0, 31.0, "start");
    if (shown->cells[COLUMN_OOM_OP].kind == CELL_NONE && reserved->kind == CELL_COUNT) {
        figure_number(on, sheet, row_index, COLUMN_RESERVED_PEAK, "takes ",
                      text_bytes(reserved->count, number, sizeof number), " at most");
    }
    for (size_t at = 0; at < sizeof columns / sizeof columns[0]; at++) {
        const cell *value = &shown->cells[columns[at]];
        if (value->kind == CELL_NONE) continue;
        if (at) text_bytes(value->count, number, sizeof number);
        else plot_count(value->count, number, sizeof number);
        figure_number(on, sheet, row_index, columns[at], before[at], number, after[at]);
    }
    figure_text_end(on);
}

void figure_map(FILE *out, const figure_sheet *sheet, const figure *shown, plot_frame *frame)
{
    const row *of = &sheet->list->rows[shown->first];
    const record *drawn = of->recording;
    size_t first, count;
    map made;
    plot on;
    row_group(sheet->list, shown->first, &first, &count);
    const figure_most most = figure_most_of(sheet->list, first, count);
    const plot_axis x = { 0.0, (double)most.ops, 0, PLOT_COUNT, "allocations and frees so far", 0 };
    const plot_axis y = { 0.0, (double)most.axis_bytes, 0, PLOT_BYTES, "addresses", 0 };
    plot_open(&on, out, frame, &x, &y, 2);
    figure_steps_room(&on, drawn);
    on.y.most = y.most;                          /* to the brim: cells are whole */
    figure_map_legend(&on, drawn);
    figure_map_caption(&on, sheet, shown->first);
    plot_axes(&on);
    figure_map_cells(&made, drawn, most.ops, most.axis_bytes, sheet->map_bytes);
    figure_map_draw(&on, &made, drawn);
    free(made.cells);
    figure_steps(&on, drawn);
    figure_map_refusal(&on, drawn);
    if (drawn->map_ops < drawn->op_count) {
        plot_text(&on, on.right, on.name_y, "q", "end", "too many blocks: no more was recorded");
    }
    figure_blocks(&on, drawn, sheet->told_blocks);
    plot_close(&on);
}
