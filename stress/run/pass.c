/* Drives every op of a stream through a pool, and measures and verifies after each one. Or real threads make the
   calls, and the results are added up when they have ended. */
#include "pass.h"

#include <ctype.h>
#include <sched.h>

#include "../base/rounds.h"
#include "../base/text.h"

/* ---- A caller of the pool, a pass or one of its threads: the duration of each call, its use of the driver, and the
        time at which it was due */

typedef struct caller {                          /* the first four are set by the user; the rest is zero */
    pool              *pool;
    latencies         *timing;                   /* of a timing pass: one clock pair around each call; NULL: none */
    arrivals          *arrivals;                 /* NULL: none are kept */
    uint64_t           rate;                     /* arrivals a second; 0: each when the one before is done */
    uint64_t           start_ns, begun_ns, due_ns;           /* virtual */
    uint64_t           arrived;                  /* operations so far */
    int                is_due;                   /* the latest operation has not been made yet */
    uint64_t           misses;                   /* allocations that called the driver, refused ones too */
} caller;

#define PASS_SECOND_NS UINT64_C(1000000000)

/* The simulated machine whose host idles until an operation is due; NULL: there is no rate, or the device is CUDA's,
   which has no virtual time. */
static sim *caller_rated(const caller *self)
{
    return self->rate ? device_simulated(self->pool->device) : NULL;
}

/* Idles until the next allocation or free is due. Call right before it, and before the device is told of it. */
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

/* caller_alloc and caller_free call pool_alloc and pool_free, measure them, and return their results. */
static gpuarena_result caller_alloc(caller *self, void **ptr, uint64_t bytes, gpuarena_stream stream)
{
    latencies *timing = self->timing;
    uint64_t calls = sim_thread_called, start_ns = timing ? progress_clock_ns() : 0;
    gpuarena_result result = pool_alloc(self->pool, ptr, bytes, stream);
    uint64_t spent_ns = timing ? progress_clock_ns() - start_ns : 0;
    int is_miss = sim_thread_called != calls;
    self->misses += (uint64_t)is_miss;
    caller_served(self);
    if (!timing) return result;
    histogram_add(&timing->allocs, spent_ns);
    histogram_add(is_miss ? &timing->misses : &timing->hits, spent_ns);
    return result;
}

static gpuarena_result caller_free(caller *self, void *ptr, uint64_t bytes, gpuarena_stream stream)
{
    uint64_t start_ns = self->timing ? progress_clock_ns() : 0;
    gpuarena_result result = pool_free(self->pool, ptr, bytes, stream);
    if (self->timing) histogram_add(&self->timing->frees, progress_clock_ns() - start_ns);
    caller_served(self);
    return result;
}

/* ---- The first repetition of a pass: operations before it are the warm-up, those from it on are steady */

enum { PASS_STEADY_KINDS = 32 };                 /* kinds of labels; repetitions of further kinds are not seen */

/* Labels are of one kind if they differ only in the number at their end: step0, step1. The first label of a kind that
   was seen before begins the first repetition, and each further label of that kind begins another. If no kind of
   label comes again, the workload's rounds are the repetitions (pass_settings.times). */
typedef struct pass_steady {
    const char *kinds[PASS_STEADY_KINDS];
    uint32_t    kind_count;
    uint32_t    repeated;                        /* the kind that comes again, from 1; 0: none, or rounds repeat */
    uint64_t    steps;                           /* repetitions begun */
} pass_steady;

static size_t steady_length(const char *label)
{
    size_t length = strlen(label);
    while (length && isdigit((unsigned char)label[length - 1])) length--;
    return length;
}

/* The number of a label's kind, from 1 on; 0: there are too many kinds. Labels must outlive self. */
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

/* ---- The streams of an op stream: each is a stream of the device, made before the first op */

enum { PASS_MAX_STREAMS = 1024 };                /* each stream has a clock with an entry for each stream */

typedef struct pass_stream {
    uint64_t        number;                      /* in the op stream */
    gpuarena_stream handle;                      /* number 0: NULL, the device's default stream, which is not made */
    uint64_t        threads;                     /* threads that use it, by bit */
    int             has_kernels;                 /* 1: its threads have kernels, and allocations stand for no work */
} pass_stream;

typedef struct pass_streams {                    /* zeroed: none */
    device      *device;
    uint32_t     count;
    pass_stream  list[PASS_MAX_STREAMS];         /* by number, in the order of the device's streams; the first is 0 */
    int          has_kernels;                    /* of any stream */
} pass_streams;

static size_t pass_streams_rank(const pass_streams *self, uint64_t number)
{
    size_t rank;
    ARRAY_RANK(&rank, self->count, i, self->list[i].number < number);
    return rank;
}

/* The index of a stream, which must be in the op stream. */
static uint32_t pass_streams_index(const pass_streams *self, uint64_t number)
{
    return number ? (uint32_t)pass_streams_rank(self, number) : 0;
}

