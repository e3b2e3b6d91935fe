/* The table of costs: its arithmetic, and its text form with every way of getting it wrong.
   Must not know where the costs are kept. */
#include "sim_device.h"

#include <inttypes.h>

static char path[512];                           /* of the file that tests write */

static void test_arithmetic_is_exact(void)
{
    sim_costs costs = *sim_costs_default();
    costs.of[SIM_COST_INFO].fixed_ns = 7;
    costs.of[SIM_COST_INFO].per_mib_ns = 1000;
    CHECK_U64(sim_costs_ns(&costs, SIM_COST_INFO, 0), ==, 7);
    CHECK_U64(sim_costs_ns(&costs, SIM_COST_INFO, MIB(1)), ==, 1007);
    CHECK_U64(sim_costs_ns(&costs, SIM_COST_INFO, MIB(1) - 1), ==, 7 + 999);
    CHECK_U64(sim_costs_ns(&costs, SIM_COST_INFO, KIB(512)), ==, 507);
    costs.of[SIM_COST_INFO].fixed_ns = SIM_COST_MAX_FIXED_NS;
    costs.of[SIM_COST_INFO].per_mib_ns = SIM_COST_MAX_PER_MIB_NS;
    CHECK_U64(sim_costs_ns(&costs, SIM_COST_INFO, (uint64_t)1 << 43), ==,
              UINT64_C(1000000000000) + UINT64_C(8388608) * UINT64_C(1000000000));
}

static void write_file(const char *text, size_t length)
{
    FILE *out = fopen(path, "wb");
    if (!out || fwrite(text, 1, length, out) != length || fclose(out) != 0) {
        printf("Bail out! cannot write %s\n", path);
        exit(1);
    }
}

static void test_written_costs_read_back(void)
{
    sim_costs costs, read = *sim_costs_default();
    problem why = { 0, "" };
    for (int i = 0; i < SIM_COST_KINDS; i++) {
        costs.of[i].fixed_ns = (uint64_t)i * 1000003;
        costs.of[i].per_mib_ns = (uint64_t)i * 17;
    }
    costs.of[0].fixed_ns = SIM_COST_MAX_FIXED_NS;
    costs.of[0].per_mib_ns = SIM_COST_MAX_PER_MIB_NS;
    FILE *out = fopen(path, "w");
    CHECK_INT(out ? sim_costs_write(&costs, out) : -1, ==, 0);
    if (out) fclose(out);
    CHECK_INT(sim_costs_read(path, &read, &why), ==, 0);
    CHECK(memcmp(&read, &costs, sizeof costs) == 0);
}

static void test_read_forms(void)
{
    static const char text[] = "# measured on a GPU\n\n  \t\nmalloc_block\t7 3 # why\n"
                               "  info 1   0\nfree_block 0 0#\n";
    sim_costs read;
    problem why = { 0, "" };
    memset(&read, 0xFF, sizeof read);
    write_file(text, sizeof text - 1);
    CHECK_INT(sim_costs_read(path, &read, &why), ==, 0);
    CHECK_U64(read.of[SIM_COST_MALLOC_BLOCK].fixed_ns, ==, 7);
    CHECK_U64(read.of[SIM_COST_MALLOC_BLOCK].per_mib_ns, ==, 3);
    CHECK_U64(read.of[SIM_COST_INFO].fixed_ns, ==, 1);
    CHECK_U64(read.of[SIM_COST_FREE_BLOCK].per_mib_ns, ==, 0);
    CHECK_MSG(read.of[SIM_COST_FREE_SLAB].fixed_ns == 4000, "a name that is left out keeps its default");
    write_file("", 0);
    CHECK_INT(sim_costs_read(path, &read, &why), ==, 0);
    CHECK_MSG(memcmp(&read, sim_costs_default(), sizeof read) == 0, "an empty file is the default");
}

/* Reads the text, and expects a problem that says line and expectation and leaves the costs alone. */
static void expect_problem(const char *text, size_t length, const char *line, const char *expected)
{
    sim_costs costs, before;
    problem why = { 0, "" };
    char place[600];
    memset(&costs, 0xA5, sizeof costs);
    before = costs;
    write_file(text, length);
    snprintf(place, sizeof place, "%s:%s:", path, line);
    int result = sim_costs_read(path, &costs, &why);
    if (!CHECK_MSG(result == -1 && why.exit_code == EXIT_USAGE && strstr(why.text, place) == why.text
                   && strstr(why.text, expected) && memcmp(&costs, &before, sizeof costs) == 0,
                   "line %s: expected %s", line, expected))
        printf("#   said: %s\n", why.text);
}

