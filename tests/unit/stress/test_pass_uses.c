/* Uses of a block on several streams: which of them a program names to its policy before the free.
   It must not know of files or the command line. */
#include "stress/base/splitmix64.h"
#include "pass_bench.h"

enum { RANDOM_BLOCKS = 24, RANDOM_STREAMS = 6 };

/* A block used on further streams and freed on its own, which then asks for as much. waits: the op stream's, in pairs
   of the waiting stream and the other; `before` of them come before the uses on streams 2 and 3. */
typedef struct naming {
    const char *name;
    uint64_t    waits[3][2];
    size_t      wait_count, before;
    int         third_uses;
    int         is_named;                        /* a use is not ordered before the free: what it left is pending */
} naming;

static void expect_naming(const naming *known)
{
    bench bed;
    bench_open(&bed);
    add_alloc(&bed, 2 * MIB, 1);
    add_wait(&bed, 2, 1);
    add_wait(&bed, 3, 1);
    for (size_t index = 0; index <= known->wait_count; index++) {
        if (index == known->before) add_kernel(&bed, LONG_NS, 2, 0);
        if (index == known->before && known->third_uses) add_kernel(&bed, 1000, 3, 0);
        if (index < known->wait_count) add_wait(&bed, known->waits[index][0], known->waits[index][1]);
    }
    add_free(&bed, 0, 1);
    add_alloc(&bed, 2 * MIB, 1);
    add_kernel(&bed, 1000, 1, 1);
    expect_ok(&bed, known->name);
    const pass_result *result = run(&bed, "segments:growth=exact", NULL);
    CHECK_MSG(result->memory.reserved_peak_bytes == (known->is_named ? 4 : 2) * MIB, "%s: %" PRIu64 " bytes held",
              known->name, result->memory.reserved_peak_bytes);
}

/* A program names what no wait orders before the free, and no more: memory would lie idle for nothing. */
static void test_naming(void)
{
    static const naming cases[] = {
        { "not ordered", { { 0, 0 } }, 0, 0, 0, 1 },
        { "ordered", { { 1, 2 } }, 1, 0, 0, 0 },
        { "ordered before the use alone", { { 1, 2 } }, 1, 1, 0, 1 },
        { "ordered before the use, and after it", { { 1, 2 }, { 1, 2 } }, 2, 1, 0, 0 },
        { "ordered over a third stream", { { 4, 2 }, { 1, 4 } }, 2, 0, 0, 0 },
        { "the third stream waits too late", { { 1, 4 }, { 4, 2 } }, 2, 0, 0, 1 },
        { "the third stream waited too early", { { 4, 2 }, { 1, 4 } }, 2, 1, 0, 1 },
        { "the other way round", { { 2, 1 } }, 1, 0, 0, 1 },
        { "two uses, both ordered", { { 1, 2 }, { 1, 3 } }, 2, 0, 1, 0 },
        { "two uses, one through the other", { { 3, 2 }, { 1, 3 } }, 2, 0, 1, 0 },
        { "two uses, the longer one not ordered", { { 1, 3 } }, 1, 0, 1, 1 },
    };
    for (size_t index = 0; index < sizeof cases / sizeof cases[0]; index++) expect_naming(&cases[index]);
}

/* The latest use of a stream counts, and every block has its own. */
static void test_latest_use(void)
{
    bench bed;
    bench_open(&bed);
    add_alloc(&bed, 2 * MIB, 1);
    add_alloc(&bed, 2 * MIB, 1);
    add_wait(&bed, 2, 1);
    add_kernel(&bed, LONG_NS, 2, 0);
    add_kernel(&bed, 1000, 2, 1);
    add_wait(&bed, 1, 2);
    add_kernel(&bed, LONG_NS, 2, 0);
    add_free(&bed, 0, 1);
    add_free(&bed, 1, 1);
    add_alloc(&bed, 2 * MIB, 1);
    add_kernel(&bed, 1000, 1, 2);
    expect_ok(&bed, "one of two used again");
    CHECK_U64(run(&bed, "segments:growth=exact", NULL)->memory.reserved_peak_bytes, ==, 4 * MIB);
    add_alloc(&bed, 2 * MIB, 1);
    add_kernel(&bed, 1000, 1, 3);
    expect_ok(&bed, "one of two used again, and both wanted");
    CHECK_U64(run(&bed, "segments:growth=exact", NULL)->memory.reserved_peak_bytes, ==, 6 * MIB);
}

