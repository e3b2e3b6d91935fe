/* `serve`: a language model's server: requests come at random, are batched as they come, and share a cache of keys
   and values within a budget. */
#include <inttypes.h>
#include <stdlib.h>

#include "../base/program.h"
#include "maker.h"

/* ---- Published models, and published distributions of how long prompts and answers are */

typedef struct serve_model {
    const char *name;
    uint64_t layers, hidden, kv, head, ff, vocab;            /* kv: heads that keys and values have */
} serve_model;

enum { SERVE_MODELS = 3, SERVE_LENGTHS = 4 };

/* Llama 2 and 3 as their model cards have them. */
static const serve_model serve_models[SERVE_MODELS] = {
    { "llama3-8b",  32, 4096, 8,  128, 14336, 128256 },
    { "llama2-7b",  32, 4096, 32, 128, 11008, 32000 },
    { "llama3-70b", 80, 8192, 8,  128, 28672, 128256 }
};
static const char *const serve_model_names[SERVE_MODELS] = { "llama3-8b", "llama2-7b", "llama3-70b" };

/* Tokens at some shares of the requests, in 1,000; straight lines between them, from 1 token on; and nothing above
   the last, which is the highest that is known. What lies between is our choice, and with it the means: of prompts
   and answers 1,357 and 195 tokens (conv), 2,343 and 33 (code), 14,511 and 366 (mooncake), 9,524 and 335 (arxiv).
   conv and code: Azure's LLM inference traces of 2023 (Splitwise);
   mooncake: Mooncake's conversation trace; arxiv: summaries of papers, as vAttention serves them. */
enum { SERVE_POINTS = 4 };
typedef struct serve_point { uint64_t share, tokens; } serve_point;
typedef struct serve_length { serve_point points[2][SERVE_POINTS]; } serve_length;

static const serve_length serve_lengths[SERVE_LENGTHS] = {
    { { { { 500, 1020 }, { 900, 2735 },  { 990, 4142 },  { 1000, 4142 } },
        { { 500, 129 },  { 900, 424 },   { 990, 601 },   { 1000, 601 } } } },
    { { { { 500, 1469 }, { 900, 5194 },  { 990, 7436 },  { 1000, 7436 } },
        { { 500, 13 },   { 900, 55 },    { 990, 252 },   { 1000, 252 } } } },
    { { { { 500, 6909 }, { 900, 27367 }, { 990, 85401 }, { 1000, 85401 } },
        { { 500, 350 },  { 900, 597 },   { 990, 1120 },  { 1000, 1120 } } } },
    { { { { 500, 7958 }, { 750, 13190 }, { 900, 18490 }, { 1000, 31805 } },
        { { 500, 332 },  { 750, 482 },   { 900, 653 },   { 1000, 653 } } } }
};
static const char *const serve_length_names[SERVE_LENGTHS] = { "conv", "code", "mooncake", "arxiv" };

/* Tokens of a prompt, or of an answer, of these lengths: at least 1. And the most that can come. */
enum { SERVE_PROMPT, SERVE_ANSWER };
static uint64_t serve_draw_tokens(maker *words, uint64_t lengths, int which)
{
    const serve_point *points = serve_lengths[lengths].points[which];
    serve_point before = { 0, 1 };
    uint64_t drawn = maker_draw(words, 0, 999999), at = 0;
    while (drawn >= 1000 * points[at].share) before = points[at++];
    uint64_t into = drawn - 1000 * before.share, width = 1000 * (points[at].share - before.share);
    return before.tokens + (points[at].tokens - before.tokens) * into / width;
}

static uint64_t serve_most_tokens(uint64_t lengths, int which)
{
    return serve_lengths[lengths].points[which][SERVE_POINTS - 1].tokens;
}

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

/* ---- Room for keys and values, in blocks of so many tokens or in one piece, within a budget */

/* Tokens of a request that lie in shared blocks. */
static uint64_t serve_shared_tokens(const serve *state, const serve_request *request)
{
    return request->shares ? state->shared_count * state->block_tokens : 0;
}

static uint64_t serve_block_bytes(const serve *state)
{
    return state->block_tokens * state->token_bytes;
}

static uint64_t serve_blocks_for(const serve *state, uint64_t tokens)
{
    return (tokens + state->block_tokens - 1) / state->block_tokens;
}

/* One piece is a block's tokens, doubled until it suffices: Orca with powers of two, in vLLM's paper. */
static uint64_t serve_piece_tokens(const serve *state, uint64_t tokens)
{
    uint64_t room = state->block_tokens;
    while (room < tokens) room *= 2;
    return room;
}

/* The least budget with which any one request completes. */
static uint64_t serve_least_budget(const serve *state, uint64_t tokens)
{
    if (!state->is_contiguous) return serve_blocks_for(state, tokens) * serve_block_bytes(state);
    return serve_piece_tokens(state, tokens) * state->token_bytes / 2 * 3;
}

