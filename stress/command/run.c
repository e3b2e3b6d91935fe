/* The commands `run`, `capacity` and `batch`: every workload through every policy, then table and files.
   Rows are in the order asked for. Failures are told at once, results at the end. */
#include "command.h"

#include <math.h>
#include <sys/resource.h>

#include "../run/runner.h"

/* ---- Options that mean nothing to a command, and rules that are about nothing */

/* Tells whether a workload that this policy runs has a row that the rule is about; holes has no workloads. */
static int run_compares(const plan *made, const rule *asked, const policy *with)
{
    for (size_t index = 0; index < made->workload_count; index++) {
        const plan_workload *of = &made->workloads[index];
        int has_with = 0, is_asked = 0;
        for (size_t at = of->first; at < of->first + of->case_count; at++) {
            const policy *chosen = made->cases[at].chosen;
            has_with |= chosen == with;
            is_asked |= rule_matches(asked, of->text, chosen->text);
        }
        if (has_with && is_asked) return 1;
    }
    return made->workload_count == 0;
}

static int run_check_reference(const plan *made, const rule *asked, const char *besides, problem *why)
{
    problem unknown = { 0, "" };
    if (!asked->reference || rule_refers_to_base(asked) || !strcmp(asked->reference, besides)) return 0;
    for (const policy *with = made->policies; with < made->policies + made->policy_count; with++) {
        if (strcmp(asked->reference, with->text)) continue;
        if (run_compares(made, asked, with)) return 0;
        return problem_set(why, EXIT_USAGE, "--fail-if '%s': --filter leaves no row of policy %s to compare with",
                           asked->text, asked->reference);
    }
    if (!policy_is_named(asked->reference, &unknown)) {
        return problem_set(why, EXIT_USAGE, "--fail-if '%s': %.400s", asked->text, unknown.text);
    }
    return problem_set(why, EXIT_USAGE, "--fail-if '%s': no row is of policy %s: give it to -p too", asked->text,
                       asked->reference);
}

static int run_asks_auto(const cli *asked)
{
    const cli_value *times = &asked->values[CLI_TIMES];
    return times->given && !times->number;
}

static int run_check_options(row_kind kind, const cli *asked, problem *why)
{
    const cli_value *values = asked->values;
    const cli_id lost = values[CLI_PRECISION].given ? CLI_PRECISION : CLI_BUDGET;
    if (row_is_run(kind)) {
        if (values[CLI_WARMUP].given && values[CLI_NO_TIMING].given)
            return problem_set(why, EXIT_USAGE, "--warmup: not with --no-timing, which measures no time");
        if (run_asks_auto(asked) || !values[lost].given) return 0;
        return problem_set(why, EXIT_USAGE, "--%s says when --repeat auto ends, which is not given",
                           cli_options[lost].name);
    }
    if (run_asks_auto(asked)) {
        return problem_set(why, EXIT_USAGE, "--repeat auto means nothing to batch, which measures no time");
    }
    if (strcmp(values[CLI_ON_OOM].text, "skip")) return 0;
    return problem_set(why, EXIT_USAGE, "--on-oom skip: not with %s, where a workload completes or does not",
                       asked->command);
}

/* Checks options against the plan. On a simulated device, and in shards, a clock must not decide the number of
   rows. */
