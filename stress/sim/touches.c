/* The map: pieces of granules in sorted arrays, cut at the ends of what is touched, merged where equal.
   Must not know what makes a history, nor of streams, addresses, calls or findings.
   Tested by tests/test_sim_touches.c and tests/test_sim_order.c. */
#include "touches.h"

#include <stdlib.h>
#include <string.h>

#include "touch_history.h"

/* A change of [from, to) of one granule. The last history that was replaced, and by what: neighbours often share. */
typedef struct touch_change {
    const touch_by *by;
    int             ending;
    touch          *other;
    touch_verdict   result;
    int             has_replaced;
    const touch_history *replaced;
    touch_history  *replacement;
    uint32_t        fresh_count;
} touch_change;

static int touches_reserve_granules(touches *all, uint32_t granule)
{
    if (granule < all->count) {
        return 0;
    }
    uint32_t count = granule + 1 > all->count * 2 ? granule + 1 : all->count * 2;
    touched_granule *list = realloc(all->list, count * sizeof *list);
    if (!list) {
        return -1;
    }
    memset(list + all->count, 0, (count - all->count) * sizeof *list);
    all->list = list;
    all->count = count;
    return 0;
}

static int touches_reserve_pieces(touch_piece **pieces, uint32_t *capacity, uint32_t count)
{
    if (count <= *capacity) {
        return 0;
    }
    uint32_t more = count > *capacity * 2 ? count : *capacity * 2;
    touch_piece *grown = realloc(*pieces, more * sizeof *grown);
    if (!grown) {
        return -1;
    }
    *pieces = grown;
    *capacity = more;
    return 0;
}

static int touches_start(touched_granule *at)
{
    const touch_piece whole = { 0, NULL };
    if (at->count > 0) {
        return 0;
    }
    if (touches_reserve_pieces(&at->pieces, &at->capacity, 1)) {
        return -1;
    }
    at->pieces[0] = whole;
    at->count = 1;
    return 0;
}

