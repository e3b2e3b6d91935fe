/* `phases`, inside: what a trial keeps, and the one phase that has a file of its own.
   Not used by anyone else. */
#ifndef STRESS_WORKLOAD_PHASES_H
#define STRESS_WORKLOAD_PHASES_H

#include "train.h"

enum {                                           /* up to the seed, in the order of train's options */
    PHASES_LAYERS, PHASES_HIDDEN, PHASES_FF, PHASES_HEADS, PHASES_VOCAB, PHASES_BATCH, PHASES_SEQ, PHASES_STEPS,
    PHASES_SEED, PHASES_UPDATES, PHASES_GENERATE, PHASES_STREAMS, PHASES_OPTION_COUNT
};
enum { PHASES_RESULTS = 2 };                     /* blocks a trial: the prompt's likelihoods, and all tokens */

typedef struct phases {
    train     model;                             /* its steps are trials; its batch is drawn for each */
    uint64_t  batch_low, batch_high, updates, generate;
    uint64_t  copy_stream;                       /* 1: copies from and to the host have a stream of their own */
    uint64_t  trial;
    uint32_t  data;                              /* of this trial */
    uint32_t *cache;                             /* layers x 2: keys and values */
    uint64_t  cached_rows;                       /* tokens of all sequences in it */
    uint64_t  rows;                              /* tokens of this pass through the layers */
    uint64_t  narrow_bytes, wide_bytes;          /* of this pass: rows x hidden, rows x ff */
    uint32_t  best;                              /* first of the best trial's weights */
    int       has_best;
    uint32_t *results;
    size_t    result_count;
} phases;

/* Scores a prompt of drawn length, then generates token after token. Frees the trial's data, keeps two results. */
void phases_evaluate(phases *run);

#endif
