/* How far virtual memory of the simulated device goes: mappings, addresses, devices, and devices of real sizes.
   Must not know how addresses, handles and mappings are kept. */
#include "sim_device.h"

#define PAGE SIM_GRANULE

#define vm_reserve(driver, address, bytes, alignment) (driver)->vm.reserve(driver, address, bytes, alignment)
#define vm_release(driver, address, bytes)            (driver)->vm.release(driver, address, bytes)
#define vm_create(driver, page, bytes)                (driver)->vm.create(driver, page, bytes, 0)
#define vm_destroy(driver, page, bytes)               (driver)->vm.destroy(driver, page, bytes)
#define vm_map(driver, address, bytes, page)          (driver)->vm.map(driver, address, bytes, page)
#define vm_access(driver, address, bytes, mode)       (driver)->vm.access(driver, address, bytes, mode)
#define vm_unmap(driver, address, bytes)              (driver)->vm.unmap(driver, address, bytes)

/* Ends the test program if a step that must succeed does not: nothing could be tested. */
static void vm_must(int code, const char *step)
{
    if (code != SIM_SUCCESS) {
        printf("Bail out! %s answers %d\n", step, code);
        exit(1);
    }
}

static char *vm_reserved(const gpuarena_driver *driver, uint64_t bytes)
{
    void *address = NULL;
    vm_must(vm_reserve(driver, &address, bytes, 0), "reserve");
    return address;
}

static uint64_t vm_created(const gpuarena_driver *driver, uint64_t bytes)
{
    uint64_t page = 0;
    vm_must(vm_create(driver, &page, bytes), "create");
    return page;
}

/* A fresh handle mapped at the address, with access. */
static uint64_t vm_backed(const gpuarena_driver *driver, void *address, uint64_t bytes)
{
    uint64_t page = vm_created(driver, bytes);
    vm_must(vm_map(driver, address, bytes, page), "map");
    vm_must(vm_access(driver, address, bytes, 1), "access");
    return page;
}

/* Nothing of virtual memory is left, and there is no finding. */
static void vm_expect_clean(const sim_bench *bench)
{
    sim_counters counters = bench_counters(bench);
    CHECK_U64(counters.handle_count, ==, 0);
    CHECK_U64(counters.mapping_count, ==, 0);
    CHECK_U64(counters.reserved_address_bytes, ==, 0);
    CHECK_U64(counters.held_bytes, ==, 0);
    CHECK_U64(sim_finding_count(bench->machine), ==, 0);
}

#define TIB(count) ((uint64_t)(count) << 40)
#define LAST_ADDRESS ((uint64_t)1 << 47)         /* what a process may use of 48 bits */

/* Maps one handle page after page until access is refused. How many mappings had access. */
static uint64_t map_until_refused(sim_bench *bench, char *address, uint64_t page, int *code)
{
    uint64_t count = 0;
    for (;; count++) {
        char *at = address + count * PAGE;
        vm_must(vm_map(&bench->driver, at, PAGE, page), "map");
        *code = vm_access(&bench->driver, at, PAGE, 1);
        if (*code) break;
    }
    return count;
}

static void test_the_ceiling_of_mappings(void)
{
    static const uint32_t most[] = { 100, 0 };
    for (size_t i = 0; i < COUNT(most); i++) {
        int code;
        sim_config config = { 1, GIB(1), 0, NULL, NULL, 0, most[i] };
        sim_bench bench = bench_open(&config);
        uint64_t expected = most[i] ? most[i] : 523000, page = vm_created(&bench.driver, PAGE);
        char *address = vm_reserved(&bench.driver, TIB(2));
        uint64_t count = map_until_refused(&bench, address, page, &code);
        CHECK_U64(count, ==, expected);
        CHECK_MSG(code == SIM_OUT_OF_MEMORY && bench_free_bytes(&bench.driver) == GIB(1) - PAGE, "with memory free");
        CHECK(!sim_holds(bench.machine, 0, address + count * PAGE, 1));
        CHECK_INT(vm_access(&bench.driver, address, PAGE, 0), ==, 0);
        CHECK_MSG(vm_access(&bench.driver, address, PAGE, 1) == SIM_OUT_OF_MEMORY, "nor elsewhere while it lives");
        CHECK_INT(vm_unmap(&bench.driver, address + count * PAGE, PAGE), ==, 0);
        CHECK_MSG(vm_access(&bench.driver, address, PAGE, 1) == 0, "one fewer, and all is well");
        CHECK_INT(vm_unmap(&bench.driver, address, count * PAGE), ==, 0);
        CHECK_INT(vm_destroy(&bench.driver, page, PAGE) | vm_release(&bench.driver, address, TIB(2)), ==, 0);
        vm_expect_clean(&bench);
        bench_close(&bench);
    }
}

