/* Threads that allocate on the arenas of thread_world.h, hand blocks over to each other, and free them: live blocks,
   counts, and how threads begin and end. Tests choose the calls, and how often they are made. It must not know the
   arena's inside. Included by tests in threads/. */
#ifndef TESTS_THREAD_WORKERS_H
#define TESTS_THREAD_WORKERS_H

#include "thread_world.h"

enum { WORKERS = 64, WORKER_LIVE = 48, WORKER_EXCHANGE = 32 };

typedef struct tenancy {
    void *ptr;
    uint64_t bytes;
    thread_arena *at;
    uint32_t number;
    int stream, also;                            /* also: another stream that uses it; -1: none */
} tenancy;
typedef struct worker {
    pthread_t thread;
    uint64_t random, ops, alloc_count, free_count, fail_count;
    void (*op)(struct worker *self);
    uint32_t index, numbers;
    int own;                                     /* the thread's own stream */
    int count;
    tenancy blocks[WORKER_LIVE];
} worker;

static worker workers[WORKERS];
static int worker_count, worker_lives;           /* lives: of all threads that there were */
static tenancy *worker_exchange[WORKER_EXCHANGE];            /* blocks on their way to any thread */
static pthread_barrier_t worker_barrier;         /* none begins before all are there */

static inline uint64_t pick(worker *self, uint64_t below) { return splitmix64_next(&self->random) % below; }

/* A stream that all have; or, if there is such, the thread's own. */
static inline int worker_stream(worker *self, const thread_arena *at)
{
    int stream = (int)pick(self, SLOT_STREAMS);
    return stream == SLOT_STREAMS - 1 && at->device->table.per_thread ? self->own : stream;
}

/* The stream in the thread's words. */
static inline gpuarena_stream worker_handle(const worker *self, const thread_arena *at, int stream)
{
    if (stream < SLOT_STREAMS) return slot_stream(stream);
    return stream == self->own ? at->device->table.per_thread : GPUARENA_OWN_STREAM;
}

/* The block is the worker's now; the GPU works on it, or not. */
static inline void worker_keep(worker *self, tenancy made)
{
    self->alloc_count++;
    made.also = -1;
    made.number = ++self->numbers * WORKERS + self->index;
    thread_claim(made.at, made.ptr, made.bytes, made.number, made.stream);
    thread_soil(made.at, made.ptr, 0, made.bytes);
    slot_work(made.at->device, made.stream, pick(self, 4) ? 0 : pick(self, 100000));
    self->blocks[self->count++] = made;
}

static inline void worker_free(worker *self, const tenancy *block)
{
    gpuarena_stream stream = pick(self, 4) ? worker_handle(self, block->at, block->stream) : GPUARENA_OWN_STREAM;
    thread_disclaim(block->at, block->ptr, block->bytes, block->number, block->stream, block->also);
    WANT(gpuarena_free(block->at->arena, block->ptr, stream) == GPUARENA_OK);
    self->free_count++;
}

/* Takes one of the worker's blocks from it. 0: it has none. */
static inline int worker_take(worker *self, tenancy *taken)
{
    uint64_t which = self->count ? pick(self, (uint64_t)self->count) : 0;
    if (!self->count) return 0;
    *taken = self->blocks[which];
    self->blocks[which] = self->blocks[--self->count];
    return 1;
}

/* Puts a block where any thread may find it, and takes the block that is there. 0: there is none. */
static inline int worker_swap(worker *self, uint64_t places, tenancy *found)
{
    tenancy *mine = self->count ? malloc(sizeof *mine) : NULL, *other;
    if (mine) *mine = self->blocks[--self->count];
    other = __atomic_exchange_n(&worker_exchange[pick(self, places)], mine, __ATOMIC_ACQ_REL);
    if (!other) return 0;
    *found = *other;
    free(other);
    return 1;
}

static inline void *worker_run(void *argument)
{
    worker *self = argument;
    thread_number = self->own - SLOT_STREAMS;
    pthread_barrier_wait(&worker_barrier);
    for (uint64_t op = 0; op < self->ops; op++) {
        self->op(self);
        if (thread_yields && op % 4 == 0) sched_yield();
    }
    return NULL;
}

/* Nobody has a block. */
static inline void workers_open(int count)
{
    memset(workers, 0, sizeof workers);
    worker_count = count;
    worker_lives = 0;
    for (int at = 0; at < count; at++) {
        workers[at].index = (uint32_t)at;
        workers[at].own = SLOT_STREAMS;
    }
}

/* Threads live and end; their blocks outlive them. */
static inline void workers_live(uint64_t seed, uint64_t ops, void (*op)(worker *self))
{
    pthread_barrier_init(&worker_barrier, NULL, (unsigned)worker_count);
    for (int at = 0; at < worker_count; at++) {
        workers[at].random = (seed * WORKERS + (uint64_t)at + 1) << 32;
        workers[at].own = SLOT_STREAMS + ++worker_lives;
        workers[at].ops = ops;
        workers[at].op = op;
        WANT(!pthread_create(&workers[at].thread, NULL, worker_run, &workers[at]));
    }
    for (int at = 0; at < worker_count; at++) pthread_join(workers[at].thread, NULL);
    pthread_barrier_destroy(&worker_barrier);
}

/* Frees all live blocks; returns the sums of all workers. */
static inline worker workers_close(void)
{
    worker sum;
    tenancy block;
    memset(&sum, 0, sizeof sum);
    for (int at = 0; at < worker_count; at++) workers[at].own = SLOT_STREAMS;
    for (int at = 0; at < WORKER_EXCHANGE; at++)
        if (worker_exchange[at]) {
            worker_free(&workers[0], worker_exchange[at]);
            free(worker_exchange[at]);
            worker_exchange[at] = NULL;
        }
    for (int at = 0; at < worker_count; at++) {
        while (worker_take(&workers[at], &block)) worker_free(&workers[at], &block);
        sum.alloc_count += workers[at].alloc_count;
        sum.free_count += workers[at].free_count;
        sum.fail_count += workers[at].fail_count;
    }
    return sum;
}

#endif
