/* The list of families, and the way from a specification, or several, to an op stream. */
#include "workload.h"

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

/* ---- The list of families */

#define X(name) &family_##name,
static const family *const workload_families[] = { FAMILIES(X) };
#undef X
#define X(name) #name,
static const char *const workload_names[] = { FAMILIES(X) NULL };
#undef X
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

/* The family that is named before the ':'; *spec becomes the text behind that. NULL: there is none. */
static const family *workload_find(slice *spec, slice *name)
{
    *name = *spec;
    slice_take(spec, ':', name);
    for (size_t i = 0; i < WORKLOAD_FAMILY_COUNT; i++) {
        if (slice_is(*name, workload_names[i])) return workload_families[i];
    }
    return NULL;
}

static size_t workload_option(const family *of, slice key)           /* its place; option_count: there is none */
{
    size_t index = 0;
    while (index < of->option_count && !slice_is(key, of->options[index].key)) index++;
    return index;
}

int workload_has_option(slice spec, const char *key)
{
    slice name;
    const family *of = workload_find(&spec, &name);
    return of && workload_option(of, slice_of(key)) < of->option_count;
}

/* Refuses a word that is none of the names, which end with a NULL, and names the nearest one. Returns -1. */
static int workload_unknown(const char *what, slice word, const char *const *names, problem *why)
{
    char typed[32] = "", hint[80], known[200] = "";
    if (word.length < sizeof typed) {            /* longer than any name: near to none */
        memcpy(typed, word.bytes, word.length);
    }
    nearest search = nearest_to(typed);
    for (; *names; names++) {
        nearest_offer(&search, *names);
        text_add(known, sizeof known, "%s%s", *known ? ", " : "", *names);
    }
    return problem_set(why, EXIT_USAGE, "%s %s%s, expected one of %s", what, slice_show(word).text,
                       nearest_hint(&search, hint, sizeof hint), known);
}

/* ---- A specification in the words of its family: `NAME:key=value,key=value`, or `replay:FILE` */

typedef struct request {
    const family *of;
    const char   *path;                          /* of a family without options: the text after the colon */
    family_range  values[FAMILY_MAX_OPTIONS];    /* in the order of the family's options */
    int           is_given[FAMILY_MAX_OPTIONS];
    problem      *why;
} request;

/* A problem that names the family; EXIT_USAGE. Returns -1. */
static int PROBLEM_FORMAT(2, 3) request_refuse(const request *self, const char *format, ...)
{
    char text[sizeof self->why->text];
    PROBLEM_PRINT(text, sizeof text, format);
    return problem_set(self->why, EXIT_USAGE, "workload %s: %s", self->of->shown.name, text);
}

/* to_vary: only those that can be varied are known. */
static int request_unknown(const request *self, const char *before, slice key, int to_vary)
{
    char what[80];
    const char *names[FAMILY_MAX_OPTIONS + 1];
    size_t count = 0;
    for (size_t i = 0; i < self->of->option_count; i++) {
        const family_option *option = &self->of->options[i];
        if (!to_vary || (!option->words && strcmp(option->key, "seed") != 0)) names[count++] = option->key;
    }
    names[count] = NULL;
    snprintf(what, sizeof what, "%sworkload %s: no option", before, self->of->shown.name);
    return workload_unknown(what, key, names, self->why);
}

static int request_word(const request *self, const family_option *option, slice text, family_range *value)
{
    char known[120] = "";
    for (uint64_t i = 0; i <= option->highest; i++) {
        value->low = value->high = i;
        if (slice_is(text, option->words[i])) return 0;
        text_add(known, sizeof known, "%s%s", i > 0 ? ", " : "", option->words[i]);
    }
    return request_refuse(self, "%s is %s, expected one of %s", option->key, slice_show(text).text, known);
}

static int request_in_range(const family_option *option, const family_range *value)
{
    return value->low >= option->lowest && value->low <= value->high && value->high <= option->highest;
}

static int request_value(const request *self, const family_option *option, slice text, family_range *value)
{
    slice rest = text, from = text, to = text;
    if (option->words) return request_word(self, option, text, value);
    if (option->is_range) {
        slice_take(&rest, '-', &from);
        to = rest.bytes ? rest : from;
    }
    int are_numbers = slice_decimal(from, &value->low) && slice_decimal(to, &value->high);
    if (are_numbers && request_in_range(option, value)) return 0;
    return request_refuse(self, "%s is %s, expected %s from %" PRIu64 " to %" PRIu64, option->key,
                          slice_show(text).text, option->is_range ? "N or LO-HI, numbers" : "a number",
                          option->lowest, option->highest);
}

