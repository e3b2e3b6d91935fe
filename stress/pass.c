/* Drives every op of a stream through a pool, and after each one measures and verifies.
   It must not know workloads by name, nor what the numbers are for.
   Tested by tests/test_runner.c, tests/test_pass_streams.c and tests/run.t. */
#include "pass.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "measure/digest.h"
#include "pass_streams.h"

enum { PASS_PROGRESS_OPS = 4096 };

typedef struct pass_slot {                       /* a block of the stream */
    void    *ptr;
    uint64_t bytes;
    uint64_t others;                             /* pass_bit of the streams that used it, its own aside */
    uint32_t home;                               /* the stream of its allocation */
    int      present;                            /* allocated and not freed; refused blocks never are */
} pass_slot;

typedef struct pass {
    const pass_settings *settings;
    const op_stream     *stream;
    device              *device;
    pass_streams         streams;
    pool                 pool;
    oracle              *oracle;                 /* NULL: timing pass */
    pass_slot           *slots;
    pass_timing         *timing;                 /* NULL: verifying pass */
    pass_result         *result;
    device_counters      before;
    uint64_t             op;                     /* of the op under way: allocations and frees of the stream before
                                                    it, whether or not they were refused or left out */
    int                  done;                   /* no more ops: oom, violation or error */
} pass;

/* The last bit stands for all streams from PASS_LAST_BIT on. */
enum { PASS_LAST_BIT = 63 };

static uint64_t pass_bit(uint32_t stream)
{
    return (uint64_t)1 << (stream < PASS_LAST_BIT ? stream : PASS_LAST_BIT);
}

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

static int pass_stuck(pass *run, const problem *why)
{
    char message[sizeof run->result->message];
    snprintf(message, sizeof message, "op %" PRIu64 ": %.400s", run->op, why->text);
    return pass_stop(run, PASS_ERROR, message);
}

static int pass_violated(pass *run)
{
    pass_status status = oracle_is_stuck(run->oracle) ? PASS_ERROR : PASS_VERIFY_FAILED;
    return pass_stop(run, status, oracle_violation(run->oracle));
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
    if (!run->oracle) return 0;
    pool_refusal refusal;
    pool_last_refusal(&run->pool, &refusal);
    if (run->pool.arena && oracle_refusal(run->oracle, run->op, block, bytes, refusal.largest_bytes)) {
        return pass_violated(run);
    }
    if (result->oom.happened) return 0;
    result->oom.happened = 1;
    result->oom.op = run->op;
    result->oom.refusal = refusal;
    memory_failure(&result->memory, refusal.largest_known ? refusal.free_bytes : 0, refusal.largest_bytes);
    return 0;
}

static int pass_access(pass *run, uint32_t block, uint32_t stream)
{
    const pass_slot *slot = &run->slots[block];
    problem why = { 0, "" };
    if (!slot->ptr || !device_access(run->device, pass_handle(run, stream), slot->ptr, slot->bytes, oracle_owner(block),
                                     &why)) return 0;
    return pass_stuck(run, &why);
}

static int pass_work(pass *run, uint32_t stream, uint64_t work_ns)
{
    problem why = { 0, "" };
    return device_work(run->device, pass_handle(run, stream), work_ns, &why) ? pass_stuck(run, &why) : 0;
}

static int pass_follow(pass *run, uint32_t stream, uint32_t other)
{
    problem why = { 0, "" };
    if (!device_follow(run->device, pass_handle(run, stream), pass_handle(run, other), &why)) return 0;
    return pass_stuck(run, &why);
}

static int pass_alloc(pass *run, const op *next, uint32_t home)
{
    pass_slot *slot = &run->slots[next->first];
    void *ptr = NULL;
    gpuarena_stream stream = pass_handle(run, home);
    uint64_t start_ns = run->timing ? progress_clock_ns() : 0;
    gpuarena_result result = pool_alloc(&run->pool, &ptr, next->value, stream);
    if (run->timing) histogram_add(run->timing->allocs, progress_clock_ns() - start_ns);
    run->result->ops++;
    pass_digest(run, (uint64_t)(uint32_t)result);
    pass_digest(run, ptr != NULL);
    if (result == GPUARENA_OUT_OF_MEMORY) return pass_refused(run, next->first, next->value);
    if (result) return pass_failed(run, next->first, "alloc", result);
    slot->ptr = ptr;
    slot->bytes = next->value;
    slot->home = home;
    slot->present = 1;
    if (run->oracle && oracle_alloc(run->oracle, run->op, next->first, ptr, next->value, stream)) {
        return pass_violated(run);
    }
    if (run->streams.has_kernels || !ptr) return 0;
    return pass_work(run, home, run->settings->device.op_ns) || pass_access(run, next->first, home) ? -1 : 0;
}

/* The allocation's stream comes after all other uses, for a policy that takes every free for one on it. */
static int pass_bring_home(pass *run, const pass_slot *slot, uint64_t others)
{
    for (uint32_t stream = 0; others && stream < run->streams.count; stream++) {
        if (stream != slot->home && others & pass_bit(stream) && pass_follow(run, slot->home, stream)) return -1;
    }
    return 0;
}

