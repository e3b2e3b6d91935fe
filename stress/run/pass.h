/* One pass: an op stream through a policy on a freshly opened device, verified or timed.
   It is a correct program of several streams, each a stream of the device: work goes to its stream and uses its
   blocks, waits are the device's, and right before a free a policy is told which streams used the block without a
   wait that orders them before it. Where the ops hold no work, each allocation gives its stream as much as
   an op takes, which uses the block, and a free on another stream comes after it.
   Knows nothing of rows or reports. The verifying pass reads no clock; timing passes and probes ask no oracle. */
#ifndef STRESS_RUN_PASS_H
#define STRESS_RUN_PASS_H

#include "../base/histogram.h"
#include "../base/progress.h"
#include "../policy/policy.h"
#include "../result/record.h"
#include "oracle.h"

/* Whether there are few enough streams for a pass: 0, or -1 and a problem, EXIT_USAGE. */
int pass_streams_fit(const op_stream *stream, problem *why);
/* Whether the first so many allocations and frees alone give the device the same work as in the whole: each thread
   that has kernels has one by then, so that its allocations do not stand for work. */
int pass_cut_fits(const op_stream *stream, uint64_t ops);

typedef struct pass_settings {
    device_config device;
    int           skip_oom;                      /* leave the refused block out and go on */
    verify_mode   verify;
    int           is_probe;                      /* 1: does it complete, and if not, why? Nothing is verified, judged
                                                    or measured: the rest is as of a timing pass */
    uint64_t      times;                         /* all ops so often, on one device and pool; in between what is live
                                                    is freed. 0 is 1 */
    uint64_t      warmup;                        /* timing passes that come before the one that counts */
    uint64_t      rate;                          /* simulated: allocations and frees a virtual second; 0: as fast as
                                                    they are served */
    arrivals     *arrivals;                      /* of the verifying pass; NULL: nobody asks */
    progress     *progress;
    record       *recording;                     /* takes it down, as long as ops are driven; NULL: nobody does */
} pass_settings;

typedef enum pass_status { PASS_OK, PASS_OOM, PASS_VERIFY_FAILED, PASS_ERROR } pass_status;

typedef struct pass_oom {                        /* the first refusal */
    int          happened;                       /* how often */
    uint64_t     op;                             /* allocations and frees before it */
    uint64_t     round, round_from;              /* which of settings' times, from 1, and those before that began */
    pool_refusal refusal;
} pass_oom;

typedef struct pass_result {
    pass_status  status;
    uint64_t     times;                          /* begun, of settings' */
    uint64_t     ops;                            /* allocations, refused ones too, and frees */
    uint64_t     allocs;                         /* of these, allocations */
    uint64_t     wall_ns;                        /* of real threads: from the first one's start to the last's end */
    uint64_t     digest;                         /* of ops and results: no addresses */
    uint64_t     driver_calls, driver_vns;       /* on memory, from the first op to the last */
    uint64_t     steady_steps;                   /* repetitions, and the driver's part of them */
    uint64_t     steady_calls, steady_vns;
    uint64_t     last_calls, last_remapped_pages, last_reserved_bytes;       /* of the last repetition alone; the
                                                    most that was reserved in it */
    uint64_t     vns;                            /* of the host's virtual clock, from the first op to the last */
    int          is_virtual;                     /* 0: CUDA has no virtual time, driver_vns is none */
    memory_track memory;                         /* all below: verifying pass alone; oom: and probes */
    uint64_t     gpu_waits, remapped_pages;
    uint64_t     misses;                         /* allocations that called the driver: of every pass */
    pass_oom     oom;
    char         message[512];                   /* VERIFY_FAILED, ERROR: what happened .. */
    uint64_t     needed_ops;                     /* .. and how many allocations and frees lead to it; 0: the device
                                                    could not be opened */
    int          is_unopened;                    /* ERROR: the policy could not be opened on the device */
    int          is_lost;                        /* ERROR: the device is lost: whatever it is given next fails, too */
    int          kept;                           /* memory could not be given back to the device: ERROR */
} pass_result;

/* timing NULL: the verifying pass. A device, pool or oracle that cannot be made is status ERROR; so is, soon, what a
   signal ends (progress.h). */
void pass_run(const pass_settings *settings, const op_stream *stream, const policy *chosen, latencies *timing,
              pass_result *result);

/* ---- By real threads: the allocations and frees of an op stream, by as many as make it, for their time alone. What
        the GPU does in between, and what puts it in order, is left out: there is no work that anyone had to wait for.
        Each thread keeps its own order; it waits for a block that another one has yet to allocate. All else is left
        to the machine, so that no two runs are alike: nothing found here is in a digest */

/* Of the result: status (VERIFY_FAILED: the sums are wrong when all threads have ended), ops of all threads, wall_ns,
   kept, message. timing NULL: no thread reads a clock between its start and its end. Else each call is between two
   readings, and the latencies of all threads are added to these. At a refusal all stop, unless settings->skip_oom.
   Where verify is not off, when all have ended, an arena's sums, its limit and the device's books are compared with
   the threads' own counts, and gpuarena_check is asked; and then everything must go back to the device. */
void pass_threads_run(const pass_settings *settings, const op_stream *stream, const policy *chosen,
                      latencies *timing, pass_result *result);

#endif
