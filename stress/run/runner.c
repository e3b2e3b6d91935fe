/* Two passes over the same operations, and their numbers as cells; rows that take several runs. */
#include "runner.h"

#include "../base/search.h"
#include "../base/text.h"
#include "../workload/workload.h"

static const char *const runner_status_names[] = { "ok", "oom", "verify_failed", "error" };

/* Begins a row of any kind: all cells are empty but those that name it. */
static void runner_identity(const runner_job *job, row *made)
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
    if (!policy_takes_limit(job->chosen)) return;    /* cudaMalloc and rivals do not show the figures below */
    row_real(made, COLUMN_FRAGMENTATION, memory->fragmentation);
    row_count(made, COLUMN_PENDING_PEAK, memory->pending_peak_bytes);
    if (job->chosen->family != POLICY_ARENA) return; /* models do not have the figures below */
    row_count(made, COLUMN_GPU_WAITS, result->gpu_waits);
    row_count(made, COLUMN_STRANDED_PEAK, memory->stranded_peak_bytes);
    row_count(made, COLUMN_REMAPPED_PAGES, result->remapped_pages);
}

/* Fills in the first refusal. With several rounds the row also has its round and the operation within it, because
   earlier rounds served the same operation. */
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

static void runner_status(pass_status status, const char *message, row *made, runner_outcome *outcome)
{
    outcome->status = status;
    row_text(made, COLUMN_STATUS, runner_status_names[status]);
    if (status > PASS_OOM) snprintf(made->note, sizeof made->note, "%s", message);
}

/* Only runs that complete have these cells: a run that ends early has an unfinished last step, and other
   operations. */
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
    made->cells[COLUMN_DIGEST] = (cell){ .kind = CELL_HEX, .count = result->digest };
    runner_memory(job, result, made);
    runner_steady(result, job->made->settings.rate, made);
    runner_oom(&result->oom, job->made->settings.times, made);
    runner_status(result->status, result->message, made, outcome);
    outcome->needed_ops = result->needed_ops;
    outcome->is_lost = result->is_lost;
    outcome->kept = result->kept;
}

/* A percentile with too few samples leaves its cell empty. */
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

/* Leaves a row without times, with a note: memory may run out in one pass and not, or elsewhere, in the other. */
static void runner_untimed(row *made, uint64_t ops, const char *cause)
{
    row_untime(made);
    if (made->note[0]) return;
    snprintf(made->note, sizeof made->note, "not timed: in the timing pass memory ran out after %" PRIu64
             " ops; %s", ops, cause);
}

/* Runs real threads twice: first for the time of all ops together, then with a clock around each call. */
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

/* Runs the stream again, on a fresh device, with a clock instead of checks. The pass counts only if it had the same
   results as the verifying pass. Warm-up passes are dropped; but if one has other results, it is the last, and no
   pass counts. */
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

static void runner_run(const runner_job *job, row *made, runner_outcome *outcome)
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
    /* a rival lets one thread in at a time (policy/rival.h): on several threads the waiting would be timed; and
       rounds would need all threads to begin each one together */
    const int has_threads = op_stream_threads(&job->workload->stream) > 1;
    if (has_threads && (job->chosen->family == POLICY_RIVAL || settings->times > 1)) {
        if (!made->note[0]) snprintf(made->note, sizeof made->note, "not timed on several threads");
        return;
    }
    made->times = program_need(1, sizeof *made->times);
    if (has_threads) runner_time_threads(job, made, outcome);
    else runner_time_one(job, &result, made, outcome);
}

/* ---- Rows that take several runs, the smallest limit or the largest batch: the runs, and the results of the last */

typedef struct search {
    const runner_job *job;
    row              *made;
    runner_outcome   *outcome;
    uint64_t          probes;
    pass_result       refused;                   /* of the last run that did not complete */
    int               is_over;                   /* the row has an error, which its cells tell */
} search;

/* Ends the search with the result's error. Returns -1. */
static int search_end(search *self, const pass_result *result)
{
    self->is_over = 1;
    self->outcome->needed_ops = result->needed_ops;
    self->outcome->kept = result->kept;
    runner_status(result->status, result->message, self->made, self->outcome);
    return -1;
}

static int search_fail(search *self, uint64_t needed_ops, const char *text)
{
    pass_result result = { .status = PASS_ERROR, .needed_ops = needed_ops };
    snprintf(result.message, sizeof result.message, "%s", text);
    return search_end(self, &result);
}

