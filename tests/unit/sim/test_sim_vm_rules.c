/* Virtual memory of the simulated device: what each call does, and what it refuses, changing nothing.
   Must not know how addresses, handles and mappings are kept. */
#include "sim_vm.h"

typedef struct state { uint64_t held_bytes, handle_count, mapping_count, reserved_bytes; } state;

static state state_now(const sim_bench *bench)
{
    sim_counters counters = bench_counters(bench);
    state now = { counters.held_bytes, counters.handle_count, counters.mapping_count,
                  counters.reserved_address_bytes };
    return now;
}

/* A call that was made after `before` answered INVALID_VALUE, changed nothing, and is the finding that ends so; NULL:
   no finding. */
static void expect_refused(const sim_bench *bench, int code, state before, uint64_t findings, const char *end)
{
    state after = state_now(bench);
    const char *last = vm_last_finding(bench);
    size_t length = strlen(last), tail = end ? strlen(end) : 0;
    CHECK_MSG(code == SIM_INVALID_VALUE && memcmp(&before, &after, sizeof after) == 0, "refused, and nothing "
              "changed");
    CHECK_U64(sim_finding_count(bench->machine), ==, findings + (end != NULL));
    if (end) CHECK_STR(length >= tail ? last + (length - tail) : last, end);
}

#define REFUSED(bench, call, end) do { \
        state refused_before = state_now(bench); \
        uint64_t refused_findings = sim_finding_count((bench)->machine); \
        expect_refused(bench, call, refused_before, refused_findings, end); \
    } while (0)

static void test_the_life_of_a_range(void)
{
    sim_bench bench = bench_open_sized(MIB(64), NULL);
    const gpuarena_driver *driver = &bench.driver;
    char *address = vm_reserved(driver, MIB(16));
    CHECK_U64(bench_counters(&bench).reserved_address_bytes, ==, MIB(16));
    CHECK_U64(bench_free_bytes(driver), ==, MIB(64));
    uint64_t page = vm_created(driver, MIB(4));
    CHECK_MSG(bench_free_bytes(driver) == MIB(60) && bench_counters(&bench).held_bytes == MIB(4),
              "create takes the memory, mapped or not");
    CHECK(page != 0);
    CHECK_INT(vm_map(driver, address + MIB(2), MIB(4), page), ==, 0);
    CHECK_MSG(!sim_holds(bench.machine, 0, address + MIB(2), 1), "no access yet");
    CHECK_INT(vm_access(driver, address + MIB(2), MIB(4), 1), ==, 0);
    CHECK(sim_holds(bench.machine, 0, address + MIB(2), MIB(4)));
    CHECK(sim_holds(bench.machine, 0, address + MIB(6) - 1, 1) && !sim_holds(bench.machine, 0, address + MIB(6), 1));
    CHECK(!sim_holds(bench.machine, 0, address + MIB(2) - 1, 1) && !sim_holds(bench.machine, 1, address + MIB(2), 1));
    CHECK_INT(vm_access(driver, address + MIB(2), MIB(4), 0), ==, 0);
    CHECK(!sim_holds(bench.machine, 0, address + MIB(2), 1));
    CHECK_INT(vm_destroy(driver, page, MIB(4)), ==, 0);
    CHECK_MSG(bench_free_bytes(driver) == MIB(60) && bench_counters(&bench).handle_count == 1,
              "destroyed while mapped: the memory stays");
    CHECK_INT(vm_unmap(driver, address + MIB(2), MIB(4)), ==, 0);
    CHECK_MSG(bench_free_bytes(driver) == MIB(64), "and goes with the last mapping");
    CHECK_INT(vm_release(driver, address, MIB(16)), ==, 0);
    vm_expect_clean(&bench, 0);
    bench_close(&bench);
}

