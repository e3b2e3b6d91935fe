/* The shadow of an arena for the property test of shapes: every block of every segment, by the contracts of the
   configuration; which block may be taken, what is cut off, what becomes one. It must not know the implementation:
   it shares no code with the header. Included by tests/test_property_shape.c; run it with `make test`. */
#ifndef TESTS_SHAPE_MODEL_H
#define TESTS_SHAPE_MODEL_H

#include "fake_driver.h"

enum { SHAPE_BLOCKS = 1 << 15, SHAPE_SEGMENTS = 512 };

typedef struct shape_segment { uint64_t address, bytes; int small; } shape_segment;
typedef struct shape_block { uint64_t address, bytes, requested; int own; } shape_block;  /* requested 0: free */
typedef struct shape_want { uint64_t requested, bytes, alignment; int own, small; } shape_want;

typedef struct shape {
    gpuarena_config rules;                       /* in force */
    uint64_t unit, live, requested;
    size_t count, segment_count, live_count;
    shape_block blocks[SHAPE_BLOCKS];            /* by address */
    shape_segment segments[SHAPE_SEGMENTS];      /* in no order */
} shape;

static inline uint64_t shape_up(uint64_t bytes, uint64_t part) { return (bytes + part - 1) / part * part; }
static inline int shape_fixed(const shape *model)
{
    return model->rules.placement == GPUARENA_PLACE_BUDDY || model->rules.placement == GPUARENA_PLACE_BINS;
}

/* ---- requests */

static inline uint64_t shape_divisions(const shape *model, uint64_t bytes)
{
    uint64_t found = model->rules.round_divisions;
    for (int at = 1; at < 16; at++)
        if (bytes >= MIB(1) << at && model->rules.round_by_size[at]) found = model->rules.round_by_size[at];
    return found;
}

static inline uint64_t shape_round_up(const shape *model, uint64_t bytes)
{
    uint64_t power = model->unit, parts = shape_divisions(model, bytes);
    if (model->rules.placement == GPUARENA_PLACE_BUDDY) {
        while (power < bytes) power *= 2;
        return power;
    }
    if (parts > 1 && bytes > 512 * parts) {
        for (power = 1; power * 2 <= bytes;) power *= 2;
        bytes = shape_up(bytes, power / parts);
    }
    return shape_up(bytes, model->unit);
}

/* The bin that has exactly so many bytes, or holds them; 0: none. */
static inline uint64_t shape_bin(const shape *model, uint64_t bytes)
{
    for (uint64_t bin = model->rules.bin_min_bytes; bin <= model->rules.bin_max_bytes; bin *= model->rules.bin_growth)
        if (bin >= bytes) return bin;
    return 0;
}

static inline shape_want shape_request(const shape *model, uint64_t bytes, uint64_t alignment, int own)
{
    shape_want want = { bytes, shape_round_up(model, bytes), model->unit, own, 0 };
    if (alignment > want.alignment) want.alignment = alignment;
    if (model->rules.placement == GPUARENA_PLACE_BINS) {
        if (shape_bin(model, bytes)) want.bytes = shape_bin(model, bytes);
        else want.own = 1;
    }
    if (want.own) want.bytes = shape_up(bytes, FAKE_GRANULE);
    want.small = !want.own && want.bytes <= model->rules.small_bytes;
    return want;
}

/* ---- segments, blocks */

static inline size_t shape_find(const shape *model, uint64_t address)
{
    size_t low = 0, high = model->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (model->blocks[middle].address + model->blocks[middle].bytes <= address) low = middle + 1;
        else high = middle;
    }
    return low;
}

static inline const shape_segment *shape_segment_of(const shape *model, uint64_t address)
{
    for (size_t at = 0; at < model->segment_count; at++)
        if (address - model->segments[at].address < model->segments[at].bytes) return &model->segments[at];
    return NULL;
}

static inline void shape_insert(shape *model, size_t at, uint64_t address, uint64_t bytes)
{
    shape_block made = { address, bytes, 0, 0 };
    memmove(&model->blocks[at + 1], &model->blocks[at], (model->count - at) * sizeof made);
    model->blocks[at] = made;
    model->count++;
}

static inline void shape_delete(shape *model, size_t at, size_t count)
{
    memmove(&model->blocks[at], &model->blocks[at + count], (model->count - at - count) * sizeof *model->blocks);
    model->count -= count;
}

