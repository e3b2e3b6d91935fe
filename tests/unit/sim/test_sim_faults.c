/* Faults of the simulated device: which call each acts on, how many calls stall, and texts that are refused.
   Must not know how faults are kept. */
#include "sim_device.h"

/* Codes of ten obtains, give backs and infos, in turn, as digits: . success, or x for one that has several. */
static const struct { const char *faults, *codes; } acting[] = {
    { "",                                        ".......... .......... .........." },
    { "obtain:3",                                "..2....... .......... .........." },
    { "obtain:3+",                               "..22222222 .......... .........." },
    { "obtain:10=1",                             ".........1 .......... .........." },
    { "obtain:11+",                              ".......... .......... .........." },
    { "give_back:2",                             ".......... .x........ .........." },
    { "info:1;give_back:10=4",                   ".......... .........4 x........." },
    { "info:4+=2,obtain:1=1",                    "1......... .......... ...2222222" },
    { "any:4=1",                                 ".1........ .......... .........." },
    { "any:3=1",                                 ".......... .......... 1........." },
    { "any:4+=1",                                ".111111111 .......... .111111111" },
    { "obtain:2=1,obtain:2+=4",                  ".144444444 .......... .........." },
    { "cudaMalloc:3;cudaFree:2;cudaMemGetInfo:1", "..2....... .x........ x........." },
    { "cudaMalloc>1M=1",                         "1111111111 .......... .........." },
    { "cudaSetDevice:1+;cudaStreamCreate:1+=700", ".......... .......... .........." },
};

static char digit_of(int code)
{
    return (char)(code == SIM_SUCCESS ? '.' : code < 10 ? '0' + code : 'x');
}

static void test_nth_call(void)
{
    for (size_t row = 0; row < COUNT(acting); row++) {
        sim_bench bench = bench_open_sized(GIB(1), acting[row].faults);
        char found[33] = "";
        memset(found, ' ', sizeof found - 1);
        for (int i = 0; i < 10; i++) {
            void *ptr = NULL;
            uint64_t free_bytes, total_bytes;
            int code = bench_obtain(&bench.driver, MIB(2), &ptr);
            found[i] = digit_of(code);
            found[11 + i] = digit_of(code ? SIM_SUCCESS : bench_give_back(&bench.driver, ptr, MIB(2)));
            found[22 + i] = digit_of(bench.driver.memory.info(&bench.driver, GPUARENA_MEMORY_DEVICE, &free_bytes,
                                                              &total_bytes));
        }
        CHECK_MSG(!strcmp(found, acting[row].codes), "%s: %s, expected %s", acting[row].faults, found,
                  acting[row].codes);
        bench_close(&bench);
    }
}

/* What a lost device answers to each call: tests/contract. Which codes lose it: */
static void test_lost(void)
{
    static const int lost[] = { 214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 721, 810, 911 };
    for (size_t i = 0; i < COUNT(lost); i++) {
        char text[32];
        void *ptr = NULL;
        snprintf(text, sizeof text, "obtain:1=%d", lost[i]);
        sim_bench bench = bench_open_sized(MIB(64), text);
        int first = bench_obtain(&bench.driver, MIB(2), &ptr), second = bench_obtain(&bench.driver, MIB(2), &ptr);
        CHECK_MSG(first == lost[i] && second == lost[i], "after %d the device is lost", lost[i]);
        bench_close(&bench);
    }
}

