/* Rows that are the same but for what was measured: their times as a median with its interval, and their latencies as
   one histogram, bucket by bucket. Percentiles are of that, and no average of percentiles.
   Knows nothing of files but its own part of JSON. */
#ifndef STRESS_RESULT_REPEATS_H
#define STRESS_RESULT_REPEATS_H

#include <stdio.h>

#include "../base/rounds.h"
#include "../base/slice.h"
#include "row.h"

/* ---- JSON of cells and histograms */

void json_cell(FILE *out, const cell *value);
/* "name":value and so on, of these columns. */
void json_cells(FILE *out, const row *shown, row_column from, row_column last);
/* "name":{..}: count, sum, maximum and buckets; has_percentiles: and those that it supports, the others null. */
void json_histogram(FILE *out, const char *name, const histogram *latency, int has_percentiles);

/* ---- Groups of rows */

typedef enum repeats_part {                      /* of a row: in nanoseconds, then, from WAITED on, in virtual ones */
    REPEATS_ALLOC, REPEATS_HIT, REPEATS_MISS, REPEATS_FREE, REPEATS_WAITED, REPEATS_SERVED, REPEATS_PARTS
} repeats_part;

typedef struct repeats_group {
    char      *name;                             /* as JSON has it: "workload":..,"policy":..,"device":..,"seed":.. */
    size_t     first, count;                     /* the first of it among the rows added, and how many there are */
    double    *ns;                               /* host_ns_per_op of those that have it */
    size_t     ns_count, ns_room;
    histogram *sums[REPEATS_PARTS];              /* NULL: no row has it */
} repeats_group;

typedef struct repeats {                         /* starts zeroed */
    repeats_group *groups;                       /* in the order of their first rows */
    size_t         count, room, added;
} repeats;

/* One more row. Of run alone: others have no such parts. -1: no host memory; repeats_free in all cases. */
int  repeats_add(repeats *self, const row *made);
int  repeats_add_all(repeats *self, const row_list *list);       /* baselines left out */
void repeats_free(repeats *self);

int             repeats_are_there(const repeats *self);      /* a row that there is twice */
rounds_interval repeats_time(const repeats_group *of);       /* ns_count > 0; ends are the extremes below 6 */
/* What JSON has behind the cases: ,"repeats":[..]; nothing where nothing is there twice. */
void            repeats_write(FILE *out, const repeats *self);

#endif