static uint32_t serve_new(serve *state, uint64_t bytes)
{
    state->held_bytes += bytes;
    return maker_new(&state->words, bytes);
}

static void serve_free(serve *state, uint32_t block, uint64_t bytes)
{
    state->held_bytes -= bytes;
    maker_free(&state->words, block);
}

static void serve_room(serve_request *request, uint64_t count)
{
    request->blocks = program_resize(request->blocks, (size_t)count + 1, sizeof *request->blocks);
}

static void serve_share(serve *state)
{
    if (state->shared_users++ > 0) return;
    for (uint64_t i = 0; i < state->shared_count; i++) state->shared[i] = serve_new(state, serve_block_bytes(state));
}

static void serve_unshare(serve *state)
{
    if (--state->shared_users > 0) return;
    for (uint64_t i = state->shared_count; i-- > 0; ) serve_free(state, state->shared[i], serve_block_bytes(state));
}

static int serve_hold_blocks(serve *state, serve_request *request, uint64_t tokens)
{
    uint64_t bytes = serve_block_bytes(state);
    uint64_t own = serve_blocks_for(state, tokens - serve_shared_tokens(state, request));
    int joins = request->shares && !request->blocks;
    uint64_t wanted = own - request->block_count;
    if (joins && state->shared_users == 0) wanted += state->shared_count;
    if (own <= request->block_count && request->blocks) return 1;
    if (wanted * bytes > state->budget_bytes - state->held_bytes) return 0;
    serve_room(request, own);
    if (joins) serve_share(state);
    while (request->block_count < own) request->blocks[request->block_count++] = serve_new(state, bytes);
    request->room = own * state->block_tokens;
    return 1;
}

static int serve_hold_piece(serve *state, serve_request *request, uint64_t tokens)
{
    maker *words = &state->words;
    uint64_t room = serve_piece_tokens(state, tokens), bytes = room * state->token_bytes;
    if (request->blocks && room <= request->room) return 1;
    if (bytes > state->budget_bytes - state->held_bytes) return 0;
    serve_room(request, 1);
    uint32_t made = serve_new(state, bytes);
    if (request->block_count > 0) {
        uint64_t old_bytes = request->room * state->token_bytes;
        MAKER_KERNEL(words, 0, 2 * old_bytes / RATE_MEMORY_BYTES_PER_NS, request->blocks[0], made);
        serve_free(state, request->blocks[0], old_bytes);
    }
    request->blocks[0] = made;
    request->block_count = 1;
    request->room = room;
    return 1;
}

/* Room for so many tokens of the request, its part of the shared ones included: 1, or 0: the budget does not allow
   it, and nothing has changed. A contiguous cache doubles, and is copied. */
static int serve_hold(serve *state, serve_request *request, uint64_t tokens)
{
    return state->is_contiguous ? serve_hold_piece(state, request, tokens)
                                : serve_hold_blocks(state, request, tokens);
}

/* all it holds; nothing, if it holds nothing */
static void serve_drop(serve *state, serve_request *request)
{
    if (!request->blocks) return;
    uint64_t bytes = state->is_contiguous ? request->room * state->token_bytes : serve_block_bytes(state);
    while (request->block_count > 0) serve_free(state, request->blocks[--request->block_count], bytes);
    if (request->shares) serve_unshare(state);
    free(request->blocks);
    request->blocks = NULL;
    request->room = 0;
}

/* ---- Options, requests and the scheduler */

/* Continuous batching, in the order of vLLM's scheduler: requests that wait are admitted first come first served,
   while there is room for their prompts, and their prompts are computed, up to chunk tokens a step; else each running
   request gets one more token. Where there is no room for it, the one admitted last is preempted: what it holds is
   freed, and it waits, first in line, to be computed anew. layout=blocks: room comes in blocks of so many tokens, all
   layers' keys and values in one (PagedAttention); contiguous: in one piece a request, doubled and copied when it is
   full. sharing=N: N in 100 requests begin with the same prefix tokens, whose whole blocks are there once; in one
   piece nothing can be shared. Time goes by with the work, so that the load decides how many run at a time.
   Older blocks are read on the same stream on which they were written: that orders nothing, and is left out. */
