/* What holds of the operations of every family: blocks are live where they are used and freed, streams are ordered,
   counts and peaks are those of a walk, --ops cuts to a prefix, options and the command line say the same, and every
   option at its edges makes a stream or is refused in words.
   Knows families by name alone; what their operations are: tests/cli/cases/workloads.case. */
#include "workload_order.h"

enum { OPS = 400, MOST = 20000 };

/* waits: how many there are, all of which it takes to be ordered. -1: they are not tried one by one. */
static const struct { const char *spec; int waits; } specs[] = {
    { "uniform:n=3000,max=64,cap=1000", 0 }, { "train:layers=3,steps=2,recompute=1,lora=16", 0 },
    { "train:layers=2,seq=100-900,steps=2,zero3=8,streams=2", -1 },
    { "producer:n=60,steps=1,depth=1,consumers=3", 60 },
    { "producer:n=4,steps=1,depth=1,images=2", 4 }, { "producer:n=2000,steps=2,depth=64,consumers=64,seed=3", -1 },
    { "larson:threads=2,blocks=30,rounds=3", 4 }, { "larson:threads=3,blocks=20,rounds=30,seed=9", -1 },
    { "phases:layers=1,hidden=8,ff=8,heads=1,vocab=8,batch=2,seq=9,steps=2,generate=2,streams=2", 30 },
    { "phases:layers=3,steps=2,seed=2", 0 }, { "pareto:n=20000,places=15625", 0 },
    { "cnn:batch=2,steps=3,streams=2", 3 },
    { "dataset:items=1000,batch=10,side=70-200,prefetch=8", -1 }, { "embedding:gradient=sparse,batch=64-2048", 0 },
    { "tape:layers=3,hidden=64,heads=4,vocab=100,seq=5-90,keep=2", 0 },
    { "growing:layers=4,prompt=1-99,tokens=50", 0 },
    { "serve:weights=0,rate=100,budget=1024", 0 }, { "serve:requests=20,layout=contiguous,sharing=90,prefix=48", 0 },
    { "rival:layers=2,steps=2,zero3=4,from=9,until=30", 0 }
};
enum { SPECS = sizeof specs / sizeof specs[0] };

static char *text_of(const char *spec, const workload_options *options)
{
    op_stream stream;
    problem why = { 0, "" };
    if (workload_make(spec, options, &stream, &why)) give_up(why.text);
    char *text = stream_text(&stream).bytes;
    op_stream_free(&stream);
    return text;
}

static void check_spec(size_t index)
{
    op_stream stream;
    make_surely(specs[index].spec, &stream);
    CHECK_MSG(is_sound(&stream), "%s is sound", specs[index].spec);
    order_count count = order_check(&stream);
    check_ordered(specs[index].spec, &count);
    if (specs[index].waits >= 0) {
        CHECK_U64(count.waits, ==, (uint64_t)specs[index].waits);
        CHECK_U64(order_idle_waits(&stream), ==, 0);
    }
    op_stream_free(&stream);
}

/* --ops cuts at the Nth allocation or free; blocks may stay live. */
static void check_cuts(const char *spec)
{
    op_stream whole;
    size_t wrong = 0;
    make_surely(spec, &whole);
    char *text = stream_text(&whole).bytes;
    uint64_t all = whole.alloc_count + whole.free_count;
    for (uint64_t ops = 1; ops < 200; ops += ops < 20 ? 1 : 37) {
        const workload_options options = { .ops_given = 1, .ops = ops };
        op_stream cut;
        problem why = { 0, "" };
        if (workload_make(spec, &options, &cut, &why)) give_up(why.text);
        buffer made = stream_text(&cut);
        wrong += cut.alloc_count + cut.free_count != (ops < all ? ops : all) || strncmp(text, made.bytes, made.length)
              || !is_sound(&cut);
        free(made.bytes);
        op_stream_free(&cut);
    }
    CHECK_MSG(wrong == 0, "%s, cut by --ops, is a prefix", spec);
    free(text);
    op_stream_free(&whole);
}

/* Two specifications, the second with options of the command line, are one stream. */
static void check_same(const char *spec, const char *other, const workload_options *options)
{
    static const workload_options none = { 0 };
    char *one = text_of(spec, &none), *two = text_of(other, options);
    CHECK_MSG(!strcmp(one, two), "%s is %s", spec, other);
    free(one);
    free(two);
}

/* "key=DEFAULT,key=DEFAULT", of what `stress list` shows. */
static void spell_defaults(size_t index, char *text, size_t room)
{
    char shown[200];
    size_t used = 0;
    text[0] = '\0';
    for (size_t option = 0; workload_option_text(index, option, shown, sizeof shown); option++) {
        int length = (int)strcspn(shown, " "), made = snprintf(text + used, room - used, "%s%.*s", option ? "," : "",
                                                               length, shown);
        if (made < 0 || used + (size_t)made >= room) give_up("options too long for the test");
        used += (size_t)made;
    }
}