static void test_broken_files(void)
{
#define BROKEN(text, line, expected) expect_problem(text, sizeof text - 1, line, expected)
    char longest[400];
    BROKEN("# fine\ncudaMalloc 1 2\n", "2", "one of context malloc_slab malloc_block free_slab free_block info");
    BROKEN("info 1 0\ninfo 1 0\n", "2", "each name once");
    BROKEN("info\n", "1", "fixed_ns");
    BROKEN("info 1\n", "1", "per_mib_ns");
    BROKEN("info 1 # 2\n", "1", "per_mib_ns");
    BROKEN("info 1 2 3\n", "1", "end of the line");
    BROKEN("info x 2\n", "1", "fixed_ns, a whole number up to 1000000000000");
    BROKEN("info -1 2\n", "1", "fixed_ns");
    BROKEN("info 1.5 2\n", "1", "fixed_ns");
    BROKEN("info 18446744073709551616 2\n", "1", "fixed_ns");
    BROKEN("info 18446744073709551615 2\n", "1", "fixed_ns");
    BROKEN("info 1000000000001 2\n", "1", "fixed_ns");
    BROKEN("info 1 1000000001\n", "1", "per_mib_ns, a whole number up to 1000000000");
    BROKEN("info 1 2\r\n", "1", "per_mib_ns");
    BROKEN("free_slab 1 2\ninfo 1 2", "2", "newline");
    BROKEN("info 1 2\n\0\n", "2", "text");
    BROKEN("\177ELF\2\1\1\0\0\0\0\0\0\0\0\0", "1", "text");
    BROKEN("\xff\xfe\xfd\n", "1", "one of");
#undef BROKEN
    memset(longest, ' ', sizeof longest);
    expect_problem(longest, sizeof longest, "1", "at most 200 bytes");
    memset(longest, '#', 200);
    longest[200] = '\n';
    sim_costs read;
    problem why = { 0, "" };
    write_file(longest, 201);
    CHECK_MSG(sim_costs_read(path, &read, &why) == 0, "a line of 200 bytes is fine");
}

static void test_unreadable_files(void)
{
    sim_costs costs = *sim_costs_default();
    static const char *const names[] = { "/nowhere/costs", "/", "" };
    for (int i = 0; i < 3; i++) {
        problem why = { 0, "" };
        CHECK_INT(sim_costs_read(names[i], &costs, &why), ==, -1);
        CHECK_INT(why.exit_code, ==, EXIT_USAGE);
        CHECK_MSG(strncmp(why.text, names[i], strlen(names[i])) == 0 && strchr(why.text, ':'), "%s", why.text);
    }
    CHECK(memcmp(&costs, sim_costs_default(), sizeof costs) == 0);
}

static void test_a_problem_is_one_line_and_the_first(void)
{
    problem why = { 0, "" };
    char wide[2000];
    memset(wide, 'x', sizeof wide);
    wide[sizeof wide - 1] = '\0';
    CHECK_INT(problem_set(&why, EXIT_GATE, "a\nb\tc\033"), ==, -1);
    CHECK_STR(why.text, "a?b?c?");
    CHECK_INT(problem_set(&why, EXIT_HARNESS, "second"), ==, -1);
    CHECK_STR(why.text, "a?b?c?");
    CHECK_INT(why.exit_code, ==, EXIT_GATE);
    why.exit_code = 0;
    problem_set(&why, EXIT_USAGE, "%s", wide);
    CHECK_INT(strlen(why.text), ==, sizeof why.text - 1);
}

static void test_costs_of_the_configuration(void)
{
    sim_costs costs = *sim_costs_default();
    sim_config config = { 1, 0, 0, NULL, NULL, 0, 0 };
    void *ptr;
    uint64_t page = 0;
    costs.of[SIM_COST_CONTEXT].fixed_ns = 1;
    costs.of[SIM_COST_VM_CREATE].per_mib_ns = 1000;
    costs.of[SIM_COST_VM_MAP].per_mib_ns = 3000;
    costs.of[SIM_COST_VM_UNMAP].per_mib_ns = 5000;
    costs.of[SIM_COST_MALLOC_BLOCK].per_mib_ns = 1000;
    config.costs = &costs;
    sim_bench bench = bench_open(&config);
    memset(&costs, 0, sizeof costs);
    CHECK_U64(sim_now_ns(bench.machine), ==, 1);
    bench_obtain(&bench.driver, MIB(3), &ptr);
    CHECK_MSG(bench_counters(&bench).vns[SIM_CALL_OBTAIN] == 120000 + 4 * 1000,
              "3 MiB are two granules; the table was copied");
    CHECK_INT(bench.driver.vm.reserve(&bench.driver, &ptr, MIB(4), 0), ==, 0);
    CHECK_INT(bench.driver.vm.create(&bench.driver, &page, MIB(4), 0), ==, 0);
    CHECK_INT(bench.driver.vm.map(&bench.driver, ptr, MIB(4), page), ==, 0);
    CHECK_INT(bench.driver.vm.unmap(&bench.driver, ptr, MIB(4)), ==, 0);
    sim_counters counters = bench_counters(&bench);
    CHECK_U64(counters.vns[SIM_CALL_VM_CREATE], ==, 30000 + 4 * 1000);
    CHECK_U64(counters.vns[SIM_CALL_VM_MAP], ==, 2000 + 4 * 3000);
    CHECK_U64(counters.vns[SIM_CALL_VM_UNMAP], ==, 28000 + 4 * 5000);
    bench_close(&bench);
}

int main(void)
{
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/gpuarena_costs_XXXXXX", folder ? folder : "/tmp");
    int handle = mkstemp(path);
    if (handle < 0) {
        printf("Bail out! cannot make %s\n", path);
        return 1;
    }
    test_arithmetic_is_exact();
    test_written_costs_read_back();
    test_read_forms();
    test_broken_files();
    test_unreadable_files();
    test_a_problem_is_one_line_and_the_first();
    test_costs_of_the_configuration();
    remove(path);
    return tap_done();
}
