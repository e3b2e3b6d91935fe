#include "crowd.h"

#include <pthread.h>
#include <sched.h>

#include "progress.h"

enum { CROWD_WAIT, CROWD_GO, CROWD_LEAVE };

typedef struct crowd { const crowd_job *job; size_t ready; int state; } crowd;      /* the last two by atomics */
typedef struct crowd_thread {
    pthread_t handle;
    crowd    *of;
    void     *member;
    uint64_t  begin_ns, end_ns;
} crowd_thread;

static void *crowd_thread_main(void *user)
{
    crowd_thread *self = user;
    int state;
    if (self->of->job->warm) self->of->job->warm(self->member);
    __atomic_add_fetch(&self->of->ready, 1, __ATOMIC_RELEASE);
    while ((state = __atomic_load_n(&self->of->state, __ATOMIC_ACQUIRE)) == CROWD_WAIT) sched_yield();
    if (state == CROWD_LEAVE) return NULL;
    self->begin_ns = progress_clock_ns();
    self->of->job->work(self->member);
    self->end_ns = progress_clock_ns();
    return NULL;
}

int crowd_run(const crowd_job *job, void *members, size_t count, size_t bytes, uint64_t *ns, problem *why)
{
    crowd_thread threads[CROWD_MOST];
    crowd all = { job, 0, CROWD_WAIT };
    size_t started = 0;
    uint64_t begin_ns = UINT64_MAX, end_ns = 0;
    for (; started < count; started++) {
        const crowd_thread next = { .of = &all, .member = (char *)members + started * bytes };
        threads[started] = next;
        if (pthread_create(&threads[started].handle, NULL, crowd_thread_main, &threads[started])) break;
    }
    while (started == count && __atomic_load_n(&all.ready, __ATOMIC_ACQUIRE) < count) sched_yield();
    __atomic_store_n(&all.state, started == count ? CROWD_GO : CROWD_LEAVE, __ATOMIC_RELEASE);
    for (size_t index = 0; index < started; index++) {
        const crowd_thread *ended = &threads[index];
        (void)pthread_join(ended->handle, NULL);
        if (ended->begin_ns < begin_ns) begin_ns = ended->begin_ns;
        if (ended->end_ns > end_ns) end_ns = ended->end_ns;
    }
    if (started < count) {
        return problem_set(why, EXIT_HARNESS, "thread %zu of %zu cannot be started", started + 1, count);
    }
    *ns = end_ns - begin_ns;
    return 0;
}