static const char *const serve_layouts[] = { "blocks", "contiguous" };
static const family_option serve_options[] = {
    OPTION_WORDS(serve, which_model, "model", serve_model_names),
    OPTION_WORDS(serve, lengths, "lengths", serve_length_names),
    OPTION_WORDS(serve, is_contiguous, "layout", serve_layouts),
    OPTION(serve, request_count, "requests", 1, 1000000, 48),
    OPTION(serve, rate, "rate", 1, 1000000, 8),              /* a second */
    OPTION(serve, most_running, "batch", 1, 65536, 256),     /* vLLM: max_num_seqs */
    OPTION(serve, budget_mib, "budget", 1, 1 << 24, 3072),   /* of keys and values */
    OPTION(serve, block_tokens, "block", 1, 65536, 16),      /* vLLM: 16 */
    OPTION(serve, prefix, "prefix", 0, 1 << 20, 256),        /* tokens */
    OPTION(serve, sharing, "sharing", 0, 100, 50),           /* % */
    OPTION(serve, chunk_tokens, "chunk", 1, 1 << 20, 2048),  /* vLLM: max_num_batched_tokens */
    OPTION(serve, has_weights, "weights", 0, 1, 1),
    OPTION(serve, words.random, "seed", 0, UINT64_MAX, 1),
};

/* In 16 bits, q, k and v as one matrix, gate and up as another, as vLLM has them. */
static void serve_setup_weights(serve *state)
{
    const serve_model *model = state->model;
    uint64_t hidden = model->hidden, projected = hidden + 2 * model->kv * model->head;
    const uint64_t sizes[] = { hidden, hidden * projected, hidden * hidden, hidden, 2 * hidden * model->ff,
                               hidden * model->ff };
    maker_new(&state->words, 2 * model->vocab * hidden);
    for (uint64_t i = 0; i < model->layers * 6 && !maker_is_over(&state->words); i++) {
        maker_new(&state->words, 2 * sizes[i % 6]);
    }
    maker_new(&state->words, 2 * hidden);
    maker_new(&state->words, 2 * model->vocab * hidden);
}

static void serve_setup_requests(serve *state)
{
    maker *words = &state->words;
    uint64_t arrival_ns = 0, prefix = state->prefix, mean_ns = 1000000000 / state->rate;
    for (uint64_t i = 0; i < state->request_count; i++) {
        serve_request *made = &state->requests[i];
        arrival_ns += maker_draw_gap(words, mean_ns);
        made->arrival_ns = arrival_ns;
        made->prompt = serve_draw_tokens(words, state->lengths, SERVE_PROMPT);
        made->answer = serve_draw_tokens(words, state->lengths, SERVE_ANSWER);
        made->shares = maker_draw(words, 0, 99) < state->sharing && prefix > 0;
        if (made->shares && made->prompt <= prefix) made->prompt = prefix + 1;
        if (state->shared_count == 0) made->shares = 0;
    }
}

/* What the layers need for so many tokens of so many requests, one layer after the other; then, per request, logits
   in 32 bits. The kernel is the whole step's. */
static void serve_compute(serve *state, uint64_t tokens, uint64_t requests, uint64_t read_bytes)
{
    maker *words = &state->words;
    const serve_model *model = state->model;
    uint64_t layer = model->hidden * (2 * model->hidden + 2 * model->kv * model->head + 3 * model->ff + 2);
    uint64_t parameters = model->layers * layer, narrow = 2 * tokens * model->hidden;
    uint64_t read_ns = (2 * parameters + read_bytes) / RATE_MEMORY_BYTES_PER_NS;
    uint64_t matrix_ns = 2 * parameters / RATE_FLOPS_PER_NS * tokens;
    uint64_t step_ns = read_ns > matrix_ns ? read_ns : matrix_ns;
    const uint32_t made[] = {
        maker_new(words, narrow), maker_new(words, narrow), maker_new(words, 4 * tokens * model->ff),
        maker_new(words, 2 * tokens * model->ff), maker_new(words, 4 * requests * model->vocab)
    };
    maker_kernel(words, 0, step_ns);
    maker_touch_all(words, made, sizeof made / sizeof made[0]);
    state->now_ns += step_ns;
    for (uint64_t i = 0; i < state->running_count; i++) {
        const serve_request *request = &state->requests[state->running[i]];
        if (request->block_count > 0) maker_touch(words, request->blocks[request->block_count - 1]);
    }
    maker_free_all(words, made, sizeof made / sizeof made[0], 0);
}

static int serve_waits(const serve *state)
{
    return state->preempted_count > 0 || state->next < state->arrived;
}

/* Where there is nothing to do time goes on to the next request. */
static void serve_arrive(serve *state)
{
    if (!serve_waits(state) && state->running_count == 0) {
        uint64_t next_ns = state->requests[state->arrived].arrival_ns;
        if (state->now_ns < next_ns) state->now_ns = next_ns;
    }
    while (state->arrived < state->request_count && state->requests[state->arrived].arrival_ns <= state->now_ns) {
        state->arrived++;
    }
}

static uint64_t serve_first(const serve *state)
{
    return state->preempted_count > 0 ? state->preempted[state->preempted_count - 1] : state->next;
}

