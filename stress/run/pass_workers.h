/* Threads at work: calls of a list each, on one policy and on blocks that they share.
   They must not know where the lists come from, nor what the numbers are for.
   Tested by tests/test_pass_threads.c. */
#ifndef STRESS_RUN_PASS_WORKERS_H
#define STRESS_RUN_PASS_WORKERS_H

#include <pthread.h>

#include "../base/histogram.h"
#include "pass_streams.h"
#include "../policy/policy.h"

enum { WORKERS_APART = 128 };                    /* bytes that keep two threads' counters out of one cache line */

typedef enum slot_state { SLOT_EMPTY, SLOT_LIVE, SLOT_REFUSED, SLOT_FREED } slot_state;
typedef struct slot {                            /* a block */
    void    *ptr;                                /* written before the state is, read after */
    uint64_t bytes;
    uint32_t home;                               /* the stream of its allocation, by index */
    int      state;
} slot;

typedef struct step {                            /* one call */
    uint32_t slot, stream;
    int      is_free;
} step;

typedef struct workers_shared {
    const pass_streams *streams;
    slot               *slots;                   /* one thread's side by side */
    int                 skip_oom;                /* 0: at a refusal all stop */
    uint32_t            arrived;
    int                 may_go, must_stop;
} workers_shared;

typedef struct worker {                          /* set before: shared, pool, steps, histograms; the rest zero */
    workers_shared *shared;
    pool            pool;                        /* the one of all threads, with books of its own for `raw` */
    const step     *steps;
    size_t          step_count;
    histogram      *allocs, *frees;              /* NULL: no clock; else these are there, too: */
    histogram      *hits, *misses;               /* the allocs apart: whether this thread called the driver in them */
    uint64_t        start_ns, end_ns, ops;
    uint64_t        alloc_count, free_count;     /* that succeeded, of more than 0 bytes */
    int             refused;
    const char     *failed_call;                 /* NULL: none */
    gpuarena_result failed_result;
    pthread_t       handle;
    char            apart[WORKERS_APART];
} worker;

/* Starts all, lets them go when all are there, and returns when all have ended. How many it could start: if not all,
   they have ended at once. */
uint32_t workers_go(worker *list, uint32_t count);

#endif
