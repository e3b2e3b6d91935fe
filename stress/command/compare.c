/* `stress compare A.csv B.csv`: a verdict a row, B against A; or the rules of --fail-if, with A as base.
   And the files of rows that were read, of merge's too. */
#include "command.h"

#include <stdlib.h>
#include <string.h>

#include "../report/output.h"
#include "../result/gate.h"

/* ---- Rows that were read are made rows of a list, for the writers of files: whole numbers as such, all else as
        texts */

/* The command that has such columns: all of the header's are its own. */
static row_kind table_kind(const csv_table *table)
{
    static const row_kind kinds[] = { ROW_RUN, ROW_ROUNDS, ROW_CAPACITY, ROW_BATCH, ROW_HOLES, ROW_BENCH };
    for (size_t at = 0; at < sizeof kinds / sizeof kinds[0]; at++) {
        size_t known = 0;
        for (int column = 0; column < COLUMN_COUNT; column++) {
            known += row_has(kinds[at], (row_column)column)
                && csv_table_column(table, row_column_name((row_column)column)) != CSV_NO_COLUMN;
        }
        if (known == table->column_count) return kinds[at];
    }
    return ROW_RUN;
}

/* What is printed again as it was read, to the byte. */
static void table_cell_of(const char *text, row_column column, row *made)
{
    uint64_t number;
    column_unit unit = column_find(row_column_name(column))->unit;
    int is_number = (unit == UNIT_COUNT || unit == UNIT_BYTES) && (*text != '0' || !text[1]);
    if (is_number && slice_digits(slice_of(text), &number)) row_count(made, column, number);
    else row_text(made, column, text);
}

static void table_row_of(const csv_table *table, size_t line, row_kind kind, const char *path, row *made)
{
    for (int column = 0; column < COLUMN_COUNT; column++) {
        const char *text = csv_table_cell(table, line, csv_table_column(table, row_column_name((row_column)column)));
        int is_named = *text || column == COLUMN_POLICY;             /* a row has a policy, be it "" */
        if (is_named && row_has(kind, (row_column)column)) table_cell_of(text, (row_column)column, made);
    }
    const cell *status = &made->cells[COLUMN_STATUS];
    if (status->kind == CELL_TEXT && strcmp(status->text, "ok") && strcmp(status->text, "oom")) {
        snprintf(made->note, sizeof made->note, "%.100s, as %.300s says", status->text, path);
    }
}

int table_files_write(const output_list *outputs, const csv_table *table, const char *path, const gate *gates,
                      problem *why)
{
    row_list list = { calloc(table->row_count + 1, sizeof *list.rows), table->row_count, table_kind(table),
                      table->partial, NULL };
    if (!list.rows) return problem_set(why, EXIT_HARNESS, "no host memory for the rows of %s", path);
    for (size_t line = 0; line < list.count; line++) table_row_of(table, line, list.kind, path, &list.rows[line]);
    const char *name = list.count ? csv_table_cell(table, 0, csv_table_column(table, "device")) : "";
    const output_material material = { .list = &list, .device = name, .gates = gates, .table = table };
    int failed = 0;
    for (size_t index = 0; index < outputs->count; index++) {
        failed |= output_write(&outputs->items[index], &material, why);
    }
    failed |= output_summary(&material, why);
    free(list.rows);
    return failed ? -1 : 0;
}

/* ---- Row by row: exact metrics by their values, timed ones by the intervals of their repeats */

typedef enum compare_found { COMPARE_SAME, COMPARE_BETTER, COMPARE_WORSE, COMPARE_CHANGED, COMPARE_AMBIGUOUS,
                             COMPARE_KINDS } compare_found;

typedef struct compare {
    csv_table before, after;
    output_list outputs;
    int       is_quiet;
    size_t    rows, counts[COMPARE_KINDS];       /* counts: rows by their verdict */
    size_t    only_before, only_after;
    size_t    lost_columns;                      /* of A, which B has not */
} compare;

