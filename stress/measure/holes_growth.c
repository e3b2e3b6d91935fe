/* Least squares for three curves, and which of them is left when the measurement's uncertainty is counted.
   It must not know what costs are of.
   Tested by tests/test_bench.c and tests/holes.t. */
#include "holes_growth.h"

#include <math.h>

#include "../base/rounds.h"

enum { HOLES_MOST_POINTS = 16 };

static const char *const holes_class_names[HOLES_CLASSES] = { "O(1)", "O(log n)", "O(n)" };

static double holes_curve(int class, uint64_t number)
{
    return class == 0 ? 1.0 : class == 1 ? log2((double)number) : (double)number;
}

static double holes_rms(int class, const uint64_t *numbers, const double *costs, size_t count)
{
    double above = 0.0, below = 0.0, sum = 0.0, left = 0.0;
    for (size_t at = 0; at < count; at++) {
        double curve = holes_curve(class, numbers[at]);
        above += costs[at] * curve;
        below += curve * curve;
        sum += costs[at];
    }
    for (size_t at = 0; at < count; at++) {
        double off = costs[at] - above / below * holes_curve(class, numbers[at]);
        left += off * off;
    }
    return sum > 0.0 ? sqrt(left / (double)count) / (sum / (double)count) : 0.0;
}

static int holes_best(const uint64_t *numbers, const double *costs, size_t count, double *rms)
{
    int best = 0;
    for (int class = 0; class < HOLES_CLASSES; class++) {
        double found = holes_rms(class, numbers, costs, count);
        if (class && found >= *rms) continue;
        best = class;
        *rms = found;
    }
    return best;
}

holes_growth holes_growth_of(const uint64_t *numbers, const double *costs, size_t count)
{
    holes_growth made = { NULL, 0.0 };
    if (count < HOLES_LEAST_POINTS) return made;
    made.name = holes_class_names[holes_best(numbers, costs, count, &made.rms)];
    return made;
}

/* Whether the rounds leave no doubt that this class fits better than the other. */
static int holes_is_better(int class, int other, const uint64_t *numbers, const double *const *costs, size_t count,
                           size_t round_count)
{
    double differences[HOLES_MOST_ROUNDS], one[HOLES_MOST_POINTS];
    for (size_t round = 0; round < round_count; round++) {
        for (size_t at = 0; at < count; at++) one[at] = costs[at][round];
        differences[round] = holes_rms(class, numbers, one, count) - holes_rms(other, numbers, one, count);
    }
    return round_count >= ROUNDS_LEAST_COUNT && rounds_median(differences, round_count).high < 0.0;
}

holes_growth holes_growth_measured(const uint64_t *numbers, const double *const *costs, size_t count,
                                   size_t round_count)
{
    holes_growth made = { NULL, 0.0 };
    double medians[HOLES_MOST_POINTS], values[HOLES_MOST_ROUNDS];
    if (count < HOLES_LEAST_POINTS || count > HOLES_MOST_POINTS) return made;
    for (size_t at = 0; at < count; at++) {
        for (size_t round = 0; round < round_count; round++) values[round] = costs[at][round];
        medians[at] = rounds_median(values, round_count).median;
    }
    int best = holes_best(numbers, medians, count, &made.rms);
    made.name = holes_class_names[best];
    for (int other = 0; other < HOLES_CLASSES; other++) {
        if (other != best && !holes_is_better(best, other, numbers, costs, count, round_count)) made.name = "unclear";
    }
    return made;
}
