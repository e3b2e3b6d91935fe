/* The tools that draw and write op streams: draws and their distributions, sums that pass 2^64, labels, and lengths
   of requests as they were measured; and a problem. Words, numbers and ids:
   tests/cli/cases/recordings_and_specs.case. It must not know any one family, but for the lengths of `serve`. */
#include "stress/base/sets.h"
#include "stress/workload/maker.h"
#include "stress/workload/serve.c"
#include "workload_text.h"

static void test_a_problem_is_one_line_and_the_first(void)
{
    problem why = { 0, "" };
    char wide[2000];
    memset(wide, 'x', sizeof wide);
    wide[sizeof wide - 1] = '\0';
    CHECK_INT(problem_set(&why, EXIT_GATE, "a\nb\tc\033"), ==, -1);
    CHECK_INT(problem_set(&why, EXIT_HARNESS, "second"), ==, -1);
    CHECK_STR(why.text, "a?b?c?");
    CHECK_INT(why.exit_code, ==, EXIT_GATE);
    why.exit_code = 0;
    problem_set(&why, EXIT_USAGE, "%s", wide);
    CHECK_INT(strlen(why.text), ==, sizeof why.text - 1);
}

/* The numbers from seed 1234567, as published with the generator and used in its ports. */
static void test_random(void)
{
    static const uint64_t expected[] = {
        6457827717110365317u, 3203168211198807973u, 9817491932198370423u, 4593380528125082431u, 16408922859458223821u
    };
    uint64_t state = 1234567, counts[3] = { 0, 0, 0 }, low_count = 0, bound = UINT64_C(3) << 62;
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        CHECK_U64(splitmix64_next(&state), ==, expected[i]);
    }
    for (int i = 0; i < 30000; i++) counts[splitmix64_below(&state, 3)]++;
    CHECK_MSG(counts[0] > 9600 && counts[1] > 9600 && counts[2] > 9600, "below 3: all as often, within 4 sigma");
    for (int i = 0; i < 3000; i++) low_count += splitmix64_below(&state, bound) < bound / 3 ? 1 : 0;
    CHECK_MSG(low_count > 890 && low_count < 1110, "below 3 x 2^62: a third is in the lowest third, within 4 sigma");
}

typedef struct bench { op_stream stream; stream_builder builder; problem why; maker words; } bench;

static void begin(bench *self, uint64_t seed)
{
    memset(self, 0, sizeof *self);
    stream_begin(&self->builder, &self->stream, "workload bench", UINT64_MAX, &self->why);
    self->words.builder = &self->builder;
    self->words.random = seed;
}

static void end(bench *self)
{
    (void)stream_end(&self->builder, 1);
    op_stream_free(&self->stream);
}

/* 1/e of exponential gaps are longer than the mean, 1/e^2 longer than twice it, half longer than ln 2 of it: within 4
   sigma. */
static void test_gaps(uint64_t seed, uint64_t mean_ns)
{
    enum { DRAWS = 100000 };
    bench test;
    uint64_t total = 0, above = 0, above_twice = 0, above_median = 0;
    begin(&test, seed);
    for (int draw = 0; draw < DRAWS; draw++) {
        uint64_t gap = maker_draw_gap(&test.words, mean_ns);
        total += gap / 1000;
        above += gap > mean_ns;
        above_twice += gap > 2 * mean_ns;
        above_median += gap > mean_ns / 1000000 * 693147;
    }
    CHECK_MSG(total / DRAWS > mean_ns / 1000 * 985 / 1000 && total / DRAWS < mean_ns / 1000 * 1015 / 1000,
              "mean %" PRIu64 " of %" PRIu64 " us", total / DRAWS, mean_ns / 1000);
    CHECK_MSG(above > 36788 - 610 && above < 36788 + 610 && above_twice > 13534 - 433 && above_twice < 13534 + 433 &&
              above_median > 50000 - 633 && above_median < 50000 + 633, "and as spread as they must be");
    end(&test);
}

