/* The points of pictures as CSV: samples over time, and latencies at percentiles. Every point of a line in a figure
   is one of these rows.
   Knows nothing of drawing. */
#ifndef STRESS_REPORT_SERIES_H
#define STRESS_REPORT_SERIES_H

#include <stdio.h>

#include "../result/row.h"

/* Columns: row (of the CSV, from 0), workload, policy, op (allocations and frees before it and it are done), now_vns,
   requested_bytes, live_bytes, reserved_bytes, pending_bytes, free_bytes (pending ones included), largest_free_bytes,
   stranded_bytes. Of every 1024th of the ops the samples that are extreme in something. Of a run that was ended
   the last line says so, as in the CSV. Write errors: ferror(out). */
void series_write(FILE *out, const row_list *list);

/* Columns: row, workload, policy, call (alloc, free), per_mille, ns. */
void latency_write(FILE *out, const row_list *list);

typedef struct latency_point { unsigned per_mille; const char *name; } latency_point;
enum { LATENCY_POINTS = 7 };
extern const latency_point latency_points[LATENCY_POINTS];

#endif
