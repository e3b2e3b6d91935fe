/* --device: which one, and whether it is there; what shapes a simulated one.
   It must not run anything but a trial opening.
   Tested by tests/cli.t and tests/cuda_stress.t. */
#include <string.h>

#include "plan.h"
#include "../base/program.h"
#include "../base/slice.h"

#define PLAN_DEVICE_TEXT "sim:80G"

/* The first option given that a CUDA device has nothing of; NULL: none. */
static const cli_option *plan_simulated_option(const cli *asked)
{
    for (size_t index = 0; cli_option_at(index); index++) {
        const cli_option *option = cli_option_at(index);
        if (asked->values[index].given && option->effect == CLI_SHAPES_SIMULATION) return option;
    }
    return NULL;
}

/* A sim is made once for its own checks of capacity, context and faults. */
static int plan_try_simulated(const plan *self, problem *why)
{
    device *trial = device_open(&self->settings.device, why);
    return !trial || device_close(trial, why) ? -1 : 0;
}

/* One of what may follow the size. 1, or 0: it is none. */
static int plan_read_shape(slice part, sim_config *shape)
{
    slice name;
    uint64_t number;
    if (slice_is(part, "vm=off") || slice_is(part, "vm=on")) {
        shape->without_vm = slice_is(part, "vm=off") ? 1 : 0;
        return 1;
    }
    if (!slice_begins(part, "mappings=") || !slice_take(&part, '=', &name)) return 0;
    if (!slice_decimal(part, &number) || number == 0 || number > UINT32_MAX) return 0;
    shape->most_mappings = (uint32_t)number;
    return 1;
}

/* SIZE{,PART}. 1, or 0: it is not. */
static int plan_read_simulated(const char *text, sim_config *shape)
{
    char size[32];
    slice rest = slice_of(text), part;
    size_t length = strcspn(text, ",");
    if (length >= sizeof size || (text[length] && !text[length + 1])) return 0;
    memcpy(size, text, length);
    size[length] = '\0';
    if (cli_read_size(size, &shape->capacity_bytes) || shape->capacity_bytes < SIM_GRANULE) return 0;
    slice_take(&rest, ',', &part);
    while (slice_take(&rest, ',', &part)) {
        if (!plan_read_shape(part, shape)) return 0;
    }
    return 1;
}

static int plan_simulated(plan *self, const cli *asked, const char *text, problem *why)
{
    const cli_value *values = asked->values;
    device_config *config = &self->settings.device;
    if (!plan_read_simulated(text + strlen("sim:"), &config->sim) || strlen(text) >= sizeof self->device) {
        return problem_set(why, EXIT_USAGE, "--device: expected sim:SIZE[,vm=off][,mappings=N] with a size such as "
                           "80G, at least 2M, found '%s'", text);
    }
    snprintf(self->device, sizeof self->device, "%s", text);
    config->sim.context_bytes = values[CLI_CONTEXT].number;
    config->sim.faults = values[CLI_FAULTS].text;
    config->op_ns = values[CLI_OP_NS].number;
    self->settings.rate = values[CLI_RATE].number;
    if (values[CLI_COSTS].text) {
        self->costs = *sim_costs_default();
        if (sim_costs_read(values[CLI_COSTS].text, &self->costs, why)) return -1;
        config->sim.costs = &self->costs;
    }
    return plan_try_simulated(self, why);
}

static int plan_cuda(plan *self, int ordinal, problem *why)
{
    self->settings.device.is_cuda = 1;
    self->settings.device.ordinal = ordinal;
    snprintf(self->device, sizeof self->device, "cuda:%d", ordinal);
    return cuda_environment_record(ordinal, &self->environment, why);
}

static int plan_cuda_asked(plan *self, const cli *asked, const char *text, problem *why)
{
    uint64_t number;
    const cli_option *surplus = plan_simulated_option(asked);
    if (cli_read_number(text + strlen("cuda:"), &number) || number > INT32_MAX) {
        return problem_set(why, EXIT_USAGE, "--device: expected cuda:N with N from 0, found '%s'", text);
    }
    if (surplus) {
        return problem_set(why, EXIT_USAGE, "--%s shapes simulated devices alone, and --device is %s", surplus->name,
                           text);
    }
    problem trouble = { 0, "" };
    if (plan_cuda(self, (int)number, &trouble))
        problem_set(&self->absent, trouble.exit_code, "--device %s: %.400s", text, trouble.text);
    return 0;
}

int plan_present(const plan *self, problem *why)
{
    return self->absent.exit_code ? problem_set(why, self->absent.exit_code, "%s", self->absent.text) : 0;
}

/* Why not CUDA; NULL: it answers, and nothing that is asked for needs the simulated device. */
static const char *plan_auto_obstacle(plan *self, const cli *asked, problem *trouble)
{
    const cli_option *simulated = plan_simulated_option(asked);
    if (simulated) problem_set(trouble, EXIT_NO_DEVICE, "--%s shapes simulated devices", simulated->name);
    else if (cuda_environment_count(trouble) > 0) plan_cuda(self, 0, trouble);
    return trouble->exit_code ? trouble->text : NULL;
}

static int plan_auto(plan *self, const cli *asked, problem *why)
{
    problem trouble = { 0, "" };
    int quiet = asked->values[CLI_QUIET].given;
    const char *obstacle = plan_auto_obstacle(self, asked, &trouble);
    if (!obstacle) {
        if (!quiet) program_say("--device auto: running on cuda:0, %s\n", self->environment.name);
        return 0;
    }
    if (!quiet) program_say("--device auto: running on " PLAN_DEVICE_TEXT ", simulated: %s\n", obstacle);
    memset(&self->settings.device, 0, sizeof self->settings.device);
    return plan_simulated(self, asked, PLAN_DEVICE_TEXT, why);
}

int plan_device(plan *self, const cli *asked, problem *why)
{
    const char *text = asked->values[CLI_DEVICE].text;
    if (!strcmp(text, "auto")) return plan_auto(self, asked, why);
    if (!strcmp(text, "sim")) text = PLAN_DEVICE_TEXT;
    if (!strncmp(text, "sim:", 4)) return plan_simulated(self, asked, text, why);
    if (!strncmp(text, "cuda:", 5)) return plan_cuda_asked(self, asked, text, why);
    return problem_set(why, EXIT_USAGE, "--device: expected sim, sim:SIZE, auto or cuda:N, found '%s'", text);
}
