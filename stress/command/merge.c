/* `stress merge FILE..`: the files of all shards of one run (--shard), as the run without shards would have written
   it. Shards are read as rows, and written like other rows. */
#include "command.h"

#include "../result/csv.h"
#include "../run/plan.h"

typedef struct merge_file {
    const char *path;
    char       *text;                            /* owned */
    slice       header;                          /* the line of the text that names the columns */
    shard_mark  mark;
    row_list    rows;
} merge_file;

typedef struct merge {
    merge_file *files;
    size_t      file_count;
    merge_file **of;                             /* by shard; NULL: it is missing */
    report      report;                          /* its rows are the merged ones; the files own their cells */
} merge;

static int merge_read(merge_file *file, const char *path, problem *why)
{
    size_t length;
    char *text = file->text = csv_slurp(path, &length, why);
    file->path = path;
    if (!text) return -1;
    const slice line = { text, strcspn(text, "\r\n") };       /* lines may end with CR LF */
    size_t taken = strcspn(text, "\n");
    taken += taken < length;
    if (shard_mark_read(line, &file->mark)) {
        return problem_set(why, EXIT_USAGE, "%s: not a shard's: expected a file that --out csv wrote with --shard",
                           path);
    }
    if (text[length - 1] != '\n') {
        return problem_set(why, EXIT_HARNESS, "%s: ends before its time: shard %" PRIu64 "/%" PRIu64
                           " must run again", path, file->mark.index, file->mark.count);
    }
    file->header.bytes = text + taken;
    file->header.length = strcspn(text + taken, "\r\n");
    if (csv_parse(&file->rows, path, text + taken, length - taken, why)) return -1;
    if (!file->rows.other_count) return 0;
    return problem_set(why, EXIT_USAGE, "%s: column '%s' would be lost: merge with the version that wrote it, %s",
                       path, file->rows.others[0], file->mark.version);
}

static int merge_is_whole(const merge_file *file, problem *why)
{
    const shard_mark *mark = &file->mark;
    uint64_t expected = shard_rows(mark, mark->rows);
    if (file->rows.count == expected) return 0;
    return problem_set(why, EXIT_HARNESS, "%s: shard %" PRIu64 "/%" PRIu64 " has %zu rows, expected %" PRIu64
                       ": it must run again", file->path, mark->index, mark->count, file->rows.count, expected);
}

/* Checks that two files are shards of one run, with all of their rows: the version, the seed, the sweep, the number
   of shards and the columns are the same. */
static int merge_belongs(const merge_file *one, const merge_file *other, problem *why)
{
    const shard_mark *left = &one->mark, *right = &other->mark;
    if (strcmp(left->version, right->version)) {
        return problem_set(why, EXIT_USAGE, "mixed versions: %s has %s, %s has %s", one->path, left->version,
                           other->path, right->version);
    }
    const struct { const char *what; uint64_t left, right; } numbers[] = {
        { "seeds", left->seed, right->seed }, { "numbers of shards", left->count, right->count },
        { "sweeps (workloads, policies or options differ)", left->sweep, right->sweep },
        { "numbers of rows", left->rows, right->rows },
    };
    for (size_t at = 0; at < sizeof numbers / sizeof numbers[0]; at++) {
        if (numbers[at].left == numbers[at].right) continue;
        return problem_set(why, EXIT_USAGE, "mixed %s: %s has %" PRIu64 ", %s has %" PRIu64, numbers[at].what,
                           one->path, numbers[at].left, other->path, numbers[at].right);
    }
    if (merge_is_whole(one, why) || merge_is_whole(other, why)) return -1;
    if (one->header.length == other->header.length
        && !memcmp(one->header.bytes, other->header.bytes, one->header.length)) return 0;
    return problem_set(why, EXIT_USAGE, "mixed files: %s and %s have different columns", one->path, other->path);
}

