/* Options that mean nothing to a command, and rules that are about nothing.
   It must not run anything.
   Tested by tests/cli.t and tests/gate.t. */
#include "run_check.h"

#include <string.h>

#include "../run/batch.h"
#include "../run/capacity.h"
#include "../run/repeat.h"

/* A rule that is about no row would never say anything. */
static int run_check_applies(const plan *made, const rule *asked, problem *why)
{
    const char *one_workload = "", *one_policy = "";
    for (size_t index = 0; index < made->workload_count; index++) {
        const plan_workload *workload = &made->workloads[index];
        for (size_t item = 0; item < made->policy_count; item++) {
            const policy *chosen = &made->policies[item];
            if (!plan_wants(made, workload, chosen)) continue;
            if (rule_matches(asked, workload->text, chosen->text)) return 0;
            one_workload = workload->text;
            one_policy = chosen->text;
        }
    }
    return rule_about_none(asked, one_workload, one_policy, why);
}

int run_check_reference(const plan *made, const rule *asked, const char *besides, problem *why)
{
    problem unknown = { 0, "" };
    if (!asked->reference || rule_refers_to_base(asked) || !strcmp(asked->reference, besides)) return 0;
    for (size_t index = 0; index < made->policy_count; index++) {
        if (!strcmp(asked->reference, made->policies[index].text)) return 0;
    }
    if (!policy_is_named(asked->reference, &unknown)) {
        return problem_set(why, EXIT_USAGE, "--fail-if '%s': %.400s", asked->text, unknown.text);
    }
    return problem_set(why, EXIT_USAGE, "--fail-if '%s': no row is of policy %s: give it to -p too", asked->text,
                       asked->reference);
}

int run_check_rules(const plan *made, const gate *gates, row_kind kind, problem *why)
{
    for (size_t index = 0; index < gates->rule_count; index++) {
        const rule *asked = &gates->rules[index];
        if (run_check_applies(made, asked, why)
            || run_check_reference(made, asked, row_is_run(kind) ? "raw" : "", why)) return -1;
    }
    return 0;
}

int run_check_options(const cli *asked, row_kind kind, problem *why)
{
    const cli_value *values = asked->values;
    if (repeat_check(asked, kind, why)) return -1;
    if (kind != ROW_BATCH && values[CLI_VARY].given) {
        return problem_set(why, EXIT_USAGE, "--vary means nothing to %s: it is batch that varies workloads",
                           asked->command);
    }
    if (kind == ROW_BATCH && values[CLI_ROUNDS].given) {
        return problem_set(why, EXIT_USAGE, "--rounds means nothing to batch, where --repeat says the same");
    }
    if (kind == ROW_CAPACITY && capacity_check(asked, why)) return -1;
    if (kind == ROW_BATCH && batch_check(asked, why)) return -1;
    if (!values[CLI_INSTRUCTIONS].given) return 0;
    return problem_set(why, EXIT_USAGE, "--instructions means nothing to %s: it is holes that counts them",
                       asked->command);
}
