/* Runs as a memory snapshot of PyTorch, which pytorch.org/memory_viz draws: a device for each row, with its history
   of allocations, frees, segments and mapped pages, and its state at the end. The file is a pickle of protocol 2 that
   imports nothing. Addresses are those of the record's axis; frames are a block's tag and step; steps are
   annotations, too. stress/import/torch_snapshot.py --device ROW --steps makes the row's operations from it again,
   without work and waits. */
#include "output.h"

/* ---- Pickles, in eleven opcodes */

enum { PICKLE_MOST_WORDS = 200, PICKLE_BATCH = 1000 };

typedef struct pickle {                          /* zeroed but for out */
    FILE    *out;
    slice    words[PICKLE_MOST_WORDS];           /* already written; the reader knows them by their index */
    unsigned word_count;
} pickle;

static void pickle_little_endian(pickle *self, uint64_t number, unsigned bytes)
{
    for (unsigned at = 0; at < bytes; at++) fputc((int)(number >> at * 8 & 0xFF), self->out);
}

static void pickle_unicode(pickle *self, const char *text, size_t length)
{
    fputc('X', self->out);
    pickle_little_endian(self, length, 4);
    fwrite(text, 1, length, self->out);
}

/* Writes any text. Each byte that belongs to no UTF-8 sequence is replaced by U+FFFD, which has three bytes. */
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

/* Writes a word that must stay in memory, such as a part of a constant. It is written out once, and then referred
   to. */
static void pickle_word(pickle *self, slice word)
{
    for (unsigned at = 0; at < self->word_count; at++) {
        const slice *known = &self->words[at];
        if (known->length != word.length || memcmp(known->bytes, word.bytes, word.length)) continue;
        fprintf(self->out, "h%c", (int)at);
        return;
    }
    pickle_unicode(self, word.bytes, word.length);
    if (self->word_count == PICKLE_MOST_WORDS) return;
    fprintf(self->out, "q%c", (int)self->word_count);
    self->words[self->word_count++] = word;
}

/* Eight bytes are a number with a sign, and the page reads no more of them: from 2^63 on it is 2^63 - 1. */
static void pickle_number(pickle *self, uint64_t number)
{
    if (number > INT64_MAX) number = INT64_MAX;
    fputs(number < 256 ? "K" : "\x8a\x08", self->out);
    pickle_little_endian(self, number, number < 256 ? 1 : 8);
}

/* Writes what the text says, a constant: words; { } a dictionary, in which keys and values take turns; [ ] a list;
   and of the values that follow %w a constant word, %s any text, %d a number of 64 bits, %b whether. */
static void pickle_print(pickle *self, const char *text, ...)
{
    va_list values;
    va_start(values, text);
    for (size_t length = 1; *text; text += length, length = 1) {
        switch (*text) {
        case ' ': continue;
        case '{': fputs("}(", self->out); continue;
        case '}': fputc('u', self->out); continue;
        case '[': fputs("](", self->out); continue;
        case ']': fputc('e', self->out); continue;
        case '%': break;
        default:
            length = strcspn(text, " {}[]");
            pickle_word(self, (slice){ text, length });
            continue;
        }
        length = 2;
        switch (text[1]) {
        case 'w': pickle_word(self, slice_of(va_arg(values, const char *))); break;
        case 's': pickle_text(self, va_arg(values, const char *)); break;
        case 'd': pickle_number(self, va_arg(values, uint64_t)); break;
        default:  fputs(va_arg(values, int) ? "\x88" : "\x89", self->out);
        }
    }
    va_end(values);
}

/* Call before each item of a list. *count is the number of items before it. Readers take lists in batches. */
static void pickle_item(pickle *self, unsigned *count)
{
    if (*count && *count % PICKLE_BATCH == 0) fputs("e(", self->out);
    ++*count;
}

/* ---- Entries put in order: segments by their place, events by their operation */

typedef struct memviz_entry { uint64_t key, second, third; } memviz_entry;

static int memviz_compare(const void *left, const void *right)
{
    const memviz_entry *one = left, *other = right;
    if (one->key != other->key) return one->key < other->key ? -1 : 1;
    if (one->second != other->second) return one->second < other->second ? -1 : 1;
    return one->third < other->third ? -1 : one->third > other->third;
}

