/* Does every need see what it is about? Each scenario must turn red for some policy, or for a defect planted in what
   it calls: the library's functions and the pool's, as the scenarios see them. It must not know how they measure.
   Run by `make test`. */
#include "stress/needs/needs.h"

#include <stdlib.h>
#include <string.h>

#include "tap.h"

/* X(what, the need that must see it, on this policy) */
#define PLANTS(X) \
    X(LIMIT_DOUBLED, "limit", "paged") X(LIMIT_DOUBLED, "threads", "paged") \
    X(LIMIT_DOUBLED, "reasons", "paged") X(LIMIT_STAYS, "late-change", "paged") \
    X(LIMIT_DOUBLED, "tenants", "segments") X(NO_HEADROOM, "headroom", "paged") \
    X(NO_HEADROOM, "reasons", "segments") X(NOT_FIXED, "marks", "segments") \
    X(NOT_FIXED, "first-touch", "paged") X(NOT_FIXED, "shares", "paged") X(NOT_FIXED, "manners", "segments") \
    X(HALF_FIXED, "modes", "paged") X(NO_ENVIRONMENT, "environment", "paged") \
    X(UNCLEARED_TAKEN, "late-change", "segments") X(WRONG_TAKEN, "wrong-values", "paged") \
    X(NO_PRESSURE, "pressure", "paged") X(NO_PARENT, "tenants", "paged") X(OTHER_KIND, "pinned", "segments") \
    X(OTHER_KIND, "async", "paged") X(NO_RELEASE, "retention", "paged") X(NO_RELEASE, "manners", "paged") \
    X(TAKES_EARLY, "grabbed", "segments") X(TAKES_EARLY, "tiny", "segments") X(FREES_UNTOLD, "events", "paged") \
    X(GROWTH_UNTOLD, "steps", "segments") X(GROWTH_UNTOLD, "events", "segments") \
    X(PENDING_LOST, "sums", "paged") X(LARGEST_IS_SUM, "predict", "segments") X(PEAK_OFF, "peaks", "paged") \
    X(PEAK_STAYS, "peaks", "segments") X(ALWAYS_YES, "predict", "paged") X(ALWAYS_YES, "walls", "segments") \
    X(NO_OTHER, "other", "paged") X(NO_OTHER, "report", "paged") X(FIRST_DEVICE, "devices", "paged") \
    X(NO_TRIM, "trim", "paged") X(NO_TRIM, "addresses", "paged") X(NO_TRIM, "async", "segments") \
    X(ONE_REASON, "reasons", "paged") X(ONE_REASON, "walls", "segments") X(ONE_REASON, "pinned", "paged") \
    X(MISSING_OFF, "reasons", "segments") X(NO_NUMBERS, "wrong-values", "segments") \
    X(NO_NUMBERS, "tags", "paged") X(NO_NUMBERS, "leaks", "paged") X(EMPTY_REPORT, "report", "segments") \
    X(NO_RESIZE, "resize", "paged") X(TRY_GROWS, "scratch", "segments") X(NO_SCOPE, "scope", "paged") \
    X(NO_TAGS, "tags", "segments") X(ENDS_SILENTLY, "leaks", "segments") X(NO_SET, "captured", "segments") \
    X(NO_SET, "captured", "paged") X(NO_WAIT, "late-free", "segments") X(NO_WAIT, "late-free", "paged") \
    X(FREES_LOST, "trim", "segments") X(FREES_LOST, "ring", "paged") X(FREES_LOST, "repeat", "segments") \
    X(FREES_LOST, "lifetimes", "paged") X(FREES_LOST, "again", "paged") X(FREES_LOST, "shapes", "segments") \
    X(FREES_LOST, "batches", "paged") X(ONE_LOST, "jump", "paged") X(ONE_LOST, "bound", "paged") \
    X(ONE_LOST, "overshoot", "paged") X(PADDED, "sizes", "paged") X(FREES_WAIT, "overlap", "paged") \
    /* nothing planted: policies that do not have what is needed */ \
    X(NOTHING, "sums", "raw") X(NOTHING, "other", "raw") X(NOTHING, "limit", "raw") \
    X(NOTHING, "headroom", "raw") X(NOTHING, "shares", "raw") X(NOTHING, "manners", "raw") \
    X(NOTHING, "overlap", "raw") X(NOTHING, "tiny", "raw") X(NOTHING, "captured", "raw") \
    X(NOTHING, "ring", "raw") X(NOTHING, "first-touch", "raw") X(NOTHING, "overshoot", "bfc") \
    X(NOTHING, "jump", "bfc") X(NOTHING, "bound", "bfc") X(NOTHING, "again", "pytorch") \
    X(NOTHING, "repeat", "pytorch") X(NOTHING, "sizes", "cub") X(NOTHING, "lifetimes", "ort") \
    X(NOTHING, "batches", "async") X(NOTHING, "retention", "raw") \
    X(NOTHING, "scratch", "raw") X(NOTHING, "resize", "raw")

