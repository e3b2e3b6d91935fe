#include "gate.h"

#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/text.h"
#include "../base/program.h"
#include "../policy/policy_name.h"
#include "csv.h"

/* ---- The table of what columns are worth, and their numbers */

typedef struct metric_suffix { column_unit unit; const char *text; long double scale; } metric_suffix;
static const metric_suffix metric_scales[] = {
    { UNIT_COUNT, "", 1.0L }, { UNIT_NS, "", 1.0L }, { UNIT_SHARE, "", 1.0L },
    { UNIT_NS, "ns", 1.0L }, { UNIT_NS, "us", 1e3L }, { UNIT_NS, "ms", 1e6L }, { UNIT_NS, "s", 1e9L },
    { UNIT_SHARE, "%", 100.0L },               /* .. divided: 7% is 0.07 to the last bit */
};

/* For messages: the nearest name of what is judged, "" if none is close. Returns text. */
static const char *metric_hint(const char *name, char *text, size_t size)
{
    nearest search = nearest_to(name);
    for (int column = 0; column < COLUMN_COUNT; column++) {
        const column_info *each = &row_table[column];
        if (each->unit != UNIT_KEY) nearest_offer(&search, each->name);
    }
    return nearest_hint(&search, text, size);
}

/* Length of the digits, with at most one point among them; 0: it begins with none. */
static size_t metric_digits(slice text)
{
    size_t length = 0, points = 0;
    while (length < text.length && ((text.bytes[length] >= '0' && text.bytes[length] <= '9')
                                    || (text.bytes[length] == '.' && length && !points++))) length++;
    return length && text.bytes[length - 1] == '.' ? 0 : length;
}

int metric_read(slice text, column_unit unit, long double *value)
{
    char number[48];
    size_t digits = metric_digits(text);
    const slice behind = { text.bytes + digits, text.length - digits };
    if (!digits || digits >= sizeof number) return -1;
    memcpy(number, text.bytes, digits);
    number[digits] = '\0';
    unsigned shift;
    if (unit == UNIT_BYTES && slice_unit(behind, &shift)) {
        *value = ldexpl(strtold(number, NULL), (int)shift);
        return 0;
    }
    for (size_t at = 0; at < sizeof metric_scales / sizeof metric_scales[0]; at++) {
        if (metric_scales[at].unit != unit || !slice_is(behind, metric_scales[at].text)) continue;
        long double read = strtold(number, NULL), scale = metric_scales[at].scale;
        *value = unit == UNIT_SHARE ? read / scale : read * scale;
        return 0;
    }
    return -1;
}

/* What may stand behind a number of this unit, for messages. */
static const char *metric_suffixes(column_unit unit)
{
    return unit == UNIT_BYTES ? "a number of bytes, such as 512M or 1.5GiB"
         : unit == UNIT_NS    ? "a time, such as 20us or 1.5ms, plain: nanoseconds"
         : unit == UNIT_SHARE ? "a number, such as 1.05 or 20%" : "a plain number";
}

int metric_equal(long double one, long double other)
{
    return fabsl(one - other) <= 1e-9L + 8.0L * LDBL_EPSILON * fabsl(other);
}

const char *metric_show(long double value, column_unit unit, char *text, size_t size)
{
    int places = unit == UNIT_SHARE ? 4 : unit == UNIT_NS ? 1 : 0;
    const int most = places + 4;
    for (long double scaled = value * powl(10.0L, places); places < most; scaled *= 10.0L, places++) {
        if (metric_equal(scaled, rintl(scaled))) break;
    }
    snprintf(text, size, "%.*Lf", places, value);
    return text;
}

/* Whether a UNIT_TEXT may be this word: 0 of a typing error, where the column has a known set of words; those. */
static int metric_has_word(row_column measure, const char *word)
{
    const char *words = column_words(measure);
    return !words || slice_has(slice_of(words), word);
}

static const char *metric_list_words(row_column measure, char *text, size_t size)
{
    text[0] = '\0';
    for (const char *at = column_words(measure); at; at = strchr(at + 1, '|')) {
        text_add(text, size, "%s%.*s", *text ? " " : "", (int)strcspn(at + 1, "|"), at + 1);
    }
    return text;
}

/* ---- The median and its interval: as many samples left out at either end as rounds_low_rank says */

static int interval_order(const void *one, const void *other)
{
    long double left = *(const long double *)one, right = *(const long double *)other;
    return (left > right) - (left < right);
}