/* NULL and a problem: there are too many. */
static pass_stream *pass_streams_take(pass_streams *self, uint64_t number, problem *why)
{
    size_t rank = pass_streams_rank(self, number);
    pass_stream *place = &self->list[rank];
    if (rank < self->count && place->number == number) return place;
    if (self->count == PASS_MAX_STREAMS) {
        problem_set(why, EXIT_USAGE, "more than %d streams", PASS_MAX_STREAMS);
        return NULL;
    }
    memmove(place + 1, place, (self->count++ - rank) * sizeof *place);
    *place = (pass_stream){ .number = number };
    return place;
}

/* Threads with kernels may stand beside others without: each has its own streams. */
static int pass_streams_find(pass_streams *self, const op_stream *stream, problem *why)
{
    uint64_t with_kernels = 0;                   /* threads, by bit */
    pass_stream *on = pass_streams_take(self, 0, why);
    for (size_t index = 0; index < stream->op_count; index++) {
        const op *next = &stream->ops[index];
        const uint64_t thread = UINT64_C(1) << op_stream_thread(stream, index);
        if (next->kind == OP_WAIT && !pass_streams_take(self, next->value, why)) return -1;
        /* an entry that was taken may have moved the others */
        if (on->number != next->stream) on = pass_streams_take(self, next->stream, why);
        if (!on) return -1;
        if (next->kind == OP_KERNEL) with_kernels |= thread;
        if (next->kind != OP_STEP && next->kind != OP_RIVAL) on->threads |= thread;
    }
    for (uint32_t index = 0; index < self->count; index++) {
        self->list[index].has_kernels = (self->list[index].threads & with_kernels) != 0;
    }
    self->has_kernels = with_kernels != 0;
    return 0;
}

/* Destroys the device's streams. They are closed even if that fails. */
static int pass_streams_close(pass_streams *self, problem *why)
{
    int failed = 0;
    for (uint32_t index = 0; index < self->count; index++) {
        if (!self->list[index].handle) continue;
        failed |= device_stream_destroy(self->device, self->list[index].handle, why);
    }
    self->count = 0;
    return failed;
}

int pass_streams_fit(const op_stream *stream, problem *why)
{
    pass_streams trial = { .count = 0 };
    return pass_streams_find(&trial, stream, why);
}

int pass_cut_fits(const op_stream *stream, uint64_t ops)
{
    uint64_t counted = 0, before = 0, behind = 0;            /* before, behind: threads with kernels, by bit */
    for (size_t index = 0; index < stream->op_count; index++) {
        const op_kind kind = stream->ops[index].kind;
        uint64_t *threads = counted < ops ? &before : &behind;
        if (kind == OP_KERNEL) *threads |= UINT64_C(1) << op_stream_thread(stream, index);
        counted += kind == OP_ALLOC || kind == OP_FREE;
    }
    return !(behind & ~before);
}

/* ---- Drives every op of a stream through a pool, and after each one measures and verifies */

enum { PASS_ROUND = PASS_STEADY_KINDS + 1, PASS_PROGRESS_OPS = 4096 };

typedef struct pass_use {                        /* the latest use of a block on a stream */
    uint64_t position;                           /* the stream's uses up to it */
    uint32_t stream;                             /* an index, like all streams below */
    uint32_t next;                               /* of the block, or unused: index into pass.uses; 0: none */
} pass_use;

typedef struct pass_block {                      /* zeroed: not allocated yet */
    void    *ptr;                                /* NULL: it has 0 bytes */
    uint64_t bytes;
    uint32_t home;                               /* the stream of its allocation */
    uint32_t uses;                               /* list of uses, one for each stream: the first's index; 0: none */
    int      is_live;                            /* allocated and not freed; a refused block never is */
} pass_block;

typedef struct pass {
    const pass_settings *settings;
    const op_stream     *stream;
    device              *device;
    pass_streams         streams;
    pool                 pool;
    oracle              *oracle;                 /* NULL: timing pass, probe */
    pass_block          *blocks;
    uint64_t            *clocks;                 /* [stream * count + other]: the number of the other's uses that
                                                    come before the stream's next work; of its own, all */
    pass_use            *uses;                   /* [0] is none */
    uint32_t             use_count, unused;
    size_t               use_capacity;
    caller               by;                      /* timing NULL: verifying pass, probe */
    pass_result         *result;
    device_counters      before;
    uint64_t             begun_vns;              /* of the host's virtual clock, when the counters were read */
    pass_steady          steady;
    device_counters      warm;                   /* when the first repetition began */
    device_counters      last;                   /* when the last repetition began */
    uint64_t             last_remapped_pages;    /* pages remapped before the last repetition */
    uint64_t             steps;                  /* repetitions counted so far */
    int                  has_steps;              /* labels come again within the workload */
    uint64_t             op;                     /* number of the op under way: allocations and frees before it,
                                                    refused and left out ones too */
    int                  done;                   /* no more ops: oom, violation or error */
    problem              why;                    /* of a device that fails */
} pass;

