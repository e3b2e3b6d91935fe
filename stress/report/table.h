/* The table for people: one line a row, as many columns as the terminal is wide, and below it
   what each workload comes to; ASCII.
   Knows nothing of files. */
#ifndef STRESS_REPORT_TABLE_H
#define STRESS_REPORT_TABLE_H

#include <stdio.h>

#include "../device/cuda_environment.h"
#include "../result/gate.h"

typedef struct table_style {
    size_t width;                                /* columns of the terminal; lines are never longer */
    int    color;
} table_style;

/* choice: "auto", "always" or "never": NO_COLOR and FORCE_COLOR (set and not empty) go before the terminal test.
   Width: COLUMNS, else the terminal's, else 120. */
table_style table_style_for(FILE *out, const char *choice);

/* environment NULL: the device is simulated. Write errors: ferror(out). */
void table_write(FILE *out, const row_list *list, const cuda_environment *environment, const table_style *style);

/* Of a row that is there more than once, and the first: ", 6 times: host ns/op 31.2 [30.8,31.9]; .."; median and
   interval of their times, percentiles of all their allocations. "": it is not. Returns text. */
const char *table_repeats(const case_index *in, size_t row_index, char *text, size_t size);

#endif
