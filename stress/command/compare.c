/* `stress compare A.csv B.csv`: a verdict a row, B against A; or the rules of --fail-if, with A as base. */
#include "command.h"

#include "../result/csv.h"

/* ---- Row by row: exact metrics by their values, timed ones by the intervals of their repeats */

/* From the weakest to the strongest. A row's verdict is the strongest of its metrics. An ambiguous metric does not
   hide a clear one, and worse wins over better, because somebody has to look. */
typedef enum compare_found { COMPARE_SAME, COMPARE_AMBIGUOUS, COMPARE_BETTER, COMPARE_WORSE, COMPARE_CHANGED,
                             COMPARE_KINDS } compare_found;

static const char *const compare_exact_names[] = { "same", "AMBIGUOUS", "BETTER", "WORSE", "CHANGED" };
static const char *const compare_timed_names[] = { "same", "AMBIGUOUS", "FASTER", "SLOWER" };

typedef struct compare {
    const cli *asked;
    report    report;                            /* its rows are those of B */
    row_list  before;
    case_index by_before, by_after;              /* the rows of each file, to find repeats in itself */
    case_index in_before, in_after;              /* the rows of each file, to find them from the other */
    size_t    rows, counts[COMPARE_KINDS];       /* counts: rows by their verdict */
    size_t    only_before, only_after;
    size_t    lost_columns;                      /* columns of A that B does not have */
} compare;

typedef struct compare_row {                     /* a case that both files have */
    case_rows     before, after;                 /* its rows in A and in B */
    const row    *from, *to;                     /* the first row in A and in B */
    compare_found exact, timed;
    int           has_times;                     /* both have times */
    char          text[4096];                    /* the metrics that differ, a line each */
} compare_row;

static const long double compare_close = 0.05L;  /* times are the same if their ratios are this close to 1 */

static void compare_raise(compare_found *all, compare_found found)
{
    if (found > *all) *all = found;
}

static compare_found compare_sense(const column_info *measure, long double before, long double after)
{
    if (measure->sense == SENSE_NEITHER) return COMPARE_CHANGED;
    return (after > before) == (measure->sense == SENSE_MORE) ? COMPARE_BETTER : COMPARE_WORSE;
}

static void compare_tell(compare_row *pair, row_column column, const char *before, const char *after,
                         const char *said)
{
    text_add(pair->text, sizeof pair->text, "    %s: %s -> %s%s\n", row_table[column].name,
             *before ? before : "(empty)", *after ? after : "(empty)", said);
}

/* Shows the values of one file's repeats: an interval of numbers, one word, or "several words". */
static void compare_show(const case_rows *of, const row *first, row_column column, char text[96])
{
    const interval numbers = case_samples(of, column, 0);
    char word[CELL_ROOM];
    if (numbers.count) interval_show(&numbers, row_table[column].unit, text, 96);
    else snprintf(text, 96, "%.90s",
                  case_agrees(of, column) ? cell_text(&first->cells[column], word) : "several words");
}

/* Compares an exact metric that varies between the repeats of one file. On a simulated device that is an error, and
   the row is CHANGED. On a GPU the metric is judged only if the two ranges do not overlap. */
static void compare_varied(compare_row *pair, row_column column)
{
    const column_info *measure = &row_table[column];
    const interval from = case_samples(&pair->before, column, 0);
    const interval to = case_samples(&pair->after, column, 0);
    char before[96], after[96], text[CELL_ROOM];
    int is_simulated = !strncmp(cell_text(&pair->to->cells[COLUMN_DEVICE], text), "sim", 3);
    compare_found found = is_simulated ? COMPARE_CHANGED : COMPARE_AMBIGUOUS;
    int are_apart = from.count && to.count && (to.low > from.high || to.high < from.low);
    if (are_apart && !is_simulated) found = compare_sense(measure, from.low, to.low);
    compare_show(&pair->before, pair->from, column, before);
    compare_show(&pair->after, pair->to, column, after);
    compare_tell(pair, column, before, after, " (not the same in all repeats)");
    compare_raise(&pair->exact, found);
}