static int run_check_plan(row_kind kind, const cli *asked, const plan *made, int is_part, problem *why)
{
    for (const policy *chosen = made->policies; chosen < made->policies + made->policy_count; chosen++) {
        if (kind != ROW_CAPACITY || !policy_has_limit(chosen)) continue;
        return problem_set(why, EXIT_USAGE,
                           "policy '%s' has a limit key: not with capacity, which searches for the limit",
                           chosen->text);
    }
    if (kind == ROW_BATCH) return runner_check_batch(made, why);
    if (!run_asks_auto(asked)) return 0;
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

/* Each rule must be about some row, else it would never fail. holes has no workloads, but rows of each policy. */
int run_check_rules(const plan *made, const gate *gates, const char *besides, problem *why)
{
    const size_t count = made->cases ? made->case_count : made->policy_count;
    for (size_t index = 0; index < gates->rule_count; index++) {
        const rule *asked = &gates->rules[index];
        const char *workload = "", *name = "";
        int is_about = 0;
        for (size_t at = 0; at < count && !is_about; at++) {
            if (made->cases) workload = made->cases[at].workload->text;
            name = made->cases ? made->cases[at].chosen->text : made->policies[at].text;
            is_about = rule_matches(asked, workload, name);
        }
        if (!is_about) return rule_about_none(asked, workload, name, why);
        if (run_check_reference(made, asked, besides, why)) return -1;
    }
    return 0;
}

/* ---- Rows in the order asked for; failures are told at once, results at the end */

typedef struct run {
    const cli         *asked;
    plan               plan;
    progress           progress;
    report             report;
    shard_mark         mark;                     /* all rows of the run, and this shard's share of them */
    size_t             row_count;                /* the most rows of this shard, with baselines */
    rounds_length      length;                   /* how often the rows of a workload are made: --repeat */
    uint64_t           begin_ns;                 /* when the workload under way began */
    size_t             first;                    /* the first row of the workload under way */
    uint64_t           record_bytes;             /* size of all rows' recordings so far */
    char               partial[128];             /* why rows are missing; "": none are */
    char               part[96];                 /* which shard this is */
    void              *spare;                    /* host memory kept for files; NULL: it was given up */
    int                is_out_of_memory;         /* a row had no host memory: no more are run */
    int                exit_code;                /* the highest so far */
} run;

static const policy run_baseline = { "raw", POLICY_RAW, GPUARENA_INIT, NULL };

static void run_raise(run *self, int exit_code)
{
    if (exit_code > self->exit_code) self->exit_code = exit_code;
}

static void run_partial(run *self, const char *cause)
{
    size_t done = 0;
    const shard_mark *mark = &self->mark;
    row_list *list = &self->report.list;
    for (size_t index = 0; index < list->count; index++) done += !list->rows[index].is_baseline;
    snprintf(self->partial, sizeof self->partial, "%zu of %s%" PRIu64 " rows, then %s", done,
             run_asks_auto(self->asked) ? "at most " : "", shard_rows(mark, mark->rows), cause);
    list->partial = self->partial;
}

/* Tells whether to leave out the rows that follow. A lost CUDA device stays lost for the whole process, and every
   further row would fail for that alone. To find out, the device is opened once more and asked for its memory. */
static int run_ends(run *self)
{
    problem why = { 0, "" };
    uint64_t free_bytes;
    size_t left = self->row_count - self->report.list.count;
    if (self->is_out_of_memory) return 1;
    if (left && interrupt_signal()) {
        run_partial(self, interrupt_name());
        run_raise(self, interrupt_exit());
        return 1;
    }
    if (!self->plan.settings.device.is_cuda || !left) return 0;
    device *trial = device_open(&self->plan.settings.device, &why);
    int failed = !trial || device_free_bytes(trial, &free_bytes, &why);
    (void)device_close(trial, NULL);             /* nothing was obtained */
    if (!failed) return 0;
    run_raise(self, EXIT_HARNESS);
    program_say("%s does not answer any more, %zu row%s left out: %s\n", self->plan.device, left,
                left == 1 ? " is" : "s are", why.text);
    run_partial(self, "the device did not answer any more");
    return 1;
}

/* The parts that the next row records: no blocks once the rows before it exceed the bound. */
static unsigned run_parts(run *self, int is_baseline)
{
    if (is_baseline) return 0;
    if ((self->report.record & RECORD_MAP) && self->record_bytes > RECORD_MOST_BYTES) {
        self->report.record &= ~(unsigned)RECORD_MAP;
        program_say("recordings take %" PRIu64 " bytes: rows from here on have no maps\n",
                self->record_bytes);
    }
    return self->report.record;
}

enum { RUN_MOST_AUTO = 60 };                     /* of --repeat auto */
enum { RUN_SPARE_BYTES = 16 << 20 };             /* for files where host memory runs out: a map takes 6 MiB */

enum { RUN_SPARE_STACK = 512 << 10 };

__attribute__((noinline))                        /* else the frame might be its caller's, whatever the limit */
static void run_touch_stack(void)
{
    volatile char frame[RUN_SPARE_STACK];
    for (size_t at = 0; at < sizeof frame; at += 1024) frame[at] = 0;
}

/* Makes the thread's stack so large from now on: where host memory is out it grows no further, and the writing of
   files calls functions with large frames. A small stack is left as it is: it has no room for as much. */
static void run_spare_stack(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur < 2 * (rlim_t)RUN_SPARE_STACK) return;
    run_touch_stack();
}

