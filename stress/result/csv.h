/* CSV: header row, RFC 4180, the columns of the command (row.h) in order, an empty cell where nothing was measured.
   Knows nothing of what the columns mean. */
#ifndef STRESS_RESULT_CSV_H
#define STRESS_RESULT_CSV_H

#include <stddef.h>
#include <stdio.h>

#include "../base/problem.h"
#include "row.h"

#define CSV_PARTIAL "# partial: "                /* begins the last line of a file that lacks rows: why */

void csv_text(FILE *out, const char *text);       /* one cell, quoted where it must be */
void csv_write(FILE *out, const row_list *list);             /* write errors: ferror(out) */

/* ---- CSV read back: a header and rows of as many cells, all of them texts */

typedef struct csv_table {                       /* zeroed: nothing */
    char   *text;                                /* what the cells point into; owned */
    char  **cells;                               /* the header's first; owned */
    char   *hidden;                              /* 1: the row was run for the table alone; NULL: none was; owned */
    char   *partial;                             /* what the last line says of missing rows; NULL: none are */
    size_t  column_count, row_count;             /* rows without the header */
} csv_table;

enum { CSV_NO_COLUMN = -1 };

/* -1 and a problem that names file and line: EXIT_USAGE where it is none of ours, EXIT_HARNESS without host memory.
   A header said again (files joined by cat) is passed over. csv_table_free in both cases. */
int  csv_table_read(csv_table *self, const char *path, problem *why);
int  csv_table_parse(csv_table *self, const char *name, const char *text, size_t length, problem *why);
/* Rows as their file would have them, and those run for the table alone. */
int  csv_table_of(csv_table *self, const row_list *list, problem *why);
void csv_table_write(FILE *out, const csv_table *self);      /* as csv_write; write errors: ferror(out) */
void csv_table_free(csv_table *self);

int         csv_table_column(const csv_table *self, const char *name);               /* CSV_NO_COLUMN */
const char *csv_table_name(const csv_table *self, size_t column);
const char *csv_table_cell(const csv_table *self, size_t line, int column);          /* no such column: "" */
int         csv_table_is_hidden(const csv_table *self, size_t line);
/* The whole file, NUL-terminated, without a byte order mark of UTF-8; free it. NULL and a problem: it cannot be read,
   has a NUL byte, or more than 256 MiB. */
char       *csv_table_slurp(const char *path, size_t *length, problem *why);

#endif