static gpuarena_stream pass_handle(const pass *run, uint32_t stream)
{
    return run->streams.list[stream].handle;
}

static void pass_digest(pass *run, uint64_t word)
{
    run->result->digest = digest_word(run->result->digest, word);
}

static void pass_begin_op(const pass *run)
{
    device_begin_op(run->device, run->op);
    record_op(run->settings->recording, run->op);
}

/* ---- Early ends of a pass */

PROBLEM_FORMAT(3, 4)
static int pass_stop(pass *run, pass_status status, const char *format, ...)
{
    run->done = 1;
    run->result->status = status;
    run->result->needed_ops = run->op + 1;
    PROBLEM_PRINT(run->result->message, sizeof run->result->message, format);
    return -1;
}

/* Stops the pass if the device failed. */
static int pass_stuck(pass *run, int failed)
{
    if (!failed) return 0;
    run->result->is_lost = 1;
    return pass_stop(run, PASS_ERROR, "op %" PRIu64 ": %.400s", run->op, run->why.text);
}

/* Stops the pass at a violation. If the ops have kernels, a missing order may be the policy's or the workload's
   mistake. */
static int pass_violated(pass *run)
{
    const oracle_fault whose = oracle_whose(run->oracle);
    pass_status status = whose == ORACLE_STUCK ? PASS_ERROR : PASS_VERIFY_FAILED;
    int may_be_workload = run->streams.has_kernels && whose == ORACLE_ORDER;
    return pass_stop(run, status, "%.400s%s", oracle_violation(run->oracle), may_be_workload
                     ? "; the policy's mistake, or the workload's if no `w` line orders its own kernels" : "");
}

/* Stops the pass at a result that is neither success nor out of memory: a failure of the device or the host, or a
   result that no policy may give. */
static int pass_failed(pass *run, uint32_t block, const char *call, gpuarena_result result)
{
    if (result == GPUARENA_DRIVER_ERROR || result == GPUARENA_DEVICE_LOST || result == GPUARENA_HOST_MEMORY
        || result == GPUARENA_NOT_SUPPORTED || result == GPUARENA_CAPTURE || !run->oracle) {
        pool_refusal refusal;
        pool_last_refusal(&run->pool, &refusal);
        run->result->is_lost = result == GPUARENA_DEVICE_LOST;
        return pass_stop(run, PASS_ERROR, "op %" PRIu64 ": %s: %s: %.300s", run->op, call,
                         gpuarena_result_name(result), refusal.text);
    }
    oracle_result(run->oracle, run->op, block, call, gpuarena_result_name(result));
    return pass_violated(run);
}

/* ---- The program's work on the GPU, its uses of blocks, and their order */

static int pass_work(pass *run, uint32_t stream, uint64_t work_ns)
{
    return pass_stuck(run, device_work(run->device, pass_handle(run, stream), work_ns, &run->why));
}

static int pass_access(pass *run, uint32_t stream, uint32_t number)
{
    const pass_block *block = &run->blocks[number];
    return pass_stuck(run, device_access(run->device, pass_handle(run, stream), block->ptr, block->bytes,
                                         oracle_owner(number), &run->why));
}

static uint64_t *pass_clock(const pass *run, uint32_t stream)
{
    return &run->clocks[(size_t)stream * run->streams.count];
}

static int pass_follow(pass *run, uint32_t stream, uint32_t other)
{
    uint64_t *clock = pass_clock(run, stream);
    const uint64_t *passed = pass_clock(run, other);
    for (uint32_t index = 0; index < run->streams.count; index++) memory_raise(&clock[index], passed[index]);
    return pass_stuck(run, device_follow(run->device, pass_handle(run, stream), pass_handle(run, other), &run->why));
}

/* Finds the block's use on this stream, or makes one. For a new use, the stream waits for the block's own stream if
   memory comes in that stream's order. NULL: the device failed. */
static pass_use *pass_find_use(pass *run, uint32_t stream, pass_block *block)
{
    uint32_t index = block->uses;
    while (index && run->uses[index].stream != stream) index = run->uses[index].next;
    if (index) return &run->uses[index];
    if (run->pool.in_order && stream != block->home && pass_follow(run, stream, block->home)) return NULL;
    if (run->unused) {
        index = run->unused;
        run->unused = run->uses[index].next;
    } else {
        index = ++run->use_count;
        ARRAY_RESERVE(run->uses, run->use_capacity, index + 1);
    }
    run->uses[index].stream = stream;
    run->uses[index].next = block->uses;
    block->uses = index;
    return &run->uses[index];
}

