/* The streams of an op stream as streams of the device: one each, made before the first op.
   It must not know what is done on them.
   Tested by tests/test_pass_streams.c. */
#ifndef STRESS_PASS_STREAMS_H
#define STRESS_PASS_STREAMS_H

#include "device.h"
#include "workload/id_map.h"
#include "workload/workload.h"

enum { PASS_MAX_STREAMS = 1024 };                /* the judge's clocks are as long as there are streams */

typedef struct pass_stream {
    uint64_t        number;                      /* in the op stream */
    gpuarena_stream handle;                      /* number 0: NULL, the device's default stream, which nobody makes */
} pass_stream;

typedef struct pass_streams {                    /* zeroed: none */
    pass_stream *list;                           /* by number, as the device numbers its own; the first's is 0 */
    uint32_t     count;
    int          has_kernels;                    /* 1: the op stream says itself what work there is */
    id_map       index_by_number;
} pass_streams;

/* -1 and EXIT_HARNESS: too many streams, no host memory, or the device failed. */
int      pass_streams_open(pass_streams *self, const op_stream *stream, device *on, problem *why);
uint32_t pass_streams_index(const pass_streams *self, uint64_t number);      /* of one that is in the op stream */
/* Those that are still there are destroyed. 0, or -1 and EXIT_HARNESS: the device failed; closed all the same. */
int      pass_streams_close(pass_streams *self, device *on, problem *why);

#endif
