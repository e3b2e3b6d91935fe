/* `stress holes`: the cost of an allocation and its free among ever more free blocks. */
#include "command.h"

#include "../measure/stage.h"

enum { HOLES_STEPS = 5, HOLES_WARM_ROUNDS = 2, HOLES_LEAST_ROUNDS = 25, HOLES_QUICK_ROUNDS = 5,
       HOLES_PAIRS = 8192, HOLES_QUICK_PAIRS = 200 };
#define HOLES_TARGET "<= 1.5"                    /* of the arena: time among the most holes over the fewest */
static const uint64_t holes_steps[HOLES_STEPS] = { 64, 1024, 4096, 16384, 65536 };

typedef struct holes_step {
    holes_field field;
    row        *made;
    int         is_there;                        /* 0: there was no memory for its blocks */
    double      ns[ROUNDS_MOST_COUNT];
} holes_step;

typedef struct holes {
    const cli  *asked;
    report      report;
    plan        plan;
    holes_step  steps[HOLES_STEPS];
    rounds_loop rounds;                          /* of the policy under way; length.most 0: nothing is timed */
    uint64_t    pair_count;                      /* pairs of a round */
    char        partial[128];                    /* why rows are missing; "": none are */
} holes;

/* Opens a step, warms it up, and counts the driver calls of one pass through all sizes. */
static int holes_open_step(holes *self, holes_step *step, const policy *chosen, uint64_t count, problem *why)
{
    const uint64_t seed = self->asked->values[CLI_SEED].number;
    device_config config = self->plan.settings.device;
    config.is_unjudged = 1;
    row *made = step->made = &self->report.list.rows[self->report.list.count++];
    row_text(made, COLUMN_POLICY, chosen->text);
    row_count(made, COLUMN_HOLES, count);
    row_text(made, COLUMN_DEVICE, self->plan.device);
    row_count(made, COLUMN_SEED, seed);
    if (chosen->family == POLICY_ARENA && count == holes_steps[HOLES_STEPS - 1]) {
        row_text(made, COLUMN_TARGET, HOLES_TARGET);
    }
    int failed = holes_open(&step->field, &config, chosen, count, seed, why);
    if (failed < 0) return -1;
    step->is_there = !failed;
    row_text(made, COLUMN_STATUS, failed ? "oom" : "ok");
    if (failed) {                                /* the policy's other steps need the memory of a CUDA device */
        snprintf(made->note, sizeof made->note, "%s", step->field.refusal.text);
        return holes_close(&step->field, why);
    }
    holes_pairs(&step->field, HOLES_COUNTED_PAIRS);
    uint64_t before = sim_thread_called;
    holes_counted(&step->field, HOLES_COUNTED_PAIRS);
    row_count(made, COLUMN_DRIVER_CALLS, sim_thread_called - before);
    return 0;
}

static int holes_lane(void *user, size_t lane, size_t round, problem *why)
{
    holes *self = user;
    holes_step *step = &self->steps[lane];
    (void)why;
    if (!step->is_there) return 0;
    holes_pairs(&step->field, self->pair_count / 2);                 /* caches hold the data of the step before */
    uint64_t begin_ns = rounds_clock_ns();
    holes_pairs(&step->field, self->pair_count);
    step->ns[round] = (double)(rounds_clock_ns() - begin_ns) / (double)self->pair_count;
    return 0;
}

/* The worst share of the ratios to the first step. If only the first step has memory, the share of its time. */
static double holes_worst_share(void *user)
{
    const holes *self = user;
    double worst = self->steps[1].is_there ? 0.0 : rounds_share(rounds_value(&self->rounds, self->steps->ns));
    for (size_t index = 1; index < HOLES_STEPS && self->steps[index].is_there; index++) {
        double share = rounds_share(rounds_ratio(&self->rounds, self->steps[index].ns, self->steps->ns));
        if (share > worst) worst = share;
    }
    return worst;
}

/* Fills a step's row with its measurements, after checking that its calls succeeded and its arena is whole. */
static int holes_tell(const holes *self, const holes_step *step, const policy *chosen, problem *why)
{
    char message[256];
    const gpuarena *arena = step->field.pool.arena;
    if (step->field.failed) {
        return problem_set(why, EXIT_HARNESS, "policy '%s': a measured call failed: %s", chosen->text,
                           gpuarena_result_name(step->field.failed));
    }
    if (arena && gpuarena_check(arena, message, sizeof message)) {
        return problem_set(why, EXIT_VERIFY, "policy '%s': %s", chosen->text, message);
    }
    if (!self->rounds.count) return 0;
    row *made = step->made;
    const char *target = made->cells[COLUMN_TARGET].text;
    rounds_interval ratio = rounds_ratio(&self->rounds, step->ns, self->steps->ns);
    row_count(made, COLUMN_ROUNDS, self->rounds.count);
    row_text(made, COLUMN_ENDED, rounds_end_name(self->rounds.ended));
    row_real(made, COLUMN_NS_PER_PAIR, rounds_value(&self->rounds, step->ns).median);
    row_real(made, COLUMN_RATIO, ratio.median);
    row_real(made, COLUMN_RATIO_LOW, ratio.low);
    row_real(made, COLUMN_RATIO_HIGH, ratio.high);
    if (target) row_text(made, COLUMN_MET, cases_met(target, ratio.low, ratio.high));
    return 0;
}

