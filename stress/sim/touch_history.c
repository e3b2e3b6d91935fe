/* Histories: made from the one before and one more touch, without those that the host has outlived.
   Must not know of pieces or granules.
   Tested by tests/test_sim_touches.c. */
#include "touch_history.h"

#include <stdlib.h>

touch_history *touch_history_keep(touch_history *self)
{
    if (self) {
        self->references++;
    }
    return self;
}

void touch_history_drop(touch_history *self)
{
    if (self && --self->references == 0) {
        free(self);
    }
}

static uint32_t history_put(touch *list, uint32_t count, const touch *one, const vclock *host)
{
    if (vclock_get(host, one->line) < one->position) {
        list[count++] = *one;
    }
    return count;
}

static int history_order(const touch *one, const touch *other)
{
    if (one->line != other->line) {
        return one->line < other->line ? -1 : 1;
    }
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

int touch_history_next(const touch_history *self, const touch_by *by, touch_history **next)
{
    uint32_t earlier_count = self ? self->earlier_count : 0, own_count = self ? self->own_count : 0;
    touch_history *made = malloc(sizeof *made + (earlier_count + own_count + 1) * sizeof(touch));
    if (!made) {
        return -1;
    }
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

const touch *touch_history_unordered(const touch_history *self, const touch_by *by, int ending)
{
    if (!self) {
        return NULL;
    }
    uint32_t count = self->earlier_count + (ending || self->owner != by->owner ? self->own_count : 0);
    for (uint32_t i = 0; i < count; i++) {
        if (vclock_get(by->seen, self->touches[i].line) < self->touches[i].position) {
            return &self->touches[i];
        }
    }
    return NULL;
}

const touch *touch_history_taken(const touch_history *self, const touch_by *by)
{
    uint32_t own_count = self && by->latest.is_launched && self->owner != by->owner ? self->own_count : 0;
    for (uint32_t i = 0; i < own_count; i++) {
        const touch *own = &self->touches[self->earlier_count + i];
        if (!own->is_launched && own->op > by->captured_op) {
            return own;
        }
    }
    return NULL;
}

const touch *touch_history_pending(const touch_history *self, uint64_t place, const vclock *host)
{
    uint32_t count = self ? self->earlier_count + self->own_count : 0;
    for (uint32_t i = 0; i < count; i++) {
        const touch *one = &self->touches[i];
        if (one->place == place && vclock_get(host, one->line) < one->position) {
            return one;
        }
    }
    return NULL;
}

static int history_same_touch(const touch *one, const touch *other)
{
    return one->line == other->line && one->place == other->place && one->position == other->position;
}

/* A position on a line is one command, of one operation on one stream. */
int touch_history_equal(const touch_history *one, const touch_history *other)
{
    if (one == other) {
        return 1;
    }
    if (!one || !other || one->owner != other->owner || one->earlier_count != other->earlier_count
        || one->own_count != other->own_count) {
        return 0;
    }
    for (uint32_t i = 0; i < one->earlier_count + one->own_count; i++) {
        if (!history_same_touch(&one->touches[i], &other->touches[i])) {
            return 0;
        }
    }
    return 1;
}
