/* Scenarios about looking inside: reports, events, peaks, addresses, and blocks that grow where they are.
   It must not know how a policy keeps its books.
   Tested by tests/needs.t and tests/test_needs.c. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "stress/base/splitmix64.h"
#include "scenarios.h"

enum { INSPECT_BLOCKS = 48, INSPECT_STEPS = 300, INSPECT_JSON = 1 << 18 };

typedef struct inspect_blocks { void *ptr[INSPECT_BLOCKS]; uint64_t bytes[INSPECT_BLOCKS]; } inspect_blocks;

/* Random blocks of 4 KiB to 16 MiB come and go; *live_peak: the most that was asked for at once. */
static void inspect_churn(ground *on, inspect_blocks *blocks, uint64_t *live_peak)
{
    uint64_t random = on->of->seed, live = 0;
    *live_peak = 0;
    for (int step = 0; step < INSPECT_STEPS; step++) {
        uint64_t at = splitmix64_below(&random, INSPECT_BLOCKS);
        if (blocks->ptr[at]) {
            ground_free(on, blocks->ptr[at], blocks->bytes[at], NULL);
            live -= blocks->bytes[at];
            blocks->ptr[at] = NULL;
            continue;
        }
        blocks->bytes[at] = ((uint64_t)4096 << splitmix64_below(&random, 12)) + splitmix64_below(&random, 4096);
        blocks->ptr[at] = ground_alloc(on, blocks->bytes[at], NULL);
        if (blocks->ptr[at]) live += blocks->bytes[at];
        if (live > *live_peak) *live_peak = live;
    }
}

/* ---- the report */
typedef struct inspect_text { char *text; size_t length; } inspect_text;

static gpuarena_result inspect_keep(const char *text, size_t bytes, void *user)
{
    inspect_text *kept = user;
    if (kept->length + bytes >= INSPECT_JSON) return GPUARENA_STOPPED;
    memcpy(kept->text + kept->length, text, bytes);
    kept->length += bytes;
    kept->text[kept->length] = '\0';
    return GPUARENA_OK;
}

static uint64_t inspect_times(const char *text, const char *word)
{
    uint64_t count = 0;
    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) count++;
    return count;
}