/* Compares a word or an exact number: the cells have the same bytes, or they differ. */
static compare_found compare_exact(compare_row *pair, row_column column, int is_told)
{
    const column_info *measure = &row_table[column];
    char said[64] = "", left[CELL_ROOM], right[CELL_ROOM];
    long double from, to;
    const char *before = cell_text(&pair->from->cells[column], left);
    const char *after = cell_text(&pair->to->cells[column], right);
    if (!strcmp(before, after)) return COMPARE_SAME;
    compare_found found = COMPARE_CHANGED;
    if (measure->unit != UNIT_TEXT && !metric_read(slice_of(before), UNIT_COUNT, &from)
        && !metric_read(slice_of(after), UNIT_COUNT, &to)) {
        found = compare_sense(measure, from, to);
        if (from > 0.0L) snprintf(said, sizeof said, " (%+.2Lf%%)", (to / from - 1.0L) * 100.0L);
    } else if (column == COLUMN_STATUS) {
        found = !strcmp(after, "ok") ? COMPARE_BETTER : COMPARE_WORSE;
    }
    if (is_told) compare_tell(pair, column, before, after, said);
    return found;
}

/* Tells whether a smaller (or larger) value is better. For a ratio of throughputs, whose target begins with '>', a
   larger one is. */
static int compare_is_better(const compare_row *pair, row_column column, int is_less)
{
    char text[CELL_ROOM];
    int wants_more = column == COLUMN_RATIO && *cell_text(&pair->to->cells[COLUMN_TARGET], text) == '>';
    return is_less != wants_more;
}

static void compare_timed(compare_row *pair, row_column column)
{
    const interval before = case_samples(&pair->before, column, 1);
    const interval after = case_samples(&pair->after, column, 1);
    char from[40], to[40], said[96];
    if (!before.count || !after.count || before.low <= 0.0L) return;
    pair->has_times = 1;
    long double low = after.low / before.high, high = after.high / before.low;
    compare_found found = COMPARE_AMBIGUOUS;
    if (before.is_known && after.is_known) {
        if (low > 1.0L || high < 1.0L) {
            found = compare_is_better(pair, column, high < 1.0L) ? COMPARE_BETTER : COMPARE_WORSE;
        } else if (low >= 1.0L - compare_close && high <= 1.0L + compare_close) found = COMPARE_SAME;
        snprintf(said, sizeof said, " (x %.3Lf to %.3Lf) %s", low, high, compare_timed_names[found]);
    } else {
        snprintf(said, sizeof said, " (%zu and %zu times; an interval takes %d)", before.count, after.count,
                 ROUNDS_LEAST_COUNT);
    }
    if (found != COMPARE_SAME) {
        compare_tell(pair, column, metric_show(before.middle, UNIT_NS, from, sizeof from),
                     metric_show(after.middle, UNIT_NS, to, sizeof to), said);
    }
    compare_raise(&pair->timed, found);
}

/* A ratio with ratio_low and ratio_high was measured, and is compared by that interval. A ratio without them was
   counted. The number of rounds, and the reason for their end, are no results. */
static void compare_column(compare_row *pair, row_column column, int has_interval)
{
    const column_info *measure = &row_table[column];
    const int is_measured = column == COLUMN_RATIO && (pair->from->cells[COLUMN_RATIO_LOW].kind != CELL_NONE
                                                       || pair->to->cells[COLUMN_RATIO_LOW].kind != CELL_NONE);
    if (column == COLUMN_RATIO_LOW || column == COLUMN_RATIO_HIGH || (has_interval && column == COLUMN_ROUNDS)
        || (measure->is_timed && measure->unit == UNIT_TEXT)) return;
    if (measure->is_timed || is_measured) compare_timed(pair, column);
    else if (!case_agrees(&pair->before, column) || !case_agrees(&pair->after, column)) compare_varied(pair, column);
    else compare_raise(&pair->exact, compare_exact(pair, column, 1));
}

/* A row's status and its largest number decide alone if they differ: rows that ended differently did different work,
   and their other metrics say less. */
static void compare_decide(compare_row *pair)
{
    static const row_column decisive[] = { COLUMN_STATUS, COLUMN_LARGEST };
    for (size_t at = 0; at < sizeof decisive / sizeof decisive[0]; at++) {
        if (!case_agrees(&pair->before, decisive[at]) || !case_agrees(&pair->after, decisive[at])) return;
        compare_found found = compare_exact(pair, decisive[at], 0);
        if (found == COMPARE_SAME) continue;
        pair->exact = found;
        return;
    }
}

