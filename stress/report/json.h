/* JSON, schema gpuarena-stress/1: additive only. Keys of a case are the CSV's columns, of `run` the oom_ ones in an
   object or null, and latencies; numbers are numbers, what was not measured is null.
   Knows nothing of what the columns mean. */
#ifndef STRESS_REPORT_JSON_H
#define STRESS_REPORT_JSON_H

#include <stdio.h>

#include "../device/cuda_environment.h"
#include "../result/row.h"

/* environment NULL: the device is simulated, and there is no word of how or when it was made: equal runs give equal
   bytes. Where there are measured times, with what they were measured on. is_whole: and with what rows that are there
   more than once give together; a shard has no such sums, and its host stands behind its rows: merge wants all alike
   that stands before them, and adds up itself. argv: the command line, of what was measured; NULL: none. Write
   errors: ferror(out). */
void json_write(FILE *out, const row_list *list, const char *device, const cuda_environment *environment,
                int is_whole, const char *const *argv);

#endif