interval interval_of(long double *samples, size_t count, int is_timed)
{
    interval found = { count, is_timed, 0, 0.0L, 0.0L, 0.0L };
    if (!count) return found;
    qsort(samples, count, sizeof *samples, interval_order);
    size_t margin = is_timed && count >= INTERVAL_LEAST_COUNT ? rounds_low_rank(count) : 0;
    found.is_known = !is_timed || count >= INTERVAL_LEAST_COUNT;
    found.low = samples[margin];
    found.middle = (samples[(count - 1) / 2] + samples[count / 2]) / 2.0L;
    found.high = samples[count - 1 - margin];
    return found;
}

/* ---- Finding rows by their keys */

const char *case_cell(const case_row *of, row_column column, char text[CELL_ROOM])
{
    return cell_text(&of->list->rows[of->line].cells[column], text);
}

typedef struct case_search {                     /* for rows of a list that are like one, but of this policy */
    const case_row *like;
    const row_list *list;
    const char *policy;
    size_t      key_count;
    row_column  keys[COLUMN_COUNT];              /* that both lists have, but for the policy */
} case_search;

/* Once a search. */
static case_search case_search_of(const row_list *list, const case_row *like, const char *policy)
{
    case_search made = { .like = like, .list = list, .policy = policy };
    const row_list *from = like->list;
    const row_column *columns;
    size_t count = row_columns(from->kind, &columns);
    for (size_t at = 0; at < count; at++) {
        const row_column column = columns[at];
        if (row_table[column].unit != UNIT_KEY || column == COLUMN_POLICY || from->lacks[column]
            || list->lacks[column] || (list->kind != from->kind && !row_has(list->kind, column))) continue;
        made.keys[made.key_count++] = column;
    }
    return made;
}

static int case_is_same(const row *one, const row *other, row_column column)
{
    char left[CELL_ROOM], right[CELL_ROOM];
    const cell *mine = &one->cells[column], *theirs = &other->cells[column];
    if (mine->kind == CELL_COUNT && theirs->kind == CELL_COUNT) return mine->count == theirs->count;
    return !strcmp(cell_text(mine, left), cell_text(theirs, right));
}

/* Whether the row is of the same case, but that its policy is this one. */
static int case_fits(const case_search *self, size_t line)
{
    char text[CELL_ROOM];
    const row *like = &self->like->list->rows[self->like->line], *other = &self->list->rows[line];
    if (strcmp(self->policy, cell_text(&other->cells[COLUMN_POLICY], text))) return 0;
    for (size_t at = 0; at < self->key_count; at++) {
        if (!case_is_same(like, other, self->keys[at])) return 0;
    }
    return 1;
}

size_t case_find(const row_list *list, const case_row *like, const char *policy)
{
    const case_search search = case_search_of(list, like, policy);
    for (size_t line = 0; line < list->count; line++) {
        if (case_fits(&search, line)) return line;
    }
    return SIZE_MAX;
}

const char *case_policy(const case_row *of)
{
    return of->list->rows[of->line].cells[COLUMN_POLICY].text;
}

row_list case_rows(const case_row *of)
{
    const case_search search = case_search_of(of->list, of, case_policy(of));
    row_list made = *of->list;
    size_t most = 0;
    for (size_t line = 0; line < of->list->count; line++) most += (size_t)case_fits(&search, line);
    made.rows = program_need(most, sizeof *made.rows);
    made.count = 0;
    for (size_t line = 0; made.count < most; line++) {
        if (case_fits(&search, line)) made.rows[made.count++] = of->list->rows[line];
    }
    return made;
}

int case_is_repeat(const case_row *of)
{
    return case_find(of->list, of, case_policy(of)) < of->line;
}

int case_agrees(const case_row *of, row_column column)
{
    const case_search search = case_search_of(of->list, of, case_policy(of));
    const row *rows = of->list->rows;
    for (size_t line = 0; line < of->list->count; line++) {
        if (case_fits(&search, line) && !case_is_same(&rows[of->line], &rows[line], column)) return 0;
    }
    return 1;
}

/* -1: the cell holds none. */
static int case_number(const case_row *of, row_column column, long double *value)
{
    char text[CELL_ROOM];
    return metric_read(slice_of(case_cell(of, column, text)), UNIT_COUNT, value);
}

