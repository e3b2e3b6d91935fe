/* Random calls against records kept here: which addresses, pieces and granules are held, with which contents, by
   which pool; and the parts under the device: mappings and pages.
   It must not know how the device keeps its books, but for counting pieces. */
#include "sim_device.h"

#include "stress/sim/devmem.h"
#include "stress/sim/memory.h"

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
            wrong += offset != (start < SPACE ? (uint64_t)start * SIM_GRANULE : 0);
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
    uint64_t state = 9, wrong = 0, refused = 0;
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
            (void)devmem_give_back(&memory, &piece);
        }
        uint32_t bytes = 1 + (uint32_t)(splitmix64_next(&state) >> (43 + splitmix64_next(&state) % 12)) % 300000;
        int units = (int)((bytes + DEVMEM_ALIGNMENT - 1) / DEVMEM_ALIGNMENT), start = lowest_run(owner, UNITS, units);
        uint64_t offset = devmem_obtain(&memory, bytes, &work);
        wrong += !offset != (start >= UNITS);
        if (!offset) {
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

/* One page at three places, at the borders of the space and of the span of one look-up. */
static void test_mapping(void)
{
    devmem memory;
    devmem_mapping *made[3];
    const uint64_t last = DEVMEM_SPACE - SIM_GRANULE, border = GIB(4) - SIM_GRANULE;
    const uint64_t places[] = { border, border + SIM_GRANULE, last };
    devmem_init(&memory, 0, MIB(64), 0, GIB(1), DEVMEM_SPACE);
    CHECK(!devmem_mapped(&memory, 0) && !devmem_mapped(&memory, DEVMEM_SPACE));
    address_range *range = addresses_insert(&memory.reserved, GIB(1), DEVMEM_SPACE - GIB(1));
    devmem_page *page = devmem_take_page(&memory, SIM_GRANULE);
    CHECK(page != NULL);
    for (uint64_t i = 0; i < 3; i++) made[i] = devmem_map(&memory, range, places[i], page, i + 1);
    CHECK(devmem_mapped(&memory, border) == made[0] && devmem_mapped(&memory, places[1] - 1) == made[0]);
    CHECK(devmem_mapped(&memory, places[1]) == made[1] && devmem_mapped(&memory, DEVMEM_SPACE - 1) == made[2]);
    CHECK(!devmem_mapped(&memory, border - 1) && !devmem_mapped(&memory, border + 2 * SIM_GRANULE));
    CHECK_U64(devmem_mapping_count(&memory), ==, 3);
    for (int i = 0; i < 3; i++) devmem_unmap(&memory, made[i]);
    CHECK(!devmem_mapped(&memory, border) && !devmem_mapped(&memory, last));
    CHECK_U64(devmem_mapping_count(&memory), ==, 0);
    (void)devmem_map(&memory, range, border, page, 4);       /* this mapping goes with the memory */
    devmem_destroy(&memory);
}

static void test_pages_are_given_back(void)
{
    devmem memory;
    devmem_page *pages[3];
    unsigned wrong = 0;
    devmem_init(&memory, 0, MIB(64), 0, GIB(1), GIB(2));
    for (int i = 0; i < 3000; i++) {
        wrong += !(pages[i % 3] = devmem_take_page(&memory, MIB(20)));
        if (i % 3 < 2) continue;
        wrong += devmem_take_page(&memory, MIB(6)) || memory.page_count != 3;
        for (int j = 0; j < 3; j++) devmem_give_page(&memory, pages[(i + j) % 3]);
        wrong += memory.pages != NULL || memory.page_count != 0 || memory.held_bytes != 0;
    }
    CHECK_U64(wrong, ==, 0);
    CHECK_U64(memory.held_peak_bytes, ==, MIB(60));
    devmem_destroy(&memory);
}

/* The number of pieces of a granule, by the shadow. */
static uint32_t shadow_pieces(const int *shadow)
{
    uint32_t count = 1;
    for (uint64_t i = 1; i < SIM_GRANULE; i++) count += shadow[i] != shadow[i - 1];
    return count;
}

/* Pieces of one granule, with edges mostly near a few places so that pieces meet, join and vanish; -1 in the shadow:
   not known. */
static void test_pieces_equal_a_shadow_of_bytes(void)
{
    enum { ROUNDS = 60, EDGES = 12 };
    static int shadow[2 << 20];
    granule unit;
    uint64_t state = 11, wrong = 0;
    memset(&unit, 0, sizeof unit);
    memset(shadow, 0xFF, sizeof shadow);
    for (int round = 0; round < ROUNDS; round++) {
        uint32_t edges[2];
        for (int i = 0; i < 2; i++)
            edges[i] = (uint32_t)(splitmix64_next(&state) % (EDGES + 1) * (SIM_GRANULE / EDGES));
        uint32_t from = edges[0] < edges[1] ? edges[0] : edges[1], to = edges[0] < edges[1] ? edges[1] : edges[0];
        if (splitmix64_next(&state) % 4 == 0 && from > 0) from -= 1;
        if (splitmix64_next(&state) % 4 == 0 || to <= from) to = from + 1;
        if (splitmix64_next(&state) % 8 == 0) to = (uint32_t)SIM_GRANULE;
        int pattern = (int)(splitmix64_next(&state) % 4) - 1;
        granule_fill(&unit, from, to, pattern >= 0, (uint64_t)pattern);
        for (uint32_t i = from; i < to; i++) shadow[i] = pattern;
        wrong += unit.patterns.count != shadow_pieces(shadow);
        uint32_t look = (uint32_t)(splitmix64_next(&state) % SIM_GRANULE), end = look;
        while (end < SIM_GRANULE && shadow[end] == 2) end++;
        wrong += granule_matches(&unit, look, (uint32_t)SIM_GRANULE, 2) != end;
        wrong += granule_matches(&unit, 0, 1, 1) != (shadow[0] == 1);
    }
    CHECK_U64(wrong, ==, 0);
    granule_fill(&unit, 1, 2, 1, 9);
    granule_fill(&unit, 0, (uint32_t)SIM_GRANULE, 1, 5);
    CHECK_U64(unit.patterns.count, ==, 1);
    granule_clear(&unit);
    CHECK_MSG(granule_matches(&unit, 0, 1, 5) == 0, "a granule that was cleared knows nothing");
    granule_clear(&unit);
}

/* Rounds a size up to whole granules. */
static uint64_t granules_of(uint64_t bytes)
{
    return (bytes + SIM_GRANULE - 1) / SIM_GRANULE * SIM_GRANULE;
}

enum { UNITS = 16 };                             /* each request is filled in so many */

typedef struct filled { void *ptr; uint64_t bytes; int pattern[UNITS]; } filled;     /* pattern -1: unknown */

typedef struct figures { uint64_t wrong, obtained, refused, block_bytes; } figures;  /* of blocks of whole granules */

static void obtain_filled(const sim_bench *bench, filled *block, uint64_t bytes, figures *seen)
{
    uint64_t free_bytes = bench_free_bytes(&bench->driver);
    int code = bench_obtain(&bench->driver, bytes, &block->ptr);
    if (code) block->ptr = NULL;
    block->bytes = bytes;
    seen->refused += code != SIM_SUCCESS;
    seen->obtained += code == SIM_SUCCESS;
    seen->wrong += code && granules_of(bytes) <= free_bytes;
    if (!code && bytes >= MIB(2)) seen->block_bytes += granules_of(bytes);
    for (int i = 0; i < UNITS; i++) block->pattern[i] = -1;
}

static void give_back_filled(const sim_bench *bench, filled *block, figures *seen)
{
    seen->wrong += bench_give_back(&bench->driver, block->ptr, block->bytes) != SIM_SUCCESS;
    if (block->bytes >= MIB(2)) seen->block_bytes -= granules_of(block->bytes);
    block->ptr = NULL;
}

/* Tells whether the device finds the pattern of the block's first unit in just so many bytes as have it. */
static int is_filled_so(const sim_bench *bench, const filled *block)
{
    uint64_t bad_offset = 0, expected = 0, pattern = block->pattern[0] < 0 ? 0 : (uint64_t)block->pattern[0];
    while (expected < UNITS && block->pattern[expected] == (int)pattern) expected++;
    int same = sim_verify(bench->machine, 0, block->ptr, block->bytes, pattern, &bad_offset);
    return same ? expected == UNITS : expected < UNITS && bad_offset == expected * (block->bytes / UNITS);
}

/* A small device: blocks and pieces come and go and are filled in part. Refusals are true, and all goes back. */
static void test_device_equals_a_shadow(void)
{
    enum { SLOTS = 60, ROUNDS = 15000 };
    static filled live[SLOTS];
    sim_bench bench = bench_open_sized(MIB(48), NULL);
    uint64_t state = 5;
    figures seen = { 0, 0, 0, 0 };
    for (int round = 0; round < ROUNDS; round++) {
        filled *block = &live[splitmix64_next(&state) % SLOTS], *look = &live[splitmix64_next(&state) % SLOTS];
        uint64_t choice = splitmix64_next(&state) % 8, unit_bytes = block->bytes / UNITS;
        if (!block->ptr) {
            uint64_t unit = 1 + (splitmix64_next(&state) >> (44 + splitmix64_next(&state) % 12));
            obtain_filled(&bench, block, UNITS * unit, &seen);
        } else if (choice == 0) {
            give_back_filled(&bench, block, &seen);
        } else {
            uint64_t from = splitmix64_next(&state) % UNITS, count = 1 + splitmix64_next(&state) % (UNITS - from);
            int pattern = (int)(splitmix64_next(&state) % 5);
            sim_fill(bench.machine, 0, bench_at(block->ptr, from * unit_bytes), count * unit_bytes,
                     (uint64_t)pattern);
            for (uint64_t i = from; i < from + count; i++) block->pattern[i] = pattern;
        }
        uint64_t held_bytes = bench_counters(&bench).held_bytes;
        seen.wrong += held_bytes < seen.block_bytes || bench_free_bytes(&bench.driver) != MIB(48) - held_bytes;
        seen.wrong += look->ptr && !is_filled_so(&bench, look);
    }
    for (int slot = 0; slot < SLOTS; slot++) if (live[slot].ptr) give_back_filled(&bench, &live[slot], &seen);
    CHECK_U64(seen.wrong, ==, 0);
    CHECK_MSG(seen.obtained > 500 && seen.refused > 100, "%" PRIu64 " obtained, %" PRIu64 " refused", seen.obtained,
              seen.refused);
    CHECK_U64(bench_counters(&bench).held_bytes + bench_counters(&bench).findings, ==, 0);
    bench_close(&bench);
}

/* Calls of a pool against a list of live blocks: blocks never overlap, figures are sums, all goes back. */
static void test_pool_equals_a_list(void)
{
    sim_bench bench = bench_open_sized(MIB(256), NULL);
    const gpuarena_driver *driver = &bench.driver;
    const mempool *pool = mempool_of(driver->user);
    gpuarena_stream both[2];
    struct { void *ptr; uint64_t bytes; int stream; } live[100];
    uint64_t random = 7, used = 0;
    unsigned wrong = 0, served = 0;
    memset(live, 0, sizeof live);
    for (int i = 0; i < 2; i++) sim_stream_create(bench.machine, 0, 0, &both[i]);
    for (int i = 0; i < 20000; i++) {
        size_t at = splitmix64_next(&random) % COUNT(live);
        gpuarena_stream stream = both[live[at].stream];
        if (live[at].ptr) {
            sim_work(bench.machine, 0, stream, 30000);
            sim_access(bench.machine, 0, stream, live[at].ptr, live[at].bytes, (uint64_t)at + 1, (uint64_t)i);
            wrong += driver->memory.give_back(driver, GPUARENA_MEMORY_ASYNC, live[at].ptr, live[at].bytes,
                                               stream) != 0;
            used -= (live[at].bytes + 511) / 512 * 512;
            live[at].ptr = NULL;
        } else {
            live[at].bytes = 1 + splitmix64_next(&random) % (i % 10 ? KIB(300) : MIB(6));
            live[at].stream = (int)(splitmix64_next(&random) % 2);
            if (driver->memory.obtain(driver, GPUARENA_MEMORY_ASYNC, &live[at].ptr, live[at].bytes,
                                      both[live[at].stream])) {
                live[at].ptr = NULL;
                continue;
            }
            served++;
            used += (live[at].bytes + 511) / 512 * 512;
            wrong += !sim_holds(bench.machine, 0, live[at].ptr, live[at].bytes);
        }
        wrong += pool->used_bytes != used || pool->reserved_bytes != bench_counters(&bench).held_bytes;
        for (size_t j = 0; j < COUNT(live) && i % 50 == 0 && live[at].ptr; j++) {
            uint64_t a = bench_number(live[at].ptr), b = bench_number(live[j].ptr);
            wrong += j != at && live[j].ptr && a < b + live[j].bytes && b < a + live[at].bytes;
        }
        if (i % 700 == 0) sim_device_wait(bench.machine, 0);
    }
    CHECK_MSG(wrong == 0 && served > 5000, "%u things wrong, %u blocks", wrong, served);
    for (size_t at = 0; at < COUNT(live); at++)
        if (live[at].ptr)
            (void)driver->memory.give_back(driver, GPUARENA_MEMORY_ASYNC, live[at].ptr, live[at].bytes,
                                           both[live[at].stream]);
    sim_device_wait(bench.machine, 0);
    CHECK_U64(bench_counters(&bench).held_bytes, ==, 0);
    CHECK_U64(sim_finding_count(bench.machine), ==, 0);
    bench_close(&bench);
}

int main(void)
{
    test_addresses_equal_an_array();
    test_slab_equals_an_array();
    test_mapping();
    test_pages_are_given_back();
    test_pieces_equal_a_shadow_of_bytes();
    test_device_equals_a_shadow();
    test_pool_equals_a_list();
    return tap_done();
}