/* 0: there was no host memory for it, its memory is lost, and the spare memory is given up. Threads of a timed pass
   have no rescue: without memory there the program ends, and no file is written. */
static int run_row(run *self, const runner_job *job, row *made, runner_outcome *outcome)
{
    jmp_buf rescue;
    if (setjmp(rescue)) {
        program_rescue = NULL;
        free(self->spare);
        self->spare = NULL;
        return 0;
    }
    program_rescue = &rescue;
    runner_row(self->report.list.kind, job, made, outcome);
    program_rescue = NULL;
    return 1;
}

/* Runs one row and tells its failure. 1: it failed, or a signal came; the device may no longer work. */
static int run_one(run *self, const plan_workload *workload, const policy *chosen, int is_baseline)
{
    char label[256], shown[200];
    runner_outcome outcome = { .status = PASS_OK };
    row *made = &self->report.list.rows[self->report.list.count++];
    const runner_job job = { &self->plan, workload, chosen, is_baseline, run_parts(self, is_baseline) };
    snprintf(label, sizeof label, "%s/%s", workload->text, policy_name_shown(chosen->text, shown, sizeof shown));
    progress_row(&self->progress, label);
    self->is_out_of_memory = !run_row(self, &job, made, &outcome);
    progress_clear(&self->progress);
    if (self->is_out_of_memory) {
        self->report.list.count--;
        program_say("%s: no host memory; it is left out, the finished rows are written\n", label);
        run_partial(self, "there was no host memory");
        run_raise(self, EXIT_HARNESS);
        return 1;
    }
    self->record_bytes += record_bytes(made->recording);
    if (interrupt_signal() && outcome.status == PASS_ERROR) {
        row_free(&self->report.list.rows[--self->report.list.count]);
        program_say("%s: the row under way is left out, the finished rows are written\n", interrupt_name());
    }
    if (interrupt_signal()) return 1;
    if (outcome.status <= PASS_OOM) return 0;
    if (is_baseline && !outcome.kept) return 1;  /* a baseline that was not asked for fails no run */
    run_raise(self, outcome.status == PASS_VERIFY_FAILED ? EXIT_VERIFY : EXIT_HARNESS);
    program_say("%s: %s: %s\n", label, made->cells[COLUMN_STATUS].text, made->note);
    /* a search must be repeated whole to fail again; another run is cut behind the failure */
    const int is_search = self->report.list.kind == ROW_BATCH;
    const int is_cut = !is_search && outcome.needed_ops < workload->stream.alloc_count + workload->stream.free_count
        && (!outcome.is_lost || pass_cut_fits(&workload->stream, outcome.needed_ops));
    const repro line = { is_search ? self->asked->command : "run", self->asked, self->plan.device, workload->text,
                         chosen->text, 0, is_search ? self->plan.repeats : 0,
                         is_cut ? outcome.needed_ops : UINT64_MAX, outcome.limit_bytes, outcome.capacity_bytes,
                         NULL };
    if (outcome.needed_ops) repro_write(stderr, &line);
    return 1;
}

/* The table compares with `raw`. If `raw` was not asked for, it runs for the table, and for rules that name it. */
static int run_lacks_baseline(const run *self, const plan_workload *workload)
{
    const plan_case *cases = self->plan.cases + workload->first;
    if (!row_is_run(self->report.list.kind)) return 0;
    if (self->asked->values[CLI_QUIET].given && !gate_names(&self->report.gates, run_baseline.text)) return 0;
    for (size_t at = 0; at < workload->case_count; at++) {
        if (cases[at].chosen->family == POLICY_RAW) return 0;
    }
    return workload->case_count != 0;
}

