/* Memory over time: peaks, sampled after every op that may change it, and fragmentation at the moment that counts.
   Knows nothing of arenas or devices: it is handed byte counts. */
#ifndef STRESS_BASE_MEMORY_H
#define STRESS_BASE_MEMORY_H

#include "program.h"

typedef struct memory_use {                      /* a policy's bytes at one moment */
    uint64_t requested_bytes, live_bytes;
    uint64_t reserved_bytes;                     /* held from the device */
    uint64_t free_bytes;                         /* of the reserved bytes: free and backed */
    uint64_t largest_bytes;                      /* the largest request the free bytes could serve */
    uint64_t stranded_bytes;
    uint64_t pending_bytes;                      /* of the free bytes: known to be usable by one stream alone */
} memory_use;

typedef struct memory_track {                    /* starts zeroed */
    uint64_t requested_peak_bytes, live_peak_bytes, reserved_peak_bytes, stranded_peak_bytes;
    uint64_t pending_peak_bytes;
    double   fragmentation;                      /* at the first failure, else at the reserved peak's first op */
    int      failed;                             /* a failure has fixed the fragmentation */
} memory_track;

/* 1 - largest / free, 0 when nothing is free. */
static inline double memory_fragmentation(uint64_t free_bytes, uint64_t largest_bytes)
{
    if (!free_bytes || largest_bytes >= free_bytes) return 0.0;
    return 1.0 - (double)largest_bytes / (double)free_bytes;
}

/* Tells whether memory_sample will read use->largest_bytes. */
static inline int memory_needs_largest(const memory_track *track, const memory_use *use)
{
    return use->reserved_bytes > track->reserved_peak_bytes && !track->failed;
}

/* Call after each op that may change the use. */
static inline void memory_sample(memory_track *track, const memory_use *use)
{
    if (memory_needs_largest(track, use)) {
        track->fragmentation = memory_fragmentation(use->free_bytes, use->largest_bytes);
    }
    memory_raise(&track->requested_peak_bytes, use->requested_bytes);
    memory_raise(&track->live_peak_bytes, use->live_bytes);
    memory_raise(&track->reserved_peak_bytes, use->reserved_bytes);
    memory_raise(&track->stranded_peak_bytes, use->stranded_bytes);
    memory_raise(&track->pending_peak_bytes, use->pending_bytes);
}

/* Fixes the fragmentation at the first failure. Later failures change nothing. */
static inline void memory_failure(memory_track *track, uint64_t free_bytes, uint64_t largest_bytes)
{
    if (!track->failed++) track->fragmentation = memory_fragmentation(free_bytes, largest_bytes);
}

/* Reserved peak / requested peak; 0 without requests. */
static inline double memory_footprint(const memory_track *track)
{
    if (!track->requested_peak_bytes) return 0.0;
    return (double)track->reserved_peak_bytes / (double)track->requested_peak_bytes;
}

#endif
