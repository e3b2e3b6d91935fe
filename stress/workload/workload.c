/* The list of families, and the way from a specification to an op stream. */
#include "workload.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../base/program.h"
#include "../base/splitmix64.h"
#include "../base/text.h"
#include "maker.h"

/* ---- Weighted draws */

enum { TURNS_WEIGHTS = 4, TURNS_MOST_UNCHANGED = 256 };      /* weights: 1 4 16 64 */

uint64_t turns_seed(uint64_t seed, uint64_t thread)
{
    uint64_t state = thread;
    if (!thread) return seed;
    state = seed ^ splitmix64_next(&state);
    return splitmix64_next(&state);
}

static uint32_t turns_draw_weight(turns *self)
{
    return (uint32_t)1 << 2 * splitmix64_below(&self->random, TURNS_WEIGHTS);
}

static void turns_draw_change(turns *self)
{
    self->left = 1 + (uint32_t)splitmix64_below(&self->random, TURNS_MOST_UNCHANGED);
}

void turns_begin(turns *self, uint64_t seed, uint32_t count)
{
    self->random = turns_seed(seed, UINT64_MAX);             /* no thread's */
    self->count = count;
    for (uint32_t thread = 0; thread < count; thread++) self->weights[thread] = turns_draw_weight(self);
    turns_draw_change(self);
}

uint32_t turns_next(turns *self, const uint8_t *can_run)
{
    uint64_t total = 0;
    uint32_t next = 0;
    if (self->left-- == 0) {
        uint64_t thread = splitmix64_below(&self->random, self->count);      /* drawn before its weight */
        self->weights[thread] = turns_draw_weight(self);
        turns_draw_change(self);
    }
    for (uint32_t at = 0; at < self->count; at++) total += can_run[at] ? self->weights[at] : 0;
    if (!total) return TURNS_NONE;
    uint64_t drawn = splitmix64_below(&self->random, total);
    for (;; next++) {                            /* ends, since drawn is below the sum of those that can run */
        if (!can_run[next]) continue;
        if (drawn < self->weights[next]) return next;
        drawn -= self->weights[next];
    }
}

/* ---- The list of families, and the way from a specification to an op stream */

static const family *const workload_families[] = {
#define X(name) &family_##name,
    FAMILIES(X)
#undef X
};
enum { WORKLOAD_FAMILY_COUNT = sizeof workload_families / sizeof workload_families[0] };

const workload_family *workload_family_at(size_t index)
{
    return index < WORKLOAD_FAMILY_COUNT ? &workload_families[index]->shown : NULL;
}

int workload_option_text(size_t family_index, size_t index, char *text, size_t size)
{
    const family *of = family_index < WORKLOAD_FAMILY_COUNT ? workload_families[family_index] : NULL;
    if (!of || index >= of->option_count) return 0;
    const family_option *option = &of->options[index];
    if (option->words) {
        snprintf(text, size, "%s=%s ", option->key, option->words[option->value.low]);
        for (uint64_t i = 0; i <= option->highest; i++) text_add(text, size, "%s %s", i ? "," : "", option->words[i]);
        return 1;
    }
    snprintf(text, size, "%s=%" PRIu64, option->key, option->value.low);
    if (option->value.high != option->value.low) text_add(text, size, "-%" PRIu64, option->value.high);
    text_add(text, size, "  %" PRIu64 " to %" PRIu64 "%s", option->lowest, option->highest,
             option->is_range ? ", or LO-HI" : "");
    return 1;
}

static const char *workload_name(const void *context, size_t index)
{
    (void)context;
    return index < WORKLOAD_FAMILY_COUNT ? workload_families[index]->shown.name : NULL;
}

/* Whoever names a file means a recording. */
static int workload_unknown(slice name, problem *why)
{
    if (!memchr(name.bytes, '/', name.length) && !memchr(name.bytes, '.', name.length))
        return spec_unknown("no workload", name, workload_name, NULL, why);
    return problem_set(why, EXIT_USAGE, "no workload %s; a recording is replay:FILE", slice_show(name).text);
}

