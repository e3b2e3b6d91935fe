/* The table's columns: how cells are shown to people. */
#include "table.h"

#include <string.h>

#include "../policy/policy_name.h"
#include "../base/text.h"

enum { TABLE_NAME_MAX = 40 };

/* Modelled nanoseconds or measured ones: the heading says which. */
static const char *table_duration(double ns, char *text, size_t size)
{
    static const char *const units[] = { "ns", "us", "ms", "s" };
    size_t unit = 0;
    for (; ns >= 999.5 && unit < 3; unit++) ns /= 1000.0;
    snprintf(text, size, !unit || ns >= 99.95 ? "%.0f %s" : "%.1f %s", ns, units[unit]);
    return text;
}

/* Below 0 is none. A share of a call is told to two digits. */
static const char *table_number(double number, char *text, size_t size)
{
    if (number < 0.0) return "-";
    int is_whole = number >= 99.95 || number == (double)(uint64_t)number;
    snprintf(text, size, is_whole ? "%.0f" : number < 0.095 ? "%.1g" : "%.1f", number);
    return text;
}

void table_cut(char *text, size_t room)
{
    if (strlen(text) > room) memcpy(text + utf8_fits(text, room > 2 ? room - 2 : 0), "..", 3);
}

const char *table_name(const char *name, char *text, size_t size)
{
    const char *slash = strrchr(name, '/');
    const char *colon = strchr(name, ':');
    if (slash && colon && colon < slash) snprintf(text, size, "%.*s%s", (int)(colon - name + 1), name, slash + 1);
    else snprintf(text, size, "%s", name);
    table_cut(text, TABLE_NAME_MAX);
    return text;
}

const char *table_policy_name(const char *name, char *text, size_t size)
{
    char shown[1024];
    return table_name(policy_name_shown(name, shown, sizeof shown), text, size);
}

int table_is_dull(const row *shown, row_column column)
{
    char text[64];
    const cell *value = &shown->cells[column];
    if (column == COLUMN_THREADS) return !strcmp(cell_print(value, text, sizeof text), "1");
    return column == COLUMN_FRAGMENTATION && shown->cells[COLUMN_OOM_OP].kind == CELL_NONE;
}

const char *table_heading(row_kind kind, row_column column)
{
    switch (column) {
    case COLUMN_FOOTPRINT:  return "overhead";
    case COLUMN_DRIVER_VNS: return "driver time (modelled), ns";
    case COLUMN_HOLES:      return "free blocks";
    case COLUMN_RATIO:      return kind == ROW_CAPACITY ? "min limit / peak" : row_table[column].name;
    default:                return row_table[column].name;
    }
}

const char *table_fill(const table_column *of, const row *shown, char *text, size_t size)
{
    return of->show(shown, of->column, text, size);
}

int table_is_used(const row_list *list, const table_column *column)
{
    char text[1024];
    for (size_t at = 0; at < list->count; at++) {
        if (strcmp(table_fill(column, &list->rows[at], text, sizeof text), "-")) return 1;
    }
    return !(column->flags & TABLE_OPTIONAL);
}

static const char *table_workload(const row *shown, row_column column, char *text, size_t size)
{
    return table_name(shown->cells[column].text, text, size);
}

static const char *table_policy(const row *shown, row_column column, char *text, size_t size)
{
    return table_policy_name(shown->cells[column].text, text, size);
}

static const char *table_cell(const row *shown, row_column column, char *text, size_t size)
{
    const cell *value = &shown->cells[column];
    return value->kind == CELL_NONE ? "-" : cell_print(value, text, size);
}

/* What is dull takes no room; nor does a column of no moved page. */
static const char *table_unless_dull(const row *shown, row_column column, char *text, size_t size)
{
    const cell *value = &shown->cells[column];
    int is_none = value->kind == CELL_COUNT && !value->count;
    return is_none || table_is_dull(shown, column) ? "-" : table_cell(shown, column, text, size);
}

int table_is_ok(const row *shown)
{
    return !strcmp(row_status(shown), "ok");
}

