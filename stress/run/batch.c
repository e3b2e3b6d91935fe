/* One search: ever closer values of one option of the workload, and what the last ones say as cells.
   It must not know how the next value is chosen, nor how rows are printed. */
#include "runner.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../base/search.h"
#include "../workload/workload.h"

/* ---- A workload one of whose options is varied: made with a value, and which values there are at all */

enum { BATCH_VARIED_LEAST = 4, BATCH_VARIED_MOST = 17 };     /* values whose peaks are held against the first's */

typedef struct batch_varied {
    const char      *spec;                       /* one workload, without that option */
    workload_options options;
    workload_key     key;
} batch_varied;

/* key NULL: the workload's own. -1 and EXIT_USAGE: several joined by '+', and as workload_vary does. */
static int batch_varied_begin(batch_varied *self, const char *spec, const workload_options *options, const char *key,
                       problem *why)
{
    slice rest = slice_of(spec), one;
    memset(self, 0, sizeof *self);
    self->spec = spec;
    self->options = *options;
    if (mix_take(&rest, &one) && rest.bytes) {
        return problem_set(why, EXIT_USAGE, "workload %s: joined by '+', expected one alone to vary", spec);
    }
    return workload_vary(spec, key, &self->key, why);
}

/* The workload with this value, up to where more than so many bytes are live, 0: all. 0, or -1 and a problem. */
static int batch_varied_make(const batch_varied *self, uint64_t value, uint64_t most_bytes, op_stream *stream,
                             problem *why)
{
    workload_options options = self->options;
    options.most_bytes = most_bytes;
    size_t room = strlen(self->spec) + strlen(self->key.key) + 24;
    char *text = malloc(room);
    if (!text) return problem_set(why, EXIT_HARNESS, "no host memory for the workload");
    snprintf(text, room, "%s%c%s=%" PRIu64, self->spec, strchr(self->spec, ':') ? ',' : ':', self->key.key, value);
    int failed = mix_make(text, &options, stream, why);
    free(text);
    return failed;
}

static uint64_t batch_varied_double(uint64_t value, uint64_t highest)
{
    uint64_t doubled = value ? value * 2 : 1;
    return value < highest / 2 ? doubled : highest;
}

typedef struct batch_making {
    const batch_varied *varied;
    problem             first, worst;            /* of the lowest; and what ended all, if anything did */
} batch_making;

/* Whether there is such a workload at all. Of nothing everything completes: 0 is a value where it allocates. */
static int batch_varied_makes(void *user, uint64_t value)
{
    batch_making *self = user;
    op_stream stream;
    problem why = { 0, "" };
    if (!batch_varied_make(self->varied, value, 0, &stream, &why)) {
        int answer = value || stream.alloc_count;
        op_stream_free(&stream);
        return answer;
    }
    problem_set(&self->first, why.exit_code, "%s", why.text);
    if (why.exit_code == EXIT_USAGE) return 0;
    return problem_set(&self->worst, why.exit_code, "%s", why.text);
}

/* Where a workload's other options forbid the lowest value, or it is 0 and then nothing is allocated: key.lowest goes
   up to the first that there is. -1 and EXIT_USAGE: there is none, as the lowest says; EXIT_HARNESS. */
static int batch_varied_lowest(batch_varied *self, problem *why)
{
    batch_making making = { self, { 0, "" }, { 0, "" } };
    uint64_t bad = self->key.lowest, good = bad;
    int answer = batch_varied_makes(&making, good);
    if (!answer) answer = search_gallop(&bad, 0, self->key.highest, 0, 1, batch_varied_makes, &making, &good);
    if (answer > 0 && good > bad) answer = bisect_between(&good, &bad, 1, batch_varied_makes, &making);
    const problem *told = answer < 0 ? &making.worst : &making.first;
    if (answer <= 0) return problem_set(why, told->exit_code, "%s", told->text);
    self->key.lowest = good;
    return 0;
}

