#include "judge.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../base/array.h"

/* Touches of earlier tenancies, then those of this one: each part by line and place, the latest touch of each. */
struct touch_history {
    uint64_t owner;                              /* of this tenancy */
    uint32_t references, earlier_count, own_count;
    touch    touches[];
};

void judge_report(judge *book, int device, const char *format, ...)
{
    uint64_t index = book->count++;
    if (device >= 0 && device < SIM_MAX_DEVICES) book->by_device[device]++;
    if (index >= JUDGE_KEPT) return;
    char when[32] = "before the first op", *text = book->texts[index];
    if (book->op_begun) snprintf(when, sizeof when, "op %" PRIu64, book->op);
    int length = snprintf(text, JUDGE_TEXT, "%s: device %d: ", when, device);
    va_list values;
    va_start(values, format);
    vsnprintf(text + length, JUDGE_TEXT - (size_t)length, format, values);
    va_end(values);
}

void judge_is_of_order(judge *book)
{
    if (book->count <= JUDGE_KEPT) book->are_of_order[book->count - 1] = 1;
}

const char *judge_text(const judge *book, uint64_t index)
{
    return index < book->count && index < JUDGE_KEPT ? book->texts[index] : NULL;
}

/* ---- Vector clocks, each an array as long as it had to be */

int vclock_reserve(vclock *clock, uint32_t count)
{
    if (count <= clock->count) return 0;
    uint64_t *at = realloc(clock->at, count * sizeof *at);
    if (!at) return -1;
    memset(at + clock->count, 0, (count - clock->count) * sizeof *at);
    clock->at = at;
    clock->count = count;
    return 0;
}

uint64_t vclock_get(const vclock *clock, uint32_t line)
{
    return line < clock->count ? clock->at[line] : 0;
}

void vclock_join(vclock *clock, const vclock *other)
{
    for (uint32_t i = 0; i < other->count; i++) memory_raise(&clock->at[i], other->at[i]);
}

void vclock_copy(vclock *clock, const vclock *other)
{
    if (clock->count > 0) memset(clock->at, 0, clock->count * sizeof *clock->at);
    vclock_join(clock, other);
}

void vclock_destroy(vclock *clock)
{
    free(clock->at);
    memset(clock, 0, sizeof *clock);
}

/* ---- Histories: made from the one before and one more touch, without those that the host has outlived */

/* NULL stays NULL */
static touch_history *touch_history_keep(touch_history *self)
{
    if (self) self->references++;
    return self;
}

static void touch_history_drop(touch_history *self)
{
    if (self && --self->references == 0) free(self);
}

static uint32_t history_put(touch *list, uint32_t count, const touch *one, const vclock *host)
{
    if (vclock_get(host, one->line) < one->position) list[count++] = *one;
    return count;
}

static int history_order(const touch *one, const touch *other)
{
    if (one->line != other->line) return one->line < other->line ? -1 : 1;
    return one->place < other->place ? -1 : one->place > other->place;
}

/* Both by line and place: the later touch of each, unless the host has outlived it. Room for both. */
static uint32_t history_merge(touch *list, const touch *one, uint32_t one_count, const touch *other,
                              uint32_t other_count, const vclock *host)
{
    uint32_t count = 0, i = 0, j = 0;
    while (i < one_count || j < other_count) {
        int order = i == one_count ? 1 : j == other_count ? -1 : history_order(&one[i], &other[j]);
        if (order < 0) {
            count = history_put(list, count, &one[i++], host);
        } else if (order > 0) {
            count = history_put(list, count, &other[j++], host);
        } else {
            count = history_put(list, count, one[i].position > other[j].position ? &one[i] : &other[j], host);
            i++;
            j++;
        }
    }
    return count;
}

/* The history after one more touch, kept once. 0, or -1: no host memory. */
static int touch_history_next(const touch_history *self, const touch_by *by, touch_history **next)
{
    uint32_t earlier_count = self ? self->earlier_count : 0, own_count = self ? self->own_count : 0;
    touch_history *made = malloc(sizeof *made + (earlier_count + own_count + 1) * sizeof(touch));
    if (!made) return -1;
    const touch *earlier = self ? self->touches : NULL, *own = self ? self->touches + earlier_count : NULL;
    int is_handed_over = self && self->owner != by->owner;
    made->owner = by->owner;
    made->references = 1;
    made->earlier_count = history_merge(made->touches, earlier, earlier_count, own, is_handed_over ? own_count : 0,
                                        by->host);
    made->own_count = history_merge(made->touches + made->earlier_count, own, is_handed_over ? 0 : own_count,
                                    &by->latest, 1, by->host);
    *next = made;
    return 0;
}

