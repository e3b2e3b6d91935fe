/* Judging: samples of a row, of what it is compared with, and what the rule says of the two.
   It must not know columns but as names of keys.
   Tested by tests/test_gate.c and tests/gate.t. */
#include "gate.h"

#include <stdlib.h>
#include <string.h>

#include "../base/program.h"
#include "cases.h"
#include "rule_file.h"

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
        if (!rule_refers_to_base(each) || csv_table_column(&self->base, each->column) != CSV_NO_COLUMN) continue;
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
    if (self->base_path && csv_table_read(&self->base, self->base_path, why)) return -1;
    if (self->base_path && gate_check_base(self, why)) return -1;
    if (self->rule_count || !(self->base_path || self->is_strict)) return 0;
    return problem_set(why, EXIT_USAGE, "--%s: judges nothing without a rule: give --fail-if too",
                       self->base_path ? "base" : "strict");
}

int gate_parse(gate *self, const cli *asked, row_kind kind, problem *why)
{
    if (gate_parse_rules(self, asked, why)) return -1;
    for (size_t index = 0; index < self->rule_count; index++) {
        const rule *each = &self->rules[index];
        const row_column *columns;
        size_t count = row_columns(kind, &columns);
        while (count && strcmp(row_column_name(columns[count - 1]), each->column)) count--;
        if (!count) return gate_no_column(each, asked->command, why);
    }
    return gate_parse_base(self, why);
}

void gate_free(gate *self)
{
    for (size_t index = 0; index < self->rule_count; index++) rule_free(&self->rules[index]);
    free(self->rules);
    free(self->verdicts);
    csv_table_free(&self->base);
    csv_table_free(&self->found);
    memset(self, 0, sizeof *self);
}

int gate_names(const gate *self, const char *policy)
{
    for (size_t index = 0; index < self->rule_count; index++) {
        if (self->rules[index].reference && !strcmp(self->rules[index].reference, policy)) return 1;
    }
    return 0;
}

static void gate_no_value(gate_verdict *made)
{
    made->outcome = GATE_NO_VALUE;
    snprintf(made->note, sizeof made->note, "no %s in this row", made->judged->column);
}

