/* JUnit XML, as CI systems read it: one suite, a case a row and a case a verdict.
   Knows nothing of how either came about. */
#ifndef STRESS_REPORT_JUNIT_H
#define STRESS_REPORT_JUNIT_H

#include <stdio.h>

#include "../result/gate.h"
#include "../result/row.h"

void junit_write(FILE *out, const row_list *list, const char *device, const gate *gates);    /* errors: ferror(out) */

#endif
