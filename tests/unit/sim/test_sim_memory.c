/* The simulated device's memory: granules, slabs, exact capacity, lowest addresses, several devices, info.
   Must not know how the device keeps its books. */
#include "sim_device.h"

static void test_blocks_are_whole_granules(void)
{
    sim_bench bench = bench_open_sized(MIB(64), NULL);
    void *first, *second, *third;
    CHECK_INT(bench_obtain(&bench.driver, MIB(2), &first), ==, SIM_SUCCESS);
    CHECK_INT(bench_obtain(&bench.driver, MIB(2) + 1, &second), ==, SIM_SUCCESS);
    CHECK_INT(bench_obtain(&bench.driver, MIB(2), &third), ==, SIM_SUCCESS);
    CHECK_U64(bench_number(first) % MIB(2), ==, 0);
    CHECK_U64(bench_number(second), ==, bench_number(first) + MIB(2));
    CHECK_U64(bench_number(third), ==, bench_number(second) + MIB(4));
    CHECK_U64(bench_counters(&bench).held_bytes, ==, MIB(8));
    CHECK_INT(bench_give_back(&bench.driver, second, MIB(2) + 1), ==, SIM_SUCCESS);
    CHECK_U64(bench_counters(&bench).held_bytes, ==, MIB(4));
    CHECK_U64(bench_counters(&bench).held_peak_bytes, ==, MIB(8));
    bench_close(&bench);
}

static void test_lowest_address_that_fits(void)
{
    sim_bench bench = bench_open_sized(MIB(64), NULL);
    void *blocks[6], *found;
    for (int i = 0; i < 6; i++) bench_obtain(&bench.driver, MIB(2) * (uint64_t)(i + 1), &blocks[i]);
    bench_give_back(&bench.driver, blocks[1], MIB(4));
    bench_give_back(&bench.driver, blocks[3], MIB(8));
    bench_obtain(&bench.driver, MIB(6), &found);
    CHECK_MSG(found == blocks[3], "6 MiB do not fit in the hole of 4 MiB, and go to that of 8 MiB");
    bench_obtain(&bench.driver, MIB(2), &found);
    CHECK_MSG(found == blocks[1], "2 MiB go to the lowest hole");
    bench_obtain(&bench.driver, MIB(2), &found);
    CHECK_MSG(found == bench_at(blocks[1], MIB(2)), "and the next 2 MiB beside them");
    bench_obtain(&bench.driver, MIB(2), &found);
    CHECK_MSG(found == bench_at(blocks[3], MIB(6)), "then to the rest of the second hole");
    bench_obtain(&bench.driver, MIB(2), &found);
    CHECK_MSG(found == bench_at(blocks[5], MIB(12)), "then above all others");
    bench_close(&bench);
}

static void test_capacity_is_exact(void)
{
    sim_config config = { 1, MIB(20) + KIB(1), MIB(3), NULL, NULL, 0, 0 };
    sim_bench bench = bench_open(&config);
    void *ptr = NULL, *rest = NULL, *untouched = &bench;
    CHECK_U64(bench_free_bytes(&bench.driver), ==, MIB(17) + KIB(1));
    CHECK_INT(bench_obtain(&bench.driver, MIB(18), &untouched), ==, SIM_OUT_OF_MEMORY);
    CHECK_INT(bench_obtain(&bench.driver, MIB(16) + 1, &untouched), ==, SIM_OUT_OF_MEMORY);
    CHECK_MSG(untouched == &bench, "a refused obtain writes no pointer");
    CHECK_INT(bench_obtain(&bench.driver, MIB(14), &ptr), ==, SIM_SUCCESS);
    CHECK_INT(bench_obtain(&bench.driver, MIB(2), &rest), ==, SIM_SUCCESS);
    CHECK_U64(bench_free_bytes(&bench.driver), ==, MIB(1) + KIB(1));
    CHECK_INT(bench_obtain(&bench.driver, 1, &untouched), ==, SIM_OUT_OF_MEMORY);
    CHECK_INT(bench_obtain(&bench.driver, MIB(2), &untouched), ==, SIM_OUT_OF_MEMORY);
    bench_give_back(&bench.driver, rest, MIB(2));
    CHECK_INT(bench_obtain(&bench.driver, 1, &rest), ==, SIM_SUCCESS);
    CHECK_U64(bench_counters(&bench).held_bytes, ==, MIB(16));
    CHECK_U64(bench_counters(&bench).calls[SIM_CALL_OBTAIN], ==, 7);
    bench_close(&bench);
}

static void test_sizes_near_the_end_of_the_type(void)
{
    sim_bench bench = bench_open_sized(MIB(64), NULL);
    void *ptr = NULL;
    int accepted = 0;
    for (uint64_t below = 0; below < 600; below++) {
        accepted += bench_obtain(&bench.driver, UINT64_MAX - below, &ptr) != SIM_OUT_OF_MEMORY;
        accepted += bench_obtain(&bench.driver, UINT64_MAX - MIB(2) - below + 300, &ptr) != SIM_OUT_OF_MEMORY;
    }
    CHECK_INT(accepted, ==, 0);
    CHECK(ptr == NULL);
    CHECK_U64(bench_counters(&bench).held_bytes, ==, 0);
    bench_close(&bench);
}

