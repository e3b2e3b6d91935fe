/* Random programs of calls, each like some of the things that programs do: rows tell which ops there are, how often,
   and of which figures.
   It must not know what they will meet. Included by test_space.c. */
#ifndef TESTS_SPACE_DRAW_H
#define TESTS_SPACE_DRAW_H

#include <stdlib.h>
#include "space.h"

static uint64_t draw_state;

static uint64_t draw(uint64_t bound) { return splitmix64_next(&draw_state) % bound; }

#include "space_text.h"

/* What programs are like; each has about half of it. */
enum { DRAW_FAULTS = 1 << 0, DRAW_HOST_FAULTS = 1 << 1, DRAW_LIMITS = 1 << 2, DRAW_RELEASE = 1 << 3,
       DRAW_ALIGNED = 1 << 4, DRAW_STREAMS = 1 << 5, DRAW_RIVAL = 1 << 6, DRAW_FLAGS = 1 << 7, DRAW_LARGE = 1 << 8,
       DRAW_HUGE = 1 << 9, DRAW_ALIKE = 1 << 10, DRAW_RESIZE = 1 << 11, DRAW_CALM = 1 << 12, DRAW_TAGS = 1 << 13,
       DRAW_MARKS = 1 << 14, DRAW_THREADS = 1 << 15, DRAW_HEAPS = 1 << 16, DRAW_MISUSE = 1 << 17,
       DRAW_CAPTURES = 1 << 18, DRAW_ANY = 1 << 19, DRAW_ENDS = 1 << 20, DRAW_LONG = 1 << 21, DRAW_FREES = 1 << 22,
       DRAW_RECIPES = 1 << 23 };

/* ---- figures as text: of the terms between the bars one, as often as its weight tells
       [WEIGHTx] LOW[-HIGH] [<LOW[-HIGH]] [~BY]: between LOW and HIGH, shifted to the left, and up to BY more or less
   A figure has a unit, K, M or G, or is a letter: what draw_named tells; or @, one of the program's streams. */

static uint64_t draw_named[26];
static uint32_t draw_streams;                    /* a bit for each */
#define NAMED(letter) draw_named[(letter) - 'a']

static uint64_t draw_figure(const char **at)
{
    static const char units[] = "KMG";
    char *end;
    if (**at >= 'a' && **at <= 'z') return NAMED(*(*at)++);
    if (**at == '@') {
        uint64_t stream;
        do stream = draw(SPACE_ALL_STREAMS); while (!(draw_streams >> stream & 1));
        ++*at;
        return stream;
    }
    uint64_t value = strtoull(*at, &end, 10);    /* -1: the highest */
    const char *unit = *end ? strchr(units, *end) : NULL;
    *at = end + (unit != NULL);
    return unit ? value << 10 * (unit - units + 1) : value;
}

static uint64_t draw_range(const char **at)
{
    uint64_t low = draw_figure(at);
    if (**at != '-') return low;
    ++*at;
    return low + draw(draw_figure(at) - low + 1);
}

static uint64_t draw_term(const char *at)
{
    uint64_t value = draw_range(&at);
    if (*at == '<' && at++) value <<= draw_range(&at);
    if (*at != '~') return value;
    at++;
    uint64_t by = draw_figure(&at);
    return value + draw(2 * by + 1) - by;
}

static uint64_t draw_number(const char *values) { return draw_term(draw_choice(values)); }

/* Behind a text one of the values; terms in braces are drawn. */
static void draw_words(char text[DRAW_TEXT], const char *values)
{
    size_t length = strlen(text);
    for (const char *at = draw_choice(values); *at && *at != '|'; at++)
        if (*at != '{') text[length++] = *at;
        else {
            length += (size_t)snprintf(text + length, DRAW_TEXT - length, "%" PRIu64, draw_term(at + 1));
            at = strchr(at, '}');
        }
    text[length] = '\0';
}

/* ---- ops as rows */

typedef struct draw_table { const struct draw_row *rows; size_t count; } draw_table;

