/* The search of `stress batch`, on made-up answers: monotone ones, ones with gaps, and ones that cannot be.
   It must not run any workload: batch.t does. */
#include "stress/base/search.h"
#include "stress/base/splitmix64.h"
#include "tap.h"

enum { NUMBERS = 2048 };

typedef struct rehearsal {
    unsigned char survives[NUMBERS], tried[NUMBERS];
    uint64_t      lowest, highest, last;         /* last: tried */
    int           odd, count, broken_at;         /* odd: a number out of bounds; broken_at: this try answers -1 */
} rehearsal;

static int rehearsal_try(void *user, uint64_t number)
{
    rehearsal *self = user;
    if (number < self->lowest || number > self->highest) self->odd = 1;
    if (self->odd || ++self->count == self->broken_at) return -1;
    self->tried[number] = 1;
    self->last = number;
    return self->survives[number];
}

static int search(rehearsal *self, uint64_t lowest, uint64_t likely, uint64_t highest, batch_found *found)
{
    const batch_bounds bounds = { lowest, likely, highest };
    self->lowest = lowest;
    self->highest = highest;
    found->largest = found->next = 7777;
    return batch_search(&bounds, rehearsal_try, self, found);
}

static void survive(rehearsal *self, uint64_t first, uint64_t end)
{
    for (uint64_t number = first; number < end; number++) self->survives[number] = 1;
}

static void test_monotone(void)
{
    int wrong = 0, most = 0;
    for (uint64_t largest = 1; largest <= 1000; largest++) {
        for (uint64_t likely = 1; likely <= 1000; likely += 37) {
            rehearsal plain;
            batch_found found;
            memset(&plain, 0, sizeof plain);
            survive(&plain, 1, largest + 1);
            wrong += search(&plain, 1, likely, 2000, &found) != 1 || found.largest != largest
                  || found.next != largest + 1 || plain.odd;
            if (plain.count > most) most = plain.count;
        }
    }
    CHECK_MSG(!wrong, "where all up to one survive, that one is found, from wherever the search begins");
    CHECK_MSG(most <= 2 + 20 + BATCH_LOOK, "in few tries (%d)", most);
}

static void test_likely(void)
{
    rehearsal plain;
    batch_found found;
    memset(&plain, 0, sizeof plain);
    survive(&plain, 1, 30);
    CHECK_INT(search(&plain, 1, 29, 2000, &found), ==, 1);
    CHECK_MSG(found.largest == 29 && found.next == 30 && plain.count == 2, "what is likely is tried, and one more");
    memset(&plain, 0, sizeof plain);
    survive(&plain, 0, NUMBERS);
    CHECK_INT(search(&plain, 3, 5, 2000, &found), ==, 1);
    CHECK_MSG(found.largest == 2000 && found.next == 0, "all survive: the highest, and nothing is above it");
    memset(&plain, 0, sizeof plain);
    CHECK_INT(search(&plain, 3, 900, 2000, &found), ==, 0);
    CHECK_MSG(plain.last == 3 && plain.count == 2 && found.largest == 7777,
              "none survives: the lowest was tried last");
    memset(&plain, 0, sizeof plain);
    CHECK_INT(search(&plain, 3, 3, 3, &found), ==, 0);
    CHECK_MSG(plain.count == 1, "one number alone is tried once");
}

/* What holds whatever the answers are. */
static int holds(const rehearsal *self, const batch_found *found)
{
    uint64_t next = found->largest + 1;
    if (!self->survives[found->largest] || !self->tried[found->largest]) return 0;
    if (!found->next) return found->largest == self->highest;
    return found->next == next && !self->survives[next] && self->tried[next];
}

static void test_gaps(void)
{
    uint64_t state = 1;
    int wrong = 0, seen = 0, beyond = 0;
    for (int round = 0; round < 3000; round++) {
        rehearsal plain;
        batch_found found;
        memset(&plain, 0, sizeof plain);
        uint64_t lowest = 1 + splitmix64_next(&state) % 100, likely = lowest + splitmix64_next(&state) % 200;
        uint64_t dense = round % 2 ? 10 : 1;     /* of 15: where few survive the search has more to miss */
        for (uint64_t at = lowest; at < 1000; at++) plain.survives[at] = splitmix64_next(&state) % 15 < dense;
        plain.survives[lowest] = 1;
        wrong += search(&plain, lowest, likely, 1000, &found) != 1 || !holds(&plain, &found);
        if (found.next > likely) continue;
        for (uint64_t at = found.next + 1; at <= likely && at <= found.largest + BATCH_LOOK; at++) {
            seen += plain.survives[at];
        }
        for (uint64_t at = found.next + 1; at <= likely; at++) beyond += plain.survives[at];
    }
    CHECK_MSG(!wrong, "with gaps: the number found survived, and the one above it did not");
    CHECK_MSG(!seen && beyond, "none of those that are looked at above it would survive; further up they may");
}

