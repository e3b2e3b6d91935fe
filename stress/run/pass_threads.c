/* Lists of calls for each thread, made before they start; and the sums when they have ended.
   It must not know workloads by name, nor what the numbers are for. */
#include "pass.h"

#include <sched.h>

#include "../base/rounds.h"

enum { WORKERS_APART = 128 };                    /* bytes that keep two threads' counters out of one cache line */

typedef enum slot_state { SLOT_EMPTY, SLOT_LIVE, SLOT_REFUSED, SLOT_FREED } slot_state;
typedef struct slot {                            /* a block */
    void           *ptr;                         /* written before the state is, read after */
    uint64_t        bytes;
    gpuarena_stream home;                        /* of its allocation */
    int             state;
} slot;

typedef struct step {                            /* one call */
    slot           *of;
    gpuarena_stream stream;
    int             is_free;
} step;

typedef struct worker {                          /* set before: all up to the steps; the rest zero */
    struct threads *all;
    pool            pool;                        /* the one of all threads, with books of its own for `raw` */
    caller          by;                          /* its timing is owned, as are: */
    step           *steps;
    size_t          step_count, step_capacity;
    uint64_t        ops;
    uint64_t        alloc_count, free_count;     /* that succeeded, of more than 0 bytes */
    int             refused;
    const char     *failed_call;                 /* NULL: none */
    gpuarena_result failed_result;
    char            apart[WORKERS_APART];
} worker;

typedef struct threads {
    const pass_settings *settings;
    const op_stream     *stream;
    device              *device;
    pass_streams         streams;
    pool                 pool;
    slot                *slots;                  /* one thread's side by side: it writes to memory of its own */
    worker              *workers;
    uint32_t             count;
    int                  must_stop;
    pass_result *result;
} threads;

/* ---- Each thread: its calls in order, with a clock around each where asked for */

static int worker_must_stop(const worker *self)
{
    return __atomic_load_n(&self->all->must_stop, __ATOMIC_RELAXED);
}

static void worker_failed(worker *self, const char *call, gpuarena_result result)
{
    self->failed_call = call;
    self->failed_result = result;
    __atomic_store_n(&self->all->must_stop, 1, __ATOMIC_RELAXED);
}

static void worker_alloc(worker *self, const step *next)
{
    slot *made = next->of;
    void *ptr = NULL;
    gpuarena_result result = caller_alloc(&self->by, &ptr, made->bytes, next->stream);
    self->ops++;
    made->ptr = ptr;
    __atomic_store_n(&made->state, result ? SLOT_REFUSED : SLOT_LIVE, __ATOMIC_RELEASE);
    if (!result) {
        self->alloc_count += made->bytes != 0;
    } else if (result != GPUARENA_OUT_OF_MEMORY) {
        worker_failed(self, "alloc", result);
    } else {
        self->refused = 1;
        if (!self->all->settings->skip_oom) __atomic_store_n(&self->all->must_stop, 1, __ATOMIC_RELAXED);
    }
}

