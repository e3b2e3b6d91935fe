/* `train`, inside: the state and the steps of training a decoder-only transformer. `phases` and `rival` train with
   them. */
#ifndef STRESS_WORKLOAD_TRAIN_H
#define STRESS_WORKLOAD_TRAIN_H

#include "maker.h"

enum { TRAIN_MATRICES = 7, TRAIN_ADAPTERS = 8, TRAIN_MOMENTS = 3 };  /* q k v o gate up down; 2 for q k v o */

/* Blocks of a layer's forward that its backward needs, in the order in which kernels name them. */
enum {
    KEPT_NORM, KEPT_RSTD, KEPT_Q, KEPT_K, KEPT_V, KEPT_ATTENTION, KEPT_LSE, KEPT_MIDDLE, KEPT_NORM2, KEPT_RSTD2,
    KEPT_GATE, KEPT_UP, KEPT_ACTIVATION, KEPT_PRODUCT, KEPT_COUNT
};

typedef struct train {
    maker    words;                              /* in which all is written; its draws are the train's */
    uint64_t layers, hidden, ff, heads, vocab, batch, steps, recompute, zero3, lora, streams;
    family_range lengths;                        /* of sequences */
    uint64_t gather_stream;                      /* 1: gathers, where zero3 > 1, have a stream of their own */
    uint64_t shapes[TRAIN_MATRICES];             /* elements of a layer's matrices */
    uint64_t shapes_total;
    uint64_t trained[TRAIN_ADAPTERS];            /* elements that get a gradient, a layer */
    uint32_t trained_count;

    uint32_t weights, norms, embedding, head, last_norm, state;      /* first block of each */
    uint32_t *inputs, *saved, *grads;            /* layers + 1; layers x KEPT_COUNT; layers x trained_count */
    size_t   grad_count;

    uint64_t seq, tokens;                        /* of this step */
    uint64_t narrow_bytes, wide_bytes, sums_bytes, layer_ns; /* tokens x hidden, tokens x ff, 4 B a token */
} train;

/* Options of every family that trains. trained: the train's place in its struct, such as `model.`, or nothing.
   lowest: of all shapes. deep: layers by default. */
#define TRAIN_SHAPES(of, trained, lowest, deep) \
    OPTION(of, trained layers, "layers", lowest, 1000000, deep), \
    OPTION(of, trained hidden, "hidden", lowest, UINT32_MAX, 2048), \
    OPTION(of, trained ff, "ff", lowest, UINT32_MAX, 5504), \
    OPTION(of, trained heads, "heads", lowest, UINT32_MAX, 16), \
    OPTION(of, trained vocab, "vocab", lowest, UINT32_MAX, 32000)
#define TRAIN_STEPS(of, trained, count) \
    OPTION(of, trained steps, "steps", 0, 1000000, count), \
    OPTION(of, trained words.random, "seed", 0, UINT64_MAX, 1)

/* With its options in place, zeroed but for these: fills all that is the same in every step, and makes room for the
   blocks that a step keeps. */
void train_begin(train *state);
/* train_draw draws this step's sequence length and fills all that depends on it; train_tokens does so for another
   number of tokens. */
void train_draw(train *state);
void train_tokens(train *state, uint64_t tokens);

/* Weights: 7 matrices a layer, 2 norms a layer, embedding, head, last norm: blocks with numbers that follow on each
   other, on stream 0. Then, with LoRA, adapters; then master weight and two moments of every trained tensor. Both may
   be done anew once the blocks of before are freed. A step needs both. */
void train_setup_weights(train *state);
void train_setup_state(train *state);
void train_one_step(train *state);               /* draws; forward, loss, backward, update */
void train_run(train *state);                    /* all of it: both setups, and the steps */

#endif
