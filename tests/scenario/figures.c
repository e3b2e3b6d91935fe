/* Scenarios about figures: do they sum up, do they tell ours from others', do they predict?
   It must not know how a policy makes them.
   Tested by tests/needs.t and tests/test_needs.c. */
#include <inttypes.h>
#include <stdlib.h>

#include "stress/base/splitmix64.h"
#include "scenarios.h"

enum { FIGURES_BLOCKS = 64, FIGURES_STEPS = 400, FIGURES_WORK_NS = 50000 };

typedef struct figures_block { void *ptr; uint64_t bytes; gpuarena_stream stream; } figures_block;

/* 256 B to 32 MiB, as often of each power of two. */
static uint64_t figures_size(uint64_t *random)
{
    uint64_t base = (uint64_t)256 << splitmix64_below(random, 17);
    return base + splitmix64_below(random, base);
}

/* Frees the block, or fills an empty place: on one of two streams. */
static void figures_step(ground *on, figures_block *blocks, gpuarena_stream other, uint64_t *random)
{
    figures_block *block = &blocks[splitmix64_below(random, FIGURES_BLOCKS)];
    if (block->ptr) {
        ground_free(on, block->ptr, block->bytes, block->stream);
        block->ptr = NULL;
        return;
    }
    block->bytes = figures_size(random);
    block->stream = splitmix64_below(random, 2) ? other : NULL;
    block->ptr = ground_alloc(on, block->bytes, block->stream);
    if (block->ptr) ground_work(on, block->stream, FIGURES_WORK_NS);
}

/* By how much a policy's own figures miss what the device holds for it. */
static uint64_t figures_gap(ground *on, memory_use *use, gpuarena_stats *stats)
{
    uint64_t held = ground_held(on);
    pool_measure(&on->pool, use, stats);
    uint64_t told = on->pool.arena ? stats->live_bytes + stats->pending_bytes + stats->cached_bytes
                                   + stats->children_bytes : use->live_bytes + use->free_bytes;
    uint64_t gap = told > held ? told - held : held - told;
    if (!on->pool.arena) return gap;
    uint64_t live = stats->requested_bytes + stats->slack_bytes;
    gap += live > stats->live_bytes ? live - stats->live_bytes : stats->live_bytes - live;
    return gap + (told > stats->reserved_bytes ? told - stats->reserved_bytes : stats->reserved_bytes - told);
}

static void figures_sums_said(ground *on, uint64_t worst, uint64_t pending, const memory_use *use,
                              const gpuarena_stats *stats)
{
    scene *self = on->of;
    if (worst) {
        scene_say(self, 0, "%s says where %s are, and the device holds up to %s that it cannot place",
                  self->chosen->text, scene_size(self, use->live_bytes + use->free_bytes), scene_size(self, worst));
        return;
    }
    scene_say(self, pending > 0, "%d steps on 2 streams, exact after each; at the end requested %s + slack %s = "
              "live, + pending %s (at most %s) + cached %s = reserved %s = what the device holds", FIGURES_STEPS,
              scene_size(self, stats->requested_bytes), scene_size(self, stats->slack_bytes),
              scene_size(self, stats->pending_bytes), scene_size(self, pending),
              scene_size(self, stats->cached_bytes), scene_size(self, stats->reserved_bytes));
}

void figures_sums(scene *self)
{
    const ground_shape shape = { 0 };
    figures_block blocks[FIGURES_BLOCKS] = { { 0 } };
    ground on;
    memory_use use;
    gpuarena_stats stats;
    uint64_t random = self->seed, worst = 0, pending = 0;
    if (scene_is_model(self)) return;
    if (!ground_open(&on, self, &shape)) {
        gpuarena_stream other = ground_stream(&on);
        for (int step = 0; step < FIGURES_STEPS; step++) {
            figures_step(&on, blocks, other, &random);
            uint64_t gap = figures_gap(&on, &use, &stats);
            if (gap > worst) worst = gap;
            if (stats.pending_bytes > pending) pending = stats.pending_bytes;
        }
        figures_sums_said(&on, worst, pending, &use, &stats);
    }
    ground_close(&on);
}

/* What else is on the device, as far as the policy can tell. -1: it cannot. */
static int64_t figures_others(ground *on)
{
    gpuarena_device seen;
    if (!on->pool.arena || gpuarena_get_device(on->pool.arena, &seen)) return -1;
    return seen.other_bytes;
}

