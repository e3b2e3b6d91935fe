/* A reference model of allocators that split and merge: exact best fit in regions from the driver, by an allocator's
   own rules, searched from end to end. It shares no code with gpuarena.h, and must not know of it.
   Included by the tests of presets (tests/test_like_*.c), through like.h. */
#ifndef TESTS_LIKE_MODEL_H
#define TESTS_LIKE_MODEL_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LIKE_CHUNKS = 8192 };

typedef struct like_model like_model;
typedef struct like_rules {
    uint64_t (*round)(uint64_t bytes);           /* a request, to what it occupies at least */
    int      (*pool)(uint64_t rounded);          /* requests of different pools share no region */
    int      (*splits)(uint64_t chunk, uint64_t rounded);    /* whether the rest of a chunk is cut off */
    uint64_t (*region)(like_model *model, uint64_t rounded); /* what the driver is asked for when nothing fits */
} like_rules;

typedef struct like_chunk {
    uint64_t address, bytes;
    uint32_t region;
    int      pool, is_live;
} like_chunk;

struct like_model {
    const like_rules *rules;
    uint64_t reserved_bytes, live_bytes;
    uint64_t step_bytes;                         /* the region rule's memory */
    uint32_t region_count;
    size_t   chunk_count;
    like_chunk chunks[LIKE_CHUNKS];              /* by address */
};

static inline void like_begin(like_model *model, const like_rules *rules, uint64_t step_bytes)
{
    memset(model, 0, sizeof *model);
    model->rules = rules;
    model->step_bytes = step_bytes;
}

static inline void like_insert(like_model *model, size_t at, const like_chunk *chunk)
{
    if (model->chunk_count == LIKE_CHUNKS) abort();
    memmove(&model->chunks[at + 1], &model->chunks[at], (model->chunk_count - at) * sizeof model->chunks[0]);
    model->chunks[at] = *chunk;
    model->chunk_count++;
}

static inline void like_remove(like_model *model, size_t at)
{
    model->chunk_count--;
    memmove(&model->chunks[at], &model->chunks[at + 1], (model->chunk_count - at) * sizeof model->chunks[0]);
}

/* The smallest free chunk that fits, of equals the lowest. chunk_count: none. */
static inline size_t like_find(const like_model *model, uint64_t rounded, int pool)
{
    size_t best = model->chunk_count;
    for (size_t at = 0; at < model->chunk_count; at++) {
        const like_chunk *chunk = &model->chunks[at];
        if (chunk->is_live || chunk->pool != pool || chunk->bytes < rounded) continue;
        if (best == model->chunk_count || chunk->bytes < model->chunks[best].bytes) best = at;
    }
    return best;
}

/* A region behind all others: the driver of these tests gives rising addresses, side by side. */
static inline size_t like_grow(like_model *model, uint64_t rounded, int pool)
{
    like_chunk chunk = { model->reserved_bytes, 0, model->region_count++, pool, 0 };
    chunk.bytes = model->rules->region(model, rounded);
    model->reserved_bytes += chunk.bytes;
    like_insert(model, model->chunk_count, &chunk);
    return model->chunk_count - 1;
}

/* The address, from 0. */
static inline uint64_t like_alloc(like_model *model, uint64_t bytes)
{
    uint64_t rounded = model->rules->round(bytes);
    int pool = model->rules->pool(rounded);
    size_t at = like_find(model, rounded, pool);
    if (at == model->chunk_count) at = like_grow(model, rounded, pool);
    if (model->rules->splits(model->chunks[at].bytes, rounded)) {
        like_chunk rest = model->chunks[at];
        rest.address += rounded;
        rest.bytes -= rounded;
        model->chunks[at].bytes = rounded;
        like_insert(model, at + 1, &rest);
    }
    model->chunks[at].is_live = 1;
    model->live_bytes += model->chunks[at].bytes;
    return model->chunks[at].address;
}

static inline void like_join(like_model *model, size_t left)
{
    like_chunk *chunk = &model->chunks[left];
    if (left + 1 >= model->chunk_count || chunk->is_live || chunk[1].is_live || chunk->region != chunk[1].region)
        return;
    chunk->bytes += chunk[1].bytes;
    like_remove(model, left + 1);
}

static inline void like_free(like_model *model, uint64_t address)
{
    size_t at = 0;
    while (model->chunks[at].address != address) at++;
    model->chunks[at].is_live = 0;
    model->live_bytes -= model->chunks[at].bytes;
    like_join(model, at);
    if (at) like_join(model, at - 1);
}

#endif
