/* --fail-if: rules against the rows of a run, and of a run before it (--base); one verdict a rule and row.
   Knows nothing of how rows are made. */
#ifndef STRESS_RESULT_GATE_H
#define STRESS_RESULT_GATE_H

#include "../base/cli.h"
#include "../base/sets.h"
#include "../base/rounds.h"
#include "../base/text.h"
#include "row.h"

/* ---- Numbers with units */

/* "1.05", "512M", "20%", "1.5us": a number in the unit's own measure (bytes, ns, 1.0 for 100%). -1: it is none. */
int         metric_read(slice text, column_unit unit, long double *value);
/* As files have it, with up to four places more where a limit has them. Returns text. */
const char *metric_show(long double value, column_unit unit, char *text, size_t size);

/* ---- Where a value lies, from what was measured of it: exact ones from least to most, timed ones by the 95 %
        confidence interval of the median, which order statistics give whatever the distribution */

typedef struct interval {
    size_t      count;                           /* samples; 0: none, and nothing below counts */
    int         is_timed;                        /* measured: of an exact one low is the least, high the most */
    int         is_known;                        /* 0: too few samples of something timed to say where it lies */
    long double low, middle, high;               /* middle: the median */
} interval;

/* "1.5..2.5", or one value, where both ends are shown alike or nothing says where it lies. Returns text. */
const char *interval_show(const interval *self, column_unit unit, char *text, size_t size);

/* ---- Rows by what they are: the same case is equal in every key that both lists have */

typedef struct case_index {                      /* zeroed: of no list */
    const row_list *list;
    device_table cases;                          /* by the hash of all that makes a case: its first line, from 1 */
    size_t     *next;                            /* by line: the next one of its case; SIZE_MAX: there is none */
    char        is_key[COLUMN_COUNT];            /* 1: both lists have this key, and it is not the policy */
} case_index;

/* Of a list that is whole, for rows of a list like this one, which may be the same. */
void   case_index_make(case_index *self, const row_list *list, const row_list *like);
void   case_index_free(case_index *self);

/* The first line of the row's case, but that its policy is this one; SIZE_MAX: there is none. */
size_t case_find(const case_index *in, const row *like, const char *policy_name);
int    case_is_repeat(const case_index *in, size_t line);    /* of its own list: an earlier row is of the same case */

typedef struct case_rows { const case_index *in; size_t first; } case_rows;      /* of a case; first: as case_find */

/* Of the rows of one case: whether all have the same in a column, and all numbers there. A ratio beside a ratio_low
   and ratio_high is measured, and where there is one alone has that interval. */
int      case_agrees(const case_rows *of, row_column column);
interval case_samples(const case_rows *of, row_column column, int is_timed);

/* ---- Repeats: rows that are the same but for what was measured. Their times as a median with its interval, and
        their latencies as one histogram, bucket by bucket: percentiles are of that, and no average of percentiles */

typedef enum repeats_part {                      /* of a row: in nanoseconds, then, from WAITED on, in virtual ones */
    REPEATS_ALLOC, REPEATS_HIT, REPEATS_MISS, REPEATS_FREE, REPEATS_WAITED, REPEATS_SERVED, REPEATS_PARTS
} repeats_part;

void repeats_parts(const row *of, const histogram *parts[REPEATS_PARTS]);    /* of one row; NULL: it has none */

typedef struct repeats {                         /* which must not move */
    size_t    count;                             /* rows */
    interval  ns;                                /* host_ns_per_op of those that have it */
    const histogram *sums[REPEATS_PARTS];        /* NULL: no row has it */
    histogram room[REPEATS_PARTS];
} repeats;

/* Of the row and those that follow it of the same case; the index is of its own list. 1: it is the first of several;
   0: it is not, or it is alone. */
int repeats_of(repeats *made, const case_index *in, size_t row_index);

/* ---- A rule of --fail-if: `[WORKLOAD/POLICY:]METRIC OP VALUE`, read once */

