/* Drives every op of a stream through a pool, and after each one measures and verifies.
   It must not know workloads by name, nor what the numbers are for.
   Tested by tests/test_runner.c and tests/run.t. */
#include "pass.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "measure/digest.h"

enum { PASS_PROGRESS_OPS = 4096 };

typedef struct pass_slot {                       /* a block of the stream */
    void    *ptr;
    uint64_t bytes;
    int      present;                            /* allocated and not freed; refused blocks never are */
} pass_slot;

typedef struct pass {
    const pass_settings *settings;
    const op_stream     *stream;
    device              *device;
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

/* Stream numbers become handles that are none of CUDA's special ones (small numbers, and -1, -2 of the header). */
static gpuarena_stream pass_stream(uint64_t number)
{
    return number ? (gpuarena_stream)(uintptr_t)((number & (UINT64_MAX >> 1)) + 16) : NULL;
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

static int pass_alloc(pass *run, const op *next)
{
    pass_slot *slot = &run->slots[next->first];
    void *ptr = NULL;
    gpuarena_stream stream = pass_stream(next->stream);
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
    slot->present = 1;
    if (!run->oracle || !oracle_alloc(run->oracle, run->op, next->first, ptr, next->value)) return 0;
    return pass_violated(run);
}

static int pass_free(pass *run, uint32_t block, gpuarena_stream stream)
{
    pass_slot *slot = &run->slots[block];
    if (!slot->present) return 0;                /* was refused, and left out */
    if (run->oracle && oracle_free(run->oracle, run->op, block)) return pass_violated(run);
    slot->present = 0;
    uint64_t start_ns = run->timing ? progress_clock_ns() : 0;
    gpuarena_result result = pool_free(&run->pool, slot->ptr, slot->bytes, stream);
    if (run->timing) histogram_add(run->timing->frees, progress_clock_ns() - start_ns);
    run->result->ops++;
    pass_digest(run, (uint64_t)(uint32_t)result);
    return result ? pass_failed(run, block, "free", result) : 0;
}

/* GPU work reads what it touches. */
static int pass_kernel(pass *run, const op *next)
{
    for (uint32_t index = 0; run->oracle && index < next->count; index++) {
        uint32_t block = run->stream->touches[next->first + index];
        if (run->slots[block].present && oracle_touch(run->oracle, run->op, block)) return pass_violated(run);
    }
    return 0;
}

static int pass_op(pass *run, const op *next)
{
    pass_digest(run, (uint64_t)next->kind);
    pass_digest(run, next->value);
    switch (next->kind) {
    case OP_ALLOC:  return pass_alloc(run, next);
    case OP_FREE:   return pass_free(run, next->first, pass_stream(next->stream));
    case OP_KERNEL: return pass_kernel(run, next);
    case OP_STEP:
    case OP_WAIT:   break;                       /* no work of its own: streams are taken for one */
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
        if (pass_free(run, (uint32_t)block, GPUARENA_OWN_STREAM)) return -1;
    }
    return 0;
}

/* After the last op, outside every count: nothing may be left anywhere. */
static void pass_end(pass *run)
{
    uint64_t reserved_bytes = 0, ops = run->result->ops, digest = run->result->digest;
    if (run->result->status > PASS_OOM || run->settings->verify == VERIFY_OFF) return;
    run->op = ops;
    if (!pass_end_blocks(run) && !pass_end_pool(run, &reserved_bytes)
        && oracle_end(run->oracle, run->op, reserved_bytes)) pass_violated(run);
    run->result->ops = ops;
    run->result->digest = digest;
}

static int pass_open(pass *run, const policy *chosen, problem *why)
{
    run->device = device_open(&run->settings->device, why);
    if (!run->device || pool_open(&run->pool, chosen, run->device, why)) return -1;
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
    } else {
        device_count(run.device, &run.before);
        pass_drive(&run);
        pass_count_driver(&run);
        if (!timing) pass_end(&run);
    }
    pass_close(&run);
}
