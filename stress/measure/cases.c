/* The table.
   It must not measure anything.
   Tested by tests/test_bench.c. */
#include "cases.h"

#include <stdlib.h>

#define CASES_GIB ((uint64_t)1 << 30)

static const cases_row cases_rows[] = {
    { "random 16", CASES_WARM, 16, 0, 1, 1, CASES_CUB, "<= 0.25", 0, NULL, NULL },
    { "random 1000", CASES_WARM, 1000, 0, 1, 1, CASES_CUB, "<= 0.1667", 1, "random 1000 instructions", "<= 470" },
    { "random 20000", CASES_WARM, 20000, 0, 1, 1, CASES_CUB, "<= 0.125", 0, NULL, NULL },
    { "cold 16", CASES_COLD, 16, 0, 1, 1, CASES_CUB, "<= 0.25", 0, NULL, NULL },
    { "cold 1000", CASES_COLD, 1000, 0, 1, 1, CASES_CUB, "<= 0.25", 0, NULL, NULL },
    { "cold 20000", CASES_COLD, 20000, 0, 1, 1, CASES_CUB, "<= 0.25", 0, NULL, NULL },
    { "4 KiB", CASES_WARM, 1000, 4096, 1, 1, CASES_MUTEX, "<= 1.4", 1, "4 KiB instructions", NULL },
    { "1 GiB", CASES_WARM, 16, CASES_GIB, 1, 1, CASES_SMALL, NULL, 0, NULL, NULL },
    { "2 threads 2 streams", CASES_CROWD, 1000, 0, 2, 2, CASES_ONE_THREAD, ">= 1.6", 0, NULL, NULL },
    { "4 threads 1 stream", CASES_CROWD, 1000, 0, 4, 1, CASES_ONE_THREAD, ">= 0.8", 0, NULL, NULL },
};

const cases_row *cases_at(size_t index)
{
    return index < sizeof cases_rows / sizeof cases_rows[0] ? &cases_rows[index] : NULL;
}

const char *cases_other_name(cases_other other)
{
    static const char *const names[] = { "cub-library", "two mutex pairs", "1 KiB", "one thread" };
    return names[other];
}

const char *cases_met(const char *target, double low, double high)
{
    double bound = strtod(target + 3, NULL);
    if (target[0] == '<') return high <= bound ? "yes" : low > bound ? "no" : "unclear";
    return low >= bound ? "yes" : high < bound ? "no" : "unclear";
}
