/* What the rows of `run` come to, in words: one line a workload, for the terminal and for reports.
   Knows rows alone: the same rows give the same words. */
#ifndef STRESS_REPORT_VERDICT_H
#define STRESS_REPORT_VERDICT_H

#include "../result/row.h"

enum { VERDICT_ROOM = 4096 };

/* Of the workload whose first row is number `first`: "train: least memory paged, 31.2 GiB, +0.2 %; fewest driver
   calls segments, 128, +10 % memory". Rows that are there for the table alone are not counted. "": no others are.
   text is of VERDICT_ROOM bytes; returns it. */
const char *verdict_line(const row_list *list, size_t first, char *text);
/* The first row of the next workload behind this row; list->count: there is none. */
size_t      verdict_next(const row_list *list, size_t row_index);

#endif
