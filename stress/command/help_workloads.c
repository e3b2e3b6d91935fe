/* Workloads for people: what each is, its peak, its options.
   It must not repeat what a table says, nor know any family by name.
   Tested by tests/workloads.t. */
#include "help_workloads.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "help_lists.h"
#include "../base/program.h"
#include "../report/plot.h"
#include "../workload/workload.h"

void help_list_workloads(FILE *out)
{
    fputs("workloads\n", out);
    for (size_t index = 0; workload_family_at(index); index++) {
        help_line(out, workload_family_at(index)->name, workload_family_at(index)->summary);
    }
    help_line(out, "needs", "what people ask of GPU memory, as verdicts; needs:NAME one of them: stress list needs");
    help_line(out, "all", "each of those that need no file, but needs");
}

static int help_is_recording(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return dot && (!strcmp(dot, ".trace") || !strcmp(dot, ".csv"));
}

/* Those that come along, as the folder has them. */
static void help_recordings(FILE *out)
{
    char folder[PROGRAM_PATH_BYTES];
    struct dirent **found = NULL;
    int count = program_file("recordings", folder, sizeof folder)
              ? 0 : scandir(folder, &found, help_is_recording, alphasort);
    fputs("replay:NAME, without '/', where the current folder has no such file: a recording that comes along\n", out);
    if (count <= 0) fputs("  there are none here\n", out);
    for (int at = 0; at < count; at++) {
        fprintf(out, "  replay:%s\n", found[at]->d_name);
        free(found[at]);
    }
    free(found);
}

/* The family, and each of its options with what is allowed. */
static void help_workload_page(FILE *out, size_t index)
{
    char text[120];
    const workload_family *family = workload_family_at(index);
    fprintf(out, "%s: %s\n", family->name, family->summary);
    if (family->peak) {
        plot_bytes(family->peak_bytes, text, sizeof text);
        fprintf(out, "  peak %s, %" PRIu64 " bytes: %s\n", text, family->peak_bytes, family->peak);
    }
    for (size_t option = 0; workload_option_text(index, option, text, sizeof text); option++) {
        fprintf(out, "  %s\n", text);
    }
}

int help_workload(FILE *out, const char *name)
{
    for (size_t index = 0; workload_family_at(index); index++) {
        if (strcmp(workload_family_at(index)->name, name)) continue;
        fputs("a workload, for -w; NAME:key=value,.. with these keys:\n", out);
        help_workload_page(out, index);
        return 1;
    }
    return 0;
}

int help_workloads(FILE *out)
{
    fputs("-w NAME:key=value,..: the options of each, their defaults, and what else they may be\n", out);
    for (size_t index = 0; workload_family_at(index); index++) help_workload_page(out, index);
    help_recordings(out);
    return 0;
}