/* Fills in the cells of the run that counts, which had every check. */
static void search_cells(const search *self, const pass_result *result)
{
    row *made = self->made;
    row_count(made, COLUMN_REQUESTED_PEAK, result->memory.requested_peak_bytes);
    row_count(made, COLUMN_DRIVER_CALLS, result->driver_calls);
    runner_status(PASS_OK, "", made, self->outcome);
    if (self->job->chosen->family != POLICY_ARENA) return;
    row_count(made, COLUMN_REMAPPED_PAGES, result->remapped_pages);
    row_count(made, COLUMN_GPU_WAITS, result->gpu_waits);
}

/* On a shared GPU, the run that counts may find less memory than the probe did. */
static const char search_changed[] = "completed, and then it did not; another process may have taken memory";

/* ---- capacity: runs under ever closer limits */

/* Makes one run with at most so many bytes of the device, by a limit or a smaller device. The outcome keeps which, so
   that `run` can repeat it. */
static void capacity_run(search *self, uint64_t bytes, int is_probe, pass_result *result)
{
    pass_settings settings = self->job->made->settings;
    policy limited = *self->job->chosen;
    if (policy_takes_limit(&limited)) {
        self->outcome->limit_bytes = limited.config.limit_bytes = bytes;
    } else {
        settings.device.sim.capacity_bytes = bytes + settings.device.sim.context_bytes;
        self->outcome->capacity_bytes = settings.device.sim.capacity_bytes;
    }
    settings.is_probe = is_probe;
    self->probes++;
    pass_run(&settings, &self->job->workload->stream, &limited, NULL, result);
}

/* Ends the search with an error about the last run. */
static void capacity_error(search *self, uint64_t bytes, const char *what)
{
    char text[128];
    snprintf(text, sizeof text, "under a limit of %" PRIu64 " bytes: %s", bytes, what);
    (void)search_fail(self, UINT64_MAX, text);
}

/* Tells whether the workload completes with so many bytes; -1: an error. A policy that cannot be opened under a limit
   does not complete under it, because it could be opened without one. */
static int capacity_probe(void *user, uint64_t bytes)
{
    search *self = user;
    pass_result result;
    capacity_run(self, bytes, 1, &result);
    if (result.status == PASS_OK) return 1;
    if (result.status == PASS_OOM || (result.is_unopened && !result.kept)) {
        self->refused = result;
        return 0;
    }
    return search_end(self, &result);
}

static void capacity_stop(const pass_result *result, row *made)
{
    int is_opened = result->oom.happened;
    row_count(made, COLUMN_STOP_OP, is_opened ? result->oom.op : 0);
    row_text(made, COLUMN_STOP_REASON, is_opened ? result->oom.refusal.reason : "not_opened");
    snprintf(made->note, sizeof made->note, "%s", is_opened ? result->oom.refusal.text : result->message);
}

static void capacity_cells(const search *self, const pass_result *result, uint64_t limit_bytes)
{
    uint64_t requested_bytes = result->memory.requested_peak_bytes;
    row_count(self->made, COLUMN_MIN_LIMIT, limit_bytes);
    if (requested_bytes) row_real(self->made, COLUMN_RATIO, (double)limit_bytes / (double)requested_bytes);
    row_count(self->made, COLUMN_PROBES, self->probes);
    search_cells(self, result);
}

static void capacity_bisect(search *self, const pass_result *unlimited)
{
    const device_config *config = &self->job->made->settings.device;
    const model_kind *kind = self->job->chosen->model;
    uint64_t requested_bytes = unlimited->memory.requested_peak_bytes, beyond_bytes = kind ? kind->beyond_bytes : 0;
    uint64_t least_bytes = memory_round_up(requested_bytes > beyond_bytes ? requested_bytes - beyond_bytes : 1,
                                           CAPACITY_GRANULE);
    uint64_t likely_bytes = memory_round_up(unlimited->memory.reserved_peak_bytes, CAPACITY_GRANULE);
    search_bounds bounds = { least_bytes, likely_bytes, likely_bytes };
    search_found found = { 0, 0 };
    if (!config->is_cuda && config->sim.capacity_bytes > likely_bytes) {
        bounds.most = config->sim.capacity_bytes / CAPACITY_GRANULE * CAPACITY_GRANULE;
    }
    int answer = capacity_search(&bounds, capacity_probe, self, &found);
    if (self->is_over) return;
    if (answer <= 0) {
        capacity_error(self, answer ? least_bytes - CAPACITY_GRANULE : bounds.most,
                       answer ? "completed, with less than the workload requests"
                       : "does not complete, and without a limit it does");
        return;
    }
    pass_result result;
    capacity_run(self, found.good, 0, &result);
    if (result.status == PASS_OOM) {
        capacity_error(self, found.good, search_changed);
    } else if (result.status) {
        (void)search_end(self, &result);
    } else {
        capacity_cells(self, &result, found.good);
        if (found.bad) capacity_stop(&self->refused, self->made);
    }
}

