/* The parts under the simulated device: address ranges and slabs against plain arrays, the mapping, many granules.
   Must not know of driver calls. */
#include "sim_device.h"

#include "stress/sim/addresses.h"
#include "stress/sim/devmem.h"
#include "stress/sim/granules.h"

/* The lowest run of `wanted` zeros in used[], or `count`. */
static int lowest_run(const int *used, int count, int wanted)
{
    int length = 0;
    for (int i = 0; i < count; i++) {
        length = used[i] ? 0 : length + 1;
        if (length == wanted) return i + 1 - wanted;
    }
    return count;
}

/* Ranges against an array of granules: used[i] is the range's number from 1, or 0. */
static void test_addresses_equal_an_array(void)
{
    enum { SPACE = 200, RANGES = 60, ROUNDS = 8000 };
    static address_range *ranges[RANGES];
    static int used[SPACE];
    addresses space;
    uint64_t state = 2, wrong = 0, refused = 0;
    addresses_init(&space, SIM_GRANULE, SPACE * SIM_GRANULE);
    memset(used, 0, sizeof used);
    used[0] = -1;
    for (int round = 0; round < ROUNDS; round++) {
        int number = (int)(splitmix64_next(&state) % RANGES);
        address_range *range = ranges[number];
        if (range) {
            for (uint64_t i = 0; i < range->bytes / SIM_GRANULE; i++) used[range->offset / SIM_GRANULE + i] = 0;
            addresses_remove(&space, range);
            ranges[number] = NULL;
        } else {
            int wanted = 1 + (int)(splitmix64_next(&state) % 12), start = lowest_run(used, SPACE, wanted);
            uint64_t offset = addresses_lowest_gap(&space, (uint64_t)wanted * SIM_GRANULE);
            wrong += offset != (start < SPACE ? (uint64_t)start * SIM_GRANULE : ADDRESSES_NONE);
            refused += start == SPACE;
            if (start < SPACE) {
                range = addresses_insert(&space, offset, (uint64_t)wanted * SIM_GRANULE);
                ranges[number] = range;
                for (int i = 0; i < wanted; i++) used[start + i] = number + 1;
                addresses_set_hole(&space, range, splitmix64_next(&state) % 100);
            }
        }
        uint64_t look = splitmix64_next(&state) % (SPACE * SIM_GRANULE), hole = splitmix64_next(&state) % 100;
        int owner = used[look / SIM_GRANULE];
        wrong += addresses_at(&space, look) != (owner > 0 ? ranges[owner - 1] : NULL);
        int lowest = 1, deep = 1;
        while (lowest < SPACE && !used[lowest]) lowest++;
        wrong += addresses_lowest(&space) != (lowest < SPACE ? ranges[used[lowest] - 1] : NULL);
        if (owner > 0) addresses_set_hole(&space, ranges[owner - 1], hole);
        hole = 1 + splitmix64_next(&state) % 100;
        while (deep < SPACE && (!used[deep] || ranges[used[deep] - 1]->hole.weight < hole)) deep++;
        wrong += addresses_lowest_hole(&space, hole) != (deep < SPACE ? ranges[used[deep] - 1] : NULL);
    }
    addresses_clear(&space);
    CHECK_U64(wrong, ==, 0);
    CHECK_U64(refused, >, 100);
}