static void test_addresses_run_out(void)
{
    sim_bench bench = bench_open_sized(MIB(64), NULL);
    const gpuarena_driver *driver = &bench.driver;
    void *address = NULL, *last = NULL;
    uint64_t total = 0, count = 0, bytes = TIB(1);
    CHECK_INT(vm_reserve(driver, &address, LAST_ADDRESS, 0), ==, SIM_OUT_OF_MEMORY);
    CHECK_INT(vm_reserve(driver, &address, PAGE, (uint64_t)1 << 63), ==, SIM_OUT_OF_MEMORY);
    CHECK_INT(vm_reserve(driver, &address, UINT64_MAX - PAGE + 1, 0), ==, SIM_OUT_OF_MEMORY);
    for (; vm_reserve(driver, &address, bytes, 0) == 0; count++, total += bytes) last = address;
    CHECK_MSG(total >= TIB(64) && total < LAST_ADDRESS, "%" PRIu64 " TiB were reserved", total >> 40);
    CHECK(bench_number(last) + bytes <= LAST_ADDRESS && bench_number(last) % PAGE == 0);
    CHECK_INT(vm_release(driver, last, bytes), ==, 0);
    CHECK_MSG(vm_reserve(driver, &address, bytes, 0) == 0 && address == last, "what was released can be had again");
    CHECK_U64(bench_counters(&bench).reserved_address_bytes, ==, total);
    uint64_t page = vm_backed(driver, bench_at(last, bytes - PAGE), PAGE);
    CHECK_MSG(sim_holds(bench.machine, 0, bench_at(last, bytes - PAGE), PAGE), "the last of all addresses is as any");
    CHECK_INT(vm_unmap(driver, bench_at(last, bytes - PAGE), PAGE) | vm_destroy(driver, page, PAGE), ==, 0);
    CHECK_U64(sim_finding_count(bench.machine), ==, 0);
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
        vm_must(bench_obtain(&driver, GIB(80), &block), "obtain");
        char *address = vm_reserved(&driver, GIB(320));
        vm_backed(&driver, address, PAGE);
        vm_backed(&driver, address + GIB(320) - PAGE, GIB(2) / 1024);
        wrong += !sim_holds(bench.machine, i, address, PAGE) || sim_holds(bench.machine, (i + 1) % 32, address, 1);
        sim_fill(bench.machine, i, address, PAGE, (uint64_t)i);
        span obtained = { bench_number(block), bench_number(block) + GIB(80) };
        span reserved = { bench_number(address), bench_number(address) + GIB(320) };
        spans[2 * i] = obtained;
        spans[2 * i + 1] = reserved;
    }
    for (int i = 0; i < 64; i++) {
        wrong += spans[i].end > LAST_ADDRESS;
        for (int j = 0; j < i; j++) wrong += spans[i].start < spans[j].end && spans[j].start < spans[i].end;
    }
    CHECK_MSG(wrong == 0 && sim_finding_count(bench.machine) == 0, "no device has addresses of another, or twice");
    bench_close(&bench);
}

/* All of a device in pages, moved to other addresses in reverse order, and all of it still what it was. */
static void test_a_whole_device(uint64_t capacity_bytes)
{
    sim_bench bench = bench_open_sized(capacity_bytes, NULL);
    const gpuarena_driver *driver = &bench.driver;
    uint64_t count = capacity_bytes / PAGE, wrong = 0, bad_offset;
    uint64_t *pages = calloc((size_t)count + 1, sizeof *pages);
    char *address = vm_reserved(driver, 2 * count * PAGE), *second = address + count * PAGE;
    for (uint64_t i = 0; pages && i < count; i++) {
        pages[i] = vm_created(driver, PAGE);
        wrong += vm_map(driver, address + i * PAGE, PAGE, pages[i]) != 0;
    }
    CHECK_INT(vm_create(driver, &pages[count], PAGE), ==, SIM_OUT_OF_MEMORY);
    CHECK_INT(vm_access(driver, address, count * PAGE, 1), ==, 0);
    for (uint64_t i = 0; i < count; i++) sim_fill(bench.machine, 0, address + i * PAGE, PAGE, i + 1);
    CHECK(sim_holds(bench.machine, 0, address, count * PAGE));
    CHECK(!sim_holds(bench.machine, 0, address, count * PAGE + 1));
    CHECK_INT(vm_unmap(driver, address, count * PAGE), ==, 0);
    for (uint64_t i = 0; i < count; i++)
        wrong += vm_map(driver, second + (count - 1 - i) * PAGE, PAGE, pages[i]) != 0;
    CHECK_INT(vm_access(driver, second, count * PAGE, 1), ==, 0);
    for (uint64_t i = 0; i < count; i++)
        wrong += !sim_verify(bench.machine, 0, second + (count - 1 - i) * PAGE, PAGE, i + 1, &bad_offset);
    CHECK_MSG(wrong == 0, "%" PRIu64 " pages moved, with what they held", count);
    CHECK_INT(vm_unmap(driver, second, count * PAGE), ==, 0);
    for (uint64_t i = 0; i < count; i++) wrong += vm_destroy(driver, pages[i], PAGE) != 0;
    CHECK_INT(vm_release(driver, address, 2 * count * PAGE), ==, 0);
    CHECK_U64(wrong, ==, 0);
    vm_expect_clean(&bench);
    free(pages);
    bench_close(&bench);
}

int main(void)
{
    test_the_ceiling_of_mappings();
    test_addresses_run_out();
    test_thirty_two_devices();
    test_a_whole_device(GIB(139));
    test_a_whole_device(GIB(160) + KIB(4));
    return tap_done();
}
