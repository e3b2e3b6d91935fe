/* Rows of one name, added up. */
#include "repeats.h"

#include <stdlib.h>
#include <string.h>

#include "../base/program.h"

static int repeats_alike(const row *one, const row *other)
{
    if (one->is_baseline || other->is_baseline) return 0;
    for (int column = COLUMN_WORKLOAD; column <= COLUMN_SEED; column++) {
        char left[CELL_ROOM], right[CELL_ROOM];
        if (strcmp(cell_text(&one->cells[column], left), cell_text(&other->cells[column], right))) return 0;
    }
    return 1;
}

static void repeats_take(repeats *self, const row *made)
{
    const latencies *times = made->times;
    const arrivals *rated = made->arrivals;
    const histogram *parts[REPEATS_PARTS] = {
        times ? &times->allocs : NULL, times ? &times->hits : NULL, times ? &times->misses : NULL,
        times ? &times->frees : NULL, rated ? &rated->waited : NULL, rated ? &rated->served : NULL,
    };
    char text[CELL_ROOM];
    const cell *ns = &made->cells[COLUMN_HOST_NS];
    if (ns->kind != CELL_NONE) self->ns[self->ns_count++] = strtod(cell_text(ns, text), NULL);
    for (int part = 0; part < REPEATS_PARTS; part++) {
        if (!parts[part]) continue;
        if (!self->sums[part]) self->sums[part] = program_need(1, sizeof *self->sums[part]);
        histogram_merge(self->sums[part], parts[part]);
    }
}

int repeats_of(repeats *made, const row_list *list, size_t row_index)
{
    const row *first = &list->rows[row_index];
    memset(made, 0, sizeof *made);
    for (size_t at = 0; at < list->count; at++) {
        if (!repeats_alike(&list->rows[at], first)) continue;
        if (at < row_index) return 0;
        made->count++;
    }
    if (made->count < 2) return 0;
    made->ns = program_need(made->count, sizeof *made->ns);
    for (size_t at = row_index; at < list->count; at++) {
        if (repeats_alike(&list->rows[at], first)) repeats_take(made, &list->rows[at]);
    }
    return 1;
}

void repeats_free(repeats *self)
{
    free(self->ns);
    for (int part = 0; part < REPEATS_PARTS; part++) free(self->sums[part]);
}

rounds_interval repeats_time(const repeats *of)
{
    return rounds_median(of->ns, of->ns_count);
}
