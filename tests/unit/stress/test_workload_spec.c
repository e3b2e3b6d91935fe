/* Tests of specifications: names, options, the command line's seed, steps and ops, and the message for each mistake.
   Knows families by name alone. */
#include "workload_text.h"

static const struct { const char *spec, *message; } mistakes[] = {
    { "", "no workload \"\", expected one of uniform, train, producer, larson, phases, replay" },
    { "trian", "no workload \"trian\"" }, { "trian", "did you mean 'train'?" },
    { "trian", "expected one of uniform, train, producer, larson, phases, replay" },
    { "nothing", "no workload \"nothing\", expected one of uniform, train, producer, larson, phases, replay" },
    { "Train", "did you mean 'train'?" },
    { "\x1b[31m", "no workload \"\\x1b[31m\"," },
    { "train:", "workload train: \"\", expected key=value" },
    { "train:layers", "workload train: \"layers\", expected key=value" },
    { "train:layers=2,", "workload train: \"\", expected key=value" },
    { "train:layer=2", "did you mean 'layers'?" },
    { "train:layer=2", "one of layers, hidden, ff, heads, vocab, batch, seq, steps, seed, recompute, zero3, lora" },
    { "train:=2", "workload train: no option \"\", expected one of layers" },
    { "train:layers=2,layers=3", "workload train: option layers is given twice" },
    { "train:layers=", "workload train: layers is \"\", expected a number from 0 to 1000000" },
    { "train:layers=x", "workload train: layers is \"x\", expected a number" },
    { "train:layers=-1", "workload train: layers is \"-1\", expected a number" },
    { "train:layers=1-2", "workload train: layers is \"1-2\", expected a number" },
    { "train:layers=2=3", "workload train: layers is \"2=3\", expected a number" },
    { "train:layers=1000001", "workload train: layers is \"1000001\", expected a number from 0 to 1000000" },
    { "train:layers=1000000000000000000", "layers is \"1000000000000000000\", expected a number from 0 to 1000000" },
    { "train:seed=18446744073709551616", "seed is \"18446744073709551616\", expected a number" },
    { "train:streams=0", "streams is \"0\", expected a number from 1 to 2" },
    { "train:recompute=2", "recompute is \"2\", expected a number from 0 to 1" },
    { "train:seq=", "seq is \"\", expected N or LO-HI, numbers from 0 to 4294967295" },
    { "train:seq=9-8", "seq is \"9-8\", expected N or LO-HI" },
    { "train:seq=8-", "seq is \"8-\", expected N or LO-HI" },
    { "train:seq=-8", "seq is \"-8\", expected N or LO-HI" },
    { "train:seq=1-2-3", "seq is \"1-2-3\", expected N or LO-HI" },
    { "train:hidden=4294967295,layers=1", "a size or duration passes 2^64 - 1, expected smaller" },
    { "train:batch=4294967295,seq=4294967295,steps=1,layers=0,hidden=8", "workload train: a size or duration" },
    { "train:layers=0,steps=0,hidden=2147483648,vocab=1", "a size or duration passes 2^64 - 1" },
    { "train:layers=1,hidden=2000000000,ff=1,vocab=1,steps=0", "live ones, expected a sum below 2^64" },
    { "train:layers=1000000,steps=1000000,hidden=1,ff=1,vocab=1", "more than 16777216 operations" },
    { "uniform:n=0", "workload uniform: n is \"0\", expected a number from 1 to 10000000" },
    { "uniform:max=1048577", "workload uniform: max is \"1048577\", expected a number from 1 to 1048576" },
    { "uniform:cpa=1", "workload uniform: no option \"cpa\"" },
    { "producer:n=0", "workload producer: n is \"0\", expected a number from 1 to 10000000" },
    { "producer:depth=0", "workload producer: depth is \"0\", expected a number from 1 to 1048576" },
    { "producer:consumers=65", "workload producer: consumers is \"65\", expected a number from 0 to 64" },
    { "producer:side=9-8,images=1",
      "workload producer: side is \"9-8\", expected N or LO-HI, numbers from 1 to 65536" },
    { "producer:images=2,max=2", "workload producer: max is given beside images, expected one of them" },
    { "producer:side=640", "workload producer: side is given without images, expected images=N beside it" },
    { "producer:side=640,images=0", "workload producer: side is given without images" },
    { "producer:consumer=2", "did you mean 'consumers'?" },
    { "larson:threads=0", "workload larson: threads is \"0\", expected a number from 1 to 64" },
    { "larson:threads=65", "workload larson: threads is \"65\", expected a number from 1 to 64" },
    { "larson:blocks=0", "workload larson: blocks is \"0\", expected a number from 1 to 1000000" },
    { "larson:size=9-8", "workload larson: size is \"9-8\", expected N or LO-HI, numbers from 1 to 1048576" },
    { "producr", "did you mean 'producer'?" },
    { "phases:layers=0", "workload phases: layers is \"0\", expected a number from 1 to 1000000" },
    { "phases:batch=0-4", "workload phases: batch is \"0-4\", expected N or LO-HI, numbers from 1 to 4294967295" },
    { "phases:streams=3", "workload phases: streams is \"3\", expected a number from 1 to 2" },
    { "phases:zero3=8", "workload phases: no option \"zero3\", expected one of layers, hidden, ff, heads, vocab" },
    { "phases:layers=1,hidden=4294967295", "workload phases: a size or duration passes 2^64 - 1" },
    { "phases:layers=1,hidden=1,vocab=4294967295,batch=4294967295", "workload phases: a size or duration passes" },
    { "phases:updates=1000000,seq=4294967295,batch=4294967295", "workload phases: a size or duration passes 2^64" },
    { "pareto:size=9", "workload pareto: size spans less than a doubling, expected LO-HI with HI 2 x LO or more" },
    { "pareto:size=9-17", "workload pareto: size spans less than a doubling" },
    { "pareto:places=63", "workload pareto: places is \"63\", expected a number from 64 to 10000000" },
    { "pareto:size=0-4", "workload pareto: size is \"0-4\", expected N or LO-HI, numbers from 1 to 16777216" },
    { "dataset:side=31", "workload dataset: side is \"31\", expected N or LO-HI, numbers from 32 to 65536" },
    { "dataset:side=33-63", "workload dataset: no multiple of 32 from 33 to 63, expected N or a wider LO-HI" },
    { "dataset:items=0", "workload dataset: items is \"0\", expected a number from 1 to 4294967295" },
    { "dataset:items=4294967295,batch=4294967295,side=65536", "workload dataset: a size or duration passes 2^64" },
    { "cnn:image=31", "workload cnn: image is \"31\", expected N or LO-HI, numbers from 32 to 65536" },
    { "cnn:image=33-63", "workload cnn: no multiple of 32 from 33 to 63" },
    { "cnn:dtype=fp8", "workload cnn: dtype is \"fp8\", expected one of fp32, fp16" },
    { "cnn:streams=3", "workload cnn: streams is \"3\", expected a number from 1 to 2" },
    { "serve:lengths=sharegpt", "workload serve: lengths is \"sharegpt\", expected one of conv, code, mooncake" },
    { "serve:model=gpt", "workload serve: model is \"gpt\", expected one of llama3-8b, llama2-7b, llama3-70b" },
    { "serve:budget=593", "workload serve: budget is 593, expected at least 594 (MiB), for the longest request" },
    { "serve:budget=1535,layout=contiguous", "workload serve: budget is 1535, expected at least 1536 (MiB)" },
    { "serve:prefix=8000,budget=1075", "workload serve: budget is 1075, expected at least 1076" },
    { "serve:sharing=101", "workload serve: sharing is \"101\", expected a number from 0 to 100" },
    { "rival:until=2500", "workload rival: until is 2500 and from 2500, expected a later operation, or 0: never" },
    { "rival:until=0,repeat=2", "workload rival: repeat is given without until, expected until=N beside it" },
    { "rival:layers=1,steps=1,from=5000,until=0", "workload rival: from is 5000, expected below 181, the oper" },
    { "tape:keep=65", "workload tape: keep is \"65\", expected a number from 0 to 64" },
    { "tape:seq=4294967295,batch=4294967295", "workload tape: a size or duration passes 2^64 - 1" },
    { "growing:prompt=0", "workload growing: prompt is \"0\", expected N or LO-HI, numbers from 1 to 4294967295" },
    { "growing:batch=4294967295,prompt=4294967295", "workload growing: a size or duration passes 2^64 - 1" },
    { "embedding:slots=3", "workload embedding: slots is \"3\", expected a number from 0 to 2" },
    { "embedding:gradient=full", "workload embedding: gradient is \"full\", expected one of dense, sparse" },
    { "embedding:gradient=", "workload embedding: gradient is \"\", expected one of dense, sparse" },
    { "embedding:gradient=1", "workload embedding: gradient is \"1\", expected one of dense, sparse" },
    { "replay", "workload replay: no file, expected replay:FILE" },
    { "replay:", "workload replay: no file, expected replay:FILE" },
    { "replay:a,b=c", "workload replay: \"a,b=c\", expected a path without commas" }
};

