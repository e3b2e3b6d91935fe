/* Several op streams made one: threads dealt out, turns drawn, streams and blocks numbered anew.
   Must not know what any family does, nor of policies, devices and results.
   Tested by tests/test_workload_mix.c. */
#include "mix.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "stream.h"
#include "turns.h"

typedef struct mix_member {                      /* one op stream, of one thread or of several */
    op_stream stream;
    size_t    next;                              /* its next operation */
    uint32_t *blocks;                            /* what its blocks are in the whole */
    uint32_t  thread, stride;                    /* its threads: thread, thread + stride, .. */
} mix_member;

/* All threads together may have twice the operations of a stream, and four times as many touches: --ops cuts the
   whole only when turns are drawn. That is 2 GiB of the host at most, with what is made of them. */
enum { MIX_STREAMS = 2, MIX_TOUCHES_EACH = STREAM_MAX_TOUCHES / STREAM_MAX_OPS };

typedef struct mix {
    mix_member  members[WORKLOAD_MAX_THREADS];
    size_t      op_count, touch_count;           /* of all members */
    uint32_t    member_count, thread_count;
    uint8_t     member_of[WORKLOAD_MAX_THREADS]; /* by thread */
    stream_builder builder;
} mix;

int mix_is_name(slice text)
{
    for (size_t index = 0; workload_family_at(index); index++) {
        const char *name = workload_family_at(index)->name;
        size_t length = strlen(name);
        if (!slice_begins(text, name)) continue;
        if (text.length == length || text.bytes[length] == ':' || text.bytes[length] == '+') return 1;
    }
    return 0;
}

int mix_take(slice *rest, slice *spec)
{
    size_t length = 0;
    if (!rest->bytes) return 0;
    int is_path = slice_begins(*rest, "replay:");
    for (; length < rest->length; length++) {
        const slice behind = { rest->bytes + length + 1, rest->length - length - 1 };
        if (rest->bytes[length] == '+' && (!is_path || mix_is_name(behind))) break;
    }
    spec->bytes = rest->bytes;
    spec->length = length;
    rest->bytes = length < rest->length ? rest->bytes + length + 1 : NULL;
    rest->length = rest->bytes ? rest->length - length - 1 : 0;
    return 1;
}

static uint32_t mix_count(const char *text)
{
    slice rest = slice_of(text), spec;
    uint32_t count = 0;
    while (count <= WORKLOAD_MAX_THREADS && mix_take(&rest, &spec)) count++;
    return count;
}

static int mix_refuse(const char *text, uint32_t spec_count, const workload_options *options, problem *why)
{
    if (options->threads_given && options->threads < spec_count && spec_count <= WORKLOAD_MAX_THREADS) {
        return problem_set(why, EXIT_USAGE, "workload %s: %" PRIu32 " workloads joined by '+', and --threads is %"
                           PRIu64 ", expected at least %" PRIu32, slice_show(slice_of(text)).text, spec_count,
                           options->threads, spec_count);
    }
    return problem_set(why, EXIT_USAGE, "workload %s: more than %d threads", slice_show(slice_of(text)).text,
                       WORKLOAD_MAX_THREADS);
}

static int mix_judge(const mix *self, slice spec, const workload_options *options, problem *why)
{
    size_t most = MIX_STREAMS * (options->most_ops ? options->most_ops : STREAM_MAX_OPS);
    int is_ops = self->op_count > most;
    if (!is_ops && self->touch_count / MIX_TOUCHES_EACH <= most) return 0;
    return problem_set(why, EXIT_USAGE, "workload %s: its threads make more than %zu %s together, expected fewer "
                       "or shorter ones", slice_show(spec).text,
                       is_ops ? most : most * MIX_TOUCHES_EACH, is_ops ? "operations" : "touches of blocks");
}

/* Its op stream, and the threads that are the member's from here on: `thread` and every stride-th. */
static int mix_add(mix *self, slice spec, const workload_options *options, uint32_t thread, uint32_t stride,
                   problem *why)
{
    mix_member *made = &self->members[self->member_count];
    char *text = malloc(spec.length + 1);
    if (!text) return problem_set(why, EXIT_HARNESS, "no host memory for the workloads");
    memcpy(text, spec.bytes, spec.length);
    text[spec.length] = '\0';
    int failed = workload_make(text, options, &made->stream, why);
    free(text);
    if (failed) return -1;
    self->member_count++;
    self->op_count += made->stream.op_count;
    self->touch_count += made->stream.touch_count;
    if (mix_judge(self, spec, options, why)) return -1;
    made->thread = thread;
    made->stride = stride;
    made->blocks = calloc(made->stream.block_count + 1, sizeof *made->blocks);
    return made->blocks ? 0 : problem_set(why, EXIT_HARNESS, "no host memory for the workloads");
}

/* The threads from `first` on, every stride-th, are for this workload. */
static int mix_deal(mix *self, slice spec, const workload_options *options, uint32_t first, uint32_t stride,
                    problem *why)
{
    workload_options own = *options;
    uint32_t thread_count = (uint32_t)options->threads;
    if (workload_has_option(spec, "threads")) {
        own.threads = (thread_count - first + stride - 1) / stride;
        own.thread = first;
        return mix_add(self, spec, &own, first, stride, why);
    }
    for (uint32_t thread = first; thread < thread_count; thread += stride) {
        own.thread = thread;
        if (mix_add(self, spec, &own, thread, stride, why)) return -1;
    }
    return 0;
}

