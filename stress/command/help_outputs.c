/* `stress help outputs`: the kinds of --out.
   It must not know how they are written.
   Tested by tests/cli.t. */
#include "help.h"

const char help_outputs[] =
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
