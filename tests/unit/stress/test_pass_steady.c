/* Which label begins the first repetition.
   It must not run a pass: run.t has the counts. */
#include "stress/run/pass.h"
#include "tap.h"

/* The number of the label that begins the first repetition, from 0, and how many there are: "3 2"; "-": none. */
static const char *repetitions(const char *const *labels, char *text, size_t size)
{
    pass_steady steady;
    size_t begun = 0;
    memset(&steady, 0, sizeof steady);
    for (size_t at = 0; labels[at]; at++) {
        if (pass_steady_label(&steady, labels[at])) begun = at;
    }
    if (steady.steps) snprintf(text, size, "%zu %llu", begun, (unsigned long long)steady.steps);
    else snprintf(text, size, "-");
    return text;
}

#define CHECK_LABELS(expected, ...) \
    do { \
        const char *const labels[] = { __VA_ARGS__, NULL }; \
        char text[64]; \
        CHECK_STR(repetitions(labels, text, sizeof text), expected); \
    } while (0)

static void test_labels(void)
{
    CHECK_LABELS("-", "recording");
    CHECK_LABELS("-", "load", "train", "evaluate");
    CHECK_LABELS("2 1", "setup", "step0", "step1");
    CHECK_LABELS("1 2", "0", "1", "2");
    CHECK_LABELS("1 1", "step", "step");
    CHECK_LABELS("3 2", "load0", "train0", "save0", "load1", "train1", "save1", "load2");
    CHECK_LABELS("-", "step0", "steps0", "ste0");
}

static void test_many_kinds(void)
{
    pass_steady steady;
    char labels[PASS_STEADY_KINDS + 8][8];
    memset(&steady, 0, sizeof steady);
    for (int at = 0; at < PASS_STEADY_KINDS + 8; at++) {
        snprintf(labels[at], sizeof labels[at], "k%c%c", 'a' + at % 26, 'a' + at / 26);
        pass_steady_label(&steady, labels[at]);
    }
    CHECK_U64(steady.steps, ==, 0);
    pass_steady_label(&steady, labels[PASS_STEADY_KINDS + 7]);
    CHECK_MSG(!steady.steps, "beyond so many kinds none is seen again");
    pass_steady_label(&steady, labels[0]);
    CHECK_U64(steady.steps, ==, 1);
}

static void test_rounds(void)
{
    pass_steady rounds, steps;
    memset(&rounds, 0, sizeof rounds);
    pass_steady_label(&rounds, "setup");
    pass_steady_round(&rounds);
    pass_steady_label(&rounds, "setup");
    pass_steady_round(&rounds);
    CHECK_MSG(rounds.steps == 2, "rounds are the repetitions, labels then are not");
    memset(&steps, 0, sizeof steps);
    pass_steady_label(&steps, "step0");
    pass_steady_label(&steps, "step1");
    pass_steady_round(&steps);
    CHECK_MSG(steps.steps == 1, "where steps come again rounds are not counted");
}

int main(void)
{
    test_labels();
    test_many_kinds();
    test_rounds();
    return tap_done();
}
