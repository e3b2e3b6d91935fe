/* Scenarios about limits and refusals: is a limit kept to the byte, and does a refusal say why?
   It must not know how a policy grows.
   Tested by tests/needs.t and tests/test_needs.c. */
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "stress/base/splitmix64.h"
#include "scenarios.h"

enum { LIMITS_BLOCKS = 96, LIMITS_STEPS = 2000 };

typedef struct limits_block { void *ptr; uint64_t bytes; } limits_block;

/* Random blocks of 64 KiB to 512 MiB, more than the limit has room for; then all are freed. */
static void limits_press(ground *on, uint64_t *refused)
{
    limits_block blocks[LIMITS_BLOCKS] = { { 0 } };
    uint64_t random = on->of->seed;
    *refused = 0;
    for (int step = 0; step < LIMITS_STEPS; step++) {
        limits_block *block = &blocks[splitmix64_below(&random, LIMITS_BLOCKS)];
        if (block->ptr) ground_free(on, block->ptr, block->bytes, NULL);
        block->bytes = ((uint64_t)65536 << splitmix64_below(&random, 14)) + splitmix64_below(&random, 65536);
        block->ptr = ground_alloc(on, block->bytes, NULL);
        *refused += (uint64_t)!block->ptr;
    }
    for (int at = 0; at < LIMITS_BLOCKS; at++) {
        if (blocks[at].ptr) ground_free(on, blocks[at].ptr, blocks[at].bytes, NULL);
    }
}

void limits_kept(scene *self)
{
    const uint64_t limit = 5000 * MIB;
    const ground_shape shape = { .limit_bytes = limit };
    ground on;
    uint64_t refused;
    if (!ground_open(&on, self, &shape)) {
        limits_press(&on, &refused);
        uint64_t peak = ground_held_peak(&on);
        if (peak > limit) {
            scene_say(self, 0, "%s should be kept to: up to %s were held from the device", scene_size(self, limit),
                      scene_size(self, peak));
        } else {
            void *whole = ground_alloc(&on, limit, NULL);
            if (whole) ground_free(&on, whole, limit, NULL);
            void *more = ground_alloc(&on, limit + 1, NULL);
            scene_say(self, whole && !more && ground_held_peak(&on) == limit, "a limit of %s: %" PRIu64
                      " requests refused, never more than %s held at any call; one block of it is %s, one of a byte "
                      "more is %s", scene_size(self, limit), refused, scene_size(self, ground_held_peak(&on)),
                      whole ? "served" : "refused", more ? "served" : "refused");
        }
    }
    ground_close(&on);
}

/* ---- the same by several threads at once: in what order they come is the machine's, so that no number is told. Each
   wants more than the limit by itself. */
enum { LIMITS_THREADS = 4, LIMITS_THREAD_STEPS = 3000, LIMITS_THREAD_BLOCKS = 48 };

typedef struct limits_thread {
    gpuarena *arena;
    uint64_t  random, refused, failed;           /* for memory; for anything else */
    pthread_t thread;
    int       is_started;
} limits_thread;

static void *limits_thread_main(void *user)
{
    limits_thread *self = user;
    void *blocks[LIMITS_THREAD_BLOCKS] = { NULL };
    for (int step = 0; step < LIMITS_THREAD_STEPS; step++) {
        void **block = &blocks[splitmix64_below(&self->random, LIMITS_THREAD_BLOCKS)];
        self->failed += (uint64_t)(gpuarena_free(self->arena, *block, NULL) != GPUARENA_OK);
        *block = NULL;
        uint64_t bytes = MIB + splitmix64_below(&self->random, 31 * MIB);
        gpuarena_result result = gpuarena_alloc(self->arena, block, bytes, NULL);
        self->refused += (uint64_t)(result == GPUARENA_OUT_OF_MEMORY);
        self->failed += (uint64_t)(result != GPUARENA_OK && result != GPUARENA_OUT_OF_MEMORY);
    }
    for (int at = 0; at < LIMITS_THREAD_BLOCKS; at++) {
        self->failed += (uint64_t)(gpuarena_free(self->arena, blocks[at], NULL) != GPUARENA_OK);
    }
    return NULL;
}

static void limits_run_threads(ground *on, uint64_t *refused, uint64_t *failed)
{
    limits_thread threads[LIMITS_THREADS];
    *refused = *failed = 0;
    for (int at = 0; at < LIMITS_THREADS; at++) {
        limits_thread *each = &threads[at];
        each->arena = on->pool.arena;
        each->random = on->of->seed + (uint64_t)at;
        each->refused = each->failed = 0;
        each->is_started = !pthread_create(&each->thread, NULL, limits_thread_main, each);
        if (!each->is_started) problem_set(&on->of->trouble, EXIT_HARNESS, "no thread to be had");
    }
    for (int at = 0; at < LIMITS_THREADS; at++) {
        if (threads[at].is_started) pthread_join(threads[at].thread, NULL);
        *refused += threads[at].refused;
        *failed += threads[at].failed;
    }
}