/* What a program does before a free on a stream that is not the allocation's. */
static int pass_order_free(pass *run, const pass_slot *slot, uint32_t stream)
{
    uint64_t others = slot->others | (stream == slot->home ? 0 : pass_bit(stream));
    if (stream != slot->home && !run->streams.has_kernels && pass_follow(run, stream, slot->home)) return -1;
    return pool_follows(&run->pool) ? pass_bring_home(run, slot, others) : 0;
}

static int pass_free(pass *run, uint32_t block, uint32_t stream)
{
    pass_slot *slot = &run->slots[block];
    if (!slot->present) return 0;                /* was refused, and left out */
    if (run->oracle && oracle_free(run->oracle, run->op, block)) return pass_violated(run);
    if (pass_order_free(run, slot, stream)) return -1;
    slot->present = 0;
    uint64_t start_ns = run->timing ? progress_clock_ns() : 0;
    gpuarena_result result = pool_free(&run->pool, slot->ptr, slot->bytes, pass_handle(run, stream));
    if (run->timing) histogram_add(run->timing->frees, progress_clock_ns() - start_ns);
    run->result->ops++;
    pass_digest(run, (uint64_t)(uint32_t)result);
    return result ? pass_failed(run, block, "free", result) : 0;
}

/* A policy is told of a further stream once a block, as far as there are bits. */
static int pass_touch(pass *run, uint32_t block, uint32_t stream)
{
    pass_slot *slot = &run->slots[block];
    uint64_t bit = pass_bit(stream);
    if (run->oracle && oracle_touch(run->oracle, run->op, block)) return pass_violated(run);
    if (pass_access(run, block, stream)) return -1;
    if (stream == slot->home || (slot->others & bit && stream < PASS_LAST_BIT)) return 0;
    slot->others |= bit;
    gpuarena_result result = slot->ptr ? pool_use(&run->pool, slot->ptr, pass_handle(run, stream)) : GPUARENA_OK;
    return result ? pass_failed(run, block, "use", result) : 0;
}

static int pass_kernel(pass *run, const op *next, uint32_t stream)
{
    if (pass_work(run, stream, next->value)) return -1;
    for (uint32_t index = 0; index < next->count; index++) {
        uint32_t block = run->stream->touches[next->first + index];
        if (run->slots[block].present && pass_touch(run, block, stream)) return -1;
    }
    return 0;
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
    case OP_WAIT:   return pass_follow(run, stream, pass_streams_index(&run->streams, next->value));
    case OP_STEP:   break;
    }
    return 0;
}

static int pass_settle(pass *run)
{
    memory_use use;
    gpuarena_stats stats;
    if (!run->oracle) return 0;
    pool_measure(&run->pool, &use, &stats);
    memory_sample(&run->result->memory, &use);
    run->result->gpu_waits = stats.gpu_wait_count;
    run->result->remapped_pages = stats.remapped_page_count;
    return oracle_settle(run->oracle, run->op, &stats) ? pass_violated(run) : 0;
}

static void pass_drive(pass *run)
{
    for (size_t index = 0; index < run->stream->op_count && !run->done; index++) {
        const op *next = &run->stream->ops[index];
        device_begin_op(run->device, run->op);
        if (pass_op(run, next) || pass_settle(run)) return;
        run->op += next->kind == OP_ALLOC || next->kind == OP_FREE;
        if (index % PASS_PROGRESS_OPS == 0) progress_update(run->settings->progress, index, run->stream->op_count);
    }
}

static void pass_count_driver(pass *run)
{
    device_counters after;
    device_count(run->device, &after);
    run->result->driver_calls = after.calls - run->before.calls;
    run->result->driver_vns = after.call_vns - run->before.call_vns;
    run->result->is_virtual = after.is_virtual;
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
    for (size_t block = 0; block < run->stream->block_count; block++) {
        if (pass_free(run, (uint32_t)block, run->slots[block].home)) return -1;
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
    return pass_streams_close(&run->streams, run->device, &why) ? pass_stuck(run, &why) : 0;
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
    config.is_unjudged = run->timing || run->settings->verify == VERIFY_OFF;
    run->device = device_open(&config, why);
    if (!run->device || pass_streams_open(&run->streams, run->stream, run->device, why)
        || pool_open(&run->pool, chosen, run->device, why)) return -1;
    run->slots = calloc(run->stream->block_count + 1, sizeof *run->slots);
    if (!run->slots) return problem_set(why, EXIT_HARNESS, "no host memory for %zu blocks", run->stream->block_count);
    if (run->timing) return 0;
    oracle_settings settings = { run->settings->verify, (uint32_t)run->stream->block_count, run->pool.alignment_bytes,
                                 run->pool.limit_bytes, run->device, run->pool.arena };
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
    problem kept = { 0, "" };
    oracle_destroy(run->oracle);
    free(run->slots);
    pool_close(&run->pool);
    if (run->device) (void)pass_streams_close(&run->streams, run->device, &kept);
    kept.exit_code = 0;                          /* what matters is memory */
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
        device_count(run.device, &run.before);
        pass_drive(&run);
        pass_count_driver(&run);
        if (!timing) pass_end(&run);
    }
    pass_close(&run);
}
