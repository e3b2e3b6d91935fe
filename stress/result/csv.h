/* CSV: header row, RFC 4180, the columns of the command (row.h) in order, an empty cell where nothing was measured.
   Knows nothing of what the columns mean. Tested by tests/run.t. */
#ifndef STRESS_RESULT_CSV_H
#define STRESS_RESULT_CSV_H

#include <stdio.h>

#include "row.h"

#define CSV_PARTIAL "# partial: "                /* begins the last line of a file that lacks rows: why */

void csv_text(FILE *out, const char *text);       /* one cell, quoted where it must be */
void csv_write(FILE *out, const row_list *list);             /* write errors: ferror(out) */

#endif
