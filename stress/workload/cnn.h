/* `cnn`, inside: ResNet-50's convolutions, and what a step of training holds of them.
   Not used by anyone else.
   Tested by tests/test_workload_cnn.c. */
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

void cnn_build(cnn_net *net);

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

/* A block that a kernel on stream 0 makes from another one. */
uint32_t cnn_made(cnn *state, uint64_t bytes, uint32_t from);
uint64_t cnn_map_bytes(cnn *state, uint64_t channels, uint64_t side);        /* of the whole batch */
/* The convolution's matrix of one image, and its kernel's time: 1 x 1 needs no matrix. */
void     cnn_convolve(cnn *state, uint32_t unit, uint32_t times, uint32_t from, uint32_t to);

/* One step's halves. The gradients are all there at the end of the latter, and all else is freed. */
void cnn_forward(cnn *state, uint32_t images, uint64_t side);
void cnn_backward(cnn *state);

#endif
