#include "gate.h"

#include <ctype.h>
#include <float.h>
#include <math.h>

#include "../policy/policy.h"
#include "csv.h"

/* ---- Numbers with units */

/* The suffixes of numbers, each with a factor and a divisor. The divisor makes 7% exactly 0.07, to the last bit. */
static const struct { column_unit unit; const char *text; long double times, over; } metric_suffixes[] = {
    { UNIT_COUNT, "", 1.0L, 1.0L }, { UNIT_NS, "", 1.0L, 1.0L }, { UNIT_SHARE, "", 1.0L, 1.0L },
    { UNIT_NS, "ns", 1.0L, 1.0L }, { UNIT_NS, "us", 1e3L, 1.0L }, { UNIT_NS, "ms", 1e6L, 1.0L },
    { UNIT_NS, "s", 1e9L, 1.0L }, { UNIT_SHARE, "%", 1.0L, 100.0L },
};

int metric_read(slice text, column_unit unit, long double *value)
{
    static const char all[] = "0123456789";
    char number[56];
    unsigned shift;
    if (text.length >= sizeof number) return -1;
    snprintf(number, sizeof number, "%.*s", (int)text.length, text.bytes);
    size_t digits = strspn(number, all), places = number[digits] == '.' ? 1 + strspn(number + digits + 1, all) : 0;
    const char *suffix = number + digits + places;
    if (!digits || places == 1) return -1;
    if (unit == UNIT_BYTES && slice_unit(slice_of(suffix), &shift)) {
        *value = ldexpl(strtold(number, NULL), (int)shift);
        return 0;
    }
    for (size_t at = 0; at < sizeof metric_suffixes / sizeof metric_suffixes[0]; at++) {
        if (metric_suffixes[at].unit != unit || strcmp(suffix, metric_suffixes[at].text)) continue;
        *value = strtold(number, NULL) * metric_suffixes[at].times / metric_suffixes[at].over;
        return 0;
    }
    return -1;
}

/* Tells whether two numbers are equal but for rounding in arithmetic on decimals (1.2 * 1.05 is 1.26). */
static int metric_equal(long double one, long double other)
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

/* ---- The median and its interval: rounds_low_rank samples are left out at either end */

ARRAY_ORDER(interval_order, long double, [0])

/* Sorts the samples. */
static interval interval_of(long double *samples, size_t count, int is_timed)
{
    interval found = { count, is_timed, 0, 0.0L, 0.0L, 0.0L };
    if (!count) return found;
    qsort(samples, count, sizeof *samples, interval_order);
    size_t margin = is_timed ? rounds_low_rank(count) : 0;
    found.is_known = !is_timed || count >= ROUNDS_LEAST_COUNT;
    found.low = samples[margin];
    found.middle = (samples[(count - 1) / 2] + samples[count / 2]) / 2.0L;
    found.high = samples[count - 1 - margin];
    return found;
}

const char *interval_show(const interval *self, column_unit unit, char *text, size_t size)
{
    char from[40], to[40];
    metric_show(self->low, unit, from, sizeof from);
    metric_show(self->high, unit, to, sizeof to);
    if (!strcmp(from, to) || (self->is_timed && !self->is_known)) snprintf(text, size, "%s", to);
    else snprintf(text, size, "%.20s..%.20s", from, to);
    return text;
}

/* ---- Finding rows by their keys */

/* Tells whether both rows are of the same case, if the second had this policy. */
static int case_is(const case_index *in, const row *one, const row *like, const char *policy_name)
{
    char text[CELL_ROOM], other[CELL_ROOM];
    int same = !strcmp(row_policy(one), policy_name);
    for (int at = 0; at < COLUMN_COUNT && same; at++) {
        same = !in->is_key[at] || !strcmp(cell_text(&one->cells[at], text), cell_text(&like->cells[at], other));
    }
    return same;
}

/* The key in the table under which the row's case is stored, or would be, with this policy instead of its own. The
   key is the hash of the case, or the next number that no other case has. */
