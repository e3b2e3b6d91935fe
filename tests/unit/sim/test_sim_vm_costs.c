/* What calls of virtual memory cost on the simulated device: each to the nanosecond, refused or not, by the default
   table and by a file's.
   Must not know how costs are kept. */
#include "sim_vm.h"

static uint64_t last_ns;

/* What the calls of this kind have cost since the last question. */
static uint64_t spent(const sim_bench *bench, sim_call kind)
{
    sim_counters counters = bench_counters(bench);
    sim_reset_counters(bench->machine, 0);
    uint64_t clock_ns = sim_now_ns(bench->machine) - last_ns;
    last_ns = sim_now_ns(bench->machine);
    CHECK_MSG(counters.calls[kind] > 0 && counters.vns[kind] == clock_ns, "the clock went on by it");
    return counters.vns[kind];
}

static void test_defaults(void)
{
    sim_bench bench = bench_open_sized(GIB(64), NULL);
    const gpuarena_driver *driver = &bench.driver;
    uint64_t page = 0;
    void *place = NULL;
    last_ns = sim_now_ns(bench.machine);
    vm_must(vm_reserve(driver, &place, GIB(128), GIB(1)), "reserve");
    CHECK_U64(spent(&bench, SIM_CALL_VM_RESERVE), ==, 10000);
    vm_must(vm_create(driver, &page, MIB(64)), "create");
    CHECK_U64(spent(&bench, SIM_CALL_VM_CREATE), ==, 30000);
    vm_must(vm_map(driver, place, MIB(64), page), "map");
    CHECK_U64(spent(&bench, SIM_CALL_VM_MAP), ==, 2000);
    vm_must(vm_access(driver, place, MIB(64), 1), "access");
    CHECK_U64(spent(&bench, SIM_CALL_VM_ACCESS), ==, 38000 + 64 * 40);
    vm_must(vm_unmap(driver, place, MIB(64)), "unmap");
    CHECK_U64(spent(&bench, SIM_CALL_VM_UNMAP), ==, 28000);
    vm_must(vm_destroy(driver, page, MIB(64)), "destroy");
    CHECK_U64(spent(&bench, SIM_CALL_VM_DESTROY), ==, 20000 + 64 * 370);
    vm_must(vm_release(driver, place, GIB(128)), "release");
    CHECK_U64(spent(&bench, SIM_CALL_VM_RELEASE), ==, 2000);
    bench_close(&bench);
}

/* What memory costs to go is paid once, by the call that lets it go. */
static void test_the_last_reference_pays(void)
{
    sim_bench bench = bench_open_sized(GIB(1), NULL);
    const gpuarena_driver *driver = &bench.driver;
    char *place = vm_reserved(driver, MIB(64));
    uint64_t page = vm_backed(driver, place, MIB(32));
    vm_must(vm_map(driver, place + MIB(32), MIB(32), page), "map");
    sim_reset_counters(bench.machine, 0);
    last_ns = sim_now_ns(bench.machine);
    vm_must(vm_destroy(driver, page, MIB(32)), "destroy");
    CHECK_U64(spent(&bench, SIM_CALL_VM_DESTROY), ==, 20000);
    vm_must(vm_unmap(driver, place, MIB(32)), "unmap");
    CHECK_U64(spent(&bench, SIM_CALL_VM_UNMAP), ==, 28000);
    vm_must(vm_unmap(driver, place + MIB(32), MIB(32)), "unmap");
    CHECK_U64(spent(&bench, SIM_CALL_VM_UNMAP), ==, 28000 + 32 * 370);
    bench_close(&bench);
}

static void test_access_is_paid_for_each_device(void)
{
    sim_config config = { 4, GIB(1), 0, NULL, NULL, 0, 0 };
    sim_bench bench = bench_open(&config);
    char *place = vm_reserved(&bench.driver, MIB(32));
    uint64_t page = vm_created(&bench.driver, MIB(32));
    vm_must(vm_map(&bench.driver, place, MIB(32), page), "map");
    bench.driver.peers = 2 | 8;
    sim_reset_counters(bench.machine, 0);
    last_ns = sim_now_ns(bench.machine);
    vm_must(vm_access(&bench.driver, place, MIB(32), 1), "access");
    CHECK_U64(spent(&bench, SIM_CALL_VM_ACCESS), ==, 3 * (38000 + 32 * 40));
    bench_close(&bench);
}

