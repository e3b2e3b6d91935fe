/* A pass's calls to the pool: how long each takes, whether it needed the driver, and when it was meant to begin.
   It must not know op streams or results. Tested by tests/test_pass_clock.c. */
#ifndef STRESS_RUN_PASS_CLOCK_H
#define STRESS_RUN_PASS_CLOCK_H

#include "../base/arrivals.h"
#include "../policy/policy.h"

typedef struct pass_timing {                     /* of a timing pass: one clock pair around each call */
    histogram *allocs, *frees;
    histogram *hits, *misses;                    /* the allocs apart: without or with a call of the driver; or NULL */
} pass_timing;

typedef struct pass_clock {
    pool          *pool;
    pass_timing   *timing;                       /* NULL: none */
    arrivals      *arrivals;                     /* NULL: none is kept .. */
    uint64_t       rate;                         /* .. arrivals a second; 0: each when the one before is done */
    uint64_t       start_ns, begun_ns, due_ns;   /* virtual */
    uint64_t       arrived;                      /* operations so far .. */
    int            is_due;                       /* .. the latest of which has not been made yet */
    uint64_t       misses;                       /* allocations that called the driver, refused ones too */
} pass_clock;

/* timing NULL: a pass without clocks; in others nobody hears of arrivals. */
pass_clock pass_clock_of(pool *of, pass_timing *timing, arrivals *heard, uint64_t rate);
/* What comes now was due for nobody: frees between rounds, and at the end. The next that arrives begins anew. */
void pass_clock_rest(pass_clock *clock);

/* Right before an allocation or free, and before the device is told of it: with a rate a simulated host idles until
   it is due. CUDA has no virtual time: nothing. */
void pass_clock_arrive(pass_clock *clock);

/* pool_alloc and pool_free, whose results they are. */
gpuarena_result pass_clock_alloc(pass_clock *clock, void **ptr, uint64_t bytes, gpuarena_stream stream);
gpuarena_result pass_clock_free(pass_clock *clock, void *ptr, uint64_t bytes, gpuarena_stream stream);

#endif
