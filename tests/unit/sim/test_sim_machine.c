/* The simulated machine beyond the contract: its table, configurations, clock, costs, findings, devices that do not
   exist, and its range: mappings, many devices, devices of real sizes. It must not know the code behind the
   entries. */
#include "sim_device.h"

#include <time.h>

#define PAGE SIM_GRANULE

static void test_tables(void)
{
    sim_config without_vm = { 0, 0, 0, NULL, NULL, 1, 0 };
    sim_bench bench = bench_open_sized(MIB(64), NULL), plain = bench_open(&without_vm);
    const gpuarena_driver *driver = &bench.driver;
    CHECK(driver->user && driver->device == 0 && driver->page_bytes == PAGE && driver->peers == 0);
    CHECK(driver->now_ns && driver->classify(driver, 719) == GPUARENA_STATUS_LOST);
    CHECK_STR(driver->code_name(driver, 600), "cudaErrorNotReady");
    CHECK(driver->per_thread == (gpuarena_stream)(uintptr_t)2 && !driver->null_is_per_thread);
    for (int device = -1; device <= 1; device += 2) {
        gpuarena_driver none;
        memset(&none, 0xFF, sizeof none);
        sim_driver(bench.machine, device, &none);
        CHECK_MSG(!none.memory.obtain && !none.user, "device %d does not exist: its table is empty", device);
    }
    driver = &plain.driver;
    CHECK(driver->page_bytes == 0 && driver->memory.obtain && driver->capture.active && !driver->vm.reserve
          && !driver->vm.release && !driver->vm.create && !driver->vm.destroy && !driver->vm.map && !driver->vm.access
          && !driver->vm.unmap);
    bench_close(&bench);
    bench_close(&plain);
}

static void test_devices_that_do_not_exist(void)
{
    sim_bench bench = bench_open_sized(MIB(64), NULL);
    gpuarena_stream stream;
    sim_counters nobody;
    CHECK_INT(sim_stream_create(bench.machine, 2, 1, &stream), ==, SIM_INVALID_VALUE);
    CHECK_INT(sim_access(bench.machine, 5, NULL, &bench, 1, 1, 3), ==, SIM_INVALID_VALUE);
    CHECK(!sim_holds(bench.machine, 7, &bench, 1) && sim_pool_chunk(bench.machine, 7, MIB(4)) == -1);
    CHECK_U64(sim_finding_count(bench.machine), ==, 0);
    sim_fill(bench.machine, 5, &bench, 1, 5);
    CHECK_STR(sim_finding(bench.machine, 0), "before the first op: device 5: fill on a device that does not exist");
    sim_get_counters(bench.machine, 9, &nobody);
    CHECK_U64(nobody.held_bytes, ==, 0);
    sim_reset_counters(bench.machine, 9);
    bench_close(&bench);
}

static void test_configurations(void)
{
    static const struct { sim_config config; const char *said; } refused[] = {
        { { 32, SIM_MAX_CAPACITY, 0, NULL, NULL, 0, 0 },
          "32 simulated devices of 4398046511104 bytes, expected at most 82463372083200 in all" },
        { { 33, 0, 0, NULL, NULL, 0, 0 }, "33, expected 1 to 32" },
        { { 1, SIM_MAX_CAPACITY + 1, 0, NULL, NULL, 0, 0 }, "expected at most 4398046511104" },
        { { 1, MIB(4), MIB(4) + 1, NULL, NULL, 0, 0 }, "expected at most the device's 4194304" },
        { { 1, 0, 0, NULL, "obtain", 0, 0 }, "faults: part \"obtain\"" },
    };
    for (size_t row = 0; row < COUNT(refused); row++) {
        problem why = { 0, "" };
        sim *machine = sim_create(&refused[row].config, &why);
        CHECK_MSG(!machine && why.exit_code == EXIT_USAGE && strstr(why.text, refused[row].said), "refused: %s",
                  why.text);
        sim_destroy(machine);
    }
    sim_config most = { 16, SIM_MAX_CAPACITY, SIM_MAX_CAPACITY, NULL, NULL, 0, 0 };
    sim_bench bench = bench_open(&most);
    gpuarena_driver last;
    void *ptr;
    sim_driver(bench.machine, 15, &last);
    CHECK_INT(bench_obtain(&last, 1, &ptr), ==, SIM_OUT_OF_MEMORY);
    bench_close(&bench);
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
    CHECK_U64(bench.driver.now_ns(&bench.driver), ==, start_ns + 150000000);
    sim_advance(bench.machine, UINT64_MAX - 1);
    CHECK_MSG(sim_now_ns(bench.machine) == UINT64_MAX, "the clock stops at its end and does not wrap");
    bench_close(&bench);
}