/* An op, or ops of a recipe one after the other; or, where the share is 0, what else is set in ops of a kind. */
typedef struct draw_row {
    uint64_t share;                              /* of all; in a recipe: how many times */
    space_kind kind;                             /* KINDS: any */
    uint64_t like;                               /* only in programs that are like all that */
    uint64_t one_in;                             /* where the share is 0: in one of so many; 0: in all */
    uint32_t flags;                              /* besides those that it has */
    const char *slot, *stream, *bytes, *alignment;
    const int *calls;                            /* instead of slot: the kinds, up to -1 */
    draw_table recipe;
} draw_row;
#define ROWS(table) { table, COUNT(table) }
#define RECIPE(table) .recipe = ROWS(table)
#define DRAW_EACH(table, row) for (const draw_row *row = (table).rows; row < (table).rows + (table).count; row++)

static void draw_set(space_op *op, const draw_row *row)
{
    op->flags |= row->flags;
    if (row->slot) op->slot = (int)draw_number(row->slot);
    if (row->stream) op->stream = (int)draw_number(row->stream);
    if (row->bytes) op->bytes = draw_number(row->bytes);
    if (row->alignment) op->alignment = draw_number(row->alignment);
    if (!row->calls) return;
    uint64_t count = 0;
    while (row->calls[count] >= 0) count++;
    op->slot = row->calls[draw(count)];
}

/* All rows; x is a slot of this recipe, i the number of the repetition. */
static size_t draw_recipe(space_op *ops, draw_table recipe)
{
    size_t made = 0;
    NAMED('x') = draw(SHADOW_SLOTS);
    DRAW_EACH(recipe, row) {
        uint64_t times = row->share ? row->share : draw(row->one_in) == 0;
        for (uint64_t at = 0; at < times; at++) {
            NAMED('i') = at;
            if (row->recipe.rows) made += draw_recipe(&ops[made], row->recipe);
            else {
                ops[made] = (space_op){ .kind = row->kind };
                draw_set(&ops[made++], row);
            }
        }
    }
    return made;
}

/* One of the rows; p and q are streams. How many ops. */
static size_t draw_some(space_op *ops, draw_table table, uint64_t like)
{
    const draw_row *chosen = table.rows;
    uint64_t sum = 0;
    DRAW_EACH(table, row) {
        if (row->like & ~like || !row->share) continue;
        sum += row->share;
        if (draw(sum) < row->share) chosen = row;
    }
    if (chosen->recipe.rows) {
        NAMED('p') = draw_number("@");
        NAMED('q') = draw_number("@");
        return draw_recipe(ops, chosen->recipe);
    }
    ops[0] = (space_op){ .kind = chosen->kind };
    DRAW_EACH(table, row) {
        int more = !row->share && !(row->like & ~like) && (row->kind == SPACE_KINDS || row->kind == chosen->kind);
        if (row == chosen || (more && (!row->one_in || draw(row->one_in) == 0))) draw_set(&ops[0], row);
    }
    return 1;
}

/* So many ops, or some more; no fault behind a fault. */
static size_t draw_ops(space_op *ops, size_t most, draw_table table, uint64_t like)
{
    size_t count = 0;
    while (count < most) {
        space_op *op = &ops[count];
        size_t made = draw_some(op, table, like);
        if (op->kind == SPACE_LIMIT) NAMED('l') = op->bytes < GIB(4) ? op->bytes : GIB(1);
        if (op->kind != SPACE_FAULT || !count || op[-1].kind != SPACE_FAULT) count += made;
    }
    return count;
}

/* ---- any configuration */

