/* Texts for people, made from the tables wherever there is one.
   It must not repeat what a table says.
   Tested by tests/cli.t. */
#include "help.h"

#include <string.h>

#include "../base/cli.h"
#include "help_columns.h"
#include "help_lists.h"
#include "help_workloads.h"
#include "../base/nearest.h"
#include "../policy/policy.h"
#include "../policy/policy_name.h"
#include "../result/row.h"
#include "../sim/costs.h"
#include "../workload/workload.h"

static const char help_top[] =
    "stress: GPU memory policies against randomized and recorded workloads, on a simulated device\n"
    "or a CUDA one\n"
    "\n"
    "Usage: stress run -w WORKLOAD[,..] -p POLICY[,..] [options]\n"
    "       stress capacity -w WORKLOAD[,..] -p POLICY[,..] [options]\n"
    "       stress batch -w WORKLOAD[,..] -p POLICY[,..] [--vary KEY] [--repeat N] [options]\n"
    "       stress shrink -w WORKLOAD -p POLICY --out trace=FILE [options]\n"
    "       stress holes -p POLICY[,..] [--instructions]\n"
    "       stress costs [--device sim|cuda:N] [--out costs=FILE]\n"
    "       stress compare A.csv B.csv [--fail-if RULE]\n"
    "       stress merge SHARD.. [--out csv=FILE] [--fail-if RULE]\n"
    "       stress run -w needs -p POLICY[,..]\n"
    "       stress list [workloads|policies|devices|needs]\n"
    "       stress help [lists|workloads|threads|faults|costs|columns|capacity|batch|shrink|holes|needs|gates|\n"
    "                    compare|shards|outputs|measuring]\n"
    "       stress help NAME    of a workload, policy, option, column or kind of --out\n"
    "       stress version\n";

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
    "memviz 'not_all_rows'. So do new files on a disk that is full: exit 4; what stood there before stays. After a\n"
    "crash the line 'repro:' on stderr shows it again.\n"
    "\n"
    "Environment: COLUMNS, NO_COLOR, FORCE_COLOR, TERM, CI, GITHUB_STEP_SUMMARY; of Slurm, MPI and Kubernetes:\n"
    "stress help shards. GPUARENA_CONF is ignored.\n";

static const char help_lists[] =
    "-w and -p take items separated by commas, each NAME or NAME:key=value,key=value. A part whose first of\n"
    "':' and '=' is '=' continues the item on its left. Three policies:\n"
    "  -p cudaMalloc,segments:growth=step,step=64M,config:limit=4G\n"
    "A part that begins with a digit is another value of the key on its left. Four workloads, and two policies:\n"
    "  -w train:batch=1,2,seq=512,1024 -p segments:cache=0,64M\n"
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
    "option no policy can do better; those of random workloads need not (pareto's with places): of what is above,\n"
    "16 numbers up to twice as large are asked too, not all. allowed is tried first, then what its failure\n"
    "suggests, and from there by steps that double and bisection. What requests more than there is is\n"
    "not run, but for the one above the largest. The workload completes with the largest, verified (--verify), and\n"
    "does not with one more: stop_op, stop_reason, and stop_text in a sentence; next_peak_bytes is what one more\n"
    "requests. A policy may fail with one number and complete with a larger one: of those above the end the next 8\n"
    "are tried too, not all. stop_reason option_maximum: it completes with the most that the option may be, and\n"
    "memory ends it nowhere; not_made: the workload cannot be made with more, and stop_text says why.\n"
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
    "growth, in the row of the most free blocks: which of c, c log2 n and c n fits the policy's ns_per_pair best, c\n"
    "by least squares: O(1), O(log n), O(n); growth_rms: the root of the mean square of what is left, over the\n"
    "mean. unclear where the rounds' rms do not tell the classes apart with 95 % confidence. instructions_growth:\n"
    "the same, exact.\n"
    "--instructions counts instructions_per_pair, by running the same again under valgrind's callgrind; they are\n"
    "the same every time. --no-timing leaves what is measured empty; --quick measures 5 short rounds.\n";

static const char help_needs[] =
    "stress run -w needs -p POLICY[,..]: what people ask of GPU memory, one scenario each, run against each policy\n"
    "on simulated devices of its own; -w needs:NAME[,needs:NAME..]: these. stress list needs: every claim that they\n"
    "answer, and when each passes.\n"
    "The table has pass, FAIL, or - where it is not this policy's need, and below it, in a sentence, what was\n"
    "measured where one fails; of one need alone the sentences of all. Columns of --out csv: those of run, most of\n"
    "them empty, then claims, verdict (pass, fail, none) and said. driver_calls, driver_vns: of all devices that\n"
    "the scenario used; reserved_peak_bytes: the most that one of them held; of threads: empty.\n"
    "A need that fails is a result, as out of memory is: exit 0. For a CI job: --fail-if 'verdict == fail', or of\n"
    "one need and policy --fail-if '\"needs:limit\"/paged: verdict == fail'.\n"
    "Scenarios set sizes, limits and faults themselves: --limit, --context, --faults and the like are refused. Same\n"
    "seed, same bytes; --repeat K runs each K times.\n";