static void test_refusals_cost_the_fixed_part(void)
{
    sim_bench bench = bench_open_sized(MIB(64), NULL);
    const gpuarena_driver *driver = &bench.driver;
    uint64_t page;
    void *place;
    last_ns = sim_now_ns(bench.machine);
    CHECK_INT(vm_reserve(driver, &place, 1, 0), ==, SIM_INVALID_VALUE);
    CHECK_U64(spent(&bench, SIM_CALL_VM_RESERVE), ==, 10000);
    CHECK_INT(vm_create(driver, &page, GIB(1)), ==, SIM_OUT_OF_MEMORY);
    CHECK_U64(spent(&bench, SIM_CALL_VM_CREATE), ==, 30000);
    CHECK_INT(vm_map(driver, NULL, MIB(2), 0), ==, SIM_INVALID_VALUE);
    CHECK_U64(spent(&bench, SIM_CALL_VM_MAP), ==, 2000);
    CHECK_INT(vm_access(driver, NULL, GIB(1), 1), ==, SIM_INVALID_VALUE);
    CHECK_U64(spent(&bench, SIM_CALL_VM_ACCESS), ==, 38000);
    CHECK_INT(vm_unmap(driver, NULL, GIB(1)), ==, SIM_INVALID_VALUE);
    CHECK_U64(spent(&bench, SIM_CALL_VM_UNMAP), ==, 28000);
    CHECK_INT(vm_destroy(driver, 0, GIB(1)), ==, SIM_INVALID_VALUE);
    CHECK_U64(spent(&bench, SIM_CALL_VM_DESTROY), ==, 20000);
    CHECK_INT(vm_release(driver, NULL, GIB(1)), ==, SIM_INVALID_VALUE);
    CHECK_U64(spent(&bench, SIM_CALL_VM_RELEASE), ==, 2000);
    bench_close(&bench);
}

/* A file with rows of its own, read, written, and read again; then charged. */
static void test_a_file_of_costs(void)
{
    static const char text[] = "vm_reserve 1 0\nvm_release 2 0\nvm_create 3 1000\nvm_destroy 4 2000\nvm_map 5 3000\n"
                               "vm_access 6 4000\nvm_unmap 7 5000\n";
    const char *folder = getenv("TMPDIR");
    char path[512];
    problem why = { 0, "" };
    sim_costs costs, again;
    snprintf(path, sizeof path, "%s/gpuarena_vm_costs_XXXXXX", folder ? folder : "/tmp");
    int descriptor = mkstemp(path);
    FILE *out = descriptor >= 0 ? fdopen(descriptor, "w+") : NULL;
    if (!CHECK_MSG(out != NULL, "a file to write costs to")) return;
    fputs(text, out);
    fflush(out);
    CHECK_MSG(sim_costs_read(path, &costs, &why) == 0, "the rows are read: %s", why.text);
    rewind(out);
    CHECK_INT(sim_costs_write(&costs, out) | fclose(out), ==, 0);
    CHECK_INT(sim_costs_read(path, &again, &why), ==, 0);
    CHECK(memcmp(&costs, &again, sizeof costs) == 0 && costs.of[SIM_COST_VM_UNMAP].per_mib_ns == 5000);
    remove(path);
    sim_config config = { 1, GIB(1), 0, &costs, NULL, 0, 0 };
    sim_bench bench = bench_open(&config);
    char *place = vm_reserved(&bench.driver, MIB(8));
    uint64_t page = vm_backed(&bench.driver, place, MIB(4));
    vm_must(vm_unmap(&bench.driver, place, MIB(4)) | vm_destroy(&bench.driver, page, MIB(4)), "unmap, destroy");
    vm_must(vm_release(&bench.driver, place, MIB(8)), "release");
    sim_counters counters = bench_counters(&bench);
    CHECK_U64(counters.vns[SIM_CALL_VM_RESERVE], ==, 1);
    CHECK_U64(counters.vns[SIM_CALL_VM_RELEASE], ==, 2);
    CHECK_U64(counters.vns[SIM_CALL_VM_CREATE], ==, 3 + 4 * 1000);
    CHECK_U64(counters.vns[SIM_CALL_VM_DESTROY], ==, 4 + 4 * 2000);
    CHECK_U64(counters.vns[SIM_CALL_VM_MAP], ==, 5 + 4 * 3000);
    CHECK_U64(counters.vns[SIM_CALL_VM_ACCESS], ==, 6 + 4 * 4000);
    CHECK_U64(counters.vns[SIM_CALL_VM_UNMAP], ==, 7 + 4 * 5000);
    bench_close(&bench);
}

int main(void)
{
    test_defaults();
    test_the_last_reference_pays();
    test_access_is_paid_for_each_device();
    test_refusals_cost_the_fixed_part();
    test_a_file_of_costs();
    return tap_done();
}
