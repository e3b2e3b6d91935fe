#include "costs.h"

#include "../base/progress.h"

#define COSTS_LARGEST ((uint64_t)16 << 30)

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

/* Makes one set of calls at a size, and samples them if it counts. 1: there is no memory for it; -1 and a problem: a
   call failed. */
typedef int (*costs_turn)(costs_bench *bench, uint64_t bytes, int counts);

/* ---- The driver's calls: those of virtual memory are in the order of a range's life, reserve to release */

enum { COSTS_OBTAIN, COSTS_GIVE_BACK, COSTS_INFO,
       VM_RESERVE, VM_CREATE, VM_MAP, VM_ACCESS, VM_UNMAP, VM_DESTROY, VM_RELEASE, COSTS_CALLS };

static const struct {
    const char   *name;
    int           may_lack;                      /* 1: there may be no memory for it */
    sim_cost_kind kind;                          /* for the calls of virtual memory */
    int           undo;                          /* the first call that undoes the earlier ones, if this one fails */
} costs_calls[COSTS_CALLS] = {
    [COSTS_OBTAIN] = { "cudaMalloc", 1, SIM_COST_MALLOC_BLOCK, COSTS_CALLS },
    [COSTS_GIVE_BACK] = { "cudaFree", 0, SIM_COST_FREE_BLOCK, COSTS_CALLS },
    [COSTS_INFO] = { "cudaMemGetInfo", 0, SIM_COST_INFO, COSTS_CALLS },
    [VM_RESERVE] = { "cuMemAddressReserve", 1, SIM_COST_VM_RESERVE, COSTS_CALLS },
    [VM_CREATE] = { "cuMemCreate", 1, SIM_COST_VM_CREATE, VM_RELEASE },
    [VM_MAP] = { "cuMemMap", 1, SIM_COST_VM_MAP, VM_DESTROY },
    [VM_ACCESS] = { "cuMemSetAccess", 1, SIM_COST_VM_ACCESS, VM_UNMAP },
    [VM_UNMAP] = { "cuMemUnmap", 0, SIM_COST_VM_UNMAP, COSTS_CALLS },
    [VM_DESTROY] = { "cuMemRelease", 0, SIM_COST_VM_DESTROY, VM_RELEASE },
    [VM_RELEASE] = { "cuMemAddressFree", 0, SIM_COST_VM_RELEASE, COSTS_CALLS },
};

typedef struct costs_range { void *address; uint64_t page, bytes, free_bytes; } costs_range;

static int costs_code(const gpuarena_driver *driver, costs_range *range, int call)
{
    uint64_t total_bytes;
    switch (call) {
    case COSTS_OBTAIN:
        return driver->memory.obtain(driver, GPUARENA_MEMORY_DEVICE, &range->address, range->bytes, NULL);
    case COSTS_GIVE_BACK:
        return driver->memory.give_back(driver, GPUARENA_MEMORY_DEVICE, range->address, range->bytes,
                                        GPUARENA_ANY_STREAM);
    case COSTS_INFO: return driver->memory.info(driver, GPUARENA_MEMORY_DEVICE, &range->free_bytes, &total_bytes);
    case VM_RESERVE: return driver->vm.reserve(driver, &range->address, range->bytes, 0);
    case VM_CREATE:  return driver->vm.create(driver, &range->page, range->bytes, 0);
    case VM_MAP:     return driver->vm.map(driver, range->address, range->bytes, range->page);
    case VM_ACCESS:  return driver->vm.access(driver, range->address, range->bytes, 1);
    case VM_UNMAP:   return driver->vm.unmap(driver, range->address, range->bytes);
    case VM_DESTROY: return driver->vm.destroy(driver, range->page, range->bytes);
    default:         return driver->vm.release(driver, range->address, range->bytes);
    }
}

/* 1: there is no memory for it; -1 and a problem that names the call. */
static int costs_call(costs_bench *bench, costs_range *range, int call)
{
    const gpuarena_driver *driver = bench->driver;
    int code = costs_code(driver, range, call);
    if (!code) return 0;
    if (costs_calls[call].may_lack && driver->classify(driver, code) == GPUARENA_STATUS_NO_MEMORY) return 1;
    return problem_set(bench->why, EXIT_HARNESS, "%s of %" PRIu64 " bytes: %s (%d)", costs_calls[call].name,
                       range->bytes, driver->code_name(driver, code), code);
}

