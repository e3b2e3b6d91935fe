/* What the models of PyTorch's caching allocator share: its pools, one for each stream and two kinds of size, and the
   events by which blocks that other streams used come back.
   Included by pytorch.c and pytorch_expandable.c alone. */
#ifndef STRESS_POLICY_PYTORCH_H
#define STRESS_POLICY_PYTORCH_H

#include "model.h"

enum { PYTORCH_UNIT = 512 };
#define PYTORCH_SMALL_BYTES   MODEL_MIB          /* requests up to it have pools of their own .. */
#define PYTORCH_SMALL_SEGMENT (2 * MODEL_MIB)    /* .. of such segments, or pages */
#define PYTORCH_LARGE_SEGMENT (20 * MODEL_MIB)
#define PYTORCH_LARGE_BYTES   (10 * MODEL_MIB)   /* from here on a segment is as large as its request .. */
#define PYTORCH_LARGE_UNIT    (2 * MODEL_MIB)    /* .. in multiples of this */

typedef struct pytorch_range pytorch_range;      /* an expandable segment */
typedef struct pytorch_pool pytorch_pool;
struct pytorch_pool {                            /* pieces have it as their owner */
    pytorch_pool   *next;
    gpuarena_stream stream;
    int             is_small;
    piece_set       free;
    piece_set       holes;                       /* expandable: by address */
    pytorch_range  *ranges;                      /* expandable */
};

typedef struct pytorch_event pytorch_event;
struct pytorch_event {                           /* recorded on a stream when a block that it used was freed */
    pytorch_event  *next;
    gpuarena_stream stream;
    void           *event;
    piece          *freed;
};

typedef struct pytorch {
    model          base;
    pytorch_pool  *pools;                        /* in the order of their making */
    pytorch_event *waiting, **waiting_end;       /* oldest first */
    pytorch_event *spare;                        /* events to be used again */
} pytorch;

#endif