/* 0 may mean that there is none of it, as lora=0 does: what an option adds is seen from 1 on, if it goes on. */
static uint64_t batch_varied_first(const workload_key *key)
{
    return key->lowest || key->highest == 1 ? key->lowest : 1;
}

/* A value that requests more than the first is enough to know. Where none has and some have less, more of them
   are asked than where all are alike, as what is random may rise late. */
/* Behind batch_varied_lowest. -1 and EXIT_USAGE: the larger the option the less is requested, so that there is no
   largest to find; EXIT_HARNESS. */
static int batch_varied_grows(const batch_varied *self, problem *why)
{
    uint64_t value = batch_varied_first(&self->key), first_bytes = 0;
    int is_less = 0;
    for (int asked = 0; asked < (is_less ? BATCH_VARIED_MOST : BATCH_VARIED_LEAST); asked++) {
        op_stream stream;
        problem unmade = { 0, "" };
        if (batch_varied_make(self, value, first_bytes, &stream, &unmade)) {
            if (unmade.exit_code == EXIT_USAGE) break;
            return problem_set(why, unmade.exit_code, "%s", unmade.text);
        }
        uint64_t bytes = stream.requested_peak_bytes;
        op_stream_free(&stream);
        if (asked && bytes > first_bytes) return 0;
        if (asked && bytes < first_bytes) is_less = 1;
        if (!asked) first_bytes = bytes;
        if (value == self->key.highest) break;
        value = batch_varied_double(value, self->key.highest);
    }
    if (!is_less) return 0;
    return problem_set(why, EXIT_USAGE, "workload %.*s: a larger %s is no larger workload, expected another option "
                       "to vary", (int)strcspn(self->spec, ":"), self->spec, self->key.key);
}

/* ---- The search */

enum { BATCH_KNOWN = 256 };                      /* answers that are remembered, of either question */

typedef struct batch_answers {                   /* a search asks for a value more than once */
    uint64_t values[BATCH_KNOWN];
    int      answers[BATCH_KNOWN];
    size_t   count;
} batch_answers;

typedef struct batch {
    const runner_job    *job;
    const pass_settings *settings;
    const batch_asked   *asked;
    row                 *made;
    runner_outcome      *outcome;
    batch_varied         varied;
    uint64_t             room_bytes;             /* device and limit have no more */
    uint64_t             probes;
    batch_answers        fitting, surviving;
    uint64_t             fitting_bytes;          /* what the largest that fits requests at its peak */
    uint64_t             lowest_bytes;           /* and the lowest value */
    int                  is_confined;            /* what is requested must be on the device, within room_bytes */
    uint64_t             best;                   /* the largest that survived */
    int                  is_stopped;             /* and another did not: */
    uint64_t             stopped_at;             /* the smallest above it that did not; and how: */
    uint64_t             stopped_peak_bytes;
    uint64_t             stopped_live_bytes;     /* requested when the last that failed did */
    pass_result          stopped;
    char                 unmade[512];            /* "": it could be made */
    int                  is_over;                /* the row has an error, and says so */
} batch;

int batch_check(const cli *asked, problem *why)
{
    const char *times = asked->values[CLI_TIMES].text;
    if (times && !strcmp(times, "auto")) {
        return problem_set(why, EXIT_USAGE, "--repeat auto means nothing to batch, which measures no time");
    }
    if (strcmp(asked->values[CLI_ON_OOM].text, "skip")) return 0;
    return problem_set(why, EXIT_USAGE, "--on-oom skip: not with batch, where a workload completes or does not");
}

/* Cut to one operation: whether a value makes a workload does not take all of it. */
int batch_check_plan(const plan *made, const char *vary, problem *why)
{
    workload_options options = made->options;
    options.ops_given = 1;
    options.ops = 1;
    for (size_t index = 0; index < made->workload_count; index++) {
        batch_varied varied;
        if (batch_varied_begin(&varied, made->workloads[index].text, &options, vary, why)
            || batch_varied_lowest(&varied, why)) return -1;
        varied.options = made->options;
        if (batch_varied_grows(&varied, why)) return -1;
    }
    return 0;
}

