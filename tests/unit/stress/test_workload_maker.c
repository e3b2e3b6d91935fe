/* Tests of the words that families write with: draws against their distributions, sums that pass 2^64, cut streams.
   Knows nothing of any one family. */
#include "stress/workload/maker.h"
#include "workload_text.h"

typedef struct bench { op_stream stream; stream_builder builder; problem why; maker words; } bench;

static void begin(bench *self, uint64_t seed, uint64_t ops)
{
    memset(self, 0, sizeof *self);
    stream_begin(&self->builder, &self->stream, "workload bench", ops, &self->why);
    maker_begin(&self->words, &self->builder, seed);
}

static void end(bench *self)
{
    stream_end(&self->builder);
    op_stream_free(&self->stream);
}

/* Of exponential gaps 1/e are longer than the mean, 1/e^2 than twice it, half than ln 2 of it. */
static void test_gaps(uint64_t seed, uint64_t mean_ns)
{
    enum { DRAWS = 100000 };
    bench test;
    uint64_t total = 0, above = 0, above_twice = 0, above_median = 0, most = 0;
    begin(&test, seed, UINT64_MAX);
    for (int draw = 0; draw < DRAWS; draw++) {
        uint64_t gap = maker_draw_gap(&test.words, mean_ns);
        total += gap / 1000;
        above += gap > mean_ns;
        above_twice += gap > 2 * mean_ns;
        above_median += gap > mean_ns / 1000000 * 693147;
        most = gap > most ? gap : most;
    }
    CHECK_MSG(total / DRAWS > mean_ns / 1000 * 985 / 1000 && total / DRAWS < mean_ns / 1000 * 1015 / 1000,
              "mean %" PRIu64 " of %" PRIu64 " us", total / DRAWS, mean_ns / 1000);
    CHECK_MSG(above > 36788 - 610 && above < 36788 + 610, "%" PRIu64 " above the mean", above);          /* 4 sigma */
    CHECK_MSG(above_twice > 13534 - 433 && above_twice < 13534 + 433, "%" PRIu64 " above twice", above_twice);
    CHECK_MSG(above_median > 50000 - 633 && above_median < 50000 + 633, "%" PRIu64 " above the median", above_median);
    CHECK(most <= mean_ns / 10 * 222);
    end(&test);
}

/* The very figures, so that they are the same on every machine. */
static void test_gap_figures(void)
{
    static const uint64_t expected[] = { 568169474, 293322265, 29425978, 811122000 };
    bench test;
    begin(&test, 1, UINT64_MAX);
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        CHECK_U64(maker_draw_gap(&test.words, 1000000000), ==, expected[i]);
    }
    end(&test);
}

static void test_draws(void)
{
    bench test;
    uint64_t seen[3] = { 0, 0, 0 };
    begin(&test, 7, UINT64_MAX);
    for (int draw = 0; draw < 3000; draw++) seen[maker_draw(&test.words, 5, 7) - 5]++;
    CHECK(seen[0] > 900 && seen[1] > 900 && seen[2] > 900 && seen[0] + seen[1] + seen[2] == 3000);
    CHECK_U64(maker_draw(&test.words, 9, 9), ==, 9);
    (void)maker_draw(&test.words, 0, UINT64_MAX);            /* all there are */
    end(&test);
}

static void test_sums(void)
{
    bench test;
    begin(&test, 1, UINT64_MAX);
    CHECK_U64(maker_times(&test.words, UINT64_C(1) << 32, UINT32_MAX), ==, UINT64_MAX - UINT32_MAX);
    CHECK_U64(maker_plus(&test.words, UINT64_MAX - 1, 1), ==, UINT64_MAX);
    CHECK_INT(maker_end(&test.words), ==, 0);
    CHECK_U64(maker_times(&test.words, UINT64_C(1) << 32, UINT64_C(1) << 32), ==, 0);
    CHECK_INT(maker_end(&test.words), ==, -1);
    CHECK_STR(test.why.text, "workload bench: a size or duration passes 2^64 - 1, expected smaller shapes");
    CHECK_U64(maker_plus(&test.words, UINT64_MAX, 1), ==, 0);
    maker_new(&test.words, 8, 0);
    maker_step(&test.words, "step", 1);
    CHECK_MSG(test.stream.op_count == 0, "nothing is written once it has failed");
    end(&test);
}

static void test_words(void)
{
    bench test;
    begin(&test, 1, UINT64_MAX);
    maker_step(&test.words, "step", 3);
    uint32_t first = maker_new(&test.words, 100, 2), second = maker_new(&test.words, 50, 0);
    CHECK_U64(maker_bytes(&test.words, first), ==, 100);
    maker_kernel(&test.words, 2, 0);
    maker_touch_run(&test.words, first, 2);
    maker_wait(&test.words, 0, 2);
    maker_wait(&test.words, 2, 2);
    maker_free(&test.words, first, 0);
    maker_free_run(&test.words, second, 1, 0);
    buffer text = stream_text(&test.stream);
    CHECK_STR(text.bytes, "gpuarena-trace 1\ns step3\na 0 100 2\na 1 50 0\nk 2 1 0 1\nw 0 2\nf 0 0\nf 1 0\n");
    free(text.bytes);
    end(&test);
    begin(&test, 1, 1);
    first = maker_new(&test.words, 100, 0);
    CHECK_MSG(maker_is_over(&test.words) && maker_end(&test.words) == 0, "a cut stream is over, and has not failed");
    CHECK_U64(maker_bytes(&test.words, first), ==, 0);
    end(&test);
}

int main(void)
{
    test_gaps(1, 1000000000);
    test_gaps(2, 10000000000);
    test_gaps(3, 1000000);
    test_gap_figures();
    test_draws();
    test_sums();
    test_words();
    return tap_done();
}
