/* Runs as a memory snapshot of PyTorch, which pytorch.org/memory_viz draws: a device a row, with its history of
   allocations, frees, segments and mapped pages, and what was there at the end. It is a pickle of protocol 2 that
   names nothing to be imported. Addresses are those of the record's axis; frames are a block's tag and step; steps
   are annotations, too. Of it stress/import/torch_snapshot.py --device ROW --steps makes the row's operations again,
   work and waits left out. */
#include "writers.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/program.h"
#include "../base/text.h"
#include "../result/record.h"

enum { PICKLE_MOST_WORDS = 200, PICKLE_BATCH = 1000 };

typedef struct pickle {                          /* zeroed but for out */
    FILE       *out;
    const char *words[PICKLE_MOST_WORDS];        /* written before, and known to the reader by their place */
    unsigned    word_count;
} pickle;

/* ---- Opcodes, eleven of them */

static void pickle_little_endian(pickle *self, uint64_t number, unsigned bytes)
{
    for (unsigned at = 0; at < bytes; at++) fputc((int)(number >> at * 8 & 0xFF), self->out);
}

/* What is no value: where a snapshot, a dictionary or a list begins and ends. Keys and values take turns in a
   dictionary; pickle_item comes before each item of a list, since readers take lists by batches. */
#define PICKLE_BEGIN      "\x80\x02"
#define PICKLE_END        "."
#define PICKLE_DICT_BEGIN "}("
#define PICKLE_DICT_END   "u"
#define PICKLE_LIST_BEGIN "]("
#define PICKLE_LIST_END   "e"

static void pickle_mark(pickle *self, const char *mark)
{
    fputs(mark, self->out);
}

static void pickle_unicode(pickle *self, const char *text, size_t length)
{
    fputc('X', self->out);
    pickle_little_endian(self, length, 4);
    fwrite(text, 1, length, self->out);
}

/* Each byte that belongs to no UTF-8 sequence is replaced by U+FFFD: three bytes for one. */
static void pickle_text(pickle *self, const char *text)
{
    size_t used = 0, length;
    char *whole = program_need(strlen(text) * 3, 1);
    for (const char *at = text; *at; at += length ? length : 1) {
        length = utf8_length((const unsigned char *)at);
        memcpy(whole + used, length ? at : "\xEF\xBF\xBD", length ? length : 3);
        used += length ? length : 3;
    }
    pickle_unicode(self, whole, used);
    free(whole);
}

/* a constant of the program: written out once */
static void pickle_word(pickle *self, const char *word)
{
    for (unsigned at = 0; at < self->word_count; at++) {
        if (strcmp(self->words[at], word)) continue;
        fputc('h', self->out);
        fputc((int)at, self->out);
        return;
    }
    pickle_unicode(self, word, strlen(word));
    if (self->word_count == PICKLE_MOST_WORDS) return;
    fputc('q', self->out);
    fputc((int)self->word_count, self->out);
    self->words[self->word_count++] = word;
}

/* below 2^63 */
static void pickle_number(pickle *self, uint64_t number)
{
    if (number < 256) {
        fputc('K', self->out);
        fputc((int)number, self->out);
    } else {
        fputs("\x8a\x08", self->out);
        pickle_little_endian(self, number, 8);
    }
}

/* count: of the items before this one. */
static void pickle_item(pickle *self, unsigned *count)
{
    if (*count && *count % PICKLE_BATCH == 0) fputs(PICKLE_LIST_END "(", self->out);
    ++*count;
}

/* Keys of a dictionary and what they have: a word of the program's, or, where that is NULL, a number. */
typedef struct pickle_field { const char *key, *word; uint64_t number; } pickle_field;

static void pickle_fields(pickle *self, const pickle_field *fields, size_t count)
{
    for (const pickle_field *field = fields; field < fields + count; field++) {
        pickle_word(self, field->key);
        if (field->word) pickle_word(self, field->word);
        else pickle_number(self, field->number);
    }
}
#define PICKLE_FIELDS(self, fields) pickle_fields(self, fields, sizeof(fields) / sizeof(fields)[0])

/* ---- What a snapshot says was there at the end: segments of cudaMalloc's that are still held, and runs of mapped
        pages */

