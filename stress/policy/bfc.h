/* What the models of BFC allocators share, TensorFlow's and the one that ONNX Runtime made of it.
   Included by bfc.c and ort.c alone. */
#ifndef STRESS_POLICY_BFC_H
#define STRESS_POLICY_BFC_H

#include "model_parts.h"

typedef struct bfc {
    model     base;
    piece_set free;
    uint64_t  step_bytes;                        /* what the next region is at least */
} bfc;

/* The smallest free chunk that fits, cut if the rest is worth it. NULL: none fits. */
piece *bfc_take(bfc *self, uint64_t bytes);
/* The step that covers so many bytes: doubled until it does. */
uint64_t bfc_step(uint64_t step_bytes, uint64_t bytes);
/* A region of so many bytes, or a tenth less again and again while the driver refuses, down to the least. */
gpuarena_result bfc_region(bfc *self, uint64_t bytes, uint64_t least_bytes);
uint64_t        bfc_room(const bfc *self);       /* what the limit allows still, in whole units of 256 bytes */

gpuarena_result bfc_free(model *base, piece *freed, gpuarena_stream stream);
gpuarena_result bfc_trim(model *base);
uint64_t        bfc_largest(const model *base);

#endif
