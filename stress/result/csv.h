/* CSV: header row, RFC 4180, the columns of the command (row.h) in order, an empty cell where nothing was measured.
   Knows nothing of what the columns mean. */
#ifndef STRESS_RESULT_CSV_H
#define STRESS_RESULT_CSV_H

#include "row.h"

#define CSV_PARTIAL "# partial: "                /* begins the last line of a file that lacks rows: why */

void csv_text(FILE *out, const char *text);       /* one cell, quoted where it must be */
void csv_write(FILE *out, const row_list *list);             /* write errors: ferror(out) */

/* Rows as files have them: the columns that this version knows; row_list.lacks says which of the command's are not
   there, row_list.others which are there beside them, by their names alone. A file without others, and with its
   columns in this version's order, is written again to the byte. A header said again (files joined by cat) is passed
   over.
   -1 and a problem, EXIT_USAGE, that names file and line: it is none of ours, or its rows would take more than 1 GiB.
   csv_free in both cases. */
int  csv_read(row_list *made, const char *path, problem *why);
int  csv_parse(row_list *made, const char *name, const char *text, size_t length, problem *why);
void csv_free(row_list *self);
/* The whole file, NUL-terminated, without a byte order mark of UTF-8; free it. NULL and a problem: it cannot be read,
   has a NUL byte, or more than 256 MiB. */
char *csv_slurp(const char *path, size_t *length, problem *why);

#endif
