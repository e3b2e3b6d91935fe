/* Tests of `uniform`: RMM's rules, checked on the operations themselves; its sizes, its mix, its cap.
   Knows nothing of how they are drawn. */
#include "workload_text.h"

typedef struct tally { uint64_t live_bytes, live_count, peak_bytes, smallest, largest, mean, wrong; } tally;

/* Walks the stream by its own sizes; wrong counts every breach of the rules. */
static tally walk(const op_stream *stream, uint64_t cap_bytes)
{
    tally seen = { 0, 0, 0, UINT64_MAX, 0, 0, 0 };
    uint64_t total = 0, *sizes = calloc(stream->block_count, sizeof *sizes);
    for (size_t i = 0; sizes && i < stream->op_count; i++) {
        const op *at = &stream->ops[i];
        if (at->kind == OP_ALLOC) {
            seen.wrong += at->value == 0 || sizes[at->first] != 0 || stream->ids[at->first] != at->first;
            seen.wrong += seen.live_count > 0 && seen.live_bytes + at->value >= cap_bytes;
            sizes[at->first] = at->value;
            seen.live_bytes += at->value;
            seen.live_count++;
            total += at->value;
            seen.smallest = at->value < seen.smallest ? at->value : seen.smallest;
            seen.largest = at->value > seen.largest ? at->value : seen.largest;
        } else {
            seen.wrong += at->kind != OP_FREE || sizes[at->first] == 0;
            seen.live_bytes -= sizes[at->first];
            sizes[at->first] = 0;
            seen.live_count--;
        }
        seen.peak_bytes = seen.live_bytes > seen.peak_bytes ? seen.live_bytes : seen.peak_bytes;
    }
    seen.mean = total / stream->alloc_count;
    seen.wrong += !sizes;
    free(sizes);
    return seen;
}

static void test_rules(const char *spec, uint64_t count, uint64_t max_mib, uint64_t cap_mib)
{
    op_stream stream;
    problem why;
    CHECK_INT(make_plain(spec, &stream, &why), ==, 0);
    tally seen = walk(&stream, cap_mib << 20);
    CHECK_MSG(seen.wrong == 0, "%s: every operation keeps the rules", spec);
    CHECK_U64(stream.alloc_count, ==, count);
    CHECK_U64(stream.free_count, ==, count);
    CHECK_U64(seen.live_bytes, ==, 0);
    CHECK_U64(stream.requested_peak_bytes, ==, seen.peak_bytes);
    CHECK(seen.largest <= max_mib << 20);
    if (count >= 10000) {                        /* and the cap does not bind: it would favour small sizes */
        CHECK_MSG(seen.mean > (max_mib << 20) * 48 / 100 && seen.mean < (max_mib << 20) * 52 / 100,
                  "sizes are even: mean %" PRIu64, seen.mean);
        CHECK_MSG(seen.largest > (max_mib << 20) / 1000 * 999 && seen.smallest < (max_mib << 20) / 1000,
                  "and reach from end to end");
    }
    check_fixed_point(spec, &stream);
    op_stream_free(&stream);
}

/* Far from cap and count, 73 of 100 steps allocate: of 5,000, 3,650, and 4 sigma are 126. */
static void test_mix(void)
{
    const workload_options options = { .ops_given = 1, .ops = 5000 };
    op_stream stream;
    problem why = { 0, "" };
    CHECK_INT(workload_make("uniform:n=100000,max=1,cap=1000000", &options, &stream, &why), ==, 0);
    CHECK(stream.alloc_count > 3650 - 126 && stream.alloc_count < 3650 + 126);
    op_stream_free(&stream);
}

static void test_cap(void)
{
    op_stream stream;
    problem why;
    CHECK_INT(make_plain("uniform:n=2000,max=64,cap=1000", &stream, &why), ==, 0);
    CHECK_MSG(stream.requested_peak_bytes < 1000 << 20 && stream.requested_peak_bytes > 950 << 20,
              "live bytes come near the cap and stay below it: %" PRIu64, stream.requested_peak_bytes);
    op_stream_free(&stream);
    CHECK_INT(make_plain("uniform:n=50,max=64,cap=1", &stream, &why), ==, 0);
    CHECK_MSG(stream.requested_peak_bytes > 1 << 20 && stream.alloc_count == 50,
              "with nothing live the cap does not count, as in RMM");
    op_stream_free(&stream);
}

static void test_seeds(void)
{
    op_stream one, other;
    problem why;
    CHECK_INT(make_plain("uniform:n=100", &one, &why), ==, 0);
    CHECK_INT(make_plain("uniform:n=100,seed=2", &other, &why), ==, 0);
    buffer one_text = stream_text(&one), other_text = stream_text(&other);
    CHECK_U64(slice_hash(slice_of(one_text.bytes)), ==, UINT64_C(4542686676937511762));
    CHECK_MSG(strcmp(one_text.bytes, other_text.bytes) != 0, "another seed is another stream");
    free(one_text.bytes);
    free(other_text.bytes);
    op_stream_free(&one);
    op_stream_free(&other);
}

int main(void)
{
    test_rules("uniform", 10000, 4, 16000);
    test_rules("uniform:n=1000,max=4096,seed=3", 1000, 4096, 16000);
    test_rules("uniform:n=1", 1, 4, 16000);
    test_rules("uniform:n=30000,max=1,cap=1000000,seed=18446744073709551615", 30000, 1, 1000000);
    test_rules("uniform:n=9000,max=1,cap=2", 9000, 1, 2);
    test_mix();
    test_cap();
    test_seeds();
    return tap_done();
}
