/* Records the events of a pass in lists that grow to their bounds, and no further. */
#include "record.h"

/* ---- The axis: addresses that ever held memory, side by side */

typedef struct record_span { uint64_t begin, end, offset; } record_span;

ARRAY_ORDER(record_by_begin, record_span, ->begin)

/* Makes the spans in order of address, joins those that touch, and gives each its place on the axis. *count is their
   number. */
static record_span *record_spans_of(record *self, size_t *count)
{
    size_t used = 0, merged = 0;
    record_span *spans = program_need(self->block_count + self->change_count, sizeof *spans);
    for (size_t at = 0; at < self->block_count; at++) {
        const record_block *block = &self->blocks[at];
        spans[used++] = (record_span){ block->offset, block->offset + block->bytes, 0 };
    }
    for (size_t at = 0; at < self->change_count; at++) {
        const record_change *change = &self->changes[at];
        if (change->comes) spans[used++] = (record_span){ change->offset, change->offset + change->bytes, 0 };
    }
    qsort(spans, used, sizeof *spans, record_by_begin);
    for (size_t at = 0; at < used; at++) {
        record_span *last = merged ? &spans[merged - 1] : NULL;
        if (!last || spans[at].begin > last->end) spans[merged++] = spans[at];
        else if (spans[at].end > last->end) last->end = spans[at].end;
    }
    for (size_t at = 0; at < merged; at++) {
        spans[at].offset = self->axis_bytes;
        self->axis_bytes += spans[at].end - spans[at].begin;
    }
    *count = merged;
    return spans;
}

/* The place of an address on the axis. Memory that was given back but never seen to come lies in no span, and is
   placed at the end. */
static uint64_t record_place(const record_span *spans, size_t count, uint64_t address, uint64_t axis_bytes)
{
    size_t rank;
    ARRAY_RANK(&rank, count, at, spans[at].begin <= address);
    if (!rank || address >= spans[rank - 1].end) return axis_bytes;
    return spans[rank - 1].offset + (address - spans[rank - 1].begin);
}

/* ---- Samples: of every bucket of ops those with an extreme figure */

/* Samples of a bucket that stay: those that are extreme in a figure, the first of equals, and the last. */
enum { RECORD_KEPT_LAST = 7, RECORD_KEPT };

typedef struct record_bucket {
    int           is_used;
    record_sample kept[RECORD_KEPT];
} record_bucket;

/* The figures of a sample. The sample with the highest value of each figure is kept. */
static void record_figures(const memory_use *use, uint64_t figures[RECORD_KEPT_LAST])
{
    const uint64_t found[RECORD_KEPT_LAST] = {
        use->requested_bytes, use->live_bytes, use->reserved_bytes, use->stranded_bytes, use->pending_bytes,
        use->free_bytes, UINT64_MAX - use->live_bytes,           /* the least live */
    };
    memcpy(figures, found, sizeof found);
}

ARRAY_ORDER(record_by_number, record_sample, ->number)

/* Tells whether two samples are equal. A sample at the begin of a round or the end of a run has the number of an
   operation, and may equal that operation's sample. */
static int record_is_same(const record_sample *one, const record_sample *other)
{
    return one->op == other->op && one->now_vns == other->now_vns && !memcmp(&one->use, &other->use, sizeof one->use);
}

/* Returns the samples of all buckets, each once, in order of time. *sample_count is their number. */
static record_sample *record_samples_of(const record_bucket *buckets, size_t count, size_t *sample_count)
{
    size_t used = 0, distinct = 0;
    record_sample *samples = program_need(count * RECORD_KEPT, sizeof *samples);
    for (size_t bucket = 0; bucket < count; bucket++) {
        for (size_t at = 0; buckets[bucket].is_used && at < RECORD_KEPT; at++) {
            samples[used++] = buckets[bucket].kept[at];
        }
    }
    qsort(samples, used, sizeof *samples, record_by_number);
    for (size_t at = 0; at < used; at++) {
        if (!distinct || !record_is_same(&samples[at], &samples[distinct - 1])) samples[distinct++] = samples[at];
    }
    *sample_count = distinct;
    return program_resize(samples, distinct ? distinct : 1, sizeof *samples);    /* all rows' records are kept */
}

/* ---- The events of a pass: lists that grow to their bounds, and no further */

record *record_create(unsigned parts)
{
    record *made = program_need(1, sizeof *made);
    made->parts = parts;
    made->limit_bytes = GPUARENA_NO_LIMIT;
    made->map_ops = RECORD_NEVER;
    return made;
}

void record_destroy(record *self)
{
    if (!self) return;
    free(self->blocks);
    free(self->changes);
    free(self->latest);
    free(self->samples);
    free(self->steps);
    free(self->buckets);
    free(self);
}

/* Tells whether blocks and changes are still recorded. */
static int record_maps(const record *self)
{
    return self->device && (self->parts & RECORD_MAP) && self->map_ops == RECORD_NEVER;
}

