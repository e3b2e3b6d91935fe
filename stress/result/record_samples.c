/* Samples: of every bucket of ops those that are extreme in something.
   It must not know where the figures come from.
   Tested by tests/test_record.c. */
#include <stdlib.h>

#include "record_parts.h"

static void record_figures(const memory_use *use, uint64_t figures[RECORD_KEPT_HIGHEST])
{
    figures[0] = use->requested_bytes;
    figures[1] = use->live_bytes;
    figures[2] = use->reserved_bytes;
    figures[3] = use->stranded_bytes;
    figures[4] = use->pending_bytes;
    figures[5] = use->free_bytes;
}

void record_bucket_add(record_bucket *self, const record_sample *sample)
{
    uint64_t figures[RECORD_KEPT_HIGHEST], kept[RECORD_KEPT_HIGHEST];
    record_figures(&sample->use, figures);
    for (size_t at = 0; at < RECORD_KEPT_HIGHEST; at++) {
        record_figures(&self->kept[at].use, kept);
        if (!self->is_used || figures[at] > kept[at]) self->kept[at] = *sample;
    }
    if (!self->is_used || sample->use.live_bytes < self->kept[RECORD_KEPT_LEAST].use.live_bytes) {
        self->kept[RECORD_KEPT_LEAST] = *sample;
    }
    self->kept[RECORD_KEPT_LAST] = *sample;
    self->is_used = 1;
}

static int record_compare_samples(const void *left, const void *right)
{
    const record_sample *one = left, *other = right;
    return one->op < other->op ? -1 : one->op > other->op;
}

record_sample *record_samples_of(const record_bucket *buckets, size_t count, size_t *sample_count)
{
    size_t used = 0, distinct = 0;
    record_sample *samples = calloc(count * RECORD_KEPT, sizeof *samples);
    *sample_count = 0;
    if (!samples) return NULL;
    for (size_t bucket = 0; bucket < count; bucket++) {
        for (size_t at = 0; buckets[bucket].is_used && at < RECORD_KEPT; at++) {
            samples[used++] = buckets[bucket].kept[at];
        }
    }
    qsort(samples, used, sizeof *samples, record_compare_samples);
    for (size_t at = 0; at < used; at++) {
        if (!distinct || samples[at].op != samples[distinct - 1].op) samples[distinct++] = samples[at];
    }
    *sample_count = distinct;
    return samples;
}
