/* The table of policies, and their text. */
#include "policy.h"

/* Keys that have an effect: with every backing; then with segments, with pages, with both and all others. */
#define POLICY_LIMITS "alignment limit headroom"
#define POLICY_HABITS "release release_at release_keep release_age streams wait_ms scrub plan debug"
#define POLICY_COMMON POLICY_LIMITS " " POLICY_HABITS
#define POLICY_STEPS "initial step step_max"
#define POLICY_SEGMENT_KEYS "growth peers " POLICY_STEPS " " POLICY_COMMON
#define POLICY_PAGE_KEYS "peers page idle large initial " POLICY_COMMON
#define POLICY_ALL_KEYS \
    "backing growth share peers page idle large " POLICY_STEPS " " POLICY_LIMITS " oversubscribe " POLICY_HABITS

static const policy_kind policy_kinds[] = {
    { "raw", "cudaMalloc", "cudaMalloc and cudaFree for every allocation: the baseline", "", POLICY_RAW, NULL, NULL },
    { "async", "cudaMallocAsync",
      "cudaMallocAsync and cudaFreeAsync for every allocation, at the driver's defaults", "", POLICY_ASYNC, NULL,
      NULL },
    { "paged", NULL, "the arena over paged ranges, at its defaults", POLICY_PAGE_KEYS, POLICY_ARENA,
      "backing=paged", NULL },
    { "segments", NULL, "the arena over cudaMalloc segments, at its defaults", POLICY_SEGMENT_KEYS, POLICY_ARENA,
      "backing=segments", NULL },
#define X(name) { NULL, NULL, NULL, "limit", POLICY_MODEL, NULL, &model_##name },     /* which has them */
    MODELS(X)
#undef X
    { "config", NULL, "the arena as the keys say, at the library's defaults otherwise", POLICY_ALL_KEYS, POLICY_ARENA,
      "", NULL },
    { "cub-library", NULL,
      "CUB's CachingDeviceAllocator: bin_growth 8, min_bin 3, max_bin 7, 6 MiB - 1 cached; --limit does not bind it",
      "", POLICY_RIVAL, NULL, NULL },
};

int policy_kind_at(size_t index, policy_kind *kind)
{
    if (index >= sizeof policy_kinds / sizeof policy_kinds[0]) return 0;
    *kind = policy_kinds[index];
    if (kind->model) {
        kind->name = kind->model->name;
        kind->shown = kind->model->shown;
        kind->summary = kind->model->summary;
    }
    return 1;
}

int policy_kind_in_all(const policy_kind *kind)
{
    return kind->family != POLICY_RIVAL && !(kind->family == POLICY_ARENA && !*kind->base);
}

/* ---- A policy's two names */

static int policy_name_is(const char *text, const char *name)
{
    size_t length = strlen(name);
    return strcspn(text, ":") == length && !memcmp(text, name, length);
}

void policy_name_shorten(char *text)
{
    policy_kind kind;
    for (size_t index = 0; policy_kind_at(index, &kind); index++) {
        if (!kind.shown || !policy_name_is(text, kind.shown)) continue;
        const char *rest = text + strlen(kind.shown);
        memmove(text + strlen(kind.name), rest, strlen(rest) + 1);
        memcpy(text, kind.name, strlen(kind.name));
        return;
    }
}

const char *policy_name_shown(const char *text, char *made, size_t size)
{
    const char *shown = "", *rest = text;
    policy_kind kind;
    for (size_t index = 0; policy_kind_at(index, &kind); index++) {
        if (!kind.shown || !policy_name_is(text, kind.name)) continue;
        shown = kind.shown;
        rest = text + strlen(kind.name);
    }
    snprintf(made, size, "%s%s", shown, rest);
    return made;
}

/* ---- From a text to a policy */

/* The kind of which a text has one of the names, up to one of these ends. 0: none; name: the one that was looked
   for. */
static int policy_named(const char *text, const char *ends, char *name, size_t size, policy_kind *kind)
{
    size_t length = strcspn(text, ends);
    snprintf(name, size, "%.*s", length < size ? (int)length : (int)size - 1, text);
    policy_name_shorten(name);
    for (size_t index = 0; policy_kind_at(index, kind); index++)
        if (!strcmp(kind->name, name)) return 1;
    return 0;
}

static int policy_find(const char *text, policy_kind *kind, problem *why)
{
    char name[64], hint[96];
    policy_kind known;
    if (policy_named(text, ":", name, sizeof name, kind)) return 0;
    nearest search = nearest_to(name);
    for (size_t index = 0; policy_kind_at(index, &known); index++) {
        nearest_offer(&search, known.shown);
        nearest_offer(&search, known.name);
    }
    return problem_set(why, EXIT_USAGE, "unknown policy '%s'%s; see %s list policies", name,
                       nearest_hint(&search, hint, sizeof hint), program_name());
}

