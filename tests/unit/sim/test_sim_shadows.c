/* Random calls against records kept here: what is held, in which granules, with which contents, by which pool.
   Must not know how the device keeps its books, but for counting pieces. */
#include "sim_device.h"

#include "stress/sim/granules.h"
#include "stress/sim/memory.h"

/* ---- memory */

static void test_slab_fills_to_the_last_piece(void)
{
    sim_bench bench = bench_open_sized(MIB(2), NULL);
    static void *pieces[8193];
    int refused = 0;
    for (int i = 0; i < 8192; i++) refused += bench_obtain(&bench.driver, 256, &pieces[i]) != SIM_SUCCESS;
    CHECK_INT(refused, ==, 0);
    CHECK_INT(bench_obtain(&bench.driver, 1, &pieces[8192]), ==, SIM_OUT_OF_MEMORY);
    CHECK_U64(bench_number(pieces[8191]) - bench_number(pieces[0]), ==, MIB(2) - 256);
    bench_give_back(&bench.driver, pieces[5000], 256);
    CHECK_INT(bench_obtain(&bench.driver, 257, &pieces[8192]), ==, SIM_OUT_OF_MEMORY);
    CHECK_INT(bench_obtain(&bench.driver, 256, &pieces[8192]), ==, SIM_SUCCESS);
    CHECK(pieces[8192] == pieces[5000]);
    CHECK_U64(bench_counters(&bench).findings, ==, 0);
    bench_close(&bench);
}

/* Random requests of all sizes against a count of granules kept here: refusals are true, and everything goes back. */
static void test_random_requests_are_accounted(void)
{
    enum { SLOTS = 400, ROUNDS = 15000 };
    static struct { void *ptr; uint64_t bytes; } live[SLOTS];
    sim_bench bench = bench_open_sized(MIB(96), NULL);
    uint64_t state = 7, block_bytes = 0, wrong = 0, refused = 0;
    for (int i = 0; i < ROUNDS; i++) {
        size_t slot = (size_t)(splitmix64_next(&state) % SLOTS);
        if (live[slot].ptr) {
            wrong += bench_give_back(&bench.driver, live[slot].ptr, live[slot].bytes) != SIM_SUCCESS;
            if (live[slot].bytes >= MIB(2)) block_bytes -= (live[slot].bytes + MIB(2) - 1) / MIB(2) * MIB(2);
            live[slot].ptr = NULL;
            continue;
        }
        uint64_t bytes = 1 + (splitmix64_next(&state) >> (41 + splitmix64_next(&state) % 20));
        uint64_t free_bytes = bench_free_bytes(&bench.driver);
        int code = bench_obtain(&bench.driver, bytes, &live[slot].ptr);
        live[slot].bytes = bytes;
        if (code == SIM_SUCCESS && bytes >= MIB(2)) block_bytes += (bytes + MIB(2) - 1) / MIB(2) * MIB(2);
        if (code != SIM_SUCCESS) {
            refused++;
            live[slot].ptr = NULL;
            wrong += (bytes + MIB(2) - 1) / MIB(2) * MIB(2) <= free_bytes;
        }
        wrong += bench_counters(&bench).held_bytes < block_bytes;
        wrong += bench_free_bytes(&bench.driver) != MIB(96) - bench_counters(&bench).held_bytes;
    }
    for (int i = 0; i < SLOTS; i++) {
        if (live[i].ptr) wrong += bench_give_back(&bench.driver, live[i].ptr, live[i].bytes) != SIM_SUCCESS;
    }
    CHECK_U64(wrong, ==, 0);
    CHECK_U64(refused, >, 100);
    CHECK_U64(bench_counters(&bench).held_bytes, ==, 0);
    CHECK_U64(bench_counters(&bench).findings, ==, 0);
    bench_close(&bench);
}

/* ---- contents */

/* How many pieces the shadow says a granule has. */
static uint32_t shadow_pieces(const int *shadow)
{
    uint32_t count = 1;
    for (uint64_t i = 1; i < SIM_GRANULE; i++) count += shadow[i] != shadow[i - 1];
    return count;
}

/* One granule, edges mostly near a few places so that pieces meet, join and vanish; -1 in the shadow: not known. */
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

/* A small device: blocks and pieces come and go and are filled in part; each byte's pattern is kept beside. */
static void test_device_equals_a_shadow_of_bytes(void)
{
    enum { SLOTS = 24, ROUNDS = 6000, UNITS = 16 };          /* each request is filled in 16 units */
    static struct { void *ptr; uint64_t bytes; int pattern[UNITS]; } live[SLOTS];
    sim_bench bench = bench_open_sized(MIB(48), NULL);
    uint64_t state = 5, wrong = 0, obtained = 0;
    for (int round = 0; round < ROUNDS; round++) {
        size_t slot = (size_t)(splitmix64_next(&state) % SLOTS);
        uint64_t choice = splitmix64_next(&state) % 8, unit_bytes = live[slot].bytes / UNITS;
        if (!live[slot].ptr) {
            live[slot].bytes = UNITS * (1 + (splitmix64_next(&state) >> (44 + splitmix64_next(&state) % 12)));
            if (bench_obtain(&bench.driver, live[slot].bytes, &live[slot].ptr) != SIM_SUCCESS) live[slot].ptr = NULL;
            else obtained++;
            for (int i = 0; i < UNITS; i++) live[slot].pattern[i] = -1;
        } else if (choice == 0) {
            wrong += bench_give_back(&bench.driver, live[slot].ptr, live[slot].bytes) != SIM_SUCCESS;
            live[slot].ptr = NULL;
        } else {
            uint64_t from = splitmix64_next(&state) % UNITS, count = 1 + splitmix64_next(&state) % (UNITS - from);
            int pattern = (int)(splitmix64_next(&state) % 5);
            sim_fill(bench.machine, 0, bench_at(live[slot].ptr, from * unit_bytes), count * unit_bytes,
                     (uint64_t)pattern);
            for (uint64_t i = from; i < from + count; i++) live[slot].pattern[i] = pattern;
        }
        size_t look = (size_t)(splitmix64_next(&state) % SLOTS);
        if (!live[look].ptr) continue;
        uint64_t bad_offset = 0, expected = 0, bytes = live[look].bytes;
        int pattern = live[look].pattern[0] < 0 ? 0 : live[look].pattern[0];
        while (expected < UNITS && live[look].pattern[expected] == pattern) expected++;
        int same = sim_verify(bench.machine, 0, live[look].ptr, bytes, (uint64_t)pattern, &bad_offset);
        wrong += same != (expected == UNITS) || (!same && bad_offset != expected * (bytes / UNITS));
    }
    CHECK_U64(wrong, ==, 0);
    CHECK_U64(obtained, >, 500);
    CHECK_U64(bench_counters(&bench).findings, ==, 0);
    bench_close(&bench);
}

/* ---- a pool */

/* Against a list of what is live: blocks never overlap, figures are sums, all goes back. */
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
    test_slab_fills_to_the_last_piece();
    test_random_requests_are_accounted();
    test_pieces_equal_a_shadow_of_bytes();
    test_device_equals_a_shadow_of_bytes();
    test_pool_equals_a_list();
    return tap_done();
}
