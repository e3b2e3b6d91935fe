/* Faults of the simulated device: which call each acts on, stalls, and texts that are refused.
   Must not know how faults are kept. */
#include "sim_device.h"

/* Ten obtains and give backs; the codes as digits: . success, 2, or x for any other. */
static const char *codes_of_ten(sim_bench *bench, sim_call kind)
{
    static char codes[11];
    for (int i = 0; i < 10; i++) {
        void *ptr = NULL;
        int obtained = bench_obtain(&bench->driver, MIB(2), &ptr), given = SIM_SUCCESS, told;
        uint64_t free_bytes, total_bytes;
        if (obtained == SIM_SUCCESS) given = bench_give_back(&bench->driver, ptr, MIB(2));
        told = bench->driver.memory.info(&bench->driver, GPUARENA_MEMORY_DEVICE, &free_bytes, &total_bytes);
        int code = kind == SIM_CALL_OBTAIN ? obtained : kind == SIM_CALL_GIVE_BACK ? given : told;
        codes[i] = (char)(code == SIM_SUCCESS ? '.' : code < 10 ? '0' + code : 'x');
    }
    codes[10] = '\0';
    return codes;
}

static void expect_codes(const char *faults, const char *obtain, const char *give_back, const char *info)
{
    const char *expected[] = { obtain, give_back, info };     /* the kinds that the driver table has */
    for (int kind = 0; kind < (int)COUNT(expected); kind++) {
        sim_bench bench = bench_open_sized(GIB(1), faults);
        const char *found = codes_of_ten(&bench, (sim_call)kind);
        if (!CHECK_MSG(strcmp(found, expected[kind]) == 0, "%s: calls of kind %d", faults, kind))
            printf("#   found:    %s\n#   expected: %s\n", found, expected[kind]);
        bench_close(&bench);
    }
}

static void test_nth_call(void)
{
    expect_codes("", "..........", "..........", "..........");
    expect_codes("obtain:3", "..2.......", "..........", "..........");
    expect_codes("obtain:3+", "..22222222", "..........", "..........");
    expect_codes("obtain:10=1", ".........1", "..........", "..........");
    expect_codes("obtain:11+", "..........", "..........", "..........");
    expect_codes("give_back:2", "..........", ".x........", "..........");
    expect_codes("info:1;give_back:10=4", "..........", ".........4", "x.........");
    expect_codes("info:4+=2,obtain:1=1", "1.........", "..........", "...2222222");
    expect_codes("any:4=1", ".1........", "..........", "..........");
    expect_codes("any:3=1", "..........", "..........", "1.........");
    expect_codes("any:4+=1", ".111111111", "..........", ".111111111");
    expect_codes("obtain:2=1,obtain:2+=4", ".144444444", "..........", "..........");
    expect_codes("cudaMalloc:3;cudaFree:2;cudaMemGetInfo:1", "..2.......", ".x........", "x.........");
    expect_codes("cudaMalloc>1M=1", "1111111111", "..........", "..........");
    expect_codes("cudaSetDevice:1+;cudaStreamCreate:1+=700", "..........", "..........", "..........");
}

static void test_sticky_codes(void)
{
    static const int sticky[] = { 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 214, 220, 226, 810, 911 };
    for (size_t i = 0; i < COUNT(sticky); i++) {
        char text[32];
        void *kept, *ptr = NULL;
        uint64_t free_bytes, total_bytes;
        snprintf(text, sizeof text, "obtain:2=%d", sticky[i]);
        sim_config config = { 2, MIB(64), 0, NULL, text, 0, 0 };
        sim_bench bench = bench_open(&config);
        gpuarena_driver other;
        sim_driver(bench.machine, 1, &other);
        bench_obtain(&bench.driver, MIB(2), &kept);
        int first = bench_obtain(&bench.driver, MIB(2), &ptr), second = bench_obtain(&bench.driver, MIB(2), &ptr);
        int given = bench_give_back(&bench.driver, kept, MIB(2));
        int told = bench.driver.memory.info(&bench.driver, GPUARENA_MEMORY_DEVICE, &free_bytes, &total_bytes);
        CHECK_MSG(first == sticky[i] && second == sticky[i] && given == sticky[i] && told == sticky[i],
                  "after %d every call on that device answers it", sticky[i]);
        CHECK_MSG(bench_obtain(&other, MIB(2), &ptr) == SIM_SUCCESS, "and the other device lives");
        CHECK_U64(bench_counters(&bench).held_bytes, ==, MIB(2));
        CHECK_U64(bench_counters(&bench).calls[SIM_CALL_OBTAIN], ==, 3);
        CHECK_U64(bench_counters(&bench).findings, ==, 0);
        bench_close(&bench);
    }
}

static void expect_bad(const char *text, const char *part, const char *expected)
{
    sim_config config = { 2, 0, 0, NULL, NULL, 0, 0 };
    problem why = { 0, "" };
    config.faults = text;
    sim *machine = sim_create(&config, &why);
    if (!CHECK_MSG(!machine && why.exit_code == EXIT_USAGE && strstr(why.text, part) && strstr(why.text, expected),
                   "refused: %.40s", text))
        printf("#   said: %s\n", why.text);
    sim_destroy(machine);
}

