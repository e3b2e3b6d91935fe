/* Takes down what a pass tells: lists that grow to their bounds, and no further.
   It must not know passes, policies or formats.
   Tested by tests/test_record.c and tests/html.t. */
#include "record.h"

#include <stdlib.h>
#include <string.h>

#include "record_parts.h"

record *record_create(unsigned parts)
{
    record *made = calloc(1, sizeof *made);
    if (!made) return NULL;
    made->parts = parts;
    made->limit_bytes = GPUARENA_NO_LIMIT;
    made->map_ops = made->step_ops = RECORD_NEVER;
    return made;
}

static void record_drop_map(record *self)
{
    free(self->blocks);
    free(self->changes);
    free(self->regions);
    self->blocks = NULL;
    self->changes = NULL;
    self->regions = NULL;
    self->block_count = self->block_capacity = self->change_count = self->change_capacity = self->region_count = 0;
}

void record_destroy(record *self)
{
    if (!self) return;
    record_drop_map(self);
    free(self->latest);
    free(self->samples);
    free(self->steps);
    free(self->buckets);
    free(self);
}

static uint64_t record_now_vns(const record *self)
{
    const sim *machine = device_simulated(self->device);
    return machine ? sim_now_ns(machine) : 0;
}

/* Room for one more element. 0: the list is at its bound, or host memory is out; from then on it stays as it is. */
static int record_room(record *self, void **list, size_t element_bytes, size_t count, size_t *capacity, size_t most)
{
    if (count < *capacity) return 1;
    if (count >= most || self->is_short) return 0;
    size_t wanted = *capacity ? *capacity * 2 : 64;
    void *larger = realloc(*list, wanted * element_bytes);
    if (!larger) {
        self->is_short = 1;
        return 0;
    }
    *list = larger;
    *capacity = wanted;
    return 1;
}

/* 1: blocks and changes are still taken down. */
static int record_maps(const record *self)
{
    return self->device && (self->parts & RECORD_MAP) && self->map_ops == RECORD_NEVER;
}

static void record_end_map(record *self)
{
    self->map_ops = self->op;
}

static void record_memory_changed(void *user, sim_call kind, uint64_t address, uint64_t bytes)
{
    record *self = user;
    void *list = self->changes;
    if (!record_maps(self) || !bytes) return;
    if (!record_room(self, &list, sizeof *self->changes, self->change_count, &self->change_capacity,
                     RECORD_MOST_CHANGES)) {
        record_end_map(self);
        return;
    }
    const record_change made = { kind, self->op, record_now_vns(self), address, bytes };
    self->changes = list;
    self->changes[self->change_count++] = made;
}

void record_begin(record *self, device *on, const op_stream *stream, uint64_t times)
{
    if (!self) return;
    self->device = on;
    self->stream = stream;
    self->most_ops = times > 1 ? times * 2 * stream->alloc_count : stream->alloc_count + stream->free_count;
    self->bucket_ops = self->most_ops / RECORD_BUCKETS + 1;
    if (self->parts & RECORD_SERIES) {
        self->buckets = calloc(RECORD_BUCKETS, sizeof *self->buckets);
        self->is_short |= !self->buckets;
    }
    if (self->parts & RECORD_MAP) {
        device_watch(on, record_memory_changed, self);
        free(self->latest);
        self->latest = calloc(stream->block_count + 1, sizeof *self->latest);
        self->is_short |= !self->latest;
    }
}

void record_pool(record *self, uint64_t limit_bytes, int is_peaks)
{
    if (!self) return;
    self->limit_bytes = limit_bytes;
    self->is_peaks = is_peaks;
}

void record_op(record *self, uint64_t number)
{
    if (self) self->op = number;
}

void record_label(record *self, uint32_t label)
{
    if (!self || self->step_ops != RECORD_NEVER) return;
    void *list = self->steps;
    const record_step made = { self->op, record_now_vns(self), label };
    if (!record_room(self, &list, sizeof *self->steps, self->step_count, &self->step_capacity, RECORD_MOST_STEPS)) {
        self->step_ops = self->op;
        return;
    }
    self->steps = list;
    self->steps[self->step_count++] = made;
}

void record_alloc(record *self, uint32_t number, const void *ptr, uint64_t requested_bytes, uint64_t bytes,
                  uint64_t stream)
{
    if (!self || !ptr || !record_maps(self) || !self->latest) return;
    void *list = self->blocks;
    const record_block made = { (uint64_t)(uintptr_t)ptr, requested_bytes, bytes, self->op, RECORD_NEVER, stream,
                                number, (uint32_t)self->step_count, record_now_vns(self), RECORD_NEVER };
    if (!record_room(self, &list, sizeof *self->blocks, self->block_count, &self->block_capacity,
                     RECORD_MOST_BLOCKS)) {
        record_end_map(self);
        return;
    }
    self->blocks = list;
    self->blocks[self->block_count++] = made;
    self->latest[number] = (uint32_t)self->block_count;
}

void record_free(record *self, uint32_t number)
{
    if (!self || !self->device || !self->latest || !self->latest[number]) return;
    record_block *block = &self->blocks[self->latest[number] - 1];
    if (block->death_op != RECORD_NEVER) return; /* the one that is meant came when no more were taken down */
    block->death_op = self->op;
    block->death_vns = record_now_vns(self);
}

int record_keeps_samples(const record *self)
{
    return self && self->buckets;
}

void record_measure(record *self, const memory_use *use)
{
    if (!record_keeps_samples(self)) return;
    const record_sample sample = { self->op, record_now_vns(self), *use };
    uint64_t bucket = self->op / self->bucket_ops;
    record_bucket_add(&self->buckets[bucket < RECORD_BUCKETS ? bucket : RECORD_BUCKETS - 1], &sample);
}

void record_refuse(record *self, uint64_t requested_bytes)
{
    if (!self || self->refusal.happened) return;
    self->refusal.happened = 1;
    self->refusal.op = self->op;
    self->refusal.requested_bytes = requested_bytes;
}

uint64_t record_bytes(const record *self)
{
    if (!self) return 0;
    return self->block_capacity * sizeof *self->blocks + self->change_capacity * sizeof *self->changes
         + self->step_capacity * sizeof *self->steps + self->sample_count * sizeof *self->samples;
}

static void record_sift(record *self)
{
    self->samples = record_samples_of(self->buckets, RECORD_BUCKETS, &self->sample_count);
    self->is_short |= !self->samples;
    free(self->buckets);
    self->buckets = NULL;
}

void record_finish(record *self, uint64_t op_count)
{
    if (!self || !self->device) return;
    device_watch(self->device, NULL, NULL);
    free(self->latest);
    self->latest = NULL;
    self->op_count = op_count > self->op ? op_count : self->op;     /* what was left out has its number, too */
    self->end_vns = record_now_vns(self);
    if (self->map_ops > self->op_count) self->map_ops = self->op_count;
    if (self->step_ops > self->op_count) self->step_ops = self->op_count;
    self->device = NULL;
    if (self->buckets) record_sift(self);
    if (!(self->parts & RECORD_MAP) || !record_lay_out(self)) return;
    self->is_short = 1;
    record_drop_map(self);
}
