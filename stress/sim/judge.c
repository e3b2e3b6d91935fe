#include "judge.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../base/array.h"
#include "../base/program.h"

/* By line, by place, and those of earlier tenancies before those of this one: the latest touch of each. */
struct touch_history {
    uint64_t owner;                              /* of this tenancy */
    uint32_t references, room, count;
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

void vclock_reserve(vclock *clock, uint32_t count)
{
    if (count <= clock->count) return;
    clock->at = program_resize(clock->at, count, sizeof *clock->at);
    memset(clock->at + clock->count, 0, (count - clock->count) * sizeof *clock->at);
    clock->count = count;
}

uint64_t vclock_get(const vclock *clock, uint32_t line)
{
    return line < clock->count ? clock->at[line] : 0;
}

void vclock_join(vclock *clock, const vclock *other)
{
    vclock_reserve(clock, other->count);
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

static touch_history *touch_history_of(const cuts_part *part)
{
    return (touch_history *)(uintptr_t)part->value;
}

static void touch_history_keep(const cuts_part *part)
{
    touch_history *self = touch_history_of(part);
    if (self) self->references++;
}

static void touch_history_drop(const cuts_part *part)
{
    touch_history *self = touch_history_of(part);
    if (self && --self->references == 0) free(self);
}

static int history_order(const touch *one, const touch *other)
{
    if (one->line != other->line) return one->line < other->line ? -1 : 1;
    if (one->place != other->place) return one->place < other->place ? -1 : 1;
    return one->is_own - other->is_own;
}

/* In order, and the later one of two that are alike; unless the host has outlived it. */
static uint32_t history_put(touch *list, uint32_t count, const touch *one, const vclock *host)
{
    if (vclock_get(host, one->line) >= one->position) return count;
    if (count > 0 && history_order(&list[count - 1], one) == 0) {
        if (list[count - 1].position < one->position) list[count - 1] = *one;
        return count;
    }
    list[count] = *one;
    return count + 1;
}

/* One that was there before. */
static uint32_t history_put_before(touch *list, uint32_t count, const touch *one, int is_handed_over,
                                   const vclock *host)
{
    touch kept = *one;
    if (is_handed_over) kept.is_own = 0;
    return history_put(list, count, &kept, host);
}

/* A history of so many touches, kept once more: this one, if it is one part's alone and has the room. */
static touch_history *touch_history_for(touch_history *self, uint32_t count)
{
    if (self && self->references == 1 && count <= self->room) {
        self->references++;
        return self;
    }
    touch_history *made = program_resize(NULL, 1, sizeof *made + count * sizeof(touch));
    made->references = 1;
    made->room = count;
    return made;
}

/* The history after one more touch, kept once more; none, at the end. */
static touch_history *touch_history_next(touches *all, touch_history *self, const touch_by *by)
{
    uint32_t count = 0, i = 0, before_count = self ? self->count : 0;
    int is_handed_over = self && self->owner != by->owner;
    if (by->is_end) return NULL;
    ARRAY_RESERVE(all->scratch, all->room, before_count + 1);
    for (; i < before_count && history_order(&self->touches[i], &by->latest) <= 0; i++) {
        count = history_put_before(all->scratch, count, &self->touches[i], is_handed_over, by->host);
    }
    count = history_put(all->scratch, count, &by->latest, by->host);
    for (; i < before_count; i++) {
        count = history_put_before(all->scratch, count, &self->touches[i], is_handed_over, by->host);
    }
    touch_history *made = touch_history_for(self, count);
    made->owner = by->owner;
    made->count = count;
    memcpy(made->touches, all->scratch, count * sizeof *all->scratch);
    return made;
}

/* The first touch that this one does not come after; NULL: none. At the end the tenancy's own count, too. */
static const touch *touch_history_unordered(const touch_history *self, const touch_by *by)
{
    for (uint32_t i = 0; self && i < self->count; i++) {
        const touch *one = &self->touches[i];
        int counts = !one->is_own || by->is_end || self->owner != by->owner;
        if (counts && vclock_get(by->seen, one->line) < one->position) return one;
    }
    return NULL;
}

/* A touch by the present owner, another one and no graph, since this graph was captured; NULL: none. */
static const touch *touch_history_taken(const touch_history *self, const touch_by *by)
{
    if (!self || by->is_end || !by->latest.is_launched || self->owner == by->owner) return NULL;
    for (uint32_t i = 0; i < self->count; i++) {
        const touch *one = &self->touches[i];
        if (one->is_own && !one->is_launched && one->op > by->captured_op) return one;
    }
    return NULL;
}

/* The first touch through the place that the host has not outlived; NULL: none. */
static const touch *touch_history_pending(const touch_history *self, uint64_t place, const vclock *host)
{
    for (uint32_t i = 0; self && i < self->count; i++) {
        const touch *one = &self->touches[i];
        if (one->place == place && vclock_get(host, one->line) < one->position) return one;
    }
    return NULL;
}

/* A position on a line is one command, of one operation on one stream. */
static int touch_history_equal(const touch_history *one, const touch_history *other)
{
    if (one == other) return 1;
    if (!one || !other || one->owner != other->owner || one->count != other->count) return 0;
    for (uint32_t i = 0; i < one->count; i++) {
        if (history_order(&one->touches[i], &other->touches[i]) != 0
            || one->touches[i].position != other->touches[i].position) {
            return 0;
        }
    }
    return 1;
}

/* ---- The map: a change of some bytes of one granule */

/* The latest history that was replaced, and by what, which is kept: neighbours often share. */
typedef struct touch_change {
    touches        *all;
    const touch_by *by;
    touch          *other;
    touch_verdict   result;
    int             has_replaced;
    const touch_history *replaced;
    cuts_part       replacement;
} touch_change;

/* The mark tells histories of different owners apart without a look at them: most differ so, and few are in a
   cache. */
static cuts_part touches_part(const touch_history *history)
{
    const uint64_t owner = history ? history->owner : 0;
    const cuts_part made = { 0, history ? (uint32_t)(owner ^ owner >> 32) | 1 : 0, (uint64_t)(uintptr_t)history };
    return made;
}

static void touches_judge(touch_change *change, const touch_history *history)
{
    const touch *unordered = touch_history_unordered(history, change->by);
    const touch *bad = unordered ? unordered : touch_history_taken(history, change->by);
    if (!bad || change->result != TOUCH_IN_ORDER) return;
    change->result = unordered ? TOUCH_UNORDERED : TOUCH_TAKEN;
    *change->other = *bad;
}

static cuts_part touches_replace(void *user, const cuts_part *part)
{
    touch_change *change = user;
    touch_history *history = touch_history_of(part);
    if (!change->has_replaced || history != change->replaced) {
        touches_judge(change, history);
        touch_history_drop(&change->replacement);
        change->replacement = touches_part(touch_history_next(change->all, history, change->by));
        change->replaced = history;
        change->has_replaced = 1;
    }
    touch_history_keep(&change->replacement);
    return change->replacement;
}

static int touches_are_same(const cuts_part *one, const cuts_part *other)
{
    return one->mark == other->mark && touch_history_equal(touch_history_of(one), touch_history_of(other));
}

touch_verdict touches_add(touches *all, uint32_t granule, uint32_t from, uint32_t to, const touch_by *by,
                          touch *other)
{
    static const cuts_kind kind = { touches_replace, touches_are_same, touch_history_keep, touch_history_drop };
    touch_change change = { all, by, other, TOUCH_IN_ORDER, 0, NULL, { 0, 0, 0 } };
    uint32_t count = all->count;
    if (by->is_end && touches_piece_count(all, granule) == 0) return TOUCH_IN_ORDER;
    ARRAY_RESERVE(all->list, all->count, granule + 1);
    if (all->count > count) memset(all->list + count, 0, (all->count - count) * sizeof *all->list);
    cuts_change(&all->list[granule], from, to, &kind, &change);
    touch_history_drop(&change.replacement);
    return change.result;
}

int touches_pending(const touches *all, uint32_t granule, uint64_t place, const vclock *host, touch *other)
{
    for (uint32_t i = 0; i < touches_piece_count(all, granule); i++) {
        const touch *found = touch_history_pending(touch_history_of(&all->list[granule].list[i]), place, host);
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
        for (uint32_t j = 0; j < all->list[i].count; j++) touch_history_drop(&all->list[i].list[j]);
        cuts_clear(&all->list[i]);
    }
    free(all->list);
    free(all->scratch);
    memset(all, 0, sizeof *all);
}
