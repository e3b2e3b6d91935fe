/* Scenarios about a device that others use too: shares, a library that was there first, ways to behave.
   It must not know how a policy asks for memory.
   Tested by tests/needs.t and tests/test_needs.c. */
#include <inttypes.h>
#include <string.h>

#include "scenarios.h"

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

void sharing_shares(scene *self)
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
    scene_say(self, same && right, "four programs want 2, 4, 2 and 6 GiB of 16: they have %s, %s, %s and %s; "
              "started the other way round %s, %s, %s and %s", scene_size(self, got[0][0]), scene_size(self,
                                                                                                       got[0][1]),
              scene_size(self, got[0][2]), scene_size(self, got[0][3]), scene_size(self, got[1][0]),
              scene_size(self, got[1][1]), scene_size(self, got[1][2]), scene_size(self, got[1][3]));
}

/* A library takes 12 of 16 GiB before the policy comes: what remains is used, and shared, by a part of it. */
void sharing_grabbed(scene *self)
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
    scene_say(self, !at_start && served && refused, "a library has taken 12 of 16 GiB: %s held at creation, 2 GiB "
              "%s; limit=50%%free is %s, and 3 GiB are %s", scene_size(self, at_start), served ? "served" : "refused",
              limit == GPUARENA_NO_LIMIT ? "no limit here" : scene_size(self, limit), refused ? "refused" : "served");
}

/* ---- three ways to behave: all for us, ours while we need it, as little as can be */

typedef struct sharing_manner {
    const char *name;
    void      (*adapt)(gpuarena_config *config, void *user);
    uint64_t    rival_least, rival_most;         /* what another process must get, that wants 6 of 8 GiB */
} sharing_manner;

static void sharing_exclusive(gpuarena_config *config, void *user)
{
    ground_fixed(config, user);
    config->limit_bytes = 6 * GIB;
}

static void sharing_shared(gpuarena_config *config, void *user)
{
    (void)user;
    config->release = GPUARENA_RELEASE_IDLE;
    config->release_bytes = 1 * GIB;
    config->release_keep = 1.0;
}

static void sharing_frugal(gpuarena_config *config, void *user)
{
    ground_fixed(config, user);
    config->growth = GPUARENA_GROWTH_EXACT;
    config->release = GPUARENA_RELEASE_IDLE;
    config->release_bytes = 1;
    config->release_keep = -1.0;
}

static const sharing_manner sharing_manners[] = {
    { "exclusive", sharing_exclusive, 0, 2 * GIB }, { "shared", sharing_shared, 4 * GIB, 6 * GIB },
    { "frugal", sharing_frugal, 6 * GIB, 6 * GIB },
};

/* 16 blocks of 256 MiB, and all freed; 1: served. */
static int sharing_pass(ground *on)
{
    void *blocks[16] = { NULL };
    int served = 0;
    for (int at = 0; at < 16; at++) served += (blocks[at] = ground_alloc(on, 256 * MIB, NULL)) != NULL;
    for (int at = 0; at < 16; at++) {
        if (blocks[at]) ground_free(on, blocks[at], 256 * MIB, NULL);
    }
    return served == 16;
}

/* Alone twice, then beside the other process. */
static void sharing_behave(scene *self, const sharing_manner *manner, uint64_t *rival_bytes, int *alone, int *beside)
{
    const ground_shape shape = { .capacity_bytes = 8 * GIB, .faults = "rival@100=6G", .adapt = manner->adapt };
    sim_counters counted;
    ground on;
    if (!ground_open(&on, self, &shape)) {
        *alone = sharing_pass(&on) && sharing_pass(&on);
        on.op = 100;
        *beside = sharing_pass(&on);
        sim_get_counters(device_simulated(on.on), 0, &counted);
        *rival_bytes = counted.rival_bytes;
    }
    ground_close(&on);
}

void sharing_manners_kept(scene *self)
{
    uint64_t others[3] = { 0 };
    int alone[3] = { 0 }, beside[3] = { 0 }, kept = 0;
    if (scene_is_model(self)) return;
    for (int at = 0; at < 3 && !scene_is_over(self); at++) {
        sharing_behave(self, &sharing_manners[at], &others[at], &alone[at], &beside[at]);
        kept += alone[at] && others[at] >= sharing_manners[at].rival_least
            && others[at] <= sharing_manners[at].rival_most;
    }
    scene_say(self, kept == 3 && beside[0], "another process wants 6 of 8 GiB after steps of 4 GiB: with the memory "
              "kept (growth=fixed) it gets %s and our next step is %s, with release=idle it gets %s, with "
              "growth=exact as well %s", scene_size(self, others[0]), beside[0] ? "served" : "refused",
              scene_size(self, others[1]),
              scene_size(self, others[2]));
}
