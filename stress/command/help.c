/* Texts for people, made from the tables wherever there is one. */
#include "command.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/cli.h"
#include "../base/text.h"
#include "../base/program.h"
#include "../device/cuda_environment.h"
#include "../policy/policy.h"
#include "../policy/policy_name.h"
#include "../report/plot.h"
#include "../report/table.h"
#include "../report/table_columns.h"
#include "../result/row.h"
#include "../sim/costs.h"
#include "../sim/sim.h"
#include "../workload/workload.h"

/* ---- What each column of a file is: one table, from which `stress help columns` and `stress help NAME` are made */

/* 1: there is such a column */
static int help_column(FILE *out, const char *name)
{
    for (int column = 0; column < COLUMN_COUNT; column++) {
        if (strcmp(name, row_column_name((row_column)column))) continue;
        fprintf(out, "%s, a column of --out csv: %s\n", name, column_of((row_column)column)->note);
        return 1;
    }
    return 0;
}

/* of all */
static void help_column_notes(FILE *out)
{
    for (int column = 0; column < COLUMN_COUNT; column++) {
        fprintf(out, "  %-29s %s\n", row_column_name((row_column)column), column_of((row_column)column)->note);
    }
}

/* ---- Lists of what there is, a line a thing: policies, devices, workloads */

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

/* A line of a list, cut aloud where the terminal, or COLUMNS, has no room for all of it. */
static void help_line(FILE *out, const char *name, const char *text)
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

/* with its keys; 1: there is one of the name */
static int help_policy(FILE *out, const char *name)
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

/* of all */
static void help_policies(FILE *out)
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

/* a line each */
static void help_list_workloads(FILE *out)
{
    fputs("workloads\n", out);
    for (size_t index = 0; workload_family_at(index); index++) {
        help_line(out, workload_family_at(index)->name, workload_family_at(index)->summary);
    }
    help_line(out, "all", "each of those that need no file");
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
        snprintf(text, sizeof text, "%s, %s, %s", found.name, text_bytes(found.total_bytes, total, sizeof total),
                 found.uuid);
        help_line(out, name, is_unknown ? unknown.text : text);
    }
}

int help_list(FILE *out, const char *topic, help_usage *usage, problem *why)
{
    (void)usage;
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
    return known ? 0 : problem_set(why, EXIT_USAGE, "no list of '%s'%s; there is workloads, policies, devices",
                                   topic, nearest_hint(&search, hint, sizeof hint));
}

/* ---- `stress help measuring`: how times come about, and what they are worth */

static const char help_measuring[] =
    "Times are measured in a pass of its own over the same operations, after the verified one, which reads no\n"
    "clock; if it does anything else (digest) the row is void: status error, exit 4. On CUDA one timing pass more\n"
    "comes first and is dropped (--warmup N: so many, on any device); bench and holes drop two rounds, of threads\n"
    "one.\n"
    "An allocation that makes no call of the driver is a hit, else a miss: two distributions, told apart, and\n"
    "frees. Percentiles are upper ends of buckets, at most 1/32 too high, and are told where ten samples lie above\n"
    "them: of 1,000 there is a p99, of 10,000 a p99.9. Else the cell is empty.\n"
    "\n"
    "--repeat N makes every row N times, policies in turn, every second time backwards (A B C C B A): what drifts\n"
    "while it lasts is no policy's more than another's. The table then has the median with its 95 % confidence\n"
    "interval, from six on, and percentiles of all repeats' samples together: histograms are added bucket by\n"
    "bucket, percentiles are never averaged. JSON has them in 'repeats'.\n"
    "--repeat auto, on a CUDA device: until half the interval of host_ns_per_op is at most --precision (2%) of its\n"
    "median, for every policy of a workload; looked at after 6 times, 9, 14, 21, 32, 48 and 60, the most; or until\n"
    "--budget seconds (60) have gone, after which no further time begins. Column ended says which: precise, rounds,\n"
    "time. For a gate: --fail-if 'ended != precise'. Bench and holes end the same way, by their ratios, after 25 to\n"
    "201 rounds (threads 11 to 31, cold caches 25 to 101). On simulated devices no clock decides how many rows\n"
    "there are.\n"
    "\n"
    "--rate N, on simulated devices: N allocations and frees a virtual second are due at fixed times, whether or\n"
    "not the ones before are done. A loop that waits for each op before it sends the next measures one slow call\n"
    "once; whoever would have come meanwhile is never seen (coordinated omission). waited_..: from when an op was\n"
    "due to its end, as its caller sees it; served_..: from when it could begin, which is all that a closed loop\n"
    "tells; both histograms are in JSON ('rate'). Ops of several threads come one at a time, in the drawn order;\n"
    "times of real threads have no rate.\n"
    "\n"
    "What it was measured on is in JSON, where there are times: host (compiler, flags, processor, load, governor,\n"
    "kernel, date, command line) and, of CUDA, environment; -v tells both. Virtual nanoseconds (vns) are never\n"
    "mixed with measured ones. Instructions are the same every time: holes --instructions, bench --instructions.\n";

