/* CSV: header row, RFC 4180, the columns of the command (row.h) in order, an empty cell where nothing was measured.
   Knows nothing of the meaning of columns. */
#ifndef STRESS_RESULT_CSV_H
#define STRESS_RESULT_CSV_H

#include "row.h"

#define CSV_PARTIAL "# partial: "                /* begins the last line of a file that lacks rows, with the reason */

void csv_text(FILE *out, const char *text);       /* one cell, quoted where it must be */
void csv_write(FILE *out, const row_list *list);             /* write errors: ferror(out) */

/* Read rows from a file or a text, with the columns that this version knows. row_list.lacks marks the command's
   columns that the file lacks; row_list.others has the names of all other columns. If there are none, and the columns
   are in this version's order, csv_write writes the same bytes again. A repeated header (files joined by cat) is
   skipped.
   -1 and a problem, EXIT_USAGE, that names file and line: it is no such CSV, or its rows would take more than 1 GiB.
   csv_free in both cases. */
int  csv_read(row_list *made, const char *path, problem *why);
int  csv_parse(row_list *made, const char *name, const char *text, size_t length, problem *why);
void csv_free(row_list *self);
/* Reads a whole file, NUL-terminated, without a byte order mark of UTF-8; free it. NULL and a problem: it cannot be
   read, has a NUL byte, or more than 256 MiB. */
char *csv_slurp(const char *path, size_t *length, problem *why);

#endif