static int costs_free_bytes(costs_bench *bench, uint64_t *free_bytes)
{
    costs_range none = { .bytes = 0 };
    int failed = costs_call(bench, &none, COSTS_INFO);
    *free_bytes = none.free_bytes;
    return failed;
}

/* ---- Samples, medians, sizes */

static int costs_takes_memory(sim_cost_kind kind)
{
    return kind == SIM_COST_MALLOC_BLOCK || kind == SIM_COST_FREE_BLOCK
        || (kind >= SIM_COST_VM_RESERVE && kind <= SIM_COST_VM_UNMAP);
}

static uint64_t costs_now_ns(const costs_bench *bench)
{
    return bench->driver->now_ns ? bench->driver->now_ns(bench->driver) : progress_clock_ns();
}

static void costs_sample(costs_bench *bench, sim_cost_kind kind, uint64_t ns)
{
    costs_samples *samples = &bench->samples[kind];
    samples->ns[samples->count++] = ns;
}

ARRAY_ORDER(costs_by_time, uint64_t, [0])

/* Makes a row from the samples of each kind that most of the calls had. A few samples of another kind come from other
   processes. */
static void costs_settle(costs_bench *bench, uint64_t bytes)
{
    for (int kind = 0; kind < SIM_COST_KINDS; kind++) {
        costs_samples *samples = &bench->samples[kind];
        if (samples->count > COSTS_REPEATS / 2 && bench->table->count < COSTS_MOST_ROWS) {
            costs_row *row = &bench->table->rows[bench->table->count++];
            qsort(samples->ns, samples->count, sizeof *samples->ns, costs_by_time);
            row->kind = (sim_cost_kind)kind;
            row->bytes = bytes;
            if (costs_takes_memory(row->kind)) row->bytes = memory_round_up(bytes, SIM_GRANULE);
            row->sample_count = samples->count;
            row->median_ns = samples->ns[samples->count / 2];
            row->least_ns = samples->ns[0];
            row->most_ns = samples->ns[samples->count - 1];
        }
        samples->count = 0;
    }
}

/* Records a size for which there was no memory. */
static void costs_refused(costs_bench *bench, uint64_t bytes)
{
    costs_table *table = bench->table;
    if (table->refused_count < COSTS_MOST_REFUSED) table->refused[table->refused_count++] = bytes;
}

/* Takes turns at sizes from `bytes` on, each `factor` times the one before, below `end` and up to half of the free
   memory. The first turn of a size does not count. A single refusal may be caused by another process, so a size is
   given up only after many. */
static int costs_sizes(costs_bench *bench, costs_turn turn, uint64_t bytes, uint64_t factor, uint64_t end)
{
    uint64_t free_bytes;
    if (costs_free_bytes(bench, &free_bytes)) return -1;
    for (; bytes < end && bytes <= free_bytes / 2; bytes *= factor) {
        int refusals = 0;
        for (int repeat = 0; repeat <= COSTS_REPEATS && refusals <= COSTS_REPEATS / 2; repeat++) {
            int failed = turn(bench, bytes, repeat > 0);
            if (failed < 0) return -1;
            refusals += failed;
        }
        if (refusals > COSTS_REPEATS / 2) costs_refused(bench, bytes);
        costs_settle(bench, bytes);
    }
    return 0;
}

/* ---- obtain and give_back */

#define COSTS_SMALLEST ((uint64_t)1 << 10)

/* Makes one obtain and one give_back, and reads the free bytes before and after each. 1: there is no memory. */
static int costs_memory(costs_bench *bench, uint64_t bytes, int counts)
{
    uint64_t before, held, after, start_ns, end_ns;
    costs_range block = { .bytes = bytes };
    if (costs_free_bytes(bench, &before)) return -1;
    start_ns = costs_now_ns(bench);
    int failed = costs_call(bench, &block, COSTS_OBTAIN);
    if (failed) return failed;
    end_ns = costs_now_ns(bench);
    if (costs_free_bytes(bench, &held)) {
        (void)costs_call(bench, &block, COSTS_GIVE_BACK);
        return -1;
    }
    if (counts) costs_sample(bench, held < before ? SIM_COST_MALLOC_BLOCK : SIM_COST_MALLOC_SLAB, end_ns - start_ns);
    start_ns = costs_now_ns(bench);
    if (costs_call(bench, &block, COSTS_GIVE_BACK)) return -1;
    end_ns = costs_now_ns(bench);
    if (costs_free_bytes(bench, &after)) return -1;
    if (counts) costs_sample(bench, after > held ? SIM_COST_FREE_BLOCK : SIM_COST_FREE_SLAB, end_ns - start_ns);
    return 0;
}

