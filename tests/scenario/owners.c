/* Scenarios about whose memory it is: by tag, by scope, by tenant, by device.
   It must not know how a policy keeps them apart.
   Tested by tests/needs.t and tests/test_needs.c. */
#include <inttypes.h>
#include <string.h>

#include "scenarios.h"

/* ---- by tag: a model in float32, and in float64 */
enum { OWNERS_TAGS = 3, OWNERS_LAYERS = 12 };
static const char *const owners_names[OWNERS_TAGS] = { "weights", "activations", "gradients" };

typedef struct owners_model { uint64_t live[OWNERS_TAGS], all; int is_told; } owners_model;

static void owners_layers(ground *on, uint64_t scalar)
{
    for (int at = 0; at < OWNERS_TAGS * OWNERS_LAYERS; at++) {
        uint32_t before = gpuarena_tag_scope(gpuarena_tag(owners_names[at % OWNERS_TAGS]));
        (void)ground_alloc(on, scalar * (uint64_t)(at % OWNERS_TAGS + 1) * 1000 * 1024, NULL);
        gpuarena_tag_scope(before);
    }
}

/* What is live by tag, of all, and whether a failure tells of the one that has most. */
static void owners_tagged(scene *self, uint64_t scalar, owners_model *made)
{
    const ground_shape shape = { .limit_bytes = 2 * GIB };
    char text[512];
    ground on;
    gpuarena_failure failure;
    gpuarena_stats stats;
    if (!ground_open(&on, self, &shape)) {
        owners_layers(&on, scalar);
        for (int at = 0; at < OWNERS_TAGS; at++) {
            gpuarena_tag_stats of = GPUARENA_INIT;
            (void)gpuarena_get_tag(on.pool.arena, gpuarena_tag(owners_names[at]), &of);
            made->live[at] = of.live_bytes;
        }
        gpuarena_get_stats(on.pool.arena, &stats);
        made->all = stats.live_bytes;
        (void)ground_alloc(&on, 3 * GIB, NULL);
        gpuarena_last_failure(on.pool.arena, &failure);
        gpuarena_failure_text(&failure, text, sizeof text);
        made->is_told = strstr(text, "live by tag: gradients") != NULL;
    }
    ground_close(&on);
}

void owners_tags(scene *self)
{
    owners_model single, twice;
    memset(&single, 0, sizeof single);
    memset(&twice, 0, sizeof twice);
    if (scene_lacks(self, "names for what memory is used for")) return;
    owners_tagged(self, 4, &single);
    owners_tagged(self, 8, &twice);
    int doubled = 1;
    uint64_t sum = 0;
    for (int at = 0; at < OWNERS_TAGS; at++) {
        doubled &= single.live[at] > 0 && twice.live[at] * 100 >= single.live[at] * 199
            && twice.live[at] * 100 <= single.live[at] * 201;
        sum += single.live[at];
    }
    scene_say(self, doubled && sum == single.all && single.is_told, "in float32 weights, activations and gradients "
              "have %s, %s and %s, together %s of what is live; in float64 %.3f times; a failure %s who has most",
              scene_size(self, single.live[0]), scene_size(self, single.live[1]), scene_size(self, single.live[2]),
              sum == single.all ? "all" : "not all", sum ? (double)twice.all / (double)sum : 0.0,
              single.is_told ? "tells" : "does not tell");
}

/* ---- by scope: a gradient tape's activations, given up together */
enum { OWNERS_DEPTH = 40 };

