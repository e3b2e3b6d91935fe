/* Op streams: the operations of a workload, generated whole before anything is timed; and their builder: families
   append operations in order; the builder grows, counts and judges.
   It must not know of families, files or devices. */
#ifndef STRESS_WORKLOAD_STREAM_H
#define STRESS_WORKLOAD_STREAM_H

#include "../base/sets.h"
#include "../base/text.h"

typedef enum op_kind { OP_ALLOC, OP_FREE, OP_STEP, OP_KERNEL, OP_WAIT, OP_RIVAL } op_kind;

enum { WORKLOAD_MAX_THREADS = 64 };

/* One operation. Every allocation of a stream makes a block of its own: block numbers are dense, from 0, in order of
   allocation, and never reused, while ids of the text may be. */
typedef struct op {
    uint64_t value;                              /* ALLOC: bytes. KERNEL: nanoseconds. WAIT: the stream waited for.
                                                    RIVAL: bytes that another process takes, or gives back */
    uint64_t stream;                             /* as numbered in the text; 0: the default stream. STEP, RIVAL: 0 */
    uint32_t first;                              /* ALLOC, FREE: the block. KERNEL: first touch. STEP: the label */
    uint32_t count;                              /* KERNEL: how many touches. FREE: 1 if its text named the stream.
                                                    RIVAL: 1 if it gives back */
    op_kind  kind;
} op;

typedef struct op_stream {
    op       *ops;           size_t op_count;
    uint64_t *ids;           size_t block_count; /* by block: the id in the text (trace output writes it again) */
    uint32_t *tags;                              /* by block: index into labels + 1; 0: no tag */
    uint32_t *touches;       size_t touch_count; /* blocks that kernels touch */
    char    **labels;        size_t label_count; /* of steps and tags */
    uint8_t  *threads;                           /* by operation: who makes it; NULL: one thread makes all */
    uint32_t thread_count;                       /* 0 is 1 */
    uint64_t alloc_count, free_count;
    uint64_t requested_peak_bytes;               /* highest sum of live blocks, after any op */
    uint64_t work_ns;                            /* of all kernels */
    uint64_t rival_count;                        /* operations of another process: only a simulated device has one */
    uint64_t seed;                               /* it was made from; a recording has none: --seed, or 1 */
} op_stream;

void op_stream_free(op_stream *stream);          /* of a zeroed or filled stream */

uint32_t op_stream_threads(const op_stream *stream);                 /* how many make it, from 1 */
uint32_t op_stream_thread(const op_stream *stream, size_t index);    /* who makes this operation, from 0 */

/* The stream as `gpuarena-trace 1`, a rival's operations as comments that name the same fault. 0, or -1 if a write
   failed. */
int  op_stream_write(const op_stream *stream, FILE *out);

/* A rival's operations in the words of --faults, "" where there are none, shortened to whole parts. Returns text. */
const char *op_stream_faults(const op_stream *stream, char *text, size_t size);

/* A stream beyond these ends in a problem rather than in all of the host's memory: at most 512 MiB of operations and
   256 MiB of touches. Both keep op.first within 32 bits. */
enum { STREAM_MAX_OPS = 1 << 24, STREAM_MAX_TOUCHES = 1 << 26 };
#define STREAM_MAX_WORK_NS ((uint64_t)1 << 62)   /* of kernels, all rounds of them: no clock of 64 bits may end */

/* Before the allocation or free number `op`, from 0, another process takes so many bytes, or gives them back. */
typedef struct stream_event { uint64_t op, bytes; int gives_back; } stream_event;

typedef struct stream_block { uint64_t bytes, stream; } stream_block;

typedef struct stream_builder {
    op_stream  *stream;
    problem    *why;
    const char *source;                          /* messages begin with it: "workload train", or the file's name */
    uint64_t    line;                            /* of the file, for messages; 0: none */
    uint64_t    ops_left;                        /* allocations and frees until the stream is cut */
    size_t      most_ops;                        /* STREAM_MAX_OPS; less: refuse a longer stream */
    int         is_cut;                          /* appending goes on without effect; a family may stop early */
    int         failed;                          /* a problem is set; appending has no effect */
    uint64_t    live_bytes;
    uint64_t    most_bytes;                      /* once more than this is live the stream is cut; 0: never */
    uint8_t     thread;                          /* makes the next operations; at first 0. Before the first one
                                                    stream->thread_count is set to how many threads there are */
    stream_block *blocks;                        /* as many as stream->block_count */
    const stream_event *events;                  /* to come, in order; whoever sets them keeps them as long */
    size_t      event_count;
    size_t      op_capacity, id_capacity, block_capacity, touch_capacity, label_capacity, thread_capacity;
    device_table label_by_hash;                  /* from 1 */
} stream_builder;

void stream_begin(stream_builder *builder, op_stream *stream, const char *source, uint64_t ops_limit, problem *why);
/* Frees memory that only building needs. 0, and the op stream stays, of this seed; or -1: it has failed, and is
   empty. */
int  stream_end(stream_builder *builder, uint64_t seed);
int  stream_is_over(const stream_builder *builder);          /* cut or failed: appending has no effect */

/* A block is 0, and means nothing, once the builder is over. */
uint32_t stream_alloc(stream_builder *builder, uint64_t id, uint64_t bytes, uint64_t on_stream, slice tag);
/* on_stream NULL: on that of its allocation. */
void     stream_free(stream_builder *builder, uint32_t block, const uint64_t *on_stream);
void     stream_step(stream_builder *builder, slice label);
void     stream_kernel(stream_builder *builder, uint64_t on_stream, uint64_t duration_ns);
void     stream_touch(stream_builder *builder, uint32_t block);      /* one more block of the kernel appended last */
void     stream_wait(stream_builder *builder, uint64_t on_stream, uint64_t for_stream);

/* A problem of the input, unless there is one: `SOURCE:LINE: text`, or `SOURCE: text` without a line; EXIT_USAGE.
   Returns -1. */
int stream_refuse(stream_builder *builder, const char *format, ...) PROBLEM_FORMAT(2, 3);

/* ---- Operations of one op stream in another, where its blocks and streams have other numbers */

#define STREAM_NO_BLOCK UINT32_MAX
typedef struct stream_copy {
    const op_stream *from;
    uint32_t        *blocks;                     /* by block of `from`: its number in the other; STREAM_NO_BLOCK: it
                                                    was left out, and so are its free and its touches */
    uint64_t         stride, first;              /* stream s is s * stride + first there */
    int              keeps_ids;                  /* 0: a block's id is its number */
} stream_copy;

void stream_copy_op(stream_builder *builder, const stream_copy *copy, const op *next);

/* A part that is an op stream itself: a block that is left out takes its free and its touches along. keep: by
   operation of `from`, of which the first op_count count. Ids, tags and labels stay, so that it can be written; one
   thread makes all. Fills *made, to be freed by op_stream_free. -1 and a problem, EXIT_HARNESS; *made is then
   empty. */
int op_stream_subset(const op_stream *from, const unsigned char *keep, size_t op_count, op_stream *made,
                     problem *why);

#endif
