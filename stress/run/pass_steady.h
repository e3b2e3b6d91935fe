/* Where the first repetition of a pass begins: what comes before it is the warm-up, what follows is steady.
   Knows nothing of pools or results. Tested by tests/test_pass_steady.c. */
#ifndef STRESS_RUN_PASS_STEADY_H
#define STRESS_RUN_PASS_STEADY_H

#include <stddef.h>
#include <stdint.h>

enum { PASS_STEADY_KINDS = 32 };                 /* labels that are told apart: of more no repetition is seen */

/* Labels are alike when they differ in the number at their end alone: step0, step1. The first label that is like an
   earlier one begins the first repetition, and each that is like it begins another. Where no label of a workload
   comes again its rounds are the repetitions (pass_settings.times). */
typedef struct pass_steady {
    const char *kinds[PASS_STEADY_KINDS];
    size_t      kind_count;
    const char *repeated;                        /* the kind that comes again; NULL: none does, or rounds do */
    uint64_t    steps;                           /* repetitions begun */
} pass_steady;

/* 1: the first repetition begins. Labels must outlive self. */
int pass_steady_label(pass_steady *self, const char *label);
int pass_steady_round(pass_steady *self);        /* another round begins */

#endif
