/* The simulated machine beyond the contract: its table, configurations, counters, clock, findings, arguments that no
   runtime takes. Must not know what lies behind the entries. */
#include "sim_device.h"

#include "stress/sim/work.h"

static void test_table_is_filled(void)
{
    sim_bench bench = bench_open_sized(MIB(64), NULL);
    const gpuarena_driver *driver = &bench.driver;
    CHECK(driver->user && driver->device == 0 && driver->page_bytes == SIM_GRANULE && driver->peers == 0);
    CHECK(driver->classify && driver->code_name && driver->now_ns);
    CHECK(driver->per_thread == (gpuarena_stream)(uintptr_t)2 && !driver->null_is_per_thread);
    CHECK(driver->memory.info && driver->memory.obtain && driver->memory.give_back);
    CHECK(driver->vm.reserve && driver->vm.release && driver->vm.create && driver->vm.destroy && driver->vm.map
          && driver->vm.access && driver->vm.unmap);
    CHECK(driver->capture.active && driver->capture.exchange_mode);
    CHECK(driver->events.create && driver->events.destroy && driver->events.record && driver->events.query
          && driver->events.host_wait && driver->events.stream_wait && driver->events.device_wait);
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

static void test_codes(void)
{
    sim_bench bench = bench_open_sized(MIB(64), NULL);
    CHECK_INT(bench.driver.classify(&bench.driver, 719), ==, GPUARENA_STATUS_LOST);
    CHECK_INT(bench.driver.classify(&bench.driver, 998), ==, GPUARENA_STATUS_FAILED);
    CHECK_STR(bench.driver.code_name(&bench.driver, 600), "cudaErrorNotReady");
    CHECK_STR(bench.driver.code_name(&bench.driver, -1), "unrecognized error code");
    bench_close(&bench);
}

static void test_arguments(void)
{
    sim_bench bench = bench_open_sized(MIB(64), NULL);
    const gpuarena_driver *driver = &bench.driver;
    uint64_t bytes = 77;
    gpuarena_stream stream;
    void *ptr = &bench;
    int active = 5;
    const gpuarena_memory none = (gpuarena_memory)(GPUARENA_MEMORY_ASYNC + 1);
    CHECK_INT(driver->memory.obtain(driver, GPUARENA_MEMORY_DEVICE, NULL, MIB(2), NULL), ==, SIM_INVALID_VALUE);
    CHECK_INT(driver->memory.obtain(driver, none, &ptr, MIB(2), NULL), ==, SIM_NOT_SUPPORTED);
    CHECK_INT(driver->memory.give_back(driver, none, ptr, MIB(2), NULL), ==, SIM_NOT_SUPPORTED);
    CHECK_INT(driver->memory.info(driver, GPUARENA_MEMORY_DEVICE, NULL, &bytes), ==, SIM_INVALID_VALUE);
    CHECK_INT(driver->memory.info(driver, GPUARENA_MEMORY_DEVICE, &bytes, NULL), ==, SIM_INVALID_VALUE);
    CHECK_INT(driver->vm.reserve(driver, NULL, MIB(2), 0), ==, SIM_INVALID_VALUE);
    CHECK_INT(driver->vm.create(driver, NULL, MIB(2), 0), ==, SIM_INVALID_VALUE);
    CHECK_INT(driver->capture.active(driver, NULL, NULL), ==, SIM_INVALID_VALUE);
    CHECK_INT(driver->capture.exchange_mode(driver, NULL), ==, SIM_INVALID_VALUE);
    CHECK_INT(driver->events.create(driver, NULL), ==, SIM_INVALID_VALUE);
    CHECK(ptr == &bench && bytes == 77 && active == 5);
    CHECK_INT(sim_stream_create(bench.machine, 2, 1, &stream), ==, SIM_INVALID_VALUE);
    CHECK_INT(sim_access(bench.machine, 5, NULL, ptr, 1, 1, 3), ==, SIM_INVALID_VALUE);
    CHECK(!sim_holds(bench.machine, 7, ptr, 1));
    CHECK_U64(sim_finding_count(bench.machine), ==, 0);
    bench_close(&bench);
}

static void test_a_stream_follows_another(void)
{
    sim_bench bench = bench_open_sized(MIB(64), NULL);
    gpuarena_stream one, two;
    void *ptr;
    sim_stream_create(bench.machine, 0, 0, &one);
    sim_stream_create(bench.machine, 0, 0, &two);
    uint64_t start_ns = sim_now_ns(bench.machine);
    CHECK_INT(sim_work(bench.machine, 0, one, 1000), ==, 0);
    CHECK_INT(sim_stream_follow(bench.machine, 0, two, one), ==, 0);
    CHECK_INT(sim_stream_wait(bench.machine, 0, two), ==, 0);
    CHECK_U64(sim_now_ns(bench.machine), ==, start_ns + 1000);
    CHECK_INT(sim_pool_chunk(bench.machine, 7, MIB(4)), ==, -1);
    sim_fail_call(bench.machine, SIM_CALL_OBTAIN, 1, 0, 719);
    CHECK_INT(bench_obtain(&bench.driver, MIB(2), &ptr), ==, 719);
    CHECK_INT(sim_stream_follow(bench.machine, 0, one, two), ==, 719);
    bench_close(&bench);
}

static void test_counters_reset(void)
{
    sim_bench bench = bench_open_sized(MIB(64), "rival@0=1M");
    sim_counters none;
    void *block, *kept;
    bench_obtain(&bench.driver, MIB(2), &kept);
    bench_obtain(&bench.driver, MIB(8), &block);
    bench_give_back(&bench.driver, block, MIB(8));
    bench_free_bytes(&bench.driver);
    sim_begin_op(bench.machine, 0);
    CHECK_U64(bench_counters(&bench).held_peak_bytes, ==, MIB(10));
    sim_reset_counters(bench.machine, 0);
    sim_counters after = bench_counters(&bench);
    CHECK(!after.calls[SIM_CALL_OBTAIN] && !after.calls[SIM_CALL_GIVE_BACK] && !after.calls[SIM_CALL_INFO]);
    CHECK(!after.vns[SIM_CALL_OBTAIN] && !after.vns[SIM_CALL_GIVE_BACK] && !after.vns[SIM_CALL_INFO]);
    CHECK_MSG(after.held_bytes == MIB(2) && after.held_peak_bytes == MIB(2) && after.rival_bytes == MIB(1),
              "what is held stays, and the peak becomes it");
    sim_get_counters(bench.machine, 9, &none);
    CHECK_U64(none.held_bytes, ==, 0);
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

static void test_defaults(void)
{
    sim_config config = { 0, 0, 0, NULL, NULL, 0, 0 };
    sim_bench bench = bench_open(&config);
    void *ptr;
    CHECK_U64(bench_free_bytes(&bench.driver), ==, GIB(80));
    CHECK_INT(bench_obtain(&bench.driver, GIB(80), &ptr), ==, SIM_SUCCESS);
    CHECK_INT(bench_give_back(&bench.driver, ptr, GIB(80)), ==, SIM_SUCCESS);
    CHECK_U64(bench_free_bytes(&bench.driver), ==, GIB(80));
    bench_close(&bench);
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

static uint64_t stream_id(const sim_bench *self, gpuarena_stream stream)
{
    uint64_t id = UINT64_MAX;
    CHECK_INT(work_stream_id(self->driver.user, stream, &id), ==, 0);
    return id;
}

static void test_identities(void)
{
    sim_bench bench = bench_open_sized(MIB(64), NULL);
    sim *machine = bench.machine;
    gpuarena_stream made[2];
    const gpuarena_stream own = (gpuarena_stream)(uintptr_t)2;
    for (int i = 0; i < 2; i++) sim_stream_create(machine, 0, 1, &made[i]);
    uint64_t first = stream_id(&bench, made[0]), second = stream_id(&bench, made[1]);
    CHECK(first == 1 && second == 2);
    CHECK(stream_id(&bench, NULL) == stream_id(&bench, (gpuarena_stream)(uintptr_t)1));
    CHECK(stream_id(&bench, NULL) != first && stream_id(&bench, NULL) != stream_id(&bench, own));
    uint64_t mine = stream_id(&bench, own);
    sim_thread(machine, 7);
    uint64_t seventh = stream_id(&bench, own);
    CHECK(seventh != mine && stream_id(&bench, own) == seventh);
    sim_thread(machine, 0);
    CHECK(stream_id(&bench, own) == mine);
    gpuarena_stream before = made[0];
    sim_stream_destroy(machine, 0, before);
    sim_stream_create(machine, 0, 1, &made[0]);
    CHECK_MSG(made[0] != before, "handles are not used again,");
    CHECK_INT(work_stream_id(bench.driver.user, before, &first), ==, SIM_INVALID_HANDLE);
    sim_reuse_handles(machine, 1);
    before = made[0];
    first = stream_id(&bench, before);
    sim_stream_destroy(machine, 0, before);
    sim_stream_create(machine, 0, 1, &made[0]);
    CHECK_MSG(made[0] == before, "unless that is asked for,");
    CHECK_MSG(stream_id(&bench, before) > first, "and ids never");
    bench_close(&bench);
}

int main(void)
{
    test_table_is_filled();
    test_a_device_without_virtual_memory();
    test_codes();
    test_arguments();
    test_a_stream_follows_another();
    test_counters_reset();
    test_bad_configurations();
    test_defaults();
    test_deterministic();
    test_the_clock();
    test_touching_what_is_not_held();
    test_first_findings_are_kept_all_are_counted();
    test_identities();
    return tap_done();
}