typedef struct compare_row {                     /* a case that both have */
    case_row      before, after;
    const char   *policy;
    compare_found exact, timed;
    int           has_times;                     /* in both */
    char          text[4096];                    /* the metrics that differ, a line each */
    size_t        used;
} compare_row;

static const long double compare_close = 0.05L;  /* of an interval of ratios: within it times are the same */

/* Better and worse together are worse: somebody has to look. What is ambiguous takes nothing from what is not. */
static compare_found compare_both(compare_found one, compare_found other)
{
    if (one == other || other == COMPARE_SAME) return one;
    if (one == COMPARE_SAME) return other;
    if (one == COMPARE_CHANGED || other == COMPARE_CHANGED) return COMPARE_CHANGED;
    if (one == COMPARE_WORSE || other == COMPARE_WORSE) return COMPARE_WORSE;
    return COMPARE_BETTER;
}

static compare_found compare_sense(const column_info *measure, long double before, long double after)
{
    if (measure->sense == SENSE_NEITHER) return COMPARE_CHANGED;
    return (after > before) == (measure->sense == SENSE_MORE) ? COMPARE_BETTER : COMPARE_WORSE;
}

static void compare_tell(compare_row *pair, const char *name, const char *before, const char *after, const char *said)
{
    if (pair->used >= sizeof pair->text) return;
    int length = snprintf(pair->text + pair->used, sizeof pair->text - pair->used, "    %s: %s -> %s%s\n", name,
                          *before ? before : "(empty)", *after ? after : "(empty)", said);
    pair->used += (size_t)length;
}

static const char *compare_range(const interval *found, const column_info *measure, char *text, size_t size)
{
    char low[40], high[40];
    metric_show(found->low, measure->unit, low, sizeof low);
    metric_show(found->high, measure->unit, high, sizeof high);
    if (!found->count) snprintf(text, size, "several words");
    else snprintf(text, size, found->low < found->high ? "%s..%s" : "%s", low, high);
    return text;
}

/* What is exact, and not the same in all repeats of one file. A simulated device's are the same every time, or
   something is wrong; of a GPU's only ranges that do not meet say anything. */
static int compare_varied(compare_row *pair, const char *name, const column_info *measure)
{
    interval from, to;
    char before[96], after[96];
    int is_simulated = !strncmp(case_cell(&pair->after, "device"), "sim", 3);
    compare_found found = is_simulated ? COMPARE_CHANGED : COMPARE_AMBIGUOUS;
    if (case_samples(pair->before.table, &pair->before, pair->policy, name, 0, &from)
        || case_samples(pair->after.table, &pair->after, pair->policy, name, 0, &to)) return -1;
    int are_apart = from.count && to.count && (to.low > from.high || to.high < from.low);
    if (are_apart && !is_simulated) found = compare_sense(measure, from.low, to.low);
    compare_tell(pair, name, compare_range(&from, measure, before, sizeof before),
                 compare_range(&to, measure, after, sizeof after), " (not the same in all repeats)");
    pair->exact = compare_both(pair->exact, found);
    return 0;
}

/* A word, or an exact number: the cells are the same bytes, or they differ. */
static void compare_exact(compare_row *pair, const char *name, const column_info *measure)
{
    char said[64] = "";
    long double from, to;
    const char *before = case_cell(&pair->before, name), *after = case_cell(&pair->after, name);
    if (!strcmp(before, after)) return;
    compare_found found = COMPARE_CHANGED;
    if (measure->unit != UNIT_TEXT && !metric_read(slice_of(before), UNIT_COUNT, &from)
        && !metric_read(slice_of(after), UNIT_COUNT, &to)) {
        found = compare_sense(measure, from, to);
        if (from > 0.0L) snprintf(said, sizeof said, " (%+.2Lf%%)", (to / from - 1.0L) * 100.0L);
    } else if (!strcmp(name, "status")) {
        found = !strcmp(after, "ok") ? COMPARE_BETTER : COMPARE_WORSE;
    }
    compare_tell(pair, name, before, after, said);
    pair->exact = compare_both(pair->exact, found);
}

