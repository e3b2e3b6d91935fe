/* From options to a plan: device, policies, op streams, each checked.
   It must not run anything but trial openings of policies.
   Tested by tests/cli.t. */
#include "plan.h"

#include <stdlib.h>
#include <string.h>

#define PLAN_DEVICE_TEXT "sim:80G"

static int plan_size_device(plan *self, const char *text, const char *size, problem *why)
{
    if (cli_read_size(size, &self->settings.device.capacity_bytes) ||
        self->settings.device.capacity_bytes < SIM_GRANULE) {
        return problem_set(why, EXIT_USAGE,
                           "--device: expected sim:SIZE with a size such as 80G, at least 2M, found '%s'", text);
    }
    self->device = text;
    return 0;
}

static int plan_device(plan *self, const cli *asked, problem *why)
{
    const char *text = asked->values[CLI_DEVICE].text;
    if (!strcmp(text, "auto") && !asked->values[CLI_QUIET].given) {
        fputs("stress: --device auto: this version reaches no CUDA device; running on " PLAN_DEVICE_TEXT
              ", simulated\n", stderr);
    }
    if (!strcmp(text, "auto") || !strcmp(text, "sim")) text = PLAN_DEVICE_TEXT;
    if (!strncmp(text, "sim:", 4)) return plan_size_device(self, text, text + 4, why);
    uint64_t number;
    if (!strncmp(text, "cuda:", 5) && !cli_read_number(text + 5, &number)) {
        return problem_set(why, EXIT_NO_DEVICE,
                           "--device %s: this version reaches no CUDA device; --device sim:80G is simulated", text);
    }
    return problem_set(why, EXIT_USAGE, "--device: expected sim, sim:SIZE, auto or cuda:N, found '%s'", text);
}

/* A sim is made once for its own checks of capacity, context and faults. */
static int plan_try_device(plan *self, problem *why)
{
    sim *trial = sim_create(&self->settings.device, why);
    sim_destroy(trial);
    return trial ? 0 : -1;
}

static verify_mode plan_verify(const char *text)
{
    return !strcmp(text, "off") ? VERIFY_OFF : !strcmp(text, "sample") ? VERIFY_SAMPLE : VERIFY_FULL;
}

static int plan_settings(plan *self, const cli *asked, problem *why)
{
    const cli_value *values = asked->values;
    pass_settings *settings = &self->settings;
    settings->device.context_bytes = values[CLI_CONTEXT].number;
    settings->device.faults = values[CLI_FAULTS].text;
    settings->op_ns = values[CLI_OP_NS].number;
    settings->skip_oom = !strcmp(values[CLI_ON_OOM].text, "skip");
    settings->verify = plan_verify(values[CLI_VERIFY].text);
    self->timed = !values[CLI_NO_TIMING].given;
    if (plan_device(self, asked, why)) return -1;
    if (values[CLI_COSTS].text) {
        self->costs = *sim_costs_default();
        if (sim_costs_read(values[CLI_COSTS].text, &self->costs, why)) return -1;
        settings->device.costs = &self->costs;
    }
    return plan_try_device(self, why);
}

static int plan_filter(plan *self, const char *text, problem *why)
{
    char message[128];
    if (!text) return 0;
    int code = regcomp(&self->filter, text, REG_EXTENDED | REG_NOSUB);
    if (!code) {
        self->filtered = 1;
        return 0;
    }
    regerror(code, &self->filter, message, sizeof message);
    return problem_set(why, EXIT_USAGE, "--filter '%s': %s", text, message);
}

int plan_wants(const plan *self, const plan_workload *workload, const policy *chosen)
{
    char name[2048];
    if (!self->filtered) return 1;
    snprintf(name, sizeof name, "%s/%s", workload->text, chosen->text);
    return regexec(&self->filter, name, 0, NULL, 0) == 0;
}

/* Whether keys agree with each other and with the device is only known when an arena is made. Not enough memory
   for it is no mistake of the user's: the row will say so. */
static int plan_try_policy(const plan *self, const policy *chosen, problem *why)
{
    sim_config device = self->settings.device;
    problem trouble = { 0, "" };
    pool trial;
    device.faults = NULL;
    sim *made = sim_create(&device, why);
    if (!made) return -1;
    if (!pool_open(&trial, chosen, made, &trouble)) pool_close(&trial);
    sim_destroy(made);
    return trouble.exit_code == EXIT_USAGE ? problem_set(why, EXIT_USAGE, "%s", trouble.text) : 0;
}

static int plan_policies(plan *self, const cli *asked, problem *why)
{
    const cli_value *items = &asked->values[CLI_POLICY];
    if (!items->item_count) return problem_set(why, EXIT_USAGE, "no policy: -p NAME (stress list policies)");
    self->policies = calloc(items->item_count, sizeof *self->policies);
    if (!self->policies) return problem_set(why, EXIT_HARNESS, "no host memory for the policies");
    for (size_t index = 0; index < items->item_count; index++) {
        policy *made = &self->policies[index];
        if (policy_parse(items->items[index], asked->values[CLI_LIMIT].number, made, why)
            || plan_try_policy(self, made, why)) return -1;
        self->policy_count++;
    }
    return 0;
}

static void plan_options(plan *self, const cli *asked)
{
    const cli_value *values = asked->values;
    workload_options *options = &self->options;
    options->seed_given = values[CLI_SEED].given;
    options->seed = values[CLI_SEED].number;
    options->steps_given = values[CLI_STEPS].given;
    options->steps = values[CLI_STEPS].number;
    options->ops_given = values[CLI_OPS].given || values[CLI_QUICK].given;
    options->ops = values[CLI_OPS].given ? values[CLI_OPS].number : PLAN_QUICK_OPS;
}

static int plan_workloads(plan *self, const cli *asked, problem *why)
{
    const cli_value *items = &asked->values[CLI_WORKLOAD];
    if (!items->item_count) return problem_set(why, EXIT_USAGE, "no workload: -w NAME (stress list workloads)");
    self->workloads = calloc(items->item_count, sizeof *self->workloads);
    if (!self->workloads) return problem_set(why, EXIT_HARNESS, "no host memory for the workloads");
    for (size_t index = 0; index < items->item_count; index++) {
        plan_workload *made = &self->workloads[index];
        made->text = items->items[index];
        if (workload_make(made->text, &self->options, &made->stream, why)) return -1;
        self->workload_count++;
    }
    return 0;
}

static int plan_wants_any(const plan *self, problem *why)
{
    for (size_t workload = 0; workload < self->workload_count; workload++) {
        for (size_t index = 0; index < self->policy_count; index++) {
            if (plan_wants(self, &self->workloads[workload], &self->policies[index])) return 0;
        }
    }
    return problem_set(why, EXIT_USAGE, "--filter: matches none of the rows, which are named WORKLOAD/POLICY");
}

int plan_make(plan *self, const cli *asked, problem *why)
{
    memset(self, 0, sizeof *self);
    plan_options(self, asked);
    if (plan_settings(self, asked, why) || plan_filter(self, asked->values[CLI_FILTER].text, why)
        || plan_policies(self, asked, why) || plan_workloads(self, asked, why)) return -1;
    return plan_wants_any(self, why);
}

void plan_free(plan *self)
{
    for (size_t index = 0; index < self->workload_count; index++) op_stream_free(&self->workloads[index].stream);
    if (self->filtered) regfree(&self->filter);
    free(self->workloads);
    free(self->policies);
}
