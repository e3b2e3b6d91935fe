/* Drives every op of a stream through a pool, and after each one measures and verifies. */
#include "pass.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../base/array.h"
#include "../base/hash.h"
#include "../base/interrupt.h"
#include "../base/program.h"
#include "../base/progress.h"

/* ---- Calls to the pool, and clocks around them */

#define PASS_SECOND_NS UINT64_C(1000000000)

/* The machine whose host idles until an operation is due; NULL: operations have no rate, or CUDA's device
   has no virtual time. */
static sim *caller_rated(const caller *self)
{
    return self->rate ? device_simulated(self->pool->device) : NULL;
}

/* What comes now was due for nobody: frees between rounds, and at the end. The next that arrives begins anew. */
static void caller_rest(caller *self)
{
    self->is_due = 0;
    self->arrived = 0;
}

/* Right before an allocation or free, and before the device is told of it. */
static void caller_arrive(caller *self)
{
    sim *machine = caller_rated(self);
    if (!machine) return;
    uint64_t now_ns = sim_now_ns(machine);
    if (!self->arrived) self->start_ns = now_ns;
    uint64_t count = self->arrived++;            /* exact to the nanosecond, without drift */
    self->due_ns = self->start_ns + count / self->rate * PASS_SECOND_NS
                 + count % self->rate * PASS_SECOND_NS / self->rate;
    if (now_ns < self->due_ns) sim_advance(machine, self->due_ns - now_ns);
    self->begun_ns = sim_now_ns(machine);
    self->is_due = 1;
}

static void caller_served(caller *self)
{
    if (!self->arrivals || !self->is_due) return;
    self->is_due = 0;
    uint64_t now_ns = sim_now_ns(caller_rated(self));
    histogram_add(&self->arrivals->waited, now_ns - self->due_ns);
    histogram_add(&self->arrivals->served, now_ns - self->begun_ns);
}

gpuarena_result caller_alloc(caller *self, void **ptr, uint64_t bytes, gpuarena_stream stream)
{
    latencies *timing = self->timing;
    uint64_t calls = device_calls(self->pool->device), start_ns = timing ? progress_clock_ns() : 0;
    gpuarena_result result = pool_alloc(self->pool, ptr, bytes, stream);
    uint64_t spent_ns = timing ? progress_clock_ns() - start_ns : 0;
    int is_miss = device_calls(self->pool->device) != calls;
    self->misses += (uint64_t)is_miss;
    caller_served(self);
    if (!timing) return result;
    histogram_add(&timing->allocs, spent_ns);
    histogram_add(is_miss ? &timing->misses : &timing->hits, spent_ns);
    return result;
}

gpuarena_result caller_free(caller *self, void *ptr, uint64_t bytes, gpuarena_stream stream)
{
    uint64_t start_ns = self->timing ? progress_clock_ns() : 0;
    gpuarena_result result = pool_free(self->pool, ptr, bytes, stream);
    if (self->timing) histogram_add(&self->timing->frees, progress_clock_ns() - start_ns);
    caller_served(self);
    return result;
}

/* ---- Where the first repetition of a pass begins: what comes before it is the warm-up, what follows is steady */

enum { PASS_STEADY_KINDS = 32 };                 /* labels that are told apart: of more no repetition is seen */

/* Labels are alike when they differ in the number at their end alone: step0, step1. The first label that is like an
   earlier one begins the first repetition, and each that is like it begins another. Where no label of a workload
   comes again its rounds are the repetitions (pass_settings.times). */
typedef struct pass_steady {
    const char *kinds[PASS_STEADY_KINDS];
    uint32_t    kind_count;
    uint32_t    repeated;                        /* the kind that comes again, from 1; 0: none does, or rounds do */
    uint64_t    steps;                           /* repetitions begun */
} pass_steady;

static size_t steady_length(const char *label)
{
    size_t length = strlen(label);
    while (length && isdigit((unsigned char)label[length - 1])) length--;
    return length;
}

/* A number for labels that are alike, from 1 on; 0: of those that are not told apart any more. Labels must outlive
   self. */
