/* Tests of `replay`: what is made of each format, and of the real traces in $GPUARENA_TRACES (../shared/traces).
   Knows nothing of broken input: test_workload_broken.c. */
#include "workload_text.h"

#define TRACE "gpuarena-trace 1\n"
#define RMM "Thread,Time,Action,Pointer,Size,Stream\n"
#define CNMEM "Event Type,Device ID,Address,Stream,Size (bytes),Free Memory,Total Memory,Current Allocs,Start,End," \
              "Elapsed,Location\n"
#define IVAL "id,lower,upper,size\n"
#define TEXT(literal) literal, sizeof literal - 1

/* What is read, as gpuarena-trace text. */
static void check_bytes(const char *name, const char *bytes, size_t length, uint64_t peak_bytes, const char *expected)
{
    op_stream stream;
    problem why;
    int result = replay_bytes(bytes, length, &stream, &why);
    CHECK_MSG(result == 0, "%s: is read%s%s", name, result ? ": " : "", result ? why.text : "");
    if (result) {
        return;
    }
    buffer text = stream_text(&stream);
    if (!CHECK_MSG(strcmp(text.bytes, expected) == 0, "%s: becomes the operations meant", name)) {
        printf("# %s\n", slice_show(slice_of(text.bytes)).text);
    }
    CHECK_U64(stream.requested_peak_bytes, ==, peak_bytes);
    check_fixed_point(name, &stream);
    free(text.bytes);
    op_stream_free(&stream);
}

/* As it is, and as some editors leave it: with a byte order mark, and with carriage returns. */
static void check_read(const char *name, const char *bytes, uint64_t peak_bytes, const char *expected)
{
    char edited[2048] = "\xef\xbb\xbf";
    size_t used = 3;
    check_bytes(name, bytes, strlen(bytes), peak_bytes, expected);
    for (const char *at = bytes; *at && used + 2 < sizeof edited; at++) {
        if (*at == '\n' && at[-1] != '\r') edited[used++] = '\r';
        edited[used++] = *at;
    }
    check_bytes(name, edited, used, peak_bytes, expected);
    check_bytes(name, edited + 3, used - 3, peak_bytes, expected);
}

static void test_trace(void)
{
    check_read("an empty trace", TRACE, 0, TRACE);
    check_read("the whole grammar",
               TRACE "# blocks\ns step0\na 18446744073709551615 4096 0 weights\na 0 0 7\n#\n"
               "k 7 120 0 18446744073709551615\nk 0 0\nw 0 7\nf 0 7\nf 18446744073709551615\n"
               "a 0 5 1 \xc3\xa4=b:c\ns step0\n",
               4096,
               TRACE "s step0\na 18446744073709551615 4096 0 weights\na 0 0 7\nk 7 120 0 18446744073709551615\n"
               "k 0 0\nw 0 7\nf 0 7\nf 18446744073709551615\na 0 5 1 \xc3\xa4=b:c\ns step0\n");
}

static void test_free_streams(void)
{
    static const char bytes[] = TRACE "a 1 10 3\na 2 10 4\nf 1\nf 2 5\n";
    op_stream stream;
    problem why;
    CHECK_INT(replay_bytes(TEXT(bytes), &stream, &why), ==, 0);
    CHECK_U64(stream.ops[2].stream, ==, 3);
    CHECK_U64(stream.ops[3].stream, ==, 5);
    op_stream_free(&stream);
}

static void test_rmm(void)
{
    check_read("rmm today",
               RMM "4242,10:11:12.000001,allocate,0x7f00000000,1048576,0x0\n"
               "4242,10:11:12.000002,allocate,(nil),0,0x1\n"
               "4242,10:11:12.000003,allocate,0x7f00100000,256,0x55d0c8a0\n"
               "4243,10:11:12.000004,allocate failure,(nil),4096,0x2\n4242,10:11:12.000005,free,(nil),0,0x1\n"
               "4242,23:59:59.999999,free,0x7f00000000,1048576,0x1\n4242,00:00:00.000001,allocate,0x7f00000000,8,0\n",
               1048576 + 256 + 4096,
               TRACE "a 545460846592 1048576 0\na 545461895168 256 1439746208\na 0 4096 2\nf 0 2\n"
               "f 545460846592 0\na 545460846592 8 0\n");
    check_read("rmm before threads, windows line ends",
               "Time,Action,Pointer,Size,Stream\r\n10:11:12:000001,allocate,0x10,16,0\r\n"
               "1600000000.5,deallocate,0x10,16,0\r\n", 16,
               TRACE "a 16 16 0\nf 16 0\n");
    check_read("rmm, null as 0x0, a free of another size",
               RMM "1,t,allocate,0x0,0,0\n1,t,allocate,0x10,16,2\n1,t,free,0x0,0,0\n1,t,free,0x10,99,3\n", 16,
               TRACE "a 16 16 2\nf 16 3\n");
    check_read("cnmem",
               CNMEM "Alloc,0,0x7f00,0,512,1,2,1,0.1,0.2,0.1,file.cpp:1\n"
               "Free,0,0x7f00,0,0,1,2,0,0.1,0.2,0.1,file.cpp:2\n", 512,
               TRACE "a 32512 512 0\nf 32512 0\n");
}

