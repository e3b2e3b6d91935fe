/* The command shrink: of a run that fails, the fewest operations that still fail the same way, as a recording. */
#include "command.h"

#include "../run/pass.h"
#include "../base/search.h"
#include "../workload/stream.h"

#define SHRINK_MOST_OPS UINT64_C(40000000)       /* operations driven in all: about a minute */

typedef struct shrink {
    const cli       *asked;
    plan             plan;
    report           report;                     /* one file: the recording */
    const op_stream *stream;                     /* the whole workload */
    size_t           op_count;                   /* operations of the stream up to the failure */
    unsigned char   *keep_ops, *keep_blocks;     /* by op; by block */
    unsigned char   *keep;                       /* by op; 0 for those that are no units: see shrink_is_unit */
    pass_result      failure;                    /* of the whole workload */
    uint64_t         driven_ops, probes;
    int              is_over;                    /* SHRINK_MOST_OPS were driven, or a signal came */
    int              exit_code;                  /* of that signal, or EXIT_PASS */
    problem         *why;
} shrink;

/* Tells whether two failures are the same. They must have the same status. Out of memory, the request's size and the
   reason must agree; otherwise the messages' names must, which end at the first ':' behind "op N: ". */
static int shrink_is_same(const pass_result *one, const pass_result *other)
{
    if (one->status != other->status) return 0;
    if (one->status == PASS_OOM) {
        return one->oom.refusal.requested_bytes == other->oom.refusal.requested_bytes
            && !strcmp(one->oom.refusal.reason, other->oom.refusal.reason);
    }
    const char *first = strchr(one->message, ':'), *second = strchr(other->message, ':');
    if (!first || !second) return !strcmp(one->message, other->message);
    size_t length = strcspn(first + 1, ":");
    return length == strcspn(second + 1, ":") && !memcmp(first + 1, second + 1, length);
}

/* The number of allocations and frees up to the failure. */
static uint64_t shrink_needed(const pass_result *result)
{
    return result->status == PASS_OOM ? result->oom.op + 1 : result->needed_ops;
}

static void shrink_run(shrink *self, const op_stream *stream, int is_probe, pass_result *result)
{
    pass_settings settings = self->plan.settings;
    settings.is_probe = is_probe;
    self->probes++;
    self->driven_ops += stream->op_count;
    pass_run(&settings, stream, &self->plan.policies[0], NULL, result);
}

/* Tells whether the operation may be left out alone. A free always goes with its allocation. If the failure is out of
   memory, no free is left out alone: a block that is never freed would be another cause. */
static int shrink_is_unit(const shrink *self, const op *asked)
{
    return asked->kind != OP_FREE || self->failure.status != PASS_OOM;
}

static void shrink_spread(const shrink *self, const unsigned char *keep)
{
    for (size_t index = 0; index < self->op_count; index++) {
        const op *next = &self->stream->ops[index];
        self->keep_ops[index] = keep[index] || !shrink_is_unit(self, next);
        if (next->kind == OP_ALLOC) self->keep_blocks[next->first] = self->keep_ops[index];
        if (next->kind == OP_FREE) self->keep_ops[index] &= self->keep_blocks[next->first];
    }
}

/* The number of leading operations, `most` at most, that hold `needed_ops` allocations and frees among the kept
   ones. */
static size_t shrink_ops_of(const op_stream *stream, size_t most, const unsigned char *keep, uint64_t needed_ops)
{
    size_t count = 0;
    for (uint64_t counted = 0; count < most && counted < needed_ops; count++) {
        const op_kind kind = stream->ops[count].kind;
        counted += keep[count] && (kind == OP_ALLOC || kind == OP_FREE);
    }
    return count;
}

static int shrink_probe(void *user, const unsigned char *keep, size_t *needed)
{
    shrink *self = user;
    op_stream kept;
    pass_result result;
    if (self->driven_ops > SHRINK_MOST_OPS || interrupt_signal()) {
        self->is_over = 1;
        return -1;
    }
    shrink_spread(self, keep);
    if (op_stream_subset(self->stream, self->keep_ops, self->op_count, &kept, self->why)) return -1;
    shrink_run(self, &kept, self->failure.status == PASS_OOM, &result);
    int is_same = shrink_is_same(&self->failure, &result);
    if (is_same) {
        *needed = shrink_ops_of(self->stream, self->op_count, self->keep_ops, shrink_needed(&result));
    }
    progress_update(self->plan.settings.progress, self->driven_ops, SHRINK_MOST_OPS);
    op_stream_free(&kept);
    if (!result.kept) return is_same;
    return problem_set(self->why, EXIT_HARNESS, "%s", result.message);
}

/* Runs the whole workload, which must fail. */
static int shrink_fail(shrink *self)
{
    shrink_run(self, self->stream, 0, &self->failure);
    if (interrupt_signal()) return problem_set(self->why, interrupt_exit(), "shrink: %s", interrupt_name());
    if (self->failure.status == PASS_OK) {
        return problem_set(self->why, EXIT_USAGE, "shrink: %s on %s completes: there is nothing to shrink",
                           self->plan.workloads[0].text, self->plan.policies[0].text);
    }
    if (self->failure.kept || !shrink_needed(&self->failure) || shrink_needed(&self->failure) == UINT64_MAX) {
        return problem_set(self->why, EXIT_HARNESS, "shrink: it is no operation that fails: %s",
                           self->failure.message);
    }
    return 0;
}

/* Shrinks the workload into `made`. Operations behind the failure are cut off. The result is run once more, in the
   form that is written, and must fail the same way. */
