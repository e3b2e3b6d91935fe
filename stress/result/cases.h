/* Rows of a table by what they are: the same case is equal in every key that both tables have; its rows are repeats.
   Knows nothing of rules. Tested by tests/gate.t and tests/compare.t. */
#ifndef STRESS_RESULT_CASES_H
#define STRESS_RESULT_CASES_H

#include "csv_table.h"
#include "interval.h"

typedef struct case_row { const csv_table *table; size_t line; } case_row;

const char *case_cell(const case_row *of, const char *name);
int    case_is_repeat(const case_row *of);       /* an earlier row is of the same case: repeats are told together */
/* The first line in a table of the same case, but that its policy is this one; SIZE_MAX: there is none. */
size_t case_find(const csv_table *table, const case_row *like, const char *policy);
int    case_agrees(const case_row *of, const char *name);   /* all repeats of the row have the same in this column */
/* All that the table has of this case and column. A ratio beside a ratio_low and ratio_high is measured, and where
   there is one alone has that interval. -1: no host memory. */
int    case_samples(const csv_table *table, const case_row *like, const char *policy, const char *column,
                    int is_timed, interval *made);

#endif