interval case_samples(const row_list *list, const case_row *like, const char *policy, row_column column, int is_timed)
{
    long double low = 0.0L, high = 0.0L;
    long double *samples = program_need(list->count, sizeof *samples);
    size_t count = 0;
    int has_interval = 0;
    const case_search search = case_search_of(list, like, policy);
    for (size_t line = 0; line < list->count; line++) {
        const case_row of = { list, line };
        if (!case_fits(&search, line) || case_number(&of, column, &samples[count])) continue;
        has_interval = column == COLUMN_RATIO && !case_number(&of, COLUMN_RATIO_LOW, &low)
            && !case_number(&of, COLUMN_RATIO_HIGH, &high);
        count++;
    }
    interval made = interval_of(samples, count, is_timed || has_interval);
    free(samples);
    if (has_interval && count == 1) {
        made.is_known = 1;
        made.low = low;
        made.high = high;
    }
    return made;
}

/* ---- Rules: reading them, and what they say about one number */

static const char rule_form[] = "expected [WORKLOAD/POLICY:]METRIC OP VALUE";
static const struct { const char *text; rule_operator compared; } rule_operators[] = {
    { "<=", RULE_AT_MOST }, { ">=", RULE_AT_LEAST }, { "==", RULE_IS }, { "!=", RULE_IS_NOT }, { "<", RULE_LESS },
    { ">", RULE_MORE },
};

static const char *rule_space(const char *at)
{
    while (*at == ' ' || *at == '\t') at++;
    return at;
}

/* A name up to one of the ends, or in quotes: *at moves behind it. -1: none, or no end of the quote. */
static int rule_name(const char **at, const char *ends, char **name)
{
    const char *from = rule_space(*at);
    if (*from == '"' || *from == '\'') {
        const char *end = strchr(from + 1, *from);
        if (!end || end == from + 1) return -1;
        *at = rule_space(end + 1);
        *name = program_copy(from + 1, (size_t)(end - from - 1));
        return 0;
    }
    size_t length = strcspn(from, ends);
    *at = from + length;
    while (length && isspace((unsigned char)from[length - 1])) length--;
    if (length) *name = program_copy(from, length);
    return length ? 0 : -1;
}

/* Whether a selector stands before the metric: a ':' outside quotes. */
static int rule_has_selector(const char *text)
{
    char quote = '\0';
    for (; *text; text++) {
        if (quote) quote = *text == quote ? '\0' : quote;
        else if (*text == '"' || *text == '\'') quote = *text;
        else if (*text == ':') return 1;
    }
    return 0;
}

static int rule_selector(rule *self, const char **at, problem *why)
{
    if (!rule_has_selector(*at)) return 0;
    if (!rule_name(at, "/:", &self->workload) && **at == '/') {
        ++*at;
        if (!rule_name(at, "/:", &self->policy) && **at == ':') {
            ++*at;
            return 0;
        }
    }
    return problem_set(why, EXIT_USAGE, "--fail-if '%s': expected WORKLOAD/POLICY before the ':', each a name or a "
                       "pattern with * and ?, in quotes where it holds : or /", self->text);
}

/* What followed the first ':' was no metric, and there is another. */
static const char *rule_quotes(const char *rest)
{
    return strchr(rest, ':') ? "; a name that holds : or / stands in quotes" : "";
}

static int rule_metric(rule *self, const char **at, problem *why)
{
    char hint[96];
    if (rule_name(at, "<>=! \t", &self->column)) {
        return problem_set(why, EXIT_USAGE, "--fail-if '%s': %s", self->text, rule_form);
    }
    self->measure = column_find(self->column);
    int is_known = self->measure != COLUMN_COUNT;
    if (is_known && row_table[self->measure].unit != UNIT_KEY) return 0;
    if (is_known) {
        return problem_set(why, EXIT_USAGE, "--fail-if '%s': %s names the row, expected a metric: rows are picked by "
                           "WORKLOAD/POLICY: (%s help gates)", self->text, self->column, program_name());
    }
    return problem_set(why, EXIT_USAGE, "--fail-if '%s': no metric '%s'%s%s (%s help gates)", self->text,
                       self->column, metric_hint(self->column, hint, sizeof hint), rule_quotes(*at), program_name());
}

