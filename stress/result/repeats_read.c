/* A case as json.c writes it, read again: its name, its time and its histograms.
   It must not know any other JSON: what is not as it was written is odd.
   Tested by tests/test_repeats.c and tests/shard.t. */
#include <stdlib.h>
#include <string.h>

#include "repeats_parts.h"

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