/* A slab against an array of its 8,192 units. */
static void test_slab_equals_an_array(void)
{
    enum { UNITS = 8192, ROUNDS = 8000 };
    static int owner[UNITS];                                 /* first unit + 1 of the piece, or 0 */
    uint64_t state = 9, wrong = 0, refused = 0, offset;
    devmem memory;
    devmem_place piece;
    devmem_work work;
    devmem_init(&memory, 0, SIM_GRANULE, 0, GIB(1), GIB(2));
    for (int round = 0; round < ROUNDS; round++) {
        uint32_t unit = (uint32_t)(splitmix64_next(&state) % UNITS);
        int is_held = devmem_find(&memory, SIM_GRANULE + unit * DEVMEM_ALIGNMENT + (round % 2 ? 255 : 0), &piece);
        wrong += (is_held ? (int)((piece.offset - SIM_GRANULE) / DEVMEM_ALIGNMENT) + 1 : 0) != owner[unit];
        if (is_held && splitmix64_next(&state) % 4) {
            int first = owner[unit];
            for (int i = first - 1; i < UNITS && owner[i] == first; i++) owner[i] = 0;
            devmem_give_back(&memory, &piece, &work);
        }
        uint32_t bytes = 1 + (uint32_t)(splitmix64_next(&state) >> (43 + splitmix64_next(&state) % 12)) % 300000;
        int units = (int)((bytes + DEVMEM_ALIGNMENT - 1) / DEVMEM_ALIGNMENT), start = lowest_run(owner, UNITS, units);
        devmem_result result = devmem_obtain(&memory, bytes, &offset, &work);
        wrong += (result == DEVMEM_OK) != (start < UNITS);
        if (result != DEVMEM_OK) {
            refused++;
            continue;
        }
        wrong += offset != SIM_GRANULE + (uint64_t)start * DEVMEM_ALIGNMENT;
        for (int i = 0; i < units; i++) owner[start + i] = start + 1;
    }
    CHECK_U64(wrong, ==, 0);
    CHECK_U64(refused, >, 100);
    devmem_destroy(&memory);
}

static uint32_t behind(const mapping *map, uint64_t offset)
{
    return mapping_get(map, offset)->granule;
}

static void test_mapping(void)
{
    static mapping map;
    uint64_t last = MAPPING_SPACE - SIM_GRANULE, border = GIB(4) - SIM_GRANULE;
    CHECK(behind(&map, 0) == MAPPING_NONE && behind(&map, MAPPING_SPACE) == MAPPING_NONE);
    for (uint32_t i = 0; i < 3; i++) {
        const mapping_slot slot = { 0, i + 1, MAPPING_NONE };
        mapping_set(&map, i < 2 ? border + i * SIM_GRANULE : last, slot);
    }
    CHECK(behind(&map, border) == 1 && behind(&map, border + SIM_GRANULE - 1) == 1);
    CHECK(behind(&map, border + SIM_GRANULE) == 2 && behind(&map, MAPPING_SPACE - 1) == 3);
    CHECK(behind(&map, border - 1) == MAPPING_NONE);
    CHECK(behind(&map, border + 2 * SIM_GRANULE) == MAPPING_NONE);
    mapping_set(&map, border, mapping_nothing);
    CHECK(behind(&map, border) == MAPPING_NONE);
    mapping_destroy(&map);
    CHECK(behind(&map, last) == MAPPING_NONE);
}

static void test_granule_numbers_are_reused(void)
{
    granules all;
    uint32_t numbers[1000], wrong = 0;
    memset(&all, 0, sizeof all);
    for (uint32_t i = 0; i < 1000; i++) {
        numbers[i] = granules_take(&all);
        wrong += numbers[i] != i;
    }
    for (uint32_t i = 0; i < 1000; i += 2) granules_give(&all, numbers[i]);
    for (uint32_t i = 0; i < 500; i++) wrong += granules_take(&all) != 998 - 2 * i;
    for (uint32_t i = 0; i < 100; i++) wrong += granules_take(&all) != 1000 + i;
    CHECK_U64(wrong, ==, 0);
    granules_destroy(&all);
}

static void test_pages_give_their_granules_back(void)
{
    devmem memory;
    devmem_page *pages[3];
    unsigned wrong = 0;
    devmem_init(&memory, 0, MIB(64), 0, GIB(1), GIB(2));
    for (int i = 0; i < 3000; i++) {
        wrong += devmem_take_page(&memory, MIB(20), &pages[i % 3]) != DEVMEM_OK;
        if (i % 3 < 2) continue;
        wrong += devmem_take_page(&memory, MIB(6), &pages[0]) != DEVMEM_FULL || memory.page_count != 3;
        for (int j = 0; j < 3; j++) devmem_give_page(&memory, pages[(i + j) % 3]);
        wrong += memory.pages != NULL || memory.page_count != 0 || memory.held_bytes != 0;
    }
    CHECK_U64(wrong, ==, 0);
    CHECK_MSG(memory.granules.count == 30 && memory.held_peak_bytes == MIB(60), "and the same ones come again");
    devmem_destroy(&memory);
}

int main(void)
{
    test_addresses_equal_an_array();
    test_slab_equals_an_array();
    test_mapping();
    test_granule_numbers_are_reused();
    test_pages_give_their_granules_back();
    return tap_done();
}