/* The driver gave a segment. 0: there is no room for it here. */
static inline int shape_obtain(shape *model, uint64_t address, uint64_t bytes, int small)
{
    shape_segment made = { address, bytes, small };
    if (model->segment_count == SHAPE_SEGMENTS) return 0;
    model->segments[model->segment_count++] = made;
    shape_insert(model, shape_find(model, address), address, bytes);
    return 1;
}

/* The driver has one back. 0: it is not idle, or none. */
static inline int shape_give_back(shape *model, uint64_t address, uint64_t bytes)
{
    size_t at = 0, first = shape_find(model, address), count = 0;
    while (at < model->segment_count && model->segments[at].address != address) at++;
    if (at == model->segment_count || model->segments[at].bytes != bytes) return 0;
    for (; first + count < model->count && model->blocks[first + count].address < address + bytes; count++)
        if (model->blocks[first + count].requested) return 0;
    shape_delete(model, first, count);
    model->segments[at] = model->segments[--model->segment_count];
    return 1;
}

/* ---- what may be taken */

/* Where in a block a request would begin; 0: it may not have it. */
static inline uint64_t shape_place(const shape *model, size_t at, const shape_want *want)
{
    const shape_block *block = &model->blocks[at];
    const shape_segment *segment = shape_segment_of(model, block->address);
    uint64_t begin = shape_up(block->address, want->alignment), most = model->rules.split_max_bytes;
    if (want->own || block->requested || segment->small != want->small) return 0;
    if (begin + want->bytes > block->address + block->bytes) return 0;
    if (model->rules.placement == GPUARENA_PLACE_BUDDY && (begin - segment->address) % want->bytes) return 0;
    if (model->rules.placement == GPUARENA_PLACE_BINS && shape_bin(model, block->bytes) == block->bytes
        && want->bytes != block->bytes) return 0;
    if (most && block->bytes >= most
        && (want->bytes < most || begin != block->address
            || block->bytes - want->bytes >= model->rules.split_over_bytes)) return 0;
    return begin;
}

static inline int shape_has_place(const shape *model, const shape_want *want)
{
    for (size_t at = 0; at < model->count; at++)
        if (shape_place(model, at, want)) return 1;
    return 0;
}

/* Whether placement prefers one block that may be taken to another. */
static inline int shape_prefers(const shape *model, const shape_want *want, const shape_block *left,
                                const shape_block *right)
{
    int lower = left->address < right->address;
    switch (model->rules.placement) {
    case GPUARENA_PLACE_BEST: return left->bytes < right->bytes || (left->bytes == right->bytes && lower);
    case GPUARENA_PLACE_FIRST: return lower;
    case GPUARENA_PLACE_BUDDY: return left->bytes < right->bytes;
    case GPUARENA_PLACE_BINS:
        if (right->bytes == want->bytes) return 0;
        return left->bytes == want->bytes || lower;
    default: return 0;
    }
}

/* Whether a block could have been preferred to the one that was taken; aligned requests take what comes. */
static inline int shape_is_preferred(const shape *model, const shape_want *want, size_t taken)
{
    for (size_t at = 0; want->alignment == model->unit && at < model->count; at++)
        if (shape_place(model, at, want)
            && shape_prefers(model, want, &model->blocks[at], &model->blocks[taken])) return 0;
    return 1;
}

/* ---- what is taken, and becomes one again */

static inline uint64_t shape_share(const shape *model, const shape_want *want, uint64_t bytes)
{
    uint64_t rest = bytes - want->bytes, least = model->rules.split_least_bytes;
    if (model->rules.split_max_bytes && bytes >= model->rules.split_max_bytes) return bytes;
    if (model->rules.split == GPUARENA_SPLIT_RATIO && rest < want->bytes && rest < least) return bytes;
    if (model->rules.split == GPUARENA_SPLIT_REMAINDER && !want->small && rest < least) return bytes;
    return want->bytes;
}

/* Cuts a block in two; the lower stays where it is. */
static inline void shape_cut(shape *model, size_t at, uint64_t bytes)
{
    shape_block *block = &model->blocks[at];
    uint64_t rest = block->bytes - bytes;
    if (!rest) return;
    block->bytes = bytes;
    shape_insert(model, at + 1, block->address + bytes, rest);
}

