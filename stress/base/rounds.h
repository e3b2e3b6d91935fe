/* The tools of honest measuring: a process that has had a second thread, rounds in a seeded random order, only as
   many as the precision needs, medians with confidence intervals, and threads that begin together.
   It must not know allocators or workloads. */
#ifndef STRESS_BASE_ROUNDS_H
#define STRESS_BASE_ROUNDS_H

#include "program.h"

typedef struct rounds_interval { double low, median, high; } rounds_interval;
enum { ROUNDS_LEAST_COUNT = 6 };                 /* fewer values have no 95 % interval */

/* Starts a thread and waits for its end. Before a process has had a second thread, glibc's mutex uses no atomics. */
int rounds_second_thread(problem *why);

/* The processor time of this thread. Time given to other threads is not counted: a longer run would be interrupted
   more often. Each call is a system call, too slow around a single pair of allocation and free. */
uint64_t rounds_clock_ns(void);

/* order becomes 0 .. count - 1, shuffled. */
void rounds_shuffle(size_t *order, size_t count, uint64_t *random);

/* The median, and the values between which it lies with 95 % confidence, whatever the distribution. With fewer than 6
   values no ranks give that confidence, and the interval holds all values. Sorts values; count > 0. */
rounds_interval rounds_median(double *values, size_t count);
size_t          rounds_low_rank(size_t count);   /* from 0; the high rank is as far from the other end */
double          rounds_share(rounds_interval found);         /* half of the width over the median; 0 without width */

/* The limits of a measurement. The precision is checked after `least` rounds, each time that half as many more are
   done, and at the end. Checked after every round, it would end the rounds whenever luck made them agree. */
typedef struct rounds_length {
    size_t   warm;                               /* rounds that come first and are dropped */
    size_t   least, most;                        /* rounds that count */
    double   precision;                          /* enough once rounds_share is at most this; 0: never */
    uint64_t budget_ns;                          /* of the clock; after it no further round begins */
} rounds_length;
typedef enum rounds_end { ROUNDS_GO_ON, ROUNDS_PRECISE, ROUNDS_MOST, ROUNDS_TIME } rounds_end;
typedef double rounds_share_fn(void *user);      /* the worst of all that is measured, of the rounds so far */

rounds_length rounds_of(size_t warm, size_t least, size_t most, uint64_t precision_ppm, uint64_t budget_s);
/* Tells whether to end after `done` rounds that count, when the first round began `spent_ns` ago. share is called
   only where the precision is checked. */
rounds_end    rounds_over(const rounds_length *self, size_t done, uint64_t spent_ns, rounds_share_fn *share,
                          void *user);
const char   *rounds_end_name(rounds_end end);   /* "precise", "rounds", "time"; NULL: GO_ON */

/* ---- The loop: every round measures every lane once, in a random order */

enum { ROUNDS_MOST_LANES = 8, ROUNDS_MOST_COUNT = 201 };

typedef struct rounds_loop {
    rounds_length length;                        /* set by the caller */
    uint64_t      random;                        /* state that orders lanes, set by the caller */
    size_t        count;                         /* rounds that count */
    rounds_end    ended;                         /* why there are no more; GO_ON: a signal ended them */
} rounds_loop;
/* Measures a lane and stores the value for this round. Warm-up rounds pass 0, whose value is overwritten later. */
typedef int rounds_lane_fn(void *user, size_t lane, size_t round, problem *why);

/* 0, or -1: a lane returned not 0. */
int rounds_run(rounds_loop *self, size_t lane_count, rounds_lane_fn *lane, rounds_share_fn *share, void *user,
               problem *why);
/* The median of a lane's values by round, and the median of the ratios of two lanes in each round. */
rounds_interval rounds_value(const rounds_loop *self, const double *values);
rounds_interval rounds_ratio(const rounds_loop *self, const double *over, const double *under);

/* ---- Threads that begin together, and the time from the first one's begin to the last one's end */

enum { CROWD_MOST = 64 };

typedef void crowd_work(void *member);

/* Runs `work` for each member on a thread of its own. `members` is an array of `count` items (at most CROWD_MOST) of
   `bytes` bytes. Each thread runs `warm` first, unless that is NULL, and all begin `work` together. Returns when all
   have ended; *ns is the time that their work took. -1 and a problem: a thread cannot be started, and no work was
   done. */
int crowd_run(crowd_work *warm, crowd_work *work, void *members, size_t count, size_t bytes, uint64_t *ns,
              problem *why);

#endif
