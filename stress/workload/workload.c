/* The list of families, and the way from a specification to an op stream.
   Must not know what any family does, nor of policies, devices and results.
   Tested by tests/test_workload_spec.c; `stress list` shows the families. */
#include "spec.h"

#include <inttypes.h>
#include <string.h>

#include "turns.h"

static const family *const workload_families[] = {
    &family_uniform, &family_train, &family_producer, &family_larson, &family_phases, &family_replay,
    &family_pareto, &family_cnn, &family_dataset, &family_embedding, &family_tape, &family_growing,
    &family_serve, &family_rival
};
enum { WORKLOAD_FAMILY_COUNT = sizeof workload_families / sizeof workload_families[0] };

const workload_family *workload_family_at(size_t index)
{
    return index < WORKLOAD_FAMILY_COUNT ? &workload_families[index]->shown : NULL;
}

static void workload_range_text(const family_option *option, char *text, size_t size)
{
    int length = snprintf(text, size, option->from == option->to ? "%s=%" PRIu64 : "%s=%" PRIu64 "-%" PRIu64,
                          option->key, option->from, option->to);
    size_t used = length > 0 && (size_t)length < size ? (size_t)length : 0;
    snprintf(text + used, size - used, "  %" PRIu64 " to %" PRIu64 "%s", option->lowest, option->highest,
             option->is_range ? ", or LO-HI" : "");
}

static void workload_words_text(const family_option *option, char *text, size_t size)
{
    int length = snprintf(text, size, "%s=%s ", option->key, option->words[option->from]);
    for (uint64_t i = 0; length > 0 && (size_t)length < size && i <= option->highest; i++) {
        length += snprintf(text + length, size - (size_t)length, "%s %s", i > 0 ? "," : "", option->words[i]);
    }
}

int workload_option_text(size_t family_index, size_t option, char *text, size_t size)
{
    const family *of = family_index < WORKLOAD_FAMILY_COUNT ? workload_families[family_index] : NULL;
    if (!of || option >= of->option_count) return 0;
    if (of->options[option].words) workload_words_text(&of->options[option], text, size);
    else workload_range_text(&of->options[option], text, size);
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
        if (slice_is(name, workload_families[i]->shown.name)) {
            return workload_families[i];
        }
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

/* Its place among the options; option_count: it has none of that name. */
static size_t workload_option(const family *of, const char *key)
{
    size_t option = 0;
    while (option < of->option_count && strcmp(of->options[option].key, key) != 0) {
        option++;
    }
    return option;
}

int workload_has_option(slice spec, const char *key)
{
    slice name = spec;
    slice_take(&spec, ':', &name);
    const family *of = workload_find(name);
    return of && workload_option(of, key) < of->option_count;
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
        option = workload_option(of, keys[i]);
    }
    return option;
}

int workload_vary(const char *spec, const char *key, workload_key *found, problem *why)
{
    slice arguments = slice_of(spec), name = arguments;
    family_request request;
    slice_take(&arguments, ':', &name);
    const family *of = workload_find(name);
    if (!of) {
        return spec_unknown("no workload to vary", name, workload_name, NULL, why);
    }
    if (of->option_count == 0) {
        return problem_set(why, EXIT_USAGE, "workload %s: a recording, which has no options to vary", of->shown.name);
    }
    size_t option = key ? workload_option(of, key) : workload_scale(of);
    if (option == of->option_count) {
        char what[80];
        snprintf(what, sizeof what, "--vary: workload %s: no option", of->shown.name);
        return spec_unknown(what, slice_of(key ? key : ""), workload_key_at, of, why);
    }
    memset(&request, 0, sizeof request);
    if (spec_parse(of, arguments, &request, why)) {
        return -1;
    }
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
    if (options->seed_given && spec_override(of, "--seed", "seed", options->seed, request, why)) {
        return -1;
    }
    if (options->steps_given && spec_override(of, "--steps", "steps", options->steps, request, why)) {
        return -1;
    }
    if (options->threads_given && spec_override(of, "--threads", "threads", options->threads, request, why)) {
        return -1;
    }
    if (options->ops_given && options->ops == 0) {
        return problem_set(why, EXIT_USAGE, "--ops is 0, expected at least 1");
    }
    return 0;
}

/* The seed asked for; the stream is made from the thread's own. */
static uint64_t workload_seed(const family *of, const workload_options *options, family_request *request)
{
    size_t option = workload_option(of, "seed");
    if (option == of->option_count) {
        return options->seed_given ? options->seed : 1;
    }
    uint64_t seed = request->values[option].from;
    request->values[option].from = request->values[option].to = turns_seed(seed, options->thread);
    return seed;
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
    if (!of) {
        return workload_unknown(name, why);
    }
    if (workload_request(of, arguments, options, &request, why)) {
        return -1;
    }
    snprintf(source, sizeof source, "workload %s", of->shown.name);
    stream_begin(&builder, stream, source, options->ops_given ? options->ops : UINT64_MAX, why);
    if (options->most_ops) builder.most_ops = options->most_ops;
    builder.most_bytes = options->most_bytes;
    uint64_t seed = workload_seed(of, options, &request);
    int failed = of->make(&request, &builder);
    stream_end(&builder);
    stream->seed = seed;
    if (failed) {
        op_stream_free(stream);
        return -1;
    }
    return 0;
}
