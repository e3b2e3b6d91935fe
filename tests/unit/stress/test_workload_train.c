/* Tests of `train`: digests, order, and the bytes of the reference generator where python3 and that are found
   ($GPUARENA_TRAIN, by default ../shared/reference/train.py). Knows nothing of how streams are made. */
#include "workload_order.h"

/* Digests (FNV-1a, 64 bits) and lines of `python3 train.py OPTIONS`. Where gathers have a stream of their own, every
   step begins with `w 1 0`. */
static const struct { const char *options; uint64_t digest; size_t line_count; } golden[] = {
    { "layers=3,steps=2", UINT64_C(3495964086942954146), 735 },
    { "layers=4,hidden=512,ff=1376,heads=8,vocab=1000,batch=2,seq=17-900,steps=3,seed=7",
      UINT64_C(12032366710471892497), 1388 },
    { "layers=3,seq=1024,steps=2", UINT64_C(10161029526703771556), 735 },
    { "layers=3,steps=2,recompute=1", UINT64_C(12332137900163536064), 969 },
    { "layers=3,steps=2,zero3=8", UINT64_C(10833237790181336393), 1041 },
    { "layers=3,steps=2,lora=16", UINT64_C(12240983477381676905), 798 },
    { "layers=3,steps=2,zero3=8,lora=16", UINT64_C(11646123605991487916), 978 },
    { "layers=3,steps=2,zero3=8,streams=2", UINT64_C(17587068950956705501), 1067 },
    { "layers=2,steps=2,streams=2", UINT64_C(12075350786105717402), 503 },
    { "layers=3,hidden=1023,ff=77,heads=3,vocab=101,batch=3,seq=17-19,steps=3,zero3=7,recompute=1,streams=2",
      UINT64_C(5667951431228585291), 1904 },
    { "layers=2,hidden=4096,ff=11008,heads=32,batch=2,seq=512-4096,steps=2,recompute=1,zero3=8,lora=16,streams=2",
      UINT64_C(16094243888536892077), 839 },
    { "layers=2,seq=1-4294967295,batch=1,steps=4,seed=18446744073709551615", UINT64_C(15825371421148811782), 941 },
    { "layers=2,steps=2,zero3=0", UINT64_C(12075350786105717402), 503 },
    { "layers=0", UINT64_C(12390446999372366241), 141 },
    { "layers=2,steps=0", UINT64_C(2125604881916957228), 65 },
    { "layers=1,hidden=0,ff=0,heads=0,vocab=0,batch=0,seq=0,steps=1", UINT64_C(8239650882312012476), 153 },
    { "layers=1,steps=1,zero3=4294967295", UINT64_C(14284283644417944921), 204 },
    { "", UINT64_C(18366529106148102264), 20253 },
};
enum { GOLDEN_COUNT = sizeof golden / sizeof golden[0] };

static const char *reference_path(void)
{
    const char *path = getenv("GPUARENA_TRAIN");
    return path ? path : "../shared/reference/train.py";
}

static int make_train(const char *options, op_stream *stream)
{
    char spec[300];
    problem why;
    snprintf(spec, sizeof spec, "train%s%s", options[0] ? ":" : "", options);
    int failed = make_plain(spec, stream, &why);
    CHECK_MSG(!failed, "%s is made%s%s", spec, failed ? ": " : "", failed ? why.text : "");
    return failed;
}

static size_t count_lines(const char *text)
{
    size_t count = 0;
    while ((text = strchr(text, '\n')) != NULL) {
        text++;
        count++;
    }
    return count;
}

/* 1-based line of the first difference, for the eye. */
static void show_difference(const char *ours, const char *theirs)
{
    size_t at = 0, line = 1;
    while (ours[at] && ours[at] == theirs[at]) {
        line += ours[at++] == '\n';
    }
    printf("#   first difference on line %zu: ours %s, reference %s\n", line,
           slice_show(slice_of(ours + at)).text, slice_show(slice_of(theirs + at)).text);
}