static int request_option(request *self, slice part)
{
    slice value = part, key;
    if (!slice_cut(&value, '=', &key)) {
        return request_refuse(self, "%s, expected key=value", slice_show(part).text);
    }
    size_t index = workload_option(self->of, key);
    if (index == self->of->option_count) return request_unknown(self, "", key, 0);
    if (self->is_given[index]++) {
        return request_refuse(self, "option %s is given twice", self->of->options[index].key);
    }
    return request_value(self, &self->of->options[index], value, &self->values[index]);
}

/* A path may hold colons and equals signs, not commas: those separate workloads on the command line. */
static int request_path(request *self, slice path)
{
    self->path = path.bytes;
    if (!path.bytes || path.length == 0) {
        return request_refuse(self, "no file, expected %s:FILE", self->of->shown.name);
    }
    if (!strchr(path.bytes, ',')) return 0;
    return request_refuse(self, "%s, expected a path without commas", slice_show(path).text);
}

static int request_parse(request *self, slice arguments)
{
    slice part;
    if (self->of->option_count == 0) return request_path(self, arguments);
    for (size_t i = 0; i < self->of->option_count; i++) self->values[i] = self->of->options[i].value;
    while (slice_take(&arguments, ',', &part)) {
        if (request_option(self, part)) return -1;
    }
    return 0;
}

/* A value from the command line, --KEY there; a family without that option is not concerned. */
static int request_override(request *self, const char *key, int is_given, uint64_t value)
{
    size_t index = workload_option(self->of, slice_of(key));
    if (!is_given || index == self->of->option_count) return 0;
    const family_option *option = &self->of->options[index];
    if (self->is_given[index]) {
        return request_refuse(self, "option %s and --%s are both given, expected one of them", key, key);
    }
    self->values[index].low = self->values[index].high = value;
    if (request_in_range(option, &self->values[index])) return 0;
    return request_refuse(self, "--%s is %" PRIu64 ", expected a number from %" PRIu64 " to %" PRIu64, key, value,
                          option->lowest, option->highest);
}

/* ---- Of a workload: the options that can be varied, and its op stream */

/* The option that makes it larger. */
static size_t workload_scale(const family *of)
{
    static const char *const keys[] = { "batch", "seq", "requests", "depth", "cap", "blocks", "n" };
    size_t option = of->option_count;
    for (size_t i = 0; i < sizeof keys / sizeof keys[0] && option == of->option_count; i++) {
        option = workload_option(of, slice_of(keys[i]));
    }
    return option;
}

int workload_vary(const char *spec, const char *key, workload_key *found, problem *why)
{
    slice arguments = slice_of(spec), name;
    const family *of = workload_find(&arguments, &name);
    request asked = { .of = of, .why = why };
    if (!of) return workload_unknown("no workload to vary", name, workload_names, why);
    if (of->option_count == 0) return request_refuse(&asked, "a recording, which has no options to vary");
    size_t index = key ? workload_option(of, slice_of(key)) : workload_scale(of);
    if (index == of->option_count) return request_unknown(&asked, "--vary: ", slice_of(key ? key : ""), 1);
    if (request_parse(&asked, arguments)) return -1;
    const family_option *option = &of->options[index];
    if (!strcmp(option->key, "seed")) {
        return request_refuse(&asked, "a larger seed is no larger workload, expected another option to vary");
    }
    if (option->words) {
        return request_refuse(&asked, "option %s has words, expected a number to vary", option->key);
    }
    if (asked.is_given[index]) {
        return request_refuse(&asked, "option %s is given, and is to be varied", option->key);
    }
    const workload_key made = { option->key, option->lowest, option->highest };
    *found = made;
    return 0;
}