static void test_small_requests_share_slabs(void)
{
    sim_bench bench = bench_open_sized(MIB(64), NULL);
    void *one, *two, *large, *other, *again;
    bench_obtain(&bench.driver, 1, &one);
    bench_obtain(&bench.driver, 257, &two);
    CHECK_U64(bench_number(two) - bench_number(one), ==, 256);
    CHECK_U64(bench_counters(&bench).held_bytes, ==, MIB(2));
    bench_obtain(&bench.driver, MIB(2) - 768, &large);
    CHECK_U64(bench_number(large) - bench_number(one), ==, 768);
    CHECK_U64(bench_counters(&bench).held_bytes, ==, MIB(2));
    bench_obtain(&bench.driver, 1, &other);
    CHECK_U64(bench_counters(&bench).held_bytes, ==, MIB(4));
    CHECK_U64(bench_number(other) - bench_number(one), ==, MIB(2));
    bench_give_back(&bench.driver, two, 257);
    bench_obtain(&bench.driver, 512, &again);
    CHECK_MSG(again == two, "the lowest open slab's first hole is used first");
    bench_give_back(&bench.driver, one, 1);
    bench_give_back(&bench.driver, again, 512);
    CHECK_U64(bench_counters(&bench).held_bytes, ==, MIB(4));
    bench_give_back(&bench.driver, large, MIB(2) - 768);
    CHECK_U64(bench_counters(&bench).held_bytes, ==, MIB(2));
    bench_give_back(&bench.driver, other, 1);
    CHECK_U64(bench_counters(&bench).held_bytes, ==, 0);
    bench_close(&bench);
}

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

static void test_nothing_and_null(void)
{
    sim_bench bench = bench_open_sized(MIB(64), NULL);
    void *ptr = &bench;
    uint64_t before_ns = sim_now_ns(bench.machine);
    CHECK_INT(bench_obtain(&bench.driver, 0, &ptr), ==, SIM_SUCCESS);
    CHECK(ptr == NULL);
    CHECK_INT(bench_give_back(&bench.driver, NULL, 0), ==, SIM_SUCCESS);
    CHECK_U64(sim_now_ns(bench.machine), ==, before_ns);
    CHECK_U64(bench_counters(&bench).calls[SIM_CALL_OBTAIN], ==, 1);
    CHECK_U64(bench_counters(&bench).calls[SIM_CALL_GIVE_BACK], ==, 1);
    CHECK_U64(bench_counters(&bench).findings, ==, 0);
    bench_close(&bench);
}

static void test_devices_are_apart(void)
{
    sim_config config = { 3, MIB(4), 0, NULL, NULL, 0, 0 };
    sim_bench bench = bench_open(&config);
    gpuarena_driver second;
    sim_counters counters;
    void *here, *there, *more;
    sim_driver(bench.machine, 1, &second);
    CHECK_INT(second.device, ==, 1);
    CHECK_INT(bench_obtain(&bench.driver, MIB(4), &here), ==, SIM_SUCCESS);
    CHECK_INT(bench_obtain(&bench.driver, MIB(2), &more), ==, SIM_OUT_OF_MEMORY);
    CHECK_INT(bench_obtain(&second, MIB(4), &there), ==, SIM_SUCCESS);
    CHECK(here != there);
    CHECK_INT(sim_holds(bench.machine, 0, here, MIB(4)), ==, 1);
    CHECK_INT(sim_holds(bench.machine, 1, here, MIB(4)), ==, 0);
    CHECK_INT(bench_give_back(&second, here, MIB(4)), ==, SIM_INVALID_VALUE);
    sim_get_counters(bench.machine, 1, &counters);
    CHECK_U64(counters.findings, ==, 1);
    CHECK_U64(counters.held_bytes, ==, MIB(4));
    CHECK_U64(bench_counters(&bench).findings, ==, 0);
    sim_get_counters(bench.machine, 2, &counters);
    CHECK_U64(counters.calls[SIM_CALL_OBTAIN], ==, 0);
    CHECK_U64(bench_free_bytes(&second), ==, 0);
    bench_close(&bench);
}

static void test_holds(void)
{
    sim_bench bench = bench_open_sized(MIB(64), NULL);
    void *block, *next, *piece;
    bench_obtain(&bench.driver, MIB(3), &block);
    bench_obtain(&bench.driver, MIB(2), &next);
    bench_obtain(&bench.driver, 1000, &piece);
    CHECK(sim_holds(bench.machine, 0, block, MIB(3)));
    CHECK(sim_holds(bench.machine, 0, bench_at(block, MIB(3) - 1), 1));
    CHECK(!sim_holds(bench.machine, 0, block, MIB(3) + 1));
    CHECK(!sim_holds(bench.machine, 0, bench_at(block, MIB(3)), 1));
    CHECK(!sim_holds(bench.machine, 0, bench_at(block, 1), UINT64_MAX));
    CHECK(!sim_holds(bench.machine, 0, bench_at(next, MIB(1)), MIB(2)));
    CHECK(sim_holds(bench.machine, 0, piece, 1000));
    CHECK(!sim_holds(bench.machine, 0, piece, 1001));
    CHECK(!sim_holds(bench.machine, 0, bench_at(piece, 1024), 1));
    CHECK(!sim_holds(bench.machine, 0, &bench, 1));
    CHECK(!sim_holds(bench.machine, 7, block, 1));
    bench_close(&bench);
}

/* Random requests of all sizes against a count of granules kept here: refusals are true, and everything goes back. */
static void test_random_requests_are_accounted(void)
{
    enum { SLOTS = 400, ROUNDS = 40000 };
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

int main(void)
{
    test_blocks_are_whole_granules();
    test_lowest_address_that_fits();
    test_capacity_is_exact();
    test_sizes_near_the_end_of_the_type();
    test_small_requests_share_slabs();
    test_slab_fills_to_the_last_piece();
    test_nothing_and_null();
    test_devices_are_apart();
    test_holds();
    test_random_requests_are_accounted();
    return tap_done();
}
