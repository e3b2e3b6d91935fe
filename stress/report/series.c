/* The points of pictures as CSV: samples over time, and latencies at percentiles. Every point of a line in a figure
   is one of these rows. Samples are the record's; percentiles are those with enough samples. */
#include "output.h"

#include "../result/csv.h"

const latency_point latency_points[LATENCY_POINTS] = {
    { 500, "p50" }, { 750, "p75" }, { 900, "p90" }, { 950, "p95" }, { 990, "p99" },
    { 995, "p99.5" }, { 999, "p99.9" },
};

/* Writes the samples. A sample is taken after its op. An op that begins a round or a step may also have a sample from
   before it, which comes first. free_bytes include pending ones. Of every 1024th of the ops the samples with an
   extreme figure are kept. */
static void series_write(FILE *out, const report *material)
{
    const row_list *list = &material->list;
    fputs("row,workload,policy,op,now_vns,requested_bytes,live_bytes,reserved_bytes,pending_bytes,free_bytes,"
          "largest_free_bytes,stranded_bytes\n", out);
    for (size_t index = 0; index < list->count; index++) {
        const row *shown = &list->rows[index];
        const record *drawn = shown->recording;
        for (size_t at = 0; drawn && at < drawn->sample_count; at++) {
            const record_sample *sample = &drawn->samples[at];
            const memory_use *use = &sample->use;
            text_print(out, csv_text, "%zu,%s,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
                       ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", index, row_workload(shown), row_policy(shown),
                       sample->op, sample->now_vns, use->requested_bytes, use->live_bytes, use->reserved_bytes,
                       use->pending_bytes, use->free_bytes, use->largest_bytes, use->stranded_bytes);
        }
    }
    if (list->partial) fprintf(out, CSV_PARTIAL "%s\n", list->partial);
}

const output_kind output_series = {
    "series", "run", 0, RECORD_SERIES, series_write,
    "of run: samples over time, as CSV: of 1,024 parts of the ops those that are extreme in something",
};

static void latency_row(FILE *out, const row *shown, size_t number, const char *call, const histogram *latency)
{
    for (size_t at = 0; latency && at < LATENCY_POINTS; at++) {
        if (!histogram_supports(latency, latency_points[at].per_mille)) continue;
        text_print(out, csv_text, "%zu,%s,%s,%s,%u,%" PRIu64 "\n", number, row_workload(shown), row_policy(shown),
                   call, latency_points[at].per_mille, histogram_percentile(latency, latency_points[at].per_mille));
    }
}

static void latency_write(FILE *out, const report *material)
{
    const row_list *list = &material->list;
    fputs("row,workload,policy,call,per_mille,ns\n", out);
    for (size_t index = 0; index < list->count; index++) {
        const row *shown = &list->rows[index];
        latency_row(out, shown, index, "alloc", shown->times ? &shown->times->allocs : NULL);
        latency_row(out, shown, index, "free", shown->times ? &shown->times->frees : NULL);
    }
    if (list->partial) fprintf(out, CSV_PARTIAL "%s\n", list->partial);
}

const output_kind output_latency = {
    "latency", "run", 0, 0, latency_write,
    "of run: percentiles of allocations and frees, as CSV, where they were timed",
};
