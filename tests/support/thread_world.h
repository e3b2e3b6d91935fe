/* What tests with real threads share: slot devices that judge calls from any thread, and a shadow of device memory:
   who has each 256 bytes, and until when which stream's work uses them. None of it orders threads, lest races hide.
   It must not know the arena's inside. Included by test_threads_*.c. */
#ifndef TESTS_THREAD_WORLD_H
#define TESTS_THREAD_WORLD_H

#include <pthread.h>
#include <stdlib.h>
#include "stress/base/splitmix64.h"
#include "gpuarena.h"
#include "slot_events.h"
#include "tap.h"

enum { THREAD_ARENAS = 2, THREAD_UNIT = 256, THREAD_FOLD = 256, THREAD_UNITS = SLOT_COUNT * (2 << 20) / THREAD_UNIT };

/* freed: when the last user's work ends, with its stream in the two low bits. */
typedef struct thread_memory { uint64_t freed; uint32_t owner; } thread_memory;    /* the live block; 0: none */
typedef struct thread_fold { thread_memory whole, part; uint32_t unit_count; } thread_fold;

typedef struct thread_arena {
    slot_device device;
    gpuarena *arena;
    uint64_t ceiling_bytes;                      /* the limit, and while it is being changed the higher one */
    pthread_mutex_t limit_lock;                  /* taken by who changes it, if nobody does */
    uint64_t limit_bytes;
    int inside;                                  /* calls on memory in progress */
    thread_memory units[THREAD_UNITS];
    thread_fold folds[THREAD_UNITS / THREAD_FOLD];
} thread_arena;

static thread_arena thread_arenas[THREAD_ARENAS];
static uint64_t thread_host_bytes;
static const char *thread_trouble;               /* the first; NULL: none */

static inline void thread_blame(const char *what)
{
    const char *none = NULL;
    (void)__atomic_compare_exchange_n(&thread_trouble, &none, what, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

#define WANT(condition) do { if (!(condition)) thread_blame("not so: " #condition); } while (0)

/* ---- the device */

static inline thread_arena *thread_arena_of(const gpuarena_driver *self)
{
    for (int at = 0; at < THREAD_ARENAS; at++)
        if (&thread_arenas[at].device == slot_of(self)) return &thread_arenas[at];
    return NULL;
}

/* Calls on memory are one at a time, which the device's own fields need; and the limit holds in each. */
static inline gpuarena_status thread_call_begin(const gpuarena_driver *self, slot_call call, uint64_t claim_bytes)
{
    thread_arena *at = thread_arena_of(self);
    if (call >= SLOT_EVENT) return GPUARENA_STATUS_DONE;
    if (__atomic_fetch_add(&at->inside, 1, __ATOMIC_RELAXED)) thread_blame("two driver calls on memory at once");
    if (claim_bytes
        && at->device.held_bytes + claim_bytes > __atomic_load_n(&at->ceiling_bytes, __ATOMIC_RELAXED))
        thread_blame("the device is asked for more than the limit");
    return GPUARENA_STATUS_DONE;
}

static inline void thread_call_end(const gpuarena_driver *self, slot_call call)
{
    if (call < SLOT_EVENT) __atomic_fetch_sub(&thread_arena_of(self)->inside, 1, __ATOMIC_RELAXED);
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

static inline gpuarena_config thread_open(thread_arena *self, gpuarena_backing backing, uint64_t limit_bytes)
{
    gpuarena_config config = GPUARENA_INIT;
    memset(self, 0, sizeof *self);
    pthread_mutex_init(&self->limit_lock, NULL);
    slot_open(&self->device, 1 + (int)(self - thread_arenas), MIB(128));
    self->device.begin = thread_call_begin;
    self->device.end = thread_call_end;
    self->device.blame = thread_blame;
    self->device.tick_ns = 20000;
    self->limit_bytes = self->ceiling_bytes = limit_bytes;
    config.backing = backing;
    config.driver = &self->device.table;
    config.environment = "";
    config.limit_bytes = limit_bytes;
    config.host_alloc = thread_host_alloc;
    config.host_free = thread_host_free;
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

/* ---- the shadow */

static inline uint64_t thread_unit_of(const thread_arena *self, const void *ptr)
{
    uint64_t unit = (slot_address(ptr) - self->device.base) / THREAD_UNIT;
    if (slot_address(ptr) % THREAD_UNIT || unit >= THREAD_UNITS) thread_blame("a block is not on the device");
    return unit % THREAD_UNITS;
}

static inline uint64_t thread_stream_end(const thread_arena *self, int stream)
{
    return __atomic_load_n(&self->device.busy_until_ns[stream], __ATOMIC_RELAXED);
}

/* The last user of this memory is done with it, or this stream is behind it. */
static inline void thread_judge_order(const thread_arena *self, const thread_memory *memory, int stream)
{
    uint64_t freed = __atomic_load_n(&memory->freed, __ATOMIC_RELAXED), until = freed >> 2;
    if ((int)(freed & 3) == stream || until <= __atomic_load_n(&self->device.clock_ns, __ATOMIC_RELAXED) >> 2) return;
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
    uint64_t at = thread_unit_of(self, ptr), end = at + (bytes + THREAD_UNIT - 1) / THREAD_UNIT;
    while (at < end && at < THREAD_UNITS) {
        thread_fold *fold = &self->folds[at / THREAD_FOLD];
        if (at % THREAD_FOLD == 0 && end - at >= THREAD_FOLD) {
            thread_take(self, &fold->whole, number, stream);
            thread_judge_order(self, &fold->part, stream);
            if (__atomic_load_n(&fold->unit_count, __ATOMIC_RELAXED)) thread_blame("two live blocks overlap");
            at += THREAD_FOLD;
            continue;
        }
        thread_take(self, &self->units[at++], number, stream);
        thread_judge_order(self, &fold->whole, stream);
        __atomic_fetch_add(&fold->unit_count, 1, __ATOMIC_RELAXED);
        if (__atomic_load_n(&fold->whole.owner, __ATOMIC_RELAXED)) thread_blame("two live blocks overlap");
    }
}

static inline void thread_disclaim(thread_arena *self, const void *ptr, uint64_t bytes, uint32_t number, int stream)
{
    uint64_t at = thread_unit_of(self, ptr), end = at + (bytes + THREAD_UNIT - 1) / THREAD_UNIT;
    uint64_t until = (thread_stream_end(self, stream) & ~(uint64_t)3) | (uint64_t)stream;
    while (at < end && at < THREAD_UNITS) {
        thread_fold *fold = &self->folds[at / THREAD_FOLD];
        if (at % THREAD_FOLD == 0 && end - at >= THREAD_FOLD) {
            thread_leave(&fold->whole, until, number);
            at += THREAD_FOLD;
            continue;
        }
        thread_leave(&self->units[at++], until, number);
        __atomic_store_n(&fold->part.freed, until, __ATOMIC_RELAXED);
        __atomic_fetch_sub(&fold->unit_count, 1, __ATOMIC_RELAXED);
    }
}

#endif
