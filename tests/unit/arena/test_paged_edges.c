/* Paged ranges at their edges: alignments, sizes, large devices and many, limits that are no multiple of the page,
   page sizes, the adversary, idle's ends, what goes back, addresses that run out.
   It must not know how pages are chosen. */
#include "paged_pages.h"

static void expect_audit(const paged_bench *bench, const char *what)
{
    const char *text = paged_audit_pages(bench);
    CHECK_MSG(!text[0], "%s: all adds up%s%s", what, text[0] ? ", but " : "", text);
}

static void expect_close(paged_bench *bench, const char *what)
{
    const char *text = paged_close(bench);
    CHECK_MSG(!text[0], "%s: nothing is left%s%s", what, text[0] ? ", but " : "", text);
}

static void test_alignments(void)
{
    paged_bench bench;
    int wrong = 0;
    paged_open(&bench, GIB(8), "limit=64M");
    paged_alloc(&bench, KIB(3));
    for (uint64_t alignment = MIB(1); alignment <= GIB(1); alignment *= 2) {
        gpuarena_request request = GPUARENA_INIT;
        request.bytes = MIB(3) + 5;
        request.alignment_bytes = alignment;
        if (paged_ask(&bench, &request)) wrong++;
        else wrong += bench_number(bench.blocks[bench.block_count - 1].ptr) % alignment != 0;
        if (bench.block_count > 4) paged_free(&bench, 1);
    }
    CHECK_MSG(!wrong, "alignments of 1 MiB to 1 GiB within 64 MiB");
    for (int power = 50; power < 64; power++) {
        gpuarena_request request = GPUARENA_INIT;
        gpuarena_failure failure;
        request.bytes = 1;
        request.alignment_bytes = UINT64_C(1) << power;
        wrong += paged_ask(&bench, &request) != GPUARENA_OUT_OF_MEMORY;
        gpuarena_last_failure(bench.arena, &failure);
        wrong += failure.reason != GPUARENA_REASON_TOO_LARGE;
    }
    CHECK_MSG(!wrong, "alignments above 2^49: TOO_LARGE");
    CHECK_U64(paged_stats(&bench).reserved_bytes, <=, MIB(64));
    expect_audit(&bench, "alignments");
    expect_close(&bench, "alignments");
}

static void test_sizes(void)
{
    paged_bench bench;
    int failed = 0;
    paged_open(&bench, (uint64_t)139 << 30, "");
    for (uint64_t bytes = 1; bytes <= GIB(40); bytes = bytes * 3 + 1) failed += paged_alloc(&bench, bytes) != 0;
    failed += paged_alloc(&bench, GIB(40)) != 0;
    CHECK_MSG(!failed, "1 B to 40 GiB on 139 GiB");
    expect_audit(&bench, "sizes");
    for (int at = 0; at < bench.block_count; at++) paged_free(&bench, at);
    CHECK_INT(paged_alloc(&bench, GIB(60)), ==, GPUARENA_OK);
    CHECK_INT(paged_alloc(&bench, UINT64_MAX), ==, GPUARENA_OUT_OF_MEMORY);
    expect_audit(&bench, "60 GiB of pages, most of them moved");
    expect_close(&bench, "sizes");
}

/* The whole device, to the page: no byte of it is lost to where blocks lie. */
static void test_whole_device(void)
{
    paged_bench bench;
    paged_open(&bench, (uint64_t)139 << 30, "idle=0");
    for (int at = 0; at < 139; at++) paged_alloc(&bench, GIB(1));
    CHECK_INT(bench.block_count, ==, 139);
    for (int at = 0; at < 69; at++) paged_free(&bench, at);
    CHECK_INT(paged_alloc(&bench, GIB(69)), ==, GPUARENA_OK);
    CHECK_U64(paged_stats(&bench).remapped_page_count, >=, GIB(68) / MIB(2));
    expect_audit(&bench, "139 GiB");
    expect_close(&bench, "139 GiB");
}

/* Half of a full device is free, in pieces; nothing waits, so that is what is told. */
static void test_full_device(void)
{
    paged_bench bench;
    gpuarena_failure failure;
    paged_open(&bench, MIB(8), "");
    for (int at = 0; at < 8; at++) paged_alloc(&bench, MIB(1));
    CHECK_INT(bench.block_count, ==, 8);
    for (int at = 0; at < 4; at++) paged_free(&bench, at);   /* every other one: the rest moves up */
    CHECK_INT(paged_alloc(&bench, MIB(2)), ==, GPUARENA_OUT_OF_MEMORY);
    gpuarena_last_failure(bench.arena, &failure);
    CHECK_INT(failure.reason, ==, GPUARENA_REASON_FRAGMENTED);
    CHECK_U64(failure.missing_bytes, ==, MIB(2) - failure.largest_free_bytes);
    expect_close(&bench, "a full device");
}

