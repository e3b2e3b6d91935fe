/* What honest measuring takes: a process that has had a second thread, rounds in a seeded random order, as many as it
   takes and no more, medians with confidence intervals; threads that begin together.
   It must not know what is measured. */
#ifndef STRESS_BASE_ROUNDS_H
#define STRESS_BASE_ROUNDS_H

#include "program.h"

typedef struct rounds_interval { double low, median, high; } rounds_interval;
enum { ROUNDS_LEAST_COUNT = 6 };                 /* with fewer values there are no such ranks */

/* Starts a thread and waits for its end: until then, glibc's mutex does without atomics. */
int rounds_second_thread(problem *why);

/* Time that this thread has had a processor for: what others do on the machine meanwhile is not counted, else who
   takes longer would be interrupted more often. A system call: not for single pairs. */
uint64_t rounds_clock_ns(void);

/* order becomes 0 .. count - 1, shuffled. */
void rounds_shuffle(size_t *order, size_t count, uint64_t *random);

/* The median, and the ranks between which it lies with 95 % confidence, whatever the distribution. Below 6 values no
   ranks do: then it is all of them. Sorts values; count > 0. */
rounds_interval rounds_median(double *values, size_t count);
size_t          rounds_low_rank(size_t count);   /* from 0; the high one is as far from the other end */
double          rounds_share(rounds_interval found);         /* half of its width over the median; of 0: 0 if it
                                                                is 0 */

/* How long to measure. Whether the precision is reached is looked at after the least, after half as many more, and so
   on, and at the end: looked at after each, rounds would end whenever luck made them agree. */
typedef struct rounds_length {
    size_t   warm;                               /* come first, and are dropped */
    size_t   least, most;                        /* that count */
    double   precision;                          /* as rounds_share: enough when it is no more; 0: never */
    uint64_t budget_ns;                          /* of the clock; after it no further round begins */
} rounds_length;
typedef enum rounds_end { ROUNDS_GO_ON, ROUNDS_PRECISE, ROUNDS_MOST, ROUNDS_TIME } rounds_end;
typedef double rounds_share_fn(void *user);      /* the worst of all that is measured, of the rounds so far */

rounds_length rounds_of(size_t warm, size_t least, size_t most, uint64_t precision_ppm, uint64_t budget_s);
/* After so many that count, and so long since the first began. share is asked only where it is looked at. */
rounds_end    rounds_over(const rounds_length *self, size_t done, uint64_t spent_ns, rounds_share_fn *share,
                          void *user);
const char   *rounds_end_name(rounds_end end);   /* "precise", "rounds", "time"; NULL: GO_ON */

/* ---- The loop: every round measures every lane once, in a random order */

enum { ROUNDS_MOST_LANES = 8, ROUNDS_MOST_COUNT = 201 };

typedef struct rounds_loop {
    rounds_length length;                        /* set before, and: */
    uint64_t      random;                        /* orders lanes */
    size_t        count;                         /* rounds that count */
    rounds_end    ended;                         /* why there are no more; GO_ON: a signal ended them */
} rounds_loop;
/* Measures a lane and keeps what it found as that of this round; warm ones are round 0, which is then overwritten. */
typedef int rounds_lane_fn(void *user, size_t lane, size_t round, problem *why);

/* -1: a lane's answer. */
int rounds_run(rounds_loop *self, size_t lane_count, rounds_lane_fn *lane, rounds_share_fn *share, void *user,
               problem *why);
/* Of a lane's values by round, and of the ratios of two lanes in each round. */
rounds_interval rounds_value(const rounds_loop *self, const double *values);
rounds_interval rounds_ratio(const rounds_loop *self, const double *over, const double *under);

/* ---- Threads that begin together, and the time from the first one's begin to the last one's end */

enum { CROWD_MOST = 64 };

typedef void crowd_work(void *member);

/* Each of the members, an array of so many (at most CROWD_MOST) of so many bytes, works on a thread of its own, and
   warms there before any begins (NULL: does not); returns when all have ended. *ns: what their work took. -1 and a
   problem: a thread cannot be started, and no work was done. */
int crowd_run(crowd_work *warm, crowd_work *work, void *members, size_t count, size_t bytes, uint64_t *ns,
              problem *why);

#endif
