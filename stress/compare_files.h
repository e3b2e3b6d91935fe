/* Files of `stress compare`: rows that were read from one, and their verdicts.
   Knows nothing of how they were judged. Tested by tests/compare.t. */
#ifndef STRESS_COMPARE_FILES_H
#define STRESS_COMPARE_FILES_H

#include "report/csv_table.h"
#include "report/output_list.h"

/* Every output, and the step summary where there is one, of the rows of this table, which were read from path. -1 and
   a problem: no host memory, or not all was written. */
int compare_files_write(const output_list *outputs, const csv_table *table, const char *path, const gate *gates,
                        problem *why);

#endif