static inline void shape_take(shape *model, size_t at, uint64_t address, const shape_want *want)
{
    if (model->rules.placement == GPUARENA_PLACE_BUDDY)
        while (model->blocks[at].bytes > want->bytes) {
            shape_cut(model, at, model->blocks[at].bytes / 2);
            if (model->blocks[at + 1].address <= address) at++;
        }
    else if (model->blocks[at].address < address) {
        shape_cut(model, at, address - model->blocks[at].address);
        at++;
    }
    shape_cut(model, at, shape_share(model, want, model->blocks[at].bytes));
    model->blocks[at].requested = want->requested;
    model->blocks[at].own = want->own;
    model->live += model->blocks[at].bytes;
    model->requested += want->requested;
    model->live_count++;
}

/* Whether a free block and the next are to be one. */
static inline int shape_joins(const shape *model, size_t at)
{
    const shape_block *left = &model->blocks[at], *right = left + 1;
    const shape_segment *segment = shape_segment_of(model, left->address);
    if (at + 1 >= model->count || left->requested || right->requested
        || right->address >= segment->address + segment->bytes) return 0;
    if (model->rules.placement == GPUARENA_PLACE_BINS) return 0;
    if (model->rules.placement != GPUARENA_PLACE_BUDDY) return 1;
    return left->bytes == right->bytes && (left->address - segment->address) % (2 * left->bytes) == 0;
}

/* A block that is not live any more. */
static inline void shape_join(shape *model, size_t at)
{
    for (;;) {
        if (at && shape_joins(model, at - 1)) at--;
        else if (!shape_joins(model, at)) return;
        model->blocks[at].bytes += model->blocks[at + 1].bytes;
        shape_delete(model, at + 1, 1);
    }
}

static inline void shape_free(shape *model, size_t at)
{
    model->live -= model->blocks[at].bytes;
    model->requested -= model->blocks[at].requested;
    model->live_count--;
    model->blocks[at].requested = 0;
    model->blocks[at].own = 0;
    shape_join(model, at);
}

/* What a resize does. 0: it cannot be done in place, and nothing is changed. */
static inline int shape_resize(shape *model, size_t at, uint64_t bytes)
{
    shape_block *block = &model->blocks[at];
    shape_want want = shape_request(model, bytes, 0, block->own);
    const shape_segment *segment = shape_segment_of(model, block->address);
    uint64_t before = block->bytes, end = segment->address + segment->bytes, take;
    if (block->own && want.bytes < before) want.bytes = before;
    if (want.bytes > before) {
        const shape_block *next = block + 1;
        if (shape_fixed(model) || at + 1 == model->count || next->address >= end || next->requested
            || before + next->bytes < want.bytes || (segment->small && !want.small)) return 0;
        take = want.bytes - before;
        shape_cut(model, at + 1, take);
        shape_delete(model, at + 1, 1);
        block->bytes = want.bytes;
    } else if (!shape_fixed(model) && !block->own) {
        shape_cut(model, at, shape_share(model, &want, before));
        if (block->bytes < before) shape_join(model, at + 1);
    }
    model->live += block->bytes - before;
    model->requested += bytes - block->requested;
    block->requested = bytes;
    return 1;
}

/* ---- figures */

static inline uint64_t shape_busy(const shape *model)
{
    uint64_t busy = 0;
    for (size_t at = 0; at < model->segment_count; at++) {
        const shape_segment *segment = &model->segments[at];
        size_t block = shape_find(model, segment->address);
        while (block < model->count && model->blocks[block].address < segment->address + segment->bytes
               && !model->blocks[block].requested) block++;
        if (block < model->count && model->blocks[block].address < segment->address + segment->bytes)
            busy += segment->bytes;
    }
    return busy;
}

/* Bytes of the smallest segment that serves a request wherever the segment begins. */
static inline uint64_t shape_need(const shape *model, const shape_want *want)
{
    uint64_t lead = want->alignment - model->unit, bytes = want->bytes;
    if (!want->own && model->rules.placement != GPUARENA_PLACE_BUDDY) bytes += lead;
    return shape_up(bytes, FAKE_GRANULE);
}

/* Whether a request of so many bytes is the largest that needs no growth. */
static inline int shape_is_largest(const shape *model, uint64_t largest)
{
    shape_want want = shape_request(model, largest, 0, 0);
    if (largest && !shape_has_place(model, &want)) return 0;
    want = shape_request(model, largest + 1, 0, 0);
    if (shape_has_place(model, &want)) return 0;
    for (size_t at = 0; at < model->count; at++) {
        if (model->blocks[at].requested || model->blocks[at].bytes <= largest) continue;
        want = shape_request(model, model->blocks[at].bytes, 0, 0);
        if (shape_has_place(model, &want)) return 0;
    }
    return 1;
}

#endif
