/* Fuzz target: CSV as compare and --base read it.
   It must not know columns.
   Run: make fuzz FUZZ=csv; its corpus: build/tests/fuzz/fuzz_csv */
#include "../../stress/report/csv_table.h"
#include "fuzz.h"

static void fuzz_one(const uint8_t *data, size_t size)
{
    csv_table table;
    problem why = { 0, "" };
    char *text = fuzz_text(data, size);
    if (csv_table_parse(&table, "input", text, size, &why)) {
        fuzz_expect(why.exit_code == EXIT_USAGE && why.text[0], "refused with a problem");
    } else {
        size_t bytes = 0;
        for (size_t line = 0; line < table.row_count; line++) {
            for (size_t at = 0; at < table.column_count; at++) bytes += strlen(csv_table_cell(&table, line, (int)at));
        }
        fuzz_expect(bytes <= size, "cells are no longer than the file");
    }
    csv_table_free(&table);
    free(text);
}

FUZZ_TARGET(csv)