static int mix_members(mix *self, const char *text, const workload_options *options, uint32_t spec_count,
                       problem *why)
{
    slice rest = slice_of(text), spec;
    workload_options own = *options;
    self->thread_count = options->threads_given ? (uint32_t)options->threads : 0;
    for (uint32_t at = 0; mix_take(&rest, &spec); at++) {
        own.thread = at;
        if (options->threads_given ? mix_deal(self, spec, options, at, spec_count, why)
                                   : mix_add(self, spec, &own, self->thread_count, 1, why)) return -1;
        if (options->threads_given) continue;
        self->thread_count += op_stream_threads(&self->members[at].stream);
        if (self->thread_count > WORKLOAD_MAX_THREADS) return mix_refuse(text, spec_count, options, why);
    }
    for (uint32_t at = 0; at < self->member_count; at++) {
        const mix_member *member = &self->members[at];
        for (uint32_t thread = 0; thread < op_stream_threads(&member->stream); thread++)
            self->member_of[member->thread + thread * member->stride] = (uint8_t)at;
    }
    return 0;
}

static int mix_stream(mix *self, uint32_t index, uint64_t number, uint64_t *mixed)
{
    if (number > (UINT64_MAX - index) / self->member_count) {
        return stream_refuse(&self->builder, "stream %" PRIu64 ", expected below 2^64 / %" PRIu32 " beside others",
                             number, self->member_count);
    }
    *mixed = number * self->member_count + index;
    return 0;
}

static int mix_alloc(mix *self, mix_member *member, const op *next, uint64_t stream)
{
    uint32_t tag = member->stream.tags[next->first];
    slice label = { NULL, 0 };
    if (tag) label = slice_of(member->stream.labels[tag - 1]);
    return stream_alloc(&self->builder, self->builder.stream->block_count, next->value, stream, label,
                        &member->blocks[next->first]);
}

static int mix_kernel(mix *self, const mix_member *member, const op *next, uint64_t stream)
{
    int failed = stream_kernel(&self->builder, stream, next->value);
    for (uint32_t at = 0; at < next->count && !failed; at++) {
        failed = stream_touch(&self->builder, member->blocks[member->stream.touches[next->first + at]]);
    }
    return failed;
}

static int mix_op(mix *self, uint32_t index)
{
    mix_member *member = &self->members[index];
    uint32_t thread = op_stream_thread(&member->stream, member->next);
    const op *next = &member->stream.ops[member->next++];
    uint64_t stream = 0, other = 0;
    if (mix_stream(self, index, next->stream, &stream)) return -1;
    stream_turn(&self->builder, member->thread + thread * member->stride);
    switch (next->kind) {
    case OP_ALLOC:  return mix_alloc(self, member, next, stream);
    case OP_FREE:   return next->count ? stream_free_on(&self->builder, member->blocks[next->first], stream)
                                       : stream_free(&self->builder, member->blocks[next->first]);
    case OP_KERNEL: return mix_kernel(self, member, next, stream);
    case OP_STEP:   return stream_step(&self->builder, slice_of(member->stream.labels[next->first]));
    case OP_RIVAL:  return stream_rival(&self->builder, next->value, (int)next->count);
    case OP_WAIT:   break;
    }
    return mix_stream(self, index, next->value, &other) || stream_wait(&self->builder, stream, other);
}

static int mix_merge(mix *self, uint64_t seed)
{
    uint8_t can_run[WORKLOAD_MAX_THREADS];
    turns order;
    turns_begin(&order, seed, self->thread_count);
    stream_threads(&self->builder, self->thread_count);
    while (!self->builder.is_cut) {
        int can_any = 0;
        for (uint32_t thread = 0; thread < self->thread_count; thread++) {
            const mix_member *member = &self->members[self->member_of[thread]];
            can_run[thread] = member->next < member->stream.op_count;
            can_any |= can_run[thread];
        }
        if (!can_any) return 0;
        if (mix_op(self, self->member_of[turns_next(&order, can_run)])) return -1;
    }
    return 0;
}

static int mix_all(mix *self, const char *text, const workload_options *options, uint32_t spec_count,
                   op_stream *stream, problem *why)
{
    char source[80];
    if (mix_members(self, text, options, spec_count, why)) return -1;
    snprintf(source, sizeof source, "workload %s", text);
    stream_begin(&self->builder, stream, source, options->ops_given ? options->ops : UINT64_MAX, why);
    if (options->most_ops) self->builder.most_ops = options->most_ops;
    self->builder.most_bytes = options->most_bytes;
    int failed = mix_merge(self, self->members[0].stream.seed);
    stream_end(&self->builder);
    stream->seed = self->members[0].stream.seed;
    if (failed) op_stream_free(stream);
    return failed;
}

int mix_make(const char *text, const workload_options *options, op_stream *stream, problem *why)
{
    uint32_t spec_count = mix_count(text);
    memset(stream, 0, sizeof *stream);
    if (spec_count > WORKLOAD_MAX_THREADS
        || (options->threads_given && (options->threads < spec_count || options->threads > WORKLOAD_MAX_THREADS))) {
        return mix_refuse(text, spec_count, options, why);
    }
    int is_alone = !options->threads_given || options->threads == 1 || workload_has_option(slice_of(text), "threads");
    if (spec_count == 1 && is_alone) return workload_make(text, options, stream, why);
    mix *self = calloc(1, sizeof *self);
    if (!self) return problem_set(why, EXIT_HARNESS, "no host memory for the workloads");
    int failed = mix_all(self, text, options, spec_count, stream, why);
    for (uint32_t at = 0; at < self->member_count; at++) {
        op_stream_free(&self->members[at].stream);
        free(self->members[at].blocks);
    }
    free(self);
    return failed;
}
