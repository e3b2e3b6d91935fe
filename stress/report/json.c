/* JSON, schema gpuarena-stress/1: keys are added, and keep their meaning. Keys of a case are the CSV's columns, of
   `run` the oom_ ones in an object or null, and latencies; numbers are numbers, what was not measured is null. A case
   stands on a line. */
#include "writers.h"

#include <string.h>

#include "../../gpuarena.h"
#include "../result/repeats.h"
#include "../base/text.h"

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
    if (shown->times) {
        fputs("{\"unit\":\"ns\",", out);
        json_histogram(out, "alloc", &shown->times->allocs, 0);
        fputc(',', out);
        json_histogram(out, "hit", &shown->times->hits, 0);
        fputc(',', out);
        json_histogram(out, "miss", &shown->times->misses, 0);
        fputc(',', out);
        json_histogram(out, "free", &shown->times->frees, 0);
        fputc('}', out);
    } else {
        fputs("null", out);
    }
    if (!shown->arrivals) return;
    fputs(",\"rate\":{\"unit\":\"vns\",", out);
    json_histogram(out, "waited", &shown->arrivals->waited, 0);
    fputc(',', out);
    json_histogram(out, "served", &shown->arrivals->served, 0);
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

/* No host memory for the sums: the rows are all there, and can be added up by whoever has some. */
static void json_repeats(FILE *out, const row_list *list)
{
    repeats all = { NULL, 0, 0, 0 };
    if (!repeats_add_all(&all, list)) repeats_write(out, &all);
    repeats_free(&all);
}

static int json_is_timed(const row_list *list)
{
    size_t timed = 0;
    for (size_t index = 0; index < list->count; index++) timed += list->rows[index].times != NULL;
    return timed != 0;
}

static void json_host(FILE *out, const row_list *list, const char *const *argv)
{
    if (!json_is_timed(list)) return;
    fputs(",\"host\":", out);
    host_json(out, argv);
}

/* On a simulated device there is no word of how or when it was made: equal runs give equal bytes. Where there are
   measured times, what they were measured on stands beside them. */
void json_write(FILE *out, const output_material *material)
{
    const row_list *list = material->list;
    const cuda_environment *environment = material->environment;
    fprintf(out, "{\"schema\":\"gpuarena-stress/1\",\"version\":\"" GPUARENA_VERSION_TEXT
                 "\",\"device\":{\"kind\":\"%s\",\"name\":", environment ? "cuda" : "sim");
    json_text(out, material->device);
    if (list->partial) {
        fputs("},\"partial\":{\"text\":", out);
        json_text(out, list->partial);
    }
    fputc('}', out);
    if (list->shard) {
        fputs(",\"shard\":", out);
        json_text(out, list->shard);
    }
    json_host(out, list, material->argv);
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