static const draw_row draw_any[] = {
    { 0, SPACE_KINDS, 0, .slot = "0-63" },
    { 0, SPACE_KINDS, DRAW_CALM, .slot = "0-11" },
    { 350, SPACE_ALLOC, 0, .bytes = "100x1-600|100x1-64K|100x1-3M|200x8-15<5-20~1|100x1-16M|0" },
    { 150, SPACE_ALLOC, DRAW_LARGE, .bytes = "40x1-16M|9x1-70M|1<0-63" },
    { 0, SPACE_ALLOC, DRAW_ALIGNED, .one_in = 3, .alignment = "1<0-24" },
    { 0, SPACE_ALLOC, DRAW_FLAGS, .one_in = 8, .flags = GPUARENA_ALLOC_TRY },
    { 0, SPACE_ALLOC, DRAW_FLAGS, .one_in = 8, .flags = GPUARENA_ALLOC_DEDICATED },
    { 0, SPACE_ALLOC, DRAW_FLAGS, .one_in = 8, .flags = SPACE_ROOM },
    { 0, SPACE_ALLOC, DRAW_TAGS, .one_in = 2, .flags = SPACE_TAG },
    { 0, SPACE_ALLOC, DRAW_TAGS, .one_in = 2, .flags = 2 * SPACE_TAG },
    { 0, SPACE_ALLOC, DRAW_TAGS, .one_in = 2, .flags = SPACE_SCOPED },
    { 0, SPACE_ALLOC, DRAW_STREAMS, .one_in = 16, .flags = SPACE_UNUSED },
    { 0, SPACE_ALLOC, DRAW_THREADS, .one_in = 16, .flags = SPACE_ELSEWHERE },
    { 350, SPACE_FREE, 0, .flags = 0 },
    { 0, SPACE_FREE, DRAW_TAGS, .one_in = 4, .flags = SPACE_SCOPED },
    { 53, SPACE_WORK, DRAW_STREAMS, .bytes = "0-300000" },
    { 27, SPACE_USE, DRAW_STREAMS, .flags = 0 },
    { 0, SPACE_KINDS, DRAW_STREAMS, .stream = "0-4" },
    { 0, SPACE_FREE, 0, .one_in = 4, .stream = "5" },
    { 40, SPACE_RESIZE, DRAW_RESIZE, .stream = "5", .bytes = "1-600|1-64K|1-3M|2x8-15<5-20~1|1-16M" },
    { 7, SPACE_TRIM, 0, .bytes = "0-100M" },
    { 7, SPACE_LIMIT, DRAW_LIMITS, .bytes = "8x0-139<20|-1" },
    { 7, SPACE_RESERVE, 0, .bytes = "0-120M" },
    { 1, SPACE_RESET, 0, .stream = "0-3" },
    { 7, SPACE_RIVAL, DRAW_RIVAL, .bytes = "0-520M" },
    { 7, SPACE_FAULT, DRAW_FAULTS, .slot = "0-c", .alignment = "1-3" },
    { 0, SPACE_FAULT, 0, .one_in = 2, .flags = SPACE_UNKNOWN },
    { 5, SPACE_WORK, 0, .stream = "0-3", .bytes = "0-200000" },
    { 2, SPACE_RENEW, 0, .stream = "0-3" },
    { 7, SPACE_PEAKS, 0, .flags = 0 },
    { 14, SPACE_PASS, 0, .bytes = "0-200000" },
    { 4, SPACE_MISUSE, 0, .slot = "0-4", .bytes = "0--2" },
    { 7, SPACE_MARK, DRAW_MARKS, .flags = 0 },
    { 7, SPACE_SINCE, DRAW_MARKS, .flags = 0 },
    { 0, SPACE_SINCE, DRAW_STREAMS, .stream = "0-5" },
    { 0, SPACE_SINCE, DRAW_TAGS, .one_in = 4, .flags = SPACE_TAG },
    { 0, SPACE_SINCE, DRAW_TAGS, .one_in = 4, .flags = 2 * SPACE_TAG }
};

/* ---- small devices: large handles, and driver calls that fail, at any of them. Nothing is pending, nor becomes
   quiet. */

static const int draw_small_calls[] = { SIM_CALL_VM_RESERVE, SIM_CALL_VM_RELEASE, SIM_CALL_VM_CREATE,
                                        SIM_CALL_VM_DESTROY, SIM_CALL_VM_MAP, SIM_CALL_VM_ACCESS, SIM_CALL_VM_UNMAP,
                                        SIM_CALL_INFO, SIM_CALL_OBTAIN, SIM_CALL_GIVE_BACK, SIM_CALL_KINDS, -1 };
static const draw_row draw_small[] = {
    { 0, SPACE_KINDS, 0, .slot = "0-63", .stream = "4", .flags = SPACE_NEXT },
    { 19, SPACE_ALLOC, 0, .bytes = "45x1-3000K|14x1-40M|1G<0-13" },
    { 0, SPACE_ALLOC, 0, .one_in = 6, .flags = SPACE_ROOM },
    { 0, SPACE_ALLOC, 0, .one_in = 12, .flags = GPUARENA_ALLOC_DEDICATED },
    { 0, SPACE_ALLOC, 0, .alignment = "3x0|1M|8M" },
    { 13, SPACE_FREE, 0, .flags = 0 },
    { 6, SPACE_RESIZE, 0, .bytes = "1-20M|1-2M" },
    { 2, SPACE_RESERVE, 0, .bytes = "0-90M" },
    { 2, SPACE_TRIM, 0, .bytes = "0-90M" },
    { 4, SPACE_LIMIT, 0, .bytes = "20M-90M" },
    { 2, SPACE_RIVAL, 0, .bytes = "0-100M" },
    { 96, SPACE_FAULT, 0, .calls = draw_small_calls, .alignment = "1-3|1-24", .flags = SPACE_BRIEF },
    { 0, SPACE_FAULT, 0, .one_in = 3, .flags = SPACE_LASTING },
    { 0, SPACE_FAULT, 0, .one_in = 2, .flags = SPACE_UNKNOWN }
};

