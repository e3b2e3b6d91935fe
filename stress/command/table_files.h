/* Files of what compare and merge have read: rows, and their verdicts.
   Knows nothing of how they were judged. */
#ifndef STRESS_COMMAND_TABLE_FILES_H
#define STRESS_COMMAND_TABLE_FILES_H

#include "../result/csv.h"
#include "../report/output.h"

/* Every output, and the step summary where there is one, of the rows of this table, which were read from path.
   -1 and a problem: no host memory, or not all was written. */
int table_files_write(const output_list *outputs, const csv_table *table, const char *path, const gate *gates,
                      problem *why);

#endif