static int pass_kernel(pass *run, const op *next, uint32_t stream)
{
    if (pass_work(run, stream, next->value)) return -1;
    for (uint32_t index = 0; index < next->count; index++) {
        const uint32_t number = run->stream->touches[next->first + index];
        pass_block *block = &run->blocks[number];
        if (!block->is_live) continue;
        if (run->oracle && oracle_touch(run->oracle, run->op, number)) return pass_violated(run);
        if (!block->ptr) continue;
        pass_use *use = pass_find_use(run, stream, block);
        if (!use) return -1;
        use->position = ++pass_clock(run, stream)[stream];
        if (pass_access(run, stream, number)) return -1;
    }
    return 0;
}

/* Ends the uses of a block before its free on this stream. The policy is told of the latest use on each stream, the
   allocation's own included, unless a wait already orders it before the next work of this stream. Then the program
   adds the waits that the op stream leaves out, and the uses are forgotten. If the policy takes every free for one on
   the allocation's stream, that stream waits for the uses on all others. */
static int pass_end_uses(pass *run, uint32_t number, uint32_t stream)
{
    pass_block *block = &run->blocks[number];
    const uint32_t home = block->home;
    const int at_home = pool_follows(&run->pool);
    for (uint32_t index = block->uses; index; index = run->uses[index].next) {
        const pass_use *use = &run->uses[index];
        if (use->position <= pass_clock(run, stream)[use->stream]) continue;
        gpuarena_result result = pool_use(&run->pool, block->ptr, pass_handle(run, use->stream));
        if (result) return pass_failed(run, number, "use", result);
    }
    if (stream != home && !run->streams.list[home].has_kernels && pass_follow(run, stream, home)) return -1;
    if (stream != home && at_home && pass_follow(run, home, stream)) return -1;
    while (block->uses) {
        const uint32_t index = block->uses;
        pass_use *use = &run->uses[index];
        int is_apart = use->stream != stream && use->stream != home;
        if (at_home && is_apart && pass_follow(run, home, use->stream)) return -1;
        block->uses = use->next;
        use->next = run->unused;
        run->unused = index;
    }
    return 0;
}

/* ---- Allocations and frees */

static int pass_refused(pass *run, uint32_t block, uint64_t bytes)
{
    pass_result *result = run->result;
    pool_refusal refusal;
    result->status = PASS_OOM;
    if (!run->settings->skip_oom) run->done = 1;
    record_refuse(run->settings->recording, bytes);
    if (run->by.timing) return 0;
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
    record *recording = run->settings->recording;
    void *ptr = NULL;
    gpuarena_stream stream = pass_handle(run, home);
    /* timing passes have no tags, which would be measured, too; nor have labels that are no names of tags or beyond
       GPUARENA_TAGS */
    int is_tagged = run->stream->tags && run->pool.arena && !run->by.timing;
    uint32_t label = is_tagged ? run->stream->tags[next->first] : 0;
    uint32_t before = label ? gpuarena_tag_scope(gpuarena_tag(run->stream->labels[label - 1])) : 0;
    gpuarena_result result = caller_alloc(&run->by, &ptr, next->value, stream);
    if (label) gpuarena_tag_scope(before);
    run->result->ops++;
    run->result->allocs++;
    pass_digest(run, (uint64_t)(uint32_t)result);
    pass_digest(run, ptr != NULL);
    if (result == GPUARENA_OUT_OF_MEMORY) return pass_refused(run, next->first, next->value);
    if (result) return pass_failed(run, next->first, "alloc", result);
    run->blocks[next->first] = (pass_block){ ptr, next->value, home, 0, 1 };
    uint64_t bytes = recording && ptr ? pool_block_bytes(&run->pool, ptr, next->value) : 0;
    record_alloc(recording, next->first, ptr, next->value, bytes, next->stream);
    if (run->oracle && oracle_alloc(run->oracle, run->op, next->first, ptr, next->value, stream)) {
        return pass_violated(run);
    }
    if (run->streams.list[home].has_kernels || !ptr) return 0;               /* the allocation stands for no work */
    return pass_work(run, home, run->settings->device.op_ns) || pass_access(run, home, next->first) ? -1 : 0;
}

