/* The log-linear buckets: values below 32 one each, then 32 to each power of two. */
#include "histogram.h"

size_t histogram_bucket(uint64_t value)
{
    const uint64_t sub_count = (uint64_t)1 << HISTOGRAM_SUB_LOG2;
    if (value < sub_count) return (size_t)value;
    unsigned shift = 63 - (unsigned)__builtin_clzll(value) - HISTOGRAM_SUB_LOG2;
    return (size_t)(((uint64_t)(shift + 1) << HISTOGRAM_SUB_LOG2) + ((value >> shift) - sub_count));
}

uint64_t histogram_lower(size_t bucket)
{
    const uint64_t sub_count = (uint64_t)1 << HISTOGRAM_SUB_LOG2;
    if (bucket < sub_count) return bucket;
    uint64_t shift = (bucket >> HISTOGRAM_SUB_LOG2) - 1;
    return (sub_count + (bucket & (sub_count - 1))) << shift;
}

uint64_t histogram_upper(size_t bucket)
{
    return bucket + 1 < HISTOGRAM_BUCKETS ? histogram_lower(bucket + 1) - 1 : UINT64_MAX;
}

void histogram_add(histogram *self, uint64_t value)
{
    self->count++;
    self->sum += value;
    if (value > self->max) self->max = value;
    self->buckets[histogram_bucket(value)]++;
}

void histogram_merge(histogram *self, const histogram *other)
{
    self->count += other->count;
    self->sum += other->sum;
    if (other->max > self->max) self->max = other->max;
    for (size_t bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) self->buckets[bucket] += other->buckets[bucket];
}

void latencies_merge(latencies *self, const latencies *other)
{
    histogram_merge(&self->allocs, &other->allocs);
    histogram_merge(&self->frees, &other->frees);
    histogram_merge(&self->hits, &other->hits);
    histogram_merge(&self->misses, &other->misses);
}

uint64_t histogram_percentile(const histogram *self, unsigned per_mille)
{
    uint64_t whole = self->count / 1000 * per_mille;
    uint64_t rest = self->count % 1000 * per_mille;
    uint64_t rank = whole + rest / 1000 + (rest % 1000 != 0), seen = 0;
    for (size_t bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
        seen += self->buckets[bucket];
        if (seen && seen >= rank) {
            uint64_t upper = histogram_upper(bucket);
            return upper < self->max ? upper : self->max;
        }
    }
    return self->max;
}

int histogram_supports(const histogram *self, unsigned per_mille)
{
    return per_mille < 1000 && self->count >= (9999 + 1000 - per_mille) / (1000 - per_mille);
}