/* Texts, a word each, all of which are refused with these words; part: of it, that is named; NULL: the whole. */
static const struct { const char *texts, *part, *expected; } refused[] = {
    { "obtain: obtain:0 obtain:x obtain:3++ obtain:3=0 obtain:3=10000 obtain:3= obtain:3=7=8 obtain:3=700+ obtain:-1 "
      "obtain:18446744073709551616 give_back: any:+ info:1..", NULL, "expected KIND:N[+]" },
    { "x obtain obtain3 obtains:3 :3 : = rival rival:3 null>3 give_back>3 null \x01\xff unmap>4M", "part",
      "expected obtain:N" },
    { "obtain> obtain>x obtain>64x obtain>M obtain>64MM obtain>18014398509481984K obtain>1M=0 obtain>-1", NULL,
      "expected obtain>SIZE" },
    { "rival@ rival@1 rival@1= rival@=1 rival@x=1 rival@1=--1 rival@1=1/ rival@1=1/2 rival@1=1/-1 rival@1=x "
      "rival@1=1=2", NULL, "expected rival@OP=" },
    { "null:1+ overlap:0 misaligned:1=2", NULL, "number of an obtain" },
    { "stall: stall:20=", NULL, "stall:N[=MICROSECONDS]" },
    { "stall:20=1000000001", "stall:20", "stall:N[=MICROSECONDS]" },
    { "stall:1001", NULL, "N from 0 to 1000" },
    { "create>4M=0", NULL, "with a code from 1 to 9999" },
    { "obtain:1;x;info:1", "\"x\"", "expected" },
    { "obtain:1,", "\"\"", "after the last separator" },
    { ";obtain:1 obtain:1;;info:2", "\"\"", "expected obtain:N" },
};

static void expect_refused(const char *text, const char *part, const char *expected)
{
    sim_config config = { 2, 0, 0, NULL, NULL, 0, 0 };
    problem why = { 0, "" };
    config.faults = text;
    sim *machine = sim_create(&config, &why);
    CHECK_MSG(!machine && why.exit_code == EXIT_USAGE && strstr(why.text, part) && strstr(why.text, expected),
              "refused: %.40s: %s", text, why.text);
    sim_destroy(machine);
}

static void test_refused(void)
{
    for (size_t row = 0; row < COUNT(refused); row++) {
        char texts[300];
        snprintf(texts, sizeof texts, "%s", refused[row].texts);
        for (char *text = strtok(texts, " "); text; text = strtok(NULL, " "))
            expect_refused(text, refused[row].part ? refused[row].part : text, refused[row].expected);
    }
    expect_refused("obtain: 3", "obtain: 3", "expected KIND:N[+]");
    expect_refused(" obtain:1", "part", "expected obtain:N");
}

static void test_many_parts(void)
{
    char text[1024] = "rival@18446744073709551615=16777215T;obtain:18446744073709551615+=9999";
    for (int i = 0; i < 62; i++) strcat(text, ",obtain:9");
    sim_bench bench = bench_open_sized(0, text);
    bench_close(&bench);
    strcat(text, ",obtain:8");
    expect_refused(text, "\"obtain:8\"", "at most 64 parts");
}

/* How many of 2,000 calls of access stall, for 2 ms each. */
static uint64_t stalls_of(const char *faults)
{
    sim_bench bench = bench_open_sized(MIB(64), faults);
    const gpuarena_driver *driver = &bench.driver;
    uint64_t page = 0;
    void *address = NULL;
    int code = driver->vm.reserve(driver, &address, SIM_GRANULE, 0) | driver->vm.create(driver, &page, SIM_GRANULE, 0)
             | driver->vm.map(driver, address, SIM_GRANULE, page);
    for (int i = 0; i < 2000; i++) code |= driver->vm.access(driver, address, SIM_GRANULE, 1);
    uint64_t stalled_ns = bench_counters(&bench).vns[SIM_CALL_VM_ACCESS] - 2000 * 38080;
    CHECK_MSG(code == 0 && stalled_ns % 2000000 == 0, "%s: %" PRIu64 " ns are spent in stalls", faults, stalled_ns);
    bench_close(&bench);
    return stalled_ns / 2000000;
}

static void test_stalls(void)
{
    uint64_t many = stalls_of("stall:20");
    CHECK_MSG(many >= 20 && many <= 60 && stalls_of("stall:20") == many, "and always as many: %" PRIu64, many);
    CHECK_U64(stalls_of("stall:0") + stalls_of(""), ==, 0);
}

int main(void)
{
    test_nth_call();
    test_lost();
    test_refused();
    test_many_parts();
    test_stalls();
    return tap_done();
}
