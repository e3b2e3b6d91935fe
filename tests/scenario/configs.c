/* Scenarios about settings: are they in force, told when they are wrong, and kept when others take memory?
   It must not know what a policy does with them.
   Tested by tests/needs.t and tests/test_needs.c. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "scenarios.h"

#define CONFIGS_VARIABLE "GPUARENA_NEEDS_CONF"   /* of the scenario alone; gone when it ends */

/* Of the policy's configuration with these keys on top, on a device of this ground: what creation answers. */
static gpuarena_result configs_create(ground *on, const char *keys, gpuarena **arena, gpuarena_failure *failure)
{
    char message[400];
    gpuarena_config config = on->of->chosen->config;
    config.driver = device_driver(on->on);
    memset(failure, 0, sizeof *failure);
    gpuarena_result result = gpuarena_config_parse(keys, &config, message, sizeof message);
    if (!result) result = gpuarena_create(&config, arena);
    if (result) gpuarena_last_failure(NULL, failure);
    return result;
}

void configs_late(scene *self)
{
    const ground_shape shape = { 0 };
    ground on;
    gpuarena *arena = NULL;
    gpuarena_config config, before, after;
    if (scene_lacks(self, "configuration that could change")) return;
    if (!ground_open(&on, self, &shape)) {
        void *ptr = NULL;
        config = self->chosen->config;
        config.driver = device_driver(on.on);
        config.limit_bytes = 1 * GIB;
        gpuarena_result created = gpuarena_create(&config, &arena);
        gpuarena_get_config(arena, &before);
        config.limit_bytes = 8 * GIB;
        config.headroom_bytes = 15 * GIB;
        gpuarena_get_config(arena, &after);
        int kept = !memcmp(&before, &after, sizeof before) && before.limit_bytes == 1 * GIB;
        int refused = gpuarena_alloc(arena, &ptr, 2 * GIB, NULL) == GPUARENA_OUT_OF_MEMORY;
        config.zero_begin = 1;
        gpuarena *other = NULL;
        int uncleared = gpuarena_create(&config, &other) == GPUARENA_INVALID_CONFIG && !other;
        int moved = !gpuarena_set_limit(arena, 4 * GIB) && !gpuarena_alloc(arena, &ptr, 2 * GIB, NULL);
        scene_say(self, !created && kept && refused && uncleared && moved, "a struct that changes after creation "
                  "changes %s, 2 GiB under 1 GiB are %s; an uncleared one is %s; gpuarena_set_limit alone changes "
                  "the limit: 2 GiB are %s", kept ? "nothing" : "what is in force", refused ? "refused" : "served",
                  uncleared ? "refused" : "taken", moved ? "served" : "refused");
        if (ptr) gpuarena_free(arena, ptr, NULL);
        gpuarena_destroy(arena);
    }
    ground_close(&on);
}

/* ---- wrong values: each must be refused, and its key named */
static const struct { const char *keys, *named; } configs_wrong[] = {
    { "limit=32G", "limit" }, { "limit=1M", "limit" }, { "limit=150%", "limit" }, { "limit=0%", "limit" },
    { "limit=4GBs", "limit" }, { "limti=4G", "limti" }, { "limit=total-64G", "limit" }, { "headroom=-1", "headroom" },
    { "growth=sometimes", "growth" }, { "alignment=100", "alignment" }, { "wait_ms=soon", "wait_ms" },
    { "limit=4G,limit=5G", "limit" },
};
enum { CONFIGS_WRONG = sizeof configs_wrong / sizeof configs_wrong[0] };

/* The number as it stands in the sentence. */
static int configs_tells(const char *text, uint64_t number)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu64, number);
    return strstr(text, digits) != NULL;
}