/* ---- The segments of a snapshot at its end: those of cudaMalloc that are still held, and runs of mapped pages; each
        with its offset, its bytes, and whether it is of pages */

/* Returns the segments held at the end of the record, by offset; free them. A segment of cudaMalloc is held if the
   latest change at its base is its coming. Runs of pages are computed from the edges of all changes of pages, which
   are sorted behind cudaMalloc's. */
static memviz_entry *memviz_segments(const record *drawn, size_t *count)
{
    const uint64_t pages = (uint64_t)1 << 63;    /* the bit of a key that marks pages */
    memviz_entry *edges = program_need(drawn->change_count * 2, sizeof *edges);
    memviz_entry *list = program_need(drawn->change_count * 2, sizeof *list);
    size_t edge_count = 0;
    uint64_t begin = 0;
    int depth = 0;
    for (size_t at = 0; at < drawn->change_count; at++) {
        const record_change *change = &drawn->changes[at];
        const uint64_t kind = change->is_pages ? pages : 0, comes = (uint64_t)change->comes;
        edges[edge_count++] = (memviz_entry){ kind | change->offset, at, comes };
        if (kind) edges[edge_count++] = (memviz_entry){ kind | (change->offset + change->bytes), at, !comes };
    }
    qsort(edges, edge_count, sizeof *edges, memviz_compare);
    *count = 0;
    for (size_t at = 0; at < edge_count;) {
        const uint64_t key = edges[at].key, place = key & ~pages;
        const int before = depth;
        for (; at < edge_count && edges[at].key == key; at++) depth += key < pages ? 0 : edges[at].third ? 1 : -1;
        const memviz_entry *last = &edges[at - 1];
        uint64_t bytes = drawn->changes[last->second].bytes;
        if (key < pages && last->third) list[(*count)++] = (memviz_entry){ place, bytes, 0 };
        if (before <= 0 && depth > 0) begin = place;
        if (before > 0 && depth <= 0) list[(*count)++] = (memviz_entry){ begin, place - begin, 1 };
    }
    free(edges);
    qsort(list, *count, sizeof *list, memviz_compare);
    return list;
}

/* ---- A history in the order of operations */

#define MEMVIZ_BASE ((uint64_t)1 << 32)          /* no block is at 0 */

typedef struct memviz {                          /* of a row */
    pickle       *to;
    const record *drawn;                         /* an empty one if the policy could not be opened */
    const row    *shown;
    uint64_t      now_us;                        /* time of the latest event; times never go back */
    uint64_t     *step_us;                       /* time of each step: later than all before it */
    size_t        step_count;                    /* steps begun */
    unsigned      items;                         /* of the list under way */
} memviz;

/* The events of one operation, in this order. */
typedef enum memviz_kind { MEMVIZ_FREE, MEMVIZ_CHANGE, MEMVIZ_ALLOC, MEMVIZ_REFUSAL } memviz_kind;

/* Writes a block's tag and its step. Call it behind the other keys of a dictionary. */
static void memviz_frames(memviz *self, const record_block *block)
{
    const op_stream *stream = self->drawn->stream;
    uint32_t tag = block && stream->tags ? stream->tags[block->number] : 0;
    uint32_t step = block && block->step <= self->drawn->step_count ? block->step : 0;
    pickle_print(self->to, "frames [");
    if (tag) {
        pickle_print(self->to, "{name %s filename tag line %d}", stream->labels[tag - 1], block->birth_op);
    }
    if (step) {
        pickle_print(self->to, "{name %s filename step line %d}",
                     stream->labels[self->drawn->steps[step - 1].label], (uint64_t)step);
    }
    pickle_print(self->to, "]");
}

static uint64_t memviz_time(memviz *self, uint64_t now_vns)
{
    if (now_vns / 1000 > self->now_us) self->now_us = now_vns / 1000;
    return self->now_us;
}

/* Writes an event. address: the key of the number that follows; the number is an address, unless memory ran out. */
static void memviz_item(memviz *self, const char *action, const char *address, uint64_t number, uint64_t bytes,
                        uint64_t stream, uint64_t now_vns, const record_block *block)
{
    pickle_item(self->to, &self->items);
    pickle_print(self->to, "{action %w %w %d size %d stream %d time_us %d", action, address, number, bytes, stream,
                 memviz_time(self, now_vns));
    memviz_frames(self, block);
    pickle_print(self->to, "}");
}

