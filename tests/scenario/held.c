/* Scenarios about what is held: what stays, what goes back, what is used again.
   It must not know how a policy keeps what is free.
   Included by test_needs.c. */
#include "scene.h"

static void held_trim(scene *self)
{
    const uint64_t tensor = 4 * GIB;
    const ground_shape shape = { 0 };
    ground on;
    if (!ground_open(&on, self, &shape)) {
        void *weights = ground_alloc(&on, MIB, NULL);
        uint64_t before = ground_used(&on);
        void *ptr = ground_alloc(&on, tensor, NULL);
        if (ptr) ground_free(&on, ptr, tensor, NULL);
        uint64_t freed = ground_used(&on);
        gpuarena_result trimmed = pool_trim(&on.pool);
        uint64_t after = ground_used(&on);
        int lives = weights && device_holds(on.on, weights, MIB);
        void *again = ground_alloc(&on, tensor, NULL);
        scene_say(self, ptr && !trimmed && after <= before && lives && again, "in use %" PRIu64 ", freed %" PRIu64
                  ", trimmed %" PRIu64 "; lives %d, again %d", before, freed, after, lives, !!again);
    }
    ground_close(&on);
}

enum { HELD_PASSES = 5 };

static void held_again(scene *self)
{
    const ground_shape shape = { 0 };
    ground on;
    op_stream stream;
    ground_played played;
    uint64_t calls[HELD_PASSES + 1], used[HELD_PASSES] = { 0 };
    if (scene_workload(self, "train:steps=1,layers=4,hidden=1024,seq=2048", &stream)) return;
    if (!ground_open(&on, self, &shape)) {
        calls[0] = ground_calls(&on);
        for (int pass = 0; pass < HELD_PASSES; pass++) {
            if (ground_play(&on, &stream, &played)) break;
            calls[pass + 1] = ground_calls(&on);
            used[pass] = ground_used(&on);
        }
        if (!self->trouble.exit_code) {
            uint64_t first = calls[1] - calls[0], second = calls[2] - calls[1], later = calls[HELD_PASSES] - calls[2];
            int flat = used[0] && used[HELD_PASSES - 1] <= used[0] + used[0] / 100;
            scene_say(self, second <= first / 100 && !later && flat, "calls %" PRIu64 ", %" PRIu64 ", later %" PRIu64
                      "; in use %" PRIu64 ", at last %" PRIu64, first, second, later, used[0],
                      used[HELD_PASSES - 1]);
        }
    }
    ground_close(&on);
    op_stream_free(&stream);
}

static void held_bound(scene *self)
{
    const ground_shape shape = { .capacity_bytes = 64 * GIB };
    ground on;
    op_stream stream;
    ground_played played;
    if (scene_workload(self, "train:steps=2,layers=8,hidden=2048", &stream)) return;
    if (!ground_open(&on, self, &shape) && !ground_play(&on, &stream, &played)) {
        double ratio = (double)played.reserved_peak_bytes / (double)played.live_peak_bytes;
        scene_say(self, !played.refused && ratio <= 1.25, "%.4f times the lower bound", ratio);
    }
    ground_close(&on);
    op_stream_free(&stream);
}

/* ---- the same sequence again and again, with no more memory than the first time took */
static void held_repeat(scene *self)
{
    const ground_shape open = { .capacity_bytes = 64 * GIB };
    op_stream stream;
    ground_played played = { 0, 0, 0, 0 };
    ground on;
    int passes = 0;
    if (scene_workload(self, "train:steps=1,layers=6,hidden=1024,seq=2048", &stream)) return;
    if (!ground_open(&on, self, &open)) ground_play(&on, &stream, &played);
    uint64_t most = scene_is_over(self) ? 0 : ground_held_peak(&on);
    ground_close(&on);
    const ground_shape tight = { .capacity_bytes = policy_takes_limit(self->chosen) ? 64 * GIB : most,
                                 .limit_bytes = most };
    if (most && !ground_open(&on, self, &tight)) {
        for (; passes < HELD_PASSES && !ground_play(&on, &stream, &played) && !played.refused; passes++) continue;
        scene_say(self, passes == HELD_PASSES, "%d of %d steps are served under %" PRIu64, passes, HELD_PASSES, most);
        ground_close(&on);
    }
    op_stream_free(&stream);
}

/* ---- eager or planned lifetimes: what goes back to the pool at once is had again at once */
enum { HELD_LAYERS = 48 };

/* A forward and a backward pass; eager: nothing is freed before the step ends. What was held at most. */
static uint64_t held_step(scene *self, int is_eager, uint64_t *live_peak)
{
    const ground_shape shape = { 0 };
    const uint64_t made = 24 * MIB, scratch = 40 * MIB;
    void *outputs[HELD_LAYERS] = { NULL }, *scratches[2 * HELD_LAYERS] = { NULL };
    ground on;
    uint64_t live = 0;
    *live_peak = 0;
    if (ground_open(&on, self, &shape)) {
        ground_close(&on);
        return 0;
    }
    for (int at = 0; at < 2 * HELD_LAYERS; at++) {
        int layer = at < HELD_LAYERS ? at : 2 * HELD_LAYERS - 1 - at;
        scratches[at] = ground_alloc(&on, scratch, NULL);
        if (at < HELD_LAYERS) outputs[layer] = ground_alloc(&on, made, NULL);
        live += scratch + (at < HELD_LAYERS ? made : 0);
        if (live > *live_peak) *live_peak = live;
        if (is_eager) continue;
        if (scratches[at]) ground_free(&on, scratches[at], scratch, NULL);
        if (at >= HELD_LAYERS && outputs[layer]) ground_free(&on, outputs[layer], made, NULL);
        live -= scratch + (at >= HELD_LAYERS ? made : 0);
    }
    uint64_t held = ground_held_peak(&on);
    ground_close(&on);
    return held;
}

static void held_lifetimes(scene *self)
{
    uint64_t eager_live, planned_live, eager = held_step(self, 1, &eager_live);
    uint64_t planned = held_step(self, 0, &planned_live);
    if (!eager || !planned) return;
    double asked = (double)planned_live / (double)eager_live, had = (double)planned / (double)eager;
    scene_say(self, had <= asked + 0.1, "eager %" PRIu64 ", planned %" PRIu64 ": %.2f held, %.2f live", eager,
              planned, had, asked);
}
