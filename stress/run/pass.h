/* One pass: an op stream through a policy on a freshly opened device, verified or timed.
   It is a correct program of several streams, each a stream of the device: work goes to its stream and uses its
   blocks, waits are the device's, and right before a free a policy is told which streams used the block without a
   wait that orders them before it. Where the ops hold no work, each allocation gives its stream as much as
   an op takes, which uses the block, and a free on another stream comes after it.
   Knows nothing of rows or reports. The verifying pass reads no clock; timing passes and probes ask no oracle.
   Tested by tests/test_runner.c, tests/test_pass_*.c and tests/run.t. */
#ifndef STRESS_RUN_PASS_H
#define STRESS_RUN_PASS_H

#include "../base/memory.h"
#include "oracle.h"
#include "pass_clock.h"
#include "../policy/policy.h"
#include "../base/progress.h"
#include "../result/record.h"
#include "../workload/workload.h"

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
    uint64_t     digest;                         /* of ops and results: no addresses */
    uint64_t     driver_calls, driver_vns;       /* on memory, from the first op to the last */
    uint64_t     steady_steps;                   /* repetitions (pass_steady.h), and the driver's part of them */
    uint64_t     steady_calls, steady_vns;
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
    int          kept;                           /* memory could not be given back to the device: ERROR */
} pass_result;

/* timing NULL: the verifying pass. A device, pool or oracle that cannot be made is status ERROR; so is, soon, what a
   signal ends (interrupt.h). */
void pass_run(const pass_settings *settings, const op_stream *stream, const policy *chosen, pass_timing *timing,
              pass_result *result);

#endif
