/* The searches of `stress capacity`, `batch` and `shrink`, on made-up answers: monotone ones, ones with gaps, and
   ones that cannot be. It must not run any workload: cases/search.case does. */
#include "stress/base/search.h"
#include "stress/base/sets.h"
#include "tap.h"

enum { NUMBERS = 4096, UNITS = 300 };

/* Answers by number: of a batch, or of granules of memory. */
typedef struct rehearsal {
    unsigned char yes[NUMBERS], tried[NUMBERS];
    uint64_t      lowest, highest, last, last_no;            /* last: tried */
    int           odd, count, broken_at;         /* odd: a number out of bounds; broken_at: this try answers -1 */
} rehearsal;

static rehearsal *with(uint64_t first, uint64_t end)
{
    static rehearsal made;
    memset(&made, 0, sizeof made);
    for (uint64_t number = first; number < end; number++) made.yes[number] = 1;
    return &made;
}

static int try_number(void *user, uint64_t number)
{
    rehearsal *self = user;
    if (number < self->lowest || number > self->highest) self->odd = 1;
    if (self->odd || ++self->count == self->broken_at) return -1;
    self->tried[number] = 1;
    self->last = number;
    if (!self->yes[number]) self->last_no = number;
    return self->yes[number];
}

/* ---- batch: the largest number that survives */
static int batch(rehearsal *self, uint64_t lowest, uint64_t likely, uint64_t highest, search_found *found)
{
    const search_bounds bounds = { lowest, likely, highest };
    self->lowest = lowest;
    self->highest = highest;
    found->good = found->bad = 7777;
    return batch_search(&bounds, try_number, self, found);
}

/* The conditions that hold for any answers. */
static int batch_holds(const rehearsal *self, const search_found *found)
{
    uint64_t next = found->good + 1;
    if (!self->yes[found->good] || !self->tried[found->good]) return 0;
    if (!found->bad) return found->good == self->highest;
    return found->bad == next && !self->yes[next] && self->tried[next];
}

static void test_batch(void)
{
    int wrong = 0, most = 0;
    search_found found;
    for (uint64_t largest = 1; largest <= 1000; largest += 3) {
        for (uint64_t likely = 1; likely <= 1000; likely += 37) {
            rehearsal *plain = with(1, largest + 1);
            wrong += batch(plain, 1, likely, 2000, &found) != 1 || found.good != largest
                  || found.bad != largest + 1 || plain->odd;
            if (plain->count > most) most = plain->count;
        }
    }
    CHECK_MSG(!wrong, "where all up to one survive, that one is found, from wherever the search begins");
    CHECK_MSG(most <= 2 + 20 + BATCH_LOOK, "in few tries (%d)", most);
    rehearsal *plain = with(1, 30);
    CHECK_MSG(batch(plain, 1, 29, 2000, &found) == 1 && found.good == 29 && plain->count == 2,
              "what is likely is tried, and one more");
    plain = with(0, NUMBERS);
    CHECK_MSG(batch(plain, 3, 5, 2000, &found) == 1 && found.good == 2000 && !found.bad, "all survive");
    plain = with(0, 0);
    CHECK_MSG(!batch(plain, 3, 900, 2000, &found) && plain->last == 3 && plain->count == 2 && found.good == 7777,
              "none does: the lowest was tried last");
    plain = with(0, 0);
    CHECK_MSG(!batch(plain, 3, 3, 3, &found) && plain->count == 1, "one number alone is tried once");
    for (uint64_t likely = 0; likely < 40; likely++) {
        plain = with(0, 1);
        wrong += batch(plain, 0, likely, 2000, &found) != 1 || found.good || found.bad != 1;
        plain = with(1, 30);
        wrong += batch(plain, 0, likely, 2000, &found) != 1 || found.good != 29 || found.bad != 30;
        plain = with(0, 0);
        wrong += batch(plain, 0, likely, 2000, &found) || !plain->tried[0] || !plain->tried[1] || plain->odd;
    }
    for (int at = 1; at <= 12; at++) {
        plain = with(1, 500);
        plain->broken_at = at;
        wrong += batch(plain, 1, 900, 2000, &found) != -1 || plain->count != at;
    }
    CHECK_MSG(!wrong, "0 is a number as any other; and an answer of -1 ends the search, at once");
}