static void memviz_block(memviz *self, const char *action, const record_block *block, uint64_t now_vns)
{
    memviz_item(self, action, "addr", MEMVIZ_BASE + block->offset, block->requested_bytes, block->stream, now_vns,
                block);
}

static void memviz_happen(memviz *self, const memviz_entry *event)
{
    static const char *const changes[2][2] = {
        { "segment_free", "segment_alloc" }, { "segment_unmap", "segment_map" },
    };
    const record *drawn = self->drawn;
    const memviz_kind kind = (memviz_kind)event->second;
    if (kind == MEMVIZ_CHANGE) {
        const record_change *change = &drawn->changes[event->third];
        memviz_item(self, changes[change->is_pages][change->comes], "addr", MEMVIZ_BASE + change->offset,
                    change->bytes, 0, change->now_vns, NULL);
    } else if (kind == MEMVIZ_REFUSAL) {
        const cell *left = &self->shown->cells[COLUMN_OOM_FREE];
        memviz_item(self, "oom", "device_free", left->kind == CELL_COUNT ? left->count : 0,
                    drawn->refusal.requested_bytes, 0, 0, NULL);
    } else {
        const record_block *block = &drawn->blocks[event->third];
        if (kind == MEMVIZ_ALLOC) memviz_block(self, "alloc", block, block->birth_vns);
        else memviz_block(self, "free_requested", block, block->death_vns);
        if (kind == MEMVIZ_FREE) memviz_block(self, "free_completed", block, block->death_vns);
    }
}

/* Begins the steps up to this operation. */
static void memviz_steps(memviz *self, uint64_t number)
{
    const record *drawn = self->drawn;
    for (; self->step_count < drawn->step_count && drawn->steps[self->step_count].op <= number; self->step_count++) {
        self->now_us++;
        self->step_us[self->step_count] = memviz_time(self, drawn->steps[self->step_count].now_vns);
    }
}

/* Writes the history. Events are sorted by operation, kind, and the index of the block or change. */
static void memviz_history(memviz *self)
{
    const record *drawn = self->drawn;
    size_t count = 0;
    memviz_entry *events = program_need(drawn->block_count * 2 + drawn->change_count + 1, sizeof *events);
    for (size_t at = 0; at < drawn->block_count; at++) {
        events[count++] = (memviz_entry){ drawn->blocks[at].birth_op, MEMVIZ_ALLOC, at };
        events[count++] = (memviz_entry){ drawn->blocks[at].death_op, MEMVIZ_FREE, at };
    }
    for (size_t at = 0; at < drawn->change_count; at++) {
        events[count++] = (memviz_entry){ drawn->changes[at].op, MEMVIZ_CHANGE, at };
    }
    if (drawn->refusal.happened) events[count++] = (memviz_entry){ drawn->refusal.op, MEMVIZ_REFUSAL, 0 };
    qsort(events, count, sizeof *events, memviz_compare);
    self->step_us = program_need(drawn->step_count, sizeof *self->step_us);
    self->items = 0;
    pickle_print(self->to, "[");
    for (size_t at = 0; at < count && events[at].key < drawn->map_ops; at++) {
        memviz_steps(self, events[at].key);
        memviz_happen(self, &events[at]);
    }
    memviz_steps(self, drawn->op_count);
    pickle_print(self->to, "]");
    free(events);
}

/* ---- The state at the end: segments, and in each the live blocks and the free memory between them */

/* Writes a block, or free memory if block is NULL. */
static void memviz_piece(memviz *self, uint64_t offset, uint64_t bytes, const record_block *block)
{
    pickle_item(self->to, &self->items);
    pickle_print(self->to, "{address %d size %d requested_size %d state %w", MEMVIZ_BASE + offset, bytes,
                 block ? block->requested_bytes : bytes, block ? "active_allocated" : "inactive");
    memviz_frames(self, block);
    pickle_print(self->to, "}");
}

/* The bytes of a block within its segment. A block may be longer than the memory that was asked of the driver for it
   alone. */
static uint64_t memviz_within(const record_block *block, uint64_t end)
{
    return block->bytes < end - block->offset ? block->bytes : end - block->offset;
}

/* Writes a segment with its blocks, which are those that begin before its end. Returns the first of the remaining
   blocks. */
