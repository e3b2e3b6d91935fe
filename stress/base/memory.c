/* Peaks and fragmentation. */
#include "memory.h"

double memory_fragmentation(uint64_t free_bytes, uint64_t largest_bytes)
{
    if (!free_bytes || largest_bytes >= free_bytes) return 0.0;
    return 1.0 - (double)largest_bytes / (double)free_bytes;
}

int memory_needs_largest(const memory_track *track, const memory_use *use)
{
    return use->reserved_bytes > track->reserved_peak_bytes && !track->failed;
}

void memory_sample(memory_track *track, const memory_use *use)
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

void memory_failure(memory_track *track, uint64_t free_bytes, uint64_t largest_bytes)
{
    if (track->failed) return;
    track->failed = 1;
    track->fragmentation = memory_fragmentation(free_bytes, largest_bytes);
}

double memory_footprint(const memory_track *track)
{
    if (!track->requested_peak_bytes) return 0.0;
    return (double)track->reserved_peak_bytes / (double)track->requested_peak_bytes;
}
