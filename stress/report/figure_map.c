/* Time x addresses: what lies where, and what there was no place for.
   It must not know how cells are made. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "../base/text.h"
#include "../result/record.h"
#include "figure.h"
#include "map.h"

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
        figure_cut(tag, 24);
    }
    text_bytes(block->requested_bytes, bytes, sizeof bytes);
    plot_count(block->birth_op, born, sizeof born);
    if (block->death_op == RECORD_NEVER) snprintf(died, sizeof died, "the end");
    else plot_count(block->death_op, died, sizeof died);
    snprintf(text, size, "%s%s%s%.16s, op %s to %s", bytes, tag, *step ? ", " : "", step, born, died);
}

void figure_blocks(const plot *on, const record *drawn, size_t most)
{
    const record_block **found = calloc(most + 1, sizeof *found);
    size_t count = found ? figure_largest(drawn, most, found) : 0;
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

typedef struct figure_pieces {
    const plot *on;
    int         wanted;                          /* of this kind alone; -1: they are counted */
    size_t      count;
    int         pen_x, pen_y;
} figure_pieces;

/* In whole units of a grid that the figure's transform lays over the plot area; from the last corner on. */
static void figure_map_piece(void *user, map_cell seen, unsigned x, unsigned y, unsigned width, unsigned height)
{
    figure_pieces *self = user;
    if (self->wanted < 0) {
        self->count += seen != MAP_FREE;
        return;
    }
    if ((int)seen != self->wanted) return;
    fprintf(self->on->out, "m%d %dh%uv%uh-%uz", (int)x - self->pen_x, (int)y - self->pen_y, width, height, width);
    self->pen_x = (int)x;
    self->pen_y = (int)y;
    self->count++;
}

/* Coarser until it takes no more than its share of the document. */
static int figure_map_cells(map *made, const record *drawn, uint64_t ops, uint64_t axis_bytes,
                            size_t most_bytes)
{
    enum { FIGURE_PIECE_BYTES = 15 };
    for (unsigned divisor = 1; divisor <= 16; divisor *= 2) {
        figure_pieces pieces = { NULL, -1, 0, 0, 0 };
        unsigned width = FIGURE_MAP_WIDTH / divisor, height = FIGURE_MAP_HEIGHT / divisor;
        if (map_make(made, drawn, width, height, ops, axis_bytes)) return -1;
        map_walk(made, figure_map_piece, &pieces);
        if (divisor == 16 || pieces.count * FIGURE_PIECE_BYTES <= most_bytes) return 0;
        map_free(made);
    }
    return -1;
}

/* The whole of what was recorded is white, and everything else is laid over it. */
static void figure_map_draw(const plot *on, const map *made, const record *drawn)
{
    figure_pieces pieces = { on, 0, 0, 0, 0 };
    double right = plot_x(on, (double)drawn->map_ops), top = plot_y(on, (double)drawn->axis_bytes);
    fprintf(on->out, "<g class=\"map\" data-width=\"%u\" data-height=\"%u\">\n", made->width, made->height);
    plot_box(on, "c9", on->left, top, right - on->left, on->bottom - top);
    fprintf(on->out, "<g transform=\"translate(%.10g %.10g) scale(%.10g -%.10g)\">\n", on->left, on->bottom,
            (on->right - on->left) / made->width, (on->bottom - on->top) / made->height);
    for (int seen = 0; seen < MAP_FREE; seen++) {
        pieces.wanted = seen;
        pieces.pen_x = pieces.pen_y = 0;
        fprintf(on->out, "<path class=\"c%d\" d=\"M0 0", seen);
        map_walk(made, figure_map_piece, &pieces);
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

static void figure_map_most(const row_list *list, size_t row_index, uint64_t *ops, uint64_t *axis_bytes)
{
    size_t first, count;
    row_group(list, row_index, &first, &count);
    *ops = *axis_bytes = 1;
    for (size_t at = first; at < first + count; at++) {
        const record *other = list->rows[at].recording;
        if (other && other->op_count > *ops) *ops = other->op_count;
        if (other && other->axis_bytes > *axis_bytes) *axis_bytes = other->axis_bytes;
    }
}

void figure_map(FILE *out, const figure_sheet *sheet, const figure *shown, plot_frame *frame)
{
    const row *of = &sheet->list->rows[shown->first];
    const record *drawn = of->recording;
    uint64_t ops, axis_bytes;
    figure_words words;
    map made;
    plot on;
    figure_map_most(sheet->list, shown->first, &ops, &axis_bytes);
    const plot_axis x = { 0.0, (double)ops, 0, PLOT_COUNT, "allocations and frees so far", 0 };
    const plot_axis y = { 0.0, (double)axis_bytes, 0, PLOT_BYTES, "addresses", 0 };
    figure_title(frame, &words, of, 1, "addresses");
    frame->description = "Map of time and addresses: live blocks in the colours of their batches, slack red, blocks "
                         "too small to draw black, free memory white, addresses without memory grey.";
    plot_open(&on, out, frame, &x, &y, 2);
    figure_steps_room(&on, drawn);
    on.y.most = (double)axis_bytes;              /* to the brim: cells are whole */
    figure_map_legend(&on, drawn);
    figure_map_caption(&on, sheet, shown->first);
    plot_axes(&on);
    if (figure_map_cells(&made, drawn, ops, axis_bytes, sheet->map_bytes)) {
        plot_text(&on, on.left, on.top + 40.0, "bad", "start", "not enough host memory to draw this");
    } else {
        figure_map_draw(&on, &made, drawn);
        map_free(&made);
    }
    figure_steps(&on, drawn);
    figure_map_refusal(&on, drawn);
    if (drawn->map_ops < drawn->op_count) {
        plot_text(&on, on.right, on.name_y, "q", "end", "too many blocks: no more was recorded");
    }
    figure_blocks(&on, drawn, sheet->told_blocks);
    plot_close(&on);
}