static const memviz_entry *memviz_segment(memviz *self, const memviz_entry *segment, uint64_t ordinal,
                                          const memviz_entry *lives, const memviz_entry *lives_end)
{
    const record_block *blocks = self->drawn->blocks;
    uint64_t used = 0, requested = 0, place = segment->key, end = segment->key + segment->second;
    const memviz_entry *next = lives;
    for (; next < lives_end && next->key < end; next++) {
        if (next->key < place) continue;
        used += memviz_within(&blocks[next->second], end);
        requested += blocks[next->second].requested_bytes;
    }
    pickle_print(self->to, "{device %d address %d total_size %d allocated_size %d active_size %d requested_size %d "
                 "stream %d segment_type large is_expandable %b", ordinal, MEMVIZ_BASE + place, segment->second,
                 used, used, requested, UINT64_C(0), (int)segment->third);
    memviz_frames(self, NULL);
    pickle_print(self->to, "blocks [");
    self->items = 0;
    for (; lives < next; lives++) {
        const record_block *block = &blocks[lives->second];
        if (block->offset < place) continue;     /* the block lies in no segment */
        if (block->offset > place) memviz_piece(self, place, block->offset - place, NULL);
        place = block->offset + memviz_within(block, end);
        memviz_piece(self, block->offset, place - block->offset, block);
    }
    if (place < end) memviz_piece(self, place, end - place, NULL);
    pickle_print(self->to, "]}");
    return next;
}

/* Writes the segments of one row into the list of all, with the blocks that did not die in the record, by place. */
static void memviz_end_state(memviz *self, uint64_t ordinal, unsigned *count)
{
    const record *drawn = self->drawn;
    size_t segment_count, live_count = 0;
    memviz_entry *segments = memviz_segments(drawn, &segment_count);
    memviz_entry *lives = program_need(drawn->block_count, sizeof *lives);
    const memviz_entry *next = lives;
    for (size_t at = 0; at < drawn->block_count; at++) {
        const record_block *block = &drawn->blocks[at];
        if (block->death_op >= drawn->map_ops) lives[live_count++] = (memviz_entry){ block->offset, at, 0 };
    }
    qsort(lives, live_count, sizeof *lives, memviz_compare);
    for (size_t index = 0; index < segment_count; index++) {
        pickle_item(self->to, count);
        next = memviz_segment(self, &segments[index], ordinal, next, lives + live_count);
    }
    free(segments);
    free(lives);
}

static void memviz_write(FILE *out, const report *material)
{
    static const record nothing;
    const row_list *list = &material->list;
    pickle to = { .out = out };
    unsigned segments = 0, traces = 0, annotations = 0;
    char note[ROW_NOTE_ROOM];
    memviz *rows = program_need(list->count, sizeof *rows);
    fputs("\x80\x02", out);
    pickle_print(&to, "{segments [");
    for (size_t at = 0; at < list->count; at++) {
        const record *drawn = list->rows[at].recording;
        rows[at] = (memviz){ .to = &to, .drawn = drawn && drawn->stream ? drawn : &nothing,
                             .shown = &list->rows[at] };
        memviz_end_state(&rows[at], at, &segments);
    }
    pickle_print(&to, "] device_traces [");
    for (size_t at = 0; at < list->count; at++) {
        pickle_item(&to, &traces);
        memviz_history(&rows[at]);
    }
    pickle_print(&to, "] external_annotations [");
    for (size_t at = 0; at < list->count; at++) {
        const record *drawn = rows[at].drawn;
        for (size_t step = 0; step < rows[at].step_count; step++) {
            pickle_item(&to, &annotations);
            pickle_print(&to, "{stage START name %s device %d time_us %d}",
                         drawn->stream->labels[drawn->steps[step].label], (uint64_t)at, rows[at].step_us[step]);
        }
        free(rows[at].step_us);
    }
    pickle_print(&to, "]");
    /* readers ignore keys that they do not know */
    if (*row_list_note(list, note, sizeof note)) pickle_print(&to, "not_all_rows %s", note);
    pickle_print(&to, "}");
    fputc('.', out);
    free(rows);
}

const output_kind output_memviz = {
    "memviz", "run", 0, RECORD_MAP, memviz_write,
    "of run: a memory snapshot for pytorch.org/memory_viz: a device a row; frames are tags and steps. "
    "replay:FILE.pickle plays it again",
};
