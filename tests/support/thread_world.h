/* What tests with real threads share: slot devices that judge calls from any thread, arenas on them, alone or in
   trees, with what each holds, and a shadow of device memory: who has each 256 bytes, and until when which stream's
   work uses them. None of it orders threads, lest races hide.
   It must not know the arena's inside. Included by tests in threads/. */
#ifndef TESTS_THREAD_WORLD_H
#define TESTS_THREAD_WORLD_H

#include <pthread.h>
#include <sched.h>
#include "stress/base/splitmix64.h"
#include "host_memory.h"
#include "slot_device.h"
#include "tap.h"

enum { THREAD_DEVICES = 2, THREAD_ARENAS = 10, THREAD_UNIT = 256, THREAD_FOLD = 256,
       THREAD_UNITS = SLOT_COUNT * ((2 << 20) / THREAD_UNIT) };

/* freed: when the work of the last user's streams ends, with the stream in the low bits. owner: the live block; 0:
   there is none. */
enum { THREAD_STREAM = 127 };
typedef struct thread_memory { uint64_t freed[2]; uint32_t owner; } thread_memory;
typedef struct thread_fold { thread_memory whole, part; uint32_t unit_count; } thread_fold;

typedef struct thread_device {
    slot_device slots;
    thread_memory *units;
    uint64_t used;                               /* of the units the first so many */
    unsigned char soiled[THREAD_UNITS];          /* of arenas that clear: 1: it may hold somebody's data */
    thread_fold folds[THREAD_UNITS / THREAD_FOLD];
} thread_device;

typedef struct thread_arena {
    slot_device *device;
    host_memory host;
    gpuarena *arena;
    const gpuarena_driver *table;                /* a sub-arena's own copy: by it calls are known */
    struct thread_arena *parent;                 /* NULL: none */
    uint64_t held_bytes;                         /* here and below */
    uint64_t ceiling_bytes;                      /* the limit, and while it is being changed the higher one */
    pthread_mutex_t limit_lock;                  /* taken by who changes it, if nobody does */
    uint64_t limit_bytes;
    int inside;                                  /* calls on memory in progress */
    gpuarena_scrub scrub;
} thread_arena;

static thread_device thread_devices[THREAD_DEVICES];
static thread_arena thread_arenas[THREAD_ARENAS];            /* the first of each device have no parents */
static __thread int thread_number;               /* 0: the first thread */
static int thread_yields;                        /* in each driver call, and between calls, others
                                                    have their go */
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

static inline void thread_yield(void) { if (thread_yields) sched_yield(); }

/* An arena makes one call on memory at a time; and in each its limit holds, and the limits of all above. */
static inline void thread_call_begin(const gpuarena_driver *self, uint64_t claim_bytes)
{
    thread_arena *at = thread_arena_of(self);
    if (__atomic_fetch_add(&at->inside, 1, __ATOMIC_RELAXED)) thread_blame("two driver calls on memory at once");
    for (; claim_bytes && at; at = at->parent) {
        uint64_t held = __atomic_add_fetch(&at->held_bytes, claim_bytes, __ATOMIC_RELAXED);
        if (held > __atomic_load_n(&at->ceiling_bytes, __ATOMIC_RELAXED))
            thread_blame("the device is asked for more than the limit");
    }
    thread_yield();
}

static inline void thread_call_end(const gpuarena_driver *self, uint64_t less_bytes)
{
    thread_arena *at = thread_arena_of(self);
    __atomic_fetch_sub(&at->inside, 1, __ATOMIC_RELAXED);
    for (; less_bytes && at; at = at->parent) __atomic_fetch_sub(&at->held_bytes, less_bytes, __ATOMIC_RELAXED);
}

static inline thread_device *thread_device_of(const thread_arena *self)
{
    return &thread_devices[self->device == &thread_devices[0].slots ? 0 : 1];
}

/* ---- the shadow: who has memory, until when the streams of its last user work, and what may still hold data */

