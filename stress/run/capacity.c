/* One search: runs under ever closer limits, and what the last ones say as cells.
   It must not know how the next limit is chosen, nor how rows are printed. */
#include "runner.h"

#include <inttypes.h>
#include <string.h>

#include "../base/search.h"

typedef struct capacity {
    const runner_job    *job;
    const pass_settings *settings;
    row                 *made;
    runner_outcome      *outcome;
    uint64_t             probes;
    pass_result          refused;                /* the last probe that did not complete */
    int                  is_over;                /* the row has an error, and says so */
} capacity;

int capacity_check(const cli *asked, problem *why)
{
    if (!strcmp(asked->values[CLI_ON_OOM].text, "skip")) {
        return problem_set(why, EXIT_USAGE,
                           "--on-oom skip: not with capacity, where a workload completes or does not");
    }
    return 0;
}

int capacity_check_plan(const plan *made, problem *why)
{
    for (size_t index = 0; index < made->policy_count; index++) {
        const policy *chosen = &made->policies[index];
        if (!policy_has_limit(chosen)) continue;
        return problem_set(why, EXIT_USAGE,
                           "policy '%s' has a limit key: not with capacity, which searches for the limit",
                           chosen->text);
    }
    return 0;
}

/* One run with so many bytes of the device and no more. */
static void capacity_run(const capacity *self, uint64_t bytes, int is_probe, pass_result *result)
{
    pass_settings settings = *self->settings;
    policy limited = *self->job->chosen;
    if (policy_takes_limit(&limited)) limited.config.limit_bytes = bytes;
    else settings.device.sim.capacity_bytes = bytes + settings.device.sim.context_bytes;
    settings.is_probe = is_probe;
    pass_run(&settings, self->job->stream, &limited, NULL, result);
}

/* Which options of `run` show it again. */
static void capacity_repro(const capacity *self, uint64_t bytes)
{
    if (policy_takes_limit(self->job->chosen)) self->outcome->limit_bytes = bytes;
    else self->outcome->capacity_bytes = bytes + self->settings->device.sim.context_bytes;
}

static void capacity_fail(capacity *self, const pass_result *result, uint64_t bytes)
{
    self->is_over = 1;
    self->outcome->needed_ops = result->needed_ops;
    self->outcome->kept = result->kept;
    if (bytes) capacity_repro(self, bytes);
    runner_status(result->status, result->message, self->made, self->outcome);
}

static void capacity_error(capacity *self, uint64_t bytes, const char *text)
{
    pass_result result;
    memset(&result, 0, sizeof result);
    result.status = PASS_ERROR;
    result.needed_ops = UINT64_MAX;
    snprintf(result.message, sizeof result.message, "under a limit of %" PRIu64 " bytes: %s", bytes, text);
    capacity_fail(self, &result, bytes);
}

/* A policy that cannot even be opened under a limit does not complete under it: it could without one. */
static int capacity_probe(void *user, uint64_t bytes)
{
    capacity *self = user;
    pass_result result;
    self->probes++;
    capacity_run(self, bytes, 1, &result);
    if (result.status == PASS_OK) return 1;
    if (result.status == PASS_OOM || (result.is_unopened && !result.kept)) {
        self->refused = result;
        return 0;
    }
    capacity_fail(self, &result, bytes);
    return -1;
}

static void capacity_stop(const pass_result *result, row *made)
{
    if (result->oom.happened) {
        row_count(made, COLUMN_STOP_OP, result->oom.op);
        row_text(made, COLUMN_STOP_REASON, result->oom.refusal.reason);
        snprintf(made->note, sizeof made->note, "%s", result->oom.refusal.text);
    } else {
        row_count(made, COLUMN_STOP_OP, 0);
        row_text(made, COLUMN_STOP_REASON, "not_opened");
        snprintf(made->note, sizeof made->note, "%s", result->message);
    }
}

static uint64_t capacity_granules(uint64_t bytes)
{
    return bytes > UINT64_MAX - CAPACITY_GRANULE ? bytes / CAPACITY_GRANULE * CAPACITY_GRANULE
         : (bytes + CAPACITY_GRANULE - 1) / CAPACITY_GRANULE * CAPACITY_GRANULE;
}

