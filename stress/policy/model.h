/* Models of known allocators: each a file of its own and a row of the table in model.c, straightforward, over the
   driver table. This is their outside; what they are made of is in model_parts.h.
   It must not know workloads, devices or reports. Tested by tests/test_like_*.c and tests/test_golden_peaks.c. */
#ifndef STRESS_POLICY_MODEL_H
#define STRESS_POLICY_MODEL_H

#include "../../gpuarena.h"

typedef struct model model;
struct piece;                                    /* pieces.h */

/* The functions answer a result; of a failure model.refused says more. One thread at a time is in them. */
typedef struct model_kind {
    const char *name, *summary;
    const char *lacks;                           /* what of the original is not reproduced; "": nothing known */
    size_t      size;                            /* of its struct, which begins with a model */
    uint64_t    alignment_bytes;
    int         needs_pages;                     /* 1: nothing without the driver's virtual memory */
    int         in_order;                        /* 1: streams wait for each other in it: see pool.in_order */
    uint64_t    beyond_bytes;                    /* by as much it may pass its limit, as its original does */
    gpuarena_result (*open)(model *self);        /* NULL: nothing to do */
    /* bytes: not 0, and a multiple of the alignment. found: live, of at least as many bytes. There are spare pieces
       for four splits. */
    gpuarena_result (*alloc)(model *self, uint64_t bytes, gpuarena_stream stream, struct piece **found);
    gpuarena_result (*free)(model *self, struct piece *freed, gpuarena_stream stream);
    /* NULL: there is no such call, and a free's stream must have been made to wait for all other uses. Else a block
       goes back to the stream of its allocation, and uses on others are told before its free. */
    gpuarena_result (*use)(model *self, struct piece *used, gpuarena_stream stream);
    gpuarena_result (*trim)(model *self);        /* all that is idle goes back to the driver */
    uint64_t        (*largest)(const model *self);       /* the largest free piece */
    void            (*close)(model *self);       /* what is not memory from model_obtain; NULL: nothing */
} model_kind;

extern const model_kind model_bfc, model_ort, model_pytorch, model_pytorch_expandable, model_rmm, model_rmm_arena,
                        model_cub, model_best_fit, model_first_fit;

const model_kind *model_kind_at(size_t index);                               /* NULL past the last */

typedef struct model_refusal {                   /* the latest failure */
    gpuarena_reason reason;
    const char     *call;                        /* of the driver; NULL: one that obtains */
    int             code;                        /* the driver's; 0: it was not asked */
    uint64_t        requested_bytes;
    uint64_t        reserved_bytes, free_bytes, largest_bytes;
} model_refusal;

/* NULL: refused says why; result: NOT_SUPPORTED, HOST_MEMORY or what its first memory met. */
model *model_open(const model_kind *kind, const gpuarena_driver *driver, uint64_t limit_bytes,
                  gpuarena_result *result, model_refusal *refused);
void   model_close(model *self);                 /* gives back all that it holds; NULL is fine */

/* As pool_alloc and the others (policy.h). refused: filled by a failure. Any thread. */
gpuarena_result model_alloc(model *self, void **ptr, uint64_t bytes, gpuarena_stream stream, model_refusal *refused);
gpuarena_result model_free(model *self, void *ptr, gpuarena_stream stream, model_refusal *refused);
gpuarena_result model_use(model *self, const void *ptr, gpuarena_stream stream, model_refusal *refused);
gpuarena_result model_end_stream(model *self, gpuarena_stream stream, model_refusal *refused);
gpuarena_result model_trim(model *self, model_refusal *refused);
uint64_t        model_block_bytes(model *self, const void *ptr);             /* 0: no live block */

typedef struct model_use_now { uint64_t live_bytes, free_bytes, pending_bytes; } model_use_now;
void model_measure(model *self, model_use_now *use);
uint64_t model_largest(model *self);                      /* the largest free piece; may take a walk over all */

#endif
