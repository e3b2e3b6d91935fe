/* The simulated machine beyond the contract: its table, configurations, counters, clock, findings, arguments that no
   runtime takes. Must not know what lies behind the entries. */
#include "sim_device.h"

static void test_table_is_filled(void)
{
    sim_bench bench = bench_open_sized(MIB(64), NULL);
    const gpuarena_driver *driver = &bench.driver;
    CHECK(driver->user && driver->device == 0 && driver->page_bytes == SIM_GRANULE && driver->peers == 0);
    CHECK(driver->now_ns && driver->classify(driver, 719) == GPUARENA_STATUS_LOST);
    CHECK_STR(driver->code_name(driver, 600), "cudaErrorNotReady");
    CHECK(driver->per_thread == (gpuarena_stream)(uintptr_t)2 && !driver->null_is_per_thread);
    gpuarena_driver none;
    memset(&none, 0xFF, sizeof none);
    sim_driver(bench.machine, 1, &none);
    CHECK_MSG(!none.memory.obtain && !none.user, "the table of a device that does not exist is empty");
    sim_driver(bench.machine, -1, &none);
    CHECK(!none.memory.obtain && !none.user);
    bench_close(&bench);
}

static void test_a_device_without_virtual_memory(void)
{
    sim_config config = { 0, 0, 0, NULL, NULL, 1, 0 };
    sim_bench bench = bench_open(&config);
    const gpuarena_driver *driver = &bench.driver;
    CHECK(driver->page_bytes == 0 && driver->memory.obtain && driver->capture.active);
    CHECK(!driver->vm.reserve && !driver->vm.release && !driver->vm.create && !driver->vm.destroy && !driver->vm.map
          && !driver->vm.access && !driver->vm.unmap);
    bench_close(&bench);
}

static void test_devices_that_do_not_exist(void)
{
    sim_bench bench = bench_open_sized(MIB(64), NULL);
    gpuarena_stream stream;
    sim_counters nobody;
    CHECK_INT(sim_stream_create(bench.machine, 2, 1, &stream), ==, SIM_INVALID_VALUE);
    CHECK_INT(sim_access(bench.machine, 5, NULL, &bench, 1, 1, 3), ==, SIM_INVALID_VALUE);
    CHECK(!sim_holds(bench.machine, 7, &bench, 1));
    CHECK_INT(sim_pool_chunk(bench.machine, 7, MIB(4)), ==, -1);
    CHECK_U64(sim_finding_count(bench.machine), ==, 0);
    sim_fill(bench.machine, 5, &bench, 1, 5);
    CHECK_STR(sim_finding(bench.machine, 0), "before the first op: device 5: fill on a device that does not exist");
    sim_get_counters(bench.machine, 9, &nobody);
    CHECK_U64(nobody.held_bytes, ==, 0);
    sim_reset_counters(bench.machine, 9);
    bench_close(&bench);
}

static void expect_refused(sim_config config, const char *expected)
{
    problem why = { 0, "" };
    sim *machine = sim_create(&config, &why);
    if (!CHECK_MSG(!machine && why.exit_code == EXIT_USAGE && strstr(why.text, expected), "refused: %s", expected))
        printf("#   said: %s\n", why.text);
    sim_destroy(machine);
}

