/* What `make bench` measures, as a table, and when a target is met.
   It must not measure anything. A new case is one row in cases.c. Tested by tests/test_bench.c. */
#ifndef STRESS_MEASURE_CASES_H
#define STRESS_MEASURE_CASES_H

#include <stddef.h>
#include <stdint.h>

typedef enum cases_way {
    CASES_WARM,                                  /* many pairs in one go */
    CASES_COLD,                                  /* each after the caches have seen something else */
    CASES_CROWD                                  /* on several threads */
} cases_way;

typedef enum cases_other {                       /* who is measured beside the arena, next to it in every round */
    CASES_CUB, CASES_MUTEX,
    CASES_SMALL,                                 /* the same with blocks of 1 KiB */
    CASES_ONE_THREAD                             /* the same arena, one of the threads: the ratio is of throughputs */
} cases_other;

typedef struct cases_row {
    const char *name;
    cases_way   way;
    uint32_t    live;                            /* blocks, of each thread */
    uint64_t    bytes;                           /* of a block; 0: log-uniform, 256 B to 1 MiB */
    uint32_t    threads, streams;
    cases_other other;
    const char *target;                          /* of the ratio: "<= N" or ">= N"; NULL: none */
    int         is_counted;                      /* its instructions are, too, and have a row of their own .. */
    const char *counted_name, *counted_target;   /* .. with a target in instructions */
} cases_row;

const cases_row *cases_at(size_t index);         /* NULL past the last */
const char      *cases_other_name(cases_other other);

/* "yes" and "no": wherever in the interval the truth is; "unclear" otherwise. */
const char *cases_met(const char *target, double low, double high);

#endif
