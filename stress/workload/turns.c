/* Weighted draws; every now and then a weight is drawn anew, so that threads fall behind and catch up.
   Must not know what a turn is.
   Tested by tests/test_workload_larson.c and tests/test_workload_mix.c. */
#include "turns.h"

#include "../base/splitmix64.h"

enum { TURNS_WEIGHTS = 4, TURNS_MOST_UNCHANGED = 256 };      /* weights: 1 4 16 64 */

uint64_t turns_seed(uint64_t seed, uint64_t thread)
{
    uint64_t state = thread;
    if (!thread) return seed;
    state = seed ^ splitmix64_next(&state);
    return splitmix64_next(&state);
}

static uint32_t turns_draw_weight(turns *self)
{
    return (uint32_t)1 << 2 * splitmix64_below(&self->random, TURNS_WEIGHTS);
}

static void turns_draw_change(turns *self)
{
    self->left = 1 + (uint32_t)splitmix64_below(&self->random, TURNS_MOST_UNCHANGED);
}

void turns_begin(turns *self, uint64_t seed, uint32_t count)
{
    self->random = turns_seed(seed, UINT64_MAX);             /* no thread's */
    self->count = count;
    for (uint32_t thread = 0; thread < count; thread++) self->weights[thread] = turns_draw_weight(self);
    turns_draw_change(self);
}

uint32_t turns_next(turns *self, const uint8_t *can_run)
{
    uint64_t total = 0;
    uint32_t next = 0;
    if (self->left-- == 0) {
        uint64_t thread = splitmix64_below(&self->random, self->count);      /* drawn before its weight */
        self->weights[thread] = turns_draw_weight(self);
        turns_draw_change(self);
    }
    for (uint32_t at = 0; at < self->count; at++) total += can_run[at] ? self->weights[at] : 0;
    uint64_t drawn = splitmix64_below(&self->random, total);
    for (;; next++) {                            /* ends, since drawn is below the sum of those that can run */
        if (!can_run[next]) continue;
        if (drawn < self->weights[next]) return next;
        drawn -= self->weights[next];
    }
}