static int holes_policy(holes *self, const policy *chosen, problem *why)
{
    int failed = 0;
    const size_t before = self->report.list.count;
    memset(self->steps, 0, sizeof self->steps);
    for (size_t index = 0; index < HOLES_STEPS && !failed; index++) {
        failed = holes_open_step(self, &self->steps[index], chosen, holes_steps[index], why);
    }
    if (!failed && self->rounds.length.most)
        failed = rounds_run(&self->rounds, HOLES_STEPS, holes_lane, holes_worst_share, self, why);
    for (holes_step *step = self->steps; step < self->steps + HOLES_STEPS; step++) {
        if (!failed && step->is_there) failed = holes_tell(self, step, chosen, why);
        failed |= holes_close(&step->field, why);
    }
    if (interrupt_signal()) self->report.list.count = before;                   /* the rounds were cut short */
    return failed ? -1 : 0;
}

/* Counts instructions by running the command line again under valgrind, untimed. */
static int holes_count(holes *self, problem *why)
{
    char *policies, *line;
    size_t length;
    FILE *names = program_stream(&policies, &length);
    for (size_t at = 0; at < self->plan.policy_count; at++) {
        fprintf(names, "%s%s", at ? "," : "", self->plan.policies[at].text);
    }
    fclose(names);
    const repro same = { .command = "holes --no-timing --quiet", .asked = self->asked, .device = self->plan.device,
                         .policy = policies };
    line = repro_line(&same);
    const row_list *list = &self->report.list;
    uint64_t *counted = program_need(list->count, sizeof *counted);
    size_t there = 0, at = 0;
    for (size_t index = 0; index < list->count; index++) there += list->rows[index].note[0] == '\0';
    int result = callgrind_count(line, "holes_counted", counted, there, why);
    if (result > 0) program_say("no valgrind: instructions are not counted\n");
    for (row *made = list->rows; !result && made < list->rows + list->count; made++) {
        if (made->note[0]) continue;
        row_real(made, COLUMN_PAIR_INSTRUCTIONS, (double)counted[at++] / HOLES_COUNTED_PAIRS);
    }
    free(line);
    free(policies);
    free(counted);
    return result < 0 ? -1 : 0;
}

static int holes_start(holes *self, problem *why)
{
    const cli_value *values = self->asked->values;
    row_list *list = &self->report.list;
    const cli_id lost = values[CLI_PRECISION].given ? CLI_PRECISION : CLI_BUDGET;
    const cli_id fixed = values[CLI_QUICK].given ? CLI_QUICK : CLI_NO_TIMING;
    if (values[lost].given && values[fixed].given) {
        return problem_set(why, EXIT_USAGE, "--%s says when rounds end: not with --%s", cli_options[lost].name,
                           cli_options[fixed].name);
    }
    if (report_parse(&self->report, why)
        || plan_device(&self->plan, self->asked, why) || plan_policies(&self->plan, self->asked, why)
        || gate_parse(&self->report.gates, self->asked, ROW_HOLES, why)
        || run_check_rules(&self->plan, &self->report.gates, "", why)
        || report_try(&self->report, NULL, why) || plan_present(&self->plan, why)
        || rounds_second_thread(why)) return -1;
    if (!values[CLI_NO_TIMING].given) {
        int is_quick = values[CLI_QUICK].given;
        self->rounds.length = is_quick
            ? rounds_of(1, HOLES_QUICK_ROUNDS, HOLES_QUICK_ROUNDS, 0, values[CLI_BUDGET].number)
            : rounds_of(HOLES_WARM_ROUNDS, HOLES_LEAST_ROUNDS, ROUNDS_MOST_COUNT, values[CLI_PRECISION].number,
                        values[CLI_BUDGET].number);
        self->pair_count = is_quick ? HOLES_QUICK_PAIRS : HOLES_PAIRS;
    }
    self->rounds.random = values[CLI_SEED].number;
    list->kind = ROW_HOLES;
    list->rows = program_need(self->plan.policy_count * HOLES_STEPS, sizeof *list->rows);
    self->report.device = self->plan.device;
    self->report.environment = plan_environment(&self->plan);
    return 0;
}

static int holes_all(holes *self, problem *why)
{
    const cli_value *values = self->asked->values;
    report *made = &self->report;
    for (size_t index = 0; index < self->plan.policy_count && !interrupt_signal(); index++) {
        if (holes_policy(self, &self->plan.policies[index], why)) return -1;
    }
    int counts = values[CLI_INSTRUCTIONS].given && !interrupt_signal();
    if (counts && holes_count(self, why) && !interrupt_signal()) return -1;
    if (interrupt_signal()) {
        snprintf(self->partial, sizeof self->partial, "%zu of %zu rows, then %s", made->list.count,
                 self->plan.policy_count * HOLES_STEPS, interrupt_name());
        made->list.partial = self->partial;
        program_say("%s: the finished rows are written\n", interrupt_name());
    }
    if (gate_judge(&made->gates, &made->list, NULL, why)) return -1;
    return report_write(made, why);
}

static int holes_act(const cli *asked, problem *why)
{
    static holes self;
    self.asked = self.report.asked = asked;
    interrupt_catch();
    int failed = holes_start(&self, why) || holes_all(&self, why);
    int exit_code = failed ? -1 : gate_failed(&self.report.gates) ? EXIT_GATE : EXIT_PASS;
    if (!failed) why->exit_code = EXIT_PASS;     /* a count that a signal ended is no failure */
    if (!failed && self.partial[0]) exit_code = interrupt_exit();
    return exit_code;
}

const command command_holes = { "holes", "-p POLICY[,..] [--instructions]", 0, holes_act };
