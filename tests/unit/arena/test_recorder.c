/* The recorder of the examples: a trace that is replayed through an arena is recorded to the byte as it was; and
   other actions of a program than allocations and frees are written as lines that replay takes. Replays of such
   lines: cases/recordings_and_specs.case. (GPUARENA_TRACES) */
#include "scripted.h"

#include "examples/recorder.h"
#include "workload_text.h"

enum { TRACE_STREAMS = 16 };

static recorder trace;
static buffer written;

/* Records the arena of the script. */
static void record(uint64_t work_ns)
{
    FILE *out = open_memstream(&written.bytes, &written.length);
    if (!out) give_up("no memory");
    CHECK_INT(recorder_begin(&trace, arena_now(), out, work_ns), ==, GPUARENA_OK);
}

/* The text that it has written. */
static buffer recorded(void)
{
    CHECK_INT(recorder_end(&trace, arena_now()), ==, 0);
    fclose(trace.out);
    return written;
}

/* ---- replays */

static gpuarena_stream stream_of(uint64_t number, gpuarena_stream *made)
{
    if (number >= TRACE_STREAMS) give_up("a stream number beyond the test's");
    if (number && !made[number] && sim_stream_create(device.machine, 0, 0, &made[number])) give_up("no stream");
    return made[number];
}

/* Plays the workload through an arena; returns the record. */
static buffer play(const op_stream *played)
{
    gpuarena_stream made[TRACE_STREAMS] = { NULL };
    void **blocks = calloc(played->block_count + 1, sizeof *blocks);
    int wrong = 0;
    if (!blocks) give_up("no memory");
    script("device 160G; arena");
    record(0);
    for (size_t at = 0; at < played->op_count && !wrong; at++) {
        const op *next = &played->ops[at];
        gpuarena_request request = GPUARENA_INIT;
        uint32_t tag = next->kind == OP_ALLOC ? played->tags[next->first] : 0;
        request.bytes = next->value;
        request.tag = tag ? gpuarena_tag(played->labels[tag - 1]) : 0;
        if (next->kind == OP_ALLOC || next->kind == OP_FREE) request.stream = stream_of(next->stream, made);
        if (next->kind == OP_STEP) recorder_step(&trace, played->labels[next->first]);
        else if (next->kind == OP_ALLOC) wrong = gpuarena_alloc_ex(arena_now(), &blocks[next->first], &request) != 0;
        else if (next->kind == OP_FREE) wrong = gpuarena_free(arena_now(), blocks[next->first], request.stream) != 0;
    }
    CHECK_INT(wrong, ==, 0);
    buffer text = recorded();
    CHECK_INT(gpuarena_reset(arena_now(), NULL), ==, GPUARENA_OK);
    script_end();
    free(blocks);
    return text;
}

/* The stream as the recorder writes it: blocks by their order, streams by their first use, frees that name only
   another stream than the allocation's; neither work nor waits. */
static void canonical(op_stream *stream)
{
    uint64_t numbers[TRACE_STREAMS] = { 0 }, *homes = calloc(stream->block_count + 1, sizeof *homes), count = 0;
    size_t kept = 0;
    if (!homes) give_up("no memory");
    for (size_t at = 0; at < stream->op_count; at++) {
        op *next = &stream->ops[at];
        if (next->kind == OP_KERNEL || next->kind == OP_WAIT) continue;
        if (next->stream >= TRACE_STREAMS) give_up("a stream number beyond the test's");
        if (next->stream && !numbers[next->stream]) numbers[next->stream] = ++count;
        next->stream = numbers[next->stream];
        if (next->kind == OP_ALLOC) homes[next->first] = next->stream;
        if (next->kind == OP_FREE) next->count = next->stream != homes[next->first];
        stream->ops[kept++] = *next;
    }
    stream->op_count = kept;
    for (size_t block = 0; block < stream->block_count; block++) stream->ids[block] = block;
    free(homes);
}

