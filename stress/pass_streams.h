/* What the program of an op stream does on the GPU: its streams, one each of the device's, made before the first op;
   work, waits, and the uses of its blocks.
   It must not know of policies or results.
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

typedef struct pass_block {                      /* zeroed: not allocated yet */
    void    *ptr;                                /* NULL: it has 0 bytes */
    uint64_t bytes;
    uint64_t owner;                              /* its own number, from 1 (oracle_owner) */
    uint64_t others;                             /* a bit a stream that used it, home aside; the last: from 63 on */
    uint32_t home;                               /* the stream of its allocation, as all streams below by index */
    int      is_live;                            /* allocated and not freed; refused ones never are */
} pass_block;

typedef struct pass_streams {                    /* zeroed: none */
    device      *device;
    pass_stream *list;                           /* by number, as the device numbers its own; the first's is 0 */
    uint32_t     count;
    int          has_kernels;                    /* 1: the op stream says itself what work there is */
    uint64_t     op_ns;                          /* else: the work of an allocation */
    id_map       index_by_number;
} pass_streams;

/* All below that answer an int: 0, or -1 and EXIT_HARNESS: the device failed; of opening also: too many streams, no
   host memory. */
int      pass_streams_open(pass_streams *self, const op_stream *stream, device *on, uint64_t op_ns, problem *why);
int      pass_streams_close(pass_streams *self, problem *why);       /* destroys them; closed whatever it answers */
uint32_t pass_streams_index(const pass_streams *self, uint64_t number);      /* of one that is in the op stream */

int pass_streams_work(const pass_streams *self, uint32_t stream, uint64_t work_ns, problem *why);
int pass_streams_follow(const pass_streams *self, uint32_t stream, uint32_t other, problem *why);
/* *is_further: 1: a policy must be told, once a block and stream, as far as there are bits; else more often. */
int pass_streams_use(const pass_streams *self, uint32_t stream, pass_block *block, int *is_further, problem *why);
/* After an allocation: its work, where the op stream has none. */
int pass_streams_begin(const pass_streams *self, const pass_block *block, problem *why);
/* Before a free: what puts it in order where the op stream says nothing. at_home: the policy takes it for one on the
   allocation's stream, which then waits for all uses on others. */
int pass_streams_end(const pass_streams *self, uint32_t stream, const pass_block *block, int at_home, problem *why);

#endif
