/* The table's lines: which columns go when there is no room, notes, legend. */
#include "table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../base/program.h"
#include "../base/text.h"
#include "../result/repeats.h"
#include "table_columns.h"

/* ---- How the table may look on what it is written to: width and colour */

enum { TABLE_WIDTH_MIN = 40, TABLE_WIDTH_DEFAULT = 120 };

static size_t table_width(int descriptor)
{
    const char *columns = program_environment("COLUMNS");
    size_t width = columns && *columns != '-' ? (size_t)strtoul(columns, NULL, 10) : 0;
#ifdef TIOCGWINSZ
    struct winsize size;
    if (!width && isatty(descriptor) && !ioctl(descriptor, TIOCGWINSZ, &size)) width = size.ws_col;
#else
    (void)descriptor;
#endif
    if (!width) return TABLE_WIDTH_DEFAULT;
    return width < TABLE_WIDTH_MIN ? TABLE_WIDTH_MIN : width;
}

static int table_color(int descriptor, const char *choice)
{
    const char *terminal = getenv("TERM");
    if (strcmp(choice, "auto")) return !strcmp(choice, "always");
    if (program_environment("NO_COLOR")) return 0;
    if (program_environment("FORCE_COLOR")) return strcmp(getenv("FORCE_COLOR"), "0") != 0;
    return isatty(descriptor) && terminal && strcmp(terminal, "dumb");
}

table_style table_style_for(FILE *out, const char *choice)
{
    const table_style style = { table_width(fileno(out)), table_color(fileno(out), choice) };
    return style;
}

/* ---- Below the table: what rows that are there more than once say together */

static void table_percentile(const histogram *latency, unsigned per_mille, const char *name, char *text, size_t size)
{
    if (!histogram_supports(latency, per_mille)) return;
    text_add(text, size, ", %s %" PRIu64, name, histogram_percentile(latency, per_mille));
}

static const char *table_repeats_text(const repeats *of, char *text, size_t size)
{
    char range[64] = " (an interval takes six times)", ends[200] = "";
    const interval *time = &of->ns;
    const histogram *allocs = of->sums[REPEATS_ALLOC];
    table_percentile(allocs, 500, "p50", ends, sizeof ends);
    table_percentile(allocs, 990, "p99", ends, sizeof ends);
    table_percentile(allocs, 999, "p99.9", ends, sizeof ends);
    if (time->is_known) snprintf(range, sizeof range, " [%.1Lf,%.1Lf]", time->low, time->high);
    snprintf(text, size, ", %zu times: host ns/op %.1Lf%s; ns of all %" PRIu64 " allocations together: max %" PRIu64
             "%s", time->count, time->middle, range, allocs->count, allocs->max, ends);
    return text;
}

size_t table_repeats(FILE *out, const row_list *list, table_sayer *say, size_t width)
{
    char text[512];
    size_t told = 0;
    for (size_t index = 0; index < list->count; index++) {
        repeats of;
        if (repeats_of(&of, list, index) && of.ns.count > 1 && of.sums[REPEATS_ALLOC]) {
            told++;
            say(out, &list->rows[index], table_repeats_text(&of, text, sizeof text), width);
        }
        repeats_free(&of);
    }
    return told;
}

/* ---- The table's lines: which columns go when there is no room, notes, legend */

typedef struct table_layout {
    const table_column *columns;
    size_t              count;
    size_t              widths[TABLE_MOST];      /* 0: not there .. */
    int                 is_dropped[TABLE_MOST];  /* .. for lack of room */
    int                 has_marks;               /* some column's last cell may have one behind it */
} table_layout;

/* Columns of a rank and above go, then texts are cut to so much, then the next. */
static const struct { int rank; size_t least; } table_steps[] = { { 3, 20 }, { 2, 12 }, { 1, 6 } };

static size_t table_total(const table_layout *layout)
{
    size_t total = 0;
    for (size_t column = 0; column < layout->count; column++) {
        if (layout->widths[column]) total += layout->widths[column] + 2;
    }
    return total ? total - 2 + (size_t)layout->has_marks : 0;
}