void owners_scope(scene *self)
{
    const uint64_t activation = 16 * MIB, weights = 64 * MIB;
    const ground_shape shape = { 0 };
    ground on;
    gpuarena_stats full, empty;
    if (scene_lacks(self, "call that gives up what a step has made: each block is to be found and freed")) return;
    if (!ground_open(&on, self, &shape)) {
        void *kept = ground_alloc(&on, weights, NULL);
        uint64_t calls = 0, served = 0;
        for (int step = 0; step < 3; step++) {
            uint64_t mark = gpuarena_mark(on.pool.arena);
            for (int at = 0; at < OWNERS_DEPTH; at++) served += ground_alloc(&on, activation, NULL) != NULL;
            gpuarena_get_stats(on.pool.arena, &full);
            if (gpuarena_free_since(on.pool.arena, mark, 0, NULL)) break;
            gpuarena_get_stats(on.pool.arena, &empty);
            if (!step) calls = ground_calls(&on);
        }
        uint64_t later = ground_calls(&on) - calls;
        gpuarena_block block;
        int lives = !gpuarena_lookup(on.pool.arena, kept, &block) && block.state == GPUARENA_STATE_LIVE;
        scene_say(self, kept && served == 3 * OWNERS_DEPTH && empty.live_bytes == weights && lives && !later
                  && full.live_bytes == weights + OWNERS_DEPTH * activation, "a tape of 40 activations: %s live, %s "
                  "behind gpuarena_free_since; in the next two steps %" PRIu64 " driver calls",
                  scene_size(self, full.live_bytes), scene_size(self, empty.live_bytes), later);
    }
    ground_close(&on);
}

/* ---- at the end: what was forgotten is told, and given up by force */
enum { OWNERS_FORGOTTEN = 7 };

static gpuarena *owners_forget(ground *on)
{
    gpuarena *made = NULL;
    void *ptr = NULL;
    gpuarena_config config = on->of->chosen->config;
    config.driver = device_driver(on->on);
    (void)gpuarena_create(&config, &made);
    uint32_t before = gpuarena_tag_scope(gpuarena_tag("kv"));
    for (int at = 0; at < OWNERS_FORGOTTEN; at++) (void)gpuarena_alloc(made, &ptr, 3 * MIB, NULL);
    gpuarena_tag_scope(before);
    return made;
}

/* Of an end that was refused: what it tells, and that it comes once all is given up. */
static void owners_told(ground *on, gpuarena *arena)
{
    char text[512] = "";
    gpuarena_failure failure;
    gpuarena_last_failure(arena, &failure);
    gpuarena_failure_text(&failure, text, sizeof text);
    int told = failure.most[0].count == OWNERS_FORGOTTEN && failure.most[0].bytes == OWNERS_FORGOTTEN * 3 * MIB
        && strstr(text, "kv") != NULL;
    int ended = !gpuarena_reset(arena, NULL) && !gpuarena_destroy(arena);
    uint64_t held = ground_held(on);
    scene_say(on->of, told && ended && !held, "%d blocks of 3 MiB are forgotten: gpuarena_destroy refuses, and "
              "tells %s; behind gpuarena_reset it %s, with %s held", OWNERS_FORGOTTEN,
              told ? "their size and tag" : "nothing",
              ended ? "ends" : "does not end", scene_size(on->of, held));
}

void owners_leaks(scene *self)
{
    const ground_shape shape = { 0 };
    ground on;
    if (scene_lacks(self, "end that tells what is still live: it goes with the process")) return;
    if (!ground_open(&on, self, &shape)) {
        gpuarena *arena = owners_forget(&on);
        if (gpuarena_destroy(arena) == GPUARENA_STILL_IN_USE) owners_told(&on, arena);
        else scene_say(self, 0, "%d blocks are forgotten, and gpuarena_destroy ends without a word",
                       OWNERS_FORGOTTEN);
    }
    ground_close(&on);
}

/* ---- tenants: 5,000 MiB, and the rest of 16 GiB */
static gpuarena *owners_tenant(ground *on, const char *name, uint64_t limit_bytes)
{
    gpuarena *made = NULL;
    gpuarena_config config = on->of->chosen->config;
    snprintf(config.name, sizeof config.name, "%s", name);
    config.parent = on->pool.arena;
    config.driver = device_driver(on->on);
    config.limit_bytes = limit_bytes;
    (void)gpuarena_create(&config, &made);
    return made;
}

/* All of its limit in one block, then 2 MiB more, for which it must be refused. The other is as it was. */
static int owners_fill(gpuarena *arena, uint64_t limit_bytes, const gpuarena *other)
{
    void *ptr = NULL, *more = NULL;
    gpuarena_failure failure;
    gpuarena_stats before, after, mine;
    gpuarena_get_stats(other, &before);
    int served = !gpuarena_alloc(arena, &ptr, limit_bytes, NULL);
    int refused = gpuarena_alloc(arena, &more, 2 * MIB, NULL) == GPUARENA_OUT_OF_MEMORY;
    gpuarena_last_failure(arena, &failure);
    gpuarena_get_stats(other, &after);
    gpuarena_get_stats(arena, &mine);
    return served && refused && failure.reason == GPUARENA_REASON_OVER_LIMIT && mine.reserved_bytes == limit_bytes
        && !memcmp(&before, &after, sizeof before);
}