typedef enum plant {
    NOTHING, LIMIT_DOUBLED, LIMIT_STAYS, NO_HEADROOM, NOT_FIXED, HALF_FIXED, NO_ENVIRONMENT, UNCLEARED_TAKEN,
    WRONG_TAKEN,
    NO_PRESSURE, NO_PARENT, OTHER_KIND, NO_RELEASE, TAKES_EARLY, FREES_UNTOLD, GROWTH_UNTOLD, PENDING_LOST,
    LARGEST_IS_SUM, PEAK_OFF, PEAK_STAYS, ALWAYS_YES, NO_OTHER, FIRST_DEVICE, NO_TRIM, ONE_REASON, MISSING_OFF,
    NO_NUMBERS, EMPTY_REPORT, NO_RESIZE, TRY_GROWS, NO_SCOPE, NO_TAGS, ENDS_SILENTLY, NO_SET, NO_WAIT, FREES_LOST,
    ONE_LOST, PADDED, FREES_WAIT
} plant;

static plant planted;
static uint64_t planted_count;                   /* of frees, or of allocations */
static gpuarena_observe_fn *planted_observer;

static void planted_observe(gpuarena *arena, const gpuarena_action *action, void *user)
{
    if (planted == FREES_UNTOLD && action->kind == GPUARENA_ACTION_FREE) return;
    if (planted == GROWTH_UNTOLD && action->kind == GPUARENA_ACTION_GROW) return;
    planted_observer(arena, action, user);
}

static void planted_settings(gpuarena_config *config)
{
    int is_fixed = config->growth == GPUARENA_GROWTH_FIXED;
    switch (planted) {
    case LIMIT_DOUBLED:   config->limit_bytes *= 2; break;
    case NO_HEADROOM:     config->headroom_bytes = 0; break;
    case NOT_FIXED:       if (is_fixed) config->growth = GPUARENA_GROWTH_EXACT; break;
    case HALF_FIXED:      if (is_fixed) config->limit_bytes /= 2; break;
    case NO_ENVIRONMENT:  config->environment = ""; break;
    case UNCLEARED_TAKEN: config->zero_begin = 0; break;
    case WRONG_TAKEN:     if (config->limit_bytes > ((uint64_t)16 << 30)) config->limit_bytes = 0; break;
    case NO_PRESSURE:     config->pressure = NULL; break;
    case NO_PARENT:       config->parent = NULL; break;
    case OTHER_KIND:
        if (config->backing > GPUARENA_BACKING_SEGMENTS) config->backing = GPUARENA_BACKING_SEGMENTS;
        break;
    case NO_RELEASE:      config->release = GPUARENA_RELEASE_ON_DEMAND;
                          config->release_bytes = config->release_age = 0;
                          config->release_keep = 0.0;
                          break;
    case TAKES_EARLY:     if (!is_fixed) config->initial_bytes = (uint64_t)1 << 30; break;
    default:              break;
    }
}

static gpuarena_result planted_create(const gpuarena_config *config, gpuarena **arena)
{
    gpuarena_config changed = *config;
    planted_settings(&changed);
    if (changed.observe && (planted == FREES_UNTOLD || planted == GROWTH_UNTOLD)) {
        planted_observer = changed.observe;
        changed.observe = planted_observe;
    }
    return gpuarena_create(&changed, arena);
}

static gpuarena_result planted_set_limit(gpuarena *arena, uint64_t bytes)
{
    return planted == LIMIT_STAYS ? GPUARENA_OK : gpuarena_set_limit(arena, bytes);
}

static void planted_get_stats(const gpuarena *arena, gpuarena_stats *stats)
{
    gpuarena_get_stats(arena, stats);
    if (planted == PENDING_LOST) stats->pending_bytes = 0;
    if (planted == PEAK_OFF) stats->requested_peak_bytes = stats->live_peak_bytes;
}