/* The first touch that this one does not come after; NULL: none. ending: the tenancy's own count, too. */
static const touch *touch_history_unordered(const touch_history *self, const touch_by *by, int ending)
{
    if (!self) return NULL;
    uint32_t count = self->earlier_count + (ending || self->owner != by->owner ? self->own_count : 0);
    for (uint32_t i = 0; i < count; i++) {
        if (vclock_get(by->seen, self->touches[i].line) < self->touches[i].position) {
            return &self->touches[i];
        }
    }
    return NULL;
}

/* A touch by the present owner, another one and no graph, since this graph was captured; NULL: none. */
static const touch *touch_history_taken(const touch_history *self, const touch_by *by)
{
    uint32_t own_count = self && by->latest.is_launched && self->owner != by->owner ? self->own_count : 0;
    for (uint32_t i = 0; i < own_count; i++) {
        const touch *own = &self->touches[self->earlier_count + i];
        if (!own->is_launched && own->op > by->captured_op) return own;
    }
    return NULL;
}

/* The first touch through the place that the host has not outlived; NULL: none. */
static const touch *touch_history_pending(const touch_history *self, uint64_t place, const vclock *host)
{
    uint32_t count = self ? self->earlier_count + self->own_count : 0;
    for (uint32_t i = 0; i < count; i++) {
        const touch *one = &self->touches[i];
        if (one->place == place && vclock_get(host, one->line) < one->position) return one;
    }
    return NULL;
}

static int history_same_touch(const touch *one, const touch *other)
{
    return one->line == other->line && one->place == other->place && one->position == other->position;
}

/* A position on a line is one command, of one operation on one stream. */
static int touch_history_equal(const touch_history *one, const touch_history *other)
{
    if (one == other) return 1;
    if (!one || !other || one->owner != other->owner || one->earlier_count != other->earlier_count
        || one->own_count != other->own_count) {
        return 0;
    }
    for (uint32_t i = 0; i < one->earlier_count + one->own_count; i++) {
        if (!history_same_touch(&one->touches[i], &other->touches[i])) return 0;
    }
    return 1;
}

/* ---- The map: pieces of granules in sorted arrays, cut at the ends of what is touched, merged where equal */

/* A change of [from, to) of one granule. The last history that was replaced, and by what: neighbours often share. */
typedef struct touch_change {
    const touch_by *by;
    int             ending;
    touch          *other;
    touch_verdict   result;
    int             has_replaced;
    const touch_history *replaced;
    touch_history  *replacement;
    uint32_t        fresh_count;
} touch_change;

static int touches_reserve_granules(touches *all, uint32_t granule)
{
    uint32_t count = all->count;
    if (ARRAY_RESERVE(all->list, all->count, granule + 1)) return -1;
    if (all->count > count) memset(all->list + count, 0, (all->count - count) * sizeof *all->list);
    return 0;
}

static int touches_start(touched_granule *at)
{
    const touch_piece whole = { 0, 0, NULL };
    if (at->count > 0) return 0;
    if (ARRAY_RESERVE(at->pieces, at->capacity, 1)) return -1;
    at->pieces[0] = whole;
    at->count = 1;
    return 0;
}

/* The piece that a byte lies in. */
static uint32_t touches_index(const touched_granule *at, uint32_t byte)
{
    size_t rank;
    ARRAY_RANK(&rank, at->count, i, at->pieces[i].from <= byte);
    return (uint32_t)rank - 1;
}

/* What becomes of a piece's history, kept once. */
static int touches_replace(touch_change *change, const touch_history *history, touch_history **fresh)
{
    if (change->has_replaced && history == change->replaced) {
        *fresh = touch_history_keep(change->replacement);
        return 0;
    }
    const touch *unordered = touch_history_unordered(history, change->by, change->ending);
    const touch *bad = unordered || change->ending ? unordered : touch_history_taken(history, change->by);
    if (bad && change->result == TOUCH_IN_ORDER) {
        change->result = unordered ? TOUCH_UNORDERED : TOUCH_TAKEN;
        *change->other = *bad;
    }
    *fresh = NULL;
    return change->ending ? 0 : touch_history_next(history, change->by, fresh);
}

/* Tells histories of different owners apart without a look at them: most differ so, and few are in a cache. */
static uint32_t touches_mark(const touch_history *history)
{
    return history ? (uint32_t)(history->owner ^ history->owner >> 32) | 1 : 0;
}

static int touches_equal(const touch_piece *one, const touch_piece *other)
{
    return one->mark == other->mark && touch_history_equal(one->history, other->history);
}

/* Adds a piece to the fresh ones, or to the last of them if they are equal. Takes over the history's reference. */
static void touches_put(touches *all, touch_change *change, uint32_t from, touch_history *history)
{
    const touch_piece made = { from, touches_mark(history), history };
    if (change->fresh_count > 0 && touches_equal(&all->fresh[change->fresh_count - 1], &made)) {
        touch_history_drop(history);
        return;
    }
    all->fresh[change->fresh_count++] = made;
}