static void test_costs_are_exact(void)
{
    static const struct { uint64_t fixed_ns, per_mib_ns, bytes, expected_ns; } rows[] = {
        { 7, 1000, MIB(1) - 1, 7 + 999 }, { 7, 1000, KIB(2560), 2507 },
        { SIM_COST_MAX_FIXED_NS, SIM_COST_MAX_PER_MIB_NS, GIB(8192),
          UINT64_C(1000000000000) + UINT64_C(8388608) * UINT64_C(1000000000) },
    };
    for (size_t row = 0; row < COUNT(rows); row++) {
        sim_costs costs = *sim_costs_default();
        costs.of[SIM_COST_INFO].fixed_ns = rows[row].fixed_ns;
        costs.of[SIM_COST_INFO].per_mib_ns = rows[row].per_mib_ns;
        CHECK_U64(sim_costs_ns(&costs, SIM_COST_INFO, rows[row].bytes), ==, rows[row].expected_ns);
    }
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
    CHECK(!sim_finding(bench.machine, 64) && !sim_finding(bench.machine, UINT64_MAX));
    sim_reset_counters(bench.machine, 0);
    CHECK_U64(bench_counters(&bench).findings, ==, 0);
    bench_close(&bench);
}

/* Addresses of a new range. Where steps that must succeed do not, there is nothing to test. */
static char *reserved(const gpuarena_driver *driver, uint64_t bytes)
{
    void *address = NULL;
    if (driver->vm.reserve(driver, &address, bytes, 0)) {
        printf("Bail out! no addresses\n");
        exit(1);
    }
    return address;
}

/* A new page behind the address, with access. */
static uint64_t backed(const gpuarena_driver *driver, void *address)
{
    uint64_t page = 0;
    if (driver->vm.create(driver, &page, PAGE, 0) || driver->vm.map(driver, address, PAGE, page)
        || driver->vm.access(driver, address, PAGE, 1)) {
        printf("Bail out! no page\n");
        exit(1);
    }
    return page;
}

static void test_the_default_ceiling_of_mappings(void)
{
    enum { MOST = 523000 };
    sim_bench bench = bench_open_sized(GIB(1), NULL);
    const gpuarena_driver *driver = &bench.driver;
    char *address = reserved(driver, GIB(2048));
    uint64_t page = backed(driver, address), served = 1;
    int code = SIM_SUCCESS;
    for (; code == SIM_SUCCESS && served <= MOST; served += !code) {
        code = driver->vm.map(driver, address + served * PAGE, PAGE, page);
        code = code ? -code : driver->vm.access(driver, address + served * PAGE, PAGE, 1);
    }
    CHECK_INT(code, ==, SIM_OUT_OF_MEMORY);
    CHECK_U64(served, ==, MOST);
    bench_close(&bench);
}

typedef struct span { uint64_t start, end; } span;

static void test_thirty_two_devices(void)
{
    sim_config config = { 32, GIB(160), 0, NULL, NULL, 0, 0 };
    sim_bench bench = bench_open(&config);
    span spans[64];
    unsigned wrong = 0;
    for (int i = 0; i < 32; i++) {
        gpuarena_driver driver;
        void *block = NULL;
        sim_driver(bench.machine, i, &driver);
        wrong += bench_obtain(&driver, GIB(80), &block) != SIM_SUCCESS;
        char *address = reserved(&driver, GIB(320));
        backed(&driver, address);
        backed(&driver, address + GIB(320) - PAGE);
        wrong += !sim_holds(bench.machine, i, address, PAGE) || sim_holds(bench.machine, (i + 1) % 32, address, 1);
        spans[2 * i] = (span){ bench_number(block), bench_number(block) + GIB(80) };
        spans[2 * i + 1] = (span){ bench_number(address), bench_number(address) + GIB(320) };
    }
    for (int i = 0; i < 64; i++) {
        wrong += spans[i].end > (uint64_t)1 << 47;           /* the addresses of 48 bits that a process may use */
        for (int j = 0; j < i; j++) wrong += spans[i].start < spans[j].end && spans[j].start < spans[i].end;
    }
    CHECK_MSG(wrong == 0 && sim_finding_count(bench.machine) == 0, "no device has addresses of another, or twice");
    bench_close(&bench);
}

