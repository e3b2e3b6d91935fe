/* Scenarios about a device that others use too: shares, and a library that was there first.
   It must not know how a policy asks for memory.
   Included by test_needs.c. */
#include "scene.h"

enum { SHARING_COUNT = 4 };
static const double sharing_parts[SHARING_COUNT] = { 0.125, 0.25, 0.125, 0.375 };

/* Programs that start one after the other, and take their part of the device, or, without a way to say so, all. */
static int sharing_start(ground *on, const int *order, uint64_t *got)
{
    pool pools[SHARING_COUNT];
    problem refused = { 0, "" };
    memset(pools, 0, sizeof pools);
    for (int at = 0; at < SHARING_COUNT; at++) {
        policy chosen = on->chosen;
        uint64_t before = ground_held(on);
        chosen.config.limit_base = GPUARENA_LIMIT_OF_TOTAL;
        chosen.config.limit_fraction = sharing_parts[order[at]];
        ground_fixed(&chosen.config, NULL);
        if (pool_open(&pools[order[at]], &chosen, on->on, &refused)) memset(&pools[order[at]], 0, sizeof pools[0]);
        void *ptr = NULL;
        while (!on->pool.arena && !refused.exit_code && !pool_alloc(&pools[order[at]], &ptr, 512 * MIB,
                                                                    NULL)) continue;
        got[order[at]] = ground_held(on) - before;
    }
    for (int at = 0; at < SHARING_COUNT; at++) pool_close(&pools[at]);
    return 0;
}

static void sharing_shares(scene *self)
{
    static const int orders[2][SHARING_COUNT] = { { 0, 1, 2, 3 }, { 3, 2, 1, 0 } };
    uint64_t got[2][SHARING_COUNT] = { { 0 }, { 0 } };
    const ground_shape shape = { 0 };
    for (int order = 0; order < 2; order++) {
        ground on;
        if (!ground_open(&on, self, &shape)) sharing_start(&on, orders[order], got[order]);
        ground_close(&on);
    }
    int same = !memcmp(got[0], got[1], sizeof got[0]), right = 1;
    for (int at = 0; at < SHARING_COUNT; at++) right &= got[0][at] == (uint64_t)(16.0 * sharing_parts[at]) * GIB;
    scene_say(self, same && right, "got %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 ", then %" PRIu64 " %" PRIu64
              " %" PRIu64 " %" PRIu64, got[0][0], got[0][1], got[0][2], got[0][3], got[1][0], got[1][1], got[1][2],
              got[1][3]);
}

/* A library takes 12 of 16 GiB before the policy comes: what remains is used, and shared, by a part of it. */
static void sharing_grabbed(scene *self)
{
    const ground_shape grows = { .faults = "rival@0=12G" };
    const ground_shape part = { .faults = "rival@0=12G", .keys = "limit=50%free" };
    ground on;
    uint64_t at_start = 0, limit = 0;
    int served = 0, refused = 0;
    if (!ground_open(&on, self, &grows)) {
        at_start = ground_held(&on);
        served = ground_alloc(&on, 2 * GIB, NULL) && !ground_alloc(&on, 6 * GIB, NULL);
    }
    ground_close(&on);
    if (scene_is_over(self)) return;
    if (!ground_open(&on, self, &part)) {
        limit = on.pool.limit_bytes;
        refused = ground_alloc(&on, 1 * GIB, NULL) && !ground_alloc(&on, 2 * GIB, NULL);
    }
    ground_close(&on);
    scene_say(self, !at_start && served && refused, "held at creation %" PRIu64 ", served %d; limit %" PRIu64
              ", refused %d", at_start, served, limit, refused);
}