const char *table_why(const row *shown, row_kind kind)
{
    if (shown->cells[COLUMN_STOP_TEXT].kind == CELL_TEXT) return shown->cells[COLUMN_STOP_TEXT].text;
    return kind == ROW_CAPACITY && table_is_ok(shown) ? "" : shown->note;    /* STOP_REASON tells it */
}

/* ---- of run: numbers that are better when they are less */

static double table_number_of(const row *shown, row_column column)
{
    const cell *value = &shown->cells[column];
    if (value->kind == CELL_NONE || value->kind == CELL_TEXT) return -1.0;
    return value->kind == CELL_COUNT ? (double)value->count : value->real;
}

static double table_overhead_of(const row *shown)
{
    double requested = table_number_of(shown, COLUMN_REQUESTED_PEAK);
    double reserved = table_number_of(shown, COLUMN_RESERVED_PEAK);
    return requested > 0.0 && reserved >= 0.0 ? reserved / requested : -1.0;
}

/* Of whole runs alone: a row that ended early did less. */
static double table_warm_up_of(const row *shown, row_column whole, row_column steady)
{
    if (!table_is_ok(shown) || shown->cells[whole].kind == CELL_NONE) return -1.0;
    return (double)(shown->cells[whole].count - shown->cells[steady].count);
}

/* What `run` shows of a column as a number: of the whole run's calls those of the warm-up, of the steady ones those
   of a step. Below 0: none. */
static double table_weight(const row *shown, row_column column)
{
    const uint64_t steps = shown->cells[COLUMN_STEADY_STEPS].count;
    switch (column) {
    case COLUMN_FOOTPRINT:    return table_overhead_of(shown);
    case COLUMN_DRIVER_CALLS: return table_warm_up_of(shown, column, COLUMN_STEADY_CALLS);
    case COLUMN_DRIVER_VNS:   return table_warm_up_of(shown, column, COLUMN_STEADY_VNS);
    case COLUMN_STEADY_CALLS:
    case COLUMN_STEADY_VNS:
        return shown->cells[column].kind == CELL_NONE || !steps ? -1.0
             : (double)shown->cells[column].count / (double)steps;
    default:                  return table_number_of(shown, column);
    }
}

static int table_is_weighed(const row *shown)
{
    return table_is_ok(shown) && !shown->is_baseline;
}

/* The best cell, by its number; cells of the same text are as good. */
int table_is_best(const row_list *list, size_t row_index, const table_column *column)
{
    size_t first, count, weighed = 0;
    int differs = 0;
    double least = 0.0;
    char any[64] = "", best[64] = "", text[64];
    if (!(column->flags & TABLE_LEAST) || !table_is_weighed(&list->rows[row_index])) return 0;
    row_group(list, row_index, &first, &count);
    for (const row *shown = list->rows + first; shown < list->rows + first + count; shown++) {
        double weight = table_is_weighed(shown) ? table_weight(shown, column->column) : -1.0;
        if (weight < 0.0) continue;
        const char *filled = table_fill(column, shown, text, sizeof text);
        if (!weighed) snprintf(any, sizeof any, "%s", filled);
        differs |= strcmp(filled, any) != 0;
        if (weighed++ && weight >= least) continue;
        least = weight;
        snprintf(best, sizeof best, "%s", filled);
    }
    return differs && !strcmp(table_fill(column, &list->rows[row_index], text, sizeof text), best);
}

static const char *table_amount(const row *shown, row_column column, char *text, size_t size)
{
    const cell *value = &shown->cells[column];
    return value->kind == CELL_NONE ? "-" : text_bytes(value->count, text, size);
}

const char *table_overhead(const row *shown, row_column column, char *text, size_t size)
{
    double share = table_weight(shown, column);
    if (share < 0.0) return "-";
    snprintf(text, size, "%+.1f %%", (share - 1.0) * 100.0);
    return text;
}

/* Where memory ran out: free memory in many pieces is no harm elsewhere. */
static const char *table_fragmentation(const row *shown, row_column column, char *text, size_t size)
{
    const cell *value = &shown->cells[column];
    if (value->kind == CELL_NONE || table_is_dull(shown, column)) return "-";
    snprintf(text, size, "%.1f %%", value->real * 100.0);
    return text;
}