/* All memory of a device in pages, moved to other addresses in reverse order, with all of its contents. */
static void test_a_whole_device(uint64_t capacity_bytes)
{
    sim_bench bench = bench_open_sized(capacity_bytes, NULL);
    const gpuarena_driver *driver = &bench.driver;
    uint64_t count = capacity_bytes / PAGE, wrong = 0, more, bad_offset;
    uint64_t *pages = calloc((size_t)count, sizeof *pages);
    char *address = reserved(driver, 2 * count * PAGE), *end = address + 2 * count * PAGE;
    for (uint64_t i = 0; pages && i < count; i++) {
        pages[i] = backed(driver, address + i * PAGE);
        sim_fill(bench.machine, 0, address + i * PAGE, PAGE, i + 1);
    }
    CHECK_INT(driver->vm.create(driver, &more, PAGE, 0), ==, SIM_OUT_OF_MEMORY);
    CHECK(sim_holds(bench.machine, 0, address, count * PAGE));
    CHECK(!sim_holds(bench.machine, 0, address, count * PAGE + 1));
    wrong += driver->vm.unmap(driver, address, count * PAGE) != 0;
    for (uint64_t i = 0; pages && i < count; i++)
        wrong += driver->vm.map(driver, end - (i + 1) * PAGE, PAGE, pages[i]) != 0;
    wrong += driver->vm.access(driver, end - count * PAGE, count * PAGE, 1) != 0;
    for (uint64_t i = 0; i < count; i++)
        wrong += !sim_verify(bench.machine, 0, end - (i + 1) * PAGE, PAGE, i + 1, &bad_offset);
    wrong += driver->vm.unmap(driver, end - count * PAGE, count * PAGE) != 0;
    for (uint64_t i = 0; pages && i < count; i++) wrong += driver->vm.destroy(driver, pages[i], PAGE) != 0;
    wrong += driver->vm.release(driver, address, 2 * count * PAGE) != 0;
    sim_counters left = bench_counters(&bench);
    CHECK_MSG(wrong == 0, "%" PRIu64 " pages moved, with what they held", count);
    CHECK_U64(left.handle_count + left.mapping_count + left.reserved_address_bytes + left.held_bytes, ==, 0);
    CHECK_U64(sim_finding_count(bench.machine), ==, 0);
    free(pages);
    bench_close(&bench);
}

/* Handles are closed in the order in which they were opened. The bound is processor time of this program alone, ten
   times the need. */
static void test_many_opens(void)
{
    enum { MANY = 20000 };
    static unsigned char handles[MANY][GPUARENA_IPC_BYTES];
    static void *blocks[MANY];
    sim_bench bench = bench_open_sized(GIB(64), NULL);
    const gpuarena_driver *driver = &bench.driver;
    int wrong = 0;
    for (int at = 0; at < MANY; at++) {
        wrong += bench_obtain(driver, MIB(2), &blocks[at]) != 0;
        wrong += driver->ipc.get_handle(driver, blocks[at], handles[at]) != 0;
    }
    clock_t begin = clock();
    for (int at = 0; at < MANY; at++) wrong += driver->ipc.open_handle(driver, handles[at], &blocks[at]) != 0;
    clock_t open = clock();
    for (int at = 0; at < MANY; at++) wrong += driver->ipc.close_handle(driver, blocks[at]) != 0;
    clock_t closed = clock();
    CHECK_MSG(!wrong && closed - open < 10 * (open - begin), "%d opens in %ld, closes in %ld: as long", MANY,
              (long)(open - begin), (long)(closed - open));
    bench_close(&bench);
}

int main(void)
{
    test_tables();
    test_devices_that_do_not_exist();
    test_configurations();
    test_the_clock();
    test_costs_are_exact();
    test_first_findings_are_kept_all_are_counted();
    test_the_default_ceiling_of_mappings();
    test_thirty_two_devices();
    test_a_whole_device(GIB(139));
    test_a_whole_device(GIB(160) + KIB(4));
    test_many_opens();
    return tap_done();
}