static void capacity_row(const runner_job *job, row *made, runner_outcome *outcome)
{
    search self = { .job = job, .made = made, .outcome = outcome, .probes = 1 };
    pass_result unlimited;
    runner_identity(job, made);
    pass_run(&job->made->settings, &job->workload->stream, job->chosen, NULL, &unlimited);
    if (unlimited.status == PASS_OOM) {
        runner_status(PASS_OOM, "", made, outcome);
        capacity_stop(&unlimited, made);
    } else if (unlimited.status) {
        (void)search_end(&self, &unlimited);
    } else if (!unlimited.memory.requested_peak_bytes) {
        capacity_cells(&self, &unlimited, 0);
    } else if (!policy_takes_limit(job->chosen) && job->made->settings.device.is_cuda) {
        capacity_cells(&self, &unlimited, unlimited.memory.reserved_peak_bytes);
    } else {
        capacity_bisect(&self, &unlimited);
    }
}

/* ---- batch: a workload one of whose options is varied */

enum { BATCH_VARIED = 17 };                      /* values whose peaks are compared with the first's */

typedef struct batch {
    const char      *spec;                       /* one workload, without the option that is varied */
    workload_options options;
    workload_key     key;
    problem          unmade;                     /* why some value makes no workload; exit_code 0: all do */
    search           runs;
    uint64_t         times;                      /* runs of the workload on one pool */
    uint64_t         room_bytes;                 /* the most that device and limit allow */
    uint64_t         stopped_at, stopped_peak_bytes;         /* the last value that did not complete */
} batch;

/* key NULL: the workload's own. -1 and EXIT_USAGE: the workload is several joined by '+', or workload_vary fails. */
static int batch_begin(batch *self, const char *spec, const workload_options *options, const char *key, problem *why)
{
    slice rest = slice_of(spec), one;
    self->spec = spec;
    self->options = *options;
    if (mix_take(&rest, &one) && rest.bytes) {
        return problem_set(why, EXIT_USAGE, "workload %s: joined by '+', expected one alone to vary", spec);
    }
    return workload_vary(spec, key, &self->key, why);
}

/* Makes the workload with this value, cut where more than most_bytes are live; most_bytes 0: not cut. 0, or -1 and a
   problem. */
static int batch_make(const batch *self, uint64_t value, uint64_t most_bytes, op_stream *stream, problem *why)
{
    workload_options options = self->options;
    options.most_bytes = most_bytes;
    size_t room = strlen(self->spec) + strlen(self->key.key) + 24;
    char *text = program_need(room, 1);
    snprintf(text, room, "%s%c%s=%" PRIu64, self->spec, strchr(self->spec, ':') ? ',' : ':', self->key.key, value);
    int failed = mix_make(text, &options, stream, why);
    free(text);
    return failed;
}

/* Tells whether the value makes a workload; -1: it cannot be found out. The value 0 counts only if its workload
   allocates, because an empty workload completes with any memory. unmade keeps the first reason. */
static int batch_makes(void *user, uint64_t value)
{
    batch *self = user;
    op_stream stream;
    problem why = { 0, "" };
    if (!batch_make(self, value, 0, &stream, &why)) {
        int answer = value || stream.alloc_count;
        op_stream_free(&stream);
        return answer;
    }
    if (!self->unmade.exit_code || why.exit_code != EXIT_USAGE) self->unmade = why;
    return why.exit_code == EXIT_USAGE ? 0 : -1;
}

/* Raises key.lowest to the first value that makes a workload: other options may forbid lower ones, and 0 may allocate
   nothing. -1 and EXIT_USAGE: there is none, with the lowest value's reason; EXIT_HARNESS. */
static int batch_lowest(batch *self, problem *why)
{
    uint64_t bad = self->key.lowest, good = bad;
    int answer = batch_makes(self, good);
    if (!answer) answer = search_gallop(&bad, 0, self->key.highest, 0, 1, batch_makes, self, &good);
    if (answer > 0 && good > bad) answer = bisect_between(&good, &bad, 1, batch_makes, self);
    if (answer <= 0) return problem_set(why, self->unmade.exit_code, "%s", self->unmade.text);
    self->key.lowest = good;
    return 0;
}