typedef struct memviz_segment {
    uint64_t offset, bytes;
    size_t   order;
    int      comes;                              /* 1, or -1: it goes */
    int      is_mapped;                          /* pages, else cudaMalloc's */
} memviz_segment;

static int memviz_compare_segments(const void *left, const void *right)
{
    const memviz_segment *one = left, *other = right;
    if (one->offset != other->offset) return one->offset < other->offset ? -1 : 1;
    return one->order < other->order ? -1 : one->order > other->order;
}

/* Segments as they come and go, and both edges of pages that do: the one where they begin to be there, or no longer
   are, has the sign. */
static size_t memviz_changes(const record *drawn, int is_mapped, memviz_segment *list)
{
    size_t count = 0;
    for (size_t at = 0; at < drawn->change_count; at++) {
        const record_change *change = &drawn->changes[at];
        int is_pages = change->kind == SIM_CALL_VM_MAP || change->kind == SIM_CALL_VM_UNMAP;
        int comes = change->kind == SIM_CALL_OBTAIN || change->kind == SIM_CALL_VM_MAP ? 1 : -1;
        const memviz_segment begin = { change->offset, change->bytes, at, comes, is_mapped };
        const memviz_segment end = { change->offset + change->bytes, 0, at, -comes, is_mapped };
        if (is_pages != is_mapped) continue;
        list[count++] = begin;
        if (is_mapped) list[count++] = end;
    }
    qsort(list, count, sizeof *list, memviz_compare_segments);
    return count;
}

/* Of cudaMalloc's segments the latest of each base, if that came; of pages the runs that are covered. In place: a run
   takes the place of its end. */
static size_t memviz_held(const record *drawn, int is_mapped, memviz_segment *list)
{
    size_t kept = 0, count = memviz_changes(drawn, is_mapped, list);
    uint64_t begin = 0;
    int depth = 0;
    for (size_t at = 0, next; at < count; at = next) {
        const memviz_segment last = list[at];
        int before = depth;
        for (next = at; next < count && list[next].offset == last.offset; next++) depth += list[next].comes;
        if (!is_mapped && list[next - 1].comes > 0) list[kept++] = list[next - 1];
        if (is_mapped && before <= 0 && depth > 0) begin = last.offset;
        if (!is_mapped || before <= 0 || depth > 0) continue;
        const memviz_segment run = { begin, last.offset - begin, 0, 1, 1 };
        list[kept++] = run;
    }
    return kept;
}

/* Held at the end of the record, by offset; free them. */
static memviz_segment *memviz_segments(const record *drawn, size_t *count)
{
    memviz_segment *list = program_need(drawn->change_count * 3, sizeof *list);
    size_t held = memviz_held(drawn, 0, list);
    *count = held + memviz_held(drawn, 1, list + held);
    qsort(list, *count, sizeof *list, memviz_compare_segments);
    return list;
}

/* ---- A history in the order of operations */

#define MEMVIZ_BASE ((uint64_t)1 << 32)          /* no block is at 0 */

typedef struct memviz {                          /* of a row */
    pickle       *to;
    const record *drawn;                         /* NULL: the device could not be opened */
    const row    *shown;
    uint64_t      now_us;                        /* of the latest event: later ones are not earlier */
    uint64_t     *step_us;                       /* of each step: later than all before it */
    size_t        step_count;                    /* begun */
    unsigned      items;                         /* of the list under way */
} memviz;

/* What happens in an operation, in this order. */
typedef enum memviz_kind { MEMVIZ_FREE, MEMVIZ_CHANGE, MEMVIZ_ALLOC, MEMVIZ_REFUSAL } memviz_kind;
typedef struct memviz_event { uint64_t op; memviz_kind kind; size_t index; } memviz_event;

static int memviz_compare_events(const void *left, const void *right)
{
    const memviz_event *one = left, *other = right;
    if (one->op != other->op) return one->op < other->op ? -1 : 1;
    if (one->kind != other->kind) return one->kind < other->kind ? -1 : 1;
    return one->index < other->index ? -1 : one->index > other->index;
}

static void memviz_add(memviz_event *list, size_t *count, uint64_t when, memviz_kind kind, size_t index)
{
    const memviz_event made = { when, kind, index };
    list[(*count)++] = made;
}