static void capacity_cells(const capacity *self, const pass_result *result, uint64_t limit_bytes)
{
    const memory_track *memory = &result->memory;
    row *made = self->made;
    row_count(made, COLUMN_REQUESTED_PEAK, memory->requested_peak_bytes);
    row_count(made, COLUMN_MIN_LIMIT, limit_bytes);
    if (memory->requested_peak_bytes) {
        row_real(made, COLUMN_RATIO, (double)limit_bytes / (double)memory->requested_peak_bytes);
    }
    row_count(made, COLUMN_DRIVER_CALLS, result->driver_calls);
    row_count(made, COLUMN_PROBES, self->probes);
    runner_status(PASS_OK, "", made, self->outcome);
    if (self->job->chosen->family != POLICY_ARENA) return;
    row_count(made, COLUMN_REMAPPED_PAGES, result->remapped_pages);
    row_count(made, COLUMN_GPU_WAITS, result->gpu_waits);
}

/* The run that counts, with every check; a GPU that is shared may not have for it what it had for the probe. */
static void capacity_confirm(capacity *self, const capacity_found *found)
{
    pass_result result;
    self->probes++;
    capacity_run(self, found->enough_bytes, 0, &result);
    if (result.status == PASS_OOM) {
        capacity_error(self, found->enough_bytes,
                       "completed, and then it did not; another process may have taken memory");
    } else if (result.status) {
        capacity_fail(self, &result, found->enough_bytes);
    } else {
        capacity_cells(self, &result, found->enough_bytes);
        if (found->below_bytes) capacity_stop(&self->refused, self->made);
    }
}

/* What no limit can be below. */
static uint64_t capacity_least(const policy *chosen, uint64_t requested_bytes)
{
    uint64_t beyond_bytes = chosen->model ? chosen->model->beyond_bytes : 0;
    uint64_t least_bytes = requested_bytes > beyond_bytes ? requested_bytes - beyond_bytes : 1;
    return capacity_granules(least_bytes);
}

static void capacity_bisect(capacity *self, const pass_result *unlimited)
{
    const pass_settings *settings = self->settings;
    uint64_t least_bytes = capacity_least(self->job->chosen, unlimited->memory.requested_peak_bytes);
    uint64_t likely_bytes = capacity_granules(unlimited->memory.reserved_peak_bytes);
    capacity_bounds bounds = { least_bytes, likely_bytes, likely_bytes };
    capacity_found found = { 0, 0 };
    if (!settings->device.is_cuda && settings->device.sim.capacity_bytes > likely_bytes) {
        bounds.most_bytes = settings->device.sim.capacity_bytes / CAPACITY_GRANULE * CAPACITY_GRANULE;
    }
    int answer = capacity_search(&bounds, capacity_probe, self, &found);
    if (answer > 0) {
        capacity_confirm(self, &found);
    } else if (!self->is_over) {
        capacity_error(self, answer ? least_bytes - CAPACITY_GRANULE : bounds.most_bytes,
                       answer ? "completed, with less than the workload requests"
                       : "does not complete, and without a limit it does");
    }
}

void capacity_row(const runner_job *job, const pass_settings *settings, row *made, runner_outcome *outcome)
{
    capacity self;
    pass_result unlimited;
    memset(&self, 0, sizeof self);
    self.job = job;
    self.settings = settings;
    self.made = made;
    self.outcome = outcome;
    runner_identity(job, made);
    self.probes++;
    pass_run(settings, job->stream, job->chosen, NULL, &unlimited);
    if (unlimited.status == PASS_OOM) {
        runner_status(PASS_OOM, "", made, outcome);
        capacity_stop(&unlimited, made);
    } else if (unlimited.status) {
        capacity_fail(&self, &unlimited, 0);
    } else if (!unlimited.memory.requested_peak_bytes) {
        capacity_cells(&self, &unlimited, 0);
    } else if (!policy_takes_limit(job->chosen) && settings->device.is_cuda) {
        capacity_cells(&self, &unlimited, unlimited.memory.reserved_peak_bytes);
    } else {
        capacity_bisect(&self, &unlimited);
    }
}
