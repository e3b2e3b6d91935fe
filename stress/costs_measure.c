/* Sizes, repeats and medians.
   It must not know what the numbers are for.
   Tested by tests/test_costs.c. */
#include "costs_measure.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "progress.h"

#define COSTS_SMALLEST ((uint64_t)1 << 10)
#define COSTS_LARGEST  ((uint64_t)16 << 30)

typedef struct costs_samples {
    uint64_t ns[COSTS_REPEATS];
    size_t   count;
} costs_samples;

typedef struct costs_bench {
    const gpuarena_driver *driver;
    costs_table           *table;
    costs_samples          samples[SIM_COST_KINDS];      /* of the size under way */
    problem               *why;
} costs_bench;

static uint64_t costs_now_ns(const costs_bench *bench)
{
    return bench->driver->now_ns ? bench->driver->now_ns(bench->driver) : progress_clock_ns();
}

static int costs_failed(costs_bench *bench, const char *call, uint64_t bytes, int code)
{
    const gpuarena_driver *driver = bench->driver;
    const char *name = driver->code_name ? driver->code_name(driver, code) : "driver code";
    return problem_set(bench->why, EXIT_HARNESS, "%s of %" PRIu64 " bytes: %s (%d)", call, bytes, name ? name : "?",
                       code);
}

static int costs_free_bytes(costs_bench *bench, uint64_t *free_bytes)
{
    uint64_t total_bytes;
    int code = bench->driver->memory.info(bench->driver, GPUARENA_MEMORY_DEVICE, free_bytes, &total_bytes);
    return code ? costs_failed(bench, "cudaMemGetInfo", 0, code) : 0;
}

static void costs_sample(costs_bench *bench, sim_cost_kind kind, uint64_t ns)
{
    costs_samples *samples = &bench->samples[kind];
    samples->ns[samples->count++] = ns;
}

/* 1: there is no memory for it. */
static int costs_obtain(costs_bench *bench, uint64_t bytes, void **ptr)
{
    const gpuarena_driver *driver = bench->driver;
    int code = driver->memory.obtain(driver, GPUARENA_MEMORY_DEVICE, ptr, bytes, NULL);
    if (code && driver->classify && driver->classify(driver, code) == GPUARENA_STATUS_NO_MEMORY) return 1;
    return code ? costs_failed(bench, "cudaMalloc", bytes, code) : 0;
}

static int costs_give_back(costs_bench *bench, uint64_t bytes, void *ptr)
{
    int code = bench->driver->memory.give_back(bench->driver, GPUARENA_MEMORY_DEVICE, ptr, bytes, NULL);
    return code ? costs_failed(bench, "cudaFree", bytes, code) : 0;
}

/* One obtain and one give_back, each between two looks at what is free. 1: there is no memory for it. */
static int costs_turn(costs_bench *bench, uint64_t bytes, int counts)
{
    uint64_t before, held, after, start_ns, end_ns;
    void *ptr = NULL;
    if (costs_free_bytes(bench, &before)) return -1;
    start_ns = costs_now_ns(bench);
    int failed = costs_obtain(bench, bytes, &ptr);
    if (failed) return failed;
    end_ns = costs_now_ns(bench);
    if (costs_free_bytes(bench, &held)) {
        (void)costs_give_back(bench, bytes, ptr);
        return -1;
    }
    if (counts) costs_sample(bench, held < before ? SIM_COST_MALLOC_BLOCK : SIM_COST_MALLOC_SLAB, end_ns - start_ns);
    start_ns = costs_now_ns(bench);
    if (costs_give_back(bench, bytes, ptr)) return -1;
    end_ns = costs_now_ns(bench);
    if (costs_free_bytes(bench, &after)) return -1;
    if (counts) costs_sample(bench, after > held ? SIM_COST_FREE_BLOCK : SIM_COST_FREE_SLAB, end_ns - start_ns);
    return 0;
}

static int costs_by_time(const void *left, const void *right)
{
    uint64_t first = *(const uint64_t *)left, second = *(const uint64_t *)right;
    return first < second ? -1 : first > second;
}

