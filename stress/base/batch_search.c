/* Up while it survives, else down, by bisection in between; then a look at the numbers above the end, and far above.
   It must not know what is tried.
   Tested by tests/test_batch.c. */
#include "batch_search.h"

/* The likely number survived: the next one hardly will. Then the distance doubles. *bad 0: all survived. */
static int batch_up(const batch_bounds *bounds, bisect_try *tried, void *user, uint64_t *good, uint64_t *bad)
{
    for (uint64_t step = 1; *good < bounds->highest; step = step > UINT64_MAX / 2 ? UINT64_MAX : step * 2) {
        uint64_t number = step < bounds->highest - *good ? *good + step : bounds->highest;
        int answer = tried(user, number);
        if (answer < 0) return -1;
        if (!answer) {
            *bad = number;
            return 1;
        }
        *good = number;
    }
    return 1;
}

/* The likely number failed and the lowest did not: from the former downwards, as it may be close. */
static int batch_down(bisect_try *tried, void *user, uint64_t *good, uint64_t *bad)
{
    for (uint64_t step = 1; *bad - *good > step; step *= 2) {
        int answer = tried(user, *bad - step);
        if (answer < 0) return -1;
        if (answer) {
            *good = *bad - step;
            return 1;
        }
        *bad -= step;
    }
    return 1;
}

/* Above *good + 1, which failed, and below `failed`. 1: one survived and is *good, 0: none did. */
static int batch_look(bisect_try *tried, void *user, uint64_t failed, uint64_t *good)
{
    uint64_t end = failed - *good > BATCH_LOOK + 1 ? *good + BATCH_LOOK + 2 : failed;
    for (uint64_t number = end - 1; number > *good + 1; number--) {
        int answer = tried(user, number);
        if (answer) *good = number;
        if (answer) return answer;
    }
    return 0;
}

/* From two numbers to two neighbours, and then from wherever a look above them, below what failed first, finds
   another that survives. */
static int batch_close(const batch_bounds *bounds, bisect_try *tried, void *user, uint64_t good, uint64_t bad,
                       batch_found *found)
{
    uint64_t failed = bad > bounds->likely ? bad : bounds->likely;
    int answer = 1;
    while (bad && answer > 0) {
        if (bisect_between(&good, &bad, 1, tried, user) < 0) return -1;
        found->largest = good;
        found->next = bad;
        answer = batch_look(tried, user, failed, &good);
        if (answer <= 0) break;
        bad = 0;
        answer = batch_up(bounds, tried, user, &good, &bad);
        if (bad > failed) failed = bad;
    }
    if (answer < 0) return -1;
    if (!bad) {
        found->largest = good;
        found->next = 0;
    }
    return 1;
}

/* *good failed, and is the likely number. 1: *good is the lowest, or 1 where that is 0, and survived. */
static int batch_lowest(const batch_bounds *bounds, bisect_try *tried, void *user, uint64_t *good)
{
    uint64_t likely = *good;
    *good = bounds->lowest;
    int answer = likely > *good ? tried(user, *good) : 0;
    if (answer || *good || bounds->highest < 1 || likely == 1) return answer;
    *good = 1;
    return tried(user, 1);
}

int batch_search(const batch_bounds *bounds, bisect_try *tried, void *user, batch_found *found)
{
    uint64_t good = bounds->likely, bad = 0;
    int answer = tried(user, good);
    if (answer > 0) {
        answer = batch_up(bounds, tried, user, &good, &bad);
    } else if (!answer) {
        bad = good;
        answer = batch_lowest(bounds, tried, user, &good);
        if (answer > 0 && bad > good) answer = batch_down(tried, user, &good, &bad);
        else if (answer > 0) answer = batch_up(bounds, tried, user, &good, &bad);
    }
    return answer > 0 ? batch_close(bounds, tried, user, good, bad, found) : answer;
}

/* 1: *number, above the largest and up to twice that, survives. */
static int batch_far(const batch_bounds *bounds, bisect_try *tried, void *user, uint64_t largest, uint64_t *number)
{
    uint64_t room = bounds->highest - largest, span = largest < room ? largest : room;
    uint64_t parts = span < BATCH_FAR ? span : BATCH_FAR;
    for (uint64_t part = parts; part > 0; part--) {
        *number = largest + span / parts * part;
        int answer = tried(user, *number);
        if (answer) return answer;
    }
    return 0;
}

int batch_search_far(const batch_bounds *bounds, bisect_try *tried, void *user, batch_found *found)
{
    batch_bounds from = *bounds;
    int answer = batch_search(&from, tried, user, found);
    while (answer > 0 && found->next) {
        int is_beyond = batch_far(bounds, tried, user, found->largest, &from.likely);
        if (is_beyond <= 0) return is_beyond < 0 ? -1 : 1;
        answer = batch_search(&from, tried, user, found);
    }
    return answer;
}