static int rule_operation(rule *self, const char **at, problem *why)
{
    *at = rule_space(*at);
    for (size_t index = 0; index < sizeof rule_operators / sizeof rule_operators[0]; index++) {
        size_t length = strlen(rule_operators[index].text);
        if (strncmp(*at, rule_operators[index].text, length)) continue;
        *at += length;
        self->compared = rule_operators[index].compared;
        if (row_table[self->measure].unit != UNIT_TEXT || self->compared >= RULE_IS) return 0;
        return problem_set(why, EXIT_USAGE, "--fail-if '%s': %s is a word: expected == or !=", self->text,
                           self->column);
    }
    return problem_set(why, EXIT_USAGE, "--fail-if '%s': expected one of < <= > >= == != behind %s%s", self->text,
                       self->column, rule_quotes(*at));
}

/* Length of a bare reference: a '-' belongs to it where a letter follows, as in pytorch-expandable. */
static size_t rule_bare(const char *at)
{
    size_t length = 0;
    while (isalnum((unsigned char)at[length]) || at[length] == '_'
           || (length && at[length] == '-' && isalpha((unsigned char)at[length + 1]))) length++;
    return length;
}

static int rule_amount(rule *self, const char *from, column_unit unit, problem *why)
{
    slice rest = slice_of(from);
    while (rest.length && isspace((unsigned char)rest.bytes[rest.length - 1])) rest.length--;
    if (rest.length && rest.bytes[rest.length - 1] == '%' && (self->arithmetic == '+' || self->arithmetic == '-')) {
        return problem_set(why, EXIT_USAGE, "--fail-if '%s': expected a share of it, as %s*1.05, or points, as "
                           "%s+5pp, found '%s'", self->text, self->reference, self->reference, from);
    }
    int is_points = unit == UNIT_SHARE && self->reference && rest.length > 2
        && !memcmp(rest.bytes + rest.length - 2, "pp", 2);
    if (is_points) rest.length -= 2;
    if (!metric_read(rest, is_points ? UNIT_COUNT : unit, &self->amount)) {
        if (is_points) self->amount /= 100.0L;
        if (self->arithmetic != '/' || self->amount > 0.0L) return 0;
    }
    return problem_set(why, EXIT_USAGE, "--fail-if '%s': expected %s%s, found '%s'", self->text,
                       metric_suffixes(unit), self->arithmetic == '/' ? ", above 0" : "", from);
}

static int rule_reference(rule *self, const char *at, problem *why)
{
    int is_quoted = *at == '"' || *at == '\'';
    size_t length = is_quoted ? 0 : rule_bare(at);
    if (!is_quoted) self->reference = program_copy(at, length);
    else if (rule_name(&at, "", &self->reference)) {
        return problem_set(why, EXIT_USAGE, "--fail-if '%s': a quote that does not end", self->text);
    }
    policy_name_shorten(self->reference);
    at = rule_space(at + length);
    if (!*at) return 0;
    if (!strchr("*/+-", *at)) {
        return problem_set(why, EXIT_USAGE, "--fail-if '%s': expected one of * / + - behind %s, found '%s'",
                           self->text, self->reference, at);
    }
    self->arithmetic = *at;
    int scales = *at == '*' || *at == '/';
    return rule_amount(self, rule_space(at + 1), scales ? UNIT_COUNT : row_table[self->measure].unit, why);
}

static int rule_value(rule *self, const char *at, problem *why)
{
    char words[256];
    at = rule_space(at);
    int begins = isalpha((unsigned char)*at) || *at == '"' || *at == '\'';
    if (row_table[self->measure].unit != UNIT_TEXT) {
        return begins ? rule_reference(self, at, why) : rule_amount(self, at, row_table[self->measure].unit, why);
    }
    if (!*at || rule_name(&at, "", &self->word) || *at) {
        return problem_set(why, EXIT_USAGE, "--fail-if '%s': expected one word behind the operator", self->text);
    }
    if (!strcmp(self->word, "base")) {
        self->reference = self->word;
        self->word = NULL;
        return 0;
    }
    if (metric_has_word(self->measure, self->word)) return 0;
    return problem_set(why, EXIT_USAGE, "--fail-if '%s': %s is never '%s': expected base or one of %s", self->text,
                       self->column, self->word, metric_list_words(self->measure, words, sizeof words));
}

int rule_parse(rule *self, const char *text, problem *why)
{
    memset(self, 0, sizeof *self);
    self->text = program_copy(text, strlen(text));
    const char *at = self->text;
    return rule_selector(self, &at, why) || rule_metric(self, &at, why) || rule_operation(self, &at, why)
        || rule_value(self, at, why) ? -1 : 0;
}

