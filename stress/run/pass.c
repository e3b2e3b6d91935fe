/* Drives every op of a stream through a pool, and after each one measures and verifies.
   It must not know workloads by name, nor what the numbers are for.
   Tested by tests/test_runner.c, tests/test_pass_*.c and tests/run.t. */
#include "pass.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../base/interrupt.h"
#include "../base/digest.h"
#include "pass_steady.h"
#include "pass_streams.h"
#include "pass_tags.h"

enum { PASS_PROGRESS_OPS = 4096, PASS_DISTURB_OPS = 64 };

typedef struct pass {
    const pass_settings *settings;
    const op_stream     *stream;
    device              *device;
    pass_streams         streams;
    pool                 pool;
    oracle              *oracle;                 /* NULL: timing pass, probe */
    pass_block          *blocks;
    pass_timing         *timing;                 /* NULL: verifying pass, probe */
    pass_clock           clock;
    pass_result         *result;
    device_counters      before;
    uint64_t             begun_vns;              /* of the host's virtual clock, when the counters were read */
    pass_steady          steady;
    device_counters      warm;                   /* when the first repetition began */
    uint64_t             op;                     /* of the op under way: allocations and frees of the stream before
                                                    it, whether or not they were refused or left out */
    int                  done;                   /* no more ops: oom, violation or error */
} pass;

static gpuarena_stream pass_handle(const pass *run, uint32_t stream)
{
    return run->streams.list[stream].handle;
}

static void pass_digest(pass *run, uint64_t word)
{
    run->result->digest = digest_word(run->result->digest, word);
}

static int pass_stop(pass *run, pass_status status, const char *message)
{
    run->done = 1;
    run->result->status = status;
    run->result->needed_ops = run->op + 1;
    snprintf(run->result->message, sizeof run->result->message, "%s", message);
    return -1;
}

/* The device failed, if so. */
static int pass_stuck(pass *run, int failed, const problem *why)
{
    char message[sizeof run->result->message];
    if (!failed) return 0;
    snprintf(message, sizeof message, "op %" PRIu64 ": %.400s", run->op, why->text);
    return pass_stop(run, PASS_ERROR, message);
}

/* Where the ops have kernels, nobody can tell whose task the order of two uses was. */
static int pass_violated(pass *run)
{
    char message[sizeof run->result->message];
    const char *violation = oracle_violation(run->oracle);
    pass_status status = oracle_is_stuck(run->oracle) ? PASS_ERROR : PASS_VERIFY_FAILED;
    int may_be_workload = run->streams.has_kernels && strstr(violation, "not ordered after");
    snprintf(message, sizeof message, "%.400s%s", violation, may_be_workload
             ? "; the policy's mistake, or the workload's if no `w` line orders its own kernels" : "");
    return pass_stop(run, status, message);
}

/* Neither success nor out of memory: the device's or the host's failure, or a result that no policy may give. */
static int pass_failed(pass *run, uint32_t block, const char *call, gpuarena_result result)
{
    char message[sizeof run->result->message];
    pool_refusal refusal;
    if (result == GPUARENA_DRIVER_ERROR || result == GPUARENA_DEVICE_LOST || result == GPUARENA_HOST_MEMORY
        || result == GPUARENA_NOT_SUPPORTED || result == GPUARENA_CAPTURE || !run->oracle) {
        pool_last_refusal(&run->pool, &refusal);
        snprintf(message, sizeof message, "op %" PRIu64 ": %s: %s: %.300s", run->op, call,
                 gpuarena_result_name(result), refusal.text);
        return pass_stop(run, PASS_ERROR, message);
    }
    oracle_result(run->oracle, run->op, block, call, gpuarena_result_name(result));
    return pass_violated(run);
}

static int pass_refused(pass *run, uint32_t block, uint64_t bytes)
{
    pass_result *result = run->result;
    result->status = PASS_OOM;
    if (!run->settings->skip_oom) run->done = 1;
    record_refuse(run->settings->recording, bytes);
    if (run->timing) return 0;
    pool_refusal refusal;
    pool_last_refusal(&run->pool, &refusal);
    if (run->oracle && run->pool.arena && oracle_refusal(run->oracle, run->op, block, bytes, refusal.largest_bytes)) {
        return pass_violated(run);
    }
    if (result->oom.happened++) return 0;
    result->oom.op = run->op;
    result->oom.round = result->times;
    result->oom.refusal = refusal;
    memory_failure(&result->memory, refusal.largest_known ? refusal.free_bytes : 0, refusal.largest_bytes);
    return 0;
}

