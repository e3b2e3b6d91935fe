/* Lists of calls for each thread, made before they start; and the sums when they have ended.
   It must not know workloads by name, nor what the numbers are for. */
#include "pass.h"

#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../base/crowd.h"
#include "../base/histogram.h"
#include "../base/program.h"
#include "../device/device.h"
#include "../policy/policy.h"

enum { WORKERS_APART = 128 };                    /* bytes that keep two threads' counters out of one cache line */

typedef enum slot_state { SLOT_EMPTY, SLOT_LIVE, SLOT_REFUSED, SLOT_FREED } slot_state;
typedef struct slot {                            /* a block */
    void    *ptr;                                /* written before the state is, read after */
    uint64_t bytes;
    uint32_t home;                               /* the stream of its allocation, by index */
    int      state;
} slot;

typedef struct step {                            /* one call */
    uint32_t slot, stream;
    int      is_free;
} step;

typedef struct workers_shared {
    const pass_streams *streams;
    slot               *slots;                   /* one thread's side by side */
    int                 skip_oom;                /* 0: at a refusal all stop */
    int                 must_stop;
} workers_shared;

typedef struct worker {                          /* set before: all up to the steps; the rest zero */
    workers_shared *shared;
    pool            pool;                        /* the one of all threads, with books of its own for `raw` */
    caller          by;                          /* its timing is owned */
    const step     *steps;
    size_t          step_count;
    uint64_t        ops;
    uint64_t        alloc_count, free_count;     /* that succeeded, of more than 0 bytes */
    int             refused;
    const char     *failed_call;                 /* NULL: none */
    gpuarena_result failed_result;
    char            apart[WORKERS_APART];
} worker;

/* ---- Each thread: its calls in order, with a clock around each where asked for */

static void worker_stop(worker *self)
{
    __atomic_store_n(&self->shared->must_stop, 1, __ATOMIC_RELAXED);
}

static int worker_must_stop(const worker *self)
{
    return __atomic_load_n(&self->shared->must_stop, __ATOMIC_RELAXED);
}

static void worker_failed(worker *self, const char *call, gpuarena_result result)
{
    self->failed_call = call;
    self->failed_result = result;
    worker_stop(self);
}

static gpuarena_stream worker_handle(const worker *self, uint32_t stream)
{
    return self->shared->streams->list[stream].handle;
}

static void worker_alloc(worker *self, const step *next)
{
    slot *made = &self->shared->slots[next->slot];
    void *ptr = NULL;
    gpuarena_stream stream = worker_handle(self, next->stream);
    gpuarena_result result = caller_alloc(&self->by, &ptr, made->bytes, stream);
    self->ops++;
    made->ptr = ptr;
    __atomic_store_n(&made->state, result ? SLOT_REFUSED : SLOT_LIVE, __ATOMIC_RELEASE);
    if (!result) {
        self->alloc_count += made->bytes != 0;
    } else if (result != GPUARENA_OUT_OF_MEMORY) {
        worker_failed(self, "alloc", result);
    } else {
        self->refused = 1;
        if (!self->shared->skip_oom) worker_stop(self);
    }
}

/* What became of a block that is to be freed: its thread may be behind. */
static int worker_await(const worker *self, const slot *awaited)
{
    int state = __atomic_load_n(&awaited->state, __ATOMIC_ACQUIRE);
    while (state == SLOT_EMPTY && !worker_must_stop(self)) {
        sched_yield();
        state = __atomic_load_n(&awaited->state, __ATOMIC_ACQUIRE);
    }
    return state;
}

static void worker_free(worker *self, const step *next)
{
    slot *freed = &self->shared->slots[next->slot];
    gpuarena_stream stream = worker_handle(self, self->pool.goes_home ? freed->home : next->stream);
    if (worker_await(self, freed) != SLOT_LIVE) return;
    gpuarena_result result = caller_free(&self->by, freed->ptr, freed->bytes, stream);
    self->ops++;
    if (result) {
        worker_failed(self, "free", result);
        return;
    }
    freed->state = SLOT_FREED;                   /* by nobody else: a block is freed once */
    self->free_count += freed->bytes != 0;
}

static void worker_run(void *argument)
{
    worker *self = argument;
    for (size_t at = 0; at < self->step_count && !worker_must_stop(self); at++) {
        const step *next = &self->steps[at];
        if (next->is_free) worker_free(self, next);
        else worker_alloc(self, next);
    }
}

