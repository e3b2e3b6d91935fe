/* Lists of what there is: policies, devices, and by other parts workloads and needs.
   It must not repeat what a table says.
   Tested by tests/cli.t. */
#include "help_lists.h"

#include <string.h>

#include "cuda_environment.h"
#include "help.h"
#include "help_workloads.h"
#include "nearest.h"
#include "needs/needs.h"
#include "policy.h"
#include "report/plot.h"
#include "sim/sim.h"

/* A label, and words behind it, broken at spaces, and behind commas, before column 112. */
static void help_wrapped(FILE *out, const char *label, const char *text)
{
    int at = fprintf(out, "  %-11s %s", "", label), spaced = 0;
    const int indent = at;
    while (*text) {
        int length = (int)strcspn(text, " ,");
        length += text[length] == ',';
        if (at + spaced + length > 112 && at > indent) {
            at = fprintf(out, "\n%*s", indent, "") - 1;
            spaced = 0;
        }
        at += fprintf(out, "%*s%.*s", spaced, "", length, text);
        text += length;
        spaced = *text == ' ';
        text += spaced;
    }
    fputc('\n', out);
}

void help_list_policies(FILE *out)
{
    fputs("policies\n", out);
    policy_kind kind;
    for (size_t index = 0; policy_kind_at(index, &kind); index++) {
        const char *absent = policy_kind_present(&kind) ? "" : " (not in this build)";
        fprintf(out, "  %-11s %s%s%s\n", kind.name, kind.model ? "model: " : "", kind.summary, absent);
        if (kind.model && *kind.model->lacks) help_wrapped(out, "not: ", kind.model->lacks);
        if (*kind.options) fprintf(out, "  %-11s keys: %s\n", "", kind.options);
    }
    fprintf(out, "  %-11s raw, async, the arena's two and all models; what the device cannot have is left out\n",
            "all");
}

static void help_list_devices(FILE *out)
{
    char total[16];
    cuda_environment found;
    problem trouble = { 0, "" };
    fputs("devices\n  sim:SIZE   simulated; sim is sim:80G; sim:SIZE,vm=off has no virtual memory,\n", out);
    fprintf(out, "  %-10s sim:SIZE,mappings=N no more mappings than N, %u otherwise\n", "", SIM_DEFAULT_MAPPINGS);
    int count = cuda_environment_count(&trouble);
    if (count < 0) fprintf(out, "  cuda:N     none: %s\n", trouble.text);
    for (int ordinal = 0; ordinal < count; ordinal++) {
        problem unknown = { 0, "" };
        fprintf(out, "  cuda:%-5d ", ordinal);
        if (cuda_environment_describe(ordinal, &found, &unknown)) fprintf(out, "%s\n", unknown.text);
        else fprintf(out, "%s, %s, %s\n", found.name, plot_bytes(found.total_bytes, total, sizeof total),
                     found.uuid);
    }
}

int help_list(FILE *out, const char *topic, problem *why)
{
    static const struct { const char *name; void (*list)(FILE *out); int is_apart; } lists[] = {
        { "workloads", help_list_workloads, 0 }, { "policies", help_list_policies, 0 },
        { "devices", help_list_devices, 0 }, { "needs", needs_list, 1 },
    };
    int known = 0;
    char hint[96];
    nearest search = nearest_to(topic ? topic : "");
    for (size_t index = 0; index < sizeof lists / sizeof lists[0]; index++) {
        nearest_offer(&search, lists[index].name);
        if (topic ? strcmp(topic, lists[index].name) != 0 : lists[index].is_apart) continue;
        lists[index].list(out);
        known = 1;
    }
    return known ? 0 : problem_set(why, EXIT_USAGE, "no list of '%s'%s; there is workloads, policies, devices, needs",
                                   topic, nearest_hint(&search, hint, sizeof hint));
}
