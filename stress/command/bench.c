/* The program build/bench: every case measured, told as a table and as files. */
#include "command.h"

#include "../measure/stage.h"

enum { BENCH_MOST_ROWS = 64, BENCH_MOST_COUNTED = 16 };

typedef struct bench {
    const cli *asked;
    report     report;
    stage     *stage;
    uint64_t   counted[BENCH_MOST_COUNTED];     /* instructions, lane after lane of the cases that are counted; 0s:
                                                    without --instructions or valgrind */
    size_t     counted_count;                    /* counts that rows were made of */
} bench;

static int bench_is_timed(const bench *self)
{
    return !self->asked->values[CLI_NO_TIMING].given;
}

/* arena: a lane, and as a number the kind of its subject; the arenas are the first kinds. */
static row *bench_new_row(bench *self, const cases_row *of, const char *name, size_t arena)
{
    row *made = &self->report.list.rows[self->report.list.count++];
    const cli_value *values = self->asked->values;
    row_text(made, COLUMN_CASE, name);
    row_text(made, COLUMN_POLICY, subject_name((subject_kind)arena));
    row_text(made, COLUMN_AGAINST, cases_other_name(of->other));
    row_count(made, COLUMN_SEED, values[CLI_SEED].number);
    return made;
}

static void bench_target(row *made, const char *target, int is_known, double low, double high)
{
    if (!target) return;
    row_text(made, COLUMN_TARGET, target);
    if (is_known) row_text(made, COLUMN_MET, cases_met(target, low, high));
}

static void bench_timed_row(bench *self, const cases_row *of, size_t arena)
{
    const stage *measured = self->stage;
    row *made = bench_new_row(self, of, of->name, arena);
    bench_target(made, of->target, 0, 0, 0);
    if (!bench_is_timed(self)) return;
    const stage_lane *other = stage_other(measured, arena);
    row_count(made, COLUMN_ROUNDS, measured->rounds.count);
    row_text(made, COLUMN_ENDED, rounds_end_name(measured->rounds.ended));
    row_real(made, COLUMN_NS_PER_PAIR, rounds_value(&measured->rounds, measured->lanes[arena].ns).median);
    if (!other->crowd) return;
    row_real(made, COLUMN_AGAINST_NS, rounds_value(&measured->rounds, other->ns).median);
    rounds_interval found = stage_ratio(measured, arena);
    row_real(made, COLUMN_RATIO, found.median);
    row_real(made, COLUMN_RATIO_LOW, found.low);
    row_real(made, COLUMN_RATIO_HIGH, found.high);
    bench_target(made, of->target, 1, found.low, found.high);
}

static void bench_counted_row(bench *self, const cases_row *of, size_t arena)
{
    const stage_lane *mine = &self->stage->lanes[arena], *other = stage_other(self->stage, arena);
    row *made = bench_new_row(self, of, of->counted_name, arena);
    bench_target(made, of->counted_target, 0, 0, 0);
    if (!mine->instructions) return;
    double ours = (double)mine->instructions / STAGE_COUNTED_PAIRS;
    row_real(made, COLUMN_PAIR_INSTRUCTIONS, ours);
    bench_target(made, of->counted_target, 1, ours, ours);
    if (!other->crowd) return;
    double others = (double)other->instructions / STAGE_COUNTED_PAIRS;
    row_real(made, COLUMN_AGAINST_INSTRUCTIONS, others);
    row_real(made, COLUMN_RATIO, ours / others);
}

static void bench_rows(bench *self, const cases_row *of)
{
    for (size_t arena = 0; arena < STAGE_ARENAS; arena++) bench_timed_row(self, of, arena);
    if (!of->is_counted) return;
    for (stage_lane *lane = self->stage->lanes; lane < self->stage->lanes + self->stage->lane_count; lane++) {
        if (lane->crowd) lane->instructions = self->counted[self->counted_count++];
    }
    for (size_t arena = 0; arena < STAGE_ARENAS; arena++) bench_counted_row(self, of, arena);
}

static int bench_case(bench *self, const cases_row *of, problem *why)
{
    const cli_value *values = self->asked->values;
    const rounds_length limits = rounds_of(0, 0, 0, values[CLI_PRECISION].number, values[CLI_BUDGET].number);
    stage *on = self->stage;
    int failed = stage_open(on, of, values[CLI_SEED].number, why)
        || (bench_is_timed(self) && stage_measure(on, values[CLI_QUICK].given, &limits, why));
    if (!failed && of->is_counted) stage_count(on);
    failed = failed || stage_verify(on, why);
    if (!failed) bench_rows(self, of);
    stage_close(on);
    return failed ? -1 : 0;
}

static int bench_count(bench *self, int has_cub, problem *why)
{
    const cli *asked = self->asked;
    const repro same = { .command = "--no-timing --quiet", .asked = asked, .ops = UINT64_MAX };
    size_t calls = 0;                            /* expected calls of pairs_counted */
    for (const cases_row *of = cases_rows; of->name; of++) {
        if (of->is_counted) calls += of->other != CASES_CUB || has_cub ? STAGE_ARENAS + 1 : STAGE_ARENAS;
    }
    char *line = repro_line(&same);
    int result = callgrind_count(line, "pairs_counted", self->counted, calls, why);
    free(line);
    if (result > 0) fprintf(stderr, "bench: no valgrind: instructions are not counted\n");
    return result < 0 ? -1 : 0;
}

static int bench_cases(bench *self, problem *why)
{
    problem absent = { 0, "" };
    subject trial;
    int is_quiet = self->asked->values[CLI_QUIET].given, has_cub = !subject_open(&trial, SUBJECT_CUB, &absent);
    subject_close(&trial);
    if (!has_cub && !is_quiet) fprintf(stderr, "bench: nothing is compared with CUB: %s\n", absent.text);
    if (self->asked->values[CLI_INSTRUCTIONS].given && bench_count(self, has_cub, why)) return -1;
    for (const cases_row *of = cases_rows; of->name; of++) {
        if (!is_quiet && bench_is_timed(self)) fprintf(stderr, "bench: %s\n", of->name);
        if (!bench_is_timed(self) && !of->is_counted) bench_rows(self, of);
        else if (bench_case(self, of, why)) return -1;
    }
    return 0;
}

int bench_command(const cli *asked, problem *why)
{
    if (*asked->command) return problem_set(why, EXIT_USAGE, "unexpected argument '%s'", asked->command);
    static bench self = { .report = { .list = { .kind = ROW_BENCH }, .device = "null" } };
    cli named = *asked;
    named.command = "bench";                     /* its name in the tables of options and outputs */
    self.asked = self.report.asked = &named;
    self.report.list.rows = program_need(BENCH_MOST_ROWS, sizeof *self.report.list.rows);
    self.stage = program_need(1, sizeof *self.stage);
    int failed = command_check("bench", 0, &named, why) || report_parse(&self.report, why)
        || report_try(&self.report, NULL, why) || rounds_second_thread(why) || bench_cases(&self, why)
        || report_write(&self.report, why);
    return failed ? -1 : EXIT_PASS;
}
