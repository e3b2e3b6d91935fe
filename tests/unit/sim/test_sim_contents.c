/* Contents of simulated memory: they survive, or are lost, as they should, and equal a shadow of bytes.
   Must not know of pieces, but for counting them. */
#include "sim_device.h"

#include "stress/sim/granules.h"

static int has(const sim_bench *bench, const void *ptr, uint64_t bytes, uint64_t pattern)
{
    uint64_t bad_offset;
    return sim_verify(bench->machine, 0, ptr, bytes, pattern, &bad_offset);
}

static void test_fill_and_verify(void)
{
    sim_bench bench = bench_open_sized(MIB(64), NULL);
    void *block;
    uint64_t bad_offset = 99;
    bench_obtain(&bench.driver, MIB(10), &block);
    CHECK_MSG(!has(&bench, block, 1, 0), "fresh memory has no pattern, not even 0");
    sim_fill(bench.machine, 0, block, MIB(10), 0);
    CHECK(has(&bench, block, MIB(10), 0));
    sim_fill(bench.machine, 0, bench_at(block, MIB(3)), MIB(4), 7);
    CHECK(has(&bench, block, MIB(3), 0));
    CHECK(has(&bench, bench_at(block, MIB(3)), MIB(4), 7));
    CHECK(has(&bench, bench_at(block, MIB(7)), MIB(3), 0));
    CHECK_INT(sim_verify(bench.machine, 0, block, MIB(10), 0, &bad_offset), ==, 0);
    CHECK_U64(bad_offset, ==, MIB(3));
    CHECK_INT(sim_verify(bench.machine, 0, bench_at(block, MIB(3) + 5), MIB(5), 7, &bad_offset), ==, 0);
    CHECK_U64(bad_offset, ==, MIB(4) - 5);
    CHECK_INT(sim_verify(bench.machine, 0, block, 0, 1, &bad_offset), ==, 1);
    sim_fill(bench.machine, 0, &bench, 0, 1);
    sim_fill(bench.machine, 0, bench_at(block, 1), 1, UINT64_MAX);
    CHECK(has(&bench, block, 1, 0) && has(&bench, bench_at(block, 1), 1, UINT64_MAX));
    CHECK(has(&bench, bench_at(block, 2), MIB(3) - 2, 0));
    CHECK_U64(bench_counters(&bench).findings, ==, 0);
    bench_close(&bench);
}

static void test_given_back_memory_forgets(void)
{
    sim_bench bench = bench_open_sized(MIB(64), NULL);
    void *block, *again, *piece, *neighbour, *reused;
    bench_obtain(&bench.driver, MIB(4), &block);
    bench_obtain(&bench.driver, 1000, &piece);
    bench_obtain(&bench.driver, 1000, &neighbour);
    sim_fill(bench.machine, 0, block, MIB(4), 1);
    sim_fill(bench.machine, 0, piece, 1000, 2);
    sim_fill(bench.machine, 0, neighbour, 1000, 2);
    bench_give_back(&bench.driver, block, MIB(4));
    bench_obtain(&bench.driver, MIB(4), &again);
    CHECK_MSG(again == block && !has(&bench, again, 1, 1), "the same addresses, and nothing of the old contents");
    bench_give_back(&bench.driver, piece, 1000);
    bench_obtain(&bench.driver, 1000, &reused);
    CHECK_MSG(reused == piece && !has(&bench, reused, 1, 2), "the same in a slab that stays");
    CHECK_MSG(has(&bench, neighbour, 1000, 2), "and the slab's other pieces keep theirs");
    bench_close(&bench);
}

static void test_devices_have_their_own_contents(void)
{
    sim_config config = { 2, MIB(64), 0, NULL, NULL, 0, 0 };
    sim_bench bench = bench_open(&config);
    gpuarena_driver second;
    void *here, *there;
    uint64_t bad_offset;
    sim_driver(bench.machine, 1, &second);
    bench_obtain(&bench.driver, MIB(2), &here);
    bench_obtain(&second, MIB(2), &there);
    sim_fill(bench.machine, 0, here, MIB(2), 1);
    sim_fill(bench.machine, 1, there, MIB(2), 2);
    CHECK(has(&bench, here, MIB(2), 1));
    CHECK_INT(sim_verify(bench.machine, 1, there, MIB(2), 2, &bad_offset), ==, 1);
    bench_close(&bench);
}

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
    enum { ROUNDS = 250, EDGES = 12 };
    static int shadow[2 << 20];
    granules all;
    uint64_t state = 11, wrong = 0;
    memset(&all, 0, sizeof all);
    memset(shadow, 0xFF, sizeof shadow);
    CHECK_INT(granules_reserve(&all, 1), ==, 0);
    uint32_t number = granules_take(&all);
    for (int round = 0; round < ROUNDS; round++) {
        uint32_t edges[2];
        for (int i = 0; i < 2; i++)
            edges[i] = (uint32_t)(splitmix64_next(&state) % (EDGES + 1) * (SIM_GRANULE / EDGES));
        uint32_t from = edges[0] < edges[1] ? edges[0] : edges[1], to = edges[0] < edges[1] ? edges[1] : edges[0];
        if (splitmix64_next(&state) % 4 == 0 && from > 0) from -= 1;
        if (splitmix64_next(&state) % 4 == 0 || to <= from) to = from + 1;
        if (splitmix64_next(&state) % 8 == 0) to = (uint32_t)SIM_GRANULE;
        int pattern = (int)(splitmix64_next(&state) % 4) - 1;
        wrong += granules_fill(&all, number, from, to, pattern >= 0, (uint64_t)pattern) != 0;
        for (uint32_t i = from; i < to; i++) shadow[i] = pattern;
        wrong += granules_piece_count(&all, number) != shadow_pieces(shadow);
        uint32_t look = (uint32_t)(splitmix64_next(&state) % SIM_GRANULE), end = look;
        while (end < SIM_GRANULE && shadow[end] == 2) end++;
        wrong += granules_matches(&all, number, look, (uint32_t)SIM_GRANULE, 2) != end;
        wrong += granules_matches(&all, number, 0, 1, 1) != (shadow[0] == 1);
    }
    CHECK_U64(wrong, ==, 0);
    granules_fill(&all, number, 1, 2, 1, 9);
    granules_fill(&all, number, 0, (uint32_t)SIM_GRANULE, 1, 5);
    CHECK_U64(granules_piece_count(&all, number), ==, 1);
    granules_give(&all, number);
    CHECK_U64(granules_take(&all), ==, number);
    CHECK_MSG(granules_matches(&all, number, 0, 1, 5) == 0, "a granule that was given back knows nothing");
    granules_destroy(&all);
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

int main(void)
{
    test_fill_and_verify();
    test_given_back_memory_forgets();
    test_devices_have_their_own_contents();
    test_pieces_equal_a_shadow_of_bytes();
    test_device_equals_a_shadow_of_bytes();
    return tap_done();
}
