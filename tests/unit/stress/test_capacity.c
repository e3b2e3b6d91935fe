/* The bisection of `stress capacity`, on made-up answers: monotone ones, ones with gaps, and ones that cannot be.
   It must not run any workload: capacity.t does. */
#include "stress/base/search.h"
#include "stress/base/splitmix64.h"
#include "tap.h"

enum { SIZES = 4096 };

typedef struct rehearsal {                       /* by number of granules */
    unsigned char suffices[SIZES], tried[SIZES];
    uint64_t      last_failed_bytes, odd_bytes;  /* odd: tried, and no whole granules, or out of bounds */
    uint64_t      broken_at;                     /* this try answers -1; 0: none does */
    int           count;
} rehearsal;

static int rehearsal_try(void *user, uint64_t bytes)
{
    rehearsal *self = user;
    uint64_t granules = bytes / CAPACITY_GRANULE;
    if (bytes % CAPACITY_GRANULE || !granules || granules >= SIZES) {
        self->odd_bytes = bytes;
        return -1;
    }
    if ((uint64_t)++self->count == self->broken_at) return -1;
    self->tried[granules] = 1;
    if (!self->suffices[granules]) self->last_failed_bytes = bytes;
    return self->suffices[granules];
}

static int search(rehearsal *self, uint64_t least, uint64_t likely, uint64_t most, capacity_found *found)
{
    const capacity_bounds bounds = { least * CAPACITY_GRANULE, likely * CAPACITY_GRANULE, most * CAPACITY_GRANULE };
    found->enough_bytes = found->below_bytes = 7;
    return capacity_search(&bounds, rehearsal_try, self, found);
}

static void suffice(rehearsal *self, uint64_t first, uint64_t end)
{
    for (uint64_t granules = first; granules < end; granules++) self->suffices[granules] = 1;
}

static void test_monotone(void)
{
    int wrong = 0, most = 0;
    for (uint64_t first = 100; first <= 1124; first++) {
        rehearsal plain;
        capacity_found found;
        memset(&plain, 0, sizeof plain);
        suffice(&plain, first, SIZES);
        wrong += search(&plain, 100, 1124, 2000, &found) != 1 || found.enough_bytes != first * CAPACITY_GRANULE
              || found.below_bytes != (first - 1) * CAPACITY_GRANULE || plain.odd_bytes;
        if (plain.count > most) most = plain.count;
    }
    CHECK_MSG(!wrong, "the one limit from which on all suffice is found, wherever it is");
    CHECK_MSG(most <= 13, "1,024 steps in at most 2 + 11 tries (%d)", most);
}

/* What holds whatever the answers are: both ends were tried, one sufficed, the other did not. */
static int holds(const rehearsal *self, const capacity_found *found)
{
    uint64_t enough = found->enough_bytes / CAPACITY_GRANULE, below = found->below_bytes / CAPACITY_GRANULE;
    return enough == below + 1 && self->suffices[enough] && self->tried[enough] && !self->suffices[below]
        && (!below || (self->tried[below] && self->last_failed_bytes == found->below_bytes)) && !self->odd_bytes;
}

static void test_gaps(void)
{
    uint64_t state = 1;
    int wrong = 0, gapped = 0;
    for (int round = 0; round < 2000; round++) {
        rehearsal plain;
        capacity_found found;
        memset(&plain, 0, sizeof plain);
        uint64_t least = 1 + splitmix64_next(&state) % 300, likely = least + splitmix64_next(&state) % 300;
        for (uint64_t at = least; at < likely; at++) plain.suffices[at] = splitmix64_next(&state) % 4 == 0;
        suffice(&plain, likely, SIZES);
        wrong += search(&plain, least, likely, SIZES - 1, &found) != 1 || !holds(&plain, &found);
        for (uint64_t at = least; at * CAPACITY_GRANULE < found.below_bytes; at++) gapped += plain.suffices[at];
    }
    CHECK_MSG(!wrong, "where what suffices has gaps, a neighbour that does not suffice lies right below the answer");
    CHECK_MSG(gapped > 0, "and there were gaps, so that the answer was not always the lowest");
}

static void test_upper(void)
{
    rehearsal plain;
    capacity_found found;
    memset(&plain, 0, sizeof plain);
    suffice(&plain, 900, SIZES);
    CHECK_MSG(search(&plain, 100, 200, 2000, &found) == 1 && holds(&plain, &found)
              && found.enough_bytes == 900 * CAPACITY_GRANULE, "more is tried where the likely does not suffice");
    memset(&plain, 0, sizeof plain);
    CHECK_INT(search(&plain, 100, 100, 2000, &found), ==, 0);
    CHECK_MSG(plain.tried[2000] && !plain.odd_bytes, "the most was tried, and nothing above it");
    memset(&plain, 0, sizeof plain);
    suffice(&plain, 2000, SIZES);
    CHECK_MSG(search(&plain, 100, 101, 2000, &found) == 1 && found.enough_bytes == 2000 * CAPACITY_GRANULE,
              "the most itself");
}

static void test_ends(void)
{
    rehearsal plain;
    capacity_found found;
    memset(&plain, 0, sizeof plain);
    suffice(&plain, 1, SIZES);
    CHECK_INT(search(&plain, 1, 50, 50, &found), ==, 1);
    CHECK_MSG(found.enough_bytes == CAPACITY_GRANULE && !found.below_bytes && !plain.odd_bytes,
              "one granule: 0 is not tried");
    memset(&plain, 0, sizeof plain);
    suffice(&plain, 1, SIZES);
    CHECK_MSG(search(&plain, 20, 50, 50, &found) == -1 && plain.tried[19] && found.enough_bytes == 7,
              "less than the least suffices: the policy lies");
    for (uint64_t broken_at = 1; broken_at <= 4; broken_at++) {
        memset(&plain, 0, sizeof plain);
        suffice(&plain, 40, SIZES);
        plain.broken_at = broken_at;
        CHECK_MSG(search(&plain, 20, 50, 50, &found) == -1 && plain.count == (int)broken_at
                  && found.enough_bytes == 7, "try %d cannot be made: no other is", (int)broken_at);
    }
}

int main(void)
{
    test_monotone();
    test_gaps();
    test_upper();
    test_ends();
    return tap_done();
}
