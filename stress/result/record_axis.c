/* The axis: addresses that ever held memory, side by side.
   It must not know what lies there.
   Tested by tests/test_record.c. */
#include <stdlib.h>

#include "record_parts.h"

typedef struct record_span { uint64_t begin, end, offset; } record_span;

static int record_compare_spans(const void *left, const void *right)
{
    const record_span *one = left, *other = right;
    if (one->begin != other->begin) return one->begin < other->begin ? -1 : 1;
    return one->end < other->end ? -1 : one->end > other->end;
}

/* Sorted, and those that touch made one; how many are left. */
static size_t record_merge_spans(record_span *spans, size_t count)
{
    size_t merged = 0;
    qsort(spans, count, sizeof *spans, record_compare_spans);
    for (size_t at = 0; at < count; at++) {
        record_span *last = merged ? &spans[merged - 1] : NULL;
        if (last && spans[at].begin <= last->end) {
            if (spans[at].end > last->end) last->end = spans[at].end;
        } else {
            spans[merged++] = spans[at];
        }
    }
    return merged;
}

static record_span *record_spans_of(const record *self, size_t *count)
{
    size_t used = 0;
    record_span *spans = calloc(self->block_count + self->change_count + 1, sizeof *spans);
    if (!spans) return NULL;
    for (size_t at = 0; at < self->block_count; at++) {
        const record_block *block = &self->blocks[at];
        const record_span made = { block->offset, block->offset + block->bytes, 0 };
        spans[used++] = made;
    }
    for (size_t at = 0; at < self->change_count; at++) {
        const record_change *change = &self->changes[at];
        const record_span made = { change->offset, change->offset + change->bytes, 0 };
        if (change->kind == SIM_CALL_OBTAIN || change->kind == SIM_CALL_VM_MAP) spans[used++] = made;
    }
    *count = record_merge_spans(spans, used);
    return spans;
}

/* Of an address that lies in one of the spans; what went without having come lies nowhere, and goes to the end. */
static uint64_t record_place(const record_span *spans, size_t count, uint64_t address, uint64_t axis_bytes)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (spans[middle].begin <= address) low = middle + 1;
        else high = middle;
    }
    if (!low || address >= spans[low - 1].end) return axis_bytes;
    return spans[low - 1].offset + (address - spans[low - 1].begin);
}

static int record_make_regions(record *self, record_span *spans, size_t count)
{
    self->regions = calloc(count + 1, sizeof *self->regions);
    if (!self->regions) return -1;
    for (size_t at = 0; at < count; at++) {
        const record_region made = { self->axis_bytes, spans[at].end - spans[at].begin };
        spans[at].offset = self->axis_bytes;
        self->regions[self->region_count++] = made;
        self->axis_bytes += made.bytes;
    }
    return 0;
}

int record_lay_out(record *self)
{
    size_t count = 0;
    record_span *spans = record_spans_of(self, &count);
    if (!spans || record_make_regions(self, spans, count)) {
        free(spans);
        return -1;
    }
    for (size_t at = 0; at < self->block_count; at++) {
        self->blocks[at].offset = record_place(spans, count, self->blocks[at].offset, self->axis_bytes);
    }
    for (size_t at = 0; at < self->change_count; at++) {
        self->changes[at].offset = record_place(spans, count, self->changes[at].offset, self->axis_bytes);
    }
    free(spans);
    return 0;
}
