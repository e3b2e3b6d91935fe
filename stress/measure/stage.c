/* Lanes, and rounds over them.
   It must not know how results are told.
   Tested by tests/test_bench.c and tests/bench.t. */
#include "stage.h"

#include <stdlib.h>
#include <string.h>

#include "../base/progress.h"

enum { STAGE_WARM_PAIRS = 5000, STAGE_SMALL_BYTES = 1024 };

typedef struct stage_length { size_t warm, least, most; uint64_t pairs; } stage_length;
static const stage_length stage_lengths[] = {
    [CASES_WARM] = { 2, 25, STAGE_MOST_ROUNDS, 8192 }, [CASES_COLD] = { 2, 25, 101, 24 },
    [CASES_CROWD] = { 1, 11, 31, 40000 },
};

/* Handles that no call of the null device looks behind. */
static gpuarena_stream stage_stream(size_t index)
{
    static char handles[CROWD_MOST];
    return (gpuarena_stream)(void *)&handles[index];
}

static int stage_open_lane(stage *self, subject_kind kind, uint64_t bytes, uint64_t seed, problem *why)
{
    stage_lane *lane = &self->lanes[self->lane_count++];
    problem trouble = { 0, "" };
    if (subject_open(&lane->on, kind, &trouble)) {
        return trouble.exit_code == EXIT_NO_DEVICE ? 0 : problem_set(why, trouble.exit_code, "%s", trouble.text);
    }
    lane->members = self->row->threads;
    lane->crowd = calloc(lane->members, sizeof *lane->crowd);
    if (!lane->crowd) return problem_set(why, EXIT_HARNESS, "no host memory for a case");
    for (size_t index = 0; index < lane->members; index++) {
        pairs *made = &lane->crowd[index];
        if (pairs_open(made, &lane->on, self->row->live, bytes, stage_stream(index % self->row->streams),
                       seed + index, why)) return -1;
        pairs_run(made, STAGE_WARM_PAIRS);
    }
    return 0;
}

static void stage_borrow_lane(stage *self, size_t lender)
{
    stage_lane *lane = &self->lanes[self->lane_count++];
    lane->crowd = self->lanes[lender].crowd;
    lane->members = 1;
    lane->is_borrowed = 1;
}

/* One of each kind, in their order. */
static int stage_open_arenas(stage *self, uint64_t bytes, uint64_t seed, problem *why)
{
    for (int kind = 0; kind < STAGE_ARENAS; kind++)
        if (stage_open_lane(self, (subject_kind)kind, bytes, seed, why)) return -1;
    return 0;
}

static int stage_open_others(stage *self, uint64_t seed, problem *why)
{
    const cases_row *row = self->row;
    switch (row->other) {
    case CASES_CUB:   return stage_open_lane(self, SUBJECT_CUB, row->bytes, seed, why);
    case CASES_MUTEX: return stage_open_lane(self, SUBJECT_MUTEX, row->bytes, seed, why);
    case CASES_SMALL: return stage_open_arenas(self, STAGE_SMALL_BYTES, seed, why);
    case CASES_ONE_THREAD:
        for (size_t arena = 0; arena < STAGE_ARENAS; arena++) stage_borrow_lane(self, arena);
        break;
    }
    return 0;
}

int stage_open(stage *self, const cases_row *row, uint64_t seed, problem *why)
{
    memset(self, 0, sizeof *self);
    self->row = row;
    self->random = seed;
    self->cold = calloc(1, PAIRS_COLD_BYTES);
    if (!self->cold) return problem_set(why, EXIT_HARNESS, "no host memory for a case");
    return stage_open_arenas(self, row->bytes, seed, why) || stage_open_others(self, seed, why) ? -1 : 0;
}

void stage_close(stage *self)
{
    for (size_t index = 0; index < self->lane_count; index++) {
        stage_lane *lane = &self->lanes[index];
        if (lane->is_borrowed) continue;
        for (size_t member = 0; lane->crowd && member < lane->members; member++) pairs_close(&lane->crowd[member]);
        free(lane->crowd);
        subject_close(&lane->on);
    }
    free(self->cold);
}

