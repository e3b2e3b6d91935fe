#include "writers.h"

#include <inttypes.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "../base/text.h"

/* ---- Asked of the compiler and of /proc, where that is */

#if defined(__clang__)
#define HOST_COMPILER "clang " __clang_version__
#elif defined(__GNUC__)
#define HOST_COMPILER "gcc " __VERSION__
#else
#define HOST_COMPILER "unknown"
#endif
#ifndef GPUARENA_FLAGS                           /* the Makefile says */
#define GPUARENA_FLAGS "unknown"
#endif

/* The text behind the first line's `key`, colon and spaces. "": there is none. */
static const char *host_file_line(const char *path, const char *key, char *text, size_t size)
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
    return text;
}

static const char *host_cpu(char *text, size_t size)
{
    return host_file_line("/proc/cpuinfo", "model name", text, size);
}

/* The first number of three. */
static const char *host_load(char *text, size_t size)
{
    host_file_line("/proc/loadavg", "", text, size);
    text[strspn(text, "0123456789.")] = '\0';
    return text;
}

static void host_text(FILE *out, const char *name, const char *text)
{
    fprintf(out, "\"%s\":", name);
    if (*text) json_text(out, text);
    else fputs("null", out);
    fputc(',', out);
}

/* Of processor 0: where clocks are not fixed, it decides how fast short measurements are. */
static const char *host_governor(char *text, size_t size)
{
    return host_file_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "", text, size);
}

static const char *host_kernel(char *text, size_t size)
{
    struct utsname found;
    text[0] = '\0';
    if (uname(&found) >= 0) snprintf(text, size, "%.60s %.60s", found.sysname, found.release);
    return text;
}

static const char *host_date(char *text, size_t size)
{
    time_t now = time(NULL);
    const struct tm *parts = gmtime(&now);
    if (!parts || !strftime(text, size, "%Y-%m-%dT%H:%M:%SZ", parts)) text[0] = '\0';
    return text;
}

static void host_words(FILE *out, const char *const *argv)
{
    fputs("\"argv\":[", out);
    for (size_t at = 0; argv && argv[at]; at++) {
        if (at) fputc(',', out);
        json_text(out, argv[at]);
    }
    fputs("],", out);
}

void host_json(FILE *out, const char *const *argv)
{
    char text[128];
    fputc('{', out);
    host_text(out, "compiler", HOST_COMPILER);
    host_text(out, "flags", GPUARENA_FLAGS);
    host_text(out, "cpu", host_cpu(text, sizeof text));
    host_text(out, "governor", host_governor(text, sizeof text));
    host_text(out, "kernel", host_kernel(text, sizeof text));
    host_text(out, "date", host_date(text, sizeof text));
    host_words(out, argv);
    fprintf(out, "\"cpus\":%ld,\"load\":%s}", sysconf(_SC_NPROCESSORS_ONLN),
            *host_load(text, sizeof text) ? text : "null");
}

const char *host_line(char *text, size_t size)
{
    char cpu[128], load[32];
    snprintf(text, size, "%s, %s; %s, %ld processors, load %s", HOST_COMPILER, GPUARENA_FLAGS,
             host_cpu(cpu, sizeof cpu), sysconf(_SC_NPROCESSORS_ONLN), host_load(load, sizeof load));
    return text;
}

/* ---- The record of a CUDA device, printed */

static void environment_version(FILE *out, const char *name, int version)
{
    fprintf(out, ",\"%s\":\"%d.%d\"", name, version / 1000, version % 1000 / 10);
}

void environment_json(FILE *out, const cuda_environment *self)
{
    fputs("{\"name\":", out);
    json_text(out, self->name);
    fprintf(out, ",\"uuid\":\"%s\",\"total_bytes\":%" PRIu64 ",\"other_bytes\":%" PRIu64 ",\"driver\":", self->uuid,
            self->total_bytes, self->other_bytes);
    if (self->driver[0]) json_text(out, self->driver);
    else fputs("null", out);
    environment_version(out, "driver_cuda", self->driver_version);
    environment_version(out, "runtime_cuda", self->runtime_version);
    fputs(",\"other_processes\":", out);
    if (self->process_count < 0) fputs("null", out);
    else fprintf(out, "%d", self->process_count);
    fprintf(out, ",\"free_bytes\":%" PRIu64 ",\"pci\":\"%s\",\"compute_capability\":\"%d.%d\",\"multiprocessors\":%d,"
            "\"ecc\":%s}", self->total_bytes - self->other_bytes, self->pci, self->capability / 10,
            self->capability % 10, self->multiprocessors, self->corrects ? "true" : "false");
}
