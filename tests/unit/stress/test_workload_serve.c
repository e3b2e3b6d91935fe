/* Tests of `serve`: published models and lengths, the budget, preemption, sharing, both layouts, order.
   Knows the seams of its parts, and nothing of how its streams are made. */
#include "stress/workload/serve.h"
#include "workload_order.h"

static const golden_text golden[] = {
    { "serve", UINT64_C(16764926997584456150) },
    { "serve:layout=contiguous,requests=20,seed=9", UINT64_C(8179706130908522973) },
    { "serve:model=llama2-7b,lengths=code,requests=30,rate=100,batch=4,block=64,prefix=100,sharing=90,weights=0,"
      "budget=4000",
      UINT64_C(10240810503762341797) },
    { "serve:model=llama3-70b,lengths=mooncake,requests=3,budget=30000,chunk=512", UINT64_C(9803452707101771488) },
    { "serve:lengths=arxiv,requests=3,budget=9000,sharing=0", UINT64_C(8049094183184621568) }
};

/* Parameters as the model cards count them, bytes a token as they follow. */
static const struct { const char *spec; uint64_t parameters, token_bytes, layers; } models[SERVE_MODELS] = {
    { "serve:requests=1",                               UINT64_C(8030261248),  131072, 32 },
    { "serve:requests=1,model=llama2-7b",               UINT64_C(6738415616),  524288, 32 },
    { "serve:requests=1,model=llama3-70b",              UINT64_C(70553706496), 327680, 80 }
};

static void test_models(void)
{
    for (size_t i = 0; i < SERVE_MODELS; i++) {
        op_stream stream;
        uint64_t total = 0;
        make_surely(models[i].spec, &stream);
        for (size_t at = 0; at < models[i].layers * 6 + 3; at++) total += stream.ops[at].value;
        CHECK_U64(total, ==, 2 * models[i].parameters);
        CHECK_U64(serve_token_bytes(&serve_models[i]), ==, models[i].token_bytes);
        op_stream_free(&stream);
    }
}

/* As measured on the traces that are named in serve_shapes.c: tokens at 50, 90 and 99 % (arxiv: 50, 75 and 90). */
static const struct { uint64_t tokens[2][3], per_mille[3], means[2]; } lengths[SERVE_LENGTHS] = {
    { { { 1020, 2735, 4142 },   { 129, 424, 601 } },  { 500, 900, 990 }, { 1357, 195 } },
    { { { 1469, 5194, 7436 },   { 13, 55, 252 } },    { 500, 900, 990 }, { 2343, 33 } },
    { { { 6909, 27367, 85401 }, { 350, 597, 1120 } }, { 500, 900, 990 }, { 14511, 366 } },
    { { { 7958, 13190, 18490 }, { 332, 482, 653 } },  { 500, 750, 900 }, { 9524, 335 } }
};

static void check_lengths(uint64_t of, int which)
{
    enum { DRAWS = 100000 };
    uint64_t below[3] = { 0, 0, 0 }, most = 0, least = UINT64_MAX, sum = 0, mean = lengths[of].means[which];
    maker words = { NULL, 0, 7 };
    for (int draw = 0; draw < DRAWS; draw++) {
        uint64_t tokens = serve_draw_tokens(&words, of, which);
        for (int at = 0; at < 3; at++) below[at] += tokens < lengths[of].tokens[which][at];
        most = tokens > most ? tokens : most;
        sum += tokens;
        least = tokens < least ? tokens : least;
    }
    for (int at = 0; at < 3; at++) {             /* 4 sigma of 100,000 are 633; and tokens are whole */
        uint64_t expected = lengths[of].per_mille[at] * DRAWS / 1000;
        CHECK_MSG(below[at] + 700 > expected && below[at] < expected + 700, "%s: %" PRIu64 " below %" PRIu64,
                  serve_length_names[of], below[at], lengths[of].tokens[which][at]);
    }
    CHECK_MSG(sum + mean * DRAWS / 40 >= mean * DRAWS && sum <= mean * DRAWS * 41 / 40, "%s: mean %" PRIu64 ", told %"
              PRIu64, serve_length_names[of], sum / DRAWS, mean);
    CHECK(least >= 1 && least < 100);
    CHECK_U64(most, <=, serve_most_tokens(of, which));
    CHECK_U64(most * 100, >=, serve_most_tokens(of, which) * 99);
}

typedef struct tally {
    uint64_t prefills, decodes, preempts;
    uint64_t most_bytes, wrong, at_decode;       /* of the cache, between steps; at the first decode */
} tally;

/* Between steps, without weights, the cache alone is live. */
static tally walk(const char *spec, uint64_t unit_bytes, uint64_t budget_bytes)
{
    op_stream stream;
    tally seen = { 0, 0, 0, 0, 0, 0 };
    uint64_t live = 0, *sizes;
    make_surely(spec, &stream);
    sizes = calloc(stream.block_count + 1, sizeof *sizes);
    if (!sizes) give_up("no memory");
    for (size_t i = 0; i < stream.op_count; i++) {
        const op *at = &stream.ops[i];
        if (at->kind == OP_ALLOC) live += sizes[at->first] = at->value;
        if (at->kind == OP_FREE) live -= sizes[at->first];
        if (at->kind != OP_STEP) continue;
        const char *label = stream.labels[at->first];
        if (!strcmp(label, "decode") && seen.decodes++ == 0) seen.at_decode = live;
        seen.prefills += !strcmp(label, "prefill");
        seen.preempts += !strcmp(label, "preempt");
        seen.wrong += live % unit_bytes != 0 || live > budget_bytes;
        seen.most_bytes = live > seen.most_bytes ? live : seen.most_bytes;
    }
    seen.wrong += live != 0;
    CHECK_MSG(seen.wrong == 0, "%s stays within its budget, in whole blocks, and frees all", spec);
    order_count count = order_check(&stream);
    check_ordered(spec, &count);
    free(sizes);
    op_stream_free(&stream);
    return seen;
}

