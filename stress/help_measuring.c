/* `stress help measuring`: how times come about, and what they are worth.
   It must not say how files are laid out.
   Tested by tests/cli.t. */
#include "help.h"

const char help_measuring[] =
    "Times are measured in a pass of its own over the same operations, after the verified one, which reads no clock; if\n"
    "it does anything else (digest) the row is void: status error, exit 4. On CUDA one timing pass more comes first\n"
    "and is dropped (--warmup N: so many, on any device); bench and holes drop two rounds, of threads one.\n"
    "An allocation that makes no call of the driver is a hit, else a miss: two distributions, told apart, and frees.\n"
    "Percentiles are upper ends of buckets, at most 1/32 too high, and are told where ten samples lie above them: of\n"
    "1,000 there is a p99, of 10,000 a p99.9. Else the cell is empty.\n"
    "\n"
    "--repeat N makes every row N times, policies in turn, every second time backwards (A B C C B A): what drifts while\n"
    "it lasts is no policy's more than another's. The table then has the median with its 95 % confidence interval, from\n"
    "six on, and percentiles of all repeats' samples together: histograms are added bucket by bucket, percentiles are\n"
    "never averaged. JSON has them in 'repeats', merge's too, wherever shards had the rows.\n"
    "--repeat auto, on a CUDA device: until half the interval of host_ns_per_op is at most --precision (2%) of its\n"
    "median, for every policy of a workload; looked at after 6 times, 9, 14, 21, 32, 48 and 60, the most; or until\n"
    "--budget seconds (60) have gone, after which no further time begins. Column ended says which: precise, rounds, time.\n"
    "For a gate: --fail-if 'ended != precise'. Bench and holes end the same way, by their ratios, after 25 to 201 rounds\n"
    "(threads 11 to 31, cold caches 25 to 101). On simulated devices no clock decides how many rows there are.\n"
    "\n"
    "--rate N, on simulated devices: N allocations and frees a virtual second are due at fixed times, whether or not the\n"
    "ones before are done. A loop that waits for each op before it sends the next measures one slow call once; whoever\n"
    "would have come meanwhile is never seen (coordinated omission). waited_..: from when an op was due to its end, as its\n"
    "caller sees it; served_..: from when it could begin, which is all that a closed loop tells; both histograms are in\n"
    "JSON ('rate'). Ops of several threads come one at a time, in the drawn order; times of real threads have no rate.\n"
    "\n"
    "What it was measured on is in JSON, where there are times: host (compiler, flags, processor, load, governor, kernel,\n"
    "date, command line) and, of CUDA, environment; -v tells both. Virtual nanoseconds (vns) are never mixed with\n"
    "measured ones. Instructions are the same every time: holes --instructions, bench --instructions.\n";
