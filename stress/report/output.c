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
#include "../run/sweep.h"
#include "../workload/workload.h"
#include "table.h"

/* ---- Which file a path leads to */

static int output_is_one(const struct stat *found, const struct stat *other)
{
    return S_ISREG(found->st_mode) && found->st_dev == other->st_dev && found->st_ino == other->st_ino;
}

/* Tells whether a path leads to the regular file into which a shell has put stdout or stderr: opened once more, it
   would lose what else is written there. */
static int output_leads_to(const char *path, int number)
{
    struct stat found, other;
    return !stat(path, &found) && !fstat(number, &other) && output_is_one(&found, &other);
}

static int output_is_stdout(const char *path)
{
    return !strcmp(path, "-") || output_leads_to(path, STDOUT_FILENO);
}

/* a regular file, and the same one */
static int output_is_file(const output *self, const char *path)
{
    struct stat mine, other;
    return !output_is_stdout(self->path) && !stat(self->path, &mine) && !stat(path, &other)
        && output_is_one(&mine, &other);
}

/* ---- Making files beside their place, and errors that only show when a file is closed */

typedef struct output_file {
    FILE *stream;
    char  made[PROGRAM_PATH_BYTES + 40];         /* where it is written; "": at the path itself */
    char  target[PROGRAM_PATH_BYTES];            /* where that is moved: the path, links followed */
} output_file;

/* Where the path leads: 1, a new file may take the place of what is there. *found: zero: nothing is. */
static int output_target(const char *path, char target[PROGRAM_PATH_BYTES], struct stat *found)
{
    struct stat link;
    memset(found, 0, sizeof *found);
    if (lstat(path, &link)) {
        return errno == ENOENT && snprintf(target, PROGRAM_PATH_BYTES, "%s", path) < PROGRAM_PATH_BYTES;
    }
    return !stat(path, found) && S_ISREG(found->st_mode) && found->st_nlink == 1 && realpath(path, target);
}

/* As what it takes the place of: its mode, and the same owner. */
static int output_is_like(int file, const struct stat *found)
{
    struct stat made;
    if (!found->st_nlink) return 1;
    return !fstat(file, &made) && made.st_uid == found->st_uid && made.st_gid == found->st_gid
        && !fchmod(file, found->st_mode & 07777);
}

/* Opens it, if that can be. */
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

/* In place is written what is added to, is no regular file, has other names or another owner, or lies in a folder
   that takes no other file. */
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

/* 0; else not all of it arrived: the error, or -1, where there is none. What stood at the path stands there still,
   unless it is written in place. errno is that of the first write that failed, or 0: nothing since the opening may
   reset it. */
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

/* -1 and a problem, EXIT_HARNESS: it cannot be written, or not all of it arrived. is_summary: it is added. */
static int output_send(const char *path, const output_kind *kind, int is_summary, const output_material *material,
                       problem *why)
{
    output_file file;
    FILE *ours = output_is_stdout(path) ? stdout : output_leads_to(path, STDERR_FILENO) ? stderr : NULL;
    if (ours) {
        kind->write(ours, material);
        return output_finish(ours, why);
    }
    if (!output_file_open(&file, path, is_summary)) {
        return problem_set(why, EXIT_HARNESS, "%s%s: cannot be written: %s",
                           is_summary ? "GITHUB_STEP_SUMMARY: " : "", path, strerror(errno));
    }
    kind->write(file.stream, material);
    int cause = output_file_close(&file);
    if (!cause) return 0;
    return problem_set(why, EXIT_HARNESS, is_summary ? "%s: not all was written: %s%s"
                       : "%s: not all was written: %s (--out %s)", path,
                       cause > 0 ? strerror(cause) : "write error", is_summary ? "" : kind->name);
}

/* ---- The kinds of files */

/* Of a shard the first line says which it is. */
static void write_csv(FILE *out, const output_material *material)
{
    char text[SHARD_MARK_ROOM];
    if (material->shard) fprintf(out, "%s\n", shard_mark_print(material->shard, text, sizeof text));
    csv_write(out, material->list);
}

const output_kind output_csv = {
    "csv", "run|capacity|batch|holes|bench|merge", 0, 0, write_csv,
    "a line a row (stress help columns)",
};

static void write_trace(FILE *out, const output_material *material)
{
    op_stream_write(material->stream, out);
}

const output_kind output_trace = {
    "trace", "run|shrink", 1, 0, write_trace,
    "the operations of one workload, as replay: reads them",
};

static void write_costs(FILE *out, const output_material *material)
{
    costs_write(out, material->costs, material->device);
}

const output_kind output_costs = {
    "costs", "costs", 0, 0, write_costs,
    "a file for --costs",
};

static const output_kind *const output_kinds[] = {
#define X(name) &output_##name,
    OUTPUTS(X)
#undef X
};
#define OUTPUT_KINDS (sizeof output_kinds / sizeof output_kinds[0])

const output_kind *output_kind_at(size_t index)
{
    return index < OUTPUT_KINDS ? output_kinds[index] : NULL;
}

static int output_is_of(const output_kind *kind, const char *command)
{
    return slice_has(slice_of(kind->commands), command);
}