/* What is asked for, what the limit is, and what is missing, all in the sentence. */
static int configs_short_told(ground *on)
{
    char text[512];
    gpuarena_failure failure;
    gpuarena_set_limit(on->pool.arena, 1 * GIB);
    if (ground_alloc(on, 3 * GIB, NULL)) return 0;
    gpuarena_last_failure(on->pool.arena, &failure);
    gpuarena_failure_text(&failure, text, sizeof text);
    return failure.missing_bytes == 2 * GIB && configs_tells(text, 3 * GIB) && configs_tells(text, 1 * GIB)
        && configs_tells(text, 2 * GIB);
}

void configs_validate(scene *self)
{
    const ground_shape shape = { 0 };
    ground on;
    if (scene_lacks(self, "settings that could be wrong: what is more than exists fails when it is used up")) return;
    if (!ground_open(&on, self, &shape)) {
        int named = 0;
        for (int at = 0; at < CONFIGS_WRONG; at++) {
            gpuarena *arena = NULL;
            gpuarena_failure failure;
            int is_named = configs_create(&on, configs_wrong[at].keys, &arena, &failure) == GPUARENA_INVALID_CONFIG
                && strstr(failure.detail, configs_wrong[at].named);
            if (!is_named) scene_say(self, 0, "'%s' is not refused by name: '%s'", configs_wrong[at].keys,
                                     failure.detail);
            named += is_named;
            gpuarena_destroy(arena);
        }
        int told = configs_short_told(&on);
        scene_say(self, told && named == CONFIGS_WRONG, "%d wrong settings refused, the key named in each; 3 GiB "
                  "under a limit of 1 GiB: the sentence has%s all of 3, 1 and 2 GiB missing", named,
                  told ? "" : " not");
    }
    ground_close(&on);
}

/* ---- the environment: fills what is left at zero */
typedef struct configs_variable {
    const char *text;
    uint64_t    limit_bytes, headroom_bytes, initial_bytes;      /* in force, then */
} configs_variable;
static const configs_variable configs_variables[] = {    /* on a device of 16 GiB, of which 12 are free */
    { "limit=512M", 512 * MIB, 0, 0 }, { "limit=75%", 12 * GIB, 0, 0 }, { "limit=50%free", 6 * GIB, 0, 0 },
    { "limit=total-10G", 6 * GIB, 0, 0 }, { "limit=free-10G", 2 * GIB, 0, 0 }, { "limit=none", GPUARENA_NO_LIMIT, 0,
                                                                                 0 },
    { "headroom=1G", GPUARENA_NO_LIMIT, GIB, 0 }, { "initial=64M", GPUARENA_NO_LIMIT, 0, 64 * MIB },
    { "limit=1G,headroom=2G,initial=32M", 1 * GIB, 2 * GIB, 32 * MIB },
};

/* What is in force with the variable set to this; limit_bytes of the program's own, 0: none. */
static gpuarena_result configs_from(ground *on, const char *text, uint64_t limit_bytes, gpuarena_config *force)
{
    gpuarena *arena = NULL;
    gpuarena_config config = on->of->chosen->config;
    config.driver = device_driver(on->on);
    config.environment = CONFIGS_VARIABLE;
    config.limit_bytes = limit_bytes;
    if (setenv(CONFIGS_VARIABLE, text, 1)) {
        problem_set(&on->of->trouble, EXIT_HARNESS, "no host memory for the environment");
    }
    gpuarena_result result = gpuarena_create(&config, &arena);
    unsetenv(CONFIGS_VARIABLE);
    gpuarena_get_config(arena, force);
    gpuarena_destroy(arena);
    return result;
}

