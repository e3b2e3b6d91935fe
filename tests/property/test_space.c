/* Property: random programs of calls on the simulated device, of several kinds, judged after each call. What fails is
   shrunk, and printed on stderr as a test in C.
     any     random points of the whole configuration space, with tags, marks, and memory that scrub is to clear; one
             in ten on a small device, where paged arenas are looked into and driver calls fail
     plain   plain devices, where each refusal's reason and figures are known
     steps   steps that come again, for which there are plans
     busy    little memory; streams that come and go, threads' own, captures; driver calls that fail
     crossed steps that come again on such devices, with all that busy programs do
     quiet   nobody asks for figures for long, while heaps count for themselves
   GPUARENA_SPACE_SEED=N, GPUARENA_SPACE_OPS=N; GPUARENA_SPACE_KIND=busy: these alone; GPUARENA_SPACE_SMALL=1: the
   first kind, on small devices alone; GPUARENA_SPACE_SHRINK=0: what fails is not shrunk. */
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "space_shrink.h"

enum { MOST_SECONDS = 5, DEFAULT_OPS = 1000000, SEQUENCE_OPS = 250, BUSY_OPS = 1000, QUIET_OPS = 1500,
       SMALL_ONE_IN = 10 };
static uint64_t refused_count, valid_count, alloc_count, fail_count, foreign_count, small_count, compared_count,
                fired_count, stuck_count, planned_count, unplanned_count;
static int all_small;
static uint64_t plain_reasons[GPUARENA_REASON_END], plain_fired_count;
/* What busy programs made arenas do. */
#define BUSY_FIGURES(X) \
    X(look_count) X(grow_count) X(release_count) X(resolve_count) X(wait_count) X(stream_wait_count) \
    X(gpu_wait_count) X(event_error_count) X(remapped_page_count) X(fail_count)
static gpuarena_stats busy;
static uint64_t crossed_count, crossed_plan_count;
static uint64_t launch_count, ended_count, let_go_count, relieved_count;
static uint64_t key_counts[COUNT(draw_keys)];    /* of the arenas that were made */

/* No key is forgotten here: the header names all that it has. */
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

