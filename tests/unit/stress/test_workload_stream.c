/* Tests of the builder of op streams, and of writing them: counts, peak, blocks, labels, the cut, overflow.
   Knows nothing of families and formats. */
#include "stress/workload/stream.h"
#include "workload_text.h"

static const slice no_tag = { NULL, 0 };

static const char expected_text[] =
    "gpuarena-trace 1\n"
    "s setup\n"
    "a 900 100 0 weights\n"
    "a 7 0 3\n"
    "a 900 50 1 weights\n"
    "k 3 250 7 900\n"
    "k 0 0\n"
    "f 7\n"
    "f 900 2\n"
    "w 0 3\n"
    "s setup\n"
    "a 7 120 0 setup\n";

static int build(stream_builder *builder)
{
    uint32_t first, second, third, last;
    return stream_step(builder, slice_of("setup")) ||
           stream_alloc(builder, 900, 100, 0, slice_of("weights"), &first) ||
           stream_alloc(builder, 7, 0, 3, no_tag, &second) ||
           stream_alloc(builder, 900, 50, 1, slice_of("weights"), &third) ||
           stream_kernel(builder, 3, 250) || stream_touch(builder, second) || stream_touch(builder, third) ||
           stream_kernel(builder, 0, 0) || stream_free(builder, second) || stream_free_on(builder, first, 2) ||
           stream_wait(builder, 0, 3) || stream_step(builder, slice_of("setup")) ||
           stream_alloc(builder, 7, 120, 0, slice_of("setup"), &last);
}

static void test_whole(void)
{
    stream_builder builder;
    op_stream stream;
    problem why = { 0, "" };
    stream_begin(&builder, &stream, "a test", UINT64_MAX, &why);
    CHECK_INT(build(&builder), ==, 0);
    stream_end(&builder);
    buffer text = stream_text(&stream);
    CHECK_STR(text.bytes, expected_text);
    CHECK_INT(stream.op_count, ==, 11);
    CHECK_INT(stream.alloc_count, ==, 4);
    CHECK_INT(stream.free_count, ==, 2);
    CHECK_INT(stream.block_count, ==, 4);
    CHECK_MSG(stream.label_count == 2, "a label is kept once, whoever uses it");
    CHECK_U64(stream.requested_peak_bytes, ==, 170);
    CHECK_MSG(stream.ops[6].kind == OP_FREE && stream.ops[6].stream == 3,
              "a free that names no stream is on its allocation's");
    CHECK_MSG(stream.ops[7].kind == OP_FREE && stream.ops[7].stream == 2 && stream.ops[7].first == 0,
              "a free that names one is there, and of the block, not of the id");
    free(text.bytes);
    op_stream_free(&stream);
    CHECK_MSG(!stream.ops && !stream.labels && stream.op_count == 0, "freed is zeroed");
    op_stream_free(&stream);
}

/* Cut after N allocations and frees: the text is a prefix, which ends with the Nth of them. */
static void test_cut(uint64_t limit, size_t expected_ops, uint64_t expected_peak)
{
    stream_builder builder;
    op_stream stream;
    problem why = { 0, "" };
    stream_begin(&builder, &stream, "a test", limit, &why);
    CHECK_INT(build(&builder), ==, 0);
    CHECK_INT(builder.is_cut, ==, 1);
    stream_end(&builder);
    buffer text = stream_text(&stream);
    CHECK_MSG(strncmp(text.bytes, expected_text, text.length) == 0, "cut after %d: a prefix", (int)limit);
    CHECK_INT(stream.op_count, ==, expected_ops);
    CHECK_U64(stream.alloc_count + stream.free_count, ==, limit);
    CHECK_U64(stream.requested_peak_bytes, ==, expected_peak);
    free(text.bytes);
    op_stream_free(&stream);
}

static void test_overflow(void)
{
    stream_builder builder;
    op_stream stream;
    problem why = { 0, "" };
    uint32_t first, second;
    stream_begin(&builder, &stream, "a test", UINT64_MAX, &why);
    CHECK_INT(stream_alloc(&builder, 0, UINT64_MAX - 1, 0, no_tag, &first), ==, 0);
    CHECK_INT(stream_alloc(&builder, 1, 1, 0, no_tag, &second), ==, 0);
    CHECK_U64(stream.requested_peak_bytes, ==, UINT64_MAX);
    CHECK_INT(stream_free(&builder, second), ==, 0);
    CHECK_INT(stream_alloc(&builder, 2, 2, 0, no_tag, &second), ==, -1);
    CHECK_INT(why.exit_code, ==, EXIT_USAGE);
    CHECK_STR(why.text, "a test: 2 bytes beside 18446744073709551614 live ones, expected a sum below 2^64");
    stream_end(&builder);
    op_stream_free(&stream);
}

/* Two texts of one hash must stay two labels. No such pair is at hand, so the map is made to lie. */
static void test_label_collision(void)
{
    stream_builder builder;
    op_stream stream;
    problem why = { 0, "" };
    stream_begin(&builder, &stream, "a test", UINT64_MAX, &why);
    CHECK_INT(stream_step(&builder, slice_of("one")), ==, 0);
    id_entry *entry = id_map_add(&builder.label_by_hash, slice_hash(slice_of("other")));
    entry->state = ID_LIVE;
    entry->value = 0;
    CHECK_INT(stream_step(&builder, slice_of("other")), ==, 0);
    CHECK_INT(stream.label_count, ==, 2);
    CHECK_STR(stream.labels[stream.ops[1].first], "other");
    stream_end(&builder);
    op_stream_free(&stream);
}

static void test_write_failure(void)
{
    op_stream stream;
    problem why;
    FILE *full = fopen("/dev/full", "w");
    if (!full) {
        SKIP("writing to a full device: there is no /dev/full");
        return;
    }
    CHECK_INT(make_plain("uniform:n=1", &stream, &why), ==, 0);
    CHECK_MSG(op_stream_write(&stream, full) == -1, "a device that is full is a failed write");
    fclose(full);
    op_stream_free(&stream);
}

int main(void)
{
    test_whole();
    test_cut(1, 2, 100);
    test_cut(3, 4, 150);
    test_cut(4, 7, 150);
    test_cut(5, 8, 150);
    test_overflow();
    test_label_collision();
    test_write_failure();
    return tap_done();
}
