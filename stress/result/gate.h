/* --fail-if: rules against the rows of a run, and of an earlier run (--base); one verdict for each rule and row.
   Knows nothing of how rows are made. */
#ifndef STRESS_RESULT_GATE_H
#define STRESS_RESULT_GATE_H

#include "../base/cli.h"
#include "../base/sets.h"
#include "../base/rounds.h"
#include "../base/text.h"
#include "row.h"

/* ---- Numbers with units */

/* Reads "1.05", "512M", "20%", "1.5us" in the unit's own measure (bytes, ns, 1.0 for 100%). -1: it is no number. */
int         metric_read(slice text, column_unit unit, long double *value);
/* Prints a number with the decimals that files have, and up to four more if the number has them. Returns text. */
const char *metric_show(long double value, column_unit unit, char *text, size_t size);

/* ---- The interval of a value, from its samples: from least to most for exact values; for timed ones the 95 %
        confidence interval of the median by order statistics, which hold for any distribution */

typedef struct interval {
    size_t      count;                           /* samples; 0: none, and all below is meaningless */
    int         is_timed;                        /* 0: exact; low is the least sample, high the most */
    int         is_known;                        /* 0: timed, with too few samples for an interval */
    long double low, middle, high;               /* middle: the median */
} interval;

/* Prints "1.5..2.5"; or one value, if both ends look alike or the interval is not known. Returns text. */
const char *interval_show(const interval *self, column_unit unit, char *text, size_t size);

/* ---- Rows by their case: rows of the same case are equal in every key that both lists have */

typedef struct case_index {                      /* zeroed: of no list */
    const row_list *list;
    device_table cases;                          /* by the hash of a case's keys: its first line, from 1 */
    size_t     *next;                            /* by line: the next one of its case; SIZE_MAX: there is none */
    char        is_key[COLUMN_COUNT];            /* 1: both lists have this key, and it is not the policy */
} case_index;

/* Indexes all rows of a list, to be searched by rows of the list `like`, which may be the same list. */
void   case_index_make(case_index *self, const row_list *list, const row_list *like);
void   case_index_free(case_index *self);

/* Finds the first line of the row's case with this policy instead of its own; SIZE_MAX: there is none. */
size_t case_find(const case_index *in, const row *like, const char *policy_name);
int    case_is_repeat(const case_index *in, size_t line);    /* its own list has an earlier row of the case */

typedef struct case_rows { const case_index *in; size_t first; } case_rows;      /* of one case; first: case_find's */

/* case_agrees tells whether all rows of a case have the same cell in a column. case_samples collects their numbers. A
   ratio with a ratio_low and ratio_high counts as timed; if it is the only sample, its interval is these two. */
int      case_agrees(const case_rows *of, row_column column);
interval case_samples(const case_rows *of, row_column column, int is_timed);

/* ---- Repeats: rows that differ only in measurements. Their times become a median with its interval. Their latencies
        become one histogram, added up bucket by bucket: its percentiles are no averages of percentiles */

typedef enum repeats_part {                      /* of a row: in nanoseconds; from WAITED on in virtual nanoseconds */
    REPEATS_ALLOC, REPEATS_HIT, REPEATS_MISS, REPEATS_FREE, REPEATS_WAITED, REPEATS_SERVED, REPEATS_PARTS
} repeats_part;

void repeats_parts(const row *of, const histogram *parts[REPEATS_PARTS]);    /* of one row; NULL: it has none */

typedef struct repeats {                         /* must not move */
    size_t    count;                             /* rows */
    interval  ns;                                /* host_ns_per_op of the rows that have it */
    const histogram *sums[REPEATS_PARTS];        /* NULL: no row has it */
    histogram room[REPEATS_PARTS];
} repeats;

/* Adds up the row and all later rows of its case; the index is of its own list. 1: it is the first of several; 0: it
   is a later one, or it is alone. */
int repeats_of(repeats *made, const case_index *in, size_t row_index);

/* ---- A rule of --fail-if: `[WORKLOAD/POLICY:]METRIC OP VALUE`, read once */

typedef enum rule_operator {                     /* bits: holds for less, for equal, for more */
    RULE_LESS = 1, RULE_IS = 2, RULE_AT_MOST = 3, RULE_MORE = 4, RULE_IS_NOT = 5, RULE_AT_LEAST = 6
} rule_operator;

