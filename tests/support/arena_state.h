/* What tests in C ask after calls: do the sums hold, did anything change. Scripts ask more, after each command.
   It must not know how the arena works inside: it reads public calls and the fake device's ledger alone.
   Included by the tests of the header; run them with `make test`. */
#ifndef TESTS_ARENA_STATE_H
#define TESTS_ARENA_STATE_H

#include "arena_walk.h"
#include "fake_driver.h"
#include "tap.h"

typedef struct arena_state {
    gpuarena_stats stats;
    arena_walk seen;
    uint64_t failure_serial;
} arena_state;

/* Everything that can be seen of the arena. */
static inline void state_take(const gpuarena *arena, arena_state *state)
{
    gpuarena_failure failure;
    state->seen = walk_arena(arena);
    gpuarena_walk_stats(arena, &state->stats);
    gpuarena_last_failure(arena, &failure);
    state->failure_serial = failure.serial;
}

/* 1: the same blocks and bytes; counters of what was refused or looked at may differ. */
static inline int state_same(const arena_state *before, const arena_state *after)
{
    const gpuarena_stats *left = &before->stats, *right = &after->stats;
    return before->seen.digest == after->seen.digest && left->live_bytes == right->live_bytes
        && left->cached_bytes == right->cached_bytes && left->reserved_bytes == right->reserved_bytes
        && left->limit_bytes == right->limit_bytes && left->requested_peak_bytes == right->requested_peak_bytes
        && left->live_peak_bytes == right->live_peak_bytes && left->alloc_count == right->alloc_count
        && left->free_count == right->free_count;
}

/* The whole audit; device: NULL, or the one that serves this arena alone. "": nothing wrong. */
static inline const char *state_audit(const gpuarena *arena, const fake_device *device)
{
    static char message[128];
    gpuarena_stats stats;
    gpuarena_get_stats(arena, &stats);
    if (wrong_sums(&stats)) return wrong_sums(&stats);
    if (device && device->slots.held_bytes != stats.reserved_bytes) return "ledger and reserved differ";
    if (device && device->host.bytes != stats.host_bytes) return "host_bytes is not what was allocated";
    return gpuarena_check(arena, message, sizeof message) == GPUARENA_OK ? "" : message;
}

/* A new arena that the test cannot do without: NULL after a failed check. */
static inline gpuarena *state_arena(const gpuarena_config *config)
{
    gpuarena *arena = NULL;
    gpuarena_result result = gpuarena_create(config, &arena);
    if (result != GPUARENA_OK) {
        gpuarena_failure failure;
        gpuarena_last_failure(NULL, &failure);
        CHECK_MSG(0, "create: %s: %s", gpuarena_result_name(result), failure.detail);
        return NULL;
    }
    return arena;
}

/* Opens a device of 1 GiB, and an arena of it with all at its default. */
static inline gpuarena *state_open(fake_device *device)
{
    fake_open(device, (uint64_t)1 << 30);
    gpuarena_config config = fake_config(device);
    return state_arena(&config);
}

/* Allocates, or NULL after a failed check. */
static inline void *state_alloc(gpuarena *arena, uint64_t bytes)
{
    void *ptr = NULL;
    gpuarena_result result = gpuarena_alloc(arena, &ptr, bytes, NULL);
    if (result != GPUARENA_OK) CHECK_MSG(0, "alloc %" PRIu64 ": %s", bytes, gpuarena_result_name(result));
    return ptr;
}

/* Ends the arena and its device: all audited, nothing left anywhere. */
static inline void state_end(gpuarena *arena, fake_device *device, const char *name)
{
    const char *wrong = state_audit(arena, device);
    CHECK_MSG(wrong[0] == '\0', "%s: audit %s", name, wrong);
    CHECK_MSG(gpuarena_reset(arena, NULL) == GPUARENA_OK, "%s: reset", name);
    CHECK_MSG(gpuarena_destroy(arena) == GPUARENA_OK, "%s: destroy", name);
    CHECK_MSG(fake_close(device), "%s: no memory left, every call legal, limit never passed", name);
}

#endif
