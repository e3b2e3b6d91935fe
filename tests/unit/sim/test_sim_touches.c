/* The map of touches against one byte-by-byte record: random ranges, owners, orders, ends; how many pieces it keeps.
   It must not know of streams. */
#include "sim_device.h"

#include "stress/sim/judge.h"

enum { CELLS = 64, LINES = 4, CELL = 256 };

typedef struct cell { uint64_t owner, earlier[LINES], own[LINES]; } cell;    /* latest positions */

static uint64_t positions[LINES], seen_at[LINES], host_at[LINES];
static cell cells[CELLS];

static int cell_unordered(const cell *self, uint64_t owner, const uint64_t *seen, int ending)
{
    for (int i = 0; i < LINES; i++)
        if (self->earlier[i] > seen[i] || ((ending || self->owner != owner) && self->own[i] > seen[i])) return 1;
    return 0;
}

static void cell_add(cell *self, uint64_t owner, int line)
{
    for (int i = 0; self->owner != owner && i < LINES; i++) {
        if (self->own[i] > self->earlier[i]) self->earlier[i] = self->own[i];
        self->own[i] = 0;
    }
    self->owner = owner;
    self->own[line] = positions[line];
}

/* Makes one random touch or end on both. 1: they agree. */
static int step(granule *all, uint64_t random)
{
    static const cell none;
    vclock seen = { seen_at, LINES }, host = { host_at, LINES };
    touch unordered = { 0, 0, 0, 0, 0, 0, 0 };
    int line = (int)(random % LINES), from = (int)(random >> 8) & (CELLS - 1), expected = 1;
    int to = from + 1 + (int)((random >> 16 & 0xFF) % (uint64_t)(CELLS - from)), ending = (random >> 24) % 16 == 0;
    uint64_t owner = 1 + (random >> 32) % 5;
    if ((random >> 40) % 8 == 0)
        for (int i = 0; i < LINES; i++) host_at[i] = positions[i] - (positions[i] - host_at[i]) / 2;
    for (int i = 0; i < LINES; i++) {
        uint64_t behind = random >> (44 + i) & 1 ? 0 : (positions[i] - host_at[i]) / 2;
        seen_at[i] = ending ? host_at[i] : positions[i] - behind;
    }
    positions[line] += !ending;
    if (!ending) seen_at[line] = positions[line];
    for (int i = from; i < to; i++) {
        expected &= !cell_unordered(&cells[i], owner, seen_at, ending);
        if (ending) cells[i] = none;
        else cell_add(&cells[i], owner, line);
    }
    touch_by by = { { positions[line], 0, 0, (uint32_t)line, 0, 1, 0 }, owner, 0, &seen, &host, ending };
    uint32_t start = (uint32_t)from * CELL, past = (uint32_t)to * CELL;
    touch_verdict found = touches_add(all, start, past, &by, &unordered);
    return found == (expected ? TOUCH_IN_ORDER : TOUCH_UNORDERED)
        && (found == TOUCH_IN_ORDER || unordered.position > vclock_get(&seen, unordered.line));
}

static void test_against_cells(void)
{
    granule all = { .even = 0 };
    uint64_t state = 11, agreed = 0;
    while (agreed < 100000 && step(&all, splitmix64_next(&state))) agreed++;
    CHECK_U64(agreed, ==, 100000);
    CHECK_U64(all.touched.count, <=, CELLS + 1);
    touches_forget(&all);
}

static uint64_t now[2], outlived[2];
static const vclock all_seen = { now, 2 }, all_outlived = { outlived, 2 };

/* A touch that comes after everything, of bytes in units of 256. new: a new position on the line. The pieces then. */
static uint32_t put(granule *all, int line, int is_new, uint64_t owner, uint32_t from, uint32_t to)
{
    touch unordered;
    now[line] += (uint64_t)is_new;
    touch_by by = { { now[line], 0, 1, (uint32_t)line, 0, 1, 0 }, owner, 0, &all_seen, &all_outlived, 0 };
    CHECK_INT(touches_add(all, from * CELL, to * CELL, &by, &unordered), ==, 1);
    return all->touched.count;
}

static void test_outlived_touches_are_dropped(void)
{
    granule all = { .even = 0 };
    touch unordered;
    touch_by by = { { 0, 0, 1, 0, 0, 1, 0 }, 0, 0, &all_seen, &all_outlived, 0 };
    for (uint32_t i = 0; i < 8192; i++) {
        now[0]++;
        by.latest.position = now[0];
        by.owner = i;
        touches_add(&all, i * CELL, (i + 1) * CELL, &by, &unordered);
    }
    CHECK_U64(all.touched.count, ==, 8192);
    CHECK_MSG(put(&all, 1, 1, 9000, 0, 8192) == 8192, "what came before still differs,");
    outlived[0] = now[0];
    CHECK_MSG(put(&all, 1, 1, 9000, 0, 8192) == 1, "until the host has outlived it");
    CHECK_U64(put(&all, 1, 1, 9001, 2, 4), ==, 3);
    by.seen = &all_outlived;
    by.is_end = 1;
    CHECK_INT(touches_add(&all, 0, (uint32_t)MIB(2), &by, &unordered), ==, 0);
    CHECK_U64(all.touched.count, ==, 1);
    touches_forget(&all);
}

static void test_neighbours_merge(void)
{
    granule all = { .even = 0 };
    CHECK_U64(put(&all, 0, 1, 1, 4, 8), ==, 3);
    CHECK_MSG(put(&all, 0, 0, 1, 8, 12) == 3, "with the piece below");
    CHECK_MSG(put(&all, 0, 0, 1, 2, 4) == 3, "with the piece above");
    CHECK_MSG(put(&all, 0, 0, 2, 12, 14) == 4, "but not with another owner's, even if one command touched both");
    CHECK_U64(put(&all, 0, 1, 3, 6, 7), ==, 6);
    touches_forget(&all);
}

/* One line's touches in two places are two: neither hides the other, nor merges with it. */
static void test_places(void)
{
    granule all = { .even = 0 };
    touch other;
    now[0] = outlived[0] = 100;
    for (uint32_t place = 1; place <= 2; place++) {
        touch_by by = { { 101, 40 + place, 1, 0, 0, 1, place }, 1, 0, &all_seen, &all_outlived, 0 };
        CHECK_INT(touches_add(&all, 0, CELL, &by, &other), ==, 1);
        CHECK_INT(touches_add(&all, place * CELL, (place + 1) * CELL, &by, &other), ==, 1);
    }
    CHECK_MSG(all.touched.count == 4, "both places, the first, the second, neither");
    CHECK(touches_pending(&all, 1, &all_outlived, &other) && other.op == 41);
    CHECK(touches_pending(&all, 2, &all_outlived, &other) && other.op == 42);
    CHECK(!touches_pending(&all, 3, &all_outlived, &other));
    outlived[0] = 101;
    CHECK(!touches_pending(&all, 1, &all_outlived, &other));
    touches_forget(&all);
}

int main(void)
{
    test_against_cells();
    test_outlived_touches_are_dropped();
    test_neighbours_merge();
    test_places();
    return tap_done();
}
