/* Specifications: `NAME:key=value,key=value` into a family's values. Does not make streams.
   It must not know of any one family.
   Tested by tests/test_workload_spec.c. */
#ifndef STRESS_WORKLOAD_SPEC_H
#define STRESS_WORKLOAD_SPEC_H

#include "family.h"

/* All return 0, or -1 with a problem that names the family, the key and what is allowed; EXIT_USAGE. */
int spec_parse(const family *of, slice arguments, family_request *request, problem *why);

/* A value from the command line, `flag` there, for the option `key`. A family without that option is not concerned;
   an option given on both sides is a problem. */
int spec_override(const family *of, const char *flag, const char *key, uint64_t value, family_request *request,
                  problem *why);

/* names(context, i): the known names in order, NULL past the last. The problem `WHAT "word"; did you mean ..,
   expected one of ..`. Returns -1. */
typedef const char *(*spec_names)(const void *context, size_t index);
int spec_unknown(const char *what, slice word, spec_names names, const void *context, problem *why);

#endif
