/* Threads that begin together.
   It must not know whose calls they make.
   Tested by tests/test_bench.c. */
#include "crowd.h"

#include <sched.h>

#include "../base/progress.h"

enum { CROWD_WAIT, CROWD_GO, CROWD_LEAVE };

typedef struct crowd_gate { size_t ready; int state; } crowd_gate;           /* both by atomics */
typedef struct crowd_member {
    pthread_t   thread;
    pairs      *work;
    crowd_gate *gate;
    uint64_t    each, begin_ns, end_ns;
} crowd_member;

/* A tenth of the pairs is for warming up. */
static void *crowd_work(void *user)
{
    crowd_member *self = user;
    int state;
    pairs_run(self->work, self->each / 10);
    __atomic_add_fetch(&self->gate->ready, 1, __ATOMIC_RELEASE);
    while ((state = __atomic_load_n(&self->gate->state, __ATOMIC_ACQUIRE)) == CROWD_WAIT) sched_yield();
    if (state == CROWD_LEAVE) return NULL;
    self->begin_ns = progress_clock_ns();
    pairs_run(self->work, self->each);
    self->end_ns = progress_clock_ns();
    return NULL;
}

static uint64_t crowd_span(const crowd_member *members, size_t count)
{
    uint64_t begin_ns = members[0].begin_ns, end_ns = members[0].end_ns;
    for (size_t index = 1; index < count; index++) {
        if (members[index].begin_ns < begin_ns) begin_ns = members[index].begin_ns;
        if (members[index].end_ns > end_ns) end_ns = members[index].end_ns;
    }
    return end_ns - begin_ns;
}

int crowd_ns(pairs *crowd, size_t count, uint64_t each, double *ns, problem *why)
{
    crowd_gate gate = { 0, CROWD_WAIT };
    crowd_member members[CROWD_MOST];
    size_t started = 0;
    for (; started < count; started++) {
        crowd_member *member = &members[started];
        member->work = &crowd[started];
        member->gate = &gate;
        member->each = each;
        if (pthread_create(&member->thread, NULL, crowd_work, member)) break;
    }
    while (started == count && __atomic_load_n(&gate.ready, __ATOMIC_ACQUIRE) < count) sched_yield();
    __atomic_store_n(&gate.state, started == count ? CROWD_GO : CROWD_LEAVE, __ATOMIC_RELEASE);
    for (size_t index = 0; index < started; index++) (void)pthread_join(members[index].thread, NULL);
    if (started < count) {
        return problem_set(why, EXIT_HARNESS, "only %zu of %zu threads can be started", started, count);
    }
    *ns = (double)crowd_span(members, count) / (double)(each * count);
    return 0;
}
