/* One run under callgrind, which leaves a file for each call of the function: .1, .2 and so on. */
#include "stage.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CALLGRIND_MOST_WORDS = 256, CALLGRIND_ABSENT = 125 };

typedef struct callgrind_job {
    char        folder[64], out[128], toggle[128], dump[128];
    const char *words[CALLGRIND_MOST_WORDS];
} callgrind_job;

static int callgrind_prepare(callgrind_job *job, const char *const *words, const char *function, problem *why)
{
    size_t at = 0;
    snprintf(job->folder, sizeof job->folder, "/tmp/gpuarena-count-XXXXXX");
    snprintf(job->toggle, sizeof job->toggle, "--toggle-collect=%s", function);
    snprintf(job->dump, sizeof job->dump, "--dump-after=%s", function);
    job->words[at++] = "valgrind";
    job->words[at++] = "--tool=callgrind";
    job->words[at++] = "--collect-atstart=no";
    job->words[at++] = job->toggle;
    job->words[at++] = job->dump;
    job->words[at++] = job->out;
    while (*words && at < CALLGRIND_MOST_WORDS - 1) job->words[at++] = *words++;
    job->words[at] = NULL;
    if (*words) return problem_set(why, EXIT_HARNESS, "too many words for callgrind");
    if (!mkdtemp(job->folder)) {
        return problem_set(why, EXIT_HARNESS, "%s: cannot be made: %s", job->folder, strerror(errno));
    }
    snprintf(job->out, sizeof job->out, "--callgrind-out-file=%s/out", job->folder);
    return 0;
}

/* execvp takes words that it promises not to write; ISO C has no way to say so without a cast. */
static void callgrind_become(const callgrind_job *job)
{
    char *words[CALLGRIND_MOST_WORDS];
    int nowhere = open("/dev/null", O_RDWR);
    memcpy(words, job->words, sizeof words);
    if (nowhere >= 0 && dup2(nowhere, 0) >= 0 && dup2(nowhere, 1) >= 0 && dup2(nowhere, 2) >= 0) {
        execvp(words[0], words);
    }
    _exit(errno == ENOENT ? CALLGRIND_ABSENT : EXIT_HARNESS);
}

static int callgrind_run(const callgrind_job *job, problem *why)
{
    int status = 0;
    pid_t child = fork();
    if (!child) callgrind_become(job);
    if (child < 0 || waitpid(child, &status, 0) != child) {
        return problem_set(why, EXIT_HARNESS, "valgrind: cannot be run: %s", strerror(errno));
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == CALLGRIND_ABSENT) return 1;
    if (WIFEXITED(status) && !WEXITSTATUS(status)) return 0;
    return problem_set(why, EXIT_HARNESS, "under callgrind it ended with status %d",
                       WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
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

static int callgrind_collect(const callgrind_job *job, uint64_t *instructions, size_t count, problem *why)
{
    char path[128];
    size_t found = 0;
    while (found < count) {
        snprintf(path, sizeof path, "%s/out.%zu", job->folder, found + 1);
        if (callgrind_read(path, &instructions[found])) break;
        found++;
    }
    snprintf(path, sizeof path, "%s/out.%zu", job->folder, count + 1);
    if (found == count && access(path, F_OK)) return 0;
    return problem_set(why, EXIT_HARNESS, "callgrind counted %s%zu calls, expected %zu", found < count ? "" : "over ",
                       found, count);
}

static void callgrind_clean(const callgrind_job *job)
{
    char path[128];
    size_t number = 0;
    snprintf(path, sizeof path, "%s/out", job->folder);
    do {
        (void)unlink(path);
        snprintf(path, sizeof path, "%s/out.%zu", job->folder, ++number);
    } while (!access(path, F_OK));
    (void)rmdir(job->folder);
}

int callgrind_count(const char *const *words, const char *function, uint64_t *instructions, size_t count,
                    problem *why)
{
    callgrind_job job;
    if (callgrind_prepare(&job, words, function, why)) return -1;
    int result = callgrind_run(&job, why);
    if (!result) result = callgrind_collect(&job, instructions, count, why);
    callgrind_clean(&job);
    return result;
}