/* ---- Lists of calls for each thread, made before they start */

typedef struct threads {
    const pass_settings *settings;
    workers_shared       shared;
    const op_stream     *stream;
    device              *device;
    pass_streams         streams;
    pool                 pool;
    step                *steps;
    worker              *workers;
    uint32_t             count;
    pass_threads_result *result;
} threads;

PROBLEM_FORMAT(3, 4)
static int threads_fail(threads *run, pass_status status, const char *format, ...)
{
    va_list values;
    if (run->result->status > PASS_OOM) return -1;
    va_start(values, format);
    vsnprintf(run->result->message, sizeof run->result->message, format, values);
    va_end(values);
    run->result->status = status;
    return -1;
}

static void threads_add_up(threads *run, latencies *timing)
{
    for (uint32_t at = 0; at < run->count; at++) {
        const worker *self = &run->workers[at];
        run->result->ops += self->ops;
        if (self->refused) run->result->status = PASS_OOM;
        if (timing) latencies_merge(timing, self->by.timing);
    }
}

static int threads_failures(threads *run)
{
    pool_refusal refusal;
    for (uint32_t at = 0; at < run->count; at++) {
        worker *self = &run->workers[at];
        if (!self->failed_call) continue;
        pool_last_refusal(&self->pool, &refusal);
        return threads_fail(run, PASS_ERROR, "thread %" PRIu32 ": %s: %s: %.300s", at, self->failed_call,
                            gpuarena_result_name(self->failed_result), refusal.text);
    }
    return 0;
}

/* No call is in progress: what the arena says must be exact. */
static int threads_sums(threads *run)
{
    gpuarena_stats stats;
    char message[256] = "";
    gpuarena_get_stats(run->pool.arena, &stats);
    oracle_sums known = { .live_bytes = stats.live_bytes, .limit_bytes = run->pool.limit_bytes,
                          .holder = run->pool.rounds_up ? NULL : run->device };
    for (size_t at = 0; at < run->stream->block_count; at++) {
        if (run->shared.slots[at].state != SLOT_LIVE) continue;
        known.requested_bytes += run->shared.slots[at].bytes;
        known.live_count += run->shared.slots[at].bytes != 0;
    }
    for (uint32_t at = 0; at < run->count; at++) {
        known.alloc_count += run->workers[at].alloc_count;
        known.free_count += run->workers[at].free_count;
    }
    if (oracle_differ(&known, &stats, message, sizeof message)) {
        return threads_fail(run, PASS_VERIFY_FAILED, "%" PRIu32 " threads: %s", run->count, message);
    }
    if (!gpuarena_check(run->pool.arena, message, sizeof message)) return 0;
    return threads_fail(run, PASS_VERIFY_FAILED, "%" PRIu32 " threads: check: %s", run->count, message);
}

/* What is live is freed, and all of it goes back to the device. */
static int threads_end(threads *run)
{
    gpuarena_stats stats;
    for (size_t at = 0; at < run->stream->block_count; at++) {
        slot *left = &run->shared.slots[at];
        if (left->state != SLOT_LIVE) continue;
        gpuarena_result result = pool_free(&run->pool, left->ptr, left->bytes, run->streams.list[left->home].handle);
        if (result) {
            return threads_fail(run, PASS_VERIFY_FAILED, "%" PRIu32 " threads: free at the end: %s", run->count,
                                gpuarena_result_name(result));
        }
    }
    gpuarena_result result = pool_trim(&run->pool);
    if (result) return threads_fail(run, PASS_ERROR, "trim: %s", gpuarena_result_name(result));
    gpuarena_get_stats(run->pool.arena, &stats);
    if (!stats.reserved_bytes) return 0;
    return threads_fail(run, PASS_VERIFY_FAILED, "%" PRIu32 " threads: reserved_at_end: expected 0, found %" PRIu64,
                        run->count, stats.reserved_bytes);
}

