/* `growing`: blocks that are replaced by slightly longer ones, again and again: keys and values of a transformer that
   generates token after token. */
#include "maker.h"

/* A cache kept by concatenation, as Hugging Face's DynamicCache does: for every new token each layer's keys, and then
   its values, are copied to a block that is one token longer, and the old block is freed. No size is ever asked for
   again, and a freed block is always a little too small for the next. Llama-2-7B's shapes by default: 32 layers, 32
   heads of 128, 16 bits: 524,288 bytes a token in all. A request's prompt comes first, of a length of its own. */
enum { GROWING_VALUE_BYTES = 2 };

typedef struct growing {
    maker     words;
    uint64_t  layers, heads, head, batch, tokens, by, requests;
    family_range prompt;
    uint64_t  token_bytes;                       /* of one layer's keys */
    uint64_t  length;                            /* of all sequences, in tokens */
    uint32_t *cache;                             /* [layer * 2]: keys; values */
} growing;

static const family_option growing_options[] = {
    OPTION(growing, layers, "layers", 1, 1000000, 32),
    OPTION(growing, heads, "heads", 1, 65536, 32),           /* that keys and values have */
    OPTION(growing, head, "head", 1, 65536, 128),
    OPTION(growing, batch, "batch", 1, UINT32_MAX, 1),       /* sequences of a request */
    OPTION_RANGE(growing, prompt, "prompt", 1, UINT32_MAX, 256, 2048),
    OPTION(growing, tokens, "tokens", 0, 1000000, 16),       /* how often it grows, and by how many tokens */
    OPTION(growing, by, "by", 1, UINT32_MAX, 1),
    OPTION(growing, requests, "steps", 0, 1000000, 4),
    OPTION(growing, words.random, "seed", 0, UINT64_MAX, 1),
};

static void growing_join(growing *state, uint32_t *held, uint32_t fresh)
{
    uint64_t bytes = MAKER_TIMES(state, state->token_bytes, state->length);
    uint32_t longer = maker_new(state, bytes);
    MAKER_MOVE(state, bytes, *held, fresh, longer);
    MAKER_FREE(state, *held, fresh);
    *held = longer;
}

/* One token of every sequence, in one layer; its scores grow along. */
static void growing_layer(growing *state, uint32_t *held)
{
    uint64_t fresh_bytes = MAKER_TIMES(state, state->token_bytes, state->by);
    uint64_t rows = MAKER_TIMES(state, state->heads, state->by);
    uint32_t keys = maker_new(state, fresh_bytes), values = maker_new(state, fresh_bytes);
    MAKER_MOVE(state, fresh_bytes, keys, values);
    growing_join(state, &held[0], keys);
    growing_join(state, &held[1], values);
    uint64_t row_bytes = MAKER_TIMES(state, state->length, state->batch, GROWING_VALUE_BYTES);
    uint32_t scores = maker_new(state, MAKER_TIMES(state, rows, row_bytes));
    MAKER_MOVE(state, maker_bytes(state, held[0]), held[0], held[1], scores);
    MAKER_FREE(state, scores);
}

static void growing_request(growing *state)
{
    state->length = maker_draw_of(state, state->prompt);
    uint64_t bytes = MAKER_TIMES(state, state->token_bytes, state->length);
    MAKER_EACH(state, i, 2 * state->layers) {
        state->cache[i] = maker_new(state, bytes);
        MAKER_MOVE(state, bytes, state->cache[i]);
    }
    MAKER_EACH(state, token, state->tokens) {
        state->length = maker_plus(state, state->length, state->by);
        MAKER_EACH(state, layer, state->layers) growing_layer(state, &state->cache[2 * layer]);
    }
    maker_free_all(state, state->cache, (size_t)(2 * state->layers), 0);
}

static void growing_make(void *self)
{
    growing *state = self;
    state->token_bytes = MAKER_TIMES(state, state->heads * state->head * GROWING_VALUE_BYTES, state->batch);
    state->cache = maker_array(state, 2 * state->layers, sizeof *state->cache);
    MAKER_STEPS(state, "request", step, state->requests) growing_request(state);
}

/* The peak is that of the longest request. */
FAMILY(growing, "keys and values that grow token by token: each block is replaced by one that is a little longer",
       "batch x heads x 2 bytes x (prompt + tokens x by) x (2 layers x head + max(head, by)); "
       "tokens=0: x 2 layers x head", 1003724800);
