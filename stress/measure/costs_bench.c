/* Samples, medians, sizes.
   Must not know which calls there are.
   Tested by tests/test_costs.c. */
#include "costs_bench.h"

#include <inttypes.h>
#include <stdlib.h>

#include "../base/progress.h"

uint64_t costs_now_ns(const costs_bench *bench)
{
    return bench->driver->now_ns ? bench->driver->now_ns(bench->driver) : progress_clock_ns();
}

int costs_failed(costs_bench *bench, const char *call, uint64_t bytes, int code)
{
    const gpuarena_driver *driver = bench->driver;
    const char *name = driver->code_name ? driver->code_name(driver, code) : "driver code";
    return problem_set(bench->why, EXIT_HARNESS, "%s of %" PRIu64 " bytes: %s (%d)", call, bytes, name ? name : "?",
                       code);
}

int costs_check(costs_bench *bench, const char *call, uint64_t bytes, int code)
{
    const gpuarena_driver *driver = bench->driver;
    if (code && driver->classify && driver->classify(driver, code) == GPUARENA_STATUS_NO_MEMORY) return 1;
    return code ? costs_failed(bench, call, bytes, code) : 0;
}

int costs_free_bytes(costs_bench *bench, uint64_t *free_bytes)
{
    uint64_t total_bytes;
    int code = bench->driver->memory.info(bench->driver, GPUARENA_MEMORY_DEVICE, free_bytes, &total_bytes);
    return code ? costs_failed(bench, "cudaMemGetInfo", 0, code) : 0;
}

void costs_sample(costs_bench *bench, sim_cost_kind kind, uint64_t ns)
{
    costs_samples *samples = &bench->samples[kind];
    samples->ns[samples->count++] = ns;
}

static int costs_by_time(const void *left, const void *right)
{
    uint64_t first = *(const uint64_t *)left, second = *(const uint64_t *)right;
    return first < second ? -1 : first > second;
}

/* A row of each kind that most of the calls were; a few of another kind are other processes' doing. */
void costs_settle(costs_bench *bench, uint64_t bytes)
{
    for (int kind = 0; kind < SIM_COST_KINDS; kind++) {
        costs_samples *samples = &bench->samples[kind];
        if (samples->count > COSTS_REPEATS / 2 && bench->table->count < COSTS_MOST_ROWS) {
            costs_row *row = &bench->table->rows[bench->table->count++];
            qsort(samples->ns, samples->count, sizeof *samples->ns, costs_by_time);
            row->kind = (sim_cost_kind)kind;
            row->bytes = bytes;
            if (costs_takes_memory(row->kind)) row->bytes = (bytes + SIM_GRANULE - 1) / SIM_GRANULE * SIM_GRANULE;
            row->sample_count = samples->count;
            row->median_ns = samples->ns[samples->count / 2];
            row->least_ns = samples->ns[0];
            row->most_ns = samples->ns[samples->count - 1];
        }
        samples->count = 0;
    }
}

void costs_refused(costs_bench *bench, uint64_t bytes)
{
    costs_table *table = bench->table;
    if (table->refused_count < COSTS_MOST_REFUSED) table->refused[table->refused_count++] = bytes;
}

/* No memory for one call may be another process's doing, and pass. */
static int costs_size(costs_bench *bench, costs_turn turn, uint64_t bytes)
{
    int refusals = 0;
    for (int repeat = 0; repeat <= COSTS_REPEATS && refusals <= COSTS_REPEATS / 2; repeat++) {
        int failed = turn(bench, bytes, repeat > 0);
        if (failed < 0) return -1;
        refusals += failed;
    }
    if (refusals > COSTS_REPEATS / 2) costs_refused(bench, bytes);
    costs_settle(bench, bytes);
    return 0;
}

/* Sizes times `factor` from the smallest on, below the end and while they fit into half of what is free. */
int costs_sizes(costs_bench *bench, costs_turn turn, uint64_t bytes, uint64_t factor, uint64_t end)
{
    uint64_t free_bytes;
    if (costs_free_bytes(bench, &free_bytes)) return -1;
    for (; bytes < end && bytes <= free_bytes / 2; bytes *= factor) {
        if (costs_size(bench, turn, bytes)) return -1;
    }
    return 0;
}