/* A text that makes an arena. 0: a refusal was not as it should be. */
static int draw_valid(shrink_program *program)
{
    char detail[96];
    program->text[0] = '\0';
    draw_text(program->text);
    for (;;) {
        int open = space_open(DRAW_DEVICE, program->text, detail);
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

/* One sequence on a plain device. */
static const char *run_plain(uint64_t seed, shrink_program *program)
{
    uint64_t limit, like, frees;
    draw_state = seed << 20 | 1;
    program->count = 0;
    draw_plain_text(program->text, &program->device_bytes, &limit);
    like = draw(PLAIN_LIKES);
    frees = 20 + draw(30);
    for (; program->count < SEQUENCE_OPS; program->count++)
        program->ops[program->count] = draw_plain_op(program->count ? &program->ops[program->count - 1] : NULL, like,
                                                     frees, &limit, program->device_bytes);
    (void)space_run(program->device_bytes, program->text, program->ops, program->count, 0);
    plain_fired_count += space.fired_count;
    for (int reason = 0; reason < (int)GPUARENA_REASON_END; reason++) plain_reasons[reason] += space.reasons[reason];
    return space.trouble;
}

/* Streams of all kinds. */
static const char *run_busy(uint64_t seed, shrink_program *program)
{
    draw_state = seed << 20 | 3;
    program->device_bytes = MIB(12) + MIB(2) * draw(14);
    draw_busy_text(program->text, program->device_bytes);
    program->count = draw_busy(program->ops, BUSY_OPS);
    (void)space_run(program->device_bytes, program->text, program->ops, program->count, 0);
#define ADD(field) busy.field += space.last.field;
    BUSY_FIGURES(ADD)
#undef ADD
    launch_count += space.launch_count;
    ended_count += space.ended_count;
    let_go_count += space.let_go_count;
    relieved_count += space.relieved_count;
    return space.trouble;
}

/* Steps that come again on busy devices. */
static const char *run_crossed(uint64_t seed, shrink_program *program)
{
    draw_state = seed << 20 | 5;
    program->device_bytes = MIB(12) + MIB(2) * draw(14);
    draw_busy_text(program->text, program->device_bytes);
    program->count = draw_crossed(program->ops, BUSY_OPS);
    (void)space_run(program->device_bytes, program->text, program->ops, program->count, 0);
    crossed_count += space.last.planned_count;
    crossed_plan_count += space.last.plan_count;
    return space.trouble;
}

/* Nobody looks for long; and blocks lie where they lie if somebody does after each call. */
static const char *run_quiet(uint64_t seed, shrink_program *program)
{
    uint64_t places;
    draw_state = seed << 20 | 4;
    program->device_bytes = DRAW_DEVICE;
    draw_quiet_text(program->text);
    program->count = draw_quiet(program->ops, QUIET_OPS);
    (void)space_run(program->device_bytes, program->text, program->ops, program->count, 0);
    places = space.places;
    if (space.trouble[0] || seed % 4) return space.trouble;
    program->ops[0].bytes = 1;
    (void)space_run(program->device_bytes, program->text, program->ops, program->count, 0);
    if (space.places != places) space_blame("blocks lie elsewhere if somebody looks");
    return space.trouble;
}

/* Steps that come again. */
static const char *run_steps(uint64_t seed, shrink_program *program)
{
    uint64_t one_stream = seed % 4 == 0 ? 1 + seed / 4 % STEPS : 0;     /* so many steps first have one stream */
    draw_state = seed << 20 | 2;
    program->device_bytes = DRAW_DEVICE;
    draw_value(draw_step_texts, program->text, DRAW_TEXT);
    program->count = draw_steps(program->ops, SHRINK_OPS);
    for (size_t at = 0; at < program->count; at++) {
        one_stream -= one_stream && program->ops[at].kind == SPACE_STEP;
        if (one_stream && program->ops[at].stream == 1) program->ops[at].stream = 0;
    }
    (void)space_run(program->device_bytes, program->text, program->ops, program->count, 0);
    planned_count += space.last.planned_count;
    unplanned_count += space.last.unplanned_count;
    return space.trouble;
}

/* One sequence from its seed. "": all well. */
static const char *run_sequence(uint64_t seed, shrink_program *program)
{
    uint64_t like;
    const char *trouble;
    int small = all_small || seed % SMALL_ONE_IN == 0;
    draw_state = seed << 20;
    program->device_bytes = small ? SPACE_SMALL : DRAW_DEVICE;
    program->count = 0;
    if (small) draw_small_text(program->text);
    else if (!draw_valid(program)) return space.trouble;
    count_keys(program->text);
    like = draw(DRAW_LIKES);
    if (like & DRAW_HEAPS && !small) program->ops[program->count++].kind = SPACE_HEAPS;
    for (; program->count < SEQUENCE_OPS; program->count++)
        program->ops[program->count] = small
            ? draw_small_op(program->count ? &program->ops[program->count - 1] : NULL) : draw_op(like);
    trouble = space_run(program->device_bytes, program->text, program->ops, program->count, 0);
    alloc_count += space.alloc_count;
    fail_count += space.fail_count;
    foreign_count += space.foreign_count;        /* none where memory is cleared: that would be a trouble */
    small_count += space.small_count;
    compared_count += space.compared_count;
    fired_count += space.fired_count;
    stuck_count += space.stuck_count;
    return trouble;
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

/* Each of these must have happened, or the test does not test it. ops: of those judged by sums. */
static void test_it_all_happened(uint64_t ops)
{
    static const gpuarena_reason reasons[] = { GPUARENA_REASON_OVER_LIMIT, GPUARENA_REASON_HEADROOM,
                                               GPUARENA_REASON_DRIVER_REFUSED, GPUARENA_REASON_FRAGMENTED,
                                               GPUARENA_REASON_TOO_LARGE, GPUARENA_REASON_TRY_ONLY };
    printf("# %" PRIu64 " arenas, %" PRIu64 " allocations, %" PRIu64 " refusals\n", valid_count, alloc_count,
           fail_count);
    CHECK_MSG(fail_count > alloc_count / 100 && alloc_count > ops / 8, "there are enough of both");
    CHECK_MSG(foreign_count > ops / 1000, "%" PRIu64 " times without scrub new memory held what was another's",
              foreign_count);
    for (size_t at = 0; at < COUNT(draw_keys); at++)
        CHECK_MSG(key_counts[at] > 0, "%s: in %" PRIu64 " arenas", draw_keys[at].name, key_counts[at]);
    CHECK_MSG(ops < 250000 || (compared_count > 500 && fired_count > 1000 && stuck_count > 20),
              "on small devices %" PRIu64 " were refused, of which %" PRIu64 " are compared; %" PRIu64 " faults; "
              "stuck %" PRIu64 " times", small_count, compared_count, fired_count, stuck_count);
    for (size_t at = 0; at < COUNT(reasons); at++)
        CHECK_MSG(plain_reasons[reasons[at]] > 0, "on plain devices %" PRIu64 " refusals: %s",
                  plain_reasons[reasons[at]], gpuarena_reason_name(reasons[at]));
    CHECK_MSG(plain_fired_count > ops / 500, "on plain devices %" PRIu64 " faults", plain_fired_count);
    CHECK_MSG(planned_count > unplanned_count, "%" PRIu64 " allocations were served by a plan, %" PRIu64 " were not",
              planned_count, unplanned_count);
    CHECK_MSG(crossed_count > ops / 10000 && crossed_plan_count > ops / 20000,
              "on busy devices %" PRIu64 " allocations were served by %" PRIu64 " plans", crossed_count,
              crossed_plan_count);
#define HAPPENED(field) CHECK_MSG(busy.field > 0, "busy programs: %" PRIu64 " %s", (uint64_t)busy.field, #field);
    BUSY_FIGURES(HAPPENED)
#undef HAPPENED
    CHECK_MSG(launch_count && ended_count && let_go_count && relieved_count, "%" PRIu64 " launches, %" PRIu64
              " streams ended, %" PRIu64 " sets, %" PRIu64 " blocks freed under pressure", launch_count, ended_count,
              let_go_count, relieved_count);
}

int main(void)
{
    static const struct {
        const char *name, *(*run)(uint64_t, shrink_program *);
        uint64_t one_in;                         /* operations, of those asked for */
    } kinds[] = {
        { "any", run_sequence, 1 }, { "plain", run_plain, 1 }, { "steps", run_steps, 1 }, { "busy", run_busy, 2 },
        { "crossed", run_crossed, 4 }, { "quiet", run_quiet, 4 }
    };
    static shrink_program program;
    const char *only = getenv("GPUARENA_SPACE_KIND");
    uint64_t seed = tap_number("GPUARENA_SPACE_SEED", 1), ops = tap_number("GPUARENA_SPACE_OPS", DEFAULT_OPS);
    all_small = tap_number("GPUARENA_SPACE_SMALL", 0) != 0;
    test_keys();
    int ran = 0;
    for (size_t at = 0; at < COUNT(kinds) && !(all_small && at); at++) {
        if (only && strcmp(only, kinds[at].name)) continue;
        ran = 1;
        uint64_t most = only ? ops : ops / kinds[at].one_in;
        for (uint64_t own = seed, did = 0; did < most; did += program.count, own++) {
            watch(kinds[at].name, own, MOST_SECONDS);
            if (!kinds[at].run(own, &program)[0]) continue;
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