static uint32_t pass_steady_label(pass_steady *self, const char *label)
{
    uint32_t at = 0;
    size_t length = steady_length(label);
    for (; at < self->kind_count; at++) {
        if (length == steady_length(self->kinds[at]) && !memcmp(label, self->kinds[at], length)) break;
    }
    if (at == PASS_STEADY_KINDS) return 0;
    if (at == self->kind_count) self->kinds[self->kind_count++] = label;
    else if (!self->steps) self->repeated = at + 1;
    self->steps += self->repeated == at + 1;
    return at + 1;
}

/* ---- The thread's scope of tags around an allocation */

/* caller_alloc, whose result it is. Timing passes have no tags, which would be measured, too; nor have
   labels that are no names of tags or beyond GPUARENA_TAGS. */
static gpuarena_result pass_tags_alloc(caller *by, const op_stream *from, const op *next, void **ptr,
                                       gpuarena_stream stream)
{
    int is_tagged = from->tags && by->pool->arena && !by->timing;
    uint32_t label = is_tagged ? from->tags[next->first] : 0;
    if (!label) return caller_alloc(by, ptr, next->value, stream);
    uint32_t before = gpuarena_tag_scope(gpuarena_tag(from->labels[label - 1]));
    gpuarena_result result = caller_alloc(by, ptr, next->value, stream);
    gpuarena_tag_scope(before);
    return result;
}

/* ---- Streams by number: found in the ops, sorted, made */

static int pass_streams_add(pass_streams *self, uint64_t number, problem *why)
{
    if (self->count && number == self->list[self->count - 1].number) return 0;
    id_entry *entry = id_map_add(&self->index_by_number, number);
    if (entry->state != ID_UNKNOWN) return 0;
    entry->state = ID_LIVE;
    if (self->count == PASS_MAX_STREAMS) {
        return problem_set(why, EXIT_USAGE, "more than %d streams", PASS_MAX_STREAMS);
    }
    self->list[self->count++].number = number;
    return 0;
}

static int pass_streams_find(pass_streams *self, const op_stream *stream, problem *why)
{
    self->list = program_need(PASS_MAX_STREAMS, sizeof *self->list);
    if (pass_streams_add(self, 0, why)) return -1;
    for (size_t index = 0; index < stream->op_count; index++) {
        const op *next = &stream->ops[index];
        self->has_kernels |= next->kind == OP_KERNEL;
        if (pass_streams_add(self, next->stream, why)) return -1;
        if (next->kind == OP_WAIT && pass_streams_add(self, next->value, why)) return -1;
    }
    return 0;
}

static int pass_streams_compare(const void *one, const void *other)
{
    uint64_t left = ((const pass_stream *)one)->number, right = ((const pass_stream *)other)->number;
    return (left > right) - (left < right);
}

uint32_t pass_streams_index(const pass_streams *self, uint64_t number)
{
    return number ? id_map_find(&self->index_by_number, number)->value : 0;
}

/* Threads with kernels may stand beside others without: each has its own streams. */
static void pass_streams_mark(pass_streams *self, const op_stream *stream)
{
    uint8_t has_kernels[WORKLOAD_MAX_THREADS] = { 0 };
    for (size_t index = 0; index < stream->op_count; index++) {
        if (stream->ops[index].kind == OP_KERNEL) has_kernels[op_stream_thread(stream, index)] = 1;
    }
    for (size_t index = 0; index < stream->op_count; index++) {
        const op *next = &stream->ops[index];
        if (next->kind == OP_STEP || next->kind == OP_RIVAL || !has_kernels[op_stream_thread(stream, index)])
            continue;
        self->list[pass_streams_index(self, next->stream)].has_kernels = 1;
    }
}

int pass_streams_open(pass_streams *self, const op_stream *stream, device *on, uint64_t op_ns, problem *why)
{
    memset(self, 0, sizeof *self);
    self->device = on;
    self->op_ns = op_ns;
    if (pass_streams_find(self, stream, why)) return -1;
    self->clocks = program_need((size_t)self->count * self->count, sizeof *self->clocks);
    qsort(self->list, self->count, sizeof *self->list, pass_streams_compare);
    for (uint32_t index = 0; index < self->count; index++) {
        id_map_find(&self->index_by_number, self->list[index].number)->value = index;
        if (index && device_stream_create(on, &self->list[index].handle, why)) return -1;
    }
    pass_streams_mark(self, stream);
    return 0;
}