/* Names a row that one file alone has, with the keys that may tell it from the other file's rows. */
static void compare_alone(compare *self, const row *of, int is_after)
{
    static const row_column keys[] = { COLUMN_DEVICE, COLUMN_SEED, COLUMN_THREADS, COLUMN_KEY, COLUMN_REPEATS };
    ++*(is_after ? &self->only_after : &self->only_before);
    self->rows++;
    printf("ONLY IN %s  ", is_after ? "B" : "A");
    row_name(stdout, NULL, of, 0);
    for (size_t at = 0; at < sizeof keys / sizeof keys[0]; at++) {
        char text[CELL_ROOM];
        const char *key = cell_text(&of->cells[keys[at]], text);
        if (*key) printf(", %s %s", row_table[keys[at]].name, key);
    }
    printf("\n");
}

/* Tells whether the file has a column of this name, even one that its rows do not hold. */
static int compare_names(const row_list *list, const char *name)
{
    size_t at = 0;
    if (row_list_has(list, column_find(name))) return 1;
    while (at < list->other_count && strcmp(list->others[at], name)) at++;
    return at < list->other_count;
}

static void compare_list(size_t *told, const char *what, const char *name)
{
    if ((*told)++) printf(", %s", name);
    else printf("COLUMNS %s  %s", what, name);
}

/* Names the metrics that one file alone has, which are compared with nothing. Returns their number. */
static size_t compare_lost(const row_list *from, const row_list *to, const char *what)
{
    size_t lost = 0;
    for (const row_column *at = row_columns(from->kind); *at != COLUMN_COUNT; at++) {
        const char *name = row_table[*at].name;
        if (row_list_has(from, *at) && !compare_names(to, name)) compare_list(&lost, what, name);
    }
    for (size_t at = 0; at < from->other_count; at++) {
        if (!compare_names(to, from->others[at])) compare_list(&lost, what, from->others[at]);
    }
    if (lost) printf("\n");
    return lost;
}

/* Compares a case that both files have. before and after are its first lines. */
static void compare_case(compare *self, size_t before, size_t after)
{
    compare_row pair = { .before = { &self->by_before, before }, .after = { &self->by_after, after },
                         .from = &self->before.rows[before], .to = &self->report.list.rows[after] };
    for (const row_column *at = row_columns(self->before.kind); *at != COLUMN_COUNT; at++) {
        int is_key = row_table[*at].unit == UNIT_KEY;
        if (is_key || !row_list_has(&self->before, *at) || !row_list_has(&self->report.list, *at)) continue;
        compare_column(&pair, *at, row_list_has(&self->before, COLUMN_RATIO_LOW));
    }
    compare_decide(&pair);
    compare_found all = pair.exact > pair.timed ? pair.exact : pair.timed;
    self->counts[all]++;
    self->rows++;
    if (self->asked->values[CLI_QUIET].given && all == COMPARE_SAME) return;
    printf("%-8s time %-9s  ", compare_exact_names[pair.exact],
           pair.has_times ? compare_timed_names[pair.timed] : "-");
    row_name(stdout, NULL, pair.to, 0);
    printf("\n%s", pair.text);
}

static int compare_rows(compare *self, problem *why)
{
    const row_list *list = &self->report.list;
    case_index_make(&self->by_before, &self->before, &self->before);
    case_index_make(&self->by_after, list, list);
    case_index_make(&self->in_before, &self->before, list);
    case_index_make(&self->in_after, list, &self->before);
    for (size_t line = 0; line < self->before.count; line++) {
        const row *before = &self->before.rows[line];
        if (case_is_repeat(&self->by_before, line)) continue;
        size_t after = case_find(&self->in_after, before, row_policy(before));
        if (after == SIZE_MAX) compare_alone(self, before, 0);
        else compare_case(self, line, after);
    }
    for (size_t line = 0; line < list->count; line++) {
        const row *of = &list->rows[line];
        if (case_is_repeat(&self->by_after, line)) continue;
        if (case_find(&self->in_before, of, row_policy(of)) != SIZE_MAX) continue;
        compare_alone(self, of, 1);
    }
    self->lost_columns = compare_lost(&self->before, list, "ONLY IN A");
    (void)compare_lost(list, &self->before, "ONLY IN B");
    size_t told = 0;                             /* columns that both have, but that at most one has in its rows */
    for (size_t at = 0; at < self->before.other_count; at++) {
        const char *name = self->before.others[at];
        if (compare_names(list, name)) compare_list(&told, "NOT COMPARED", name);
    }
    for (size_t at = 0; at < list->other_count; at++) {
        const row_column named = column_find(list->others[at]);
        if (row_list_has(&self->before, named)) compare_list(&told, "NOT COMPARED", row_table[named].name);
    }
    if (told) printf("\n");
    if (self->rows || self->asked->values[CLI_FAIL_IF].given) return 0;       /* rules report a B without rows */
    return problem_set(why, EXIT_USAGE, "A and B have no rows: nothing was compared");
}

