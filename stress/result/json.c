/* JSON of cells and histograms. */
#include "json.h"

#include <inttypes.h>

#include "../base/text.h"

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
