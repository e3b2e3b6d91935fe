/* What the models of BFC allocators share, TensorFlow's and the one that ONNX Runtime made of it.
   Included by bfc.c and ort.c alone. */
#ifndef STRESS_POLICY_BFC_H
#define STRESS_POLICY_BFC_H

#include "model.h"

typedef struct bfc {
    model     base;
    piece_set free;
    uint64_t  step_bytes;                        /* what the next region is at least */
} bfc;

/* A region of so many bytes, or a tenth less again and again while the driver refuses, down to the least. */
gpuarena_result bfc_region(bfc *self, uint64_t bytes, uint64_t least_bytes);

#endif
