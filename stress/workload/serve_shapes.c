/* `serve`: published models, and published distributions of how long prompts and answers are.
   Must not know how requests are served.
   Tested by tests/test_workload_serve.c. */
#include "serve.h"

/* Llama 2 and 3 as their model cards have them. */
const serve_model serve_models[SERVE_MODELS] = {
    { "llama3-8b",  32, 4096, 8,  128, 14336, 128256 },
    { "llama2-7b",  32, 4096, 32, 128, 11008, 32000 },
    { "llama3-70b", 80, 8192, 8,  128, 28672, 128256 }
};
const char *const serve_model_names[SERVE_MODELS] = { "llama3-8b", "llama2-7b", "llama3-70b" };

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
const char *const serve_length_names[SERVE_LENGTHS] = { "conv", "code", "mooncake", "arxiv" };

uint64_t serve_token_bytes(const serve_model *model)
{
    return 2 * model->layers * model->kv * model->head * 2;
}

uint64_t serve_draw_tokens(maker *words, uint64_t lengths, int which)
{
    const serve_point *points = serve_lengths[lengths].points[which];
    serve_point before = { 0, 1 };
    uint64_t drawn = maker_draw(words, 0, 999999), at = 0;
    while (drawn >= 1000 * points[at].share) before = points[at++];
    uint64_t into = drawn - 1000 * before.share, width = 1000 * (points[at].share - before.share);
    return before.tokens + (points[at].tokens - before.tokens) * into / width;
}

uint64_t serve_most_tokens(uint64_t lengths, int which)
{
    return serve_lengths[lengths].points[which][SERVE_POINTS - 1].tokens;
}
