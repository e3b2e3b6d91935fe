/* The parts under the simulated device: address ranges and slabs against plain arrays, mappings, pages.
   Must not know of driver calls. */
#include "sim_device.h"

#include "stress/sim/addresses.h"
#include "stress/sim/devmem.h"

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

/* One page at three places, at the borders of the space and of what is looked up together. */
static void test_mapping(void)
{
    devmem memory;
    devmem_page *page;
    devmem_mapping *made[3];
    const uint64_t last = DEVMEM_SPACE - SIM_GRANULE, border = GIB(4) - SIM_GRANULE;
    const uint64_t places[] = { border, border + SIM_GRANULE, last };
    devmem_init(&memory, 0, MIB(64), 0, GIB(1), DEVMEM_SPACE);
    CHECK(!devmem_mapped(&memory, 0) && !devmem_mapped(&memory, DEVMEM_SPACE));
    address_range *range = addresses_insert(&memory.reserved, GIB(1), DEVMEM_SPACE - GIB(1));
    CHECK_INT(devmem_take_page(&memory, SIM_GRANULE, &page), ==, DEVMEM_OK);
    for (uint64_t i = 0; i < 3; i++) made[i] = devmem_map(&memory, range, places[i], page, i + 1);
    CHECK(devmem_mapped(&memory, border) == made[0] && devmem_mapped(&memory, places[1] - 1) == made[0]);
    CHECK(devmem_mapped(&memory, places[1]) == made[1] && devmem_mapped(&memory, DEVMEM_SPACE - 1) == made[2]);
    CHECK(!devmem_mapped(&memory, border - 1) && !devmem_mapped(&memory, border + 2 * SIM_GRANULE));
    CHECK_U64(devmem_mapping_count(&memory), ==, 3);
    for (int i = 0; i < 3; i++) devmem_unmap(&memory, made[i]);
    CHECK(!devmem_mapped(&memory, border) && !devmem_mapped(&memory, last));
    CHECK_U64(devmem_mapping_count(&memory), ==, 0);
    (void)devmem_map(&memory, range, border, page, 4);       /* what is left goes with the memory */
    devmem_destroy(&memory);
}

static void test_pages_are_given_back(void)
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
    CHECK_U64(memory.held_peak_bytes, ==, MIB(60));
    devmem_destroy(&memory);
}

int main(void)
{
    test_addresses_equal_an_array();
    test_slab_equals_an_array();
    test_mapping();
    test_pages_are_given_back();
    return tap_done();
}