int pass_streams_close(pass_streams *self, problem *why)
{
    int failed = 0;
    for (uint32_t index = 0; index < self->count; index++) {
        if (!self->list[index].handle) continue;
        failed |= device_stream_destroy(self->device, self->list[index].handle, why);
    }
    free(self->list);
    free(self->clocks);
    free(self->uses);
    id_map_free(&self->index_by_number);
    memset(self, 0, sizeof *self);
    return failed;
}

int pass_streams_fit(const op_stream *stream, problem *why)
{
    pass_streams trial = { .count = 0 };
    problem unheard = { 0, "" };
    int failed = pass_streams_find(&trial, stream, why);
    (void)pass_streams_close(&trial, &unheard);  /* none was made */
    return failed;
}

static int pass_streams_work(const pass_streams *self, uint32_t stream, uint64_t work_ns, problem *why)
{
    return device_work(self->device, self->list[stream].handle, work_ns, why);
}

static uint64_t *pass_streams_clock(const pass_streams *self, uint32_t stream)
{
    return &self->clocks[(size_t)stream * self->count];
}

static int pass_streams_follow(pass_streams *self, uint32_t stream, uint32_t other, problem *why)
{
    uint64_t *clock = pass_streams_clock(self, stream);
    const uint64_t *passed = pass_streams_clock(self, other);
    for (uint32_t index = 0; index < self->count; index++) {
        if (passed[index] > clock[index]) clock[index] = passed[index];
    }
    return device_follow(self->device, self->list[stream].handle, self->list[other].handle, why);
}

/* The block's use on this stream, which is new if there was none. NULL: the device failed. */
static pass_use *pass_streams_find_use(pass_streams *self, uint32_t stream, pass_block *block, problem *why)
{
    uint32_t index = block->uses;
    while (index && self->uses[index].stream != stream) index = self->uses[index].next;
    if (index) return &self->uses[index];
    if (self->in_order && stream != block->home && pass_streams_follow(self, stream, block->home, why)) return NULL;
    if (self->unused) {
        index = self->unused;
        self->unused = self->uses[index].next;
    } else {
        index = ++self->use_count;
        ARRAY_RESERVE(self->uses, self->use_capacity, index + 1);
    }
    self->uses[index].stream = stream;
    self->uses[index].next = block->uses;
    block->uses = index;
    return &self->uses[index];
}

static int pass_streams_use(pass_streams *self, uint32_t stream, pass_block *block, problem *why)
{
    if (!block->ptr) return 0;
    pass_use *use = pass_streams_find_use(self, stream, block, why);
    if (!use) return -1;
    use->position = ++pass_streams_clock(self, stream)[stream];
    return device_access(self->device, self->list[stream].handle, block->ptr, block->bytes, block->owner, why);
}

/* Before a free on this stream, whose program must name to the policy the streams of these uses: the latest of each
   stream, the allocation's own included, that no wait so far orders before what is given to the stream next. after:
   the answer before, NULL at first. NULL: no more. */
static const pass_use *pass_streams_unordered(const pass_streams *self, uint32_t stream,
                                              const pass_block *block, const pass_use *after)
{
    const uint64_t *clock = pass_streams_clock(self, stream);
    for (uint32_t index = after ? after->next : block->uses; index; index = self->uses[index].next) {
        if (self->uses[index].position > clock[self->uses[index].stream]) return &self->uses[index];
    }
    return NULL;
}

/* Then, still before it: what puts it in order where the op stream says nothing; the block's uses are forgotten.
   at_home: the policy takes it for one on the allocation's stream, which then waits for all uses on others. */
static int pass_streams_end(pass_streams *self, uint32_t stream, pass_block *block, int at_home, problem *why)
{
    uint32_t home = block->home;
    if (stream != home && !self->list[home].has_kernels && pass_streams_follow(self, stream, home, why)) return -1;
    if (stream != home && at_home && pass_streams_follow(self, home, stream, why)) return -1;
    while (block->uses) {
        uint32_t index = block->uses;
        pass_use *use = &self->uses[index];
        int is_apart = use->stream != stream && use->stream != home;
        if (at_home && is_apart && pass_streams_follow(self, home, use->stream, why)) return -1;
        block->uses = use->next;
        use->next = self->unused;
        self->unused = index;
    }
    return 0;
}

/* ---- Drives every op of a stream through a pool, and after each one measures and verifies */

