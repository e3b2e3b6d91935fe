#include "holes.h"

#include <stdlib.h>
#include <string.h>

#include "../base/program.h"
#include "../base/splitmix64.h"
#include "stage.h"

typedef struct holes_block { void *ptr; uint64_t bytes; } holes_block;

static int holes_by_address(const void *left, const void *right)
{
    uintptr_t first = (uintptr_t)((const holes_block *)left)->ptr;
    uintptr_t second = (uintptr_t)((const holes_block *)right)->ptr;
    return (first > second) - (first < second);
}

/* 0; 1: refused; -1 and a problem: anything else. */
static int holes_result(holes_field *self, gpuarena_result result, problem *why)
{
    if (!result) return 0;
    pool_last_refusal(&self->pool, &self->refusal);
    if (result == GPUARENA_OUT_OF_MEMORY) return 1;
    return problem_set(why, EXIT_HARNESS, "making holes: %s: %s", gpuarena_result_name(result), self->refusal.text);
}

/* Every second block by address goes: between two that are free lies one that is not. */
static int holes_fill(holes_field *self, uint64_t holes, uint64_t seed, problem *why)
{
    const size_t count = (size_t)(2 * holes);
    uint64_t *sizes = program_need(count, sizeof *sizes);
    holes_block *blocks = program_need(count, sizeof *blocks);
    int failed = 0;
    sizes_draw(sizes, count, seed);
    for (size_t at = 0; at < count && !failed; at++) {
        blocks[at].bytes = sizes[at];
        failed = holes_result(self, pool_alloc(&self->pool, &blocks[at].ptr, sizes[at], NULL), why);
    }
    if (!failed) qsort(blocks, count, sizeof *blocks, holes_by_address);
    for (size_t at = 0; at < count && !failed; at += 2) {
        failed = holes_result(self, pool_free(&self->pool, blocks[at].ptr, blocks[at].bytes, NULL), why);
    }
    for (size_t index = 0; !failed && index < HOLES_SIZES; index++) {
        self->sizes[index] = blocks[2 * splitmix64_below(&seed, holes)].bytes;
    }
    free(blocks);
    free(sizes);
    return failed;
}

int holes_open(holes_field *self, const device_config *config, const policy *chosen, uint64_t holes, uint64_t seed,
               problem *why)
{
    memset(self, 0, sizeof *self);
    self->device = device_open(config, why);
    if (!self->device) return -1;
    if (pool_open(&self->pool, chosen, self->device, why)) {
        memset(&self->pool, 0, sizeof self->pool);
        return -1;
    }
    return holes_fill(self, holes, seed, why);
}

int holes_close(holes_field *self, problem *why)
{
    if (self->device) pool_close(&self->pool);
    int failed = device_close(self->device, why);
    self->device = NULL;
    return failed;
}

void holes_pairs(holes_field *self, uint64_t count)
{
    for (uint64_t done = 0; done < count; done++) {
        uint64_t bytes = self->sizes[self->at++ % HOLES_SIZES];
        void *ptr = NULL;
        gpuarena_result taken = pool_alloc(&self->pool, &ptr, bytes, NULL);
        gpuarena_result given = pool_free(&self->pool, ptr, bytes, NULL);
        if (!self->failed) self->failed = taken ? taken : given;
    }
}

void holes_counted(holes_field *self, uint64_t count)
{
    holes_pairs(self, count);
}
