/* Tests of `rival`: when another process takes memory and gives it back, that all else is training, cuts and mixes.
   Knows nothing of how training's steps are made. */
#include "stress/workload/workload.h"
#include "workload_order.h"

static const struct { const char *spec; uint64_t digest; } golden[] = {
    { "rival", UINT64_C(12490833199814549931) },
    { "rival:layers=1,steps=3,from=7,until=9,repeat=3,size=1,seed=9", UINT64_C(2524768487883071268) },
    { "rival:layers=1,steps=1,from=0,until=0", UINT64_C(15377279069204023046) }
};

typedef struct event { uint64_t op, bytes; uint32_t gives_back; } event;

static size_t events_of(const op_stream *stream, event *seen, size_t most)
{
    uint64_t number = 0;
    size_t count = 0;
    for (size_t i = 0; i < stream->op_count; i++) {
        const op *at = &stream->ops[i];
        if (at->kind == OP_RIVAL && count < most) {
            seen[count].op = number;
            seen[count].bytes = at->value;
            seen[count++].gives_back = at->count;
        }
        number += at->kind == OP_ALLOC || at->kind == OP_FREE;
    }
    return count;
}

static void test_golden(void)
{
    for (size_t i = 0; i < sizeof golden / sizeof golden[0]; i++) {
        op_stream stream;
        make_surely(golden[i].spec, &stream);
        buffer text = stream_text(&stream);
        CHECK_U64(slice_hash(slice_of(text.bytes)), ==, golden[i].digest);
        free(text.bytes);
        order_count count = order_check(&stream);
        check_ordered(golden[i].spec, &count);
        op_stream_free(&stream);
    }
}

static void test_events(void)
{
    static const event expected[] = {
        { 10, 3 << 20, 0 }, { 14, 3 << 20, 1 }, { 18, 3 << 20, 0 }, { 22, 3 << 20, 1 }, { 26, 3 << 20, 0 },
        { 30, 3 << 20, 1 }
    };
    event seen[10];
    op_stream stream;
    make_surely("rival:layers=1,steps=1,size=3,from=10,until=14,repeat=3", &stream);
    CHECK_U64(stream.rival_count, ==, 6);
    CHECK_U64(events_of(&stream, seen, 10), ==, 6);
    for (size_t i = 0; i < 6; i++) {
        CHECK_MSG(seen[i].op == expected[i].op && seen[i].bytes == expected[i].bytes &&
                  seen[i].gives_back == expected[i].gives_back, "event %zu, before operation %" PRIu64, i,
                  seen[i].op);
    }
    op_stream_free(&stream);
    make_surely("rival:layers=1,steps=1,from=10,until=0", &stream);
    CHECK_MSG(events_of(&stream, seen, 10) == 1 && !seen[0].gives_back, "until=0: it keeps what it took");
    op_stream_free(&stream);
}

/* Without its events, `train` with the same options. */
static void test_train(void)
{
    op_stream rival, train;
    make_surely("rival:layers=2,steps=2,seq=100-900,zero3=4,seed=5,from=9,until=30", &rival);
    make_surely("train:layers=2,steps=2,seq=100-900,zero3=4,seed=5", &train);
    size_t at = 0, same = 0;
    for (size_t i = 0; i < rival.op_count; i++) {
        if (rival.ops[i].kind == OP_RIVAL) continue;
        const op *left = &rival.ops[i], *right = &train.ops[at++];
        same += left->kind == right->kind && left->value == right->value && left->first == right->first;
    }
    CHECK_U64(same, ==, train.op_count);
    CHECK_U64(rival.requested_peak_bytes, ==, train.requested_peak_bytes);
    op_stream_free(&rival);
    op_stream_free(&train);
}

/* The text has it as a comment, which names the fault that does the same. */
static void test_text(void)
{
    op_stream stream;
    make_surely("rival:layers=1,steps=1,size=3,from=10,until=14", &stream);
    buffer text = stream_text(&stream);
    CHECK(strstr(text.bytes, "\n# --faults rival@10=3145728\n"));
    CHECK(strstr(text.bytes, "\n# --faults rival@14=-3145728\n"));
    free(text.bytes);
    op_stream_free(&stream);
}

/* In a mix it acts when its own workload has come so far; --ops cuts it off like all else. */
static void test_mix(void)
{
    const workload_options none = { 0 }, cut = { .ops_given = 1, .ops = 10 };
    event seen[4];
    op_stream stream;
    problem why = { 0, "" };
    CHECK_INT(mix_make("uniform:n=100+rival:layers=1,steps=1,from=10,until=14", &none, &stream, &why), ==, 0);
    CHECK_U64(events_of(&stream, seen, 4), ==, 2);
    CHECK(seen[0].op >= 10 && seen[1].op >= seen[0].op + 4);
    CHECK_U64(stream.rival_count, ==, 2);
    op_stream_free(&stream);
    CHECK_INT(workload_make("rival:layers=1,steps=1,from=10,until=14", &cut, &stream, &why), ==, 0);
    CHECK_U64(stream.rival_count, ==, 0);
    CHECK_U64(stream.alloc_count + stream.free_count, ==, 10);
    op_stream_free(&stream);
}

int main(void)
{
    test_golden();
    test_events();
    test_train();
    test_text();
    test_mix();
    return tap_done();
}