/* ---- `stress help outputs`: the kinds of --out */

static const char help_outputs[] =
    "--out KIND=PATH, as often as wanted; PATH - is stdout, and then the table goes to stderr. Of rows:\n"
    "  csv        a line a row (stress help columns)\n"
    "  json       the same, with whole histograms of latencies; schema gpuarena-stress/1:\n"
    "             stress/report/schema.json\n"
    "  md         a table in Markdown, verdicts above it, below it why memory ran out and what repeats say together\n"
    "  junit      a case a row and a case a verdict (stress help gates), those of one name numbered; this and md of\n"
    "             compare too, with --fail-if\n"
    "Pictures, each one file that needs nothing else: no script, no font, no address; light or dark as the reader\n"
    "has it. Made from a recording of the verified pass:\n"
    "  html       a report: verdict, command lines that show it again, table, figures\n"
    "  svg        all figures: peak memory by policy; time x addresses; requested, live and reserved over time;\n"
    "             fragmentation and idle memory; latency percentiles; of capacity, batch and holes their own\n"
    "  map        of run: time x addresses alone. Live blocks have the colour of their step (before the first:\n"
    "             blue) or, without steps, of their age; red: slack, which nobody asked for; black: too small to\n"
    "             draw; white: free; grey: addresses without memory. Red lines: where memory ran out, and how much\n"
    "             of the height was asked for. Addresses that never held memory are left out\n"
    "Every number in a picture is a cell of the csv of the same run, which its element names (data-row,\n"
    "data-column), and every point of a line a row of these two:\n"
    "  series     of run: samples over time, of 1,024 parts of the ops those that are extreme in something\n"
    "  latency    of run: percentiles of allocations and frees, where they were timed\n"
    "For other programs to draw, of run:\n"
    "  perfetto   trace events for ui.perfetto.dev: a process a row, memory as counters, steps, what is live on\n"
    "             each stream, out of memory; in microseconds of the simulated clock (on CUDA: in operations)\n"
    "  memviz     a memory snapshot for pytorch.org/memory_viz: a device a row; frames are tags and steps.\n"
    "             replay:FILE.pickle plays it again\n"
    "And:\n"
    "  trace      of run: the operations of one workload, as replay: reads them\n"
    "  costs      of costs: a file for --costs\n";

/* ---- Workloads for people: what each is, its peak, its options */

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

/* with its keys; 1: there is one of the name */
static int help_workload(FILE *out, const char *name)
{
    for (size_t index = 0; workload_family_at(index); index++) {
        if (strcmp(workload_family_at(index)->name, name)) continue;
        fputs("a workload, for -w; NAME:key=value,.. with these keys:\n", out);
        help_workload_page(out, index);
        return 1;
    }
    return 0;
}

