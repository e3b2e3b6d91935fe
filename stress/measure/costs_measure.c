/* obtain, give_back and info.
   It must not know what the numbers are for.
   Tested by tests/test_costs.c. */
#include <string.h>

#include "costs_bench.h"

#define COSTS_SMALLEST ((uint64_t)1 << 10)

/* 1: there is no memory for it. */
static int costs_obtain(costs_bench *bench, uint64_t bytes, void **ptr)
{
    const gpuarena_driver *driver = bench->driver;
    return costs_check(bench, "cudaMalloc", bytes,
                       driver->memory.obtain(driver, GPUARENA_MEMORY_DEVICE, ptr, bytes, NULL));
}

static int costs_give_back(costs_bench *bench, uint64_t bytes, void *ptr)
{
    int code = bench->driver->memory.give_back(bench->driver, GPUARENA_MEMORY_DEVICE, ptr, bytes, NULL);
    return code ? costs_failed(bench, "cudaFree", bytes, code) : 0;
}

/* One obtain and one give_back, each between two looks at what is free. 1: there is no memory for it. */
static int costs_memory(costs_bench *bench, uint64_t bytes, int counts)
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

/* Small sizes beside a piece that keeps their slab open. */
static int costs_slabs(costs_bench *bench)
{
    void *keeper = NULL;
    int failed = costs_obtain(bench, COSTS_SMALLEST, &keeper);
    if (failed > 0) costs_refused(bench, COSTS_SMALLEST);
    if (failed) return failed < 0 ? -1 : 0;
    failed = costs_sizes(bench, costs_memory, COSTS_SMALLEST, 4, SIM_GRANULE);
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

int costs_takes_memory(sim_cost_kind kind)
{
    return kind == SIM_COST_MALLOC_BLOCK || kind == SIM_COST_FREE_BLOCK
        || (kind >= SIM_COST_VM_RESERVE && kind <= SIM_COST_VM_UNMAP);
}

int costs_measures(const costs_table *table, sim_cost_kind kind)
{
    if (kind >= SIM_COST_VM_RESERVE && kind <= SIM_COST_VM_UNMAP) return table->has_vm;
    return kind >= SIM_COST_MALLOC_SLAB && kind <= SIM_COST_INFO;
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
    made->has_vm = driver->page_bytes > 0;
    if (costs_slabs(&bench) || costs_sizes(&bench, costs_memory, SIM_GRANULE, 2, COSTS_LARGEST + 1)) return -1;
    if (costs_info(&bench) || costs_measure_vm(&bench)) return -1;
    for (size_t index = 0; index < made->count; index++) given_back += made->rows[index].kind == SIM_COST_FREE_BLOCK;
    if (given_back > 1) return 0;
    return problem_set(why, EXIT_HARNESS, "blocks of fewer than two sizes were obtained and given back: too little "
                       "free device memory, expected at least 8M");
}
