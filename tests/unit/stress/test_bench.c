/* The base of measuring: ranks of intervals, orders, sizes, targets; subjects over the null device; crowds; holes. It
   must not test that anything is fast. */
#include <math.h>
#include <stdlib.h>

#include "stress/measure/stage.h"
#include "stress/base/sets.h"
#include "tap.h"

static problem why;

/* The chance that at most `most` of so many fair coins show heads. */
static double chance_at_most(size_t coins, size_t most)
{
    double term = 1, sum = 0;
    for (size_t index = 0; index < coins; index++) term /= 2;
    for (size_t heads = 0; heads <= most; heads++) {
        sum += term;
        term = term * (double)(coins - heads) / (double)(heads + 1);
    }
    return sum;
}

static void test_ranks(void)
{
    size_t wrong = 0;
    for (size_t count = 6; count <= 101; count++) {
        size_t rank = rounds_low_rank(count);
        wrong += chance_at_most(count, rank) > 0.025 || chance_at_most(count, rank + 1) <= 0.025;
    }
    CHECK_MSG(wrong == 0, "for 6 to 101 values the ranks are the closest that hold the median in 95 of 100");
    wrong = 0;
    for (size_t count = 1000; count <= 30000; count += 500) {        /* 1.96 standard deviations from the middle */
        double expected = (double)count / 2 - 0.98 * sqrt((double)count), found = (double)rounds_low_rank(count);
        wrong += found > expected || found < expected - 2.5;
    }
    CHECK_MSG(wrong == 0, "%d counts of thousands have other ranks", (int)wrong);
    CHECK_INT(rounds_low_rank(5), ==, 0);
    CHECK_INT(rounds_low_rank(31), ==, 9);
}

static void test_median(void)
{
    double values[31], even[4] = { 4, 1, 3, 2 };
    for (size_t index = 0; index < 31; index++) values[index] = (double)((index * 17 + 5) % 31);
    rounds_interval found = rounds_median(values, 31);
    CHECK(found.low > 8.5 && found.low < 9.5);
    CHECK(found.median > 14.5 && found.median < 15.5);
    CHECK(found.high > 20.5 && found.high < 21.5);
    found = rounds_median(even, 4);
    CHECK(found.median > 2.49 && found.median < 2.51 && found.low < 1.5 && found.high > 3.5);
}

/* The value of the rounds so far, and how often it was asked for. */
typedef struct asked { double share; size_t times; } asked;

static double asked_share(void *user)
{
    asked *self = user;
    self->times++;
    return self->share;
}

/* The number of rounds until the end, none of which took any time. */
static size_t rounds_until(const rounds_length *length, asked *user, rounds_end expected)
{
    size_t done = 0;
    rounds_end end = ROUNDS_GO_ON;
    while (end == ROUNDS_GO_ON && done < 1000) end = rounds_over(length, ++done, 0, asked_share, user);
    CHECK_INT(end, ==, expected);
    return done;
}

static void test_length(void)
{
    asked precise = { 0.02, 0 }, noisy = { 0.021, 0 }, exact = { 0.0, 0 };
    const rounds_length length = rounds_of(2, 10, 100, 20000, 5), never = rounds_of(0, 10, 100, 0, 5);
    CHECK_INT(length.warm, ==, 2);
    CHECK_U64(length.budget_ns, ==, UINT64_C(5000000000));
    CHECK_U64(rounds_until(&length, &precise, ROUNDS_PRECISE), ==, 10);
    CHECK_MSG(precise.times == 1, "before the least nobody looks");
    CHECK_U64(rounds_until(&length, &noisy, ROUNDS_MOST), ==, 100);
    CHECK_MSG(noisy.times == 7, "10, 15, 23, 35, 53, 80, 100: %d looks", (int)noisy.times);
    CHECK_U64(rounds_until(&never, &exact, ROUNDS_MOST), ==, 100);
    CHECK_U64(exact.times, ==, 0);
    CHECK_INT(rounds_over(&length, 1, length.budget_ns - 1, asked_share, &precise), ==, ROUNDS_GO_ON);
    CHECK_INT(rounds_over(&length, 1, length.budget_ns, asked_share, &precise), ==, ROUNDS_TIME);
    CHECK_INT(rounds_over(&length, 10, length.budget_ns, asked_share, &precise), ==, ROUNDS_PRECISE);
    CHECK_INT(rounds_over(&length, 100, length.budget_ns, asked_share, &noisy), ==, ROUNDS_MOST);
    CHECK(!rounds_end_name(ROUNDS_GO_ON));
    const rounds_interval found = { 9.0, 10.0, 12.0 }, point = { 3.0, 3.0, 3.0 }, nothing = { 0.0, 0.0, 0.0 };
    CHECK(rounds_share(found) > 0.1499 && rounds_share(found) < 0.1501);
    CHECK(rounds_share(point) <= 0.0 && rounds_share(nothing) <= 0.0);
}

