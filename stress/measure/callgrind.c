/* One run under callgrind, which leaves a file for each call of the function: .1, .2 and so on. */
#include "stage.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../base/cli.h"
#include "../base/program.h"

enum { CALLGRIND_ABSENT = 127 };                 /* what a shell answers where there is no such program */

/* By a shell, which says nothing. */
static int callgrind_run(const char *folder, const char *const *words, const char *function, problem *why)
{
    char *command;
    size_t length;
    FILE *text = program_stream(&command, &length);
    fprintf(text, "exec valgrind --tool=callgrind --collect-atstart=no --toggle-collect=%s --dump-after=%s "
            "--callgrind-out-file=%s/out", function, function, folder);
    for (; *words; words++) {
        fputc(' ', text);
        cli_print_word(text, *words);
    }
    fputs(" </dev/null >/dev/null 2>&1", text);
    fclose(text);
    FILE *run = popen(command, "w");             /* unlike system(), leaves signals to who asks for them */
    int status = run ? pclose(run) : -1;
    free(command);
    if (status == -1) return problem_set(why, EXIT_HARNESS, "valgrind: cannot be run: %s", strerror(errno));
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (!code || code == CALLGRIND_ABSENT) return code != 0;
    return problem_set(why, EXIT_HARNESS, "under callgrind it ended with status %d", code);
}

/* The file's line `summary: N`. 0, or -1: there is none. */
static int callgrind_read(const char *path, uint64_t *instructions)
{
    char line[256];
    FILE *file = fopen(path, "r");
    int failed = -1;
    while (file && failed && fgets(line, sizeof line, file)) {
        if (sscanf(line, "summary: %" SCNu64, instructions) == 1) failed = 0;
    }
    if (file) fclose(file);
    return failed;
}

static int callgrind_collect(const char *folder, uint64_t *instructions, size_t count, problem *why)
{
    char path[128];
    size_t found = 0;
    while (found < count) {
        snprintf(path, sizeof path, "%s/out.%zu", folder, found + 1);
        if (callgrind_read(path, &instructions[found])) break;
        found++;
    }
    snprintf(path, sizeof path, "%s/out.%zu", folder, count + 1);
    if (found == count && access(path, F_OK)) return 0;
    return problem_set(why, EXIT_HARNESS, "callgrind counted %s%zu calls, expected %zu", found < count ? "" : "over ",
                       found, count);
}

static void callgrind_clean(const char *folder)
{
    char path[128];
    size_t number = 0;
    snprintf(path, sizeof path, "%s/out", folder);
    do {
        (void)unlink(path);
        snprintf(path, sizeof path, "%s/out.%zu", folder, ++number);
    } while (!access(path, F_OK));
    (void)rmdir(folder);
}

int callgrind_count(const char *const *words, const char *function, uint64_t *instructions, size_t count,
                    problem *why)
{
    char folder[] = "/tmp/gpuarena-count-XXXXXX";
    if (!mkdtemp(folder)) return problem_set(why, EXIT_HARNESS, "%s: cannot be made: %s", folder, strerror(errno));
    int result = callgrind_run(folder, words, function, why);
    if (!result) result = callgrind_collect(folder, instructions, count, why);
    callgrind_clean(folder);
    return result;
}