static int merge_files(merge *self, const cli_value *words, problem *why)
{
    char names[160] = "";                        /* missing shards: "3, 5, 9 and 4 more" */
    for (size_t index = 0; index < words->item_count; index++) {
        merge_file *file = &self->files[self->file_count++];
        if (merge_read(file, words->items[index], why)
            || merge_belongs(&self->files[0], file, why)) return -1;
    }
    uint64_t count = self->files[0].mark.count;
    self->of = program_need((size_t)count, sizeof *self->of);
    for (size_t index = 0; index < self->file_count; index++) {
        merge_file *file = &self->files[index], **place = &self->of[file->mark.index];
        if (*place) {
            return problem_set(why, EXIT_USAGE, "shard %" PRIu64 "/%" PRIu64 " is there twice: %s and %s",
                               file->mark.index, count, (*place)->path, file->path);
        }
        *place = file;
    }
    const uint64_t missing = count - self->file_count;
    if (!missing) return 0;
    uint64_t told = 0;
    for (uint64_t index = 0; index < count && told < 16; index++) {
        if (self->of[index]) continue;
        text_add(names, sizeof names, "%s%" PRIu64, told++ ? ", " : "", index);
    }
    if (missing > told) text_add(names, sizeof names, " and %" PRIu64 " more", missing - told);
    return problem_set(why, EXIT_HARNESS, "%" PRIu64 " of %" PRIu64 " shards missing: %s", missing, count, names);
}

/* Checks that rules are given if an output other than csv is: it holds their verdicts. */
static int merge_formats(const merge *self, problem *why)
{
    for (size_t index = 0; !self->report.gates.rule_count && index < self->report.output_count; index++) {
        const char *name = self->report.outputs[index].kind->name;
        if (!strcmp(name, "csv")) continue;
        return problem_set(why, EXIT_USAGE, "--out %s: holds verdicts on rules: give --fail-if too", name);
    }
    return 0;
}

/* Writes no files if the rules cannot be judged. Verdicts go to stderr if the rows go to stdout. */
static int merge_all(merge *self, const cli *asked, problem *why)
{
    report *made = &self->report;
    row_list *all = &made->list;
    if (!asked->words.item_count) {
        return problem_set(why, EXIT_USAGE, "merge: expected the files of all shards, found none");
    }
    self->files = program_need(asked->words.item_count, sizeof *self->files);
    if (report_parse(made, why) || gate_parse_rules(&made->gates, asked, why) || gate_parse_base(&made->gates, why)
        || merge_files(self, &asked->words, why) || merge_formats(self, why)
        || report_try(made, NULL, why)) return -1;
    const shard_mark *mark = &self->files[0].mark;
    all->rows = program_need((size_t)mark->rows, sizeof *all->rows);
    all->count = (size_t)mark->rows;
    all->kind = self->files[0].rows.kind;
    memcpy(all->lacks, self->files[0].rows.lacks, sizeof all->lacks);
    for (uint64_t at = 0; at < mark->rows; at++) {           /* from shard after shard */
        all->rows[at] = self->of[at % mark->count]->rows.rows[at / mark->count];
    }
    if (gate_judge(&made->gates, all, "the merged file", why)) return -1;
    if (!made->output_count) csv_write(stdout, all);
    if (asked->values[CLI_QUIET].given) gate_tell(stderr, &made->gates);
    else gate_write(!made->output_count || made->takes_stdout ? stderr : stdout, &made->gates);
    int failed = report_files(made, why);
    return output_finish(stdout, why) || failed ? -1 : 0;
}

static int merge_act(const cli *asked, problem *why)
{
    merge self = { .report = { .asked = asked } };
    int failed = merge_all(&self, asked, why);
    int exit_code = failed ? -1 : gate_failed(&self.report.gates) ? EXIT_GATE : EXIT_PASS;
    report_free(&self.report);
    csv_free(&self.report.list);
    for (size_t index = 0; index < self.file_count; index++) {
        csv_free(&self.files[index].rows);
        free(self.files[index].text);
    }
    free(self.files);
    free(self.of);
    return exit_code;
}

const command command_merge = { "merge", "SHARD.. [--out csv=FILE] [--fail-if RULE]", SIZE_MAX, merge_act };
