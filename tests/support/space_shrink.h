/* Makes a program that fails small, and prints it as a test in C.
   It must not know why it fails: smaller is what still fails alike. Included by test_space.c. */
#ifndef TESTS_SPACE_SHRINK_H
#define TESTS_SPACE_SHRINK_H

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "space_draw.h"

enum { SHRINK_OPS = 2048 };
typedef struct shrink_program {
    uint64_t device_bytes;
    char text[DRAW_TEXT];
    space_op ops[SHRINK_OPS];
    size_t count;
} shrink_program;

/* Troubles are alike up to their figures. */
static int shrink_alike(const char *left, const char *right)
{
    size_t length = strcspn(left, "(0123456789");
    return left[0] && length == strcspn(right, "(0123456789") && strncmp(left, right, length) == 0;
}

/* Runs it in a process of its own, which may hang or crash; what its trouble is. */
static const char *shrink_run(const shrink_program *program)
{
    static char trouble[sizeof space.trouble];
    int ends[2];
    pid_t child = pipe(ends) ? -1 : fork();
    if (child < 0) return "";
    if (child == 0) {
        setrlimit(RLIMIT_CPU, &(struct rlimit) { 5, 5 });
        alarm(600);                              /* of one that sleeps */
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

static shrink_program shrink_next;               /* which may be smaller */

/* Takes it, if it fails alike. In any case the next one begins as a copy. */
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

/* Simpler figures: a round size, no alignment, no flags, the first stream. */
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

/* A whole file, for tests/. */
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

#endif
