/* The shadow of one arena for the property test: live intervals in address order, sums, and what would fit where.
   It must not know the implementation: it shares no code with the header and reads the fake device's ledger.
   Included by test_property.c; run it with `make test`. */
#ifndef TESTS_PROPERTY_MODEL_H
#define TESTS_PROPERTY_MODEL_H

#include "arena_state.h"

enum { MODEL_CAPACITY = 320 };

typedef struct model_block { uint64_t address, bytes, requested; } model_block;

typedef struct model {
    size_t count;
    model_block blocks[MODEL_CAPACITY];          /* by address */
    uint64_t requested, live, requested_peak, live_peak, alloc_count, free_count, fail_count, misuse_count;
    uint64_t limit, unit, headroom;
} model;

/* Index of the first block that ends after the address. */
static inline size_t model_find(const model *shadow, uint64_t address)
{
    size_t low = 0, high = shadow->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (shadow->blocks[middle].address + shadow->blocks[middle].bytes <= address) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Adds a block. 0: it overlaps one that is live. */
static inline int model_add(model *shadow, uint64_t address, uint64_t bytes, uint64_t requested)
{
    size_t index = model_find(shadow, address);
    if (index < shadow->count && shadow->blocks[index].address < address + bytes) return 0;
    memmove(&shadow->blocks[index + 1], &shadow->blocks[index], (shadow->count - index) * sizeof shadow->blocks[0]);
    shadow->blocks[index].address = address;
    shadow->blocks[index].bytes = bytes;
    shadow->blocks[index].requested = requested;
    shadow->count++;
    shadow->alloc_count++;
    shadow->live += bytes;
    shadow->requested += requested;
    if (shadow->live > shadow->live_peak) shadow->live_peak = shadow->live;
    if (shadow->requested > shadow->requested_peak) shadow->requested_peak = shadow->requested;
    return 1;
}

static inline void model_remove(model *shadow, size_t index)
{
    shadow->live -= shadow->blocks[index].bytes;
    shadow->requested -= shadow->blocks[index].requested;
    shadow->free_count++;
    shadow->count--;
    memmove(&shadow->blocks[index], &shadow->blocks[index + 1], (shadow->count - index) * sizeof shadow->blocks[0]);
}

/* What a free of the address must answer; *index: the live block, where it is one's base. */
static inline gpuarena_result model_classify(const model *shadow, const fake_device *device, const fake_device *other,
                                             uint64_t address, size_t *index)
{
    *index = model_find(shadow, address);
    if (*index < shadow->count && shadow->blocks[*index].address <= address)
        return shadow->blocks[*index].address == address ? GPUARENA_OK : GPUARENA_INTERIOR_POINTER;
    if (fake_range_of(device, address)) return GPUARENA_DOUBLE_FREE;
    return fake_range_of(other, address) ? GPUARENA_WRONG_ARENA : GPUARENA_FOREIGN_POINTER;
}

/* Bytes of segments with a live block in them. */
static inline uint64_t model_busy_bytes(const model *shadow, const fake_device *device)
{
    uint64_t busy = 0;
    for (size_t range = 0; range < device->range_count; range++) {
        size_t index = model_find(shadow, device->ranges[range].address);
        if (index < shadow->count
            && shadow->blocks[index].address < device->ranges[range].address + device->ranges[range].bytes)
            busy += device->ranges[range].bytes;
    }
    return busy;
}

/* 1: the gap from `address` to `end` can hold the request. */
static inline int model_gap_fits(uint64_t address, uint64_t end, uint64_t bytes, uint64_t alignment)
{
    uint64_t aligned = address + (alignment - 1);
    if (aligned < address) return 0;
    aligned &= ~(alignment - 1);
    return aligned <= end && end - aligned >= bytes;
}

/* 1: some gap between live blocks, inside one segment, can hold the request. */
static inline int model_fits(const model *shadow, const fake_device *device, uint64_t bytes, uint64_t alignment)
{
    for (size_t range = 0; range < device->range_count; range++) {
        uint64_t at = device->ranges[range].address, end = at + device->ranges[range].bytes;
        for (size_t index = model_find(shadow, at); index < shadow->count
             && shadow->blocks[index].address < end; index++) {
            if (model_gap_fits(at, shadow->blocks[index].address, bytes, alignment)) return 1;
            at = shadow->blocks[index].address + shadow->blocks[index].bytes;
        }
        if (model_gap_fits(at, end, bytes, alignment)) return 1;
    }
    return 0;
}

/* The request as the contract rounds it. */
typedef struct rounded { uint64_t bytes, alignment, need; int too_large; } rounded;

static inline rounded model_round(const model *shadow, const gpuarena_request *request)
{
    const uint64_t most = UINT64_C(1) << 49;
    rounded made = { 0, shadow->unit, 0, 0 };
    if (request->alignment_bytes > made.alignment) made.alignment = request->alignment_bytes;
    made.too_large = request->bytes > most;
    if (made.too_large) return made;
    made.bytes = (request->bytes + shadow->unit - 1) / shadow->unit * shadow->unit;
    uint64_t lead = made.alignment - shadow->unit;
    made.need = lead > most || made.bytes + lead > most ? UINT64_MAX / 4
        : (made.bytes + lead + FAKE_GRANULE - 1) / FAKE_GRANULE * FAKE_GRANULE;
    return made;
}

/* 1: the driver would give `bytes` more beside what is busy, all idle memory given back. */
static inline int model_device_has(const model *shadow, const fake_device *device, uint64_t busy, uint64_t bytes)
{
    return bytes <= device->largest_bytes
        && busy + bytes + device->rival_bytes + shadow->headroom <= device->total_bytes;
}

/* The statistics against the shadow, and the sums. "": they agree. */
static inline const char *model_compare(const model *shadow, const fake_device *device, const gpuarena_stats *stats)
{
    if (state_sums(stats)[0]) return state_sums(stats);
    if (stats->requested_bytes != shadow->requested || stats->live_bytes != shadow->live) return "requested or live";
    if (stats->live_count != shadow->count) return "live_count";
    if (stats->requested_peak_bytes != shadow->requested_peak
        || stats->live_peak_bytes != shadow->live_peak) return "a peak";
    if (stats->alloc_count != shadow->alloc_count
        || stats->free_count != shadow->free_count) return "alloc or free count";
    if (stats->fail_count != shadow->fail_count
        || stats->misuse_count != shadow->misuse_count) return "fail or misuse count";
    if (stats->reserved_bytes != device->held_bytes) return "reserved and ledger";
    if (stats->limit_bytes != shadow->limit) return "limit";
    if (device->passed_count) return "more than the limit was held";
    if (device->wrong_count) return "an illegal driver or host call";
    return "";
}

#endif
