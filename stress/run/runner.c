/* Two passes over the same operations, and their numbers as cells. */
#include "runner.h"

static const char *const runner_status_names[] = { "ok", "oom", "verify_failed", "error" };

void runner_identity(const runner_job *job, row *made)
{
    memset(made, 0, sizeof *made);
    row_text(made, COLUMN_WORKLOAD, job->workload->text);
    row_text(made, COLUMN_POLICY, job->chosen->text);
    row_text(made, COLUMN_DEVICE, job->made->device);
    row_count(made, COLUMN_SEED, job->workload->stream.seed);
    row_count(made, COLUMN_THREADS, op_stream_threads(&job->workload->stream));
    made->is_baseline = job->is_baseline;
}

static void runner_memory(const runner_job *job, const pass_result *result, row *made)
{
    const memory_track *memory = &result->memory;
    row_count(made, COLUMN_REQUESTED_PEAK, memory->requested_peak_bytes);
    row_count(made, COLUMN_LIVE_PEAK, memory->live_peak_bytes);
    row_count(made, COLUMN_RESERVED_PEAK, memory->reserved_peak_bytes);
    if (memory->requested_peak_bytes) row_real(made, COLUMN_FOOTPRINT, memory_footprint(memory));
    if (!policy_takes_limit(job->chosen)) return;    /* nobody can see these in cudaMalloc, or in a rival .. */
    row_real(made, COLUMN_FRAGMENTATION, memory->fragmentation);
    row_count(made, COLUMN_PENDING_PEAK, memory->pending_peak_bytes);
    if (job->chosen->family != POLICY_ARENA) return; /* .. and these not in a model */
    row_count(made, COLUMN_GPU_WAITS, result->gpu_waits);
    row_count(made, COLUMN_STRANDED_PEAK, memory->stranded_peak_bytes);
    row_count(made, COLUMN_REMAPPED_PAGES, result->remapped_pages);
}

/* Of several rounds: which, and where in it, as what was well before is not any more. */
static void runner_oom(const pass_oom *oom, uint64_t times, row *made)
{
    row_count(made, COLUMN_ROUNDS, times);
    if (!oom->happened) return;
    if (times > 1) {
        row_count(made, COLUMN_OOM_ROUND, oom->round);
        row_count(made, COLUMN_OOM_ROUND_OP, oom->op - oom->round_from);
        snprintf(made->note, sizeof made->note, "in round %" PRIu64 " of %" PRIu64 ", at its operation %" PRIu64 ": ",
                 oom->round, times, oom->op - oom->round_from);
    }
    row_count(made, COLUMN_OOM_OP, oom->op);
    row_count(made, COLUMN_OOM_REQUESTED, oom->refusal.requested_bytes);
    if (oom->refusal.free_known) row_count(made, COLUMN_OOM_FREE, oom->refusal.free_bytes);
    if (oom->refusal.largest_known) row_count(made, COLUMN_OOM_LARGEST, oom->refusal.largest_bytes);
    row_text(made, COLUMN_OOM_REASON, oom->refusal.reason);
    text_add(made->note, sizeof made->note, "%s", oom->refusal.text);
}

void runner_status(pass_status status, const char *message, row *made, runner_outcome *outcome)
{
    outcome->status = status;
    row_text(made, COLUMN_STATUS, runner_status_names[status]);
    if (status > PASS_OOM) snprintf(made->note, sizeof made->note, "%s", message);
}

/* Of whole runs alone: where one ends early its last step is none, and its operations are others. */
static void runner_steady(const pass_result *result, uint64_t rate, row *made)
{
    if (result->status != PASS_OK) return;
    if (result->is_virtual && !rate && result->ops) {
        row_real(made, COLUMN_VNS_PER_OP, (double)result->vns / (double)result->ops);
    }
    if (!result->steady_steps) return;
    row_count(made, COLUMN_STEADY_STEPS, result->steady_steps);
    row_count(made, COLUMN_STEADY_CALLS, result->steady_calls);
    if (result->is_virtual) row_count(made, COLUMN_STEADY_VNS, result->steady_vns);
    row_count(made, COLUMN_LAST_CALLS, result->last_calls);
    if (!result->memory.requested_peak_bytes) return;
    row_count(made, COLUMN_LAST_REMAPPED, result->last_remapped_pages);
    row_real(made, COLUMN_LAST_FOOTPRINT,
              (double)result->last_reserved_bytes / (double)result->memory.requested_peak_bytes);
}