enum { PASS_ROUND = PASS_STEADY_KINDS + 1, PASS_PROGRESS_OPS = 4096 };

typedef struct pass {
    const pass_settings *settings;
    const op_stream     *stream;
    device              *device;
    pass_streams         streams;
    pool                 pool;
    oracle              *oracle;                 /* NULL: timing pass, probe */
    pass_block          *blocks;
    latencies           *timing;                 /* NULL: verifying pass, probe */
    caller               by;
    pass_result         *result;
    device_counters      before;
    uint64_t             begun_vns;              /* of the host's virtual clock, when the counters were read */
    pass_steady          steady;
    device_counters      warm;                   /* when the first repetition began */
    device_counters      last;                   /* when the last one did; */
    uint64_t             last_remapped_pages;    /*   pages moved before it */
    uint64_t             steps;                  /* repetitions seen by then */
    int                  has_steps;              /* labels come again within the workload */
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
    int may_be_workload = run->streams.has_kernels && oracle_is_of_order(run->oracle);
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
    gpuarena_result result = pass_tags_alloc(&run->by, run->stream, next, &ptr, stream);
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
    if (run->streams.list[home].has_kernels || !ptr) return 0;
    int failed = pass_streams_work(&run->streams, home, run->streams.op_ns, &why)    /* its threads say of none */
        || device_access(run->device, stream, ptr, next->value, made.owner, &why);
    return pass_stuck(run, failed, &why);
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
    if (run->pool.goes_home) stream = block->home;
    if (pass_end_uses(run, number, stream)) return -1;
    if (pool_follows(&run->pool)) stream = block->home;
    block->is_live = 0;
    gpuarena_result result = caller_free(&run->by, block->ptr, block->bytes, pass_handle(run, stream));
    run->result->ops++;
    record_free(run->settings->recording, number);
    pass_digest(run, (uint64_t)(uint32_t)result);
    return result ? pass_failed(run, number, "free", result) : 0;
}

static int pass_kernel(pass *run, const op *next, uint32_t stream)
{
    problem why = { 0, "" };
    if (pass_stuck(run, pass_streams_work(&run->streams, stream, next->value, &why), &why)) return -1;
    for (uint32_t index = 0; index < next->count; index++) {
        uint32_t block = run->stream->touches[next->first + index];
        if (!run->blocks[block].is_live) continue;
        if (run->oracle && oracle_touch(run->oracle, run->op, block)) return pass_violated(run);
        int failed = pass_streams_use(&run->streams, stream, &run->blocks[block], &why);
        if (pass_stuck(run, failed, &why)) return -1;
    }
    return 0;
}

static int pass_op(pass *run, const op *next)
{
    pass_digest(run, (uint64_t)next->kind);
    pass_digest(run, next->value);
    problem why = { 0, "" };
    pass_streams *streams = &run->streams;
    uint32_t stream = pass_streams_index(streams, next->stream);
    int failed = 0;
    switch (next->kind) {
    case OP_ALLOC:  return pass_alloc(run, next, stream);
    case OP_FREE:   return pass_free(run, next->first, stream);
    case OP_KERNEL: return pass_kernel(run, next, stream);
    case OP_WAIT:
        failed = pass_streams_follow(streams, stream, pass_streams_index(streams, next->value), &why);
        break;
    case OP_RIVAL:  failed = device_rival(run->device, next->value, (int)next->count, &why); break;
    case OP_STEP:   record_label(run->settings->recording, next->first);
    }
    return pass_stuck(run, failed, &why);
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
    memory_raise(&run->result->last_reserved_bytes, use.reserved_bytes);
}

/* Another repetition has begun. */
static void pass_repeat(pass *run)
{
    if (run->steps == run->steady.steps) return;
    run->steps = run->steady.steps;
    device_count(run->device, &run->last);
    if (run->steps == 1) run->warm = run->last;
    run->last_remapped_pages = run->result->remapped_pages;
    run->result->last_reserved_bytes = 0;
}

/* An arena is told that a step begins, which it may have a plan for: steps where labels come again in the workload
   itself, else its rounds. 0: none begins. */
static void pass_tell_step(pass *run, uint32_t kind)
{
    if (run->pool.arena) (void)gpuarena_step(run->pool.arena, kind);
}