/* Measures small sizes while a kept block holds their slab open. */
static int costs_slabs(costs_bench *bench)
{
    costs_range keeper = { .bytes = COSTS_SMALLEST };
    int failed = costs_call(bench, &keeper, COSTS_OBTAIN);
    if (failed > 0) costs_refused(bench, COSTS_SMALLEST);
    if (failed) return failed < 0 ? -1 : 0;
    failed = costs_sizes(bench, costs_memory, COSTS_SMALLEST, 4, SIM_GRANULE);
    return costs_call(bench, &keeper, COSTS_GIVE_BACK) || failed ? -1 : 0;
}

int costs_measures(const costs_table *table, sim_cost_kind kind)
{
    if (kind >= SIM_COST_VM_RESERVE && kind <= SIM_COST_VM_UNMAP) return table->has_vm;
    return kind >= SIM_COST_MALLOC_SLAB && kind <= SIM_COST_INFO;
}

/* ---- The calls of virtual memory */

/* Makes the calls of virtual memory in order. If one fails, the earlier ones are undone. */
static int costs_vm(costs_bench *bench, uint64_t bytes, int counts)
{
    costs_range range = { .bytes = bytes };
    for (int call = VM_RESERVE; call < COSTS_CALLS; call++) {
        uint64_t start_ns = costs_now_ns(bench);
        int failed = costs_call(bench, &range, call);
        uint64_t end_ns = costs_now_ns(bench);
        for (int undo = costs_calls[call].undo; failed && undo < COSTS_CALLS; undo++) {
            if (costs_call(bench, &range, undo)) return -1;
        }
        if (failed) return failed;
        if (counts) costs_sample(bench, costs_calls[call].kind, end_ns - start_ns);
    }
    return 0;
}

int costs_measure(const gpuarena_driver *driver, costs_table *made, problem *why)
{
    costs_bench bench = { .driver = driver, .table = made, .why = why };
    size_t given_back = 0;
    made->count = made->refused_count = 0;
    made->has_vm = driver->page_bytes > 0;
    if (costs_slabs(&bench) || costs_sizes(&bench, costs_memory, SIM_GRANULE, 2, COSTS_LARGEST + 1)) return -1;
    for (int repeat = 0; repeat <= COSTS_REPEATS; repeat++) {
        uint64_t ignored, start_ns = costs_now_ns(&bench);
        if (costs_free_bytes(&bench, &ignored)) return -1;
        if (repeat) costs_sample(&bench, SIM_COST_INFO, costs_now_ns(&bench) - start_ns);
    }
    costs_settle(&bench, 0);
    if (made->has_vm && costs_sizes(&bench, costs_vm, driver->page_bytes, 2, COSTS_LARGEST + 1)) return -1;
    for (size_t index = 0; index < made->count; index++) given_back += made->rows[index].kind == SIM_COST_FREE_BLOCK;
    if (given_back > 1) return 0;
    return problem_set(why, EXIT_HARNESS, "blocks of fewer than two sizes were obtained and given back: too little "
                       "free device memory, expected at least 8M");
}

/* ---- Medians of slopes and remainders, and their text */

enum { FIT_MOST_PAIRS = COSTS_MOST_ROWS * (COSTS_MOST_ROWS - 1) / 2, FIT_COMMENT = 116 };

typedef struct fit_value { double value, weight; } fit_value;

ARRAY_ORDER(fit_by_value, fit_value, ->value)

static double fit_median(fit_value *values, size_t count)
{
    double total = 0.0, below = 0.0;
    size_t at = 0;
    for (size_t index = 0; index < count; index++) total += values[index].weight;
    qsort(values, count, sizeof *values, fit_by_value);
    while (at + 1 < count && (below += values[at].weight) * 2.0 < total) at++;
    return values[at].value;
}

static uint64_t fit_whole(double value, uint64_t most)
{
    if (!(value > 0.0)) return 0;
    return value >= (double)most ? most : (uint64_t)(value + 0.5);
}