/* The piece that a byte lies in. */
static uint32_t touches_index(const touched_granule *at, uint32_t byte)
{
    uint32_t low = 0, high = at->count - 1;
    while (low < high) {
        uint32_t middle = high - (high - low) / 2;
        if (at->pieces[middle].from <= byte) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

/* What becomes of a piece's history, kept once. */
static int touches_replace(touch_change *change, const touch_history *history, touch_history **fresh)
{
    if (change->has_replaced && history == change->replaced) {
        *fresh = touch_history_keep(change->replacement);
        return 0;
    }
    const touch *unordered = touch_history_unordered(history, change->by, change->ending);
    const touch *bad = unordered || change->ending ? unordered : touch_history_taken(history, change->by);
    if (bad && change->result == TOUCH_IN_ORDER) {
        change->result = unordered ? TOUCH_UNORDERED : TOUCH_TAKEN;
        *change->other = *bad;
    }
    *fresh = NULL;
    return change->ending ? 0 : touch_history_next(history, change->by, fresh);
}

/* Adds a piece to the fresh ones, or to the last of them if they are equal. Takes over the history's reference. */
static void touches_put(touches *all, touch_change *change, uint32_t from, touch_history *history)
{
    if (change->fresh_count > 0
        && touch_history_equal(all->fresh[change->fresh_count - 1].history, history)) {
        touch_history_drop(history);
        return;
    }
    touch_piece made = { from, history };
    all->fresh[change->fresh_count++] = made;
}

static void touches_abandon(touches *all, touch_change *change)
{
    while (change->fresh_count > 0) {
        touch_history_drop(all->fresh[--change->fresh_count].history);
    }
    change->result = TOUCH_NO_HOST_MEMORY;
}

/* The pieces first..last anew, with [from, to) changed. Both ends overhang by a neighbour where there is one, so that
   equal ones merge. */
static void touches_make_fresh(touches *all, touched_granule *at, uint32_t first, uint32_t last, uint32_t from,
                               uint32_t to, touch_change *change)
{
    for (uint32_t i = first; i <= last; i++) {
        touch_piece piece = at->pieces[i];
        uint32_t end = i + 1 < at->count ? at->pieces[i + 1].from : (uint32_t)SIM_GRANULE;
        if (piece.from < from || piece.from >= to) {
            touches_put(all, change, piece.from, touch_history_keep(piece.history));
        }
        if (piece.from < to && end > from) {
            touch_history *fresh;
            if (touches_replace(change, piece.history, &fresh)) {
                touches_abandon(all, change);
                return;
            }
            change->has_replaced = 1;
            change->replaced = piece.history;
            change->replacement = fresh;
            touches_put(all, change, piece.from > from ? piece.from : from, fresh);
            change->replacement = all->fresh[change->fresh_count - 1].history;
            if (end > to) {
                touches_put(all, change, to, touch_history_keep(piece.history));
            }
        }
    }
}

static void touches_splice(touched_granule *at, uint32_t first, uint32_t last, const touch_piece *fresh,
                           uint32_t count)
{
    for (uint32_t i = first; i <= last; i++) {
        touch_history_drop(at->pieces[i].history);
    }
    memmove(at->pieces + first + count, at->pieces + last + 1, (at->count - last - 1) * sizeof *fresh);
    memcpy(at->pieces + first, fresh, count * sizeof *fresh);
    at->count = at->count - (last - first + 1) + count;
}

static touch_verdict touches_change(touches *all, uint32_t granule, uint32_t from, uint32_t to, touch_change *change)
{
    if (touches_reserve_granules(all, granule) || touches_start(&all->list[granule])) {
        return TOUCH_NO_HOST_MEMORY;
    }
    touched_granule *at = &all->list[granule];
    uint32_t first = touches_index(at, from), last = touches_index(at, to - 1);
    first -= first > 0;
    last += last + 1 < at->count;
    if (touches_reserve_pieces(&all->fresh, &all->fresh_capacity, last - first + 3)
        || touches_reserve_pieces(&at->pieces, &at->capacity, at->count + 2)) {
        return TOUCH_NO_HOST_MEMORY;
    }
    touches_make_fresh(all, at, first, last, from, to, change);
    if (change->result != TOUCH_NO_HOST_MEMORY) {
        touches_splice(at, first, last, all->fresh, change->fresh_count);
    }
    return change->result;
}

touch_verdict touches_add(touches *all, uint32_t granule, uint32_t from, uint32_t to, const touch_by *by,
                          touch *other)
{
    touch_change change = { by, 0, other, TOUCH_IN_ORDER, 0, NULL, NULL, 0 };
    return touches_change(all, granule, from, to, &change);
}

touch_verdict touches_end(touches *all, uint32_t granule, uint32_t from, uint32_t to, const touch_by *by,
                          touch *other)
{
    touch_change change = { by, 1, other, TOUCH_IN_ORDER, 0, NULL, NULL, 0 };
    if (touches_piece_count(all, granule) == 0) {
        return TOUCH_IN_ORDER;
    }
    return touches_change(all, granule, from, to, &change);
}

int touches_pending(const touches *all, uint32_t granule, uint64_t place, const vclock *host, touch *other)
{
    for (uint32_t i = 0; i < touches_piece_count(all, granule); i++) {
        const touch *found = touch_history_pending(all->list[granule].pieces[i].history, place, host);
        if (found) {
            *other = *found;
            return 1;
        }
    }
    return 0;
}

uint32_t touches_piece_count(const touches *all, uint32_t granule)
{
    return granule < all->count ? all->list[granule].count : 0;
}

void touches_destroy(touches *all)
{
    for (uint32_t i = 0; i < all->count; i++) {
        for (uint32_t j = 0; j < all->list[i].count; j++) {
            touch_history_drop(all->list[i].pieces[j].history);
        }
        free(all->list[i].pieces);
    }
    free(all->list);
    free(all->fresh);
    memset(all, 0, sizeof *all);
}
