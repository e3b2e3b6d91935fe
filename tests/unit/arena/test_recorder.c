/* The recorder of the examples: a trace that is replayed through an arena is recorded to the byte as it was; and what
   a program does beside allocating and freeing is written as lines that replay takes. Not what replays show.
   (GPUARENA_TRACES) */
#include "gpuarena.h"

#include "examples/recorder.h"
#include "stress/run/runner.h"
#include "sim_device.h"
#include "workload_text.h"

enum { MOST_STREAMS = 16 };

typedef struct player {
    sim_bench        bench;
    gpuarena        *arena;
    recorder         recorder;
    gpuarena_stream  streams[MOST_STREAMS];      /* by number in the trace; made when first named */
    void           **blocks;                     /* by number */
} player;

static player *player_open(void)
{
    static player self;
    gpuarena_config config = GPUARENA_INIT;
    sim_config machine = { 0, 0, 0, NULL, NULL, 0, 0 };
    memset(&self, 0, sizeof self);
    machine.capacity_bytes = GIB(160);
    self.bench = bench_open(&machine);
    config.driver = &self.bench.driver;
    if (gpuarena_create(&config, &self.arena)) give_up("no arena");
    return &self;
}

static gpuarena_stream player_stream(player *self, uint64_t number)
{
    if (number >= MOST_STREAMS) give_up("a stream number beyond the test's");
    if (number && !self->streams[number] &&
        sim_stream_create(self->bench.machine, 0, 0, &self->streams[number])) give_up("no stream");
    return self->streams[number];
}

