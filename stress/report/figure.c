/* Which figures there are, and what they share: names, numbers, legends.
   It must not know coordinates beyond those it is given.
   Tested by tests/html.t. */
#include "figure.h"

#include <stdlib.h>
#include <string.h>

#include "../policy/policy_name.h"
#include "../result/record.h"
#include "table_columns.h"
#include "../base/text.h"

static const char *figure_workload(const row *shown)
{
    const cell *workload = &shown->cells[COLUMN_WORKLOAD];
    return workload->kind == CELL_TEXT ? workload->text : "";
}

void figure_cut(char *text, size_t most)
{
    if (strlen(text) <= most) return;
    while (most > 2 && ((unsigned char)text[most - 2] & 0xc0) == 0x80) most--;
    memcpy(text + most - 2, "..", 3);
}

const char *figure_policy(const row *shown, size_t most, char *text, size_t size)
{
    policy_name_shown(shown->cells[COLUMN_POLICY].text, text, size);
    figure_cut(text, most);
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
    table_name(figure_workload(shown), workload, sizeof workload);
    if (is_row) figure_policy(shown, sizeof policy - 1, policy, sizeof policy);
    figure_join(words->title, sizeof words->title, workload, policy, what);
    figure_cut(policy, strlen(workload) < 16 ? FIGURE_ROOM - strlen(workload) : FIGURE_ROOM - 16);
    figure_cut(workload, FIGURE_ROOM - strlen(policy));
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
    fprintf(on->out, "%s<tspan data-row=\"%zu\" data-column=\"%s\" data-value=\"", before, row_index,
            row_column_name(column));
    xml_text(on->out, value->kind == CELL_TEXT ? value->text : cell_print(value, text, sizeof text));
    fputs("\">", on->out);
    xml_text(on->out, as);
    fprintf(on->out, "</tspan>%s", after);
}

void figure_text_end(const plot *on)
{
    fputs("</text>\n", on->out);
}

const char *figure_class(const row_list *list, size_t first, size_t row_index, const char *prefix, char *text,
                         size_t size)
{
    size_t number = 0;
    for (size_t at = first; at < row_index; at++) number += (size_t)row_is_first(list, first, at);
    snprintf(text, size, "%sl%zu", prefix, number % PLOT_LINES);
    return text;
}

unsigned figure_legend(const plot *on, const row_list *list, size_t first, size_t count, unsigned from_line)
{
    enum { FIGURE_MOST_NAMES = 16 };
    char names[FIGURE_MOST_NAMES][64], class[32];
    const char *shown[FIGURE_MOST_NAMES];
    size_t used = 0;
    plot_legend legend = { on, 0.0, from_line };
    for (size_t at = first; at < first + count && used < FIGURE_MOST_NAMES; at++) {
        if (!row_is_first(list, first, at)) continue;
        shown[used] = figure_policy(&list->rows[at], 28, names[used], sizeof names[used]);
        if (on) plot_legend_add(&legend, figure_class(list, first, at, "line ", class, sizeof class), shown[used]);
        used++;
    }
    return plot_legend_lines(shown, used);
}

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
        is_timed |= shown->allocs && histogram_supports(shown->allocs, 500);
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
    figure_maker maker = { calloc(list->count * 7 + 2, sizeof *maker.made), 0, 0, 0 };
    if (!maker.made) return NULL;
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

static int figure_is_of_row(const figure *shown)
{
    return shown->kind == FIGURE_MAP || shown->kind == FIGURE_MEMORY;
}

int figure_begins(const figure *figures, size_t at)
{
    return !at || figures[at].first != figures[at - 1].first
        || figure_is_of_row(&figures[at]) != figure_is_of_row(&figures[at - 1]);
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
    static figure_write_fn *const writers[] = {
        [FIGURE_OVERHEAD] = figure_overhead, [FIGURE_MAP] = figure_map, [FIGURE_MEMORY] = figure_memory,
        [FIGURE_IDLE] = figure_idle, [FIGURE_FRAGMENTATION] = figure_fragmentation, [FIGURE_LATENCY] = figure_latency,
        [FIGURE_CAPACITY] = figure_capacity, [FIGURE_BATCH] = figure_batch, [FIGURE_HOLES_NS] = figure_holes,
        [FIGURE_HOLES_INSTRUCTIONS] = figure_holes,
    };
    plot_frame frame = { number, placement, "", "", "" };
    writers[shown->kind](out, sheet, shown, &frame);
}
