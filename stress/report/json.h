/* JSON of `run`, schema gpuarena-stress/1: additive only. Keys of a case are the CSV's columns, the oom_ ones in an
   object or null; numbers are numbers, what was not measured is null.
   Knows nothing of what the columns mean. Tested by tests/run.t. */
#ifndef STRESS_REPORT_JSON_H
#define STRESS_REPORT_JSON_H

#include <stdio.h>

#include "row.h"

/* No word of how or when it was made: equal runs give equal bytes. Write errors: ferror(out). */
void json_write(FILE *out, const row_list *list, const char *device);

#endif