static const char help_gates[] =
    "--fail-if '[WORKLOAD/POLICY:]METRIC OP VALUE', of run, capacity, batch, holes and compare: exit 1 where\n"
    "this is true of a row. --fail-if @FILE: rules, one a line; a # that comes first or behind a space begins\n"
    "a comment.\n"
    "  WORKLOAD, POLICY  as -w and -p have them, or patterns: * any text, ? any character; without them all rows.\n"
    "                    In quotes, \" or ', where they hold ':' or '/': \"train:seq=512\"/paged: footprint > 1.1\n"
    "  METRIC            a column of --out csv (stress help columns), but those that name the row\n"
    "  OP                < <= > >= == !=; of words == and != alone: status, oom_reason, stop_reason, digest,\n"
    "                    verdict, met, ended, growth, instructions_growth; != says nothing of an empty cell\n"
    "  VALUE             a number: bytes 64K, 512M, 1.5GiB; times 20us, 1.5ms; shares 1.05, 20%; or a word that\n"
    "                    the column may hold (status: ok oom verify_failed error; verdict: pass fail none)\n"
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
    "is I, from 0/N to (N-1)/N. A shard's csv and json begin with a line that says which it is; {shard} in the path\n"
    "of --out is replaced by it: --out csv=out/{shard}.csv writes out/03-of-16.csv. What is for people, and junit,\n"
    "says it, too: 'shard 3/16: 12 of 192 rows'.\n"
    "stress merge FILE.. [--out csv=FILE|json=FILE]: the files of all shards, in any order, to what the run without\n"
    "--shard would have written, byte for byte where nothing is timed. Refused, exit 2: other seeds, versions,\n"
    "sweeps (workloads, policies, options), columns or devices, a shard that is there twice; exit 4: one that is\n"
    "missing or not whole. Each is named. JSON with times says of each shard where it was measured: 'host' in a\n"
    "shard's, 'hosts' in what is merged, in the shards' order; they may differ.\n"
    "Without --shard it is detected, first match, and told on stderr: SLURM_ARRAY_TASK_ID (an array without gaps\n"
    "but for its step), JOB_COMPLETION_INDEX (Kubernetes, which does not say N: --shard auto/N), SLURM_PROCID with\n"
    "SLURM_NTASKS, OMPI_COMM_WORLD_RANK with .._SIZE, PMI_RANK with PMI_SIZE. --shard none: all rows, whatever is\n"
    "there.\n"
    "--fail-if is for all rows, so merge has it: with --base, --strict, --out junit=PATH and md=PATH and the step\n"
    "summary (stress help gates); of csv.\n";

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

static void help_columns_of(FILE *out, const char *command, row_kind kind)
{
    const row_column *columns;
    size_t count = row_columns(kind, &columns);
    fprintf(out, "Columns of --out csv, in order, of %s:\n", command);
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
    { "holes", help_holes, NULL }, { "needs", help_needs, NULL }, { "gates", help_gates, NULL },
    { "compare", help_compare, NULL }, { "shards", help_shards, NULL }, { "merge", help_shards, NULL },
    { "outputs", help_outputs, NULL }, { "measuring", help_measuring, NULL },
};
#define HELP_TOPICS (sizeof help_topics / sizeof help_topics[0])
#define HELP_NAMES "lists, workloads, threads, faults, costs, columns, capacity, batch, shrink, holes, needs, " \
                   "gates, compare, shards, outputs, measuring"

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

int help_write(FILE *out, const char *topic, problem *why)
{
    static const char *const first[] = { "run", "list", "help", "version" };
    char hint[96];
    int is_first = !topic;
    for (size_t at = 0; topic && at < sizeof first / sizeof first[0]; at++) is_first |= !strcmp(topic, first[at]);
    if (is_first) {
        fputs(help_top, out);
        cli_help(out);
        return help_plain(out, help_bottom);
    }
    for (const help_topic *each = help_topics; each < help_topics + HELP_TOPICS; each++) {
        if (!strcmp(topic, each->name)) return each->text ? help_plain(out, each->text) : each->write(out);
    }
    if (help_named(out, topic)) return 0;
    nearest search = nearest_to(topic);
    help_offer(&search);
    return problem_set(why, EXIT_USAGE, "no help on '%s'%s; there is " HELP_NAMES ", and each workload, policy, "
                       "option, column and kind of --out", topic, nearest_hint(&search, hint, sizeof hint));
}

int help_command(FILE *out, const char *command, problem *why)
{
    const help_topic *found = help_topics;
    while (found < help_topics + HELP_TOPICS && strcmp(found->name, command)) found++;
    return help_write(out, found < help_topics + HELP_TOPICS ? command : NULL, why);
}