/* ---- plain devices: segments whose books are known, sizes near the edges, whatever is refused */

#define DRAW_EDGES "0-3|l~1|1-8<21~1|3x8-15<0-18~1|0-24M|2x0-3M|5x1-256<0-12"
static const int draw_obtain[] = { SIM_CALL_OBTAIN, -1 };
static const draw_row draw_plain[] = {
    { 0, SPACE_KINDS, 0, .slot = "0-63", .stream = "0-3", .flags = SPACE_NEXT },
    { 600, SPACE_ALLOC, 0, .bytes = DRAW_EDGES },
    { 0, SPACE_ALLOC, DRAW_HUGE, .bytes = DRAW_EDGES "|0~600|1<20-63~256" },
    { 0, SPACE_ALLOC, DRAW_ALIKE, .bytes = "15x60K-61K|0-3M" },      /* many free blocks of one class */
    { 0, SPACE_ALLOC, DRAW_ALIGNED, .one_in = 3, .alignment = "1<0-24" },
    { 0, SPACE_ALLOC, DRAW_ALIGNED | DRAW_HUGE, .one_in = 40, .alignment = "1<0-63" },
    { 0, SPACE_ALLOC, DRAW_FLAGS, .one_in = 4, .flags = GPUARENA_ALLOC_TRY },
    { 0, SPACE_ALLOC, 0, .one_in = 2, .flags = SPACE_TAG },
    { 0, SPACE_ALLOC, 0, .one_in = 2, .flags = 2 * SPACE_TAG },
    { 180, SPACE_FREE, 0, .flags = 0 },
    { 300, SPACE_FREE, DRAW_FREES, .flags = 0 },
    { 40, SPACE_MISUSE, DRAW_MISUSE, .slot = "0-4", .bytes = "0--2" },
    { 7, SPACE_TRIM, DRAW_RELEASE, .bytes = "0-100M" },
    { 7, SPACE_RESERVE, 0, .bytes = DRAW_EDGES "|0-l|0-l|0-300M" },
    { 7, SPACE_LIMIT, DRAW_LIMITS, .bytes = "55x2M-252M|0|1|-1|-2|2M" },
    { 1, SPACE_RESET, DRAW_RELEASE, .flags = 0 },
    { 7, SPACE_RIVAL, DRAW_RIVAL, .bytes = "0-d" },
    { 7, SPACE_LARGEST, DRAW_CALM, .bytes = "2x-1|1-20<21" },
    { 100, SPACE_FAULT, DRAW_FAULTS, .calls = draw_obtain, .alignment = "1", .flags = SPACE_BRIEF },
    { 0, SPACE_FAULT, 0, .one_in = 2, .flags = SPACE_CAPTURING },
    { 0, SPACE_FAULT, 0, .one_in = 3, .flags = SPACE_UNKNOWN },
    { 0, SPACE_FAULT, 0, .one_in = 2, .flags = SPACE_LASTING },
    { 100, SPACE_FAULT, DRAW_HOST_FAULTS, .slot = "h", .flags = SPACE_BRIEF }
};

/* ---- busy devices: little memory, streams of all kinds, captures, and calls that fail */