static void test_mistakes(void)
{
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        op_stream stream;
        problem why;
        int result = make_plain(mistakes[i].spec, &stream, &why);
        int is_right = result == -1 && why.exit_code == EXIT_USAGE && strstr(why.text, mistakes[i].message) != NULL;
        CHECK_MSG(is_right && !stream.ops, "refused: %s", slice_show(slice_of(mistakes[i].spec)).text);
        if (!is_right) {
            printf("# exit %d: %s\n# expected: %s\n", why.exit_code, why.text, mistakes[i].message);
        }
    }
}

/* Whatever makes a stream long, it ends at the limit, which is lower here than a stream's own, to save time. */
static void test_limit(void)
{
    enum { MOST = 20000 };
    static const char *const specs[] = {
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
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        char message[120];
        op_stream stream;
        problem why = { 0, "" };
        int failed = workload_make(specs[i], &options, &stream, &why);
        snprintf(message, sizeof message, "workload %.*s: more than %d operations, expected a shorter workload",
                 (int)strcspn(specs[i], ":"), specs[i], (int)MOST);
        CHECK_MSG(failed && why.exit_code == EXIT_USAGE && !stream.ops && !strcmp(why.text, message), "%s ends: %s",
                  specs[i], why.text);
    }
}

/* Every option is shown by `stress list`, and with the default that is in force. */
static void test_defaults(void)
{
    const workload_family *each;
    for (size_t i = 0; (each = workload_family_at(i)) != NULL; i++) {
        CHECK_MSG(each->summary[0] != '\0' && each->options[0] != '\0', "%s says what it is", each->name);
        if (strcmp(each->name, "replay") == 0) {
            continue;
        }
        char spec[300], unknown[100], *list;
        op_stream plain, spelled;
        problem why;
        snprintf(spec, sizeof spec, "%s:%s", each->name, each->options);
        CHECK_INT(make_plain(each->name, &plain, &why), ==, 0);
        CHECK_MSG(make_plain(spec, &spelled, &why) == 0, "its options are accepted as shown: %s", spec);
        buffer plain_text = stream_text(&plain), spelled_text = stream_text(&spelled);
        CHECK_MSG(strcmp(plain_text.bytes, spelled_text.bytes) == 0, "and are its defaults");
        free(plain_text.bytes);
        free(spelled_text.bytes);
        op_stream_free(&plain);
        op_stream_free(&spelled);
        snprintf(unknown, sizeof unknown, "%s:no_such_option=1", each->name);
        CHECK_INT(make_plain(unknown, &plain, &why), ==, -1);
        list = strstr(why.text, "one of ");
        for (char *key = list ? strtok(list + 7, ", ") : NULL; key; key = strtok(NULL, ", ")) {
            char with_equals[60];
            snprintf(with_equals, sizeof with_equals, "%s=", key);
            CHECK_MSG(strstr(each->options, with_equals) != NULL, "%s: option %s is shown", each->name, key);
        }
    }
    CHECK_MSG(!workload_family_at(SIZE_MAX), "past the last family there is none");
}