static uint64_t case_place(const case_index *in, const row *of, const char *policy_name)
{
    char text[CELL_ROOM];
    uint64_t number = slice_hash(slice_of(policy_name));
    for (int at = 0; at < COLUMN_COUNT; at++) {
        if (in->is_key[at]) number = digest_word(number, slice_hash(slice_of(cell_text(&of->cells[at], text))));
    }
    for (uint64_t first; (first = device_table_find(&in->cases, number)) != 0; number++) {
        if (case_is(in, &in->list->rows[first - 1], of, policy_name)) break;
    }
    return number;
}

void case_index_make(case_index *self, const row_list *list, const row_list *like)
{
    *self = (case_index){ .list = list, .next = program_need(list->count, sizeof *self->next) };
    for (int at = 0; at < COLUMN_COUNT; at++) {
        const row_column key = (row_column)at;
        self->is_key[at] = row_table[key].unit == UNIT_KEY && key != COLUMN_POLICY && row_list_has(list, key)
            && row_list_has(like, key);
    }
    for (size_t line = list->count; line--;) {   /* backwards, so that the first line of a case is stored last */
        const row *of = &list->rows[line];
        const uint64_t place = case_place(self, of, row_policy(of));
        self->next[line] = (size_t)device_table_take(&self->cases, place) - 1;
        device_table_add(&self->cases, place, line + 1);
    }
}

void case_index_free(case_index *self)
{
    device_table_clear(&self->cases);
    free(self->next);
    memset(self, 0, sizeof *self);
}

size_t case_find(const case_index *in, const row *like, const char *policy_name)
{
    return (size_t)device_table_find(&in->cases, case_place(in, like, policy_name)) - 1;
}

int case_is_repeat(const case_index *in, size_t line)
{
    const row *of = &in->list->rows[line];
    return case_find(in, of, row_policy(of)) < line;
}

int case_agrees(const case_rows *of, row_column column)
{
    char first[CELL_ROOM], other[CELL_ROOM];
    const row *rows = of->in->list->rows;
    const char *text = cell_text(&rows[of->first].cells[column], first);
    size_t line = of->first;
    while (line != SIZE_MAX && !strcmp(text, cell_text(&rows[line].cells[column], other))) line = of->in->next[line];
    return line == SIZE_MAX;
}

/* -1: the cell holds no number. */
static int case_number(const row *of, row_column column, long double *value)
{
    char text[CELL_ROOM];
    return metric_read(slice_of(cell_text(&of->cells[column], text)), UNIT_COUNT, value);
}