/* Whoever allocates the block may be behind. */
static void worker_free(worker *self, const step *next)
{
    slot *freed = next->of;
    int state;
    while ((state = __atomic_load_n(&freed->state, __ATOMIC_ACQUIRE)) == SLOT_EMPTY && !worker_must_stop(self)) {
        sched_yield();
    }
    if (state != SLOT_LIVE) return;
    gpuarena_stream stream = self->pool.goes_home ? freed->home : next->stream;
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

/* ---- What they did, when all have ended */

PROBLEM_FORMAT(3, 4)
static int threads_fail(threads *run, pass_status status, const char *format, ...)
{
    if (run->result->status > PASS_OOM) return -1;
    PROBLEM_PRINT(run->result->message, sizeof run->result->message, format);
    run->result->status = status;
    return -1;
}

/* *known: what the arena must say of it. */
static int threads_add_up(threads *run, latencies *timing, oracle_sums *known)
{
    pool_refusal refusal;
    for (uint32_t at = 0; at < run->count; at++) {
        const worker *self = &run->workers[at];
        run->result->ops += self->ops;
        if (self->refused) run->result->status = PASS_OOM;
        if (timing) latencies_merge(timing, self->by.timing);
        known->alloc_count += self->alloc_count;
        known->free_count += self->free_count;
    }
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
static int threads_sums(threads *run, oracle_sums *known)
{
    gpuarena_stats stats;
    char message[256] = "";
    gpuarena_get_stats(run->pool.arena, &stats);
    known->live_bytes = stats.live_bytes;
    known->limit_bytes = run->pool.limit_bytes;
    known->holder = run->pool.rounds_up ? NULL : run->device;
    for (size_t at = 0; at < run->stream->block_count; at++) {
        if (run->slots[at].state != SLOT_LIVE) continue;
        known->requested_bytes += run->slots[at].bytes;
        known->live_count += run->slots[at].bytes != 0;
    }
    if (oracle_differ(known, &stats, message, sizeof message)) {
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
        slot *left = &run->slots[at];
        if (left->state != SLOT_LIVE) continue;
        gpuarena_result result = pool_free(&run->pool, left->ptr, left->bytes, left->home);
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

/* ---- Lists of calls for each thread, made before they start */

static void threads_lists(threads *run)
{
    const op_stream *stream = run->stream;
    slot *next_slot[WORKLOAD_MAX_THREADS] = { run->slots };      /* behind the blocks of the threads before it */
    slot **slot_of = program_need(stream->block_count, sizeof(slot *));      /* by block */
    size_t allocs[WORKLOAD_MAX_THREADS] = { 0 };
    for (size_t at = 0; at < stream->op_count; at++) {
        allocs[op_stream_thread(stream, at)] += stream->ops[at].kind == OP_ALLOC;
    }
    for (uint32_t thread = 1; thread < run->count; thread++) {
        next_slot[thread] = next_slot[thread - 1] + allocs[thread - 1];
    }
    for (size_t at = 0; at < stream->op_count; at++) {
        const op *from = &stream->ops[at];
        const uint32_t thread = op_stream_thread(stream, at);
        const int is_free = from->kind == OP_FREE;
        if (!is_free && from->kind != OP_ALLOC) continue;
        gpuarena_stream handle = run->streams.list[pass_streams_index(&run->streams, from->stream)].handle;
        if (!is_free) {
            slot *made = slot_of[from->first] = next_slot[thread]++;
            made->bytes = from->value;
            made->home = handle;
        }
        const step made = { slot_of[from->first], handle, is_free };
        worker *self = &run->workers[thread];
        ARRAY_RESERVE(self->steps, self->step_capacity, self->step_count + 1);
        self->steps[self->step_count++] = made;
    }
    free(slot_of);
}

static int threads_open(threads *run, const policy *chosen, int is_timed)
{
    problem why = { 0, "" };
    device_config config = run->settings->device;
    config.is_unjudged = 1;
    run->device = device_open(&config, &why);
    if (!run->device || pass_streams_open(&run->streams, run->stream, run->device, &why)
        || pool_open(&run->pool, chosen, run->device, &why)) return threads_fail(run, PASS_ERROR, "%s", why.text);
    run->slots = program_need(run->stream->block_count, sizeof *run->slots);
    run->workers = program_need(run->count, sizeof *run->workers);
    for (uint32_t at = 0; at < run->count; at++) {
        worker *self = &run->workers[at];
        self->all = run;
        self->pool = run->pool;
        self->by.pool = &self->pool;
        if (is_timed) self->by.timing = program_need(1, sizeof *self->by.timing);
    }
    threads_lists(run);
    return 0;
}

static void threads_close(threads *run)
{
    problem kept = { 0, "" }, unheard = { 0, "" };
    for (uint32_t at = 0; run->workers && at < run->count; at++) {
        free(run->workers[at].by.timing);
        free(run->workers[at].steps);
    }
    free(run->workers);
    free(run->slots);
    pool_close(&run->pool);
    (void)pass_streams_close(&run->streams, &unheard);
    if (!device_close(run->device, &kept)) return;
    run->result->kept = 1;
    (void)threads_fail(run, PASS_ERROR, "%s", kept.text);
}

static void threads_drive(threads *run, latencies *timing)
{
    problem why = { 0, "" };
    oracle_sums known = { .live_bytes = 0 };
    if (crowd_run(NULL, worker_run, run->workers, run->count, sizeof *run->workers, &run->result->wall_ns, &why)) {
        (void)threads_fail(run, PASS_ERROR, "%s", why.text);                 /* the machine has no more threads */
        return;
    }
    int failed = threads_add_up(run, timing, &known);
    if (failed || !run->pool.arena || run->settings->verify == VERIFY_OFF) return;
    if (!threads_sums(run, &known)) (void)threads_end(run);
}

void pass_threads_run(const pass_settings *settings, const op_stream *stream, const policy *chosen,
                      latencies *timing, pass_result *result)
{
    threads run = { .settings = settings, .stream = stream, .count = op_stream_threads(stream), .result = result };
    memset(result, 0, sizeof *result);
    if (!threads_open(&run, chosen, timing != NULL)) threads_drive(&run, timing);
    threads_close(&run);
}