static void test_batch_gaps(void)
{
    uint64_t state = 1;
    int wrong = 0, seen = 0, beyond = 0;
    for (int round = 0; round < 3000; round++) {
        rehearsal *plain = with(0, 0);
        search_found found;
        uint64_t lowest = 1 + splitmix64_next(&state) % 100, likely = lowest + splitmix64_next(&state) % 200;
        uint64_t dense = round % 2 ? 10 : 1;     /* of 15: where few survive the search has more to miss */
        for (uint64_t at = lowest; at < 1000; at++) plain->yes[at] = splitmix64_next(&state) % 15 < dense;
        plain->yes[lowest] = 1;
        wrong += batch(plain, lowest, likely, 1000, &found) != 1 || !batch_holds(plain, &found);
        if (found.bad > likely) continue;
        for (uint64_t at = found.bad + 1; at <= likely; at++) {
            *(at <= found.good + BATCH_LOOK ? &seen : &beyond) += plain->yes[at];
        }
    }
    CHECK_MSG(!wrong, "with gaps: the number found survived, and the one above it did not");
    CHECK_MSG(!seen && beyond, "none of those that are looked at above it would survive; further up they may");
}

/* ---- capacity: the smallest memory that suffices */
static int try_granules(void *user, uint64_t bytes)
{
    ((rehearsal *)user)->odd |= bytes % CAPACITY_GRANULE != 0;
    return try_number(user, bytes / CAPACITY_GRANULE);
}

static int capacity(rehearsal *self, uint64_t least, uint64_t likely, uint64_t most, search_found *found)
{
    const search_bounds bounds = { least * CAPACITY_GRANULE, likely * CAPACITY_GRANULE, most * CAPACITY_GRANULE };
    self->lowest = least > 1 ? least - 1 : 1;
    self->highest = most;
    found->good = found->bad = 7;
    return capacity_search(&bounds, try_granules, self, found);
}

/* Conditions of a capacity: the upper end was tried and sufficed; the lower one, unless it is 0, was tried, did not
   suffice, and was the last try that failed. */
static int capacity_holds(const rehearsal *self, const search_found *found)
{
    uint64_t enough = found->good / CAPACITY_GRANULE, below = found->bad / CAPACITY_GRANULE;
    return enough == below + 1 && self->yes[enough] && self->tried[enough] && !self->yes[below]
        && (!below || (self->tried[below] && self->last_no == below)) && !self->odd;
}

static void test_capacity(void)
{
    int wrong = 0, most = 0;
    search_found found;
    for (uint64_t first = 100; first <= 1124; first++) {
        rehearsal *plain = with(first, NUMBERS);
        wrong += capacity(plain, 100, 1124, 2000, &found) != 1 || found.good != first * CAPACITY_GRANULE
              || found.bad != (first - 1) * CAPACITY_GRANULE || plain->odd;
        if (plain->count > most) most = plain->count;
    }
    CHECK_MSG(!wrong && most <= 13, "the one limit from which on all suffice is found, in few tries (%d)", most);
    rehearsal *plain = with(900, NUMBERS);
    CHECK_MSG(capacity(plain, 100, 200, 2000, &found) == 1 && capacity_holds(plain, &found)
              && found.good == 900 * CAPACITY_GRANULE, "more is tried where the likely does not suffice");
    plain = with(0, 0);
    CHECK_MSG(!capacity(plain, 100, 100, 2000, &found) && plain->tried[2000] && !plain->odd, "the most is tried");
    plain = with(2000, NUMBERS);
    CHECK(capacity(plain, 100, 101, 2000, &found) == 1 && found.good == 2000 * CAPACITY_GRANULE);
    plain = with(1, NUMBERS);
    CHECK_MSG(capacity(plain, 1, 50, 50, &found) == 1 && found.good == CAPACITY_GRANULE && !found.bad
              && !plain->odd, "one granule: 0 is not tried");
    plain = with(1, NUMBERS);
    CHECK_MSG(capacity(plain, 20, 50, 50, &found) == -1 && plain->tried[19] && found.good == 7,
              "less than the least suffices: the policy lies");
    for (int at = 1; at <= 4; at++) {
        plain = with(40, NUMBERS);
        plain->broken_at = at;
        CHECK(capacity(plain, 20, 50, 50, &found) == -1 && plain->count == at && found.good == 7);
    }
}