/* A stream ends whose last use of a block the arena alone knows of, and the block is freed on its own stream. */
static const draw_row draw_last_use[] = {
    { 1, SPACE_USE, 0, .slot = "x", .stream = "p", .flags = SPACE_NEXT },
    { 1, SPACE_WORK, 0, .stream = "p", .bytes = "0-40000" },
    { 1, SPACE_RENEW, 0, .slot = "x", .stream = "p", .bytes = "0-1", .flags = SPACE_KEEP | SPACE_STAY },
    { 0, SPACE_FREE, 0, .one_in = 2, .slot = "x", .stream = "5", .flags = SPACE_NEXT }
};
/* What graphs left is used up outside. Before that is done the set ends, or its next capture begins and may run. */
static const draw_row draw_use_up[] = {
    { 1, SPACE_USE, 0, .slot = "x", .stream = "q", .flags = SPACE_NEXT },
    { 1, SPACE_WORK, 0, .slot = "x", .stream = "q", .bytes = "0-40000" },
    { 1, SPACE_FREE, 0, .slot = "x", .stream = "q", .flags = SPACE_NEXT }
};
static const draw_row draw_used_up[] = {
    { SPACE_GRAPHS, SPACE_GRAPH, 0, .slot = "i", .stream = "p", .flags = SPACE_DROP },
    { 6, SPACE_KINDS, 0, RECIPE(draw_use_up) }
};
static const draw_row draw_taken[] = {
    { 6, SPACE_ALLOC, 0, .slot = "0-63", .stream = "p", .bytes = "3x1-64K|2x1-700K|256K<0-2", .flags = SPACE_NEXT }
};
static const draw_row draw_set_ends[] = {
    { 1, SPACE_KINDS, 0, RECIPE(draw_used_up) },
    { 1, SPACE_LETGO, 0, .slot = "0-2", .stream = "q", .bytes = "0-2" },
    { 1, SPACE_KINDS, 0, RECIPE(draw_taken) }
};
static const draw_row draw_set_goes_on[] = {
    { 1, SPACE_KINDS, 0, RECIPE(draw_used_up) },
    { 1, SPACE_CAPTURE, 0, .slot = "0-2", .stream = "p", .bytes = "0-2" },
    { 1, SPACE_KINDS, 0, RECIPE(draw_taken) },
    { 1, SPACE_CAPTURE, 0, .stream = "p" },
    { SPACE_GRAPHS, SPACE_GRAPH, 0, .slot = "i", .stream = "@", .flags = SPACE_LAUNCH }
};

#define DRAW_BUSY_BACKINGS \
    "2xbacking=paged|backing=paged,page=4M|backing=paged,idle=0|backing=paged,idle=20%,large=1M" \
    "|backing=paged,idle=100%|backing=paged,large=3M|backing=segments|backing=segments,growth=fixed" \
    "|backing=segments,growth=exact|backing=segments,growth=step,step=4M|backing=segments,growth=double"
#define DRAW_BUSY_ORDERS "5x|,streams=same|,streams=events|,streams=steal|,wait_ms=1|,streams=steal,wait_ms=1"
#define DRAW_BUSY_LIMIT ",limit={2-w<1}M"

static const int draw_memory_calls[] = { SIM_CALL_OBTAIN, SIM_CALL_VM_RESERVE, SIM_CALL_VM_CREATE, -1 };
static const int draw_other_calls[] = { SIM_CALL_EVENT_WITH_FLAGS, SIM_CALL_EVENT_RECORD, SIM_CALL_EVENT_QUERY,
    SIM_CALL_STREAM_WAIT_EVENT, SIM_CALL_DEVICE_SYNCHRONIZE, SIM_CALL_EVENT_RECORD, SIM_CALL_EVENT_QUERY,
    SIM_CALL_STREAM_WAIT_EVENT, SIM_CALL_STREAM_IS_CAPTURING, SIM_CALL_STREAM_WAIT_EVENT, SIM_CALL_STREAM_WAIT_EVENT,
    SIM_CALL_VM_MAP, SIM_CALL_VM_ACCESS, SIM_CALL_VM_UNMAP, SIM_CALL_VM_DESTROY, SIM_CALL_VM_RELEASE, -1 };
