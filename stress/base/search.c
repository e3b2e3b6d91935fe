#include "search.h"

/* ---- Halving the distance, upwards or downwards */

int bisect_between(uint64_t *good, uint64_t *bad, uint64_t step, bisect_try *tried, void *user)
{
    for (;;) {
        uint64_t low = *good < *bad ? *good : *bad, high = *good < *bad ? *bad : *good;
        if (high - low <= step) return 1;
        uint64_t middle = low + (high - low) / step / 2 * step;
        int answer = tried(user, middle);
        if (answer < 0) return -1;
        *(answer ? good : bad) = middle;
    }
}

/* ---- Steps that double */

int search_gallop(uint64_t *known, int answer, uint64_t end, int is_end_known, uint64_t step, bisect_try *tried,
                  void *user, uint64_t *other)
{
    for (;; step = step > UINT64_MAX / 2 ? UINT64_MAX : step * 2) {
        uint64_t left = *known < end ? end - *known : *known - end, by = step < left ? step : left;
        if (!left || (is_end_known && step >= left)) return 0;
        uint64_t number = *known < end ? *known + by : *known - by;
        int found = tried(user, number);
        if (found < 0) return -1;
        if (found != answer) {
            *other = number;
            return 1;
        }
        *known = number;
    }
}

/* ---- Bisection that keeps two tries: one that sufficed, and a smaller one that did not */

int capacity_search(const search_bounds *bounds, bisect_try *tried, void *user, search_found *found)
{
    uint64_t below_bytes = bounds->least - CAPACITY_GRANULE, enough_bytes = bounds->likely;
    int answer = tried(user, enough_bytes);
    if (!answer) {                               /* a policy under a limit may need more: the distance doubles */
        uint64_t known = enough_bytes;
        answer = search_gallop(&known, 0, bounds->most, 0, enough_bytes - below_bytes, tried, user,
                               &enough_bytes);
    }
    if (answer <= 0) return answer;
    if (below_bytes && tried(user, below_bytes)) return -1;
    if (bisect_between(&enough_bytes, &below_bytes, CAPACITY_GRANULE, tried, user) < 0) return -1;
    found->good = enough_bytes;
    found->bad = below_bytes;
    return 1;
}

/* ---- Up while it survives, else down, by bisection in between */

/* Tries up to BATCH_LOOK numbers above *good + 1, which failed, and below the end, from the top. 1: one survived, and
   is *good; 0: none did; -1: a try's answer. */
static int batch_look(bisect_try *tried, void *user, uint64_t end, uint64_t *good)
{
    uint64_t top = end - *good > BATCH_LOOK + 1 ? *good + BATCH_LOOK + 1 : end - 1;
    for (uint64_t number = top; number > *good + 1; number--) {
        int answer = tried(user, number);
        if (answer) *good = number;
        if (answer) return answer;
    }
    return 0;
}

int batch_search(const search_bounds *bounds, bisect_try *tried, void *user, search_found *found)
{
    uint64_t good = bounds->likely, bad = 0;
    int answer = tried(user, good);
    if (!answer) {
        bad = good;
        good = bounds->least;
        if (bad > good) answer = tried(user, good);
        if (!answer && !good && bounds->most && bad != 1) answer = tried(user, good = 1);
    }
    if (answer <= 0) return answer;
    answer = bad > good ? search_gallop(&bad, 0, good, 1, 1, tried, user, &good)     /* down: it may be close */
                        : search_gallop(&good, 1, bounds->most, 0, 1, tried, user, &bad);
    for (uint64_t end = bad > bounds->likely ? bad : bounds->likely; answer >= 0; end = bad > end ? bad : end) {
        found->good = good;
        found->bad = 0;
        if (bad <= good) return 1;
        if (bisect_between(&good, &bad, 1, tried, user) < 0) return -1;
        found->good = good;
        found->bad = bad;
        answer = batch_look(tried, user, end, &good);
        if (answer <= 0) return answer ? -1 : 1;
        answer = search_gallop(&good, 1, bounds->most, 0, 1, tried, user, &bad);
    }
    return -1;
}

/* ---- Chunks of the kept units, from halves to single units */

/* Tries to leave out each chunk of kept units in turn. 1: a chunk could be left out; 0: none; -1: a try's answer. */
static int shrink_round(unsigned char *keep, size_t count, size_t chunk, unsigned char *rest, shrink_try *tried,
                        void *user)
{
    int removed = 0;
    for (size_t at = 0; at < count;) {
        size_t taken = 0, needed = count;
        memcpy(rest, keep, count);
        for (; at < count && taken < chunk; at++) {
            taken += keep[at];
            rest[at] = 0;
        }
        int answer = taken ? tried(user, rest, &needed) : 0;
        if (answer < 0) return -1;
        if (!answer) continue;
        memcpy(keep, rest, count);
        memset(keep + needed, 0, count - needed);
        removed = 1;
    }
    return removed;
}

int shrink_search(unsigned char *keep, size_t count, shrink_try *tried, void *user)
{
    unsigned char *rest = program_need(count, 1);
    size_t kept = 0;
    int answer = 1;
    for (size_t unit = 0; unit < count; unit++) kept += keep[unit];
    for (size_t chunk = kept / 2; answer >= 0; chunk /= 2) {
        if (!chunk) chunk = 1;
        answer = shrink_round(keep, count, chunk, rest, tried, user);
        if (chunk == 1 && !answer) break;
    }
    free(rest);
    return answer < 0 ? -1 : 0;
}
