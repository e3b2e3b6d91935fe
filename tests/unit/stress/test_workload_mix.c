/* Tests of several threads in one op stream: whose ops they are, numbers of streams and blocks; and how long a stream
   may be. Turns, the grammar, and numbers of threads: tests/cli/cases/recordings_and_specs.case.
   It must not know families but by name. */
#include "stress/workload/workload.h"
#include "workload_text.h"

static problem why;

static void make(const char *text, uint64_t threads, op_stream *stream)
{
    const workload_options options = { .threads_given = 1, .threads = threads, .seed_given = 1, .seed = 7 };
    if (!CHECK_MSG(mix_make(text, &options, stream, &why) == 0, "%s is made, threads %d", text, (int)threads)) {
        give_up(why.text);
    }
}

/* One thread's ops in the whole are the ops of its own workload, in order, on streams of its own. */
static void check_thread(const op_stream *whole, uint32_t thread, uint32_t member, uint32_t members,
                         const op_stream *own)
{
    size_t at = 0, wrong = 0;
    uint32_t *block = calloc(own->block_count + 1, sizeof *block);
    if (!block) give_up("no memory");
    for (size_t i = 0; i < whole->op_count; i++) {
        const op *found = &whole->ops[i], *expected = &own->ops[at];
        if (op_stream_thread(whole, i) != thread) continue;
        if (at++ >= own->op_count) break;
        wrong += found->kind != expected->kind || found->count != expected->count;
        wrong += found->stream != (found->kind == OP_STEP ? 0 : expected->stream * members + member);
        wrong += found->value != (found->kind == OP_WAIT ? expected->value * members + member : expected->value);
        if (found->kind == OP_ALLOC) block[expected->first] = found->first;
        if (found->kind == OP_FREE) wrong += block[expected->first] != found->first;
        for (uint32_t touch = 0; found->kind == OP_KERNEL && touch < found->count; touch++)
            wrong += whole->touches[found->first + touch] != block[own->touches[expected->first + touch]];
        if (found->kind == OP_STEP)
            wrong += strcmp(whole->labels[found->first], own->labels[expected->first]) != 0;
    }
    CHECK_MSG(wrong == 0 && at == own->op_count, "thread %d does its own workload, whole: %d of %d ops, %d wrong",
              (int)thread, (int)at, (int)own->op_count, (int)wrong);
    free(block);
}

static void make_alone(const char *spec, uint32_t thread, op_stream *stream)
{
    const workload_options options = { .seed_given = 1, .seed = turns_seed(7, thread) };
    if (workload_make(spec, &options, stream, &why)) give_up(why.text);
}

static void test_threads(const char *spec, uint32_t threads)
{
    op_stream whole, own;
    make(spec, threads, &whole);
    CHECK_U64(op_stream_threads(&whole), ==, threads);
    CHECK_U64(whole.seed, ==, 7);
    for (uint32_t thread = 0; thread < threads; thread++) {
        make_alone(spec, thread, &own);
        check_thread(&whole, thread, thread, threads, &own);
        op_stream_free(&own);
    }
    op_stream_free(&whole);
}

/* A list joined by '+': dealt out in turn. */
static void test_dealing(void)
{
    static const char *const specs[] = { "uniform:n=60", "producer:n=10,steps=1" };
    op_stream whole, own;
    make("uniform:n=60+producer:n=10,steps=1", 5, &whole);
    CHECK_U64(op_stream_threads(&whole), ==, 5);
    for (uint32_t thread = 0; thread < 5; thread++) {
        static const uint32_t members[] = { 0, 3, 1, 4, 2 };         /* of all uniform, then of all producer */
        make_alone(specs[thread % 2], thread, &own);
        check_thread(&whole, thread, members[thread], 5, &own);
        op_stream_free(&own);
    }
    op_stream_free(&whole);
}

/* larson has threads of its own, dealt out among the others: every second one of these. uniform has no kernels. */
static void test_threaded(void)
{
    op_stream stream;
    uint64_t seen = 0, of_larson = 0;
    make("uniform:n=9+larson:blocks=5", 7, &stream);
    for (size_t at = 0; at < stream.op_count; at++) {
        uint64_t bit = (uint64_t)1 << op_stream_thread(&stream, at);
        seen |= bit;
        of_larson |= stream.ops[at].kind == OP_KERNEL ? bit : 0;
    }
    CHECK_U64(seen, ==, 127);
    CHECK_U64(of_larson, ==, 42);
    op_stream_free(&stream);
}