void configs_environment(scene *self)
{
    enum { CONFIGS_TEXTS = sizeof configs_variables / sizeof configs_variables[0] };
    const ground_shape shape = { .context_bytes = 4 * GIB };
    ground on;
    gpuarena_config force;
    gpuarena_failure failure;
    if (scene_lacks(self, "settings that the environment could fill")) return;
    if (!ground_open(&on, self, &shape)) {
        for (int at = 0; at < CONFIGS_TEXTS; at++) {
            const configs_variable *asked = &configs_variables[at];
            gpuarena_result result = configs_from(&on, asked->text, 0, &force);
            if (!result && force.limit_bytes == asked->limit_bytes && force.headroom_bytes == asked->headroom_bytes
                && force.initial_bytes == asked->initial_bytes) continue;
            scene_say(self, 0, "'%s' in the environment: %s, limit %" PRIu64 " in force, headroom %" PRIu64,
                      asked->text,
                      gpuarena_result_name(result), force.limit_bytes, force.headroom_bytes);
        }
        int goes_before = !configs_from(&on, "limit=512M", 1 * GIB, &force) && force.limit_bytes == 1 * GIB;
        int refused = configs_from(&on, "limit=lots", 0, &force) == GPUARENA_INVALID_CONFIG;
        gpuarena_last_failure(NULL, &failure);
        int named = strstr(failure.detail, "limit") != NULL;
        scene_say(self, goes_before && refused && named, "%d texts in force as they say; what the program sets goes "
                  "%s; 'limit=lots' is %s: %.60s", (int)CONFIGS_TEXTS, goes_before ? "before" : "behind",
                  refused ? "refused" : "taken", failure.detail);
    }
    ground_close(&on);
}

/* ---- taking memory beforehand, up to a mark: on a device of 16 GiB, of which 15 are free */
static const struct { const char *keys; uint64_t bytes; } configs_mark[] = {
    { "limit=4G", 4 * GIB }, { "limit=50%", 8 * GIB }, { "limit=50%free", 7680 * MIB }, { "limit=total-2G",
                                                                                          14 * GIB },
    { "limit=free-2G", 13 * GIB }, { "limit=none", 15 * GIB },
};

void configs_marks(scene *self)
{
    enum { CONFIGS_MARKS = sizeof configs_mark / sizeof configs_mark[0] };
    uint64_t held[CONFIGS_MARKS] = { 0 };
    int right = 0;
    if (scene_lacks(self, "way to take memory beforehand")) return;
    for (int at = 0; at < CONFIGS_MARKS; at++) {
        const ground_shape shape = { .context_bytes = 1 * GIB, .keys = configs_mark[at].keys, .adapt = ground_fixed };
        ground on;
        if (!ground_open(&on, self, &shape)) held[at] = ground_held(&on);
        ground_close(&on);
        right += held[at] == configs_mark[at].bytes;
    }
    scene_say(self, right == CONFIGS_MARKS, "at creation, growth=fixed on 16 GiB with 15 free: limit=4G %s, 50%% %s, "
              "50%%free %s, total-2G %s, free-2G %s, none %s: %d of %d as they say", scene_size(self, held[0]),
              scene_size(self, held[1]), scene_size(self, held[2]), scene_size(self, held[3]),
              scene_size(self, held[4]), scene_size(self, held[5]), right, (int)CONFIGS_MARKS);
}

static void configs_set_headroom(gpuarena_config *config, void *user)
{
    config->headroom_bytes = *(const uint64_t *)user;
}

/* Another process takes 2 GiB after 8 of our blocks, and gives them back after 24. */
void configs_headroom(scene *self)
{
    uint64_t headroom = 1 * GIB, least = UINT64_MAX, served = 0, late = 0;
    const ground_shape shape = { .capacity_bytes = 8 * GIB, .faults = "rival@8=2G;rival@24=-2G",
                                 .adapt = configs_set_headroom, .user = &headroom };
    ground on;
    if (scene_is_model(self)) return;
    if (!ground_open(&on, self, &shape)) {
        for (int block = 0; block < 40; block++) {
            void *ptr = ground_alloc(&on, 256 * MIB, NULL);
            uint64_t left = 8 * GIB - ground_used(&on);
            served += ptr != NULL;
            late += ptr && block > 24;
            if (ptr && left < least) least = left;
        }
        scene_say(self, least >= headroom && late > 0,
                  "1 GiB is for others, who take 2 GiB and give them back: %" PRIu64
                  " blocks of 256 MiB served, %" PRIu64 " of them after that; at least %s were left", served, late,
                  scene_size(self, least));
    }
    ground_close(&on);
}
