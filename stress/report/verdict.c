/* The least of memory and of driver calls among complete rows, and what became of the others.
   It must not know how a number came about. */
#include "table_columns.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "plot.h"
#include "../base/text.h"

enum { VERDICT_MOST_NAMES = 4 };                 /* of policies in a row: of more the rest are counted */

typedef struct verdict {
    const row_list *list;
    size_t          first, end;                  /* rows of the workload */
    char           *text;                        /* of VERDICT_ROOM bytes */
} verdict;

typedef int verdict_wants(const row *shown, uint64_t value);

static const row *verdict_row(const verdict *self, size_t index)
{
    return &self->list->rows[index];
}

static int verdict_is_policy(const row *one, const row *other)
{
    return !strcmp(one->cells[COLUMN_POLICY].text, other->cells[COLUMN_POLICY].text);
}

/* The first row of its policy that is wanted, --repeat or not. */
static int verdict_counts(const verdict *self, size_t index, verdict_wants *wants, uint64_t value)
{
    const row *shown = verdict_row(self, index);
    if (shown->is_baseline || !wants(shown, value)) return 0;
    for (size_t at = self->first; at < index; at++) {
        const row *before = verdict_row(self, at);
        if (!before->is_baseline && verdict_is_policy(before, shown) && wants(before, value)) return 0;
    }
    return 1;
}

static size_t verdict_count(const verdict *self, verdict_wants *wants, uint64_t value)
{
    size_t count = 0;
    for (size_t at = self->first; at < self->end; at++) count += (size_t)verdict_counts(self, at, wants, value);
    return count;
}

static const row *verdict_find(const verdict *self, verdict_wants *wants, uint64_t value)
{
    for (size_t at = self->first; at < self->end; at++) {
        if (verdict_counts(self, at, wants, value)) return verdict_row(self, at);
    }
    return NULL;
}

/* "paged, best-fit and segments"; how many there are. */
static size_t verdict_names(verdict *self, verdict_wants *wants, uint64_t value)
{
    char name[1024];
    size_t count = verdict_count(self, wants, value), said = 0;
    size_t most = count > VERDICT_MOST_NAMES ? VERDICT_MOST_NAMES - 1 : count;
    for (size_t at = self->first; at < self->end && said < most; at++) {
        if (!verdict_counts(self, at, wants, value)) continue;
        text_add(self->text, VERDICT_ROOM, "%s%s", !said ? "" : said + 1 == count ? " and " : ", ",
                 table_policy_name(verdict_row(self, at)->cells[COLUMN_POLICY].text, name, sizeof name));
        said++;
    }
    if (count > most) text_add(self->text, VERDICT_ROOM, " and %zu others", count - most);
    return count;
}

/* ---- what is wanted of a row */

static int verdict_is_asked(const row *shown, uint64_t value)
{
    (void)value;
    return !shown->is_baseline;
}

static int verdict_is_whole(const row *shown, uint64_t value)
{
    (void)value;
    return table_is_ok(shown) && shown->cells[COLUMN_RESERVED_PEAK].kind == CELL_COUNT
        && shown->cells[COLUMN_DRIVER_CALLS].kind == CELL_COUNT;
}

static int verdict_has_memory(const row *shown, uint64_t value)
{
    return verdict_is_whole(shown, 0) && shown->cells[COLUMN_RESERVED_PEAK].count == value;
}

static int verdict_has_calls(const row *shown, uint64_t value)
{
    return verdict_is_whole(shown, 0) && shown->cells[COLUMN_DRIVER_CALLS].count == value;
}

static const char *const verdict_ends[][2] = {
    { "oom", "ran out of memory" }, { "verify_failed", "failed verification" }, { "error", "failed" },
    { "skipped", "did not run" },
};
enum { VERDICT_ENDS = sizeof verdict_ends / sizeof verdict_ends[0] };

static int verdict_has_end(const row *shown, uint64_t value)
{
    const cell *status = &shown->cells[COLUMN_STATUS];
    return status->kind == CELL_TEXT && !strcmp(status->text, verdict_ends[value][0]);
}

/* ---- the sentence */

static uint64_t verdict_least(const verdict *self, row_column column)
{
    uint64_t least = UINT64_MAX;
    for (size_t at = self->first; at < self->end; at++) {
        const row *shown = verdict_row(self, at);
        if (shown->is_baseline || !verdict_is_whole(shown, 0)) continue;
        if (shown->cells[column].count < least) least = shown->cells[column].count;
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
    const row *smallest = verdict_find(self, verdict_has_memory, least);
    const row *fewest = verdict_find(self, verdict_has_calls, calls);
    size_t of_memory = verdict_count(self, verdict_has_memory, least);
    size_t of_calls = verdict_count(self, verdict_has_calls, calls);
    int is_same = of_memory == 1 && of_calls == 1 && verdict_is_policy(smallest, fewest);
    if (of_memory == whole) text_add(self->text, VERDICT_ROOM, "all take the same memory, ");
    else {
        text_add(self->text, VERDICT_ROOM, is_same ? "least memory and fewest driver calls " : "least memory ");
        verdict_names(self, verdict_has_memory, least);
        text_add(self->text, VERDICT_ROOM, ", ");
    }
    verdict_amount(self, smallest);
    if (is_same) text_add(self->text, VERDICT_ROOM, ", %" PRIu64 " calls", calls);
    else if (of_calls == whole) {
        text_add(self->text, VERDICT_ROOM, "; all make the same number of driver calls, %" PRIu64, calls);
    } else {
        text_add(self->text, VERDICT_ROOM, "; fewest driver calls ");
        verdict_names(self, verdict_has_calls, calls);
        text_add(self->text, VERDICT_ROOM, ", %" PRIu64, calls);
        if (of_calls == 1) verdict_price(self, fewest, least);
    }
}

/* "; cudaMalloc and segments ran out of memory"; of one policy at which operation. */
static void verdict_failures(verdict *self, const char *gap)
{
    for (size_t end = 0; end < VERDICT_ENDS; end++) {
        const row *failed = verdict_find(self, verdict_has_end, end);
        if (!failed) continue;
        text_add(self->text, VERDICT_ROOM, "%s", gap);
        size_t count = verdict_names(self, verdict_has_end, end);
        text_add(self->text, VERDICT_ROOM, " %s", verdict_ends[end][1]);
        if (count == 1 && failed->cells[COLUMN_OOM_OP].kind != CELL_NONE) {
            text_add(self->text, VERDICT_ROOM, " at operation %" PRIu64, failed->cells[COLUMN_OOM_OP].count);
        }
        gap = "; ";
    }
}

size_t verdict_next(const row_list *list, size_t row_index)
{
    size_t first, count;
    row_group(list, row_index, &first, &count);
    return first + count;
}

const char *verdict_line(const row_list *list, size_t first, char *text)
{
    char name[1024];
    verdict self = { list, first, verdict_next(list, first), text };
    size_t asked = verdict_count(&self, verdict_is_asked, 0), whole = verdict_count(&self, verdict_is_whole, 0);
    const char *workload = row_workload(&list->rows[first]);
    text[0] = '\0';
    if (!asked || !*workload) return text;
    text_add(text, VERDICT_ROOM, "%s: ", table_name(workload, name, sizeof name));
    size_t named = strlen(text);
    if (whole > 1) verdict_several(&self, whole);
    if (whole == 1) verdict_one(&self, verdict_find(&self, verdict_is_whole, 0), asked == 1);
    verdict_failures(&self, whole ? "; " : asked > 1 ? "no policy completes: " : "");
    if (!text[named]) text[0] = '\0';            /* rows that were read, and hold too little */
    return text;
}
