/* `growing`: blocks that are replaced by slightly longer ones, again and again: keys and values of a transformer that
   generates token after token. */
#include "family.h"
#include "maker.h"

#include <stdlib.h>

/* A cache kept by concatenation, as Hugging Face's DynamicCache does: for every new token each layer's keys, and then
   its values, are copied to a block that is one token longer, and the old block is freed. No size is ever asked for
   again, and what was freed is always a little too small for the next. Llama-2-7B's shapes by default: 32 layers, 32
   heads of 128, 16 bits: 524,288 bytes a token in all. A request's prompt comes first, of a length of its own. */
enum { GROWING_VALUE_BYTES = 2 };

enum {
    GROWING_LAYERS, GROWING_HEADS, GROWING_HEAD, GROWING_BATCH, GROWING_PROMPT, GROWING_TOKENS, GROWING_BY,
    GROWING_STEPS, GROWING_SEED, GROWING_OPTION_COUNT
};

static const family_option growing_options[GROWING_OPTION_COUNT] = {
    { "layers", 1, 1000000,    32,  32,   0, NULL },
    { "heads",  1, 65536,      32,  32,   0, NULL },         /* that keys and values have */
    { "head",   1, 65536,      128, 128,  0, NULL },
    { "batch",  1, UINT32_MAX, 1,   1,    0, NULL },         /* sequences of a request */
    { "prompt", 1, UINT32_MAX, 256, 2048, 1, NULL },
    { "tokens", 0, 1000000,    16,  16,   0, NULL },         /* how often it grows, and by how many tokens */
    { "by",     1, UINT32_MAX, 1,   1,    0, NULL },
    { "steps",  0, 1000000,    4,   4,    0, NULL },         /* requests */
    { "seed",   0, UINT64_MAX, 1,   1,    0, NULL }
};

typedef struct growing {
    maker     words;
    uint64_t  layers, heads, batch, by, token_bytes;         /* token_bytes: of one layer's keys */
    uint64_t  length;                            /* of all sequences, in tokens */
    uint32_t *cache;                             /* [layer * 2]: keys; values */
} growing;

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

static void growing_request(growing *state, uint64_t tokens)
{
    growing_prompt(state);
    for (uint64_t token = 0; token < tokens && !maker_is_over(&state->words); token++) {
        state->length = maker_plus(&state->words, state->length, state->by);
        for (uint64_t layer = 0; layer < state->layers && !maker_is_over(&state->words); layer++) {
            growing_layer(state, &state->cache[2 * layer]);
        }
    }
    maker_free_all(&state->words, state->cache, (size_t)(2 * state->layers), 0);
}

static int growing_make(const family_request *request, stream_builder *builder)
{
    const family_value *values = request->values;
    growing state = { 0 };
    maker *words = &state.words;
    maker_begin(words, builder, values[GROWING_SEED].from);
    state.layers = values[GROWING_LAYERS].from;
    state.heads = values[GROWING_HEADS].from;
    state.batch = values[GROWING_BATCH].from;
    state.by = values[GROWING_BY].from;
    uint64_t row_bytes = state.heads * values[GROWING_HEAD].from * GROWING_VALUE_BYTES;
    state.token_bytes = maker_times(words, row_bytes, state.batch);
    state.cache = maker_array(words, 2 * state.layers, sizeof *state.cache);
    for (uint64_t step = 0; step < values[GROWING_STEPS].from && !maker_is_over(words); step++) {
        maker_step(words, "request", step);
        state.length = maker_draw(words, values[GROWING_PROMPT].from, values[GROWING_PROMPT].to);
        growing_request(&state, values[GROWING_TOKENS].from);
    }
    free(state.cache);
    return maker_end(words);
}

/* The peak is that of the longest request. */
const family family_growing = {
    { "growing", "keys and values that grow token by token: each block is replaced by one that is a little longer",
      "batch x heads x 2 bytes x (prompt + tokens x by) x (2 layers x head + max(head, by)); "
      "tokens=0: x 2 layers x head",
      UINT64_C(1003724800) },
    growing_options, GROWING_OPTION_COUNT, growing_make
};
