/* `serve`, inside: models, lengths of requests, the cache of keys and values, and what a server keeps of them.
   Not used by anyone else, but for its tests. */
#ifndef STRESS_WORKLOAD_SERVE_H
#define STRESS_WORKLOAD_SERVE_H

#include "maker.h"

typedef struct serve_model {
    const char *name;
    uint64_t layers, hidden, kv, head, ff, vocab;            /* kv: heads that keys and values have */
} serve_model;

enum { SERVE_MODELS = 3, SERVE_LENGTHS = 4 };
extern const serve_model serve_models[SERVE_MODELS];
extern const char *const serve_model_names[SERVE_MODELS], *const serve_length_names[SERVE_LENGTHS];

/* Bytes of one token's keys and values in all layers, in 16 bits. */
uint64_t serve_token_bytes(const serve_model *model);
/* Tokens of a prompt, or of an answer, of these lengths: at least 1. And the most that can come. */
enum { SERVE_PROMPT, SERVE_ANSWER };
uint64_t serve_draw_tokens(maker *words, uint64_t lengths, int which);
uint64_t serve_most_tokens(uint64_t lengths, int which);

typedef struct serve_request {
    uint64_t  arrival_ns;
    uint64_t  prompt, answer;                    /* tokens */
    uint64_t  done;                              /* of the answer */
    int       shares;                            /* begins with the common prompt */
    uint32_t *blocks;                            /* its own; NULL: not in the cache */
    uint64_t  block_count, room;                 /* room: tokens that fit into its own */
} serve_request;

typedef struct serve {
    maker     words;
    uint64_t  which_model, lengths, is_contiguous, request_count, rate, most_running, budget_mib, block_tokens,
              prefix, sharing, chunk_tokens, has_weights;                    /* options */
    const serve_model *model;
    uint64_t  token_bytes, budget_bytes, held_bytes;
    uint64_t  shared_count, shared_users;        /* blocks of the common prompt, live while it has users */
    uint32_t *shared;
    serve_request *requests;
    uint64_t  arrived;                           /* the first that has not arrived yet */
    uint64_t  next;                              /* the first that was not admitted yet */
    uint64_t *preempted, preempted_count;        /* go before it, the last one first */
    uint64_t *running, running_count;            /* in order of admission */
    uint64_t  now_ns;
} serve;

#endif
