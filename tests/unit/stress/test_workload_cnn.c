/* Tests of `cnn`: ResNet-50's published figures (parameters, activations, the largest tensor), the peak, order.
   Knows the network, from its paper, and nothing of how streams are made. */
#include "workload_order.h"

static const golden_text golden[] = {
    { "cnn:steps=2", UINT64_C(16771058887588614609) },
    { "cnn:batch=1-9,image=32-300,classes=10,steps=3,dtype=fp16,streams=2,seed=9", UINT64_C(13059245920606947137) },
    { "cnn:steps=0", UINT64_C(17584167215385492499) }
};

typedef struct figures {
    uint64_t matrices, norms;                    /* parameters: of convolutions; of their norms */
    uint64_t convolved, kept;                    /* numbers an image: convolutions' outputs; norms' that are kept */
    uint64_t last;                               /* .. of the last map */
} figures;

static void add_unit(figures *of, uint64_t in, uint64_t out, uint64_t kernel, uint64_t side, int is_kept)
{
    of->matrices += in * out * kernel * kernel;
    of->norms += 2 * out;
    of->convolved += out * side * side;
    of->kept += is_kept ? out * side * side : 0;
}

static figures figures_of(uint64_t image)
{
    static const uint64_t depths[] = { 3, 4, 6, 3 };
    figures of = { 0, 0, 0, 0, 0 };
    uint64_t in = 64, side = (image + 1) / 2;
    add_unit(&of, 3, 64, 7, side, 1);
    side = (side + 1) / 2;
    for (uint64_t stage = 0, width = 64; stage < 4; stage++, width *= 2) {
        for (uint64_t depth = 0; depth < depths[stage]; depth++, in = 4 * width) {
            uint64_t made = stage > 0 && depth == 0 ? (side + 1) / 2 : side;
            add_unit(&of, in, width, 1, side, 1);
            add_unit(&of, width, width, 3, made, 1);
            add_unit(&of, width, 4 * width, 1, made, 1);
            if (depth == 0) add_unit(&of, in, 4 * width, 1, made, 0);
            side = made;
        }
    }
    of.last = in * side * side;
    return of;
}

/* torchvision's resnet50 has 25,557,032 parameters, and convolutions put out 11.1 million numbers an image
   (Radosavovic et al. 2020); of 32 in 16 bits the largest tensor has 51,380,224 bytes, as in SOMAS's recording. */
static void test_published(void)
{
    figures of = figures_of(224);
    op_stream stream;
    uint64_t parameters = 0, largest = 0;
    CHECK_U64(of.matrices + of.norms + 2049 * 1000, ==, 25557032);
    CHECK_U64(of.convolved, ==, 11113984);
    make_surely("cnn:steps=0", &stream);
    for (size_t i = 0; i < stream.op_count; i++) {
        parameters += stream.ops[i].kind == OP_ALLOC ? stream.ops[i].value : 0;
    }
    CHECK_U64(parameters, ==, 4 * 25557032 + 4 * of.norms + 53 * 8);
    CHECK_U64(stream.alloc_count, ==, 161 + 159);            /* as many as torchvision's state_dict */
    op_stream_free(&stream);
    make_surely("cnn:steps=1,dtype=fp16", &stream);
    for (size_t i = 0; i < stream.op_count; i++) {
        if (stream.ops[i].kind != OP_ALLOC) continue;
        largest = stream.ops[i].value > largest ? stream.ops[i].value : largest;
    }
    CHECK_U64(largest, ==, 51380224);
    op_stream_free(&stream);
}

/* Live at its worst, when the gradient reaches the last block's last norm: parameters, momenta and buffers; images
   and labels; all that is kept; the classifier's gradients; and two maps' gradients. */
static void check_peak(uint64_t batch, uint64_t image, uint64_t value_bytes)
{
    char spec[100];
    op_stream stream;
    figures of = figures_of(image);
    uint64_t pooled = ((image + 1) / 2 + 1) / 2;
    uint64_t parameters = value_bytes * (of.matrices + 2049 * 1000) + 4 * of.norms;
    uint64_t numbers = 3 * image * image + of.convolved + of.kept + 64 * pooled * pooled + 2 * of.last;
    uint64_t of_image = value_bytes * numbers + 8 * 64 * pooled * pooled + 8;
    uint64_t expected = 2 * parameters + (4 * of.norms + 53 * 8) + batch * of_image + 4 * of.norms
        + value_bytes * 2049 * 1000;
    snprintf(spec, sizeof spec, "cnn:batch=%d,image=%d,steps=2,dtype=%s", (int)batch, (int)image,
             value_bytes == 4 ? "fp32" : "fp16");
    make_surely(spec, &stream);
    CHECK_MSG(stream.requested_peak_bytes == expected, "%s: peak %" PRIu64 ", expected %" PRIu64, spec,
              stream.requested_peak_bytes, expected);
    order_count count = order_check(&stream);
    check_ordered(spec, &count);
    op_stream_free(&stream);
}

/* Images that come on a stream of their own are waited for, once a step. */
static void test_streams(void)
{
    op_stream stream;
    make_surely("cnn:batch=2,steps=3,streams=2", &stream);
    order_count count = order_check(&stream);
    check_ordered("cnn:streams=2", &count);
    CHECK_U64(count.waits, ==, 3);
    CHECK_U64(count.crossing_frees, ==, 6);
    CHECK_U64(order_idle_waits(&stream), ==, 0);
    op_stream_free(&stream);
}

/* With a fixed batch and image a step repeats the one before it. */
static void test_steps(void)
{
    op_stream two, four;
    make_surely("cnn:steps=2", &two);
    make_surely("cnn:steps=4", &four);
    uint64_t of_first = two.alloc_count - (four.alloc_count - two.alloc_count) / 2 - 320;
    CHECK_U64(of_first - 161, ==, (four.alloc_count - two.alloc_count) / 2); /* momenta, in the first */
    CHECK_U64(four.requested_peak_bytes, ==, two.requested_peak_bytes);
    op_stream_free(&two);
    op_stream_free(&four);
}

int main(void)
{
    check_golden_texts(golden, sizeof golden / sizeof golden[0]);
    test_published();
    test_streams();
    test_steps();
    check_peak(32, 224, 4);
    check_peak(32, 224, 2);
    check_peak(100, 160, 2);
    check_peak(20, 299, 4);
    return tap_done();
}