static void test_capacity_gaps(void)
{
    uint64_t state = 1;
    int wrong = 0, gapped = 0;
    for (int round = 0; round < 2000; round++) {
        uint64_t least = 1 + splitmix64_next(&state) % 300, likely = least + splitmix64_next(&state) % 300;
        rehearsal *plain = with(likely, NUMBERS);
        search_found found;
        for (uint64_t at = least; at < likely; at++) plain->yes[at] = splitmix64_next(&state) % 4 == 0;
        wrong += capacity(plain, least, likely, NUMBERS - 1, &found) != 1 || !capacity_holds(plain, &found);
        for (uint64_t at = least; at * CAPACITY_GRANULE < found.bad; at++) gapped += plain->yes[at];
    }
    CHECK_MSG(!wrong && gapped, "with gaps a neighbour that does not suffice lies right below the answer");
}

/* ---- shrink: units without which a condition does not hold */
typedef struct culprits {                        /* the condition holds where all of these are kept */
    unsigned char needed[UNITS];
    size_t        end;                           /* units behind the last of them are never needed */
    int           count, broken_at;
} culprits;

static int try_units(void *user, const unsigned char *keep, size_t *needed)
{
    culprits *self = user;
    if (++self->count == self->broken_at) return -1;
    for (size_t unit = 0; unit < UNITS; unit++) if (self->needed[unit] && !keep[unit]) return 0;
    *needed = self->end;
    return 1;
}

static culprits *plant(uint64_t *state, size_t count)
{
    static culprits made;
    memset(&made, 0, sizeof made);
    for (size_t planted = 0; planted < count;) {
        size_t unit = (size_t)(splitmix64_next(state) % UNITS);
        planted += !made.needed[unit];
        made.needed[unit] = 1;
        if (unit >= made.end) made.end = unit + 1;
    }
    return &made;
}

static void test_shrink(void)
{
    uint64_t state = 1;
    int wrong = 0, most = 0;
    unsigned char keep[UNITS];
    size_t needed;
    for (int round = 0; round < 260; round++) {
        culprits *planted = plant(&state, (size_t)round / 20);
        memset(keep, 1, sizeof keep);
        wrong += shrink_search(keep, UNITS, try_units, planted) != 0 || memcmp(keep, planted->needed, UNITS) != 0;
        if (planted->count > most) most = planted->count;
    }
    CHECK_MSG(!wrong, "of 300 units those that are needed are left, and no others");
    CHECK_MSG(most < 400, "in fewer tries than one by one takes, twice over (%d)", most);
    for (int at = 1; at <= 30; at++) {
        culprits *planted = plant(&state, 5);
        memset(keep, 1, sizeof keep);
        planted->broken_at = at;
        int answer = shrink_search(keep, UNITS, try_units, planted);
        planted->broken_at = 0;
        wrong += answer != -1 || try_units(planted, keep, &needed) != 1;
    }
    CHECK_MSG(!wrong, "where a try cannot be made it ends, with units of which it is true");
    culprits *none = plant(&state, 0);
    CHECK_MSG(shrink_search(keep, 0, try_units, none) == 0 && none->count == 0, "no units: nothing is tried");
}

int main(void)
{
    test_batch();
    test_batch_gaps();
    test_capacity();
    test_capacity_gaps();
    test_shrink();
    return tap_done();
}
