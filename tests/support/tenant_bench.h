/* Sub-arenas under test: made in one line, what they hold, allocations that must succeed or fail for one reason.
   It must not know what is tested.
   Included by test_tenants*.c. */
#ifndef TESTS_TENANT_BENCH_H
#define TESTS_TENANT_BENCH_H

#include "sim_device.h"

static sim_bench bench;
static gpuarena_backing backing;

static inline gpuarena_config plain_config(const char *name, gpuarena *parent, uint64_t limit_bytes)
{
    gpuarena_config config = GPUARENA_INIT;
    snprintf(config.name, sizeof config.name, "%s", name);
    config.environment = "";
    config.backing = backing;
    config.growth = GPUARENA_GROWTH_EXACT;
    if (!parent) config.driver = &bench.driver;
    config.parent = parent;
    config.limit_bytes = limit_bytes;
    return config;
}

static inline gpuarena *make(const char *name, gpuarena *parent, uint64_t limit_bytes)
{
    gpuarena_config config = plain_config(name, parent, limit_bytes);
    gpuarena *arena = NULL;
    CHECK_INT(gpuarena_create(&config, &arena), ==, GPUARENA_OK);
    return arena;
}

static inline gpuarena_stats stats_of(const gpuarena *arena)
{
    gpuarena_stats stats;
    gpuarena_get_stats(arena, &stats);
    return stats;
}

static inline uint64_t reserved(const gpuarena *arena) { return stats_of(arena).reserved_bytes; }

static inline void *take(gpuarena *arena, uint64_t bytes)
{
    void *ptr = NULL;
    CHECK_INT(gpuarena_alloc(arena, &ptr, bytes, NULL), ==, GPUARENA_OK);
    return ptr;
}

static inline void drop(gpuarena *arena, void *ptr) { CHECK_INT(gpuarena_free(arena, ptr, NULL), ==, GPUARENA_OK); }

/* An allocation that must fail, for this reason. */
static inline gpuarena_failure refuse(gpuarena *arena, uint64_t bytes, gpuarena_reason reason)
{
    gpuarena_failure failure;
    void *ptr = NULL;
    CHECK_INT(gpuarena_alloc(arena, &ptr, bytes, NULL), ==, GPUARENA_OUT_OF_MEMORY);
    gpuarena_last_failure(arena, &failure);
    CHECK_STR(gpuarena_reason_name(failure.reason), gpuarena_reason_name(reason));
    return failure;
}

static inline void check(const gpuarena *arena)
{
    gpuarena_stats stats = stats_of(arena);
    char message[128];
    CHECK_MSG(gpuarena_check(arena, message, sizeof message) == GPUARENA_OK, "the books are in order: %s", message);
    CHECK_U64(stats.live_bytes + stats.pending_bytes + stats.cached_bytes + stats.children_bytes, ==,
              stats.reserved_bytes);
}

static inline void end(gpuarena *arena) { CHECK_INT(gpuarena_destroy(arena), ==, GPUARENA_OK); }

static inline gpuarena *make_of(const char *name, gpuarena *parent, uint64_t limit_bytes, const char *text)
{
    gpuarena_config config = plain_config(name, parent, limit_bytes);
    gpuarena *arena = NULL;
    config.oversubscribe = 1;
    CHECK_INT(gpuarena_config_parse(text, &config, NULL, 0), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_create(&config, &arena), ==, GPUARENA_OK);
    return arena;
}

/* Two that may each have all: a parent's, of so much. */
typedef struct family { gpuarena *whole, *first, *second; } family;

static inline family open_family(uint64_t limit_bytes, const char *text)
{
    family made;
    made.whole = make_of("whole", NULL, limit_bytes, text);
    made.first = make_of("first", made.whole, limit_bytes, text);
    made.second = make_of("second", made.whole, limit_bytes, text);
    return made;
}

static inline void close_family(family *self)
{
    check(self->whole), check(self->first), check(self->second);
    end(self->first), end(self->second);
    CHECK_U64(reserved(self->whole), ==, 0);
    end(self->whole);
}

/* Leaves so much idle. */
static inline void leave_idle(gpuarena *arena, uint64_t bytes) { drop(arena, take(arena, bytes)); }

/* The device has all its memory back, and nothing was done to it that it found. */
static inline void close_bench(void)
{
    CHECK_U64(bench_counters(&bench).held_bytes, ==, 0);
    CHECK_U64(bench_counters(&bench).findings, ==, 0);
    bench_close(&bench);
}

#endif
