/* The kinds of files, and trying them before anything runs. */
#define _XOPEN_SOURCE 700                        /* realpath */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "../measure/costs.h"
#include "../result/csv.h"
#include "../run/plan.h"
#include "../workload/workload.h"
#include "table.h"

/* ---- The file that a path leads to */

static int output_is_one(const struct stat *found, const struct stat *other)
{
    return S_ISREG(found->st_mode) && found->st_dev == other->st_dev && found->st_ino == other->st_ino;
}

/* Tells whether a path leads to the regular file into which a shell has put stdout or stderr. Opening it once more
   would lose the other text written there. */
static int output_leads_to(const char *path, int number)
{
    struct stat found, other;
    return !stat(path, &found) && !fstat(number, &other) && output_is_one(&found, &other);
}

static int output_is_stdout(const char *path)
{
    return !strcmp(path, "-") || output_leads_to(path, STDOUT_FILENO);
}

/* Tells whether the output and the path are the same regular file. */
static int output_is_file(const output *self, const char *path)
{
    struct stat mine, other;
    return !output_is_stdout(self->path) && !stat(self->path, &mine) && !stat(path, &other)
        && output_is_one(&mine, &other);
}

/* ---- Making files beside their place, and errors that only show when a file is closed */

typedef struct output_file {
    FILE *stream;
    char  made[PROGRAM_PATH_BYTES + 40];         /* path of the new file; "": the path itself is written */
    char  target[PROGRAM_PATH_BYTES];            /* path that the new file is moved to, with links followed */
} output_file;

/* Finds the file that the path leads to. 1: a new file may replace it. *found is zero if there is none. */
static int output_target(const char *path, char target[PROGRAM_PATH_BYTES], struct stat *found)
{
    struct stat link;
    memset(found, 0, sizeof *found);
    if (lstat(path, &link)) {
        return errno == ENOENT && snprintf(target, PROGRAM_PATH_BYTES, "%s", path) < PROGRAM_PATH_BYTES;
    }
    return !stat(path, found) && S_ISREG(found->st_mode) && found->st_nlink == 1 && realpath(path, target);
}

/* Gives a new file the mode of the file that it replaces. 0: their owners differ, or that fails. */
static int output_is_like(int file, const struct stat *found)
{
    struct stat made;
    if (!found->st_nlink) return 1;
    return !fstat(file, &made) && made.st_uid == found->st_uid && made.st_gid == found->st_gid
        && !fchmod(file, found->st_mode & 07777);
}

