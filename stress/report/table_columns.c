/* The table's columns: how cells are shown to people. */
#include "table_columns.h"

#include <string.h>

#include "../policy/policy_name.h"
#include "plot.h"
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
    case COLUMN_RATIO:      return kind == ROW_CAPACITY ? "min limit / peak" : NULL;
    default:                return NULL;
    }
}

static const char *table_workload(const row *shown, char *text, size_t size)
{
    return table_name(shown->cells[COLUMN_WORKLOAD].text, text, size);
}

static const char *table_policy(const row *shown, char *text, size_t size)
{
    return table_policy_name(shown->cells[COLUMN_POLICY].text, text, size);
}

static const char *table_cell(const row *shown, row_column column, char *text, size_t size)
{
    const cell *value = &shown->cells[column];
    return value->kind == CELL_NONE ? "-" : cell_print(value, text, size);
}

static const char *table_threads(const row *shown, char *text, size_t size)
{
    return table_is_dull(shown, COLUMN_THREADS) ? "-" : table_cell(shown, COLUMN_THREADS, text, size);
}

/* A column of no moved page takes no room. */
static const char *table_remapped(const row *shown, char *text, size_t size)
{
    const cell *value = &shown->cells[COLUMN_REMAPPED_PAGES];
    return value->kind == CELL_COUNT && !value->count ? "-" : table_cell(shown, COLUMN_REMAPPED_PAGES, text, size);
}

int table_is_ok(const row *shown)
{
    return shown->cells[COLUMN_STATUS].kind == CELL_TEXT && !strcmp(shown->cells[COLUMN_STATUS].text, "ok");
}

const char *table_why(const row *shown, row_kind kind)
{
    if (shown->cells[COLUMN_STOP_TEXT].kind == CELL_TEXT) return shown->cells[COLUMN_STOP_TEXT].text;
    return kind == ROW_CAPACITY && table_is_ok(shown) ? "" : shown->note;    /* STOP_REASON tells it */
}

/* ---- of run: numbers that are better when they are less */

static double table_weight_of(const row *shown, row_column column)
{
    const cell *value = &shown->cells[column];
    if (value->kind == CELL_NONE || value->kind == CELL_TEXT) return -1.0;
    return value->kind == CELL_COUNT ? (double)value->count : value->real;
}

/* Of whole runs alone: a row that ended early did less. */
static double table_warm_up_of(const row *shown, row_column whole, row_column steady)
{
    if (!table_is_ok(shown) || shown->cells[whole].kind == CELL_NONE) return -1.0;
    return (double)(shown->cells[whole].count - shown->cells[steady].count);
}

static double table_step_of(const row *shown, row_column steady)
{
    if (shown->cells[steady].kind == CELL_NONE || !shown->cells[COLUMN_STEADY_STEPS].count) return -1.0;
    return (double)shown->cells[steady].count / (double)shown->cells[COLUMN_STEADY_STEPS].count;
}

static double table_weigh_reserved(const row *shown)
{
    return table_weight_of(shown, COLUMN_RESERVED_PEAK);
}

static double table_weigh_overhead(const row *shown)
{
    double requested = table_weight_of(shown, COLUMN_REQUESTED_PEAK), reserved = table_weigh_reserved(shown);
    return requested > 0.0 && reserved >= 0.0 ? reserved / requested : -1.0;
}

static double table_weigh_warm_up_calls(const row *shown)
{
    return table_warm_up_of(shown, COLUMN_DRIVER_CALLS, COLUMN_STEADY_CALLS);
}

static double table_weigh_warm_up_time(const row *shown)
{
    return table_warm_up_of(shown, COLUMN_DRIVER_VNS, COLUMN_STEADY_VNS);
}

static double table_weigh_step_calls(const row *shown)
{
    return table_step_of(shown, COLUMN_STEADY_CALLS);
}

static double table_weigh_step_time(const row *shown)
{
    return table_step_of(shown, COLUMN_STEADY_VNS);
}

