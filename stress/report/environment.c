/* What measured times depend on beside the device, and the record of a CUDA device, printed. */
#include "writers.h"

#include <inttypes.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "../base/text.h"

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

/* null: it is not known, "". */
static void host_text(FILE *out, const char *before, const char *name, const char *text)
{
    fprintf(out, "%s\"%s\":", before, name);
    if (*text) json_text(out, text);
    else fputs("null", out);
}

void host_json(FILE *out, const char *const *argv)
{
    char text[128];
    struct utsname system;
    time_t now = time(NULL);
    const struct tm *parts = gmtime(&now);
    host_text(out, "{", "compiler", HOST_COMPILER);
    host_text(out, ",", "flags", GPUARENA_FLAGS);
    host_text(out, ",", "cpu", host_cpu(text, sizeof text));
    host_text(out, ",", "governor", host_file_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "", text,
                                                   sizeof text));
    text[0] = '\0';
    if (uname(&system) >= 0) snprintf(text, sizeof text, "%.60s %.60s", system.sysname, system.release);
    host_text(out, ",", "kernel", text);
    if (!parts || !strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", parts)) text[0] = '\0';
    host_text(out, ",", "date", text);
    fputs(",\"argv\":[", out);
    for (size_t at = 0; argv && argv[at]; at++) {
        if (at) fputc(',', out);
        json_text(out, argv[at]);
    }
    fprintf(out, "],\"cpus\":%ld,\"load\":%s}", sysconf(_SC_NPROCESSORS_ONLN),
            *host_load(text, sizeof text) ? text : "null");
}

const char *host_line(char *text, size_t size)
{
    char cpu[128], load[32];
    snprintf(text, size, "%s, %s; %s, %ld processors, load %s", HOST_COMPILER, GPUARENA_FLAGS,
             host_cpu(cpu, sizeof cpu), sysconf(_SC_NPROCESSORS_ONLN), host_load(load, sizeof load));
    return text;
}

void environment_json(FILE *out, const cuda_environment *self)
{
    int driver = self->driver_version, runtime = self->runtime_version;
    char processes[16] = "null";
    if (self->process_count >= 0) snprintf(processes, sizeof processes, "%d", self->process_count);
    host_text(out, "{", "name", self->name);
    fprintf(out, ",\"uuid\":\"%s\",\"total_bytes\":%" PRIu64 ",\"other_bytes\":%" PRIu64, self->uuid,
            self->total_bytes, self->other_bytes);
    host_text(out, ",", "driver", self->driver);
    fprintf(out, ",\"driver_cuda\":\"%d.%d\",\"runtime_cuda\":\"%d.%d\",\"other_processes\":%s", driver / 1000,
            driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10, processes);
    fprintf(out, ",\"free_bytes\":%" PRIu64 ",\"pci\":\"%s\",\"compute_capability\":\"%d.%d\",\"multiprocessors\":%d,"
            "\"ecc\":%s}", self->total_bytes - self->other_bytes, self->pci, self->capability / 10,
            self->capability % 10, self->multiprocessors, self->corrects ? "true" : "false");
}
