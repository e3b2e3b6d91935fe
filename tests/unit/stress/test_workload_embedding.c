/* Tests of `embedding`: the published tables and networks, the jump of the first step, the peak's formula, order.
   Knows nothing of how streams are made. */
#include "workload_order.h"

static const golden_text golden[] = {
    { "embedding", UINT64_C(10568483857038688780) },
    { "embedding:dim=128,rows=1000000,batch=64-2048,steps=3,slots=1,seed=9", UINT64_C(15602284691383072351) },
    { "embedding:gradient=sparse,steps=3,slots=0", UINT64_C(13182084244310653582) },
    { "embedding:steps=0", UINT64_C(3526134363354664903) }
};

/* DLRM on Criteo Kaggle: 33,762,577 rows of 16; networks 13-512-256-64-16 and 367-512-256-1. */
enum { ROWS = 33762577, NETWORKS = 475985 };

static uint64_t sum_until_step(const char *spec, uint64_t *table_bytes)
{
    op_stream stream;
    uint64_t total = 0;
    make_surely(spec, &stream);
    for (size_t i = 0; i < stream.op_count && stream.ops[i].kind != OP_STEP; i++) {
        if (stream.ops[i].kind != OP_ALLOC) continue;
        total += stream.ops[i].value;
        *table_bytes += stream.ops[i].first < 26 ? stream.ops[i].value : 0;
    }
    op_stream_free(&stream);
    return total;
}

static void test_parameters(void)
{
    uint64_t table_bytes = 0;
    CHECK_U64(sum_until_step("embedding", &table_bytes), ==, 4 * (UINT64_C(16) * ROWS + NETWORKS));
    CHECK_U64(table_bytes, ==, UINT64_C(64) * ROWS);
    table_bytes = 0;                             /* folded to a million rows: 5 tables are */
    sum_until_step("embedding:rows=1000000", &table_bytes);
    uint64_t folded = 10131227 + 2202608 + 8351593 + 5461306 + 7046547;
    CHECK_U64(table_bytes, ==, 64 * (ROWS - folded + 5 * 1000000));
}

/* Beside parameters, gradients and slots: the inputs of a batch, 472 bytes a sample, and, while the first layer's
   gradients are still to come, three times that layer's 512 outputs. */
static void check_peak(const char *spec, uint64_t slots, uint64_t batch)
{
    op_stream stream;
    make_surely(spec, &stream);
    uint64_t parameters = UINT64_C(16) * ROWS + NETWORKS, first = 13 * 512 + 512;
    uint64_t expected = 4 * parameters * (2 + slots) + batch * (472 + 3 * 512 * 4) - 4 * first;
    CHECK_MSG(stream.requested_peak_bytes == expected, "%s: peak %" PRIu64 ", expected %" PRIu64, spec,
              stream.requested_peak_bytes, expected);
    op_stream_free(&stream);
}

/* Four times the tables once the first step is done; a sparse gradient takes three times, and what the batch hit. */
static void test_jump(void)
{
    op_stream stream;
    uint64_t tables = UINT64_C(64) * ROWS;
    make_surely("embedding", &stream);
    CHECK(stream.requested_peak_bytes > 4 * tables && stream.requested_peak_bytes < 4 * tables + (16 << 20));
    order_count count = order_check(&stream);
    check_ordered("embedding", &count);
    op_stream_free(&stream);
    make_surely("embedding:gradient=sparse", &stream);
    CHECK(stream.requested_peak_bytes > 3 * tables && stream.requested_peak_bytes < 3 * tables + (16 << 20));
    count = order_check(&stream);
    check_ordered("embedding:gradient=sparse", &count);
    op_stream_free(&stream);
}

int main(void)
{
    check_golden_texts(golden, sizeof golden / sizeof golden[0]);
    test_parameters();
    test_jump();
    check_peak("embedding", 2, 128);
    check_peak("embedding:slots=1,batch=1024,steps=3", 1, 1024);
    check_peak("embedding:slots=0,batch=100,steps=2", 0, 100);
    return tap_done();
}