static double table_weigh_op_time(const row *shown)
{
    return table_weight_of(shown, COLUMN_VNS_PER_OP);
}

static double table_weigh_host_time(const row *shown)
{
    return table_weight_of(shown, COLUMN_HOST_NS);
}

static int table_is_weighed(const row *shown)
{
    return table_is_ok(shown) && !shown->is_baseline;
}

/* The best cell, by its number; cells of the same text are as good. */
int table_is_best(const row_list *list, size_t row_index, const table_column *column)
{
    size_t first, count, best = SIZE_MAX, worse = 0;
    char mine[64], text[64];
    if (!column->weigh || !table_is_weighed(&list->rows[row_index])) return 0;
    row_group(list, row_index, &first, &count);
    for (size_t at = first; at < first + count; at++) {
        double weight = table_is_weighed(&list->rows[at]) ? column->weigh(&list->rows[at]) : -1.0;
        if (weight < 0.0) continue;
        if (best == SIZE_MAX || weight < column->weigh(&list->rows[best])) best = at;
    }
    if (best == SIZE_MAX) return 0;
    snprintf(mine, sizeof mine, "%s", column->fill(&list->rows[best], text, sizeof text));
    for (size_t at = first; at < first + count; at++) {
        if (!table_is_weighed(&list->rows[at]) || column->weigh(&list->rows[at]) < 0.0) continue;
        worse += strcmp(column->fill(&list->rows[at], text, sizeof text), mine) != 0;
    }
    return worse && !strcmp(column->fill(&list->rows[row_index], text, sizeof text), mine);
}

static const char *table_amount(const row *shown, row_column column, char *text, size_t size)
{
    const cell *value = &shown->cells[column];
    return value->kind == CELL_NONE ? "-" : text_bytes(value->count, text, size);
}

const char *table_overhead(const row *shown, char *text, size_t size)
{
    double share = table_weigh_overhead(shown);
    if (share < 0.0) return "-";
    snprintf(text, size, "%+.1f %%", (share - 1.0) * 100.0);
    return text;
}

/* Where memory ran out: free memory in many pieces is no harm elsewhere. */
static const char *table_fragmentation(const row *shown, char *text, size_t size)
{
    const cell *value = &shown->cells[COLUMN_FRAGMENTATION];
    if (value->kind == CELL_NONE || table_is_dull(shown, COLUMN_FRAGMENTATION)) return "-";
    snprintf(text, size, "%.1f %%", value->real * 100.0);
    return text;
}

