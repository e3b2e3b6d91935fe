/* What policies are called: files and rules have short names, people read those of the field. Both are understood.
   Knows no policy. */
#ifndef STRESS_POLICY_POLICY_NAME_H
#define STRESS_POLICY_POLICY_NAME_H

#include "../base/program.h"

/* The names for people, each of which another is the short one of; NULL past the last. */
const char *policy_name_at(size_t index);
/* NAME or NAME:keys with the short name, in place: cudaMalloc becomes raw. */
void        policy_name_shorten(char *text);
/* The other way round, for people. Returns made, which may be cut. */
const char *policy_name_shown(const char *text, char *made, size_t size);

#endif
