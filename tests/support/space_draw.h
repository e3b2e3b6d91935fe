/* Random programs of calls, each like some of the things that programs do: rows tell which ops there are, how often,
   and with which figures. It must not know the state in which ops run. Included by test_space.c. */
#ifndef TESTS_SPACE_DRAW_H
#define TESTS_SPACE_DRAW_H

#include <stdlib.h>
#include "space.h"

static uint64_t draw_state;

static uint64_t draw(uint64_t bound) { return splitmix64_next(&draw_state) % bound; }

#include "space_text.h"

/* Traits of programs; each has about half of them. A bit for each name. */
static const char *const draw_likes[] = {
    "faults", "host_faults", "limits", "release", "aligned", "streams", "rival", "flags", "large", "huge", "alike",
    "resize", "calm", "tags", "marks", "threads", "heaps", "misuse", "captures", "any", "ends", "long", "frees",
    "recipes" };
enum { DRAW_ALIKE = 1 << 10, DRAW_HEAPS = 1 << 16, DRAW_RECIPES = 1 << 23 };

/* ---- figures as text: of the terms between the bars one, as often as its weight tells
       [WEIGHTx] LOW[-HIGH] [<LOW[-HIGH]] [~BY]: between LOW and HIGH, shifted to the left, and up to BY more or less
   A figure has a unit, K, M or G, or is a letter: the value that draw_named tells; or @, one of the program's
   streams. */

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

/* Returns one of the values that stand behind a text; terms in braces are drawn. */
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

/* ---- ops as rows, which programs.txt has */

enum { DRAW_ROWS = 200, DRAW_TABLES = 24, DRAW_CALLS = 16 };

/* An op, or ops of a recipe one after the other; or, where the share is 0, further settings of ops of a kind. */
typedef struct draw_row {
    uint64_t share;                              /* of all; in a recipe: how many times */
    space_kind kind;                             /* KINDS: any */
    uint64_t like;                               /* only in programs that are like all that */
    uint64_t one_in;                             /* where the share is 0: in one of so many; 0: in all */
    uint32_t flags;                              /* besides those that it has */
    const char *slot, *stream, *bytes, *alignment;
    int calls[DRAW_CALLS];                       /* instead of slot: the kinds */
    uint64_t call_count;
    const struct draw_table *recipe;             /* NULL: none */
} draw_row;
typedef struct draw_table { const char *name; const draw_row *rows; size_t count; } draw_table;
static draw_row draw_rows[DRAW_ROWS];
static draw_table draw_tables[DRAW_TABLES];
#define DRAW_EACH(table, row) for (const draw_row *row = (table)->rows; row < (table)->rows + (table)->count; row++)

#define X(name, call) #name,
static const char *const draw_kinds[] = { SPACE_ALL_KINDS(X) "any" };
#undef X
#define X(kind, text, cuda_name, code, cost, trait) #cuda_name,
static const char *const draw_calls[] = { SIM_CALLS(X) "any" };
#undef X
/* A bit each: of allocations nine, of faults four, of streams and captures. */
static const char *const draw_flags[] = {
    "try", "dedicated", "room", "tag", "tag2", "scoped", "unused", "elsewhere", "next",
    "unknown", "lasting", "brief", "capturing", "keep", "stay", "fork", "launch", "drop" };

static void draw_bail(const char *word)
{
    printf("Bail out! tests/property/programs.txt: %s?\n", word);
    exit(1);
}

/* The word's place among others. */
static size_t draw_known(const char *const *names, size_t count, const char *word)
{
    size_t at = 0;
    while (at < count && strcmp(names[at], word)) at++;
    if (at == count) draw_bail(word);
    return at;
}

static uint32_t draw_flag(const char *word)
{
    size_t at = draw_known(draw_flags, COUNT(draw_flags), word);
    return (uint32_t)1 << (at < 9 ? at : at < 13 ? at - 9 : at - 13);
}

static const draw_table *draw_table_of(const char *name)
{
    for (const draw_table *at = draw_tables; at < draw_tables + DRAW_TABLES && at->name; at++)
        if (!strcmp(at->name, name)) return at;
    draw_bail(name);
    return NULL;
}

/* Reads NAME=VALUE, or NAME=VALUE,VALUE.. */
static void draw_take(draw_row *row, char *name)
{
    char *value = strchr(name, '='), *next;
    if (!value) draw_bail(name);
    *value++ = '\0';
    if (!strcmp(name, "slot")) row->slot = value;
    else if (!strcmp(name, "stream")) row->stream = value;
    else if (!strcmp(name, "bytes")) row->bytes = value;
    else if (!strcmp(name, "alignment")) row->alignment = value;
    else if (!strcmp(name, "one_in")) row->one_in = strtoull(value, NULL, 10);
    else if (!strcmp(name, "recipe")) row->recipe = draw_table_of(value);
    else for (; value; value = next) {
        next = strchr(value, ',');
        if (next) *next++ = '\0';
        if (!strcmp(name, "flags")) row->flags |= draw_flag(value);
        else if (!strcmp(name, "like")) row->like |= UINT64_C(1) << draw_known(draw_likes, COUNT(draw_likes), value);
        else if (strcmp(name, "calls") || row->call_count == DRAW_CALLS) draw_bail(name);
        else row->calls[row->call_count++] = (int)draw_known(draw_calls, COUNT(draw_calls), value);
    }
}

/* The share of a row, in ops: a number, or 0 for `also` and `maybe`. */
static uint64_t draw_share(const char *word)
{
    char *end;
    uint64_t share = strtoull(word, &end, 10);
    if (!strcmp(word, "also") || !strcmp(word, "maybe")) return 0;
    if (!share || *end) draw_bail(word);
    return share;
}