/* The family's struct, with a value for each of its options, writes the operations. */
static void workload_write(const request *asked, stream_builder *builder)
{
    const family *of = asked->of;
    if (of->read) {
        builder->failed = of->read(asked->path, builder) != 0;
        return;
    }
    maker *self = program_need(1, of->size);
    for (size_t i = 0; i < of->option_count; i++) {
        const family_range *value = &asked->values[i];
        memcpy((char *)self + of->options[i].at, value, of->options[i].is_range ? sizeof *value : sizeof value->low);
    }
    self->builder = builder;
    of->make(self);
    (void)maker_end(self);
    free(self);
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
    slice arguments = slice_of(spec), name;
    const family *of = workload_find(&arguments, &name);
    request asked = { .of = of, .why = why };
    stream_builder builder;
    char source[40];
    memset(stream, 0, sizeof *stream);
    if (!of && (memchr(name.bytes, '/', name.length) || memchr(name.bytes, '.', name.length))) {
        return problem_set(why, EXIT_USAGE, "no workload %s; a recording is replay:FILE", slice_show(name).text);
    }
    if (!of) return workload_unknown("no workload", name, workload_names, why);
    if (request_parse(&asked, arguments)
        || request_override(&asked, "seed", options->seed_given, options->seed)
        || request_override(&asked, "steps", options->steps_given, options->steps)
        || request_override(&asked, "threads", options->threads_given, options->threads)) return -1;
    size_t option = workload_option(of, slice_of("seed"));
    uint64_t *value = option < of->option_count ? &asked.values[option].low : NULL;
    uint64_t seed = value ? *value : options->seed_given ? options->seed : 1;
    if (value) *value = turns_seed(seed, options->thread);               /* the thread's own */
    snprintf(source, sizeof source, "workload %s", of->shown.name);
    workload_begin(&builder, stream, source, options, why);
    workload_write(&asked, &builder);
    return stream_end(&builder, seed);
}

/* ---- Several op streams made one: threads dealt out, turns drawn, streams and blocks numbered anew */

typedef struct mix_member {                      /* one op stream, of one thread or of several */
    op_stream stream;
    size_t    next;                              /* its next operation */
    uint32_t *blocks;                            /* by its own blocks: their numbers in the whole */
    uint32_t  thread, stride;                    /* its threads: thread, thread + stride, .. */
} mix_member;

/* All threads together may have twice the operations of a stream, and twice the touches: --ops cuts the whole only
   when turns are drawn. These are 1.5 GiB of the host's memory at most, and the whole is half as much again. */
enum { MIX_STREAMS = 2, MIX_TOUCHES_EACH = STREAM_MAX_TOUCHES / STREAM_MAX_OPS };