/* Opens a new file beside the path's target, if possible. */
static void output_file_beside(output_file *self, const char *path)
{
    struct stat found;
    if (!output_target(path, self->target, &found)) return;
    snprintf(self->made, sizeof self->made, "%s.%ld.part", self->target, (long)getpid());
    int file = open(self->made, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (file >= 0 && output_is_like(file, &found)) self->stream = fdopen(file, "w");
    if (self->stream) return;
    if (file >= 0) {
        close(file);
        unlink(self->made);
    }
    self->made[0] = '\0';
}

/* Opens a file. The path is written in place if text is added to it, if it is no regular file, if it has other names
   or another owner, or if its folder takes no new file. */
static FILE *output_file_open(output_file *self, const char *path, int is_added)
{
    *self = (output_file){ .stream = NULL };
    if (!is_added) output_file_beside(self, path);
    if (!self->stream) {
        errno = 0;
        self->stream = fopen(path, is_added ? "a" : "w");
    }
    if (self->stream) errno = 0;
    return self->stream;
}

/* Closes a file and moves it to its place. 0; else not all of it arrived: the error, or -1 if that is not known. The
   old file then stays at the path, unless it is written in place. errno must be that of the first write that failed,
   or 0: no call since the opening may reset it. */
static int output_file_close(output_file *self)
{
    int failed = ferror(self->stream);
    if (!failed) errno = 0;
    failed |= fclose(self->stream);
    if (*self->made && !failed) failed = rename(self->made, self->target);
    int cause = !failed ? 0 : errno ? errno : -1;
    if (*self->made && failed) unlink(self->made);
    return cause;
}

int output_finish(FILE *ours, problem *why)
{
    errno = 0;
    if (!fflush(ours) && !ferror(ours)) return 0;
    return problem_set(why, EXIT_HARNESS, "%s: not all was written: %s", ours == stdout ? "stdout" : "stderr",
                       errno ? strerror(errno) : "write error");
}

/* Writes an output. -1 and a problem, EXIT_HARNESS: it cannot be written, or not all of it arrived. is_summary: it is
   added to the file. */
static int output_send(const char *path, const output_kind *kind, int is_summary, const report *of, problem *why)
{
    output_file file;
    FILE *ours = output_is_stdout(path) ? stdout : output_leads_to(path, STDERR_FILENO) ? stderr : NULL;
    if (ours) {
        kind->write(ours, of);
        return output_finish(ours, why);
    }
    if (!output_file_open(&file, path, is_summary)) {
        return problem_set(why, EXIT_HARNESS, "%s%s: cannot be written: %s",
                           is_summary ? "GITHUB_STEP_SUMMARY: " : "", path, strerror(errno));
    }
    kind->write(file.stream, of);
    int cause = output_file_close(&file);
    if (!cause) return 0;
    return problem_set(why, EXIT_HARNESS, is_summary ? "GITHUB_STEP_SUMMARY: %s: not all was written: %s%s"
                       : "%s: not all was written: %s (--out %s)", path,
                       cause > 0 ? strerror(cause) : "write error", is_summary ? "" : kind->name);
}

/* ---- The kinds of files */

/* The first line of a shard is its mark. */
static void write_csv(FILE *out, const report *of)
{
    char text[SHARD_MARK_ROOM];
    if (of->shard && of->shard->count > 1) fprintf(out, "%s\n", shard_mark_print(of->shard, text, sizeof text));
    csv_write(out, &of->list);
}

const output_kind output_csv = {
    "csv", "run|capacity|batch|holes|bench|merge", 0, 0, write_csv,
    "a line a row (stress help columns)",
};

static void write_trace(FILE *out, const report *of)
{
    op_stream_write(of->stream, out);
}

const output_kind output_trace = {
    "trace", "run|shrink", 1, 0, write_trace,
    "the operations of one workload, as replay: reads them",
};

static void write_costs(FILE *out, const report *of)
{
    costs_write(out, of->costs, of->device);
}

const output_kind output_costs = {
    "costs", "costs", 0, 0, write_costs,
    "a file for --costs",
};

const output_kind *const output_kinds[] = {
#define X(name) &output_##name,
    OUTPUTS(X)
#undef X
    NULL
};

/* "expected KIND=PATH with csv, json or trace": the kinds that the command writes. */
static int output_no_kind(const char *name, const char *command, problem *why)
{
    char hint[96], names[128] = "";
    const char *last = NULL;
    nearest search = nearest_to(name);
    for (const output_kind *const *each = output_kinds; *each; each++) {
        if (!slice_has(slice_of((*each)->commands), command)) continue;
        if (last) text_add(names, sizeof names, "%s%s", *names ? ", " : "", last);
        last = (*each)->name;
        nearest_offer(&search, last);
    }
    if (last) text_add(names, sizeof names, "%s%s", *names ? " or " : "", last);
    return problem_set(why, EXIT_USAGE, "--out: expected KIND=PATH with %s, found '%s'%s", names, name,
                       nearest_hint(&search, hint, sizeof hint));
}

static int output_parse(const report *self, const char *text, output *made, problem *why)
{
    size_t length = strcspn(text, "=");
    char name[40];
    snprintf(name, sizeof name, "%.*s", length < sizeof name ? (int)length : (int)sizeof name - 1, text);
    for (const output_kind *const *each = output_kinds; *each; each++) {
        int is_of_command = slice_has(slice_of((*each)->commands), self->asked->command);
        if (is_of_command && !strcmp(name, (*each)->name)) made->kind = *each;
    }
    if (!made->kind) return output_no_kind(name, self->asked->command, why);
    if (!text[length] || !text[length + 1]) {
        return problem_set(why, EXIT_USAGE, "--out: expected %s=PATH (- is stdout), found '%s'", name, text);
    }
    made->path = shard_path(text + length + 1, self->shard);
    return 0;
}

/* ---- Trying them before anything runs */

/* Opens the file for appending, so that its text stays until the output replaces it. A named pipe is not opened for
   trial, because its reader takes the first end for the last. */
static int output_try(output *self, problem *why)
{
    struct stat found;
    if (output_is_stdout(self->path)) return 0;
    if (output_leads_to(self->path, STDERR_FILENO)) {
        return problem_set(why, EXIT_USAGE, "--out: stderr goes to %s; give another file", self->path);
    }
    int is_new = lstat(self->path, &found) && errno == ENOENT;
    int is_pipe = !stat(self->path, &found) && S_ISFIFO(found.st_mode);
    errno = 0;
    FILE *file = is_pipe ? NULL : fopen(self->path, "a");
    if (is_pipe ? access(self->path, W_OK) : !file) {
        return problem_set(why, EXIT_HARNESS, "%s: cannot be written: %s", self->path, strerror(errno));
    }
    if (file) fclose(file);
    self->is_new = is_new;
    return 0;
}

/* Checks that the output is no file that is read. -1 and a problem, EXIT_USAGE: it is. */
static int output_is_read(const output *self, const char *path, const char *option, problem *why)
{
    if (!path || !output_is_file(self, path)) return 0;
    return problem_set(why, EXIT_USAGE, "--out: %s is an input, of %s%s; give another file", self->path, option,
                       path);
}

static int output_is_asked(const output *self, const cli *asked, problem *why)
{
    const cli_value *rules = &asked->values[CLI_FAIL_IF], *words = &asked->words;
    char command[24];
    snprintf(command, sizeof command, "%.20s ", asked->command);
    int failed = output_is_read(self, asked->values[CLI_BASE].text, "--base ", why)
        || output_is_read(self, asked->values[CLI_COSTS].text, "--costs ", why);
    for (size_t index = 0; index < rules->item_count && !failed; index++) {
        if (rules->items[index][0] == '@') failed = output_is_read(self, rules->items[index] + 1, "--fail-if @", why);
    }
    for (size_t index = 0; index < words->item_count && !failed; index++) {
        failed = output_is_read(self, words->items[index], command, why);
    }
    return failed;
}

/* Checks that the output is no recording that the workload replays. */
static int output_is_replayed(const output *self, const char *workload, problem *why)
{
    slice rest = slice_of(workload), spec, name;
    char path[4096];
    while (mix_take(&rest, &spec)) {
        if (!slice_begins(spec, "replay:") || !slice_take(&spec, ':', &name)) continue;
        snprintf(path, sizeof path, "%.*s", (int)spec.length, spec.bytes);
        if (!output_is_file(self, path)) continue;
        return problem_set(why, EXIT_USAGE, "--out: %s is the recording of -w %s; give another file", self->path,
                           workload);
    }
    return 0;
}

/* ---- Files one by one, then the table */

int report_parse(report *self, problem *why)
{
    const cli_value *asked = &self->asked->values[CLI_OUT];
    const size_t count = asked->item_count ? asked->item_count : self->plain != NULL;
    int is_of_one = 0;
    self->outputs = program_need(count, sizeof *self->outputs);
    for (; self->output_count < count; self->output_count++) {
        output *made = &self->outputs[self->output_count];
        const char *text = asked->item_count ? asked->items[self->output_count] : self->plain;
        if (output_parse(self, text, made, why)) return -1;
        self->record |= made->kind->record;
        is_of_one |= made->kind->needs_one_workload;
        if (output_is_stdout(made->path) && self->takes_stdout++) {
            return problem_set(why, EXIT_USAGE, "--out: two outputs to stdout; give one of them a file");
        }
    }
    if (!is_of_one || !plan_asks_many(self->asked)) return 0;
    return problem_set(why, EXIT_USAGE, "--out trace: holds one workload, and several are asked for");
}

void report_free(report *self)
{
    for (size_t index = 0; index < self->output_count; index++) free(self->outputs[index].path);
    free(self->outputs);
    gate_free(&self->gates);
}

static int report_try_one(const report *self, output *made, const plan *of, problem *why)
{
    if (output_try(made, why) || output_is_asked(made, self->asked, why)) return -1;
    for (size_t index = 0; of && index < of->workload_count; index++) {
        if (output_is_replayed(made, of->workloads[index].text, why)) return -1;
    }
    for (const output *other = self->outputs; other < made; other++) {
        if (!output_is_file(made, other->path)) continue;
        return problem_set(why, EXIT_USAGE, "--out: %s is written twice; give each output a file of its own",
                           made->path);
    }
    return 0;
}

int report_try(const report *self, const plan *of, problem *why)
{
    int failed = 0;
    for (size_t index = 0; index < self->output_count && !failed; index++) {
        failed = report_try_one(self, &self->outputs[index], of, why);
    }
    for (output *each = self->outputs; each < self->outputs + self->output_count; each++) {
        if (each->is_new) unlink(each->path);
        each->is_new = 0;
    }
    return failed;
}

int report_files(const report *self, problem *why)
{
    const row_list *all = &self->list;
    report made = *self;
    row *kept = made.list.rows = program_need(all->count, sizeof *kept);
    int failed = 0;
    made.list.count = 0;
    for (size_t index = 0; index < all->count; index++) {
        if (!all->rows[index].is_baseline) kept[made.list.count++] = all->rows[index];
    }
    if (!made.device) made.device = kept->cells[COLUMN_DEVICE].text ? kept->cells[COLUMN_DEVICE].text : "";
    for (size_t index = 0; index < self->output_count; index++) {
        failed |= output_send(self->outputs[index].path, self->outputs[index].kind, 0, &made, why);
    }
    const char *summary = all->rows ? program_environment("GITHUB_STEP_SUMMARY") : NULL;
    if (summary) failed |= output_send(summary, &output_md, 1, &made, why);
    free(kept);
    return failed ? -1 : 0;
}

int report_write(const report *self, problem *why)
{
    FILE *shown = self->takes_stdout ? stderr : stdout;
    int failed = report_files(self, why);
    if (!self->asked->values[CLI_QUIET].given) {
        const table_style style = table_style_for(shown, self->asked->values[CLI_COLOR].text);
        table_write(shown, &self->list, self->environment, &style);
        gate_write(shown, &self->gates);
    } else gate_tell(stderr, &self->gates);
    return output_finish(stdout, why) || failed ? -1 : 0;
}
