/* The driver table of the simulated device: what is filled, what codes mean, arguments, counters, bad configurations.
   Must not know what lies behind the entries. */
#include "sim_device.h"

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
    static const struct { int code; gpuarena_status status; const char *name; } rows[] = {
        { 0, GPUARENA_STATUS_DONE, "cudaSuccess" },
        { 1, GPUARENA_STATUS_FAILED, "cudaErrorInvalidValue" },
        { 2, GPUARENA_STATUS_NO_MEMORY, "cudaErrorMemoryAllocation" },
        { 4, GPUARENA_STATUS_UNLOADING, "cudaErrorCudartUnloading" },
        { 600, GPUARENA_STATUS_NOT_READY, "cudaErrorNotReady" },
        { 700, GPUARENA_STATUS_LOST, "cudaErrorIllegalAddress" },
        { 710, GPUARENA_STATUS_LOST, "cudaErrorAssert" },
        { 713, GPUARENA_STATUS_FAILED, "cudaErrorHostMemoryNotRegistered" },
        { 998, GPUARENA_STATUS_FAILED, "unrecognized error code" },
        { 714, GPUARENA_STATUS_LOST, "cudaErrorHardwareStackError" },
        { 719, GPUARENA_STATUS_LOST, "cudaErrorLaunchFailure" },
        { 801, GPUARENA_STATUS_NOT_SUPPORTED, "cudaErrorNotSupported" },
        { 900, GPUARENA_STATUS_CAPTURING, "cudaErrorStreamCaptureUnsupported" },
        { 999, GPUARENA_STATUS_FAILED, "cudaErrorUnknown" },
        { -1, GPUARENA_STATUS_FAILED, "unrecognized error code" },
    };
    sim_bench bench = bench_open_sized(MIB(64), NULL);
    for (size_t i = 0; i < COUNT(rows); i++) {
        CHECK_INT(bench.driver.classify(&bench.driver, rows[i].code), ==, rows[i].status);
        CHECK_STR(bench.driver.code_name(&bench.driver, rows[i].code), rows[i].name);
    }
    bench_close(&bench);
}

static void test_arguments(void)
{
    sim_bench bench = bench_open_sized(MIB(64), NULL);
    const gpuarena_driver *driver = &bench.driver;
    uint64_t free_bytes = 77, total_bytes = 78;
    void *ptr = &bench;
    CHECK_INT(driver->memory.obtain(driver, GPUARENA_MEMORY_DEVICE, NULL, MIB(2), NULL), ==, SIM_INVALID_VALUE);
    const gpuarena_memory none = (gpuarena_memory)(GPUARENA_MEMORY_ASYNC + 1);
    CHECK_INT(driver->memory.obtain(driver, none, &ptr, MIB(2), NULL), ==, SIM_NOT_SUPPORTED);
    CHECK(ptr == &bench);
    CHECK_INT(driver->memory.info(driver, none, &free_bytes, &total_bytes), ==, SIM_NOT_SUPPORTED);
    CHECK_INT(driver->memory.info(driver, GPUARENA_MEMORY_DEVICE, NULL, &total_bytes), ==, SIM_INVALID_VALUE);
    CHECK_INT(driver->memory.info(driver, GPUARENA_MEMORY_DEVICE, &free_bytes, NULL), ==, SIM_INVALID_VALUE);
    CHECK(free_bytes == 77 && total_bytes == 78);
    CHECK_INT(driver->memory.info(driver, GPUARENA_MEMORY_DEVICE, &free_bytes, &total_bytes), ==, SIM_SUCCESS);
    CHECK(free_bytes == MIB(64) && total_bytes == MIB(64));
    bench_obtain(driver, MIB(2), &ptr);
    CHECK_INT(driver->memory.give_back(driver, none, ptr, MIB(2), NULL), ==, SIM_NOT_SUPPORTED);
    CHECK_U64(bench_counters(&bench).held_bytes, ==, MIB(2));
    CHECK_U64(bench_counters(&bench).findings, ==, 0);
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

int main(void)
{
    test_table_is_filled();
    test_a_device_without_virtual_memory();
    test_codes();
    test_arguments();
    test_counters_reset();
    test_bad_configurations();
    test_defaults();
    test_deterministic();
    return tap_done();
}
