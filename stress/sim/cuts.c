/* Fresh parts are made apart, and then take the place of those that they are made of. */
#include "cuts.h"

#include <stdlib.h>
#include <string.h>

#include "../base/array.h"

uint32_t cuts_find(const cuts *self, uint32_t byte)
{
    size_t rank;
    ARRAY_RANK(&rank, self->count, i, self->list[i].from <= byte);
    return (uint32_t)rank - 1;
}

uint32_t cuts_end(const cuts *self, uint32_t index)
{
    return index + 1 < self->count ? self->list[index + 1].from : (uint32_t)SIM_GRANULE;
}

void cuts_clear(cuts *self)
{
    free(self->list);
    memset(self, 0, sizeof *self);
}

/* Adds a fresh part; where it is the same as the last of them, that one goes on. */
static void cuts_add(cuts *fresh, uint32_t from, cuts_part part, const cuts_kind *kind)
{
    if (fresh->count > 0 && kind->are_same(&fresh->list[fresh->count - 1], &part)) {
        if (kind->drop) kind->drop(&part);
        return;
    }
    part.from = from;
    fresh->list[fresh->count++] = part;
}

/* Some of a part that stays. */
static void cuts_add_rest(cuts *fresh, uint32_t from, const cuts_part *part, const cuts_kind *kind)
{
    if (kind->keep) kind->keep(part);
    cuts_add(fresh, from, *part, kind);
}

/* The fresh parts take the place of first..last, and of a neighbour on either side that is the same as theirs. */
static void cuts_splice(cuts *self, uint32_t first, uint32_t last, const cuts *fresh, const cuts_kind *kind)
{
    uint32_t count = fresh->count;
    if (first > 0 && kind->are_same(&self->list[first - 1], fresh->list)) {
        fresh->list->from = self->list[--first].from;
    }
    if (last + 1 < self->count && kind->are_same(&self->list[last + 1], &fresh->list[count - 1])) last++;
    for (uint32_t i = first; kind->drop && i <= last; i++) kind->drop(&self->list[i]);
    ARRAY_RESERVE(self->list, self->capacity, self->count + count);
    memmove(self->list + first + count, self->list + last + 1, (self->count - last - 1) * sizeof *self->list);
    memcpy(self->list + first, fresh->list, count * sizeof *self->list);
    self->count = self->count - (last - first + 1) + count;
}

void cuts_change(cuts *self, cuts *scratch, uint32_t from, uint32_t to, const cuts_kind *kind, void *user)
{
    static const cuts_part nothing;
    if (self->count == 0) {
        ARRAY_RESERVE(self->list, self->capacity, 1);
        self->list[self->count++] = nothing;
    }
    uint32_t first = cuts_find(self, from), last = cuts_find(self, to - 1);
    ARRAY_RESERVE(scratch->list, scratch->capacity, last - first + 3);
    scratch->count = 0;
    for (uint32_t i = first; i <= last; i++) {
        const cuts_part *part = &self->list[i];
        if (part->from < from) cuts_add_rest(scratch, part->from, part, kind);
        cuts_add(scratch, part->from > from ? part->from : from, kind->replace(user, part), kind);
        if (cuts_end(self, i) > to) cuts_add_rest(scratch, to, part, kind);
    }
    cuts_splice(self, first, last, scratch, kind);
}