static void batch_fail(batch *self, const char *text)
{
    self->is_over = 1;
    self->outcome->is_search = 1;
    runner_status(PASS_ERROR, text, self->made, self->outcome);
}

static const int *batch_known(const batch_answers *self, uint64_t value)
{
    for (size_t at = 0; at < self->count; at++) {
        if (self->values[at] == value) return &self->answers[at];
    }
    return NULL;
}

static int batch_remember(batch_answers *self, uint64_t value, int answer)
{
    if (answer >= 0 && self->count < BATCH_KNOWN) {
        self->values[self->count] = value;
        self->answers[self->count++] = answer;
    }
    return answer;
}

/* Whether its requested peak is no more than there is: then a perfect policy could do it. */
static int batch_fits(void *user, uint64_t value)
{
    batch *self = user;
    op_stream stream;
    problem why = { 0, "" };
    const int *known = batch_known(&self->fitting, value);
    if (known) return *known;
    if (batch_varied_make(&self->varied, value, self->room_bytes, &stream, &why)) {
        int is_past = why.exit_code == EXIT_USAGE && value > self->varied.key.lowest;
        if (!is_past) batch_fail(self, why.text);
        return is_past ? batch_remember(&self->fitting, value, 0) : -1;
    }
    uint64_t peak_bytes = stream.requested_peak_bytes;
    int fits = peak_bytes <= self->room_bytes;
    op_stream_free(&stream);
    if (fits && peak_bytes > self->fitting_bytes) self->fitting_bytes = peak_bytes;
    if (value == self->varied.key.lowest) self->lowest_bytes = peak_bytes;
    return batch_remember(&self->fitting, value, fits);
}

static int batch_run(batch *self, const op_stream *stream, int is_probe, pass_result *result)
{
    pass_settings settings = *self->settings;
    settings.is_probe = is_probe;
    settings.times = self->asked->times;
    self->probes++;
    pass_run(&settings, stream, self->job->chosen, NULL, result);
    if (result->status <= PASS_OOM) return result->status == PASS_OK;
    self->is_over = self->outcome->is_search = 1;
    self->outcome->needed_ops = result->needed_ops;
    self->outcome->kept = result->kept;
    runner_status(result->status, result->message, self->made, self->outcome);
    return -1;
}

/* Bytes that are requested at this allocation or free, with it. */
static uint64_t batch_live(const op_stream *stream, uint64_t number)
{
    uint64_t *bytes = calloc(stream->block_count + 1, sizeof *bytes), live = 0, counted = 0;
    for (size_t index = 0; bytes && index < stream->op_count && counted <= number; index++) {
        const op *next = &stream->ops[index];
        counted += next->kind == OP_ALLOC || next->kind == OP_FREE;
        if (next->kind == OP_ALLOC) live += bytes[next->first] = next->value;
        if (next->kind == OP_FREE) live -= bytes[next->first];
    }
    free(bytes);
    return live;
}

/* The row tells of the value right above the largest. */
static void batch_stop(batch *self, uint64_t value, uint64_t peak_bytes, const pass_result *result,
                       const char *unmade)
{
    if (self->is_stopped && self->stopped_at >= self->best && self->stopped_at <= value) return;
    self->is_stopped = 1;
    self->stopped_at = value;
    self->stopped_peak_bytes = peak_bytes;
    self->stopped = *result;
    snprintf(self->unmade, sizeof self->unmade, "%.250s", unmade);
}

/* A run up to its first refusal; of one that fails, how it ends is kept. */
static int batch_try(batch *self, uint64_t value)
{
    op_stream stream;
    pass_result result;
    problem why = { 0, "" };
    memset(&result, 0, sizeof result);
    if (batch_varied_make(&self->varied, value, 0, &stream, &why)) {
        if (why.exit_code != EXIT_USAGE) batch_fail(self, why.text);
        else batch_stop(self, value, 0, &result, why.text);
        return why.exit_code == EXIT_USAGE ? 0 : -1;
    }
    int answer = batch_run(self, &stream, 1, &result);
    if (!answer) batch_stop(self, value, stream.requested_peak_bytes, &result, "");
    if (!answer) self->stopped_live_bytes = batch_live(&stream, result.oom.op - result.oom.round_from);
    if (answer > 0 && value > self->best) self->best = value;
    op_stream_free(&stream);
    return answer;
}