/* of all; 0 */
static int help_workloads(FILE *out)
{
    fputs("-w NAME:key=value,..: the options of each, their defaults, and what else they may be\n", out);
    for (size_t index = 0; workload_family_at(index); index++) help_workload_page(out, index);
    help_recordings(out);
    return 0;
}

/* ---- Texts for people, made from the tables wherever there is one */

static const char help_top[] =
    "stress: GPU memory policies against randomized and recorded workloads, on a simulated device\n"
    "or a CUDA one\n"
    "\n";

static const char help_bottom[] =
    "\n"
    "Sizes are binary: 64K, 512M, 4G, 1T; 4GB and 4GiB are 4G. An option given twice counts the last time; -w, -p\n"
    "and --out add up.\n"
    "\n"
    "Examples\n"
    "  stress run -w train -p cudaMalloc,segments\n"
    "  stress run -w replay:step.trace,uniform -p cudaMalloc,segments --seed 7 --out csv=results.csv\n"
    "  stress run -w train -p segments --limit 1G                  where does it run out, and why?\n"
    "  stress run -w train:steps=3,layers=4 -p config:growth=step,step=64M,limit=80%\n"
    "  stress run -w uniform -p segments --no-timing --out csv=-   the same bytes every time\n"
    "  stress run -w train --seed 3 -p cudaMalloc --out trace=train.trace\n"
    "  stress run -w train+uniform -p paged --threads 4            two threads of each, on one arena\n"
    "  stress run -w train -p cudaMalloc,paged --fail-if '*/paged: footprint > 1.05' --out gate.xml   exit 1 if so\n"
    "  stress compare before.csv after.csv                         what has changed, and for better or worse?\n"
    "  stress capacity -w train -p cudaMalloc,segments             the smallest limit that is enough\n"
    "  stress batch -w train:zero3=8 -p cudaMalloc,paged --device sim:24G   the largest batch, and why no more\n"
    "  stress holes -p segments,paged                              does free memory in pieces cost time?\n"
    "  stress costs --device cuda:0 --out costs=mine.costs         what do driver calls cost here?\n"
    "  stress run -w train -p cudaMalloc,segments --costs mine.costs   .. and on a simulated device?\n"
    "\n"
    "Exit codes (the highest of 4, 3, 2, 1 that applies)\n"
    "  0   all rows done; out of memory in a workload is a result, not an error\n"
    "  1   a gate failed\n"
    "  2   usage: an option, name, key or input file\n"
    "  3   verification failed: the line 'repro:' on stderr shows it again\n"
    "  4   device or harness error, or output that could not be written\n"
    "  77  the device asked for is not there, or a policy's library is not in this build\n"
    "  128 + the signal's number: ended by it; 130 by Ctrl-C (SIGINT), 143 by SIGTERM, 129 by SIGHUP\n"
    "After such a signal run, capacity and batch leave out the row under way and write what is finished; a second\n"
    "one ends them at once. Files that lack rows say so: in the last line of CSV, series and latency, '# partial: 3\n"
    "of 12 rows, then SIGINT', in JSON 'partial', in JUnit an error, in md and pictures in words, in perfetto and\n"
    "memviz 'not_all_rows'. On a disk that is full no file changes: exit 4. After a crash the line 'repro:' on\n"
    "stderr shows it again.\n"
    "\n"
    "Environment: COLUMNS, NO_COLOR, FORCE_COLOR, TERM, CI, GITHUB_STEP_SUMMARY; of Slurm, MPI and Kubernetes:\n"
    "stress help shards. GPUARENA_CONF is ignored.\n";