typedef struct rule {
    char         *text;                          /* the written rule; owned, like the other texts */
    char         *workload, *policy;             /* patterns with * and ?; NULL: all */
    char         *column;
    row_column    measure;                       /* the column of that name */
    rule_operator compared;
    char         *reference;                     /* NULL: the value alone; "base"; else a policy */
    char          arithmetic;                    /* 0, or one of * / + - to change the reference by amount */
    long double   amount;                        /* the value, or the operand of the arithmetic */
    char         *word;                          /* UNIT_TEXT: the value */
} rule;

/* -1 and a problem, EXIT_USAGE, that names the rule and the expected text. rule_free in both cases. */
int  rule_parse(rule *self, const char *text, problem *why);
void rule_free(rule *self);

/* Tells whether the rule is about the row of this workload and policy. */
int  rule_matches(const rule *self, const char *workload, const char *policy_name);
/* The limit that the rule makes of a reference's value. */
long double rule_limit(const rule *self, long double reference);
int  rule_holds(const rule *self, long double value, long double limit);
int  rule_refers_to_base(const rule *self);
/* Sets the problem of a rule that no row matches. The names are those of an existing row; workload "": it has none.
   Returns -1. */
int  rule_about_none(const rule *self, const char *workload, const char *policy_name, problem *why);

/* ---- The rules of all --fail-if: one each, or @FILE with one a line */

/* -1 and a problem, which names file and line. The caller must free the rules made so far in both cases. */
int rule_file_all(rule **rules, size_t *count, char *const *texts, size_t text_count, problem *why);

typedef enum gate_outcome {
    GATE_PASS,
    GATE_AMBIGUOUS,                              /* timed, and the interval does not decide */
    GATE_NO_VALUE,                               /* an empty cell, or no such row to compare with */
    GATE_FAIL
} gate_outcome;

typedef struct gate_verdict {
    const rule  *judged;
    const row   *of;
    gate_outcome outcome;
    char         value[48], limit[48];           /* texts to show; "-": there is none */
    char         note[160];                      /* why there is no verdict; "": there is one */
} gate_verdict;

typedef struct gate {                            /* zeroed: no rules */
    rule         *rules;
    size_t        rule_count;
    int           is_strict;                     /* AMBIGUOUS and NO_VALUE fail, too */
    int           is_partial;                    /* rows are missing: a rule may be about those alone */
    const char   *base_path;                     /* NULL: there is none */
    const row_list *base, *found;
    case_index    by_base, by_found;             /* of base and of found, searched by rows of found; while judging */
    row_list      read;                          /* the base, if base_path was read */
    gate_verdict *verdicts;
    size_t        verdict_count, counts[GATE_FAIL + 1];      /* counts: by outcome */
} gate;

/* --fail-if (@FILE: rules, one a line, # comments), --base, --strict. -1 and a problem: a rule, a file, a column that
   the command or the base has not, or nothing to judge by. gate_free in both cases. */
int  gate_parse(gate *self, const cli *asked, row_kind kind, problem *why);
/* gate_parse in two steps, for rows that are read from a file, whose columns are not known yet: the rules and the
   path of --base, then the file of --base. */
int  gate_parse_rules(gate *self, const cli *asked, problem *why);
int  gate_parse_base(gate *self, problem *why);
void gate_free(gate *self);
int  gate_names(const gate *self, const char *policy_name);  /* tells whether a rule compares with this policy */

/* Judges the rows, which must outlive the verdicts. path: they were read from this file; NULL: they were run. -1 and
   a problem: a rule is about none of the rows, and no rows are missing; or the rows or base lack the rule's column,
   or the policy that it compares with. */
int  gate_judge(gate *self, const row_list *list, const char *path, problem *why);
size_t gate_undecided(const gate *self);         /* AMBIGUOUS and NO_VALUE */
size_t gate_failed(const gate *self);            /* verdicts that fail the run */
int  gate_fails(const gate *self, const gate_verdict *verdict);
const char *gate_outcome_name(gate_outcome outcome);
void gate_write_sum(FILE *out, const gate *self);        /* the numbers of failed and of undecided verdicts */
/* Prints a line for each verdict: rule, row, value, limit, outcome. Prints nothing without rules. */
void gate_write(FILE *out, const gate *self);
void gate_tell(FILE *out, const gate *self);     /* prints a line for each verdict that does not pass: -q */

#endif
