/* Granules and their contents: sorted pieces, merged as far as they are alike, a whole granule without any list. */
#include "granules.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../base/array.h"

static int granules_alike(const content *left, const content *right)
{
    return left->known == right->known && (!left->known || left->pattern == right->pattern);
}

static const content *granules_pieces(const granule *unit)
{
    return unit->pieces ? unit->pieces : &unit->whole;
}

static uint32_t granules_end(const granule *unit, uint32_t index)         /* of the piece at index */
{
    return index + 1 < unit->count ? granules_pieces(unit)[index + 1].offset : (uint32_t)SIM_GRANULE;
}

static void granules_set_whole(granule *unit, uint32_t known, uint64_t pattern)
{
    content whole = { pattern, 0, known };
    free(unit->pieces);
    unit->pieces = NULL;
    unit->capacity = 0;
    unit->count = 1;
    unit->whole = whole;
}

int granules_reserve(granules *all, uint32_t count)
{
    uint64_t wanted = (uint64_t)all->count - all->idle_count + count;
    return ARRAY_RESERVE_BOTH(all->list, all->idle, all->capacity, wanted);
}

uint32_t granules_take(granules *all)
{
    static const granule fresh = { { 0, 0, 0 }, NULL, 1, 0, NULL, GRANULES_POISON, 0, NULL };
    uint32_t number = all->idle_count > 0 ? all->idle[--all->idle_count] : all->count++;
    all->list[number] = fresh;
    return number;
}

static void granules_drop_bytes(granule *unit)
{
    if (unit->is_shared) {
        munmap(unit->bytes, (size_t)SIM_GRANULE);
    } else {
        free(unit->bytes);
    }
    unit->bytes = NULL;
    unit->is_shared = 0;
}

static void granules_set_even(granule *unit, unsigned char value)
{
    granules_drop_bytes(unit);
    unit->even = value;
}

void granules_give(granules *all, uint32_t number)
{
    granules_set_whole(&all->list[number], 0, 0);
    granules_set_even(&all->list[number], GRANULES_POISON);
    all->idle[all->idle_count++] = number;
}

void granules_destroy(granules *all)
{
    for (uint32_t i = 0; i < all->count; i++) {
        free(all->list[i].pieces);
        granules_drop_bytes(&all->list[i]);
    }
    free(all->list);
    free(all->idle);
    memset(all, 0, sizeof *all);
}

static uint32_t granules_find(const granule *unit, uint32_t offset)       /* index of the piece that holds it */
{
    size_t rank;
    const content *pieces = granules_pieces(unit);
    ARRAY_RANK(&rank, unit->count, i, pieces[i].offset <= offset);
    return (uint32_t)rank - 1;
}

/* Makes the list long enough, and makes it a list. */
static int granules_lengthen(granule *unit, uint32_t count)
{
    int was_whole = !unit->pieces;
    if (ARRAY_RESERVE(unit->pieces, unit->capacity, count)) return -1;
    if (was_whole) unit->pieces[0] = unit->whole;
    return 0;
}

/* Replaces what [from, to) overlaps by: what stays before it, the new piece, what stays after it. Neighbours that are
   alike join the new piece instead. */
static int granules_splice(granule *unit, content piece, uint32_t to)
{
    uint32_t first = granules_find(unit, piece.offset), last = granules_find(unit, to - 1);
    const content *old = granules_pieces(unit);
    if (old[first].offset == piece.offset && first > 0) first--;
    if (granules_end(unit, last) == to && last + 1 < unit->count) last++;
    content parts[3];
    uint32_t part_count = 0, end = granules_end(unit, last);
    content after = old[last];
    after.offset = to;
    if (granules_alike(&old[first], &piece)) {
        piece.offset = old[first].offset;
    } else if (old[first].offset < piece.offset) {
        parts[part_count++] = old[first];
    }
    parts[part_count++] = piece;
    if (to < end && !granules_alike(&after, &piece)) parts[part_count++] = after;
    uint32_t tail = unit->count - last - 1, count = first + part_count + tail;
    if (count == 1) {
        granules_set_whole(unit, piece.known, piece.pattern);
        return 0;
    }
    if (granules_lengthen(unit, count)) return -1;
    memmove(unit->pieces + first + part_count, unit->pieces + last + 1, tail * sizeof piece);
    memcpy(unit->pieces + first, parts, part_count * sizeof piece);
    unit->count = count;
    return 0;
}

int granules_fill(granules *all, uint32_t number, uint32_t from, uint32_t to, uint32_t known, uint64_t pattern)
{
    granule *unit = &all->list[number];
    if (from == 0 && to == SIM_GRANULE) {
        granules_set_whole(unit, known, pattern);
        return 0;
    }
    content piece = { pattern, from, known };
    return granules_splice(unit, piece, to);
}

uint32_t granules_matches(const granules *all, uint32_t number, uint32_t from, uint32_t to, uint64_t pattern)
{
    const granule *unit = &all->list[number];
    const content *pieces = granules_pieces(unit);
    for (uint32_t i = granules_find(unit, from); from < to; i++) {
        if (!pieces[i].known || pieces[i].pattern != pattern) return from;
        from = granules_end(unit, i);
    }
    return to;
}

uint32_t granules_piece_count(const granules *all, uint32_t number)
{
    return all->list[number].count;
}

