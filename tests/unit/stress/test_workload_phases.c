/* Tests of `phases`: which blocks outlive their phase and their trial, sizes, streams, and that the program orders
   its own work. Knows nothing of how streams are made. */
#include "workload_order.h"

static const golden_text golden[] = {
    { "phases", UINT64_C(13228216913482672433) },
    { "phases:layers=2,streams=2", UINT64_C(6184845730645825272) },
    { "phases:layers=1,hidden=64,ff=172,heads=4,vocab=1000,batch=1-64,seq=17-900,steps=20,generate=3,seed=7",
      UINT64_C(4245889267390739347) },
    { "phases:layers=1,steps=2,updates=0,generate=0,streams=2", UINT64_C(1400417487876675604) },
    { "phases:layers=1,hidden=1,ff=1,heads=1,vocab=1,batch=1,seq=1,steps=1,updates=1,generate=1",
      UINT64_C(16293051141937689562) },
    { "phases:steps=0", UINT64_C(1003809775028198079) }
};

enum { PHASES = 4, MOST_PHASES = 100 };

typedef struct lives {
    uint64_t live_bytes[MOST_PHASES];            /* at the end of each phase */
    uint64_t outliving[MOST_PHASES];             /* blocks of the phase that live at its end */
    uint64_t phase_count, wrong;
} lives;

/* Phases are named in turn: load0 train0 evaluate0 checkpoint0 load1 .. */
static int is_next_label(const char *label, uint64_t phase)
{
    static const char *const names[PHASES] = { "load", "train", "evaluate", "checkpoint" };
    char expected[40];
    snprintf(expected, sizeof expected, "%s%" PRIu64, names[phase % PHASES], phase / PHASES);
    return strcmp(label, expected) == 0;
}

static void end_phase(lives *seen, const uint64_t *sizes, size_t first, size_t end)
{
    uint64_t phase = seen->phase_count - 1;
    for (size_t block = 0; seen->phase_count > 0 && block < end; block++) {
        seen->live_bytes[phase] += sizes[block];
        seen->outliving[phase] += block >= first && sizes[block] > 0;
    }
}

static lives walk(const op_stream *stream)
{
    lives seen;
    uint64_t *sizes = calloc(stream->block_count, sizeof *sizes);
    size_t first = 0, end = 0;
    memset(&seen, 0, sizeof seen);
    for (size_t i = 0; sizes && i < stream->op_count; i++) {
        const op *at = &stream->ops[i];
        if (at->kind == OP_ALLOC) {
            seen.wrong += at->value == 0;
            sizes[at->first] = at->value;
            end = at->first + 1;
        } else if (at->kind == OP_FREE) {
            sizes[at->first] = 0;
        } else if (at->kind == OP_STEP) {
            end_phase(&seen, sizes, first, end);
            seen.wrong += !is_next_label(stream->labels[at->first], seen.phase_count++);
            first = end;
        }
    }
    seen.wrong += !sizes;
    free(sizes);
    return seen;
}

/* Two layers of hidden 8 and ff 16, 10 words: 7 matrices a layer with 4 x 64 + 3 x 128 elements, 2 norms a layer, two
   tables, the last norm: 21 weights with 1,480 elements, of which 1,280 are trained. */
