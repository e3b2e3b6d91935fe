/* Property: random programs at random points of the whole configuration space, on the simulated device, with tags,
   marks, and memory that scrub is to clear; one in ten on a small device, where paged arenas are looked into and
   driver calls fail; and as many on plain devices, where each refusal's reason and figures are known. What fails is
   shrunk, and printed on stderr as a test in C.
   And steps that come again, for which there are plans.
   GPUARENA_SPACE_SEED=N, GPUARENA_SPACE_OPS=N, GPUARENA_SPACE_SMALL=1: all on small devices; GPUARENA_SPACE_STEPS=1:
   steps alone; GPUARENA_SPACE_SHRINK=0: what fails is not shrunk. */
#include "space_shrink.h"

enum { DEFAULT_OPS = 1000000, SEQUENCE_OPS = 250, SMALL_ONE_IN = 10 };
static uint64_t refused_count, valid_count, alloc_count, fail_count, foreign_count, small_count, compared_count,
                fired_count, stuck_count, planned_count, unplanned_count;
static int all_small;
static uint64_t plain_reasons[GPUARENA_REASON_END], plain_fired_count;
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
static const char *run_plain(uint64_t seed, uint64_t ops, shrink_program *program)
{
    uint64_t limit, like, frees;
    draw_state = seed << 20 | 1;
    program->count = 0;
    draw_plain_text(program->text, &program->device_bytes, &limit);
    like = draw(PLAIN_LIKES);
    frees = 20 + draw(30);
    for (; program->count < ops; program->count++)
        program->ops[program->count] = draw_plain_op(program->count ? &program->ops[program->count - 1] : NULL, like,
                                                     frees, &limit, program->device_bytes);
    (void)space_run(program->device_bytes, program->text, program->ops, program->count, 0);
    plain_fired_count += space.fired_count;
    for (int reason = 0; reason < (int)GPUARENA_REASON_END; reason++) plain_reasons[reason] += space.reasons[reason];
    return space.trouble;
}

/* Steps that come again. */
static const char *run_steps(uint64_t seed, uint64_t ops, shrink_program *program)
{
    (void)ops;                                   /* a plan takes more */
    draw_state = seed << 20 | 2;
    program->device_bytes = DRAW_DEVICE;
    draw_value(draw_step_texts, program->text, DRAW_TEXT);
    program->count = draw_steps(program->ops, SHRINK_OPS);
    (void)space_run(program->device_bytes, program->text, program->ops, program->count, 0);
    planned_count += space.planned_count;
    unplanned_count += space.unplanned_count;
    return space.trouble;
}

/* One sequence from its seed. "": all well. */
static const char *run_sequence(uint64_t seed, uint64_t ops, shrink_program *program)
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
    for (; program->count < ops; program->count++)
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

static void report(shrink_program *program, uint64_t seed)
{
    static char trouble[sizeof space.trouble];
    memcpy(trouble, space.trouble, sizeof trouble);
    CHECK_MSG(0, "seed %" PRIu64 ": %s (%s)", seed, trouble, program->text);
    printf("# repro: GPUARENA_SPACE_SEED=%" PRIu64 " GPUARENA_SPACE_OPS=%d build/tests/test_space\n", seed,
           (int)SEQUENCE_OPS);
    fflush(stdout);
    if (!program->count || !tap_number("GPUARENA_SPACE_SHRINK", 1)) return;
    shrink(program, trouble);
    shrink_print(stderr, program, seed, shrink_run(program));
}

int main(void)
{
    static const gpuarena_reason reasons[] = { GPUARENA_REASON_OVER_LIMIT, GPUARENA_REASON_HEADROOM,
                                               GPUARENA_REASON_DRIVER_REFUSED, GPUARENA_REASON_FRAGMENTED,
                                               GPUARENA_REASON_TOO_LARGE, GPUARENA_REASON_TRY_ONLY };
    static const char *(*const runs[])(uint64_t, uint64_t, shrink_program *) = { run_sequence, run_plain, run_steps };
    static shrink_program program;
    int only_steps = tap_number("GPUARENA_SPACE_STEPS", 0) != 0;
    uint64_t seed = tap_number("GPUARENA_SPACE_SEED", 1), ops = tap_number("GPUARENA_SPACE_OPS", DEFAULT_OPS);
    uint64_t done = only_steps ? 0 : ops;        /* by each kind of program that is judged below */
    all_small = tap_number("GPUARENA_SPACE_SMALL", 0) != 0;
    test_keys();
    for (int kind = only_steps ? 2 : 0; kind < (all_small ? 1 : 3); kind++)
        for (uint64_t own = seed, did = 0; did < ops; did += program.count, own++) {
            if (!runs[kind](own, SEQUENCE_OPS, &program)[0]) continue;
            report(&program, own);
            return tap_done();
        }
    CHECK_MSG(1, "%" PRIu64 " operations in %" PRIu64 " arenas, %" PRIu64 " allocations, %" PRIu64 " refusals",
              done, valid_count, alloc_count, fail_count);
    CHECK_MSG(done < 50000 || (fail_count > alloc_count / 100 && alloc_count > done / 8), "there are enough of both");
    CHECK_MSG(done < 50000 || foreign_count > done / 1000, "%" PRIu64 " times without scrub new memory held what was "
              "another's", foreign_count);
    for (size_t at = 0; at < COUNT(draw_keys); at++)
        CHECK_MSG(done < 50000 || all_small || key_counts[at] > 0, "%s: in %" PRIu64 " arenas", draw_keys[at].name,
                  key_counts[at]);
    CHECK_MSG(done < 250000 || (compared_count > 500 && fired_count > 1000 && stuck_count > 20),
              "on small devices %" PRIu64 " were refused, of which %" PRIu64 " are compared; %" PRIu64 " faults; "
              "stuck %" PRIu64 " times", small_count, compared_count, fired_count, stuck_count);
    for (size_t at = 0; at < COUNT(reasons); at++)
        CHECK_MSG(done < 50000 || all_small || plain_reasons[reasons[at]] > 0,
                  "on plain devices %" PRIu64 " refusals: %s", plain_reasons[reasons[at]],
                  gpuarena_reason_name(reasons[at]));
    CHECK_MSG(ops < 50000 || all_small || planned_count > unplanned_count, "%" PRIu64 " allocations were served by a "
              "plan, %" PRIu64 " were not", planned_count, unplanned_count);
    CHECK_MSG(done < 50000 || all_small || plain_fired_count > done / 500,
              "on plain devices %" PRIu64 " faults", plain_fired_count);
    printf("# %" PRIu64 " texts were refused, each by one of its keys\n", refused_count);
    return tap_done();
}