/* What requests more than there is need not be run to be known to fail. */
static int batch_probe(void *user, uint64_t value)
{
    batch *self = user;
    const int *known = batch_known(&self->surviving, value);
    if (known) return *known;
    int fits = self->is_confined ? batch_fits(self, value) : 1;
    return fits < 0 ? -1 : batch_remember(&self->surviving, value, fits ? batch_try(self, value) : 0);
}

static void batch_sentence(const batch *self)
{
    const pass_result *stopped = &self->stopped;
    const char *key = self->varied.key.key;
    char times[48] = "";
    char *note = self->made->note;
    int room = (int)sizeof self->made->note;
    if (self->unmade[0]) {
        snprintf(note, (size_t)room, "%s=%" PRIu64 " cannot be made: %.400s", key, self->stopped_at, self->unmade);
        return;
    }
    if (self->asked->times > 1) {
        snprintf(times, sizeof times, ", in repeat %" PRIu64 " of %" PRIu64, stopped->times, self->asked->times);
    }
    if (self->stopped_peak_bytes > self->room_bytes) {
        snprintf(note, (size_t)room, "%s=%" PRIu64 " ends at op %" PRIu64 "%s: it requests %" PRIu64
                 " bytes at its peak, and there are %" PRIu64, key, self->stopped_at, stopped->oom.op, times,
                 self->stopped_peak_bytes, self->room_bytes);
    } else {
        snprintf(note, (size_t)room, "%s=%" PRIu64 " ends at op %" PRIu64 "%s: %.400s", key, self->stopped_at,
                 stopped->oom.op, times, stopped->oom.refusal.text);
    }
}

static void batch_stop_cells(const batch *self)
{
    row *made = self->made;
    batch_sentence(self);
    row_text(made, COLUMN_STOP_TEXT, made->note);
    row_text(made, COLUMN_STOP_REASON, self->unmade[0] ? "not_made" : self->stopped.oom.refusal.reason);
    if (self->unmade[0]) return;
    row_count(made, COLUMN_STOP_OP, self->stopped.oom.op);
    row_count(made, COLUMN_NEXT_PEAK, self->stopped_peak_bytes);
}

/* All completed, up to what the option allows: no memory ended it. */
static void batch_most_cells(const batch *self, uint64_t most)
{
    row *made = self->made;
    const char *spec = self->job->workload;
    snprintf(made->note, sizeof made->note, "%s=%" PRIu64 " is the most that %.*s takes", self->varied.key.key, most,
             (int)strcspn(spec, ":"), spec);
    row_text(made, COLUMN_STOP_TEXT, made->note);
    row_text(made, COLUMN_STOP_REASON, "option_maximum");
}

/* The run that counts, with every check; a GPU that is shared may not have for it what it had for the probe. */
static void batch_confirm(batch *self, const batch_found *found)
{
    op_stream stream;
    pass_result result;
    problem why = { 0, "" };
    row *made = self->made;
    if (batch_varied_make(&self->varied, found->largest, 0, &stream, &why)) {
        batch_fail(self, why.text);
        return;
    }
    int answer = batch_run(self, &stream, 0, &result);
    op_stream_free(&stream);
    if (!answer) batch_fail(self, "completed, and then it did not; another process may have taken memory");
    if (answer <= 0) return;
    row_count(made, COLUMN_LARGEST, found->largest);
    row_count(made, COLUMN_REQUESTED_PEAK, result.memory.requested_peak_bytes);
    row_count(made, COLUMN_DRIVER_CALLS, result.driver_calls);
    runner_status(PASS_OK, "", made, self->outcome);
    if (self->job->chosen->family != POLICY_ARENA) return;
    row_count(made, COLUMN_REMAPPED_PAGES, result.remapped_pages);
    row_count(made, COLUMN_GPU_WAITS, result.gpu_waits);
}

