/* Device, measurement, file.
   It must not know how costs are measured or fitted.
   Tested by tests/costs.t. */
#include "costs_command.h"

#include <string.h>

#include "plan.h"
#include "report/environment.h"
#include "report/output.h"

/* Whether an option means anything here. */
static int costs_has_option(size_t index)
{
    static const cli_id known[] = { CLI_DEVICE, CLI_FAULTS, CLI_COSTS, CLI_CONTEXT, CLI_OUT, CLI_QUIET, CLI_VERBOSE };
    for (size_t at = 0; at < sizeof known / sizeof known[0]; at++) {
        if ((size_t)known[at] == index) return 1;
    }
    return 0;
}

static int costs_options(const cli *asked, problem *why)
{
    for (size_t index = 0; cli_option_at(index); index++) {
        if (!asked->values[index].given || costs_has_option(index)) continue;
        return problem_set(why, EXIT_USAGE, "--%s means nothing to costs, which measures a device alone",
                           cli_option_at(index)->name);
    }
    return 0;
}

static int costs_output(const cli *asked, output *made, problem *why)
{
    const cli_value *items = &asked->values[CLI_OUT];
    if (items->item_count > 1) return problem_set(why, EXIT_USAGE, "--out: costs writes one file");
    return output_parse(items->item_count ? items->items[0] : "costs=-", "costs", made, why)
        || output_try(made, why) ? -1 : 0;
}

static int costs_of_device(const plan *self, costs_table *made, problem *why)
{
    device *measured = device_open(&self->settings.device, why);
    if (!measured) return -1;
    int failed = costs_measure(device_driver(measured), made, why);
    device_close(measured);
    return failed;
}

int costs_command(const cli *asked, const char *const *argv, problem *why)
{
    plan self;
    output made;
    costs_table table;
    char about[600], line[512];
    (void)argv;
    memset(&self, 0, sizeof self);
    if (costs_options(asked, why) || costs_output(asked, &made, why) || plan_device(&self, asked, why)) {
        return why->exit_code;
    }
    const cuda_environment *environment = plan_environment(&self);
    snprintf(about, sizeof about, "%s: %s", self.device,
             environment ? environment_line(environment, line, sizeof line) : "simulated, virtual nanoseconds");
    if (asked->values[CLI_VERBOSE].given) fprintf(stderr, "stress: device %s\n", about);
    const output_material material = { NULL, about, NULL, environment, &table };
    return costs_of_device(&self, &table, why) || output_write(&made, &material, why) ? why->exit_code : EXIT_PASS;
}
