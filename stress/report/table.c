/* Columns of the table, and which of them go when there is no room.
   It must not know how a number came about.
   Tested by tests/test_report.c. */
#include "table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "environment.h"

enum { TABLE_NAME_MAX = 40, TABLE_CELL = 64 };

typedef struct table_context {
    const row *shown;
    const row *raw;                              /* of the same workload, or NULL */
} table_context;

typedef const char *table_fill(const table_context *context, char *text, size_t size);

const char *table_bytes(uint64_t bytes, char *text, size_t size)
{
    static const char suffixes[] = "KMGTPE";
    double scaled = (double)bytes;
    size_t power = 0;
    for (; scaled >= 1023.5 && power < sizeof suffixes - 1; power++) scaled /= 1024.0;
    if (!power) snprintf(text, size, "%" PRIu64, bytes);
    else snprintf(text, size, scaled < 99.95 ? "%.1f%c" : "%.0f%c", scaled, suffixes[power - 1]);
    return text;
}

/* Virtual nanoseconds, the unit always with them. */
static const char *table_vns(uint64_t vns, char *text, size_t size)
{
    if (vns < 10000) snprintf(text, size, "%" PRIu64 "vns", vns);
    else if (vns < 10000000) snprintf(text, size, "%.1fvus", (double)vns / 1e3);
    else if (vns < UINT64_C(10000000000)) snprintf(text, size, "%.1fvms", (double)vns / 1e6);
    else snprintf(text, size, "%.1fvs", (double)vns / 1e9);
    return text;
}

/* Paths keep their end, which tells them apart. */
static const char *table_name(const char *name, char *text, size_t size)
{
    const char *slash = strrchr(name, '/');
    const char *colon = strchr(name, ':');
    if (slash && colon && colon < slash) snprintf(text, size, "%.*s%s", (int)(colon - name + 1), name, slash + 1);
    else snprintf(text, size, "%s", name);
    if (strlen(text) > TABLE_NAME_MAX) memcpy(text + TABLE_NAME_MAX - 2, "..", 3);
    return text;
}

static const char *table_workload(const table_context *context, char *text, size_t size)
{
    return table_name(context->shown->cells[COLUMN_WORKLOAD].text, text, size);
}

static const char *table_policy(const table_context *context, char *text, size_t size)
{
    return table_name(context->shown->cells[COLUMN_POLICY].text, text, size);
}

static const char *table_cell(const table_context *context, row_column column, char *text, size_t size)
{
    const cell *value = &context->shown->cells[column];
    return value->kind == CELL_NONE ? "-" : cell_print(value, text, size);
}

static const char *table_status(const table_context *context, char *text, size_t size)
{
    return table_cell(context, COLUMN_STATUS, text, size);
}

static int table_is_ok(const row *shown)
{
    return shown->cells[COLUMN_STATUS].kind == CELL_TEXT && !strcmp(shown->cells[COLUMN_STATUS].text, "ok");
}

static int table_is_virtual(const row *shown)
{
    return shown->cells[COLUMN_DRIVER_VNS].kind != CELL_NONE;
}

/* Of two whole runs alone: a row that ended early did less. */
static const char *table_time(const table_context *context, char *text, size_t size)
{
    if (!table_is_virtual(context->shown)) return "";
    if (!context->raw || !context->raw->cells[COLUMN_DRIVER_VNS].count) return "-";
    if (!table_is_ok(context->raw) || !table_is_ok(context->shown)) return "-";
    double share = (double)context->shown->cells[COLUMN_DRIVER_VNS].count
                 / (double)context->raw->cells[COLUMN_DRIVER_VNS].count;
    snprintf(text, size, share < 0.1 ? "%.4f" : "%.2f", share);
    return text;
}

/* Where there is no virtual time: measured time, in the same sense. */
static const char *table_host_time(const table_context *context, char *text, size_t size)
{
    if (table_is_virtual(context->shown) || !context->raw) return "";
    const cell *raw = &context->raw->cells[COLUMN_HOST_NS], *mine = &context->shown->cells[COLUMN_HOST_NS];
    if (raw->kind == CELL_NONE || mine->kind == CELL_NONE || raw->real <= 0.0) return "";
    if (!table_is_ok(context->raw) || !table_is_ok(context->shown)) return "-";
    snprintf(text, size, mine->real < 0.1 * raw->real ? "%.4f" : "%.2f", mine->real / raw->real);
    return text;
}

static const char *table_driver_vns(const table_context *context, char *text, size_t size)
{
    if (!table_is_virtual(context->shown)) return "";
    return table_vns(context->shown->cells[COLUMN_DRIVER_VNS].count, text, size);
}