/* A row of each kind that most of the calls were; a few of another kind are other processes' doing. */
static void costs_settle(costs_bench *bench, uint64_t bytes)
{
    for (int kind = 0; kind < SIM_COST_KINDS; kind++) {
        costs_samples *samples = &bench->samples[kind];
        int is_block = kind == SIM_COST_MALLOC_BLOCK || kind == SIM_COST_FREE_BLOCK;
        if (samples->count > COSTS_REPEATS / 2 && bench->table->count < COSTS_MOST_ROWS) {
            costs_row *row = &bench->table->rows[bench->table->count++];
            qsort(samples->ns, samples->count, sizeof *samples->ns, costs_by_time);
            row->kind = (sim_cost_kind)kind;
            row->bytes = is_block ? (bytes + SIM_GRANULE - 1) / SIM_GRANULE * SIM_GRANULE : bytes;
            row->sample_count = samples->count;
            row->median_ns = samples->ns[samples->count / 2];
            row->least_ns = samples->ns[0];
            row->most_ns = samples->ns[samples->count - 1];
        }
        samples->count = 0;
    }
}

static void costs_refused(costs_bench *bench, uint64_t bytes)
{
    costs_table *table = bench->table;
    if (table->refused_count < COSTS_MOST_REFUSED) table->refused[table->refused_count++] = bytes;
}

/* No memory for one call may be another process's doing, and pass. */
static int costs_size(costs_bench *bench, uint64_t bytes)
{
    int refusals = 0;
    for (int repeat = 0; repeat <= COSTS_REPEATS && refusals <= COSTS_REPEATS / 2; repeat++) {
        int failed = costs_turn(bench, bytes, repeat > 0);
        if (failed < 0) return -1;
        refusals += failed;
    }
    if (refusals > COSTS_REPEATS / 2) costs_refused(bench, bytes);
    costs_settle(bench, bytes);
    return 0;
}

/* Sizes times `factor` from the smallest on, below the end and while they fit into half of what is free. */
static int costs_sizes(costs_bench *bench, uint64_t bytes, uint64_t factor, uint64_t end)
{
    uint64_t free_bytes;
    if (costs_free_bytes(bench, &free_bytes)) return -1;
    for (; bytes < end && bytes <= free_bytes / 2; bytes *= factor) {
        if (costs_size(bench, bytes)) return -1;
    }
    return 0;
}

/* Small sizes beside a piece that keeps their slab open. */
static int costs_slabs(costs_bench *bench)
{
    void *keeper = NULL;
    int failed = costs_obtain(bench, COSTS_SMALLEST, &keeper);
    if (failed > 0) costs_refused(bench, COSTS_SMALLEST);
    if (failed) return failed < 0 ? -1 : 0;
    failed = costs_sizes(bench, COSTS_SMALLEST, 4, SIM_GRANULE);
    return costs_give_back(bench, COSTS_SMALLEST, keeper) || failed ? -1 : 0;
}

static int costs_info(costs_bench *bench)
{
    for (int repeat = 0; repeat <= COSTS_REPEATS; repeat++) {
        uint64_t ignored, start_ns = costs_now_ns(bench);
        if (costs_free_bytes(bench, &ignored)) return -1;
        if (repeat) costs_sample(bench, SIM_COST_INFO, costs_now_ns(bench) - start_ns);
    }
    costs_settle(bench, 0);
    return 0;
}

int costs_measures(sim_cost_kind kind)
{
    static const sim_cost_kind measured[] = { SIM_COST_MALLOC_SLAB, SIM_COST_MALLOC_BLOCK, SIM_COST_FREE_SLAB,
                                              SIM_COST_FREE_BLOCK, SIM_COST_INFO };
    size_t at = 0;
    while (at < sizeof measured / sizeof measured[0] && measured[at] != kind) at++;
    return at < sizeof measured / sizeof measured[0];
}

int costs_measure(const gpuarena_driver *driver, costs_table *made, problem *why)
{
    costs_bench bench;
    size_t given_back = 0;
    memset(&bench, 0, sizeof bench);
    made->count = made->refused_count = 0;
    bench.driver = driver;
    bench.table = made;
    bench.why = why;
    if (costs_slabs(&bench) || costs_sizes(&bench, SIM_GRANULE, 2, COSTS_LARGEST + 1)) return -1;
    if (costs_info(&bench)) return -1;
    for (size_t index = 0; index < made->count; index++) given_back += made->rows[index].kind == SIM_COST_FREE_BLOCK;
    if (given_back > 1) return 0;
    return problem_set(why, EXIT_HARNESS, "blocks of fewer than two sizes were obtained and given back: too little "
                       "free device memory, expected at least 8M");
}