void limits_threads(scene *self)
{
    const uint64_t limit = 512 * MIB;
    const ground_shape shape = { .limit_bytes = limit, .is_shared = 1 };
    ground on;
    uint64_t refused, failed;
    if (scene_lacks(self, "limit, in one thread or in several")) return;
    if (!ground_open(&on, self, &shape)) {
        limits_run_threads(&on, &refused, &failed);
        void *whole = ground_alloc(&on, limit, NULL);
        if (whole) ground_free(&on, whole, limit, NULL);
        int kept = ground_held_peak(&on) <= limit;
        scene_say(self, kept && refused && !failed && whole, "%d threads, %d operations each, under a limit of %s: "
                  "%s, and some were %s; nothing else %s; one block of the whole limit is %s", LIMITS_THREADS,
                  LIMITS_THREAD_STEPS,
                  scene_size(self, limit), kept ? "never more was held" : "more was held",
                  refused ? "refused" : "not refused", failed ? "worked" : "failed", whole ? "served" : "refused");
    }
    ground_close(&on);
}

/* ---- each reason, provoked on purpose. They answer whether it was named, and its numbers are right. */

static gpuarena_failure limits_failure(ground *on)
{
    gpuarena_failure failure;
    gpuarena_last_failure(on->pool.arena, &failure);
    return failure;
}

static int limits_named(ground *on, gpuarena_reason reason)
{
    char text[512];
    gpuarena_failure failure = limits_failure(on);
    return failure.reason == reason && gpuarena_failure_text(&failure, text, sizeof text) > 0;
}

/* What is missing is what it takes: with so much more limit it is served. */
static int limits_over_limit(ground *on)
{
    if (ground_alloc(on, 100 * MIB, NULL) || !limits_named(on, GPUARENA_REASON_OVER_LIMIT)) return 0;
    gpuarena_failure failure = limits_failure(on);
    uint64_t missing = failure.missing_bytes;
    if (!missing || failure.limit_bytes != 64 * MIB || failure.requested_bytes != 100 * MIB) return 0;
    gpuarena_set_limit(on->pool.arena, 64 * MIB + missing - 1);
    if (ground_alloc(on, 100 * MIB, NULL)) return 0;
    gpuarena_set_limit(on->pool.arena, 64 * MIB + missing);
    return ground_alloc(on, 100 * MIB, NULL) != NULL;
}

static int limits_refused(ground *on)
{
    if (ground_alloc(on, 80 * MIB, NULL) || !limits_named(on, GPUARENA_REASON_DRIVER_REFUSED)) return 0;
    return limits_failure(on).device_free_bytes == 64 * MIB && limits_failure(on).missing_bytes == 16 * MIB;
}

static int limits_headroom(ground *on)
{
    if (ground_alloc(on, 40 * MIB, NULL) || !limits_named(on, GPUARENA_REASON_HEADROOM)) return 0;
    return limits_failure(on).missing_bytes == 8 * MIB;
}

/* 8 MiB in 16 blocks; every second is freed: half of it is free, and no MiB of that is together. */
static int limits_fragmented(ground *on)
{
    void *blocks[16];
    for (int at = 0; at < 16; at++) blocks[at] = ground_alloc(on, MIB / 2, NULL);
    for (int at = 0; at < 16; at += 2) ground_free(on, blocks[at], MIB / 2, NULL);
    if (ground_alloc(on, 1 * MIB, NULL) || !limits_named(on, GPUARENA_REASON_FRAGMENTED)) return 0;
    gpuarena_failure failure = limits_failure(on);
    return failure.cached_bytes + failure.pending_bytes == 4 * MIB && failure.largest_free_bytes == MIB / 2
        && failure.missing_bytes == MIB / 2;
}

static int limits_too_large(ground *on)
{
    return !ground_alloc(on, UINT64_MAX - 100, NULL) && limits_named(on, GPUARENA_REASON_TOO_LARGE);
}

static int limits_try_only(ground *on)
{
    gpuarena_request request = GPUARENA_INIT;
    void *ptr = NULL;
    uint64_t calls = ground_calls(on);
    request.bytes = MIB;
    request.flags = GPUARENA_ALLOC_TRY;
    return gpuarena_alloc_ex(on->pool.arena, &ptr, &request) == GPUARENA_OUT_OF_MEMORY
        && limits_named(on, GPUARENA_REASON_TRY_ONLY) && ground_calls(on) == calls;
}

/* The second block lies behind the first one, or before it. */
static int limits_neighbour(ground *on)
{
    void *one = ground_alloc(on, MIB, NULL), *two = ground_alloc(on, MIB, NULL);
    if (!one || !two) return 0;
    return gpuarena_resize(on->pool.arena, (char *)one < (char *)two ? one : two, 2 * MIB, NULL)
            == GPUARENA_OUT_OF_MEMORY && limits_named(on, GPUARENA_REASON_NEIGHBOUR);
}

