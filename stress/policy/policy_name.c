/* A table of names, and the sizes in keys.
   It must not know what a policy is.
   Tested by tests/test_policy_name.c. */
#include "policy_name.h"

#include <stdio.h>
#include <string.h>

#include "../base/slice.h"

/* A short name is the shorter: it is written in the other's place. */
static const struct policy_name { const char *shown, *name; } policy_names[] = {
    { "cudaMalloc", "raw" }, { "cudaMallocAsync", "async" }, { "best-fit", "best" }, { "first-fit", "first" },
};
enum { POLICY_NAMES = sizeof policy_names / sizeof policy_names[0] };

const char *policy_name_at(size_t index)
{
    return index < POLICY_NAMES ? policy_names[index].shown : NULL;
}

static int policy_name_is(const char *text, const char *name)
{
    size_t length = strlen(name);
    return strcspn(text, ":") == length && !memcmp(text, name, length);
}

void policy_name_shorten(char *text)
{
    for (size_t at = 0; at < POLICY_NAMES; at++) {
        const struct policy_name *found = &policy_names[at];
        size_t length = strlen(found->name), shown = strlen(found->shown);
        if (!policy_name_is(text, found->shown)) continue;
        memmove(text + length, text + shown, strlen(text + shown) + 1);
        memcpy(text, found->name, length);
        return;
    }
}

const char *policy_name_shown(const char *text, char *made, size_t size)
{
    const char *shown = "", *rest = text;
    for (size_t at = 0; at < POLICY_NAMES; at++) {
        if (!policy_name_is(text, policy_names[at].name)) continue;
        shown = policy_names[at].shown;
        rest = text + strlen(policy_names[at].name);
    }
    snprintf(made, size, "%s%s", shown, rest);
    return made;
}

/* Of the word a size with more than one letter behind its digits; what is written instead, else 0. */
static size_t policy_name_size(slice word, char *made, size_t size)
{
    unsigned shift;
    size_t digits = 0;
    while (digits < word.length && word.bytes[digits] >= '0' && word.bytes[digits] <= '9') digits++;
    const slice unit = { word.bytes + digits, word.length - digits };
    if (!digits || !unit.length || !slice_unit(unit, &shift)) return 0;
    return (size_t)snprintf(made, size, "%.*s%.*s", (int)digits, word.bytes, shift ? 1 : 0, unit.bytes);
}

const char *policy_name_sizes(const char *keys, char *made, size_t size)
{
    static const char ends[] = "=-,%";
    size_t used = 0;
    while (*keys && used + 1 < size) {
        const slice word = { keys, strcspn(keys, ends) };
        size_t wrote = policy_name_size(word, made + used, size - used);
        if (!wrote) wrote = (size_t)snprintf(made + used, size - used, "%.*s", (int)word.length, keys);
        used += wrote;
        keys += word.length;
        if (*keys && used + 1 < size) made[used++] = *keys++;
    }
    made[used < size ? used : size - 1] = '\0';
    return made;
}
