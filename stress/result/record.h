/* The course of one row's run, within bounded memory: the source of pictures, timelines and dumps. The verifying pass
   fills it, so that its numbers are those of the row.
   Knows nothing of formats. Holds no host address once finished. */
#ifndef STRESS_RESULT_RECORD_H
#define STRESS_RESULT_RECORD_H

#include "../base/memory.h"
#include "../device/device.h"
#include "../workload/workload.h"

typedef enum record_part {                       /* bits: parts to record; the row's refusal is always recorded */
    RECORD_SERIES = 1,                           /* samples, steps */
    RECORD_MAP = 2                               /* blocks, changes, steps */
} record_part;

enum {
    RECORD_BUCKETS = 1024,                       /* of ops, equally wide; each keeps the extremes of every figure */
    RECORD_MOST_BLOCKS = 1 << 20,
    RECORD_MOST_CHANGES = 1 << 20,
    RECORD_MOST_STEPS = 1 << 16
};
#define RECORD_MOST_BYTES ((uint64_t)1 << 30)    /* of all rows: beyond this, further rows record no blocks */
#define RECORD_NEVER UINT64_MAX

typedef struct record_sample {                   /* after allocation or free number op, from 0; also before an op
                                                    that begins a round or a step */
    uint64_t   op, now_vns;                      /* now_vns: the host's virtual clock, 0 on CUDA, here and below */
    memory_use use;
    uint64_t   number;                           /* among all samples that were taken, from 0 */
} record_sample;

typedef struct record_step {                     /* before allocation or free number op */
    uint64_t op, now_vns;
    uint32_t label;                              /* index into op_stream.labels */
} record_step;

typedef struct record_block {                    /* in order of birth */
    uint64_t offset;                             /* on the axis of addresses, see record.axis_bytes */
    uint64_t requested_bytes, bytes;             /* bytes: the memory it occupies, see pool_block_bytes */
    uint64_t birth_op, death_op;                 /* live from after birth_op to before death_op; RECORD_NEVER */
    uint64_t stream;                             /* the op stream's number of it */
    uint32_t number;                             /* of the op stream's blocks: its tag is op_stream.tags[number] */
    uint32_t step;                               /* steps before its birth; 0: none */
    uint64_t birth_vns, death_vns;               /* virtual times of birth_op and death_op; RECORD_NEVER */
} record_block;

typedef struct record_change {                   /* memory came or went */
    int      comes, is_pages;                    /* is_pages: mapped or unmapped; else by cudaMalloc or cudaFree */
    uint64_t op, now_vns;                        /* during allocation or free number op */
    uint64_t offset, bytes;
} record_change;

typedef struct record_refusal {                  /* the first refusal */
    int      happened;
    uint64_t op, requested_bytes;
} record_refusal;

/* The axis of addresses has all addresses that ever held memory, in order, without the gaps between them. */
typedef struct record {
    unsigned         parts;
    const op_stream *stream;                     /* of the row; must outlive the record, for its labels */
    uint64_t         most_ops;                   /* allocations and frees that there can be */
    uint64_t         op_count;                   /* allocations and frees that were made, the refused one included */
    uint64_t         end_vns;
    uint64_t         limit_bytes;                /* of the policy; GPUARENA_NO_LIMIT: none */
    record_sample   *samples;     size_t sample_count;
    record_step     *steps;       size_t step_count, step_capacity;
    record_block    *blocks;      size_t block_count, block_capacity;
    record_change   *changes;     size_t change_count, change_capacity;
    uint64_t         axis_bytes;                 /* length of the axis */
    uint64_t         map_ops;                    /* blocks and changes are complete before this op: op_count, unless
                                                    there were too many */
    record_refusal   refusal;
    device          *device;                     /* from begin to finish */
    uint64_t         op;
    uint32_t        *latest;                     /* by number of the op stream's blocks: its latest record, from 1 */
    struct record_bucket *buckets;
    uint64_t         bucket_ops, taken_count;    /* ops of a bucket; samples that were taken */
} record;

record *record_create(unsigned parts);
void    record_destroy(record *self);            /* NULL is fine */
uint64_t record_bytes(const record *self);       /* host memory of a finished record's lists; NULL: 0 */

/* The events of a pass. All calls do nothing if self is NULL. The device and the stream must stay from begin to
   finish, which makes samples and offsets. finish may be called twice, or without begin. */
void record_begin(record *self, device *on, const op_stream *stream, uint64_t times);   /* see pass_settings.times */
void record_op(record *self, uint64_t number);   /* the next op; allocations and frees are counted */
void record_label(record *self, uint32_t label);
/* The op allocated this block of the op stream's, perhaps not for the first time. ptr NULL: a block without bytes,
   which is not recorded. */
void record_alloc(record *self, uint32_t number, const void *ptr, uint64_t requested_bytes, uint64_t bytes,
                  uint64_t stream);
void record_free(record *self, uint32_t number);
int  record_keeps_samples(const record *self);                               /* 0: record_measure does nothing */
void record_measure(record *self, const memory_use *use);                    /* after the op */
void record_refuse(record *self, uint64_t requested_bytes);
void record_finish(record *self, uint64_t op_count);

#endif
