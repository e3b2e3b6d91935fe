/* The table's columns: how cells are shown to people.
   It must not know how wide the table is.
   Tested by tests/test_report.c. */
#include "table_columns.h"

#include <inttypes.h>
#include <string.h>

#include "table.h"
#include "utf8.h"

enum { TABLE_NAME_MAX = 40 };

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

/* One thread is the rule, and goes without saying. */
static const char *table_threads(const table_context *context, char *text, size_t size)
{
    const cell *value = &context->shown->cells[COLUMN_THREADS];
    return value->kind == CELL_COUNT && value->count == 1 ? "" : table_cell(context, COLUMN_THREADS, text, size);
}

static const char *table_status(const table_context *context, char *text, size_t size)
{
    return table_cell(context, COLUMN_STATUS, text, size);
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
TABLE_FILL(remapped, COLUMN_REMAPPED_PAGES, table_cell)
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
static const char *table_growth(const table_context *context, char *text, size_t size)
{
    const cell *cells = context->shown->cells, *counted = &cells[COLUMN_INSTRUCTIONS_GROWTH];
    const cell *found = counted->text ? counted : &cells[COLUMN_GROWTH];
    snprintf(text, size, "%s", found->text ? found->text : "-");
    return text;
}

/* [0.2134,0.2210] */
static const char *table_interval(const table_context *context, char *text, size_t size)
{
    const cell *low = &context->shown->cells[COLUMN_RATIO_LOW], *high = &context->shown->cells[COLUMN_RATIO_HIGH];
    if (low->kind == CELL_NONE || high->kind == CELL_NONE) return "-";
    snprintf(text, size, "[%.4f,%.4f]", low->real, high->real);
    return text;
}

static const table_column table_run_columns[] = {
    { "workload", table_workload, 1, 0, 0 },
    { "policy", table_policy, 1, 0, 0 },
    { "status", table_status, 1, 0, 0 },
    { "threads", table_threads, 0, 4, 0 },
    { "drv time", table_time, 0, 2, 0 },
    { "host time", table_host_time, 0, 2, 0 },
    { "drv calls", table_calls, 0, 4, 0 },
    { "in driver", table_driver_vns, 0, 8, 0 },
    { "host ns/op", table_host_ns, 0, 6, 1 },
    { "p50 ns", table_p50, 0, 7, 1 },
    { "p99 ns", table_p99, 0, 5, 1 },
    { "max ns", table_max, 0, 10, 1 },
    { "requested", table_requested, 0, 9, 0 },
    { "reserved", table_reserved, 0, 3, 0 },
    { "footprint", table_footprint, 0, 1, 0 },
    { "remapped", table_remapped, 0, 5, 0 },
    { "frag", table_fragmentation, 0, 2, 0 },
    { "OOM at op", table_oom_op, 0, 1, 0 },
};

static const table_column table_capacity_columns[] = {
    { "workload", table_workload, 1, 0, 0 },
    { "policy", table_policy, 1, 0, 0 },
    { "status", table_status, 1, 0, 0 },
    { "threads", table_threads, 0, 4, 0 },
    { "ratio", table_ratio, 0, 0, 0 },
    { "min limit", table_min_limit, 0, 1, 0 },
    { "requested", table_requested, 0, 3, 0 },
    { "remapped", table_remapped, 0, 5, 0 },
    { "drv calls", table_calls, 0, 4, 0 },
    { "probes", table_probes, 0, 9, 0 },
    { "ends at op", table_stop_op, 0, 2, 0 },
    { "for", table_stop_reason, 1, 2, 0 },
};

static const table_column table_batch_columns[] = {
    { "workload", table_workload, 1, 0, 0 },
    { "policy", table_policy, 1, 0, 0 },
    { "status", table_status, 1, 0, 0 },
    { "threads", table_threads, 0, 4, 0 },
    { "varied", table_key, 1, 1, 0 },
    { "largest", table_largest, 0, 0, 0 },
    { "allowed", table_allowed, 0, 0, 0 },
    { "requested", table_requested, 0, 3, 0 },
    { "remapped", table_remapped, 0, 5, 0 },
    { "drv calls", table_calls, 0, 6, 0 },
    { "probes", table_probes, 0, 9, 0 },
    { "ends at op", table_stop_op, 0, 2, 0 },
    { "for", table_stop_reason, 1, 2, 0 },
};

static const table_column table_holes_columns[] = {
    { "policy", table_policy, 1, 0, 0 },
    { "holes", table_holes, 0, 0, 0 },
    { "status", table_status, 1, 2, 0 },
    { "ns a pair", table_pair_ns, 0, TABLE_OPTIONAL, 1 },
    { "over the first", table_ratio, 0, TABLE_OPTIONAL, 1 },
    { "95 %", table_interval, 0, TABLE_OPTIONAL, 1 },
    { "instructions", table_pair_instructions, 0, TABLE_OPTIONAL, 0 },
    { "drv calls", table_calls, 0, 1, 0 },
    { "target", table_target, 1, TABLE_OPTIONAL, 0 },
    { "met", table_met, 1, TABLE_OPTIONAL, 0 },
    { "growth", table_growth, 1, TABLE_OPTIONAL, 0 },
};

static const table_column table_bench_columns[] = {
    { "case", table_case, 1, 0, 0 },
    { "policy", table_policy, 1, 0, 0 },
    { "against", table_against, 1, 3, 0 },
    { "ns", table_pair_ns, 0, TABLE_OPTIONAL, 1 },
    { "against", table_against_ns, 0, TABLE_OPTIONAL, 1 },
    { "ratio", table_ratio, 0, TABLE_OPTIONAL, 0 },
    { "95 %", table_interval, 0, TABLE_OPTIONAL + 1, 1 },
    { "instr", table_pair_instructions, 0, TABLE_OPTIONAL, 0 },
    { "against", table_against_instructions, 0, TABLE_OPTIONAL + 2, 0 },
    { "target", table_target, 1, 1, 0 },
    { "met", table_met, 1, 0, 0 },
};

size_t table_columns(row_kind kind, const table_column **columns)
{
#define X(list) { list, sizeof list / sizeof list[0] }
    static const struct { const table_column *columns; size_t count; } lists[] = {
        [ROW_RUN] = X(table_run_columns), [ROW_CAPACITY] = X(table_capacity_columns),
        [ROW_BATCH] = X(table_batch_columns), [ROW_HOLES] = X(table_holes_columns),
        [ROW_BENCH] = X(table_bench_columns), [ROW_NEEDS] = { NULL, 0 },
        [ROW_ROUNDS] = X(table_run_columns),
    };
#undef X
    *columns = lists[kind].columns;
    return lists[kind].count;
}
