/* Property: random programs of calls on the simulated device, of several kinds, judged after each call. A program
   that fails is shrunk, and printed on stderr as a test in C.
     any     random points of the whole configuration space, with tags, marks, and memory that scrub is to clear; one
             in ten on a small device, where paged arenas are inspected and driver calls fail
     plain   plain devices, where each refusal's reason and figures are known
     steps   steps that come again, for which there are plans
     busy    little memory; streams that come and go, threads' own, captures; driver calls that fail
     crossed steps that come again on such devices, with all that busy programs do
     quiet   nobody asks for figures for long, while heaps count for themselves
   GPUARENA_SPACE_SEED=N, GPUARENA_SPACE_OPS=N; GPUARENA_SPACE_KIND=busy: these alone; GPUARENA_SPACE_SMALL=1: the
   first kind, on small devices alone; GPUARENA_SPACE_SHRINK=0: programs that fail are not shrunk. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "space_draw.h"

/* ---- a program that fails is made small: a smaller one is taken if it fails alike; and printed as a test in C */

enum { SHRINK_OPS = 2048 };
typedef struct shrink_program {
    uint64_t device_bytes;
    char text[DRAW_TEXT];
    space_op ops[SHRINK_OPS];
    size_t count;
} shrink_program;

/* Tells whether two troubles are alike up to their figures. */
static int shrink_alike(const char *left, const char *right)
{
    size_t length = strcspn(left, "(0123456789");
    return left[0] && length == strcspn(right, "(0123456789") && strncmp(left, right, length) == 0;
}

/* Runs the program in a process of its own, which may hang or crash. Returns its trouble. */
static const char *shrink_run(const shrink_program *program)
{
    static char trouble[sizeof space.trouble];
    int ends[2];
    pid_t child = pipe(ends) ? -1 : fork();
    if (child < 0) return "";
    if (child == 0) {
        setrlimit(RLIMIT_CPU, &(struct rlimit) { 5, 5 });
        alarm(600);                              /* ends a program that sleeps */
        const char *text = space_run(program->device_bytes, program->text, program->ops, program->count, 1);
        _exit(write(ends[1], text, strlen(text)) < 0);
    }
    close(ends[1]);
    FILE *told = fdopen(ends[0], "r");
    trouble[told ? fread(trouble, 1, sizeof trouble - 1, told) : 0] = '\0';
    if (told) fclose(told);
    (void)waitpid(child, NULL, 0);
    return trouble;
}

static shrink_program shrink_next;               /* a candidate, which may be smaller */

/* Takes the candidate, if it fails alike. In any case the next candidate begins as a copy. */
static int shrink_try(shrink_program *program, const char *trouble)
{
    int fails = shrink_alike(shrink_run(&shrink_next), trouble);
    if (fails) *program = shrink_next;
    shrink_next = *program;
    return fails;
}

static int shrink_ops(shrink_program *program, const char *trouble)
{
    int some = 0;
    for (size_t span = program->count; span; span /= 2)
        for (size_t at = 0; at + span <= program->count;) {
            space_op *op = &shrink_next.ops[at];
            shrink_next.count -= span;
            memmove(op, op + span, (shrink_next.count - at) * sizeof *op);
            if (shrink_try(program, trouble)) some = 1;
            else at += span;
        }
    return some;
}

static int shrink_text(shrink_program *program, const char *trouble)
{
    int some = 0, at = 0;
    while (draw_drop(shrink_next.text, at))
        if (shrink_try(program, trouble)) some = 1;
        else at++;
    return some;
}

/* Tries simpler figures: a round size, no alignment, no flags, the first stream. */
static int shrink_figures(shrink_program *program, const char *trouble)
{
    int some = 0;
    for (size_t at = 0; at < program->count; at++)
        for (int change = 0; change < 7; change++) {
            space_op *op = &shrink_next.ops[at];
            switch (change) {
            case 0: op->alignment = op->kind == SPACE_FAULT; break;
            case 1: op->flags = 0; break;
            case 2: op->stream = 0; break;
            case 3: op->bytes = 1; break;
            case 4: op->bytes /= 2; break;
            case 5: op->bytes = op->bytes / MIB(1) * MIB(1); break;
            default: op->bytes = op->bytes / 256 * 256;
            }
            if (memcmp(op, &program->ops[at], sizeof *op) && op->bytes) some |= shrink_try(program, trouble);
            else *op = program->ops[at];
        }
    return some;
}

/* Ends: each round makes it smaller, or is the last. */
static void shrink(shrink_program *program, const char *trouble)
{
    int again = 1;
    shrink_next = *program;
    for (int round = 0; round < 6 && again; round++) {
        again = shrink_ops(program, trouble);
        again |= shrink_text(program, trouble);
        again |= shrink_figures(program, trouble);
    }
}

