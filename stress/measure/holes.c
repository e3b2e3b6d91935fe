#include "holes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../base/splitmix64.h"
#include "stage.h"

/* ---- Making the holes, and the loop that is measured */

typedef struct holes_block { void *ptr; uint64_t bytes; } holes_block;

static int holes_by_address(const void *left, const void *right)
{
    uintptr_t first = (uintptr_t)((const holes_block *)left)->ptr;
    uintptr_t second = (uintptr_t)((const holes_block *)right)->ptr;
    return (first > second) - (first < second);
}

/* 0; 1: refused; -1 and a problem: anything else. */
static int holes_result(holes_field *self, gpuarena_result result, problem *why)
{
    if (!result) return 0;
    pool_last_refusal(&self->pool, &self->refusal);
    if (result == GPUARENA_OUT_OF_MEMORY) return 1;
    return problem_set(why, EXIT_HARNESS, "making holes: %s: %s", gpuarena_result_name(result), self->refusal.text);
}

/* Every second block by address goes: between two that are free lies one that is not. */
static int holes_make(holes_field *self, holes_block *blocks, uint64_t holes, problem *why)
{
    int failed = 0;
    for (uint64_t index = 0; index < 2 * holes && !failed; index++) {
        failed = holes_result(self, pool_alloc(&self->pool, &blocks[index].ptr, blocks[index].bytes, NULL), why);
    }
    if (failed) return failed;
    qsort(blocks, (size_t)(2 * holes), sizeof *blocks, holes_by_address);
    for (uint64_t index = 0; index < 2 * holes && !failed; index += 2) {
        failed = holes_result(self, pool_free(&self->pool, blocks[index].ptr, blocks[index].bytes, NULL), why);
    }
    return failed;
}

static int holes_fill(holes_field *self, uint64_t holes, uint64_t seed, problem *why)
{
    uint64_t *sizes = calloc((size_t)(2 * holes), sizeof *sizes);
    holes_block *blocks = calloc((size_t)(2 * holes), sizeof *blocks);
    int failed = sizes && blocks ? 0 : problem_set(why, EXIT_HARNESS, "no host memory for the blocks");
    if (!failed) sizes_draw(sizes, (size_t)(2 * holes), seed);
    for (uint64_t index = 0; !failed && index < 2 * holes; index++) blocks[index].bytes = sizes[index];
    if (!failed) failed = holes_make(self, blocks, holes, why);
    for (size_t index = 0; !failed && index < HOLES_SIZES; index++) {
        self->sizes[index] = blocks[2 * splitmix64_below(&seed, holes)].bytes;
    }
    free(blocks);
    free(sizes);
    return failed;
}

int holes_open(holes_field *self, const device_config *config, const policy *chosen, uint64_t holes, uint64_t seed,
               problem *why)
{
    memset(self, 0, sizeof *self);
    self->device = device_open(config, why);
    if (!self->device) return -1;
    if (pool_open(&self->pool, chosen, self->device, why)) {
        memset(&self->pool, 0, sizeof self->pool);
        return -1;
    }
    return holes_fill(self, holes, seed, why);
}

int holes_close(holes_field *self, problem *why)
{
    if (self->device) pool_close(&self->pool);
    int failed = device_close(self->device, why);
    self->device = NULL;
    return failed;
}

void holes_pairs(holes_field *self, uint64_t count)
{
    for (uint64_t done = 0; done < count; done++) {
        uint64_t bytes = self->sizes[self->at++ % HOLES_SIZES];
        void *ptr = NULL;
        gpuarena_result taken = pool_alloc(&self->pool, &ptr, bytes, NULL);
        gpuarena_result given = pool_free(&self->pool, ptr, bytes, NULL);
        if (!self->failed) self->failed = taken ? taken : given;
    }
}

void holes_counted(holes_field *self, uint64_t count)
{
    holes_pairs(self, count);
}

uint64_t holes_driver_calls(const holes_field *self)
{
    device_counters counters;
    device_count(self->device, &counters);
    return counters.calls;
}

/* ---- Least squares for three curves, and which of them is left when the measurement's uncertainty is counted */

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
    double differences[ROUNDS_MOST_COUNT], one[HOLES_MOST_POINTS];
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
    double medians[HOLES_MOST_POINTS], values[ROUNDS_MOST_COUNT];
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