static const char help_lists[] =
    "-w and -p take items separated by commas, each NAME or NAME:key=value,key=value. A part whose first of\n"
    "':' and '=' is '=' continues the item on its left. Three policies:\n"
    "  -p cudaMalloc,segments:growth=step,step=64M,config:limit=4G\n"
    "A part that begins with a digit is another value of the key on its left. Four workloads, and two policies:\n"
    "  -w train:batch=1,2,seq=512,1024 -p segments:limit=4G,8G\n"
    "-w all, -p all: each that there is (stress list). Where cudaMalloc is not among them, run has it in its table\n"
    "all the same, dimmed, to compare with: it is in no file and fails no run. With -q it does not run.\n"
    "A policy without a name is config:key=value,.. Paths with commas are refused. Workloads and their keys:\n"
    "stress list workloads; what these may be: stress help workloads.\n"
    "\n";

static const char help_threads[] =
    "-w WORKLOAD --threads N, N from 1 to 64: so many threads share one policy. Each runs the workload with a\n"
    "seed of its own, drawn from the workload's seed and the thread's number; thread 0 has the seed as it is.\n"
    "Streams are no other thread's. larson has threads anyhow: there it is the key threads.\n"
    "-w A+B: workloads joined by '+', keys and all (train:seq=512+uniform:n=500,max=8), are one row: thread 0\n"
    "runs A, thread 1 runs B. With --threads N the threads are dealt out in turn: 0, 2, .. run A, 1, 3, .. run B.\n"
    "In the path of replay: a '+' separates where the name of a workload follows, and then ':', '+' or the end.\n"
    "Whose operation is next is drawn from the seed, some threads being faster for a while: the order, and all\n"
    "that is verified and counted in it, is the same for the same seed. It is one thread of this machine that\n"
    "makes them.\n"
    "Times, where the row has threads, are those of as many real threads, which start together and keep each its\n"
    "own order, not the drawn one. They allocate and free; work on streams, uses and waits are left out.\n"
    "host_ns_per_op is the time from the first one's start to the last one's end, over the ops of all (of one\n"
    "thread: the time in its calls alone); alloc_p50_ns and so on, from a further run, are those of single calls.\n"
    "Where memory runs out for them alone those cells stay empty. When they have ended the arena's sums must be\n"
    "exact. The simulated device lets one thread in at a time. cub-library is not timed.\n"
    "--out trace: the operations in their order; whose they were is not in it.\n";

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
    "--rounds N: all ops N times, one after the other, on the same device and pool; what is live is freed in\n"
    "between. A policy that completes one round need not complete the next; oom_op counts on.\n"
    "Measured columns are of a second pass over the same operations; they hold the simulated driver's own work, and\n"
    "stay empty with --no-timing or where there are too few samples. Of real threads a hit is an allocation for\n"
    "which the thread itself did not call the driver.\n"
    "On CUDA reserved_peak_bytes and footprint of cudaMalloc and cub-library are at least so much: the 2 MiB\n"
    "granules in which their blocks lie; the driver may keep more.\n"
    "--rate N: N allocations and frees a virtual second come, at fixed times, whether or not the ones before are\n"
    "done; a loop that waits for each op sees served_p99_vns alone. On simulated devices.\n"
    "Where steps come again (labels alike but for the number at their end, or else --rounds), all before the first\n"
    "that does is the warm-up, and what follows is steady. vns_per_op is empty with --rate.\n";

static const char help_capacity[] =
    "stress capacity -w WORKLOAD[,..] -p POLICY[,..]: the smallest limit under which the workload completes, over\n"
    "the peak of what it requests. Limits are tried in steps of 2 MiB, from that peak to what the policy reserved\n"
    "without one, by bisection: the workload completes under the limit that is told, and does not with one step\n"
    "less (stop_op, stop_reason). A policy may complete under some limits and fail under larger ones: then there\n"
    "may be a smaller limit that is not found.\n"
    "The runs without a limit and under the one found are verified (--verify); remapped_pages, driver_calls and\n"
    "gpu_waits are of the latter. probes: how many runs it took.\n"
    "A workload that does not complete without a limit has status oom, and no min_limit_bytes.\n"
    "cudaMalloc and cub-library have no limit: it is the memory of the smallest simulated device, beside --context,\n"
    "on which the workload completes; on CUDA it is what they held, in one run.\n"
    "Options are those of run, but for --limit and --on-oom skip; nothing is timed. --rate counts all the same: it\n"
    "says how far streams are when the next op comes.\n";