static const family *workload_find(slice name)
{
    for (size_t i = 0; i < WORKLOAD_FAMILY_COUNT; i++) {
        if (slice_is(name, workload_families[i]->shown.name)) return workload_families[i];
    }
    return NULL;
}

/* A path may hold colons and equals signs, not commas: those separate workloads on the command line. */
static int workload_path(const family *of, slice path, family_request *request, problem *why)
{
    if (!path.bytes || path.length == 0) {
        return problem_set(why, EXIT_USAGE, "workload %s: no file, expected %s:FILE", of->shown.name, of->shown.name);
    }
    if (strchr(path.bytes, ',')) {
        return problem_set(why, EXIT_USAGE, "workload %s: %s, expected a path without commas", of->shown.name,
                           slice_show(path).text);
    }
    request->path = path.bytes;
    return 0;
}

int workload_has_option(slice spec, const char *key)
{
    slice name = spec;
    slice_take(&spec, ':', &name);
    const family *of = workload_find(name);
    return of && spec_find(of, slice_of(key)) < of->option_count;
}

/* What may be varied, in the order of the options. */
static const char *workload_key_at(const void *context, size_t index)
{
    const family *of = context;
    for (size_t at = 0; at < of->option_count; at++) {
        const family_option *option = &of->options[at];
        if (option->words || !strcmp(option->key, "seed")) continue;
        if (!index--) return option->key;
    }
    return NULL;
}

static size_t workload_scale(const family *of)
{
    static const char *const keys[] = { "batch", "seq", "requests", "depth", "cap", "blocks", "n" };
    size_t option = of->option_count;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0] && option == of->option_count; i++) {
        option = spec_find(of, slice_of(keys[i]));
    }
    return option;
}

int workload_vary(const char *spec, const char *key, workload_key *found, problem *why)
{
    slice arguments = slice_of(spec), name = arguments;
    family_request request;
    slice_take(&arguments, ':', &name);
    const family *of = workload_find(name);
    if (!of) return spec_unknown("no workload to vary", name, workload_name, NULL, why);
    if (of->option_count == 0) {
        return problem_set(why, EXIT_USAGE, "workload %s: a recording, which has no options to vary", of->shown.name);
    }
    size_t option = key ? spec_find(of, slice_of(key)) : workload_scale(of);
    if (option == of->option_count) {
        char what[80];
        snprintf(what, sizeof what, "--vary: workload %s: no option", of->shown.name);
        return spec_unknown(what, slice_of(key ? key : ""), workload_key_at, of, why);
    }
    memset(&request, 0, sizeof request);
    if (spec_parse(of, arguments, &request, why)) return -1;
    if (!strcmp(of->options[option].key, "seed")) {
        return problem_set(why, EXIT_USAGE, "workload %s: a larger seed is no larger workload, expected another "
                           "option to vary", of->shown.name);
    }
    if (of->options[option].words) {
        return problem_set(why, EXIT_USAGE, "workload %s: option %s has words, expected a number to vary",
                           of->shown.name, of->options[option].key);
    }
    if (request.values[option].is_given) {
        return problem_set(why, EXIT_USAGE, "workload %s: option %s is given, and is to be varied", of->shown.name,
                           of->options[option].key);
    }
    found->key = of->options[option].key;
    found->lowest = of->options[option].lowest;
    found->highest = of->options[option].highest;
    return 0;
}

static int workload_request(const family *of, slice arguments, const workload_options *options,
                            family_request *request, problem *why)
{
    memset(request, 0, sizeof *request);
    if (of->option_count == 0 ? workload_path(of, arguments, request, why)
                              : spec_parse(of, arguments, request, why)) {
        return -1;
    }
    return (options->seed_given && spec_override(of, "seed", options->seed, request, why))
        || (options->steps_given && spec_override(of, "steps", options->steps, request, why))
        || (options->threads_given && spec_override(of, "threads", options->threads, request, why)) ? -1 : 0;
}

/* The seed asked for; the stream is made from the thread's own. */
static uint64_t workload_seed(const family *of, const workload_options *options, family_request *request)
{
    size_t option = spec_find(of, slice_of("seed"));
    if (option == of->option_count) return options->seed_given ? options->seed : 1;
    uint64_t seed = request->values[option].is.low;
    request->values[option].is.low = turns_seed(seed, options->thread);
    return seed;
}