static const char *const compare_timed_names[] = { "same", "FASTER", "SLOWER", "", "AMBIGUOUS" };

static int compare_timed(compare_row *pair, const char *name)
{
    interval before, after;
    char from[40], to[40], said[96];
    if (case_samples(pair->before.table, &pair->before, pair->policy, name, 1, &before)
        || case_samples(pair->after.table, &pair->after, pair->policy, name, 1, &after)) return -1;
    if (!before.count || !after.count || before.low <= 0.0L) return 0;
    pair->has_times = 1;
    long double low = after.low / before.high, high = after.high / before.low;
    compare_found found = COMPARE_AMBIGUOUS;
    if (before.is_known && after.is_known) {
        found = low > 1.0L ? COMPARE_WORSE : high < 1.0L ? COMPARE_BETTER
              : low >= 1.0L - compare_close && high <= 1.0L + compare_close ? COMPARE_SAME : COMPARE_AMBIGUOUS;
        snprintf(said, sizeof said, " (x %.3Lf to %.3Lf) %s", low, high, compare_timed_names[found]);
    } else {
        snprintf(said, sizeof said, " (%zu and %zu times; an interval takes %d)", before.count, after.count,
                 INTERVAL_LEAST_COUNT);
    }
    if (found != COMPARE_SAME) {
        compare_tell(pair, name, metric_show(before.middle, UNIT_NS, from, sizeof from),
                     metric_show(after.middle, UNIT_NS, to, sizeof to), said);
    }
    pair->timed = compare_both(pair->timed, found);
    return 0;
}

/* The ends of an interval count with it; how many rounds it took, and why no more, is no result. */
static int compare_is_said(const char *name, const column_info *measure, int has_interval)
{
    return !strncmp(name, "ratio_", strlen("ratio_")) || (has_interval && !strcmp(name, "rounds"))
        || (measure->is_timed && measure->unit == UNIT_TEXT);
}

/* ratio is measured where ratio_low and ratio_high say how well. */
static int compare_column(compare_row *pair, const char *name, const column_info *measure, int has_interval)
{
    if (measure->is_timed || (has_interval && !strcmp(name, "ratio"))) return compare_timed(pair, name);
    int is_varied = !case_agrees(&pair->before, name) || !case_agrees(&pair->after, name);
    if (is_varied) return compare_varied(pair, name, measure);
    compare_exact(pair, name, measure);
    return 0;
}

/* Where a row got to says more than what it did on its way there: an end by another op is other work. */
static void compare_decide(compare_row *pair)
{
    static const char *const decisive[] = { "status", "largest" };
    for (size_t at = 0; at < sizeof decisive / sizeof decisive[0]; at++) {
        compare_row alone = *pair;
        alone.exact = COMPARE_SAME;
        if (!case_agrees(&pair->before, decisive[at]) || !case_agrees(&pair->after, decisive[at])) return;
        compare_exact(&alone, decisive[at], column_find(decisive[at]));
        if (alone.exact == COMPARE_SAME) continue;
        pair->exact = alone.exact;
        return;
    }
}

static int compare_columns(compare_row *pair, problem *why)
{
    const csv_table *before = pair->before.table;
    int has_interval = csv_table_column(before, "ratio_low") != CSV_NO_COLUMN;
    for (size_t at = 0; at < before->column_count; at++) {
        const char *name = csv_table_name(before, at);
        const column_info *measure = column_find(name);
        if (!measure || measure->unit == UNIT_KEY || csv_table_column(pair->after.table, name) == CSV_NO_COLUMN
            || compare_is_said(name, measure, has_interval)) {
            continue;
        }
        if (compare_column(pair, name, measure, has_interval)) {
            return problem_set(why, EXIT_HARNESS, "no host memory to compare");
        }
    }
    compare_decide(pair);
    return 0;
}