static const char help_batch[] =
    "stress batch -w WORKLOAD[,..] -p POLICY[,..]: the largest batch with which the workload completes, on this\n"
    "device (--device sim:24G) and under this limit (--limit, or a limit key). --vary KEY: of another option; else\n"
    "it is the first that the workload has of batch, seq, requests, depth, cap, blocks, n. A length of sequences is\n"
    "tried as one for all: seq=N. Workloads joined by '+' are refused, recordings, which have no options, and an\n"
    "option of which more asks for less memory, as zero3 of train: it has no largest.\n"
    "allowed: the largest found whose requested peak is no more than the memory there is. Where peaks grow with the\n"
    "option no policy can do better; those of random workloads need not (pareto's with places). allowed is tried\n"
    "first, and from there steps that double, then bisection. The workload completes with the largest, verified\n"
    "(--verify), and does not with one more: stop_op, stop_reason, and stop_text in a sentence; next_peak_bytes is\n"
    "what one more requests. A policy may fail with one number and complete with a larger one: of those above the\n"
    "end the next 8 are tried too, not all. stop_reason option_maximum: it completes with the most that the option\n"
    "may be, and memory ends it nowhere; not_made: the workload cannot be made with more, and stop_text says why.\n"
    "--repeat N: the workload N times, one after the other on the same pool; what is live is freed in between.\n"
    "remapped_pages, driver_calls and gpu_waits are of the verified run. probes: how many runs it took.\n"
    "Where not even the lowest completes: status oom, and no largest. Options are those of run, but for --on-oom\n"
    "skip; nothing is timed. --rate counts all the same: it says how far streams are when the next op comes.\n";

static const char help_shrink[] =
    "stress shrink -w WORKLOAD -p POLICY --out trace=FILE: of a run that fails, out of memory or in verification,\n"
    "as few operations as still fail the same way: of the same kind, and for the same reason at a request of the\n"
    "same size, or by the violation's name. They are written as a recording, which the line 'repro:' runs.\n"
    "First all behind the failure goes, then chunks of blocks (each with its free, and as what work uses), of work,\n"
    "waits and steps: halves of what is left, quarters, and so on to single ones, as long as any can be left out.\n"
    "Sizes, ids, streams and order stay. What several threads make is made by one.\n"
    "It ends after 40,000,000 operations at the latest, and says so; with less it is the fewest in that none can be\n"
    "left out alone. Options are those of run, but for --on-oom. Exit: 0 where memory ran out, 3 or 4 where it was\n"
    "another failure; 2 where nothing fails.\n";

static const char help_holes[] =
    "stress holes -p POLICY[,..]: what an allocation and its free cost among so many free blocks. Blocks of 256 B\n"
    "to 1 MiB are allocated, log-uniform by --seed, and every second in order of address is freed: no two of those\n"
    "touch. A pair asks for the size of one of them and frees it again: it is served without the driver\n"
    "(driver_calls: of 4,096 pairs), but for cudaMalloc's.\n"
    "ns_per_pair is processor time, measured on this machine: the median of so many rounds (stress help measuring),\n"
    "each of which measures every number of free blocks once, in random order. ratio: over the fewest, the median\n"
    "of the rounds' ratios, and from ratio_low to ratio_high its 95 % confidence interval. met: whether all of that\n"
    "meets the arena's target for the most of them. Too little device memory for the blocks: status oom.\n"
    "--instructions counts instructions_per_pair, by running the same again under valgrind's callgrind; they are\n"
    "the same every time. --no-timing leaves what is measured empty; --quick measures 5 short rounds.\n";

