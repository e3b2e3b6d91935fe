/* A CUDA device's record as a line for people, and as JSON.
   Knows nothing of how it was asked for. Tested by tests/test_report.c. */
#ifndef STRESS_REPORT_ENVIRONMENT_H
#define STRESS_REPORT_ENVIRONMENT_H

#include <stdio.h>

#include "../device/cuda_environment.h"

/* Name, memory, versions, others. Returns text. */
const char *environment_line(const cuda_environment *self, char *text, size_t size);
/* One object; what is not known is null. */
void environment_json(FILE *out, const cuda_environment *self);

#endif