/* How many of the figures stand in the JSON as they are in gpuarena_stats. */
static int inspect_figures(const char *json, const gpuarena_stats *stats, int *all)
{
    char wanted[64];
    int right = 0;
    *all = 0;
#define X(field) \
    snprintf(wanted, sizeof wanted, "\"" #field "\":%" PRIu64, stats->field); \
    right += strstr(json, wanted) != NULL; \
    ++*all;
    GPUARENA_STATS(X)
#undef X
    return right;
}

typedef struct inspect_walk { uint64_t live_bytes, live_count, free_bytes; } inspect_walk;

static gpuarena_result inspect_visit(const gpuarena_block *block, void *user)
{
    inspect_walk *seen = user;
    if (block->state == GPUARENA_STATE_LIVE) {
        seen->live_bytes += block->bytes;
        seen->live_count++;
    } else {
        seen->free_bytes += block->resident_bytes;
    }
    return GPUARENA_OK;
}

static void inspect_compare(ground *on, char *room)
{
    inspect_text json = { room, 0 };
    inspect_walk seen = { 0, 0, 0 };
    gpuarena_stats stats;
    gpuarena_device card = GPUARENA_INIT;
    int all;
    gpuarena_walk_stats(on->pool.arena, &stats);
    gpuarena_result written = gpuarena_report(on->pool.arena, GPUARENA_FORMAT_JSON, inspect_keep, &json);
    gpuarena_walk(on->pool.arena, inspect_visit, &seen);
    gpuarena_get_device(on->pool.arena, &card);
    int right = inspect_figures(room, &stats, &all);
    uint64_t told = inspect_times(room, "\"state\":\"live\"");
    int same = seen.live_bytes == stats.live_bytes && seen.live_count == stats.live_count && told == stats.live_count
        && seen.free_bytes <= stats.pending_bytes + stats.cached_bytes;
    uint64_t used = (uint64_t)((int64_t)stats.reserved_bytes + card.other_bytes);
    scene_say(on->of, !written && right == all && same && used == ground_used(on), "of %d figures %d are the same "
              "in the JSON report; its %" PRIu64 " live blocks, %s, are those of the statistics and of the walk; "
              "reserved + other = %s, as the device says", all, right, told, scene_size(on->of, seen.live_bytes),
              scene_size(on->of, used));
}

void inspect_report(scene *self)
{
    const ground_shape shape = { .context_bytes = 300 * MIB };
    inspect_blocks blocks;
    ground on;
    uint64_t peak;
    memset(&blocks, 0, sizeof blocks);
    if (scene_lacks(self, "report: nobody can say what lies where")) return;
    char *room = calloc(1, INSPECT_JSON);
    if (!room) problem_set(&self->trouble, EXIT_HARNESS, "no host memory for a report");
    else if (!ground_open(&on, self, &shape)) {
        inspect_churn(&on, &blocks, &peak);
        inspect_compare(&on, room);
    }
    if (room) ground_close(&on);
    free(room);
}

/* ---- events */
typedef struct inspect_events { uint64_t count[GPUARENA_ACTION_MISUSE + 1], live_bytes, grown_bytes; } inspect_events;

static void inspect_observe(gpuarena *arena, const gpuarena_action *action, void *user)
{
    inspect_events *seen = user;
    (void)arena;
    seen->count[action->kind]++;
    if (action->kind == GPUARENA_ACTION_ALLOC) seen->live_bytes += action->block.bytes;
    if (action->kind == GPUARENA_ACTION_FREE) seen->live_bytes -= action->block.bytes;
    if (action->kind == GPUARENA_ACTION_GROW) seen->grown_bytes += action->block.bytes;
    if (action->kind == GPUARENA_ACTION_RELEASE) seen->grown_bytes -= action->block.bytes;
}

static void inspect_set_observer(gpuarena_config *config, void *user)
{
    config->observe = inspect_observe;
    config->observe_user = user;
}

void inspect_hook(scene *self)
{
    inspect_events seen;
    inspect_blocks blocks;
    const ground_shape shape = { .limit_bytes = 64 * MIB, .adapt = inspect_set_observer, .user = &seen };
    ground on;
    uint64_t peak;
    memset(&seen, 0, sizeof seen);
    memset(&blocks, 0, sizeof blocks);
    if (scene_lacks(self, "events that a profiler could have")) return;
    if (!ground_open(&on, self, &shape)) {
        gpuarena_stats stats;
        inspect_churn(&on, &blocks, &peak);
        (void)ground_alloc(&on, 2 * shape.limit_bytes, NULL);
        gpuarena_trim(on.pool.arena, 0, NULL);
        gpuarena_get_stats(on.pool.arena, &stats);
        int same = seen.count[GPUARENA_ACTION_ALLOC] == stats.alloc_count
            && seen.count[GPUARENA_ACTION_FREE] == stats.free_count
            && seen.count[GPUARENA_ACTION_FAIL] == stats.fail_count && stats.fail_count > 0
            && seen.live_bytes == stats.live_bytes && seen.grown_bytes == stats.reserved_bytes;
        scene_say(self, same, "events: %" PRIu64 " allocations, %" PRIu64 " frees, %" PRIu64 " failures, %" PRIu64
                  " growths, %" PRIu64 " releases; what they add up to, %s live and %s reserved, is%s what the "
                  "statistics say", seen.count[GPUARENA_ACTION_ALLOC], seen.count[GPUARENA_ACTION_FREE],
                  seen.count[GPUARENA_ACTION_FAIL], seen.count[GPUARENA_ACTION_GROW],
                  seen.count[GPUARENA_ACTION_RELEASE], scene_size(self, seen.live_bytes),
                  scene_size(self, seen.grown_bytes), same ? "" : " not");
    }
    ground_close(&on);
}

/* ---- peaks */
void inspect_peaks(scene *self)
{
    const ground_shape shape = { 0 };
    inspect_blocks blocks;
    ground on;
    gpuarena_stats first, second;
    uint64_t peak;
    memset(&blocks, 0, sizeof blocks);
    if (scene_lacks(self, "peak of its own")) return;
    if (!ground_open(&on, self, &shape)) {
        inspect_churn(&on, &blocks, &peak);
        void *ptr = ground_alloc(&on, 200 * MIB, NULL);
        gpuarena_get_stats(on.pool.arena, &first);
        if (ptr) ground_free(&on, ptr, 200 * MIB, NULL);
        if (peak < first.requested_bytes) peak = first.requested_bytes;
        uint64_t held = ground_held_peak(&on);
        gpuarena_reset_peaks(on.pool.arena);
        void *next = ground_alloc(&on, MIB, NULL);
        if (next) ground_free(&on, next, MIB, NULL);
        gpuarena_get_stats(on.pool.arena, &second);
        scene_say(self, ptr && next && first.requested_peak_bytes == peak && first.reserved_peak_bytes == held
                  && second.requested_peak_bytes == first.requested_bytes - 199 * MIB, "at most %s were asked for "
                  "and %s reserved, counted beside it %s and %s; of the next step alone, behind "
                  "gpuarena_reset_peaks, %s were asked for", scene_size(self, first.requested_peak_bytes),
                  scene_size(self, first.reserved_peak_bytes), scene_size(self, peak), scene_size(self, held),
                  scene_size(self, second.requested_peak_bytes));
    }
    ground_close(&on);
}

/* ---- a block that grows where it is */
void inspect_resize(scene *self)
{
    const uint64_t bytes = 8 * MIB;
    const ground_shape shape = { .limit_bytes = 16 * MIB };
    ground on;
    if (scene_lacks(self, "way to grow a block where it is: a copy takes both at once")) return;
    if (!ground_open(&on, self, &shape)) {
        gpuarena_reserve(on.pool.arena, 16 * MIB);
        void *one = ground_alloc(&on, bytes, NULL), *two = ground_alloc(&on, bytes, NULL);
        void *low = (char *)one < (char *)two ? one : two, *high = low == one ? two : one;
        if (one) device_fill(on.on, NULL, low, bytes, 77, &self->trouble);
        int refused = gpuarena_resize(on.pool.arena, low, 2 * bytes, NULL) == GPUARENA_OUT_OF_MEMORY;
        if (high) ground_free(&on, high, bytes, NULL);
        int grown = gpuarena_resize(on.pool.arena, low, 2 * bytes, NULL) == GPUARENA_OK;
        uint64_t bad = 0;
        int intact = low && device_verify(on.on, low, bytes, 77, &bad, &self->trouble) == 1;
        scene_say(self, one && two && refused && grown && intact, "8 MiB to 16 under a limit of 16 MiB: %s while "
                  "what follows is taken; %s where it is, contents %s, when that is free",
                  refused ? "refused" : "grown",
                  grown ? "grown" : "refused", intact ? "kept" : "lost");
    }
    ground_close(&on);
}

/* ---- addresses, and what backs them */
static sim_counters inspect_counters(const ground *on)
{
    sim_counters counted;
    sim_get_counters(device_simulated(on->on), 0, &counted);
    return counted;
}

/* Two blocks of 300 MiB; one of them is freed, and what is idle given back. */
static void inspect_backed(ground *on)
{
    gpuarena_stats stats;
    const uint64_t bytes = 300 * MIB;
    void *one = ground_alloc(on, bytes, NULL), *two = ground_alloc(on, bytes, NULL);
    sim_counters live = inspect_counters(on);
    gpuarena_get_stats(on->pool.arena, &stats);
    if (one) ground_free(on, one, bytes, NULL);
    gpuarena_trim(on->pool.arena, 0, NULL);
    sim_counters after = inspect_counters(on);
    scene_say(on->of, one && two && live.reserved_address_bytes >= 2 * GIB && live.held_bytes == stats.reserved_bytes
              && after.held_bytes == bytes && after.reserved_address_bytes == live.reserved_address_bytes,
              "of %s of addresses %s are backed, by %" PRIu64 " mappings, and reserved is %s; half is freed and "
              "trimmed: of %s %s are backed, by %" PRIu64, scene_size(on->of, live.reserved_address_bytes),
              scene_size(on->of, live.held_bytes), live.mapping_count, scene_size(on->of, stats.reserved_bytes),
              scene_size(on->of, after.reserved_address_bytes), scene_size(on->of, after.held_bytes),
              after.mapping_count);
}

void inspect_virtual(scene *self)
{
    const ground_shape shape = { .limit_bytes = 1 * GIB };
    ground on;
    gpuarena_device card = GPUARENA_INIT;
    if (!ground_open(&on, self, &shape)) {
        int is_paged = on.pool.arena && !gpuarena_get_device(on.pool.arena, &card) && card.paged;
        if (is_paged) inspect_backed(&on);
        else scene_none(self, "%s has no addresses apart from memory", self->chosen->text);
    }
    ground_close(&on);
}