void rule_free(rule *self)
{
    char *const owned[] = { self->text, self->workload, self->policy, self->column, self->reference, self->word };
    for (size_t index = 0; index < sizeof owned / sizeof owned[0]; index++) free(owned[index]);
    memset(self, 0, sizeof *self);
}

int rule_matches(const rule *self, const char *workload, const char *policy)
{
    char shown[1024];
    return (!self->workload || slice_fits(slice_of(self->workload), workload))
        && (!self->policy || slice_fits(slice_of(self->policy), policy)
            || slice_fits(slice_of(self->policy), policy_name_shown(policy, shown, sizeof shown)));
}

long double rule_limit(const rule *self, long double reference)
{
    switch (self->arithmetic) {
    case '*': return reference * self->amount;
    case '/': return reference / self->amount;
    case '+': return reference + self->amount;
    case '-': return reference - self->amount;
    default:  return self->reference ? reference : self->amount;
    }
}

int rule_holds(const rule *self, long double value, long double limit)
{
    int is_equal = metric_equal(value, limit);
    switch (self->compared) {
    case RULE_LESS:     return value < limit && !is_equal;
    case RULE_AT_MOST:  return value < limit || is_equal;
    case RULE_MORE:     return value > limit && !is_equal;
    case RULE_AT_LEAST: return value > limit || is_equal;
    case RULE_IS:       return is_equal;
    case RULE_IS_NOT:   break;
    }
    return !is_equal;
}

int rule_about_none(const rule *self, const char *workload, const char *policy, problem *why)
{
    const char *quote = *workload ? "\"" : "";
    return problem_set(why, EXIT_USAGE, "--fail-if '%.200s': is about none of the rows, which are named "
                       "WORKLOAD/POLICY, as %s%.100s%s/\"%.100s\"", self->text, quote, *workload ? workload : "*",
                       quote, policy);
}

int rule_refers_to_base(const rule *self)
{
    return self->reference && !strcmp(self->reference, "base");
}

/* ---- Rules from the command line and from files */

static int rule_file_add(rule **rules, size_t *count, const char *text, problem *why)
{
    *rules = program_resize(*rules, *count + 1, sizeof **rules);
    return rule_parse(&(*rules)[(*count)++], text, why);
}

/* Without the comment, which a '#' begins that is not in quotes and stands first or behind a space, nor the spaces
   before it. */
static void rule_file_strip(char *text)
{
    char quote = '\0', *end = text;
    for (; *end; end++) {
        if (quote) quote = *end == quote ? '\0' : quote;
        else if (*end == '"' || *end == '\'') quote = *end;
        else if (*end == '#' && (end == text || isspace((unsigned char)end[-1]))) break;
    }
    while (end > text && isspace((unsigned char)end[-1])) end--;
    *end = '\0';
}

static int rule_file_lines(rule **rules, size_t *count, const char *path, char *text, problem *why)
{
    size_t line = 1, before = *count;
    for (char *at = text, *next; at; at = next, line++) {
        problem trouble = { 0, "" };
        next = strchr(at, '\n');
        if (next) *next++ = '\0';
        at += strspn(at, " \t");
        rule_file_strip(at);
        if (!*at) continue;
        if (rule_file_add(rules, count, at, &trouble)) {
            return problem_set(why, trouble.exit_code, "%s: line %zu: %.400s", path, line, trouble.text);
        }
    }
    return *count > before ? 0 : problem_set(why, EXIT_USAGE, "--fail-if: %s: no rule in it", path);
}

static int rule_file_read(rule **rules, size_t *count, const char *path, problem *why)
{
    size_t length;
    char *text = csv_slurp(path, &length, why);
    if (!text) return -1;
    int failed = rule_file_lines(rules, count, path, text, why);
    free(text);
    return failed;
}

int rule_file_all(rule **rules, size_t *count, char *const *texts, size_t text_count, problem *why)
{
    for (size_t index = 0; index < text_count; index++) {
        if (!strcmp(texts[index], "@")) {
            return problem_set(why, EXIT_USAGE, "--fail-if @: expected a file of rules behind the @, found nothing");
        }
        if (texts[index][0] == '@' ? rule_file_read(rules, count, texts[index] + 1, why)
                                   : rule_file_add(rules, count, texts[index], why)) return -1;
    }
    return 0;
}

/* ---- Judging: samples of a row, of what it is compared with, and what the rule says of the two */

static int gate_no_column(const rule *asked, const char *where, problem *why)
{
    return problem_set(why, EXIT_USAGE, "--fail-if '%s': %s has no %s (%s help columns)", asked->text, where,
                       asked->column, program_name());
}