#define TABLE_NUMBER(name) \
    static const char *table_##name(const row *shown, char *text, size_t size) \
    { \
        return table_number(table_weigh_##name(shown), text, size); \
    }
TABLE_NUMBER(warm_up_calls)
TABLE_NUMBER(step_calls)

#define TABLE_DURATION(name) \
    static const char *table_##name(const row *shown, char *text, size_t size) \
    { \
        double ns = table_weigh_##name(shown); \
        return ns < 0.0 ? "-" : table_duration(ns, text, size); \
    }
TABLE_DURATION(warm_up_time)
TABLE_DURATION(step_time)
TABLE_DURATION(op_time)
TABLE_DURATION(host_time)

#define TABLE_FILL(name, column, fill) \
    static const char *table_##name(const row *shown, char *text, size_t size) \
    { \
        return fill(shown, column, text, size); \
    }
TABLE_FILL(status, COLUMN_STATUS, table_cell)
TABLE_FILL(calls, COLUMN_DRIVER_CALLS, table_cell)
TABLE_FILL(requested, COLUMN_REQUESTED_PEAK, table_amount)
TABLE_FILL(reserved, COLUMN_RESERVED_PEAK, table_amount)
TABLE_FILL(oom_op, COLUMN_OOM_OP, table_cell)
TABLE_FILL(min_limit, COLUMN_MIN_LIMIT, table_amount)
TABLE_FILL(ratio, COLUMN_RATIO, table_cell)
TABLE_FILL(probes, COLUMN_PROBES, table_cell)
TABLE_FILL(stop_op, COLUMN_STOP_OP, table_cell)
TABLE_FILL(stop_reason, COLUMN_STOP_REASON, table_cell)
TABLE_FILL(holes, COLUMN_HOLES, table_cell)
TABLE_FILL(key, COLUMN_KEY, table_cell)
TABLE_FILL(largest, COLUMN_LARGEST, table_cell)
TABLE_FILL(allowed, COLUMN_ALLOWED, table_cell)
TABLE_FILL(case, COLUMN_CASE, table_cell)
TABLE_FILL(against, COLUMN_AGAINST, table_cell)
TABLE_FILL(pair_ns, COLUMN_NS_PER_PAIR, table_cell)
TABLE_FILL(against_ns, COLUMN_AGAINST_NS, table_cell)
TABLE_FILL(pair_instructions, COLUMN_PAIR_INSTRUCTIONS, table_cell)
TABLE_FILL(against_instructions, COLUMN_AGAINST_INSTRUCTIONS, table_cell)
TABLE_FILL(target, COLUMN_TARGET, table_cell)
TABLE_FILL(met, COLUMN_MET, table_cell)

/* Of the instructions where they were counted. */
static const char *table_growth(const row *shown, char *text, size_t size)
{
    const cell *cells = shown->cells, *counted = &cells[COLUMN_INSTRUCTIONS_GROWTH];
    const cell *found = counted->text ? counted : &cells[COLUMN_GROWTH];
    snprintf(text, size, "%s", found->text ? found->text : "-");
    return text;
}

/* [0.2134,0.2210] */
static const char *table_interval(const row *shown, char *text, size_t size)
{
    const cell *low = &shown->cells[COLUMN_RATIO_LOW], *high = &shown->cells[COLUMN_RATIO_HIGH];
    if (low->kind == CELL_NONE || high->kind == CELL_NONE) return "-";
    snprintf(text, size, "[%.4f,%.4f]", low->real, high->real);
    return text;
}

static const table_column table_run_columns[] = {
    { "workload", table_workload, TABLE_TEXT, 0, NULL, NULL },
    { "policy", table_policy, TABLE_TEXT, 0, NULL, NULL },
    { "status", table_status, TABLE_TEXT, 0, NULL, NULL },
    { "threads", table_threads, TABLE_OPTIONAL, 4, NULL, NULL },
    { "memory", table_reserved, 0, 1, table_weigh_reserved, "held from the driver, at its peak" },
    { "overhead", table_overhead, 0, 1, table_weigh_overhead, "of that over what the workload requests at its peak" },
    { "warm-up calls", table_warm_up_calls, TABLE_OPTIONAL, 3, table_weigh_warm_up_calls,
      "of the driver until the first step comes again, or in the whole run" },
    { "warm-up time", table_warm_up_time, TABLE_OPTIONAL, 5, table_weigh_warm_up_time, "in them, modelled" },
    { "calls/step", table_step_calls, TABLE_OPTIONAL, 2, table_weigh_step_calls, "in each step after that" },
    { "time/step", table_step_time, TABLE_OPTIONAL, 4, table_weigh_step_time, "in them, modelled" },
    { "time/op", table_op_time, TABLE_OPTIONAL, 6, table_weigh_op_time,
      "of an allocation or free, modelled: driver, waits, and the program's own time" },
    { "host/op", table_host_time, TABLE_OPTIONAL | TABLE_TIME, 7, table_weigh_host_time, NULL },
    { "fragmentation", table_fragmentation, TABLE_OPTIONAL, 3, NULL,
      "free memory beside its longest piece, where memory ran out" },
    { "OOM at op", table_oom_op, TABLE_OPTIONAL, 1, NULL, NULL },
};

static const table_column table_capacity_columns[] = {
    { "workload", table_workload, TABLE_TEXT, 0, NULL, NULL },
    { "policy", table_policy, TABLE_TEXT, 0, NULL, NULL },
    { "status", table_status, TABLE_TEXT, 0, NULL, NULL },
    { "threads", table_threads, TABLE_OPTIONAL, 4, NULL, NULL },
    { "min limit / peak", table_ratio, 0, 0, NULL, NULL },
    { "min limit", table_min_limit, 0, 1, NULL, NULL },
    { "requested", table_requested, 0, 3, NULL, NULL },
    { "remapped", table_remapped, TABLE_OPTIONAL, 5, NULL, NULL },
    { "driver calls", table_calls, 0, 4, NULL, NULL },
    { "probes", table_probes, TABLE_OPTIONAL, 9, NULL, NULL },
    { "ends at op", table_stop_op, 0, 2, NULL, NULL },
    { "reason", table_stop_reason, TABLE_TEXT, 2, NULL, NULL },
};

static const table_column table_batch_columns[] = {
    { "workload", table_workload, TABLE_TEXT, 0, NULL, NULL },
    { "policy", table_policy, TABLE_TEXT, 0, NULL, NULL },
    { "status", table_status, TABLE_TEXT, 0, NULL, NULL },
    { "threads", table_threads, TABLE_OPTIONAL, 4, NULL, NULL },
    { "varied", table_key, TABLE_TEXT, 1, NULL, NULL },
    { "largest", table_largest, 0, 0, NULL, NULL },
    { "allowed", table_allowed, 0, 0, NULL, NULL },
    { "requested", table_requested, 0, 3, NULL, NULL },
    { "remapped", table_remapped, TABLE_OPTIONAL, 5, NULL, NULL },
    { "driver calls", table_calls, TABLE_OPTIONAL, 6, NULL, NULL },
    { "probes", table_probes, TABLE_OPTIONAL, 9, NULL, NULL },
    { "ends at op", table_stop_op, 0, 2, NULL, NULL },
    { "reason", table_stop_reason, TABLE_TEXT, 2, NULL, NULL },
};

static const table_column table_holes_columns[] = {
    { "policy", table_policy, TABLE_TEXT, 0, NULL, NULL },
    { "free blocks", table_holes, 0, 0, NULL, NULL },
    { "status", table_status, TABLE_TEXT, 2, NULL, NULL },
    { "ns a pair", table_pair_ns, TABLE_TIME | TABLE_OPTIONAL, 5, NULL, NULL },
    { "over the first", table_ratio, TABLE_TIME | TABLE_OPTIONAL, 5, NULL, NULL },
    { "95 %", table_interval, TABLE_TIME | TABLE_OPTIONAL, 5, NULL, NULL },
    { "instructions", table_pair_instructions, TABLE_OPTIONAL, 5, NULL, NULL },
    { "driver calls", table_calls, 0, 1, NULL, NULL },
    { "target", table_target, TABLE_TEXT | TABLE_OPTIONAL, 5, NULL, NULL },
    { "met", table_met, TABLE_TEXT | TABLE_OPTIONAL, 5, NULL, NULL },
    { "growth", table_growth, TABLE_TEXT | TABLE_OPTIONAL, 5, NULL, NULL },
};

static const table_column table_bench_columns[] = {
    { "case", table_case, TABLE_TEXT, 0, NULL, NULL },
    { "policy", table_policy, TABLE_TEXT, 0, NULL, NULL },
    { "against", table_against, TABLE_TEXT, 3, NULL, NULL },
    { "ns", table_pair_ns, TABLE_TIME | TABLE_OPTIONAL, 5, NULL, NULL },
    { "against", table_against_ns, TABLE_TIME | TABLE_OPTIONAL, 5, NULL, NULL },
    { "ratio", table_ratio, TABLE_OPTIONAL, 5, NULL, NULL },
    { "95 %", table_interval, TABLE_TIME | TABLE_OPTIONAL, 6, NULL, NULL },
    { "instr", table_pair_instructions, TABLE_OPTIONAL, 5, NULL, NULL },
    { "against", table_against_instructions, TABLE_OPTIONAL, 7, NULL, NULL },
    { "target", table_target, TABLE_TEXT, 1, NULL, NULL },
    { "met", table_met, TABLE_TEXT, 0, NULL, NULL },
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