static void test_bad_configurations(void)
{
    const sim_config crowd = { 32, SIM_MAX_CAPACITY, 0, NULL, NULL, 0, 0 };
    expect_refused(crowd, "32 simulated devices of 4398046511104 bytes, expected at most 82463372083200 in all");
    const sim_config many = { 33, 0, 0, NULL, NULL, 0, 0 }, huge = { 1, SIM_MAX_CAPACITY + 1, 0, NULL, NULL, 0, 0 },
                     wide = { 1, MIB(4), MIB(4) + 1, NULL, NULL, 0, 0 }, faulty = { 1, 0, 0, NULL, "obtain", 0, 0 };
    expect_refused(many, "33, expected 1 to 32");
    expect_refused(huge, "expected at most 4398046511104");
    expect_refused(wide, "expected at most the device's 4194304");
    expect_refused(faulty, "faults: part \"obtain\"");
    sim_config most = { 16, SIM_MAX_CAPACITY, SIM_MAX_CAPACITY, NULL, NULL, 0, 0 };
    sim_bench bench = bench_open(&most);
    gpuarena_driver last;
    void *ptr;
    sim_driver(bench.machine, 15, &last);
    CHECK_INT(bench_obtain(&last, 1, &ptr), ==, SIM_OUT_OF_MEMORY);
    bench_close(&bench);
    sim_destroy(NULL);
}

/* Two machines that live side by side answer the same calls with the same addresses: nothing depends on the host. */
static void test_deterministic(void)
{
    sim_bench left = bench_open_sized(GIB(8), NULL), right = bench_open_sized(GIB(8), NULL);
    uint64_t state = 3, differences = 0;
    for (int i = 0; i < 2000; i++) {
        uint64_t bytes = splitmix64_next(&state) >> (40 + splitmix64_next(&state) % 20);
        void *one = NULL, *two = NULL;
        differences += bench_obtain(&left.driver, bytes, &one) != bench_obtain(&right.driver, bytes, &two);
        differences += one != two;
        if (splitmix64_next(&state) % 3 == 0)
            differences += bench_give_back(&left.driver, one, bytes) != bench_give_back(&right.driver, two, bytes);
    }
    CHECK_U64(differences, ==, 0);
    CHECK_U64(sim_now_ns(left.machine), ==, sim_now_ns(right.machine));
    bench_close(&left);
    bench_close(&right);
}

static void test_the_clock(void)
{
    sim_config config = { 2, 0, 0, NULL, NULL, 0, 0 };
    sim_bench bench = bench_open(&config);
    gpuarena_driver again, other;
    uint64_t start_ns = sim_now_ns(bench.machine);
    sim_driver(bench.machine, 0, &again);
    CHECK_MSG(sim_now_ns(bench.machine) == start_ns, "a second table of a device creates no second context");
    sim_driver(bench.machine, 1, &other);
    CHECK_U64(sim_now_ns(bench.machine), ==, start_ns + 150000000);
    sim_advance(bench.machine, 2000);
    CHECK_U64(bench.driver.now_ns(&bench.driver), ==, start_ns + 150000000 + 2000);
    sim_advance(bench.machine, UINT64_MAX - 1);
    CHECK_MSG(sim_now_ns(bench.machine) == UINT64_MAX, "the clock stops at its end and does not wrap");
    bench_close(&bench);
}

static void test_costs_are_exact(void)
{
    sim_costs costs = *sim_costs_default();
    costs.of[SIM_COST_INFO].fixed_ns = 7;
    costs.of[SIM_COST_INFO].per_mib_ns = 1000;
    CHECK_U64(sim_costs_ns(&costs, SIM_COST_INFO, MIB(1) - 1), ==, 7 + 999);
    CHECK_U64(sim_costs_ns(&costs, SIM_COST_INFO, KIB(2560)), ==, 2507);
    costs.of[SIM_COST_INFO].fixed_ns = SIM_COST_MAX_FIXED_NS;
    costs.of[SIM_COST_INFO].per_mib_ns = SIM_COST_MAX_PER_MIB_NS;
    CHECK_U64(sim_costs_ns(&costs, SIM_COST_INFO, (uint64_t)1 << 43), ==,
              UINT64_C(1000000000000) + UINT64_C(8388608) * UINT64_C(1000000000));
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
    test_table_is_filled();
    test_a_device_without_virtual_memory();
    test_devices_that_do_not_exist();
    test_bad_configurations();
    test_deterministic();
    test_the_clock();
    test_costs_are_exact();
    test_first_findings_are_kept_all_are_counted();
    return tap_done();
}