/* In order; free them. */
static memviz_event *memviz_events(const record *drawn, size_t *count)
{
    memviz_event *list = program_need(drawn->block_count * 2 + drawn->change_count + 1, sizeof *list);
    *count = 0;
    for (size_t at = 0; at < drawn->block_count; at++) {
        memviz_add(list, count, drawn->blocks[at].birth_op, MEMVIZ_ALLOC, at);
        memviz_add(list, count, drawn->blocks[at].death_op, MEMVIZ_FREE, at);
    }
    for (size_t at = 0; at < drawn->change_count; at++) {
        memviz_add(list, count, drawn->changes[at].op, MEMVIZ_CHANGE, at);
    }
    if (drawn->refusal.happened) memviz_add(list, count, drawn->refusal.op, MEMVIZ_REFUSAL, 0);
    qsort(list, *count, sizeof *list, memviz_compare_events);
    return list;
}

static void memviz_frame(memviz *self, const char *kind, const char *name, uint64_t line)
{
    const pickle_field fields[] = { { "filename", kind, 0 }, { "line", NULL, line } };
    pickle_mark(self->to, PICKLE_DICT_BEGIN);
    pickle_word(self->to, "name");
    pickle_text(self->to, name);
    PICKLE_FIELDS(self->to, fields);
    pickle_mark(self->to, PICKLE_DICT_END);
}

/* A block's tag, and its step. */
static void memviz_frames(memviz *self, const record_block *block)
{
    const op_stream *stream = self->drawn->stream;
    uint32_t tag = block && stream->tags ? stream->tags[block->number] : 0;
    uint32_t step = block && block->step <= self->drawn->step_count ? block->step : 0;
    pickle_word(self->to, "frames");
    pickle_mark(self->to, PICKLE_LIST_BEGIN);
    if (tag) memviz_frame(self, "tag", stream->labels[tag - 1], block->birth_op);
    if (step) memviz_frame(self, "step", stream->labels[self->drawn->steps[step - 1].label], step);
    pickle_mark(self->to, PICKLE_LIST_END);
}

static uint64_t memviz_time(memviz *self, uint64_t now_vns)
{
    if (now_vns / 1000 > self->now_us) self->now_us = now_vns / 1000;
    return self->now_us;
}

/* The next item of the list under way. */
static void memviz_dictionary(memviz *self, const pickle_field *fields, size_t count, const record_block *block)
{
    pickle_item(self->to, &self->items);
    pickle_mark(self->to, PICKLE_DICT_BEGIN);
    pickle_fields(self->to, fields, count);
    memviz_frames(self, block);
    pickle_mark(self->to, PICKLE_DICT_END);
}

/* address: the key of the next number, which is one, unless memory ran out. */
static void memviz_item(memviz *self, const char *action, const char *address, uint64_t number, uint64_t bytes,
                        uint64_t stream, uint64_t now_vns, const record_block *block)
{
    const pickle_field fields[] = {
        { "action", action, 0 }, { address, NULL, number }, { "size", NULL, bytes }, { "stream", NULL, stream },
        { "time_us", NULL, memviz_time(self, now_vns) },
    };
    memviz_dictionary(self, fields, sizeof fields / sizeof fields[0], block);
}

static void memviz_block(memviz *self, const char *action, const record_block *block, uint64_t now_vns)
{
    memviz_item(self, action, "addr", MEMVIZ_BASE + block->offset, block->requested_bytes, block->stream, now_vns,
                block);
}

static void memviz_change(memviz *self, const record_change *change)
{
    const char *action = change->kind == SIM_CALL_OBTAIN ? "segment_alloc"
                       : change->kind == SIM_CALL_GIVE_BACK ? "segment_free"
                       : change->kind == SIM_CALL_VM_MAP ? "segment_map" : "segment_unmap";
    memviz_item(self, action, "addr", MEMVIZ_BASE + change->offset, change->bytes, 0, change->now_vns, NULL);
}