static const char *table_amount(const table_context *context, row_column column, char *text, size_t size)
{
    const cell *value = &context->shown->cells[column];
    return value->kind == CELL_NONE ? "-" : table_bytes(value->count, text, size);
}

static const char *table_percent(const table_context *context, row_column column, char *text, size_t size)
{
    const cell *value = &context->shown->cells[column];
    if (value->kind == CELL_NONE) return "n/a";
    snprintf(text, size, "%.1f%%", value->real * 100.0);
    return text;
}

#define TABLE_FILL(name, column, fill) \
    static const char *table_##name(const table_context *context, char *text, size_t size) \
    { \
        return fill(context, column, text, size); \
    }
TABLE_FILL(host_ns, COLUMN_HOST_NS, table_cell)
TABLE_FILL(p50, COLUMN_ALLOC_P50, table_cell)
TABLE_FILL(p99, COLUMN_ALLOC_P99, table_cell)
TABLE_FILL(max, COLUMN_ALLOC_MAX, table_cell)
TABLE_FILL(calls, COLUMN_DRIVER_CALLS, table_cell)
TABLE_FILL(requested, COLUMN_REQUESTED_PEAK, table_amount)
TABLE_FILL(reserved, COLUMN_RESERVED_PEAK, table_amount)
TABLE_FILL(footprint, COLUMN_FOOTPRINT, table_cell)
TABLE_FILL(fragmentation, COLUMN_FRAGMENTATION, table_percent)
TABLE_FILL(oom_op, COLUMN_OOM_OP, table_cell)

typedef struct table_column {
    const char *heading;
    table_fill *fill;
    int         is_text;                         /* left-aligned */
    int rank; /* 0: always there; the highest rank goes first when there is no room */
} table_column;

static const table_column table_columns[] = {
    { "workload", table_workload, 1, 0 },
    { "policy", table_policy, 1, 0 },
    { "status", table_status, 1, 0 },
    { "drv time", table_time, 0, 2 },
    { "host time", table_host_time, 0, 2 },
    { "drv calls", table_calls, 0, 4 },
    { "in driver", table_driver_vns, 0, 8 },
    { "host ns/op", table_host_ns, 0, 6 },
    { "p50 ns", table_p50, 0, 7 },
    { "p99 ns", table_p99, 0, 5 },
    { "max ns", table_max, 0, 10 },
    { "requested", table_requested, 0, 9 },
    { "reserved", table_reserved, 0, 3 },
    { "footprint", table_footprint, 0, 1 },
    { "frag", table_fragmentation, 0, 1 },
    { "OOM at op", table_oom_op, 0, 2 },
};
#define TABLE_COLUMNS (sizeof table_columns / sizeof table_columns[0])
enum { TABLE_OPTIONAL = 5 };                     /* ranks from here on: not shown where all of a column is empty */

typedef struct table_layout { size_t widths[TABLE_COLUMNS]; } table_layout;      /* 0: dropped */

static const row *table_find_raw(const row_list *list, const row *shown)
{
    for (size_t index = 0; index < list->count; index++) {
        const row *candidate = &list->rows[index];
        if (!strcmp(candidate->cells[COLUMN_POLICY].text, "raw")
            && candidate->cells[COLUMN_WORKLOAD].text == shown->cells[COLUMN_WORKLOAD].text) return candidate;
    }
    return NULL;
}

static size_t table_total(const table_layout *layout)
{
    size_t total = 0;
    for (size_t column = 0; column < TABLE_COLUMNS; column++) {
        if (layout->widths[column]) total += layout->widths[column] + 2;
    }
    return total ? total - 2 : 0;
}

/* Drops the last column of the highest rank; 0: none may go. */
static int table_drop(table_layout *layout)
{
    size_t worst = TABLE_COLUMNS;
    for (size_t column = 0; column < TABLE_COLUMNS; column++) {
        if (!layout->widths[column] || !table_columns[column].rank) continue;
        if (worst == TABLE_COLUMNS || table_columns[column].rank >= table_columns[worst].rank) worst = column;
    }
    if (worst == TABLE_COLUMNS) return 0;
    layout->widths[worst] = 0;
    return 1;
}