enum { MIB = 1 << 20 };

static void test_budget(void)
{
    tally tight = walk("serve:weights=0,rate=100,budget=1024", 2 * MIB, UINT64_C(1024) * MIB);
    tally ample = walk("serve:weights=0,rate=100,budget=100000", 2 * MIB, UINT64_C(100000) * MIB);
    CHECK_MSG(tight.preempts > 0 && ample.preempts == 0, "%" PRIu64 " preemptions", tight.preempts);
    CHECK_MSG(tight.most_bytes > UINT64_C(1024) * MIB * 95 / 100, "the budget is used");
    CHECK(ample.most_bytes > 4 * tight.most_bytes);
    CHECK_MSG(tight.decodes > ample.decodes, "who runs alone takes longer");
    tally single = walk("serve:weights=0,rate=100,batch=1,sharing=0", 2 * MIB, UINT64_C(3072) * MIB);
    CHECK_U64(single.preempts, ==, 0);
    CHECK_U64(single.prefills, ==, 48);
    CHECK_U64(single.most_bytes, <=, UINT64_C(2) * MIB * (4142 + 601 + 15) / 16);
}

/* All come at once and are admitted before the first decode: then a shared block is there once, not 20 times. */
static void test_sharing(void)
{
    const char *apart = "serve:weights=0,requests=20,rate=1000000,budget=100000,prefix=32,sharing=0";
    const char *together = "serve:weights=0,requests=20,rate=1000000,budget=100000,prefix=32,sharing=100";
    tally alone = walk(apart, 2 * MIB, UINT64_C(100000) * MIB);
    tally shared = walk(together, 2 * MIB, UINT64_C(100000) * MIB);
    CHECK_U64(alone.at_decode - shared.at_decode, ==, UINT64_C(19) * 2 * 2 * MIB);
    alone = walk("serve:weights=0,requests=20,rate=1000000,budget=100000,prefix=15,sharing=100", 2 * MIB,
                 UINT64_C(100000) * MIB);
    CHECK_MSG(alone.at_decode > shared.at_decode, "less than a block cannot be shared");
}

/* The blocks that every prompt is written beside are there once, come before all that reads them, and go when the
   last request has gone: after every other block of the cache. */
static void test_shared_blocks(void)
{
    enum { REQUESTS = 20, SHARED = 3 };
    op_stream stream;
    uint64_t prompts = 0, freed = 0, at_last = 0, joined = 0, *uses;
    make_surely("serve:weights=0,requests=20,rate=1000000,budget=100000,prefix=48,sharing=100", &stream);
    uses = calloc(stream.block_count + 1, sizeof *uses);
    if (!uses) give_up("no memory");
    for (size_t i = 0; i < stream.op_count; i++) {
        const op *at = &stream.ops[i];
        int writes = at->kind == OP_KERNEL && at->count >= SHARED && stream.touches[at->first] == 0;
        prompts += (uint64_t)writes;
        for (uint32_t touch = 0; writes && touch < at->count; touch++) uses[stream.touches[at->first + touch]]++;
    }
    for (uint32_t block = 0; block < stream.block_count; block++) joined += uses[block] == prompts;
    CHECK_U64(prompts, ==, REQUESTS);
    CHECK_U64(joined, ==, SHARED);
    for (size_t i = stream.op_count; i-- > 0 && freed < SHARED; ) {
        if (stream.ops[i].kind != OP_FREE) continue;
        freed++;
        at_last += uses[stream.ops[i].first] == prompts;
    }
    CHECK_MSG(at_last == SHARED, "%" PRIu64 " of the last %d blocks freed are shared", at_last, (int)SHARED);
    free(uses);
    op_stream_free(&stream);
}

/* One piece a request, doubled: at least as much as blocks take, less than twice that and a block. */
static void test_contiguous(void)
{
    tally blocks = walk("serve:weights=0,requests=20,rate=1000000,budget=100000,sharing=0", 2 * MIB,
                        UINT64_C(100000) * MIB);
    tally pieces = walk("serve:weights=0,requests=20,rate=1000000,budget=100000,sharing=0,layout=contiguous", 2 * MIB,
                        UINT64_C(100000) * MIB);
    CHECK(pieces.at_decode > blocks.at_decode && pieces.at_decode < 2 * blocks.at_decode);
    pieces = walk("serve:weights=0,rate=100,budget=1600,layout=contiguous", 2 * MIB, UINT64_C(1600) * MIB);
    CHECK_MSG(pieces.preempts > 0, "%" PRIu64 " preemptions of pieces", pieces.preempts);
}

/* Weights, the budget, and what the activations of chunk tokens, or of one longer prompt, take. */
static void test_peak(void)
{
    op_stream stream;
    make_surely("serve", &stream);
    uint64_t held = 2 * models[0].parameters + UINT64_C(3072) * MIB, rows = 4142 + 601;
    CHECK(stream.requested_peak_bytes > held - 128 * MIB);
    CHECK(stream.requested_peak_bytes <= held + rows * (2 * 2 * 4096 + 6 * 14336) + 48 * 4 * UINT64_C(128256));
    op_stream_free(&stream);
}

int main(void)
{
    check_golden_texts(golden, sizeof golden / sizeof golden[0]);
    test_models();
    for (uint64_t of = 0; of < SERVE_LENGTHS; of++) {
        check_lengths(of, SERVE_PROMPT);
        check_lengths(of, SERVE_ANSWER);
    }
    test_budget();
    test_sharing();
    test_shared_blocks();
    test_contiguous();
    test_peak();
    return tap_done();
}
