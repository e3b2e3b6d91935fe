/* Host memory that runs out while an op stream is made: the Nth call fails, for every N, once and from then on.
   Knows the sources, which it includes so as to put its own allocation calls in their place.
   (under ASan or valgrind it also shows that nothing leaks) */
#include <errno.h>

#include "stress/base/text.h"
#include "workload_text.h"

static uint64_t call_count, failing_call;        /* 0: none */
static int      fails_lastingly;

static int fails_now(void)
{
    call_count++;
    return failing_call > 0 && (call_count == failing_call || (fails_lastingly && call_count > failing_call));
}

static void *failing_malloc(size_t bytes)
{
    return fails_now() ? NULL : malloc(bytes);
}

static void *failing_calloc(size_t count, size_t bytes)
{
    return fails_now() ? NULL : calloc(count, bytes);
}

static void *failing_realloc(void *old, size_t bytes)
{
    return fails_now() ? NULL : realloc(old, bytes);
}

#define malloc failing_malloc
#define calloc failing_calloc
#define realloc failing_realloc
#include "stress/base/array.c"
#include "stress/workload/cnn.c"
#include "stress/workload/dataset.c"
#include "stress/workload/embedding.c"
#include "stress/workload/growing.c"
#include "stress/base/hash.c"
#include "stress/workload/larson.c"
#include "stress/workload/maker.c"
#include "stress/workload/workload.c"
#include "stress/workload/pareto.c"
#include "stress/workload/phases.c"
#include "stress/workload/producer.c"
#include "stress/workload/replay.c"
#include "stress/workload/rival.c"
#include "stress/workload/serve.c"
#include "stress/base/slice.c"
#include "stress/workload/family.c"
#include "stress/base/splitmix64.c"
#include "stress/workload/stream.c"
#include "stress/workload/tape.c"
#include "stress/workload/train.c"
#include "stress/workload/uniform.c"
#undef malloc
#undef calloc
#undef realloc

static uint64_t digest(const op_stream *stream)
{
    buffer text = stream_text(stream);
    uint64_t hash = slice_hash(slice_of(text.bytes));
    free(text.bytes);
    return hash;
}

static int make_joined(const char *text, op_stream *stream, problem *why)
{
    workload_options none = { 0 };
    why->exit_code = 0;
    return mix_make(text, &none, stream, why);
}

/* A failed call must end in EXIT_HARNESS, with nothing left behind; without one the stream is what it was. */
static void test_every_call(const char *spec, int lastingly)
{
    op_stream stream;
    problem why;
    uint64_t wrong_count = 0, expected;
    failing_call = 0;
    fails_lastingly = lastingly;
    if (!CHECK_MSG(make_joined(spec, &stream, &why) == 0, "%s is made while there is memory", spec)) {
        printf("#   %s\n", why.text);
        return;
    }
    expected = digest(&stream);
    op_stream_free(&stream);
    for (failing_call = 1; call_count = 0, make_joined(spec, &stream, &why) != 0; failing_call++) {
        wrong_count += why.exit_code != EXIT_HARNESS || !strstr(why.text, "no host memory") || stream.ops != NULL;
    }
    CHECK_INT(wrong_count, ==, 0);
    CHECK_MSG(failing_call > 5, "%d calls failed in turn%s", (int)failing_call - 1, lastingly ? ", lastingly" : "");
    CHECK_U64(digest(&stream), ==, expected);
    op_stream_free(&stream);
    failing_call = 0;
}

static void test_replay(const char *bytes)
{
    char spec[64];
    write_trace(bytes, strlen(bytes));
    snprintf(spec, sizeof spec, "replay:%s", trace_path);
    test_every_call(spec, 0);
    test_every_call(spec, 1);
}

/* More rows than the first capacity of every array, so that growing fails too. */
static void test_long_replays(void)
{
    enum { ROW_COUNT = 300 };
    static char text[ROW_COUNT * 80];
    size_t length = (size_t)sprintf(text, "gpuarena-trace 1\n");
    for (int i = 0; i < ROW_COUNT; i++) {
        length += (size_t)sprintf(text + length, "a %d %d 0 tag%d\ns step%d\nk 0 10 %d\n", i, i, i, i, i);
    }
    test_replay(text);
    length = (size_t)sprintf(text, "Time,Action,Pointer,Size,Stream\n");
    for (int i = 1; i < ROW_COUNT; i++) {
        length += (size_t)sprintf(text + length, "t,allocate,0x%x,%d,0\n", (unsigned)i, i);
    }
    test_replay(text);
    length = (size_t)sprintf(text, "id,lower,upper,size\n");
    for (int i = 0; i < ROW_COUNT; i++) {
        length += (size_t)sprintf(text + length, "%d,%d,%d,64\n", i, i, i + 100);
    }
    test_replay(text);
}

int main(void)
{
    static const char *const specs[] = {
        "uniform:n=200", "train:layers=2,steps=2,zero3=2,streams=2", "larson:blocks=20,rounds=2",
        "uniform:n=40+larson:blocks=5,rounds=2+train:layers=1,steps=1", "producer:n=50,steps=2,images=2,consumers=2",
        "phases:layers=1,steps=2,streams=2", "pareto:n=300,places=64", "dataset:items=900,batch=100",
        "tape:layers=1,steps=2,seq=9", "growing:layers=2,tokens=4,steps=2", "embedding:steps=1",
        "cnn:batch=1,steps=1",
        "serve:lengths=code,requests=3,prefix=32", "serve:lengths=code,requests=3,layout=contiguous",
        "rival:layers=1,steps=1,from=3,until=0", "rival:layers=1,steps=1,from=3,until=9,repeat=2"
    };
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        test_every_call(specs[i], 0);
        test_every_call(specs[i], 1);
    }
    test_long_replays();
    return tap_done();
}