/* Rounds that are dropped leave no trace: as many count as are told, and each has been measured. */
static void test_stage(void)
{
    static stage measured;
    const rounds_length precise = rounds_of(0, 0, 0, 1000000, 60), late = { 0, 0, 0, 0.0, 1 };
    const cases_row row = { "a case", CASES_WARM, 16, 0, 1, 1, CASES_MUTEX, NULL, 0, NULL, NULL };
    CHECK(!stage_open(&measured, &row, 1, &why));
    CHECK(!stage_measure(&measured, 0, &precise, &why));
    CHECK_INT(measured.rounds.ended, ==, ROUNDS_PRECISE);
    CHECK_U64(measured.rounds.count, ==, 25);
    size_t empty = 0;
    for (size_t round = 0; round < 26; round++) empty += measured.lanes[0].ns[round] <= 0.0;
    CHECK_MSG(empty == 1, "the 26th alone is empty");
    CHECK(!stage_measure(&measured, 0, &late, &why));
    CHECK_INT(measured.rounds.ended, ==, ROUNDS_TIME);
    CHECK_U64(measured.rounds.count, ==, 1);
    CHECK(!stage_measure(&measured, 1, &precise, &why));
    CHECK(measured.rounds.count == 3 && measured.rounds.ended == ROUNDS_MOST);
    CHECK(!stage_verify(&measured, &why));
    stage_close(&measured);
}

static void test_orders(void)
{
    size_t first[8], again[8], places[8][8] = { { 0 } }, seen = 0, least = 1000;
    uint64_t random = 3, same = 3;
    rounds_shuffle(first, 8, &random);
    rounds_shuffle(again, 8, &same);
    for (size_t index = 0; index < 8; index++) seen |= (size_t)1 << first[index];
    CHECK_INT(seen, ==, 255);
    CHECK(!memcmp(first, again, sizeof first));
    for (size_t round = 0; round < 1000; round++) {
        rounds_shuffle(first, 8, &random);
        for (size_t index = 0; index < 8; index++) places[index][first[index]]++;
    }
    for (size_t index = 0; index < 64; index++) {
        if (places[index / 8][index % 8] < least) least = places[index / 8][index % 8];
    }
    CHECK_MSG(least > 80, "everyone comes at every place about as often");
}

static void test_sizes(void)
{
    static uint64_t sizes[12000], again[12000];
    size_t octaves[64] = { 0 }, least = SIZE_MAX, outside = 0;
    sizes_draw(sizes, 12000, 7);
    sizes_draw(again, 12000, 7);
    CHECK(!memcmp(sizes, again, sizeof sizes));
    for (size_t index = 0; index < 12000; index++) {
        size_t octave = 0;
        while (sizes[index] >> (octave + 1)) octave++;
        octaves[octave]++;
        outside += sizes[index] < 256 || sizes[index] > 1 << 20;
    }
    for (size_t octave = 8; octave < 20; octave++) if (octaves[octave] < least) least = octaves[octave];
    CHECK_INT(outside, ==, 0);
    CHECK_MSG(least > 850, "each power of two has a twelfth");
}

static void test_targets(void)
{
    static const struct { const char *target; double low, high; const char *met; } rows[] = {
        { "<= 0.25", 0.20, 0.25, "yes" }, { "<= 0.25", 0.20, 0.26, "unclear" }, { "<= 0.25", 0.26, 0.27, "no" },
        { "<= 0.25", 0.20, 0.25004, "yes" },                 /* shown as 0.2500 */
        { "<= 0.25", 0.20, 0.25006, "unclear" },             /* 0.2501 */
        { "<= 0.1667", 0.10, 0.16668, "yes" },
        { ">= 1.6", 1.60, 1.90, "yes" }, { ">= 1.6", 1.59, 1.90, "unclear" }, { ">= 1.6", 1.00, 1.59, "no" },
    };
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++)
        CHECK_STR(cases_met(rows[row].target, rows[row].low, rows[row].high), rows[row].met);
}

/* Two sets of pairs with one seed do equal work, whichever subject serves them. */
static void test_subject(subject_kind kind)
{
    static pairs work, twin;
    subject on;
    problem absent = { 0, "" };
    if (subject_open(&on, kind, &absent)) {
        SKIP("%s: %s", subject_name(kind), absent.text);
        subject_close(&on);
        return;
    }
    CHECK_MSG(!pairs_open(&work, &on, 100, 0, NULL, 5, 0, &why), "%s: 100 blocks", subject_name(kind));
    CHECK_MSG(!pairs_open(&twin, &on, 100, 0, NULL, 5, 0, &why), "%s: and the same again", subject_name(kind));
    pairs_run(&work, 2000);
    pairs_counted(&twin, 2000);
    CHECK(!work.failed && !twin.failed && work.at == twin.at && work.random == twin.random);
    CHECK_MSG(!subject_verify(&on, 200, &why), "%s: verified: %s", subject_name(kind), why.text);
    if (on.arena) {
        problem found = { 0, "" };
        CHECK(subject_verify(&on, 199, &found) && found.exit_code == EXIT_VERIFY);
        CHECK_INT(gpuarena_free(on.arena, work.blocks[0], NULL), ==, GPUARENA_OK);
        pairs_run(&work, 2000);
        CHECK_MSG(work.failed, "%s: a block that is gone is noticed", subject_name(kind));
    }
    pairs_close(&work);
    pairs_close(&twin);
    subject_close(&on);
}

