/* `serve`: a language model's server: requests come at random, are batched as they come, and share a cache of keys
   and values within a budget. */
#include "maker.h"

/* ---- Published models, and published distributions of how long prompts and answers are */

typedef struct serve_model {
    uint64_t layers, hidden, kv, head, ff, vocab;            /* kv: heads that keys and values have */
} serve_model;

/* Llama 2 and 3 as their model cards have them. */
static const char *const serve_model_names[] = { "llama3-8b", "llama2-7b", "llama3-70b" };
static const serve_model serve_models[] = {
    { 32, 4096, 8,  128, 14336, 128256 },
    { 32, 4096, 32, 128, 11008, 32000 },
    { 80, 8192, 8,  128, 28672, 128256 }
};

/* Tokens at some shares of the requests, in 1,000; straight lines between them, from 1 token on; and nothing above
   the last, which is the highest that is known. The lines between are our choice, and with them the means: of prompts
   and answers 1,357 and 195 tokens (conv), 2,343 and 33 (code), 14,511 and 366 (mooncake), 9,524 and 335 (arxiv).
   conv and code: Azure's LLM inference traces of 2023 (Splitwise);
   mooncake: Mooncake's conversation trace; arxiv: summaries of papers, as vAttention serves them. */
enum { SERVE_POINTS = 4, SERVE_LENGTHS = 4 };
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
static uint64_t serve_draw_tokens(void *words, uint64_t lengths, int which)
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
    uint32_t *blocks;                            /* its own */
    uint64_t  block_count, block_bytes;          /* 0: not in the cache; of each */
} serve_request;

/* Continuous batching, in the order of vLLM's scheduler: requests that wait are admitted first come first served,
   while there is room for their prompts, and their prompts are computed, up to chunk tokens a step; else each running
   request gets one more token. Where there is no room for it, the one admitted last is preempted: its memory is
   freed, and it waits, first in line, to be computed anew. layout=blocks: room comes in blocks of so many tokens, all
   layers' keys and values in one (PagedAttention); contiguous: in one piece a request, doubled and copied when it is
   full. sharing=N: N in 100 requests begin with the same prefix tokens, whose whole blocks are there once; in one
   piece nothing can be shared. Time goes by with the work, so that the load decides how many run at a time.
   Older blocks are read on the same stream on which they were written: that orders nothing, and is left out. */
typedef struct serve {
    maker     words;
    uint64_t  which_model, lengths, is_contiguous, request_count, rate, most_running, budget_mib, block_tokens,
              prefix, sharing, chunk_tokens, has_weights;                    /* options */
    const serve_model *model;
    uint64_t  token_bytes, block_bytes, budget_bytes, held_bytes;
    uint64_t  shared_count, shared_users;        /* blocks of the common prompt, live while it has users */
    uint32_t *shared;
    serve_request *requests, *end;
    serve_request *arrived;                      /* the first that has not arrived yet */
    serve_request *next;                         /* the first that was not admitted yet */
    serve_request **preempted;                   /* go before it, the last one first */
    serve_request **running;                     /* in order of admission */
    uint64_t  preempted_count, running_count;
    uint64_t  now_ns;
} serve;

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

/* ---- Room for keys and values, in blocks of so many tokens or in one piece, within a budget */

static uint64_t serve_blocks_for(const serve *state, uint64_t tokens)
{
    return (tokens + state->block_tokens - 1) / state->block_tokens;
}

/* One piece is a block's tokens, doubled until it suffices: Orca with powers of two, in vLLM's paper. */
static uint64_t serve_piece_bytes(const serve *state, uint64_t tokens)
{
    uint64_t room = state->block_tokens;
    while (room < tokens) room *= 2;
    return room * state->token_bytes;
}

/* Adds blocks of one size, behind those that are in the list. */
static void serve_add(serve *state, uint32_t *blocks, uint64_t from, uint64_t to, uint64_t bytes)
{
    for (uint64_t i = from; i < to; i++) blocks[i] = maker_new(state, bytes);
    state->held_bytes += (to - from) * bytes;
}

static void serve_remove(serve *state, const uint32_t *blocks, uint64_t count, uint64_t bytes)
{
    for (uint64_t i = count; i-- > 0; ) MAKER_FREE(state, blocks[i]);
    state->held_bytes -= count * bytes;
}

static uint64_t serve_shared_tokens(const serve *state, const serve_request *request)
{
    return request->shares ? state->shared_count * state->block_tokens : 0;
}

/* The first that shares the common prompt brings it along. */
static int serve_hold_blocks(serve *state, serve_request *request, uint64_t tokens)
{
    uint64_t own = serve_blocks_for(state, tokens - serve_shared_tokens(state, request));
    int joins = request->shares && request->block_count == 0;
    uint64_t brought = joins && state->shared_users == 0 ? state->shared_count : 0;
    if (own <= request->block_count) return 1;
    uint64_t wanted = own - request->block_count + brought;
    if (wanted * state->block_bytes > state->budget_bytes - state->held_bytes) return 0;
    request->blocks = program_resize(request->blocks, (size_t)own, sizeof *request->blocks);
    request->block_bytes = state->block_bytes;
    serve_add(state, state->shared, 0, brought, state->block_bytes);
    state->shared_users += (uint64_t)joins;
    serve_add(state, request->blocks, request->block_count, own, state->block_bytes);
    request->block_count = own;
    return 1;
}