/* The family's struct, with a value for each of its options, writes the operations. */
static int workload_write(const family *of, const family_request *request, stream_builder *builder)
{
    if (of->read) return of->read(request->path, builder);
    maker *self = program_need(1, of->size);
    for (size_t i = 0; i < of->option_count; i++) {
        const family_range *value = &request->values[i].is;
        memcpy((char *)self + of->options[i].at, value, of->options[i].is_range ? sizeof *value : sizeof value->low);
    }
    self->builder = builder;
    of->make(self);
    int failed = maker_end(self);
    free(self);
    return failed;
}

static void workload_begin(stream_builder *builder, op_stream *stream, const char *source,
                           const workload_options *options, problem *why)
{
    stream_begin(builder, stream, source, options->ops_given ? options->ops : UINT64_MAX, why);
    if (options->most_ops) builder->most_ops = options->most_ops;
    builder->most_bytes = options->most_bytes;
}

int workload_make(const char *spec, const workload_options *options, op_stream *stream, problem *why)
{
    slice arguments = slice_of(spec), name = arguments;
    family_request request;
    stream_builder builder;
    char source[40];
    memset(stream, 0, sizeof *stream);
    slice_take(&arguments, ':', &name);
    const family *of = workload_find(name);
    if (!of) return workload_unknown(name, why);
    if (workload_request(of, arguments, options, &request, why)) return -1;
    snprintf(source, sizeof source, "workload %s", of->shown.name);
    workload_begin(&builder, stream, source, options, why);
    uint64_t seed = workload_seed(of, options, &request);
    int failed = workload_write(of, &request, &builder);
    stream_end(&builder);
    stream->seed = seed;
    if (failed) op_stream_free(stream);
    return failed;
}

/* ---- Several op streams made one: threads dealt out, turns drawn, streams and blocks numbered anew */

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
    char *text = program_copy(spec.bytes, spec.length);
    int failed = workload_make(text, options, &made->stream, why);
    free(text);
    if (failed) return -1;
    self->member_count++;
    self->op_count += made->stream.op_count;
    self->touch_count += made->stream.touch_count;
    made->thread = thread;
    made->stride = stride;
    made->blocks = program_need(made->stream.block_count, sizeof *made->blocks);
    return mix_judge(self, spec, options, why);
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

static int mix_op(mix *self, uint32_t index)
{
    mix_member *member = &self->members[index];
    const stream_copy copy = { &member->stream, member->blocks, self->member_count, index, 0 };
    uint32_t thread = op_stream_thread(&member->stream, member->next);
    stream_turn(&self->builder, member->thread + thread * member->stride);
    return stream_copy_op(&self->builder, &copy, &member->stream.ops[member->next++]);
}

static int mix_merge(mix *self, uint64_t seed)
{
    uint8_t can_run[WORKLOAD_MAX_THREADS];
    turns order;
    turns_begin(&order, seed, self->thread_count);
    stream_threads(&self->builder, self->thread_count);
    while (!self->builder.is_cut) {
        for (uint32_t thread = 0; thread < self->thread_count; thread++) {
            const mix_member *member = &self->members[self->member_of[thread]];
            can_run[thread] = member->next < member->stream.op_count;
        }
        uint32_t next = turns_next(&order, can_run);
        if (next == TURNS_NONE) return 0;
        if (mix_op(self, self->member_of[next])) return -1;
    }
    return 0;
}

static int mix_all(mix *self, const char *text, const workload_options *options, uint32_t spec_count,
                   op_stream *stream, problem *why)
{
    char source[80];
    if (mix_members(self, text, options, spec_count, why)) return -1;
    snprintf(source, sizeof source, "workload %s", text);
    workload_begin(&self->builder, stream, source, options, why);
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
    mix *self = program_need(1, sizeof *self);
    int failed = mix_all(self, text, options, spec_count, stream, why);
    for (uint32_t at = 0; at < self->member_count; at++) {
        op_stream_free(&self->members[at].stream);
        free(self->members[at].blocks);
    }
    free(self);
    return failed;
}
