/* Reads `key=value,key=value` against a family's option table; names the nearest known word when one is unknown. */
#include "family.h"

#include <inttypes.h>
#include <string.h>

#include "../base/text.h"

int spec_unknown(const char *what, slice word, spec_names names, const void *context, problem *why)
{
    char typed[32] = "", hint[80], known[200] = "";
    if (word.length < sizeof typed) {            /* longer than any name: near to none */
        memcpy(typed, word.bytes, word.length);
    }
    nearest search = nearest_to(typed);
    for (size_t i = 0; names(context, i); i++) {
        nearest_offer(&search, names(context, i));
        text_add(known, sizeof known, "%s%s", i > 0 ? ", " : "", names(context, i));
    }
    return problem_set(why, EXIT_USAGE, "%s %s%s, expected one of %s", what, slice_show(word).text,
                       nearest_hint(&search, hint, sizeof hint), known);
}

static const char *spec_key(const void *context, size_t index)
{
    const family *of = context;
    return index < of->option_count ? of->options[index].key : NULL;
}

size_t spec_find(const family *of, slice key)
{
    size_t index = 0;
    while (index < of->option_count && !slice_is(key, of->options[index].key)) index++;
    return index;
}

static int spec_word(const family *of, const family_option *option, slice text, family_value *value, problem *why)
{
    char known[120] = "";
    for (uint64_t i = 0; i <= option->highest; i++) {
        if (slice_is(text, option->words[i])) {
            value->is.low = value->is.high = i;
            value->is_given = 1;
            return 0;
        }
        text_add(known, sizeof known, "%s%s", i > 0 ? ", " : "", option->words[i]);
    }
    return problem_set(why, EXIT_USAGE, "workload %s: %s is %s, expected one of %s", of->shown.name, option->key,
                       slice_show(text).text, known);
}

static int spec_in_range(const family_option *option, const family_value *value)
{
    return value->is.low >= option->lowest && value->is.low <= value->is.high && value->is.high <= option->highest;
}

static int spec_value(const family *of, const family_option *option, slice text, family_value *value, problem *why)
{
    slice rest = text, from = text, to = text;
    if (option->words) return spec_word(of, option, text, value, why);
    if (option->is_range) {
        slice_take(&rest, '-', &from);
        to = rest.bytes ? rest : from;
    }
    if (!slice_decimal(from, &value->is.low) || !slice_decimal(to, &value->is.high)
        || !spec_in_range(option, value)) {
        return problem_set(why, EXIT_USAGE, "workload %s: %s is %s, expected %s from %" PRIu64 " to %" PRIu64,
                           of->shown.name, option->key, slice_show(text).text,
                           option->is_range ? "N or LO-HI, numbers" : "a number", option->lowest, option->highest);
    }
    value->is_given = 1;
    return 0;
}

static int spec_part(const family *of, slice part, family_request *request, problem *why)
{
    slice value = part, key = { part.bytes, 0 };
    slice_take(&value, '=', &key);
    if (!value.bytes) {
        return problem_set(why, EXIT_USAGE, "workload %s: %s, expected key=value", of->shown.name,
                           slice_show(part).text);
    }
    size_t index = spec_find(of, key);
    if (index == of->option_count) {
        char what[60];
        snprintf(what, sizeof what, "workload %s: no option", of->shown.name);
        return spec_unknown(what, key, spec_key, of, why);
    }
    if (request->values[index].is_given) {
        return problem_set(why, EXIT_USAGE, "workload %s: option %s is given twice", of->shown.name,
                           of->options[index].key);
    }
    return spec_value(of, &of->options[index], value, &request->values[index], why);
}

int spec_parse(const family *of, slice arguments, family_request *request, problem *why)
{
    slice part;
    for (size_t i = 0; i < of->option_count; i++) request->values[i].is = of->options[i].value;
    while (slice_take(&arguments, ',', &part)) {
        if (spec_part(of, part, request, why)) return -1;
    }
    return 0;
}

int spec_override(const family *of, const char *key, uint64_t value, family_request *request, problem *why)
{
    size_t index = spec_find(of, slice_of(key));
    if (index == of->option_count) return 0;
    family_value *held = &request->values[index];
    const family_option *option = &of->options[index];
    if (held->is_given) {
        return problem_set(why, EXIT_USAGE, "workload %s: option %s and --%s are both given, expected one of them",
                           of->shown.name, key, key);
    }
    held->is.low = held->is.high = value;
    if (!spec_in_range(option, held)) {
        return problem_set(why, EXIT_USAGE,
                           "workload %s: --%s is %" PRIu64 ", expected a number from %" PRIu64 " to %" PRIu64,
                           of->shown.name, key, value, option->lowest, option->highest);
    }
    return 0;
}
