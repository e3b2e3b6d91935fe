/* Tests of `tape`: the published bytes a layer retains, order of taking up, held tapes, the peak's formula.
   Knows nothing of how streams are made. */
#include "workload_order.h"

static const golden_text golden[] = {
    { "tape", UINT64_C(4270201147984727135) },
    { "tape:layers=2,hidden=64,heads=4,vocab=100,batch=2,seq=5-90,steps=5,keep=3,seed=9",
      UINT64_C(14710818088542182390) },
    { "tape:layers=1,hidden=1,heads=1,vocab=1,batch=1,seq=1,steps=2,keep=0", UINT64_C(13653231950311491571) },
    { "tape:layers=1,steps=0", UINT64_C(14214233488299736671) }
};

typedef struct shape { uint64_t layers, hidden, heads, vocab, batch, seq; } shape;

static uint64_t weight_bytes(const shape *of)
{
    return 2 * ((of->vocab + 514 + 2) * of->hidden + of->layers * (12 * of->hidden * of->hidden + 13 * of->hidden));
}

/* sbh (34 + 5 as/h) a layer, and behind them 2 sbh, logits and the loss. */
static uint64_t tape_bytes(const shape *of)
{
    uint64_t narrow = of->seq * of->batch * of->hidden, scores = of->heads * of->seq * of->seq * of->batch;
    return of->layers * (34 * narrow + 5 * scores) + 2 * narrow + 2 * of->seq * of->batch * of->vocab + 4;
}

/* BERT-base has 109,482,240 parameters, 590,592 of them in a pooler that is not trained on words. */
static void test_weights(void)
{
    const shape base = { 12, 768, 12, 30522, 8, 512 };
    op_stream stream;
    uint64_t total = 0;
    make_surely("tape:steps=0", &stream);
    for (size_t i = 0; i < stream.op_count; i++) total += stream.ops[i].kind == OP_ALLOC ? stream.ops[i].value : 0;
    CHECK_U64(total, ==, weight_bytes(&base));
    CHECK_U64(total, ==, 2 * (109482240 - 590592));
    op_stream_free(&stream);
}

static void check_peak(const shape *of, uint64_t keep)
{
    char spec[200];
    op_stream stream;
    uint64_t weights = weight_bytes(of), one = tape_bytes(of), logits = 2 * of->seq * of->batch * of->vocab;
    snprintf(spec, sizeof spec, "tape:layers=%d,hidden=%d,heads=%d,vocab=%d,batch=%d,seq=%d,steps=6,keep=%d",
             (int)of->layers, (int)of->hidden, (int)of->heads, (int)of->vocab, (int)of->batch, (int)of->seq,
             (int)keep);
    make_surely(spec, &stream);
    /* Without a tape that is held it is the moment when the first gradient, that of the logits, is there. */
    uint64_t expected = weights + (keep + 1) * one + (keep == 0 ? logits : 0);
    CHECK_MSG(stream.requested_peak_bytes == expected, "%s: peak %" PRIu64 ", expected %" PRIu64, spec,
              stream.requested_peak_bytes, expected);
    order_count count = order_check(&stream);
    check_ordered(spec, &count);
    op_stream_free(&stream);
}

/* Blocks of a tape that nobody holds are freed in the reverse of the order in which they came. */
static void test_reverse(void)
{
    op_stream stream;
    uint64_t wrong = 0, retained = 0;
    make_surely("tape:layers=3,hidden=64,heads=4,vocab=100,batch=1,seq=33,steps=1,keep=0", &stream);
    const shape small = { 3, 64, 4, 100, 1, 33 };
    uint32_t first = 1 + 3 * 4, end = first + 3 * (15 + 3) + 3, last = end;
    int is_laid = 0;
    for (size_t i = 0; i < stream.op_count; i++) {
        const op *at = &stream.ops[i];
        if (at->kind == OP_ALLOC && at->first >= first && at->first < end) retained += at->value;
        is_laid |= at->kind == OP_ALLOC && at->first == end - 1;
        /* The loss has no gradient of its own, and goes last. */
        if (!is_laid || at->kind != OP_FREE || at->first < first || at->first >= end - 1) continue;
        wrong += at->first >= last;
        last = at->first;
    }
    uint64_t scratch = 3 * (2 * 4 * 33 * 33 + 2 * 2 * 33 * 64);
    CHECK_U64(retained, ==, tape_bytes(&small) + scratch);
    CHECK_U64(last, ==, first);
    CHECK_U64(wrong, ==, 0);
    op_stream_free(&stream);
}

/* A held tape makes the peak larger by itself, and nothing else: `del tape` is worth as much. */
static void test_held(void)
{
    const shape base = { 12, 768, 12, 30522, 8, 512 };
    op_stream held, dropped;
    make_surely("tape:seq=512,keep=1", &held);
    make_surely("tape:seq=512,keep=0", &dropped);
    CHECK_U64(held.requested_peak_bytes - dropped.requested_peak_bytes, ==,
              tape_bytes(&base) - UINT64_C(2) * 512 * 8 * 30522);
    CHECK_U64(held.alloc_count, ==, dropped.alloc_count);
    op_stream_free(&held);
    op_stream_free(&dropped);
}

int main(void)
{
    static const shape shapes[] = { { 12, 768, 12, 30522, 8, 512 }, { 4, 1024, 16, 30522, 3, 200 } };
    check_golden_texts(golden, sizeof golden / sizeof golden[0]);
    test_weights();
    test_reverse();
    test_held();
    for (uint64_t keep = 0; keep < 4; keep++) {
        check_peak(&shapes[0], keep);
        check_peak(&shapes[1], keep);
    }
    return tap_done();
}