/* The number of the workload's rows that are this shard's. */
static uint64_t run_owned(const run *self, const plan_workload *workload)
{
    const uint64_t first = workload->first * self->mark.times, count = workload->case_count * self->mark.times;
    return shard_rows(&self->mark, first + count) - shard_rows(&self->mark, first);
}

/* Runs every policy once. Every second time the order is reversed, so that a machine that gets slower or faster
   during the run favours no policy. Rows stay in the order asked for. 1: no more rows are to be run. */
static int run_policies(run *self, const plan_workload *workload, uint64_t time)
{
    const row_list *list = &self->report.list;
    const size_t from = list->count, count = workload->case_count;
    const int is_backwards = time % 2 != 0;
    int ends = 0;
    for (size_t at = 0; at < count && !ends; at++) {
        const size_t item = is_backwards ? count - 1 - at : at;
        const uint64_t number = workload->first * self->mark.times + time * count + item;
        if (number % self->mark.count != self->mark.index) continue;
        ends = run_one(self, workload, self->plan.cases[workload->first + item].chosen, 0) && run_ends(self);
    }
    for (size_t low = from, high = list->count; is_backwards && low < high; low++) {
        row kept = list->rows[low];
        list->rows[low] = list->rows[--high];
        list->rows[high] = kept;
    }
    return ends;
}

/* The worst share of any policy's times. Rows of one policy have the same pointer to its name. */
static double run_worst_share(void *user)
{
    const run *self = user;
    const row_list *list = &self->report.list;
    double ns[RUN_MOST_AUTO], worst = 0.0;
    for (const row *named = list->rows + self->first; named < list->rows + list->count; named++) {
        size_t count = 0;
        for (const row *at = list->rows + self->first; at < list->rows + list->count && count < RUN_MOST_AUTO; at++) {
            const cell *time = &at->cells[COLUMN_HOST_NS];
            if (row_policy(at) == row_policy(named) && time->kind != CELL_NONE) ns[count++] = time->real;
        }
        if (count) worst = fmax(worst, rounds_share(rounds_median(ns, count)));
    }
    return worst;
}

/* Tells whether the workload's rows were made often enough. With --repeat auto each timed row gets the reason. */
static int run_is_enough(run *self, uint64_t times)
{
    row_list *list = &self->report.list;
    if (!run_asks_auto(self->asked)) return times >= self->length.most;
    rounds_end end = rounds_over(&self->length, (size_t)times, progress_clock_ns() - self->begin_ns, run_worst_share,
                                 self);
    for (row *made = list->rows + self->first; end != ROUNDS_GO_ON && made < list->rows + list->count; made++) {
        if (made->times) row_text(made, COLUMN_ENDED, rounds_end_name(end));
    }
    return end != ROUNDS_GO_ON;
}

/* 1: the rows that follow are left out. */
static int run_workload(run *self, const plan_workload *workload)
{
    if (run_owned(self, workload) && run_lacks_baseline(self, workload)
        && run_one(self, workload, &run_baseline, 1) && run_ends(self)) return 1;
    uint64_t time = 0;
    self->begin_ns = progress_clock_ns();
    self->first = self->report.list.count;
    do {
        if (run_policies(self, workload, time)) return 1;
    } while (!run_is_enough(self, ++time));
    return 0;
}

/* Judges the rules and writes the files. Files are written even if the rules cannot be judged. */
static int run_finish(run *self, problem *why)
{
    report *made = &self->report;
    problem unjudged = { 0, "" };
    made->device = self->plan.device;
    made->environment = plan_environment(&self->plan);
    if (self->plan.workload_count == 1) made->stream = &self->plan.workloads[0].stream;
    int failed = gate_judge(&made->gates, &made->list, NULL, &unjudged);
    if (!failed && gate_failed(&made->gates)) run_raise(self, EXIT_GATE);
    if (report_write(made, why)) return -1;
    if (failed) *why = unjudged;
    return failed;
}

