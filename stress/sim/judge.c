/* Findings, clocks, and who comes after whom. */
#include "judge.h"

void judge_report(judge *book, int device, const char *format, ...)
{
    uint64_t index = book->count++;
    if (device >= 0 && device < SIM_MAX_DEVICES) book->by_device[device]++;
    if (index >= JUDGE_KEPT) return;
    char when[32] = "before the first op", *text = book->texts[index];
    if (book->op_begun) snprintf(when, sizeof when, "op %" PRIu64, book->op);
    int length = snprintf(text, JUDGE_TEXT, "%s: device %d: ", when, device);
    PROBLEM_PRINT(text + length, JUDGE_TEXT - (size_t)length, format);
}

/* ---- Vector clocks, each an array as long as it had to be */

void vclock_reserve(vclock *clock, uint32_t count)
{
    if (count <= clock->count) return;
    clock->at = program_resize(clock->at, count, sizeof *clock->at);
    memset(clock->at + clock->count, 0, (count - clock->count) * sizeof *clock->at);
    clock->count = count;
}

uint64_t vclock_get(const vclock *clock, uint32_t line)
{
    return line < clock->count ? clock->at[line] : 0;
}

void vclock_join(vclock *clock, const vclock *other)
{
    vclock_reserve(clock, other->count);
    for (uint32_t i = 0; i < other->count; i++) memory_raise(&clock->at[i], other->at[i]);
}

void vclock_copy(vclock *clock, const vclock *other)
{
    if (clock->count > 0) memset(clock->at, 0, clock->count * sizeof *clock->at);
    vclock_join(clock, other);
}

void vclock_destroy(vclock *clock)
{
    free(clock->at);
    memset(clock, 0, sizeof *clock);
}

/* ---- Histories: each part has its own; none: nothing to come after. Each is the one before and one more touch,
        without those that the host has outlived */

/* The latest touch of each line and place in earlier tenancies, and in this one: in the order of lines, places,
   tenancies. */
typedef struct history {
    uint64_t owner;                              /* of this tenancy */
    uint32_t room, count;
    touch    touches[];
} history;

static history *history_of(const cuts_part *part)
{
    return (history *)(uintptr_t)part->value;
}

/* A history with room for so many touches. self NULL: a new one. */
static history *history_resize(history *self, uint32_t room)
{
    history *made = program_resize(self, 1, sizeof *made + room * sizeof(touch));
    made->room = room;
    return made;
}

static void history_copy(cuts_part *part)
{
    const history *self = history_of(part);
    if (!self) return;
    history *made = history_resize(NULL, self->room);
    memcpy(made, self, sizeof *self + self->count * sizeof(touch));
    part->value = (uint64_t)(uintptr_t)made;
}

static void history_drop(const cuts_part *part)
{
    free(history_of(part));
}

static int history_order(const touch *one, const touch *other)
{
    if (one->line != other->line) return one->line < other->line ? -1 : 1;
    if (one->place != other->place) return one->place < other->place ? -1 : 1;
    return one->is_own - other->is_own;
}

static int history_is_outlived(const touch *one, const vclock *host)
{
    return vclock_get(host, one->line) >= one->position;
}

/* Puts a touch in its place by order; of two that are alike the later one stays. There is room. */
static void history_put(history *self, const touch *one)
{
    uint32_t at = self->count;
    while (at > 0 && history_order(one, &self->touches[at - 1]) < 0) at--;
    touch *next = &self->touches[at];
    if (at > 0 && history_order(one, next - 1) == 0) {
        if (next[-1].position < one->position) next[-1] = *one;
        return;
    }
    for (touch *last = &self->touches[self->count++]; last > next; last--) *last = last[-1];
    *next = *one;
}

/* Drops touches that the host has outlived. When the owner changes, touches of this tenancy become an earlier one's:
   of two of one line and place, which come one after the other, the later counts. */
static void history_age(history *self, const touch_by *by)
{
    const int is_handed_over = self->owner != by->owner;
    uint32_t count = 0;
    for (uint32_t i = 0; i < self->count; i++) {
        touch one = self->touches[i];
        const touch *before = count > 0 ? &self->touches[count - 1] : NULL;
        if (history_is_outlived(&one, by->host)) continue;
        if (is_handed_over) {
            one.is_own = 0;
            if (before && before->line == one.line && before->place == one.place) count--;
        }
        self->touches[count++] = one;
    }
    self->owner = by->owner;
    self->count = count;
}

