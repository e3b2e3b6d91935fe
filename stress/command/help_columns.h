/* What the columns of files are.
   Knows nothing of commands. Tested by tests/cli.t. */
#ifndef STRESS_COMMAND_HELP_COLUMNS_H
#define STRESS_COMMAND_HELP_COLUMNS_H

#include <stdio.h>

#include "../result/row.h"

int  help_column(FILE *out, const char *name);   /* 1: there is such a column */
void help_column_notes(FILE *out);               /* of all */

#endif
