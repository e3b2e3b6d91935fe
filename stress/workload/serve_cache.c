/* `serve`: room for keys and values, in blocks of so many tokens or in one piece, within a budget.
   Must not know who is served when.
   Tested by tests/test_workload_serve.c. */
#include "serve.h"

#include <stdlib.h>
#include <string.h>

uint64_t serve_shared_tokens(const serve *state, const serve_request *request)
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

uint64_t serve_least_budget(const serve *state, uint64_t tokens)
{
    if (!state->is_contiguous) return serve_blocks_for(state, tokens) * serve_block_bytes(state);
    return serve_piece_tokens(state, tokens) * state->token_bytes / 2 * 3;
}

static uint32_t serve_new(serve *state, uint64_t bytes)
{
    state->held_bytes += bytes;
    return maker_new(&state->words, bytes, 0);
}

static void serve_free(serve *state, uint32_t block, uint64_t bytes)
{
    state->held_bytes -= bytes;
    maker_free(&state->words, block, 0);
}

static int serve_room(serve *state, serve_request *request, uint64_t count)
{
    uint32_t *larger = realloc(request->blocks, (size_t)(count + 1) * sizeof *larger);
    if (larger) request->blocks = larger;
    else state->words.failed = stream_no_memory(state->words.builder);
    return larger != NULL;
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
    if (!serve_room(state, request, own)) return 1;          /* it has failed, and ends */
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
    if (!serve_room(state, request, 1)) return 1;
    uint32_t made = serve_new(state, bytes);
    if (request->block_count > 0) {
        uint64_t old_bytes = request->room * state->token_bytes;
        maker_kernel(words, 0, 2 * old_bytes / RATE_MEMORY_BYTES_PER_NS);
        maker_touch(words, request->blocks[0]);
        maker_touch(words, made);
        serve_free(state, request->blocks[0], old_bytes);
    }
    request->blocks[0] = made;
    request->block_count = 1;
    request->room = room;
    return 1;
}

int serve_hold(serve *state, serve_request *request, uint64_t tokens)
{
    return state->is_contiguous ? serve_hold_piece(state, request, tokens)
                                : serve_hold_blocks(state, request, tokens);
}

void serve_drop(serve *state, serve_request *request)
{
    if (!request->blocks) return;
    uint64_t bytes = state->is_contiguous ? request->room * state->token_bytes : serve_block_bytes(state);
    while (request->block_count > 0) serve_free(state, request->blocks[--request->block_count], bytes);
    if (request->shares) serve_unshare(state);
    free(request->blocks);
    request->blocks = NULL;
    request->room = 0;
}