static void test_devices(void)
{
    static gpuarena *arenas[SIM_MAX_DEVICES];
    static gpuarena_driver tables[SIM_MAX_DEVICES];
    sim_config config = { SIM_MAX_DEVICES, GIB(1), 0, NULL, NULL, 0, 0 };
    sim_bench bench = bench_open(&config);
    void *ptr;
    int failed = 0;
    uint64_t left = 0;
    for (int device = 0; device < SIM_MAX_DEVICES; device++) {
        gpuarena_config wanted = GPUARENA_INIT;
        sim_driver(bench.machine, device, &tables[device]);
        wanted.driver = &tables[device];
        wanted.environment = "";
        wanted.backing = GPUARENA_BACKING_PAGED;
        failed += gpuarena_create(&wanted, &arenas[device]) != 0;
        failed += gpuarena_alloc(arenas[device], &ptr, MIB(30), NULL) != 0 || gpuarena_owner(ptr) != arenas[device]
            || !sim_holds(bench.machine, device, ptr, MIB(30));
    }
    for (int device = 0; device < SIM_MAX_DEVICES; device++) {
        sim_counters counters;
        failed += gpuarena_reset(arenas[device], NULL) || gpuarena_destroy(arenas[device]);
        sim_get_counters(bench.machine, device, &counters);
        left += counters.handle_count + counters.mapping_count + counters.reserved_address_bytes;
    }
    CHECK_MSG(!failed, "%d devices, an arena on each", (int)SIM_MAX_DEVICES);
    CHECK_U64(left + sim_finding_count(bench.machine), ==, 0);
    bench_close(&bench);
}

static void test_limits(void)
{
    static const char *const texts[] = { "limit=9M", "limit=9M,page=4M", "limit=2500M,page=1G", "limit=131M,page=64M",
                                         "limit=9M,growth=fixed", "limit=11M,page=4M,growth=fixed" };
    for (size_t at = 0; at < COUNT(texts); at++) {
        paged_bench bench;
        paged_open(&bench, GIB(4), texts[at]);
        uint64_t limit = paged_stats(&bench).limit_bytes, page = bench.page_bytes, whole = limit / page * page;
        CHECK_INT(paged_alloc(&bench, whole + 1), ==, GPUARENA_OUT_OF_MEMORY);
        CHECK_INT(paged_alloc(&bench, whole), ==, GPUARENA_OK);
        CHECK_INT(paged_alloc(&bench, 1), ==, GPUARENA_OUT_OF_MEMORY);
        CHECK_MSG(paged_stats(&bench).reserved_bytes == whole, "%s: all whole pages serve", texts[at]);
        expect_audit(&bench, texts[at]);
        expect_close(&bench, texts[at]);
    }
}