static void test_reserve(void)
{
    sim_bench bench = bench_open_sized(MIB(64), NULL);
    const gpuarena_driver *driver = &bench.driver;
    void *address = &bench;
    const uint64_t wrong[] = { 0, 1, 4096, MIB(2) - 1, MIB(2) + 1, MIB(3), UINT64_MAX };
    for (size_t i = 0; i < COUNT(wrong); i++) REFUSED(&bench, vm_reserve(driver, &address, wrong[i], 0), NULL);
    REFUSED(&bench, vm_reserve(driver, &address, MIB(2), 3), NULL);
    REFUSED(&bench, vm_reserve(driver, &address, MIB(2), MIB(6)), NULL);
    REFUSED(&bench, vm_reserve(driver, NULL, MIB(2), 0), NULL);
    CHECK_MSG(address == (void *)&bench, "a refusal leaves the address alone");
    void *first = vm_reserved(driver, MIB(2));
    for (uint64_t alignment = 1; alignment <= (uint64_t)1 << 40; alignment *= 2) {
        if (vm_reserve(driver, &address, MIB(6), alignment) || bench_number(address) % alignment != 0
            || bench_number(address) % PAGE != 0) CHECK_MSG(0, "aligned to %" PRIu64, alignment);
        if (vm_release(driver, address, MIB(6))) CHECK_MSG(0, "released at alignment %" PRIu64, alignment);
    }
    void *second = vm_reserved(driver, GIB(512)), *third = vm_reserved(driver, MIB(2));
    CHECK_MSG(second != first && bench_number(third) == bench_number(second) + GIB(512), "reservations are apart");
    CHECK_INT(vm_release(driver, second, GIB(512)), ==, 0);
    CHECK_MSG(vm_reserved(driver, MIB(2)) == second, "released addresses are reserved again");
    CHECK_INT(vm_release(driver, second, MIB(2)) | vm_release(driver, first, MIB(2)), ==, 0);
    CHECK_INT(vm_release(driver, third, MIB(2)), ==, 0);
    vm_expect_clean(&bench, 0);
    bench_close(&bench);
}

static void test_release(void)
{
    sim_bench bench = bench_open_sized(MIB(64), NULL);
    const gpuarena_driver *driver = &bench.driver;
    char *address = vm_reserved(driver, MIB(8)), *next = vm_reserved(driver, MIB(2));
    void *block;
    REFUSED(&bench, vm_release(driver, address, MIB(4)), ": not what was reserved");
    REFUSED(&bench, vm_release(driver, address + MIB(2), MIB(6)), ": not what was reserved");
    REFUSED(&bench, vm_release(driver, address, MIB(10)), ": not within one reservation of this device");
    REFUSED(&bench, vm_release(driver, NULL, MIB(8)), ": not within one reservation of this device");
    REFUSED(&bench, vm_release(driver, address, 0), ": not whole pages of 2 MiB");
    uint64_t page = vm_backed(driver, address + MIB(6), MIB(2));
    REFUSED(&bench, vm_release(driver, address, MIB(8)), ": something is mapped there");
    CHECK_INT(vm_unmap(driver, address + MIB(6), MIB(2)), ==, 0);
    CHECK_INT(vm_release(driver, address, MIB(8)), ==, 0);
    REFUSED(&bench, vm_release(driver, address, MIB(8)), ": not within one reservation of this device");
    CHECK_INT(bench_obtain(driver, MIB(2), &block), ==, 0);
    REFUSED(&bench, vm_release(driver, block, MIB(2)), ": not within one reservation of this device");
    CHECK_INT(bench_give_back(driver, block, MIB(2)), ==, 0);
    CHECK_INT(vm_destroy(driver, page, MIB(2)) | vm_release(driver, next, MIB(2)), ==, 0);
    vm_expect_clean(&bench, sim_finding_count(bench.machine));
    bench_close(&bench);
}

