/* Options, and what the rows so far say of their times.
   It must not know how a row is made.
   Tested by tests/cuda_stress.t. */
#include "repeat.h"

#include <stdlib.h>
#include <string.h>

#include "../base/progress.h"

static int repeat_asks_auto(const cli *asked)
{
    const cli_value *times = &asked->values[CLI_TIMES];
    return times->given && !times->number;
}

/* Of commands that measure no time. */
static int repeat_untimed(const cli *asked, row_kind kind, problem *why)
{
    static const cli_id timed[] = { CLI_WARMUP, CLI_PRECISION, CLI_BUDGET, CLI_TIMES };
    for (size_t at = 0; at < sizeof timed / sizeof timed[0]; at++) {
        int is_batch = kind == ROW_BATCH && timed[at] == CLI_TIMES;
        if (!asked->values[timed[at]].given || (is_batch && !repeat_asks_auto(asked))) continue;
        return problem_set(why, EXIT_USAGE, "--%s%s means nothing to %s, which measures no time",
                           cli_option_at(timed[at])->name, is_batch ? " auto" : "", asked->command);
    }
    return 0;
}

int repeat_check(const cli *asked, row_kind kind, problem *why)
{
    if (kind == ROW_CAPACITY || kind == ROW_BATCH) return repeat_untimed(asked, kind, why);
    if (asked->values[CLI_WARMUP].given && asked->values[CLI_NO_TIMING].given)
        return problem_set(why, EXIT_USAGE, "--warmup: not with --no-timing, which measures no time");
    if (repeat_asks_auto(asked)) return 0;
    cli_id lost = asked->values[CLI_PRECISION].given ? CLI_PRECISION : CLI_BUDGET;
    if (!asked->values[lost].given) return 0;
    return problem_set(why, EXIT_USAGE, "--%s says when --repeat auto ends, which is not given",
                       cli_option_at(lost)->name);
}

int repeat_check_plan(const cli *asked, const plan *made, int is_part, problem *why)
{
    if (!repeat_asks_auto(asked)) return 0;
    if (!made->settings.device.is_cuda) {
        return problem_set(why, EXIT_USAGE,
                           "--repeat auto: not on %s: no clock says how many rows a simulated device has; expected a "
                           "number", made->device);
    }
    if (!made->timed)
        return problem_set(why, EXIT_USAGE, "--repeat auto: not with --no-timing: times say when it ends");
    if (!is_part) return 0;
    return problem_set(why, EXIT_USAGE, "--repeat auto: not in shards, whose rows must be known; expected a number");
}

repeat repeat_of(const cli *asked, row_kind kind, const row_list *rows)
{
    const cli_value *values = asked->values;
    uint64_t times = kind == ROW_RUN && values[CLI_TIMES].given ? values[CLI_TIMES].number : 1;
    repeat made;
    memset(&made, 0, sizeof made);
    made.is_auto = repeat_asks_auto(asked);
    made.rows = rows;
    made.length = rounds_of(0, REPEAT_LEAST, made.is_auto ? REPEAT_MOST : (size_t)times, values[CLI_PRECISION].number,
                            values[CLI_BUDGET].number);
    return made;
}

void repeat_begin(repeat *self)
{
    self->begin_ns = progress_clock_ns();
    self->first = self->rows->count;
}

/* Of one policy, which is named where it first comes. */
static double repeat_share_of(const repeat *self, size_t named)
{
    double ns[REPEAT_MOST];
    size_t count = 0;
    const char *name = self->rows->rows[named].cells[COLUMN_POLICY].text;
    for (size_t at = self->first; at < self->rows->count && count < REPEAT_MOST; at++) {
        const row *made = &self->rows->rows[at];
        if (made->cells[COLUMN_POLICY].text != name || made->cells[COLUMN_HOST_NS].kind == CELL_NONE) continue;
        ns[count++] = made->cells[COLUMN_HOST_NS].real;
    }
    return count ? rounds_share(rounds_median(ns, count)) : 0.0;
}

static double repeat_worst_share(void *user)
{
    const repeat *self = user;
    double worst = 0.0;
    for (size_t at = self->first; at < self->rows->count; at++) {
        double share = repeat_share_of(self, at);
        if (share > worst) worst = share;
    }
    return worst;
}

int repeat_is_over(repeat *self, row_list *rows, uint64_t times)
{
    if (!self->is_auto) return times >= self->length.most;
    rounds_end end = rounds_over(&self->length, (size_t)times, progress_clock_ns() - self->begin_ns,
                                 repeat_worst_share, self);
    for (size_t at = self->first; end != ROUNDS_GO_ON && at < rows->count; at++) {
        if (rows->rows[at].allocs) row_text(&rows->rows[at], COLUMN_ENDED, rounds_end_name(end));
    }
    return end != ROUNDS_GO_ON;
}