/* Blocks by the thread that allocates them, so that threads write to memory of their own. */
static void threads_slots(threads *run, uint32_t *slot_of)
{
    size_t next[WORKLOAD_MAX_THREADS] = { 0 };
    const op_stream *stream = run->stream;
    size_t first = 0;
    for (size_t at = 0; at < stream->op_count; at++) {
        if (stream->ops[at].kind == OP_ALLOC) next[op_stream_thread(stream, at)]++;
    }
    for (uint32_t thread = 0; thread < run->count; thread++) {
        size_t own = next[thread];
        next[thread] = first;
        first += own;
    }
    run->shared.slots = program_need(stream->block_count, sizeof *run->shared.slots);
    for (size_t at = 0; at < stream->op_count; at++) {
        const op *made = &stream->ops[at];
        if (made->kind != OP_ALLOC) continue;
        slot_of[made->first] = (uint32_t)next[op_stream_thread(stream, at)]++;
        run->shared.slots[slot_of[made->first]].bytes = made->value;
        run->shared.slots[slot_of[made->first]].home = pass_streams_index(&run->streams, made->stream);
    }
}

static void threads_steps(threads *run, const uint32_t *slot_of)
{
    const op_stream *stream = run->stream;
    step *next = run->steps;
    for (uint32_t thread = 0; thread < run->count; thread++) {
        worker *self = &run->workers[thread];
        self->steps = next;
        for (size_t at = 0; at < stream->op_count; at++) {
            const op *from = &stream->ops[at];
            int is_free = from->kind == OP_FREE;
            if ((!is_free && from->kind != OP_ALLOC) || op_stream_thread(stream, at) != thread) continue;
            const step made = { slot_of[from->first], pass_streams_index(&run->streams, from->stream), is_free };
            *next++ = made;
        }
        self->step_count = (size_t)(next - self->steps);
    }
}

static void threads_prepare(threads *run, int is_timed)
{
    const op_stream *stream = run->stream;
    uint32_t *slot_of = program_need(stream->block_count, sizeof *slot_of);
    run->steps = program_need((size_t)(stream->alloc_count + stream->free_count), sizeof *run->steps);
    run->workers = program_need(run->count, sizeof *run->workers);
    for (uint32_t at = 0; at < run->count; at++) {
        worker *self = &run->workers[at];
        self->shared = &run->shared;
        self->pool = run->pool;
        self->by.pool = &self->pool;
        if (is_timed) self->by.timing = program_need(1, sizeof *self->by.timing);
    }
    threads_slots(run, slot_of);
    threads_steps(run, slot_of);
    free(slot_of);
}

static int threads_open(threads *run, const policy *chosen)
{
    problem why = { 0, "" };
    device_config config = run->settings->device;
    config.is_unjudged = config.is_shared = 1;
    run->device = device_open(&config, &why);
    if (run->device && !pass_streams_open(&run->streams, run->stream, run->device, config.op_ns, &why)
        && !pool_open(&run->pool, chosen, run->device, &why)) return 0;
    return threads_fail(run, PASS_ERROR, "%s", why.text);
}

static void threads_close(threads *run)
{
    problem kept = { 0, "" }, unheard = { 0, "" };
    for (uint32_t at = 0; run->workers && at < run->count; at++) free(run->workers[at].by.timing);
    free(run->workers);
    free(run->steps);
    free(run->shared.slots);
    pool_close(&run->pool);
    (void)pass_streams_close(&run->streams, &unheard);
    if (!device_close(run->device, &kept)) return;
    run->result->kept = 1;
    (void)threads_fail(run, PASS_ERROR, "%s", kept.text);
}

void pass_threads_run(const pass_settings *settings, const op_stream *stream, const policy *chosen,
                      latencies *timing, pass_threads_result *result)
{
    static const crowd_job job = { NULL, worker_run };
    problem why = { 0, "" };
    threads run = { .settings = settings, .stream = stream, .count = op_stream_threads(stream), .result = result,
                    .shared = { .streams = &run.streams, .skip_oom = settings->skip_oom } };
    memset(result, 0, sizeof *result);
    int failed = threads_open(&run, chosen);
    if (!failed) {
        threads_prepare(&run, timing != NULL);
        failed = crowd_run(&job, run.workers, run.count, sizeof *run.workers, &result->wall_ns, &why);
        if (failed) (void)threads_fail(&run, PASS_ERROR, "%s", why.text);    /* the machine has no more threads */
    }
    if (!failed) {
        threads_add_up(&run, timing);
        int is_verified = run.pool.arena && settings->verify != VERIFY_OFF;
        if (!threads_failures(&run) && is_verified && !threads_sums(&run)) (void)threads_end(&run);
    }
    threads_close(&run);
}