/* Prints a whole file, for tests/. */
static void shrink_print(FILE *out, const shrink_program *program, uint64_t seed, const char *trouble)
{
#define X(name, call) "SPACE_" #name,
    static const char *const kinds[] = { SPACE_ALL_KINDS(X) };
#undef X
    fprintf(out, "/* Shrunk from seed %" PRIu64 " of test_space: %s.\n"
            "   It must not know the implementation.\n   Run: make test */\n#include \"space.h\"\n\n"
            "int main(void)\n{\n    static const space_op ops[] = {\n", seed, trouble);
    for (size_t at = 0; at < program->count; at++) {
        const space_op *op = &program->ops[at];
        fprintf(out, "        { %s, %d, %d, UINT64_C(%" PRIu64 "), UINT64_C(%" PRIu64 "), %u }%s\n", kinds[op->kind],
                op->slot, op->stream, op->bytes, op->alignment, op->flags, at + 1 < program->count ? "," : "");
    }
    fprintf(out, "    };\n    CHECK_STR(space_run(MIB(%u), \"%s\", ops, COUNT(ops), 1), \"\");\n"
            "    return tap_done();\n}\n", (unsigned)(program->device_bytes >> 20), program->text);
}

/* ---- kinds of programs */

enum { MOST_SECONDS = 5, DEFAULT_OPS = 1000000, SMALL_ONE_IN = 10 };
static uint64_t refused_count, valid_count;
static uint64_t key_counts[COUNT(draw_keys)];    /* of the arenas that were made */
static int all_small;

enum { ANY, PLAIN, STEPS, BUSY, CROSSED, QUIET, SMALL, KINDS };
static const struct {
    const char *name;
    uint64_t one_in;                             /* operations, of those asked for */
    const char *device, *words[4];               /* without words: any configuration */
    uint64_t like;                               /* traits that its programs can have */
    size_t most;
    const char *table;                           /* of ops; NULL: see draw_program */
} kinds[KINDS] = {
    { "any", 1, "512M", { NULL }, UINT64_MAX, 250, "any" },
    { "plain", 1, "51-250<21",
      { "backing=segments,growth=fixed|2xbacking=segments,growth=exact|2xbacking=segments,growth=auto"
        "|backing=segments,growth=step|backing=segments,growth=step,step={1-20M}"
        "|backing=segments,growth=double|backing=segments,growth=double,step={1-20M}",
        "2x,limit={l}|", ",alignment={256<0-13}|", ",headroom={1-30M}|" },
      ~(uint64_t)DRAW_HEAPS, 250, "plain" },
    { "steps", 1, "512M", { "backing=paged|backing=paged,limit=24M|backing=segments|backing=paged,idle=0"
                            "|backing=paged,streams=events" }, UINT64_MAX, SHRINK_OPS, NULL },
    { "busy", 2, "6-19<21", { DRAW_BUSY_BACKINGS, DRAW_BUSY_ORDERS, DRAW_BUSY_LIMIT }, UINT64_MAX, 1000,
      "busy" },
    { "crossed", 4, "6-19<21", { DRAW_BUSY_BACKINGS, DRAW_BUSY_ORDERS, DRAW_BUSY_LIMIT },
      ~(uint64_t)(DRAW_ALIKE | DRAW_RECIPES), 1000, NULL },
    { "quiet", 4, "512M", { "backing=segments|backing=paged", "|,initial=64M" }, UINT64_MAX, 1500, NULL },
    { "any", 1, "100M", { "backing=paged", ",limit=90M||,limit=80M,idle=0|,page=4M,limit=80M,large=1M|,idle=100%"
                          "|,large=1,limit=70M|,headroom=10M|,release=idle,release_at=8M" },
      ~(uint64_t)DRAW_HEAPS, 250, "small" }
};
static space_tally tallies[KINDS];

/* Every key is drawn: the header's message names all keys. */
static void test_keys(void)
{
    char message[1024];
    gpuarena_config config = GPUARENA_INIT;
    const char *names;
    size_t count = 0;
    (void)gpuarena_config_parse("x=1", &config, message, sizeof message);
    names = strstr(message, "expected ");
    for (names = names ? names + strlen("expected") : ""; *names == ' '; count++) {
        size_t at = 0, length = strcspn(names + 1, " ");
        while (at < COUNT(draw_keys) && (strlen(draw_keys[at].name) != length
                                         || strncmp(draw_keys[at].name, names + 1, length))) at++;
        CHECK_MSG(at < COUNT(draw_keys), "%.*s is drawn", (int)length, names + 1);
        names += 1 + length;
    }
    CHECK_U64(count, ==, COUNT(draw_keys));
}