static void memviz_happen(memviz *self, memviz_kind kind, size_t index)
{
    const record *drawn = self->drawn;
    const record_block *block = kind == MEMVIZ_FREE || kind == MEMVIZ_ALLOC ? &drawn->blocks[index] : NULL;
    const cell *left = &self->shown->cells[COLUMN_OOM_FREE];
    switch (kind) {
    case MEMVIZ_FREE:
        memviz_block(self, "free_requested", block, block->death_vns);
        memviz_block(self, "free_completed", block, block->death_vns);
        return;
    case MEMVIZ_CHANGE:
        memviz_change(self, &drawn->changes[index]);
        return;
    case MEMVIZ_ALLOC:
        memviz_block(self, "alloc", block, block->birth_vns);
        return;
    case MEMVIZ_REFUSAL:
        memviz_item(self, "oom", "device_free", left->kind == CELL_COUNT ? left->count : 0,
                    drawn->refusal.requested_bytes, 0, 0, NULL);
    }
}

/* Steps that begin before this operation. */
static void memviz_steps(memviz *self, uint64_t number)
{
    const record *drawn = self->drawn;
    while (self->step_count < drawn->step_count && drawn->steps[self->step_count].op <= number) {
        self->now_us++;
        self->step_us[self->step_count] = memviz_time(self, drawn->steps[self->step_count].now_vns);
        self->step_count++;
    }
}

static void memviz_history(memviz *self)
{
    size_t count;
    pickle_mark(self->to, PICKLE_LIST_BEGIN);
    if (self->drawn) {
        memviz_event *events = memviz_events(self->drawn, &count);
        self->step_us = program_need(self->drawn->step_count, sizeof *self->step_us);
        self->items = 0;
        for (size_t at = 0; at < count && events[at].op < self->drawn->map_ops; at++) {
            memviz_steps(self, events[at].op);
            memviz_happen(self, events[at].kind, events[at].index);
        }
        memviz_steps(self, self->drawn->op_count);
        free(events);
    }
    pickle_mark(self->to, PICKLE_LIST_END);
}

static void memviz_annotations(memviz *self, size_t ordinal, unsigned *count)
{
    for (size_t at = 0; at < self->step_count; at++) {
        const pickle_field stage = { "stage", "START", 0 };
        const pickle_field fields[] = { { "device", NULL, ordinal }, { "time_us", NULL, self->step_us[at] } };
        pickle_item(self->to, count);
        pickle_mark(self->to, PICKLE_DICT_BEGIN);
        pickle_fields(self->to, &stage, 1);
        pickle_word(self->to, "name");
        pickle_text(self->to, self->drawn->stream->labels[self->drawn->steps[at].label]);
        PICKLE_FIELDS(self->to, fields);
        pickle_mark(self->to, PICKLE_DICT_END);
    }
}

/* ---- The state at the end: segments, and in each the blocks that live, and what is free between them */

static int memviz_compare_places(const void *left, const void *right)
{
    const record_block *one = *(const record_block *const *)left, *other = *(const record_block *const *)right;
    return one->offset < other->offset ? -1 : one->offset > other->offset;
}

/* Those that did not die in the record, by place; free the list. */
static const record_block **memviz_lives(const record *drawn, size_t *count)
{
    const record_block **list = program_need(drawn->block_count, sizeof *list);
    *count = 0;
    for (size_t at = 0; at < drawn->block_count; at++) {
        if (drawn->blocks[at].death_op >= drawn->map_ops) list[(*count)++] = &drawn->blocks[at];
    }
    qsort(list, *count, sizeof *list, memviz_compare_places);
    return list;
}

/* block NULL: it is free. */
static void memviz_piece(memviz *self, uint64_t offset, uint64_t bytes, const record_block *block)
{
    const pickle_field fields[] = {
        { "address", NULL, MEMVIZ_BASE + offset }, { "size", NULL, bytes },
        { "requested_size", NULL, block ? block->requested_bytes : bytes },
        { "state", block ? "active_allocated" : "inactive", 0 },
    };
    memviz_dictionary(self, fields, sizeof fields / sizeof fields[0], block);
}

/* A block may be longer than what was asked of the driver for it alone. */
static uint64_t memviz_within(const record_block *block, uint64_t end)
{
    return block->bytes < end - block->offset ? block->bytes : end - block->offset;
}