static void test_lives(void)
{
    enum { WEIGHTS = 21, WEIGHT_BYTES = 2 * 1480, STATE_BYTES = 3 * 4 * 1280, TRIALS = 6 };
    op_stream stream;
    make_surely("phases:layers=2,hidden=8,ff=16,heads=2,vocab=10,batch=3,seq=5,steps=6,updates=2,generate=4",
                &stream);
    lives seen = walk(&stream);
    CHECK_U64(seen.wrong, ==, 0);
    CHECK_U64(seen.phase_count, ==, TRIALS * PHASES);
    uint64_t kept = 0, data = 8 * 3 * 5 * (2 + 1), likelihoods = 4 * 15, tokens = 8 * 3 * (5 + 4);
    for (uint64_t trial = 0; trial + 1 < TRIALS; trial++) {
        uint64_t *live = seen.live_bytes + trial * PHASES, *outliving = seen.outliving + trial * PHASES;
        CHECK_U64(live[0], ==, kept + WEIGHT_BYTES + data);
        CHECK_U64(outliving[0], ==, WEIGHTS + 1);
        CHECK_U64(live[1], ==, live[0] + STATE_BYTES);
        CHECK_U64(outliving[1], ==, 2 * 7 * 3);
        CHECK_U64(live[2], ==, live[1] - data + likelihoods + tokens);
        CHECK_U64(outliving[2], ==, 2);
        kept = (trial + 1) * (likelihoods + tokens) + WEIGHT_BYTES;
        CHECK_U64(live[3], ==, kept);
        CHECK(outliving[3] == WEIGHTS || (outliving[3] == 0 && trial > 0));
    }
    op_stream_free(&stream);
}

/* Among many trials, some are the best so far, most are not: of 20, 3.6 on average. */
static void test_best(void)
{
    op_stream stream;
    uint64_t better = 0;
    make_surely("phases:layers=1,hidden=8,ff=8,heads=1,vocab=8,batch=1-4,seq=1-9,steps=20,updates=0,generate=0",
                &stream);
    lives seen = walk(&stream);
    for (uint64_t trial = 0; trial + 1 < 20; trial++) {
        better += seen.outliving[trial * PHASES + 3] > 0;
    }
    CHECK_MSG(better > 1 && better < 10, "%" PRIu64 " of 19 are better than all before", better);
    CHECK_U64(seen.outliving[3], ==, 7 + 2 + 3);
    op_stream_free(&stream);
}

/* Keys and values of 3 sequences: 5 tokens of 8 values in 16 bits, then one token more each time. */
static void test_cache(void)
{
    op_stream stream;
    uint64_t grown = 0;
    make_surely("phases:layers=2,hidden=8,ff=16,heads=2,vocab=10,batch=3,seq=5,steps=1,updates=0,generate=4",
                &stream);
    for (size_t i = 0; i < stream.op_count; i++) {
        for (uint64_t length = 6; length < 10 && stream.ops[i].kind == OP_ALLOC; length++) {
            grown += stream.ops[i].value == 3 * 2 * 8 * length;
        }
    }
    CHECK_U64(grown, ==, 2 * 2 * 4);
    op_stream_free(&stream);
}

static void test_order(const char *spec, size_t crossing_uses, size_t crossing_frees)
{
    op_stream stream;
    make_surely(spec, &stream);
    order_count count = order_check(&stream);
    check_ordered(spec, &count);
    CHECK_U64(count.crossing_uses, ==, crossing_uses);
    CHECK_U64(count.crossing_frees, ==, crossing_frees);
    op_stream_free(&stream);
}

/* A trial's copies: 12 weights come in, 3 buffers go out. */
static void test_waits(void)
{
    op_stream stream;
    make_surely("phases:layers=1,hidden=8,ff=8,heads=1,vocab=8,batch=2,seq=9,steps=2,generate=2,streams=2", &stream);
    order_count count = order_check(&stream);
    CHECK_U64(count.waits, ==, 2 * (12 + 3));
    CHECK_U64(order_idle_waits(&stream), ==, 0);
    op_stream_free(&stream);
}

int main(void)
{
    check_golden_texts(golden, sizeof golden / sizeof golden[0]);
    test_lives();
    test_best();
    test_cache();
    test_order("phases:layers=3", 0, 0);
    test_order("phases:layers=3,streams=2,steps=2", 2 * (30 + 9 + 3), 2 * (30 + 9 + 1));
    test_order("phases:layers=1,streams=2,steps=5,updates=0,generate=0,seed=2", 5 * (12 + 3 + 1), 5 * (12 + 3 + 1));
    test_waits();
    return tap_done();
}
