/* Needs: what people ask of GPU memory. Each has a scenario, and a verdict on each of four policies (needs[]). Does
   every need see what it is about? Each scenario must turn red for some policy, or for a defect planted in what it
   calls: the library's functions and the pool's, as the scenarios see them. It must not know how they measure. */
#include "scenarios.h"

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
#include "configs.c"
#include "figures.c"
#include "ground.c"
#include "growth.c"
#include "held.c"
#include "inspect.c"
#include "kinds.c"
#include "limits.c"
#include "owners.c"
#include "sharing.c"
#include "small.c"
#include "waits.c"
#include "scene.c"

typedef struct need {
    const char *name;
    void      (*act)(scene *self);
    const char *verdicts;
    const char *sentence;                        /* when it passes */
} need;

/* In the order of stress/README.md. verdicts: on raw, bfc, segments and paged; P: pass, F: fail, -: not its need. */
static const need needs[] = {
    { "sums", figures_sums, "F-PP",
      "requested + slack = live, + pending + cached = reserved = what the device holds, after each of 400 steps" },
    { "other", figures_other, "F-PP",
      "context and kernels are told apart from what is reserved, to the byte" },
    { "predict", figures_predict, "F-PP",
      "gpuarena_can_alloc is right of 400 steps' requests, and the largest free block is to be had" },
    { "report", inspect_report, "F-PP",
      "the JSON report, the walk and the statistics say the same, and with `other` what the device says" },
    { "events", inspect_hook, "F-PP",
      "what the observer was told adds up to the statistics: blocks, failures, memory from and to the device" },
    { "peaks", inspect_peaks, "F-PP",
      "the highest use is told as it was counted beside it, and can be had of one step alone" },
    { "addresses", inspect_virtual, "---P",
      "what is freed and trimmed loses its memory and keeps its addresses; both are told apart" },
    { "limit", limits_kept, "FPPP",
      "5000 MiB are never passed at any call of the driver, and all of them are to be had" },
    { "threads", limits_threads, "F-PP",
      "four threads at once never hold more than the limit, and nothing but memory is refused" },
    { "reasons", limits_reasons, "F-PP",
      "each reason is provoked and named, and what is said to be missing is what it takes" },
    { "late-change", configs_late, "F-PP",
      "a struct that changes after creation changes nothing, an uncleared one is refused; set_limit is in force" },
    { "wrong-values", configs_validate, "F-PP",
      "each of 12 wrong settings is refused, its key named; a refusal says what was asked for and what is missing" },
    { "environment", configs_environment, "F-PP",
      "9 texts in the environment are in force as they say; the program's own go before; a bad one is refused" },
    { "marks", configs_marks, "F-PP",
      "memory taken beforehand: bytes, shares of total and of free, total and free less some, to the byte" },
    { "headroom", configs_headroom, "F-PP",
      "1 GiB stays free for others whatever they take meanwhile, and growth goes on when they give it back" },
    { "shares", sharing_shares, "FPPP",
      "four programs have the same parts of a device in whatever order they start" },
    { "grabbed", sharing_grabbed, "FPPP",
      "a library took 12 of 16 GiB first: nothing held at creation, the rest to be used, or a share of it" },
    { "manners", sharing_manners_kept, "F-PP",
      "beside another process: memory that is kept is ours, release=idle leaves it what is idle, frugal all of it" },
    { "first-touch", growth_first_touch, "F-PP",
      "growing, nothing is held at creation and one step with the first block; growth=fixed holds the limit" },
    { "overshoot", growth_overshoot, "PFPP",
      "while 4 GiB of tensors come, from 512 MiB on at most twice what is live is held; growth=exact: 1.2 times" },
    { "steps", growth_steps, "F-PP",
      "every step of growth is told, and they add up to what the device holds" },
    { "modes", growth_modes, "F-PP",
      "training fits under 1.15 times its peak, both with memory taken beforehand and with growth" },
    { "walls", growth_walls, "PFPP",
      "half of what is free, in pieces, is served in one; or refused as fragmented, as gauge and dry run told" },
    { "shapes", growth_shapes, "PPPP",
      "with other shapes at each of 300 steps what is held comes to rest: 1.1 times that of the first 100" },
    { "jump", growth_jump, "PFPP",
      "an embedding's first step, four times its table: at most 1.05 times what is live is held" },
    { "trim", held_trim, "PPPP",
      "4 GiB that were freed go back to the device by one call, while others stay live" },
    { "again", held_again, "FPPP",
      "the same step again: a hundredth of the first time's driver calls, from the third on none; 1 % more in use" },
    { "repeat", held_repeat, "PPPP",
      "the same step five times within what it took the first time" },
    { "retention", held_retention, "F-PP",
      "each rule of release keeps of 1 GiB what it says" },
    { "lifetimes", held_lifetimes, "PPPP",
      "what is freed after its last use lowers what is held as much as what is live, to a tenth" },
    { "bound", held_bound, "PFPP",
      "training holds at most 1.25 times the lower bound, the peak of what is live" },
    { "overlap", waits_overlap, "FPPP",
      "batches copied and used on two streams: in frees the host waits for no more than a tenth of the GPU's work" },
    { "captured", waits_captured, "F-PP",
      "a captured step runs, and is captured anew, without a driver call" },
    { "pressure", waits_pressure, "F-PP",
      "caches are told before memory runs out, and what they free serves the request" },
    { "late-free", waits_late, "PPPP",
      "what another stream freed and still works on serves the next request, behind that work" },
    { "tags", owners_tags, "F-PP",
      "what is live by tag adds up to what is live, is twice as much in float64, and a failure tells it" },
    { "scope", owners_scope, "F-PP",
      "all that was allocated since a mark is freed by one call, and had again without a driver call" },
    { "leaks", owners_leaks, "F-PP",
      "an end with live blocks is refused and tells them by size and tag; behind gpuarena_reset nothing stays" },
    { "tenants", owners_tenants, "F-PP",
      "two tenants of a device have their limits to the byte, are refused for their own, and sum to the device" },
    { "devices", owners_devices, "F-PP",
      "an arena on each of two devices: memory, limits and figures apart, a pointer of the other named" },
    { "pinned", kinds_pinned, "F-PP",
      "pinned memory has a limit and figures of its own, apart from the device's" },
    { "async", kinds_async, "F-PP",
      "with backing=async never more than the limit is had of the driver's pool, and all goes back" },
    { "tiny", small_model, "FPPP",
      "a tiny model trains in one granule of 2 MiB, without a driver call after the first epoch" },
    { "sizes", small_sizes, "PPPP",
      "20,000, 40,000 and 80,000 bytes take at most 512 more each" },
    { "resize", inspect_resize, "F-PP",
      "a block grows where it is as soon as what follows it is free, and keeps its contents" },
    { "batches", small_batches, "PPPP",
      "the largest batch is found by trying: 75 % of what there are bytes for; what was live is intact" },
    { "scratch", small_scratch, "F-PP",
      "a request that may fail makes no driver call and no growth" },
    { "ring", small_ring, "FPPP",
      "ten times the device's size passes through a ring, without a driver call after the first lap" },
};
enum { NEEDS = sizeof needs / sizeof needs[0] };

