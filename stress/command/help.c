/* The commands help, list and version: texts for people, made from the tables wherever there is one. */
#include "command.h"

#include <dirent.h>
#include <signal.h>

#include "../device/cuda_environment.h"
#include "../policy/policy.h"
#include "../report/table.h"
#include "../sim/costs.h"
#include "../workload/workload.h"

/* ---- Lists of policies, devices and workloads, one line each */

/* Prints a text behind the `at` columns that the line has already. Lines break at spaces and behind commas before
   column 112; further lines are indented to `at`. */
static void help_wrapped(FILE *out, int at, const char *text)
{
    const int indent = at;
    int spaced = 0;
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

/* Prints a line of a list. Where it is wider than the terminal, or COLUMNS, it is cut, and the cut is marked. */
PROBLEM_FORMAT(3, 4)
static void help_line(FILE *out, const char *name, const char *format, ...)
{
    char line[1024];
    int length = snprintf(line, sizeof line, "  %-22s ", name);
    PROBLEM_PRINT(line + length, sizeof line - (size_t)length, format);
    table_cut(line, table_style_for(out, "never").width);
    fprintf(out, "%s\n", line);
}

/* The full name of a policy, and the short one. */
static const char *help_policy_names(const policy_kind *kind, char *text, size_t size)
{
    snprintf(text, size, "%s%s%s", kind->shown ? kind->shown : "", kind->shown ? ", " : "", kind->name);
    return text;
}

static const char *help_policy_text(const policy_kind *kind, char *text, size_t size)
{
    snprintf(text, size, "%s%s%s", kind->model ? "model: " : "", kind->summary,
             kind->family != POLICY_RIVAL || rival_present() ? "" : " (not in this build)");
    return text;
}

static void help_policy_page(FILE *out, const policy_kind *kind)
{
    char names[80], text[512];
    fprintf(out, "  %s: %s\n", help_policy_names(kind, names, sizeof names),
            help_policy_text(kind, text, sizeof text));
    if (kind->model && *kind->model->lacks) help_wrapped(out, fprintf(out, "%19s", "not: "), kind->model->lacks);
    if (*kind->options) help_wrapped(out, fprintf(out, "%20s", "keys: "), kind->options);
}

static void help_policies(FILE *out)
{
    policy_kind kind;
    fputs("policies\n", out);
    for (size_t index = 0; policy_kind_at(index, &kind); index++) help_policy_page(out, &kind);
}

static void help_list_policies(FILE *out)
{
    char names[80], text[512];
    policy_kind kind;
    fputs("policies\n", out);
    for (size_t index = 0; policy_kind_at(index, &kind); index++) {
        help_line(out, help_policy_names(&kind, names, sizeof names), "%s",
                  help_policy_text(&kind, text, sizeof text));
    }
    help_line(out, "all", "all of these but config and cub-library, and those that the device lacks");
}

static void help_list_workloads(FILE *out)
{
    fputs("workloads\n", out);
    for (size_t index = 0; workload_family_at(index); index++) {
        help_line(out, workload_family_at(index)->name, "%s", workload_family_at(index)->summary);
    }
    help_line(out, "all", "each of those that need no file");
}

static void help_list_devices(FILE *out)
{
    char total[32], name[24];
    problem trouble = { 0, "" };
    fputs("devices\n", out);
    help_line(out, "sim:SIZE", "simulated; sim is sim:80G");
    help_line(out, "sim:SIZE,vm=off", "without virtual memory");
    help_line(out, "sim:SIZE,mappings=N", "with no more mappings than N, %u otherwise", SIM_DEFAULT_MAPPINGS);
    int count = cuda_environment_count(&trouble);
    if (count < 0) help_line(out, "cuda:N", "none: %s", trouble.text);
    for (int ordinal = 0; ordinal < count; ordinal++) {
        cuda_environment found;
        problem unknown = { 0, "" };
        snprintf(name, sizeof name, "cuda:%d", ordinal);
        if (cuda_environment_describe(ordinal, &found, &unknown)) help_line(out, name, "%s", unknown.text);
        else help_line(out, name, "%s, %s, %s", found.name, text_bytes(found.total_bytes, total, sizeof total),
                       found.uuid);
    }
}

/* topic NULL: all lists. */
static int help_list(FILE *out, const char *topic, problem *why)
{
    static const struct { const char *name; void (*list)(FILE *out); } lists[] = {
        { "workloads", help_list_workloads }, { "policies", help_list_policies }, { "devices", help_list_devices },
    };
    int known = 0;
    char hint[96];
    nearest search = nearest_to(topic ? topic : "");
    for (size_t index = 0; index < sizeof lists / sizeof lists[0]; index++) {
        nearest_offer(&search, lists[index].name);
        if (topic && strcmp(topic, lists[index].name)) continue;
        lists[index].list(out);
        known = 1;
    }
    return known ? 0 : problem_set(why, EXIT_USAGE, "no list of '%s'%s; there are workloads, policies, devices",
                                   topic, nearest_hint(&search, hint, sizeof hint));
}

/* ---- `stress help measuring`: how times are measured, and how far they can be trusted */

static const char help_measuring[] =
    "Times come from a pass of its own over the same operations, after the verified one. If that pass does anything\n"
    "else (digest), the row is void: status error, exit 4. On CUDA one timing pass more comes first and is dropped\n"
    "(--warmup). A hit is an allocation that makes no driver call, a miss one that does. Percentiles are upper ends\n"
    "of buckets, at most 1/32 too high; a cell is empty where fewer than ten samples lie above it.\n"
    "--repeat N makes every row N times, policies in turn, every second time backwards. From six times on the table\n"
    "has the median with its 95 % confidence interval; percentiles are of all repeats' samples together.\n"
    "--repeat auto, on a CUDA device, goes on until half the interval of host_ns_per_op is at most --precision (2%)\n"
    "of its median, for every policy of a workload: looked at after 6, 9, 14, 21, 32, 48 and 60 times, the most. Or\n"
    "until --budget seconds (60) have gone. Column ended says which: precise, rounds, time; a gate: --fail-if\n"
    "'ended != precise'. Holes and bench end the same way, by their ratios, after 25 to 201 rounds.\n"
    "--rate N, on simulated devices: N allocations and frees a virtual second are due at fixed times, whether or\n"
    "not the ones before are done. waited_..: from when an op was due to its end; served_..: from when it could\n"
    "begin, which is all that a loop sees that waits for each op (coordinated omission).\n"
    "JSON names the machine of measured times: host and, of CUDA, environment; -v tells both. Instructions are the\n"
    "same every time: holes --instructions, bench --instructions.\n";

/* ---- `stress help outputs`: the kinds of --out */

static const char help_outputs[] =
    "--out KIND=PATH, as often as wanted; PATH - is stdout, and then the table goes to stderr\n";

static void help_output_list(FILE *out)
{
    for (const output_kind *const *each = output_kinds; *each; each++) {
        help_wrapped(out, fprintf(out, "  %-10s ", (*each)->name), (*each)->note);
    }
    fputs("Every number in a picture is a cell of the csv of the same run, which its element names (data-row,\n"
          "data-column), and every point of a line a row of series or latency.\n", out);
}

/* ---- Workloads for people: the summary of each, its peak, its options */

static int help_is_recording(const struct dirent *entry)
{
    const char *dot = strrchr(entry->d_name, '.');
    return dot && (!strcmp(dot, ".trace") || !strcmp(dot, ".csv"));
}

/* Prints the family, and each of its options with the allowed values. */
static void help_workload_page(FILE *out, size_t index)
{
    char text[120];
    const workload_family *each = workload_family_at(index);
    fprintf(out, "%s: %s\n", each->name, each->summary);
    if (each->peak) {
        text_bytes(each->peak_bytes, text, sizeof text);
        fprintf(out, "  peak %s, %" PRIu64 " bytes: %s\n", text, each->peak_bytes, each->peak);
    }
    for (size_t option = 0; workload_option_text(index, option, text, sizeof text); option++) {
        fprintf(out, "  %s\n", text);
    }
}

static const char help_workloads[] =
    "-w NAME:key=value,..: the options of each workload, their defaults, and the values that they may have\n";

/* Lists the recordings in the installed folder. */
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

static void help_workload_list(FILE *out)
{
    for (size_t index = 0; workload_family_at(index); index++) help_workload_page(out, index);
    help_recordings(out);
}

/* ---- Texts */

static const char help_top[] =
    "stress: GPU memory policies against randomized and recorded workloads, on a simulated device\n"
    "or a CUDA one\n"
    "\n";

static const char help_bottom[] =
    "\n"
    "Sizes are binary: 64K, 512M, 4G, 1T; 4GB and 4GiB are 4G. An option given twice counts the last time; -w, -p,\n"
    "--fail-if and --out add up.\n"
    "\n"
    "Examples\n"
    "  stress run -w train -p cudaMalloc,segments --out html=report.html\n"
    "  stress run -w replay:step.trace -p segments --limit 1G      where does it run out, and why?\n"
    "  stress run -w train:steps=3,layers=4 -p config:growth=step,step=64M,limit=80%\n"
    "  stress run -w uniform -p segments --no-timing --out csv=-   the same bytes every time\n"
    "  stress run -w train -p cudaMalloc,paged --fail-if '*/paged: footprint > 1.05'   exit 1 if so\n"
    "  stress capacity -w train -p cudaMalloc,segments             the smallest limit that is enough\n"
    "\n"
    "Exit codes (the highest of 4, 3, 2, 1 that applies)\n"
    "  0   all rows done; out of memory in a workload is a result, not an error\n"
    "  1   a gate failed\n"
    "  2   usage: an option, name, key or input file\n"
    "  3   verification failed: the line 'repro:' on stderr shows it again\n"
    "  4   device or harness error, or output that could not be written\n"
    "  77  the device asked for is not there, or a policy's library is not in this build\n"
    "  128 + the signal's number: ended by it; 130 by Ctrl-C (SIGINT), 143 by SIGTERM, 129 by SIGHUP\n"
    "After such a signal run, capacity and batch leave out the row under way and write the finished ones; a second\n"
    "signal ends them at once. Files that lack rows say so: CSV in its last line, '# partial: 3 of 12 rows, then\n"
    "SIGINT', JUnit by an error. On a disk that is full no file changes: exit 4.\n"
    "\n"
    "Environment: COLUMNS, NO_COLOR, FORCE_COLOR, TERM, CI, GITHUB_STEP_SUMMARY; of Slurm, MPI and Kubernetes:\n"
    "stress help shards. GPUARENA_CONF is ignored.\n";

static const char help_lists[] =
    "-w and -p take items separated by commas, each NAME or NAME:key=value,key=value. A part whose first of\n"
    "':' and '=' is '=' continues the item on its left. Three policies:\n"
    "  -p cudaMalloc,segments:growth=step,step=64M,config:limit=4G\n"
    "A part that begins with a digit is another value of the key on its left. Four workloads, and two policies:\n"
    "  -w train:batch=1,2,seq=512,1024 -p segments:limit=4G,8G\n"
    "-w all, -p all: each that there is (stress list). Where cudaMalloc is not among the policies, run adds it to\n"
    "its table, dimmed, as a baseline: it is in no file and fails no run. With -q it does not run.\n"
    "config:key=value,.. is an arena by its keys alone. Paths with commas are refused. Workloads and their keys:\n"
    "stress help workloads.\n"
    "\n";

static const char help_threads[] =
    "-w WORKLOAD --threads N, N from 1 to 64: so many threads share one policy. Each runs the workload with streams\n"
    "and a seed of its own, drawn from the workload's seed and the thread's number; thread 0 has the seed as it is.\n"
    "-w A+B: workloads joined by '+', with their keys (train:seq=512+uniform:n=500,max=8), are one row. They are\n"
    "dealt to the threads in turn: with --threads N threads 0, 2, .. run A, threads 1, 3, .. run B.\n"
    "The seed decides which thread's operation is next, so verdicts and counts are the same for the same seed.\n"
    "Times are those of as many real threads, which start together and each keep their own order: they allocate\n"
    "and free only. host_ns_per_op is the time from the first thread's start to the last one's end, over the ops\n"
    "of all; alloc_p50_ns and so on are those of single calls. If memory runs out for the real threads alone, those\n"
    "cells stay empty. cub-library is not timed. --out trace has the operations in their order, without threads.\n";

static const char help_faults[] =
    "--faults TEXT: parts separated by ';' or ','\n"
    "  KIND:N[+][=CODE]     the Nth call of this kind fails, with + every one from it on;\n"
    "                       KIND: obtain, give_back, info; reserve, release, create, destroy, map, access, unmap\n"
    "                       (cuMemAddressReserve to cuMemUnmap); any; CODE: 2 where memory is asked for, else 999\n"
    "  obtain>SIZE[=CODE]   every request above SIZE fails; so for reserve, create, map and access\n"
    "  stall:N[=US]         of 1,000 calls of access and unmap N take US microseconds more, 2000 if left out\n"
    "  null:N  misaligned:N  overlap:N\n"
    "                       the Nth obtain succeeds with an address that is none\n"
    "  rival@OP=[-]SIZE     before operation OP (from 0) another process takes SIZE, or gives it back\n";

static const char help_columns[] =
    "--rounds N: all ops N times, one after the other, on the same device and pool; live blocks are freed in\n"
    "between. oom_op counts on over all rounds.\n"
    "Measured columns are of a second pass over the same operations and hold the simulated driver's own work. They\n"
    "stay empty with --no-timing or where there are too few samples.\n"
    "On CUDA reserved_peak_bytes and footprint of cudaMalloc, cudaMallocAsync and cub-library are lower bounds: the\n"
    "2 MiB granules in which their blocks lie.\n"
    "Where steps come again (labels alike but for the number at their end, or else --rounds), the ops before the\n"
    "first repeated step are the warm-up, and all later ones are steady. vns_per_op is empty with --rate.\n";

static const char help_capacity[] =
    "stress capacity -w WORKLOAD[,..] -p POLICY[,..]: the smallest limit under which the workload completes, over\n"
    "its requested peak. Limits are tried by bisection in steps of 2 MiB, from that peak to the bytes that the\n"
    "policy reserved without a limit. The workload completes under the limit in the table, and with one step less\n"
    "it ends at stop_op for stop_reason. If a policy fails again under a larger limit, the smallest one may be\n"
    "missed.\n"
    "The runs without a limit and under the one found are verified; counts are of the latter. A workload that does\n"
    "not complete without a limit has status oom, and no min_limit_bytes.\n"
    "cudaMalloc, cudaMallocAsync and cub-library have no limit: theirs is the memory of the smallest simulated\n"
    "device on which the workload completes; on CUDA it is the memory that they held. Nothing is timed; --rate has\n"
    "its effect.\n";

static const char help_batch[] =
    "stress batch -w WORKLOAD[,..] -p POLICY[,..]: the largest batch with which the workload completes, on this\n"
    "device (--device sim:24G) and under this limit. --vary KEY: of another option; else it is the first that the\n"
    "workload has of batch, seq, requests, depth, cap, blocks, n. Refused are workloads joined by '+', recordings,\n"
    "and an option of which more asks for less memory, as zero3 of train.\n"
    "allowed: the largest value found whose requested peak fits into the memory: if peaks grow with the option, no\n"
    "policy can do better. The workload completes with the largest, verified, and with one more it ends: stop_op,\n"
    "stop_reason, stop_text; next_peak_bytes is the requested peak of one more. A policy may fail with one number\n"
    "and complete with a larger one: so the next 8 above the end are tried too. stop_reason option_maximum: it\n"
    "completes with the option's highest value; not_made: the workload cannot be made with more.\n"
    "--repeat N: the workload N times, one after the other on the same pool; live blocks are freed in between.\n"
    "Where not even the lowest completes: status oom, and no largest. Nothing is timed; --rate counts as well.\n";

static const char help_shrink[] =
    "stress shrink -w WORKLOAD -p POLICY --out trace=FILE: of a run that fails, out of memory or in verification,\n"
    "as few operations as still fail the same way: for the same reason at a request of the same size, or by the\n"
    "violation's name. They are written as a recording, which the line 'repro:' runs. Sizes, ids, streams and order\n"
    "stay. One thread makes the operations of all threads. The search ends after 40,000,000 operations at the\n"
    "latest, and says so.\n"
    "Exit: 0 where memory ran out, 3 or 4 where it was another failure; 2 where nothing fails.\n";

static const char help_holes[] =
    "stress holes -p POLICY[,..]: the cost of an allocation and its free among more and more free blocks, of 256 B\n"
    "to 1 MiB, no two of which touch. A pair asks for the size of one of them and frees it again: it is served\n"
    "without the driver (driver_calls: of 4,096 pairs), but for cudaMalloc's.\n"
    "ns_per_pair is processor time: the median of all rounds (stress help measuring), each of which measures every\n"
    "number of free blocks once, in random order. ratio: over the fewest, with its 95 % confidence interval; met:\n"
    "whether all of that meets the arena's target for the most of them. Too little device memory for the blocks:\n"
    "status oom.\n"
    "--instructions counts instructions_per_pair, by running the same again under valgrind's callgrind. --no-timing\n"
    "leaves measured cells empty; --quick measures 5 short rounds.\n";

static const char help_gates[] =
    "--fail-if '[WORKLOAD/POLICY:]METRIC OP VALUE', of run, capacity, batch, holes and compare: exit 1 where this\n"
    "is true of a row. --fail-if @FILE: rules, one a line; a # that comes first or behind a space begins a comment.\n"
    "  WORKLOAD, POLICY  as -w and -p have them, or patterns: * any text, ? any character; without them all rows.\n"
    "                    In quotes, \" or ', where they hold ':' or '/': \"train:seq=512\"/paged: footprint > 1.1\n"
    "  METRIC            a column of --out csv (stress help columns), but those that name the row\n"
    "  OP                < <= > >= == !=; of words == and != alone; != says nothing of an empty cell\n"
    "  VALUE             a number: bytes 64K, 512M, 1.5GiB; times 20us, 1.5ms; shares 1.05, 20%; or a word that\n"
    "                    the column may hold (status: ok oom verify_failed error)\n"
    "                    base, base*1.05, base/2, base+3pp, base-64M: the same row in the CSV of --base FILE\n"
    "                    cudaMalloc/10: the row of that policy in the same run; a name in quotes if it needs them\n"
    "holes has no workloads: */paged: ratio > 1.5.\n"
    "Every rule is told for every row, with value, limit and verdict: pass, FAILED, AMBIGUOUS, NO VALUE.\n"
    "Exact metrics are compared exactly. Measured times are compared by the 95 % confidence interval of the median\n"
    "of a row's repeats (--repeat 6 or more): FAILED where all of it is past all of the limit's, AMBIGUOUS where\n"
    "only some is, or where it would fail on fewer repeats. NO VALUE: an empty cell, or no such row in base. These\n"
    "two fail under --strict alone: beside a rule on footprint belongs 'status != ok'. A rule that can say nothing\n"
    "is refused, exit 2: about no row, a column that is not there, a policy that does not run.\n"
    "Where GITHUB_STEP_SUMMARY is set, the text of --out md is added to that file.\n";

static const char help_compare[] =
    "stress compare A.csv B.csv: B against A, files of --out csv of the same command; a verdict for every row, and\n"
    "every metric that differs. Rows are the same where workload, policy, device, seed and threads are.\n"
    "Exact metrics are compared exactly: same, BETTER, WORSE (where one is better and one is worse, too), CHANGED\n"
    "(other work; or neither better nor worse). Times are compared by the 95 % confidence intervals of the medians\n"
    "of a row's repeats (run --repeat 6 or more), or by the interval that holes gives: FASTER and SLOWER where they\n"
    "do not meet, same where they are within 5 %, else AMBIGUOUS. Where status, or batch's largest, differs, that\n"
    "alone decides. Options that name no row (--limit, --costs, --rate and the like) are in no file.\n"
    "Exit 1: a row is worse, slower or changed, or is in one file only; or a metric is in A only. Exit 2: neither\n"
    "has rows. --strict: exit 1 too where a row is ambiguous, or missing as the last line of an ended run says.\n"
    "With --fail-if (stress help gates) the rules decide that alone, on the rows of B, with A as base; --out\n"
    "junit=PATH and md=PATH have their verdicts. -q leaves out rows that are the same.\n";

static const char help_shards[] =
    "--shard I/N, of run, capacity and batch: of all rows, in the order of -w and -p, those whose number modulo N\n"
    "is I, from 0/N to (N-1)/N. A shard's csv begins with a line that says which it is; {shard} in the path of\n"
    "--out is replaced by it: --out csv=out/{shard}.csv writes out/03-of-16.csv.\n"
    "stress merge FILE.. [--out csv=FILE]: joins the csv of all shards, in any order, to the csv of a run without\n"
    "--shard, byte for byte where nothing is timed. Refused, exit 2: other seeds, versions, sweeps\n"
    "(workloads, policies, options) or columns, a shard that is there twice; exit 4: one that is missing or not\n"
    "whole. --fail-if is for all rows, so merge has it, with --base, --strict, --out junit=PATH and md=PATH.\n"
    "Without --shard it is detected, first match, and told on stderr: SLURM_ARRAY_TASK_ID (an array without gaps\n"
    "but for its step), JOB_COMPLETION_INDEX (Kubernetes, which does not say N: --shard auto/N), SLURM_PROCID with\n"
    "SLURM_NTASKS, OMPI_COMM_WORLD_RANK with .._SIZE, PMI_RANK with PMI_SIZE. --shard none: all rows.\n";

static const char help_costs[] =
    "--costs FILE: lines 'NAME fixed_ns ns_per_MiB'; # begins a comment; names left out keep their defaults.\n";

static void help_cost_list(FILE *out)
{
    (void)sim_costs_write(sim_costs_default(), out);
}

static void help_columns_of(FILE *out, const char *name, row_kind kind)
{
    fprintf(out, "Columns of --out csv, in order, of %s:\n", name);
    for (const row_column *at = row_columns(kind); *at != COLUMN_COUNT; at++) {
        fprintf(out, "  %s\n", row_table[*at].name);
    }
}

static void help_column_list(FILE *out)
{
    help_columns_of(out, "run", ROW_RUN);
    fputs("  and with --rounds: rounds, oom_round, oom_round_op\n", out);
    help_columns_of(out, "holes (stress help holes)", ROW_HOLES);
    help_columns_of(out, "batch (stress help batch)", ROW_BATCH);
    help_columns_of(out, "capacity (stress help capacity)", ROW_CAPACITY);
    fputs("Their meanings:\n", out);
    for (int column = 0; column < COLUMN_COUNT; column++) {
        fprintf(out, "  %-29s %s\n", row_table[column].name, row_table[column].note);
    }
    fputs(help_columns, out);
}

typedef struct help_topic {
    const char *name, *text;
    void      (*write)(FILE *out);               /* writes the rest behind the text; NULL: there is none */
} help_topic;

static const help_topic help_topics[] = {
    { "lists", help_lists, help_policies }, { "workloads", help_workloads, help_workload_list },
    { "threads", help_threads, NULL }, { "faults", help_faults, NULL }, { "costs", help_costs, help_cost_list },
    { "columns", "", help_column_list }, { "capacity", help_capacity, NULL }, { "batch", help_batch, NULL },
    { "shrink", help_shrink, NULL }, { "holes", help_holes, NULL }, { "gates", help_gates, NULL },
    { "compare", help_compare, NULL }, { "shards", help_shards, NULL }, { "merge", help_shards, NULL },
    { "outputs", help_outputs, help_output_list }, { "measuring", help_measuring, NULL },
};
#define HELP_TOPICS (sizeof help_topics / sizeof help_topics[0])

/* ---- Help on a name: of a workload, policy, option, column or kind of --out. All with that name are printed */

/* Tells whether the name is the typed one, and offers it to the search for near names. name may be NULL. */
static int help_is(const char *name, const char *typed, nearest *search)
{
    nearest_offer(search, name);
    return name && !strcmp(name, typed);
}

static int help_named(FILE *out, const char *name, nearest *search)
{
    const char *option = name + (strncmp(name, "--", 2) ? 0 : 2);
    policy_kind kind;
    int count = 0;
    for (size_t index = 0; workload_family_at(index); index++) {
        if (!help_is(workload_family_at(index)->name, name, search)) continue;
        int is_replay = !strcmp(name, "replay");
        fprintf(out, "a workload, for -w; %s:\n", is_replay ? "replay:FILE" : "NAME:key=value,.. with these keys");
        help_workload_page(out, index);
        if (is_replay) help_recordings(out);
        count++;
    }
    for (size_t index = 0; policy_kind_at(index, &kind); index++) {
        if (!help_is(kind.name, name, search) && !help_is(kind.shown, name, search)) continue;
        fputs("a policy, for -p\n", out);
        help_policy_page(out, &kind);
        count++;
    }
    for (size_t index = 0; index < CLI_COUNT; index++) {
        if (!help_is(cli_options[index].name, option, search)) continue;
        cli_help_option(out, &cli_options[index]);
        count++;
    }
    for (int column = 0; column < COLUMN_COUNT; column++) {
        if (!help_is(row_table[column].name, name, search)) continue;
        fprintf(out, "%s, a column of --out csv: %s\n", name, row_table[column].note);
        count++;
    }
    for (const output_kind *const *each = output_kinds; *each; each++) {
        if (!help_is((*each)->name, name, search)) continue;
        help_wrapped(out, fprintf(out, "%s, a kind of --out: ", name), (*each)->note);
        count++;
    }
    return count;
}

/* Lists the names of topics. A topic with two names is listed by its first. Returns text. */
static const char *help_names(char *text, size_t size, const char *between)
{
    text[0] = '\0';
    for (size_t index = 0; index < HELP_TOPICS; index++) {
        if (index && help_topics[index].text == help_topics[index - 1].text) continue;
        text_add(text, size, "%s%s", *text ? between : "", help_topics[index].name);
    }
    return text;
}

/* The usage of help names all topics, on two lines. */
static void help_usage(FILE *out)
{
    char names[256];
    help_names(names, sizeof names, "|");
    int cut = 92;
    while (cut < (int)strlen(names) && names[cut - 1] != '|') cut--;
    for (const command *const *each = command_table; *each; each++) {
        const char *usage = (*each)->usage, *before = each == command_table ? "Usage:" : "      ";
        if (usage) fprintf(out, "%s stress %s%s%s\n", before, (*each)->name, *usage ? " " : "", usage);
        else fprintf(out, "%s stress %s [%.*s\n                    %s]\n"
                     "       stress help NAME    of a workload, policy, option, column or kind of --out\n", before,
                     (*each)->name, cut, names, names + cut);
    }
}

/* Writes a page. topic NULL, or a command without a topic of its own: the main page. -1 and a problem: there is no
   such page. */
static int help_write(FILE *out, const char *topic, problem *why)
{
    char hint[96], names[256];
    for (size_t index = 0; topic && index < HELP_TOPICS; index++) {
        if (strcmp(topic, help_topics[index].name)) continue;
        fputs(help_topics[index].text, out);
        if (help_topics[index].write) help_topics[index].write(out);
        return 0;
    }
    if (!topic || command_find(topic)) {
        fputs(help_top, out);
        help_usage(out);
        cli_help(out);
        fputs(help_bottom, out);
        return 0;
    }
    nearest search = nearest_to(topic);
    for (size_t index = 0; index < HELP_TOPICS; index++) nearest_offer(&search, help_topics[index].name);
    if (help_named(out, topic, &search)) return 0;
    return problem_set(why, EXIT_USAGE, "no help on '%s'%s; there are pages on %s, and each workload, policy, "
                       "option, column and kind of --out", topic, nearest_hint(&search, hint, sizeof hint),
                       help_names(names, sizeof names, ", "));
}

/* ---- The commands that write pages */

typedef int help_writer(FILE *out, const char *topic, problem *why);

/* Writes a page as a whole, because program_page must see all of it to put in the program's name. A reader that stops
   early, like head, ends the program silently. */
static int help_show(help_writer *write, const char *topic, problem *why)
{
    char *text;
    size_t length;
    FILE *page = program_stream(&text, &length);
    int failed = write(page, topic, why);
    fclose(page);
    signal(SIGPIPE, SIG_DFL);
    if (!failed) program_page(stdout, text);
    free(text);
    return failed || output_finish(stdout, why) ? -1 : EXIT_PASS;
}

static const char *help_word(const cli *asked)
{
    return asked->words.item_count ? asked->words.items[0] : NULL;
}

int help_page(const char *topic, problem *why)
{
    return help_show(help_write, topic, why);
}

static int list_act(const cli *asked, problem *why)
{
    return help_show(help_list, help_word(asked), why);
}

static int help_act(const cli *asked, problem *why)
{
    return help_page(help_word(asked), why);
}

static int version_act(const cli *asked, problem *why)
{
    (void)asked;
    printf("gpuarena stress " GPUARENA_VERSION_TEXT " (simulated device; %s)\n", cuda_environment_build());
    return output_finish(stdout, why);
}

const command command_list = { "list", "[workloads|policies|devices]", 1, list_act };
const command command_help = { "help", NULL, 1, help_act };
const command command_version = { "version", "", 0, version_act };