static void owners_share(ground *on, uint64_t first, uint64_t rest)
{
    scene *self = on->of;
    gpuarena_stats mine, theirs, all;
    gpuarena *one = owners_tenant(on, "one", first), *two = owners_tenant(on, "two", rest);
    gpuarena *third = owners_tenant(on, "three", 2 * MIB);
    int kept = owners_fill(one, first, two), other = owners_fill(two, rest, one);
    gpuarena_get_stats(one, &mine);
    gpuarena_get_stats(two, &theirs);
    gpuarena_get_stats(on->pool.arena, &all);
    uint64_t held = ground_held(on);
    int sums = all.children_bytes == mine.reserved_bytes + theirs.reserved_bytes && all.children_bytes == held;
    scene_say(self, one && two && !third && kept && other && sums, "tenants of %s and of the rest of 16 GiB hold %s "
              "and %s, and 2 MiB more are refused for their own limits: %s; together %s, on the device %s; a third "
              "is %s",
              scene_size(self, first), scene_size(self, mine.reserved_bytes), scene_size(self, theirs.reserved_bytes),
              kept && other ? "so it is, and the other is as it was" : "so it is not",
              scene_size(self, all.children_bytes), scene_size(self, held), third ? "taken" : "refused");
    gpuarena_reset(one, NULL);
    gpuarena_reset(two, NULL);
    gpuarena_destroy(one);
    gpuarena_destroy(two);
    gpuarena_destroy(third);
}

void owners_tenants(scene *self)
{
    const ground_shape shape = { .limit_bytes = 16 * GIB };
    ground on;
    if (scene_lacks(self, "arenas under an arena: who comes first has all")) return;
    if (!ground_open(&on, self, &shape)) owners_share(&on, 5000 * MIB, 16 * GIB - 5000 * MIB);
    ground_close(&on);
}

/* ---- two devices: an arena each, of its own limit */
void owners_devices(scene *self)
{
    const ground_shape shape = { .device_count = 2, .limit_bytes = 1 * GIB };
    ground on;
    gpuarena_driver second;
    gpuarena *other = NULL;
    gpuarena_device cards[2];
    sim_counters counted;
    if (scene_lacks(self, "place for a device and its limit: the current device decides")) return;
    if (!ground_open(&on, self, &shape)) {
        sim_driver(device_simulated(on.on), 1, &second);
        gpuarena_config config = self->chosen->config;
        config.driver = &second;
        config.limit_bytes = 3 * GIB;
        int made = !gpuarena_create(&config, &other);
        void *here = ground_alloc(&on, 512 * MIB, NULL), *there = NULL;
        (void)gpuarena_alloc(other, &there, 2 * GIB, NULL);
        gpuarena_get_device(on.pool.arena, &cards[0]);
        gpuarena_get_device(other, &cards[1]);
        sim_get_counters(device_simulated(on.on), 1, &counted);
        int apart = gpuarena_free(on.pool.arena, there, NULL) == GPUARENA_WRONG_ARENA
            && gpuarena_owner(there) == other;
        int listed = cards[0].device == 0 && cards[1].device == 1 && cards[1].other_bytes == 0;
        scene_say(self, made && here && there && apart && listed && counted.held_bytes >= 2 * GIB
                  && ground_held(&on) < 1 * GIB, "an arena on each of two devices, limits of 1 and 3 GiB: device %d "
                  "has %s in use, device %d %s; a block of one freed on the other is %s", (int)cards[0].device,
                  scene_size(self, cards[0].total_bytes - cards[0].free_bytes), (int)cards[1].device,
                  scene_size(self, cards[1].total_bytes - cards[1].free_bytes), apart ? "refused by name" : "taken");
        gpuarena_free(other, there, NULL);
        gpuarena_destroy(other);
    }
    ground_close(&on);
}
