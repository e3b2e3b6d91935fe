/* Streams by number: found in the ops, sorted, made; and what is done on them, by vector clocks of their uses.
   It must not know of policies or results.
   Tested by tests/test_pass_*.c. */
#include "pass_streams.h"

#include <stdlib.h>
#include <string.h>

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
        return problem_set(why, EXIT_USAGE, "more than %d streams", PASS_MAX_STREAMS);
    }
    self->list[self->count++].number = number;
    return 0;
}

static int pass_streams_find(pass_streams *self, const op_stream *stream, problem *why)
{
    self->list = calloc(PASS_MAX_STREAMS, sizeof *self->list);
    if (!self->list) return pass_streams_no_memory(why);
    if (pass_streams_add(self, 0, why)) return -1;
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

uint32_t pass_streams_index(const pass_streams *self, uint64_t number)
{
    return number ? id_map_find(&self->index_by_number, number)->value : 0;
}

/* Threads with kernels may stand beside others without: each has its own streams. */
static void pass_streams_mark(pass_streams *self, const op_stream *stream)
{
    uint8_t has_kernels[WORKLOAD_MAX_THREADS] = { 0 };
    for (size_t index = 0; index < stream->op_count; index++) {
        if (stream->ops[index].kind == OP_KERNEL) has_kernels[op_stream_thread(stream, index)] = 1;
    }
    for (size_t index = 0; index < stream->op_count; index++) {
        const op *next = &stream->ops[index];
        if (next->kind == OP_STEP || next->kind == OP_RIVAL || !has_kernels[op_stream_thread(stream, index)])
            continue;
        self->list[pass_streams_index(self, next->stream)].has_kernels = 1;
    }
}

int pass_streams_open(pass_streams *self, const op_stream *stream, device *on, uint64_t op_ns, problem *why)
{
    memset(self, 0, sizeof *self);
    self->device = on;
    self->op_ns = op_ns;
    if (pass_streams_find(self, stream, why)) return -1;
    self->clocks = calloc((size_t)self->count * self->count, sizeof *self->clocks);
    if (!self->clocks) return pass_streams_no_memory(why);
    qsort(self->list, self->count, sizeof *self->list, pass_streams_compare);
    for (uint32_t index = 0; index < self->count; index++) {
        id_map_find(&self->index_by_number, self->list[index].number)->value = index;
        if (index && device_stream_create(on, &self->list[index].handle, why)) return -1;
    }
    pass_streams_mark(self, stream);
    return 0;
}

int pass_streams_close(pass_streams *self, problem *why)
{
    int failed = 0;
    for (uint32_t index = 0; index < self->count; index++) {
        if (!self->list[index].handle) continue;
        failed |= device_stream_destroy(self->device, self->list[index].handle, why);
    }
    free(self->list);
    free(self->clocks);
    free(self->uses);
    id_map_free(&self->index_by_number);
    memset(self, 0, sizeof *self);
    return failed;
}

int pass_streams_fit(const op_stream *stream, problem *why)
{
    pass_streams trial;
    problem unheard = { 0, "" };
    memset(&trial, 0, sizeof trial);
    int failed = pass_streams_find(&trial, stream, why);
    (void)pass_streams_close(&trial, &unheard);  /* none was made */
    return failed;
}

int pass_streams_work(const pass_streams *self, uint32_t stream, uint64_t work_ns, problem *why)
{
    return device_work(self->device, self->list[stream].handle, work_ns, why);
}

static uint64_t *pass_streams_clock(const pass_streams *self, uint32_t stream)
{
    return &self->clocks[(size_t)stream * self->count];
}

int pass_streams_follow(pass_streams *self, uint32_t stream, uint32_t other, problem *why)
{
    uint64_t *clock = pass_streams_clock(self, stream);
    const uint64_t *passed = pass_streams_clock(self, other);
    for (uint32_t index = 0; index < self->count; index++) {
        if (passed[index] > clock[index]) clock[index] = passed[index];
    }
    return device_follow(self->device, self->list[stream].handle, self->list[other].handle, why);
}

/* Room for one more use in the list. */
static int pass_streams_reserve(pass_streams *self, problem *why)
{
    uint32_t capacity = self->use_capacity ? self->use_capacity * 2 : 64;
    if (self->unused || self->use_count < self->use_capacity) return 0;
    pass_use *grown = capacity > self->use_capacity ? realloc(self->uses, capacity * sizeof *grown) : NULL;
    if (!grown) return pass_streams_no_memory(why);
    self->uses = grown;
    self->use_capacity = capacity;
    if (!self->use_count) self->use_count = 1;
    return 0;
}

/* The block's use on this stream, which is new if there was none. NULL: no host memory, or the device failed. */
static pass_use *pass_streams_find_use(pass_streams *self, uint32_t stream, pass_block *block, problem *why)
{
    uint32_t index = block->uses;
    while (index && self->uses[index].stream != stream) index = self->uses[index].next;
    if (index) return &self->uses[index];
    if (self->in_order && stream != block->home && pass_streams_follow(self, stream, block->home, why)) return NULL;
    if (pass_streams_reserve(self, why)) return NULL;
    index = self->unused ? self->unused : self->use_count++;
    if (self->unused) self->unused = self->uses[index].next;
    self->uses[index].stream = stream;
    self->uses[index].next = block->uses;
    block->uses = index;
    return &self->uses[index];
}

int pass_streams_use(pass_streams *self, uint32_t stream, pass_block *block, problem *why)
{
    if (!block->ptr) return 0;
    pass_use *use = pass_streams_find_use(self, stream, block, why);
    if (!use) return -1;
    use->position = ++pass_streams_clock(self, stream)[stream];
    return device_access(self->device, self->list[stream].handle, block->ptr, block->bytes, block->owner, why);
}

int pass_streams_begin(pass_streams *self, const pass_block *block, problem *why)
{
    if (self->list[block->home].has_kernels || !block->ptr) return 0;
    if (pass_streams_work(self, block->home, self->op_ns, why)) return -1;
    return device_access(self->device, self->list[block->home].handle, block->ptr, block->bytes, block->owner, why);
}

const pass_use *pass_streams_unordered(const pass_streams *self, uint32_t stream, const pass_block *block,
                                       const pass_use *after)
{
    const uint64_t *clock = pass_streams_clock(self, stream);
    for (uint32_t index = after ? after->next : block->uses; index; index = self->uses[index].next) {
        if (self->uses[index].position > clock[self->uses[index].stream]) return &self->uses[index];
    }
    return NULL;
}

int pass_streams_end(pass_streams *self, uint32_t stream, pass_block *block, int at_home, problem *why)
{
    uint32_t home = block->home;
    if (stream != home && !self->list[home].has_kernels && pass_streams_follow(self, stream, home, why)) return -1;
    if (stream != home && at_home && pass_streams_follow(self, home, stream, why)) return -1;
    while (block->uses) {
        uint32_t index = block->uses;
        pass_use *use = &self->uses[index];
        int is_apart = use->stream != stream && use->stream != home;
        if (at_home && is_apart && pass_streams_follow(self, home, use->stream, why)) return -1;
        block->uses = use->next;
        use->next = self->unused;
        self->unused = index;
    }
    return 0;
}