static void test_create_and_destroy(void)
{
    sim_bench bench = bench_open_sized(MIB(8) + KIB(4), NULL);
    const gpuarena_driver *driver = &bench.driver;
    uint64_t page = 77, pages[4];
    const uint64_t wrong[] = { 0, 1, 6912, MIB(2) - 1, MIB(2) + 1, UINT64_MAX };
    for (size_t i = 0; i < COUNT(wrong); i++) REFUSED(&bench, vm_create(driver, &page, wrong[i]), NULL);
    REFUSED(&bench, vm_create(driver, NULL, MIB(2)), NULL);
    CHECK_INT(vm_create(driver, &page, MIB(10)), ==, SIM_OUT_OF_MEMORY);
    CHECK_INT(vm_create(driver, &page, UINT64_MAX - MIB(2) + 1), ==, SIM_OUT_OF_MEMORY);
    CHECK_U64(page, ==, 77);
    for (int i = 0; i < 4; i++) pages[i] = vm_created(driver, MIB(2));
    CHECK_INT(vm_create(driver, &page, MIB(2)), ==, SIM_OUT_OF_MEMORY);
    CHECK_INT(vm_destroy(driver, pages[0], MIB(2)) | vm_destroy(driver, pages[2], MIB(2)), ==, 0);
    CHECK_MSG(vm_create(driver, &page, MIB(4)) == 0, "physical memory does not fragment");
    REFUSED(&bench, vm_destroy(driver, page, MIB(2)), "destroy of 2097152 bytes by a handle of 4194304");
    REFUSED(&bench, vm_destroy(driver, pages[0], MIB(2)), "destroy of a handle that this device does not have");
    REFUSED(&bench, vm_destroy(driver, 0, MIB(2)), "destroy of a handle that this device does not have");
    REFUSED(&bench, vm_destroy(driver, UINT64_MAX, MIB(2)), "destroy of a handle that this device does not have");
    CHECK_INT(vm_destroy(driver, page, MIB(4)) | vm_destroy(driver, pages[1], MIB(2)), ==, 0);
    CHECK_INT(vm_destroy(driver, pages[3], MIB(2)), ==, 0);
    vm_expect_clean(&bench, 4);
    bench_close(&bench);
}

static void test_map(void)
{
    sim_bench bench = bench_open_sized(MIB(64), NULL);
    const gpuarena_driver *driver = &bench.driver;
    char *address = vm_reserved(driver, MIB(8)), *next = vm_reserved(driver, MIB(8));
    uint64_t page = vm_created(driver, MIB(4)), other = vm_created(driver, MIB(4));
    REFUSED(&bench, vm_map(driver, address, MIB(2), page), ": not all of a handle that this device has");
    REFUSED(&bench, vm_map(driver, address, MIB(6), page), ": not all of a handle that this device has");
    REFUSED(&bench, vm_map(driver, address, MIB(4), page + ((uint64_t)1 << 32)),
            ": not all of a handle that this device has");
    REFUSED(&bench, vm_map(driver, address + KIB(64), MIB(4), page), ": not whole pages of 2 MiB");
    REFUSED(&bench, vm_map(driver, address, KIB(64), page), ": not whole pages of 2 MiB");
    REFUSED(&bench, vm_map(driver, address + MIB(6), MIB(4), page), ": not within one reservation of this device");
    REFUSED(&bench, vm_map(driver, next + MIB(8), MIB(4), page), ": not within one reservation of this device");
    CHECK_INT(vm_map(driver, address + MIB(2), MIB(4), page), ==, 0);
    REFUSED(&bench, vm_map(driver, address, MIB(4), other), ": something is mapped there already");
    REFUSED(&bench, vm_map(driver, address + MIB(2), MIB(4), page), ": something is mapped there already");
    REFUSED(&bench, vm_map(driver, address + MIB(4), MIB(4), other), ": something is mapped there already");
    CHECK_MSG(vm_map(driver, next, MIB(4), page) == 0, "a handle may be mapped in a second place");
    CHECK_U64(bench_counters(&bench).mapping_count, ==, 2);
    CHECK_INT(vm_destroy(driver, page, MIB(4)), ==, 0);
    REFUSED(&bench, vm_map(driver, next + MIB(4), MIB(4), page), ": not all of a handle that this device has");
    CHECK_INT(vm_unmap(driver, address + MIB(2), MIB(4)), ==, 0);
    CHECK_MSG(bench_counters(&bench).held_bytes == MIB(8), "the second place keeps the memory");
    CHECK_INT(vm_unmap(driver, next, MIB(4)), ==, 0);
    CHECK_U64(bench_counters(&bench).held_bytes, ==, MIB(4));
    CHECK_INT(vm_destroy(driver, other, MIB(4)), ==, 0);
    CHECK_INT(vm_release(driver, address, MIB(8)) | vm_release(driver, next, MIB(8)), ==, 0);
    vm_expect_clean(&bench, 11);
    bench_close(&bench);
}