/* Tells, and prints, whether the file lacks rows because its run ended early. Missing rows prove nothing then. */
static int compare_partial(const row_list *list, const char *path)
{
    if (list->partial) printf("IN PART  %s: %.*s\n", path, (int)strcspn(list->partial, "\r"), list->partial);
    return list->partial != NULL;
}

/* The exit code without rules: any row that is not the same or better fails. Ambiguous rows fail with --strict. */
static int compare_verdict(const compare *self, int is_strict)
{
    const size_t *counts = self->counts;
    printf("%zu rows: %zu same, %zu better, %zu worse, %zu changed, %zu ambiguous, %zu only in A, %zu only in B\n",
           self->rows, counts[COMPARE_SAME], counts[COMPARE_BETTER], counts[COMPARE_WORSE], counts[COMPARE_CHANGED],
           counts[COMPARE_AMBIGUOUS], self->only_before, self->only_after);
    return counts[COMPARE_WORSE] || counts[COMPARE_CHANGED] || self->only_before || self->only_after
        || self->lost_columns || (is_strict && counts[COMPARE_AMBIGUOUS]) ? EXIT_GATE : EXIT_PASS;
}

static int compare_outputs(compare *self, problem *why)
{
    if (report_parse(&self->report, why) || report_try(&self->report, NULL, why)) return -1;
    if (self->report.takes_stdout) {
        return problem_set(why, EXIT_USAGE, "--out: expected a file other than stdout, where the verdicts go");
    }
    if (!self->report.output_count || self->asked->values[CLI_FAIL_IF].given) return 0;
    return problem_set(why, EXIT_USAGE, "--out %s: holds verdicts on rules: give --fail-if too",
                       self->report.outputs->kind->name);
}

/* With --fail-if the exit code comes from the rules alone. */
static int compare_act(const cli *asked, problem *why)
{
    static compare self;
    char *const *paths = asked->words.items;
    const size_t path_count = asked->words.item_count;
    const cli_value *values = asked->values;
    gate *gates = &self.report.gates;
    self.asked = self.report.asked = asked;
    if (path_count != 2) {
        return problem_set(why, EXIT_USAGE, "compare: expected two files, A.csv and B.csv, found %zu", path_count);
    }
    if (compare_outputs(&self, why) || gate_parse_rules(gates, asked, why) || csv_read(&self.before, paths[0], why)
        || csv_read(&self.report.list, paths[1], why) || compare_rows(&self, why)) return -1;
    int is_partial = compare_partial(&self.before, paths[0]);
    is_partial |= compare_partial(&self.report.list, paths[1]);
    int exit_code = compare_verdict(&self, values[CLI_STRICT].given);
    if (values[CLI_FAIL_IF].given) {
        gates->base_path = paths[0];
        gates->base = &self.before;
        exit_code = EXIT_PASS;
        if (gate_judge(gates, &self.report.list, paths[1], why)) {
            exit_code = -1;
        } else {
            gate_write(stdout, gates);
            if (report_files(&self.report, why)) exit_code = -1;
            else if (gate_failed(gates)) exit_code = EXIT_GATE;
        }
    }
    if (is_partial && !exit_code && values[CLI_STRICT].given) exit_code = EXIT_GATE;
    return output_finish(stdout, why) ? -1 : exit_code;
}

const command command_compare = { "compare", "A.csv B.csv [--fail-if RULE]", SIZE_MAX, compare_act };