static const need *need_of(const char *name)
{
    size_t index = 0;
    while (index < NEEDS && strcmp(needs[index].name, name)) index++;
    return index < NEEDS ? &needs[index] : NULL;
}

/* The verdict of this need on this policy, with this planted. */
static const scene *verdict(plant what, const need *asked, const char *on, uint64_t seed, int without_vm)
{
    static scene shown;
    policy chosen;
    problem why = { 0, "" };
    memset(&shown, 0, sizeof shown);
    if (!asked || policy_parse(on, 0, &chosen, &why)) {
        snprintf(shown.said, sizeof shown.said, "%.400s", asked ? why.text : "no such need");
        return &shown;
    }
    shown.chosen = &chosen;
    shown.device.op_ns = 2000;
    shown.device.sim.without_vm = (uint32_t)without_vm;
    shown.seed = seed;
    planted = what;
    planted_count = 0;
    asked->act(&shown);
    planted = NOTHING;
    if (shown.trouble.exit_code) snprintf(shown.said, sizeof shown.said, "%.400s", shown.trouble.text);
    return &shown;
}

static const char letters[] = { '?', 'P', 'F', '-' };

static void check_verdict(const need *asked, const char *on, uint64_t seed, int without_vm, char expected)
{
    const scene *shown = verdict(NOTHING, asked, on, seed, without_vm);
    char found = shown->trouble.exit_code ? '!' : letters[shown->verdict];
    CHECK_MSG(found == expected, "%s on %s, seed %d%s: %c", asked->name, on, (int)seed,
              without_vm ? ", without virtual memory" : "", found);
    if (found == 'P') CHECK_MSG(strpbrk(shown->said, "0123456789") != NULL, "what was measured is said in numbers");
    if (found != expected) printf("#   expected %c: %s\n#   %s\n", expected, asked->sentence, shown->said);
}

static void test_verdicts(void)
{
    static const char *const policies[] = { "raw", "bfc", "segments", "paged" };
    for (size_t index = 0; index < NEEDS; index++) {
        for (size_t at = 0; at < 4; at++) check_verdict(&needs[index], policies[at], 1, 0, needs[index].verdicts[at]);
    }
}

static void test_other_seeds(void)
{
    for (size_t index = 0; index < NEEDS; index++) {
        check_verdict(&needs[index], "segments", 1, 1, needs[index].verdicts[2]);
        for (uint64_t seed = 2; seed <= 6; seed++) {
            check_verdict(&needs[index], "segments", seed, 0, needs[index].verdicts[2]);
            check_verdict(&needs[index], "paged", seed, 0, needs[index].verdicts[3]);
        }
    }
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
        const scene *shown = verdict(each->what, need_of(each->name), each->on, 1, 0);
        CHECK_MSG(shown->verdict == NEED_FAIL && !shown->trouble.exit_code, "%s on %s: %s: red", each->what_text,
                  each->on, each->name);
        if (shown->verdict != NEED_FAIL) printf("#   verdict %d: %s\n", (int)shown->verdict, shown->said);
        if (each->what == NOTHING) continue;
        shown = verdict(NOTHING, need_of(each->name), each->on, 1, 0);
        CHECK_MSG(shown->verdict == NEED_PASS, "without it: green");
        if (shown->verdict != NEED_PASS) printf("#   verdict %d: %s\n", (int)shown->verdict, shown->said);
    }
}

static void test_every_need_can_fail(void)
{
    for (size_t index = 0; index < NEEDS; index++) {
        int red = 0;
        for (size_t at = 0; at < PLANTINGS; at++) red += !strcmp(plantings[at].name, needs[index].name);
        CHECK_MSG(red > 0, "%s: turns red for something", needs[index].name);
    }
}

int main(void)
{
    test_verdicts();
    test_other_seeds();
    test_each_is_seen();
    test_every_need_can_fail();
    return tap_done();
}