static void test_access_and_unmap(void)
{
    static const char hole[] = ": there is a hole, where nothing is mapped", part[] = ": part of a mapping";
    sim_bench bench = bench_open_sized(MIB(64), NULL);
    const gpuarena_driver *driver = &bench.driver;
    char *address = vm_reserved(driver, MIB(16)), *next = vm_reserved(driver, MIB(2));
    uint64_t pages[4], after = vm_backed(driver, next, MIB(2));
    for (int i = 0; i < 4; i++) {                            /* 2, 4, 2 MiB, a hole of 2, 2, a hole of 4 */
        static const uint64_t offsets[] = { 0, MIB(2), MIB(6), MIB(10) };
        static const uint64_t sizes[] = { MIB(2), MIB(4), MIB(2), MIB(2) };
        pages[i] = vm_created(driver, sizes[i]);
        vm_must(vm_map(driver, address + offsets[i], sizes[i], pages[i]), "map");
    }
    REFUSED(&bench, vm_access(driver, address, MIB(12), 1), hole);
    REFUSED(&bench, vm_access(driver, address + MIB(8), MIB(4), 1), hole);
    REFUSED(&bench, vm_access(driver, address, MIB(4), 1), part);
    REFUSED(&bench, vm_access(driver, address + MIB(4), MIB(4), 1), part);
    REFUSED(&bench, vm_access(driver, address, 0, 1), ": not whole pages of 2 MiB");
    REFUSED(&bench, vm_access(driver, address, MIB(2), 2), ": a mode or a device that there is not");
    CHECK_MSG(!sim_holds(bench.machine, 0, address, 1), "and none has given access to a part of it");
    CHECK_MSG(vm_access(driver, address, MIB(8), 1) == 0, "several mappings in one call");
    CHECK(sim_holds(bench.machine, 0, address, MIB(8)));
    CHECK(sim_holds(bench.machine, 0, address + MIB(2) - 1, MIB(4) + 2));
    CHECK(!sim_holds(bench.machine, 0, address, MIB(8) + 1));
    REFUSED(&bench, vm_unmap(driver, address, MIB(12)), hole);
    REFUSED(&bench, vm_unmap(driver, address + MIB(10), MIB(4)), hole);
    REFUSED(&bench, vm_unmap(driver, address, MIB(4)), part);
    REFUSED(&bench, vm_unmap(driver, address + MIB(4), MIB(2)), part);
    REFUSED(&bench, vm_unmap(driver, address + MIB(14), MIB(4)), ": not within one reservation of this device");
    CHECK(sim_holds(bench.machine, 0, address, MIB(8)));
    CHECK_MSG(vm_unmap(driver, address + MIB(2), MIB(6)) == 0, "several whole mappings in one call");
    CHECK(sim_holds(bench.machine, 0, address, MIB(2)) && !sim_holds(bench.machine, 0, address + MIB(2), 1));
    REFUSED(&bench, vm_unmap(driver, address + MIB(2), MIB(6)), hole);
    CHECK_INT(vm_map(driver, address + MIB(2), MIB(4), pages[1]), ==, 0);
    CHECK_MSG(!sim_holds(bench.machine, 0, address + MIB(2), 1), "a new mapping starts without access");
    CHECK_INT(vm_unmap(driver, address, MIB(6)) | vm_unmap(driver, address + MIB(10), MIB(2)), ==, 0);
    CHECK_INT(vm_unmap(driver, next, MIB(2)), ==, 0);
    for (int i = 0; i < 4; i++) CHECK_INT(vm_destroy(driver, pages[i], i == 1 ? MIB(4) : MIB(2)), ==, 0);
    CHECK_INT(vm_destroy(driver, after, MIB(2)) | vm_release(driver, address, MIB(16)), ==, 0);
    CHECK_INT(vm_release(driver, next, MIB(2)), ==, 0);
    vm_expect_clean(&bench, 12);
    bench_close(&bench);
}

/* Two reservations side by side, all mapped, are two all the same. */
static void test_ranges_end_with_their_reservation(void)
{
    sim_bench bench = bench_open_sized(MIB(64), NULL);
    const gpuarena_driver *driver = &bench.driver;
    char *first = vm_reserved(driver, MIB(2)), *second = vm_reserved(driver, MIB(2));
    CHECK(first + MIB(2) == second);
    vm_backed(driver, first, MIB(2));
    vm_backed(driver, second, MIB(2));
    CHECK(sim_holds(bench.machine, 0, first, MIB(2)) && !sim_holds(bench.machine, 0, second - 1, 2));
    REFUSED(&bench, vm_access(driver, first, MIB(4), 1), ": not within one reservation of this device");
    REFUSED(&bench, vm_unmap(driver, first, MIB(4)), ": not within one reservation of this device");
    bench_close(&bench);                                     /* with all of it held */
}

