/* The shadow of a program on one device: live blocks, segments, memory of other users; and the proof, by sums alone,
   that a request could be served. It must share no code with the header: it goes by the contracts. Included by
   space_state.h and test_threads_torture.c. */
#ifndef TESTS_SPACE_FIT_H
#define TESTS_SPACE_FIT_H

#include <stdint.h>
#include <string.h>
#include "gpuarena.h"

enum { SHADOW_SLOTS = 64, SHADOW_MOST = 192,     /* slots: that most programs have; that there are */
       SHADOW_RANGES = 1 << 18 };                /* all of the host's memory that can be pinned,
                                                            in granules */
#define SHADOW_GRANULE ((uint64_t)2 << 20)

typedef struct shadow_block {                    /* address 0: the slot is empty */
    uint64_t address, bytes, held, owner;        /* held: the bytes it occupies, as gpuarena_lookup tells */
    int stream, own, tag;                        /* behind the work of which stream it may be used; of its
                                                    allocation; tag: a place of SPACE_TAGS */
    uint32_t behind, named;                      /* streams that are behind that already; that a capture named */
    int is_orphan;                               /* only the stream of its allocation used it, which is gone */
    int set, capture;                            /* that it belongs to, and was allocated in; 0: none */
    int is_unnamed;                              /* a stream used it after its capture, and the arena was not told */
    uint64_t mark, serial;                       /* the arena's latest mark when it was allocated; its own number */
} shadow_block;
typedef struct shadow_range { uint64_t address, bytes; } shadow_range;
static struct {
    shadow_block blocks[SHADOW_MOST];
    int slots;                                   /* that are in use, of blocks */
    int range_count;
    uint64_t device_bytes, rival_bytes, limit;
} shadow;
static shadow_range shadow_ranges[SHADOW_RANGES];            /* segments, in no order */

/* Before a statement: for each live block. */
#define SHADOW_EACH(block) \
    for (shadow_block *block = shadow.blocks; block < shadow.blocks + shadow.slots; block++) if (block->address)

static inline uint64_t shadow_up(uint64_t bytes, uint64_t whole)
{
    return (bytes + whole - 1) / whole * whole;
}

static inline int shadow_enter(uint64_t address, uint64_t bytes)
{
    if (shadow.range_count == SHADOW_RANGES) return 0;
    shadow_ranges[shadow.range_count++] = (shadow_range){ address, bytes };
    return 1;
}

/* The segment with this address; NULL: it is in none. */
static inline shadow_range *shadow_segment(uint64_t address)
{
    for (shadow_range *range = shadow_ranges; range < shadow_ranges + shadow.range_count; range++)
        if (address - range->address < range->bytes) return range;
    return NULL;
}

static inline int shadow_is_busy(const shadow_range *range)
{
    SHADOW_EACH(block) if (block->address - range->address < range->bytes) return 1;
    return 0;
}

/* 0: it was none, or has a live block. */
static inline int shadow_leave(uint64_t address)
{
    shadow_range *range = shadow_segment(address);
    if (!range || range->address != address) return 0;
    int busy = shadow_is_busy(range);
    *range = shadow_ranges[--shadow.range_count];
    return !busy;
}

static inline uint64_t shadow_requested(void)
{
    uint64_t bytes = 0;
    SHADOW_EACH(block) bytes += block->bytes;
    return bytes;
}

static inline int shadow_overlaps(const shadow_block *one)
{
    SHADOW_EACH(other)
        if (other != one && one->address < other->address + other->bytes
            && other->address < one->address + one->bytes) return 1;
    return 0;
}

/* ---- held memory that cannot go */

/* Bytes of segments with a live block. */
static inline uint64_t shadow_busy(void)
{
    uint64_t bytes = 0;
    for (int at = 0; at < shadow.range_count; at++)
        if (shadow_is_busy(&shadow_ranges[at])) bytes += shadow_ranges[at].bytes;
    return bytes;
}