/* Prints the plan for people: the device, the configuration of each policy, and the host of measured times. */
static void run_tell(const plan *self, int is_timed, FILE *out)
{
    char line[512];
    const char *name = program_name();
    const cuda_environment *environment = plan_environment(self);
    fprintf(out, "%s: device %s, verify %s, %s\n", name, self->device,
            plan_verify_name(self->settings.verify),
            is_timed ? "timed in a second pass" : "not timed");
    if (environment) fprintf(out, "%s: %s\n", name, cuda_environment_line(environment, line, sizeof line));
    for (size_t index = 0; index < self->policy_count; index++) {
        char text[512];
        const policy *chosen = &self->policies[index];
        gpuarena_config_text(&chosen->config, text, sizeof text);
        fprintf(out, "%s: policy %s: %s\n", name, chosen->text,
                chosen->family == POLICY_ARENA ? text
                : chosen->family == POLICY_MODEL ? chosen->model->summary
                : chosen->family == POLICY_RAW ? "cudaMalloc and cudaFree"
                : chosen->family == POLICY_ASYNC ? "cudaMallocAsync and cudaFreeAsync" : "at its own defaults");
    }
    if (is_timed) fprintf(out, "%s: %s\n", name, host_line(line, sizeof line));
}

static int run_all(run *self, problem *why)
{
    const cli *asked = self->asked;
    const cli_value *values = asked->values;
    const plan *made = &self->plan;
    const int is_run = row_is_run(self->report.list.kind), is_quiet = values[CLI_QUIET].given;
    if (run_check_options(self->report.list.kind, asked, why) || shard_find(&self->mark, values[CLI_SHARD].text, why)
        || report_parse(&self->report, why) || plan_make(&self->plan, asked, why)
        || run_check_plan(self->report.list.kind, asked, &self->plan, self->mark.count > 1, why)
        || gate_parse(&self->report.gates, asked, self->report.list.kind, why)
        || run_check_rules(&self->plan, &self->report.gates, is_run ? run_baseline.text : "", why)
        || shard_start(&self->mark, asked, &self->plan, self->length.most, why)
        || report_try(&self->report, &self->plan, why) || plan_present(&self->plan, why)) return -1;
    if (values[CLI_VERBOSE].given && !is_quiet) run_tell(&self->plan, is_run && self->plan.timed, stderr);
    for (const plan_workload *of = made->workloads; of < made->workloads + made->workload_count; of++) {
        const size_t owned = (size_t)run_owned(self, of);
        self->row_count += owned + (owned && run_lacks_baseline(self, of));
    }
    self->progress = progress_start(values[CLI_PROGRESS].text, is_quiet, self->row_count);
    self->plan.settings.progress = &self->progress;
    self->report.list.rows = program_need(self->row_count, sizeof *self->report.list.rows);
    self->report.list.shard = shard_part(&self->mark, self->part, sizeof self->part);
    size_t done = 0;
    run_spare_stack();
    self->spare = program_need(1, RUN_SPARE_BYTES);
    while (done < made->workload_count && !run_workload(self, &made->workloads[done])) done++;
    free(self->spare);
    return run_finish(self, why);
}

static int run_act(const cli *asked, problem *why)
{
    static run self;
    row_kind kind = !strcmp(asked->command, "capacity") ? ROW_CAPACITY
                  : !strcmp(asked->command, "batch") ? ROW_BATCH : ROW_RUN;
    self.report.list.kind = kind == ROW_RUN && asked->values[CLI_ROUNDS].given ? ROW_ROUNDS : kind;
    self.asked = self.report.asked = asked;
    self.report.shard = &self.mark;
    interrupt_catch();
    const cli_value *values = asked->values;
    const uint64_t times = kind == ROW_RUN && values[CLI_TIMES].given ? values[CLI_TIMES].number : 1;
    self.length = rounds_of(0, ROUNDS_LEAST_COUNT, run_asks_auto(asked) ? RUN_MOST_AUTO : (size_t)times,
                            values[CLI_PRECISION].number, values[CLI_BUDGET].number);
    if (run_all(&self, why)) run_raise(&self, why->exit_code);
    return self.exit_code;
}

const command command_run = { "run", "-w WORKLOAD[,..] -p POLICY[,..] [options]", 0, run_act };
const command command_capacity = { "capacity", "-w WORKLOAD[,..] -p POLICY[,..] [options]", 0, run_act };
const command command_batch = {
    "batch", "-w WORKLOAD[,..] -p POLICY[,..] [--vary KEY] [--repeat N] [options]", 0, run_act,
};