/* Drops the last column of the highest rank, of this one and above; 0: none may go. */
static int table_drop(table_layout *layout, int rank)
{
    size_t worst = layout->count;
    for (size_t column = 0; column < layout->count; column++) {
        if (!layout->widths[column] || layout->columns[column].rank < rank) continue;
        if (worst == layout->count || layout->columns[column].rank >= layout->columns[worst].rank) worst = column;
    }
    if (worst == layout->count) return 0;
    layout->widths[worst] = 0;
    layout->is_dropped[worst] = 1;
    return 1;
}

/* The widest column of texts by one, where it is wider than this. */
static int table_shrink(table_layout *layout, size_t least)
{
    size_t widest = layout->count;
    for (size_t column = 0; column < layout->count; column++) {
        if (!(layout->columns[column].flags & TABLE_TEXT) || layout->widths[column] <= least) continue;
        if (widest == layout->count || layout->widths[column] > layout->widths[widest]) widest = column;
    }
    if (widest == layout->count) return 0;
    layout->widths[widest]--;
    return 1;
}

/* What was cut for a column that went all the same. */
static void table_widen(table_layout *layout, const size_t *whole, size_t width)
{
    for (size_t column = 0; column < layout->count; column++) {
        while (layout->widths[column] && layout->widths[column] < whole[column] && table_total(layout) < width) {
            layout->widths[column]++;
        }
    }
}

static void table_fit(table_layout *layout, size_t width)
{
    size_t whole[TABLE_MOST];
    memcpy(whole, layout->widths, sizeof whole);
    for (size_t step = 0; step < sizeof table_steps / sizeof table_steps[0]; step++) {
        while (table_total(layout) > width && table_drop(layout, table_steps[step].rank)) continue;
        while (table_total(layout) > width && table_shrink(layout, table_steps[step].least)) continue;
    }
    table_widen(layout, whole, width);
}

static void table_measure(const row_list *list, size_t width, table_layout *layout)
{
    char text[1024];
    memset(layout, 0, sizeof *layout);
    layout->count = table_columns(list->kind, &layout->columns);
    for (size_t column = 0; column < layout->count; column++) {
        layout->widths[column] = strlen(layout->columns[column].heading);
        layout->has_marks |= (layout->columns[column].flags & TABLE_LEAST) != 0;
        for (size_t index = 0; index < list->count; index++) {
            const char *filled = table_fill(&layout->columns[column], &list->rows[index], text, sizeof text);
            if (strlen(filled) > layout->widths[column]) layout->widths[column] = strlen(filled);
        }
        if (!table_is_used(list, &layout->columns[column])) layout->widths[column] = 0;
    }
    table_fit(layout, width);
}

static const char *table_paint(const row *shown, const table_style *style)
{
    const char *status = shown ? shown->cells[COLUMN_STATUS].text : NULL;
    if (!style->color || !status) return "";
    if (!strcmp(status, "ok")) return shown->is_baseline ? "\033[2m" : "";
    return strcmp(status, "oom") ? "\033[31m" : "\033[33m";
}

typedef struct table_pen {
    FILE              *out;
    const table_style *style;
    size_t             owed;                     /* spaces not yet written: none at a line's end */
} table_pen;

/* Text that does not fit is cut, aloud; numbers always fit. The best are bold, or, without colours, starred. */
static void table_print(table_pen *pen, const table_column *column, size_t width, const char *text, int is_best)
{
    char value[1024];
    snprintf(value, sizeof value, "%s", text);
    table_cut(value, width);
    size_t pad = strlen(value) < width ? width - strlen(value) : 0;
    int is_text = (column->flags & TABLE_TEXT) != 0, is_starred = is_best && !pen->style->color;
    int is_bold = is_best && pen->style->color;
    fprintf(pen->out, "%*s%s%s%s%s", (int)(pen->owed + (is_text ? 0 : pad)), "", is_bold ? "\033[1m" : "", value,
            is_starred ? "*" : "", is_bold ? "\033[0m" : "");
    pen->owed = 2 - (size_t)is_starred + (is_text ? pad : 0);
}