static void record_memory_changed(void *user, sim_call kind, uint64_t address, uint64_t bytes)
{
    record *self = user;
    if (!record_maps(self) || !bytes) return;
    if (self->change_count >= RECORD_MOST_CHANGES) {
        self->map_ops = self->op;
        return;
    }
    ARRAY_RESERVE(self->changes, self->change_capacity, self->change_count + 1);
    const int is_pages = kind == SIM_CALL_VM_MAP || kind == SIM_CALL_VM_UNMAP;
    const record_change made = { kind == SIM_CALL_OBTAIN || kind == SIM_CALL_VM_MAP, is_pages, self->op,
                                 device_now_vns(self->device), address, bytes };
    self->changes[self->change_count++] = made;
}

void record_begin(record *self, device *on, const op_stream *stream, uint64_t times)
{
    if (!self) return;
    self->device = on;
    self->stream = stream;
    self->most_ops = times > 1 ? times * 2 * stream->alloc_count : stream->alloc_count + stream->free_count;
    self->bucket_ops = self->most_ops / RECORD_BUCKETS + 1;
    if (self->parts & RECORD_SERIES) self->buckets = program_need(RECORD_BUCKETS, sizeof *self->buckets);
    if (self->parts & RECORD_MAP) {
        device_watch(on, record_memory_changed, self);
        free(self->latest);
        self->latest = program_need(stream->block_count, sizeof *self->latest);
    }
}

void record_op(record *self, uint64_t number)
{
    if (self) self->op = number;
}

void record_label(record *self, uint32_t label)
{
    if (!self || self->step_count >= RECORD_MOST_STEPS) return;
    const record_step made = { self->op, device_now_vns(self->device), label };
    ARRAY_RESERVE(self->steps, self->step_capacity, self->step_count + 1);
    self->steps[self->step_count++] = made;
}

void record_alloc(record *self, uint32_t number, const void *ptr, uint64_t requested_bytes, uint64_t bytes,
                  uint64_t stream)
{
    if (!self || !ptr || !record_maps(self) || !self->latest) return;
    const record_block made = { (uint64_t)(uintptr_t)ptr, requested_bytes, bytes, self->op, RECORD_NEVER, stream,
                                number, (uint32_t)self->step_count, device_now_vns(self->device), RECORD_NEVER };
    if (self->block_count >= RECORD_MOST_BLOCKS) {
        self->map_ops = self->op;
        return;
    }
    ARRAY_RESERVE(self->blocks, self->block_capacity, self->block_count + 1);
    self->blocks[self->block_count++] = made;
    self->latest[number] = (uint32_t)self->block_count;
}

void record_free(record *self, uint32_t number)
{
    if (!self || !self->device || !self->latest || !self->latest[number]) return;
    record_block *block = &self->blocks[self->latest[number] - 1];
    if (block->death_op != RECORD_NEVER) return; /* the freed block is a later one, which was not recorded */
    block->death_op = self->op;
    block->death_vns = device_now_vns(self->device);
}

int record_keeps_samples(const record *self)
{
    return self && self->buckets;
}

void record_measure(record *self, const memory_use *use)
{
    uint64_t figures[RECORD_KEPT_LAST], kept[RECORD_KEPT_LAST];
    if (!record_keeps_samples(self)) return;
    const record_sample sample = { self->op, device_now_vns(self->device), *use, self->taken_count++ };
    const uint64_t place = self->op / self->bucket_ops;
    record_bucket *bucket = &self->buckets[place < RECORD_BUCKETS ? place : RECORD_BUCKETS - 1];
    record_figures(use, figures);
    for (size_t at = 0; at < RECORD_KEPT_LAST; at++) {
        record_figures(&bucket->kept[at].use, kept);
        if (!bucket->is_used || figures[at] > kept[at]) bucket->kept[at] = sample;
    }
    bucket->kept[RECORD_KEPT_LAST] = sample;
    bucket->is_used = 1;
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

void record_finish(record *self, uint64_t op_count)
{
    if (!self || !self->device) return;
    device_watch(self->device, NULL, NULL);
    free(self->latest);
    self->latest = NULL;
    self->op_count = op_count > self->op ? op_count : self->op;     /* operations left out have numbers, too */
    self->end_vns = device_now_vns(self->device);
    if (self->map_ops > self->op_count) self->map_ops = self->op_count;
    self->device = NULL;
    if (self->buckets) self->samples = record_samples_of(self->buckets, RECORD_BUCKETS, &self->sample_count);
    free(self->buckets);
    self->buckets = NULL;
    if (!(self->parts & RECORD_MAP)) return;
    size_t count = 0;                            /* spans that place blocks and changes on the axis */
    record_span *spans = record_spans_of(self, &count);
    for (size_t at = 0; at < self->block_count; at++) {
        self->blocks[at].offset = record_place(spans, count, self->blocks[at].offset, self->axis_bytes);
    }
    for (size_t at = 0; at < self->change_count; at++) {
        self->changes[at].offset = record_place(spans, count, self->changes[at].offset, self->axis_bytes);
    }
    free(spans);
}
