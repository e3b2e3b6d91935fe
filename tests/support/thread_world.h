/* What tests with real threads share: slot devices that judge calls from any thread, arenas on them, alone or in
   trees, with what each holds, and a shadow of device memory: who has each 256 bytes, and until when which stream's
   work uses them. None of it orders threads, lest races hide.
   It must not know the arena's inside. Included by tests in threads/. */
#ifndef TESTS_THREAD_WORLD_H
#define TESTS_THREAD_WORLD_H

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include "stress/base/splitmix64.h"
#include "gpuarena.h"
#include "slot_device.h"
#include "tap.h"

enum { THREAD_DEVICES = 2, THREAD_ARENAS = 10, THREAD_UNIT = 256, THREAD_FOLD = 256,
       THREAD_UNITS = SLOT_COUNT * ((2 << 20) / THREAD_UNIT) };

/* freed: when the last user's work ends, with its stream in the two low bits. */
typedef struct thread_memory { uint64_t freed; uint32_t owner; } thread_memory;    /* the live block; 0: none */
typedef struct thread_fold { thread_memory whole, part; uint32_t unit_count; } thread_fold;

typedef struct thread_device {
    slot_device slots;
    thread_memory *units;
    thread_fold folds[THREAD_UNITS / THREAD_FOLD];
} thread_device;

typedef struct thread_arena {
    slot_device *device;
    gpuarena *arena;
    const gpuarena_driver *table;                /* a sub-arena's own copy: by it calls are known */
    struct thread_arena *parent;                 /* NULL: none */
    uint64_t held_bytes;                         /* here and below */
    uint64_t ceiling_bytes;                      /* the limit, and while it is being changed the higher one */
    pthread_mutex_t limit_lock;                  /* taken by who changes it, if nobody does */
    uint64_t limit_bytes;
    int inside;                                  /* calls on memory in progress */
} thread_arena;

static thread_device thread_devices[THREAD_DEVICES];
static thread_arena thread_arenas[THREAD_ARENAS];            /* the first of each device have no parents */
static int thread_yields;                        /* in each driver call, and between calls, others
                                                    have their go */
static uint64_t thread_host_bytes;
static const char *thread_trouble;               /* the first; NULL: none */