static inline uint64_t thread_unit_of(const thread_arena *self, const void *ptr)
{
    uint64_t unit = (slot_address(ptr) - self->device->base) / THREAD_UNIT;
    if (slot_address(ptr) % THREAD_UNIT || unit >= THREAD_UNITS) thread_blame("a block is not on the device");
    return unit % THREAD_UNITS;
}

/* When a stream's work ends, with its number; stream -1: none's. */
static inline uint64_t thread_until(const thread_arena *self, int stream)
{
    if (stream < 0) return 0;
    return (__atomic_load_n(&self->device->busy_until_ns[stream], __ATOMIC_RELAXED) & ~(uint64_t)THREAD_STREAM)
        | (uint64_t)stream;
}

/* The last user of this memory is done with it, or this stream is behind it. */
static inline void thread_judge_order(const thread_arena *self, const thread_memory *memory, int stream)
{
    uint64_t now = __atomic_load_n(&self->device->clock_ns, __ATOMIC_RELAXED);
    for (int at = 0; at < 2; at++) {
        uint64_t freed = __atomic_load_n(&memory->freed[at], __ATOMIC_RELAXED);
        if ((int)(freed & THREAD_STREAM) != stream && freed > (now | THREAD_STREAM)
            && freed > (thread_until(self, stream) | THREAD_STREAM))
            thread_blame("memory is another stream's still");
    }
}

static inline void thread_set_freed(thread_memory *memory, const uint64_t freed[2])
{
    for (int at = 0; at < 2; at++) __atomic_store_n(&memory->freed[at], freed[at], __ATOMIC_RELAXED);
}

/* What becomes of a piece of memory: a whole fold, or a unit of one, beside which is what is known of the rest. */
typedef struct thread_event {
    enum { THREAD_TAKE, THREAD_LEAVE, THREAD_CLEAR } kind;
    uint32_t number;                             /* of the block */
    int stream;                                  /* that has it */
    uint64_t freed[2];                           /* by whom, until when */
} thread_event;

static inline void thread_visit(const thread_arena *self, thread_fold *fold, thread_memory *unit,
                                const thread_event *event)
{
    thread_memory *memory = unit ? unit : &fold->whole, *beside = unit ? &fold->whole : &fold->part;
    uint32_t owner = event->kind == THREAD_TAKE ? event->number : 0;
    if (event->kind != THREAD_LEAVE) {
        thread_judge_order(self, memory, event->stream);
        thread_judge_order(self, beside, event->stream);
    }
    if (event->kind != THREAD_TAKE) thread_set_freed(memory, event->freed);
    if (event->kind == THREAD_LEAVE && unit) {
        thread_set_freed(&fold->part, event->freed);
        __atomic_fetch_sub(&fold->unit_count, 1, __ATOMIC_RELAXED);
    }
    if (event->kind == THREAD_TAKE && unit) __atomic_fetch_add(&fold->unit_count, 1, __ATOMIC_RELAXED);
    if (event->kind == THREAD_CLEAR) owner = __atomic_load_n(&memory->owner, __ATOMIC_RELAXED);
    else owner = __atomic_exchange_n(&memory->owner, owner, __ATOMIC_RELAXED);
    if (owner != (event->kind == THREAD_LEAVE ? event->number : 0)
        || (event->kind == THREAD_TAKE && (unit ? __atomic_load_n(&fold->whole.owner, __ATOMIC_RELAXED)
                                                : __atomic_load_n(&fold->unit_count, __ATOMIC_RELAXED))))
        thread_blame("memory is two blocks' at once");
}

/* Of so many bytes: by whole folds, and by units where a part of one is meant. */
static inline void thread_visit_all(const thread_arena *self, const void *ptr, uint64_t bytes,
                                    const thread_event *event)
{
    thread_device *device = thread_device_of(self);
    uint64_t at = thread_unit_of(self, ptr), end = at + (bytes + THREAD_UNIT - 1) / THREAD_UNIT;
    slot_raise(&device->used, end < THREAD_UNITS ? end : THREAD_UNITS);
    while (at < end && at < THREAD_UNITS) {
        int is_whole = at % THREAD_FOLD == 0 && end - at >= THREAD_FOLD;
        thread_visit(self, &device->folds[at / THREAD_FOLD], is_whole ? NULL : &device->units[at], event);
        at += is_whole ? THREAD_FOLD : 1;
    }
}