/* Checks, after batch_lowest, that larger values request more memory. Values that double are tried, up to the first
   that requests more than the first value. -1 and EXIT_USAGE: some request less and none more, so that there is no
   largest to find; EXIT_HARNESS. The first value is 1 instead of 0 if 1 is not the highest: 0 may turn a feature off,
   as lora=0 does. */
static int batch_grows(const batch *self, problem *why)
{
    uint64_t value = self->key.lowest || self->key.highest == 1 ? self->key.lowest : 1, first_bytes = 0;
    int is_less = 0;
    for (int asked = 0; asked < BATCH_VARIED; asked++) {
        op_stream stream;
        problem unmade = { 0, "" };
        if (batch_make(self, value, first_bytes, &stream, &unmade)) {
            if (unmade.exit_code == EXIT_USAGE) break;
            return problem_set(why, unmade.exit_code, "%s", unmade.text);
        }
        uint64_t bytes = stream.requested_peak_bytes;
        op_stream_free(&stream);
        if (asked && bytes > first_bytes) return 0;
        is_less |= asked && bytes < first_bytes;
        if (!asked) first_bytes = bytes;
        if (value == self->key.highest) break;
        value = value < self->key.highest / 2 ? value ? value * 2 : 1 : self->key.highest;
    }
    if (!is_less) return 0;
    return problem_set(why, EXIT_USAGE, "workload %.*s: a larger %s is no larger workload, expected another option "
                       "to vary", (int)strcspn(self->spec, ":"), self->spec, self->key.key);
}

/* Workloads are cut to one operation for batch_lowest: that suffices to know whether a value makes one. */
int runner_check_batch(const plan *made, problem *why)
{
    workload_options options = made->options;
    options.ops_given = 1;
    options.ops = 1;
    for (size_t index = 0; index < made->workload_count; index++) {
        batch varied = { .unmade = { 0, "" } };
        if (batch_begin(&varied, made->workloads[index].text, &options, made->vary, why)
            || batch_lowest(&varied, why)) return -1;
        varied.options = made->options;
        if (batch_grows(&varied, why)) return -1;
    }
    return 0;
}

/* ---- batch: runs with ever closer values of the option */

/* Tells whether the requested peak fits into the room, so that a perfect policy could serve it; -1: an error. */
static int batch_fits(void *user, uint64_t value)
{
    batch *self = user;
    op_stream stream;
    problem why = { 0, "" };
    if (batch_make(self, value, self->room_bytes, &stream, &why)) {
        return why.exit_code == EXIT_USAGE && value > self->key.lowest ? 0 : search_fail(&self->runs, 0, why.text);
    }
    int fits = stream.requested_peak_bytes <= self->room_bytes;
    op_stream_free(&stream);
    return fits;
}

/* Runs the workload with this value. A probe ends at its first refusal; the end of the last one that fails is kept. A
   run that is no probe has every check, and fills in the row. */
static int batch_run(batch *self, uint64_t value, int is_probe)
{
    search *runs = &self->runs;
    pass_settings settings = runs->job->made->settings;
    op_stream stream;
    pass_result result;
    problem why = { 0, "" };
    settings.is_probe = is_probe;
    settings.times = self->times;
    if (batch_make(self, value, 0, &stream, &why)) {
        if (!is_probe || why.exit_code != EXIT_USAGE) return search_fail(runs, 0, why.text);
        self->unmade = why;
        self->stopped_at = value;
        return 0;
    }
    runs->probes++;
    pass_run(&settings, &stream, runs->job->chosen, NULL, &result);
    const uint64_t peak_bytes = stream.requested_peak_bytes;
    op_stream_free(&stream);
    if (result.status > PASS_OOM) return search_end(runs, &result);
    if (result.status == PASS_OK) {
        if (is_probe) return 1;
        row_count(runs->made, COLUMN_LARGEST, value);
        search_cells(runs, &result);
        return 1;
    }
    if (!is_probe) return search_fail(runs, 0, search_changed);
    self->unmade.exit_code = 0;
    self->stopped_at = value;
    self->stopped_peak_bytes = peak_bytes;
    runs->refused = result;
    return 0;
}

static int batch_probe(void *user, uint64_t value)
{
    return batch_run(user, value, 1);
}