static const char help_gates[] =
    "--fail-if '[WORKLOAD/POLICY:]METRIC OP VALUE', of run, capacity, batch, holes and compare: exit 1 where\n"
    "this is true of a row. --fail-if @FILE: rules, one a line; a # that comes first or behind a space begins\n"
    "a comment.\n"
    "  WORKLOAD, POLICY  as -w and -p have them, or patterns: * any text, ? any character; without them all rows.\n"
    "                    In quotes, \" or ', where they hold ':' or '/': \"train:seq=512\"/paged: footprint > 1.1\n"
    "  METRIC            a column of --out csv (stress help columns), but those that name the row\n"
    "  OP                < <= > >= == !=; of words == and != alone: status, oom_reason, stop_reason, digest,\n"
    "                    met, ended; != says nothing of an empty cell\n"
    "  VALUE             a number: bytes 64K, 512M, 1.5GiB; times 20us, 1.5ms; shares 1.05, 20%; or a word that\n"
    "                    the column may hold (status: ok oom verify_failed error)\n"
    "                    base, base*1.05, base/2, base+3pp, base-64M: the same row in the CSV of --base FILE\n"
    "                    cudaMalloc/10: the row of that policy in the same run; a name in quotes if it needs them\n"
    "holes has no workloads: */paged: ratio > 1.5. A ratio there has an interval of its own.\n"
    "Every rule is told for every row, with value, limit and verdict: pass, FAILED, AMBIGUOUS, NO VALUE.\n"
    "Exact metrics are compared exactly. Measured times are compared by the 95 % confidence interval of the median\n"
    "of a row's repeats (--repeat 6 or more): FAILED where all of it is past all of the limit's, AMBIGUOUS where\n"
    "only some is, or where it would fail on fewer repeats. NO VALUE: an empty cell, or no such row in base. These\n"
    "two do not fail the run, unless --strict is given: a row that ran out of memory has no footprint, largest or\n"
    "ratio, so beside a rule on these belongs 'status != ok'. A rule that can say nothing is refused, exit 2: one\n"
    "about no row, about a column that the rows or the base have not, with a policy that does not run, or with a\n"
    "base that has none of its rows.\n"
    "--out junit=PATH: a case a row and a case a verdict. Where GITHUB_STEP_SUMMARY is set, what --out md would\n"
    "write is added to that file.\n";

static const char help_compare[] =
    "stress compare A.csv B.csv: B against A, files of --out csv of the same command; a verdict for every row, and\n"
    "every metric that differs. Rows are the same where all that names them is: workload, policy, device, seed,\n"
    "threads.\n"
    "Exact metrics are compared exactly: same, BETTER, WORSE (where one is better and one is worse, too), CHANGED\n"
    "(another digest: other work; or what is neither better nor worse). Times are compared by the 95 % confidence\n"
    "intervals of the medians of a row's repeats (run --repeat 6 or more; files joined by cat count too), or by the\n"
    "interval that holes gives: FASTER and SLOWER where they do not meet, same where they are within 5 %, else\n"
    "AMBIGUOUS. With fewer repeats than 6 times are AMBIGUOUS. A row's time is SLOWER where one of its times is,\n"
    "else FASTER where one is.\n"
    "Where status, or batch's largest, differs, that alone says whether the row is better or worse. Options that\n"
    "name no row (--limit, --costs, --rate and the like) are in no file: compare runs that have the same.\n"
    "An exact metric that the repeats of one file do not agree on is CHANGED; on a GPU AMBIGUOUS, where they\n"
    "overlap.\n"
    "Exit 1: a row is worse, slower or changed, or is in one file only; or a metric is in A only (COLUMNS ONLY IN\n"
    "A; those in B only are named). Exit 2: neither has rows. With --strict exit 1, too, where a row is ambiguous,\n"
    "or missing, as the last line of a run that was ended says (IN PART). With --fail-if (stress help gates) the\n"
    "rules decide that alone, on the rows of B, with A as base; --out junit=PATH and md=PATH have their verdicts,\n"
    "as has the step summary (stress help gates). -q leaves out rows that are the same.\n";