/* Draws a text that makes an arena. 0: a refusal was not as it should be. */
static int draw_valid(shrink_program *program)
{
    char detail[96];
    program->text[0] = '\0';
    draw_text(program->text);
    for (;;) {
        int open = space_open(program->device_bytes, program->text, detail);
        if (open && gpuarena_destroy(space.arena)) space_blame("destroy fails");
        sim_destroy(space.machine);
        if (open || space.trouble[0]) return !space.trouble[0];
        refused_count++;
        if (draw_mend(program->text, 0, detail)) continue;      /* ends: a key fewer */
        space_blame("a refusal names none of the keys given: %s: %s", program->text, detail);
        return 0;
    }
}

static void count_keys(const char *text)
{
    for (size_t at = 0; at < COUNT(draw_keys); at++) key_counts[at] += (uint64_t)draw_has(text, draw_keys[at].name);
    valid_count++;
}

static void draw_program(int kind, shrink_program *program, uint64_t like)
{
    space_op *ops = program->ops;
    size_t most = kinds[kind].most, count = 0;
    switch (kind) {
    case STEPS: case CROSSED: count = draw_steps(ops, most, like, kind == CROSSED); break;
    case QUIET: count = draw_quiet(ops, most); break;
    default:
        if (like & DRAW_HEAPS) ops[count++] = (space_op){ .kind = SPACE_HEAPS };
        count += draw_ops(&ops[count], most, draw_table_of(kinds[kind].table), like);
    }
    program->count = count;
}

/* Blocks have equal addresses if somebody looks after each call. */
static void run_seen(shrink_program *program)
{
    uint64_t places = space.places;
    program->ops[0].bytes = 1;
    (void)space_run(program->device_bytes, program->text, program->ops, program->count, 0);
    if (space.places != places) space_blame("blocks lie elsewhere if somebody looks");
}

/* Draws and runs one program from its seed. "": all well. */
static const char *run(int kind, uint64_t seed, shrink_program *program)
{
    const uint64_t *did = (const uint64_t *)&space.tally;
    draw_state = seed << 20 | (uint64_t)kind;
    if (kind == ANY && (all_small || seed % SMALL_ONE_IN == 0)) kind = SMALL;
    program->device_bytes = NAMED('d') = draw_number(kinds[kind].device);
    NAMED('c') = SIM_CALL_KINDS;
    NAMED('h') = SPACE_HOST;
    NAMED('l') = MIB(2) + draw(NAMED('d') - MIB(2));
    NAMED('w') = NAMED('d') / MIB(2) - 1;
    draw_streams = ((uint32_t)draw(1 << SPACE_ALL_STREAMS) & ~(UINT32_C(3) << SPACE_ANY)) | 2;
    program->count = 0;
    program->text[0] = '\0';
    for (size_t at = 0; at < COUNT(kinds[kind].words) && kinds[kind].words[at]; at++)
        draw_words(program->text, kinds[kind].words[at]);
    if (kind == ANY && !draw_valid(program)) return space.trouble;
    if (kind == ANY || kind == SMALL) count_keys(program->text);
    draw_program(kind, program, draw(UINT64_MAX) & kinds[kind].like);
    (void)space_run(program->device_bytes, program->text, program->ops, program->count, 0);
    for (size_t at = 0; at < sizeof space.tally / sizeof *did; at++) ((uint64_t *)&tallies[kind])[at] += did[at];
    if (kind == QUIET && seed % 4 == 0 && !space.trouble[0]) run_seen(program);
    return space.trouble;
}

static void report(shrink_program *program, const char *kind, uint64_t seed)
{
    static char trouble[sizeof space.trouble];
    memcpy(trouble, space.trouble, sizeof trouble);
    CHECK_MSG(0, "seed %" PRIu64 ": %s (%s)", seed, trouble, program->text);
    printf("# repro: %sGPUARENA_SPACE_KIND=%s GPUARENA_SPACE_SEED=%" PRIu64 " GPUARENA_SPACE_OPS=1 "
           "build/tests/test_space\n", all_small ? "GPUARENA_SPACE_SMALL=1 " : "", kind, seed);
    fflush(stdout);
    if (!program->count || !tap_number("GPUARENA_SPACE_SHRINK", 1)) return;
    shrink(program, trouble);
    shrink_print(stderr, program, seed, shrink_run(program));
}

/* A program that goes on for ever is a finding. An ordinary one takes some milliseconds. */
static char endless[128];
static void on_endless(int number)
{
    (void)number;
    (void)!write(STDOUT_FILENO, endless, strlen(endless));
    _exit(1);
}