/* What is compared with base has a column there, or would never have a limit. */
static int gate_check_base(const gate *self, problem *why)
{
    for (size_t index = 0; index < self->rule_count; index++) {
        const rule *each = &self->rules[index];
        if (!rule_refers_to_base(each) || row_list_has(self->base, each->measure)) continue;
        return gate_no_column(each, self->base_path, why);
    }
    return 0;
}

int gate_parse_rules(gate *self, const cli *asked, problem *why)
{
    const cli_value *texts = &asked->values[CLI_FAIL_IF];
    self->is_strict = asked->values[CLI_STRICT].given;
    self->base_path = asked->values[CLI_BASE].text;
    return rule_file_all(&self->rules, &self->rule_count, texts->items, texts->item_count, why);
}

int gate_parse_base(gate *self, problem *why)
{
    for (size_t index = 0; index < self->rule_count && !self->base_path; index++) {
        const rule *each = &self->rules[index];
        if (!rule_refers_to_base(each)) continue;
        return problem_set(why, EXIT_USAGE, "--fail-if '%s': base is what --base FILE has: give that too",
                           each->text);
    }
    self->base = &self->read;
    if (self->base_path && (csv_read(&self->read, self->base_path, why) || gate_check_base(self, why))) return -1;
    if (self->rule_count || !(self->base_path || self->is_strict)) return 0;
    return problem_set(why, EXIT_USAGE, "--%s: judges nothing without a rule: give --fail-if too",
                       self->base_path ? "base" : "strict");
}

int gate_parse(gate *self, const cli *asked, row_kind kind, problem *why)
{
    if (gate_parse_rules(self, asked, why)) return -1;
    for (size_t index = 0; index < self->rule_count; index++) {
        const rule *each = &self->rules[index];
        if (!row_has(kind, each->measure)) return gate_no_column(each, asked->command, why);
    }
    return gate_parse_base(self, why);
}

void gate_free(gate *self)
{
    for (size_t index = 0; index < self->rule_count; index++) rule_free(&self->rules[index]);
    free(self->rules);
    free(self->verdicts);
    csv_free(&self->read);
    memset(self, 0, sizeof *self);
}

int gate_names(const gate *self, const char *policy)
{
    for (size_t index = 0; index < self->rule_count; index++) {
        if (self->rules[index].reference && !strcmp(self->rules[index].reference, policy)) return 1;
    }
    return 0;
}

/* A word that is not there is not the one asked for, and no other one either. */
static void gate_judge_word(const gate *self, const case_row *of, gate_verdict *made)
{
    const rule *judged = made->judged;
    const row_column column = judged->measure;
    char mine[CELL_ROOM], theirs[CELL_ROOM];
    const char *found = case_cell(of, column, mine), *limit = judged->word;
    snprintf(made->value, sizeof made->value, "%s", *found ? found : "-");
    if (judged->reference) {
        const case_row before = { self->base, case_find(self->base, of, made->policy) };
        limit = before.line == SIZE_MAX ? NULL : case_cell(&before, column, theirs);
    }
    snprintf(made->limit, sizeof made->limit, "%s", limit ? limit : "-");
    if (!limit) {
        snprintf(made->note, sizeof made->note, "no such row in %.100s", self->base_path);
        return;
    }
    int asks_same = judged->compared == RULE_IS, is_same = !strcmp(found, limit);
    if (!asks_same && !judged->reference && !*found) {
        snprintf(made->note, sizeof made->note, "no %s in this row", judged->column);
        return;
    }
    made->outcome = is_same == asks_same ? GATE_FAIL : GATE_PASS;
}

/* Exact: any value of the row against any of the limit. Timed: the whole interval must be past all of the other. */
static gate_outcome gate_compare(const rule *judged, const interval *value, const interval *limit, long double low,
                                 long double high)
{
    int some = rule_holds(judged, value->low, low) || rule_holds(judged, value->low, high)
        || rule_holds(judged, value->high, low) || rule_holds(judged, value->high, high);
    int all = rule_holds(judged, value->low, low) && rule_holds(judged, value->low, high)
        && rule_holds(judged, value->high, low) && rule_holds(judged, value->high, high);
    if (!some) return GATE_PASS;
    if (!value->is_timed && !limit->is_timed) return GATE_FAIL;
    return all && value->is_known && limit->is_known ? GATE_FAIL : GATE_AMBIGUOUS;
}

