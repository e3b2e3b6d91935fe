/* What a record is finished with: samples out of buckets, offsets out of addresses.
   For record.c alone. Tested by tests/test_record.c. */
#ifndef STRESS_RESULT_RECORD_PARTS_H
#define STRESS_RESULT_RECORD_PARTS_H

#include "record.h"

/* Which samples of a bucket stay: the highest of each figure, the least live, the last. The first of equals. */
enum { RECORD_KEPT_HIGHEST = 6, RECORD_KEPT_LEAST = RECORD_KEPT_HIGHEST, RECORD_KEPT_LAST, RECORD_KEPT };

typedef struct record_bucket {
    int           is_used;
    record_sample kept[RECORD_KEPT];
} record_bucket;

void record_bucket_add(record_bucket *self, const record_sample *sample);
/* The samples of all buckets, each once, in order of time; how many. NULL: no host memory, or none. */
record_sample *record_samples_of(const record_bucket *buckets, size_t count, size_t *sample_count);

/* Puts blocks and changes on the axis, and makes the regions. -1: no host memory; addresses stay nowhere. */
int record_lay_out(record *self);

#endif