/* The piece that was held is copied to the new one, and freed. */
static int serve_hold_piece(serve *state, serve_request *request, uint64_t tokens)
{
    uint64_t bytes = serve_piece_bytes(state, tokens), count = request->block_count;
    if (count > 0 && bytes <= request->block_bytes) return 1;
    if (bytes > state->budget_bytes - state->held_bytes) return 0;
    request->blocks = program_resize(request->blocks, 2, sizeof *request->blocks);
    serve_add(state, request->blocks, count, count + 1, bytes);
    if (count > 0) {
        uint32_t old = request->blocks[0], made = request->blocks[1];
        MAKER_MOVE(state, 2 * request->block_bytes, old, made);
        serve_remove(state, &old, 1, request->block_bytes);
        request->blocks[0] = made;
    }
    request->block_count = 1;
    request->block_bytes = bytes;
    return 1;
}

/* Room for so many tokens of the request, its part of the shared ones included: 1, or 0: the budget does not allow
   it, and nothing has changed. */
static int serve_hold(serve *state, serve_request *request, uint64_t tokens)
{
    return state->is_contiguous ? serve_hold_piece(state, request, tokens)
                                : serve_hold_blocks(state, request, tokens);
}

static void serve_drop(serve *state, serve_request *request)         /* all it holds */
{
    serve_remove(state, request->blocks, request->block_count, request->block_bytes);
    request->block_count = 0;
    if (request->shares && --state->shared_users == 0) {
        serve_remove(state, state->shared, state->shared_count, state->block_bytes);
    }
}

/* ---- Requests and the scheduler */

/* Weights in 16 bits, q, k and v as one matrix, gate and up as another, as vLLM has them. */
static void serve_setup_weights(serve *state)
{
    const serve_model *model = state->model;
    uint64_t hidden = model->hidden, projected = hidden + 2 * model->kv * model->head;
    const uint64_t sizes[] = { hidden, hidden * projected, hidden * hidden, hidden, 2 * hidden * model->ff,
                               hidden * model->ff };
    maker_new(state, 2 * model->vocab * hidden);
    MAKER_EACH(state, i, model->layers * 6) maker_new(state, 2 * sizes[i % 6]);
    maker_new(state, 2 * hidden);
    maker_new(state, 2 * model->vocab * hidden);
}

static void serve_setup_requests(serve *state)
{
    uint64_t arrival_ns = 0, mean_ns = 1000000000 / state->rate;
    for (serve_request *made = state->requests; made < state->end; made++) {
        made->arrival_ns = arrival_ns += maker_draw_gap(state, mean_ns);
        made->prompt = serve_draw_tokens(state, state->lengths, SERVE_PROMPT);
        made->answer = serve_draw_tokens(state, state->lengths, SERVE_ANSWER);
        made->shares = maker_draw(state, 0, 99) < state->sharing && state->prefix > 0;
        if (made->shares && made->prompt <= state->prefix) made->prompt = state->prefix + 1;
        made->shares = made->shares && state->shared_count > 0;
    }
}

/* Memory that the layers need for so many tokens of so many requests, one layer after the other; then, per request,
   logits in 32 bits. The kernel is the whole step's. */
static void serve_compute(serve *state, uint64_t tokens, uint64_t requests, uint64_t read_bytes)
{
    const serve_model *model = state->model;
    uint64_t layer = model->hidden * (2 * model->hidden + 2 * model->kv * model->head + 3 * model->ff + 2);
    uint64_t parameters = model->layers * layer, narrow = 2 * tokens * model->hidden;
    uint64_t read_ns = (2 * parameters + read_bytes) / RATE_MEMORY_BYTES_PER_NS;
    uint64_t matrix_ns = 2 * parameters / RATE_FLOPS_PER_NS * tokens;
    uint64_t step_ns = read_ns > matrix_ns ? read_ns : matrix_ns;
    const uint32_t made[] = {
        maker_new(state, narrow), maker_new(state, narrow), maker_new(state, 4 * tokens * model->ff),
        maker_new(state, 2 * tokens * model->ff), maker_new(state, 4 * requests * model->vocab)
    };
    maker_kernel(state, 0, step_ns);
    maker_touch_all(state, made, sizeof made / sizeof made[0]);
    state->now_ns += step_ns;
    for (uint64_t i = 0; i < state->running_count; i++) {
        const serve_request *request = state->running[i];
        if (request->block_count > 0) MAKER_TOUCH(state, request->blocks[request->block_count - 1]);
    }
    maker_free_all(state, made, sizeof made / sizeof made[0], 0);
}

/* The first in line; NULL: nobody waits. */
static serve_request *serve_first(const serve *state)
{
    if (state->preempted_count > 0) return state->preempted[state->preempted_count - 1];
    return state->next < state->arrived ? state->next : NULL;
}