static void gate_show(const interval *shown, const rule *judged, long double low, long double high, char *text,
                      size_t size)
{
    char from[40], to[40];
    metric_show(low, row_table[judged->measure].unit, from, sizeof from);
    metric_show(high, row_table[judged->measure].unit, to, sizeof to);
    if (!strcmp(from, to) || (shown->is_timed && !shown->is_known)) snprintf(text, size, "%s", to);
    else snprintf(text, size, "%.20s..%.20s", from, to);
}

/* What the limit is made of; the verdict's note says why there is none. */
static interval gate_limit(const gate *self, const case_row *of, gate_verdict *made)
{
    const rule *judged = made->judged;
    interval limit = { 1, 0, 1, 0.0L, 0.0L, 0.0L };
    if (!judged->reference) return limit;
    int is_base = rule_refers_to_base(judged);
    const row_list *list = is_base ? self->base : of->list;
    const char *policy = is_base ? made->policy : judged->reference;
    limit = case_samples(list, of, policy, judged->measure,
                         row_table[judged->measure].is_timed == COLUMN_IS_TIMED);
    if (!limit.count) {
        int is_there = case_find(list, of, policy) != SIZE_MAX;
        snprintf(made->note, sizeof made->note, "%s %.40s%s%.80s",
                 is_there ? "no number in the row of" : "no such row of", policy, is_base ? " in " : "",
                 is_base ? self->base_path : "");
    }
    return limit;
}

static void gate_judge_number(const gate *self, const case_row *of, gate_verdict *made)
{
    const rule *judged = made->judged;
    const interval value = case_samples(of->list, of, made->policy, judged->measure,
                                        row_table[judged->measure].is_timed == COLUMN_IS_TIMED);
    const interval limit = gate_limit(self, of, made);
    snprintf(made->value, sizeof made->value, "-");
    snprintf(made->limit, sizeof made->limit, "-");
    if (value.count) gate_show(&value, judged, value.low, value.high, made->value, sizeof made->value);
    else snprintf(made->note, sizeof made->note, "no %s in this row", judged->column);
    long double low = rule_limit(judged, limit.low), high = rule_limit(judged, limit.high);
    if (limit.count) gate_show(&limit, judged, low, high, made->limit, sizeof made->limit);
    if (!value.count || !limit.count) {
        return;
    }
    made->outcome = gate_compare(judged, &value, &limit, low, high);
    if (made->outcome != GATE_AMBIGUOUS) return;
    if (value.is_known && limit.is_known) snprintf(made->note, sizeof made->note, "the intervals meet");
    else if (made->holes[0]) snprintf(made->note, sizeof made->note, "a time without an interval: ratio has one");
    else snprintf(made->note, sizeof made->note, "timed %zu times: an interval takes %d, --repeat makes them",
                  value.count, INTERVAL_LEAST_COUNT);
}

static int gate_judge_rule(gate *self, const rule *judged, problem *why)
{
    size_t before = self->verdict_count, in_base = 0;
    for (size_t line = 0; line < self->found->count; line++) {
        const case_row of = { self->found, line };
        const char *workload = row_workload(&self->found->rows[line]), *policy = case_policy(&of);
        if (self->found->rows[line].is_baseline || !rule_matches(judged, workload, policy)
            || case_is_repeat(&of)) continue;
        gate_verdict *made = &self->verdicts[self->verdict_count++];
        made->outcome = GATE_NO_VALUE;           /* unless there is one */
        made->judged = judged;
        made->workload = workload;
        made->policy = policy;
        cell_print(&self->found->rows[line].cells[COLUMN_HOLES], made->holes, sizeof made->holes);
        in_base += rule_refers_to_base(judged) && case_find(self->base, &of, policy) != SIZE_MAX;
        if (row_table[judged->measure].unit == UNIT_TEXT) gate_judge_word(self, &of, made);
        else gate_judge_number(self, &of, made);
    }
    if (self->is_partial) return 0;
    if (self->verdict_count > before && rule_refers_to_base(judged) && !in_base) {
        return problem_set(why, EXIT_USAGE, "--fail-if '%s': %s has none of these rows, by workload, policy, device "
                           "and seed", judged->text, self->base_path);
    }
    if (self->verdict_count > before) return 0;
    const row *last = &self->found->rows[self->found->count - 1];
    return rule_about_none(judged, row_workload(last), last->cells[COLUMN_POLICY].text, why);
}