static void table_measure(const row_list *list, size_t width, table_layout *layout)
{
    char text[1024];
    for (size_t column = 0; column < TABLE_COLUMNS; column++) {
        int empty = table_columns[column].rank >= TABLE_OPTIONAL, absent = 1;
        layout->widths[column] = strlen(table_columns[column].heading);
        for (size_t index = 0; index < list->count; index++) {
            const table_context context = { &list->rows[index], table_find_raw(list, &list->rows[index]) };
            const char *filled = table_columns[column].fill(&context, text, sizeof text);
            if (strlen(filled) > layout->widths[column]) layout->widths[column] = strlen(filled);
            absent &= !*filled;
            empty &= !strcmp(filled, "-");
        }
        /* what was not timed takes no room from what was counted, nor what the device has nothing of */
        if (empty || absent) layout->widths[column] = 0;
    }
    while (table_total(layout) > width && table_drop(layout)) continue;
    while (table_total(layout) > width && (layout->widths[0] > 8 || layout->widths[1] > 8)) {
        layout->widths[layout->widths[1] > layout->widths[0]]--;
    }
}

static const char *table_paint(const row *shown, const table_style *style)
{
    const char *status = shown ? shown->cells[COLUMN_STATUS].text : "";
    if (!style->color || !shown) return "";
    if (!strcmp(status, "ok")) return shown->is_baseline ? "\033[2m" : "";
    return strcmp(status, "oom") ? "\033[31m" : "\033[33m";
}

/* context NULL: the headings. Text that does not fit is cut; numbers always fit. */
static void table_line(FILE *out, const table_context *context, const table_layout *layout, const table_style *style)
{
    const char *gap = "", *paint = table_paint(context ? context->shown : NULL, style);
    size_t owed = 0;                             /* spaces not yet written: none at a line's end */
    fputs(paint, out);
    for (size_t column = 0; column < TABLE_COLUMNS; column++) {
        char text[1024];
        int width = (int)layout->widths[column];
        if (!width) continue;
        const char *value =
            context ? table_columns[column].fill(context, text, sizeof text) : table_columns[column].heading;
        int length = (int)strlen(value) < width ? (int)strlen(value) : width;
        size_t pad = (size_t)(width - length);
        fprintf(out, "%*s%s%*s%.*s", (int)owed, "", gap, table_columns[column].is_text ? 0 : (int)pad, "", length,
                value);
        owed = table_columns[column].is_text ? pad : 0;
        gap = "  ";
    }
    fprintf(out, "%s\n", *paint ? "\033[0m" : "");
}

/* Sentences are folded at spaces, indented. */
static void table_fold(FILE *out, const char *text, size_t width)
{
    size_t at = 0, room = width > 24 ? width : 24;
    while (*text) {
        size_t word = strcspn(text, " ");
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

static void table_notes(FILE *out, const row_list *list, size_t width)
{
    char name[1024], policy[1024], text[2700];
    for (size_t index = 0; index < list->count; index++) {
        const row *shown = &list->rows[index];
        if (!shown->note[0]) continue;
        snprintf(text, sizeof text, "%s/%s: %s", table_name(shown->cells[COLUMN_WORKLOAD].text, name, sizeof name),
                 table_name(shown->cells[COLUMN_POLICY].text, policy, sizeof policy), shown->note);
        table_fold(out, text, width);
    }
}

static int table_shows(const table_layout *layout, table_fill *fill)
{
    for (size_t column = 0; column < TABLE_COLUMNS; column++) {
        if (table_columns[column].fill == fill) return layout->widths[column] != 0;
    }
    return 0;
}

#define TABLE_FOOTPRINT "footprint: peak reserved / peak requested; reserved of raw and cub-library is at least so " \
                        "much: the 2 MiB granules in which their blocks lie."

static void table_legend(FILE *out, const table_layout *layout, const cuda_environment *environment, size_t width)
{
    char line[512];
    int timed = table_shows(layout, table_host_ns) || table_shows(layout, table_p99);
    if (environment) {
        table_fold(out, environment_line(environment, line, sizeof line), width);
        table_fold(out, timed
                   ? "host time: measured time an op over raw's; host ns, p50, p99: measured; " TABLE_FOOTPRINT
                   : TABLE_FOOTPRINT,
                   width);
        return;
    }
    table_fold(out, timed
               ? "simulated device. drv time: virtual time in the driver over raw's; host ns, p50, p99: measured on "
                 "this machine, simulated driver included; footprint: peak reserved / peak requested."
               : "simulated device. drv time: virtual time in the driver over raw's; footprint: peak reserved / peak "
                 "requested.",
               width);
}

void table_write(FILE *out, const row_list *list, const cuda_environment *environment, const table_style *style)
{
    table_layout layout;
    table_measure(list, style->width, &layout);
    table_line(out, NULL, &layout, style);
    for (size_t index = 0; index < list->count; index++) {
        const table_context context = { &list->rows[index], table_find_raw(list, &list->rows[index]) };
        table_line(out, &context, &layout, style);
    }
    table_notes(out, list, style->width);
    table_legend(out, &layout, environment, style->width);
}
