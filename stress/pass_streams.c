/* Streams by number: found in the ops, sorted, made; and what is done on them.
   It must not know of policies or results.
   Tested by tests/test_pass_streams.c. */
#include "pass_streams.h"

#include <stdlib.h>
#include <string.h>

enum { PASS_STREAMS_LAST_BIT = 63 };             /* stands for all streams from this one on */

static int pass_streams_no_memory(problem *why)
{
    return problem_set(why, EXIT_HARNESS, "no host memory for the workload's streams");
}

static int pass_streams_add(pass_streams *self, uint64_t number, problem *why)
{
    if (self->count && number == self->list[self->count - 1].number) return 0;
    id_entry *entry = id_map_add(&self->index_by_number, number);
    if (!entry) return pass_streams_no_memory(why);
    if (entry->state != ID_UNKNOWN) return 0;
    entry->state = ID_LIVE;
    if (self->count == PASS_MAX_STREAMS) {
        return problem_set(why, EXIT_HARNESS, "the workload has more than %d streams", PASS_MAX_STREAMS);
    }
    self->list[self->count++].number = number;
    return 0;
}

static int pass_streams_find(pass_streams *self, const op_stream *stream, problem *why)
{
    for (size_t index = 0; index < stream->op_count; index++) {
        const op *next = &stream->ops[index];
        self->has_kernels |= next->kind == OP_KERNEL;
        if (pass_streams_add(self, next->stream, why)) return -1;
        if (next->kind == OP_WAIT && pass_streams_add(self, next->value, why)) return -1;
    }
    return 0;
}

static int pass_streams_compare(const void *one, const void *other)
{
    uint64_t left = ((const pass_stream *)one)->number, right = ((const pass_stream *)other)->number;
    return (left > right) - (left < right);
}

int pass_streams_open(pass_streams *self, const op_stream *stream, device *on, uint64_t op_ns, problem *why)
{
    memset(self, 0, sizeof *self);
    self->device = on;
    self->op_ns = op_ns;
    self->list = calloc(PASS_MAX_STREAMS, sizeof *self->list);
    if (!self->list) return pass_streams_no_memory(why);
    if (pass_streams_add(self, 0, why) || pass_streams_find(self, stream, why)) return -1;
    qsort(self->list, self->count, sizeof *self->list, pass_streams_compare);
    for (uint32_t index = 0; index < self->count; index++) {
        id_map_find(&self->index_by_number, self->list[index].number)->value = index;
        if (index && device_stream_create(on, &self->list[index].handle, why)) return -1;
    }
    return 0;
}

uint32_t pass_streams_index(const pass_streams *self, uint64_t number)
{
    return number ? id_map_find(&self->index_by_number, number)->value : 0;
}

int pass_streams_close(pass_streams *self, problem *why)
{
    int failed = 0;
    for (uint32_t index = 0; index < self->count; index++) {
        if (!self->list[index].handle) continue;
        failed |= device_stream_destroy(self->device, self->list[index].handle, why);
    }
    free(self->list);
    id_map_free(&self->index_by_number);
    memset(self, 0, sizeof *self);
    return failed;
}

int pass_streams_work(const pass_streams *self, uint32_t stream, uint64_t work_ns, problem *why)
{
    return device_work(self->device, self->list[stream].handle, work_ns, why);
}

int pass_streams_follow(const pass_streams *self, uint32_t stream, uint32_t other, problem *why)
{
    return device_follow(self->device, self->list[stream].handle, self->list[other].handle, why);
}

static uint64_t pass_streams_bit(uint32_t stream)
{
    return (uint64_t)1 << (stream < PASS_STREAMS_LAST_BIT ? stream : PASS_STREAMS_LAST_BIT);
}

int pass_streams_use(const pass_streams *self, uint32_t stream, pass_block *block, int *is_further, problem *why)
{
    uint64_t bit = pass_streams_bit(stream);
    int is_told = block->others & bit && stream < PASS_STREAMS_LAST_BIT;
    *is_further = block->ptr && stream != block->home && !is_told;
    if (!block->ptr) return 0;
    if (stream != block->home) block->others |= bit;
    return device_access(self->device, self->list[stream].handle, block->ptr, block->bytes, block->owner, why);
}

int pass_streams_begin(const pass_streams *self, const pass_block *block, problem *why)
{
    if (self->has_kernels || !block->ptr) return 0;
    if (pass_streams_work(self, block->home, self->op_ns, why)) return -1;
    return device_access(self->device, self->list[block->home].handle, block->ptr, block->bytes, block->owner, why);
}

int pass_streams_end(const pass_streams *self, uint32_t stream, const pass_block *block, int at_home, problem *why)
{
    uint64_t others = block->others | (stream == block->home ? 0 : pass_streams_bit(stream));
    if (stream != block->home && !self->has_kernels && pass_streams_follow(self, stream, block->home, why)) return -1;
    for (uint32_t other = 0; at_home && others && other < self->count; other++) {
        if (other == block->home || !(others & pass_streams_bit(other))) continue;
        if (pass_streams_follow(self, block->home, other, why)) return -1;
    }
    return 0;
}