static void touches_abandon(touches *all, touch_change *change)
{
    while (change->fresh_count > 0) {
        touch_history_drop(all->fresh[--change->fresh_count].history);
    }
    change->result = TOUCH_NO_HOST_MEMORY;
}

/* The pieces first..last, which [from, to) overlaps, anew: what is outside stays as it was. */
static void touches_make_fresh(touches *all, touched_granule *at, uint32_t first, uint32_t last, uint32_t from,
                               uint32_t to, touch_change *change)
{
    for (uint32_t i = first; i <= last; i++) {
        touch_piece piece = at->pieces[i];
        uint32_t end = i + 1 < at->count ? at->pieces[i + 1].from : (uint32_t)SIM_GRANULE;
        touch_history *fresh;
        if (piece.from < from) touches_put(all, change, piece.from, touch_history_keep(piece.history));
        if (touches_replace(change, piece.history, &fresh)) {
            touches_abandon(all, change);
            return;
        }
        change->has_replaced = 1;
        change->replaced = piece.history;
        touches_put(all, change, piece.from > from ? piece.from : from, fresh);
        change->replacement = all->fresh[change->fresh_count - 1].history;
        if (end > to) touches_put(all, change, to, touch_history_keep(piece.history));
    }
}

/* The fresh pieces take the place of first..last, and of a neighbour on either side that is equal to theirs. */
static void touches_splice(touched_granule *at, uint32_t first, uint32_t last, touch_piece *fresh, uint32_t count)
{
    if (first > 0 && touches_equal(&at->pieces[first - 1], &fresh[0])) fresh[0].from = at->pieces[--first].from;
    if (last + 1 < at->count && touches_equal(&at->pieces[last + 1], &fresh[count - 1])) last++;
    for (uint32_t i = first; i <= last; i++) touch_history_drop(at->pieces[i].history);
    memmove(at->pieces + first + count, at->pieces + last + 1, (at->count - last - 1) * sizeof *fresh);
    memcpy(at->pieces + first, fresh, count * sizeof *fresh);
    at->count = at->count - (last - first + 1) + count;
}

static touch_verdict touches_change(touches *all, uint32_t granule, uint32_t from, uint32_t to, touch_change *change)
{
    if (touches_reserve_granules(all, granule) || touches_start(&all->list[granule])) {
        return TOUCH_NO_HOST_MEMORY;
    }
    touched_granule *at = &all->list[granule];
    uint32_t first = touches_index(at, from), last = touches_index(at, to - 1);
    if (ARRAY_RESERVE(all->fresh, all->fresh_capacity, last - first + 3)
        || ARRAY_RESERVE(at->pieces, at->capacity, at->count + 2)) {
        return TOUCH_NO_HOST_MEMORY;
    }
    touches_make_fresh(all, at, first, last, from, to, change);
    if (change->result != TOUCH_NO_HOST_MEMORY) {
        touches_splice(at, first, last, all->fresh, change->fresh_count);
    }
    return change->result;
}

touch_verdict touches_add(touches *all, uint32_t granule, uint32_t from, uint32_t to, const touch_by *by,
                          touch *other)
{
    touch_change change = { by, 0, other, TOUCH_IN_ORDER, 0, NULL, NULL, 0 };
    return touches_change(all, granule, from, to, &change);
}

touch_verdict touches_end(touches *all, uint32_t granule, uint32_t from, uint32_t to, const touch_by *by,
                          touch *other)
{
    touch_change change = { by, 1, other, TOUCH_IN_ORDER, 0, NULL, NULL, 0 };
    if (touches_piece_count(all, granule) == 0) return TOUCH_IN_ORDER;
    return touches_change(all, granule, from, to, &change);
}

int touches_pending(const touches *all, uint32_t granule, uint64_t place, const vclock *host, touch *other)
{
    for (uint32_t i = 0; i < touches_piece_count(all, granule); i++) {
        const touch *found = touch_history_pending(all->list[granule].pieces[i].history, place, host);
        if (found) {
            *other = *found;
            return 1;
        }
    }
    return 0;
}

uint32_t touches_piece_count(const touches *all, uint32_t granule)
{
    return granule < all->count ? all->list[granule].count : 0;
}

void touches_destroy(touches *all)
{
    for (uint32_t i = 0; i < all->count; i++) {
        for (uint32_t j = 0; j < all->list[i].count; j++) {
            touch_history_drop(all->list[i].pieces[j].history);
        }
        free(all->list[i].pieces);
    }
    free(all->list);
    free(all->fresh);
    memset(all, 0, sizeof *all);
}