static const draw_row draw_busy[] = {
    { 0, SPACE_KINDS, 0, .slot = "0-63", .stream = "@", .bytes = "3x1-64K|2x1-700K|256K<0-2" },
    { 0, SPACE_KINDS, DRAW_CALM, .slot = "0-11" },
    { 0, SPACE_KINDS, DRAW_LARGE, .bytes = "3x1-64K|2x1-700K|256K<0-2|2x1-6M" },
    { 0, SPACE_KINDS, DRAW_ALIKE, .slot = "0-191", .bytes = "7x1K|14x64K|7x65792|7x700K|5x1-700K" },
    { 900, SPACE_ALLOC, 0, .flags = 0 },
    { 0, SPACE_ALLOC, DRAW_ANY, .one_in = 8, .stream = "4" },
    { 0, SPACE_ALLOC, DRAW_ALIGNED, .one_in = 4, .alignment = "256<0-13" },
    { 0, SPACE_ALLOC, DRAW_FLAGS, .one_in = 4, .flags = GPUARENA_ALLOC_TRY },
    { 0, SPACE_ALLOC, 0, .one_in = 12, .flags = GPUARENA_ALLOC_DEDICATED },
    { 0, SPACE_ALLOC, 0, .one_in = 12, .flags = SPACE_ROOM },
    { 400, SPACE_FREE, 0, .stream = "@|5" },
    { 0, SPACE_FREE, DRAW_ANY, .one_in = 16, .stream = "4" },
    { 140, SPACE_USE, 0, .flags = SPACE_NEXT },
    { 160, SPACE_WORK, 0, .bytes = "0-20000" },
    { 0, SPACE_WORK, DRAW_LONG, .bytes = "0-100000" },
    { 40, SPACE_RESIZE, 0, .stream = "@|2x5" },
    { 80, SPACE_RENEW, DRAW_ENDS, .flags = SPACE_KEEP },
    { 0, SPACE_RENEW, 0, .one_in = 2, .flags = SPACE_STAY },
    { 82, SPACE_CAPTURE, DRAW_CAPTURES, .flags = 0 },
    { 0, SPACE_CAPTURE, 0, .one_in = 2, .flags = SPACE_FORK },
    { 94, SPACE_GRAPH, DRAW_CAPTURES, .flags = SPACE_LAUNCH },
    { 30, SPACE_GRAPH, DRAW_CAPTURES, .flags = 0 },
    { 0, SPACE_GRAPH, 0, .one_in = 4, .flags = SPACE_DROP },
    { 14, SPACE_LETGO, DRAW_CAPTURES, .flags = 0 },
    { 8, SPACE_TRIM, DRAW_RELEASE, .bytes = "0-30M" },
    { 8, SPACE_LIMIT, DRAW_RELEASE, .bytes = "6x2-17<21|2x0-3<21" },
    { 1, SPACE_RESET, 0, .flags = 0 },
    { 1, SPACE_HEAPS, 0, .flags = 0 },
    { 8, SPACE_PASS, 0, .bytes = "0-100000" },
    { 22, SPACE_LONGEST, 0, .flags = 0 },
    { 30, SPACE_KINDS, DRAW_ENDS | DRAW_RECIPES, RECIPE(draw_last_use) },
    { 8, SPACE_KINDS, DRAW_CAPTURES | DRAW_RECIPES, RECIPE(draw_set_ends) },
    { 8, SPACE_KINDS, DRAW_CAPTURES | DRAW_RECIPES, RECIPE(draw_set_goes_on) },
    { 80, SPACE_FAULT, DRAW_FAULTS, .calls = draw_memory_calls, .flags = SPACE_BRIEF },
    { 420, SPACE_FAULT, DRAW_FAULTS, .calls = draw_other_calls, .flags = SPACE_BRIEF | SPACE_UNKNOWN },
    { 0, SPACE_FAULT, 0, .alignment = "4x1|2|3" },
    { 0, SPACE_FAULT, 0, .one_in = 2, .flags = SPACE_LASTING },
    { 300, SPACE_FAULT, DRAW_HOST_FAULTS, .slot = "h", .flags = SPACE_BRIEF }
};

/* ---- quiet programs: small blocks, of which heaps count long for themselves, around peaks */

/* Blocks of slack alone or with none, so that live bytes rise while requested ones fall; or of any small size. */
static const char *const draw_quiet_bytes[] = { "1", "256", "1-256<0-11" };
static const draw_row draw_over[] = {
    { 1, SPACE_LIMIT, 0, .bytes = "0" },
    { SPACE_STREAMS, SPACE_ALLOC, 0, .slot = "i", .stream = "i", .bytes = "1", .flags = SPACE_NEXT },
    { 1, SPACE_LIMIT, 0, .bytes = "-1" }
};
static const draw_row draw_quiet_rows[] = {
    { 0, SPACE_PEAKS, 0, .one_in = 6 },
    { 0, SPACE_KINDS, 0, .one_in = 20, RECIPE(draw_over) },
    { 0, SPACE_SEE, 0, .one_in = 3 }
};

