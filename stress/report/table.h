/* The table for people: one line a row, as many columns as the terminal is wide, and below it
   what each workload comes to; ASCII.
   Knows nothing of files. */
#ifndef STRESS_REPORT_TABLE_H
#define STRESS_REPORT_TABLE_H

#include <stdio.h>

#include "../device/cuda_environment.h"
#include "../result/row.h"

typedef struct table_style {
    size_t width;                                /* columns of the terminal; lines are never longer */
    int    color;
} table_style;

/* choice: "auto", "always" or "never": NO_COLOR and FORCE_COLOR (set and not empty) go before the terminal test.
   Width: COLUMNS, else the terminal's, else 120. */
table_style table_style_for(FILE *out, const char *choice);

/* environment NULL: the device is simulated. Write errors: ferror(out). */
void table_write(FILE *out, const row_list *list, const cuda_environment *environment, const table_style *style);

/* Of rows that are there more than once: median and interval of their times, percentiles of all their allocations.
   The first of them and a text, which follows its name, are said; width is the sayer's. How many there were. */
typedef void table_sayer(FILE *out, const row *named, const char *text, size_t width);
size_t table_repeats(FILE *out, const row_list *list, table_sayer *say, size_t width);

#endif