/* A program that takes more than so many seconds of processor time from now on is ended; 0: none is. */
static void watch(const char *kind, uint64_t seed, int seconds)
{
    struct itimerval most = { { 0, 0 }, { 0, 0 } };
    most.it_value.tv_sec = seconds;
    fflush(stdout);
    snprintf(endless, sizeof endless, "not ok %d - seed %" PRIu64 ": a program of the kind %s does not end\n",
             tap_count + 1, seed, kind);
    signal(SIGVTALRM, on_endless);
    setitimer(ITIMER_VIRTUAL, &most, NULL);
}

/* Each of these must have happened more often than once in `one_in` operations, or it counts as untested; 0: at least
   once. ops: operations requested. */
static void test_it_all_happened(uint64_t ops)
{
#define FIGURE(kind, field, one_in) { kind, one_in, #field, offsetof(space_tally, field) },
#define REASON(name) { PLAIN, 0, "refusals, " #name, offsetof(space_tally, reasons[GPUARENA_REASON_##name]) },
    static const struct { int kind; uint64_t one_in; const char *name; size_t at; } figures[] = {
        FIGURE(ANY, alloc_count, 8) FIGURE(ANY, fail_count, 800) FIGURE(ANY, foreign_count, 1000)
        FIGURE(SMALL, compared_count, 5000) FIGURE(SMALL, fired_count, 2500) FIGURE(SMALL, stuck_count, 50000)
        REASON(OVER_LIMIT) REASON(HEADROOM) REASON(DRIVER_REFUSED) REASON(FRAGMENTED) REASON(TOO_LARGE)
        REASON(TRY_ONLY) FIGURE(PLAIN, fired_count, 500)
        FIGURE(STEPS, last.planned_count, 100)
        FIGURE(CROSSED, last.planned_count, 20000) FIGURE(CROSSED, last.plan_count, 40000)
        FIGURE(BUSY, last.look_count, 0) FIGURE(BUSY, last.grow_count, 0) FIGURE(BUSY, last.release_count, 0)
        FIGURE(BUSY, last.resolve_count, 0) FIGURE(BUSY, last.wait_count, 0) FIGURE(BUSY, last.stream_wait_count, 0)
        FIGURE(BUSY, last.gpu_wait_count, 0) FIGURE(BUSY, last.event_error_count, 0)
        FIGURE(BUSY, last.remapped_page_count, 0) FIGURE(BUSY, last.fail_count, 0) FIGURE(BUSY, launch_count, 0)
        FIGURE(BUSY, ended_count, 0) FIGURE(BUSY, let_go_count, 0) FIGURE(BUSY, relieved_count, 0)
    };
#undef FIGURE
#undef REASON
    for (size_t at = 0; at < COUNT(figures); at++) {
        uint64_t found = *(const uint64_t *)((const char *)&tallies[figures[at].kind] + figures[at].at);
        uint64_t least = figures[at].one_in ? ops / figures[at].one_in : 0;
        CHECK_MSG(found > least, "%s programs: %" PRIu64 " %s", kinds[figures[at].kind].name, found,
                  figures[at].name);
    }
    const gpuarena_stats *steps = &tallies[STEPS].last;
    CHECK_MSG(steps->planned_count > steps->unplanned_count, "%" PRIu64 " allocations were served by no plan",
              steps->unplanned_count);
    for (size_t at = 0; at < COUNT(draw_keys); at++)
        CHECK_MSG(key_counts[at] > 0, "%s: in %" PRIu64 " of %" PRIu64 " arenas", draw_keys[at].name, key_counts[at],
                  valid_count);
}

int main(void)
{
    static shrink_program program;
    const char *only = getenv("GPUARENA_SPACE_KIND");
    uint64_t seed = tap_number("GPUARENA_SPACE_SEED", 1), ops = tap_number("GPUARENA_SPACE_OPS", DEFAULT_OPS);
    all_small = tap_number("GPUARENA_SPACE_SMALL", 0) != 0;
    draw_read_tables();
    test_keys();
    int ran = 0;
    for (int at = 0; at < SMALL && !(all_small && at); at++) {
        if (only && strcmp(only, kinds[at].name)) continue;
        ran = 1;
        uint64_t most = only ? ops : ops / kinds[at].one_in;
        for (uint64_t own = seed, did = 0; did < most; did += program.count, own++) {
            watch(kinds[at].name, own, MOST_SECONDS);
            if (!run(at, own, &program)[0]) continue;
            watch(kinds[at].name, own, 0);       /* shrinking takes longer */
            report(&program, kinds[at].name, own);
            return tap_done();
        }
        CHECK_MSG(1, "%s programs: nothing is found", kinds[at].name);
    }
    CHECK_MSG(ran, "there are programs of the kind that is asked for");
    if (!only && !all_small && ops >= 50000) test_it_all_happened(ops);
    printf("# %" PRIu64 " texts were refused, each by one of its keys\n", refused_count);
    return tap_done();
}
