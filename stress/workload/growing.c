/* `growing`: blocks that are replaced by slightly longer ones, again and again: keys and values of a transformer that
   generates token after token. */
#include "maker.h"

/* A cache kept by concatenation, as Hugging Face's DynamicCache does: for every new token each layer's keys, and then
   its values, are copied to a block that is one token longer, and the old block is freed. No size is ever asked for
   again, and what was freed is always a little too small for the next. Llama-2-7B's shapes by default: 32 layers, 32
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

static uint64_t growing_bytes(growing *state, uint64_t tokens)
{
    return maker_times(&state->words, state->token_bytes, tokens);
}

static void growing_prompt(growing *state)
{
    uint64_t bytes = growing_bytes(state, state->length);
    for (uint64_t i = 0; i < 2 * state->layers && !maker_is_over(&state->words); i++) {
        state->cache[i] = maker_new(&state->words, bytes);
        MAKER_KERNEL(&state->words, 0, bytes / RATE_MEMORY_BYTES_PER_NS, state->cache[i]);
    }
}

static void growing_join(growing *state, uint32_t *held, uint32_t fresh)
{
    maker *words = &state->words;
    uint64_t bytes = growing_bytes(state, state->length);
    uint32_t longer = maker_new(words, bytes);
    MAKER_KERNEL(words, 0, bytes / RATE_MEMORY_BYTES_PER_NS, *held, fresh, longer);
    MAKER_FREE(words, *held, fresh);
    *held = longer;
}

/* One token of every sequence, in one layer; its scores grow along. */
static void growing_layer(growing *state, uint32_t *held)
{
    maker *words = &state->words;
    uint64_t fresh_bytes = growing_bytes(state, state->by), rows = maker_times(words, state->heads, state->by);
    uint32_t fresh[2] = { maker_new(words, fresh_bytes), maker_new(words, fresh_bytes) };
    maker_kernel(words, 0, fresh_bytes / RATE_MEMORY_BYTES_PER_NS);
    maker_touch_all(words, fresh, 2);
    growing_join(state, &held[0], fresh[0]);
    growing_join(state, &held[1], fresh[1]);
    uint64_t row_bytes = maker_times(words, maker_times(words, state->length, state->batch), GROWING_VALUE_BYTES);
    uint32_t scores = maker_new(words, maker_times(words, rows, row_bytes));
    maker_kernel(words, 0, maker_bytes(words, held[0]) / RATE_MEMORY_BYTES_PER_NS);
    maker_touch_all(words, held, 2);
    maker_touch(words, scores);
    maker_free(words, scores);
}

static void growing_request(growing *state)
{
    growing_prompt(state);
    for (uint64_t token = 0; token < state->tokens && !maker_is_over(&state->words); token++) {
        state->length = maker_plus(&state->words, state->length, state->by);
        for (uint64_t layer = 0; layer < state->layers && !maker_is_over(&state->words); layer++) {
            growing_layer(state, &state->cache[2 * layer]);
        }
    }
    maker_free_all(&state->words, state->cache, (size_t)(2 * state->layers), 0);
}

static void growing_make(void *self)
{
    growing *state = self;
    maker *words = &state->words;
    state->token_bytes = maker_times(words, state->heads * state->head * GROWING_VALUE_BYTES, state->batch);
    state->cache = maker_array(words, 2 * state->layers, sizeof *state->cache);
    for (uint64_t step = 0; step < state->requests && !maker_is_over(words); step++) {
        maker_step(words, "request", step);
        state->length = maker_draw(words, state->prompt.low, state->prompt.high);
        growing_request(state);
    }
}

/* The peak is that of the longest request. */
FAMILY(growing, "keys and values that grow token by token: each block is replaced by one that is a little longer",
       "batch x heads x 2 bytes x (prompt + tokens x by) x (2 layers x head + max(head, by)); "
       "tokens=0: x 2 layers x head", 1003724800);