static int pass_has_steps(const op_stream *stream)
{
    pass_steady labels = { .steps = 0 };
    for (size_t index = 0; index < stream->op_count && !labels.steps; index++) {
        if (stream->ops[index].kind == OP_STEP && !op_stream_thread(stream, index))
            (void)pass_steady_label(&labels, stream->labels[stream->ops[index].first]);
    }
    return labels.steps > 0;
}

/* Where the policy was not called its figures stand. It may begin with memory: the first op is measured, whatever
   it is; and the last. */
static int pass_settle(pass *run, size_t index)
{
    op_kind kind = run->stream->ops[index].kind;
    int is_due = !index || index + 1 == run->stream->op_count
        || kind == OP_ALLOC || kind == OP_FREE;
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
    uint32_t kind = pass_steady_label(&run->steady, run->stream->labels[next->first]);
    pass_repeat(run);
    if (run->has_steps) pass_tell_step(run, kind);
}

static void pass_drive_once(pass *run)
{
    for (size_t index = 0; index < run->stream->op_count && !run->done; index++) {
        const op *next = &run->stream->ops[index];
        if (interrupt_signal() && pass_stop(run, PASS_ERROR, "interrupted")) return;
        if (next->kind == OP_ALLOC || next->kind == OP_FREE) caller_arrive(&run->by);
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
    caller_rest(&run->by);
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
        run->steady.steps += run->result->times && !run->steady.repeated;    /* another round */
        pass_repeat(run);
        if (run->result->times++ && pass_rewind(run)) return;
        if (!run->result->oom.happened) run->result->oom.round_from = run->op;
        if (run->settings->times > 1) pass_tell_step(run, run->has_steps ? 0 : PASS_ROUND);
        pass_drive_once(run);
    } while (!run->done && run->result->times < run->settings->times);
}

static void pass_count_driver(pass *run)
{
    device_counters after;
    device_count(run->device, &after);
    run->result->vns = device_now_vns(run->device) - run->begun_vns;
    run->result->steady_steps = run->steady.steps;
    if (run->steady.steps) {
        run->result->steady_calls = after.calls - run->warm.calls;
        run->result->steady_vns = after.call_vns - run->warm.call_vns;
        run->result->last_calls = after.calls - run->last.calls;
        run->result->last_remapped_pages = run->result->remapped_pages - run->last_remapped_pages;
    }
    run->result->driver_calls = after.calls - run->before.calls;
    run->result->driver_vns = after.call_vns - run->before.call_vns;
    run->result->is_virtual = after.is_virtual;
    run->result->misses = run->by.misses;
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
    caller_rest(&run->by);
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
    if (run->settings->recording) run->settings->recording->limit_bytes = run->pool.limit_bytes;
    run->blocks = program_need(run->stream->block_count, sizeof *run->blocks);
    if (run->timing || run->settings->is_probe) return 0;
    oracle_settings settings = { run->settings->verify, (uint32_t)run->stream->block_count, run->pool.alignment_bytes,
                                 run->pool.limit_bytes, run->device, run->pool.arena, run->pool.rounds_up };
    run->oracle = oracle_create(&settings);
    return 0;
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

void pass_run(const pass_settings *settings, const op_stream *stream, const policy *chosen, latencies *timing,
              pass_result *result)
{
    problem why = { 0, "" };
    pass run = { .settings = settings, .stream = stream, .timing = timing, .result = result,
                 .has_steps = pass_has_steps(stream) };
    memset(result, 0, sizeof *result);
    result->digest = DIGEST_START;
    if (pass_open(&run, chosen, &why)) {
        pass_stop(&run, PASS_ERROR, why.text);
        if (!run.device) result->needed_ops = 0;
        else if (!run.pool.device) result->needed_ops = UINT64_MAX;          /* the streams of all ops are too many */
    } else {
        const caller by = { .pool = &run.pool, .timing = timing, .rate = settings->rate,
                            .arrivals = timing ? NULL : settings->arrivals };    /* in a timing pass nobody asks */
        run.by = by;
        device_count(run.device, &run.before);
        run.begun_vns = device_now_vns(run.device);
        pass_drive(&run);
        pass_count_driver(&run);
        record_op(settings->recording, run.op);
        record_finish(settings->recording, result->ops);
        if (run.oracle) pass_end(&run);
    }
    pass_close(&run);
}
