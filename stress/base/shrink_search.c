/* Chunks of what is left, from halves to single units.
   It must not know what a unit is.
   Tested by tests/test_shrink.c. */
#include "shrink_search.h"

#include <stdlib.h>
#include <string.h>

static size_t shrink_kept(const unsigned char *keep, size_t count)
{
    size_t kept = 0;
    for (size_t unit = 0; unit < count; unit++) kept += keep[unit];
    return kept;
}

/* Copies all but the next `chunk` units that are kept from *at on, behind which it moves. 0: there are none. */
static int shrink_without(const unsigned char *keep, size_t count, size_t chunk, size_t *at, unsigned char *rest)
{
    size_t taken = 0;
    memcpy(rest, keep, count);
    for (; *at < count && taken < chunk; ++*at) {
        taken += keep[*at];
        rest[*at] = 0;
    }
    return taken != 0;
}

/* One round. 1: something could be left out; 0: nothing; -1: a try's answer. */
static int shrink_round(unsigned char *keep, size_t count, size_t chunk, unsigned char *rest, shrink_try *tried,
                        void *user)
{
    int removed = 0;
    for (size_t at = 0; shrink_without(keep, count, chunk, &at, rest);) {
        size_t needed = count;
        int answer = tried(user, rest, &needed);
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
    unsigned char *rest = malloc(count + 1);
    size_t chunk = shrink_kept(keep, count) / 2;
    int answer = rest ? 1 : -1;
    while (answer >= 0) {
        if (!chunk) chunk = 1;
        answer = shrink_round(keep, count, chunk, rest, tried, user);
        if (chunk == 1 && answer <= 0) break;
        chunk /= 2;
    }
    free(rest);
    return answer < 0 ? -1 : 0;
}
