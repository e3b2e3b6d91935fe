/* A change cuts at both of its ends, replaces the parts between them in place, and joins what became the same. */
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

/* The part that begins at the byte, by a cut if there is none; behind the last, at the granule's end. */
static uint32_t cuts_at(cuts *self, uint32_t byte, const cuts_kind *kind)
{
    if (byte % SIM_GRANULE == 0) return byte == 0 ? 0 : self->count;
    uint32_t index = cuts_find(self, byte);
    if (self->list[index].from == byte) return index;
    ARRAY_RESERVE(self->list, self->capacity, self->count + 1);
    cuts_part *part = &self->list[index];
    memmove(part + 1, part, (self->count++ - index) * sizeof *part);
    part[1].from = byte;
    if (kind->keep) kind->keep(part);
    return index + 1;
}

/* Of parts first..last, those that are the same as the one before them go on as that one. */
static void cuts_join(cuts *self, uint32_t first, uint32_t last, const cuts_kind *kind)
{
    uint32_t kept = first;
    for (uint32_t i = first + 1; i <= last; i++) {
        if (!kind->are_same(&self->list[kept], &self->list[i])) {
            self->list[++kept] = self->list[i];
        } else if (kind->drop) {
            kind->drop(&self->list[i]);
        }
    }
    if (kept == last) return;
    memmove(&self->list[kept + 1], &self->list[last + 1], (self->count - last - 1) * sizeof *self->list);
    self->count -= last - kept;
}

void cuts_change(cuts *self, uint32_t from, uint32_t to, const cuts_kind *kind, void *user)
{
    static const cuts_part nothing;
    if (self->count == 0) {
        ARRAY_RESERVE(self->list, self->capacity, 1);
        self->list[self->count++] = nothing;
    }
    uint32_t first = cuts_at(self, from, kind), end = cuts_at(self, to, kind);
    for (uint32_t i = first; i < end; i++) {
        cuts_part replaced = self->list[i];
        self->list[i] = kind->replace(user, &replaced);
        self->list[i].from = replaced.from;
        if (kind->drop) kind->drop(&replaced);
    }
    cuts_join(self, first > 0 ? first - 1 : 0, end < self->count ? end : end - 1, kind);
}
