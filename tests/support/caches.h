/* What tests of caches share: an arena on a simulated device, and looks into it where asking would empty its caches.
   It must not know what is tested. Included by test_caches*.c. */
#ifndef TESTS_CACHES_H
#define TESTS_CACHES_H

#define GPUARENA_STATIC
#include "sim_device.h"

typedef struct caches_world { sim_bench bench; gpuarena *arena; uint64_t cap; } caches_world;

/* Ends in a failed check if the arena cannot be made. */
static inline void caches_open(caches_world *world, const char *keys)
{
    gpuarena_config config = GPUARENA_INIT;
    world->bench = bench_open_sized(GIB(1), NULL);
    config.driver = &world->bench.driver;
    config.environment = "";
    CHECK_INT(gpuarena_config_parse(keys, &config, NULL, 0), ==, GPUARENA_OK);
    world->cap = config.cache_bytes;
    CHECK_INT(gpuarena_create(&config, &world->arena), ==, GPUARENA_OK);
}

static inline void caches_close(caches_world *world)
{
    CHECK_INT(gpuarena_destroy(world->arena), ==, GPUARENA_OK);
    bench_close(&world->bench);
}

/* What all caches keep; UINT64_MAX: one keeps more than it may. */
static inline uint64_t caches_kept_bytes(const caches_world *world)
{
    uint64_t bytes = 0;
    for (uint32_t at = 0; at < world->arena->caches.count; at++) {
        const gpuarena__cache *cache = world->arena->caches.list[at];
        if (cache->kept_bytes > world->cap) return UINT64_MAX;
        bytes += cache->kept_bytes;
    }
    return bytes;
}

#endif
