/* `serve`: a language model's server: requests come at random, are batched as they come, and share a cache of keys
   and values within a budget. Must not know of policies, devices or files.
   Tested by tests/test_workload_serve.c. */
#include "serve.h"

#include <inttypes.h>
#include <stdlib.h>

/* Continuous batching, in the order of vLLM's scheduler: requests that wait are admitted first come first served,
   while there is room for their prompts, and their prompts are computed, up to chunk tokens a step; else each running
   request gets one more token. Where there is no room for it, the one admitted last is preempted: what it holds is
   freed, and it waits, first in line, to be computed anew. layout=blocks: room comes in blocks of so many tokens, all
   layers' keys and values in one (PagedAttention); contiguous: in one piece a request, doubled and copied when it is
   full. sharing=N: N in 100 requests begin with the same prefix tokens, whose whole blocks are there once; in one
   piece nothing can be shared. Time goes by with the work, so that the load decides how many run at a time.
   Older blocks are read on the same stream on which they were written: that orders nothing, and is left out. */
enum {
    SERVE_MODEL, SERVE_LENGTH, SERVE_LAYOUT, SERVE_REQUESTS, SERVE_RATE, SERVE_BATCH, SERVE_BUDGET, SERVE_BLOCK,
    SERVE_PREFIX, SERVE_SHARING, SERVE_CHUNK, SERVE_WEIGHTS, SERVE_SEED, SERVE_OPTION_COUNT
};

static const char *const serve_layouts[] = { "blocks", "contiguous" };
static const family_option serve_options[SERVE_OPTION_COUNT] = {
    { "model",    0, SERVE_MODELS - 1,  0,    0,    0, serve_model_names },
    { "lengths",  0, SERVE_LENGTHS - 1, 0,    0,    0, serve_length_names },
    { "layout",   0, 1,          0,    0,    0, serve_layouts },
    { "requests", 1, 1000000,    48,   48,   0, NULL },
    { "rate",     1, 1000000,    8,    8,    0, NULL },      /* a second */
    { "batch",    1, 65536,      256,  256,  0, NULL },      /* vLLM: max_num_seqs */
    { "budget",   1, 1 << 24,    3072, 3072, 0, NULL },      /* MiB of keys and values */
    { "block",    1, 65536,      16,   16,   0, NULL },      /* tokens; vLLM: 16 */
    { "prefix",   0, 1 << 20,    256,  256,  0, NULL },      /* tokens */
    { "sharing",  0, 100,        50,   50,   0, NULL },      /* % */
    { "chunk",    1, 1 << 20,    2048, 2048, 0, NULL },      /* vLLM: max_num_batched_tokens */
    { "weights",  0, 1,          1,    1,    0, NULL },
    { "seed",     0, UINT64_MAX, 1,    1,    0, NULL }
};

static uint64_t serve_layer_weights(const serve_model *model)
{
    return model->hidden * (2 * model->hidden + 2 * model->kv * model->head + 3 * model->ff + 2);
}

/* In 16 bits, q, k and v as one matrix, gate and up as another, as vLLM has them. */
static void serve_setup_weights(serve *state)
{
    const serve_model *model = state->model;
    uint64_t hidden = model->hidden, projected = hidden + 2 * model->kv * model->head;
    const uint64_t sizes[] = { hidden, hidden * projected, hidden * hidden, hidden, 2 * hidden * model->ff,
                               hidden * model->ff };
    maker_new(&state->words, 2 * model->vocab * hidden, 0);
    for (uint64_t i = 0; i < model->layers * 6 && !maker_is_over(&state->words); i++) {
        maker_new(&state->words, 2 * sizes[i % 6], 0);
    }
    maker_new(&state->words, 2 * hidden, 0);
    maker_new(&state->words, 2 * model->vocab * hidden, 0);
}

