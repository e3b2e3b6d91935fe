/* A table of names. */
#include "policy_name.h"

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