static const char help_shards[] =
    "--shard I/N, of run, capacity and batch: of all rows, in the order of -w and -p, those whose number modulo N\n"
    "is I, from 0/N to (N-1)/N. A shard's csv begins with a line that says which it is; {shard} in the path of\n"
    "--out is replaced by it: --out csv=out/{shard}.csv writes out/03-of-16.csv. All other outputs of rows say it,\n"
    "too: 'shard 3/16: 12 of 192 rows'.\n"
    "stress merge FILE.. [--out csv=FILE]: the csv of all shards, in any order, to what the run without --shard\n"
    "would have written, byte for byte where nothing is timed. Refused, exit 2: other seeds, versions, sweeps\n"
    "(workloads, policies, options) or columns, a shard that is there twice; exit 4: one that is missing or not\n"
    "whole. Each is named.\n"
    "Without --shard it is detected, first match, and told on stderr: SLURM_ARRAY_TASK_ID (an array without gaps\n"
    "but for its step), JOB_COMPLETION_INDEX (Kubernetes, which does not say N: --shard auto/N), SLURM_PROCID with\n"
    "SLURM_NTASKS, OMPI_COMM_WORLD_RANK with .._SIZE, PMI_RANK with PMI_SIZE. --shard none: all rows, whatever is\n"
    "there.\n"
    "--fail-if is for all rows, so merge has it: with --base, --strict, --out junit=PATH and md=PATH and the step\n"
    "summary (stress help gates).\n";

static int help_plain(FILE *out, const char *text)
{
    fputs(text, out);
    return 0;
}

static int help_costs(FILE *out)
{
    fputs("--costs FILE: lines 'NAME fixed_ns ns_per_MiB'; # begins a comment; what is left out keeps its default.\n",
          out);
    return sim_costs_write(sim_costs_default(), out);
}

static void help_columns_of(FILE *out, const char *name, row_kind kind)
{
    const row_column *columns;
    size_t count = row_columns(kind, &columns);
    fprintf(out, "Columns of --out csv, in order, of %s:\n", name);
    for (size_t at = 0; at < count; at++) fprintf(out, "  %s\n", row_column_name(columns[at]));
}

static int help_column_list(FILE *out)
{
    help_columns_of(out, "run", ROW_RUN);
    help_plain(out, "  and with --rounds: rounds, oom_round, oom_round_op\n");
    help_columns_of(out, "holes (stress help holes)", ROW_HOLES);
    help_columns_of(out, "batch (stress help batch)", ROW_BATCH);
    help_columns_of(out, "capacity (stress help capacity)", ROW_CAPACITY);
    help_plain(out, "What they are:\n");
    help_column_notes(out);
    return help_plain(out, help_columns);
}

typedef struct help_topic {
    const char *name, *text;                     /* text NULL: written by a function */
    int       (*write)(FILE *out);
} help_topic;

static int help_lists_page(FILE *out)
{
    help_plain(out, help_lists);
    help_policies(out);
    return 0;
}

