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
/* Whether there are ten samples above that percentile: with fewer it says nothing that max does not. */
int      histogram_supports(const histogram *self, unsigned per_mille);

/* ---- How long calls take */

typedef struct latencies {
    histogram allocs, frees;
    histogram hits, misses;                      /* the allocs apart: without or with a call of the driver */
} latencies;

void latencies_merge(latencies *self, const latencies *other);

/* ---- Operations that come at fixed times, whether or not the ones before are done: of each the time from when it
        was due to its end, as whoever waits sees it, and from when it could begin, as the allocator does */

typedef struct arrivals { histogram waited, served; } arrivals;

#endif
