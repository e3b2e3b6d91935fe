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

typedef struct pickle_list { unsigned count; } pickle_list;      /* zeroed: of no items yet */

typedef struct memviz_segment {
    uint64_t offset, bytes;
    size_t   order;
    int      comes, is_mapped;                   /* is_mapped: pages, else cudaMalloc's */
} memviz_segment;

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

static void pickle_item(pickle *self, pickle_list *list)
{
    if (list->count > 0 && list->count % PICKLE_BATCH == 0) fputs("e(", self->out);
    list->count++;
}

/* ---- What a snapshot says was there at the end: segments of cudaMalloc's that are still held, and runs of mapped
        pages */

static int memviz_compare_offsets(const void *left, const void *right)
{
    const memviz_segment *one = left, *other = right;
    if (one->offset != other->offset) return one->offset < other->offset ? -1 : 1;
    return one->order < other->order ? -1 : one->order > other->order;
}

/* Of each base the latest: held, if it was obtained then. */
static size_t memviz_held(memviz_segment *list, size_t count)
{
    size_t kept = 0;
    qsort(list, count, sizeof *list, memviz_compare_offsets);
    for (size_t at = 0; at < count; at++) {
        int is_last = at + 1 == count || list[at + 1].offset != list[at].offset;
        if (is_last && list[at].comes > 0) list[kept++] = list[at];
    }
    return kept;
}

/* Edges, +1 and -1, become runs that are covered. Each edge takes one place, so that a run fits where its end was. */
static size_t memviz_covered(memviz_segment *edges, size_t count)
{
    size_t kept = 0;
    int depth = 0;
    uint64_t begin = 0;
    qsort(edges, count, sizeof *edges, memviz_compare_offsets);
    for (size_t at = 0; at < count;) {
        uint64_t offset = edges[at].offset;
        int before = depth;
        for (; at < count && edges[at].offset == offset; at++) depth += edges[at].comes;
        if (before <= 0 && depth > 0) begin = offset;
        if (before <= 0 || depth > 0) continue;
        const memviz_segment run = { begin, offset - begin, 0, 1, 1 };
        edges[kept++] = run;
    }
    return kept;
}

static void memviz_take(const record *drawn, memviz_segment *list, size_t *segment_count, memviz_segment *edges,
                        size_t *edge_count)
{
    for (size_t at = 0; at < drawn->change_count; at++) {
        const record_change *change = &drawn->changes[at];
        int comes = change->kind == SIM_CALL_OBTAIN || change->kind == SIM_CALL_VM_MAP ? 1 : -1;
        const memviz_segment first = { change->offset, change->bytes, at, comes, 0 };
        const memviz_segment last = { change->offset + change->bytes, 0, at, -comes, 0 };
        if (change->kind == SIM_CALL_OBTAIN || change->kind == SIM_CALL_GIVE_BACK) {
            list[(*segment_count)++] = first;
        } else {
            edges[(*edge_count)++] = first;
            edges[(*edge_count)++] = last;
        }
    }
}

/* Held at the end of the record, by offset; free them. */
static memviz_segment *memviz_segments(const record *drawn, size_t *count)
{
    size_t held = 0, edge_count = 0;
    memviz_segment *list = program_need(drawn->change_count * 2, sizeof *list);
    memviz_segment *edges = program_need(drawn->change_count * 2, sizeof *edges);
    memviz_take(drawn, list, &held, edges, &edge_count);
    held = memviz_held(list, held);
    edge_count = memviz_covered(edges, edge_count);
    for (size_t at = 0; at < edge_count; at++) list[held++] = edges[at];
    qsort(list, held, sizeof *list, memviz_compare_offsets);
    *count = held;
    free(edges);
    return list;
}

/* ---- A history in the order of operations: what a free lets go, memory that comes and goes, a block, a refusal */

#define MEMVIZ_BASE ((uint64_t)1 << 32)          /* no block is at 0 */

typedef struct memviz {
    pickle        *to;
    pickle_list    items;                        /* of the list under way */
    const record  *drawn;
    const row     *shown;
    const record_block **deaths;                 /* by death */
    size_t         death_count, birth, death, change, step;
    uint64_t       now_us;                       /* of the latest event: later ones are not earlier */
    uint64_t      *step_us;                      /* of each step: later than all before it */
} memviz;

