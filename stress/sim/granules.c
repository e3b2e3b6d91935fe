/* Granules and their contents. */
#include "granules.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../base/array.h"
#include "../base/program.h"

uint32_t granules_take(granules *all)
{
    static const granule fresh = { { NULL, 0, 0 }, NULL, GRANULES_POISON, 0 };
    if (all->idle_count == 0) ARRAY_RESERVE_BOTH(all->list, all->idle, all->capacity, (uint64_t)all->count + 1);
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
    cuts_clear(&all->list[number].patterns);
    granules_set_even(&all->list[number], GRANULES_POISON);
    all->idle[all->idle_count++] = number;
}

void granules_destroy(granules *all)
{
    for (uint32_t i = 0; i < all->count; i++) {
        cuts_clear(&all->list[i].patterns);
        granules_drop_bytes(&all->list[i]);
    }
    free(all->list);
    free(all->idle);
    memset(all, 0, sizeof *all);
}

static cuts_part granules_replace(void *user, const cuts_part *part)
{
    (void)part;
    return *(const cuts_part *)user;
}

static int granules_are_same(const cuts_part *one, const cuts_part *other)
{
    return one->mark == other->mark && one->value == other->value;
}

void granules_fill(granules *all, uint32_t number, uint32_t from, uint32_t to, uint32_t known, uint64_t pattern)
{
    static const cuts_kind kind = { granules_replace, granules_are_same, NULL, NULL };
    cuts_part filled = { 0, known, known ? pattern : 0 };
    cuts_change(&all->list[number].patterns, from, to, &kind, &filled);
}

uint32_t granules_matches(const granules *all, uint32_t number, uint32_t from, uint32_t to, uint64_t pattern)
{
    const cuts *patterns = &all->list[number].patterns;
    if (patterns->count == 0) return from;
    for (uint32_t i = cuts_find(patterns, from); from < to; i++) {
        if (!patterns->list[i].mark || patterns->list[i].value != pattern) return from;
        from = cuts_end(patterns, i);
    }
    return to;
}

/* Before bytes of a part are changed: makes room for them, and forgets the part's pattern. */
static int granules_open_bytes(granules *all, uint32_t number, uint32_t from, uint32_t to)
{
    granule *unit = &all->list[number];
    unsigned char *bytes = unit->bytes ? unit->bytes : calloc(1, (size_t)SIM_GRANULE);
    if (!bytes) return -1;
    granules_fill(all, number, from, to, 0, 0);
    unit->bytes = bytes;
    return 0;
}

int granules_set(granules *all, uint32_t number, uint32_t from, uint32_t to, unsigned char value)
{
    granule *unit = &all->list[number];
    int is_whole = from == 0 && to == SIM_GRANULE;
    if ((is_whole && !unit->is_shared) || (!unit->bytes && unit->even == value)) {
        granules_fill(all, number, from, to, 0, 0);
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
    granules_fill(all, number, from, to, 0, 0);
    (void)granules_set(all, number, from, to, GRANULES_POISON);
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

const mapping_slot mapping_nothing = { 0, MAPPING_NONE, MAPPING_NONE };

static mapping_slot *mapping_leaf_new(void)
{
    mapping_slot *made = program_need(MAPPING_LEAF_SLOTS, sizeof *made);
    for (int i = 0; i < MAPPING_LEAF_SLOTS; i++) made[i] = mapping_nothing;
    return made;
}

void mapping_set(mapping *map, uint64_t offset, mapping_slot slot)
{
    size_t leaf = (size_t)(offset / MAPPING_LEAF_BYTES), count = map->leaf_count;
    ARRAY_RESERVE(map->leaves, map->leaf_count, leaf + 1);
    for (; count < map->leaf_count; count++) map->leaves[count] = NULL;
    if (!map->leaves[leaf]) map->leaves[leaf] = mapping_leaf_new();
    map->leaves[leaf][offset % MAPPING_LEAF_BYTES / SIM_GRANULE] = slot;
}

const mapping_slot *mapping_get(const mapping *map, uint64_t offset)
{
    size_t leaf = (size_t)(offset / MAPPING_LEAF_BYTES);
    const mapping_slot *slots = leaf < map->leaf_count ? map->leaves[leaf] : NULL;
    return slots ? &slots[offset % MAPPING_LEAF_BYTES / SIM_GRANULE] : &mapping_nothing;
}

void mapping_destroy(mapping *map)
{
    for (size_t i = 0; i < map->leaf_count; i++) free(map->leaves[i]);
    free(map->leaves);
    memset(map, 0, sizeof *map);
}