interval case_samples(const case_rows *of, row_column column, int is_timed)
{
    long double low = 0.0L, high = 0.0L, *samples = NULL;
    size_t count = 0, room = 0;
    int has_interval = 0;
    for (size_t line = of->first; line != SIZE_MAX; line = of->in->next[line]) {
        const row *each = &of->in->list->rows[line];
        ARRAY_RESERVE(samples, room, count + 1);
        if (case_number(each, column, &samples[count])) continue;
        has_interval = column == COLUMN_RATIO && !case_number(each, COLUMN_RATIO_LOW, &low)
            && !case_number(each, COLUMN_RATIO_HIGH, &high);
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

/* ---- Rows of one name, added up */

void repeats_parts(const row *of, const histogram *parts[REPEATS_PARTS])
{
    const latencies *times = of->times;
    const arrivals *rated = of->arrivals;
    const histogram *const found[REPEATS_PARTS] = {
        times ? &times->allocs : NULL, times ? &times->hits : NULL, times ? &times->misses : NULL,
        times ? &times->frees : NULL, rated ? &rated->waited : NULL, rated ? &rated->served : NULL,
    };
    memcpy(parts, found, sizeof found);
}

int repeats_of(repeats *made, const case_index *in, size_t row_index)
{
    const case_rows rows = { in, row_index };
    if (case_is_repeat(in, row_index)) return 0;
    made->count = 0;
    made->ns = case_samples(&rows, COLUMN_HOST_NS, 1);
    memset(made->sums, 0, sizeof made->sums);
    for (size_t line = row_index; line != SIZE_MAX; line = in->next[line]) {
        const histogram *parts[REPEATS_PARTS];
        repeats_parts(&in->list->rows[line], parts);
        for (int part = 0; part < REPEATS_PARTS; part++) {
            if (!parts[part]) continue;
            if (!made->sums[part]) memset(&made->room[part], 0, sizeof made->room[part]);
            made->sums[part] = &made->room[part];
            histogram_merge(&made->room[part], parts[part]);
        }
        made->count++;
    }
    return made->count > 1;
}

/* ---- Rules: reading them from left to right */

PROBLEM_FORMAT(3, 4)
static int rule_fails(const rule *self, problem *why, const char *format, ...)
{
    char text[sizeof why->text];
    PROBLEM_PRINT(text, sizeof text, format);
    return problem_set(why, EXIT_USAGE, "--fail-if '%s': %s", self->text, text);
}

typedef struct rule_reader { rule *made; const char *at; problem *why; } rule_reader;

static const char *rule_space(rule_reader *self)
{
    return self->at += strspn(self->at, " \t");
}

static int rule_is_quote(char character)
{
    return character == '"' || character == '\'';
}

/* Finds the first such character outside quotes, or the end. */
static const char *rule_outside(const char *text, char wanted)
{
    char quote = '\0';
    for (; *text && (quote || *text != wanted); text++) {
        if (quote) quote = *text == quote ? '\0' : quote;
        else if (rule_is_quote(*text)) quote = *text;
    }
    return text;
}

/* Reads a name up to one of the ends, or in quotes. -1: there is no name, or a quote does not end. */
static int rule_name(rule_reader *self, const char *ends, char **name)
{
    const char *from = rule_space(self);
    int is_quoted = rule_is_quote(*from);
    const char *end = is_quoted ? strchr(from + 1, *from) : from + strcspn(from, ends);
    if (!end) return -1;
    self->at = end + is_quoted;
    if (is_quoted) (void)rule_space(self);
    from += is_quoted;
    while (!is_quoted && end > from && isspace((unsigned char)end[-1])) end--;
    if (end > from) *name = program_copy(from, (size_t)(end - from));
    return end > from ? 0 : -1;
}

static int rule_selector(rule_reader *self)
{
    rule *made = self->made;
    if (!*rule_outside(self->at, ':')) return 0;
    if (!rule_name(self, "/:", &made->workload) && *self->at++ == '/'
        && !rule_name(self, "/:", &made->policy) && *self->at++ == ':') return 0;
    return rule_fails(made, self->why, "expected WORKLOAD/POLICY before the ':', each a name or a pattern with * and "
                      "?, in quotes where it holds : or /");
}

/* A hint for a metric that is none: if another ':' follows, the first one may belong to a name. */
static const char *rule_quotes(const rule_reader *self)
{
    return strchr(self->at, ':') ? "; a name that holds : or / stands in quotes" : "";
}

static int rule_metric(rule_reader *self)
{
    rule *made = self->made;
    if (rule_name(self, "<>=! \t", &made->column)) {
        return rule_fails(made, self->why, "expected [WORKLOAD/POLICY:]METRIC OP VALUE");
    }
    made->measure = column_find(made->column);
    if (made->measure == COLUMN_COUNT) {
        char hint[96];
        nearest search = nearest_to(made->column);
        for (int column = 0; column < COLUMN_COUNT; column++) {
            if (row_table[column].unit != UNIT_KEY) nearest_offer(&search, row_table[column].name);
        }
        return rule_fails(made, self->why, "no metric '%s'%s%s (%s help gates)", made->column,
                          nearest_hint(&search, hint, sizeof hint), rule_quotes(self), program_name());
    }
    if (row_table[made->measure].unit != UNIT_KEY) return 0;
    return rule_fails(made, self->why, "%s names the row, expected a metric: rows are picked by WORKLOAD/POLICY: "
                      "(%s help gates)", made->column, program_name());
}

static int rule_operation(rule_reader *self)
{
    static const char *const operators[] = {
        [RULE_AT_MOST] = "<=", [RULE_AT_LEAST] = ">=", [RULE_IS] = "==", [RULE_IS_NOT] = "!=", [RULE_LESS] = "<",
        [RULE_MORE] = ">",
    };
    rule *made = self->made;
    size_t best = 0, length = 0;
    (void)rule_space(self);
    for (size_t at = RULE_LESS; at < sizeof operators / sizeof operators[0]; at++) {
        if (strncmp(self->at, operators[at], strlen(operators[at])) || strlen(operators[at]) < length) continue;
        best = at;
        length = strlen(operators[at]);
    }
    if (!length) {
        return rule_fails(made, self->why, "expected one of < <= > >= == != behind %s%s", made->column,
                          rule_quotes(self));
    }
    self->at += length;
    made->compared = (rule_operator)best;
    int is_equality = made->compared == RULE_IS || made->compared == RULE_IS_NOT;
    if (row_table[made->measure].unit != UNIT_TEXT || is_equality) return 0;
    return rule_fails(made, self->why, "%s is a word: expected == or !=", made->column);
}

static int rule_amount(rule_reader *self, column_unit unit)
{
    static const char *const expected[] = {
        [UNIT_COUNT] = "a plain number", [UNIT_BYTES] = "a number of bytes, such as 512M or 1.5GiB",
        [UNIT_NS] = "a time, such as 20us or 1.5ms, plain: nanoseconds",
        [UNIT_SHARE] = "a number, such as 1.05 or 20%",
    };
    rule *made = self->made;
    slice rest = slice_of(rule_space(self));
    while (rest.length && isspace((unsigned char)rest.bytes[rest.length - 1])) rest.length--;
    const char *end = rest.bytes + rest.length;
    if (rest.length && end[-1] == '%' && (made->arithmetic == '+' || made->arithmetic == '-')) {
        return rule_fails(made, self->why, "expected a share of it, as %s*1.05, or points, as %s+5pp, found '%s'",
                          made->reference, made->reference, self->at);
    }
    int is_points = unit == UNIT_SHARE && made->reference && rest.length > 2 && !memcmp(end - 2, "pp", 2);
    if (is_points) rest.length -= 2;
    int failed = metric_read(rest, is_points ? UNIT_COUNT : unit, &made->amount);
    if (is_points) made->amount /= 100.0L;
    if (!failed && (made->arithmetic != '/' || made->amount > 0.0L)) return 0;
    return rule_fails(made, self->why, "expected %s%s, found '%s'", expected[unit],
                      made->arithmetic == '/' ? ", above 0" : "", self->at);
}

/* Reads a policy or base, and the arithmetic behind it. In a name without quotes a '-' before a letter belongs to the
   name: pytorch-expandable. */
static int rule_reference(rule_reader *self)
{
    rule *made = self->made;
    if (rule_is_quote(*self->at)) {
        if (rule_name(self, "", &made->reference)) return rule_fails(made, self->why, "a quote that does not end");
    } else {
        const char *from = self->at;
        while (isalnum((unsigned char)*self->at) || *self->at == '_'
               || (*self->at == '-' && isalpha((unsigned char)self->at[1]))) self->at++;
        made->reference = program_copy(from, (size_t)(self->at - from));
    }
    policy_name_shorten(made->reference);
    if (!*rule_space(self)) return 0;
    if (!strchr("*/+-", *self->at)) {
        return rule_fails(made, self->why, "expected one of * / + - behind %s, found '%s'", made->reference,
                          self->at);
    }
    made->arithmetic = *self->at++;
    int scales = made->arithmetic == '*' || made->arithmetic == '/';
    return rule_amount(self, scales ? UNIT_COUNT : row_table[made->measure].unit);
}

/* Reads the word of a rule. It must be a word that the column may have, if those are known. */
static int rule_word(rule_reader *self)
{
    rule *made = self->made;
    const char *words = column_words(made->measure);
    char known[256] = "";
    if (!*self->at || rule_name(self, "", &made->word) || *self->at) {
        return rule_fails(made, self->why, "expected one word behind the operator");
    }
    if (!strcmp(made->word, "base")) {
        made->reference = made->word;
        made->word = NULL;
        return 0;
    }
    int is_digest = strlen(made->word) == 16 && strspn(made->word, "0123456789abcdef") == 16;
    if (made->measure == COLUMN_DIGEST && !is_digest) {
        return rule_fails(made, self->why, "%s is never '%s': expected base or 16 digits, 0 to 9 and a to f",
                          made->column, made->word);
    }
    if (!words || slice_has(slice_of(words), made->word)) return 0;
    snprintf(known, sizeof known, "%s", words + 1);
    for (char *bar = known; (bar = strchr(bar, '|')) != NULL;) *bar = ' ';
    return rule_fails(made, self->why, "%s is never '%s': expected base or one of %s", made->column, made->word,
                      known);
}

int rule_parse(rule *self, const char *text, problem *why)
{
    *self = (rule){ .text = program_copy(text, strlen(text)) };
    rule_reader reader = { self, self->text, why };
    if (rule_selector(&reader) || rule_metric(&reader) || rule_operation(&reader)) return -1;
    const column_unit unit = row_table[self->measure].unit;
    const char first = *rule_space(&reader);
    if (unit == UNIT_TEXT) return rule_word(&reader);
    if (isalpha((unsigned char)first) || rule_is_quote(first)) return rule_reference(&reader);
    return rule_amount(&reader, unit);
}

void rule_free(rule *self)
{
    char *const owned[] = { self->text, self->workload, self->policy, self->column, self->reference, self->word };
    for (size_t index = 0; index < sizeof owned / sizeof owned[0]; index++) free(owned[index]);
    memset(self, 0, sizeof *self);
}

/* ---- Rules applied to one row, or to one number */

int rule_matches(const rule *self, const char *workload, const char *policy_name)
{
    char shown[1024];
    return (!self->workload || slice_fits(slice_of(self->workload), workload))
        && (!self->policy || slice_fits(slice_of(self->policy), policy_name)
            || slice_fits(slice_of(self->policy), policy_name_shown(policy_name, shown, sizeof shown)));
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
    rule_operator found = metric_equal(value, limit) ? RULE_IS : value < limit ? RULE_LESS : RULE_MORE;
    return (self->compared & found) != 0;
}

int rule_about_none(const rule *self, const char *workload, const char *policy_name, problem *why)
{
    const char *quote = *workload ? "\"" : "";
    return problem_set(why, EXIT_USAGE, "--fail-if '%.200s': is about none of the rows, which are named "
                       "WORKLOAD/POLICY, as %s%.100s%s/\"%.100s\"", self->text, quote, *workload ? workload : "*",
                       quote, policy_name);
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

/* The length of a line without its comment and the spaces before that. A '#' begins a comment if it is not in quotes
   and stands first or behind a space. */
static size_t rule_file_length(const char *text)
{
    const char *end = rule_outside(text, '#');
    while (*end && end > text && !isspace((unsigned char)end[-1])) end = rule_outside(end + 1, '#');
    while (end > text && isspace((unsigned char)end[-1])) end--;
    return (size_t)(end - text);
}

static int rule_file_read(rule **rules, size_t *count, const char *path, problem *why)
{
    size_t length, line = 1, before = *count;
    char *text = csv_slurp(path, &length, why);
    int failed = text ? 0 : -1;
    for (char *at = text, *next; at && !failed; at = next, line++) {
        problem trouble = { 0, "" };
        next = strchr(at, '\n');
        if (next) *next++ = '\0';
        at += strspn(at, " \t");
        at[rule_file_length(at)] = '\0';
        if (!*at || !rule_file_add(rules, count, at, &trouble)) continue;
        failed = problem_set(why, trouble.exit_code, "%s: line %zu: %.400s", path, line, trouble.text);
    }
    free(text);
    if (failed || *count > before) return failed;
    return problem_set(why, EXIT_USAGE, "--fail-if: %s: no rule in it", path);
}

int rule_file_all(rule **rules, size_t *count, char *const *texts, size_t text_count, problem *why)
{
    for (size_t index = 0; index < text_count; index++) {
        const char *text = texts[index];
        if (!strcmp(text, "@")) {
            return problem_set(why, EXIT_USAGE, "--fail-if @: expected a file of rules behind the @, found nothing");
        }
        if (*text == '@' ? rule_file_read(rules, count, text + 1, why) : rule_file_add(rules, count, text, why)) {
            return -1;
        }
    }
    return 0;
}

/* ---- Judging: the samples of a row, those it is compared with, and the verdict on the two */

static int gate_no_column(const rule *asked, const char *where, problem *why)
{
    return rule_fails(asked, why, "%s has no %s (%s help columns)", where, asked->column, program_name());
}

/* Checks that base has the column of each rule that refers to it. Without the column a rule never has a limit. */
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
        if (rule_refers_to_base(each)) return rule_fails(each, why, "base needs --base FILE: give that too");
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

int gate_names(const gate *self, const char *policy_name)
{
    for (size_t index = 0; index < self->rule_count; index++) {
        if (self->rules[index].reference && !strcmp(self->rules[index].reference, policy_name)) return 1;
    }
    return 0;
}

/* A rule about a missing word: == with a given word does not hold, and != has no value. */
static void gate_judge_word(const gate *self, const row *of, gate_verdict *made)
{
    const rule *judged = made->judged;
    char mine[CELL_ROOM], theirs[CELL_ROOM];
    const char *found = cell_text(&of->cells[judged->measure], mine), *limit = judged->word;
    if (*found) snprintf(made->value, sizeof made->value, "%s", found);
    if (judged->reference) {
        size_t line = case_find(&self->by_base, of, row_policy(of));
        if (line != SIZE_MAX) limit = cell_text(&self->base->rows[line].cells[judged->measure], theirs);
    }
    if (limit && *limit) snprintf(made->limit, sizeof made->limit, "%s", limit);
    int asks_same = judged->compared == RULE_IS, is_same = limit && !strcmp(found, limit);
    if (!limit) snprintf(made->note, sizeof made->note, "no such row in %.100s", self->base_path);
    else if (!asks_same && !judged->reference && !*found) {
        snprintf(made->note, sizeof made->note, "no %s in this row", judged->column);
    } else made->outcome = is_same == asks_same ? GATE_FAIL : GATE_PASS;
}

/* Exact values fail if the rule holds for any value of the row and any of the limit. Timed ones fail only if it holds
   for the whole of both intervals. */
static gate_outcome gate_compare(const rule *judged, const interval *value, const interval *limit)
{
    int some = 0, all = value->is_known && limit->is_known;
    for (int corner = 0; corner < 4; corner++) {
        int holds = rule_holds(judged, corner & 1 ? value->high : value->low, corner & 2 ? limit->high : limit->low);
        some |= holds;
        all &= holds;
    }
    return !some ? GATE_PASS : all || (!value->is_timed && !limit->is_timed) ? GATE_FAIL : GATE_AMBIGUOUS;
}

/* The limit that the rule makes of the rows it compares with. Without one, the verdict's note says why. */
static interval gate_limit(const gate *self, const row *of, gate_verdict *made)
{
    const rule *judged = made->judged;
    interval limit = { 1, 0, 1, 0.0L, 0.0L, 0.0L };
    if (judged->reference) {
        int is_base = rule_refers_to_base(judged), is_timed = row_table[judged->measure].is_timed == COLUMN_IS_TIMED;
        const char *with = is_base ? row_policy(of) : judged->reference;
        const case_index *in = is_base ? &self->by_base : &self->by_found;
        const case_rows rows = { in, case_find(in, of, with) };
        limit = case_samples(&rows, judged->measure, is_timed);
        if (!limit.count) {
            snprintf(made->note, sizeof made->note, "%s %.40s%s%.80s", rows.first == SIZE_MAX ? "no such row of"
                     : "no number in the row of", with, is_base ? " in " : "", is_base ? self->base_path : "");
        }
    }
    limit.low = rule_limit(judged, limit.low);
    limit.high = rule_limit(judged, limit.high);
    return limit;
}

/* If the rule compares a row with itself, both sides become its one median: its interval must decide nothing. */
static void gate_same_row(const gate *self, const row *of, const gate_verdict *made, interval *value, interval *limit)
{
    const rule *judged = made->judged;
    const size_t own = case_find(&self->by_found, of, row_policy(of));
    if (!judged->reference || rule_refers_to_base(judged)
        || case_find(&self->by_found, of, judged->reference) != own) return;
    value->is_timed = limit->is_timed = 0;
    value->low = value->high = value->middle;
    limit->low = limit->high = rule_limit(judged, value->middle);
}

static void gate_judge_number(const gate *self, const row *of, gate_verdict *made)
{
    const rule *judged = made->judged;
    const column_unit unit = row_table[judged->measure].unit;
    interval limit = gate_limit(self, of, made);
    const case_rows rows = { &self->by_found, case_find(&self->by_found, of, row_policy(of)) };
    interval value = case_samples(&rows, judged->measure, row_table[judged->measure].is_timed == COLUMN_IS_TIMED);
    if (value.count) interval_show(&value, unit, made->value, sizeof made->value);
    if (limit.count) interval_show(&limit, unit, made->limit, sizeof made->limit);
    if (!value.count) snprintf(made->note, sizeof made->note, "no %s in this row", judged->column);
    if (!value.count || !limit.count) return;
    gate_same_row(self, of, made, &value, &limit);
    made->outcome = gate_compare(judged, &value, &limit);
    if (made->outcome != GATE_AMBIGUOUS) return;
    if (value.is_known && limit.is_known) snprintf(made->note, sizeof made->note, "the intervals meet");
    else if (of->cells[COLUMN_HOLES].kind != CELL_NONE) {
        snprintf(made->note, sizeof made->note, "a time without an interval: ratio has one");
    } else snprintf(made->note, sizeof made->note, "timed %zu times: an interval takes %d, --repeat makes them",
                  value.count, ROUNDS_LEAST_COUNT);
}

static int gate_judge_rule(gate *self, const rule *judged, problem *why)
{
    size_t before = self->verdict_count, in_base = 0;
    int needs_base = rule_refers_to_base(judged);
    for (size_t line = 0; line < self->found->count; line++) {
        const row *found = &self->found->rows[line];
        if (found->is_baseline || !rule_matches(judged, row_workload(found), row_policy(found))
            || case_is_repeat(&self->by_found, line)) continue;
        gate_verdict *made = &self->verdicts[self->verdict_count++];
        *made = (gate_verdict){ judged, found, GATE_NO_VALUE, "-", "-", "" };        /* until a value is found */
        in_base += needs_base && case_find(&self->by_base, found, row_policy(found)) != SIZE_MAX;
        if (row_table[judged->measure].unit == UNIT_TEXT) gate_judge_word(self, found, made);
        else gate_judge_number(self, found, made);
        self->counts[made->outcome]++;
    }
    if (self->is_partial || (self->verdict_count > before && (in_base || !needs_base))) return 0;
    if (self->verdict_count > before) {
        return rule_fails(judged, why, "%s has none of these rows, by workload, policy, device and seed",
                          self->base_path);
    }
    const row *last = &self->found->rows[self->found->count - 1];
    return rule_about_none(judged, row_workload(last), row_policy(last), why);
}

/* Checks that rows read from a file have the column of the rule, and the policy that it compares with. */
static int gate_check_read(const gate *self, const rule *asked, const char *path, problem *why)
{
    if (!row_list_has(self->found, asked->measure)) return gate_no_column(asked, path, why);
    if (!asked->reference || rule_refers_to_base(asked)) return 0;
    for (size_t line = 0; line < self->found->count; line++) {
        if (!strcmp(row_policy(&self->found->rows[line]), asked->reference)) return 0;
    }
    return rule_fails(asked, why, "%s has no row of policy '%s'", path, asked->reference);
}

int gate_judge(gate *self, const row_list *list, const char *path, problem *why)
{
    if (!self->rule_count) return 0;
    self->found = list;
    self->is_partial = !path && list->partial;
    if (path && !list->count) return rule_fails(&self->rules[0], why, "%s has no rows", path);
    for (size_t index = 0; path && index < self->rule_count; index++) {
        if (gate_check_read(self, &self->rules[index], path, why)) return -1;
    }
    if (path && gate_check_base(self, why)) return -1;
    self->verdicts = program_need(self->rule_count * list->count, sizeof *self->verdicts);
    case_index_make(&self->by_found, list, list);
    if (self->base) case_index_make(&self->by_base, self->base, list);
    size_t judged = 0;
    while (judged < self->rule_count && !gate_judge_rule(self, &self->rules[judged], why)) judged++;
    case_index_free(&self->by_found);
    case_index_free(&self->by_base);
    return judged < self->rule_count ? -1 : 0;
}

size_t gate_undecided(const gate *self)
{
    return self->counts[GATE_AMBIGUOUS] + self->counts[GATE_NO_VALUE];
}

int gate_fails(const gate *self, const gate_verdict *verdict)
{
    return verdict->outcome == GATE_FAIL || (self->is_strict && verdict->outcome != GATE_PASS);
}

size_t gate_failed(const gate *self)
{
    return self->counts[GATE_FAIL] + (self->is_strict ? gate_undecided(self) : 0);
}

/* ---- Verdicts for people */

const char *gate_outcome_name(gate_outcome outcome)
{
    static const char *const names[] = { "pass", "AMBIGUOUS", "NO VALUE", "FAILED" };
    return names[outcome];
}

void gate_write_sum(FILE *out, const gate *self)
{
    size_t failed = gate_failed(self), undecided = gate_undecided(self);
    fprintf(out, "%zu of %zu verdicts fail%s", failed, self->verdict_count, failed == 1 ? "s" : "");
    if (self->is_strict) fputs(" (--strict: ambiguous verdicts, and those without a value, fail)", out);
    else if (undecided) fprintf(out, ", %zu could not be given (--strict: that fails)", undecided);
}

void gate_write(FILE *out, const gate *self)
{
    const rule *last = NULL;
    for (size_t index = 0; index < self->verdict_count; index++) {
        const gate_verdict *shown = &self->verdicts[index];
        if (shown->judged != last) fprintf(out, "%sfail if %s\n", last ? "" : "\n", shown->judged->text);
        last = shown->judged;
        fprintf(out, "  %-9s  ", gate_outcome_name(shown->outcome));
        row_name(out, NULL, shown->of, 1);
        fprintf(out, ": %s, limit %s%s%s\n", shown->value, shown->limit, *shown->note ? "; " : "", shown->note);
    }
    if (!last) return;
    gate_write_sum(out, self);
    fputc('\n', out);
}

void gate_tell(FILE *out, const gate *self)
{
    for (size_t index = 0; index < self->verdict_count; index++) {
        const gate_verdict *shown = &self->verdicts[index];
        if (shown->outcome == GATE_PASS) continue;
        fprintf(out, "%s: gate: %s: ", program_name(), gate_outcome_name(shown->outcome));
        row_name(out, NULL, shown->of, 1);
        fprintf(out, ": %s is %s, limit %s (fail if %s)%s%s\n", shown->judged->column, shown->value, shown->limit,
                shown->judged->text, *shown->note ? ": " : "", shown->note);
    }
}
