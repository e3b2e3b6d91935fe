/* Measured calls as costs, a fixed part and one per MiB, and as a file for --costs.
   It must not measure anything.
   Tested by tests/test_costs.c. */
#ifndef STRESS_MEASURE_COSTS_FIT_H
#define STRESS_MEASURE_COSTS_FIT_H

#include <stdio.h>

#include "costs_measure.h"

typedef struct costs_fit {
    size_t   row_count;                          /* 0: the kind was not met, all else is zero */
    sim_cost cost;
    double   worst;                              /* largest deviation of a row's median, as a share of it */
    uint64_t worst_bytes;                        /* .. and at which size */
} costs_fit;

/* Per MiB: the weighted median of the slopes between every two sizes, their distance being the weight (Theil-Sen), so
   that neither noise at small sizes nor one odd size decides; fixed: the median of what remains. Exact where the rows
   are. Kinds that take no memory have no part per MiB. */
costs_fit costs_fit_kind(const costs_table *table, sim_cost_kind kind);

/* What sim_costs_read accepts: about (any number of lines), every row and every size that was refused as comments,
   then a line for each kind that was met; the others keep their defaults. Write errors: ferror(out). */
void costs_write(FILE *out, const costs_table *table, const char *about);

#endif