/* "expected KIND=PATH with csv, json or trace": the kinds that the command writes. */
static int output_no_kind(const char *name, const char *command, problem *why)
{
    char hint[96], names[128] = "";
    const char *last = NULL;
    nearest search = nearest_to(name);
    for (size_t index = 0; index < OUTPUT_KINDS; index++) {
        const output_kind *each = output_kinds[index];
        if (!output_is_of(each, command)) continue;
        if (last) text_add(names, sizeof names, "%s%s", *names ? ", " : "", last);
        last = each->name;
        nearest_offer(&search, last);
    }
    if (last) text_add(names, sizeof names, "%s%s", *names ? " or " : "", last);
    return problem_set(why, EXIT_USAGE, "--out: expected KIND=PATH with %s, found '%s'%s", names, name,
                       nearest_hint(&search, hint, sizeof hint));
}

static int output_parse(const char *text, const char *command, output *made, problem *why)
{
    size_t length = strcspn(text, "=");
    char name[40];
    snprintf(name, sizeof name, "%.*s", length < sizeof name ? (int)length : (int)sizeof name - 1, text);
    memset(made, 0, sizeof *made);
    for (size_t index = 0; index < OUTPUT_KINDS; index++) {
        const output_kind *each = output_kinds[index];
        if (output_is_of(each, command) && !strcmp(name, each->name)) made->kind = each;
    }
    if (!made->kind) return output_no_kind(name, command, why);
    if (!text[length] || !text[length + 1]) {
        return problem_set(why, EXIT_USAGE, "--out: expected %s=PATH (- is stdout), found '%s'", name, text);
    }
    made->path = text + length + 1;
    return 0;
}

/* ---- Trying them before anything runs */

/* For appending: what the file holds stays until there is something to put in its place. A named pipe is opened once
   alone, when it is written: its reader takes the first end of it for the last. */
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

/* No output may be a file that is read: -1 and a problem, EXIT_USAGE. */
static int output_is_read(const output *self, const char *path, const char *option, problem *why)
{
    if (!path || !output_is_file(self, path)) return 0;
    return problem_set(why, EXIT_USAGE, "--out: %s is what %s%s reads; give another file", self->path, option, path);
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

/* Of a workload, the recordings that it replays. */
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

int output_list_parse(output_list *self, char *const *texts, size_t count, const char *command, problem *why)
{
    self->items = program_need(count, sizeof *self->items);
    for (; self->count < count; self->count++) {
        output *made = &self->items[self->count];
        if (output_parse(texts[self->count], command, made, why)) return -1;
        if (output_is_stdout(made->path) && self->takes_stdout++) {
            return problem_set(why, EXIT_USAGE, "--out: two outputs to stdout; give one of them a file");
        }
    }
    return 0;
}

static int output_list_try_one(const output_list *self, output *made, const cli *asked, const plan *of, problem *why)
{
    if (output_try(made, why) || output_is_asked(made, asked, why)) return -1;
    for (size_t index = 0; of && index < of->workload_count; index++) {
        if (output_is_replayed(made, of->workloads[index].text, why)) return -1;
    }
    for (const output *other = self->items; other < made; other++) {
        if (!output_is_file(made, other->path)) continue;
        return problem_set(why, EXIT_USAGE, "--out: %s is written twice; give each output a file of its own",
                           made->path);
    }
    return 0;
}

int output_list_try(const output_list *self, const cli *asked, const plan *of, problem *why)
{
    int failed = 0;
    for (size_t index = 0; index < self->count && !failed; index++) {
        failed = output_list_try_one(self, &self->items[index], asked, of, why);
    }
    for (output *each = self->items; each < self->items + self->count; each++) {
        if (each->is_new) unlink(each->path);
        each->is_new = 0;
    }
    return failed;
}

int output_list_files(const output_list *self, const output_material *material, problem *why)
{
    static const row_list none;
    const row_list *all = material->list ? material->list : &none;
    row_list kept = *all;
    output_material made = *material;
    int failed = 0;
    made.list = &kept;
    kept.count = 0;
    kept.rows = program_need(all->count, sizeof *kept.rows);
    for (size_t index = 0; index < all->count; index++) {
        if (!all->rows[index].is_baseline) kept.rows[kept.count++] = all->rows[index];
    }
    if (!made.device) made.device = kept.count && kept.rows->cells[COLUMN_DEVICE].text
                                  ? kept.rows->cells[COLUMN_DEVICE].text : "";
    for (size_t index = 0; index < self->count; index++) {
        failed |= output_send(self->items[index].path, self->items[index].kind, 0, &made, why);
    }
    const char *summary = material->list ? program_environment("GITHUB_STEP_SUMMARY") : NULL;
    if (summary) failed |= output_send(summary, &output_md, 1, &made, why);
    free(kept.rows);
    return failed ? -1 : 0;
}

int output_list_write(const output_list *self, const output_material *material, int is_quiet, const char *color,
                      problem *why)
{
    FILE *shown = self->takes_stdout ? stderr : stdout;
    int failed = output_list_files(self, material, why);
    if (!is_quiet) {
        const table_style style = table_style_for(shown, color);
        table_write(shown, material->list, material->environment, &style);
        if (material->gates) gate_write(shown, material->gates);
    }
    return output_finish(stdout, why) || failed ? -1 : 0;
}
