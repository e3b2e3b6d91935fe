/* Scenarios about other memory: pinned, managed, and the driver's stream-ordered pool.
   It must not know how a policy serves them.
   Tested by tests/needs.t and tests/test_needs.c. */
#include <inttypes.h>

#include "stress/base/splitmix64.h"
#include "scenarios.h"

/* An arena of such memory, with nothing left that is for pages alone. */
static void kinds_set(gpuarena_config *config, gpuarena_backing backing)
{
    config->backing = backing;
    config->page_bytes = config->large_bytes = 0;
    config->idle_fraction = 0.0;
}

static gpuarena *kinds_open(ground *on, gpuarena_backing backing, uint64_t limit_bytes)
{
    gpuarena *made = NULL;
    gpuarena_config config = on->of->chosen->config;
    kinds_set(&config, backing);
    config.driver = device_driver(on->on);
    config.limit_bytes = limit_bytes;
    (void)gpuarena_create(&config, &made);
    return made;
}

static sim_counters kinds_counters(const ground *on)
{
    sim_counters counted;
    sim_get_counters(device_simulated(on->on), 0, &counted);
    return counted;
}

/* A ring of pinned buffers, from which batches go to the device's arena. */
void kinds_pinned(scene *self)
{
    enum { KINDS_RING = 4, KINDS_BATCHES = 64 };
    const uint64_t batch = 32 * MIB, limit = 256 * MIB;
    const ground_shape shape = { .limit_bytes = 1 * GIB };
    ground on;
    gpuarena_failure failure;
    gpuarena_stats host, card;
    if (scene_lacks(self, "pool of pinned memory, nor figures of it")) return;
    if (!ground_open(&on, self, &shape)) {
        gpuarena *staging = kinds_open(&on, GPUARENA_BACKING_PINNED, limit);
        void *ring[KINDS_RING] = { NULL }, *ptr = NULL;
        uint64_t served = 0;
        for (int at = 0; at < KINDS_BATCHES; at++) {
            void **place = &ring[at % KINDS_RING], *copy = NULL;
            gpuarena_free(staging, *place, NULL);
            *place = NULL;
            if (!gpuarena_alloc(staging, place, batch, NULL)) copy = ground_alloc(&on, batch, NULL);
            if (copy) ground_free(&on, copy, batch, NULL);
            served += copy != NULL;
        }
        gpuarena_get_stats(staging, &host);
        gpuarena_get_stats(on.pool.arena, &card);
        sim_counters counted = kinds_counters(&on);
        int apart = host.reserved_bytes == counted.host_bytes && card.reserved_bytes == ground_used(&on);
        int refused = gpuarena_alloc(staging, &ptr, limit, NULL) == GPUARENA_OUT_OF_MEMORY;
        gpuarena_last_failure(staging, &failure);
        scene_say(self, served == KINDS_BATCHES && apart && counted.host_peak_bytes <= limit && refused
                  && failure.reason == GPUARENA_REASON_OVER_LIMIT && failure.limit_bytes == limit, "64 batches "
                  "through 4 pinned buffers: %s pinned, as the host's books have it, %s on the device, limits of %s "
                  "and %s; 256 MiB more of pinned memory are refused for its own", scene_size(self,
                                                                                              host.reserved_bytes),
                  scene_size(self, card.reserved_bytes), scene_size(self, limit), scene_size(self,
                                                                                             shape.limit_bytes));
        gpuarena_reset(staging, NULL);
        gpuarena_destroy(staging);
    }
    ground_close(&on);
}

/* Blocks of 1 to 64 MiB come and go, in memory of the driver's pool. */
static uint64_t kinds_churn(ground *on, gpuarena *arena)
{
    enum { KINDS_BLOCKS = 24 };
    void *blocks[KINDS_BLOCKS] = { NULL };
    uint64_t random = on->of->seed, refused = 0;
    for (int step = 0; step < 600; step++) {
        uint64_t at = splitmix64_below(&random, KINDS_BLOCKS);
        gpuarena_free(arena, blocks[at], NULL);
        blocks[at] = NULL;
        refused += (uint64_t)(gpuarena_alloc(arena, &blocks[at], MIB + splitmix64_below(&random, 63 * MIB),
                                             NULL) != 0);
    }
    for (int at = 0; at < KINDS_BLOCKS; at++) gpuarena_free(arena, blocks[at], NULL);
    return refused;
}

void kinds_async(scene *self)
{
    const uint64_t limit = 512 * MIB;
    const ground_shape shape = { 0 };
    ground on;
    gpuarena_stats stats;
    if (scene_lacks(self, "limit over the driver's stream-ordered pool, which has none itself")) return;
    if (!ground_open(&on, self, &shape)) {
        gpuarena *arena = kinds_open(&on, GPUARENA_BACKING_ASYNC, limit);
        uint64_t refused = arena ? kinds_churn(&on, arena) : 0, released = 0;
        gpuarena_get_stats(arena, &stats);
        uint64_t peak = kinds_counters(&on).pool_used_peak_bytes;
        uint64_t whole = kinds_counters(&on).pool_reserved_peak_bytes;
        int trimmed = !gpuarena_trim(arena, 0, &released);
        uint64_t left = kinds_counters(&on).pool_reserved_bytes;
        scene_say(self, arena && refused > 0 && peak <= limit && peak > limit / 2 && trimmed && !left,
                  "backing=async "
                  "under a limit of %s: never more than %s were had of the driver's pool, which in pieces of its own "
                  "took up to %s; %" PRIu64 " requests refused; %s given back at the end, %s stay",
                  scene_size(self, limit), scene_size(self, peak), scene_size(self, whole), refused,
                  scene_size(self, released), scene_size(self, left));
        gpuarena_destroy(arena);
    }
    ground_close(&on);
}
