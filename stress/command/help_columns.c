/* What each column of a file is: one table, from which `stress help columns` and `stress help NAME` are made.
   It must not say which command has which: report/row.h does.
   Tested by tests/cli.t. */
#include "help_columns.h"

#include <string.h>

static const char *const help_notes[COLUMN_COUNT] = {
    [COLUMN_WORKLOAD] = "the workload, as asked for",
    [COLUMN_POLICY] = "the policy, by its short name (raw is cudaMalloc): stress list policies",
    [COLUMN_DEVICE] = "the device",
    [COLUMN_SEED] = "the seed that the operations were made from",
    [COLUMN_OPS] = "allocations, refused ones too, and frees",
    [COLUMN_STATUS] = "ok; oom: memory ran out, which is a result; verify_failed; error",
    [COLUMN_HOST_NS] = "measured: an operation's time on this machine; of real threads: stress help threads",
    [COLUMN_ALLOC_P50] = "measured: half of the allocations took no longer; empty: too few samples",
    [COLUMN_ALLOC_P99] = "measured: 99 of 100 allocations took no longer",
    [COLUMN_ALLOC_MAX] = "measured: the longest allocation",
    [COLUMN_FREE_P50] = "measured: half of the frees took no longer",
    [COLUMN_DRIVER_CALLS] = "calls of the driver on memory, plain and virtual, from the first op to the last",
    [COLUMN_DRIVER_VNS] = "the time in them, modelled by the simulated device; empty on CUDA",
    [COLUMN_GPU_WAITS] = "times that the arena made a stream wait, or waited itself",
    [COLUMN_REQUESTED_PEAK] = "the most that the workload asked for at once; peaks are sampled after every op",
    [COLUMN_LIVE_PEAK] = "the most that was in the blocks that served it",
    [COLUMN_RESERVED_PEAK] = "the most that was held from the driver",
    [COLUMN_FOOTPRINT] = "reserved_peak_bytes over requested_peak_bytes; shown as overhead: 1.05 is +5 %",
    [COLUMN_FRAGMENTATION] = "free memory beside its longest piece: at the first failure, else at peak reserved",
    [COLUMN_STRANDED_PEAK] = "the most that was free in pages that were partly live, so that it could not be moved",
    [COLUMN_REMAPPED_PAGES] = "pages that were moved",
    [COLUMN_OOM_OP] = "the first allocation that was refused: the operations before it",
    [COLUMN_OOM_REQUESTED] = "what it asked for",
    [COLUMN_OOM_FREE] = "what was free then",
    [COLUMN_OOM_LARGEST] = "the longest free piece then",
    [COLUMN_OOM_REASON] = "why it was refused; a sentence below the table says it in full",
    [COLUMN_DIGEST] = "of the operations and their results: where it differs the work did",
    [COLUMN_PENDING_PEAK] = "the most that was free, but for the stream alone that had freed it",
    [COLUMN_ALLOCS] = "of ops the allocations",
    [COLUMN_THREADS] = "threads that made the operations: stress help threads",
    [COLUMN_MISSES] = "allocations that called the driver",
    [COLUMN_HIT_P50] = "measured: as alloc_p50_ns, of those that did not",
    [COLUMN_HIT_P99] = "measured: as alloc_p99_ns, of those that did not",
    [COLUMN_MISS_P50] = "measured: as alloc_p50_ns, of those that did",
    [COLUMN_WAITED_P50] = "with --rate, modelled: from when an op was due to its end, half of them",
    [COLUMN_WAITED_P99] = "with --rate, modelled: the same, 99 of 100",
    [COLUMN_WAITED_MAX] = "with --rate, modelled: the same, the longest",
    [COLUMN_SERVED_P99] = "with --rate, modelled: from when an op could begin to its end, 99 of 100",
    [COLUMN_ENDED] = "why there are no more repeats or rounds: precise, rounds, time (help measuring)",
    [COLUMN_VNS_PER_OP] = "the virtual clock from the first op to the last, over ops; of rows that are ok",
    [COLUMN_STEADY_STEPS] = "steps that follow the warm-up; empty: no step comes again",
    [COLUMN_STEADY_CALLS] = "of driver_calls those in these steps",
    [COLUMN_STEADY_VNS] = "of driver_vns what was spent in these steps",
    [COLUMN_OOM_ROUND] = "with --rounds: the round in which memory ran out first, from 1",
    [COLUMN_OOM_ROUND_OP] = "with --rounds: the operations of that round before it",
    [COLUMN_MIN_LIMIT] = "the smallest limit under which the workload completes",
    [COLUMN_RATIO] = "of capacity: min_limit_bytes over requested_peak_bytes; of holes: over the fewest",
    [COLUMN_PROBES] = "runs that the search took",
    [COLUMN_STOP_OP] = "where the workload ends with one step less memory, or one more of what is varied",
    [COLUMN_STOP_REASON] = "why it ends there",
    [COLUMN_STOP_TEXT] = "why it ends there, as a sentence",
    [COLUMN_HOLES] = "free blocks around the pair",
    [COLUMN_NS_PER_PAIR] = "measured: an allocation and a free, the median of all rounds",
    [COLUMN_PAIR_INSTRUCTIONS] = "the same, in instructions counted by callgrind",
    [COLUMN_RATIO_LOW] = "of the ratio the lower end of its 95 % confidence interval",
    [COLUMN_RATIO_HIGH] = "of the ratio the upper end of its 95 % confidence interval",
    [COLUMN_CASE] = "what is measured",
    [COLUMN_AGAINST] = "what a pair is compared with",
    [COLUMN_AGAINST_NS] = "measured: what that takes",
    [COLUMN_AGAINST_INSTRUCTIONS] = "what that takes, in instructions",
    [COLUMN_TARGET] = "what the ratio should be",
    [COLUMN_MET] = "yes or no, where the whole interval says so; else unclear",
    [COLUMN_ROUNDS] = "rounds that were made, or measured",
    [COLUMN_KEY] = "the workload's option that is varied",
    [COLUMN_LARGEST] = "the largest that it may be for the workload to complete",
    [COLUMN_ALLOWED] = "the largest whose requested peak is no more than the memory there is",
    [COLUMN_NEXT_PEAK] = "the requested peak of one more than the largest",
    [COLUMN_REPEATS] = "of the workload, one after the other",
    [COLUMN_CLAIMS] = "of a need: what people say, which it answers",
    [COLUMN_VERDICT] = "of a need: pass, fail, or none where it is not this policy's",
    [COLUMN_GROWTH] = "of the time with free blocks: O(1), O(log n) or O(n); unclear",
    [COLUMN_GROWTH_RMS] = "what that curve leaves over; 0 is a perfect fit",
    [COLUMN_INSTRUCTIONS_GROWTH] = "of the instructions with free blocks: O(1), O(log n) or O(n)",
    [COLUMN_INSTRUCTIONS_GROWTH_RMS] = "what that curve leaves over; 0 is a perfect fit",
    [COLUMN_SAID] = "of a need: what was measured, in a sentence",
};

int help_column(FILE *out, const char *name)
{
    for (int column = 0; column < COLUMN_COUNT; column++) {
        if (strcmp(name, row_column_name((row_column)column))) continue;
        fprintf(out, "%s, a column of --out csv: %s\n", name, help_notes[column]);
        return 1;
    }
    return 0;
}

void help_column_notes(FILE *out)
{
    for (int column = 0; column < COLUMN_COUNT; column++) {
        fprintf(out, "  %-29s %s\n", row_column_name((row_column)column), help_notes[column]);
    }
}
