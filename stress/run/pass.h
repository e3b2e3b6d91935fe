/* One pass: an op stream through a policy on a freshly opened device, verified or timed.
   A pass is a correct program of several streams, each a stream of the device. Work goes to its stream and uses its
   blocks; waits are the device's. Right before a free, the policy is told of the streams that used the block without
   a wait that orders them before the free. If the ops hold no work, each allocation gives its stream the work of one
   op, which uses the block, and a free on another stream comes after that work.
   Knows nothing of rows or reports. The verifying pass reads no clock; timing passes and probes ask no oracle. */
#ifndef STRESS_RUN_PASS_H
#define STRESS_RUN_PASS_H

#include "../base/histogram.h"
#include "../base/progress.h"
#include "../policy/policy.h"
#include "../result/record.h"
#include "oracle.h"

/* Checks that there are few enough streams for a pass. 0, or -1 and a problem, EXIT_USAGE. */
int pass_streams_fit(const op_stream *stream, problem *why);
/* Tells whether the first `ops` allocations and frees alone give the device the same work as in the whole stream.
   They do if each thread with kernels has one among them, so that its allocations do not stand for work. */
int pass_cut_fits(const op_stream *stream, uint64_t ops);

typedef struct pass_settings {
    device_config device;
    int           skip_oom;                      /* leave the refused block out and go on */
    verify_mode   verify;
    int           is_probe;                      /* 1: finds out only whether it completes, and if not, why. Nothing
                                                    is verified, judged or measured, as in a timing pass */
    uint64_t      times;                         /* rounds of all ops, on one device and pool; live blocks are freed
                                                    in between. 0 is 1 */
    uint64_t      warmup;                        /* timing passes that come before the one that counts */
    uint64_t      rate;                          /* simulated: allocations and frees a virtual second; 0: as fast as
                                                    they are served */
    arrivals     *arrivals;                      /* filled by the verifying pass; NULL: not wanted */
    progress     *progress;
    record       *recording;                     /* filled while ops are driven; NULL: not wanted */
} pass_settings;

typedef enum pass_status { PASS_OK, PASS_OOM, PASS_VERIFY_FAILED, PASS_ERROR } pass_status;

typedef struct pass_oom {                        /* the first refusal */
    int          happened;                       /* number of refusals */
    uint64_t     op;                             /* allocations and frees before it */
    uint64_t     round, round_from;              /* its round, from 1; allocations and frees before that round */
    pool_refusal refusal;
} pass_oom;

typedef struct pass_result {
    pass_status  status;
    uint64_t     times;                          /* rounds begun */
    uint64_t     ops;                            /* allocations, refused ones too, and frees */
    uint64_t     allocs;                         /* allocations among the ops */
    uint64_t     wall_ns;                        /* of real threads: from the first one's start to the last's end */
    uint64_t     digest;                         /* of ops and results: no addresses */
    uint64_t     driver_calls, driver_vns;       /* on memory, from the first op to the last */
    uint64_t     steady_steps;                   /* repetitions */
    uint64_t     steady_calls, steady_vns;       /* driver calls in the repetitions, and their virtual time */
    uint64_t     last_calls, last_remapped_pages, last_reserved_bytes;       /* of the last repetition alone; the
                                                    peak of reserved bytes in it */
    uint64_t     vns;                            /* of the host's virtual clock, from the first op to the last */
    int          is_virtual;                     /* 0: CUDA has no virtual time; driver_vns is not set */
    memory_track memory;                         /* all below: verifying pass alone; oom: and probes */
    uint64_t     gpu_waits, remapped_pages;
    uint64_t     misses;                         /* allocations that called the driver: of every pass */
    pass_oom     oom;
    char         message[512];                   /* VERIFY_FAILED, ERROR: the cause */
    uint64_t     needed_ops;                     /* VERIFY_FAILED, ERROR: allocations and frees up to the failure; 0:
                                                    the device could not be opened */
    int          is_unopened;                    /* ERROR: the policy could not be opened on the device */
    int          is_lost;                        /* ERROR: the device is lost, and all further work on it fails */
    int          kept;                           /* memory could not be given back to the device: ERROR */
} pass_result;

/* Runs a pass. timing NULL: the verifying pass. If a device, stream or pool cannot be opened, the status is ERROR. A
   signal (progress.h) soon ends the pass, with status ERROR, too. */
void pass_run(const pass_settings *settings, const op_stream *stream, const policy *chosen, latencies *timing,
              pass_result *result);

/* ---- Real threads: the allocations and frees of an op stream, made by the stream's own number of threads, for their
        time alone. Kernels and waits are left out: no GPU work has to be waited for. Each thread keeps its own order,
        and waits for a block that another thread has yet to allocate. All other order is left to the machine, so
        that no two runs are alike: no result of the threads is in a digest */

/* Fills in of the result: status (VERIFY_FAILED: the sums are wrong when all threads have ended), ops of all threads,
   wall_ns, kept, message. timing NULL: no thread reads a clock between its start and its end. Otherwise each call is
   between two readings, and the latencies of all threads are added to `timing`. At a refusal all threads stop, unless
   settings->skip_oom. Unless verify is off, when all threads have ended, an arena's sums, its limit and the device's
   books are compared with the threads' own counts, and gpuarena_check is called. Then all memory must go back to the
   device. */
void pass_threads_run(const pass_settings *settings, const op_stream *stream, const policy *chosen,
                      latencies *timing, pass_result *result);

#endif