typedef struct mix {
    const workload_options *options;
    problem    *why;
    slice       text, specs[WORKLOAD_MAX_THREADS + 1];
    uint32_t    spec_count;
    mix_member  members[WORKLOAD_MAX_THREADS];
    size_t      op_count, touch_count;           /* of all members */
    uint32_t    member_count, thread_count;
    uint8_t     member_of[WORKLOAD_MAX_THREADS]; /* by thread */
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

static int mix_refuse(const mix *self)
{
    const workload_options *options = self->options;
    slice_shown shown = slice_show(self->text);
    if (options->threads_given && options->threads < self->spec_count && self->spec_count <= WORKLOAD_MAX_THREADS) {
        return problem_set(self->why, EXIT_USAGE, "workload %s: %" PRIu32 " workloads joined by '+', and --threads "
                           "is %" PRIu64 ", expected at least %" PRIu32, shown.text, self->spec_count,
                           options->threads, self->spec_count);
    }
    return problem_set(self->why, EXIT_USAGE, "workload %s: more than %d threads", shown.text, WORKLOAD_MAX_THREADS);
}

static int mix_judge(const mix *self, slice spec)
{
    size_t most = MIX_STREAMS * (self->options->most_ops ? self->options->most_ops : STREAM_MAX_OPS);
    int is_ops = self->op_count > most;
    if (!is_ops && self->touch_count / MIX_TOUCHES_EACH <= most) return 0;
    return problem_set(self->why, EXIT_USAGE, "workload %s: its threads make more than %zu %s together, expected "
                       "fewer or shorter ones", slice_show(spec).text, is_ops ? most : most * MIX_TOUCHES_EACH,
                       is_ops ? "operations" : "touches of blocks");
}

/* Its op stream, whose threads are `thread` and every stride-th from there on. */
static int mix_add(mix *self, slice spec, const workload_options *options, uint32_t thread, uint32_t stride)
{
    mix_member *made = &self->members[self->member_count];
    char *text = program_copy(spec.bytes, spec.length);
    int failed = workload_make(text, options, &made->stream, self->why);
    free(text);
    if (failed) return -1;
    self->op_count += made->stream.op_count;
    self->touch_count += made->stream.touch_count;
    made->thread = thread;
    made->stride = stride;
    made->blocks = program_need(made->stream.block_count, sizeof *made->blocks);
    uint32_t index = self->member_count++, count = op_stream_threads(&made->stream);
    if (mix_judge(self, spec)) return -1;
    if (!options->threads_given) self->thread_count += count;
    if (self->thread_count > WORKLOAD_MAX_THREADS) return mix_refuse(self);
    for (uint32_t own = 0; own < count; own++) self->member_of[thread + own * stride] = (uint8_t)index;
    return 0;
}

/* Without --threads each SPEC has as many as it says, behind those before it. Else they are dealt out in turn: to one
   that has threads of its own all at once. */
static int mix_deal(mix *self, uint32_t at)
{
    const slice spec = self->specs[at];
    const uint32_t stride = self->spec_count;
    workload_options own = *self->options;
    own.thread = at;
    if (!own.threads_given) return mix_add(self, spec, &own, self->thread_count, 1);
    own.threads = (self->thread_count - at + stride - 1) / stride;
    if (workload_has_option(spec, "threads")) return mix_add(self, spec, &own, at, stride);
    for (uint32_t thread = at; thread < self->thread_count; thread += stride) {
        own.thread = thread;
        if (mix_add(self, spec, &own, thread, stride)) return -1;
    }
    return 0;
}

static void mix_merge(mix *self, stream_builder *builder, uint64_t seed)
{
    uint8_t can_run[WORKLOAD_MAX_THREADS];
    turns order;
    turns_begin(&order, seed, self->thread_count);
    builder->stream->thread_count = self->thread_count;
    while (!stream_is_over(builder)) {
        for (uint32_t thread = 0; thread < self->thread_count; thread++) {
            const mix_member *member = &self->members[self->member_of[thread]];
            can_run[thread] = member->next < member->stream.op_count;
        }
        uint32_t next = turns_next(&order, can_run);
        if (next == TURNS_NONE) return;
        mix_member *member = &self->members[self->member_of[next]];
        const stream_copy copy = { &member->stream, member->blocks, self->member_count, self->member_of[next], 0 };
        uint32_t thread = op_stream_thread(&member->stream, member->next);
        builder->thread = (uint8_t)(member->thread + thread * member->stride);
        stream_copy_op(builder, &copy, &member->stream.ops[member->next++]);
    }
}

static int mix_all(mix *self, op_stream *stream)
{
    stream_builder builder;
    char source[80];
    if (self->options->threads_given) self->thread_count = (uint32_t)self->options->threads;
    for (uint32_t at = 0; at < self->spec_count; at++) {
        if (mix_deal(self, at)) return -1;
    }
    snprintf(source, sizeof source, "workload %s", self->text.bytes);
    workload_begin(&builder, stream, source, self->options, self->why);
    uint64_t seed = self->members[0].stream.seed;
    mix_merge(self, &builder, seed);
    return stream_end(&builder, seed);
}

int mix_make(const char *text, const workload_options *options, op_stream *stream, problem *why)
{
    mix *self = program_need(1, sizeof *self);
    slice rest = slice_of(text);
    int failed, threads_given = options->threads_given;
    memset(stream, 0, sizeof *stream);
    self->options = options;
    self->why = why;
    self->text = rest;
    while (self->spec_count <= WORKLOAD_MAX_THREADS && mix_take(&rest, &self->specs[self->spec_count])) {
        self->spec_count++;
    }
    int is_alone = !threads_given || options->threads == 1 || workload_has_option(self->text, "threads");
    if (self->spec_count > WORKLOAD_MAX_THREADS
        || (threads_given && (options->threads < self->spec_count || options->threads > WORKLOAD_MAX_THREADS))) {
        failed = mix_refuse(self);
    } else if (self->spec_count == 1 && is_alone) {
        failed = workload_make(text, options, stream, why);
    } else {
        failed = mix_all(self, stream);
    }
    for (uint32_t at = 0; at < self->member_count; at++) {
        op_stream_free(&self->members[at].stream);
        free(self->members[at].blocks);
    }
    free(self);
    return failed;
}
