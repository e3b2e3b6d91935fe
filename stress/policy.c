/* The table of policies, and their text.
   It must not know what a policy is used for; keys and values are the library's business (gpuarena_config_parse).
   Tested by tests/test_policy.c and tests/cli.t. */
#include "policy.h"

#include <inttypes.h>
#include <string.h>

#include "nearest.h"

#define POLICY_KEYS "alignment limit headroom streams wait_ms"   /* whatever the backing is */
#define POLICY_KEYS_OF_CACHES "alignment limit headroom cache streams wait_ms"      /* with placement=good */
/* One range of addresses whose pages, once mapped, stay where they are: what placement alone does. */
#define POLICY_PLAIN "backing=paged,idle=100%,placement="

static const policy_kind policy_kinds[] = {
    { "raw", "cudaMalloc and cudaFree for every allocation: the baseline", "", POLICY_RAW, NULL },
    { "paged", "the arena over paged ranges, at its defaults", "placement page idle large initial " POLICY_KEYS_OF_CACHES,
      POLICY_ARENA, "backing=paged" },
    { "segments", "the arena over cudaMalloc segments, at its defaults",
      "growth placement initial step step_max " POLICY_KEYS_OF_CACHES, POLICY_ARENA, "backing=segments" },
    { "best", "one plain range, exact best fit: what a perfect search makes of memory that stays", POLICY_KEYS,
      POLICY_ARENA, POLICY_PLAIN "best" },
    { "first", "one plain range, the lowest address that fits", POLICY_KEYS, POLICY_ARENA, POLICY_PLAIN "first" },
    { "config", "the arena as the keys say, at the library's defaults otherwise",
      "backing growth placement share page idle large initial step step_max " POLICY_KEYS_OF_CACHES, POLICY_ARENA, "" },
    { "cub-library",
      "CUB's CachingDeviceAllocator: bin_growth 8, min_bin 3, max_bin 7, 6 MiB - 1 cached; --limit does not bind it",
      "", POLICY_RIVAL, NULL },
};

const policy_kind *policy_kind_at(size_t index)
{
    return index < sizeof policy_kinds / sizeof policy_kinds[0] ? &policy_kinds[index] : NULL;
}

int policy_kind_present(const policy_kind *kind)
{
    return kind->family != POLICY_RIVAL || rival_present();
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
    problem_set(why, EXIT_USAGE, "unknown policy '%s'%s; see stress list policies", name,
                nearest_hint(&search, hint, sizeof hint));
    return NULL;
}

int policy_has_limit(const policy *self)
{
    return self->config.limit_base != GPUARENA_LIMIT_BYTES || self->config.limit_bytes != 0;
}

static int policy_apply(const char *text, const char *keys, gpuarena_config *config, problem *why)
{
    char message[256];
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
    if (keys && !keys[1]) return problem_set(why, EXIT_USAGE, "policy '%s': nothing follows the ':'", text);
    if (made->family != POLICY_ARENA) {
        return keys ? problem_set(why, EXIT_USAGE, "policy '%s': '%s' has no keys", text, kind->name) : 0;
    }
    if (policy_apply(text, kind->base, &made->config, why)) return -1;
    if (keys && policy_apply(text, keys + 1, &made->config, why)) return -1;
    return policy_limit(made, limit_bytes, why);
}