static void runner_results(const runner_job *job, const pass_result *result, row *made, runner_outcome *outcome)
{
    row_count(made, COLUMN_OPS, result->ops);
    row_count(made, COLUMN_ALLOCS, result->allocs);
    row_count(made, COLUMN_MISSES, result->misses);
    row_count(made, COLUMN_DRIVER_CALLS, result->driver_calls);
    if (result->is_virtual) row_count(made, COLUMN_DRIVER_VNS, result->driver_vns);
    row_hex(made, COLUMN_DIGEST, result->digest);
    runner_memory(job, result, made);
    runner_steady(result, job->made->settings.rate, made);
    runner_oom(&result->oom, job->made->settings.times, made);
    runner_status(result->status, result->message, made, outcome);
    outcome->needed_ops = result->needed_ops;
    outcome->kept = result->kept;
}

/* Too few samples for a percentile leave its cell empty. */
static void runner_percentile(row *made, row_column column, const histogram *latency, unsigned per_mille)
{
    if (histogram_supports(latency, per_mille)) row_count(made, column, histogram_percentile(latency, per_mille));
}

static void runner_times(row *made, uint64_t spent_ns, uint64_t ops)
{
    const latencies *times = made->times;
    const histogram *allocs = &times->allocs;
    if (ops) row_real(made, COLUMN_HOST_NS, (double)spent_ns / (double)ops);
    runner_percentile(made, COLUMN_ALLOC_P50, allocs, 500);
    runner_percentile(made, COLUMN_ALLOC_P99, allocs, 990);
    if (allocs->count) row_count(made, COLUMN_ALLOC_MAX, allocs->max);
    runner_percentile(made, COLUMN_FREE_P50, &times->frees, 500);
    runner_percentile(made, COLUMN_HIT_P50, &times->hits, 500);
    runner_percentile(made, COLUMN_HIT_P99, &times->hits, 990);
    runner_percentile(made, COLUMN_MISS_P50, &times->misses, 500);
}

static void runner_void(row *made, pass_status status, const char *message, runner_outcome *outcome)
{
    row_untime(made);
    runner_status(status, message, made, outcome);
    outcome->needed_ops = UINT64_MAX;
}

/* Memory may run out in one pass and not, or elsewhere, in the other. */
static void runner_untimed(row *made, uint64_t ops, const char *cause)
{
    row_untime(made);
    if (made->note[0]) return;
    snprintf(made->note, sizeof made->note, "not timed: in the timing pass memory ran out after %" PRIu64
             " ops; %s", ops, cause);
}

/* Real threads, twice: first for the time of all ops together, then, with clocks in between, for that of each. */
static void runner_time_threads(const runner_job *job, row *made, runner_outcome *outcome)
{
    const pass_settings *settings = &job->made->settings;
    pass_result whole, each;
    uint64_t left = settings->warmup + 1;
    do pass_threads_run(settings, &job->workload->stream, job->chosen, NULL, &whole);
    while (--left && whole.status == outcome->status);
    if (whole.status <= PASS_OOM) pass_threads_run(settings, &job->workload->stream, job->chosen, made->times, &each);
    const pass_result *last = whole.status <= PASS_OOM ? &each : &whole;
    outcome->kept |= last->kept;
    if (last->status > PASS_OOM) runner_void(made, last->status, last->message, outcome);
    else if (whole.status == outcome->status && each.status == outcome->status) {
        runner_times(made, whole.wall_ns, whole.ops);
    } else runner_untimed(made, whole.ops, "real threads are not in the verified order");
}

static int runner_is_same(const pass_result *timed, const pass_result *verified)
{
    return timed->status != PASS_ERROR && timed->digest == verified->digest && timed->ops == verified->ops;
}

/* The same stream again, on a fresh device, with a clock instead of checks. It counts only if it did the same. The
   passes that warm up leave nothing behind, but where they did something else: then there is none that counts. */