static inline void thread_blame(const char *what)
{
    const char *none = NULL;
    (void)__atomic_compare_exchange_n(&thread_trouble, &none, what, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

#define WANT(condition) do { if (!(condition)) thread_blame("not so: " #condition); } while (0)

/* ---- the device */

/* A sub-arena is known by its table; the calls of others are those of a device's first arena. */
static inline thread_arena *thread_arena_of(const gpuarena_driver *self)
{
    for (int at = 0; at < THREAD_ARENAS; at++)
        if (__atomic_load_n(&thread_arenas[at].table, __ATOMIC_RELAXED) == self) return &thread_arenas[at];
    return &thread_arenas[slot_of(self) == &thread_devices[0].slots ? 0 : 1];
}

/* An arena makes one call on memory at a time; and in each its limit holds, and the limits of all above. */
static inline gpuarena_status thread_call_begin(const gpuarena_driver *self, slot_call call, uint64_t claim_bytes)
{
    thread_arena *at = thread_arena_of(self);
    if (call < SLOT_EVENT && __atomic_fetch_add(&at->inside, 1, __ATOMIC_RELAXED))
        thread_blame("two driver calls on memory at once");
    for (; claim_bytes && at; at = at->parent) {
        uint64_t held = __atomic_add_fetch(&at->held_bytes, claim_bytes, __ATOMIC_RELAXED);
        if (held > __atomic_load_n(&at->ceiling_bytes, __ATOMIC_RELAXED))
            thread_blame("the device is asked for more than the limit");
    }
    if (thread_yields) sched_yield();
    return GPUARENA_STATUS_DONE;
}

static inline void thread_call_end(const gpuarena_driver *self, slot_call call, uint64_t less_bytes)
{
    thread_arena *at = thread_arena_of(self);
    if (call < SLOT_EVENT) __atomic_fetch_sub(&at->inside, 1, __ATOMIC_RELAXED);
    for (; less_bytes && at; at = at->parent) __atomic_fetch_sub(&at->held_bytes, less_bytes, __ATOMIC_RELAXED);
}

static inline void *thread_host_alloc(size_t bytes, void *user)
{
    (void)user;
    __atomic_fetch_add(&thread_host_bytes, bytes, __ATOMIC_RELAXED);
    return malloc(bytes);
}

static inline void thread_host_free(void *memory, size_t bytes, void *user)
{
    (void)user;
    __atomic_fetch_sub(&thread_host_bytes, bytes, __ATOMIC_RELAXED);
    free(memory);
}

/* One of the arenas, not yet made; with the configuration that they all have. */
static inline gpuarena_config thread_prepare(thread_arena *self, slot_device *device, uint64_t limit_bytes)
{
    gpuarena_config config = GPUARENA_INIT;
    memset(self, 0, sizeof *self);
    pthread_mutex_init(&self->limit_lock, NULL);
    self->device = device;
    self->limit_bytes = self->ceiling_bytes = limit_bytes;
    config.driver = &device->table;
    config.environment = "";
    config.limit_bytes = limit_bytes;
    config.host_alloc = thread_host_alloc;
    config.host_free = thread_host_free;
    return config;
}

/* The first or the second arena, on a device of its own, which is opened. */
static inline gpuarena_config thread_open(thread_arena *self, gpuarena_backing kind, uint64_t limit_bytes)
{
    thread_device *device = &thread_devices[self - thread_arenas];
    gpuarena_config config;
    slot_open(&device->slots, 1 + (int)(self - thread_arenas), MIB(128));
    device->slots.begin = thread_call_begin;
    device->slots.end = thread_call_end;
    device->slots.blame = thread_blame;
    device->slots.tick_ns = 20000;
    free(device->units);
    device->units = calloc(THREAD_UNITS, sizeof *device->units);
    memset(device->folds, 0, sizeof device->folds);
    config = thread_prepare(self, &device->slots, limit_bytes);
    config.backing = kind;
    return config;
}

/* Changes the limit, unless another thread does so now. */
static inline void thread_set_limit(thread_arena *self, uint64_t bytes)
{
    if (pthread_mutex_trylock(&self->limit_lock)) return;
    if (bytes > self->limit_bytes) __atomic_store_n(&self->ceiling_bytes, bytes, __ATOMIC_RELAXED);
    WANT(gpuarena_set_limit(self->arena, bytes) == GPUARENA_OK);
    __atomic_store_n(&self->ceiling_bytes, bytes, __ATOMIC_RELAXED);
    self->limit_bytes = bytes;
    pthread_mutex_unlock(&self->limit_lock);
}

/* Nothing is left of what thread_open opened. */
static inline void thread_judge_left(const thread_arena *self)
{
    if (slot_left(self->device)[0]) thread_blame(slot_left(self->device));
    if (self->held_bytes) thread_blame("memory is held that is not there");
}

/* ---- trees of arenas, all on the first one's device */

static int thread_tree_count;

/* A device for a tree of arenas to be made. */
static inline void thread_tree_open(uint64_t device_bytes)
{
    memset(thread_arenas, 0, sizeof thread_arenas);
    (void)thread_open(&thread_arenas[0], GPUARENA_BACKING_AUTO, 0);
    thread_devices[0].slots.total_bytes = device_bytes;
    thread_tree_count = 0;
}

/* The next arena of the tree, under another, or the first under none (-1). Its limit may be more than the others
   leave, or the device has. 0: it was not made. */
static inline int thread_tree_make(int parent, uint64_t limit_bytes, const char *text)
{
    thread_arena *self = &thread_arenas[thread_tree_count];
    gpuarena_config config = thread_prepare(self, &thread_devices[0].slots, limit_bytes);
    uint64_t most_bytes = self->device->total_bytes;
    if (parent >= 0) {
        self->parent = &thread_arenas[parent];
        config.parent = self->parent->arena;
    }
    config.oversubscribe = 1;
    config.limit_bytes = limit_bytes < most_bytes ? limit_bytes : most_bytes;
    snprintf(config.name, sizeof config.name, "tenant %d", thread_tree_count);
    if (gpuarena_config_parse(text, &config, NULL, 0) || gpuarena_create(&config, &self->arena)
        || gpuarena_set_limit(self->arena, limit_bytes)) return 0;
    gpuarena_get_config(self->arena, &config);
    __atomic_store_n(&self->table, config.driver, __ATOMIC_RELAXED);
    return ++thread_tree_count;
}

/* The parent of all comes last. */
static inline void thread_tree_close(void)
{
    for (int at = thread_tree_count; at-- > 0;) WANT(gpuarena_destroy(thread_arenas[at].arena) == GPUARENA_OK);
    thread_judge_left(&thread_arenas[0]);
    if (thread_host_bytes) thread_blame("host memory is left");
}

/* ---- the shadow */

static inline thread_device *thread_device_of(const thread_arena *self)
{
    return &thread_devices[self->device == &thread_devices[0].slots ? 0 : 1];
}

static inline uint64_t thread_unit_of(const thread_arena *self, const void *ptr)
{
    uint64_t unit = (slot_address(ptr) - self->device->base) / THREAD_UNIT;
    if (slot_address(ptr) % THREAD_UNIT || unit >= THREAD_UNITS) thread_blame("a block is not on the device");
    return unit % THREAD_UNITS;
}

static inline uint64_t thread_stream_end(const thread_arena *self, int stream)
{
    return __atomic_load_n(&self->device->busy_until_ns[stream], __ATOMIC_RELAXED);
}

/* The last user of this memory is done with it, or this stream is behind it. */
static inline void thread_judge_order(const thread_arena *self, const thread_memory *memory, int stream)
{
    uint64_t freed = __atomic_load_n(&memory->freed, __ATOMIC_RELAXED), until = freed >> 2;
    uint64_t now = __atomic_load_n(&self->device->clock_ns, __ATOMIC_RELAXED) >> 2;
    if ((int)(freed & 3) == stream || until <= now) return;
    if (until > thread_stream_end(self, stream) >> 2) thread_blame("memory is another stream's still");
}

static inline void thread_take(thread_arena *self, thread_memory *memory, uint32_t number, int stream)
{
    if (__atomic_exchange_n(&memory->owner, number, __ATOMIC_RELAXED)) thread_blame("two live blocks overlap");
    thread_judge_order(self, memory, stream);
}

static inline void thread_leave(thread_memory *memory, uint64_t until_and_stream, uint32_t number)
{
    __atomic_store_n(&memory->freed, until_and_stream, __ATOMIC_RELAXED);
    if (__atomic_exchange_n(&memory->owner, 0, __ATOMIC_RELAXED) != number)
        thread_blame("a live block's memory was another's, too");
}

/* All of the block was nobody's, and is this one's now: by whole folds, and units where it has a part of one. */
static inline void thread_claim(thread_arena *self, const void *ptr, uint64_t bytes, uint32_t number, int stream)
{
    thread_device *device = thread_device_of(self);
    uint64_t at = thread_unit_of(self, ptr), end = at + (bytes + THREAD_UNIT - 1) / THREAD_UNIT;
    while (at < end && at < THREAD_UNITS) {
        thread_fold *fold = &device->folds[at / THREAD_FOLD];
        if (at % THREAD_FOLD == 0 && end - at >= THREAD_FOLD) {
            thread_take(self, &fold->whole, number, stream);
            thread_judge_order(self, &fold->part, stream);
            if (__atomic_load_n(&fold->unit_count, __ATOMIC_RELAXED)) thread_blame("two live blocks overlap");
            at += THREAD_FOLD;
            continue;
        }
        thread_take(self, &device->units[at++], number, stream);
        thread_judge_order(self, &fold->whole, stream);
        __atomic_fetch_add(&fold->unit_count, 1, __ATOMIC_RELAXED);
        if (__atomic_load_n(&fold->whole.owner, __ATOMIC_RELAXED)) thread_blame("two live blocks overlap");
    }
}

static inline void thread_disclaim(thread_arena *self, const void *ptr, uint64_t bytes, uint32_t number, int stream)
{
    thread_device *device = thread_device_of(self);
    uint64_t at = thread_unit_of(self, ptr), end = at + (bytes + THREAD_UNIT - 1) / THREAD_UNIT;
    uint64_t until = (thread_stream_end(self, stream) & ~(uint64_t)3) | (uint64_t)stream;
    while (at < end && at < THREAD_UNITS) {
        thread_fold *fold = &device->folds[at / THREAD_FOLD];
        if (at % THREAD_FOLD == 0 && end - at >= THREAD_FOLD) {
            thread_leave(&fold->whole, until, number);
            at += THREAD_FOLD;
            continue;
        }
        thread_leave(&device->units[at++], until, number);
        __atomic_store_n(&fold->part.freed, until, __ATOMIC_RELAXED);
        __atomic_fetch_sub(&fold->unit_count, 1, __ATOMIC_RELAXED);
    }
}

#endif
