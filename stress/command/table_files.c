/* Rows that were read are made rows of a list, for the writers of files: whole numbers as such, all else as texts. */
#include "table_files.h"

#include <stdlib.h>
#include <string.h>

#include "../base/cli.h"
#include "../result/gate.h"

/* The command that has such columns: all of the header's are its own. */
static row_kind table_kind(const csv_table *table)
{
    static const row_kind kinds[] = { ROW_RUN, ROW_ROUNDS, ROW_CAPACITY, ROW_BATCH, ROW_HOLES, ROW_BENCH };
    for (size_t at = 0; at < sizeof kinds / sizeof kinds[0]; at++) {
        size_t known = 0;
        for (int column = 0; column < COLUMN_COUNT; column++) {
            known += row_has(kinds[at], (row_column)column)
                && csv_table_column(table, row_column_name((row_column)column)) != CSV_NO_COLUMN;
        }
        if (known == table->column_count) return kinds[at];
    }
    return ROW_RUN;
}

/* What is printed again as it was read, to the byte. */
static void table_cell_of(const char *text, row_column column, row *made)
{
    uint64_t number;
    column_unit unit = column_find(row_column_name(column))->unit;
    int is_number = (unit == UNIT_COUNT || unit == UNIT_BYTES) && (*text != '0' || !text[1]);
    if (is_number && slice_digits(slice_of(text), &number)) row_count(made, column, number);
    else row_text(made, column, text);
}

static void table_row_of(const csv_table *table, size_t line, row_kind kind, const char *path, row *made)
{
    for (int column = 0; column < COLUMN_COUNT; column++) {
        const char *text = csv_table_cell(table, line, csv_table_column(table, row_column_name((row_column)column)));
        int is_named = *text || column == COLUMN_POLICY;             /* a row has a policy, be it "" */
        if (is_named && row_has(kind, (row_column)column)) table_cell_of(text, (row_column)column, made);
    }
    const cell *status = &made->cells[COLUMN_STATUS];
    if (status->kind == CELL_TEXT && strcmp(status->text, "ok") && strcmp(status->text, "oom")) {
        snprintf(made->note, sizeof made->note, "%.100s, as %.300s says", status->text, path);
    }
}

int table_files_write(const output_list *outputs, const csv_table *table, const char *path, const gate *gates,
                      problem *why)
{
    row_list list = { calloc(table->row_count + 1, sizeof *list.rows), table->row_count, table_kind(table),
                      table->partial, NULL };
    if (!list.rows) return problem_set(why, EXIT_HARNESS, "no host memory for the rows of %s", path);
    for (size_t line = 0; line < list.count; line++) table_row_of(table, line, list.kind, path, &list.rows[line]);
    const char *device = list.count ? csv_table_cell(table, 0, csv_table_column(table, "device")) : "";
    const output_material material = { .list = &list, .device = device, .gates = gates, .table = table };
    int failed = 0;
    for (size_t index = 0; index < outputs->count; index++) {
        failed |= output_write(&outputs->items[index], &material, why);
    }
    failed |= output_summary(&material, why);
    free(list.rows);
    return failed ? -1 : 0;
}
