/* Rows of one name, added up. */
#include "repeats.h"

#include <stdlib.h>
#include <string.h>

#include "../base/program.h"

void repeats_parts(const row *of, const histogram *parts[REPEATS_PARTS])
{
    const latencies *times = of->times;
    const arrivals *rated = of->arrivals;
    const histogram *const found[REPEATS_PARTS] = {
        times ? &times->allocs : NULL, times ? &times->hits : NULL, times ? &times->misses : NULL,
        times ? &times->frees : NULL, rated ? &rated->waited : NULL, rated ? &rated->served : NULL,
    };
    memcpy(parts, found, sizeof found);
}

static void repeats_take(repeats *self, const row *made)
{
    const histogram *parts[REPEATS_PARTS];
    repeats_parts(made, parts);
    for (int part = 0; part < REPEATS_PARTS; part++) {
        if (!parts[part]) continue;
        if (!self->sums[part]) self->sums[part] = program_need(1, sizeof *self->sums[part]);
        histogram_merge(self->sums[part], parts[part]);
    }
}

int repeats_of(repeats *made, const case_index *in, size_t row_index)
{
    const row *first = &in->list->rows[row_index];
    memset(made, 0, sizeof *made);
    if (case_is_repeat(in, row_index)) return 0;
    row_list rows = case_rows(in, first, case_policy(first));
    made->count = rows.count;
    made->ns = case_samples(&rows, COLUMN_HOST_NS, 1);
    for (size_t at = 0; at < rows.count; at++) repeats_take(made, &rows.rows[at]);
    free(rows.rows);
    return made->count > 1;
}

void repeats_free(repeats *self)
{
    for (int part = 0; part < REPEATS_PARTS; part++) free(self->sums[part]);
}