static void serve_setup_requests(serve *state, const family_value *values)
{
    maker *words = &state->words;
    uint64_t arrival_ns = 0, prefix = values[SERVE_PREFIX].from, mean_ns = 1000000000 / values[SERVE_RATE].from;
    for (uint64_t i = 0; i < state->request_count; i++) {
        serve_request *made = &state->requests[i];
        arrival_ns += maker_draw_gap(words, mean_ns);
        made->arrival_ns = arrival_ns;
        made->prompt = serve_draw_tokens(words, values[SERVE_LENGTH].from, SERVE_PROMPT);
        made->answer = serve_draw_tokens(words, values[SERVE_LENGTH].from, SERVE_ANSWER);
        made->shares = maker_draw(words, 0, 99) < values[SERVE_SHARING].from && prefix > 0;
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
    uint64_t parameters = model->layers * serve_layer_weights(model), narrow = 2 * tokens * model->hidden;
    uint64_t read_ns = (2 * parameters + read_bytes) / RATE_MEMORY_BYTES_PER_NS;
    uint64_t matrix_ns = 2 * parameters / RATE_FLOPS_PER_NS * tokens;
    uint64_t step_ns = read_ns > matrix_ns ? read_ns : matrix_ns;
    const uint32_t made[] = {
        maker_new(words, narrow, 0), maker_new(words, narrow, 0), maker_new(words, 4 * tokens * model->ff, 0),
        maker_new(words, 2 * tokens * model->ff, 0), maker_new(words, 4 * requests * model->vocab, 0)
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

static void serve_start(serve *state)
{
    state->running[state->running_count++] = serve_first(state);
    if (state->preempted_count > 0) state->preempted_count--;
    else state->next++;
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
        if (maker_is_over(&state->words)) break;
        if (admitted == 0) maker_label(&state->words, "prefill");
        serve_write_prompt(state, request);
        serve_start(state);
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

static int serve_judge(serve *state, const family_value *values)
{
    uint64_t lengths = values[SERVE_LENGTH].from, most = serve_most_tokens(lengths, SERVE_PROMPT);
    if (values[SERVE_SHARING].from > 0 && most <= values[SERVE_PREFIX].from) most = values[SERVE_PREFIX].from + 1;
    most += serve_most_tokens(lengths, SERVE_ANSWER);
    uint64_t least = (serve_least_budget(state, most) + (1 << 20) - 1) >> 20;
    if (least <= values[SERVE_BUDGET].from) return 0;
    return stream_refuse(state->words.builder, "budget is %" PRIu64 ", expected at least %" PRIu64 " (MiB), for the "
                         "longest request", values[SERVE_BUDGET].from, least);
}

static void serve_begin(serve *state, const family_value *values)
{
    state->model = &serve_models[values[SERVE_MODEL].from];
    state->is_contiguous = values[SERVE_LAYOUT].from > 0;
    state->block_tokens = values[SERVE_BLOCK].from;
    state->token_bytes = serve_token_bytes(state->model);
    state->budget_bytes = values[SERVE_BUDGET].from << 20;
    state->chunk_tokens = values[SERVE_CHUNK].from;
    state->most_running = values[SERVE_BATCH].from;
    state->request_count = values[SERVE_REQUESTS].from;
    if (!state->is_contiguous) state->shared_count = values[SERVE_PREFIX].from / state->block_tokens;
    state->shared = maker_array(&state->words, state->shared_count, sizeof *state->shared);
    state->requests = maker_array(&state->words, state->request_count, sizeof *state->requests);
    state->preempted = maker_array(&state->words, state->request_count, sizeof *state->preempted);
    state->running = maker_array(&state->words, state->request_count, sizeof *state->running);
}

static int serve_make(const family_request *request, stream_builder *builder)
{
    const family_value *values = request->values;
    serve state = { 0 };
    maker_begin(&state.words, builder, values[SERVE_SEED].from);
    serve_begin(&state, values);
    uint32_t weights = 0;
    if (!state.words.failed) state.words.failed = serve_judge(&state, values);
    if (!state.words.failed) {
        serve_setup_requests(&state, values);
        if (values[SERVE_WEIGHTS].from > 0) serve_setup_weights(&state);
        weights = (uint32_t)builder->stream->block_count;
        serve_run(&state);
    }
    for (uint64_t i = 0; state.requests && i < state.request_count; i++) free(state.requests[i].blocks);
    free(state.shared);
    free(state.requests);
    free(state.preempted);
    free(state.running);
    maker_free_run(&state.words, 0, weights, 0);
    return maker_end(&state.words);
}

const family family_serve = {
    { "serve", "a language model's server: requests come at random, batched, with a cache in blocks or in one piece",
      "model=llama3-8b,lengths=conv,layout=blocks,requests=48,rate=8,batch=256,budget=3072,block=16,prefix=256,"
      "sharing=50,chunk=2048,weights=1,seed=1",
      "weights (16 bits), keys and values up to the budget, and activations of a step's tokens",
      UINT64_C(19567358976) },
    serve_options, SERVE_OPTION_COUNT, serve_make
};
