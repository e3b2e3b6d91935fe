/* The table's columns: how cells are shown to people. */
#include "table.h"

#include "../policy/policy_name.h"

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
    double requested = table_number_of(shown, COLUMN_REQUESTED_PEAK);
    double reserved = table_number_of(shown, COLUMN_RESERVED_PEAK);
    switch (column) {
    case COLUMN_FOOTPRINT:    return requested > 0.0 && reserved >= 0.0 ? reserved / requested : -1.0;
    case COLUMN_DRIVER_CALLS: return table_warm_up_of(shown, column, COLUMN_STEADY_CALLS);
    case COLUMN_DRIVER_VNS:   return table_warm_up_of(shown, column, COLUMN_STEADY_VNS);
    case COLUMN_STEADY_CALLS:
    case COLUMN_STEADY_VNS:
        return shown->cells[column].kind == CELL_NONE || !steps ? -1.0
             : (double)shown->cells[column].count / (double)steps;
    default:                  return table_number_of(shown, column);
    }
}

const char *table_overhead(const row *shown, char *text, size_t size)
{
    double share = table_weight(shown, COLUMN_FOOTPRINT);
    if (share < 0.0) return "-";
    snprintf(text, size, "%+.1f %%", (share - 1.0) * 100.0);
    return text;
}

const char *table_fill(const table_column *of, const row *shown, char *text, size_t size)
{
    const cell *value = &shown->cells[of->column], *high = &shown->cells[COLUMN_RATIO_HIGH];
    const double weight = table_weight(shown, of->column);
    const int is_none = value->kind == CELL_NONE, is_dull = table_is_dull(shown, of->column);
    switch (of->show) {
    case SHOW_NAME:     return table_name(value->text, text, size);
    case SHOW_POLICY:   return table_policy_name(value->text, text, size);
    case SHOW_OVERHEAD: return table_overhead(shown, text, size);
    case SHOW_NUMBER:   return table_number(weight, text, size);
    case SHOW_TIME:     return weight < 0.0 ? "-" : table_duration(weight, text, size);
    case SHOW_BYTES:    return is_none ? "-" : text_bytes(value->count, text, size);
    case SHOW_SOME:
        if (is_dull || (value->kind == CELL_COUNT && !value->count)) return "-";
        break;
    case SHOW_SHARE:
        if (is_none || is_dull) return "-";
        snprintf(text, size, "%.1f %%", value->real * 100.0);
        return text;
    case SHOW_INTERVAL:
        if (is_none || high->kind == CELL_NONE) return "-";
        snprintf(text, size, "[%.4f,%.4f]", value->real, high->real);
        return text;
    case SHOW_CELL:
        break;
    }
    return is_none ? "-" : cell_print(value, text, size);
}

