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

int case_is(const case_row *one, const case_row *other, const char *policy)
{
    for (size_t at = 0; at < one->table->column_count; at++) {
        const char *name = csv_table_name(one->table, at);
        const metric *measure = metric_find(name);
        if (!measure || measure->unit != METRIC_KEY) continue;
        const char *wanted = strcmp(name, "policy") ? case_cell(one, name) : policy;
        if (strcmp(wanted, case_cell(other, name))) return 0;
    }
    return 1;
}

size_t case_find(const csv_table *table, const case_row *like, const char *policy)
{
    for (size_t line = 0; line < table->row_count; line++) {
        const case_row other = { table, line };
        if (case_is(like, &other, policy)) return line;
    }
    return SIZE_MAX;
}

int case_is_repeat(const case_row *of)
{
    return case_find(of->table, of, case_cell(of, "policy")) < of->line;
}

int case_samples(const csv_table *table, const case_row *like, const char *policy, const char *column, int is_timed,
                 interval *made)
{
    long double *samples = calloc(table->row_count + 1, sizeof *samples);
    size_t count = 0;
    if (!samples) return -1;
    for (size_t line = 0; line < table->row_count; line++) {
        const case_row other = { table, line };
        if (case_is(like, &other, policy)
            && !metric_read(slice_of(case_cell(&other, column)), METRIC_COUNT, &samples[count])) count++;
    }
    *made = interval_of(samples, count, is_timed);
    free(samples);
    return 0;
}
