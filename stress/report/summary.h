/* Markdown for a job's page: verdicts, then rows.
   Knows nothing of where it is shown. */
#ifndef STRESS_REPORT_SUMMARY_H
#define STRESS_REPORT_SUMMARY_H

#include <stdio.h>

#include "../result/gate.h"
#include "../result/row.h"

/* gates NULL: no verdicts. Write errors: ferror(out). */
void summary_write(FILE *out, const row_list *list, const char *device, const gate *gates);

#endif
