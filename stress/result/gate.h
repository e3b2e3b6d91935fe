/* --fail-if: rules against the rows of a run, and of a run before it (--base); one verdict a rule and row.
   Knows nothing of how rows are made. Tested by tests/test_gate.c and tests/gate.t. */
#ifndef STRESS_RESULT_GATE_H
#define STRESS_RESULT_GATE_H

#include <stdio.h>

#include "../base/cli.h"
#include "csv_table.h"
#include "rule.h"

typedef enum gate_outcome {
    GATE_PASS,
    GATE_AMBIGUOUS,                              /* timed, and the interval does not say */
    GATE_NO_VALUE,                               /* an empty cell, or no such row to compare with */
    GATE_FAIL
} gate_outcome;

typedef struct gate_verdict {
    const rule  *judged;
    const char  *workload, *policy;              /* of the row; workload "": the command has none */
    const char  *holes;                          /* of the row; "": the command has none */
    gate_outcome outcome;
    char         value[48], limit[48];           /* as shown; "-": there is none */
    char         note[160];                      /* why there is no verdict; "": there is one */
} gate_verdict;

typedef struct gate {                            /* zeroed: no rules */
    rule         *rules;
    size_t        rule_count;
    int           is_strict;                     /* what is ambiguous or has no value fails too */
    int           is_partial;                    /* rows are missing: a rule may be about those alone */
    const char   *base_path;                     /* NULL: there is none */
    csv_table     base, found;
    gate_verdict *verdicts;
    size_t        verdict_count;
} gate;

/* --fail-if (@FILE: rules, one a line, # comments), --base, --strict. -1 and a problem: a rule, a file, a column that
   the command or the base has not, or nothing to judge by. gate_free in both cases. */
int  gate_parse(gate *self, const cli *asked, row_kind kind, problem *why);
/* The same where rows are read from a file, which has the columns that it has: the rules, then what --base is. */
int  gate_parse_rules(gate *self, const cli *asked, problem *why);
int  gate_parse_base(gate *self, problem *why);
void gate_free(gate *self);
int  gate_names(const gate *self, const char *policy);       /* whether a rule compares with this policy */

/* Judges the rows. -1 and a problem: a rule is about none of them, though all are there. */
int  gate_judge(gate *self, const row_list *list, problem *why);
/* Likewise rows that were read from a file: *found is taken over. A problem, too: it, or
   base, lacks a rule's column, or the policy that it compares with. */
int  gate_judge_table(gate *self, csv_table *found, const char *path, problem *why);
size_t gate_undecided(const gate *self);         /* AMBIGUOUS and NO_VALUE */
size_t gate_failed(const gate *self);            /* verdicts that fail the run */
int  gate_fails(const gate *self, const gate_verdict *verdict);
const char *gate_outcome_name(gate_outcome outcome);
/* One line a verdict: rule, row, value, limit, outcome. Nothing without rules. */
void gate_write(FILE *out, const gate *self);
void gate_tell(FILE *out, const gate *self);     /* a line each, but for those that pass: -q */

#endif
