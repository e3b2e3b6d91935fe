/* Faults of the simulated device: each acts on its call alone, lies are lies, rivals act in time, bad text fails.
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

static void test_above_a_size(void)
{
    sim_bench bench = bench_open_sized(GIB(1), "obtain>64M;obtain>512M=999");
    void *ptr = NULL;
    CHECK_INT(bench_obtain(&bench.driver, MIB(64) + 1, &ptr), ==, SIM_OUT_OF_MEMORY);
    CHECK_INT(bench_obtain(&bench.driver, MIB(600), &ptr), ==, SIM_OUT_OF_MEMORY);
    CHECK_INT(bench_obtain(&bench.driver, MIB(64), &ptr), ==, SIM_SUCCESS);
    bench_close(&bench);
    bench = bench_open_sized(GIB(1), "obtain>1023K=17");
    CHECK_INT(bench_obtain(&bench.driver, KIB(1023) + 1, &ptr), ==, 17);
    CHECK_INT(bench_obtain(&bench.driver, KIB(1023), &ptr), ==, SIM_SUCCESS);
    bench_close(&bench);
}

static void test_rival(void)
{
    static const char text[] = "rival@10=-1G;rival@5=4G,rival@5=1K/1;rival@20=100G;rival@30=-1T";
    sim_config config = { 2, GIB(8), GIB(1), NULL, text, 0, 0 };
    sim_bench bench = bench_open(&config);
    gpuarena_driver other;
    void *ptr;
    sim_driver(bench.machine, 1, &other);
    bench_obtain(&bench.driver, GIB(2), &ptr);
    sim_begin_op(bench.machine, 4);
    CHECK_U64(bench_counters(&bench).rival_bytes, ==, 0);
    sim_begin_op(bench.machine, 5);
    CHECK_U64(bench_counters(&bench).rival_bytes, ==, GIB(4));
    CHECK_U64(bench_free_bytes(&bench.driver), ==, GIB(1));
    CHECK_U64(bench_free_bytes(&other), ==, GIB(7) - KIB(1));
    CHECK_INT(bench_obtain(&bench.driver, GIB(1) + 1, &ptr), ==, SIM_OUT_OF_MEMORY);
    sim_begin_op(bench.machine, 5);
    CHECK_MSG(bench_counters(&bench).rival_bytes == GIB(4), "each rival acts once");
    sim_begin_op(bench.machine, 12);
    CHECK_MSG(bench_counters(&bench).rival_bytes == GIB(3), "an operation that was passed over counts");
    sim_begin_op(bench.machine, 20);
    CHECK_MSG(bench_counters(&bench).rival_bytes == GIB(5), "it takes what is free at most");
    CHECK_U64(bench_free_bytes(&bench.driver), ==, 0);
    sim_begin_op(bench.machine, 30);
    CHECK_MSG(bench_counters(&bench).rival_bytes == 0, "and gives back what it holds at most");
    CHECK_U64(bench_free_bytes(&bench.driver), ==, GIB(5));
    bench_close(&bench);
    bench = bench_open_sized(GIB(8), "rival@7=-1G;rival@3=2G");
    sim_begin_op(bench.machine, 100);
    CHECK_MSG(bench_counters(&bench).rival_bytes == GIB(1), "rivals due together act by operation");
    bench_close(&bench);
}

static void test_lies(void)
{
    sim_config config = { 2, MIB(64), 0, NULL, "null:1;misaligned:3,overlap:4;overlap:5", 0, 0 };
    sim_bench bench = bench_open(&config);
    gpuarena_driver other;
    void *null = &bench, *honest, *misaligned, *overlap, *same;
    CHECK_INT(bench_obtain(&bench.driver, MIB(4), &null), ==, SIM_SUCCESS);
    CHECK(null == NULL);
    CHECK_U64(bench_counters(&bench).held_bytes, ==, 0);
    CHECK_INT(bench_obtain(&bench.driver, MIB(4), &honest), ==, SIM_SUCCESS);
    CHECK_INT(bench_obtain(&bench.driver, MIB(6), &misaligned), ==, SIM_SUCCESS);
    CHECK_U64(bench_number(misaligned) % 256, ==, 128);
    CHECK_MSG(bench_number(misaligned) >= bench_number(honest) + MIB(4), "misaligned, and nothing else is wrong");
    CHECK_INT(bench_obtain(&bench.driver, MIB(6), &overlap), ==, SIM_SUCCESS);
    CHECK_MSG(overlap == bench_at(honest, MIB(2)), "overlapping, and aligned to 2 MiB");
    CHECK_INT(bench_obtain(&bench.driver, MIB(4), &same), ==, SIM_SUCCESS);
    CHECK_U64(bench_counters(&bench).lies_held, ==, 3);
    CHECK_U64(bench_counters(&bench).held_bytes, ==, MIB(4));
    CHECK(!sim_holds(bench.machine, 0, misaligned, 1) && !sim_holds(bench.machine, 0, overlap, MIB(6)));
    sim_driver(bench.machine, 1, &other);
    CHECK_INT(bench_give_back(&other, misaligned, MIB(6)), ==, SIM_INVALID_VALUE);
    CHECK_INT(bench_give_back(&bench.driver, misaligned, MIB(4)), ==, SIM_INVALID_VALUE);
    CHECK_INT(bench_give_back(&bench.driver, overlap, MIB(6)), ==, SIM_SUCCESS);
    CHECK_INT(bench_give_back(&bench.driver, misaligned, MIB(6)), ==, SIM_SUCCESS);
    CHECK_INT(bench_give_back(&bench.driver, same, MIB(4)), ==, SIM_SUCCESS);
    CHECK_U64(bench_counters(&bench).lies_held, ==, 0);
    CHECK_MSG(bench_counters(&bench).held_bytes == MIB(4), "giving lies back takes nothing from the honest block");
    CHECK_INT(bench_give_back(&bench.driver, honest, MIB(4)), ==, SIM_SUCCESS);
    CHECK_U64(bench_counters(&bench).findings, ==, 1);
    CHECK_INT(bench_give_back(&bench.driver, misaligned, MIB(6)), ==, SIM_INVALID_VALUE);
    CHECK_U64(bench_counters(&bench).findings, ==, 2);
    bench_close(&bench);
}

static void test_lies_that_cannot_be_told(void)
{
    sim_bench bench = bench_open_sized(MIB(64), "overlap:1;null:2;misaligned:3;overlap:5");
    void *first, *ptr = &bench, *piece;
    CHECK_INT(bench_obtain(&bench.driver, 1000, &first), ==, SIM_SUCCESS);
    CHECK_MSG(sim_holds(bench.machine, 0, first, 1000), "with nothing held there is nothing to overlap");
    CHECK_INT(bench_obtain(&bench.driver, 0, &ptr), ==, SIM_SUCCESS);
    CHECK_INT(bench_obtain(&bench.driver, GIB(1), &ptr), ==, SIM_OUT_OF_MEMORY);
    CHECK_INT(bench_obtain(&bench.driver, 1000, &ptr), ==, SIM_SUCCESS);
    CHECK_INT(bench_obtain(&bench.driver, 1000, &piece), ==, SIM_SUCCESS);
    CHECK_MSG(piece == first, "an overlap with a slab is with its first piece");
    CHECK_U64(bench_counters(&bench).lies_held, ==, 1);
    bench_close(&bench);
}

static void test_campaign(void)
{
    sim_bench bench = bench_open_sized(GIB(1), "obtain:2=1");
    void *ptr = NULL;
    sim_fail_call(bench.machine, SIM_CALL_OBTAIN, 2, 0, 999);
    CHECK_INT(bench_obtain(&bench.driver, MIB(2), &ptr), ==, SIM_SUCCESS);
    CHECK(!sim_fail_fired(bench.machine));
    CHECK_INT(bench_obtain(&bench.driver, MIB(2), &ptr), ==, 999);
    CHECK(sim_fail_fired(bench.machine));
    CHECK_INT(bench_obtain(&bench.driver, MIB(2), &ptr), ==, SIM_SUCCESS);
    sim_fail_call(bench.machine, SIM_CALL_KINDS, 2, 1, 4);
    CHECK(!sim_fail_fired(bench.machine));
    CHECK_U64(bench_free_bytes(&bench.driver), ==, GIB(1) - MIB(4));
    CHECK_INT(bench_obtain(&bench.driver, MIB(2), &ptr), ==, 4);
    CHECK_INT(bench_give_back(&bench.driver, ptr, MIB(2)), ==, 4);
    sim_fail_call(bench.machine, SIM_CALL_KINDS, 0, 1, 4);
    CHECK_INT(bench_give_back(&bench.driver, ptr, MIB(2)), ==, SIM_SUCCESS);
    CHECK(!sim_fail_fired(bench.machine));
    sim_fail_call(bench.machine, SIM_CALL_INFO, 1, 0, 700);
    CHECK_U64(bench_free_bytes(&bench.driver), ==, UINT64_MAX);
    sim_fail_call(bench.machine, SIM_CALL_OBTAIN, 1, 0, 2);
    CHECK_INT(bench_obtain(&bench.driver, MIB(2), &ptr), ==, 700);
    CHECK_MSG(!sim_fail_fired(bench.machine), "on a lost device no other fault acts");
    CHECK_U64(bench_counters(&bench).held_bytes, ==, MIB(2));
    bench_close(&bench);
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
    sim_begin_op(bench.machine, UINT64_MAX);
    CHECK_U64(bench_counters(&bench).rival_bytes, ==, GIB(80));
    bench_close(&bench);
}

int main(void)
{
    test_nth_call();
    test_sticky_codes();
    test_above_a_size();
    test_rival();
    test_lies();
    test_lies_that_cannot_be_told();
    test_campaign();
    test_bad_text();
    test_many_parts();
    return tap_done();
}