static void planted_walk_stats(const gpuarena *arena, gpuarena_stats *stats)
{
    gpuarena_walk_stats(arena, stats);
    if (planted == LARGEST_IS_SUM || planted == ALWAYS_YES) {
        stats->largest_free_bytes = stats->cached_bytes + stats->pending_bytes;
    }
}

static void planted_reset_peaks(gpuarena *arena)
{
    if (planted != PEAK_STAYS) gpuarena_reset_peaks(arena);
}

static gpuarena_result planted_can_alloc(gpuarena *arena, const gpuarena_request *request)
{
    gpuarena_result result = gpuarena_can_alloc(arena, request);
    return planted == ALWAYS_YES ? GPUARENA_OK : result;
}

static gpuarena_result planted_get_device(gpuarena *arena, gpuarena_device *seen)
{
    gpuarena_result result = gpuarena_get_device(arena, seen);
    if (planted == NO_OTHER) seen->other_bytes = 0;
    if (planted == FIRST_DEVICE) seen->device = 0;
    return result;
}

static gpuarena_result planted_trim(gpuarena *arena, uint64_t keep_bytes, uint64_t *released_bytes)
{
    return planted == NO_TRIM ? GPUARENA_OK : gpuarena_trim(arena, keep_bytes, released_bytes);
}

static void planted_last_failure(const gpuarena *arena, gpuarena_failure *failure)
{
    gpuarena_last_failure(arena, failure);
    if (planted == ONE_REASON && failure->reason) failure->reason = GPUARENA_REASON_DRIVER_REFUSED;
    if (planted == MISSING_OFF) failure->missing_bytes += 256;
}

static size_t planted_failure_text(const gpuarena_failure *failure, char *text, size_t size)
{
    if (planted != NO_NUMBERS) return gpuarena_failure_text(failure, text, size);
    return (size_t)snprintf(text, size, "out of memory");
}

static gpuarena_result planted_report(const gpuarena *arena, gpuarena_format format, gpuarena_write_fn *write,
                                      void *user)
{
    return planted == EMPTY_REPORT ? write("{}", 2, user) : gpuarena_report(arena, format, write, user);
}

static gpuarena_result planted_resize(gpuarena *arena, void *ptr, uint64_t bytes, gpuarena_stream stream)
{
    return planted == NO_RESIZE ? GPUARENA_OUT_OF_MEMORY : gpuarena_resize(arena, ptr, bytes, stream);
}

static gpuarena_result planted_alloc_ex(gpuarena *arena, void **ptr, const gpuarena_request *request)
{
    gpuarena_request changed = *request;
    if (planted == TRY_GROWS) changed.flags = 0;
    return gpuarena_alloc_ex(arena, ptr, &changed);
}

static gpuarena_result planted_free_since(gpuarena *arena, uint64_t mark, uint32_t tag, gpuarena_stream stream)
{
    return planted == NO_SCOPE ? GPUARENA_OK : gpuarena_free_since(arena, mark, tag, stream);
}

static uint32_t planted_tag_scope(uint32_t tag)
{
    return gpuarena_tag_scope(planted == NO_TAGS ? 0 : tag);
}

static gpuarena_result planted_destroy(gpuarena *arena)
{
    if (planted == ENDS_SILENTLY) gpuarena_reset(arena, NULL);
    return gpuarena_destroy(arena);
}

static gpuarena_result planted_capture_begin(gpuarena *arena, gpuarena_stream stream, uint64_t *set)
{
    return planted == NO_SET ? GPUARENA_OK : gpuarena_capture_begin(arena, stream, set);
}

static gpuarena_result planted_capture_end(gpuarena *arena, gpuarena_stream stream)
{
    return planted == NO_SET ? GPUARENA_OK : gpuarena_capture_end(arena, stream);
}

/* NO_WAIT: what is free now, else what can be grown,
as if there were no other streams. ONE_LOST: of two blocks one is
   taken twice as large. */
static gpuarena_result planted_alloc(gpuarena *arena, void **ptr, uint64_t bytes, gpuarena_stream stream)
{
    gpuarena_request request = GPUARENA_INIT;
    request.bytes = bytes;
    request.stream = stream;
    request.flags = GPUARENA_ALLOC_TRY;
    if (planted == PADDED) return gpuarena_alloc(arena, ptr, bytes + 4096, stream);
    if (planted == ONE_LOST && planted_count++ % 2) return gpuarena_alloc(arena, ptr, 2 * bytes, stream);
    if (planted != NO_WAIT || planted_count++ < 1) return gpuarena_alloc(arena, ptr, bytes, stream);
    return gpuarena_alloc_ex(arena, ptr, &request);
}