/* What device and limit have for the workload. */
static int batch_room(batch *self)
{
    pool trial;
    problem why = { 0, "" };
    const policy *chosen = self->job->chosen;
    gpuarena_backing backing = chosen->config.backing;
    self->is_confined = chosen->family != POLICY_ARENA
        || (backing != GPUARENA_BACKING_PINNED && backing != GPUARENA_BACKING_MANAGED);
    device *made = device_open(&self->settings->device, &why);
    if (made) {
        if (!device_free_bytes(made, &self->room_bytes, &why) && !pool_open(&trial, chosen, made, &why)) {
            if (trial.limit_bytes < self->room_bytes) self->room_bytes = trial.limit_bytes;
            pool_close(&trial);
        }
        (void)device_close(made, NULL);          /* the runs that follow would tell */
    }
    if (!why.exit_code) return 0;
    batch_fail(self, why.text);
    return -1;
}

/* Had with what fits, the policy had memory for `live` of `fitting` bytes: where a workload grows evenly, that says
   which value it has memory for. Only a guess: the search goes on from there. */
static uint64_t batch_guess(const batch *self, uint64_t largest)
{
    uint64_t lowest = self->varied.key.lowest, low = self->lowest_bytes, high = self->fitting_bytes;
    uint64_t live = self->stopped_live_bytes;
    if (live <= low || live >= high || high <= low) return largest;
    double share = (double)(live - low) / (double)(high - low);
    uint64_t guess = lowest + (uint64_t)(share * (double)(largest - lowest));
    return guess < largest ? guess : largest;
}

static int batch_search_surviving(batch *self, batch_bounds *bounds, batch_found *found)
{
    int answer = batch_probe(self, bounds->likely);
    if (answer < 0) return -1;
    if (!answer) bounds->likely = batch_guess(self, bounds->likely);
    answer = batch_search(bounds, batch_probe, self, found);
    if (answer < 0) return -1;
    if (answer && !found->next) return answer;
    uint64_t last = answer ? found->next : bounds->lowest;                   /* how it ends is told */
    return !(self->is_stopped && self->stopped_at == last) && batch_try(self, last) < 0 ? -1 : answer;
}

static void batch_find(batch *self)
{
    problem why = { 0, "" };
    if (batch_varied_lowest(&self->varied, &why)) {
        batch_fail(self, why.text);
        return;
    }
    batch_bounds bounds = { self->varied.key.lowest, self->varied.key.lowest, self->varied.key.highest };
    batch_found found = { 0, 0 };
    int answer = batch_search_far(&bounds, batch_fits, self, &found);
    if (answer < 0) return;
    if (answer) {
        row_count(self->made, COLUMN_ALLOWED, found.largest);
        bounds.likely = found.largest;
    }
    answer = batch_search_surviving(self, &bounds, &found);
    if (answer < 0) return;
    if (answer) batch_confirm(self, &found);
    else runner_status(PASS_OOM, "", self->made, self->outcome);
    if (!self->is_over && answer && !found.next) batch_most_cells(self, found.largest);
    else if (!self->is_over) batch_stop_cells(self);
    row_count(self->made, COLUMN_PROBES, self->probes);
}

void batch_row(const runner_job *job, const pass_settings *settings, const batch_asked *asked, row *made,
               runner_outcome *outcome)
{
    problem why = { 0, "" };
    batch self;
    memset(&self, 0, sizeof self);
    self.job = job;
    self.settings = settings;
    self.asked = asked;
    self.made = made;
    self.outcome = outcome;
    runner_identity(job, made);
    row_count(made, COLUMN_REPEATS, asked->times ? asked->times : 1);
    if (batch_varied_begin(&self.varied, job->workload, asked->options, asked->vary, &why)) {
        batch_fail(&self, why.text);
        return;
    }
    row_text(made, COLUMN_KEY, self.varied.key.key);
    if (!batch_room(&self)) batch_find(&self);
}
