/* PyTorch's memory snapshots, which are pickles: import/torch_snapshot.py makes traces of them, in a process of its
   own. No shell sees a name.
   It must not know what a snapshot holds. Tested by tests/recordings.t. */
#include "replay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../base/cli.h"
#include "../base/program.h"

enum { SNAPSHOT_WORDS = 6, SNAPSHOT_ABSENT = 127 };

static const char snapshot_importer[] = "import/torch_snapshot.py";

int replay_is_snapshot(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && (!strcmp(dot, ".pickle") || !strcmp(dot, ".pkl"));
}

/* The command for a shell; the file's name is cut where it is too long for a message anyway. */
static void snapshot_command(const char *path, char *text, size_t size)
{
    char importer[PROGRAM_PATH_BYTES], traced[PROGRAM_PATH_BYTES];
    if (program_file(snapshot_importer, importer, sizeof importer)) {
        snprintf(importer, sizeof importer, "torch_snapshot.py");
    }
    snprintf(traced, sizeof traced, "%s.trace", path);
    FILE *out = fmemopen(text, size, "w");
    if (!out) return;
    fputs("python3 ", out);
    cli_print_word(out, importer);
    fputs(*path == '-' ? " ./" : " ", out);
    cli_print_word(out, path);
    fputs(*path == '-' ? " --out ./" : " --out ", out);
    cli_print_word(out, traced);
    fclose(out);
}

int replay_refuse_snapshot(const char *path, const char *obstacle, stream_builder *builder)
{
    char command[sizeof builder->why->text] = "";
    snapshot_command(path, command, sizeof command);
    command[sizeof command - 1] = '\0';
    return stream_refuse(builder, "a pickle, and %s; a trace is made of it by: %s", obstacle, command);
}

/* What python3 said last, without its newline; "" if that is nothing. */
static void snapshot_last_line(FILE *errors, char *line, size_t size)
{
    char *next = NULL;
    size_t room = 0;
    line[0] = '\0';
    rewind(errors);
    while (getline(&next, &room, errors) > 0) {
        next[strcspn(next, "\r\n")] = '\0';
        if (*next) snprintf(line, size, "%s", next);
    }
    free(next);
}

static int snapshot_judge(int status, FILE *errors, stream_builder *builder)
{
    char line[sizeof builder->why->text];
    if (WIFSIGNALED(status)) {
        return stream_refuse(builder, "python3 was ended by signal %d, expected a trace from it", WTERMSIG(status));
    }
    if (WEXITSTATUS(status) == 0) return 0;
    snapshot_last_line(errors, line, sizeof line);
    if (*line) return problem_set(builder->why, EXIT_USAGE, "%s", line);
    return stream_refuse(builder, "python3 ended with %d, expected a trace from it", WEXITSTATUS(status));
}

/* execvp takes words that it promises not to write; ISO C has no way to say so without a cast. */
static void snapshot_become(const char *const *asked, int out, FILE *errors)
{
    char *words[SNAPSHOT_WORDS];
    int nothing = open("/dev/null", O_RDONLY);
    memcpy(words, asked, sizeof words);
    if (nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 && dup2(fileno(errors), STDERR_FILENO) >= 0
        && dup2(out, STDOUT_FILENO) >= 0) {
        execvp(words[0], words);
    }
    _exit(SNAPSHOT_ABSENT);
}

/* A process that writes the trace, and the end to read it from; -1: errno. */
static pid_t snapshot_start(const char *const *words, FILE *errors, FILE **trace)
{
    int ends[2];
    if (pipe(ends)) return -1;
    pid_t child = fork();
    if (!child) {
        (void)close(ends[0]);
        snapshot_become(words, ends[1], errors);
    }
    (void)close(ends[1]);
    *trace = child < 0 ? NULL : fdopen(ends[0], "rb");
    if (!*trace) (void)close(ends[0]);           /* a child has nobody to write to, and ends */
    return child;
}

static int snapshot_run(const char *path, const char *importer, FILE *errors, replay_content *into,
                        stream_builder *builder)
{
    const char *const words[SNAPSHOT_WORDS] = { "python3", importer, "--quiet", "--", path, NULL };
    FILE *trace = NULL;
    int status = 0;
    pid_t child = snapshot_start(words, errors, &trace);
    if (child < 0) return stream_refuse(builder, "python3 cannot be run: %s", strerror(errno));
    int failed = trace ? replay_fill(trace, into, builder) : stream_refuse(builder, "%s", strerror(errno));
    if (trace) fclose(trace);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
    if (failed) return -1;
    if (WIFEXITED(status) && WEXITSTATUS(status) == SNAPSHOT_ABSENT) {
        return replay_refuse_snapshot(path, "there is no python3 to convert it", builder);
    }
    return snapshot_judge(status, errors, builder);
}

int replay_convert(const char *path, replay_content *into, stream_builder *builder)
{
    char importer[PROGRAM_PATH_BYTES];
    if (program_file(snapshot_importer, importer, sizeof importer)) {
        return replay_refuse_snapshot(path, "torch_snapshot.py does not lie where this program looks", builder);
    }
    FILE *errors = tmpfile();
    if (!errors) return stream_refuse(builder, "no temporary file for what python3 says: %s", strerror(errno));
    int failed = snapshot_run(path, importer, errors, into, builder);
    fclose(errors);
    return failed;
}