/* Whether rows that were read can say anything of the rule: they have the column, and the policy that it compares
   with. */
static int gate_check_read(const gate *self, const rule *asked, const char *path, problem *why)
{
    if (!row_list_has(self->found, asked->measure)) return gate_no_column(asked, path, why);
    if (!asked->reference || rule_refers_to_base(asked)) return 0;
    for (size_t line = 0; line < self->found->count; line++) {
        const case_row of = { self->found, line };
        if (!strcmp(case_policy(&of), asked->reference)) return 0;
    }
    return problem_set(why, EXIT_USAGE, "--fail-if '%s': %s has no row of policy '%s'", asked->text, path,
                       asked->reference);
}

int gate_judge(gate *self, const row_list *list, const char *path, problem *why)
{
    if (!self->rule_count) return 0;
    self->found = list;
    self->is_partial = !path && list->partial;
    if (path && !list->count) {
        return problem_set(why, EXIT_USAGE, "--fail-if '%s': %s has no rows", self->rules[0].text, path);
    }
    for (size_t index = 0; path && index < self->rule_count; index++) {
        if (gate_check_read(self, &self->rules[index], path, why)) return -1;
    }
    if (path && gate_check_base(self, why)) return -1;
    self->verdicts = program_need(self->rule_count * list->count, sizeof *self->verdicts);
    for (size_t index = 0; index < self->rule_count; index++) {
        if (gate_judge_rule(self, &self->rules[index], why)) return -1;
    }
    return 0;
}

size_t gate_undecided(const gate *self)
{
    size_t count = 0;
    for (size_t index = 0; index < self->verdict_count; index++) {
        count += self->verdicts[index].outcome == GATE_AMBIGUOUS || self->verdicts[index].outcome == GATE_NO_VALUE;
    }
    return count;
}

int gate_fails(const gate *self, const gate_verdict *verdict)
{
    return verdict->outcome == GATE_FAIL || (self->is_strict && verdict->outcome != GATE_PASS);
}

size_t gate_failed(const gate *self)
{
    size_t count = 0;
    for (size_t index = 0; index < self->verdict_count; index++) {
        count += (size_t)gate_fails(self, &self->verdicts[index]);
    }
    return count;
}

/* ---- Verdicts for people */

const char *gate_outcome_name(gate_outcome outcome)
{
    static const char *const names[] = { "pass", "AMBIGUOUS", "NO VALUE", "FAILED" };
    return names[outcome];
}

static void gate_write_row(FILE *out, const gate_verdict *verdict)
{
    char policy[1024];
    fprintf(out, "%s%s%s%s%s", verdict->workload, *verdict->workload ? "/" : "",
            policy_name_shown(verdict->policy, policy, sizeof policy), *verdict->holes ? " free blocks " : "",
            verdict->holes);
}

void gate_write(FILE *out, const gate *self)
{
    const rule *last = NULL;
    for (size_t index = 0; index < self->verdict_count; index++) {
        const gate_verdict *shown = &self->verdicts[index];
        if (shown->judged != last) fprintf(out, "%sfail if %s\n", last ? "" : "\n", shown->judged->text);
        last = shown->judged;
        fprintf(out, "  %-9s  ", gate_outcome_name(shown->outcome));
        gate_write_row(out, shown);
        fprintf(out, ": %s, limit %s%s%s\n", shown->value, shown->limit, *shown->note ? "; " : "", shown->note);
    }
    if (!last) return;
    size_t failed = gate_failed(self), undecided = gate_undecided(self);
    fprintf(out, "%zu of %zu verdicts fail%s", failed, self->verdict_count, failed == 1 ? "s" : "");
    if (self->is_strict) fputs(" (--strict: what is ambiguous or has no value fails)", out);
    else if (undecided) fprintf(out, ", %zu could not be given (--strict: that fails)", undecided);
    fputc('\n', out);
}

void gate_tell(FILE *out, const gate *self)
{
    for (size_t index = 0; index < self->verdict_count; index++) {
        const gate_verdict *shown = &self->verdicts[index];
        if (shown->outcome == GATE_PASS) continue;
        fprintf(out, "%s: gate: %s: ", program_name(), gate_outcome_name(shown->outcome));
        gate_write_row(out, shown);
        fprintf(out, ": %s is %s, limit %s (fail if %s)%s%s\n", shown->judged->column, shown->value, shown->limit,
                shown->judged->text, *shown->note ? ": " : "", shown->note);
    }
}