void figures_other(scene *self)
{
    const uint64_t context = 512 * MIB, kernels = 600 * MIB;
    const ground_shape shape = { .context_bytes = context };
    ground on;
    void *code = NULL;
    if (scene_is_model(self)) return;
    if (!ground_open(&on, self, &shape)) {
        const gpuarena_driver *driver = device_driver(on.on);
        int64_t first = figures_others(&on);
        (void)ground_alloc(&on, 1 * GIB, NULL);
        uint64_t before = ground_reported(&on);
        (void)driver->memory.obtain(driver, GPUARENA_MEMORY_DEVICE, &code, kernels, NULL);
        uint64_t grown = ground_reported(&on) - before;
        int64_t last = figures_others(&on);
        int named = first == (int64_t)context && last == (int64_t)(context + kernels);
        if (last < 0) {
            scene_say(self, 0, "%s of kernels are loaded: what %s calls its own grows by %s, and nothing says what "
                      "is others'", scene_size(self, kernels), self->chosen->text, scene_size(self, grown));
        } else {
            scene_say(self, named && !grown, "other is %s at creation, the context's; with %s of kernels loaded it "
                      "is %s, and reserved has grown by %s", scene_size(self, (uint64_t)first),
                      scene_size(self, kernels), scene_size(self, (uint64_t)last), scene_size(self, grown));
        }
        if (code) (void)driver->memory.give_back(driver, GPUARENA_MEMORY_DEVICE, code, kernels, NULL);
    }
    ground_close(&on);
}

typedef struct figures_forecast { uint64_t served, refused, wrong; } figures_forecast;

/* What gpuarena_can_alloc says, and then what is so. */
static void figures_forecast_step(ground *on, figures_block *block, uint64_t bytes, figures_forecast *count)
{
    gpuarena_request request = GPUARENA_INIT;
    request.bytes = block->bytes = bytes;
    int said = gpuarena_can_alloc(on->pool.arena, &request) == GPUARENA_OK;
    block->ptr = ground_alloc(on, bytes, NULL);
    int is_so = block->ptr != NULL;
    count->wrong += said != is_so;
    count->served += (uint64_t)is_so;
    count->refused += (uint64_t)!is_so;
}

/* The largest free block is served when nothing may be added to what is reserved, and it is no more than is free. */
static int figures_gauge_holds(ground *on)
{
    gpuarena_stats stats;
    gpuarena_request request = GPUARENA_INIT;
    void *ptr = NULL;
    gpuarena_walk_stats(on->pool.arena, &stats);
    if (!stats.largest_free_bytes) return 1;
    request.bytes = stats.largest_free_bytes;
    if (stats.largest_free_bytes > stats.pending_bytes + stats.cached_bytes) return 0;
    gpuarena_set_limit(on->pool.arena, stats.reserved_bytes);
    int failed = gpuarena_alloc_ex(on->pool.arena, &ptr, &request) != GPUARENA_OK;
    gpuarena_set_limit(on->pool.arena, stats.limit_bytes);
    gpuarena_free(on->pool.arena, ptr, NULL);
    return !failed;
}

void figures_predict(scene *self)
{
    const ground_shape shape = { .limit_bytes = 40 * MIB };
    figures_block blocks[FIGURES_BLOCKS] = { { 0 } };
    figures_forecast count = { 0, 0, 0 };
    ground on;
    uint64_t random = self->seed, bad_gauges = 0;
    if (scene_lacks(self, "dry run: a failure is known when it has happened")) return;
    if (!ground_open(&on, self, &shape)) {
        for (int step = 0; step < FIGURES_STEPS; step++) {
            figures_block *block = &blocks[splitmix64_below(&random, FIGURES_BLOCKS)];
            if (block->ptr) {
                ground_free(&on, block->ptr, block->bytes, NULL);
                block->ptr = NULL;
            } else {
                figures_forecast_step(&on, block, figures_size(&random), &count);
            }
            bad_gauges += (uint64_t)!figures_gauge_holds(&on);
        }
        scene_say(self, !count.wrong && !bad_gauges && count.refused >= 10 && count.served >= 10,
                  "%" PRIu64 " requests served and %" PRIu64 " refused under a limit of %s: can_alloc was wrong of %"
                  PRIu64 "; the largest free block was not to be had %" PRIu64 " times", count.served, count.refused,
                  scene_size(self, shape.limit_bytes), count.wrong, bad_gauges);
    }
    ground_close(&on);
}