static void test_obtained_and_virtual_memory_are_two_things(void)
{
    sim_bench bench = bench_open_sized(MIB(64), NULL);
    const gpuarena_driver *driver = &bench.driver;
    void *block;
    char *address = vm_reserved(driver, MIB(8));
    uint64_t page = vm_backed(driver, address, MIB(4));
    CHECK_INT(bench_obtain(driver, MIB(4), &block), ==, 0);
    CHECK_U64(bench_counters(&bench).held_bytes, ==, MIB(8));
    REFUSED(&bench, bench_give_back(driver, address, MIB(4)), ", which are reserved addresses: release is for those");
    REFUSED(&bench, vm_unmap(driver, block, MIB(4)), ": not within one reservation of this device");
    REFUSED(&bench, vm_map(driver, block, MIB(4), page), ": not within one reservation of this device");
    REFUSED(&bench, vm_access(driver, block, MIB(4), 1), ": not within one reservation of this device");
    CHECK_INT(bench_obtain(driver, MIB(58), &block), ==, SIM_OUT_OF_MEMORY);
    CHECK_U64(bench_counters(&bench).held_peak_bytes, ==, MIB(8));
    bench_close(&bench);
}

static void test_devices_are_apart(void)
{
    sim_config config = { 2, MIB(64), 0, NULL, NULL, 0, 0 };
    sim_bench bench = bench_open(&config);
    const gpuarena_driver *driver = &bench.driver;
    gpuarena_driver second;
    sim_counters counters;
    sim_driver(bench.machine, 1, &second);
    char *here = vm_reserved(driver, MIB(4)), *there = vm_reserved(&second, MIB(4));
    uint64_t page = vm_created(driver, MIB(2)), other = vm_created(&second, MIB(2));
    CHECK(here != there);
    REFUSED(&bench, vm_map(driver, here, MIB(2), other), ": not all of a handle that this device has");
    REFUSED(&bench, vm_map(driver, there, MIB(2), page), ": not within one reservation of this device");
    REFUSED(&bench, vm_destroy(driver, other, MIB(2)), "destroy of a handle that this device does not have");
    REFUSED(&bench, vm_release(driver, there, MIB(4)), ": not within one reservation of this device");
    CHECK_INT(vm_map(driver, here, MIB(2), page) | vm_map(&second, there, MIB(2), other), ==, 0);
    CHECK_INT(vm_access(driver, here, MIB(2), 1), ==, 0);
    second.peers = 1;
    CHECK_INT(vm_access(&second, there, MIB(2), 1), ==, 0);
    sim_get_counters(bench.machine, 1, &counters);
    CHECK(counters.handle_count == 1 && counters.mapping_count == 1 && counters.reserved_address_bytes == MIB(4));
    second.peers = 0;
    CHECK_INT(vm_access(&second, there, MIB(2), 0) | vm_access(&second, there, MIB(2), 1), ==, 0);
    uint64_t findings = sim_finding_count(bench.machine);
    CHECK_INT(sim_access(bench.machine, 0, NULL, there, MIB(2), 1, 1), ==, 0);
    CHECK_MSG(sim_finding_count(bench.machine) == findings, "a peer that has access may use it, whatever others "
              "have");
    CHECK_INT(sim_access(bench.machine, 1, NULL, here, MIB(2), 2, 1), ==, 0);
    CHECK_MSG(sim_finding_count(bench.machine) == findings + 1, "one that has none may not");
    second.peers = 1 << 2;
    CHECK_INT(vm_access(&second, there, MIB(2), 1), ==, SIM_ILLEGAL_ADDRESS);
    driver->vm.unmap(driver, here, MIB(2));
    bench.driver.peers = 1 << 2;
    CHECK_INT(vm_map(driver, here, MIB(2), page), ==, 0);
    REFUSED(&bench, vm_access(driver, here, MIB(2), 1), ": a mode or a device that there is not");
    bench_close(&bench);
}

int main(void)
{
    test_the_life_of_a_range();
    test_reserve();
    test_release();
    test_create_and_destroy();
    test_map();
    test_access_and_unmap();
    test_ranges_end_with_their_reservation();
    test_obtained_and_virtual_memory_are_two_things();
    test_devices_are_apart();
    return tap_done();
}
