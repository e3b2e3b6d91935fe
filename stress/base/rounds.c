/* Order and statistics. */
#include "rounds.h"

#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "progress.h"
#include "sets.h"

enum { ROUNDS_MOST_EXACT = 10000 };              /* 2^-10000 is a long double still */

uint64_t rounds_clock_ns(void)
{
    struct timespec now = { 0, 0 };
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void *rounds_idle(void *user)
{
    return user;
}

int rounds_second_thread(problem *why)
{
    pthread_t thread;
    if (!pthread_create(&thread, NULL, rounds_idle, NULL) && !pthread_join(thread, NULL)) return 0;
    return problem_set(why, EXIT_HARNESS, "no second thread can be started");
}

void rounds_shuffle(size_t *order, size_t count, uint64_t *random)
{
    for (size_t index = 0; index < count; index++) {
        size_t other = (size_t)splitmix64_below(random, index + 1);
        order[index] = order[other];
        order[other] = index;
    }
}

/* The median is below the value of rank r as often as at most r of count fair coins fall on one side. Above ten
   thousand values the rank comes from the normal distribution, one rank further out. */
size_t rounds_low_rank(size_t count)
{
    if (count > ROUNDS_MOST_EXACT) return (size_t)((double)count / 2 - 0.98 * sqrt((double)count)) - 1;
    long double term = powl(0.5L, (long double)count), below = term;
    size_t rank = 0;
    while (below + term * (long double)(count - rank) / (long double)(rank + 1) <= 0.025L) {
        term = term * (long double)(count - rank) / (long double)(rank + 1);
        below += term;
        rank++;
    }
    return rank;
}

ARRAY_ORDER(rounds_by_value, double, [0])

double rounds_share(rounds_interval found)
{
    double half = (found.high - found.low) / 2;
    return half > 0.0 ? half / found.median : 0.0;
}

rounds_length rounds_of(size_t warm, size_t least, size_t most, uint64_t precision_ppm, uint64_t budget_s)
{
    return (rounds_length){ warm, least, most, (double)precision_ppm / 1e6, budget_s * 1000000000u };
}

rounds_end rounds_over(const rounds_length *self, size_t done, uint64_t spent_ns, rounds_share_fn *share, void *user)
{
    size_t look = self->least;
    while (look < done) look += (look + 1) / 2;
    int is_look = self->precision > 0.0 && (look == done || done == self->most);
    if (is_look && share(user) <= self->precision) return ROUNDS_PRECISE;
    if (done >= self->most) return ROUNDS_MOST;
    return spent_ns >= self->budget_ns ? ROUNDS_TIME : ROUNDS_GO_ON;
}

const char *rounds_end_name(rounds_end end)
{
    static const char *const names[] = { NULL, "precise", "rounds", "time" };
    return names[end];
}

rounds_interval rounds_median(double *values, size_t count)
{
    rounds_interval found;
    size_t rank = rounds_low_rank(count);
    qsort(values, count, sizeof *values, rounds_by_value);
    found.low = values[rank];
    found.median = (values[(count - 1) / 2] + values[count / 2]) / 2;
    found.high = values[count - 1 - rank];
    return found;
}

/* ---- The loop */

static int rounds_one(rounds_loop *self, size_t round, size_t lane_count, rounds_lane_fn *lane, void *user,
                      problem *why)
{
    size_t order[ROUNDS_MOST_LANES];
    rounds_shuffle(order, lane_count, &self->random);
    for (size_t at = 0; at < lane_count; at++)
        if (lane(user, order[at], round, why)) return -1;
    return 0;
}

int rounds_run(rounds_loop *self, size_t lane_count, rounds_lane_fn *lane, rounds_share_fn *share, void *user,
               problem *why)
{
    uint64_t begin_ns = progress_clock_ns();
    for (size_t warm = 0; warm < self->length.warm; warm++)
        if (rounds_one(self, 0, lane_count, lane, user, why)) return -1;
    self->count = 0;
    do {
        if (rounds_one(self, self->count, lane_count, lane, user, why)) return -1;
        self->count++;
        self->ended = rounds_over(&self->length, self->count, progress_clock_ns() - begin_ns, share, user);
    } while (self->ended == ROUNDS_GO_ON && !interrupt_signal());
    return 0;
}

rounds_interval rounds_value(const rounds_loop *self, const double *values)
{
    double sorted[ROUNDS_MOST_COUNT];
    memcpy(sorted, values, self->count * sizeof *sorted);
    return rounds_median(sorted, self->count);
}

rounds_interval rounds_ratio(const rounds_loop *self, const double *over, const double *under)
{
    double ratios[ROUNDS_MOST_COUNT];
    for (size_t round = 0; round < self->count; round++) ratios[round] = over[round] / under[round];
    return rounds_median(ratios, self->count);
}

/* ---- Threads that begin together */

enum { CROWD_WAIT, CROWD_GO, CROWD_LEAVE };

typedef struct crowd { crowd_work *warm, *work; size_t ready; int state; } crowd;   /* atomics: ready and state */
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
    if (self->of->warm) self->of->warm(self->member);
    __atomic_add_fetch(&self->of->ready, 1, __ATOMIC_RELEASE);
    while ((state = __atomic_load_n(&self->of->state, __ATOMIC_ACQUIRE)) == CROWD_WAIT) sched_yield();
    if (state == CROWD_LEAVE) return NULL;
    self->begin_ns = progress_clock_ns();
    self->of->work(self->member);
    self->end_ns = progress_clock_ns();
    return NULL;
}

int crowd_run(crowd_work *warm, crowd_work *work, void *members, size_t count, size_t bytes, uint64_t *ns,
              problem *why)
{
    crowd_thread threads[CROWD_MOST];
    crowd all = { warm, work, 0, CROWD_WAIT };
    size_t started = 0;
    uint64_t begin_ns = UINT64_MAX, end_ns = 0;
    for (; started < count; started++) {
        threads[started] = (crowd_thread){ .of = &all, .member = (char *)members + started * bytes };
        if (pthread_create(&threads[started].handle, NULL, crowd_thread_main, &threads[started])) break;
    }
    while (started == count && __atomic_load_n(&all.ready, __ATOMIC_ACQUIRE) < count) sched_yield();
    __atomic_store_n(&all.state, started == count ? CROWD_GO : CROWD_LEAVE, __ATOMIC_RELEASE);
    for (const crowd_thread *ended = threads; ended < threads + started; ended++) {
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