static uint64_t fit_per_mib(const costs_row *const *rows, size_t count)
{
    static fit_value slopes[FIT_MOST_PAIRS];
    size_t pairs = 0;
    for (size_t first = 0; first < count; first++) {
        for (size_t second = first + 1; second < count; second++) {
            double mib = ((double)rows[second]->bytes - (double)rows[first]->bytes) / (double)(1 << 20);
            if (mib <= 0.0) continue;
            slopes[pairs].value = ((double)rows[second]->median_ns - (double)rows[first]->median_ns) / mib;
            slopes[pairs++].weight = mib;
        }
    }
    return pairs ? fit_whole(fit_median(slopes, pairs), SIM_COST_MAX_PER_MIB_NS) : 0;
}

/* The nanoseconds that the simulated device would charge for this row. */
static uint64_t fit_charge(const costs_fit *fit, const costs_row *row)
{
    sim_costs costs = { { { 0, 0 } } };
    costs.of[row->kind] = fit->cost;
    return sim_costs_ns(&costs, row->kind, fit->cost.per_mib_ns ? row->bytes : 0);
}

costs_fit costs_fit_kind(const costs_table *table, sim_cost_kind kind)
{
    costs_fit fit = { .row_count = 0 };
    const costs_row *rows[COSTS_MOST_ROWS];
    fit_value rests[COSTS_MOST_ROWS];
    for (size_t index = 0; index < table->count; index++) {
        if (table->rows[index].kind == kind) rows[fit.row_count++] = &table->rows[index];
    }
    if (!fit.row_count) return fit;
    if (costs_takes_memory(kind)) fit.cost.per_mib_ns = fit_per_mib(rows, fit.row_count);
    for (size_t index = 0; index < fit.row_count; index++) {
        rests[index].value = (double)rows[index]->median_ns - (double)fit_charge(&fit, rows[index]);
        rests[index].weight = 1.0;
    }
    fit.cost.fixed_ns = fit_whole(fit_median(rests, fit.row_count), SIM_COST_MAX_FIXED_NS);
    for (size_t index = 0; index < fit.row_count; index++) {
        double median = (double)rows[index]->median_ns, off = (double)fit_charge(&fit, rows[index]) - median;
        double share = (off < 0.0 ? -off : off) / (median > 0.0 ? median : 1.0);
        if (index && share <= fit.worst) continue;
        fit.worst = share;
        fit.worst_bytes = rows[index]->bytes;
    }
    return fit;
}

/* The length of text that goes on one line of comment: up to the line's end if it fits, else whole words, else as
   many bytes as fit. */
static size_t costs_line(const char *text)
{
    size_t length = strcspn(text, "\n");
    if (length <= FIT_COMMENT) return length;
    for (length = FIT_COMMENT; length && text[length] != ' '; length--) continue;
    return length ? length : FIT_COMMENT;
}

void costs_write(FILE *out, const costs_table *table, const char *about)
{
    while (*about) {
        size_t length = costs_line(about);
        fprintf(out, "# %.*s\n", (int)length, about);
        about += length;
        about += *about == ' ' || *about == '\n';
    }
    for (const costs_row *row = table->rows; row < table->rows + table->count; row++) {
        fprintf(out, "# %-12s %11" PRIu64 " bytes: median %" PRIu64 " ns of %" PRIu64 ", from %" PRIu64 " to %" PRIu64
                "\n", sim_costs_name(row->kind), row->bytes, row->median_ns, row->sample_count, row->least_ns,
                row->most_ns);
    }
    for (size_t index = 0; index < table->refused_count; index++) {
        fprintf(out, "# stopped at %" PRIu64 " bytes: no memory\n", table->refused[index]);
    }
    fputs("# per MiB: median of the slopes between sizes, weighted by their distance; fixed: median of the rest\n"
          "# name fixed_ns per_mib_ns\n", out);
    for (int kind = 0; kind < SIM_COST_KINDS; kind++) {
        costs_fit fit = costs_fit_kind(table, (sim_cost_kind)kind);
        if (!fit.row_count) continue;
        fprintf(out, "# worst of %zu sizes: %.1f %% off, at %" PRIu64 " bytes\n", fit.row_count, fit.worst * 100.0,
                fit.worst_bytes);
        sim_costs_write_line((sim_cost_kind)kind, &fit.cost, out);
    }
}
