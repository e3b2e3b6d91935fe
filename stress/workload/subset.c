/* Op by op through the builder, which counts and judges what is kept.
   Must not know why anything is left out.
   Tested by tests/test_shrink.c. */
#include "subset.h"

#include <stdlib.h>

#include "stream.h"

typedef struct subset {
    const op_stream *from;
    stream_builder   builder;
    uint32_t        *blocks;                     /* by block of `from`: its number here, or SUBSET_NONE */
} subset;
#define SUBSET_NONE UINT32_MAX

static int subset_alloc(subset *self, const op *next)
{
    uint32_t tag = self->from->tags[next->first];
    slice label = { NULL, 0 };
    if (tag) label = slice_of(self->from->labels[tag - 1]);
    return stream_alloc(&self->builder, self->from->ids[next->first], next->value, next->stream, label,
                        &self->blocks[next->first]);
}

static int subset_free(subset *self, const op *next)
{
    uint32_t block = self->blocks[next->first];
    if (block == SUBSET_NONE) return 0;
    return next->count ? stream_free_on(&self->builder, block, next->stream) : stream_free(&self->builder, block);
}

static int subset_kernel(subset *self, const op *next)
{
    int failed = stream_kernel(&self->builder, next->stream, next->value);
    for (uint32_t at = 0; at < next->count && !failed; at++) {
        uint32_t block = self->blocks[self->from->touches[next->first + at]];
        if (block != SUBSET_NONE) failed = stream_touch(&self->builder, block);
    }
    return failed;
}

static int subset_op(subset *self, const op *next)
{
    switch (next->kind) {
    case OP_ALLOC:  return subset_alloc(self, next);
    case OP_FREE:   return subset_free(self, next);
    case OP_KERNEL: return subset_kernel(self, next);
    case OP_STEP:   return stream_step(&self->builder, slice_of(self->from->labels[next->first]));
    case OP_RIVAL:  return stream_rival(&self->builder, next->value, (int)next->count);
    case OP_WAIT:   break;
    }
    return stream_wait(&self->builder, next->stream, next->value);
}

int op_stream_subset(const op_stream *from, const unsigned char *keep, size_t op_count, op_stream *made, problem *why)
{
    subset self;
    int failed = 0;
    self.from = from;
    stream_begin(&self.builder, made, "subset", UINT64_MAX, why);
    self.blocks = malloc((from->block_count + 1) * sizeof *self.blocks);
    if (!self.blocks) failed = stream_no_memory(&self.builder);
    for (size_t block = 0; !failed && block < from->block_count; block++) self.blocks[block] = SUBSET_NONE;
    for (size_t index = 0; !failed && index < op_count; index++) {
        if (keep[index]) failed = subset_op(&self, &from->ops[index]);
    }
    free(self.blocks);
    stream_end(&self.builder);
    made->seed = from->seed;
    if (failed) op_stream_free(made);
    return failed;
}
