#include "judge.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../base/array.h"
#include "../base/program.h"

/* Touches of earlier tenancies, then those of this one: each part by line and place, the latest touch of each. */
struct touch_history {
    uint64_t owner;                              /* of this tenancy */
    uint32_t references, room, earlier_count, own_count;
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

/* The history after one more touch, kept once more. */
static touch_history *touch_history_next(touches *all, touch_history *self, const touch_by *by)
{
    uint32_t earlier_count = self ? self->earlier_count : 0, own_count = self ? self->own_count : 0;
    const touch *earlier = self ? self->touches : NULL, *own = self ? self->touches + earlier_count : NULL;
    int is_handed_over = self && self->owner != by->owner;
    ARRAY_RESERVE(all->scratch, all->room, earlier_count + own_count + 1);
    earlier_count = history_merge(all->scratch, earlier, earlier_count, own, is_handed_over ? own_count : 0,
                                  by->host);
    own_count = history_merge(all->scratch + earlier_count, own, is_handed_over ? 0 : own_count, &by->latest, 1,
                              by->host);
    touch_history *made = touch_history_for(self, earlier_count + own_count);
    made->owner = by->owner;
    made->earlier_count = earlier_count;
    made->own_count = own_count;
    memcpy(made->touches, all->scratch, (earlier_count + own_count) * sizeof *all->scratch);
    return made;
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

/* ---- The map: a change of some bytes of one granule */

/* The latest history that was replaced, and by what, which is kept: neighbours often share. */
typedef struct touch_change {
    touches        *all;
    const touch_by *by;
    int             ending;
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
    const touch *unordered = touch_history_unordered(history, change->by, change->ending);
    const touch *bad = unordered || change->ending ? unordered : touch_history_taken(history, change->by);
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
        change->replacement = touches_part(change->ending ? NULL
                                                          : touch_history_next(change->all, history, change->by));
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

static touch_verdict touches_change(touches *all, uint32_t granule, uint32_t from, uint32_t to, const touch_by *by,
                                    int ending, touch *other)
{
    static const cuts_kind kind = { touches_replace, touches_are_same, touch_history_keep, touch_history_drop };
    touch_change change = { all, by, ending, other, TOUCH_IN_ORDER, 0, NULL, { 0, 0, 0 } };
    uint32_t count = all->count;
    ARRAY_RESERVE(all->list, all->count, granule + 1);
    if (all->count > count) memset(all->list + count, 0, (all->count - count) * sizeof *all->list);
    cuts_change(&all->list[granule], from, to, &kind, &change);
    touch_history_drop(&change.replacement);
    return change.result;
}

touch_verdict touches_add(touches *all, uint32_t granule, uint32_t from, uint32_t to, const touch_by *by,
                          touch *other)
{
    return touches_change(all, granule, from, to, by, 0, other);
}

touch_verdict touches_end(touches *all, uint32_t granule, uint32_t from, uint32_t to, const touch_by *by,
                          touch *other)
{
    if (touches_piece_count(all, granule) == 0) return TOUCH_IN_ORDER;
    return touches_change(all, granule, from, to, by, 1, other);
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
