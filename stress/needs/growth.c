/* Scenarios about growth: what is taken first, and how much more than is needed.
   It must not know how a policy chooses its steps.
   Tested by tests/needs.t. */
#include <inttypes.h>

#include "../workload/splitmix64.h"
#include "scenarios.h"

/* Held at creation, and with one block of 1 MiB. -1: not opened. */
static int growth_touch(scene *self, const ground_shape *shape, uint64_t *at_creation, uint64_t *with_one)
{
    ground on;
    int failed = ground_open(&on, self, shape);
    if (!failed) {
        *at_creation = ground_held(&on);
        (void)ground_alloc(&on, MIB, NULL);
        *with_one = ground_held(&on);
    }
    ground_close(&on);
    return failed;
}

void growth_first_touch(scene *self)
{
    const uint64_t limit = 1 * GIB, most = 64 * MIB;
    const ground_shape grows = { .limit_bytes = limit };
    const ground_shape fixed = { .limit_bytes = limit, .adapt = ground_fixed };
    uint64_t start, first, whole, then;
    if (growth_touch(self, &grows, &start, &first)) return;
    if (self->chosen->family != POLICY_ARENA) {
        scene_say(self, 0, "%s at the start, %s with the first MiB; %s has no switch to take %s beforehand",
                  scene_size(self, start), scene_size(self, first), self->chosen->text, scene_size(self, limit));
        return;
    }
    if (growth_touch(self, &fixed, &whole, &then)) return;
    scene_say(self, !start && first <= most && whole == limit && then == limit, "growing: %s at creation, %s with "
              "the first MiB (at most %s); growth=fixed: %s at creation, %s with it, of a limit of %s",
              scene_size(self, start), scene_size(self, first), scene_size(self, most), scene_size(self, whole),
              scene_size(self, then), scene_size(self, limit));
}

/* The highest of reserved over live, while tensors of 1 to 32 MiB come to 4 GiB; from 512 MiB on. */
static double growth_ratio(ground *on)
{
    uint64_t random = on->of->seed, live = 0;
    double worst = 0.0;
    while (live < 4 * GIB) {
        uint64_t bytes = MIB + splitmix64_below(&random, 31 * MIB / 512) * 512;
        if (!ground_alloc(on, bytes, NULL)) return 0.0;
        live += bytes;
        double ratio = (double)ground_reported(on) / (double)live;
        if (live >= 512 * MIB && ratio > worst) worst = ratio;
    }
    return worst;
}

static void growth_exact(gpuarena_config *config, void *user)
{
    ground_fixed(config, user);
    config->growth = GPUARENA_GROWTH_EXACT;
}

static double growth_worst(scene *self, const ground_shape *shape)
{
    ground on;
    double worst = ground_open(&on, self, shape) ? 0.0 : growth_ratio(&on);
    ground_close(&on);
    return worst;
}

void growth_overshoot(scene *self)
{
    const ground_shape own = { 0 }, exact = { .adapt = growth_exact };
    double mine = growth_worst(self, &own), least = growth_worst(self, &exact);
    scene_say(self, mine > 0.0 && mine <= 2.0 && least > 0.0 && least <= 1.2, "while tensors of 1 to 32 MiB come to "
              "4 GiB, from 512 MiB on at most %.3f times what is live is held (2.000)%s%.3f%s", mine,
              self->chosen->family == POLICY_ARENA ? "; with growth=exact " : " and again ", least, " (1.200)");
}