/* A word that is not there is not the one asked for, and no other one either. */
static void gate_judge_word(const gate *self, const case_row *of, gate_verdict *made)
{
    const rule *judged = made->judged;
    const char *found = case_cell(of, judged->column), *limit = judged->word;
    snprintf(made->value, sizeof made->value, "%s", *found ? found : "-");
    if (judged->reference) {
        size_t line = case_find(&self->base, of, made->policy);
        const case_row before = { &self->base, line };
        limit = line == SIZE_MAX ? NULL : case_cell(&before, judged->column);
    }
    snprintf(made->limit, sizeof made->limit, "%s", limit ? limit : "-");
    if (!limit) {
        made->outcome = GATE_NO_VALUE;
        snprintf(made->note, sizeof made->note, "no such row in %.100s", self->base_path);
        return;
    }
    int asks_same = judged->compared == RULE_IS, is_same = !strcmp(found, limit);
    if (!asks_same && !judged->reference && !*found) {
        gate_no_value(made);
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
    metric_show(low, judged->measure->unit, from, sizeof from);
    metric_show(high, judged->measure->unit, to, sizeof to);
    if (!strcmp(from, to) || (shown->is_timed && !shown->is_known)) snprintf(text, size, "%s", to);
    else snprintf(text, size, "%.20s..%.20s", from, to);
}

/* What the limit is made of; the verdict's note says why there is none. -1: no host memory. */
static int gate_limit(const gate *self, const case_row *of, gate_verdict *made, interval *limit)
{
    const rule *judged = made->judged;
    const interval constant = { 1, 0, 1, 0.0L, 0.0L, 0.0L };
    *limit = constant;
    if (!judged->reference) return 0;
    int is_base = rule_refers_to_base(judged);
    const csv_table *table = is_base ? &self->base : of->table;
    const char *policy = is_base ? made->policy : judged->reference;
    if (case_samples(table, of, policy, judged->column, judged->measure->is_timed, limit)) return -1;
    if (!limit->count) {
        int is_there = case_find(table, of, policy) != SIZE_MAX;
        snprintf(made->note, sizeof made->note, "%s %.40s%s%.80s",
                 is_there ? "no number in the row of" : "no such row of", policy, is_base ? " in " : "",
                 is_base ? self->base_path : "");
    }
    return 0;
}

/* Why it is AMBIGUOUS. */
static void gate_say_why(gate_verdict *made, int are_known, size_t count)
{
    if (are_known) snprintf(made->note, sizeof made->note, "the intervals meet");
    else if (made->holes[0]) snprintf(made->note, sizeof made->note, "a time without an interval: ratio has one");
    else snprintf(made->note, sizeof made->note, "timed %zu times: an interval takes %d, --repeat makes them", count,
                  INTERVAL_LEAST_COUNT);
}

static int gate_judge_number(const gate *self, const case_row *of, gate_verdict *made)
{
    const rule *judged = made->judged;
    interval value, limit;
    snprintf(made->value, sizeof made->value, "-");
    snprintf(made->limit, sizeof made->limit, "-");
    if (case_samples(of->table, of, made->policy, judged->column, judged->measure->is_timed, &value)
        || gate_limit(self, of, made, &limit)) return -1;
    if (value.count) gate_show(&value, judged, value.low, value.high, made->value, sizeof made->value);
    else gate_no_value(made);
    long double low = rule_limit(judged, limit.low), high = rule_limit(judged, limit.high);
    if (limit.count) gate_show(&limit, judged, low, high, made->limit, sizeof made->limit);
    if (!value.count || !limit.count) {
        made->outcome = GATE_NO_VALUE;
        return 0;
    }
    made->outcome = gate_compare(judged, &value, &limit, low, high);
    if (made->outcome == GATE_AMBIGUOUS)
        gate_say_why(made, value.is_known && limit.is_known, value.count);
    return 0;
}

static int gate_judge_rule(gate *self, const rule *judged, problem *why)
{
    size_t before = self->verdict_count, in_base = 0;
    case_row last = { &self->found, 0 };
    for (size_t line = 0; line < self->found.row_count; line++) {
        const case_row of = { &self->found, line };
        const char *workload = case_cell(&of, "workload"), *policy = case_cell(&of, "policy");
        last = of;
        if (csv_table_is_hidden(&self->found, line) || !rule_matches(judged, workload, policy)
            || case_is_repeat(&of)) continue;
        gate_verdict *made = &self->verdicts[self->verdict_count++];
        made->judged = judged;
        made->workload = workload;
        made->policy = policy;
        made->holes = case_cell(&of, "holes");
        in_base += rule_refers_to_base(judged) && case_find(&self->base, &of, policy) != SIZE_MAX;
        if (judged->measure->unit == METRIC_TEXT) gate_judge_word(self, &of, made);
        else if (gate_judge_number(self, &of, made)) return problem_set(why, EXIT_HARNESS, "no host memory to judge");
    }
    if (self->is_partial) return 0;
    if (self->verdict_count > before && rule_refers_to_base(judged) && !in_base) {
        return problem_set(why, EXIT_USAGE, "--fail-if '%s': %s has none of these rows, by workload, policy, device "
                           "and seed", judged->text, self->base_path);
    }
    if (self->verdict_count > before) return 0;
    return rule_about_none(judged, case_cell(&last, "workload"), case_cell(&last, "policy"), why);
}

static int gate_judge_found(gate *self, problem *why)
{
    self->verdicts = calloc(self->rule_count * self->found.row_count + 1, sizeof *self->verdicts);
    if (!self->verdicts) return problem_set(why, EXIT_HARNESS, "no host memory for the verdicts");
    for (size_t index = 0; index < self->rule_count; index++) {
        if (gate_judge_rule(self, &self->rules[index], why)) return -1;
    }
    return 0;
}

/* Whether the table can say anything of the rule: it has the column, and the policy that the rule compares with. */
static int gate_check_found(const gate *self, const rule *asked, const char *path, problem *why)
{
    if (csv_table_column(&self->found, asked->column) == CSV_NO_COLUMN) return gate_no_column(asked, path, why);
    if (!asked->reference || rule_refers_to_base(asked)) return 0;
    for (size_t line = 0; line < self->found.row_count; line++) {
        const case_row of = { &self->found, line };
        if (!strcmp(case_cell(&of, "policy"), asked->reference)) return 0;
    }
    return problem_set(why, EXIT_USAGE, "--fail-if '%s': %s has no row of policy '%s'", asked->text, path,
                       asked->reference);
}

int gate_judge_table(gate *self, csv_table *found, const char *path, problem *why)
{
    self->found = *found;
    memset(found, 0, sizeof *found);
    if (self->rule_count && !self->found.row_count) {
        return problem_set(why, EXIT_USAGE, "--fail-if '%s': %s has no rows", self->rules[0].text, path);
    }
    for (size_t index = 0; index < self->rule_count; index++) {
        if (gate_check_found(self, &self->rules[index], path, why)) return -1;
    }
    return gate_check_base(self, why) || gate_judge_found(self, why) ? -1 : 0;
}

int gate_judge(gate *self, const row_list *list, problem *why)
{
    if (!self->rule_count) return 0;
    self->is_partial = list->partial != NULL;
    return csv_table_of(&self->found, list, why) || gate_judge_found(self, why) ? -1 : 0;
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