static size_t draw_quiet(space_op *ops, size_t most)
{
    size_t count = 0;
    uint64_t streams = 2 + draw(SPACE_STREAMS - 1);
    ops[count++] = (space_op){ .kind = SPACE_QUIET };
    ops[count++] = (space_op){ .kind = SPACE_HEAPS };
    while (count + 128 < most) {
        const char *bytes = draw_quiet_bytes[draw(COUNT(draw_quiet_bytes))];
        space_kind kind = draw(2) ? SPACE_ALLOC : SPACE_FREE;
        for (uint64_t length = draw(100); length; length--) {
            uint64_t slot = draw(SHADOW_MOST);
            ops[count++] = (space_op){ kind, (int)slot, (int)(slot % streams), draw_number(bytes), 0, 0 };
        }
        count += draw_recipe(&ops[count], (draw_table)ROWS(draw_quiet_rows));
    }
    return count;
}

/* ---- steps that come again, more or less: of the same calls, for which the arena makes plans */

/* With another stream a free follows the block's own. Slots are taken and empty in turn, whatever went before. */
static const draw_row draw_step[] = {
    { 0, SPACE_KINDS, 0, .slot = "0-s", .stream = "2x0|1", .bytes = "0-30000" },
    { 12, SPACE_ALLOC, 0, .bytes = "3x1-300K|3x1-5M|2x256K<0-3" },
    { 0, SPACE_ALLOC, 0, .one_in = 9, .flags = SPACE_TAG },
    { 9, SPACE_FREE, 0, .stream = "5" },
    { 2, SPACE_WORK, 0, .flags = 0 },
    { 1, SPACE_USE, 0, .flags = 0 }
};
/* What may come instead: nothing, another stream's free, and what ends all plans. */
static const draw_row draw_odd[] = {
    { 1, SPACE_TRIM, 0, .bytes = "0-64M" },
    { 1, SPACE_RENEW, 0, .stream = "1" },
    { 3, SPACE_PASS, 0, .bytes = "0-30000" },
    { 3, SPACE_FREE, 0, .slot = "0-s", .stream = "0-1" }
};
/* On busy devices the first slots are the steps'; what comes beside is mostly captures, and takes memory of plans. */
enum { CROSS_SLOTS = 10 };
static const draw_row draw_cross_step[] = {
    { 0, SPACE_KINDS, 0, .slot = "0-9", .stream = "@", .bytes = "2x1-700K|1M-6M" },
    { 1, SPACE_ALLOC, 0, .flags = 0 },
    { 1, SPACE_FREE, 0, .stream = "5" }
};
static const draw_row draw_cross_odd[] = {
    { 0, SPACE_KINDS, 0, .slot = "0-63", .stream = "@", .bytes = "0-1M" },
    { 5, SPACE_PASS, 0, .flags = 0 },
    { 3, SPACE_CAPTURE, 0, .flags = 0 },
    { 0, SPACE_CAPTURE, 0, .one_in = 2, .flags = SPACE_FORK },
    { 4, SPACE_GRAPH, 0, .flags = SPACE_LAUNCH },
    { 1, SPACE_LETGO, 0, .flags = 0 },
    { 0, SPACE_GRAPH, 0, .one_in = 4, .flags = SPACE_DROP },
    { 3, SPACE_ALLOC, 0, .bytes = "1M<0-4" },
    { 1, SPACE_TRIM, 0, .bytes = "0-30M" }
};
/* The streams of a step have nothing any more, and its plan gives up its memory, which a capture set has when the
   step comes again, in a capture. */
static const draw_row draw_give_up[] = {
    { 1, SPACE_PASS, 0, .bytes = "100M" },
    { 1, SPACE_ALLOC, 0, .slot = "y", .stream = "p", .bytes = "1-24<20" },
    { 1, SPACE_FREE, 0, .slot = "y", .stream = "p" }
};
static const draw_row draw_capture_takes[] = {
    { 1, SPACE_ALLOC, 0, .slot = "y", .stream = "p", .bytes = "1-12<20" },
    { 1, SPACE_FREE, 0, .slot = "y", .stream = "p" }
};
static const draw_row draw_adopt[] = {
    { CROSS_SLOTS, SPACE_FREE, 0, .slot = "i", .stream = "5" },
    { 2, SPACE_KINDS, 0, RECIPE(draw_give_up) },
    { 1, SPACE_CAPTURE, 0, .slot = "y", .stream = "p", .bytes = "m" },
    { 3, SPACE_KINDS, 0, RECIPE(draw_capture_takes) },
    { 2, SPACE_CAPTURE, 0, .slot = "y", .stream = "p", .bytes = "m" },
    { 1, SPACE_STEP, 0, .slot = "k" },
    { 1, SPACE_CAPTURE, 0, .slot = "y", .stream = "p", .bytes = "m" }
};

