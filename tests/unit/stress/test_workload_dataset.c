/* Tests of `dataset`: shapes of its batches, its ring and its depth, the peak's formula, order.
   Knows nothing of how streams are made. */
#include "workload_order.h"

static const golden_text golden[] = {
    { "dataset", UINT64_C(6389882882005839830) },
    { "dataset:items=1000,batch=300,side=64-256,prefetch=5,steps=3,seed=9", UINT64_C(7863153971779502627) },
    { "dataset:items=7,batch=2,side=33,prefetch=0,steps=1", UINT64_C(2478625283926722693) },
    { "dataset:steps=0", UINT64_C(1003809775028198079) }
};

static uint64_t batch_bytes(uint64_t count, uint64_t side, uint64_t prefetch)
{
    uint64_t batches = prefetch + 1;
    return count * (3 * side * side * (4 * batches + 1) + 8 * batches);
}

static void check_peak(const char *spec, uint64_t count, uint64_t side, uint64_t prefetch)
{
    op_stream stream;
    make_surely(spec, &stream);
    CHECK_MSG(stream.requested_peak_bytes == batch_bytes(count, side, prefetch), "%s: peak %" PRIu64 ", as told",
              spec, stream.requested_peak_bytes);
    order_count order = order_check(&stream);
    check_ordered(spec, &order);
    CHECK_U64(order.crossing_frees, ==, 2 * stream.alloc_count / 3);
    op_stream_free(&stream);
}

/* All items of an epoch come by, once; never more than prefetch + 1 batches of values are live. */
static void test_ring(void)
{
    op_stream stream;
    uint64_t live = 0, most = 0, items = 0, bytes = 0;
    make_surely("dataset:items=1000,batch=128,side=32,prefetch=3,steps=2", &stream);
    for (size_t i = 0; i < stream.op_count; i++) {
        const op *at = &stream.ops[i];
        int is_labels = at->kind == OP_ALLOC && at->first % 3 == 1;
        int is_values = (at->kind == OP_ALLOC || at->kind == OP_FREE) && at->first % 3 == 2;
        if (is_labels) items += at->value / 8;
        if (at->kind == OP_ALLOC) bytes += at->value;
        if (is_values) live += at->kind == OP_ALLOC ? 1 : UINT64_MAX;
        most = live > most ? live : most;
        if (at->kind == OP_STEP) CHECK_U64(live, ==, 0);
    }
    CHECK_U64(items, ==, 2000);
    CHECK_U64(most, ==, 4);
    CHECK_U64(stream.alloc_count, ==, 2 * 8 * 3);            /* 7 batches of 128 and one of 104 */
    CHECK_U64(bytes, ==, 2000 * (3 * 32 * 32 * 5 + 8));
    op_stream_free(&stream);
    make_surely("dataset", &stream);
    CHECK_MSG(UINT64_C(50000) * 3 * 224 * 224 * 4 > 60 * stream.requested_peak_bytes, "far more passes than is live");
    op_stream_free(&stream);
}

static void test_one_batch(void)
{
    op_stream stream;
    make_surely("dataset:items=3,batch=2,side=32,prefetch=1,steps=1", &stream);
    buffer text = stream_text(&stream);
    CHECK_STR(text.bytes,
              "gpuarena-trace 1\ns epoch0\na 0 6144 1\na 1 16 1\nk 1 245 0 1\na 2 24576 1\nk 1 12 0 2\nf 0 1\n"
              "w 0 1\nk 0 12 2 1\na 3 3072 1\na 4 8 1\nk 1 122 3 4\na 5 12288 1\nk 1 6 3 5\nf 3 1\nf 2 0\nf 1 0\n"
              "w 0 1\nk 0 6 5 4\nf 5 0\nf 4 0\n");
    free(text.bytes);
    op_stream_free(&stream);
}

/* Sides of several scales are multiples of 32 from end to end. */
static void test_sides(void)
{
    op_stream stream;
    uint64_t seen[4] = { 0 }, wrong = 0;
    make_surely("dataset:items=4000,batch=10,side=70-200,steps=1", &stream);
    for (size_t i = 0; i < stream.op_count; i++) {
        const op *at = &stream.ops[i];
        size_t scale = 0;
        if (at->kind != OP_ALLOC || at->first % 3) continue;
        while (scale < 3 && at->value != 30 * (96 + 32 * scale) * (96 + 32 * scale)) scale++;
        wrong += at->value != 30 * (96 + 32 * scale) * (96 + 32 * scale);
        seen[scale]++;
    }
    CHECK_U64(wrong, ==, 0);
    for (size_t scale = 0; scale < 4; scale++) CHECK(seen[scale] > 60 && seen[scale] < 140);
    op_stream_free(&stream);
}

int main(void)
{
    check_golden_texts(golden, sizeof golden / sizeof golden[0]);
    test_one_batch();
    test_ring();
    test_sides();
    check_peak("dataset:items=1280,batch=128", 128, 224, 2);
    check_peak("dataset:items=1280,batch=128,prefetch=0", 128, 224, 0);
    check_peak("dataset:items=1000,batch=10,side=320,prefetch=8", 10, 320, 8);
    return tap_done();
}
