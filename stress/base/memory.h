/* Memory over time: peaks, sampled after every op that may change it, and fragmentation at the moment that counts.
   Knows nothing of arenas or devices: it is handed byte counts. */
#ifndef STRESS_BASE_MEMORY_H
#define STRESS_BASE_MEMORY_H

#include <stdint.h>

typedef struct memory_use {                      /* a policy's bytes at one moment */
    uint64_t requested_bytes, live_bytes;
    uint64_t reserved_bytes;                     /* held from the device */
    uint64_t free_bytes;                         /* of these, free and backed */
    uint64_t largest_bytes;                      /* the largest request they could serve */
    uint64_t stranded_bytes;
    uint64_t pending_bytes;                      /* of the free ones: for one stream alone, as far as is known */
} memory_use;

typedef struct memory_track {                    /* starts zeroed */
    uint64_t requested_peak_bytes, live_peak_bytes, reserved_peak_bytes, stranded_peak_bytes;
    uint64_t pending_peak_bytes;
    double   fragmentation;                      /* at the first failure, else at the reserved peak's first op */
    int      failed;                             /* a failure has fixed it */
} memory_track;

/* The first multiple of the unit that is not below; bytes, where a unit more passes 2^64. */
static inline uint64_t memory_round_up(uint64_t bytes, uint64_t unit)
{
    return bytes > UINT64_MAX - unit ? bytes : (bytes + unit - 1) / unit * unit;
}

/* The peak becomes the value, where that is higher. */
static inline void memory_raise(uint64_t *peak, uint64_t value)
{
    if (value > *peak) *peak = value;
}

/* 1 - largest / free, 0 when nothing is free. */
double memory_fragmentation(uint64_t free_bytes, uint64_t largest_bytes);
int    memory_needs_largest(const memory_track *track, const memory_use *use);   /* 1: memory_sample looks at it */
void   memory_sample(memory_track *track, const memory_use *use);            /* after each op that may change it */
void   memory_failure(memory_track *track, uint64_t free_bytes, uint64_t largest_bytes);   /* the first counts */
double memory_footprint(const memory_track *track);                  /* reserved peak / requested peak; 0: none */

#endif