int table_is_used(const row_list *list, const table_column *column)
{
    char text[1024];
    for (size_t at = 0; at < list->count; at++) {
        if (strcmp(table_fill(column, &list->rows[at], text, sizeof text), "-")) return 1;
    }
    return !(column->flags & TABLE_OPTIONAL);
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

/* What names the row of a workload, and what became of it. */
#define TABLE_NAMES \
    { "workload", SHOW_NAME, COLUMN_WORKLOAD, TABLE_TEXT, 0, NULL }, \
    { "policy", SHOW_POLICY, COLUMN_POLICY, TABLE_TEXT, 0, NULL }, \
    { "status", SHOW_CELL, COLUMN_STATUS, TABLE_TEXT, 0, NULL }, \
    { "threads", SHOW_SOME, COLUMN_THREADS, TABLE_OPTIONAL, 4, NULL }

static const table_column table_run_columns[] = {
    TABLE_NAMES,
    { "memory", SHOW_BYTES, COLUMN_RESERVED_PEAK, TABLE_LEAST, 1, "held from the driver, at its peak" },
    { "overhead", SHOW_OVERHEAD, COLUMN_FOOTPRINT, TABLE_LEAST, 1,
      "of that over what the workload requests at its peak" },
    { "warm-up calls", SHOW_NUMBER, COLUMN_DRIVER_CALLS, TABLE_OPTIONAL | TABLE_LEAST, 3,
      "of the driver until the first step comes again, or in the whole run" },
    { "warm-up time", SHOW_TIME, COLUMN_DRIVER_VNS, TABLE_OPTIONAL | TABLE_LEAST, 5, "in them, modelled" },
    { "calls/step", SHOW_NUMBER, COLUMN_STEADY_CALLS, TABLE_OPTIONAL | TABLE_LEAST, 2, "in each step after that" },
    { "time/step", SHOW_TIME, COLUMN_STEADY_VNS, TABLE_OPTIONAL | TABLE_LEAST, 4, "in them, modelled" },
    { "time/op", SHOW_TIME, COLUMN_VNS_PER_OP, TABLE_OPTIONAL | TABLE_LEAST, 6,
      "of an allocation or free, modelled: driver, waits, and the program's own time" },
    { "host/op", SHOW_TIME, COLUMN_HOST_NS, TABLE_OPTIONAL | TABLE_TIME | TABLE_LEAST, 7, NULL },
    { "fragmentation", SHOW_SHARE, COLUMN_FRAGMENTATION, TABLE_OPTIONAL, 3,
      "free memory beside its longest piece, where memory ran out" },
    { "OOM at op", SHOW_CELL, COLUMN_OOM_OP, TABLE_OPTIONAL, 1, NULL },
};

static const table_column table_capacity_columns[] = {
    TABLE_NAMES,
    { "min limit / peak", SHOW_CELL, COLUMN_RATIO, 0, 0, NULL },
    { "min limit", SHOW_BYTES, COLUMN_MIN_LIMIT, 0, 1, NULL },
    { "requested", SHOW_BYTES, COLUMN_REQUESTED_PEAK, 0, 3, NULL },
    { "remapped", SHOW_SOME, COLUMN_REMAPPED_PAGES, TABLE_OPTIONAL, 5, NULL },
    { "driver calls", SHOW_CELL, COLUMN_DRIVER_CALLS, 0, 4, NULL },
    { "probes", SHOW_CELL, COLUMN_PROBES, TABLE_OPTIONAL, 9, NULL },
    { "ends at op", SHOW_CELL, COLUMN_STOP_OP, 0, 2, NULL },
    { "reason", SHOW_CELL, COLUMN_STOP_REASON, TABLE_TEXT, 2, NULL },
};

static const table_column table_batch_columns[] = {
    TABLE_NAMES,
    { "varied", SHOW_CELL, COLUMN_KEY, TABLE_TEXT, 1, NULL },
    { "largest", SHOW_CELL, COLUMN_LARGEST, 0, 0, NULL },
    { "allowed", SHOW_CELL, COLUMN_ALLOWED, 0, 0, NULL },
    { "requested", SHOW_BYTES, COLUMN_REQUESTED_PEAK, 0, 3, NULL },
    { "remapped", SHOW_SOME, COLUMN_REMAPPED_PAGES, TABLE_OPTIONAL, 5, NULL },
    { "driver calls", SHOW_CELL, COLUMN_DRIVER_CALLS, TABLE_OPTIONAL, 6, NULL },
    { "probes", SHOW_CELL, COLUMN_PROBES, TABLE_OPTIONAL, 9, NULL },
    { "ends at op", SHOW_CELL, COLUMN_STOP_OP, 0, 2, NULL },
    { "reason", SHOW_CELL, COLUMN_STOP_REASON, TABLE_TEXT, 2, NULL },
};

static const table_column table_holes_columns[] = {
    { "policy", SHOW_POLICY, COLUMN_POLICY, TABLE_TEXT, 0, NULL },
    { "free blocks", SHOW_CELL, COLUMN_HOLES, 0, 0, NULL },
    { "status", SHOW_CELL, COLUMN_STATUS, TABLE_TEXT, 2, NULL },
    { "ns a pair", SHOW_CELL, COLUMN_NS_PER_PAIR, TABLE_TIME | TABLE_OPTIONAL, 5, NULL },
    { "over the first", SHOW_CELL, COLUMN_RATIO, TABLE_TIME | TABLE_OPTIONAL, 5, NULL },
    { "95 %", SHOW_INTERVAL, COLUMN_RATIO_LOW, TABLE_TIME | TABLE_OPTIONAL, 5, NULL },
    { "instructions", SHOW_CELL, COLUMN_PAIR_INSTRUCTIONS, TABLE_OPTIONAL, 5, NULL },
    { "driver calls", SHOW_CELL, COLUMN_DRIVER_CALLS, 0, 1, NULL },
    { "target", SHOW_CELL, COLUMN_TARGET, TABLE_TEXT | TABLE_OPTIONAL, 5, NULL },
    { "met", SHOW_CELL, COLUMN_MET, TABLE_TEXT | TABLE_OPTIONAL, 5, NULL },
};

static const table_column table_bench_columns[] = {
    { "case", SHOW_CELL, COLUMN_CASE, TABLE_TEXT, 0, NULL },
    { "policy", SHOW_POLICY, COLUMN_POLICY, TABLE_TEXT, 0, NULL },
    { "against", SHOW_CELL, COLUMN_AGAINST, TABLE_TEXT, 3, NULL },
    { "ns", SHOW_CELL, COLUMN_NS_PER_PAIR, TABLE_TIME | TABLE_OPTIONAL, 5, NULL },
    { "against", SHOW_CELL, COLUMN_AGAINST_NS, TABLE_TIME | TABLE_OPTIONAL, 5, NULL },
    { "ratio", SHOW_CELL, COLUMN_RATIO, TABLE_OPTIONAL, 5, NULL },
    { "95 %", SHOW_INTERVAL, COLUMN_RATIO_LOW, TABLE_TIME | TABLE_OPTIONAL, 6, NULL },
    { "instr", SHOW_CELL, COLUMN_PAIR_INSTRUCTIONS, TABLE_OPTIONAL, 5, NULL },
    { "against", SHOW_CELL, COLUMN_AGAINST_INSTRUCTIONS, TABLE_OPTIONAL, 7, NULL },
    { "target", SHOW_CELL, COLUMN_TARGET, TABLE_TEXT, 1, NULL },
    { "met", SHOW_CELL, COLUMN_MET, TABLE_TEXT, 0, NULL },
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
