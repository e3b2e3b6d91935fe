/* `cnn`, inside: ResNet-50's convolutions, and what a step of training holds of them.
   Not used by anyone else. */
#ifndef STRESS_WORKLOAD_CNN_H
#define STRESS_WORKLOAD_CNN_H

#include "family.h"
#include "maker.h"

enum { CNN_UNITS = 53, CNN_BLOCKS = 16, CNN_FEATURES = 2048 };       /* a unit: a convolution and its norm */
enum { CNN_UNIT_PARAMETERS = 3, CNN_PARAMETERS = CNN_UNITS * CNN_UNIT_PARAMETERS + 2 };      /* and fc's two */

typedef struct cnn_unit {
    uint32_t in, out, kernel, stride;            /* channels; pixels */
} cnn_unit;

typedef struct cnn_block {
    uint32_t first;                              /* of three units in a row, and a fourth where it has a shortcut's */
    int      has_shortcut;
} cnn_block;

typedef struct cnn_net {
    cnn_unit  units[CNN_UNITS];                  /* in the order of torchvision's parameters */
    cnn_block blocks[CNN_BLOCKS];
} cnn_net;

/* What a unit keeps for its backward, and pixels a side of this step's. */
typedef struct cnn_kept {
    uint32_t convolved, mean, deviation;         /* the norm's input and its statistics */
    uint32_t made;                               /* behind the norm, and behind ReLU, in place */
    uint64_t in_side, out_side;
} cnn_kept;

typedef struct cnn {
    maker    words;
    cnn_net  net;
    uint64_t value_bytes, classes, batch;        /* batch: of this step */
    uint64_t input_stream;
    uint64_t bytes[CNN_PARAMETERS];
    uint32_t parameters[CNN_PARAMETERS], gradients[CNN_PARAMETERS], momenta[CNN_PARAMETERS];
    int      has_momenta;
    cnn_kept kept[CNN_UNITS];
    uint32_t pooled, places, features, logits, likelihoods;
    uint64_t pooled_side;
} cnn;

#endif