static int stage_measure_lane(stage *self, stage_lane *lane, size_t round, uint64_t count, problem *why)
{
    double *ns = &lane->ns[round];
    switch (self->row->way) {
    case CASES_WARM:  *ns = pairs_warm_ns(lane->crowd, count); break;
    case CASES_COLD:  *ns = pairs_cold_ns(lane->crowd, count, self->cold); break;
    case CASES_CROWD: return crowd_ns(lane->crowd, lane->members, count, ns, why);
    }
    return 0;
}

size_t stage_other_index(const stage *self, size_t arena)
{
    return self->lane_count == STAGE_LANES ? STAGE_ARENAS + arena : STAGE_ARENAS;
}

const stage_lane *stage_other(const stage *self, size_t arena)
{
    return &self->lanes[stage_other_index(self, arena)];
}

static int stage_round(stage *self, size_t round, uint64_t count, problem *why)
{
    size_t order[STAGE_LANES];
    rounds_shuffle(order, self->lane_count, &self->random);
    for (size_t at = 0; at < self->lane_count; at++) {
        stage_lane *lane = &self->lanes[order[at]];
        if (lane->crowd && stage_measure_lane(self, lane, round, count, why)) return -1;
    }
    return 0;
}

rounds_interval stage_time(const stage *self, const stage_lane *lane)
{
    double values[STAGE_MOST_ROUNDS];
    memcpy(values, lane->ns, sizeof values);
    return rounds_median(values, self->round_count);
}

rounds_interval stage_ratio(const stage *self, size_t arena)
{
    double ratios[STAGE_MOST_ROUNDS];
    const stage_lane *mine = &self->lanes[arena], *other = stage_other(self, arena);
    if (!other->crowd) return stage_time(self, mine);
    for (size_t round = 0; round < self->round_count; round++) {
        int is_gain = self->row->other == CASES_ONE_THREAD;
        ratios[round] = is_gain ? other->ns[round] / mine->ns[round] : mine->ns[round] / other->ns[round];
    }
    return rounds_median(ratios, self->round_count);
}

static double stage_worst_share(void *user)
{
    const stage *self = user;
    double worst = 0.0;
    for (size_t arena = 0; arena < STAGE_ARENAS; arena++) {
        double share = rounds_share(stage_ratio(self, arena));
        if (share > worst) worst = share;
    }
    return worst;
}

int stage_measure(stage *self, int is_quick, const rounds_length *limits, problem *why)
{
    static const stage_length quick = { 1, 3, 3, 16 };
    const stage_length *shape = is_quick ? &quick : &stage_lengths[self->row->way];
    const rounds_length length = { shape->warm, shape->least, shape->most, is_quick ? 0.0 : limits->precision,
                                   limits->budget_ns };
    uint64_t begin_ns = progress_clock_ns();
    for (size_t warm = 0; warm < length.warm; warm++) {
        if (stage_round(self, 0, shape->pairs, why)) return -1;      /* the first that counts overwrites it */
    }
    self->round_count = 0;
    do {
        if (stage_round(self, self->round_count, shape->pairs, why)) return -1;
        self->round_count++;
        self->ended = rounds_over(&length, self->round_count, progress_clock_ns() - begin_ns, stage_worst_share,
                                  self);
    } while (self->ended == ROUNDS_GO_ON);
    return 0;
}

void stage_count(stage *self)
{
    for (size_t index = 0; index < self->lane_count; index++) {
        if (self->lanes[index].crowd) pairs_counted(self->lanes[index].crowd, STAGE_COUNTED_PAIRS);
    }
}

int stage_verify(const stage *self, problem *why)
{
    for (size_t index = 0; index < self->lane_count; index++) {
        const stage_lane *lane = &self->lanes[index];
        int failed = 0;
        for (size_t member = 0; lane->crowd && member < lane->members; member++) {
            failed |= lane->crowd[member].failed;
        }
        if (failed) return problem_set(why, EXIT_VERIFY, "%s: a call failed", self->row->name);
        if (!lane->is_borrowed && lane->crowd
            && subject_verify(&lane->on, (uint64_t)self->row->live * lane->members, why)) return -1;
    }
    return 0;
}
