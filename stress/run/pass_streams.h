/* What the program of an op stream does on the GPU: its streams, one each of the device's, made before the first op;
   work, waits, and the uses of its blocks; and which of these its own waits order.
   It must not know of policies or results.
   Tested by tests/test_pass_*.c. */
#ifndef STRESS_RUN_PASS_STREAMS_H
#define STRESS_RUN_PASS_STREAMS_H

#include "../device/device.h"
#include "../base/id_map.h"
#include "../workload/workload.h"

enum { PASS_MAX_STREAMS = 1024 };                /* clocks are as long as there are streams, and one each */

typedef struct pass_stream {
    uint64_t        number;                      /* in the op stream */
    gpuarena_stream handle;                      /* number 0: NULL, the device's default stream, which nobody makes */
    int             has_kernels;                 /* 1: its threads say themselves what work there is */
} pass_stream;

typedef struct pass_use {                        /* the latest of a block on a stream */
    uint64_t position;                           /* the stream's uses up to it */
    uint32_t stream;                             /* as all streams below by index */
    uint32_t next;                               /* of the block, or unused: index into pass_streams.uses; 0: none */
} pass_use;

typedef struct pass_block {                      /* zeroed: not allocated yet */
    void    *ptr;                                /* NULL: it has 0 bytes */
    uint64_t bytes;
    uint64_t owner;                              /* its own number, from 1 (oracle_owner) */
    uint32_t home;                               /* the stream of its allocation */
    uint32_t uses;                               /* one a stream: the first's index, as pass_use.next */
    int      is_live;                            /* allocated and not freed; refused ones never are */
} pass_block;

typedef struct pass_streams {                    /* zeroed: none */
    device      *device;
    pass_stream *list;                           /* by number, as the device numbers its own; the first's is 0 */
    uint32_t     count;
    int          has_kernels;                    /* of any */
    int          in_order;                       /* 1: memory comes in the order of its allocation's stream, which
                                                    others follow before their first use of a block; set
                                                    behind open */
    uint64_t     op_ns;                          /* where there are none: the work of an allocation */
    id_map       index_by_number;
    uint64_t    *clocks;                         /* [stream * count + other]: of the other's uses, so many come before
                                                    what is given to the stream next; of its own, all */
    pass_use    *uses;                           /* [0] is none */
    uint32_t     use_count, use_capacity, unused;
} pass_streams;

/* All below that answer an int: 0, or -1 and EXIT_HARNESS: the device failed, or no host memory; of the first two
   also EXIT_USAGE: the op stream has more than PASS_MAX_STREAMS. */
int      pass_streams_fit(const op_stream *stream, problem *why);            /* whether it can be opened */
int      pass_streams_open(pass_streams *self, const op_stream *stream, device *on, uint64_t op_ns, problem *why);
int      pass_streams_close(pass_streams *self, problem *why);       /* destroys them; closed whatever it answers */
uint32_t pass_streams_index(const pass_streams *self, uint64_t number);      /* of one that is in the op stream */

int pass_streams_work(const pass_streams *self, uint32_t stream, uint64_t work_ns, problem *why);
int pass_streams_follow(pass_streams *self, uint32_t stream, uint32_t other, problem *why);
int pass_streams_use(pass_streams *self, uint32_t stream, pass_block *block, problem *why);
/* After an allocation: its work, where its threads have none. */
int pass_streams_begin(pass_streams *self, const pass_block *block, problem *why);
/* Before a free on this stream, whose program must name to the policy the streams of these uses: the latest of each
   stream, the allocation's own included, that no wait so far orders before what is given to the stream next. after:
   the answer before, NULL at first. NULL: no more. */
const pass_use *pass_streams_unordered(const pass_streams *self, uint32_t stream, const pass_block *block,
                                       const pass_use *after);
/* Then, still before it: what puts it in order where the op stream says nothing; the block's uses are forgotten.
   at_home: the policy takes it for one on the allocation's stream, which then waits for all uses on others. */
int pass_streams_end(pass_streams *self, uint32_t stream, pass_block *block, int at_home, problem *why);

#endif
