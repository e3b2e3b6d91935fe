/* `train`, inside: what a decoder-only transformer trains with.
   `phases` and `rival` train with them. */
#ifndef STRESS_WORKLOAD_TRAIN_H
#define STRESS_WORKLOAD_TRAIN_H

#include "family.h"
#include "maker.h"

enum {
    TRAIN_LAYERS, TRAIN_HIDDEN, TRAIN_FF, TRAIN_HEADS, TRAIN_VOCAB, TRAIN_BATCH, TRAIN_SEQ, TRAIN_STEPS, TRAIN_SEED,
    TRAIN_RECOMPUTE, TRAIN_ZERO3, TRAIN_LORA, TRAIN_STREAMS, TRAIN_OPTION_COUNT,
    TRAIN_SHARED = TRAIN_SEED + 1                /* options that a family which trains begins with, in this order */
};
extern const family_option train_options[TRAIN_OPTION_COUNT];

enum { TRAIN_MATRICES = 7, TRAIN_ADAPTERS = 8, TRAIN_MOMENTS = 3 };  /* q k v o gate up down; 2 for q k v o */

/* What a layer's backward needs of its forward, in the order in which kernels name it. */
enum {
    KEPT_NORM, KEPT_RSTD, KEPT_Q, KEPT_K, KEPT_V, KEPT_ATTENTION, KEPT_LSE, KEPT_MIDDLE, KEPT_NORM2, KEPT_RSTD2,
    KEPT_GATE, KEPT_UP, KEPT_ACTIVATION, KEPT_PRODUCT, KEPT_COUNT
};

typedef struct train {
    maker    words;                              /* in which all is written; its draws are the train's */
    uint64_t layers, hidden, ff, heads, vocab, batch, seq_low, seq_high, steps, zero3, lora;
    int      recompute;
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

/* What a family asks of train whose first options are the TRAIN_SHARED ones. */
void train_request(family_request *model, const family_value *values, uint64_t zero3);
/* Fills what does not change from step to step, and makes room for what a step keeps. Returns 0, or -1 with a
   problem; train_end must follow in both cases, and returns the same for all that was done since. */
int train_begin(train *state, const family_request *request, stream_builder *builder);
int train_end(train *state);
/* Draws this step's sequence length and fills what depends on it. */
void train_draw(train *state);

/* Weights: 7 matrices a layer, 2 norms a layer, embedding, head, last norm: blocks with numbers that follow on each
   other, on stream 0. Then, with LoRA, adapters; then master weight and two moments of every trained tensor. Both may
   be done anew once the blocks of before are freed. A step needs both. */
void train_setup_weights(train *state);
void train_setup_state(train *state);
void train_one_step(train *state);               /* draws; forward, loss, backward, update */
void train_run(train *state);                    /* all of it: both setups, and the steps */

#endif