/* All of the block was nobody's, and is this one's now. */
static inline void thread_claim(thread_arena *self, const void *ptr, uint64_t bytes, uint32_t number, int stream)
{
    const thread_event event = { THREAD_TAKE, number, stream, { 0, 0 } };
    thread_visit_all(self, ptr, bytes, &event);
}

/* also: another stream that used it; -1: none. */
static inline void thread_disclaim(thread_arena *self, const void *ptr, uint64_t bytes, uint32_t number, int stream,
                                   int also)
{
    const thread_event event = { THREAD_LEAVE, number, stream,
                                 { thread_until(self, stream), thread_until(self, also) } };
    thread_visit_all(self, ptr, bytes, &event);
}

/* The arena clears; what the device has may hold data from the start, unless it clears frees alone. */
static inline void thread_scrub(thread_arena *self, gpuarena_scrub scrub)
{
    self->scrub = scrub;
    memset(thread_device_of(self)->soiled, scrub & GPUARENA_SCRUB_ALLOC ? 1 : 0, THREAD_UNITS);
}

/* Nobody has a block any more. */
static inline void thread_judge_clear(const thread_arena *self)
{
    if (self->scrub == GPUARENA_SCRUB_FREE && memchr(thread_device_of(self)->soiled, 1, THREAD_UNITS))
        thread_blame("what was freed was not cleared");
}

/* From one byte to another a block holds data now, where none was. */
static inline void thread_soil(thread_arena *self, const void *ptr, uint64_t from, uint64_t to)
{
    thread_device *device = thread_device_of(self);
    uint64_t first = (from + THREAD_UNIT - 1) / THREAD_UNIT, end = (to + THREAD_UNIT - 1) / THREAD_UNIT;
    if (!self->scrub || end <= first) return;
    first += thread_unit_of(self, ptr);
    end += thread_unit_of(self, ptr);
    if (memchr(&device->soiled[first], 1, end - first)) thread_blame("what is had was not cleared");
    memset(&device->soiled[first], 1, end - first);
}

/* In place of the device's: what is cleared is nobody's, and no stream's but behind all that used it. */
static inline int thread_clear(const gpuarena_driver *driver, void *ptr, uint64_t bytes, gpuarena_stream stream)
{
    const thread_arena *self = thread_arena_of(driver);
    int number = slot_number(self->device, stream), code = slot_clear(driver, ptr, bytes, stream);
    const thread_event event = { THREAD_CLEAR, 0, number, { thread_until(self, number), 0 } };
    thread_visit_all(self, ptr, bytes, &event);
    memset(&thread_device_of(self)->soiled[thread_unit_of(self, ptr)], 0, bytes / THREAD_UNIT);
    return code;
}

/* ---- arenas */

static inline int thread_own_stream(void) { return SLOT_STREAMS + thread_number; }

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
    host_serve(&self->host, &config);
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
    device->slots.begin_other = thread_yield;
    device->slots.blame = thread_blame;
    device->slots.thread = thread_own_stream;
    device->slots.tick_ns = 20000;
    device->slots.table.clear = thread_clear;
    if (!device->units) device->units = calloc(THREAD_UNITS, sizeof *device->units);
    memset(device->units, 0, device->used * sizeof *device->units);
    memset(device->folds, 0, sizeof device->folds);
    memset(device->soiled, 0, sizeof device->soiled);
    device->used = 0;
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
static inline void thread_judge_left(thread_arena *self)
{
    if (slot_left(self->device)[0]) thread_blame(slot_left(self->device));
    if (self->held_bytes) thread_blame("memory is held that is not there");
    if (host_close(&self->host)) thread_blame(host_close(&self->host));
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
    for (int at = 0; at < thread_tree_count; at++) thread_judge_left(&thread_arenas[at]);
}

#endif
