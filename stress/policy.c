/* The table of policies, and their text.
   It must not know what a policy is used for; keys and values are the library's business (gpuarena_config_parse).
   Tested by tests/test_policy.c and tests/cli.t. */
#include "policy.h"

#include <inttypes.h>
#include <string.h>

#include "nearest.h"
#include "program.h"

/* Keys that mean something: whatever the backing is; then of segments, of pages, of both and all others. */
#define POLICY_LIMITS "alignment limit headroom"
#define POLICY_WAITS "streams wait_ms"
#define POLICY_RELEASE "release release_at release_keep release_age"
#define POLICY_HABITS POLICY_RELEASE " cache " POLICY_WAITS " scrub"
#define POLICY_COMMON POLICY_LIMITS " " POLICY_HABITS
#define POLICY_SHAPES \
    "bin_growth bin_min bin_max round_divisions split split_least split_max split_over small small_step"
#define POLICY_STEPS "initial step step_max exact backoff"
#define POLICY_SEGMENT_KEYS "growth placement " POLICY_SHAPES " " POLICY_STEPS " " POLICY_COMMON
#define POLICY_PAGE_KEYS "placement round_divisions split split_least page idle large initial " POLICY_COMMON
#define POLICY_ALL_KEYS \
    "backing growth placement " POLICY_SHAPES " share page idle large " POLICY_STEPS " " POLICY_LIMITS \
    " oversubscribe " POLICY_HABITS
#define POLICY_KEYS POLICY_LIMITS " " POLICY_WAITS
/* One range of addresses whose pages, once mapped, stay where they are: what placement alone does. */
#define POLICY_PLAIN "backing=paged,idle=100%,placement="

static const policy_kind policy_kinds[] = {
    { "raw", "cudaMalloc and cudaFree for every allocation: the baseline", "", POLICY_RAW, NULL, NULL },
    { "async", "cudaMallocAsync and cudaFreeAsync for every allocation, at the driver's defaults", "", POLICY_ASYNC,
      NULL, NULL },
    { "paged", "the arena over paged ranges, at its defaults", POLICY_PAGE_KEYS, POLICY_ARENA,
      "backing=paged", NULL },
    { "segments", "the arena over cudaMalloc segments, at its defaults", POLICY_SEGMENT_KEYS, POLICY_ARENA,
      "backing=segments", NULL },
    { "best", "one plain range, exact best fit: what a perfect search makes of memory that stays", POLICY_KEYS,
      POLICY_ARENA, POLICY_PLAIN "best", NULL },
    { "first", "one plain range, the lowest address that fits", POLICY_KEYS, POLICY_ARENA, POLICY_PLAIN "first",
      NULL },
#define X(name, what, text, lacks) { name, what, POLICY_ALL_KEYS, POLICY_ARENA, text, lacks },
    GPUARENA_PRESETS(X)
#undef X
    { "config", "the arena as the keys say, at the library's defaults otherwise", POLICY_ALL_KEYS, POLICY_ARENA, "",
      NULL },
    { "cub-library",
      "CUB's CachingDeviceAllocator: bin_growth 8, min_bin 3, max_bin 7, 6 MiB - 1 cached; --limit does not bind it",
      "", POLICY_RIVAL, NULL, NULL },
};

const policy_kind *policy_kind_at(size_t index)
{
    return index < sizeof policy_kinds / sizeof policy_kinds[0] ? &policy_kinds[index] : NULL;
}

int policy_kind_present(const policy_kind *kind)
{
    return kind->family != POLICY_RIVAL || rival_present();
}

int policy_kind_in_all(const policy_kind *kind)
{
    return kind->family == POLICY_RAW || kind->family == POLICY_ASYNC
        || (kind->family == POLICY_ARENA && *kind->base);
}

static const policy_kind *policy_find(const char *text, problem *why)
{
    char name[64], hint[96];
    size_t length = strcspn(text, ":");
    snprintf(name, sizeof name, "%.*s", length < sizeof name ? (int)length : (int)sizeof name - 1, text);
    nearest search = nearest_to(name);
    for (size_t index = 0; policy_kind_at(index); index++) {
        const policy_kind *kind = policy_kind_at(index);
        if (strlen(kind->name) == length && !memcmp(kind->name, text, length)) return kind;
        nearest_offer(&search, kind->name);
    }
    problem_set(why, EXIT_USAGE, "unknown policy '%s'%s; see %s list policies", name,
                nearest_hint(&search, hint, sizeof hint), program_name());
    return NULL;
}

int policy_is_named(const char *text, problem *why)
{
    return policy_find(text, why) != NULL;
}

int policy_has_limit(const policy *self)
{
    return self->config.limit_base != GPUARENA_LIMIT_BYTES || self->config.limit_bytes != 0;
}

/* Keys that are a preset's name instead: only config is as the library's text says, whole. */
static int policy_is_preset(const policy_kind *kind, const char *keys)
{
    size_t length = strcspn(keys, ",");
    if (!*kind->base) return 0;
    for (size_t index = 0; policy_kind_at(index); index++) {
        const policy_kind *other = policy_kind_at(index);
        if (other->lacks && strlen(other->name) == length && !memcmp(other->name, keys, length)) return 1;
    }
    return 0;
}

static int policy_apply(const char *text, const char *keys, gpuarena_config *config, problem *why)
{
    char message[480];                           /* all keys, where one is not known */
    if (!gpuarena_config_parse(keys, config, message, sizeof message)) return 0;
    return problem_set(why, EXIT_USAGE, "policy '%s': %s", text, message);
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

int policy_parse(const char *text, uint64_t limit_bytes, policy *made, problem *why)
{
    const policy_kind *kind = policy_find(text, why);
    if (!kind) return -1;
    memset(made, 0, sizeof *made);
    made->text = text;
    made->family = kind->family;
    made->config.environment = "";             /* results must not depend on the caller's environment */
    const char *keys = strchr(text, ':');
    if (keys && !keys[1]) {
        return problem_set(why, EXIT_USAGE, "policy '%s': nothing follows the ':', expected %s, or %s:key=value",
                           text, kind->name, kind->name);
    }
    if (made->family != POLICY_ARENA) {
        return keys ? problem_set(why, EXIT_USAGE, "policy '%s': '%s' has no keys, expected %s, or config%s", text,
                                  kind->name, kind->name, keys) : 0;
    }
    if (keys && policy_is_preset(kind, keys + 1)) {
        return problem_set(why, EXIT_USAGE, "policy '%s': %.*s is a policy of its own", text,
                           (int)strcspn(keys + 1, ","), keys + 1);
    }
    if (policy_apply(text, kind->base, &made->config, why)) return -1;
    if (keys && policy_apply(text, keys + 1, &made->config, why)) return -1;
    return policy_limit(made, limit_bytes, why);
}
