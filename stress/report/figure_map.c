/* Time x addresses: what lies where, and what there was no place for. */
#include <ctype.h>

#include "../result/record.h"
#include "figure.h"
#include "table.h"

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

enum { MAP_WIDTH = 400, MAP_HEIGHT = 192, MAP_UNIT_LOG2 = 16, MAP_AREAS = MAP_HOLE + 1, MAP_AXIS_LOG2 = 38 };
#define MAP_UNIT ((int64_t)1 << MAP_UNIT_LOG2)

typedef struct map_area { int64_t sums[MAP_AREAS]; } map_area;

typedef struct map {
    const record  *drawn;
    unsigned       width, height;                /* cells */
    uint64_t       ops, axis;                    /* that they stand for; axis: in units of 2^shift bytes */
    unsigned       shift;
    map_area      *areas;                        /* while it is made; a column more than there are cells */
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

/* From x on there is so much more of it, in a line that it fills to `high`. */
static void map_step(const map *self, int area, int64_t line, int64_t x, int64_t high)
{
    size_t column = (size_t)(x >> MAP_UNIT_LOG2);
    int64_t within = x & (MAP_UNIT - 1);
    map_area *first = &self->areas[(size_t)line * (self->width + 1) + column];
    first[0].sums[area] += high * (MAP_UNIT - within);
    if (column < self->width) first[1].sums[area] += high * within;
}

/* sign: 1, or -1: it is taken away. */
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

/* Which batch a block is of, 0 to MAP_BATCHES - 1: before the first step, then the others by turns; without steps by
   the sixth of most_ops in which it was born. */
static int map_batch(const record *drawn, const record_block *block)
{
    uint64_t ops = drawn->most_ops, born = block->birth_op;
    if (!drawn->step_count) return born < ops ? (int)(born * MAP_BATCHES / ops) : 0;
    return block->step ? 1 + (int)((block->step - 1) % (MAP_BATCHES - 1)) : 0;
}

static void map_add_block(const map *self, const record_block *block)
{
    int64_t from_x = map_x(self, block->birth_op), to_x = map_x(self, block->death_op);
    int64_t from_y = map_y(self, block->offset), slack_y = map_y(self, block->offset + block->requested_bytes);
    int64_t to_y = map_y(self, block->offset + block->bytes);
    int is_small = (to_x - from_x) * (to_y - from_y) < MAP_UNIT * MAP_UNIT;
    map_rectangle(self, is_small ? MAP_SMALL : map_batch(self->drawn, block), 1, from_x, to_x, from_y, slack_y);
    map_rectangle(self, MAP_SLACK, 1, from_x, to_x, slack_y, to_y);
}

/* What is in use comes before what is free, where there is as much of it; and what is seen of it is what most of it
   is, small blocks first. */
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
    map_rectangle(self, MAP_HOLE, 1, 0, end_x, 0, end_y);        /* until memory comes, and again when it has gone */
    for (const record_change *at = drawn->changes; at < drawn->changes + drawn->change_count; at++) {
        int comes = at->kind == SIM_CALL_OBTAIN || at->kind == SIM_CALL_VM_MAP;
        map_rectangle(self, MAP_HOLE, comes ? -1 : 1, map_x(self, at->op), end_x, map_y(self, at->offset),
                      map_y(self, at->offset + at->bytes));
    }
    for (size_t at = 0; at < drawn->block_count; at++) map_add_block(self, &drawn->blocks[at]);
    memset(self->cells, MAP_NOTHING, sizeof self->cells);
    for (unsigned line = 0; line < lines; line++) {              /* its steps are summed up */
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

/* 1: the same run stands in this line, begins and ends there. */
static int map_same_run(const map *self, unsigned x, unsigned y, unsigned width, unsigned char seen)
{
    const unsigned char *line = self->cells[y];
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

/* As wide and high as the workload's axes, and coarser until it takes no more than its share of the document. */
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

/* ---- Blocks of a map that say what they are: size, tag, step and lifetime, with no script */

/* On the map. */
static uint64_t figure_block_end(const record *drawn, const record_block *block)
{
    return block->death_op < drawn->map_ops ? block->death_op : drawn->map_ops;
}

static double figure_block_area(const record *drawn, const record_block *block)
{
    uint64_t end = figure_block_end(drawn, block);
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

/* Over a map: its largest blocks, each of which says what it is while it is pointed at or tapped. */
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

/* ---- Where steps begin: a mark above the plot area, and the step's name where there is room for it */

enum { FIGURE_MOST_STEPS = 64, FIGURE_STEPS_HEIGHT = 14 };
#define FIGURE_LETTER 6.4                        /* of a wide font */

/* NULL: none, or too many. */
static const record *figure_stepped(const drawing *self)
{
    const record *drawn = self->list->rows[self->first].recording;
    return drawn->step_count && drawn->step_count <= FIGURE_MOST_STEPS ? drawn : NULL;
}

void figure_steps_room(drawing *self)
{
    if (figure_stepped(self)) self->on.top += FIGURE_STEPS_HEIGHT;
}

/* "step12", or "12" where only that fits; NULL: nothing does. */
static const char *figure_step_name(const char *label, double room)
{
    const char *number = label + strlen(label);
    while (number > label && isdigit((unsigned char)number[-1])) number--;
    if (FIGURE_LETTER * (double)strlen(label) <= room) return label;
    return *number && FIGURE_LETTER * (double)strlen(number) <= room ? number : NULL;
}

void figure_steps(const drawing *self)
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

/* ---- Time x addresses: what lies where, and what there was no place for */

/* The whole of what was recorded is white, and everything else is laid over it. */
static void figure_map_draw(const drawing *self, const record *drawn)
{
    const plot *on = &self->on;
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
}

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

/* The refusal in numbers, each where the CSV has it; or how high it went. */
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

void figure_map(drawing *self)
{
    const record *drawn = self->list->rows[self->first].recording;
    plot *on = &self->on;
    const plot_axis x = figure_ops_axis(self);
    const plot_axis y = { 0.0, (double)self->most_axis_bytes, 0, PLOT_BYTES, "addresses", 0 };
    plot_open(on, &x, &y, 2);
    figure_steps_room(self);
    on->y.most = y.most;                         /* to the brim: cells are whole */
    figure_map_legend(on, drawn);
    figure_map_caption(self);
    plot_axes(on);
    figure_map_draw(self, drawn);
    figure_steps(self);
    if (drawn->refusal.happened) {               /* as high as what it would have taken in one piece */
        double end = figure_refusal_line(self), high = plot_y(on, (double)drawn->refusal.requested_bytes);
        plot_box(on, "want", end + 2.0 > on->right - 8.0 ? end - 10.0 : end + 2.0, high, 8.0, on->bottom - high);
    }
    if (drawn->map_ops < drawn->op_count) {
        plot_text(on, on->right, on->name_y, "q", "end", "too many blocks: no more was recorded");
    }
    figure_blocks(on, drawn, self->sheet->told_blocks);
}
