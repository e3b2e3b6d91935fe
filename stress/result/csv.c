/* Rows as CSV; lines end in a plain newline, as scripts and git expect.
   It must not know the columns by name.
   Tested by tests/test_report.c and tests/run.t. */
#include "csv.h"

#include <string.h>

void csv_text(FILE *out, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, out);
        return;
    }
    fputc('"', out);
    for (; *text; text++) {
        if (*text == '"') fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

static void csv_row(FILE *out, const row *shown, const row_column *columns, size_t count)
{
    for (size_t at = 0; at < count; at++) {
        const cell *value = &shown->cells[columns[at]];
        char text[64];
        if (at) fputc(',', out);
        csv_text(out, value->kind == CELL_TEXT ? value->text : cell_print(value, text, sizeof text));
    }
    fputc('\n', out);
}

void csv_write(FILE *out, const row_list *list)
{
    const row_column *columns;
    size_t count = row_columns(list->kind, &columns);
    for (size_t at = 0; at < count; at++) fprintf(out, "%s%s", at ? "," : "", row_column_name(columns[at]));
    fputc('\n', out);
    for (size_t index = 0; index < list->count; index++) {
        if (!list->rows[index].is_baseline) csv_row(out, &list->rows[index], columns, count);
    }
    if (list->partial) fprintf(out, CSV_PARTIAL "%s\n", list->partial);
}