static int pass_free(pass *run, uint32_t number, uint32_t stream)
{
    pass_block *block = &run->blocks[number];
    if (!block->is_live) return 0;                /* its allocation was refused */
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

/* Frees all live blocks: between rounds as ops of their own, at the end outside of every count. */
static int pass_free_all(pass *run, int are_ops)
{
    run->by.is_due = 0;                          /* these frees have no due time; the next arrival starts anew */
    run->by.arrived = 0;
    for (uint32_t block = 0; block < run->stream->block_count; block++) {
        if (!run->blocks[block].is_live) continue;
        if (are_ops) pass_begin_op(run);
        if (pass_free(run, block, run->blocks[block].home)) return -1;
        run->op += are_ops != 0;
    }
    return 0;
}

/* ---- Op after op, round after round */

static int pass_op(pass *run, const op *next)
{
    const uint32_t stream = pass_streams_index(&run->streams, next->stream);
    pass_digest(run, (uint64_t)next->kind);
    pass_digest(run, next->value);
    switch (next->kind) {
    case OP_ALLOC:  return pass_alloc(run, next, stream);
    case OP_FREE:   return pass_free(run, next->first, stream);
    case OP_KERNEL: return pass_kernel(run, next, stream);
    case OP_WAIT:   return pass_follow(run, stream, pass_streams_index(&run->streams, next->value));
    case OP_RIVAL:
        return pass_stuck(run, device_rival(run->device, next->value, (int)next->count, &run->why));
    case OP_STEP:   record_label(run->settings->recording, next->first);
    }
    return 0;
}

/* Measures and verifies after an op. An op that does not call the policy leaves its figures as they are. The first op
   is measured always, because a policy may begin with memory; so is the last. */
static int pass_settle(pass *run, size_t index)
{
    op_kind kind = run->stream->ops[index].kind;
    int is_due = !index || index + 1 == run->stream->op_count || kind == OP_ALLOC || kind == OP_FREE;
    gpuarena_stats stats;
    if (!run->oracle) return 0;
    if (is_due) {
        memory_use use;
        pool_measure(&run->pool, &use, &stats);
        if (memory_needs_largest(&run->result->memory, &use) || record_keeps_samples(run->settings->recording))
            use.largest_bytes = pool_largest(&run->pool);
        memory_sample(&run->result->memory, &use);
        record_measure(run->settings->recording, &use);
        run->result->gpu_waits = stats.gpu_wait_count;
        run->result->remapped_pages = stats.remapped_page_count;
        memory_raise(&run->result->last_reserved_bytes, use.reserved_bytes);
    }
    return oracle_settle(run->oracle, run->op, is_due ? &stats : NULL) ? pass_violated(run) : 0;
}

/* Tells an arena that a step begins, so that it can plan for it. The steps are those of the labels if they come again
   within the workload, else its rounds. kind 0: no step begins. */
static void pass_tell_step(pass *run, uint32_t kind)
{
    if (run->pool.arena) (void)gpuarena_step(run->pool.arena, kind);
}

/* Notes the counters if another repetition has begun. */
static void pass_repeat(pass *run)
{
    if (run->steps == run->steady.steps) return;
    run->steps = run->steady.steps;
    device_count(run->device, &run->last);
    if (run->steps == 1) run->warm = run->last;
    run->last_remapped_pages = run->result->remapped_pages;
    run->result->last_reserved_bytes = 0;
}

/* The label of a step of the workload; NULL: the op is no step, or a step of another thread than the first. */
static const char *pass_step_label(const op_stream *stream, size_t index)
{
    const op *next = &stream->ops[index];
    return next->kind == OP_STEP && !op_stream_thread(stream, index) ? stream->labels[next->first] : NULL;
}

static int pass_has_steps(const op_stream *stream)
{
    pass_steady labels = { .steps = 0 };
    for (size_t index = 0; index < stream->op_count && !labels.steps; index++) {
        const char *label = pass_step_label(stream, index);
        if (label) (void)pass_steady_label(&labels, label);
    }
    return labels.steps > 0;
}

static void pass_drive_once(pass *run)
{
    for (size_t index = 0; index < run->stream->op_count && !run->done; index++) {
        const op *next = &run->stream->ops[index];
        const char *label = pass_step_label(run->stream, index);
        const int calls = next->kind == OP_ALLOC || next->kind == OP_FREE;
        if (interrupt_signal() && pass_stop(run, PASS_ERROR, "interrupted")) return;
        if (calls) caller_arrive(&run->by);
        pass_begin_op(run);
        if (run->stream->threads) device_thread(run->device, 1 + op_stream_thread(run->stream, index));
        if (label) {
            uint32_t kind = pass_steady_label(&run->steady, label);
            pass_repeat(run);
            if (run->has_steps) pass_tell_step(run, kind);
        }
        if (pass_op(run, next) || pass_settle(run, index)) return;      /* run->done is set */
        run->op += calls != 0;
        if (index % PASS_PROGRESS_OPS == 0) progress_update(run->settings->progress, index, run->stream->op_count);
    }
}

static void pass_drive(pass *run)
{
    pass_result *result = run->result;
    do {
        run->steady.steps += result->times && !run->steady.repeated;         /* another round */
        pass_repeat(run);
        if (result->times++ && pass_free_all(run, 1)) return;
        if (!result->oom.happened) result->oom.round_from = run->op;
        if (run->settings->times > 1) pass_tell_step(run, run->has_steps ? 0 : PASS_ROUND);
        pass_drive_once(run);
    } while (!run->done && result->times < run->settings->times);
}

static void pass_count_driver(pass *run)
{
    pass_result *result = run->result;
    device_counters after;
    device_count(run->device, &after);
    result->vns = device_now_vns(run->device) - run->begun_vns;
    result->driver_calls = after.calls - run->before.calls;
    result->driver_vns = after.call_vns - run->before.call_vns;
    result->is_virtual = after.is_virtual;
    result->misses = run->by.misses;
    result->steady_steps = run->steady.steps;
    if (!run->steady.steps) return;
    result->steady_calls = after.calls - run->warm.calls;
    result->steady_vns = after.call_vns - run->warm.call_vns;
    result->last_calls = after.calls - run->last.calls;
    result->last_remapped_pages = result->remapped_pages - run->last_remapped_pages;
}

/* ---- The end of a pass, and its beginning */

/* Checks that no memory is left after the last op. It is outside every count. Streams end before the policy does,
   which is allowed. Then all memory must be given back, every invariant of an arena must hold, and it must end
   without an error. */
static int pass_end(pass *run)
{
    gpuarena_stats stats = { .reserved_bytes = 0 };
    run->op = run->result->ops;
    if (pass_free_all(run, 0)) return -1;
    for (uint32_t stream = 1; stream < run->streams.count; stream++) {
        gpuarena_result result = pool_forget(&run->pool, pass_handle(run, stream));
        if (result) return pass_failed(run, ORACLE_NO_BLOCK, "forget", result);
    }
    int failed = pass_streams_close(&run->streams, &run->why);
    if (pass_stuck(run, failed)) return -1;
    gpuarena_result result = pool_trim(&run->pool);
    if (result) return pass_failed(run, ORACLE_NO_BLOCK, "trim", result);
    if (run->pool.arena) {
        gpuarena_get_stats(run->pool.arena, &stats);
        if (oracle_check(run->oracle, run->op)) return pass_violated(run);
        result = gpuarena_destroy(run->pool.arena);
        if (result) return pass_failed(run, ORACLE_NO_BLOCK, "destroy", result);
        run->pool.arena = NULL;
    }
    return oracle_end(run->oracle, run->op, stats.reserved_bytes) ? pass_violated(run) : 0;
}

/* is_asked: there is an oracle. */
static int pass_open(pass *run, const policy *chosen, int is_asked)
{
    const pass_settings *settings = run->settings;
    device_config config = settings->device;
    config.is_unjudged = !is_asked || settings->verify == VERIFY_OFF;
    run->device = device_open(&config, &run->why);
    if (!run->device) return -1;
    record_begin(settings->recording, run->device, run->stream, settings->times);
    run->streams.device = run->device;
    if (pass_streams_find(&run->streams, run->stream, &run->why)) return -1;
    for (uint32_t index = 1; index < run->streams.count; index++) {
        if (device_stream_create(run->device, &run->streams.list[index].handle, &run->why)) return -1;
    }
    if (pool_open(&run->pool, chosen, run->device, &run->why)) {
        run->result->is_unopened = 1;
        return -1;
    }
    if (settings->recording) settings->recording->limit_bytes = run->pool.limit_bytes;
    run->clocks = program_need((size_t)run->streams.count * run->streams.count, sizeof *run->clocks);
    run->blocks = program_need(run->stream->block_count, sizeof *run->blocks);
    if (is_asked) run->oracle = oracle_create(settings->verify, &run->pool, (uint32_t)run->stream->block_count);
    return 0;
}

/* Frees everything. *kept says whether memory could not be given back to the device: the passes that follow have less
   of it, so that no result may hide it. */
static int pass_leave(pass *run, problem *kept)
{
    problem unheard = { 0, "" };
    record_finish(run->settings->recording, run->result->ops);   /* needed if the pass could not be opened */
    oracle_destroy(run->oracle);
    free(run->blocks);
    free(run->clocks);
    free(run->uses);
    pool_close(&run->pool);
    (void)pass_streams_close(&run->streams, &unheard);
    return device_close(run->device, kept);
}

void pass_run(const pass_settings *settings, const op_stream *stream, const policy *chosen, latencies *timing,
              pass_result *result)
{
    pass run = { .settings = settings, .stream = stream, .result = result, .has_steps = pass_has_steps(stream) };
    run.by = (caller){ .pool = &run.pool, .timing = timing, .rate = settings->rate,
                       .arrivals = timing ? NULL : settings->arrivals };     /* a timing pass keeps none */
    problem kept = { 0, "" };
    memset(result, 0, sizeof *result);
    result->digest = DIGEST_START;
    if (pass_open(&run, chosen, !timing && !settings->is_probe)) {
        pass_stop(&run, PASS_ERROR, "%s", run.why.text);
        if (!run.device) result->needed_ops = 0;
        else if (!run.pool.device) result->needed_ops = UINT64_MAX;          /* the streams of all ops are too many */
    } else {
        device_count(run.device, &run.before);
        run.begun_vns = device_now_vns(run.device);
        pass_drive(&run);
        pass_count_driver(&run);
        record_op(settings->recording, run.op);
        record_finish(settings->recording, result->ops);
        const uint64_t ops = result->ops, digest = result->digest;
        if (run.oracle && result->status <= PASS_OOM && settings->verify != VERIFY_OFF) (void)pass_end(&run);
        result->ops = ops;
        result->digest = digest;
    }
    if (!pass_leave(&run, &kept)) return;
    if (result->status <= PASS_OOM) result->needed_ops = UINT64_MAX;
    result->status = PASS_ERROR;
    result->kept = 1;
    text_add(result->message, sizeof result->message, "%s%s", *result->message ? "; " : "", kept.text);
}

/* ---- Real threads: each thread's calls in order, with a clock around each if asked for */

enum { WORKERS_APART = 128 };                    /* padding that keeps two threads' counters out of one cache line */

typedef enum slot_state { SLOT_EMPTY, SLOT_LIVE, SLOT_REFUSED, SLOT_FREED } slot_state;
typedef struct slot {                            /* a block */
    void           *ptr;                         /* written before the state is, read after */
    uint64_t        bytes;
    gpuarena_stream home;                        /* the stream of its allocation */
    int             state;
} slot;

typedef struct step {                            /* one call */
    slot           *of;
    gpuarena_stream stream;
    int             is_free;
} step;

typedef struct worker {                          /* set before the start: all up to the steps; the rest is zero */
    struct threads *all;
    pool            pool;                        /* the pool of all threads, with books of its own for `raw` */
    caller          by;                          /* by.timing is owned */
    step           *steps;                       /* owned */
    size_t          step_count, step_capacity;
    uint64_t        ops;
    uint64_t        alloc_count, free_count;     /* successful calls of more than 0 bytes */
    int             refused;
    const char     *failed_call;                 /* NULL: none */
    gpuarena_result failed_result;
    char            apart[WORKERS_APART];
} worker;

typedef struct threads {
    pass     of;                                 /* the pass of all threads; it drives no ops itself */
    slot    *slots;                              /* a thread's slots are adjacent, and it writes to them alone */
    worker  *workers;
    uint32_t count;
    int      must_stop;
} threads;

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
        if (!self->all->of.settings->skip_oom) __atomic_store_n(&self->all->must_stop, 1, __ATOMIC_RELAXED);
    }
}