enum { TOGETHER = 4 };
typedef struct together { size_t *warm; size_t seen, calls; } together;

static void together_warm(void *user)
{
    const together *self = user;
    __atomic_add_fetch(self->warm, 1, __ATOMIC_SEQ_CST);
}

static void together_work(void *user)
{
    together *self = user;
    self->seen = __atomic_load_n(self->warm, __ATOMIC_SEQ_CST);
    self->calls++;
}

static void test_together(void)
{
    together members[TOGETHER];
    size_t warm = 0;
    uint64_t ns = 0;
    for (size_t index = 0; index < TOGETHER; index++) {
        const together made = { &warm, 0, 0 };
        members[index] = made;
    }
    CHECK(!crowd_run(together_warm, together_work, members, TOGETHER, sizeof *members, &ns, &why) && ns > 0);
    for (size_t index = 0; index < TOGETHER; index++) {
        CHECK_MSG(members[index].seen == TOGETHER && members[index].calls == 1,
                  "thread %zu begins once, when all are warm", index);
    }
}

static void test_crowd(subject_kind kind)
{
    static pairs crowd[CASES_MOST_THREADS];
    static char streams[CASES_MOST_THREADS];
    gpuarena_stats now;
    subject on;
    double ns = 0;
    CHECK(!subject_open(&on, kind, &why));
    for (size_t index = 0; index < CASES_MOST_THREADS; index++) {
        CHECK(!pairs_open(&crowd[index], &on, 50, 0, (gpuarena_stream)(void *)&streams[index / 2], index, 0,
                          &why));
    }
    CHECK(!pairs_crowd_ns(crowd, CASES_MOST_THREADS, 1000, &ns, &why) && ns > 0);
    gpuarena_get_stats(on.arena, &now);
    CHECK_U64(now.alloc_count, ==, (50 + PAIRS_WARM + 1100) * CASES_MOST_THREADS);
    CHECK_MSG(!subject_verify(&on, 50 * CASES_MOST_THREADS, &why), "%s: exact after threads: %s", subject_name(kind),
              why.text);
    for (size_t index = 0; index < CASES_MOST_THREADS; index++) pairs_close(&crowd[index]);
    subject_close(&on);
}

typedef struct tiling { uint64_t frees, touching, was_free; const char *end; } tiling;

static gpuarena_result tile(const gpuarena_block *block, void *user)
{
    tiling *seen = user;
    int is_free = block->state == GPUARENA_STATE_FREE || block->state == GPUARENA_STATE_PENDING;
    seen->frees += is_free ? 1 : 0;
    seen->touching += is_free && seen->was_free && seen->end == (const char *)block->ptr ? 1 : 0;
    seen->was_free = is_free ? 1 : 0;
    seen->end = (const char *)block->ptr + block->bytes;
    return GPUARENA_OK;
}

static void test_holes(const char *text)
{
    static holes_field field;
    device_config config;
    policy chosen;
    memset(&config, 0, sizeof config);
    config.sim.capacity_bytes = (uint64_t)4 << 30;
    CHECK(!policy_parse(text, 0, &chosen, &why));
    CHECK_MSG(!holes_open(&field, &config, &chosen, 1000, 1, &why), "%s: 1,000 holes: %s", text, why.text);
    tiling before = { 0, 0, 0, NULL }, after = { 0, 0, 0, NULL };
    gpuarena_walk(field.pool.arena, tile, &before);
    CHECK_MSG(before.frees >= 1000 && before.frees < 1200, "%s: and little else that is free", text);
    CHECK_U64(before.touching, ==, 0);
    uint64_t calls = sim_thread_called;
    holes_pairs(&field, 5000);
    gpuarena_walk(field.pool.arena, tile, &after);
    CHECK(!field.failed && after.frees == before.frees && sim_thread_called == calls);
    CHECK(!holes_close(&field, &why));
    config.sim.capacity_bytes = (uint64_t)64 << 20;
    CHECK_MSG(holes_open(&field, &config, &chosen, 1000, 1, &why) == 1 && field.refusal.text[0], "%s: too many",
              text);
    CHECK(!holes_close(&field, &why));
}

int main(void)
{
    CHECK(!rounds_second_thread(&why));
    test_ranks();
    test_median();
    test_length();
    test_stage();
    test_orders();
    test_sizes();
    test_targets();
    test_together();
    for (int kind = SUBJECT_SEGMENTS; kind <= SUBJECT_MUTEX; kind++) test_subject((subject_kind)kind);
    for (int kind = SUBJECT_SEGMENTS; kind < SUBJECT_CUB; kind++) test_crowd((subject_kind)kind);
    test_holes("segments");
    test_holes("paged");
    return tap_done();
}