/* Where there is nothing to do time goes on to the next request. */
static void serve_arrive(serve *state)
{
    int is_idle = !serve_first(state) && state->running_count == 0;
    if (is_idle && state->now_ns < state->arrived->arrival_ns) state->now_ns = state->arrived->arrival_ns;
    while (state->arrived < state->end && state->arrived->arrival_ns <= state->now_ns) state->arrived++;
}

/* Keys and values of the prompt, and of tokens answered before a preemption, are written to new blocks. */
static void serve_write_prompt(serve *state, const serve_request *request)
{
    uint64_t bytes = (request->prompt + request->done) * state->token_bytes;
    maker_kernel(state, 0, bytes / RATE_MEMORY_BYTES_PER_NS);
    if (request->shares) maker_touch_all(state, state->shared, (size_t)state->shared_count);
    maker_touch_all(state, request->blocks, (size_t)request->block_count);
}

/* Tokens that were admitted; 0: nobody can be. */
static uint64_t serve_admit(serve *state)
{
    uint64_t admitted = 0;
    serve_request *request;
    while ((request = serve_first(state)) != NULL && state->running_count < state->most_running
           && !maker_is_over(state)) {
        uint64_t tokens = request->prompt + request->done, computed = tokens;
        if (state->shared_users > 0) computed -= serve_shared_tokens(state, request);
        if (admitted > 0 && admitted + computed > state->chunk_tokens) break;
        if (!serve_hold(state, request, tokens)) break;
        if (admitted == 0) maker_label(state, "prefill");
        serve_write_prompt(state, request);
        state->running[state->running_count++] = request;
        if (state->preempted_count > 0) state->preempted_count--;
        else state->next++;
        admitted += computed;
    }
    return admitted;
}

/* Room for one more token of every running request, at the cost of those admitted last. */
static void serve_make_room(serve *state)
{
    MAKER_EACH(state, i, state->running_count) {
        serve_request *request = state->running[i];
        while (i < state->running_count && !serve_hold(state, request, request->prompt + request->done + 1)) {
            serve_request *victim = state->running[--state->running_count];
            maker_label(state, "preempt");
            serve_drop(state, victim);
            state->preempted[state->preempted_count++] = victim;
        }
    }
}

static void serve_decode(serve *state)
{
    uint64_t left = 0;
    maker_label(state, "decode");
    serve_make_room(state);
    serve_compute(state, state->running_count, state->running_count, state->held_bytes);
    for (uint64_t i = 0; i < state->running_count; i++) {
        serve_request *request = state->running[i];
        if (++request->done < request->answer) state->running[left++] = request;
        else serve_drop(state, request);
    }
    state->running_count = left;
}

static void serve_run(serve *state)
{
    while ((state->arrived < state->end || serve_first(state) || state->running_count > 0) && !maker_is_over(state)) {
        uint64_t before = state->running_count;
        serve_arrive(state);
        uint64_t tokens = serve_admit(state);
        if (tokens > 0) serve_compute(state, tokens, state->running_count - before, 0);
        else serve_decode(state);
    }
}

/* The budget must do for the longest request: in pieces, for one and the half of it that it replaces. */
static void serve_judge(serve *state)
{
    uint64_t most = serve_most_tokens(state->lengths, SERVE_PROMPT);
    if (state->sharing > 0 && most <= state->prefix) most = state->prefix + 1;
    most += serve_most_tokens(state->lengths, SERVE_ANSWER);
    uint64_t bytes = state->is_contiguous ? serve_piece_bytes(state, most) / 2 * 3
                                          : serve_blocks_for(state, most) * state->block_bytes;
    uint64_t least = (bytes + (1 << 20) - 1) >> 20;
    if (least > state->budget_mib) {
        MAKER_REFUSE(state, "budget is %" PRIu64 ", expected at least %" PRIu64 " (MiB), for the longest request",
                     state->budget_mib, least);
    }
}

static void serve_make(void *self)
{
    serve *state = self;
    state->model = &serve_models[state->which_model];
    state->token_bytes = 2 * state->model->layers * state->model->kv * state->model->head * 2;
    state->block_bytes = state->block_tokens * state->token_bytes;
    state->budget_bytes = state->budget_mib << 20;
    serve_judge(state);
    if (maker_is_over(state)) return;
    if (!state->is_contiguous) state->shared_count = state->prefix / state->block_tokens;
    state->shared = maker_array(state, state->shared_count, sizeof *state->shared);
    state->requests = maker_array(state, state->request_count, sizeof *state->requests);
    state->arrived = state->next = state->requests;
    state->end = state->requests + state->request_count;
    state->preempted = maker_array(state, state->request_count, sizeof *state->preempted);
    state->running = maker_array(state, state->request_count, sizeof *state->running);
    serve_setup_requests(state);
    if (state->has_weights) serve_setup_weights(state);
    uint32_t weights = maker_next(state);
    serve_run(state);
    for (uint64_t i = 0; i < state->request_count; i++) free(state->requests[i].blocks);
    maker_free_run(state, 0, weights);
}

FAMILY(serve, "a language model's server: requests come at random, batched, with a cache in blocks or in one piece",
       "weights (16 bits), keys and values up to the budget, and activations of a step's tokens", 19567358976);
