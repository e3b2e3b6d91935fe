/* Tests of `pareto`: its sizes double by double, the 80/20 rule of its places, and that what it frees is live.
   Knows nothing of how they are drawn. */
#include <math.h>

#include "workload_order.h"

static const golden_text golden[] = {
    { "pareto", UINT64_C(6169624499691702555) },
    { "pareto:n=500,places=64,size=1-2,seed=18446744073709551615", UINT64_C(13325049829804748382) },
    { "pareto:n=3000,places=15625,size=1-16777216,seed=3", UINT64_C(6491426013811268709) },
    { "pareto:n=1", UINT64_C(6709367404851612082) }
};

/* Each doubling is half as frequent as the one below it, and even within; all have the same share of the bytes. */
static void test_sizes(void)
{
    enum { DOUBLINGS = 12 };
    op_stream stream;
    uint64_t count[DOUBLINGS] = { 0 }, low_half[DOUBLINGS] = { 0 }, wrong = 0;
    make_surely("pareto:n=400000,places=100000,size=64-262144", &stream);
    for (size_t i = 0; i < stream.op_count; i++) {
        uint64_t bytes = stream.ops[i].value, doubling = 0;
        if (stream.ops[i].kind != OP_ALLOC) continue;
        wrong += bytes < 64 << 10 || bytes >= UINT64_C(262144) << 10;
        while (doubling + 1 < DOUBLINGS && bytes >= UINT64_C(65536) << (doubling + 1)) doubling++;
        count[doubling]++;
        low_half[doubling] += bytes < (UINT64_C(65536) << doubling) * 3 / 2;
    }
    CHECK_U64(wrong, ==, 0);
    uint64_t expected = stream.alloc_count / 2 + stream.alloc_count / 8192;
    for (size_t doubling = 0; doubling < 7; doubling++, expected /= 2) {
        uint64_t least = expected * 9 / 10, most = expected * 11 / 10;
        CHECK_MSG(count[doubling] > least && count[doubling] < most, "%" PRIu64 " of doubling %zu, near %" PRIu64,
                  count[doubling], doubling, expected);
        CHECK(low_half[doubling] * 20 > count[doubling] * 9 && low_half[doubling] * 20 < count[doubling] * 11);
    }
    CHECK(count[DOUBLINGS - 1] > 10 && count[DOUBLINGS - 1] < 100);  /* of 200,000, 1 in 4,095 */
    op_stream_free(&stream);
}

/* A place's blocks: with 15,625 places one is of the hottest kind, which has 26.2 % of the picks. It is found by its
   blocks' life: between the alloc and the free of its block 3.8 operations pass on average. */
static void test_lives(void)
{
    op_stream stream;
    uint64_t brief = 0, longest = 0, *born;
    make_surely("pareto:n=200000,places=15625,size=1-2", &stream);
    born = calloc(stream.block_count + 1, sizeof *born);
    if (!born) give_up("no memory");
    uint64_t steps = 0;
    for (size_t i = 0; i < stream.op_count && steps < 200000; i++, steps++) {
        const op *at = &stream.ops[i];
        if (at->kind == OP_ALLOC) {
            born[at->first] = i;
            continue;
        }
        uint64_t life = i - born[at->first];
        brief += life <= 4;
        longest = life > longest ? life : longest;
    }
    /* Of 26,214 lives of the hottest place 1 - 0.738^4 = 70.3 % end within 4 operations; of 39,322 of the next kind,
       with 24 places that have 1.64 % of the picks each, 6.4 %: 20,950; of all others next to none. */
    CHECK_MSG(brief > 20950 - 600 && brief < 20950 + 600, "%" PRIu64 " brief lives", brief);
    CHECK_MSG(longest > 150000, "and one of %" PRIu64, longest);
    free(born);
    op_stream_free(&stream);
}

/* A place that has the share p of the picks holds a block after n of them with probability (1 - (1 - 2 p)^n) / 2. */
static double expected_live(double places, int picks)
{
    static const double kinds[] = { 1, 6, 15, 20, 15, 6, 1 };
    double live = 0;
    for (int level = 0; level < 7; level++) {
        double share = kinds[level] * pow(4, 6 - level) / 15625;
        double of_kind = places * kinds[level] * pow(4, level) / 15625;
        live += of_kind * (1 - pow(1 - 2 * share / of_kind, picks)) / 2;
    }
    return live;
}

static void test_live(void)
{
    op_stream stream;
    uint64_t live = 0, bytes = 0, peak = 0, *sizes;
    make_surely("pareto:n=20000,places=15625", &stream);
    sizes = calloc(stream.block_count + 1, sizeof *sizes);
    if (!sizes) give_up("no memory");
    for (size_t i = 0; i < stream.op_count; i++) {
        const op *at = &stream.ops[i];
        if (at->kind == OP_ALLOC) sizes[at->first] = at->value;
        bytes = at->kind == OP_ALLOC ? bytes + at->value : bytes - sizes[at->first];
        peak = bytes > peak ? bytes : peak;
        if (i < 20000) live += at->kind == OP_ALLOC ? 1 : UINT64_MAX;
    }
    double expected = expected_live(15625, 20000);
    CHECK_MSG((double)live > expected * 0.95 && (double)live < expected * 1.05, "%" PRIu64 " blocks, near %.0f", live,
              expected);
    CHECK_U64(bytes, ==, 0);
    CHECK_U64(stream.requested_peak_bytes, ==, peak);
    order_count count = order_check(&stream);
    check_ordered("pareto", &count);
    free(sizes);
    op_stream_free(&stream);
}

int main(void)
{
    check_golden_texts(golden, sizeof golden / sizeof golden[0]);
    test_sizes();
    test_lives();
    test_live();
    return tap_done();
}
