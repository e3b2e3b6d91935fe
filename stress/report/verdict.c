/* The least of memory and of driver calls among complete rows, and what became of the others.
   It must not know how a number came about. */
#include "table.h"

enum { VERDICT_MOST_NAMES = 4 };                 /* of policies in a row: of more the rest are counted */

typedef struct verdict {
    const row_list *list;
    size_t          first, end;                  /* rows of the workload */
    const row     **found;                       /* by the latest verdict_find */
    char           *text;                        /* of VERDICT_ROOM bytes */
} verdict;

static const char verdict_whole[] = "ok";
static const char *const verdict_ends[][2] = {
    { "oom", "ran out of memory" }, { "verify_failed", "failed verification" }, { "error", "failed" },
    { "skipped", "did not run" },
};
enum { VERDICT_ENDS = sizeof verdict_ends / sizeof verdict_ends[0] };

/* A row that was asked for, ended so (NULL: in any way) and has this value; COLUMN_COUNT: any. One that is whole has
   figures. */
static int verdict_is(const row *shown, const char *status, row_column column, uint64_t value)
{
    const cell *memory = &shown->cells[COLUMN_RESERVED_PEAK], *calls = &shown->cells[COLUMN_DRIVER_CALLS];
    if (shown->is_baseline || (status && strcmp(row_status(shown), status))) return 0;
    if (status == verdict_whole && (memory->kind != CELL_COUNT || calls->kind != CELL_COUNT)) return 0;
    return column == COLUMN_COUNT || shown->cells[column].count == value;
}

static int verdict_is_policy(const row *one, const row *other)
{
    return !strcmp(one->cells[COLUMN_POLICY].text, other->cells[COLUMN_POLICY].text);
}

/* The first such row of each policy, --repeat or not; how many. */
static size_t verdict_find(verdict *self, const char *status, row_column column, uint64_t value)
{
    size_t count = 0;
    for (size_t at = self->first; at < self->end; at++) {
        const row *shown = &self->list->rows[at];
        size_t before = 0;
        while (before < count && !verdict_is_policy(self->found[before], shown)) before++;
        if (before == count && verdict_is(shown, status, column, value)) self->found[count++] = shown;
    }
    return count;
}

/* "paged, best-fit and segments": so many that were found. */
static void verdict_names(verdict *self, size_t count)
{
    char name[1024];
    size_t most = count > VERDICT_MOST_NAMES ? VERDICT_MOST_NAMES - 1 : count;
    for (size_t said = 0; said < most; said++) {
        text_add(self->text, VERDICT_ROOM, "%s%s", !said ? "" : said + 1 == count ? " and " : ", ",
                 table_policy_name(self->found[said]->cells[COLUMN_POLICY].text, name, sizeof name));
    }
    if (count > most) text_add(self->text, VERDICT_ROOM, " and %zu others", count - most);
}

/* ---- the sentence */

static uint64_t verdict_least(const verdict *self, row_column column)
{
    uint64_t least = UINT64_MAX;
    for (size_t at = self->first; at < self->end; at++) {
        const row *shown = &self->list->rows[at];
        uint64_t here = shown->cells[column].count;
        if (verdict_is(shown, verdict_whole, COLUMN_COUNT, 0) && here < least) least = here;
    }
    return least;
}

static void verdict_amount(verdict *self, const row *shown)
{
    char bytes[32], overhead[32];
    const char *above = table_overhead(shown, overhead, sizeof overhead);
    text_bytes(shown->cells[COLUMN_RESERVED_PEAK].count, bytes, sizeof bytes);
    text_add(self->text, VERDICT_ROOM, strcmp(above, "-") ? "%s, %s" : "%s", bytes, above);
}

static void verdict_one(verdict *self, const row *only, int is_alone)
{
    char name[1024];
    uint64_t calls = only->cells[COLUMN_DRIVER_CALLS].count;
    text_add(self->text, VERDICT_ROOM, is_alone ? "%s takes " : "only %s completes, with ",
             table_policy_name(only->cells[COLUMN_POLICY].text, name, sizeof name));
    verdict_amount(self, only);
    text_add(self->text, VERDICT_ROOM, ", and %s%" PRIu64 " driver call%s", is_alone ? "makes " : "", calls,
             calls == 1 ? "" : "s");
}

