/* JSON, schema gpuarena-stress/1: keys may be added, and keep their meaning. Keys of a case are the CSV's columns;
   cases of `run` have the oom_ columns in an object or null, and latencies. Numbers are JSON numbers, and null if
   they were not measured. Each case is on one line. */
#include "output.h"

#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "../../gpuarena.h"

/* ---- The machine that times were measured on, and a CUDA device */

#if defined(__clang__)
#define HOST_COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define HOST_COMPILER "gcc " __VERSION__
#else
#define HOST_COMPILER "unknown"
#endif
#ifndef GPUARENA_FLAGS                           /* the Makefile defines it */
#define GPUARENA_FLAGS "unknown"
#endif

typedef struct host { char cpu[128], governor[128], load[32]; } host;        /* "": not known */

/* Reads the text behind `key`, colon and spaces in the first line that begins with the key. */
static void host_file_line(const char *path, const char *key, char *text, size_t size)
{
    char line[256];
    FILE *file = fopen(path, "r");
    text[0] = '\0';
    while (file && !text[0] && fgets(line, sizeof line, file)) {
        if (strncmp(line, key, strlen(key))) continue;
        const char *at = line + strlen(key);
        at += strspn(at, " \t:");
        snprintf(text, size, "%.*s", (int)strcspn(at, "\n"), at);
    }
    if (file) fclose(file);
}

static host host_of_this(void)
{
    host made;
    host_file_line("/proc/cpuinfo", "model name", made.cpu, sizeof made.cpu);
    host_file_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "", made.governor, sizeof made.governor);
    host_file_line("/proc/loadavg", "", made.load, sizeof made.load);
    made.load[strspn(made.load, "0123456789.")] = '\0';          /* the first number of three */
    return made;
}

const char *host_line(char *text, size_t size)
{
    const host found = host_of_this();
    snprintf(text, size, "%s, %s; %s, %ld processors, load %s", HOST_COMPILER, GPUARENA_FLAGS, found.cpu,
             sysconf(_SC_NPROCESSORS_ONLN), found.load);
    return text;
}

/* NULL, which is null in JSON, for a text that is not known. */
static const char *json_known(const char *text)
{
    return *text ? text : NULL;
}

