/* JSON, schema gpuarena-stress/1: keys are added, and keep their meaning. Keys of a case are the CSV's columns, of
   `run` the oom_ ones in an object or null, and latencies; numbers are numbers, what was not measured is null. A case
   stands on a line. */
#include "writers.h"

#include <inttypes.h>
#include <string.h>

#include "../../gpuarena.h"
#include "../result/gate.h"
#include "../base/text.h"

static void json_cell(FILE *out, const row *shown, row_column column, size_t cut)
{
    char text[CELL_ROOM];
    const cell *value = &shown->cells[column];
    fprintf(out, "\"%s\":", row_table[column].name + cut);
    if (value->kind == CELL_NONE) json_text(out, NULL);
    else if (value->kind == CELL_TEXT || value->kind == CELL_HEX) json_text(out, cell_text(value, text));
    else fputs(cell_text(value, text), out);
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

/* ,"name":{..}: count, sum, maximum and buckets; has_percentiles: and those that it supports, the others null. */
static void json_histogram(FILE *out, const char *name, const histogram *latency, int has_percentiles)
{
    const char *comma = "";
    if (!latency) return;
    fprintf(out, ",\"%s\":{\"n\":%" PRIu64 ",\"sum\":%" PRIu64 ",\"max\":%" PRIu64, name, latency->count,
            latency->sum, latency->max);
    if (has_percentiles) json_percentiles(out, latency);
    fputs(",\"bins\":[", out);
    for (size_t bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
        if (!latency->buckets[bucket]) continue;
        fprintf(out, "%s[%" PRIu64 ",%" PRIu64 "]", comma, histogram_lower(bucket), latency->buckets[bucket]);
        comma = ",";
    }
    fputs("]}", out);
}

/* Those of these parts that there are. */
static void json_parts(FILE *out, const char *name, const char *unit, const histogram *const *parts, int from,
                       int end, int has_percentiles)
{
    static const char *const names[REPEATS_PARTS] = { "alloc", "hit", "miss", "free", "waited", "served" };
    if (!parts[from]) return;
    fprintf(out, ",\"%s\":{\"unit\":\"%s\"", name, unit);
    for (int part = from; part < end; part++) json_histogram(out, names[part], parts[part], has_percentiles);
    fputc('}', out);
}

/* Everything known of the first refusal, or null where there was none. */
static void json_oom(FILE *out, const row *shown)
{
    if (shown->cells[COLUMN_OOM_OP].kind == CELL_NONE) {
        fputs("null", out);
        return;
    }
    for (int column = COLUMN_OOM_OP; column <= COLUMN_OOM_REASON; column++) {
        fputc(column == COLUMN_OOM_OP ? '{' : ',', out);
        json_cell(out, shown, (row_column)column, strlen("oom_"));
    }
    text_print(out, json_text, ",\"text\":%s}", shown->note);
}

/* What only `run` has, beside its columns. */
static void json_run(FILE *out, const row *shown)
{
    fputs(",\"oom\":", out);
    json_oom(out, shown);
    const histogram *parts[REPEATS_PARTS];
    repeats_parts(shown, parts);
    if (!shown->times) fputs(",\"lat\":null", out);
    json_parts(out, "lat", "ns", parts, REPEATS_ALLOC, REPEATS_WAITED, 0);
    json_parts(out, "rate", "vns", parts, REPEATS_WAITED, REPEATS_PARTS, 0);
}

static void json_row(FILE *out, const row *shown, row_kind kind)
{
    const row_column *columns;
    size_t count = row_columns(kind, &columns);
    for (size_t at = 0; at < count; at++) {
        if (columns[at] >= COLUMN_OOM_OP && columns[at] <= COLUMN_OOM_REASON) continue;
        fputc(at ? ',' : '{', out);
        json_cell(out, shown, columns[at], 0);
    }
    if (row_is_run(kind)) json_run(out, shown);
    fputc('}', out);
}

/* Below six there is no interval of 95 %. */
static void json_repeats_time(FILE *out, const interval *found)
{
    if (!found->count) {
        fputs("null", out);
        return;
    }
    fprintf(out, "{\"n\":%zu,\"median\":%.1Lf,", found->count, found->middle);
    if (!found->is_known) fputs("\"low\":null,\"high\":null}", out);
    else fprintf(out, "\"low\":%.1Lf,\"high\":%.1Lf}", found->low, found->high);
}

/* Rows that are there more than once. */
static void json_repeats(FILE *out, const row_list *list)
{
    const char *comma = ",\"repeats\":[";
    case_index cases;
    case_index_make(&cases, list, list);
    for (size_t index = 0; index < list->count; index++) {
        repeats of;
        if (repeats_of(&of, &cases, index)) {
            fprintf(out, "%s\n{", comma);
            for (int column = COLUMN_WORKLOAD; column <= COLUMN_SEED; column++) {
                json_cell(out, &list->rows[index], (row_column)column, 0);
                fputc(',', out);
            }
            fprintf(out, "\"repeats\":%zu,\"host_ns_per_op\":", of.count);
            json_repeats_time(out, &of.ns);
            const histogram *parts[REPEATS_PARTS];
            for (int part = 0; part < REPEATS_PARTS; part++) parts[part] = of.sums[part];
            json_parts(out, "lat", "ns", parts, REPEATS_ALLOC, REPEATS_WAITED, 1);
            json_parts(out, "rate", "vns", parts, REPEATS_WAITED, REPEATS_PARTS, 1);
            fputc('}', out);
            comma = ",";
        }
        repeats_free(&of);
    }
    case_index_free(&cases);
    if (comma[1] == '\0') fputs("\n]", out);
}

static void json_host(FILE *out, const row_list *list, const char *const *argv)
{
    size_t timed = 0;
    for (size_t index = 0; index < list->count; index++) timed += list->rows[index].times != NULL;
    if (!timed) return;
    fputs(",\"host\":", out);
    host_json(out, argv);
}

/* On a simulated device there is no word of how or when it was made: equal runs give equal bytes. Where there are
   measured times, what they were measured on stands beside them. */
static void json_write(FILE *out, const output_material *material)
{
    const row_list *list = material->list;
    const cuda_environment *environment = material->environment;
    text_print(out, json_text, "{\"schema\":\"gpuarena-stress/1\",\"version\":\"" GPUARENA_VERSION_TEXT
               "\",\"device\":{\"kind\":%s,\"name\":%s}", environment ? "cuda" : "sim", material->device);
    if (list->partial) text_print(out, json_text, ",\"partial\":{\"text\":%s}", list->partial);
    if (list->shard) text_print(out, json_text, ",\"shard\":%s", list->shard);
    json_host(out, list, material->asked ? material->asked->argv : NULL);
    if (environment) {
        fputs(",\"environment\":", out);
        environment_json(out, environment);
    }
    fputs(",\"cases\":[", out);
    for (size_t index = 0; index < list->count; index++) {
        fputs(index ? ",\n" : "\n", out);
        json_row(out, &list->rows[index], list->kind);
    }
    fputs("\n]", out);
    if (row_is_run(list->kind)) json_repeats(out, list);
    fputs("}\n", out);
}

const output_kind output_json = {
    "json", "run|capacity|batch|holes", 0, 0, json_write,
    "the same, with whole histograms of latencies: schema gpuarena-stress/1, stress/report/schema.json",
};
