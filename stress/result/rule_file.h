/* The rules of all --fail-if: one each, or @FILE with one a line; # first or behind a space begins a comment.
   Knows nothing of what a rule says. Tested by tests/gate.t. */
#ifndef STRESS_RESULT_RULE_FILE_H
#define STRESS_RESULT_RULE_FILE_H

#include "rule.h"

/* -1 and a problem, which names file and line. The rules made so far are the caller's in both cases. */
int rule_file_all(rule **rules, size_t *count, char *const *texts, size_t text_count, problem *why);

#endif