/* The same stream from the specification and from the command line. */
static void check_same(const char *spec, const char *short_spec, const workload_options *options)
{
    op_stream one, other;
    problem why = { 0, "" };
    CHECK_INT(make_plain(spec, &one, &why), ==, 0);
    CHECK_INT(workload_make(short_spec, options, &other, &why), ==, 0);
    buffer one_text = stream_text(&one), other_text = stream_text(&other);
    CHECK_MSG(strcmp(one_text.bytes, other_text.bytes) == 0, "%s is %s with flags", spec, short_spec);
    free(one_text.bytes);
    free(other_text.bytes);
    op_stream_free(&one);
    op_stream_free(&other);
}

static void check_flag_mistake(const char *spec, const workload_options *options, const char *message)
{
    op_stream stream;
    problem why = { 0, "" };
    CHECK_INT(workload_make(spec, options, &stream, &why), ==, -1);
    CHECK_INT(why.exit_code, ==, EXIT_USAGE);
    CHECK_STR(why.text, message);
}

static void test_flags(void)
{
    const workload_options seed = { .seed_given = 1, .seed = 7 }, steps = { .steps_given = 1, .steps = 2 };
    const workload_options no_ops = { .ops_given = 1 }, too_many = { .steps_given = 1, .steps = 1000001 };
    const workload_options threads = { .threads_given = 1, .threads = 3 };
    check_same("train:layers=2,seed=7", "train:layers=2", &seed);
    check_same("train:layers=2,steps=2", "train:layers=2", &steps);
    check_same("uniform:n=50,seed=7", "uniform:n=50", &seed);
    check_same("uniform:n=50", "uniform:n=50", &steps);
    check_same("producer:n=50,steps=2,seed=7", "producer:n=50,steps=2", &seed);
    check_same("producer:n=50,steps=2", "producer:n=50", &steps);
    check_same("phases:layers=1,steps=1,seed=7", "phases:layers=1,steps=1", &seed);
    check_same("phases:layers=1,steps=2", "phases:layers=1", &steps);
    check_same("larson:blocks=9,seed=7", "larson:blocks=9", &seed);
    check_same("larson:blocks=9,threads=3", "larson:blocks=9", &threads);
    check_same("uniform:n=50", "uniform:n=50", &threads);
    check_flag_mistake("larson:threads=3", &threads,
                       "workload larson: option threads and --threads are both given, expected one of them");
    check_flag_mistake("train:seed=7", &seed,
                       "workload train: option seed and --seed are both given, expected one of them");
    check_flag_mistake("train:steps=2", &steps,
                       "workload train: option steps and --steps are both given, expected one of them");
    check_flag_mistake("train", &too_many, "workload train: --steps is 1000001, expected a number from 0 to 1000000");
    check_flag_mistake("train", &no_ops, "--ops is 0, expected at least 1");
}

