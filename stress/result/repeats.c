/* Groups by name, added up; and their part of JSON. */
#include "repeats.h"

#include <stdlib.h>
#include <string.h>

#include "../base/array.h"

#include "json.h"

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

/* Rows of a workload follow one another: the group is one of the last. */
/* The group that one more row of this name belongs to; NULL, -1: no host memory. found NULL: the row has none. */
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

/* ---- A case as json.c writes it, read again: its name, its time and its histograms */

#define REPEATS_MOST_COUNT ((uint64_t)1 << 56)   /* samples of a histogram: so sums of many do not wrap */

/* From behind this text on; bytes NULL: it is not in there. In strings a quote has a backslash before it. */
static slice repeats_behind(slice text, const char *what)
{
    size_t length = strlen(what);
    const slice none = { NULL, 0 };
    for (size_t at = 0; at + length <= text.length; at++) {
        if (memcmp(text.bytes + at, what, length)) continue;
        const slice rest = { text.bytes + at + length, text.length - at - length };
        return rest;
    }
    return none;
}

static int repeats_eat(slice *rest, const char *what)
{
    size_t length = strlen(what);
    if (!slice_begins(*rest, what)) return 0;
    rest->bytes += length;
    rest->length -= length;
    return 1;
}

static int repeats_number(slice *rest, uint64_t *number)
{
    slice digits = { rest->bytes, 0 };
    while (digits.length < rest->length && digits.bytes[digits.length] >= '0' && digits.bytes[digits.length] <= '9') {
        digits.length++;
    }
    rest->bytes += digits.length;
    rest->length -= digits.length;
    return slice_decimal(digits, number);
}

/* [lower edge,how many] and so on, in order: an edge that is none, or comes out of order, is another layout. */
static int repeats_bins(slice *rest, histogram *made)
{
    uint64_t lower, count, total = 0;
    size_t next = 0;
    while (repeats_eat(rest, "[")) {
        if (!repeats_number(rest, &lower) || !repeats_eat(rest, ",") || !repeats_number(rest, &count)
            || !repeats_eat(rest, "]")) return 0;
        size_t bucket = histogram_bucket(lower);
        if (bucket < next || histogram_lower(bucket) != lower || count > REPEATS_MOST_COUNT) return 0;
        made->buckets[bucket] = count;
        total += count;
        next = bucket + 1;
        (void)repeats_eat(rest, ",");
    }
    int is_max_there = next ? histogram_bucket(made->max) == next - 1 : !made->max;
    return repeats_eat(rest, "]") && total == made->count && is_max_there;
}

static int repeats_histogram(slice *rest, const char *name, histogram *made)
{
    memset(made, 0, sizeof *made);
    return repeats_eat(rest, "\"") && repeats_eat(rest, name) && repeats_eat(rest, "\":{\"n\":")
        && repeats_number(rest, &made->count) && made->count <= REPEATS_MOST_COUNT
        && repeats_eat(rest, ",\"sum\":") && repeats_number(rest, &made->sum)
        && repeats_eat(rest, ",\"max\":") && repeats_number(rest, &made->max)
        && repeats_eat(rest, ",\"bins\":[") && repeats_bins(rest, made) && repeats_eat(rest, "}");
}

/* 1; 0: odd; -1: no host memory. */
static int repeats_read_parts(repeats_group *of, slice rest, int from, int end)
{
    histogram found;
    for (int part = from; part < end; part++) {
        if (part > from && !repeats_eat(&rest, ",")) return 0;
        if (!repeats_histogram(&rest, repeats_names[part], &found)) return 0;
        if (repeats_take(of, (repeats_part)part, &found)) return -1;
    }
    return repeats_eat(&rest, "}");
}

static int repeats_read_ns(repeats_group *of, slice line)
{
    char number[32], *end;
    slice rest = repeats_behind(line, ",\"host_ns_per_op\":");
    if (!rest.bytes) return 0;
    if (slice_begins(rest, "null")) return 1;
    size_t length = 0;
    while (length < rest.length && length < sizeof number - 1 && strchr("0123456789.", rest.bytes[length])) length++;
    memcpy(number, rest.bytes, length);
    number[length] = '\0';
    double ns = strtod(number, &end);
    return !length || *end ? 0 : repeats_take_ns(of, ns) ? -1 : 1;
}

int repeats_add_line(repeats *self, slice line, int *is_odd)
{
    slice lat = repeats_behind(line, ",\"lat\":"), rate = repeats_behind(line, ",\"rate\":{\"unit\":\"vns\",");
    slice behind = repeats_behind(line, ",\"ops\":"), name = { line.bytes + 1, 0 };
    *is_odd = 0;
    if (!lat.bytes) return 0;                    /* of another command than run */
    *is_odd = !behind.bytes || !slice_begins(line, "{");
    if (*is_odd) return -1;
    name.length = (size_t)(behind.bytes - name.bytes) - strlen(",\"ops\":");
    repeats_group *of = repeats_group_of(self, name);
    int read = of ? repeats_read_ns(of, line) : -1;
    if (read > 0 && repeats_eat(&lat, "{\"unit\":\"ns\",")) {
        read = repeats_read_parts(of, lat, REPEATS_ALLOC, REPEATS_WAITED);
    } else if (read > 0) read = slice_begins(lat, "null");
    if (read > 0 && rate.bytes) read = repeats_read_parts(of, rate, REPEATS_WAITED, REPEATS_PARTS);
    *is_odd = !read;
    return read > 0 ? 0 : -1;
}
