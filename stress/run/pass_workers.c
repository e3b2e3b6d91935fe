/* Each thread: its calls in order, with a clock around each where asked for; a wait for blocks not there yet.
   It must not know where the lists come from.
   Tested by tests/test_pass_threads.c. */
#include "pass_workers.h"

#include <sched.h>

#include "../device/lock.h"
#include "../base/progress.h"

static void worker_stop(worker *self)
{
    __atomic_store_n(&self->shared->must_stop, 1, __ATOMIC_RELAXED);
}

static int worker_must_stop(const worker *self)
{
    return __atomic_load_n(&self->shared->must_stop, __ATOMIC_RELAXED);
}

static void worker_failed(worker *self, const char *call, gpuarena_result result)
{
    self->failed_call = call;
    self->failed_result = result;
    worker_stop(self);
}

static gpuarena_stream worker_handle(const worker *self, uint32_t stream)
{
    return self->shared->streams->list[stream].handle;
}

static gpuarena_result worker_timed_alloc(worker *self, void **ptr, uint64_t bytes, gpuarena_stream stream)
{
    uint64_t calls = device_lock_calls(), start_ns = progress_clock_ns();
    gpuarena_result result = pool_alloc(&self->pool, ptr, bytes, stream);
    uint64_t spent_ns = progress_clock_ns() - start_ns;
    histogram_add(self->allocs, spent_ns);
    histogram_add(device_lock_calls() != calls ? self->misses : self->hits, spent_ns);
    return result;
}

static void worker_alloc(worker *self, const step *next)
{
    slot *made = &self->shared->slots[next->slot];
    void *ptr = NULL;
    gpuarena_stream stream = worker_handle(self, next->stream);
    gpuarena_result result = self->allocs ? worker_timed_alloc(self, &ptr, made->bytes, stream)
                                          : pool_alloc(&self->pool, &ptr, made->bytes, stream);
    self->ops++;
    made->ptr = ptr;
    __atomic_store_n(&made->state, result ? SLOT_REFUSED : SLOT_LIVE, __ATOMIC_RELEASE);
    if (!result) {
        self->alloc_count += made->bytes != 0;
    } else if (result != GPUARENA_OUT_OF_MEMORY) {
        worker_failed(self, "alloc", result);
    } else {
        self->refused = 1;
        if (!self->shared->skip_oom) worker_stop(self);
    }
}

/* What became of a block that is to be freed: its thread may be behind. */
static int worker_await(const worker *self, const slot *awaited)
{
    int state = __atomic_load_n(&awaited->state, __ATOMIC_ACQUIRE);
    while (state == SLOT_EMPTY && !worker_must_stop(self)) {
        sched_yield();
        state = __atomic_load_n(&awaited->state, __ATOMIC_ACQUIRE);
    }
    return state;
}

static void worker_free(worker *self, const step *next)
{
    slot *freed = &self->shared->slots[next->slot];
    gpuarena_stream stream = worker_handle(self, pool_goes_home(&self->pool) ? freed->home : next->stream);
    if (worker_await(self, freed) != SLOT_LIVE) return;
    uint64_t start_ns = self->frees ? progress_clock_ns() : 0;
    gpuarena_result result = pool_free(&self->pool, freed->ptr, freed->bytes, stream);
    if (self->frees) histogram_add(self->frees, progress_clock_ns() - start_ns);
    self->ops++;
    if (result) {
        worker_failed(self, "free", result);
        return;
    }
    freed->state = SLOT_FREED;                   /* by nobody else: a block is freed once */
    self->free_count += freed->bytes != 0;
}

static void *worker_run(void *argument)
{
    worker *self = argument;
    __atomic_fetch_add(&self->shared->arrived, 1, __ATOMIC_RELAXED);
    while (!__atomic_load_n(&self->shared->may_go, __ATOMIC_ACQUIRE)) sched_yield();
    self->start_ns = progress_clock_ns();
    for (size_t at = 0; at < self->step_count && !worker_must_stop(self); at++) {
        const step *next = &self->steps[at];
        if (next->is_free) worker_free(self, next);
        else worker_alloc(self, next);
    }
    self->end_ns = progress_clock_ns();
    return NULL;
}

uint32_t workers_go(worker *list, uint32_t count)
{
    uint32_t made = 0;
    workers_shared *shared = list->shared;
    while (made < count && !pthread_create(&list[made].handle, NULL, worker_run, &list[made])) made++;
    if (made < count) worker_stop(list);
    while (__atomic_load_n(&shared->arrived, __ATOMIC_RELAXED) < made) sched_yield();
    __atomic_store_n(&shared->may_go, 1, __ATOMIC_RELEASE);
    for (uint32_t at = 0; at < made; at++) pthread_join(list[at].handle, NULL);
    return made;
}