/* Each thread's operations are made before turns are drawn: sixty-four long ones would be 64 GiB of the host. */
static void check_most(const char *text, const workload_options *options, const char *message)
{
    op_stream stream;
    why.exit_code = 0;
    int failed = mix_make(text, options, &stream, &why);
    CHECK_MSG(failed && why.exit_code == EXIT_USAGE && strstr(why.text, message) && !stream.ops, "refused: %s",
              why.text);
}

static void test_most(void)
{
    workload_options options = { .threads_given = 1, .threads = 4, .ops_given = 1, .ops = 300, .most_ops = 400 };
    char trace[600] = "gpuarena-trace 1\na 7 64 0\n", spec[64];
    op_stream stream;
    CHECK_INT(mix_make("uniform:n=100", &options, &stream, &why), ==, 0);
    CHECK_U64(stream.alloc_count + stream.free_count, ==, 300);
    op_stream_free(&stream);
    options.threads = 5;
    check_most("uniform:n=100", &options, "workload \"uniform:n=100\": its threads make more than 800 operations "
               "together, expected fewer or shorter ones");
    options.ops_given = 0;
    options.threads = 3;
    check_most("uniform:n=100", &options, "workload uniform:n=100: more than 400 operations, expected a shorter");
    check_most("uniform:n=201", &options, "workload uniform: more than 400 operations, expected a shorter workload");
    options.most_ops = 10;
    for (int line = 0; line < 8; line++) strcat(trace, "k 0 1 7 7 7 7 7 7 7 7 7 7\n");
    write_trace(trace, strlen(trace));
    snprintf(spec, sizeof spec, "replay:%s", trace_path);
    options.threads = 1;
    CHECK_INT(mix_make(spec, &options, &stream, &why), ==, 0);
    op_stream_free(&stream);
    options.threads = 2;
    check_most(spec, &options, "its threads make more than 80 touches of blocks together, expected fewer");
}

/* Whatever makes a stream long, it ends at the limit, which is lower here than a stream's own, to save time. */
static void test_limit(void)
{
    enum { MOST = 20000 };
    static const char *const endless[] = {
        "uniform:n=10000000", "train:layers=1000000", "producer:n=10000000,steps=1000000",
        "producer:images=65536,side=1,n=2000", "larson:blocks=1000000,rounds=9", "larson:rounds=1000000",
        "phases:layers=1,hidden=1,ff=1,generate=1000000", "phases:steps=1000000,layers=1,updates=0,generate=0",
        "pareto:n=10000000,places=10000000", "cnn:steps=1000000", "dataset:items=4294967295,batch=1,prefetch=65536",
        "dataset:items=1,steps=1000000", "embedding:steps=1000000", "tape:layers=100000,keep=64",
        "tape:steps=1000000", "growing:layers=1000000", "growing:tokens=1000000,layers=1",
        "growing:steps=1000000,layers=1,tokens=0",
        "serve:requests=1000000,rate=1", "serve:requests=1,block=1,prefix=1048576,sharing=100,budget=16777216",
        "rival:steps=1000000"
    };
    const workload_options options = { .most_ops = MOST };
    for (size_t i = 0; i < sizeof endless / sizeof endless[0]; i++) {
        char message[120];
        op_stream stream;
        why.exit_code = 0;
        int failed = workload_make(endless[i], &options, &stream, &why);
        snprintf(message, sizeof message, "workload %.*s: more than %d operations, expected a shorter workload",
                 (int)strcspn(endless[i], ":"), endless[i], (int)MOST);
        CHECK_MSG(failed && why.exit_code == EXIT_USAGE && !stream.ops && !strcmp(why.text, message), "%s ends: %s",
                  endless[i], why.text);
    }
}

int main(void)
{
    test_threads("uniform:n=40", 3);
    test_threads("train:layers=1,steps=2,zero3=2,streams=2", 2);
    test_threads("producer:n=10,steps=2,images=2", 4);
    test_dealing();
    test_threaded();
    test_most();
    test_limit();
    return tap_done();
}