/* Takes out every `w 1 0` that directly follows a step's label. The reference generator may lack this wait. */
static void remove_first_waits(char *text)
{
    static const char wait[] = "w 1 0\n";
    while ((text = strstr(text, "\ns step")) != NULL) {
        text = strchr(text + 1, '\n');
        char *after = text + 1;
        if (strncmp(after, wait, strlen(wait)) == 0) {
            memmove(after, after + strlen(wait), strlen(after + strlen(wait)) + 1);
        }
    }
}

static void check_reference(const char *options, char *ours)
{
    char command[1024];
    snprintf(command, sizeof command, "python3 '%s' '%s'", reference_path(), options);
    FILE *pipe = popen(command, "r");
    if (!pipe) {
        give_up("cannot start python3");
    }
    buffer theirs = read_all(pipe);
    int status = pclose(pipe);
    CHECK_MSG(status == 0, "the reference runs: %s", command);
    remove_first_waits(ours);
    remove_first_waits(theirs.bytes);
    if (!CHECK_MSG(strcmp(ours, theirs.bytes) == 0, "train:%s has the reference's bytes", options)) {
        show_difference(ours, theirs.bytes);
    }
    free(theirs.bytes);
}

static void check_order(const char *options, const op_stream *stream)
{
    int gathers = strstr(options, "streams=2") && strstr(options, "zero3=");
    order_count count = order_check(stream);
    check_ordered(options, &count);
    CHECK_MSG((count.crossing_uses > 0) == gathers && (count.waits > 0) == gathers && count.crossing_frees == 0,
              "%s gathers", gathers ? "a second stream" : "one stream");
}

static void check_golden(size_t index, int has_reference)
{
    op_stream stream;
    if (make_train(golden[index].options, &stream)) {
        return;
    }
    buffer text = stream_text(&stream);
    CHECK_U64(slice_hash(slice_of(text.bytes)), ==, golden[index].digest);
    CHECK_U64(count_lines(text.bytes), ==, golden[index].line_count);
    CHECK_U64(stream.op_count + 1, ==, golden[index].line_count);
    check_fixed_point(golden[index].options, &stream);
    check_order(golden[index].options, &stream);
    if (has_reference) {
        check_reference(golden[index].options, text.bytes);
    }
    free(text.bytes);
    op_stream_free(&stream);
}

/* Sums near the end of uint64: one that fits, and its neighbour that does not. */
static void test_limits(void)
{
    op_stream stream;
    problem why;
    CHECK_INT(make_plain("train:layers=0,steps=0,hidden=2,vocab=4294967295", &stream, &why), ==, 0);
    CHECK_U64(stream.requested_peak_bytes, ==, 2 * 2 * (2 * UINT64_C(4294967295)) + 4);
    op_stream_free(&stream);
    CHECK_INT(make_plain("train:layers=0,steps=0,hidden=1073741824,vocab=4294967295", &stream, &why), ==, 0);
    CHECK_U64(stream.requested_peak_bytes, ==, UINT64_MAX - (UINT64_C(1) << 31) + 1);
    op_stream_free(&stream);
    CHECK_INT(make_plain("train:layers=0,steps=0,hidden=1073741825,vocab=4294967295", &stream, &why), ==, -1);
    CHECK_MSG(strstr(why.text, "2^64") && why.exit_code == EXIT_USAGE, "one more: %s", why.text);
}

static int reference_is_there(void)
{
    return access(reference_path(), R_OK) == 0 && system("python3 -c '' >/dev/null 2>&1") == 0;
}

int main(void)
{
    int has_reference = reference_is_there();
    for (size_t i = 0; i < GOLDEN_COUNT; i++) {
        check_golden(i, has_reference);
    }
    if (!has_reference) {
        SKIP("comparing bytes with the reference generator: python3 and %s are not both here", reference_path());
    }
    test_limits();
    return tap_done();
}