/* What another stream freed is not quiet yet, and while one is captured nobody may ask. */
static int limits_capture(ground *on)
{
    gpuarena_stream busy = ground_stream(on), captured = ground_stream(on);
    uint64_t set = 0;
    void *ptr = ground_alloc(on, 64 * MIB, busy);
    if (!ptr) return 0;
    ground_work(on, busy, 1000000000);
    ground_free(on, ptr, 64 * MIB, busy);
    if (gpuarena_capture_begin(on->pool.arena, captured, &set)) return 0;
    ptr = NULL;
    int failed = gpuarena_alloc(on->pool.arena, &ptr, 64 * MIB, captured) == GPUARENA_OUT_OF_MEMORY
        && limits_named(on, GPUARENA_REASON_CAPTURE);
    gpuarena_capture_end(on->pool.arena, captured);
    return failed && !gpuarena_capture_release(on->pool.arena, set, captured);
}

/* A sub-arena whose own limit has room for it. */
static int limits_over_parent(ground *on)
{
    gpuarena *below = NULL;
    void *ptr = NULL;
    gpuarena_failure failure;
    gpuarena_config config = on->of->chosen->config;
    config.parent = on->pool.arena;
    config.driver = device_driver(on->on);
    config.limit_bytes = 128 * MIB;
    config.oversubscribe = 1;
    int made = !gpuarena_create(&config, &below), refused = made && gpuarena_alloc(below, &ptr, 100 * MIB, NULL) != 0;
    gpuarena_last_failure(below, &failure);
    gpuarena_destroy(below);
    return refused && failure.reason == GPUARENA_REASON_OVER_PARENT && failure.missing_bytes == 36 * MIB;
}

static const struct limits_reason {
    gpuarena_reason reason;
    uint64_t        capacity_bytes, limit_bytes, headroom_bytes;
    int           (*is_named)(ground *on);
} limits_list[] = {
    { GPUARENA_REASON_OVER_LIMIT, 0, 64 * MIB, 0, limits_over_limit },
    { GPUARENA_REASON_OVER_PARENT, 0, 64 * MIB, 0, limits_over_parent },
    { GPUARENA_REASON_DRIVER_REFUSED, 64 * MIB, 0, 0, limits_refused },
    { GPUARENA_REASON_HEADROOM, 64 * MIB, 0, 32 * MIB, limits_headroom },
    { GPUARENA_REASON_FRAGMENTED, 0, 8 * MIB, 0, limits_fragmented },
    { GPUARENA_REASON_TOO_LARGE, 0, 0, 0, limits_too_large },
    { GPUARENA_REASON_TRY_ONLY, 0, 0, 0, limits_try_only },
    { GPUARENA_REASON_NEIGHBOUR, 0, 2 * MIB, 0, limits_neighbour },
    { GPUARENA_REASON_CAPTURE, 0, 64 * MIB, 0, limits_capture },
};

static void limits_set_headroom(gpuarena_config *config, void *user)
{
    config->headroom_bytes = ((const struct limits_reason *)user)->headroom_bytes;
}

static int limits_provoked(scene *self, const struct limits_reason *asked, char *found, size_t size)
{
    struct limits_reason copy = *asked;
    const ground_shape shape = { .capacity_bytes = asked->capacity_bytes, .limit_bytes = asked->limit_bytes,
                                 .adapt = limits_set_headroom, .user = &copy };
    ground on;
    int named = 0;
    if (!ground_open(&on, self, &shape)) {
        named = asked->is_named(&on);
        snprintf(found, size, "%s", gpuarena_reason_name(limits_failure(&on).reason));
    }
    ground_close(&on);
    return named;
}

/* raw and rivals: whatever is in the way, there is one answer. */
static void limits_one_reason(scene *self)
{
    const ground_shape shape = { .capacity_bytes = 64 * MIB };
    ground on;
    pool_refusal refusal;
    if (!ground_open(&on, self, &shape)) {
        void *ptr = ground_alloc(&on, 80 * MIB, NULL);
        pool_last_refusal(&on.pool, &refusal);
        scene_say(self, 0, "%s says %s, and nothing else, whatever is in the way: %s", self->chosen->text,
                  ptr ? "nothing" : refusal.reason, refusal.text);
    }
    ground_close(&on);
}

void limits_reasons(scene *self)
{
    enum { LIMITS_COUNT = sizeof limits_list / sizeof limits_list[0] };
    char names[300] = "", found[32] = "";
    size_t used = 0;
    if (scene_is_model(self)) return;
    if (self->chosen->family != POLICY_ARENA) {
        limits_one_reason(self);
        return;
    }
    for (size_t index = 0; index < LIMITS_COUNT && !scene_is_over(self); index++) {
        const char *name = gpuarena_reason_name(limits_list[index].reason);
        if (!limits_provoked(self, &limits_list[index], found, sizeof found)) {
            scene_say(self, 0, "%s was provoked, and the latest failure's reason is %s, or its numbers are wrong",
                      name,
                      found);
        }
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", index ? ", " : "", name);
    }
    scene_say(self, 1, "%d provoked and named, with numbers that are right: %s", (int)LIMITS_COUNT, names);
}