int policy_is_named(const char *text, problem *why)
{
    policy_kind found;
    return !policy_find(text, &found, why);
}

int policy_has_limit(const policy *self)
{
    return self->config.limit_base != GPUARENA_LIMIT_BYTES || self->config.limit_bytes != 0;
}

int policy_takes_limit(const policy *self)
{
    return self->family == POLICY_ARENA || self->family == POLICY_MODEL;
}

/* A model has no keys but its limit. */
static int policy_check_model(const char *text, const char *name, const char *keys, problem *why)
{
    slice rest = { keys, keys ? strlen(keys) : 0 }, key;
    while (slice_take(&rest, ',', &key)) {
        slice value = key;
        slice_take(&value, '=', &key);
        if (slice_is(key, "limit")) continue;
        return problem_set(why, EXIT_USAGE, "policy '%s': %.*s: '%s' is a model of another allocator, whose only key "
                           "is limit; the arena has keys: config:key=value", text, (int)key.length, key.bytes, name);
    }
    return 0;
}

/* The first key of them that there is none of, and one that is like it. */
static const char *policy_key_hint(const char *keys, char *text, size_t size)
{
    char known[512], name[40];
    if (size) text[0] = '\0';
    for (; *keys; keys += strcspn(keys, ","), keys += *keys == ',') {
        size_t length = strcspn(keys, "=,");
        snprintf(known, sizeof known, "%s", POLICY_ALL_KEYS);
        snprintf(name, sizeof name, "%.*s", length < sizeof name ? (int)length : 0, keys);
        nearest search = nearest_to(name);
        int is_known = 0;
        for (char *each = strtok(known, " "); each; each = strtok(NULL, " ")) {
            nearest_offer(&search, each);
            is_known |= !strcmp(each, name);
        }
        if (!is_known) return nearest_hint(&search, text, size);
    }
    return text;
}

static int policy_apply(const char *text, const char *keys, gpuarena_config *config, problem *why)
{
    char message[480], hint[96];                 /* message: all keys, where one is not known */
    if (!gpuarena_config_parse(keys, config, message, sizeof message)) return 0;
    return problem_set(why, EXIT_USAGE, "policy '%s': %s%s", text, message, policy_key_hint(keys, hint, sizeof hint));
}

static int policy_limit(policy *made, uint64_t limit_bytes, problem *why)
{
    if (!limit_bytes) return 0;
    if (policy_has_limit(made)) {
        return problem_set(why, EXIT_USAGE, "policy '%s' has a limit key, and --limit is given: only one of both",
                           made->text);
    }
    if (limit_bytes == GPUARENA_NO_LIMIT) {
        return problem_set(why, EXIT_USAGE,
                           "--limit: %" PRIu64 " is no size of any device; leave it out for no limit", limit_bytes);
    }
    made->config.limit_bytes = limit_bytes;
    return 0;
}

static int policy_keys(const char *text, const policy_kind *kind, const char *keys, policy *made, problem *why)
{
    if (made->family != POLICY_ARENA && made->family != POLICY_MODEL) {
        return keys ? problem_set(why, EXIT_USAGE, "policy '%s': '%s' has no keys, expected %s, or config%s", text,
                                  kind->name, kind->name, keys - 1) : 0;
    }
    char name[64];
    policy_kind named;
    if (keys && policy_named(keys, ",", name, sizeof name, &named) && named.model) {     /* it has no other's keys */
        return problem_set(why, EXIT_USAGE, "policy '%s': %.*s is a policy of its own", text, (int)strcspn(keys, ","),
                           keys);
    }
    if (kind->model && policy_check_model(text, kind->name, keys, why)) return -1;
    if (kind->base && policy_apply(text, kind->base, &made->config, why)) return -1;
    return keys ? policy_apply(text, keys, &made->config, why) : 0;
}

int policy_parse(const char *text, uint64_t limit_bytes, policy *made, problem *why)
{
    policy_kind kind;
    if (policy_find(text, &kind, why)) return -1;
    memset(made, 0, sizeof *made);
    made->text = text;
    made->family = kind.family;
    made->model = kind.model;
    made->config.environment = "";             /* results must not depend on the caller's environment */
    const char *keys = strchr(text, ':');
    if (keys && !keys[1]) {
        return problem_set(why, EXIT_USAGE, "policy '%s': nothing follows the ':', expected %s, or %s:key=value",
                           text, kind.name, kind.name);
    }
    if (policy_keys(text, &kind, keys ? keys + 1 : NULL, made, why)) return -1;
    return policy_takes_limit(made) ? policy_limit(made, limit_bytes, why) : 0;
}