typedef enum rule_operator {                     /* bits: true of less, of the same, of more */
    RULE_LESS = 1, RULE_IS = 2, RULE_AT_MOST = 3, RULE_MORE = 4, RULE_IS_NOT = 5, RULE_AT_LEAST = 6
} rule_operator;

typedef struct rule {
    char         *text;                          /* as written; owned, as are the others */
    char         *workload, *policy;             /* patterns with * and ?; NULL: all */
    char         *column;
    row_column    measure;                       /* that column */
    rule_operator compared;
    char         *reference;                     /* NULL: the value alone; "base"; else a policy */
    char          arithmetic;                    /* 0, or * / + - : what is done to the reference */
    long double   amount;                        /* the value, or what the reference is changed by */
    char         *word;                          /* UNIT_TEXT: the value */
} rule;

/* -1 and a problem, EXIT_USAGE, that names the rule and what was expected. rule_free in both cases. */
int  rule_parse(rule *self, const char *text, problem *why);
void rule_free(rule *self);

/* Whether the rule is about the row of these two. */
int  rule_matches(const rule *self, const char *workload, const char *policy_name);
/* The limit that a reference of this value makes. */
long double rule_limit(const rule *self, long double reference);
int  rule_holds(const rule *self, long double value, long double limit);
int  rule_refers_to_base(const rule *self);
/* The problem of a rule that no row matches; the names are of one that there is, workload "": it has none. -1. */
int  rule_about_none(const rule *self, const char *workload, const char *policy_name, problem *why);

/* ---- The rules of all --fail-if: one each, or @FILE with one a line */

/* -1 and a problem, which names file and line. The rules made so far are the caller's in both cases. */
int rule_file_all(rule **rules, size_t *count, char *const *texts, size_t text_count, problem *why);

typedef enum gate_outcome {
    GATE_PASS,
    GATE_AMBIGUOUS,                              /* timed, and the interval does not say */
    GATE_NO_VALUE,                               /* an empty cell, or no such row to compare with */
    GATE_FAIL
} gate_outcome;

typedef struct gate_verdict {
    const rule  *judged;
    const row   *of;
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
    const row_list *base, *found;
    case_index    by_base, by_found;             /* their rows, for those of found; while they are judged */
    row_list      read;                          /* the base, where base_path was read */
    gate_verdict *verdicts;
    size_t        verdict_count, counts[GATE_FAIL + 1];      /* counts: by outcome */
} gate;

/* --fail-if (@FILE: rules, one a line, # comments), --base, --strict. -1 and a problem: a rule, a file, a column that
   the command or the base has not, or nothing to judge by. gate_free in both cases. */
int  gate_parse(gate *self, const cli *asked, row_kind kind, problem *why);
/* The same where rows are read from a file, which has the columns that it has: the rules, then what --base is. */
int  gate_parse_rules(gate *self, const cli *asked, problem *why);
int  gate_parse_base(gate *self, problem *why);
void gate_free(gate *self);
int  gate_names(const gate *self, const char *policy_name);  /* whether a rule compares with this policy */

/* Judges the rows, which must outlive the verdicts. path: they were read from this file; NULL: they were run. -1 and
   a problem: a rule is about none of them, though all are there; or they, or base, lack its column, or the policy
   that it compares with. */
int  gate_judge(gate *self, const row_list *list, const char *path, problem *why);
size_t gate_undecided(const gate *self);         /* AMBIGUOUS and NO_VALUE */
size_t gate_failed(const gate *self);            /* verdicts that fail the run */
int  gate_fails(const gate *self, const gate_verdict *verdict);
const char *gate_outcome_name(gate_outcome outcome);
void gate_write_sum(FILE *out, const gate *self);        /* how many fail, and how many could not be given */
/* One line a verdict: rule, row, value, limit, outcome. Nothing without rules. */
void gate_write(FILE *out, const gate *self);
void gate_tell(FILE *out, const gate *self);     /* a line each, but for those that pass: -q */

#endif
