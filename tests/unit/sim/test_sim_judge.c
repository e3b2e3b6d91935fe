/* The judge: every misuse of the device is refused, changes nothing, and is reported with operation and place.
   Must not know how findings are kept. */
#include "sim_device.h"

#include <inttypes.h>

/* Gives back what must not be, and expects exactly this finding as the index-th, and nothing else changed. */
static void expect_finding(sim_bench *bench, void *ptr, uint64_t bytes, uint64_t index, const char *expected)
{
    uint64_t held_bytes = bench_counters(bench).held_bytes;
    CHECK_INT(bench_give_back(&bench->driver, ptr, bytes), ==, SIM_INVALID_VALUE);
    const char *found = sim_finding(bench->machine, index);
    CHECK_STR(found ? found : "(none)", expected);
    CHECK_U64(bench_counters(bench).held_bytes, ==, held_bytes);
    CHECK_U64(bench_counters(bench).findings, ==, index + 1);
}

static void test_wrong_give_backs(void)
{
    sim_config config = { 2, MIB(64), 0, NULL, NULL, 0, 0 };
    sim_bench bench = bench_open(&config);
    gpuarena_driver second;
    void *first, *block, *piece, *there;
    sim_driver(bench.machine, 1, &second);
    bench_obtain(&bench.driver, MIB(2), &first);             /* +0x200000: the first granule is never handed out */
    bench_obtain(&bench.driver, MIB(4), &block);             /* +0x400000 */
    bench_obtain(&bench.driver, 1000, &piece);               /* +0x800000 */
    bench_obtain(&second, MIB(2), &there);
    expect_finding(&bench, bench_at(block, 4096), MIB(4), 0, "before the first op: device 0: give_back of +0x401000, "
                   "which lies 4096 bytes inside +0x400000 of 4194304 bytes");
    sim_begin_op(bench.machine, 17);
    expect_finding(&bench, bench_at(piece, 1), 999, 1, "op 17: device 0: give_back of +0x800001, which lies 1 bytes "
                   "inside +0x800000 of 1000 bytes");
    CHECK_INT(bench_give_back(&bench.driver, first, MIB(2)), ==, SIM_SUCCESS);
    sim_begin_op(bench.machine, 18);
    expect_finding(&bench, first, MIB(2), 2, "op 18: device 0: give_back of +0x200000, which is not held now: given "
                   "back already?");
    expect_finding(&bench, bench_at(piece, 4096), 8, 3, "op 18: device 0: give_back of +0x801000, which is not held "
                   "now: given back already?");
    expect_finding(&bench, bench_at(block, GIB(1)), 8, 4, "op 18: device 0: give_back of an address of no device, "
                   "which this device never gave");
    expect_finding(&bench, bench_at(first, 0 - MIB(2)), 8, 5, "op 18: device 0: give_back of an address of no "
                   "device, which this device never gave");
    expect_finding(&bench, there, MIB(2), 6, "op 18: device 0: give_back of device 1 +0x200000, which this device "
                   "never gave");
    expect_finding(&bench, &bench, 8, 7, "op 18: device 0: give_back of an address of no device, which this device "
                   "never gave");
    expect_finding(&bench, block, MIB(2), 8, "op 18: device 0: give_back of +0x400000 as 2097152 bytes, which were "
                   "obtained as 4194304");
    CHECK_INT(bench_give_back(&second, block, MIB(4)), ==, SIM_INVALID_VALUE);
    CHECK_STR(sim_finding(bench.machine, 9), "op 18: device 1: give_back of device 0 +0x400000, which this device "
              "never gave");
    CHECK_INT(bench_give_back(&bench.driver, block, MIB(4)), ==, SIM_SUCCESS);
    CHECK_INT(bench_give_back(&bench.driver, piece, 1000), ==, SIM_SUCCESS);
    CHECK_U64(bench_counters(&bench).held_bytes, ==, 0);
    bench_close(&bench);
}

static void test_touching_what_is_not_held(void)
{
    sim_bench bench = bench_open_sized(MIB(64), NULL);
    void *block, *next;
    uint64_t bad_offset = 99;
    bench_obtain(&bench.driver, MIB(2), &block);
    bench_obtain(&bench.driver, MIB(2), &next);
    sim_begin_op(bench.machine, 3);
    sim_fill(bench.machine, 0, block, MIB(2), 5);
    CHECK_INT(sim_verify(bench.machine, 0, block, MIB(2), 6, &bad_offset), ==, 0);
    CHECK_MSG(sim_finding(bench.machine, 0) == NULL, "other contents are the caller's business, no finding");
    sim_fill(bench.machine, 0, bench_at(block, 1), MIB(2), 6);
    CHECK_STR(sim_finding(bench.machine, 0), "op 3: device 0: fill of 2097152 bytes at +0x200001, which are not held "
              "by one obtain");
    CHECK_MSG(sim_verify(bench.machine, 0, block, MIB(2), 5, &bad_offset), "such a fill fills nothing");
    CHECK_INT(sim_verify(bench.machine, 0, bench_at(next, MIB(2)), 1, 5, &bad_offset), ==, 0);
    CHECK_U64(bad_offset, ==, 0);
    CHECK_STR(sim_finding(bench.machine, 1), "op 3: device 0: verify of 1 bytes at +0x600000, which are not held by "
              "one obtain");
    sim_fill(bench.machine, 5, block, 1, 5);
    CHECK_STR(sim_finding(bench.machine, 2), "op 3: device 5: fill on a device that does not exist");
    CHECK(sim_finding(bench.machine, 3) == NULL);
    CHECK_U64(bench_counters(&bench).findings, ==, 2);
    bench_close(&bench);
}

static void test_first_findings_are_kept_all_are_counted(void)
{
    sim_bench bench = bench_open_sized(MIB(64), NULL);
    for (uint64_t op = 0; op < 100; op++) {
        sim_begin_op(bench.machine, op);
        bench_give_back(&bench.driver, &bench, 1);
    }
    CHECK_U64(bench_counters(&bench).findings, ==, 100);
    CHECK(sim_finding(bench.machine, 63) && strncmp(sim_finding(bench.machine, 63), "op 63: ", 7) == 0);
    CHECK(sim_finding(bench.machine, 64) == NULL);
    CHECK(sim_finding(bench.machine, UINT64_MAX) == NULL);
    sim_reset_counters(bench.machine, 0);
    CHECK_U64(bench_counters(&bench).findings, ==, 0);
    bench_close(&bench);
}

int main(void)
{
    test_wrong_give_backs();
    test_touching_what_is_not_held();
    test_first_findings_are_kept_all_are_counted();
    return tap_done();
}
