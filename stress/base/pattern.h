/* Patterns of --filter: compiled, if they are not larger than the library that compiles them bears.
   It must not know what they are held against. */
#ifndef STRESS_BASE_PATTERN_H
#define STRESS_BASE_PATTERN_H

#include <regex.h>

#include "problem.h"

/* Of extended syntax, for matches without places. At most PATTERN_MOST_PARTS characters and parts, where a repetition
   is as many parts as it may repeat, no back-references and no repetition of what may be empty: beyond that compiling
   or matching takes any memory or time.
   0; -1 with EXIT_USAGE, and then nothing is to be freed. */
enum { PATTERN_MOST_PARTS = 1000 };
int pattern_compile(regex_t *made, const char *text, problem *why);

#endif