static void json_host(FILE *out, const char *const *argv)
{
    const host found = host_of_this();
    char kernel[128] = "", date[32];
    struct utsname system;
    time_t now = time(NULL);
    const struct tm *parts = gmtime(&now);
    if (uname(&system) >= 0) snprintf(kernel, sizeof kernel, "%.60s %.60s", system.sysname, system.release);
    if (!parts || !strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", parts)) date[0] = '\0';
    text_print(out, json_text, ",\"host\":{\"compiler\":%s,\"flags\":%s,\"cpu\":%s,\"governor\":%s,\"kernel\":%s,"
               "\"date\":%s,\"argv\":[", HOST_COMPILER, json_known(GPUARENA_FLAGS), json_known(found.cpu),
               json_known(found.governor), json_known(kernel), json_known(date));
    for (size_t at = 0; argv[at]; at++) text_print(out, json_text, at ? ",%s" : "%s", argv[at]);
    fprintf(out, "],\"cpus\":%ld,\"load\":%s}", sysconf(_SC_NPROCESSORS_ONLN), *found.load ? found.load : "null");
}

void environment_json(FILE *out, const cuda_environment *self)
{
    int driver = self->driver_version, runtime = self->runtime_version;
    char processes[16] = "null";
    if (self->process_count >= 0) snprintf(processes, sizeof processes, "%d", self->process_count);
    text_print(out, json_text, "{\"name\":%s,\"uuid\":%s,\"total_bytes\":%" PRIu64 ",\"other_bytes\":%" PRIu64
               ",\"driver\":%s", json_known(self->name), self->uuid, self->total_bytes, self->other_bytes,
               json_known(self->driver));
    fprintf(out, ",\"driver_cuda\":\"%d.%d\",\"runtime_cuda\":\"%d.%d\",\"other_processes\":%s", driver / 1000,
            driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10, processes);
    fprintf(out, ",\"free_bytes\":%" PRIu64 ",\"pci\":\"%s\",\"compute_capability\":\"%d.%d\",\"multiprocessors\":%d,"
            "\"ecc\":%s}", self->total_bytes - self->other_bytes, self->pci, self->capability / 10,
            self->capability % 10, self->multiprocessors, self->corrects ? "true" : "false");
}

/* ---- Rows, and repeats of them */

static void json_cell(FILE *out, const row *shown, row_column column, size_t cut)
{
    char text[CELL_ROOM];
    const cell *value = &shown->cells[column];
    fprintf(out, "\"%s\":", row_table[column].name + cut);
    if (value->kind == CELL_NONE) json_text(out, NULL);
    else if (value->kind == CELL_TEXT || value->kind == CELL_HEX) json_text(out, cell_text(value, text));
    else fputs(cell_text(value, text), out);
}

/* Writes ,"name":{..}: count, sum, maximum and buckets. has_percentiles: also percentiles, null where the histogram
   supports none. */
static void json_histogram(FILE *out, const char *name, const histogram *latency, int has_percentiles)
{
    static const struct { const char *name; unsigned per_mille; } shown[] = {
        { "p50", 500 }, { "p90", 900 }, { "p99", 990 }, { "p999", 999 },
    };
    const char *comma = "";
    if (!latency) return;
    fprintf(out, ",\"%s\":{\"n\":%" PRIu64 ",\"sum\":%" PRIu64 ",\"max\":%" PRIu64, name, latency->count,
            latency->sum, latency->max);
    for (size_t at = 0; has_percentiles && at < sizeof shown / sizeof shown[0]; at++) {
        fprintf(out, ",\"%s\":", shown[at].name);
        if (!histogram_supports(latency, shown[at].per_mille)) fputs("null", out);
        else fprintf(out, "%" PRIu64, histogram_percentile(latency, shown[at].per_mille));
    }
    fputs(",\"bins\":[", out);
    for (size_t bucket = 0; bucket < HISTOGRAM_BUCKETS; bucket++) {
        if (!latency->buckets[bucket]) continue;
        fprintf(out, "%s[%" PRIu64 ",%" PRIu64 "]", comma, histogram_lower(bucket), latency->buckets[bucket]);
        comma = ",";
    }
    fputs("]}", out);
}

/* Writes the parts that exist. */
static void json_parts(FILE *out, const char *name, const char *unit, const histogram *const *parts, int from,
                       int end, int has_percentiles)
{
    static const char *const names[REPEATS_PARTS] = { "alloc", "hit", "miss", "free", "waited", "served" };
    if (!parts[from]) return;
    fprintf(out, ",\"%s\":{\"unit\":\"%s\"", name, unit);
    for (int part = from; part < end; part++) json_histogram(out, names[part], parts[part], has_percentiles);
    fputc('}', out);
}

static void json_row(FILE *out, const row *shown, row_kind kind)
{
    char before = '{';
    for (const row_column *at = row_columns(kind); *at != COLUMN_COUNT; at++) {
        if (*at >= COLUMN_OOM_OP && *at <= COLUMN_OOM_REASON) continue;
        fputc(before, out);
        json_cell(out, shown, *at, 0);
        before = ',';
    }
    if (row_is_run(kind)) {
        const histogram *parts[REPEATS_PARTS];
        repeats_parts(shown, parts);
        const int is_refused = shown->cells[COLUMN_OOM_OP].kind != CELL_NONE;
        fputs(is_refused ? ",\"oom\":{" : ",\"oom\":null", out);
        for (int column = COLUMN_OOM_OP; is_refused && column <= COLUMN_OOM_REASON; column++) {
            json_cell(out, shown, (row_column)column, strlen("oom_"));
            fputc(',', out);
        }
        if (is_refused) text_print(out, json_text, "\"text\":%s}", shown->note);
        if (!shown->times) fputs(",\"lat\":null", out);
        json_parts(out, "lat", "ns", parts, REPEATS_ALLOC, REPEATS_WAITED, 0);
        json_parts(out, "rate", "vns", parts, REPEATS_WAITED, REPEATS_PARTS, 0);
    }
    fputc('}', out);
}

/* Writes the repeats of rows that occur more than once. */
static void json_repeats(FILE *out, const row_list *list)
{
    const char *comma = ",\"repeats\":[";
    case_index cases;
    case_index_make(&cases, list, list);
    for (size_t index = 0; index < list->count; index++) {
        repeats of;
        if (!repeats_of(&of, &cases, index)) continue;
        fprintf(out, "%s\n{", comma);
        for (int column = COLUMN_WORKLOAD; column <= COLUMN_SEED; column++) {
            json_cell(out, &list->rows[index], (row_column)column, 0);
            fputc(',', out);
        }
        fprintf(out, "\"repeats\":%zu,\"host_ns_per_op\":", of.count);
        if (!of.ns.count) fputs("null", out);
        else fprintf(out, "{\"n\":%zu,\"median\":%.1Lf,", of.ns.count, of.ns.middle);
        if (of.ns.is_known) fprintf(out, "\"low\":%.1Lf,\"high\":%.1Lf}", of.ns.low, of.ns.high);
        else if (of.ns.count) fputs("\"low\":null,\"high\":null}", out);      /* below six: no interval of 95 % */
        json_parts(out, "lat", "ns", of.sums, REPEATS_ALLOC, REPEATS_WAITED, 1);
        json_parts(out, "rate", "vns", of.sums, REPEATS_WAITED, REPEATS_PARTS, 1);
        fputc('}', out);
        comma = ",";
    }
    case_index_free(&cases);
    if (comma[1] == '\0') fputs("\n]", out);
}

/* Without measured times the document does not tell the host or the date: on a simulated device equal runs give equal
   bytes. With measured times it describes the host they were measured on. */
static void json_write(FILE *out, const report *material)
{
    const row_list *list = &material->list;
    const cuda_environment *environment = material->environment;
    size_t timed = 0;
    for (size_t index = 0; index < list->count; index++) timed += list->rows[index].times != NULL;
    text_print(out, json_text, "{\"schema\":\"gpuarena-stress/1\",\"version\":\"" GPUARENA_VERSION_TEXT
               "\",\"device\":{\"kind\":%s,\"name\":%s}", environment ? "cuda" : "sim", material->device);
    if (list->partial) text_print(out, json_text, ",\"partial\":{\"text\":%s}", list->partial);
    if (list->shard) text_print(out, json_text, ",\"shard\":%s", list->shard);
    if (timed) json_host(out, material->asked->argv);
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