/* --ops cuts any family, at the Nth allocation or free; blocks may stay live. */
static void test_ops(const char *spec, uint64_t ops)
{
    workload_options options = { .ops_given = 1 };
    op_stream whole, cut;
    problem why = { 0, "" };
    options.ops = ops;
    CHECK_INT(make_plain(spec, &whole, &why), ==, 0);
    CHECK_INT(workload_make(spec, &options, &cut, &why), ==, 0);
    uint64_t all = whole.alloc_count + whole.free_count;
    CHECK_U64(cut.alloc_count + cut.free_count, ==, ops < all ? ops : all);
    buffer whole_text = stream_text(&whole), cut_text = stream_text(&cut);
    CHECK_MSG(strncmp(whole_text.bytes, cut_text.bytes, cut_text.length) == 0 &&
              (ops >= all) == (whole_text.length == cut_text.length), "%s --ops %d is a prefix", spec, (int)ops);
    free(whole_text.bytes);
    free(cut_text.bytes);
    op_stream_free(&whole);
    op_stream_free(&cut);
}

int main(void)
{
    test_mistakes();
    test_limit();
    test_defaults();
    test_flags();
    test_ops("uniform:n=100", 1);
    test_ops("uniform:n=100", 150);
    test_ops("uniform:n=100", 200);
    test_ops("uniform:n=100", 100000);
    test_ops("train:layers=2,steps=2,zero3=2,streams=2", 3);
    test_ops("train:layers=2,steps=2,zero3=2,streams=2", 171);
    test_ops("train:layers=2,steps=2,recompute=1", 200);
    for (uint64_t ops = 1; ops < 40; ops++) {
        test_ops("producer:n=3,steps=2,images=2,depth=2,consumers=2", ops);
    }
    test_ops("producer:n=100,steps=3", 333);
    for (uint64_t ops = 1; ops < 40; ops += 7) {
        test_ops("larson:threads=3,blocks=2,rounds=3", ops);
    }
    for (uint64_t ops = 1; ops < 1400; ops += ops < 60 ? 1 : 37) {
        test_ops("phases:layers=1,steps=2,generate=2,streams=2", ops);
    }
    check_same("train:layers=1,steps=0", "train:layers=1", &(workload_options){ .steps_given = 1 });
    return tap_done();
}