static void check_same(buffer found, buffer expected, const char *what)
{
    size_t at = 0;
    while (at < found.length && at < expected.length && found.bytes[at] == expected.bytes[at]) at++;
    if (!CHECK_MSG(found.length == expected.length && at == found.length, "%s: %lu bytes", what,
                   (unsigned long)expected.length)) {
        while (at > 0 && found.bytes[at - 1] != '\n') at--;
        printf("#   found:    %.60s\n#   expected: %.60s\n", found.bytes + at, expected.bytes + at);
    }
}

/* The record of a replay is the trace; and the record of the record's replay is the record. */
static void test_round_trip(const char *workload)
{
    op_stream stream;
    problem why = { 0, "" };
    if (make_plain(workload, &stream, &why)) give_up(why.text);
    buffer first = play(&stream);
    canonical(&stream);
    buffer expected = stream_text(&stream);
    check_same(first, expected, workload);
    op_stream_free(&stream);
    if (replay_bytes(first.bytes, first.length, &stream, &why)) give_up(why.text);
    buffer second = play(&stream);
    check_same(second, first, "and once more");
    op_stream_free(&stream);
    free(first.bytes);
    free(second.bytes);
    free(expected.bytes);
}

static void test_recordings(void)
{
    static const char *const names[] = { "pytorch/medium_128_training.trace", "intervals/somas_resnet50.csv",
                                         "intervals/minimalloc_A.csv" };
    const char *folder = getenv("GPUARENA_TRACES");
    char workload[512];
    for (size_t at = 0; at < COUNT(names); at++) {
        snprintf(workload, sizeof workload, "replay:%s/%s", folder ? folder : "../shared/traces", names[at]);
        if (!access(workload + strlen("replay:"), R_OK)) test_round_trip(workload);
        else SKIP("no %s: set GPUARENA_TRACES", workload + strlen("replay:"));
    }
}

/* ---- lines */

/* Live blocks come first; then uses, frees on other streams, resizes, failures; blocks for every stream are stream
   0's. */
static void test_each_line(void)
{
    static const char expected[] =
        "gpuarena-trace 1\na 0 1000 0\nk 0 500 0\na 1 3000000 1\nk 1 500 1\nf 1\na 2 3000000 1\nk 1 500 2\ns warm\n"
        "w 2 1\nk 2 500 2\nf 2 2\na 3 70 0 key_values\nk 0 500 3\nf 3\na 3 60 0 key_values\nk 0 500 3\n"
        "# out_of_memory for 1125899906842624 bytes\nf 3\na 4 70 0 tag9\nk 0 500 4\n";
    char text[300];
    script("device 160G; arena; a old 1000 unused");
    record(500);
    script("a 1 3000000 on s5 unused; f 1 on s5; a 2 3000000 on s5 unused");
    recorder_step(&trace, "warm");
    snprintf(text, sizeof text, "use 2 on s3; f 2 on s3; a 3 70 on any tag %" PRIu32 " unused; resize 3 60;"
             "refuse a 4 1024T: OUT_OF_MEMORY; f 3 on any; a 5 70 on any tag 9 unused", gpuarena_tag("key values"));
    script(text);
    buffer lines = recorded();
    CHECK_STR(lines.bytes, expected);
    free(lines.bytes);
    script_end();
}

/* The end of a record reports a file that cannot take it all. */
static void test_full(void)
{
    FILE *out = fopen("/dev/full", "w");
    if (!out) {
        SKIP("no /dev/full");
        return;
    }
    script("device 1G; arena; a 1 100");
    CHECK_INT(recorder_begin(&trace, arena_now(), out, 0), ==, GPUARENA_OK);
    CHECK_INT(recorder_end(&trace, arena_now()), !=, 0);
    fclose(out);
    script_end();
}

int main(void)
{
    test_each_line();
    test_full();
    test_recordings();
    test_round_trip("train:layers=2,hidden=256,batch=1,steps=2");
    test_round_trip("train:layers=2,hidden=256,batch=1,steps=1,zero3=8,streams=2");
    test_round_trip("producer:n=500,consumers=3");
    return tap_done();
}