static void compare_say(compare *self, const compare_row *pair)
{
    static const char *const exact[] = { "same", "BETTER", "WORSE", "CHANGED", "AMBIGUOUS" };
    compare_found all = compare_both(pair->exact, pair->timed);
    const char *workload = case_cell(&pair->after, "workload"), *holes = case_cell(&pair->after, "holes");
    self->counts[all]++;
    self->rows++;
    if (self->is_quiet && all == COMPARE_SAME) return;
    printf("%-8s time %-9s  %s%s%s%s%s\n%s", exact[pair->exact],
           pair->has_times ? compare_timed_names[pair->timed] : "-", workload, *workload ? "/" : "", pair->policy,
           *holes ? " holes " : "", holes, pair->text);
}

/* The other file may have the same workload and policy, and differ in another key. */
static void compare_near(const case_row *of, const csv_table *other, const char *where)
{
    for (size_t line = 0; line < other->row_count; line++) {
        const case_row near = { other, line };
        int told = 0;
        if (strcmp(case_cell(of, "workload"), case_cell(&near, "workload"))
            || strcmp(case_cell(of, "policy"), case_cell(&near, "policy"))) continue;
        for (size_t at = 0; at < of->table->column_count; at++) {
            const char *name = csv_table_name(of->table, at), *has = case_cell(&near, name);
            const column_info *measure = column_find(name);
            if (!measure || measure->unit != UNIT_KEY || !strcmp(case_cell(of, name), has)) continue;
            if (!told++) printf("    %s has it with", where);
            printf(" %s %s", name, *has ? has : "(empty)");
        }
        if (told) printf("\n");
        return;
    }
}

static void compare_alone(compare *self, const case_row *of, int is_after)
{
    ++*(is_after ? &self->only_after : &self->only_before);
    self->rows++;
    printf("ONLY IN %s  %s/%s, device %s, seed %s\n", is_after ? "B" : "A", case_cell(of, "workload"),
           case_cell(of, "policy"), case_cell(of, "device"), case_cell(of, "seed"));
    compare_near(of, is_after ? &self->before : &self->after, is_after ? "A" : "B");
}

/* Metrics that one file alone has are compared with nothing: named. */
static size_t compare_lost(const csv_table *from, const csv_table *to, const char *where)
{
    size_t lost = 0;
    for (size_t at = 0; at < from->column_count; at++) {
        const char *name = csv_table_name(from, at);
        if (csv_table_column(to, name) != CSV_NO_COLUMN) continue;
        if (lost++) printf(", %s", name);
        else printf("COLUMNS ONLY IN %s  %s", where, name);
    }
    if (lost) printf("\n");
    return lost;
}

static int compare_rows(compare *self, int has_rules, problem *why)
{
    for (size_t line = 0; line < self->before.row_count; line++) {
        compare_row pair = { { &self->before, line }, { &self->after, 0 }, NULL, COMPARE_SAME, COMPARE_SAME, 0, "",
                             0 };
        pair.policy = case_cell(&pair.before, "policy");
        if (case_is_repeat(&pair.before)) continue;
        pair.after.line = case_find(&self->after, &pair.before, pair.policy);
        if (pair.after.line == SIZE_MAX) {
            compare_alone(self, &pair.before, 0);
            continue;
        }
        if (compare_columns(&pair, why)) return -1;
        compare_say(self, &pair);
    }
    for (size_t line = 0; line < self->after.row_count; line++) {
        const case_row of = { &self->after, line };
        if (case_is_repeat(&of)) continue;
        if (case_find(&self->before, &of, case_cell(&of, "policy")) != SIZE_MAX) continue;
        compare_alone(self, &of, 1);
    }
    self->lost_columns = compare_lost(&self->before, &self->after, "A");
    (void)compare_lost(&self->after, &self->before, "B");
    if (self->rows || has_rules) return 0;       /* rules say that of B alone */
    return problem_set(why, EXIT_USAGE, "A and B have no rows: nothing was compared");
}