/* index of a row; list->count: the headings. */
static void table_line(FILE *out, const row_list *list, size_t index, const table_layout *layout,
                       const table_style *style)
{
    const row *shown = index < list->count ? &list->rows[index] : NULL;
    const char *paint = table_paint(shown, style);
    table_pen pen = { out, style, 0 };
    fputs(paint, out);
    for (size_t at = 0; at < layout->count; at++) {
        const table_column *column = &layout->columns[at];
        char text[1024];
        if (!layout->widths[at]) continue;
        const char *filled = shown ? table_fill(column, shown, text, sizeof text) : column->heading;
        table_print(&pen, column, layout->widths[at], filled, shown && table_is_best(list, index, column));
    }
    fprintf(out, "%s\n", *paint ? "\033[0m" : "");
}

/* A line a row; between workloads a blank one. */
static void table_rows(FILE *out, const row_list *list, const table_layout *layout, const table_style *style)
{
    size_t first, count;
    table_line(out, list, list->count, layout, style);
    for (size_t index = 0; index < list->count; index++) {
        row_group(list, index, &first, &count);
        if (index && index == first && list->kind != ROW_HOLES && list->kind != ROW_BENCH) fputc('\n', out);
        table_line(out, list, index, layout, style);
    }
}

/* A sentence, folded at spaces, indented; a word that no line has room for is broken. */
static void table_fold(FILE *out, const char *text, size_t width)
{
    size_t at = 0, room = width > 24 ? width : 24;
    while (*text) {
        size_t word = strcspn(text, " "), most = at ? room - 4 : room;
        if (word > most) word = utf8_fits(text, most);
        if (at && at + 1 + word > room) {
            fputs("\n   ", out);
            at = 3;
        }
        if (at) fputc(' ', out);
        fprintf(out, "%.*s", (int)word, text);
        at += word + (at != 0);
        text += word;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

static void table_dropped(FILE *out, const table_layout *layout, size_t width)
{
    char text[512];
    size_t dropped = 0;
    snprintf(text, sizeof text, "no room in %zu columns for:", width);
    for (size_t column = 0; column < layout->count; column++) {
        if (!layout->is_dropped[column]) continue;
        text_add(text, sizeof text, "%s %s", dropped++ ? "," : "", layout->columns[column].heading);
    }
    if (dropped) table_fold(out, text, width);
}

static void table_notes(FILE *out, const row_list *list, size_t width)
{
    char name[1024], policy[1024], text[2700];
    int told = 0;
    for (size_t index = 0; index < list->count; index++) {
        const row *shown = &list->rows[index];
        const char *why = table_why(shown, list->kind);
        if (!*why) continue;
        const cell *workload = &shown->cells[list->kind == ROW_HOLES ? COLUMN_HOLES : COLUMN_WORKLOAD];
        snprintf(text, sizeof text, "%s/%s: %s", workload->kind == CELL_TEXT
                 ? table_name(workload->text, name, sizeof name) : cell_print(workload, name, sizeof name),
                 table_policy_name(shown->cells[COLUMN_POLICY].text, policy, sizeof policy), why);
        table_fold(out, text, width);
        told = 1;
    }
    if (told && row_is_run(list->kind)) fputc('\n', out);
}

/* The names as the table has them. */
static void table_sum(FILE *out, const row *named, const char *text, size_t width)
{
    char workload[1024], chosen[1024], line[2700];
    snprintf(line, sizeof line, "%s/%s%s", table_name(named->cells[COLUMN_WORKLOAD].text, workload, sizeof workload),
             table_policy_name(named->cells[COLUMN_POLICY].text, chosen, sizeof chosen), text);
    table_fold(out, line, width);
}

static int table_shows_time(const table_layout *layout)
{
    int shown = 0;
    for (size_t column = 0; column < layout->count; column++) {
        shown |= (layout->columns[column].flags & TABLE_TIME) && layout->widths[column];
    }
    return shown;
}

/* What each workload comes to. */
static void table_verdicts(FILE *out, const row_list *list, size_t width)
{
    char text[VERDICT_ROOM];
    fputc('\n', out);
    for (size_t first = 0; first < list->count; first = verdict_next(list, first)) {
        if (*verdict_line(list, first, text)) table_fold(out, text, width);
    }
    fputc('\n', out);
}

static void table_run_legend(FILE *out, const row_list *list, const table_layout *layout,
                             const cuda_environment *environment, size_t width)
{
    char line[1200];
    int has_baseline = 0;
    for (size_t index = 0; index < list->count; index++) has_baseline |= list->rows[index].is_baseline;
    if (environment) table_fold(out, cuda_environment_line(environment, line, sizeof line), width);
    line[0] = '\0';
    for (size_t column = 0; column < layout->count; column++) {
        const table_column *shown = &layout->columns[column];
        if (!layout->widths[column] || !shown->note) continue;
        text_add(line, sizeof line, "%s: %s; ", shown->heading, shown->note);
    }
    if (table_shows_time(layout)) {
        text_add(line, sizeof line, "host/op: measured on this machine%s; ",
                 environment ? "" : ", simulated driver included");
    }
    text_add(line, sizeof line, "*: best of the workload.%s%s",
             environment ? " What cudaMalloc and cub-library hold is at least so much: the 2 MiB granules in which "
             "their blocks lie." : " The device is simulated (stress help costs).", has_baseline
             ? " cudaMalloc was not asked for: it is there to compare with, and neither marked nor judged." : "");
    table_fold(out, line, width);
}

#define TABLE_INTERVAL " 95 %: the confidence interval of the median of all rounds' ratios, each of measurements " \
                       "next to each other."

/* What its columns are; and, where times are shown, what these are. */
static const struct { const char *columns, *times; } table_legends[] = {
    [ROW_CAPACITY] = { "min limit: the smallest limit found by bisection in steps of 2 MiB: the workload completes "
        "under it, with one step less it ends at that op, for that reason; peak: of what is requested. "
        "cudaMalloc and cub-library have no limit: it is the memory of the smallest simulated device on which "
        "the workload completes, on CUDA what they held.", NULL },
    [ROW_BATCH] = { "largest: what the workload's option may be for it to complete; one more ends at that op, for "
        "that reason; allowed: the largest found whose requested peak is no more than the memory there is: "
        "where peaks grow with the option, no policy can do better.", NULL },
    [ROW_HOLES] = { "a pair: an allocation that finds one of so many free blocks, and its free; instructions: "
        "counted by callgrind; driver calls: of 4,096 pairs.",
        "ns: processor time, measured on this machine, the median of all rounds; over the first: over "
        "the same among the fewest." TABLE_INTERVAL },
    [ROW_BENCH] = { "a pair: the free of a random block and an allocation; instr: instructions, counted by "
        "callgrind; against: of what it is compared with.",
        "ns: measured on this machine, the median of all rounds, in processor time but for threads and "
        "cold caches; ratio: over the other's, of threads the throughput over one thread's." TABLE_INTERVAL },
};

static void table_legend(FILE *out, const row_list *list, const table_layout *layout,
                         const cuda_environment *environment, size_t width)
{
    char line[512];
    if (row_is_run(list->kind)) {
        table_run_legend(out, list, layout, environment, width);
        return;
    }
    const char *times = table_legends[list->kind].times, *device = "simulated device.";
    if (environment) device = cuda_environment_line(environment, line, sizeof line);
    if (!times) table_fold(out, device, width);  /* of what is timed it is no part */
    table_fold(out, table_legends[list->kind].columns, width);
    if (times && table_shows_time(layout)) table_fold(out, times, width);
}

void table_write(FILE *out, const row_list *list, const cuda_environment *environment, const table_style *style)
{
    table_layout layout;
    table_measure(list, style->width, &layout);
    table_rows(out, list, &layout, style);
    table_dropped(out, &layout, style->width);
    if (list->partial) {
        fputs("partial: ", out);
        table_fold(out, list->partial, style->width);
    }
    if (row_is_run(list->kind)) table_verdicts(out, list, style->width);
    table_notes(out, list, style->width);
    if (row_is_run(list->kind) && table_repeats(out, list, table_sum, style->width)) fputc('\n', out);
    table_legend(out, list, &layout, environment, style->width);
}