/* Freed on another stream, and wanted where it was allocated: that stream must come behind the free. */
static void test_wanted_at_home(void)
{
    bench bed;
    bench_open(&bed);
    add_alloc(&bed, 2 * MIB, 1);
    add_wait(&bed, 2, 1);
    add_kernel(&bed, LONG_NS, 2, 0);
    add_free(&bed, 0, 2);
    add_alloc(&bed, 2 * MIB, 1);
    add_kernel(&bed, 1000, 1, 1);
    expect_ok(&bed, "freed elsewhere, wanted at home");
}

/* Freed on the stream that used it last: that one may have it at once, and needs no name. */
static void test_freed_by_user(void)
{
    bench bed;
    bench_open(&bed);
    add_alloc(&bed, 2 * MIB, 1);
    add_wait(&bed, 2, 1);
    add_kernel(&bed, LONG_NS, 2, 0);
    add_free(&bed, 0, 2);
    add_alloc(&bed, 2 * MIB, 2);
    add_kernel(&bed, 1000, 2, 1);
    const pass_result *result = run(&bed, "segments:growth=exact", NULL);
    CHECK_INT(result->status, ==, PASS_OK);
    CHECK_U64(result->memory.reserved_peak_bytes, ==, 2 * MIB);
}

/* A correct program by chance: a stream that uses a block waits for its home before, one that frees it for any at
   times. Uses that nothing orders are many; a name left out, or a stream too few that waits, is a finding. */
static void add_random(bench *bed, uint64_t seed)
{
    uint64_t draw = seed;
    uint32_t live[RANDOM_BLOCKS];
    uint64_t homes[RANDOM_BLOCKS], count = 0;
    while (bed->stream.op_count < OPS - 4) {
        uint64_t pick = count ? splitmix64_below(&draw, count) : 0;
        uint64_t stream = splitmix64_below(&draw, RANDOM_STREAMS), choice = splitmix64_below(&draw, 8);
        if (choice == 0) add_wait(bed, stream, splitmix64_below(&draw, RANDOM_STREAMS));
        if (choice > 0 && choice < 3 && count < RANDOM_BLOCKS) {
            live[count] = (uint32_t)bed->stream.block_count;
            homes[count++] = stream;
            add_alloc(bed, (1 + splitmix64_below(&draw, 8)) * MIB, stream);
            add_kernel(bed, 1000 + splitmix64_below(&draw, 100000), stream, live[count - 1]);
        }
        if (choice < 3 || !count) continue;
        if (choice > 3 && stream != homes[pick]) add_wait(bed, stream, homes[pick]);
        if (choice > 4) add_kernel(bed, splitmix64_below(&draw, 100000), stream, live[pick]);
        if (choice > 4) continue;
        add_free(bed, live[pick], stream);
        live[pick] = live[--count];
        homes[pick] = homes[count];
    }
}

static void test_random(void)
{
    static const char *const policies[] = { "raw", "segments", "segments:growth=exact,limit=160M",
                                            "segments:growth=fixed,limit=112M", "segments:streams=same" };
    static bench bed;
    for (uint64_t seed = 1; seed < 9; seed++) {
        bench_open(&bed);
        bed.settings.skip_oom = 1;
        add_random(&bed, seed);
        for (size_t index = 0; index < sizeof policies / sizeof policies[0]; index++) {
            const pass_result *result = run(&bed, policies[index], NULL);
            CHECK_MSG(result->status <= PASS_OOM, "seed %" PRIu64 " on %s: %s", seed, policies[index],
                      result->message);
        }
    }
}

int main(void)
{
    test_naming();
    test_latest_use();
    test_wanted_at_home();
    test_freed_by_user();
    test_random();
    CHECK_MSG(why.exit_code == 0, "no problem is left: %s", why.text);
    return tap_done();
}