/* One part's history after one more touch. Most have two: an earlier tenancy's, and one of this. */
static history *history_next(history *self, const touch_by *by)
{
    if (!self) {
        self = history_resize(NULL, 2);
        self->owner = by->owner;
        self->count = 0;
    }
    history_age(self, by);
    if (history_is_outlived(&by->latest, by->host)) return self;
    if (self->count == self->room) self = history_resize(self, self->room + 1);
    history_put(self, &by->latest);
    return self;
}

/* The first touch that this one does not come after; NULL: none. At the end the tenancy's own count, too. */
static const touch *history_unordered(const history *self, const touch_by *by)
{
    for (uint32_t i = 0; self && i < self->count; i++) {
        const touch *one = &self->touches[i];
        int counts = !one->is_own || by->is_end || self->owner != by->owner;
        if (counts && vclock_get(by->seen, one->line) < one->position) return one;
    }
    return NULL;
}

/* A touch by the present owner, another one and no graph, since this graph was captured; NULL: none. */
static const touch *history_taken(const history *self, const touch_by *by)
{
    if (!self || by->is_end || !by->latest.is_launched || self->owner == by->owner) return NULL;
    for (uint32_t i = 0; i < self->count; i++) {
        const touch *one = &self->touches[i];
        if (one->is_own && !one->is_launched && one->op > by->captured_op) return one;
    }
    return NULL;
}

/* A position on a line is one command, of one operation on one stream. */
static int history_are_same(const cuts_part *part, const cuts_part *next)
{
    const history *one = history_of(part), *other = history_of(next);
    if (one->owner != other->owner || one->count != other->count) return 0;
    for (uint32_t i = 0; i < one->count; i++) {
        if (history_order(&one->touches[i], &other->touches[i]) != 0
            || one->touches[i].position != other->touches[i].position) {
            return 0;
        }
    }
    return 1;
}

/* ---- A change of some bytes of one granule */

typedef struct touch_change {
    const touch_by *by;
    touch          *other;
    touch_verdict   result;
} touch_change;

static void touches_judge(touch_change *change, const history *self)
{
    const touch *unordered = history_unordered(self, change->by);
    const touch *bad = unordered ? unordered : history_taken(self, change->by);
    if (!bad || change->result != TOUCH_IN_ORDER) return;
    change->result = unordered ? TOUCH_UNORDERED : TOUCH_TAKEN;
    *change->other = *bad;
}

/* The mark tells histories of different owners apart without a look at them: most differ so, and few are in a
   cache. */
static cuts_part touches_replace(void *user, const cuts_part *part)
{
    touch_change *change = user;
    const touch_by *by = change->by;
    cuts_part made = { 0, 0, 0 };
    touches_judge(change, history_of(part));
    if (by->is_end) {
        history_drop(part);
        return made;
    }
    made.mark = (uint32_t)(by->owner ^ by->owner >> 32) | 1;
    made.value = (uint64_t)(uintptr_t)history_next(history_of(part), by);
    return made;
}

static const cuts_kind touches_kind = { touches_replace, history_are_same, history_copy, history_drop };

touch_verdict touches_add(granule *touched, uint32_t from, uint32_t to, const touch_by *by, touch *other)
{
    touch_change change = { by, other, TOUCH_IN_ORDER };
    if (!by->is_end || touched->touched.count > 0) cuts_change(&touched->touched, from, to, &touches_kind, &change);
    return change.result;
}

int touches_pending(const granule *touched, uint64_t place, const vclock *host, touch *other)
{
    for (uint32_t i = 0; i < touched->touched.count; i++) {
        const history *self = history_of(&touched->touched.list[i]);
        for (uint32_t j = 0; self && j < self->count; j++) {
            *other = self->touches[j];
            if (other->place == place && !history_is_outlived(other, host)) return 1;
        }
    }
    return 0;
}

void touches_forget(granule *touched)
{
    cuts_clear(&touched->touched, &touches_kind);
}