/* Bytes of the pages of which a live block has a part: a page is counted with the block whose part of it is first. */
static inline uint64_t shadow_paged(uint64_t page)
{
    uint64_t bytes = 0;
    SHADOW_EACH(block) {
        if (!page || shadow_segment(block->address)) continue;
        uint64_t first = block->address / page, last = (block->address + block->held - 1) / page;
        int shared = 0;
        SHADOW_EACH(before)
            shared |= before->address < block->address && (before->address + before->held - 1) / page == first;
        bytes += (last + 1 - first - (uint64_t)shared) * page;
    }
    return bytes;
}

static inline uint64_t shadow_most_kept(const gpuarena_config *config)
{
    return shadow_busy() + shadow_paged(config->page_bytes);
}

/* Tells whether, if `kept` stays, `more` can be had within limit, headroom and device. */
static inline int shadow_has(const gpuarena_config *config, uint64_t kept, uint64_t more)
{
    return kept <= shadow.limit && more <= shadow.limit - kept
        && kept + more + shadow.rival_bytes + config->headroom_bytes <= shadow.device_bytes;
}

/* ---- the ways */

/* A gap between live blocks of a segment. */
static inline int shadow_gap(uint64_t bytes, uint64_t alignment)
{
    for (int at = 0; at < shadow.range_count; at++) {
        uint64_t begin = shadow_ranges[at].address, end = begin + shadow_ranges[at].bytes;
        while (begin < end) {
            uint64_t next = end, behind = end, from = shadow_up(begin, alignment);
            SHADOW_EACH(block) {
                if (block->address < begin || block->address >= next) continue;
                next = block->address;
                behind = next + block->held;
            }
            if (from <= next && next - from >= bytes) return 1;
            begin = behind;
        }
    }
    return 0;
}

static inline const char *shadow_paged_way(const gpuarena_config *config, uint64_t need, uint64_t held)
{
    uint64_t idle = config->idle_fraction < 1 ? held - shadow_most_kept(config) : 0;
    if (held > shadow.limit || (need > idle && !shadow_has(config, held, need - idle))) return NULL;
    return "pages could be moved or made";
}

static inline uint64_t shadow_alignment(const gpuarena_config *config, const gpuarena_request *request)
{
    return request->alignment_bytes > config->alignment ? request->alignment_bytes : config->alignment;
}

/* Why the request could have been served; NULL: nothing proves it. */
static inline const char *shadow_way(const gpuarena_config *config, const gpuarena_request *request, uint64_t held)
{
    uint64_t alignment = shadow_alignment(config, request), lead = alignment - config->alignment;
    uint64_t bytes = shadow_up(request->bytes, config->alignment), page = config->page_bytes;
    int own = (request->flags & GPUARENA_ALLOC_DEDICATED) != 0;
    int apart = own || (config->debug && !request->room_bytes);
    if (request->bytes > (uint64_t)1 << 40 || lead > (uint64_t)1 << 40) return NULL;
    if (page && !apart) {
        if (request->room_bytes) bytes = shadow_up(bytes, page);
        return shadow_paged_way(config, shadow_up(bytes + lead, page), held);
    }
    if (shadow_has(config, shadow_most_kept(config), shadow_up(own ? bytes : bytes + lead, SHADOW_GRANULE)))
        return "idle memory could go back, and it could grow";
    if (held <= shadow.limit && !apart && shadow_gap(bytes, alignment))
        return "a gap between live blocks is long enough";
    return NULL;
}

/* Tells whether these bytes can be reserved. */
static inline int shadow_may_reserve(const gpuarena_config *config, uint64_t held, uint64_t bytes)
{
    uint64_t whole = config->page_bytes ? config->page_bytes : SHADOW_GRANULE;
    if (bytes > (uint64_t)1 << 40) return 0;
    return bytes <= held || shadow_has(config, held, shadow_up(bytes - held, whole));
}

#endif
