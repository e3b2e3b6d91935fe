/* Granules and their contents. A change of parts cuts at both of its ends, replaces the parts between them in place,
   and joins each with the one before where they became the same. */
#include "judge.h"

#include <sys/mman.h>

/* ---- Parts */

/* The part that holds the byte, of those there are. */
static uint32_t cuts_find(const cuts *self, uint32_t byte)
{
    size_t rank;
    if (byte == 0) return 0;
    ARRAY_RANK(&rank, self->count - 1, i, self->list[i + 1].from <= byte);
    return (uint32_t)rank;
}

/* Part `index` is two, of which the second begins at the byte. */
static void cuts_cut(cuts *self, uint32_t index, uint32_t byte, const cuts_kind *kind)
{
    ARRAY_RESERVE(self->list, self->capacity, self->count + 1);
    cuts_part *part = &self->list[index];
    memmove(part + 1, part, (self->count++ - index) * sizeof *part);
    part[1].from = byte;
    if (kind->copy) kind->copy(&part[1]);
}

/* The parts that are [from, to) from now on: the first, and the one behind the last. */
static void cuts_take(cuts *self, uint32_t from, uint32_t to, const cuts_kind *kind, uint32_t *first, uint32_t *end)
{
    *first = cuts_find(self, from);
    if (self->list[*first].from < from) cuts_cut(self, (*first)++, from, kind);
    for (*end = *first + 1; *end < self->count && self->list[*end].from < to;) ++*end;
    if (to < (*end < self->count ? self->list[*end].from : SIM_GRANULE)) cuts_cut(self, *end - 1, to, kind);
}

/* Joins the part with number kept - 1, if they are equal. 1: they are. */
static int cuts_joins(const cuts *self, uint32_t kept, const cuts_part *part, const cuts_kind *kind)
{
    const cuts_part *before = kept > 0 ? &self->list[kept - 1] : NULL;
    if (!before || before->mark != part->mark) return 0;
    if (before->value != part->value && (!kind->are_same || !kind->are_same(before, part))) return 0;
    if (kind->drop) kind->drop(part);
    return 1;
}

void cuts_change(cuts *self, uint32_t from, uint32_t to, const cuts_kind *kind, void *user)
{
    static const cuts_part nothing;
    uint32_t kept, end;
    if (self->count == 0) {
        ARRAY_RESERVE(self->list, self->capacity, 1);
        self->list[self->count++] = nothing;
    }
    cuts_take(self, from, to, kind, &kept, &end);
    for (uint32_t i = kept; i < end; i++) {
        cuts_part part = kind->replace(user, &self->list[i]);
        part.from = self->list[i].from;
        if (!cuts_joins(self, kept, &part, kind)) self->list[kept++] = part;
    }
    if (end < self->count && cuts_joins(self, kept, &self->list[end], kind)) end++;
    if (kept == end) return;
    memmove(&self->list[kept], &self->list[end], (self->count - end) * sizeof *self->list);
    self->count -= end - kept;
}

void cuts_clear(cuts *self, const cuts_kind *kind)
{
    for (uint32_t i = 0; kind->drop && i < self->count; i++) kind->drop(&self->list[i]);
    free(self->list);
    memset(self, 0, sizeof *self);
}

/* ---- Patterns */

static cuts_part granule_replace(void *user, const cuts_part *part)
{
    (void)part;
    return *(const cuts_part *)user;
}

static const cuts_kind granule_patterns = { granule_replace, NULL, NULL, NULL };

void granule_fill(granule *self, uint32_t from, uint32_t to, uint32_t known, uint64_t pattern)
{
    cuts_part filled = { 0, known, known ? pattern : 0 };
    cuts_change(&self->patterns, from, to, &granule_patterns, &filled);
}

uint32_t granule_matches(const granule *self, uint32_t from, uint32_t to, uint64_t pattern)
{
    const cuts *patterns = &self->patterns;
    if (patterns->count == 0) return from;
    for (uint32_t i = cuts_find(patterns, from); i < patterns->count && patterns->list[i].from < to; i++) {
        const cuts_part *part = &patterns->list[i];
        if (!part->mark || part->value != pattern) return part->from > from ? part->from : from;
    }
    return to;
}