/* Frees a block, and waits first if the thread that allocates it is behind. No waits order other streams behind the
   allocation's. The free is therefore on the allocation's stream if memory comes in that stream's order, or if the
   verifying pass frees there. */
static void worker_free(worker *self, const step *next)
{
    slot *freed = next->of;
    int state;
    while ((state = __atomic_load_n(&freed->state, __ATOMIC_ACQUIRE)) == SLOT_EMPTY && !worker_must_stop(self)) {
        sched_yield();
    }
    if (state != SLOT_LIVE) return;
    int at_home = self->pool.goes_home || self->pool.in_order || pool_follows(&self->pool);
    gpuarena_stream stream = at_home ? freed->home : next->stream;
    gpuarena_result result = caller_free(&self->by, freed->ptr, freed->bytes, stream);
    self->ops++;
    if (result) {
        worker_failed(self, "free", result);
        return;
    }
    freed->state = SLOT_FREED;                   /* no other thread writes it: a block is freed once */
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

/* ---- Results of the threads, when all have ended */

/* Adds up the threads' results. *known gets the sums that the arena must have. */
static int threads_add_up(threads *all, latencies *timing, oracle_sums *known)
{
    pool_refusal refusal;
    for (const worker *self = all->workers; self < all->workers + all->count; self++) {
        all->of.result->ops += self->ops;
        if (self->refused) all->of.result->status = PASS_OOM;
        if (timing) latencies_merge(timing, self->by.timing);
        known->alloc_count += self->alloc_count;
        known->free_count += self->free_count;
    }
    for (uint32_t at = 0; at < all->count; at++) {
        worker *self = &all->workers[at];
        if (!self->failed_call) continue;
        pool_last_refusal(&self->pool, &refusal);
        return pass_stop(&all->of, PASS_ERROR, "thread %" PRIu32 ": %s: %s: %.300s", at, self->failed_call,
                         gpuarena_result_name(self->failed_result), refusal.text);
    }
    return 0;
}

/* Compares the sums with the arena's statistics, which must be exact because no call is in progress. */
static int threads_sums(threads *all, oracle_sums *known)
{
    gpuarena_stats stats;
    char message[256] = "";
    gpuarena_get_stats(all->of.pool.arena, &stats);
    known->live_bytes = stats.live_bytes;
    for (size_t at = 0; at < all->of.stream->block_count; at++) {
        if (all->slots[at].state != SLOT_LIVE) continue;
        known->requested_bytes += all->slots[at].bytes;
        known->live_count += all->slots[at].bytes != 0;
    }
    if (oracle_differ(known, &all->of.pool, &stats, message, sizeof message)) {
        return pass_stop(&all->of, PASS_VERIFY_FAILED, "%" PRIu32 " threads: %s", all->count, message);
    }
    if (!gpuarena_check(all->of.pool.arena, message, sizeof message)) return 0;
    return pass_stop(&all->of, PASS_VERIFY_FAILED, "%" PRIu32 " threads: check: %s", all->count, message);
}

/* Frees all live blocks, and checks that all memory goes back to the device. */
static int threads_end(threads *all)
{
    gpuarena_stats stats;
    for (size_t at = 0; at < all->of.stream->block_count; at++) {
        slot *left = &all->slots[at];
        if (left->state != SLOT_LIVE) continue;
        gpuarena_result result = pool_free(&all->of.pool, left->ptr, left->bytes, left->home);
        if (result) {
            return pass_stop(&all->of, PASS_VERIFY_FAILED, "%" PRIu32 " threads: free at the end: %s", all->count,
                             gpuarena_result_name(result));
        }
    }
    gpuarena_result result = pool_trim(&all->of.pool);
    if (result) return pass_stop(&all->of, PASS_ERROR, "trim: %s", gpuarena_result_name(result));
    gpuarena_get_stats(all->of.pool.arena, &stats);
    if (!stats.reserved_bytes) return 0;
    return pass_stop(&all->of, PASS_VERIFY_FAILED, "%" PRIu32 " threads: reserved_at_end: expected 0, found %" PRIu64,
                     all->count, stats.reserved_bytes);
}

/* ---- Lists of calls for each thread, made before they start */

static void threads_lists(threads *all)
{
    const op_stream *stream = all->of.stream;
    slot *next_slot[WORKLOAD_MAX_THREADS] = { all->slots };      /* behind the slots of the threads before it */
    slot **slot_of = program_need(stream->block_count, sizeof(slot *));      /* by block */
    size_t allocs[WORKLOAD_MAX_THREADS] = { 0 };
    for (size_t at = 0; at < stream->op_count; at++) {
        allocs[op_stream_thread(stream, at)] += stream->ops[at].kind == OP_ALLOC;
    }
    for (uint32_t thread = 1; thread < all->count; thread++) {
        next_slot[thread] = next_slot[thread - 1] + allocs[thread - 1];
    }
    for (size_t at = 0; at < stream->op_count; at++) {
        const op *from = &stream->ops[at];
        const uint32_t thread = op_stream_thread(stream, at);
        const int is_free = from->kind == OP_FREE;
        if (!is_free && from->kind != OP_ALLOC) continue;
        gpuarena_stream handle = all->of.streams.list[pass_streams_index(&all->of.streams, from->stream)].handle;
        if (!is_free) {
            slot *made = slot_of[from->first] = next_slot[thread]++;
            made->bytes = from->value;
            made->home = handle;
        }
        const step made = { slot_of[from->first], handle, is_free };
        worker *self = &all->workers[thread];
        ARRAY_RESERVE(self->steps, self->step_capacity, self->step_count + 1);
        self->steps[self->step_count++] = made;
    }
    free(slot_of);
}

static int threads_open(threads *all, const policy *chosen, int is_timed)
{
    if (pass_open(&all->of, chosen, 0)) return pass_stop(&all->of, PASS_ERROR, "%s", all->of.why.text);
    all->slots = program_need(all->of.stream->block_count, sizeof *all->slots);
    all->workers = program_need(all->count, sizeof *all->workers);
    for (worker *self = all->workers; self < all->workers + all->count; self++) {
        self->all = all;
        self->pool = all->of.pool;
        self->by.pool = &self->pool;
        if (is_timed) self->by.timing = program_need(1, sizeof *self->by.timing);
    }
    threads_lists(all);
    return 0;
}

static void threads_drive(threads *all, latencies *timing)
{
    problem why = { 0, "" };
    oracle_sums known = { .live_bytes = 0 };
    if (crowd_run(NULL, worker_run, all->workers, all->count, sizeof *all->workers, &all->of.result->wall_ns, &why)) {
        (void)pass_stop(&all->of, PASS_ERROR, "%s", why.text);             /* the machine has no more threads */
        return;
    }
    int failed = threads_add_up(all, timing, &known);
    if (failed || !all->of.pool.arena || all->of.settings->verify == VERIFY_OFF) return;
    if (!threads_sums(all, &known)) (void)threads_end(all);
}

void pass_threads_run(const pass_settings *settings, const op_stream *stream, const policy *chosen,
                      latencies *timing, pass_result *result)
{
    threads all = { .of = { .settings = settings, .stream = stream, .result = result },
                    .count = op_stream_threads(stream) };
    problem kept = { 0, "" };
    memset(result, 0, sizeof *result);
    if (!threads_open(&all, chosen, timing != NULL)) threads_drive(&all, timing);
    for (uint32_t at = 0; all.workers && at < all.count; at++) {
        free(all.workers[at].by.timing);
        free(all.workers[at].steps);
    }
    free(all.workers);
    free(all.slots);
    if (!pass_leave(&all.of, &kept)) return;
    result->kept = 1;
    if (result->status <= PASS_OOM) (void)pass_stop(&all.of, PASS_ERROR, "%s", kept.text);
}
