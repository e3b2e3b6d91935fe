/* Who is measured: the arena over a null device, CUB's allocator over a null CUDA runtime, or a bare mutex.
   It must not time anything. Tested by tests/test_bench.c. */
#ifndef STRESS_MEASURE_SUBJECT_H
#define STRESS_MEASURE_SUBJECT_H

#include <pthread.h>

#include "../../gpuarena.h"
#include "../base/problem.h"
#include "../policy/rival.h"

typedef enum subject_kind {
    SUBJECT_SEGMENTS, SUBJECT_PAGED,
    SUBJECT_SEGMENTS_CACHED, SUBJECT_PAGED_CACHED,           /* with caches of SUBJECT_CACHE_BYTES */
    SUBJECT_CUB, SUBJECT_MUTEX
} subject_kind;

typedef struct subject {
    subject_kind    kind;
    gpuarena       *arena;                       /* NULL: CUB or the mutex */
    rival          *rival;                       /* NULL: an arena or the mutex */
    pthread_mutex_t mutex;
} subject;

#define SUBJECT_LIMIT_BYTES ((uint64_t)64 << 30) /* of arenas */
#define SUBJECT_CACHE_BYTES ((uint64_t)64 << 20)

const char *subject_name(subject_kind kind);

/* -1 and a problem. EXIT_NO_DEVICE: CUB is not in this build. subject_close in both cases. */
int  subject_open(subject *self, subject_kind kind, problem *why);
void subject_close(subject *self);

/* Whether an arena's sums are exact, its limit kept, its structures whole and so many blocks live: 0, or -1 and a
   problem (EXIT_VERIFY). Others are not looked into. */
int  subject_verify(const subject *self, uint64_t live_count, problem *why);

/* 0 is success. The mutex: each is a lock and an unlock, as each call of an allocator takes its lock once. Inline, so
   that nothing is added to the calls but choosing whose they are. */
static inline int subject_lock(subject *self)
{
    return pthread_mutex_lock(&self->mutex) || pthread_mutex_unlock(&self->mutex);
}

static inline int subject_alloc(subject *self, void **ptr, uint64_t bytes, gpuarena_stream stream)
{
    if (self->arena) return gpuarena_alloc(self->arena, ptr, bytes, stream);
    if (self->rival) return rival_alloc(self->rival, ptr, bytes, stream);
    return subject_lock(self);
}

static inline int subject_free(subject *self, void *ptr, gpuarena_stream stream)
{
    if (self->arena) return gpuarena_free(self->arena, ptr, stream);
    if (self->rival) return rival_free(self->rival, ptr);
    return subject_lock(self);
}

#endif
