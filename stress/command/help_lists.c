/* Lists of what there is, a line a thing: policies, devices, and by other parts workloads and needs.
   It must not repeat what a table says.
   Tested by tests/cli.t. */
#include "help_lists.h"

#include <string.h>

#include "../device/cuda_environment.h"
#include "help.h"
#include "help_workloads.h"
#include "../base/nearest.h"
#include "../needs/needs.h"
#include "../policy/policy.h"
#include "../policy/policy_name.h"
#include "../report/plot.h"
#include "../report/table.h"
#include "../report/table_columns.h"
#include "../sim/sim.h"

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

void help_line(FILE *out, const char *name, const char *text)
{
    char line[1024];
    snprintf(line, sizeof line, "  %-22s %s", name, text);
    table_cut(line, table_style_for(out, "never").width);
    fprintf(out, "%s\n", line);
}

static const char *help_absent(const policy_kind *kind)
{
    return policy_kind_present(kind) ? "" : " (not in this build)";
}

/* The name that people read, and the short one. */
static const char *help_policy_names(const policy_kind *kind, char *text, size_t size)
{
    char shown[64];
    policy_name_shown(kind->name, shown, sizeof shown);
    snprintf(text, size, strcmp(shown, kind->name) ? "%s, %s" : "%s", shown, kind->name);
    return text;
}

static void help_policy_page(FILE *out, const policy_kind *kind)
{
    char names[80];
    fprintf(out, "  %s: %s%s%s\n", help_policy_names(kind, names, sizeof names), kind->model ? "model: " : "",
            kind->summary, help_absent(kind));
    if (kind->model && *kind->model->lacks) help_wrapped(out, "not: ", kind->model->lacks);
    if (*kind->options) help_wrapped(out, "keys: ", kind->options);
}

int help_policy(FILE *out, const char *name)
{
    char short_name[64];
    policy_kind kind;
    snprintf(short_name, sizeof short_name, "%s", name);
    policy_name_shorten(short_name);
    for (size_t index = 0; policy_kind_at(index, &kind); index++) {
        if (strcmp(kind.name, short_name)) continue;
        fputs("a policy, for -p\n", out);
        help_policy_page(out, &kind);
        return 1;
    }
    return 0;
}

void help_policies(FILE *out)
{
    policy_kind kind;
    fputs("policies\n", out);
    for (size_t index = 0; policy_kind_at(index, &kind); index++) help_policy_page(out, &kind);
}

static void help_list_policies(FILE *out)
{
    char names[80], text[512];
    fputs("policies\n", out);
    policy_kind kind;
    for (size_t index = 0; policy_kind_at(index, &kind); index++) {
        snprintf(text, sizeof text, "%s%s%s", kind.model ? "model: " : "", kind.summary, help_absent(&kind));
        help_line(out, help_policy_names(&kind, names, sizeof names), text);
    }
    help_line(out, "all", "all of these but config and cub-library; left out: what the device lacks");
}

static void help_list_devices(FILE *out)
{
    char total[32], name[24], text[600];
    cuda_environment found;
    problem trouble = { 0, "" };
    fputs("devices\n", out);
    help_line(out, "sim:SIZE", "simulated; sim is sim:80G");
    help_line(out, "sim:SIZE,vm=off", "without virtual memory");
    snprintf(text, sizeof text, "with no more mappings than N, %u otherwise", SIM_DEFAULT_MAPPINGS);
    help_line(out, "sim:SIZE,mappings=N", text);
    int count = cuda_environment_count(&trouble);
    snprintf(text, sizeof text, "none: %s", trouble.text);
    if (count < 0) help_line(out, "cuda:N", text);
    for (int ordinal = 0; ordinal < count; ordinal++) {
        problem unknown = { 0, "" };
        snprintf(name, sizeof name, "cuda:%d", ordinal);
        int is_unknown = cuda_environment_describe(ordinal, &found, &unknown) != 0;
        snprintf(text, sizeof text, "%s, %s, %s", found.name, plot_bytes(found.total_bytes, total, sizeof total),
                 found.uuid);
        help_line(out, name, is_unknown ? unknown.text : text);
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