static void test_bad_text(void)
{
    static const char *const calls[] = {
        "obtain:", "obtain:0", "obtain:x", "obtain:3++", "obtain:3=0", "obtain:3=10000", "obtain:3=", "obtain:3=7=8",
        "obtain:3=700+", "obtain:-1", "obtain: 3", "obtain:18446744073709551616", "give_back:", "any:+", "info:1..",
    };
    static const char *const others[] = {
        "x", "obtain", "obtain3", "obtains:3", ":3", ":", "=", "rival", "rival:3", "null>3", "give_back>3",
        " obtain:1", "\x01\xff", "null",
    };
    static const char *const sizes[] = { "obtain>", "obtain>x", "obtain>64x", "obtain>M", "obtain>64MM",
                                         "obtain>18014398509481984K", "obtain>1M=0", "obtain>-1" };
    static const char *const rivals[] = { "rival@", "rival@1", "rival@1=", "rival@=1", "rival@x=1", "rival@1=--1",
                                          "rival@1=1/", "rival@1=1/2", "rival@1=1/-1", "rival@1=x", "rival@1=1=2" };
    for (size_t i = 0; i < COUNT(calls); i++) expect_bad(calls[i], calls[i], "expected KIND:N[+]");
    for (size_t i = 0; i < COUNT(others); i++) expect_bad(others[i], "part", "expected obtain:N");
    for (size_t i = 0; i < COUNT(sizes); i++) expect_bad(sizes[i], sizes[i], "expected obtain>SIZE");
    for (size_t i = 0; i < COUNT(rivals); i++) expect_bad(rivals[i], rivals[i], "expected rival@OP=");
    expect_bad("null:1+", "null:1+", "number of an obtain");
    expect_bad("overlap:0", "overlap:0", "number of an obtain");
    expect_bad("misaligned:1=2", "misaligned:1=2", "number of an obtain");
    expect_bad("stall:", "stall:", "stall:N[=MICROSECONDS]");
    expect_bad("stall:1001", "stall:1001", "N from 0 to 1000");
    expect_bad("stall:20=", "stall:20=", "stall:N[=MICROSECONDS]");
    expect_bad("stall:20=1000000001", "stall:20", "stall:N[=MICROSECONDS]");
    expect_bad("unmap>4M", "unmap>4M", "expected obtain:N");
    expect_bad("create>4M=0", "create>4M=0", "with a code from 1 to 9999");
    expect_bad("obtain:1;x;info:1", "\"x\"", "expected");
    expect_bad("obtain:1,", "\"\"", "after the last separator");
    expect_bad(";obtain:1", "\"\"", "expected obtain:N");
    expect_bad("obtain:1;;info:2", "\"\"", "expected obtain:N");
}

static void test_many_parts(void)
{
    char text[1024] = "";
    for (int i = 0; i < 64; i++) strcat(text, i ? ",obtain:9" : "obtain:9");
    sim_bench bench = bench_open_sized(0, text);
    bench_close(&bench);
    strcat(text, ",obtain:8");
    expect_bad(text, "\"obtain:8\"", "at most 64 parts");
    bench = bench_open_sized(0, "rival@18446744073709551615=16777215T;obtain:18446744073709551615+=9999");
    bench_close(&bench);
}

/* How much longer than plain ones 2,000 calls of access take; *many: how many do. */
static uint64_t stalls_of(const char *faults, unsigned *many)
{
    sim_bench bench = bench_open_sized(MIB(64), faults);
    uint64_t total_ns = 0, page = 0, before = 0;
    void *address = NULL;
    int code = bench.driver.vm.reserve(&bench.driver, &address, SIM_GRANULE, 0);
    code |= bench.driver.vm.create(&bench.driver, &page, SIM_GRANULE, 0);
    code |= bench.driver.vm.map(&bench.driver, address, SIM_GRANULE, page);
    *many = 0;
    for (int i = 0; i < 2000; i++) {
        code |= bench.driver.vm.access(&bench.driver, address, SIM_GRANULE, 1);
        uint64_t spent = bench_counters(&bench).vns[SIM_CALL_VM_ACCESS], taken = spent - before;
        before = spent;
        *many += taken > 38080;
        total_ns += taken - 38080;
    }
    CHECK_INT(code, ==, 0);
    bench_close(&bench);
    return total_ns;
}

static void test_stalls(void)
{
    unsigned many, again;
    CHECK_MSG(stalls_of(NULL, &many) == 0 && many == 0, "none, unless told to");
    CHECK_MSG(stalls_of("stall:0", &many) == 0 && many == 0, "none of 1,000");
    uint64_t total_ns = stalls_of("stall:20", &many);
    CHECK_MSG(many >= 20 && many <= 60, "%u of 2,000 calls stall", many);
    CHECK_U64(total_ns, ==, (uint64_t)many * 2000000);
    CHECK_MSG(stalls_of("stall:20", &again) == total_ns && again == many, "and always as many");
    CHECK_U64(stalls_of("stall:1000=3", &many), ==, 2000 * 3000);
}

int main(void)
{
    test_nth_call();
    test_sticky_codes();
    test_bad_text();
    test_many_parts();
    test_stalls();
    return tap_done();
}
