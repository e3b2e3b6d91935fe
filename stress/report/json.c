/* Rows as one JSON document, one case a line.
   It must not know how a number came about.
   Tested by tests/test_report.c and tests/run.t. */
#include "json.h"

#include <inttypes.h>
#include <string.h>

#include "../../gpuarena.h"
#include "environment.h"
#include "host.h"
#include "utf8.h"

void json_text(FILE *out, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    fputc('"', out);
    while (*at) {
        size_t length = utf8_length(at);
        if (!length) fputs("\\ufffd", out);
        else if (*at == '"' || *at == '\\') fprintf(out, "\\%c", *at);
        else if (*at < 0x20) fprintf(out, "\\u%04x", (unsigned)*at);
        else fwrite(at, 1, length, out);
        at += length ? length : 1;
    }
    fputc('"', out);
}

static void json_cell(FILE *out, const cell *value)
{
    char text[64];
    if (value->kind == CELL_NONE) fputs("null", out);
    else if (value->kind == CELL_TEXT) json_text(out, value->text);
    else fprintf(out, value->kind == CELL_HEX ? "\"%s\"" : "%s", cell_print(value, text, sizeof text));
}

static void json_histogram(FILE *out, const char *name, const histogram *latency)
{
    const char *comma = "";
    fprintf(out, "\"%s\":{\"n\":%" PRIu64 ",\"sum\":%" PRIu64 ",\"max\":%" PRIu64 ",\"bins\":[", name, latency->count,
            latency->sum, latency->max);
    for (size_t bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
        if (!latency->buckets[bucket]) continue;
        fprintf(out, "%s[%" PRIu64 ",%" PRIu64 "]", comma, histogram_lower(bucket), latency->buckets[bucket]);
        comma = ",";
    }
    fputs("]}", out);
}

/* Everything known of the first refusal, or null where there was none. */
static void json_oom(FILE *out, const row *shown)
{
    if (shown->cells[COLUMN_OOM_OP].kind == CELL_NONE) {
        fputs("null", out);
        return;
    }
    for (int column = COLUMN_OOM_OP; column <= COLUMN_OOM_REASON; column++) {
        fprintf(out, "%s\"%s\":", column == COLUMN_OOM_OP ? "{" : ",",
                row_column_name((row_column)column) + strlen("oom_"));
        json_cell(out, &shown->cells[column]);
    }
    fputs(",\"text\":", out);
    json_text(out, shown->note);
    fputc('}', out);
}

/* What only `run` has, beside its columns. */
static void json_run(FILE *out, const row *shown)
{
    fputs(",\"oom\":", out);
    json_oom(out, shown);
    fputs(",\"lat\":", out);
    if (shown->allocs && shown->frees) {
        fputs("{\"unit\":\"ns\",", out);
        json_histogram(out, "alloc", shown->allocs);
        fputc(',', out);
        if (shown->hits && shown->misses) {
            json_histogram(out, "hit", shown->hits);
            fputc(',', out);
            json_histogram(out, "miss", shown->misses);
            fputc(',', out);
        }
        json_histogram(out, "free", shown->frees);
        fputc('}', out);
    } else {
        fputs("null", out);
    }
    if (!shown->arrivals) return;
    fputs(",\"rate\":{\"unit\":\"vns\",", out);
    json_histogram(out, "waited", &shown->arrivals->waited);
    fputc(',', out);
    json_histogram(out, "served", &shown->arrivals->served);
    fputc('}', out);
}

static void json_row(FILE *out, const row *shown, row_kind kind)
{
    const row_column *columns;
    size_t count = row_columns(kind, &columns);
    for (size_t at = 0; at < count; at++) {
        if (columns[at] >= COLUMN_OOM_OP && columns[at] <= COLUMN_OOM_REASON) continue;
        fprintf(out, "%s\"%s\":", at ? "," : "{", row_column_name(columns[at]));
        json_cell(out, &shown->cells[columns[at]]);
    }
    if (row_is_run(kind)) json_run(out, shown);
    fputc('}', out);
}

static int json_is_timed(const row_list *list)
{
    size_t timed = 0;
    for (size_t index = 0; index < list->count; index++) timed += list->rows[index].allocs != NULL;
    return timed != 0;
}

void json_write(FILE *out, const row_list *list, const char *device, const cuda_environment *environment,
                int tells_host)
{
    const char *comma = "";
    fprintf(out, "{\"schema\":\"gpuarena-stress/1\",\"version\":\"" GPUARENA_VERSION_TEXT
                 "\",\"device\":{\"kind\":\"%s\",\"name\":", environment ? "cuda" : "sim");
    json_text(out, device);
    if (list->partial) {
        fputs("},\"partial\":{\"text\":", out);
        json_text(out, list->partial);
    }
    if (tells_host && json_is_timed(list)) {
        fputs("},\"host\":", out);
        host_json(out);
    } else {
        fputc('}', out);
    }
    if (environment) {
        fputs(",\"environment\":", out);
        environment_json(out, environment);
    }
    fputs(",\"cases\":[", out);
    for (size_t index = 0; index < list->count; index++) {
        if (list->rows[index].is_baseline) continue;
        fprintf(out, "%s\n", comma);
        json_row(out, &list->rows[index], list->kind);
        comma = ",";
    }
    fputs("\n]}\n", out);
}