static int shrink_all(shrink *self, op_stream *made, pass_result *result)
{
    size_t ops = self->stream->op_count;
    if (shrink_fail(self)) return -1;
    self->keep_ops = program_need(ops, 1);
    self->keep_blocks = program_need(self->stream->block_count, 1);
    self->keep = program_need(ops, 1);
    memset(self->keep, 1, ops);
    self->op_count = shrink_ops_of(self->stream, ops, self->keep, shrink_needed(&self->failure));
    for (size_t index = 0; index < ops; index++) {
        self->keep[index] = (unsigned char)shrink_is_unit(self, &self->stream->ops[index]);
    }
    if (shrink_search(self->keep, self->op_count, shrink_probe, self) && !self->is_over) return -1;
    if (interrupt_signal()) self->exit_code = interrupt_exit();
    interrupt_clear();                           /* the kept operations are worth two more runs */
    shrink_spread(self, self->keep);
    if (op_stream_subset(self->stream, self->keep_ops, self->op_count, made, self->why)) return -1;
    shrink_run(self, made, 0, result);
    made->alloc_count = made->free_count = ops = 0;
    while (ops < made->op_count && made->alloc_count + made->free_count < shrink_needed(result)) {
        op_kind kind = made->ops[ops++].kind;
        made->alloc_count += kind == OP_ALLOC;
        made->free_count += kind == OP_FREE;
    }
    made->op_count = ops;
    shrink_run(self, made, 0, result);
    if (shrink_is_same(&self->failure, result)) return 0;
    return problem_set(self->why, EXIT_HARNESS, "shrink: as a recording, made by one thread, it does not fail the "
                       "same way: %.300s", result->status == PASS_OOM ? result->oom.refusal.text
                       : result->status ? result->message : "it completes");
}

static void shrink_tell(const shrink *self, const op_stream *made, const pass_result *result, FILE *out)
{
    const op_stream *whole = self->stream;
    fprintf(out, "%s on %s: %s\n", self->plan.workloads[0].text, self->plan.policies[0].text,
            result->status == PASS_OOM ? result->oom.refusal.text : result->message);
    fprintf(out, "before: %" PRIu64 " allocations and frees, %zu operations in all; fails at op %" PRIu64 "\n",
            whole->alloc_count + whole->free_count, whole->op_count, shrink_needed(&self->failure) - 1);
    fprintf(out, "after: %" PRIu64 " allocations and frees, %zu operations in all; fails at op %" PRIu64 "\n",
            made->alloc_count + made->free_count, made->op_count, shrink_needed(result) - 1);
    fprintf(out, "%" PRIu64 " runs; %s\n", self->probes, self->exit_code
            ? "interrupted: fewer operations may fail the same way" : self->is_over
            ? "stopped after 40000000 operations: fewer operations may fail the same way"
            : "minimal: removing any block or other operation makes the failure disappear");
}

static int shrink_write(shrink *self)
{
    op_stream made = { .op_count = 0 };
    pass_result result;
    char workload[4200], faults[2048];
    int failed = shrink_all(self, &made, &result);
    progress_clear(self->plan.settings.progress);
    if (!failed) {
        self->report.stream = &made;
        failed = report_files(&self->report, self->why);
    }
    if (!failed && !self->asked->values[CLI_QUIET].given) {
        shrink_tell(self, &made, &result, self->report.takes_stdout ? stderr : stdout);
        failed = output_finish(stdout, self->why);
    }
    if (!failed && !self->report.takes_stdout) {
        snprintf(workload, sizeof workload, "replay:%s", self->report.outputs->path);
        const repro line = { "run", self->asked, self->plan.device, workload, self->plan.policies[0].text, 1,
                             0, UINT64_MAX, 0, 0, op_stream_faults(&made, faults, sizeof faults) };
        repro_write(stderr, &line);
    }
    op_stream_free(&made);
    return failed;
}

static int shrink_asked(shrink *self)
{
    static const char several[] = "shrink: one workload and one policy, several are asked for";
    const cli_value *values = self->asked->values;
    if (plan_asks_many(self->asked) || values[CLI_POLICY].item_count > 1) {
        return problem_set(self->why, EXIT_USAGE, "%s", several);
    }
    if (values[CLI_OUT].item_count != 1) {
        return problem_set(self->why, EXIT_USAGE, "shrink writes one recording: --out trace=PATH");
    }
    interrupt_catch();
    if (report_parse(&self->report, self->why)
        || plan_make(&self->plan, self->asked, self->why)
        || report_try(&self->report, &self->plan, self->why)) return -1;
    const char *path = self->report.outputs->path;
    if (strchr(path, ',')) {
        return problem_set(self->why, EXIT_USAGE, "--out: %s, expected a path without commas: replay: reads it",
                           path);
    }
    if (self->plan.policy_count != 1) return problem_set(self->why, EXIT_USAGE, "%s", several);
    if (plan_present(&self->plan, self->why)) return -1;
    progress shown = progress_start(values[CLI_PROGRESS].text, values[CLI_QUIET].given, 1);
    progress_row(&shown, self->plan.policies[0].text);
    self->plan.settings.progress = &shown;
    self->stream = &self->plan.workloads[0].stream;
    return shrink_write(self);
}

static int shrink_act(const cli *asked, problem *why)
{
    static shrink self;
    self.asked = self.report.asked = asked;
    self.why = why;
    if (shrink_asked(&self)) return -1;
    if (self.exit_code) return self.exit_code;
    return self.failure.status == PASS_OOM ? EXIT_PASS
         : self.failure.status == PASS_VERIFY_FAILED ? EXIT_VERIFY : EXIT_HARNESS;
}

const command command_shrink = { "shrink", "-w WORKLOAD -p POLICY --out trace=FILE [options]", 0, shrink_act };