/* How many kinds of steps there are, how long, how often; how many in a row are of one kind; how many of a thousand
   ops another goes before or instead, of one of two tables. Each four steps have their own disorder. */
typedef struct draw_shape {
    uint64_t kinds, least, most;
    int steps, same;
    const char *disorders;
    draw_table step, odd[2];
} draw_shape;
enum { STEP_KINDS = 3, STEP_MOST = 120 };
static const draw_shape draw_shapes[] = {
    { 2, 20, STEP_MOST, 20, 4, "3x0|3|20|100", ROWS(draw_step), { ROWS(draw_step), ROWS(draw_odd) } },
    { STEP_KINDS, 6, 24, 80, 2, "2x0|30|300", ROWS(draw_cross_step), { ROWS(draw_busy), ROWS(draw_cross_odd) } }
};

static size_t draw_odd_ops(space_op *ops, const draw_shape *shape, uint64_t like, int crossed)
{
    size_t made = draw_some(ops, shape->odd[draw(2)], like);
    for (size_t at = 0; at < made && crossed; at++)
        if (ops[at].kind <= SPACE_RESIZE)
            ops[at].slot = CROSS_SLOTS + ops[at].slot % (SHADOW_SLOTS - CROSS_SLOTS);
    return made;
}

/* At most `most`. The steps' streams are all, or few; the first steps may have one stream where others have two. */
static size_t draw_steps(space_op *ops, size_t most, uint64_t like, int crossed)
{
    static space_op steps[STEP_KINDS][STEP_MOST];
    const draw_shape *shape = &draw_shapes[crossed];
    size_t counts[STEP_KINDS], count = 0;
    uint64_t disorder = 0, kind = 0;
    uint32_t streams = draw_streams;
    int one_stream = draw(4) == 0 && !crossed ? (int)draw((uint64_t)shape->steps) : 0;
    NAMED('s') = 11 + draw(SHADOW_SLOTS - 12);
    if (draw(2)) draw_streams = space_bit((int)draw_number("@")) | space_bit((int)draw_number("@"));
    for (uint64_t of = 0; of < shape->kinds; of++) {
        counts[of] = shape->least + draw(shape->most - shape->least);
        for (size_t at = 0; at < counts[of]; at++) {
            (void)draw_some(&steps[of][at], shape->step, like);
            if (at && draw(4) == 0) steps[of][at].bytes = steps[of][draw(at)].bytes;
        }
    }
    draw_streams = streams;
    if (like & DRAW_HEAPS && !crossed) ops[count++] = (space_op){ .kind = SPACE_HEAPS };
    for (int step = 0; step < shape->steps && count + 2 * shape->most + 72 < most; step++) {
        if (step % 4 == 0) {
            disorder = draw_number(shape->disorders);
            for (uint64_t more = crossed ? draw(12) : 0; more; more--)
                count += draw_odd_ops(&ops[count], shape, like, 1);
            NAMED('k') = 1 + kind;
            NAMED('m') = draw(3);
            NAMED('p') = 1 + draw(SPACE_STREAMS - 1);
            NAMED('y') = CROSS_SLOTS + draw(SHADOW_SLOTS - CROSS_SLOTS);
            if (crossed && draw(4) == 0) count += draw_recipe(&ops[count], (draw_table)ROWS(draw_adopt));
        }
        if (step % shape->same == 0) kind = draw(shape->kinds);
        ops[count++] = (space_op){ .kind = SPACE_STEP, .slot = 1 + (int)kind };
        for (size_t at = 0; at < counts[kind]; at++) {
            int odd = draw(1000) < disorder;
            if (odd) count += draw_odd_ops(&ops[count], shape, like, crossed);
            if (odd && !crossed) continue;
            ops[count] = steps[kind][at];
            if (step < one_stream && ops[count].stream == 1) ops[count].stream = 0;
            count++;
        }
    }
    return count;
}

#endif
