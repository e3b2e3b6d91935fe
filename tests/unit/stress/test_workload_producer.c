/* Tests of `producer`: sizes, order of the queue and its depth, streams, and that the program orders its own work.
   Knows nothing of how they are drawn. */
#include "workload_order.h"

static const golden_text golden[] = {
    { "producer", UINT64_C(14395079373449138567) },
    { "producer:n=100,steps=1", UINT64_C(15621220376788999484) },
    { "producer:n=100,steps=2,max=64,depth=8,consumers=3,seed=18446744073709551615", UINT64_C(1559967361878613605) },
    { "producer:n=20,steps=2,images=4", UINT64_C(2107681179637528702) },
    { "producer:n=20,steps=1,images=3,side=1-65536,depth=4,consumers=2,seed=0", UINT64_C(7994904912997295) },
    { "producer:n=50,steps=1,consumers=0", UINT64_C(11668717404320025421) },
    { "producer:steps=0", UINT64_C(1003809775028198079) }
};

typedef struct tally {
    uint64_t waiting, deepest, smallest, largest, total, wrong;
    uint64_t freed_on[ORDER_STREAMS];
} tally;

/* Of items of one block each: allocated on stream 1, freed in the same order, never more than depth at a time. */
static tally walk_messages(const op_stream *stream)
{
    tally seen = { 0, 0, UINT64_MAX, 0, 0, 0, { 0 } };
    uint64_t next_freed = 0;
    for (size_t i = 0; i < stream->op_count; i++) {
        const op *at = &stream->ops[i];
        if (at->kind == OP_ALLOC) {
            seen.wrong += at->stream != 1 || stream->ids[at->first] != at->first;
            seen.waiting++;
            seen.smallest = at->value < seen.smallest ? at->value : seen.smallest;
            seen.largest = at->value > seen.largest ? at->value : seen.largest;
            seen.total += at->value;
        } else if (at->kind == OP_FREE) {
            seen.wrong += at->first != next_freed++;
            seen.freed_on[at->stream]++;
            seen.waiting--;
        } else if (at->kind == OP_STEP) {
            seen.wrong += seen.waiting != 0;     /* every step ends with an empty queue */
        } else if (at->kind == OP_KERNEL) {
            seen.wrong += at->count != 1 || at->value == 0;
        }
        seen.deepest = seen.waiting > seen.deepest ? seen.waiting : seen.deepest;
    }
    seen.wrong += seen.waiting != 0;
    return seen;
}

static void test_messages(void)
{
    op_stream stream;
    make_surely("producer:n=10000,steps=1,max=4,depth=5,consumers=3", &stream);
    tally seen = walk_messages(&stream);
    CHECK_U64(seen.wrong, ==, 0);
    CHECK_U64(stream.alloc_count, ==, 10000);
    CHECK_U64(seen.deepest, ==, 5);
    CHECK(seen.smallest < 4096 && seen.largest > (4 << 20) - 4096 && seen.largest <= 4 << 20);
    CHECK_MSG(seen.total / 10000 > (4 << 20) * 48 / 100 && seen.total / 10000 < (4 << 20) * 52 / 100,
              "sizes are even");
    for (uint64_t consumer = 2; consumer < 5; consumer++) {          /* of 10,000 a third, and 4 sigma are 189 */
        CHECK_MSG(seen.freed_on[consumer] > 3333 - 189 && seen.freed_on[consumer] < 3333 + 189,
                  "consumer %" PRIu64 " frees its share", consumer);
    }
    CHECK_U64(seen.freed_on[0] + seen.freed_on[1], ==, 0);
    op_stream_free(&stream);
    make_surely("producer:n=7,steps=3,depth=1,consumers=0", &stream);
    seen = walk_messages(&stream);
    CHECK_U64(seen.wrong, ==, 0);
    CHECK_U64(seen.freed_on[1], ==, 21);
    CHECK_U64(seen.deepest, ==, 1);
    CHECK_U64(stream.label_count, ==, 3);
    op_stream_free(&stream);
}

/* Images of 3 h w bytes; after every N of them, a batch of N padded ones in 32 bits. */
static void test_sides(const char *spec, uint64_t images, uint64_t low, uint64_t high)
{
    op_stream stream;
    uint64_t read_bytes = 0, largest = 0, wrong = 0, count = 0;
    uint64_t most = (high + 31) / 32 * 32, unit = images * 3 * 32 * 32 * 4;
    make_surely(spec, &stream);
    for (size_t i = 0; i < stream.op_count; i++) {
        const op *at = &stream.ops[i];
        if (at->kind != OP_ALLOC) {
            continue;
        }
        if (count++ % (images + 1) < images) {
            wrong += at->stream != 1 || at->value % 3 || at->value < 3 * low * low || at->value > 3 * high * high;
            read_bytes += at->value;
            largest = at->value > largest ? at->value : largest;
        } else {
            wrong += at->stream != 1 || at->value % unit || at->value < 4 * read_bytes ||
                     at->value < 4 * images * largest || at->value > images * 3 * most * most * 4;
            read_bytes = largest = 0;
        }
    }
    CHECK_MSG(wrong == 0, "%s: all sizes come from shapes", spec);
    CHECK_U64(count % (images + 1), ==, 0);
    op_stream_free(&stream);
}