/* FREES_LOST: every third. FREES_WAIT: until the device is done, as cudaFree does. */
static gpuarena_result planted_free(gpuarena *arena, void *ptr, gpuarena_stream stream)
{
    gpuarena_config config;
    if (planted == FREES_LOST && planted_count++ % 3 == 0) return GPUARENA_OK;
    if (planted == FREES_WAIT) {
        gpuarena_get_config(arena, &config);
        config.driver->events.device_wait(config.driver);
    }
    return gpuarena_free(arena, ptr, stream);
}

#define gpuarena_create planted_create
#define gpuarena_set_limit planted_set_limit
#define gpuarena_get_stats planted_get_stats
#define gpuarena_walk_stats planted_walk_stats
#define gpuarena_reset_peaks planted_reset_peaks
#define gpuarena_can_alloc planted_can_alloc
#define gpuarena_get_device planted_get_device
#define gpuarena_trim planted_trim
#define gpuarena_last_failure planted_last_failure
#define gpuarena_failure_text planted_failure_text
#define gpuarena_report planted_report
#define gpuarena_resize planted_resize
#define gpuarena_alloc_ex planted_alloc_ex
#define gpuarena_free_since planted_free_since
#define gpuarena_tag_scope planted_tag_scope
#define gpuarena_destroy planted_destroy
#define gpuarena_capture_begin planted_capture_begin
#define gpuarena_capture_end planted_capture_end
#define gpuarena_alloc planted_alloc
#define gpuarena_free planted_free
#include "stress/policy/pool.c"
#include "stress/needs/configs.c"
#include "stress/needs/figures.c"
#include "stress/needs/ground.c"
#include "stress/needs/growth.c"
#include "stress/needs/held.c"
#include "stress/needs/inspect.c"
#include "stress/needs/kinds.c"
#include "stress/needs/limits.c"
#include "stress/needs/owners.c"
#include "stress/needs/sharing.c"
#include "stress/needs/small.c"
#include "stress/needs/waits.c"

/* The verdict of this need on this policy, with this planted. */
static const scene *verdict(plant what, const char *name, const char *on)
{
    static scene shown;
    policy chosen;
    char text[64];
    int all;
    problem why = { 0, "" };
    memset(&shown, 0, sizeof shown);
    snprintf(text, sizeof text, "needs:%s", name);
    const need *asked = needs_find(text, &all, &why);
    if (!asked || policy_parse(on, 0, &chosen, &why)) {
        snprintf(shown.said, sizeof shown.said, "%.400s", why.text);
        return &shown;
    }
    shown.chosen = &chosen;
    shown.device.op_ns = 2000;
    shown.seed = 1;
    planted = what;
    planted_count = 0;
    asked->act(&shown);
    planted = NOTHING;
    if (shown.trouble.exit_code) snprintf(shown.said, sizeof shown.said, "%.400s", shown.trouble.text);
    return &shown;
}

typedef struct planting { plant what; const char *what_text, *name, *on; } planting;
static const planting plantings[] = {
#define X(what, name, on) { what, #what, name, on },
    PLANTS(X)
#undef X
};
enum { PLANTINGS = sizeof plantings / sizeof plantings[0] };

static void test_each_is_seen(void)
{
    for (size_t at = 0; at < PLANTINGS; at++) {
        const planting *each = &plantings[at];
        const scene *shown = verdict(each->what, each->name, each->on);
        CHECK_MSG(shown->verdict == NEED_FAIL && !shown->trouble.exit_code, "%s on %s: %s: red", each->what_text,
                  each->on, each->name);
        if (shown->verdict != NEED_FAIL) printf("#   verdict %d: %s\n", (int)shown->verdict, shown->said);
        if (each->what == NOTHING) continue;
        shown = verdict(NOTHING, each->name, each->on);
        CHECK_MSG(shown->verdict == NEED_PASS, "without it: green");
        if (shown->verdict != NEED_PASS) printf("#   verdict %d: %s\n", (int)shown->verdict, shown->said);
    }
}

static void test_every_need_can_fail(void)
{
    for (size_t index = 0; need_at(index); index++) {
        int red = 0;
        for (size_t at = 0; at < PLANTINGS; at++) red += !strcmp(plantings[at].name, need_name(need_at(index)));
        CHECK_MSG(red > 0, "%s: turns red for something", need_name(need_at(index)));
    }
}

int main(void)
{
    test_each_is_seen();
    test_every_need_can_fail();
    return tap_done();
}