static void draw_read_tables(void)
{
    size_t tables = 0, rows = 0;
    draw_table *table = NULL;
    char *text = tap_text(TESTS_FOLDER "/property/programs.txt");    /* kept: rows have words of it */
    for (char *end, *line = text; *line; line = end) {
        end = line + strcspn(line, "\n");
        if (*end) *end++ = '\0';
        char *word = strtok(line, " ");
        if (!word || word[0] == '#') continue;
        if (tables == DRAW_TABLES || rows == DRAW_ROWS) draw_bail("too many rows");
        if (!strcmp(word, "table")) {
            table = &draw_tables[tables++];
            *table = (draw_table){ strtok(NULL, " "), &draw_rows[rows], 0 };
            continue;
        }
        if (!table) draw_bail(word);
        draw_row *row = &draw_rows[rows++];
        row->share = draw_share(word);
        row->kind = (space_kind)draw_known(draw_kinds, COUNT(draw_kinds), strtok(NULL, " "));
        while ((word = strtok(NULL, " "))) draw_take(row, word);
        table->count++;
    }
    for (table = draw_tables; table < draw_tables + DRAW_TABLES && table->name; table++)
        if (!table->count) draw_bail(table->name);
}

static void draw_set(space_op *op, const draw_row *row)
{
    op->flags |= row->flags;
    if (row->slot) op->slot = (int)draw_number(row->slot);
    if (row->stream) op->stream = (int)draw_number(row->stream);
    if (row->bytes) op->bytes = draw_number(row->bytes);
    if (row->alignment) op->alignment = draw_number(row->alignment);
    if (row->call_count) op->slot = row->calls[draw(row->call_count)];
}

/* Makes the ops of all rows; x is a slot of this recipe, i the number of the repetition. */
static size_t draw_recipe(space_op *ops, const draw_table *recipe)
{
    size_t made = 0;
    NAMED('x') = draw(SHADOW_SLOTS);
    DRAW_EACH(recipe, row) {
        uint64_t times = row->share ? row->share : draw(row->one_in) == 0;
        for (uint64_t at = 0; at < times; at++) {
            NAMED('i') = at;
            if (row->recipe) made += draw_recipe(&ops[made], row->recipe);
            else {
                ops[made] = (space_op){ .kind = row->kind };
                draw_set(&ops[made++], row);
            }
        }
    }
    return made;
}

/* Makes the ops of one row; p and q are streams. Returns how many. */
static size_t draw_some(space_op *ops, const draw_table *table, uint64_t like)
{
    const draw_row *chosen = table->rows;
    uint64_t sum = 0;
    DRAW_EACH(table, row) {
        if (row->like & ~like || !row->share) continue;
        sum += row->share;
        if (draw(sum) < row->share) chosen = row;
    }
    if (chosen->recipe) {
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

/* Draws a number of ops, or some more; no fault behind a fault. */
static size_t draw_ops(space_op *ops, size_t most, const draw_table *table, uint64_t like)
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

#define DRAW_BUSY_BACKINGS \
    "2xbacking=paged|backing=paged,page=4M|backing=paged,idle=0|backing=paged,idle=20%,large=1M" \
    "|backing=paged,idle=100%|backing=paged,large=3M|backing=segments|backing=segments,growth=fixed" \
    "|backing=segments,growth=exact|backing=segments,growth=step,step=4M|backing=segments,growth=double"
#define DRAW_BUSY_ORDERS "5x|,streams=same|,streams=events|,streams=steal|,wait_ms=1|,streams=steal,wait_ms=1"
#define DRAW_BUSY_LIMIT ",limit={2-w<1}M"

/* ---- quiet programs: small blocks, of which heaps count long for themselves, around peaks */

/* Blocks of slack alone or with none, so that live bytes rise while requested ones fall; or of any small size. */
static const char *const draw_quiet_bytes[] = { "1", "256", "1-256<0-11" };
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
        count += draw_recipe(&ops[count], draw_table_of("quiet_rows"));
    }
    return count;
}

/* ---- steps that come again, more or less: of the same calls, for which the arena makes plans */

enum { CROSS_SLOTS = 10 };                       /* the first, on busy devices: the steps' */

/* How many kinds of steps there are, how long, how often; how many in a row are of one kind; how many of a thousand
   ops another goes before or instead, of one of two tables. Each four steps have their own disorder. */
typedef struct draw_shape {
    uint64_t kinds, least, most;
    int steps, same;
    const char *disorders;
    const char *step, *odd[2];
} draw_shape;
enum { STEP_KINDS = 3, STEP_MOST = 120 };
static const draw_shape draw_shapes[] = {
    { 2, 20, STEP_MOST, 20, 4, "3x0|3|20|100", "step", { "step", "odd" } },
    { STEP_KINDS, 6, 24, 80, 2, "2x0|30|300", "cross_step", { "busy", "cross_odd" } }
};

static size_t draw_odd_ops(space_op *ops, const draw_shape *shape, uint64_t like, int crossed)
{
    size_t made = draw_some(ops, draw_table_of(shape->odd[draw(2)]), like);
    for (size_t at = 0; at < made && crossed; at++)
        if (ops[at].kind <= SPACE_RESIZE)
            ops[at].slot = CROSS_SLOTS + ops[at].slot % (SHADOW_SLOTS - CROSS_SLOTS);
    return made;
}

/* Makes at most `most` ops. The steps' streams are all, or few; the first steps may have one stream where others have
   two. */
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
            (void)draw_some(&steps[of][at], draw_table_of(shape->step), like);
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
            if (crossed && draw(4) == 0) count += draw_recipe(&ops[count], draw_table_of("adopt"));
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
