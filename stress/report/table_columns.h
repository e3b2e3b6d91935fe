/* The table's columns: how cells are shown to people, and which of them matter most.
   Knows nothing of how wide the table is.
   Tested by tests/test_report.c. */
#ifndef STRESS_REPORT_TABLE_COLUMNS_H
#define STRESS_REPORT_TABLE_COLUMNS_H

#include "row.h"

typedef struct table_context {
    const row *shown;
    const row *raw;                              /* of the same workload, or NULL */
} table_context;

typedef const char *table_fill(const table_context *context, char *text, size_t size);

enum {
    TABLE_OPTIONAL = 5,                          /* ranks from here on: not shown where a column is empty, or 0 */
    TABLE_MOST = 20                              /* columns of a table */
};
typedef struct table_column {
    const char *heading;
    table_fill *fill;                            /* "-" or "": nothing; a column of "" alone is not shown */
    int         is_text;                         /* left-aligned */
    int         rank;                            /* 0: always there; the highest goes first when there is no room */
    int         is_time;                         /* measured on this machine */
} table_column;

/* The columns of this command's table, in order; how many, at most TABLE_MOST. */
size_t table_columns(row_kind kind, const table_column **columns);

/* Paths keep their end, which tells them apart; what is long is cut. Returns text, of at least 1,024 bytes. */
const char *table_name(const char *name, char *text, size_t size);
/* To so many bytes, the last two of which then say that there was more. */
void        table_cut(char *text, size_t room);
int         table_is_ok(const row *shown);
/* The sentence that stands below the table for this row, why it ends where it does, what happened; "": none does. */
const char *table_why(const row *shown, row_kind kind);

#endif
