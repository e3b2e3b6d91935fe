/* All figures of a report in one SVG file, which needs nothing else: no script, no font, no address.
   Knows nothing of what figures show. */
#ifndef STRESS_REPORT_SVG_H
#define STRESS_REPORT_SVG_H

#include <stdio.h>

#include "../result/row.h"

/* maps_only: of time and addresses, and no other. Write errors: ferror(out). */
void svg_write(FILE *out, const row_list *list, const char *device, int maps_only);

/* The rows that files have, without baselines; what they own is the list's. NULL: no host memory. */
row *svg_rows(const row_list *list, size_t *count);

#endif