static void test_intervals(void)
{
    check_read("intervals, frees first at equal time, rows in order",
               IVAL "3,5,9,30\n1,0,5,10\n2,0,5,20\n1,5,6,40\n", 70,
               TRACE "a 1 10 0\na 2 20 0\nf 1\nf 2\na 3 30 0\na 1 40 0\nf 1\nf 3\n");
    check_read("intervals with offsets",
               "id,lower,upper,size,offset\n0,0,18446744073709551615,1,77\n", 1, TRACE "a 0 1 0\nf 0\n");
    check_read("intervals with words as ids, their hashes in the trace", IVAL "b1,0,3,4\nb2,3,9,4\nb3,0,9,4\n", 8,
               TRACE "a 623188930078801532 4 0\na 623191129102057954 4 0\nf 623188930078801532\n"
               "a 623192228613686165 4 0\nf 623192228613686165\nf 623191129102057954\n");
    check_read("no intervals", IVAL, 0, TRACE);
}

/* The file without its comments. */
static buffer without_comments(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        give_up("cannot read a trace that is there");
    }
    buffer whole = read_all(file), kept = { malloc(whole.length + 1), 0 };
    fclose(file);
    if (!kept.bytes) {
        give_up("no memory");
    }
    for (char *line = whole.bytes; *line;) {
        size_t length = (size_t)(strchr(line, '\n') - line) + 1;
        if (line[0] != '#') {
            memcpy(kept.bytes + kept.length, line, length);
            kept.length += length;
        }
        line += length;
    }
    kept.bytes[kept.length] = '\0';
    free(whole.bytes);
    return kept;
}

static void test_real(const char *name, uint64_t peak_bytes, uint64_t alloc_count, uint64_t free_count)
{
    const char *folder = getenv("GPUARENA_TRACES");
    char path[1024], spec[1100];
    op_stream stream;
    problem why;
    snprintf(path, sizeof path, "%s/%s", folder ? folder : "../shared/traces", name);
    if (access(path, R_OK)) {
        SKIP("%s is not there (GPUARENA_TRACES names the folder)", path);
        return;
    }
    snprintf(spec, sizeof spec, "replay:%s", path);
    if (!CHECK_MSG(make_plain(spec, &stream, &why) == 0, "%s is read", name)) {
        return;
    }
    CHECK_U64(stream.requested_peak_bytes, ==, peak_bytes);
    CHECK_U64(stream.alloc_count, ==, alloc_count);
    CHECK_U64(stream.free_count, ==, free_count);
    check_fixed_point(name, &stream);
    if (strstr(name, ".trace")) {
        buffer ours = stream_text(&stream), theirs = without_comments(path);
        CHECK_MSG(strcmp(ours.bytes, theirs.bytes) == 0, "%s: written again, it is the same, comments aside", name);
        free(ours.bytes);
        free(theirs.bytes);
    }
    op_stream_free(&stream);
}

int main(void)
{
    test_trace();
    test_free_streams();
    test_rmm();
    test_intervals();
    test_real("pytorch/medium_128_training.trace", 7013335044u, 7190, 6305);
    test_real("pytorch/medium_512_training.trace", 12426629128u, 8255, 7370);
    test_real("intervals/somas_pangu_2.6B.csv", 5530099775u, 18692, 18692);
    test_real("intervals/somas_resnet50.csv", 1515472556u, 1042, 1042);
    test_real("intervals/minimalloc_A.csv", 1048576, 154, 154);
    test_real("intervals/minimalloc_C.csv", 1039360, 203, 203);
    test_real("intervals/minimalloc_F.csv", 1048576, 296, 296);
    test_real("intervals/minimalloc_H.csv", 1048576, 316, 316);
    return tap_done();
}