static void memviz_number(memviz *self, const char *key, uint64_t number)
{
    pickle_word(self->to, key);
    pickle_number(self->to, number);
}

static void memviz_word(memviz *self, const char *key, const char *word)
{
    pickle_word(self->to, key);
    pickle_word(self->to, word);
}

static void memviz_frame(memviz *self, const char *kind, const char *name, uint64_t line)
{
    pickle_mark(self->to, PICKLE_DICT_BEGIN);
    pickle_word(self->to, "name");
    pickle_text(self->to, name);
    memviz_word(self, "filename", kind);
    memviz_number(self, "line", line);
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

static void memviz_event(memviz *self, const char *action, uint64_t address, uint64_t bytes, uint64_t stream,
                         uint64_t now_vns, const record_block *block)
{
    pickle_item(self->to, &self->items);
    pickle_mark(self->to, PICKLE_DICT_BEGIN);
    memviz_word(self, "action", action);
    memviz_number(self, "addr", address);
    memviz_number(self, "size", bytes);
    memviz_number(self, "stream", stream);
    memviz_number(self, "time_us", memviz_time(self, now_vns));
    memviz_frames(self, block);
    pickle_mark(self->to, PICKLE_DICT_END);
}

static void memviz_free(memviz *self, const record_block *block)
{
    uint64_t address = MEMVIZ_BASE + block->offset;
    memviz_event(self, "free_requested", address, block->requested_bytes, block->stream, block->death_vns, block);
    memviz_event(self, "free_completed", address, block->requested_bytes, block->stream, block->death_vns, block);
}

static void memviz_change(memviz *self, const record_change *change)
{
    const char *action = change->kind == SIM_CALL_OBTAIN ? "segment_alloc"
                       : change->kind == SIM_CALL_GIVE_BACK ? "segment_free"
                       : change->kind == SIM_CALL_VM_MAP ? "segment_map" : "segment_unmap";
    memviz_event(self, action, MEMVIZ_BASE + change->offset, change->bytes, 0, change->now_vns, NULL);
}

static void memviz_refusal(memviz *self)
{
    const cell *left = &self->shown->cells[COLUMN_OOM_FREE];
    pickle_item(self->to, &self->items);
    pickle_mark(self->to, PICKLE_DICT_BEGIN);
    memviz_word(self, "action", "oom");
    memviz_number(self, "device_free", left->kind == CELL_COUNT ? left->count : 0);
    memviz_number(self, "size", self->drawn->refusal.requested_bytes);
    memviz_number(self, "stream", 0);
    memviz_number(self, "time_us", memviz_time(self, 0));
    memviz_frames(self, NULL);
    pickle_mark(self->to, PICKLE_DICT_END);
}

/* The operation at which something happens next. */
static uint64_t memviz_next(const memviz *self, int is_refused)
{
    const record *drawn = self->drawn;
    uint64_t next = is_refused || !drawn->refusal.happened ? RECORD_NEVER : drawn->refusal.op;
    if (self->birth < drawn->block_count && drawn->blocks[self->birth].birth_op < next) {
        next = drawn->blocks[self->birth].birth_op;
    }
    if (self->death < self->death_count && self->deaths[self->death]->death_op < next) {
        next = self->deaths[self->death]->death_op;
    }
    if (self->change < drawn->change_count && drawn->changes[self->change].op < next) {
        next = drawn->changes[self->change].op;
    }
    return next;
}

/* Steps that begin before this operation. */
static void memviz_steps(memviz *self, uint64_t number)
{
    const record *drawn = self->drawn;
    while (self->step < drawn->step_count && drawn->steps[self->step].op <= number) {
        self->now_us++;
        self->step_us[self->step] = memviz_time(self, drawn->steps[self->step].now_vns);
        self->step++;
    }
}

static void memviz_history(memviz *self)
{
    const record *drawn = self->drawn;
    int is_refused = 0;
    pickle_list items = { 0 };
    self->items = items;
    pickle_mark(self->to, PICKLE_LIST_BEGIN);
    for (uint64_t now; drawn && (now = memviz_next(self, is_refused)) < drawn->map_ops;) {
        memviz_steps(self, now);
        while (self->death < self->death_count && self->deaths[self->death]->death_op == now) {
            memviz_free(self, self->deaths[self->death++]);
        }
        while (self->change < drawn->change_count && drawn->changes[self->change].op == now) {
            memviz_change(self, &drawn->changes[self->change++]);
        }
        while (self->birth < drawn->block_count && drawn->blocks[self->birth].birth_op == now) {
            const record_block *block = &drawn->blocks[self->birth++];
            memviz_event(self, "alloc", MEMVIZ_BASE + block->offset, block->requested_bytes, block->stream,
                         block->birth_vns, block);
        }
        if (drawn->refusal.happened && !is_refused && drawn->refusal.op == now) {
            memviz_refusal(self);
            is_refused = 1;
        }
    }
    if (drawn) memviz_steps(self, drawn->op_count);
    pickle_mark(self->to, PICKLE_LIST_END);
}

static int memviz_compare_deaths(const void *left, const void *right)
{
    const record_block *one = *(const record_block *const *)left, *other = *(const record_block *const *)right;
    return one->death_op < other->death_op ? -1 : one->death_op > other->death_op;
}

static int memviz_compare_places(const void *left, const void *right)
{
    const record_block *one = *(const record_block *const *)left, *other = *(const record_block *const *)right;
    return one->offset < other->offset ? -1 : one->offset > other->offset;
}

/* Those that died in the record (dead), or that did not, by `compare`. */
static const record_block **memviz_blocks(const record *drawn, int dead, size_t *count,
                                          int (*compare)(const void *, const void *))
{
    const record_block **list = program_need(drawn->block_count, sizeof *list);
    *count = 0;
    for (size_t at = 0; at < drawn->block_count; at++) {
        if ((drawn->blocks[at].death_op < drawn->map_ops) == dead) list[(*count)++] = &drawn->blocks[at];
    }
    qsort(list, *count, sizeof *list, compare);
    return list;
}

static void memviz_piece(memviz *self, uint64_t offset, uint64_t bytes, const record_block *block)
{
    pickle_item(self->to, &self->items);
    pickle_mark(self->to, PICKLE_DICT_BEGIN);
    memviz_number(self, "address", MEMVIZ_BASE + offset);
    memviz_number(self, "size", bytes);
    memviz_number(self, "requested_size", block ? block->requested_bytes : bytes);
    memviz_word(self, "state", block ? "active_allocated" : "inactive");
    memviz_frames(self, block);
    pickle_mark(self->to, PICKLE_DICT_END);
}

/* Blocks and what is free between them; the first block behind the segment. A block may be longer than what was asked
   of the driver for it alone. */
static size_t memviz_pieces(memviz *self, const memviz_segment *segment, const record_block **lives, size_t at,
                            size_t count)
{
    uint64_t place = segment->offset, end = segment->offset + segment->bytes;
    pickle_list items = { 0 };
    self->items = items;
    pickle_word(self->to, "blocks");
    pickle_mark(self->to, PICKLE_LIST_BEGIN);
    for (; at < count && lives[at]->offset < end; at++) {
        const record_block *block = lives[at];
        uint64_t bytes = block->bytes < end - block->offset ? block->bytes : end - block->offset;
        if (block->offset < place) continue;     /* it lies in none */
        if (block->offset > place) memviz_piece(self, place, block->offset - place, NULL);
        memviz_piece(self, block->offset, bytes, block);
        place = block->offset + bytes;
    }
    if (place < end) memviz_piece(self, place, end - place, NULL);
    pickle_mark(self->to, PICKLE_LIST_END);
    return at;
}

static size_t memviz_segment_write(memviz *self, const memviz_segment *segment, size_t ordinal,
                                   const record_block **lives, size_t at, size_t count)
{
    uint64_t used = 0, requested = 0;
    for (size_t next = at; next < count && lives[next]->offset < segment->offset + segment->bytes; next++) {
        uint64_t rest = segment->offset + segment->bytes - lives[next]->offset;
        if (lives[next]->offset < segment->offset) continue;
        used += lives[next]->bytes < rest ? lives[next]->bytes : rest;
        requested += lives[next]->requested_bytes;
    }
    pickle_mark(self->to, PICKLE_DICT_BEGIN);
    memviz_number(self, "device", ordinal);
    memviz_number(self, "address", MEMVIZ_BASE + segment->offset);
    memviz_number(self, "total_size", segment->bytes);
    memviz_number(self, "allocated_size", used);
    memviz_number(self, "active_size", used);
    memviz_number(self, "requested_size", requested);
    memviz_number(self, "stream", 0);
    memviz_word(self, "segment_type", "large");
    pickle_word(self->to, "is_expandable");
    pickle_mark(self->to, segment->is_mapped ? "\x88" : "\x89");
    memviz_frames(self, NULL);
    at = memviz_pieces(self, segment, lives, at, count);
    pickle_mark(self->to, PICKLE_DICT_END);
    return at;
}

/* One row's, into the list of all. */
static void memviz_end_state(memviz *self, size_t ordinal, pickle_list *all)
{
    size_t segment_count = 0, live_count = 0, at = 0;
    if (!self->drawn) return;
    memviz_segment *segments = memviz_segments(self->drawn, &segment_count);
    const record_block **lives = memviz_blocks(self->drawn, 0, &live_count, memviz_compare_places);
    for (size_t index = 0; index < segment_count; index++) {
        pickle_item(self->to, all);
        at = memviz_segment_write(self, &segments[index], ordinal, lives, at, live_count);
    }
    free(segments);
    free(lives);
}

static void memviz_annotations(memviz *self, size_t ordinal, pickle_list *all)
{
    for (size_t at = 0; at < self->step; at++) {
        pickle_item(self->to, all);
        pickle_mark(self->to, PICKLE_DICT_BEGIN);
        memviz_word(self, "stage", "START");
        pickle_word(self->to, "name");
        pickle_text(self->to, self->drawn->stream->labels[self->drawn->steps[at].label]);
        memviz_number(self, "device", ordinal);
        memviz_number(self, "time_us", self->step_us[at]);
        pickle_mark(self->to, PICKLE_DICT_END);
    }
}

/* The rows, each begun. */
static memviz *memviz_rows(const row_list *list, pickle *to)
{
    memviz *rows = program_need(list->count, sizeof *rows);
    for (size_t index = 0; index < list->count; index++) {
        memviz *made = &rows[index];
        made->to = to;
        made->shown = &list->rows[index];
        made->drawn = made->shown->recording;
        if (made->drawn && !made->drawn->stream) made->drawn = NULL;             /* the device could not be opened */
        if (!made->drawn) continue;
        made->deaths = memviz_blocks(made->drawn, 1, &made->death_count, memviz_compare_deaths);
        made->step_us = program_need(made->drawn->step_count, sizeof *made->step_us);
    }
    return rows;
}

static void memviz_write(FILE *out, const output_material *material)
{
    const row_list *list = material->list;
    pickle one = { out, { NULL }, 0 };
    pickle_list segments = { 0 }, traces = { 0 }, annotations = { 0 };
    char note[ROW_NOTE_ROOM];
    memviz *rows = memviz_rows(list, &one);
    const size_t count = list->count;
    pickle_mark(&one, PICKLE_BEGIN);
    pickle_mark(&one, PICKLE_DICT_BEGIN);
    pickle_word(&one, "segments");
    pickle_mark(&one, PICKLE_LIST_BEGIN);
    for (size_t at = 0; at < count; at++) memviz_end_state(&rows[at], at, &segments);
    pickle_mark(&one, PICKLE_LIST_END);
    pickle_word(&one, "device_traces");
    pickle_mark(&one, PICKLE_LIST_BEGIN);
    for (size_t at = 0; at < count; at++) {
        pickle_item(&one, &traces);
        memviz_history(&rows[at]);
    }
    pickle_mark(&one, PICKLE_LIST_END);
    pickle_word(&one, "external_annotations");
    pickle_mark(&one, PICKLE_LIST_BEGIN);
    for (size_t at = 0; at < count; at++) {
        memviz_annotations(&rows[at], at, &annotations);
        free(rows[at].deaths);
        free(rows[at].step_us);
    }
    pickle_mark(&one, PICKLE_LIST_END);
    if (*row_list_note(list, note, sizeof note)) {
        pickle_word(&one, "not_all_rows");       /* readers pass over keys that they do not know */
        pickle_text(&one, note);
    }
    pickle_mark(&one, PICKLE_DICT_END);
    pickle_mark(&one, PICKLE_END);
    free(rows);
}

const output_kind output_memviz = {
    "memviz", "run", 0, RECORD_MAP, memviz_write,
    "of run: a memory snapshot for pytorch.org/memory_viz: a device a row; frames are tags and steps. "
    "replay:FILE.pickle plays it again",
};
