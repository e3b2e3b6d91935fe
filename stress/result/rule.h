/* A rule of --fail-if: `[WORKLOAD/POLICY:]METRIC OP VALUE`, read once; where it is true the run has failed.
   VALUE: a number with a unit, a word, or REF, REF*N, REF/N, REF+N, REF-N: REF is `base`, or a policy of that run.
   Knows nothing of rows. Tested by tests/test_gate.c. */
#ifndef STRESS_RESULT_RULE_H
#define STRESS_RESULT_RULE_H

#include "../base/problem.h"
#include "metric.h"

typedef enum rule_operator { RULE_LESS, RULE_AT_MOST, RULE_MORE, RULE_AT_LEAST, RULE_IS, RULE_IS_NOT } rule_operator;

typedef struct rule {
    char         *text;                          /* as written; owned, as are the others */
    char         *workload, *policy;             /* patterns with * and ?; NULL: all */
    char         *column;
    const metric *measure;
    rule_operator compared;
    char         *reference;                     /* NULL: the value alone; "base"; else a policy */
    char          arithmetic;                    /* 0, or * / + - : what is done to the reference */
    long double   amount;                        /* the value, or what the reference is changed by */
    char         *word;                          /* METRIC_TEXT: the value */
} rule;

/* -1 and a problem, EXIT_USAGE, that names the rule and what was expected. rule_free in both cases. */
int  rule_parse(rule *self, const char *text, problem *why);
void rule_free(rule *self);

/* Whether the rule is about the row of these two. */
int  rule_matches(const rule *self, const char *workload, const char *policy);
/* The limit that a reference of this value makes. */
long double rule_limit(const rule *self, long double reference);
int  rule_holds(const rule *self, long double value, long double limit);
int  rule_refers_to_base(const rule *self);
/* The problem of a rule that no row matches; the names are of one that there is, workload "": it has none. -1. */
int  rule_about_none(const rule *self, const char *workload, const char *policy, problem *why);
int  rule_pattern_fits(const char *pattern, const char *text);

#endif
