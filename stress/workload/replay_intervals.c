/* Reads interval CSVs, `id,lower,upper,size[,offset]`: a block lives from time lower until before time upper.
   Must not know of files.
   Tested by tests/test_workload_replay.c. */
#include "replay.h"

#include <inttypes.h>
#include <stdlib.h>

typedef struct interval {
    uint64_t id, lower, upper, bytes, line;
    slice    id_text;
} interval;

typedef struct interval_event {
    uint64_t time, row;
    int      is_alloc;
} interval_event;

typedef struct intervals {
    interval *rows;
    size_t    count, capacity;
    int       has_offset;
} intervals;

static const char *intervals_grammar(const intervals *all)
{
    return all->has_offset ? "id,lower,upper,size,offset" : "id,lower,upper,size";
}

static int intervals_room(reader *in, intervals *all)
{
    size_t capacity = all->capacity ? all->capacity * 2 : 256;
    if (all->count < all->capacity) {
        return 0;
    }
    if (all->count >= STREAM_MAX_OPS / 2) {
        return stream_refuse(in->builder, "more than %d intervals, expected fewer", (int)(STREAM_MAX_OPS / 2));
    }
    interval *larger = realloc(all->rows, capacity * sizeof *larger);
    if (!larger) {
        return stream_no_memory(in->builder);
    }
    all->rows = larger;
    all->capacity = capacity;
    return 0;
}

static int intervals_add(reader *in, intervals *all, slice line)
{
    const char *grammar = intervals_grammar(all);
    uint64_t offset;                             /* a packing's answer: must be a number, and is not used */
    if (intervals_room(in, all)) {
        return -1;
    }
    interval *row = &all->rows[all->count];
    row->line = in->builder->line;
    slice_take(&line, ',', &row->id_text);
    if (!slice_is_word(row->id_text)) {
        return stream_refuse(in->builder, "id is %s, expected a number or a word in %s",
                             slice_show(row->id_text).text, grammar);
    }
    if (!slice_decimal(row->id_text, &row->id)) {
        row->id = slice_hash(row->id_text);      /* minimalloc's own examples name their buffers b1, b2 */
    }
    if (reader_number(in, &line, ',', "lower", grammar, &row->lower) ||
        reader_number(in, &line, ',', "upper", grammar, &row->upper) ||
        reader_number(in, &line, ',', "size", grammar, &row->bytes) ||
        (all->has_offset && reader_number(in, &line, ',', "offset", grammar, &offset)) ||
        reader_end_of_line(in, line, grammar)) {
        return -1;
    }
    if (row->lower >= row->upper) {
        return stream_refuse(in->builder, "lower is %" PRIu64 " and upper %" PRIu64 ", expected lower < upper",
                             row->lower, row->upper);
    }
    all->count++;
    return 0;
}

/* At equal time frees come before allocations, each in order of the rows. Total, so that qsort need not be stable. */
static int interval_event_order(const void *left, const void *right)
{
    const interval_event *one = left, *other = right;
    if (one->time != other->time) {
        return one->time < other->time ? -1 : 1;
    }
    if (one->is_alloc != other->is_alloc) {
        return one->is_alloc - other->is_alloc;
    }
    return one->row < other->row ? -1 : one->row > other->row;
}

static int intervals_play(reader *in, const intervals *all, const interval_event *events)
{
    slice no_tag = { NULL, 0 };
    for (size_t i = 0; i < 2 * all->count; i++) {
        const interval *row = &all->rows[events[i].row];
        id_entry *entry;
        in->builder->line = row->line;
        if (events[i].is_alloc) {
            if (reader_alloc(in, row->id, row->id_text, row->bytes, 0, no_tag)) {
                return -1;
            }
        } else if (reader_live(in, row->id, row->id_text, &entry) || reader_free(in, entry)) {
            return -1;
        }
    }
    return 0;
}

static int intervals_order(reader *in, const intervals *all)
{
    interval_event *events = malloc((2 * all->count + 1) * sizeof *events);
    if (!events) {
        return stream_no_memory(in->builder);
    }
    for (size_t i = 0; i < all->count; i++) {
        interval_event lower = { all->rows[i].lower, i, 1 }, upper = { all->rows[i].upper, i, 0 };
        events[2 * i] = lower;
        events[2 * i + 1] = upper;
    }
    qsort(events, 2 * all->count, sizeof *events, interval_event_order);
    int failed = intervals_play(in, all, events);
    free(events);
    return failed;
}

static int intervals_read(reader *in)
{
    intervals all = { NULL, 0, 0, 0 };
    slice line;
    int found = reader_line(in, &line), failed = found < 0;
    all.has_offset = found > 0 && slice_is(line, "id,lower,upper,size,offset");
    while (!failed && (found = reader_line(in, &line)) > 0) {
        failed = intervals_add(in, &all, line);
    }
    failed = failed || found < 0 || intervals_order(in, &all);
    free(all.rows);
    return failed ? -1 : 0;
}

static int intervals_recognises(slice first_line)
{
    return slice_is(first_line, "id,lower,upper,size") || slice_is(first_line, "id,lower,upper,size,offset");
}

const replay_format replay_intervals = { "id,lower,upper,size", intervals_recognises, intervals_read };