/* 64 KiB blocks, one in 32 kept, one in each page: nothing can move, and the failure says what is stranded. */
static void test_adversary(void)
{
    static void *small[1024];
    paged_bench bench;
    gpuarena_failure failure;
    void *ptr;
    paged_open(&bench, MIB(256), "limit=64M");
    for (int at = 0; at < 1024; at++) gpuarena_alloc(bench.arena, &small[at], KIB(64), NULL);
    for (int at = 0; at < 1024; at++)
        if (at % 32) gpuarena_free(bench.arena, small[at], GPUARENA_ANY_STREAM);
    gpuarena_stats stats = paged_stats(&bench);
    CHECK_U64(stats.reserved_bytes, ==, MIB(64));
    CHECK_U64(stats.stranded_bytes, ==, 992 * KIB(64));
    CHECK_U64(stats.largest_free_bytes, ==, 31 * KIB(64));
    CHECK_INT(gpuarena_alloc(bench.arena, &ptr, MIB(2), NULL), ==, GPUARENA_OUT_OF_MEMORY);
    gpuarena_last_failure(bench.arena, &failure);
    CHECK_STR(gpuarena_reason_name(failure.reason), "fragmented");
    CHECK_U64(failure.largest_free_bytes, ==, 31 * KIB(64));
    CHECK_U64(paged_stats(&bench).remapped_page_count, ==, 0);
    CHECK_INT(gpuarena_free(bench.arena, small[0], GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(bench.arena, &ptr, MIB(2), NULL), ==, GPUARENA_OK);
    gpuarena_reset(bench.arena, NULL);
    expect_close(&bench, "adversary");
}

/* Eight pages, every other one idle, the limit reached. */
static void open_scattered(paged_bench *bench, const char *text)
{
    paged_open(bench, MIB(64), text);
    for (int at = 0; at < 8; at++) paged_alloc(bench, MIB(2));
    for (int at = 0; at < 4; at++) paged_free(bench, at);
}

static void test_idle(void)
{
    paged_bench bench;
    gpuarena_failure failure;
    open_scattered(&bench, "limit=16M,idle=100%");
    CHECK_U64(paged_stats(&bench).largest_free_bytes, ==, MIB(2));
    CHECK_INT(paged_alloc(&bench, MIB(3)), ==, GPUARENA_OUT_OF_MEMORY);
    gpuarena_last_failure(bench.arena, &failure);
    CHECK_STR(gpuarena_reason_name(failure.reason), "fragmented");
    CHECK_U64(paged_stats(&bench).remapped_page_count, ==, 0);
    CHECK_INT(paged_alloc(&bench, MIB(2)), ==, GPUARENA_OK);
    expect_close(&bench, "idle=100%");
    open_scattered(&bench, "limit=32M,idle=0");
    CHECK_U64(paged_stats(&bench).largest_free_bytes, ==, MIB(8));
    CHECK_INT(paged_alloc(&bench, MIB(8)), ==, GPUARENA_OK);
    CHECK_U64(paged_stats(&bench).reserved_bytes, ==, MIB(16));
    CHECK_U64(paged_stats(&bench).remapped_page_count, >, 0);
    expect_audit(&bench, "idle=0 moves before it makes");
    expect_close(&bench, "idle=0");
}

static void test_back(void)
{
    paged_bench bench;
    uint64_t released;
    open_scattered(&bench, "limit=32M");
    CHECK_INT(gpuarena_trim(bench.arena, MIB(12), &released), ==, GPUARENA_OK);
    CHECK_U64(released, ==, MIB(4));
    CHECK_U64(paged_counters(&bench).handle_count, ==, 6);
    CHECK_INT(gpuarena_trim(bench.arena, 0, &released), ==, GPUARENA_OK);
    CHECK_U64(paged_stats(&bench).reserved_bytes, ==, MIB(8));
    CHECK_U64(paged_counters(&bench).held_bytes, ==, MIB(8));
    expect_audit(&bench, "trim");
    CHECK_INT(gpuarena_set_limit(bench.arena, MIB(4)), ==, GPUARENA_OK);
    CHECK_INT(paged_alloc(&bench, 1), ==, GPUARENA_OUT_OF_MEMORY);
    for (int at = 0; at < 3; at++) paged_free(&bench, 0);
    CHECK_U64(paged_counters(&bench).held_bytes, <=, MIB(4));
    CHECK_INT(paged_alloc(&bench, 1), ==, GPUARENA_OK);
    expect_audit(&bench, "a limit below what is reserved");
    expect_close(&bench, "given back");
}

/* Addresses: a second range where the first has none; none at all: the reason says so. */
static void test_addresses(void)
{
    paged_bench bench;
    gpuarena_failure failure;
    gpuarena_request request = GPUARENA_INIT;
    paged_open(&bench, MIB(256), "limit=32M");
    paged_alloc(&bench, MIB(2));
    request.bytes = MIB(2);
    request.room_bytes = MIB(100);
    CHECK_INT(paged_ask(&bench, &request), ==, GPUARENA_OK);
    CHECK_U64(paged_counters(&bench).reserved_address_bytes, >, MIB(64));
    CHECK_U64(paged_stats(&bench).reserved_bytes, ==, MIB(4));
    expect_audit(&bench, "a second range");
    sim_fail_call(bench.machine, SIM_CALL_VM_RESERVE, 1, 1, SIM_OUT_OF_MEMORY);
    request.room_bytes = MIB(400);
    CHECK_INT(paged_ask(&bench, &request), ==, GPUARENA_OUT_OF_MEMORY);
    gpuarena_last_failure(bench.arena, &failure);
    CHECK_STR(gpuarena_reason_name(failure.reason), "addresses");
    sim_fail_call(bench.machine, SIM_CALL_KINDS, 0, 0, 0);
    CHECK_INT(paged_ask(&bench, &request), ==, GPUARENA_OK);
    expect_audit(&bench, "a third range");
    expect_close(&bench, "addresses");
}

/* The device bears so many mappings, and no more: nothing is left of what did not fit. */
static void test_mapping_ceiling(void)
{
    paged_bench bench;
    sim_config config = { 0, MIB(256), 0, NULL, NULL, 0, 20 };
    paged_open_on(&bench, &config, "limit=128M");
    CHECK_INT(paged_alloc(&bench, MIB(30)), ==, GPUARENA_OK);
    paged_state before = paged_look(&bench);
    CHECK_INT(paged_alloc(&bench, MIB(16)), ==, GPUARENA_OUT_OF_MEMORY);
    paged_state after = paged_look(&bench);
    CHECK_STR(paged_differs(&before, &after), "");
    expect_audit(&bench, "mapping ceiling");
    CHECK_INT(paged_alloc(&bench, MIB(8)), ==, GPUARENA_OK);
    expect_close(&bench, "mapping ceiling");
}

/* What model bfc cannot serve for the walls between its regions (test_like_bfc.c), pages can. */
static void test_wall(void)
{
    paged_bench bench;
    paged_open(&bench, GIB(8), "backing=paged,limit=512M");
    for (int block = 0; block < 128; block++) CHECK_INT(paged_alloc(&bench, MIB(4)), ==, GPUARENA_OK);
    while (bench.block_count > 1) paged_free(&bench, 0);
    CHECK_INT(paged_alloc(&bench, MIB(508)), ==, GPUARENA_OK);
    CHECK_U64(paged_stats(&bench).reserved_bytes, ==, MIB(512));
    expect_close(&bench, "wall");
}

int main(void)
{
    test_alignments();
    test_sizes();
    test_whole_device();
    test_full_device();
    test_devices();
    test_limits();
    test_adversary();
    test_idle();
    test_back();
    test_addresses();
    test_mapping_ceiling();
    test_wall();
    return tap_done();
}