static int search_far(rehearsal *self, uint64_t likely, batch_found *found)
{
    const batch_bounds bounds = { 1, likely, 2000 };
    self->lowest = 1;
    self->highest = 2000;
    return batch_search_far(&bounds, rehearsal_try, self, found);
}

static void test_far(void)
{
    rehearsal plain;
    batch_found found;
    memset(&plain, 0, sizeof plain);
    survive(&plain, 1, 101);
    survive(&plain, 141, 152);                   /* 100 / 16 is 6: one of these is asked */
    survive(&plain, 290, 311);
    CHECK_MSG(search_far(&plain, 90, &found) == 1 && found.largest == 310 && found.next == 311 && !plain.odd,
              "from 100 what survives at half as much again is seen, and from there what does at twice that");
    CHECK_MSG(holds(&plain, &found), "and how it ends was tried");
    memset(&plain, 0, sizeof plain);
    survive(&plain, 1, 31);
    CHECK_MSG(search_far(&plain, 30, &found) == 1 && found.largest == 30 && plain.count <= 2 + BATCH_FAR,
              "where nothing is further up it is a few tries more (%d)", plain.count);
    memset(&plain, 0, sizeof plain);
    survive(&plain, 1, NUMBERS);
    CHECK_MSG(search_far(&plain, 1500, &found) == 1 && found.largest == 2000 && !found.next && !plain.odd,
              "nor is there anything above the highest");
    memset(&plain, 0, sizeof plain);
    survive(&plain, 1, 1991);
    CHECK_MSG(search_far(&plain, 1500, &found) == 1 && found.largest == 1990 && !plain.odd, "nor beyond it");
    for (int at = 1; at <= 18; at++) {
        memset(&plain, 0, sizeof plain);
        survive(&plain, 1, 31);
        plain.broken_at = at;
        CHECK_MSG(search_far(&plain, 30, &found) == -1 && plain.count == at, "an answer of -1 ends it (%d)", at);
    }
}

static void test_zero(void)
{
    rehearsal plain;
    batch_found found;
    for (uint64_t likely = 0; likely < 40; likely++) {
        memset(&plain, 0, sizeof plain);
        survive(&plain, 0, 1);
        CHECK_MSG(search(&plain, 0, likely, 2000, &found) == 1 && !found.largest && found.next == 1,
                  "0 alone survives, from %d", (int)likely);
        memset(&plain, 0, sizeof plain);
        survive(&plain, 1, 30);
        CHECK_MSG(search(&plain, 0, likely, 2000, &found) == 1 && found.largest == 29 && found.next == 30,
                  "all but 0 do, up to 29, from %d", (int)likely);
        memset(&plain, 0, sizeof plain);
        CHECK_MSG(!search(&plain, 0, likely, 2000, &found) && plain.tried[0] && plain.tried[1] && !plain.odd,
                  "none does, from %d", (int)likely);
    }
    memset(&plain, 0, sizeof plain);
    CHECK_MSG(!search(&plain, 0, 0, 0, &found) && plain.count == 1, "0 is all there is");
}

static void test_broken(void)
{
    int wrong = 0;
    for (int at = 1; at <= 12; at++) {
        rehearsal plain;
        batch_found found;
        memset(&plain, 0, sizeof plain);
        plain.broken_at = at;
        survive(&plain, 1, 500);
        int answer = search(&plain, 1, 900, 2000, &found);
        wrong += answer != -1 || plain.count != at;
    }
    CHECK_MSG(!wrong, "an answer of -1 ends the search, at once");
}

int main(void)
{
    test_monotone();
    test_likely();
    test_gaps();
    test_far();
    test_zero();
    test_broken();
    return tap_done();
}
