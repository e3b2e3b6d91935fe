/* The allocations and frees of an op stream, by as many real threads as make it, on one policy: for their time alone.
   What the GPU does in between, and what puts it in order, is left out: there is no work that anyone had to wait for.
   Each thread keeps its own order; it waits for a block that another one has yet to allocate. All else is left to the
   machine, so that no two runs are alike: nothing found here is in a digest.
   Knows nothing of rows or reports. */
#ifndef STRESS_RUN_PASS_THREADS_H
#define STRESS_RUN_PASS_THREADS_H

#include "pass.h"

typedef struct pass_threads_result {
    pass_status status;                          /* VERIFY_FAILED: the sums are wrong when all threads have ended */
    uint64_t    ops;                             /* allocations, refused ones too, and frees, of all threads */
    uint64_t    wall_ns;                         /* from the first one's start to the last one's end */
    int         kept;                            /* memory could not be given back to the device: ERROR */
    char        message[512];                    /* VERIFY_FAILED, ERROR: what happened */
} pass_threads_result;

/* timing NULL: no thread reads a clock between its start and its end. Else each call is between two readings, and the
   latencies of all threads are added to these. At a refusal all stop, unless settings->skip_oom. Where verify is not
   off, when all have ended, an arena's sums, its limit and the device's books are compared with the threads' own
   counts, and gpuarena_check is asked; and then everything must go back to the device. */
void pass_threads_run(const pass_settings *settings, const op_stream *stream, const policy *chosen,
                      pass_timing *timing, pass_threads_result *result);

#endif
