/* JSON of cells and histograms: what writers of JSON share.
   It must not know documents. */
#ifndef STRESS_RESULT_JSON_H
#define STRESS_RESULT_JSON_H

#include <stdio.h>

#include "row.h"

void json_cell(FILE *out, const cell *value);
/* "name":value and so on, of these columns. */
void json_cells(FILE *out, const row *shown, row_column from, row_column last);
/* "name":{..}: count, sum, maximum and buckets; has_percentiles: and those that it supports, the others null. */
void json_histogram(FILE *out, const char *name, const histogram *latency, int has_percentiles);

#endif