/* ---- Bytes */

static void granule_set_even(granule *self, unsigned char value)
{
    if (self->is_shared) {
        munmap(self->bytes, (size_t)SIM_GRANULE);
    } else {
        free(self->bytes);
    }
    self->bytes = NULL;
    self->is_shared = 0;
    self->even = value ^ GRANULE_POISON;
}

void granule_clear(granule *self)
{
    cuts_clear(&self->patterns, &granule_patterns);
    granule_set_even(self, GRANULE_POISON);
}

/* Makes room for the bytes of a part that are to be changed, and forgets the part's pattern. */
static int granule_open_bytes(granule *self, uint32_t from, uint32_t to)
{
    unsigned char *bytes = self->bytes ? self->bytes : calloc(1, (size_t)SIM_GRANULE);
    if (!bytes) return -1;
    granule_fill(self, from, to, 0, 0);
    self->bytes = bytes;
    return 0;
}

/* The value of all bytes before those of `bytes` are mixed in. */
static unsigned char granule_base(const granule *self)
{
    return self->even ^ GRANULE_POISON;
}

int granule_set(granule *self, uint32_t from, uint32_t to, unsigned char value)
{
    int is_whole = from == 0 && to == SIM_GRANULE;
    if ((is_whole && !self->is_shared) || (!self->bytes && granule_base(self) == value)) {
        granule_fill(self, from, to, 0, 0);
        if (is_whole) granule_set_even(self, value);
        return 0;
    }
    if (granule_open_bytes(self, from, to)) return -1;
    memset(self->bytes + from, value ^ granule_base(self), to - from);
    return 0;
}

/* Each byte with the value exclusive-or, eight at a time: copies of gigabytes come through here. */
static void granule_mix(unsigned char *target, const unsigned char *source, uint32_t count, unsigned char value)
{
    const uint64_t values = value * (UINT64_MAX / 255);
    uint32_t i = 0;
    if (value == 0) {
        memcpy(target, source, count);
        return;
    }
    for (; count - i >= sizeof values; i += (uint32_t)sizeof values) {
        uint64_t word;
        memcpy(&word, source + i, sizeof word);
        word ^= values;
        memcpy(target + i, &word, sizeof word);
    }
    for (; i < count; i++) target[i] = (unsigned char)(source[i] ^ value);
}

int granule_write(granule *self, uint32_t from, uint32_t to, const unsigned char *source)
{
    int is_whole = from == 0 && to == SIM_GRANULE;
    if (is_whole && memcmp(source, source + 1, (size_t)SIM_GRANULE - 1) == 0) {
        return granule_set(self, from, to, source[0]);
    }
    if (granule_open_bytes(self, from, to)) return -1;
    if (is_whole && !self->is_shared) self->even = GRANULE_POISON;   /* nothing to mix */
    granule_mix(self->bytes + from, source, to - from, granule_base(self));
    return 0;
}

void granule_read(const granule *self, uint32_t from, uint32_t to, unsigned char *target)
{
    if (self->bytes) granule_mix(target, self->bytes + from, to - from, granule_base(self));
    else memset(target, granule_base(self), to - from);
}

int granule_is_even(const granule *self, unsigned char *value)
{
    *value = granule_base(self);
    return !self->bytes;
}

void granule_forget(granule *self, uint32_t from, uint32_t to)
{
    (void)granule_set(self, from, to, GRANULE_POISON);
    granule_fill(self, from, to, 0, 0);          /* even without host memory */
}

void granule_share(granule *self, unsigned char *bytes, int keep)
{
    if (keep && (self->bytes || self->even)) {   /* else the file's zeros say as much */
        granule_read(self, 0, (uint32_t)SIM_GRANULE, bytes);
        granule_mix(bytes, bytes, (uint32_t)SIM_GRANULE, GRANULE_POISON);
    }
    granule_set_even(self, GRANULE_POISON);
    self->bytes = bytes;
    self->is_shared = 1;
}