/* A file that lacks rows is no proof of what it does not have. */
static int compare_partial(const csv_table *table, const char *path)
{
    if (table->partial) printf("IN PART  %s: %.*s\n", path, (int)strcspn(table->partial, "\r"), table->partial);
    return table->partial != NULL;
}

/* Without rules anything that is not the same or better fails; what is ambiguous, where that was asked for. */
static int compare_verdict(const compare *self, int is_strict)
{
    const size_t *counts = self->counts;
    printf("%zu rows: %zu same, %zu better, %zu worse, %zu changed, %zu ambiguous, %zu only in A, %zu only in B\n",
           self->rows, counts[COMPARE_SAME], counts[COMPARE_BETTER], counts[COMPARE_WORSE], counts[COMPARE_CHANGED],
           counts[COMPARE_AMBIGUOUS], self->only_before, self->only_after);
    return counts[COMPARE_WORSE] || counts[COMPARE_CHANGED] || self->only_before || self->only_after
        || self->lost_columns || (is_strict && counts[COMPARE_AMBIGUOUS]) ? EXIT_GATE : EXIT_PASS;
}

/* With rules it is those that fail. */
static int compare_rules(compare *self, const cli *asked, gate *gates, problem *why)
{
    gates->base_path = asked->words.items[0];
    gates->base = self->before;                  /* ours: taken back before it is freed */
    const char *path = asked->words.items[1];
    int failed = gate_judge_table(gates, &self->after, path, why);
    memset(&gates->base, 0, sizeof gates->base);
    if (!failed) gate_write(stdout, gates);
    return failed || table_files_write(&self->outputs, &gates->found, path, gates, why) ? -1 : 0;
}

static int compare_outputs(compare *self, const cli *asked, problem *why)
{
    const cli_value *files = &asked->values[CLI_OUT];
    if (output_list_parse(&self->outputs, files->items, files->item_count, "compare", why)
        || output_list_try(&self->outputs, asked, why)) return -1;
    if (self->outputs.takes_stdout) {
        return problem_set(why, EXIT_USAGE, "--out -: expected a file: what compare says goes to stdout");
    }
    if (!files->item_count || asked->values[CLI_FAIL_IF].given) return 0;
    return problem_set(why, EXIT_USAGE, "--out: of verdicts on rules: give --fail-if too");
}

static int compare_all(compare *self, const cli *asked, problem *why)
{
    const int has_rules = asked->values[CLI_FAIL_IF].given;
    gate gates;
    memset(&gates, 0, sizeof gates);
    if (compare_outputs(self, asked, why) || gate_parse_rules(&gates, asked, why)
        || csv_table_read(&self->before, asked->words.items[0], why)
        || csv_table_read(&self->after, asked->words.items[1], why) || compare_rows(self, has_rules, why)) {
        gate_free(&gates);
        return why->exit_code;
    }
    int is_partial = compare_partial(&self->before, asked->words.items[0]);
    is_partial |= compare_partial(&self->after, asked->words.items[1]);
    int exit_code = compare_verdict(self, asked->values[CLI_STRICT].given);
    if (has_rules) {
        exit_code = compare_rules(self, asked, &gates, why) ? why->exit_code
                  : gate_failed(&gates) ? EXIT_GATE : EXIT_PASS;
    }
    gate_free(&gates);
    if (is_partial && !exit_code && asked->values[CLI_STRICT].given) exit_code = EXIT_GATE;
    return output_finish_stdout(why) ? why->exit_code : exit_code;
}

int compare_command(const cli *asked, const char *const *argv, problem *why)
{
    compare self;
    memset(&self, 0, sizeof self);
    size_t count = asked->words.item_count;
    (void)argv;
    if (count != 2) {
        problem_set(why, EXIT_USAGE, "compare: expected two files, A.csv and B.csv, found %zu", count);
        return EXIT_USAGE;
    }
    self.is_quiet = asked->values[CLI_QUIET].given;
    int exit_code = compare_all(&self, asked, why);
    csv_table_free(&self.before);
    csv_table_free(&self.after);
    output_list_free(&self.outputs);
    return exit_code;
}