/* What fewer calls cost in memory; of one policy alone, several may differ in it. */
static void verdict_price(verdict *self, const row *fewest, uint64_t least)
{
    uint64_t taken = fewest->cells[COLUMN_RESERVED_PEAK].count;
    if (taken == least || !least) return;
    double more = ((double)taken / (double)least - 1.0) * 100.0;
    text_add(self->text, VERDICT_ROOM, more < 9.95 ? ", %+.1f %% memory" : ", %+.0f %% memory", more);
}

static void verdict_several(verdict *self, size_t whole)
{
    uint64_t least = verdict_least(self, COLUMN_RESERVED_PEAK), calls = verdict_least(self, COLUMN_DRIVER_CALLS);
    size_t of_calls = verdict_find(self, verdict_whole, COLUMN_DRIVER_CALLS, calls);
    const row *fewest = self->found[0];
    size_t of_memory = verdict_find(self, verdict_whole, COLUMN_RESERVED_PEAK, least);
    const row *smallest = self->found[0];
    int is_same = of_memory == 1 && of_calls == 1 && verdict_is_policy(smallest, fewest);
    if (of_memory == whole) text_add(self->text, VERDICT_ROOM, "all take the same memory, ");
    else {
        text_add(self->text, VERDICT_ROOM, is_same ? "least memory and fewest driver calls " : "least memory ");
        verdict_names(self, of_memory);
        text_add(self->text, VERDICT_ROOM, ", ");
    }
    verdict_amount(self, smallest);
    if (is_same) text_add(self->text, VERDICT_ROOM, ", %" PRIu64 " calls", calls);
    else if (of_calls == whole) {
        text_add(self->text, VERDICT_ROOM, "; all make the same number of driver calls, %" PRIu64, calls);
    } else {
        text_add(self->text, VERDICT_ROOM, "; fewest driver calls ");
        verdict_names(self, verdict_find(self, verdict_whole, COLUMN_DRIVER_CALLS, calls));
        text_add(self->text, VERDICT_ROOM, ", %" PRIu64, calls);
        if (of_calls == 1) verdict_price(self, fewest, least);
    }
}

/* "; cudaMalloc and segments ran out of memory"; of one policy at which operation. */
static void verdict_failures(verdict *self, const char *gap)
{
    for (size_t end = 0; end < VERDICT_ENDS; end++) {
        size_t count = verdict_find(self, verdict_ends[end][0], COLUMN_COUNT, 0);
        if (!count) continue;
        const row *failed = self->found[0];
        text_add(self->text, VERDICT_ROOM, "%s", gap);
        verdict_names(self, count);
        text_add(self->text, VERDICT_ROOM, " %s", verdict_ends[end][1]);
        if (count == 1 && failed->cells[COLUMN_OOM_OP].kind != CELL_NONE) {
            text_add(self->text, VERDICT_ROOM, " at operation %" PRIu64, failed->cells[COLUMN_OOM_OP].count);
        }
        gap = "; ";
    }
}

/* "": nothing. */
static void verdict_line(verdict *self)
{
    char name[1024];
    const char *workload = row_workload(&self->list->rows[self->first]);
    size_t asked = verdict_find(self, NULL, COLUMN_COUNT, 0);
    size_t whole = verdict_find(self, verdict_whole, COLUMN_COUNT, 0);
    snprintf(self->text, VERDICT_ROOM, "%s: ", table_name(workload, name, sizeof name));
    size_t named = strlen(self->text);
    if (whole > 1) verdict_several(self, whole);
    if (whole == 1) verdict_one(self, self->found[0], asked == 1);
    verdict_failures(self, whole ? "; " : asked > 1 ? "no policy completes: " : "");
    if (!*workload || !self->text[named]) self->text[0] = '\0';      /* rows that were read, and hold too little */
}

int verdict_take(const row_list *list, size_t *at, char text[VERDICT_ROOM])
{
    text[0] = '\0';
    while (*at < list->count && !text[0]) {
        verdict self = { list, 0, 0, NULL, text };
        row_group(list, *at, &self.first, &self.end);
        self.end += self.first;
        self.found = program_need(self.end - self.first, sizeof *self.found);
        verdict_line(&self);
        free(self.found);
        *at = self.end;
    }
    return text[0] != '\0';
}