/* Fills in why the last tried value did not complete; or that all did, up to the most that the option allows. */
static void batch_stop_cells(const batch *self, int is_most)
{
    row *made = self->runs.made;
    char *note = made->note, more[32];
    const size_t size = sizeof made->note;
    const pass_oom *oom = &self->runs.refused.oom;
    const char *reason = is_most ? "option_maximum" : self->unmade.exit_code ? "not_made" : oom->refusal.reason;
    if (is_most) {
        snprintf(note, size, "%s=%" PRIu64 " is the most that %.*s takes", self->key.key, self->key.highest,
                 (int)strcspn(self->spec, ":"), self->spec);
    } else if (self->unmade.exit_code) {
        snprintf(note, size, "%s=%" PRIu64 " cannot be made: %.250s", self->key.key, self->stopped_at,
                 self->unmade.text);
    } else {
        snprintf(note, size, "%s=%" PRIu64 " ends at op %" PRIu64, self->key.key, self->stopped_at, oom->op);
        if (self->times > 1) {
            text_add(note, size, ", in repeat %" PRIu64 " of %" PRIu64, self->runs.refused.times, self->times);
        }
        if (self->stopped_peak_bytes <= self->room_bytes) text_add(note, size, ": %.400s", oom->refusal.text);
        else text_add(note, size, ": it requests %" PRIu64 " bytes at its peak, %s more than the %" PRIu64
                      " there are", self->stopped_peak_bytes,
                      text_bytes(self->stopped_peak_bytes - self->room_bytes, more, sizeof more), self->room_bytes);
        row_count(made, COLUMN_STOP_OP, oom->op);
        row_count(made, COLUMN_NEXT_PEAK, self->stopped_peak_bytes);
    }
    row_text(made, COLUMN_STOP_TEXT, note);
    row_text(made, COLUMN_STOP_REASON, reason);
}

/* Finds the memory that device and limit have for the workload. */
static int batch_room(batch *self, problem *why)
{
    pool trial;
    device *made = device_open(&self->runs.job->made->settings.device, why);
    if (!made) return -1;
    int failed = device_free_bytes(made, &self->room_bytes, why)
        || pool_open(&trial, self->runs.job->chosen, made, why);
    if (!failed) {
        if (trial.limit_bytes < self->room_bytes) self->room_bytes = trial.limit_bytes;
        pool_close(&trial);
    }
    (void)device_close(made, NULL);              /* a failure would show in the runs that follow */
    return failed;
}

static void batch_find(batch *self)
{
    search *runs = &self->runs;
    search_bounds bounds = { self->key.lowest, self->key.lowest, self->key.highest };
    search_found found = { 0, 0 };
    int answer = batch_search(&bounds, batch_fits, self, &found);
    if (answer < 0) return;
    if (answer) {
        row_count(runs->made, COLUMN_ALLOWED, found.good);
        bounds.likely = found.good;
    }
    answer = batch_search(&bounds, batch_probe, self, &found);
    if (answer < 0) return;
    int is_most = answer && !found.bad;
    uint64_t last = answer ? found.bad : bounds.least;
    if (!is_most && last != self->stopped_at && batch_probe(self, last) < 0) return;     /* to tell how it ends */
    if (answer) (void)batch_run(self, found.good, 0);
    else runner_status(PASS_OOM, "", runs->made, runs->outcome);
    if (!runs->is_over) batch_stop_cells(self, is_most);
    row_count(runs->made, COLUMN_PROBES, runs->probes);
}

static void batch_row(const runner_job *job, row *made, runner_outcome *outcome)
{
    const plan *asked = job->made;
    problem why = { 0, "" };
    batch self = { .times = asked->repeats, .runs = { .job = job, .made = made, .outcome = outcome } };
    runner_identity(job, made);
    row_count(made, COLUMN_REPEATS, self.times ? self.times : 1);
    int failed = batch_begin(&self, job->workload->text, &asked->options, asked->vary, &why)
        || batch_lowest(&self, &why) || batch_room(&self, &why);
    if (self.key.key) row_text(made, COLUMN_KEY, self.key.key);
    if (self.key.key && !strcmp(self.key.key, "threads")) made->cells[COLUMN_THREADS].kind = CELL_NONE;
    if (failed) (void)search_fail(&self.runs, 0, why.text);
    else batch_find(&self);
}

/* ---- Each kind of row */

void runner_row(row_kind kind, const runner_job *job, row *made, runner_outcome *outcome)
{
    if (kind == ROW_CAPACITY) capacity_row(job, made, outcome);
    else if (kind == ROW_BATCH) batch_row(job, made, outcome);
    else runner_run(job, made, outcome);
}
