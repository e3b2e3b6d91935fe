/* Groups by name, added up; and their part of JSON. */
#include "repeats.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../base/array.h"
#include "../base/text.h"

/* ---- JSON of cells and histograms */

void json_cell(FILE *out, const cell *value)
{
    char text[64];
    if (value->kind == CELL_NONE) fputs("null", out);
    else if (value->kind == CELL_TEXT) json_text(out, value->text);
    else fprintf(out, value->kind == CELL_HEX ? "\"%s\"" : "%s", cell_print(value, text, sizeof text));
}

void json_cells(FILE *out, const row *shown, row_column from, row_column last)
{
    for (row_column column = from; column <= last; column = (row_column)(column + 1)) {
        fprintf(out, "%s\"%s\":", column == from ? "" : ",", row_column_name(column));
        json_cell(out, &shown->cells[column]);
    }
}

static void json_percentiles(FILE *out, const histogram *latency)
{
    static const struct { const char *name; unsigned per_mille; } shown[] = {
        { "p50", 500 }, { "p90", 900 }, { "p99", 990 }, { "p999", 999 },
    };
    for (size_t at = 0; at < sizeof shown / sizeof shown[0]; at++) {
        fprintf(out, ",\"%s\":", shown[at].name);
        if (!histogram_supports(latency, shown[at].per_mille)) fputs("null", out);
        else fprintf(out, "%" PRIu64, histogram_percentile(latency, shown[at].per_mille));
    }
}

void json_histogram(FILE *out, const char *name, const histogram *latency, int has_percentiles)
{
    const char *comma = "";
    fprintf(out, "\"%s\":{\"n\":%" PRIu64 ",\"sum\":%" PRIu64 ",\"max\":%" PRIu64, name, latency->count, latency->sum,
            latency->max);
    if (has_percentiles) json_percentiles(out, latency);
    fputs(",\"bins\":[", out);
    for (size_t bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
        if (!latency->buckets[bucket]) continue;
        fprintf(out, "%s[%" PRIu64 ",%" PRIu64 "]", comma, histogram_lower(bucket), latency->buckets[bucket]);
        comma = ",";
    }
    fputs("]}", out);
}

/* ---- Groups by name, added up */

static const char *const repeats_names[REPEATS_PARTS] = { "alloc", "hit", "miss", "free", "waited", "served" };

static repeats_group *repeats_new(repeats *self, slice name)
{
    if (ARRAY_RESERVE(self->groups, self->room, self->count + 1)) return NULL;
    repeats_group *made = &self->groups[self->count];
    memset(made, 0, sizeof *made);
    made->name = malloc(name.length + 1);
    if (!made->name) return NULL;
    memcpy(made->name, name.bytes, name.length);
    made->name[name.length] = '\0';
    made->first = self->added;
    self->count++;
    return made;
}

/* The group that one more row of this name belongs to: one of the last, as rows of a workload follow one another.
   NULL: no host memory. */
static repeats_group *repeats_group_of(repeats *self, slice name)
{
    repeats_group *found = NULL;
    for (size_t at = self->count; at && !found; at--) {
        if (slice_is(name, self->groups[at - 1].name)) found = &self->groups[at - 1];
    }
    if (!found) found = repeats_new(self, name);
    if (found) found->count++;
    self->added++;
    return found;
}

static int repeats_take_ns(repeats_group *of, double ns)
{
    if (ARRAY_RESERVE(of->ns, of->ns_room, of->ns_count + 1)) return -1;
    of->ns[of->ns_count++] = ns;
    return 0;
}

static int repeats_take(repeats_group *of, repeats_part part, const histogram *found)
{
    if (!found) return 0;
    if (!of->sums[part]) of->sums[part] = calloc(1, sizeof *of->sums[part]);
    if (!of->sums[part]) return -1;
    histogram_merge(of->sums[part], found);
    return 0;
}

static int repeats_take_row(repeats_group *of, const row *made)
{
    const latencies *times = made->times;
    const arrivals *rated = made->arrivals;
    const histogram *parts[REPEATS_PARTS] = {
        times ? &times->allocs : NULL, times ? &times->hits : NULL, times ? &times->misses : NULL,
        times ? &times->frees : NULL, rated ? &rated->waited : NULL, rated ? &rated->served : NULL,
    };
    char text[64];
    const cell *ns = &made->cells[COLUMN_HOST_NS];
    int failed = ns->kind != CELL_NONE && repeats_take_ns(of, strtod(cell_print(ns, text, sizeof text), NULL));
    for (int part = 0; part < REPEATS_PARTS && !failed; part++) {
        failed = repeats_take(of, (repeats_part)part, parts[part]);
    }
    return failed;
}

int repeats_add(repeats *self, const row *made)
{
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out) return -1;
    json_cells(out, made, COLUMN_WORKLOAD, COLUMN_SEED);
    int failed = fclose(out) != 0;
    repeats_group *of = failed ? NULL : repeats_group_of(self, slice_of(text));
    failed = !of || repeats_take_row(of, made);
    free(text);
    return failed ? -1 : 0;
}

int repeats_add_all(repeats *self, const row_list *list)
{
    int failed = 0;
    for (size_t index = 0; index < list->count && !failed; index++) {
        if (!list->rows[index].is_baseline) failed = repeats_add(self, &list->rows[index]);
    }
    return failed;
}

void repeats_free(repeats *self)
{
    for (size_t at = 0; at < self->count; at++) {
        free(self->groups[at].name);
        free(self->groups[at].ns);
        for (int part = 0; part < REPEATS_PARTS; part++) free(self->groups[at].sums[part]);
    }
    free(self->groups);
    memset(self, 0, sizeof *self);
}

int repeats_are_there(const repeats *self)
{
    return self->added > self->count;
}

rounds_interval repeats_time(const repeats_group *of)
{
    return rounds_median(of->ns, of->ns_count);
}

/* Below six there is no interval of 95 %. */
static void repeats_write_time(FILE *out, const repeats_group *of)
{
    rounds_interval found;
    if (!of->ns_count) {
        fputs("null", out);
        return;
    }
    found = repeats_time(of);
    fprintf(out, "{\"n\":%zu,\"median\":%.1f,", of->ns_count, found.median);
    if (of->ns_count < ROUNDS_LEAST_COUNT) fputs("\"low\":null,\"high\":null}", out);
    else fprintf(out, "\"low\":%.1f,\"high\":%.1f}", found.low, found.high);
}

static void repeats_write_parts(FILE *out, const char *name, const char *unit, const repeats_group *of, int from,
                                int end)
{
    if (!of->sums[from]) return;
    fprintf(out, ",\"%s\":{\"unit\":\"%s\"", name, unit);
    for (int part = from; part < end; part++) {
        if (!of->sums[part]) continue;
        fputc(',', out);
        json_histogram(out, repeats_names[part], of->sums[part], 1);
    }
    fputc('}', out);
}

void repeats_write(FILE *out, const repeats *self)
{
    const char *comma = ",\"repeats\":[";
    if (!repeats_are_there(self)) return;
    for (size_t at = 0; at < self->count; at++) {
        const repeats_group *of = &self->groups[at];
        if (of->count < 2) continue;
        fprintf(out, "%s\n{%s,\"repeats\":%zu,\"host_ns_per_op\":", comma, of->name, of->count);
        repeats_write_time(out, of);
        repeats_write_parts(out, "lat", "ns", of, REPEATS_ALLOC, REPEATS_WAITED);
        repeats_write_parts(out, "rate", "vns", of, REPEATS_WAITED, REPEATS_PARTS);
        fputc('}', out);
        comma = ",";
    }
    fputs("\n]", out);
}