/* Of these blocks those that begin before the segment's end; the rest begins at what is returned. */
static const record_block **memviz_segment_write(memviz *self, const memviz_segment *segment, size_t ordinal,
                                                 const record_block **lives, const record_block **lives_end)
{
    uint64_t used = 0, requested = 0, place = segment->offset, end = segment->offset + segment->bytes;
    const record_block **next = lives;
    for (; next < lives_end && (*next)->offset < end; next++) {
        if ((*next)->offset < segment->offset) continue;
        used += memviz_within(*next, end);
        requested += (*next)->requested_bytes;
    }
    const pickle_field fields[] = {
        { "device", NULL, ordinal }, { "address", NULL, MEMVIZ_BASE + segment->offset },
        { "total_size", NULL, segment->bytes }, { "allocated_size", NULL, used }, { "active_size", NULL, used },
        { "requested_size", NULL, requested }, { "stream", NULL, 0 }, { "segment_type", "large", 0 },
    };
    pickle_mark(self->to, PICKLE_DICT_BEGIN);
    PICKLE_FIELDS(self->to, fields);
    pickle_word(self->to, "is_expandable");
    pickle_mark(self->to, segment->is_mapped ? "\x88" : "\x89");
    memviz_frames(self, NULL);
    pickle_word(self->to, "blocks");
    pickle_mark(self->to, PICKLE_LIST_BEGIN);
    self->items = 0;
    for (; lives < next; lives++) {
        const record_block *block = *lives;
        if (block->offset < place) continue;     /* it lies in none */
        if (block->offset > place) memviz_piece(self, place, block->offset - place, NULL);
        place = block->offset + memviz_within(block, end);
        memviz_piece(self, block->offset, place - block->offset, block);
    }
    if (place < end) memviz_piece(self, place, end - place, NULL);
    pickle_mark(self->to, PICKLE_LIST_END);
    pickle_mark(self->to, PICKLE_DICT_END);
    return next;
}

/* One row's, into the list of all. */
static void memviz_end_state(memviz *self, size_t ordinal, unsigned *count)
{
    size_t segment_count = 0, live_count = 0;
    if (!self->drawn) return;
    memviz_segment *segments = memviz_segments(self->drawn, &segment_count);
    const record_block **lives = memviz_lives(self->drawn, &live_count), **next = lives;
    for (size_t index = 0; index < segment_count; index++) {
        pickle_item(self->to, count);
        next = memviz_segment_write(self, &segments[index], ordinal, next, lives + live_count);
    }
    free(segments);
    free(lives);
}

static void memviz_write(FILE *out, const output_material *material)
{
    const row_list *list = material->list;
    pickle to = { out, { NULL }, 0 };
    unsigned segments = 0, traces = 0, annotations = 0;
    char note[ROW_NOTE_ROOM];
    memviz *rows = program_need(list->count, sizeof *rows);
    pickle_mark(&to, PICKLE_BEGIN PICKLE_DICT_BEGIN);
    pickle_word(&to, "segments");
    pickle_mark(&to, PICKLE_LIST_BEGIN);
    for (size_t at = 0; at < list->count; at++) {
        const record *drawn = list->rows[at].recording;
        const memviz begun = { &to, drawn && drawn->stream ? drawn : NULL, &list->rows[at], 0, NULL, 0, 0 };
        rows[at] = begun;
        memviz_end_state(&rows[at], at, &segments);
    }
    pickle_mark(&to, PICKLE_LIST_END);
    pickle_word(&to, "device_traces");
    pickle_mark(&to, PICKLE_LIST_BEGIN);
    for (size_t at = 0; at < list->count; at++) {
        pickle_item(&to, &traces);
        memviz_history(&rows[at]);
    }
    pickle_mark(&to, PICKLE_LIST_END);
    pickle_word(&to, "external_annotations");
    pickle_mark(&to, PICKLE_LIST_BEGIN);
    for (size_t at = 0; at < list->count; at++) {
        memviz_annotations(&rows[at], at, &annotations);
        free(rows[at].step_us);
    }
    pickle_mark(&to, PICKLE_LIST_END);
    if (*row_list_note(list, note, sizeof note)) {
        pickle_word(&to, "not_all_rows");        /* readers pass over keys that they do not know */
        pickle_text(&to, note);
    }
    pickle_mark(&to, PICKLE_DICT_END PICKLE_END);
    free(rows);
}

const output_kind output_memviz = {
    "memviz", "run", 0, RECORD_MAP, memviz_write,
    "of run: a memory snapshot for pytorch.org/memory_viz: a device a row; frames are tags and steps. "
    "replay:FILE.pickle plays it again",
};