static const char *table_calls(const row *shown, row_column column, char *text, size_t size)
{
    return table_number(table_weight(shown, column), text, size);
}

static const char *table_time(const row *shown, row_column column, char *text, size_t size)
{
    double ns = table_weight(shown, column);
    return ns < 0.0 ? "-" : table_duration(ns, text, size);
}

/* [0.2134,0.2210] */
static const char *table_interval(const row *shown, row_column column, char *text, size_t size)
{
    const cell *low = &shown->cells[column], *high = &shown->cells[COLUMN_RATIO_HIGH];
    if (low->kind == CELL_NONE || high->kind == CELL_NONE) return "-";
    snprintf(text, size, "[%.4f,%.4f]", low->real, high->real);
    return text;
}

/* What names the row of a workload, and what became of it. */
#define TABLE_NAMES \
    { "workload", table_workload, COLUMN_WORKLOAD, TABLE_TEXT, 0, NULL }, \
    { "policy", table_policy, COLUMN_POLICY, TABLE_TEXT, 0, NULL }, \
    { "status", table_cell, COLUMN_STATUS, TABLE_TEXT, 0, NULL }, \
    { "threads", table_unless_dull, COLUMN_THREADS, TABLE_OPTIONAL, 4, NULL }

static const table_column table_run_columns[] = {
    TABLE_NAMES,
    { "memory", table_amount, COLUMN_RESERVED_PEAK, TABLE_LEAST, 1, "held from the driver, at its peak" },
    { "overhead", table_overhead, COLUMN_FOOTPRINT, TABLE_LEAST, 1,
      "of that over what the workload requests at its peak" },
    { "warm-up calls", table_calls, COLUMN_DRIVER_CALLS, TABLE_OPTIONAL | TABLE_LEAST, 3,
      "of the driver until the first step comes again, or in the whole run" },
    { "warm-up time", table_time, COLUMN_DRIVER_VNS, TABLE_OPTIONAL | TABLE_LEAST, 5, "in them, modelled" },
    { "calls/step", table_calls, COLUMN_STEADY_CALLS, TABLE_OPTIONAL | TABLE_LEAST, 2, "in each step after that" },
    { "time/step", table_time, COLUMN_STEADY_VNS, TABLE_OPTIONAL | TABLE_LEAST, 4, "in them, modelled" },
    { "time/op", table_time, COLUMN_VNS_PER_OP, TABLE_OPTIONAL | TABLE_LEAST, 6,
      "of an allocation or free, modelled: driver, waits, and the program's own time" },
    { "host/op", table_time, COLUMN_HOST_NS, TABLE_OPTIONAL | TABLE_TIME | TABLE_LEAST, 7, NULL },
    { "fragmentation", table_fragmentation, COLUMN_FRAGMENTATION, TABLE_OPTIONAL, 3,
      "free memory beside its longest piece, where memory ran out" },
    { "OOM at op", table_cell, COLUMN_OOM_OP, TABLE_OPTIONAL, 1, NULL },
};

static const table_column table_capacity_columns[] = {
    TABLE_NAMES,
    { "min limit / peak", table_cell, COLUMN_RATIO, 0, 0, NULL },
    { "min limit", table_amount, COLUMN_MIN_LIMIT, 0, 1, NULL },
    { "requested", table_amount, COLUMN_REQUESTED_PEAK, 0, 3, NULL },
    { "remapped", table_unless_dull, COLUMN_REMAPPED_PAGES, TABLE_OPTIONAL, 5, NULL },
    { "driver calls", table_cell, COLUMN_DRIVER_CALLS, 0, 4, NULL },
    { "probes", table_cell, COLUMN_PROBES, TABLE_OPTIONAL, 9, NULL },
    { "ends at op", table_cell, COLUMN_STOP_OP, 0, 2, NULL },
    { "reason", table_cell, COLUMN_STOP_REASON, TABLE_TEXT, 2, NULL },
};