static void test_one_batch(void)
{
    op_stream stream;
    make_surely("producer:n=1,steps=1,images=2,side=33", &stream);
    buffer text = stream_text(&stream);
    CHECK_STR(text.bytes,
              "gpuarena-trace 1\ns step0\na 0 3267 1\na 1 3267 1\nk 1 261 0 1\na 2 98304 1\nk 1 49 0 1 2\n"
              "f 0 1\nf 1 1\nw 2 1\nk 2 49 2\nf 2 2\n");
    free(text.bytes);
    op_stream_free(&stream);
}

static void test_order(const char *spec, uint64_t crossing)
{
    op_stream stream;
    make_surely(spec, &stream);
    order_count count = order_check(&stream);
    check_ordered(spec, &count);
    CHECK_U64(count.crossing_frees, ==, crossing);
    CHECK_U64(count.crossing_uses, ==, crossing);
    CHECK_U64(count.waits, ==, crossing);
    op_stream_free(&stream);
}

/* With one place in the queue, nothing but its own wait orders an item. */
static void test_waits(void)
{
    op_stream stream;
    make_surely("producer:n=60,steps=1,depth=1,consumers=3", &stream);
    CHECK_U64(order_idle_waits(&stream), ==, 0);
    op_stream_free(&stream);
    make_surely("producer:n=4,steps=1,depth=1,images=2", &stream);
    CHECK_U64(order_idle_waits(&stream), ==, 0);
    op_stream_free(&stream);
}

/* What the check of order must see, and what it must not. */
static const struct { const char *text; size_t before_alloc, before_fill, before_use, dead; } programs[] = {
    { "a 0 8 1\nk 1 5 0\nw 2 1\nk 2 5 0\nf 0 2\n", 0, 0, 0, 0 },
    { "a 0 8 1\nk 1 5 0\nk 2 5 0\nf 0 2\n", 1, 1, 1, 0 },
    { "a 0 8 1\nk 1 5 0\nw 1 2\nk 2 5 0\nf 0 2\n", 1, 1, 1, 0 },
    { "a 0 8 1\nw 2 1\nk 1 5 0\nk 2 5 0\nw 2 1\nf 0 2\n", 0, 1, 0, 0 },
    { "a 0 8 1\nk 1 5 0\nw 2 1\nk 2 5 0\nf 0 1\n", 0, 0, 1, 0 },
    { "a 0 8 1\nk 1 5 0\nw 2 1\nw 3 2\nk 3 5 0\nw 1 3\nf 0 1\n", 0, 0, 0, 0 },
    { "a 0 8 1\nf 0 2\n", 0, 0, 1, 0 },
    { "w 2 1\na 0 8 1\nk 2 5 0\nw 1 2\nf 0\n", 1, 0, 0, 0 }
};

static void test_check(void)
{
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        char text[200];
        op_stream stream;
        problem why;
        int length = snprintf(text, sizeof text, "gpuarena-trace 1\n%s", programs[i].text);
        CHECK_INT(replay_bytes(text, (size_t)length, &stream, &why), ==, 0);
        order_count count = order_check(&stream);
        CHECK_MSG(count.before_alloc == programs[i].before_alloc && count.before_fill == programs[i].before_fill &&
                  count.before_use == programs[i].before_use && count.dead == programs[i].dead,
                  "order of program %zu: %zu %zu %zu %zu", i, count.before_alloc, count.before_fill, count.before_use,
                  count.dead);
        op_stream_free(&stream);
    }
}

int main(void)
{
    check_golden_texts(golden, sizeof golden / sizeof golden[0]);
    test_messages();
    test_sides("producer:n=300,steps=1,images=4", 4, 800, 1333);
    test_sides("producer:n=100,steps=2,images=1,side=1-65536,depth=3", 1, 1, 65536);
    test_sides("producer:n=10,steps=2,images=32,side=224", 32, 224, 224);
    test_one_batch();
    test_check();
    test_order("producer", 10000);
    test_order("producer:n=2000,steps=2,depth=64,consumers=64,seed=3", 4000);
    test_order("producer:n=100,steps=1,consumers=0,depth=4", 0);
    test_order("producer:n=50,steps=2,images=3,depth=4,consumers=2", 100);
    test_waits();
    return tap_done();
}
