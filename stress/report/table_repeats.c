/* Below the table: what rows that are there more than once say together.
   It must not know how they are added up.
   Tested by tests/gate.t. */
#include "table.h"

#include <inttypes.h>
#include <string.h>

#include "../result/repeats.h"

/* The row that was added as number so-and-so: those of the table alone were not. */
static const row *table_added(const row_list *list, size_t number)
{
    size_t index = 0;
    for (;; index++) {
        if (!list->rows[index].is_baseline && !number--) return &list->rows[index];
    }
}

static size_t table_percentile(const histogram *latency, unsigned per_mille, const char *name, char *text,
                               size_t size)
{
    if (!histogram_supports(latency, per_mille)) return 0;
    int length = snprintf(text, size, ", %s %" PRIu64, name, histogram_percentile(latency, per_mille));
    return (size_t)length < size ? (size_t)length : size - 1;
}

static const char *table_repeats_text(const repeats_group *of, char *text, size_t size)
{
    char interval[64] = " (an interval takes six times)", ends[200] = "";
    rounds_interval time = repeats_time(of);
    const histogram *allocs = of->sums[REPEATS_ALLOC];
    size_t used = table_percentile(allocs, 500, "p50", ends, sizeof ends);
    used += table_percentile(allocs, 990, "p99", ends + used, sizeof ends - used);
    (void)table_percentile(allocs, 999, "p99.9", ends + used, sizeof ends - used);
    if (of->ns_count >= ROUNDS_LEAST_COUNT) snprintf(interval, sizeof interval, " [%.1f,%.1f]", time.low, time.high);
    snprintf(text, size, ", %zu times: host ns/op %.1f%s; ns of all %" PRIu64 " allocations together: max %" PRIu64
             "%s", of->ns_count, time.median, interval, allocs->count, allocs->max, ends);
    return text;
}

size_t table_repeats(FILE *out, const row_list *list, table_sayer *say, size_t width)
{
    char text[512];
    repeats all = { NULL, 0, 0, 0 };
    size_t told = 0;
    int failed = 0;
    for (size_t index = 0; index < list->count && !failed; index++) {
        if (!list->rows[index].is_baseline) failed = repeats_add(&all, &list->rows[index]);
    }
    for (size_t at = 0; at < all.count && !failed; at++) {
        const repeats_group *of = &all.groups[at];
        if (of->ns_count > 1 && of->sums[REPEATS_ALLOC]) {
            told++;
            say(out, table_added(list, of->first), table_repeats_text(of, text, sizeof text), width);
        }
    }
    repeats_free(&all);
    return told;
}