static void runner_time_one(const runner_job *job, const pass_result *verified, row *made, runner_outcome *outcome)
{
    pass_result timed;
    char message[128];
    uint64_t left = job->made->settings.warmup + 1;
    do {
        memset(made->times, 0, sizeof *made->times);
        pass_run(&job->made->settings, &job->workload->stream, job->chosen, made->times, &timed);
    } while (--left && runner_is_same(&timed, verified) && !timed.kept);
    outcome->kept |= timed.kept;
    if (timed.status == PASS_ERROR) {
        runner_void(made, PASS_ERROR, timed.message, outcome);
    } else if (runner_is_same(&timed, verified)) {
        runner_times(made, made->times->allocs.sum + made->times->frees.sum, timed.ops);
    } else if (!timed.is_virtual && (timed.status == PASS_OOM || verified->status == PASS_OOM)) {
        runner_untimed(made, timed.ops, "another process may have taken memory");
    } else {
        snprintf(message, sizeof message,
                 "the timing pass differs: digest %016" PRIx64 " after %" PRIu64 " ops, expected %016" PRIx64
                 " after %" PRIu64, timed.digest, timed.ops, verified->digest, verified->ops);
        runner_void(made, PASS_ERROR, message, outcome);
    }
}

void runner_row(const runner_job *job, row *made, runner_outcome *outcome)
{
    const pass_settings *settings = &job->made->settings;
    pass_result result;
    pass_settings recorded = *settings;
    runner_identity(job, made);
    if (settings->rate) recorded.arrivals = made->arrivals = program_need(1, sizeof *made->arrivals);
    if (job->record) recorded.recording = made->recording = record_create(job->record);
    pass_run(&recorded, &job->workload->stream, job->chosen, NULL, &result);
    runner_results(job, &result, made, outcome);
    if (made->arrivals) {
        const histogram *waited = &made->arrivals->waited;
        runner_percentile(made, COLUMN_WAITED_P50, waited, 500);
        runner_percentile(made, COLUMN_WAITED_P99, waited, 990);
        if (waited->count) row_count(made, COLUMN_WAITED_MAX, waited->max);
        runner_percentile(made, COLUMN_SERVED_P99, &made->arrivals->served, 990);
    }
    if (!job->made->timed || result.status > PASS_OOM) return;
    /* a rival lets one thread in at a time (policy/rival.h): on several it would be timed waiting for us; and rounds
       would need all threads to begin one together */
    const int has_threads = op_stream_threads(&job->workload->stream) > 1;
    if (has_threads && (job->chosen->family == POLICY_RIVAL || settings->times > 1)) {
        if (!made->note[0]) snprintf(made->note, sizeof made->note, "not timed on several threads");
        return;
    }
    made->times = program_need(1, sizeof *made->times);
    if (has_threads) runner_time_threads(job, made, outcome);
    else runner_time_one(job, &result, made, outcome);
}

/* ---- Options, and what the rows so far say of their times */

static int repeat_asks_auto(const cli *asked)
{
    const cli_value *times = &asked->values[CLI_TIMES];
    return times->given && !times->number;
}

int repeat_check(const cli *asked, problem *why)
{
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
    repeat made = { .is_auto = repeat_asks_auto(asked), .rows = rows };
    made.length = rounds_of(0, REPEAT_LEAST, made.is_auto ? REPEAT_MOST : (size_t)times, values[CLI_PRECISION].number,
                            values[CLI_BUDGET].number);
    return made;
}

void repeat_begin(repeat *self)
{
    self->begin_ns = progress_clock_ns();
    self->first = self->rows->count;
}

/* Rows of one policy have the same text of its name. */
static double repeat_worst_share(void *user)
{
    const repeat *self = user;
    const row *rows = self->rows->rows;
    double ns[REPEAT_MOST], worst = 0.0;
    for (size_t named = self->first; named < self->rows->count; named++) {
        size_t count = 0;
        for (size_t at = self->first; at < self->rows->count && count < REPEAT_MOST; at++) {
            const cell *time = &rows[at].cells[COLUMN_HOST_NS];
            if (rows[at].cells[COLUMN_POLICY].text != rows[named].cells[COLUMN_POLICY].text
                || time->kind == CELL_NONE) continue;
            ns[count++] = time->real;
        }
        double share = count ? rounds_share(rounds_median(ns, count)) : 0.0;
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
        if (rows->rows[at].times) row_text(&rows->rows[at], COLUMN_ENDED, rounds_end_name(end));
    }
    return end != ROUNDS_GO_ON;
}
