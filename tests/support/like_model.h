/* A reference model of allocators that split and merge: exact best fit in regions from the driver, by an allocator's
   own rules, searched from end to end. It shares no code with the models in stress/policy, and must not know of them.
   Included by the tests of models (test_like_*.c), through like.h. */
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
    uint64_t (*region)(like_model *self, uint64_t rounded); /* what the driver is asked for when nothing fits */
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

static inline void like_begin(like_model *self, const like_rules *rules, uint64_t step_bytes)
{
    memset(self, 0, sizeof *self);
    self->rules = rules;
    self->step_bytes = step_bytes;
}

static inline void like_insert(like_model *self, size_t at, const like_chunk *chunk)
{
    if (self->chunk_count == LIKE_CHUNKS) abort();
    memmove(&self->chunks[at + 1], &self->chunks[at], (self->chunk_count - at) * sizeof self->chunks[0]);
    self->chunks[at] = *chunk;
    self->chunk_count++;
}

static inline void like_remove(like_model *self, size_t at)
{
    self->chunk_count--;
    memmove(&self->chunks[at], &self->chunks[at + 1], (self->chunk_count - at) * sizeof self->chunks[0]);
}

/* The smallest free chunk that fits, of equals the lowest. chunk_count: none. */
static inline size_t like_find(const like_model *self, uint64_t rounded, int of_pool)
{
    size_t best = self->chunk_count;
    for (size_t at = 0; at < self->chunk_count; at++) {
        const like_chunk *chunk = &self->chunks[at];
        if (chunk->is_live || chunk->pool != of_pool || chunk->bytes < rounded) continue;
        if (best == self->chunk_count || chunk->bytes < self->chunks[best].bytes) best = at;
    }
    return best;
}

/* A region behind all others: the driver of these tests gives rising addresses, side by side. */
static inline size_t like_grow(like_model *self, uint64_t rounded, int of_pool)
{
    like_chunk chunk = { self->reserved_bytes, 0, self->region_count++, of_pool, 0 };
    chunk.bytes = self->rules->region(self, rounded);
    self->reserved_bytes += chunk.bytes;
    like_insert(self, self->chunk_count, &chunk);
    return self->chunk_count - 1;
}

/* The address, from 0. */
static inline uint64_t like_alloc(like_model *self, uint64_t bytes)
{
    uint64_t rounded = self->rules->round(bytes);
    int of_pool = self->rules->pool(rounded);
    size_t at = like_find(self, rounded, of_pool);
    if (at == self->chunk_count) at = like_grow(self, rounded, of_pool);
    if (self->rules->splits(self->chunks[at].bytes, rounded)) {
        like_chunk rest = self->chunks[at];
        rest.address += rounded;
        rest.bytes -= rounded;
        self->chunks[at].bytes = rounded;
        like_insert(self, at + 1, &rest);
    }
    self->chunks[at].is_live = 1;
    self->live_bytes += self->chunks[at].bytes;
    return self->chunks[at].address;
}

static inline void like_join(like_model *self, size_t left)
{
    like_chunk *chunk = &self->chunks[left];
    if (left + 1 >= self->chunk_count || chunk->is_live || chunk[1].is_live || chunk->region != chunk[1].region)
        return;
    chunk->bytes += chunk[1].bytes;
    like_remove(self, left + 1);
}

static inline void like_free(like_model *self, uint64_t address)
{
    size_t at = 0;
    while (self->chunks[at].address != address) at++;
    self->chunks[at].is_live = 0;
    self->live_bytes -= self->chunks[at].bytes;
    like_join(self, at);
    if (at) like_join(self, at - 1);
}

#endif