static void test_sums(void)
{
    bench test;
    begin(&test, 1);
    CHECK_U64(MAKER_TIMES(&test.words, UINT64_C(1) << 32, UINT32_MAX), ==, UINT64_MAX - UINT32_MAX);
    CHECK_U64(maker_plus(&test.words, UINT64_MAX - 1, 1), ==, UINT64_MAX);
    CHECK_U64(maker_draw(&test.words, 9, 9), ==, 9);
    (void)maker_draw(&test.words, 0, UINT64_MAX);            /* all there are */
    CHECK_INT(maker_end(&test.words), ==, 0);
    CHECK_U64(MAKER_TIMES(&test.words, UINT64_C(1) << 32, UINT64_C(1) << 32), ==, 0);
    CHECK_INT(maker_end(&test.words), ==, -1);
    CHECK_U64(maker_plus(&test.words, UINT64_MAX, 1), ==, 0);
    maker_new(&test.words, 8);
    maker_step(&test.words, "step", 1);
    CHECK_MSG(test.stream.op_count == 0, "nothing is written once it has failed");
    end(&test);
}

/* Two texts of one hash must stay two labels. No such pair is at hand, so the map is made to lie. */
static void test_labels(void)
{
    bench test;
    begin(&test, 1);
    for (int time = 0; time < 2; time++) stream_step(&test.builder, slice_of("one"));
    CHECK_INT(test.stream.label_count, ==, 1);
    device_table_add(&test.builder.label_by_hash, slice_hash(slice_of("other")), 1);
    stream_step(&test.builder, slice_of("other"));
    CHECK_INT(test.builder.failed, ==, 0);
    CHECK_INT(test.stream.label_count, ==, 2);
    CHECK_STR(test.stream.labels[test.stream.ops[2].first], "other");
    end(&test);
}

/* The lengths measured on the traces that are named in serve.c: tokens at 50, 90 and 99 % (arxiv: 50, 75 and 90). */
static const struct { uint64_t tokens[2][3], per_mille[3], means[2]; } lengths[SERVE_LENGTHS] = {
    { { { 1020, 2735, 4142 },   { 129, 424, 601 } },  { 500, 900, 990 }, { 1357, 195 } },
    { { { 1469, 5194, 7436 },   { 13, 55, 252 } },    { 500, 900, 990 }, { 2343, 33 } },
    { { { 6909, 27367, 85401 }, { 350, 597, 1120 } }, { 500, 900, 990 }, { 14511, 366 } },
    { { { 7958, 13190, 18490 }, { 332, 482, 653 } },  { 500, 750, 900 }, { 9524, 335 } }
};

static void check_lengths(uint64_t of, int which)
{
    enum { DRAWS = 100000 };
    uint64_t below[3] = { 0, 0, 0 }, most = 0, sum = 0, mean = lengths[of].means[which];
    maker words = { .random = 7 };
    for (int draw = 0; draw < DRAWS; draw++) {
        uint64_t tokens = serve_draw_tokens(&words, of, which);
        for (int at = 0; at < 3; at++) below[at] += tokens < lengths[of].tokens[which][at];
        most = tokens > most ? tokens : most;
        sum += tokens;
    }
    for (int at = 0; at < 3; at++) {             /* 4 sigma of 100,000 are 633; and tokens are whole */
        uint64_t expected = lengths[of].per_mille[at] * DRAWS / 1000;
        CHECK_MSG(below[at] + 700 > expected && below[at] < expected + 700, "%s: %" PRIu64 " below %" PRIu64,
                  serve_length_names[of], below[at], lengths[of].tokens[which][at]);
    }
    CHECK_MSG(sum + mean * DRAWS / 40 >= mean * DRAWS && sum <= mean * DRAWS * 41 / 40, "%s: mean %" PRIu64 ", told %"
              PRIu64, serve_length_names[of], sum / DRAWS, mean);
    CHECK_U64(most, <=, serve_most_tokens(of, which));
    CHECK_U64(most * 100, >=, serve_most_tokens(of, which) * 99);
}

int main(void)
{
    test_a_problem_is_one_line_and_the_first();
    test_random();
    test_gaps(1, 1000000000);
    test_gaps(2, 10000000000);
    test_sums();
    test_labels();
    for (uint64_t of = 0; of < SERVE_LENGTHS; of++) {
        check_lengths(of, SERVE_PROMPT);
        check_lengths(of, SERVE_ANSWER);
    }
    return tap_done();
}