/* Keys and values of the prompt, and of what was answered before a preemption, are written to new blocks. */
static void serve_write_prompt(serve *state, const serve_request *request)
{
    maker *words = &state->words;
    uint64_t bytes = (request->prompt + request->done) * state->token_bytes;
    maker_kernel(words, 0, bytes / RATE_MEMORY_BYTES_PER_NS);
    if (request->shares) maker_touch_all(words, state->shared, (size_t)state->shared_count);
    maker_touch_all(words, request->blocks, (size_t)request->block_count);
}

/* Tokens that were admitted; 0: nobody can be. */
static uint64_t serve_admit(serve *state)
{
    uint64_t admitted = 0;
    while (serve_waits(state) && state->running_count < state->most_running && !maker_is_over(&state->words)) {
        serve_request *request = &state->requests[serve_first(state)];
        uint64_t tokens = request->prompt + request->done, computed = tokens;
        if (state->shared_users > 0) computed -= serve_shared_tokens(state, request);
        if (admitted > 0 && admitted + computed > state->chunk_tokens) break;
        if (!serve_hold(state, request, tokens)) break;
        if (admitted == 0) maker_label(&state->words, "prefill");
        serve_write_prompt(state, request);
        state->running[state->running_count++] = serve_first(state);
        if (state->preempted_count > 0) state->preempted_count--;
        else state->next++;
        admitted += computed;
    }
    return admitted;
}

static void serve_preempt(serve *state)
{
    uint64_t victim = state->running[--state->running_count];
    maker_label(&state->words, "preempt");
    serve_drop(state, &state->requests[victim]);
    state->preempted[state->preempted_count++] = victim;
}

/* Room for one more token of every running request, at the cost of those admitted last. */
static void serve_make_room(serve *state)
{
    for (uint64_t i = 0; i < state->running_count && !maker_is_over(&state->words); i++) {
        serve_request *request = &state->requests[state->running[i]];
        while (i < state->running_count && !serve_hold(state, request, request->prompt + request->done + 1)) {
            serve_preempt(state);
        }
    }
}

static void serve_finish(serve *state)
{
    uint64_t left = 0;
    for (uint64_t i = 0; i < state->running_count; i++) {
        serve_request *request = &state->requests[state->running[i]];
        if (++request->done < request->answer) state->running[left++] = state->running[i];
        else serve_drop(state, request);
    }
    state->running_count = left;
}

static void serve_decode(serve *state)
{
    maker_label(&state->words, "decode");
    serve_make_room(state);
    serve_compute(state, state->running_count, state->running_count, state->held_bytes);
    serve_finish(state);
}

static void serve_run(serve *state)
{
    uint64_t tokens;
    while ((state->arrived < state->request_count || serve_waits(state) || state->running_count > 0)
           && !maker_is_over(&state->words)) {
        uint64_t before = state->running_count;
        serve_arrive(state);
        if ((tokens = serve_admit(state)) > 0) serve_compute(state, tokens, state->running_count - before, 0);
        else serve_decode(state);
    }
}

static int serve_judge(const serve *state)
{
    uint64_t most = serve_most_tokens(state->lengths, SERVE_PROMPT);
    if (state->sharing > 0 && most <= state->prefix) most = state->prefix + 1;
    most += serve_most_tokens(state->lengths, SERVE_ANSWER);
    uint64_t least = (serve_least_budget(state, most) + (1 << 20) - 1) >> 20;
    if (least <= state->budget_mib) return 0;
    return stream_refuse(state->words.builder, "budget is %" PRIu64 ", expected at least %" PRIu64 " (MiB), for the "
                         "longest request", state->budget_mib, least);
}

static void serve_begin(serve *state)
{
    maker *words = &state->words;
    state->model = &serve_models[state->which_model];
    state->token_bytes = 2 * state->model->layers * state->model->kv * state->model->head * 2;
    state->budget_bytes = state->budget_mib << 20;
    if (!state->is_contiguous) state->shared_count = state->prefix / state->block_tokens;
    state->shared = maker_array(words, state->shared_count, sizeof *state->shared);
    state->requests = maker_array(words, state->request_count, sizeof *state->requests);
    state->preempted = maker_array(words, state->request_count, sizeof *state->preempted);
    state->running = maker_array(words, state->request_count, sizeof *state->running);
}

static void serve_make(void *self)
{
    serve *state = self;
    maker *words = &state->words;
    serve_begin(state);
    words->failed = serve_judge(state);
    if (words->failed) return;
    serve_setup_requests(state);
    if (state->has_weights) serve_setup_weights(state);
    uint32_t weights = maker_next(words);
    serve_run(state);
    for (uint64_t i = 0; i < state->request_count; i++) free(state->requests[i].blocks);
    maker_free_run(words, 0, weights);
}

FAMILY(serve, "a language model's server: requests come at random, batched, with a cache in blocks or in one piece",
       "weights (16 bits), keys and values up to the budget, and activations of a step's tokens", 19567358976);