static void test_options(void)
{
    const workload_options none = { 0 }, seed = { .seed_given = 1, .seed = 7 };
    const workload_options steps = { .steps_given = 1, .steps = 2 }, no_steps = { .steps_given = 1 };
    const workload_options threads = { .threads_given = 1, .threads = 3 };
    const workload_family *each;
    char spec[400], defaults[300];
    for (size_t i = 0; (each = workload_family_at(i)) != NULL; i++) {
        CHECK_MSG((each->peak != NULL) == (strcmp(each->name, "replay") != 0), "%s tells its peak", each->name);
        if (!each->peak) continue;
        spell_defaults(i, defaults, sizeof defaults);
        CHECK(each->summary[0] && defaults[0] && strlen(each->peak) < 118);
        snprintf(spec, sizeof spec, "%s:%s", each->name, defaults);
        check_same(each->name, spec, &none);
    }
    CHECK(!workload_family_at(SIZE_MAX));
    check_same("train:layers=2,seed=7", "train:layers=2", &seed);
    check_same("train:layers=2,steps=2", "train:layers=2", &steps);
    check_same("train:layers=1,steps=0", "train:layers=1", &no_steps);
    check_same("producer:n=50,steps=2", "producer:n=50", &steps);
    check_same("phases:layers=1,steps=2", "phases:layers=1", &steps);
    check_same("uniform:n=50", "uniform:n=50", &steps);
    check_same("larson:blocks=9,threads=3", "larson:blocks=9", &threads);
}

/* ---- edges */
static const workload_options cut = { .ops_given = 1, .ops = OPS };

/* 1 if it is made and sound, or refused with a text that names the family. */
static int is_made_or_refused(const char *name, const char *spec)
{
    op_stream stream;
    problem why = { 0, "" };
    if (workload_make(spec, &cut, &stream, &why)) {
        return why.exit_code == EXIT_USAGE && strstr(why.text, name) && strstr(why.text, "expected");
    }
    int sound = stream.alloc_count + stream.free_count <= OPS && is_sound(&stream);
    op_stream_free(&stream);
    return sound;
}

static void append(char *spec, size_t room, const char *key, uint64_t value)
{
    size_t used = strlen(spec);
    int length = snprintf(spec + used, room - used, "%c%s=%" PRIu64, strchr(spec, ':') ? ',' : ':', key, value);
    if (length < 0 || used + (size_t)length >= room) give_up("a specification too long for the test");
}

static void check_edges(const workload_family *each, size_t index)
{
    char keys[400], spec[100], all[2][400];
    size_t tried = 0;
    snprintf(all[0], sizeof all[0], "%s", each->name);
    snprintf(all[1], sizeof all[1], "%s", each->name);
    spell_defaults(index, keys, sizeof keys);
    for (char *part = strtok(keys, ","); part; part = strtok(NULL, ",")) {
        workload_key found;
        problem why = { 0, "" };
        part[strcspn(part, "=")] = '\0';
        if (workload_vary(each->name, part, &found, &why)) continue;       /* words */
        for (size_t at = 0; at < 2; at++, tried++) {
            uint64_t edge = at ? found.highest : found.lowest;
            snprintf(spec, sizeof spec, "%s:%s=%" PRIu64, each->name, part, edge);
            if (!is_made_or_refused(each->name, spec)) CHECK_MSG(0, "%s is neither made nor refused well", spec);
            append(all[at], sizeof all[at], part, edge);
        }
    }
    CHECK_MSG(tried > 4 && is_made_or_refused(each->name, all[0]) && is_made_or_refused(each->name, all[1]),
              "%s: %zu edges, and all together", each->name, tried);
}

/* Whatever makes a stream long, it ends at the limit, which is lower here than a stream's own, to save time. */
static void test_limit(void)
{
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
        problem why = { 0, "" };
        int failed = workload_make(endless[i], &options, &stream, &why);
        snprintf(message, sizeof message, "workload %.*s: more than %d operations, expected a shorter workload",
                 (int)strcspn(endless[i], ":"), endless[i], (int)MOST);
        CHECK_MSG(failed && why.exit_code == EXIT_USAGE && !stream.ops && !strcmp(why.text, message), "%s ends: %s",
                  endless[i], why.text);
    }
}

/* ---- the check of order: what it must see, and what it must not */
static const struct { const char *text; size_t before_alloc, before_fill, before_use; } programs[] = {
    { "a 0 8 1\nk 1 5 0\nw 2 1\nk 2 5 0\nf 0 2\n", 0, 0, 0 },
    { "a 0 8 1\nk 1 5 0\nk 2 5 0\nf 0 2\n", 1, 1, 1 },
    { "a 0 8 1\nk 1 5 0\nw 1 2\nk 2 5 0\nf 0 2\n", 1, 1, 1 },
    { "a 0 8 1\nw 2 1\nk 1 5 0\nk 2 5 0\nw 2 1\nf 0 2\n", 0, 1, 0 },
    { "a 0 8 1\nk 1 5 0\nw 2 1\nk 2 5 0\nf 0 1\n", 0, 0, 1 },
    { "a 0 8 1\nk 1 5 0\nw 2 1\nw 3 2\nk 3 5 0\nw 1 3\nf 0 1\n", 0, 0, 0 },
    { "a 0 8 1\nf 0 2\n", 0, 0, 1 },
    { "w 2 1\na 0 8 1\nk 2 5 0\nw 1 2\nf 0\n", 1, 0, 0 }
};

static void test_check(void)
{
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        char text[200];
        op_stream stream;
        problem why;
        int length = snprintf(text, sizeof text, "gpuarena-trace 1\n%s", programs[i].text);
        CHECK_INT(replay_bytes(text, (size_t)length, &stream, &why), ==, 0);
        order_count count = order_check(&stream);
        CHECK_MSG(count.before_alloc == programs[i].before_alloc && count.before_fill == programs[i].before_fill &&
                  count.before_use == programs[i].before_use && !count.dead, "order of program %zu", i);
        op_stream_free(&stream);
    }
}

int main(void)
{
    const workload_family *each;
    test_check();
    for (size_t i = 0; i < SPECS; i++) {
        check_spec(i);
        check_cuts(specs[i].spec);
    }
    test_options();
    for (size_t i = 0; (each = workload_family_at(i)) != NULL; i++) {
        if (each->peak) check_edges(each, i);
    }
    test_limit();
    return tap_done();
}