static int pass_alloc(pass *run, const op *next, uint32_t home)
{
    pass_block *block = &run->blocks[next->first];
    problem why = { 0, "" };
    void *ptr = NULL;
    gpuarena_stream stream = pass_handle(run, home);
    gpuarena_result result = pass_tags_alloc(&run->clock, run->stream, next, &ptr, stream);
    run->result->ops++;
    run->result->allocs++;
    pass_digest(run, (uint64_t)(uint32_t)result);
    pass_digest(run, ptr != NULL);
    if (result == GPUARENA_OUT_OF_MEMORY) return pass_refused(run, next->first, next->value);
    if (result) return pass_failed(run, next->first, "alloc", result);
    const pass_block made = { ptr, next->value, oracle_owner(next->first), home, 0, 1 };
    *block = made;
    record *recording = run->settings->recording;
    uint64_t bytes = recording && ptr ? pool_block_bytes(&run->pool, ptr, next->value) : 0;
    record_alloc(recording, next->first, ptr, next->value, bytes, next->stream);
    if (run->oracle && oracle_alloc(run->oracle, run->op, next->first, ptr, next->value, stream)) {
        return pass_violated(run);
    }
    return pass_stuck(run, pass_streams_begin(&run->streams, block, &why), &why);
}

/* What a program tells its allocator before a free, and what it puts in order. */
static int pass_end_uses(pass *run, uint32_t number, uint32_t stream)
{
    pass_block *block = &run->blocks[number];
    problem why = { 0, "" };
    const pass_use *use = NULL;
    while ((use = pass_streams_unordered(&run->streams, stream, block, use)) != NULL) {
        gpuarena_result result = pool_use(&run->pool, block->ptr, pass_handle(run, use->stream));
        if (result) return pass_failed(run, number, "use", result);
    }
    int failed = pass_streams_end(&run->streams, stream, block, pool_follows(&run->pool), &why);
    return pass_stuck(run, failed, &why);
}

static int pass_free(pass *run, uint32_t number, uint32_t stream)
{
    pass_block *block = &run->blocks[number];
    if (!block->is_live) return 0;                /* was refused, and left out */
    if (run->oracle && oracle_free(run->oracle, run->op, number)) return pass_violated(run);
    if (pool_goes_home(&run->pool)) stream = block->home;
    if (pass_end_uses(run, number, stream)) return -1;
    if (pool_follows(&run->pool)) stream = block->home;
    block->is_live = 0;
    gpuarena_result result = pass_clock_free(&run->clock, block->ptr, block->bytes, pass_handle(run, stream));
    run->result->ops++;
    record_free(run->settings->recording, number);
    pass_digest(run, (uint64_t)(uint32_t)result);
    return result ? pass_failed(run, number, "free", result) : 0;
}

static int pass_touch(pass *run, uint32_t number, uint32_t stream)
{
    pass_block *block = &run->blocks[number];
    problem why = { 0, "" };
    if (run->oracle && oracle_touch(run->oracle, run->op, number)) return pass_violated(run);
    return pass_stuck(run, pass_streams_use(&run->streams, stream, block, &why), &why);
}

static int pass_kernel(pass *run, const op *next, uint32_t stream)
{
    problem why = { 0, "" };
    if (pass_stuck(run, pass_streams_work(&run->streams, stream, next->value, &why), &why)) return -1;
    for (uint32_t index = 0; index < next->count; index++) {
        uint32_t block = run->stream->touches[next->first + index];
        if (run->blocks[block].is_live && pass_touch(run, block, stream)) return -1;
    }
    return 0;
}

static int pass_wait_or_rival(pass *run, const op *next, uint32_t stream)
{
    problem why = { 0, "" };
    int failed = next->kind == OP_RIVAL
        ? device_rival(run->device, next->value, (int)next->count, &why)
        : pass_streams_follow(&run->streams, stream, pass_streams_index(&run->streams, next->value), &why);
    return pass_stuck(run, failed, &why);
}

static int pass_op(pass *run, const op *next)
{
    pass_digest(run, (uint64_t)next->kind);
    pass_digest(run, next->value);
    uint32_t stream = pass_streams_index(&run->streams, next->stream);
    switch (next->kind) {
    case OP_ALLOC:  return pass_alloc(run, next, stream);
    case OP_FREE:   return pass_free(run, next->first, stream);
    case OP_KERNEL: return pass_kernel(run, next, stream);
    case OP_WAIT:
    case OP_RIVAL:  return pass_wait_or_rival(run, next, stream);
    case OP_STEP:   record_label(run->settings->recording, next->first);
    }
    return 0;
}

