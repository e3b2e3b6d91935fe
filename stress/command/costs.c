/* The command `costs`: measures a device's driver calls, and writes a file for --costs. */
#include "command.h"

static int costs_act(const cli *asked, problem *why)
{
    static report made = { .plain = "costs=-" };
    plan self = { .device = "" };
    costs_table table;
    char line[512], about[600];
    made.asked = asked;
    made.device = about;
    made.costs = &table;
    if (asked->values[CLI_OUT].item_count > 1) return problem_set(why, EXIT_USAGE, "--out: costs writes one file");
    if (report_parse(&made, why) || report_try(&made, NULL, why) || plan_device(&self, asked, why)
        || plan_present(&self, why)) return -1;
    const cuda_environment *environment = made.environment = plan_environment(&self);
    snprintf(about, sizeof about, "%s: %s", self.device,
             environment ? cuda_environment_line(environment, line, sizeof line) : "simulated, virtual nanoseconds");
    if (asked->values[CLI_VERBOSE].given) program_say("device %s\n", about);
    device *measured = device_open(&self.settings.device, why);
    if (!measured) return -1;
    int failed = costs_measure(device_driver(measured), &table, why);
    if (device_close(measured, why) || failed) return -1;
    /* kinds that the file leaves out keep their defaults where it is read */
    for (int at = 0; at < SIM_COST_KINDS && !asked->values[CLI_QUIET].given; at++) {
        const sim_cost_kind kind = (sim_cost_kind)at;
        if (!costs_measures(&table, kind) || costs_fit_kind(&table, kind).row_count) continue;
        program_say("%s was not measured and is left out: no call was of that kind\n", sim_costs_name(kind));
    }
    return report_files(&made, why);
}

const command command_costs = { "costs", "[--device sim|cuda:N] [--out costs=FILE]", 0, costs_act };
