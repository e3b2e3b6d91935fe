/* Runs as trace events, the JSON that ui.perfetto.dev and chrome://tracing open: a process a row, with its memory as
   counters, its steps, what is live on each stream, and the refusal.
   Knows nothing of how a run was recorded. */
#ifndef STRESS_REPORT_PERFETTO_H
#define STRESS_REPORT_PERFETTO_H

#include <stdio.h>

#include "../result/row.h"

/* Times are microseconds: of the simulated device's clock; on CUDA, where a record has none, operations. The memory
   counters are the samples of the series. Write errors: ferror(out). */
void perfetto_write(FILE *out, const row_list *list, const char *device);

#endif