/* Before bytes of a part are changed: makes room for them, and forgets the part's pattern. */
static int granules_open_bytes(granules *all, uint32_t number, uint32_t from, uint32_t to)
{
    granule *unit = &all->list[number];
    unsigned char *bytes = unit->bytes ? unit->bytes : calloc(1, (size_t)SIM_GRANULE);
    if (!bytes || granules_fill(all, number, from, to, 0, 0)) {
        if (bytes != unit->bytes) free(bytes);
        return -1;
    }
    unit->bytes = bytes;
    return 0;
}

int granules_set(granules *all, uint32_t number, uint32_t from, uint32_t to, unsigned char value)
{
    granule *unit = &all->list[number];
    int is_whole = from == 0 && to == SIM_GRANULE;
    if ((is_whole && !unit->is_shared) || (!unit->bytes && unit->even == value)) {
        if (granules_fill(all, number, from, to, 0, 0)) return -1;
        if (is_whole) granules_set_even(unit, value);
        return 0;
    }
    if (granules_open_bytes(all, number, from, to)) return -1;
    memset(unit->bytes + from, value ^ unit->even, to - from);
    return 0;
}

/* Each byte with the value exclusive-or, eight at a time: copies of gigabytes come through here. */
static void granules_mix(unsigned char *target, const unsigned char *source, uint32_t count, unsigned char value)
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

int granules_write(granules *all, uint32_t number, uint32_t from, uint32_t to, const unsigned char *source)
{
    granule *unit = &all->list[number];
    int is_whole = from == 0 && to == SIM_GRANULE;
    if (is_whole && memcmp(source, source + 1, (size_t)SIM_GRANULE - 1) == 0) {
        return granules_set(all, number, from, to, source[0]);
    }
    if (granules_open_bytes(all, number, from, to)) return -1;
    if (is_whole && !unit->is_shared) unit->even = 0;
    granules_mix(unit->bytes + from, source, to - from, unit->even);
    return 0;
}

void granules_read(const granules *all, uint32_t number, uint32_t from, uint32_t to, unsigned char *target)
{
    const granule *unit = &all->list[number];
    if (!unit->bytes) {
        memset(target, unit->even, to - from);
        return;
    }
    granules_mix(target, unit->bytes + from, to - from, unit->even);
}

int granules_even(const granules *all, uint32_t number, unsigned char *value)
{
    *value = all->list[number].even;
    return !all->list[number].bytes;
}

void granules_forget(granules *all, uint32_t number, uint32_t from, uint32_t to)
{
    if (granules_set(all, number, from, to, GRANULES_POISON)) {
        (void)granules_fill(all, number, from, to, 0, 0);
    }
}

int granules_share(granules *all, uint32_t number, int file, uint64_t place, int keep)
{
    granule *unit = &all->list[number];
    unsigned char *bytes = mmap(NULL, (size_t)SIM_GRANULE, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)place);
    if (bytes == MAP_FAILED) return -1;
    if (keep && (unit->bytes || unit->even != GRANULES_POISON)) {     /* else the file's zeros say as much */
        granules_read(all, number, 0, (uint32_t)SIM_GRANULE, bytes);
        granules_mix(bytes, bytes, (uint32_t)SIM_GRANULE, GRANULES_POISON);
    }
    granules_set_even(unit, GRANULES_POISON);
    unit->bytes = bytes;
    unit->is_shared = 1;
    return 0;
}

/* ---- The two-level table from addresses to granules */

#define MAPPING_LEAF_BYTES (MAPPING_LEAF_SLOTS * SIM_GRANULE)

static size_t mapping_leaf(uint64_t offset)
{
    return (size_t)(offset / MAPPING_LEAF_BYTES);
}

static size_t mapping_slot(uint64_t offset)
{
    return (size_t)(offset % MAPPING_LEAF_BYTES / SIM_GRANULE);
}

static int mapping_reserve_leaves(mapping *map, size_t leaf_count)
{
    size_t count = map->leaf_count;
    if (ARRAY_RESERVE(map->leaves, map->leaf_count, leaf_count)) return -1;
    for (; count < map->leaf_count; count++) map->leaves[count] = NULL;
    return 0;
}

int mapping_reserve(mapping *map, uint64_t offset, uint64_t bytes)
{
    if (mapping_reserve_leaves(map, mapping_leaf(offset + bytes - 1) + 1)) return -1;
    for (size_t i = mapping_leaf(offset); i <= mapping_leaf(offset + bytes - 1); i++) {
        if (map->leaves[i]) continue;
        map->leaves[i] = malloc(MAPPING_LEAF_SLOTS * sizeof *map->leaves[i]);
        if (!map->leaves[i]) return -1;
        memset(map->leaves[i], 0xFF, MAPPING_LEAF_SLOTS * sizeof *map->leaves[i]);     /* MAPPING_NONE everywhere */
    }
    return 0;
}

void mapping_set(mapping *map, uint64_t offset, uint32_t number)
{
    map->leaves[mapping_leaf(offset)][mapping_slot(offset)] = number;
}

uint32_t mapping_get(const mapping *map, uint64_t offset)
{
    const uint32_t *leaf = mapping_leaf(offset) < map->leaf_count ? map->leaves[mapping_leaf(offset)] : NULL;
    return leaf ? leaf[mapping_slot(offset)] : MAPPING_NONE;
}

void mapping_destroy(mapping *map)
{
    for (size_t i = 0; i < map->leaf_count; i++) free(map->leaves[i]);
    free(map->leaves);
    memset(map, 0, sizeof *map);
}