static const help_topic help_topics[] = {
    { "lists", NULL, help_lists_page }, { "workloads", NULL, help_workloads }, { "threads", help_threads, NULL },
    { "faults", help_faults, NULL }, { "costs", NULL, help_costs }, { "columns", NULL, help_column_list },
    { "capacity", help_capacity, NULL }, { "batch", help_batch, NULL }, { "shrink", help_shrink, NULL },
    { "holes", help_holes, NULL }, { "gates", help_gates, NULL },
    { "compare", help_compare, NULL }, { "shards", help_shards, NULL }, { "merge", help_shards, NULL },
    { "outputs", help_outputs, NULL }, { "measuring", help_measuring, NULL },
};
#define HELP_TOPICS (sizeof help_topics / sizeof help_topics[0])
/* `  NAME  text` of a page, with the lines that go on with it. 1: it is there. */
static int help_entry(FILE *out, const char *page, const char *name)
{
    size_t length = strlen(name);
    while (*page && (strncmp(page, "  ", 2) || strncmp(page + 2, name, length) || page[2 + length] != ' ')) {
        page += strcspn(page, "\n");
        page += *page == '\n';
    }
    if (!*page) return 0;
    fprintf(out, "%s, a kind of --out:\n", name);
    do {
        int line = (int)strcspn(page, "\n") + 1;
        fprintf(out, "%.*s", line, page);
        page += line;
    } while (!strncmp(page, "    ", 4));
    return 1;
}

static int help_option(FILE *out, const char *name)
{
    const char *bare = name + (strncmp(name, "--", 2) ? 0 : 2);
    for (size_t index = 0; cli_option_at(index); index++) {
        if (strcmp(bare, cli_option_at(index)->name)) continue;
        cli_help_option(out, cli_option_at(index));
        return 1;
    }
    return 0;
}

/* What is called so: a name may be several things. How many. */
static int help_named(FILE *out, const char *name)
{
    return help_workload(out, name) + help_policy(out, name) + help_option(out, name) + help_column(out, name)
         + help_entry(out, help_outputs, name);
}

static void help_offer(nearest *search)
{
    for (const help_topic *each = help_topics; each < help_topics + HELP_TOPICS; each++) {
        nearest_offer(search, each->name);
    }
    for (size_t index = 0; workload_family_at(index); index++) nearest_offer(search, workload_family_at(index)->name);
    policy_kind kind;
    for (size_t index = 0; policy_kind_at(index, &kind); index++) nearest_offer(search, kind.name);
    for (size_t index = 0; policy_name_at(index); index++) nearest_offer(search, policy_name_at(index));
    for (size_t index = 0; cli_option_at(index); index++) nearest_offer(search, cli_option_at(index)->name);
    for (int column = 0; column < COLUMN_COUNT; column++) nearest_offer(search, row_column_name((row_column)column));
}

const char *help_names(char *text, size_t size, const char *between)
{
    text[0] = '\0';
    for (const help_topic *each = help_topics; each < help_topics + HELP_TOPICS; each++) {
        if (each > help_topics && each->text && each->text == each[-1].text) continue;
        text_add(text, size, "%s%s", *text ? between : "", each->name);
    }
    return text;
}

int help_write(FILE *out, const char *topic, help_usage *usage, problem *why)
{
    static const char *const first[] = { "run", "list", "help", "version" };
    char hint[96], names[256];
    int is_first = !topic;
    for (size_t at = 0; topic && at < sizeof first / sizeof first[0]; at++) is_first |= !strcmp(topic, first[at]);
    if (is_first) {
        fputs(help_top, out);
        usage(out);
        cli_help(out);
        return help_plain(out, help_bottom);
    }
    for (const help_topic *each = help_topics; each < help_topics + HELP_TOPICS; each++) {
        if (!strcmp(topic, each->name)) return each->text ? help_plain(out, each->text) : each->write(out);
    }
    if (help_named(out, topic)) return 0;
    nearest search = nearest_to(topic);
    help_offer(&search);
    help_names(names, sizeof names, ", ");
    return problem_set(why, EXIT_USAGE, "no help on '%s'%s; there is %s, and each workload, policy, "
                       "option, column and kind of --out", topic, nearest_hint(&search, hint, sizeof hint), names);
}

int help_command(FILE *out, const char *name, help_usage *usage, problem *why)
{
    const help_topic *found = help_topics;
    while (found < help_topics + HELP_TOPICS && strcmp(found->name, name)) found++;
    return help_write(out, found < help_topics + HELP_TOPICS ? name : NULL, usage, why);
}