static void pass_measure(pass *run, gpuarena_stats *stats)
{
    memory_use use;
    pool_measure(&run->pool, &use, stats);
    if (memory_needs_largest(&run->result->memory, &use) || record_keeps_samples(run->settings->recording))
        use.largest_bytes = pool_largest(&run->pool);
    memory_sample(&run->result->memory, &use);
    record_measure(run->settings->recording, &use);
    run->result->gpu_waits = stats->gpu_wait_count;
    run->result->remapped_pages = stats->remapped_page_count;
}

/* Where the policy was not called its figures stand. It may begin with memory: the first op is measured, whatever
   it is; and the last. Asking a pool that it disturbs is for one op in many: it tells its peaks itself. */
static int pass_settle(pass *run, size_t index)
{
    op_kind kind = run->stream->ops[index].kind;
    int is_due = !index || index + 1 == run->stream->op_count
        || ((kind == OP_ALLOC || kind == OP_FREE) && (!run->pool.is_disturbed || index % PASS_DISTURB_OPS == 0));
    gpuarena_stats stats;
    if (!run->oracle) return 0;
    if (is_due) pass_measure(run, &stats);
    return oracle_settle(run->oracle, run->op, is_due ? &stats : NULL) ? pass_violated(run) : 0;
}

/* Threads have steps of their own: those of the first are the workload's. */
static void pass_step(pass *run, size_t index)
{
    const op *next = &run->stream->ops[index];
    if (next->kind != OP_STEP || op_stream_thread(run->stream, index)) return;
    if (pass_steady_label(&run->steady, run->stream->labels[next->first])) device_count(run->device, &run->warm);
}

static void pass_drive_once(pass *run)
{
    for (size_t index = 0; index < run->stream->op_count && !run->done; index++) {
        const op *next = &run->stream->ops[index];
        if (interrupt_signal() && pass_stop(run, PASS_ERROR, "interrupted")) return;
        if (next->kind == OP_ALLOC || next->kind == OP_FREE) pass_clock_arrive(&run->clock);
        device_begin_op(run->device, run->op);
        record_op(run->settings->recording, run->op);
        if (run->stream->threads) device_thread(run->device, 1 + op_stream_thread(run->stream, index));
        pass_step(run, index);
        if (pass_op(run, next) || pass_settle(run, index)) return;      /* and is done */
        run->op += next->kind == OP_ALLOC || next->kind == OP_FREE;
        if (index % PASS_PROGRESS_OPS == 0) progress_update(run->settings->progress, index, run->stream->op_count);
    }
}

/* What is live is freed, as ops of their own. */
static int pass_rewind(pass *run)
{
    pass_clock_rest(&run->clock);
    for (size_t block = 0; block < run->stream->block_count; block++) {
        if (!run->blocks[block].is_live) continue;
        device_begin_op(run->device, run->op);
        record_op(run->settings->recording, run->op);
        if (pass_free(run, (uint32_t)block, run->blocks[block].home)) return -1;
        run->op++;
    }
    return 0;
}

static void pass_drive(pass *run)
{
    do {
        if (run->result->times && pass_steady_round(&run->steady)) device_count(run->device, &run->warm);
        if (run->result->times++ && pass_rewind(run)) return;
        if (!run->result->oom.happened) run->result->oom.round_from = run->op;
        pass_drive_once(run);
    } while (!run->done && run->result->times < run->settings->times);
}

static uint64_t pass_now_vns(const pass *run)
{
    const sim *machine = device_simulated(run->device);
    return machine ? sim_now_ns(machine) : 0;
}

static void pass_count_driver(pass *run)
{
    device_counters after;
    device_count(run->device, &after);
    run->result->vns = pass_now_vns(run) - run->begun_vns;
    run->result->steady_steps = run->steady.steps;
    if (run->steady.steps) {
        run->result->steady_calls = after.calls - run->warm.calls;
        run->result->steady_vns = after.call_vns - run->warm.call_vns;
    }
    run->result->driver_calls = after.calls - run->before.calls;
    run->result->driver_vns = after.call_vns - run->before.call_vns;
    run->result->is_virtual = after.is_virtual;
    run->result->misses = run->clock.misses;
}

/* Everything given back, every invariant of an arena holds, and it ends without complaint. */
static int pass_end_pool(pass *run, uint64_t *reserved_bytes)
{
    gpuarena_stats stats;
    gpuarena_result result = pool_trim(&run->pool);
    if (result) return pass_failed(run, ORACLE_NO_BLOCK, "trim", result);
    if (!run->pool.arena) return 0;
    gpuarena_get_stats(run->pool.arena, &stats);
    *reserved_bytes = stats.reserved_bytes;
    if (oracle_check(run->oracle, run->op)) return pass_violated(run);
    result = gpuarena_destroy(run->pool.arena);
    if (result) return pass_failed(run, ORACLE_NO_BLOCK, "destroy", result);
    run->pool.arena = NULL;
    return 0;
}