static const table_column table_batch_columns[] = {
    TABLE_NAMES,
    { "varied", table_cell, COLUMN_KEY, TABLE_TEXT, 1, NULL },
    { "largest", table_cell, COLUMN_LARGEST, 0, 0, NULL },
    { "allowed", table_cell, COLUMN_ALLOWED, 0, 0, NULL },
    { "requested", table_amount, COLUMN_REQUESTED_PEAK, 0, 3, NULL },
    { "remapped", table_unless_dull, COLUMN_REMAPPED_PAGES, TABLE_OPTIONAL, 5, NULL },
    { "driver calls", table_cell, COLUMN_DRIVER_CALLS, TABLE_OPTIONAL, 6, NULL },
    { "probes", table_cell, COLUMN_PROBES, TABLE_OPTIONAL, 9, NULL },
    { "ends at op", table_cell, COLUMN_STOP_OP, 0, 2, NULL },
    { "reason", table_cell, COLUMN_STOP_REASON, TABLE_TEXT, 2, NULL },
};

static const table_column table_holes_columns[] = {
    { "policy", table_policy, COLUMN_POLICY, TABLE_TEXT, 0, NULL },
    { "free blocks", table_cell, COLUMN_HOLES, 0, 0, NULL },
    { "status", table_cell, COLUMN_STATUS, TABLE_TEXT, 2, NULL },
    { "ns a pair", table_cell, COLUMN_NS_PER_PAIR, TABLE_TIME | TABLE_OPTIONAL, 5, NULL },
    { "over the first", table_cell, COLUMN_RATIO, TABLE_TIME | TABLE_OPTIONAL, 5, NULL },
    { "95 %", table_interval, COLUMN_RATIO_LOW, TABLE_TIME | TABLE_OPTIONAL, 5, NULL },
    { "instructions", table_cell, COLUMN_PAIR_INSTRUCTIONS, TABLE_OPTIONAL, 5, NULL },
    { "driver calls", table_cell, COLUMN_DRIVER_CALLS, 0, 1, NULL },
    { "target", table_cell, COLUMN_TARGET, TABLE_TEXT | TABLE_OPTIONAL, 5, NULL },
    { "met", table_cell, COLUMN_MET, TABLE_TEXT | TABLE_OPTIONAL, 5, NULL },
};

static const table_column table_bench_columns[] = {
    { "case", table_cell, COLUMN_CASE, TABLE_TEXT, 0, NULL },
    { "policy", table_policy, COLUMN_POLICY, TABLE_TEXT, 0, NULL },
    { "against", table_cell, COLUMN_AGAINST, TABLE_TEXT, 3, NULL },
    { "ns", table_cell, COLUMN_NS_PER_PAIR, TABLE_TIME | TABLE_OPTIONAL, 5, NULL },
    { "against", table_cell, COLUMN_AGAINST_NS, TABLE_TIME | TABLE_OPTIONAL, 5, NULL },
    { "ratio", table_cell, COLUMN_RATIO, TABLE_OPTIONAL, 5, NULL },
    { "95 %", table_interval, COLUMN_RATIO_LOW, TABLE_TIME | TABLE_OPTIONAL, 6, NULL },
    { "instr", table_cell, COLUMN_PAIR_INSTRUCTIONS, TABLE_OPTIONAL, 5, NULL },
    { "against", table_cell, COLUMN_AGAINST_INSTRUCTIONS, TABLE_OPTIONAL, 7, NULL },
    { "target", table_cell, COLUMN_TARGET, TABLE_TEXT, 1, NULL },
    { "met", table_cell, COLUMN_MET, TABLE_TEXT, 0, NULL },
};

size_t table_columns(row_kind kind, const table_column **columns)
{
#define X(list) { list, sizeof list / sizeof list[0] }
    static const struct { const table_column *columns; size_t count; } lists[] = {
        [ROW_RUN] = X(table_run_columns), [ROW_CAPACITY] = X(table_capacity_columns),
        [ROW_BATCH] = X(table_batch_columns), [ROW_HOLES] = X(table_holes_columns),
        [ROW_BENCH] = X(table_bench_columns),
        [ROW_ROUNDS] = X(table_run_columns),
    };
#undef X
    *columns = lists[kind].columns;
    return lists[kind].count;
}
