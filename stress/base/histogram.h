/* Latencies in a fixed log-linear layout: 32 buckets a power of two, so a percentile is at most 1/32 above the truth.
   The layout never depends on the data, so histograms of several runs add up bucket by bucket.
   Knows nothing of clocks or policies. */
#ifndef STRESS_BASE_HISTOGRAM_H
#define STRESS_BASE_HISTOGRAM_H

#include "program.h"

#define HISTOGRAM_SUB_LOG2 5
#define HISTOGRAM_BUCKETS  ((64 - HISTOGRAM_SUB_LOG2 + 1) << HISTOGRAM_SUB_LOG2)

typedef struct histogram {
    uint64_t count, sum, max;                    /* exact */
    uint64_t buckets[HISTOGRAM_BUCKETS];
} histogram;

void     histogram_add(histogram *self, uint64_t value);
void     histogram_merge(histogram *self, const histogram *other);           /* the other's values are added */
size_t   histogram_bucket(uint64_t value);       /* where a value is counted */
uint64_t histogram_lower(size_t bucket);         /* smallest value of a bucket */
uint64_t histogram_upper(size_t bucket);         /* largest value of a bucket */

/* Nearest rank, reported as its bucket's upper end but never above max; per_mille 1..1000. Empty histogram: 0. */
uint64_t histogram_percentile(const histogram *self, unsigned per_mille);
/* Tells whether at least ten samples lie above that percentile. With fewer it adds nothing to max. */
int      histogram_supports(const histogram *self, unsigned per_mille);

/* ---- How long calls take */

typedef struct latencies {
    histogram allocs, frees;
    histogram hits, misses;                      /* the allocs without and with a driver call */
} latencies;

void latencies_merge(latencies *self, const latencies *other);

/* ---- Operations that are due at fixed times, even while earlier ones still run. waited: the time from an
        operation's due time to its end, as the caller sees it. served: the time from the moment it could begin to
        its end, as the allocator sees it */

typedef struct arrivals { histogram waited, served; } arrivals;

#endif