static int pass_end_blocks(pass *run)
{
    pass_clock_rest(&run->clock);
    for (size_t block = 0; block < run->stream->block_count; block++) {
        if (pass_free(run, (uint32_t)block, run->blocks[block].home)) return -1;
    }
    return 0;
}

/* Streams end before the policy does, as they may. */
static int pass_end_streams(pass *run)
{
    problem why = { 0, "" };
    for (uint32_t stream = 1; stream < run->streams.count; stream++) {
        gpuarena_result result = pool_forget(&run->pool, pass_handle(run, stream));
        if (result) return pass_failed(run, ORACLE_NO_BLOCK, "forget", result);
    }
    return pass_stuck(run, pass_streams_close(&run->streams, &why), &why);
}

/* After the last op, outside every count: nothing may be left anywhere. */
static void pass_end(pass *run)
{
    uint64_t reserved_bytes = 0, ops = run->result->ops, digest = run->result->digest;
    if (run->result->status > PASS_OOM || run->settings->verify == VERIFY_OFF) return;
    run->op = ops;
    if (!pass_end_blocks(run) && !pass_end_streams(run) && !pass_end_pool(run, &reserved_bytes)
        && oracle_end(run->oracle, run->op, reserved_bytes)) pass_violated(run);
    run->result->ops = ops;
    run->result->digest = digest;
}

static int pass_open(pass *run, const policy *chosen, problem *why)
{
    device_config config = run->settings->device;
    config.is_unjudged = run->timing || run->settings->is_probe || run->settings->verify == VERIFY_OFF;
    run->device = device_open(&config, why);
    if (!run->device) return -1;
    record_begin(run->settings->recording, run->device, run->stream, run->settings->times);
    if (pass_streams_open(&run->streams, run->stream, run->device, config.op_ns, why)) return -1;
    if (pool_open(&run->pool, chosen, run->device, why)) {
        run->result->is_unopened = 1;
        return -1;
    }
    run->streams.in_order = run->pool.in_order;
    record_pool(run->settings->recording, run->pool.limit_bytes, run->pool.is_disturbed);
    run->blocks = calloc(run->stream->block_count + 1, sizeof *run->blocks);
    if (!run->blocks)
        return problem_set(why, EXIT_HARNESS, "no host memory for %zu blocks", run->stream->block_count);
    if (run->timing || run->settings->is_probe) return 0;
    oracle_settings settings = { run->settings->verify, (uint32_t)run->stream->block_count, run->pool.alignment_bytes,
                                 run->pool.limit_bytes, run->device, run->pool.arena, run->pool.is_disturbed };
    run->oracle = oracle_create(&settings, why);
    return run->oracle ? 0 : -1;
}

/* Whoever comes next has that much less of the device: no result may hide it. */
static void pass_kept(pass *run, const char *what)
{
    pass_result *result = run->result;
    size_t length = strlen(result->message);
    if (result->status <= PASS_OOM) result->needed_ops = UINT64_MAX;
    result->status = PASS_ERROR;
    result->kept = 1;
    snprintf(result->message + length, sizeof result->message - length, "%s%s", length ? "; " : "", what);
}

static void pass_close(pass *run)
{
    problem kept = { 0, "" }, unheard = { 0, "" };
    record_finish(run->settings->recording, run->result->ops);               /* that of what could not be opened */
    oracle_destroy(run->oracle);
    free(run->blocks);
    pool_close(&run->pool);
    (void)pass_streams_close(&run->streams, &unheard);
    if (device_close(run->device, &kept)) pass_kept(run, kept.text);
}

void pass_run(const pass_settings *settings, const op_stream *stream, const policy *chosen, pass_timing *timing,
              pass_result *result)
{
    problem why = { 0, "" };
    pass run;
    memset(&run, 0, sizeof run);
    memset(result, 0, sizeof *result);
    run.settings = settings;
    run.stream = stream;
    run.timing = timing;
    run.result = result;
    result->digest = DIGEST_START;
    if (pass_open(&run, chosen, &why)) {
        pass_stop(&run, PASS_ERROR, why.text);
        if (!run.device) result->needed_ops = 0;
        else if (!run.pool.device) result->needed_ops = UINT64_MAX;          /* the streams of all ops are too many */
    } else {
        run.clock = pass_clock_of(&run.pool, timing, settings->arrivals, settings->rate);
        device_count(run.device, &run.before);
        run.begun_vns = pass_now_vns(&run);
        pass_drive(&run);
        pass_count_driver(&run);
        record_op(settings->recording, run.op);
        record_finish(settings->recording, result->ops);
        if (run.oracle) pass_end(&run);
    }
    pass_close(&run);
}
