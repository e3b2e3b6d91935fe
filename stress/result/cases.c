/* Finding rows by their keys.
   It must not know the keys but as metrics that are none.
   Tested by tests/gate.t and tests/compare.t. */
#include "cases.h"

#include <stdlib.h>
#include <string.h>

#include "metric.h"

const char *case_cell(const case_row *of, const char *name)
{
    return csv_table_cell(of->table, of->line, csv_table_column(of->table, name));
}

typedef struct case_keys {                       /* what a row's keys are, and where a table has such keys */
    const csv_table *table;
    size_t      count;
    int         columns[COLUMN_COUNT];
    const char *wanted[COLUMN_COUNT];
} case_keys;

/* Once for a search, since a name is found by looking at all names. */
static case_keys case_keys_of(const csv_table *table, const case_row *like, const char *policy)
{
    case_keys keys = { table, 0, { 0 }, { NULL } };
    for (size_t at = 0; at < like->table->column_count; at++) {
        const char *name = csv_table_name(like->table, at);
        const metric *measure = metric_find(name);
        if (!measure || measure->unit != METRIC_KEY || csv_table_column(like->table, name) != (int)at) continue;
        keys.wanted[keys.count] = strcmp(name, "policy") ? csv_table_cell(like->table, like->line, (int)at) : policy;
        keys.columns[keys.count] = csv_table_column(table, name);
        keys.count += keys.columns[keys.count] != CSV_NO_COLUMN;
    }
    return keys;
}

static int case_fits(const case_keys *keys, size_t line)
{
    for (size_t at = 0; at < keys->count; at++) {
        if (strcmp(keys->wanted[at], csv_table_cell(keys->table, line, keys->columns[at]))) return 0;
    }
    return 1;
}

size_t case_find(const csv_table *table, const case_row *like, const char *policy)
{
    const case_keys keys = case_keys_of(table, like, policy);
    for (size_t line = 0; line < table->row_count; line++) {
        if (case_fits(&keys, line)) return line;
    }
    return SIZE_MAX;
}

int case_is_repeat(const case_row *of)
{
    return case_find(of->table, of, case_cell(of, "policy")) < of->line;
}

int case_agrees(const case_row *of, const char *name)
{
    const case_keys keys = case_keys_of(of->table, of, case_cell(of, "policy"));
    const int column = csv_table_column(of->table, name);
    const char *first = csv_table_cell(of->table, of->line, column);
    for (size_t line = 0; line < of->table->row_count; line++) {
        if (case_fits(&keys, line) && strcmp(first, csv_table_cell(of->table, line, column))) return 0;
    }
    return 1;
}

int case_samples(const csv_table *table, const case_row *like, const char *policy, const char *column, int is_timed,
                 interval *made)
{
    const case_keys keys = case_keys_of(table, like, policy);
    const int from = csv_table_column(table, column), is_ratio = !strcmp(column, "ratio");
    const int least = is_ratio ? csv_table_column(table, "ratio_low") : CSV_NO_COLUMN;
    const int most = is_ratio ? csv_table_column(table, "ratio_high") : CSV_NO_COLUMN;
    long double low = 0.0L, high = 0.0L;
    long double *samples = calloc(table->row_count + 1, sizeof *samples);
    size_t count = 0;
    int has_interval = 0;
    if (!samples) return -1;
    for (size_t line = 0; line < table->row_count; line++) {
        if (!case_fits(&keys, line)
            || metric_read(slice_of(csv_table_cell(table, line, from)), METRIC_COUNT, &samples[count])) continue;
        has_interval = !metric_read(slice_of(csv_table_cell(table, line, least)), METRIC_COUNT, &low)
            && !metric_read(slice_of(csv_table_cell(table, line, most)), METRIC_COUNT, &high);
        count++;
    }
    *made = interval_of(samples, count, is_timed || has_interval);
    free(samples);
    if (has_interval && count == 1) {
        made->is_known = 1;
        made->low = low;
        made->high = high;
    }
    return 0;
}
