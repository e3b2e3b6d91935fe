/* Rows that are the same but for what was measured: their times as a median with its interval, and their latencies as
   one histogram, bucket by bucket. Percentiles are of that, and no average of percentiles. */
#ifndef STRESS_RESULT_REPEATS_H
#define STRESS_RESULT_REPEATS_H

#include "gate.h"

typedef enum repeats_part {                      /* of a row: in nanoseconds, then, from WAITED on, in virtual ones */
    REPEATS_ALLOC, REPEATS_HIT, REPEATS_MISS, REPEATS_FREE, REPEATS_WAITED, REPEATS_SERVED, REPEATS_PARTS
} repeats_part;

void repeats_parts(const row *of, const histogram *parts[REPEATS_PARTS]);    /* of one row; NULL: it has none */

typedef struct repeats {
    size_t     count;                            /* rows */
    interval   ns;                               /* host_ns_per_op of those that have it */
    histogram *sums[REPEATS_PARTS];              /* NULL: no row has it */
} repeats;

/* Of the row and those that follow it of the same case; the index is of its own list. 1: it is the first of several;
   0: it is not, or it is alone. repeats_free in both cases. */
int  repeats_of(repeats *made, const case_index *in, size_t row_index);
void repeats_free(repeats *self);

#endif