/* Frees what is left, and ends the arena and its device. */
static void player_close(player *self)
{
    CHECK_INT(gpuarena_reset(self->arena, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_destroy(self->arena), ==, GPUARENA_OK);
    bench_close(&self->bench);
}

static gpuarena_result player_alloc(player *self, const op *next, const char *tag)
{
    gpuarena_request request = GPUARENA_INIT;
    request.bytes = next->value;
    request.stream = player_stream(self, next->stream);
    request.tag = tag ? gpuarena_tag(tag) : 0;
    return gpuarena_alloc_ex(self->arena, &self->blocks[next->first], &request);
}

static gpuarena_result player_op(player *self, const op_stream *stream, const op *next)
{
    uint32_t tag = next->kind == OP_ALLOC ? stream->tags[next->first] : 0;
    switch (next->kind) {
    case OP_ALLOC: return player_alloc(self, next, tag ? stream->labels[tag - 1] : NULL);
    case OP_FREE:
        return gpuarena_free(self->arena, self->blocks[next->first], player_stream(self, next->stream));
    case OP_STEP:
        recorder_step(&self->recorder, stream->labels[next->first]);
        return GPUARENA_OK;
    case OP_KERNEL:
    case OP_WAIT:
    case OP_RIVAL: break;
    }
    return GPUARENA_OK;
}

/* What the recorder writes of this stream: blocks by their order, streams by their first use,
   frees that name only another stream than the allocation's; neither work nor waits. */
static void canonical(op_stream *stream)
{
    uint64_t numbers[MOST_STREAMS] = { 0 }, *homes = calloc(stream->block_count + 1, sizeof *homes), count = 0;
    size_t kept = 0;
    if (!homes) give_up("no memory");
    for (size_t at = 0; at < stream->op_count; at++) {
        op *next = &stream->ops[at];
        if (next->kind == OP_KERNEL || next->kind == OP_WAIT) continue;
        if (next->stream >= MOST_STREAMS) give_up("a stream number beyond the test's");
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

/* Plays the workload through an arena with the recorder; the text that it has written. */
static buffer recorded(const op_stream *stream)
{
    player *self = player_open();
    buffer text = { NULL, 0 };
    FILE *out = open_memstream(&text.bytes, &text.length);
    gpuarena_result result = GPUARENA_OK;
    self->blocks = calloc(stream->block_count + 1, sizeof *self->blocks);
    if (!out || !self->blocks) give_up("no memory");
    CHECK_INT(recorder_begin(&self->recorder, self->arena, out, 0), ==, GPUARENA_OK);
    for (size_t at = 0; at < stream->op_count && !result; at++) result = player_op(self, stream, &stream->ops[at]);
    CHECK_INT(result, ==, GPUARENA_OK);
    CHECK_INT(recorder_end(&self->recorder, self->arena), ==, 0);
    player_close(self);
    fclose(out);
    free(self->blocks);
    return text;
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
    buffer first = recorded(&stream);
    canonical(&stream);
    buffer expected = stream_text(&stream);
    check_same(first, expected, workload);
    op_stream_free(&stream);
    if (replay_bytes(first.bytes, first.length, &stream, &why)) give_up(why.text);
    buffer second = recorded(&stream);
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

/* How the simulated device's judge takes a replay of the text. */
static pass_status judged(const char *text)
{
    pass_settings settings;
    pass_result result;
    policy chosen;
    op_stream stream;
    problem why = { 0, "" };
    progress quiet = progress_start("never", 1, 1);
    memset(&settings, 0, sizeof settings);
    settings.device.sim.capacity_bytes = MIB(16);
    settings.device.op_ns = 2000;
    settings.verify = VERIFY_FULL;
    settings.progress = &quiet;
    if (replay_bytes(text, strlen(text), &stream, &why)) give_up(why.text);
    if (policy_parse("segments:growth=exact", 0, &chosen, &why)) give_up(why.text);
    pass_run(&settings, &stream, &chosen, NULL, &result);
    op_stream_free(&stream);
    return result.status;
}

/* What is live comes first; uses, frees on other streams, resizes, failures; blocks for every stream are stream 0's.
   Replay takes the uses as they were made. */
static void test_each_line(void)
{
    static const char expected[] =
        "gpuarena-trace 1\na 0 1000 0\nk 0 500 0\na 1 3000000 1\nk 1 500 1\nf 1\na 2 3000000 1\nk 1 500 2\ns warm\n"
        "w 2 1\nk 2 500 2\nf 2 2\na 3 70 0 key_values\nk 0 500 3\nf 3\na 3 60 0 key_values\nk 0 500 3\n"
        "# out_of_memory for 1125899906842624 bytes\nf 3\na 4 70 0 tag9\nk 0 500 4\n";
    player *self = player_open();
    gpuarena_stream one = player_stream(self, 5), two = player_stream(self, 3);
    gpuarena_request tagged = GPUARENA_INIT;
    void *old, *shared, *small, *never = NULL;
    buffer text = { NULL, 0 };
    FILE *out = open_memstream(&text.bytes, &text.length);
    if (!out) give_up("no memory");
    CHECK_INT(gpuarena_alloc(self->arena, &old, 1000, NULL), ==, GPUARENA_OK);
    CHECK_INT(recorder_begin(&self->recorder, self->arena, out, 500), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(self->arena, &shared, 3000000, one), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(self->arena, shared, one), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(self->arena, &shared, 3000000, one), ==, GPUARENA_OK);
    recorder_step(&self->recorder, "warm");
    CHECK_INT(gpuarena_use(self->arena, shared, two), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_free(self->arena, shared, two), ==, GPUARENA_OK);
    tagged.bytes = 70;
    tagged.tag = gpuarena_tag("key values");
    tagged.stream = GPUARENA_ANY_STREAM;
    CHECK_INT(gpuarena_alloc_ex(self->arena, &small, &tagged), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_resize(self->arena, small, 60, NULL), ==, GPUARENA_OK);
    CHECK_INT(gpuarena_alloc(self->arena, &never, (uint64_t)1 << 50, NULL), ==, GPUARENA_OUT_OF_MEMORY);
    CHECK_INT(gpuarena_free(self->arena, small, GPUARENA_ANY_STREAM), ==, GPUARENA_OK);
    tagged.tag = 9;
    CHECK_INT(gpuarena_alloc_ex(self->arena, &small, &tagged), ==, GPUARENA_OK);
    CHECK_INT(recorder_end(&self->recorder, self->arena), ==, 0);
    CHECK_INT(gpuarena_free(self->arena, old, NULL), ==, GPUARENA_OK);
    player_close(self);
    fclose(out);
    CHECK_STR(text.bytes, expected);
    CHECK_INT(judged(text.bytes), ==, PASS_OK);
    char *wait = strstr(text.bytes, "w 2 1\n");
    if (wait) memcpy(wait, "#####", 5);          /* who uses memory of another has waited for it */
    CHECK_INT(judged(text.bytes), ==, PASS_VERIFY_FAILED);
    free(text.bytes);
}

/* A file that cannot take it all is told of at the end. */
static void test_full(void)
{
    FILE *out = fopen("/dev/full", "w");
    if (!out) {
        SKIP("no /dev/full");
        return;
    }
    player *self = player_open();
    CHECK_INT(recorder_begin(&self->recorder, self->arena, out, 0), ==, GPUARENA_OK);
    CHECK_INT(recorder_end(&self->recorder, self->arena), !=, 0);
    fclose(out);
    player_close(self);
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
