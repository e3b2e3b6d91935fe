/* Scenarios about what is held: what stays, what goes back, what is used again.
   It must not know how a policy keeps what is free.
   Tested by tests/needs.t. */
#include <inttypes.h>

#include "scenarios.h"

void held_trim(scene *self)
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
        scene_say(self, ptr && !trimmed && after <= before && lives && again, "%s freed while 1 MiB stays live: %s "
                  "in use then, %s after trim, as before it%s", scene_size(self, tensor), scene_size(self, freed),
                  scene_size(self, after), again ? "; and it can be had again" : "");
    }
    ground_close(&on);
}

enum { HELD_PASSES = 5 };

void held_again(scene *self)
{
    const ground_shape shape = { 0 };
    ground on;
    op_stream stream;
    ground_played played;
    uint64_t calls[HELD_PASSES + 1], used[HELD_PASSES] = { 0 };
    if (scene_workload(self, "train:steps=1,layers=4,hidden=1024", &stream)) return;
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
            scene_say(self, second <= first / 100 && !later && flat, "a step of training %d times: %" PRIu64
                      " driver calls in the first, %" PRIu64 " in the second, %" PRIu64 " in all later ones; %s in "
                      "use after the first, %s after the last", HELD_PASSES, first, second, later,
                      scene_size(self, used[0]), scene_size(self, used[HELD_PASSES - 1]));
        }
    }
    ground_close(&on);
    op_stream_free(&stream);
}

void held_bound(scene *self)
{
    const ground_shape shape = { .capacity_bytes = 64 * GIB };
    ground on;
    op_stream stream;
    ground_played played;
    if (scene_workload(self, "train:steps=2,layers=8,hidden=2048", &stream)) return;
    if (!ground_open(&on, self, &shape) && !ground_play(&on, &stream, &played)) {
        double ratio = (double)played.reserved_peak_bytes / (double)played.live_peak_bytes;
        scene_say(self, !played.refused && ratio <= 1.25, "two steps of training, as an eager program runs them: "
                  "%.4f times the lower bound, which a perfect plan of all lifetimes could not pass (1.2500)", ratio);
    }
    ground_close(&on);
    op_stream_free(&stream);
}
