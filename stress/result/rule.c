/* Rules: reading them, and what they say about one number.
   It must not know where numbers come from.
   Tested by tests/test_gate.c. */
#include "rule.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "../policy/policy_name.h"
#include "../base/program.h"

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

static int rule_keep(char **kept, const char *from, size_t length, problem *why)
{
    *kept = malloc(length + 1);
    if (!*kept) return problem_set(why, EXIT_HARNESS, "no host memory for the rules");
    memcpy(*kept, from, length);
    (*kept)[length] = '\0';
    return 0;
}

/* A name up to one of the ends, or in quotes: *at moves behind it. -1: none, or no end of the quote. */
static int rule_name(const char **at, const char *ends, char **name, problem *why)
{
    const char *from = rule_space(*at);
    if (*from == '"' || *from == '\'') {
        const char *end = strchr(from + 1, *from);
        if (!end || end == from + 1) return -1;
        *at = rule_space(end + 1);
        return rule_keep(name, from + 1, (size_t)(end - from - 1), why);
    }
    size_t length = strcspn(from, ends);
    *at = from + length;
    while (length && isspace((unsigned char)from[length - 1])) length--;
    return length ? rule_keep(name, from, length, why) : -1;
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
    if (!rule_name(at, "/:", &self->workload, why) && **at == '/') {
        ++*at;
        if (!rule_name(at, "/:", &self->policy, why) && **at == ':') {
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
    if (rule_name(at, "<>=! \t", &self->column, why)) {
        return problem_set(why, EXIT_USAGE, "--fail-if '%s': %s", self->text, rule_form);
    }
    self->measure = metric_find(self->column);
    if (self->measure && self->measure->unit != METRIC_KEY) return 0;
    if (self->measure) {
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
        if (self->measure->unit != METRIC_TEXT || self->compared >= RULE_IS) return 0;
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

static int rule_amount(rule *self, const char *from, metric_unit unit, problem *why)
{
    slice rest = slice_of(from);
    while (rest.length && isspace((unsigned char)rest.bytes[rest.length - 1])) rest.length--;
    if (rest.length && rest.bytes[rest.length - 1] == '%' && (self->arithmetic == '+' || self->arithmetic == '-')) {
        return problem_set(why, EXIT_USAGE, "--fail-if '%s': expected a share of it, as %s*1.05, or points, as "
                           "%s+5pp, found '%s'", self->text, self->reference, self->reference, from);
    }
    int is_points = unit == METRIC_SHARE && self->reference && rest.length > 2
        && !memcmp(rest.bytes + rest.length - 2, "pp", 2);
    if (is_points) rest.length -= 2;
    if (!metric_read(rest, is_points ? METRIC_COUNT : unit, &self->amount)) {
        if (is_points) self->amount /= 100.0L;
        if (self->arithmetic != '/' || self->amount > 0.0L) return 0;
    }
    return problem_set(why, EXIT_USAGE, "--fail-if '%s': expected %s%s, found '%s'", self->text,
                       metric_suffixes(unit), self->arithmetic == '/' ? ", above 0" : "", from);
}

static int rule_reference(rule *self, const char *at, problem *why)
{
    static const char operators[] = "*/+-";
    int is_quoted = *at == '"' || *at == '\'';
    size_t length = is_quoted ? 0 : rule_bare(at);
    if (is_quoted ? rule_name(&at, "", &self->reference, why) : rule_keep(&self->reference, at, length, why)) {
        return problem_set(why, EXIT_USAGE, "--fail-if '%s': a quote that does not end", self->text);
    }
    policy_name_shorten(self->reference);
    at = rule_space(at + length);
    if (!*at) return 0;
    if (!strchr(operators, *at)) {
        return problem_set(why, EXIT_USAGE, "--fail-if '%s': expected one of * / + - behind %s, found '%s'",
                           self->text, self->reference, at);
    }
    self->arithmetic = *at;
    int scales = *at == '*' || *at == '/';
    return rule_amount(self, rule_space(at + 1), scales ? METRIC_COUNT : self->measure->unit, why);
}

/* A word that the column can never hold would be a rule that says nothing. */
static int rule_word(const rule *self, problem *why)
{
    char words[256];
    if (metric_has_word(self->measure, self->word)) return 0;
    return problem_set(why, EXIT_USAGE, "--fail-if '%s': %s is never '%s': expected base or one of %s", self->text,
                       self->column, self->word, metric_list_words(self->measure, words, sizeof words));
}

static int rule_value(rule *self, const char *at, problem *why)
{
    at = rule_space(at);
    int begins = isalpha((unsigned char)*at) || *at == '"' || *at == '\'';
    if (self->measure->unit != METRIC_TEXT) {
        return begins ? rule_reference(self, at, why) : rule_amount(self, at, self->measure->unit, why);
    }
    if (!*at || rule_name(&at, "", &self->word, why) || *at) {
        return problem_set(why, EXIT_USAGE, "--fail-if '%s': expected one word behind the operator", self->text);
    }
    if (strcmp(self->word, "base")) return rule_word(self, why);
    self->reference = self->word;
    self->word = NULL;
    return 0;
}

int rule_parse(rule *self, const char *text, problem *why)
{
    memset(self, 0, sizeof *self);
    if (rule_keep(&self->text, text, strlen(text), why)) return -1;
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

/* The last '*' takes one character more each time that what follows it does not fit. */
int rule_pattern_fits(const char *pattern, const char *text)
{
    const char *star = NULL, *taken = NULL;
    while (*text) {
        if (*pattern == '*') {
            star = pattern++;
            taken = text;
        } else if (*pattern == '?' || *pattern == *text) {
            pattern++;
            text++;
        } else if (star) {
            pattern = star + 1;
            text = ++taken;
        } else {
            return 0;
        }
    }
    while (*pattern == '*') pattern++;
    return !*pattern;
}

int rule_matches(const rule *self, const char *workload, const char *policy)
{
    char shown[1024];
    return (!self->workload || rule_pattern_fits(self->workload, workload))
        && (!self->policy || rule_pattern_fits(self->policy, policy)
            || rule_pattern_fits(self->policy, policy_name_shown(policy, shown, sizeof shown)));
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
