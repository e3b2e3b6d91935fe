/* Tests of `growing`: bytes a token of published models, sizes that never come twice, the peak's formula, order.
   Knows nothing of how streams are made. */
#include "workload_order.h"

static const golden_text golden[] = {
    { "growing", UINT64_C(8547131131976504346) },
    { "growing:layers=3,heads=2,head=64,batch=5,prompt=1-9,tokens=20,by=7,steps=3,seed=18446744073709551615",
      UINT64_C(1977635524233281280) },
    { "growing:tokens=0,prompt=3,steps=2", UINT64_C(3974324819880683718) },
    { "growing:steps=0", UINT64_C(1003809775028198079) }
};

static void check_peak(uint64_t layers, uint64_t heads, uint64_t head, uint64_t batch, uint64_t by)
{
    char spec[200];
    op_stream stream;
    snprintf(spec, sizeof spec, "growing:layers=%d,heads=%d,head=%d,batch=%d,prompt=1000,tokens=5,steps=2,by=%d",
             (int)layers, (int)heads, (int)head, (int)batch, (int)by);
    make_surely(spec, &stream);
    CHECK_MSG(stream.requested_peak_bytes == batch * heads * head * 2 * (1000 + 5 * by) * (2 * layers + 1),
              "%s: peak %" PRIu64 ", as told", spec, stream.requested_peak_bytes);
    order_count count = order_check(&stream);
    check_ordered(spec, &count);
    op_stream_free(&stream);
}

/* Llama-2-7B's cache takes 524,288 bytes a token. */
static void test_bytes(void)
{
    op_stream stream;
    uint64_t total = 0;
    make_surely("growing:prompt=1,tokens=0,steps=1", &stream);
    for (size_t i = 0; i < stream.op_count; i++) total += stream.ops[i].kind == OP_ALLOC ? stream.ops[i].value : 0;
    CHECK_U64(total, ==, 524288);
    op_stream_free(&stream);
}

/* Block by block: a cache's size is one token more each time; only the layers of one token share it. */
static void test_growth(void)
{
    enum { MOST = 200 };
    op_stream stream;
    uint64_t seen[MOST] = { 0 }, wrong = 0;
    make_surely("growing:layers=4,heads=1,head=64,prompt=100,tokens=50,steps=1", &stream);
    for (size_t i = 0; i < stream.op_count; i++) {
        uint64_t bytes = stream.ops[i].value;
        if (stream.ops[i].kind != OP_ALLOC || bytes < 128 * 100) continue;
        wrong += bytes % 128 != 0 || bytes / 128 > 150;
        if (bytes % 128 == 0 && bytes / 128 < MOST) seen[bytes / 128]++;
    }
    CHECK_U64(wrong, ==, 0);
    for (uint64_t length = 100; length <= 150; length++) wrong += seen[length] != 8;
    CHECK_MSG(wrong == 0, "every length from 100 to 150 comes for keys and values of 4 layers, and no more");
    op_stream_free(&stream);
}

int main(void)
{
    check_golden_texts(golden, sizeof golden / sizeof golden[0]);
    test_bytes();
    test_growth();
    check_peak(32, 32, 128, 1, 1);
    check_peak(32, 8, 128, 3, 1);
    check_peak(5, 8, 64, 2, 16);
    return tap_done();
}
