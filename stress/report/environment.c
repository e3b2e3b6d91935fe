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

/* NULL, which is null in JSON: it is not known. */
static const char *host_known(const char *text)
{
    return *text ? text : NULL;
}

void host_json(FILE *out, const char *const *argv)
{
    char cpu[128], governor[128], load[32], kernel[128] = "", date[32];
    struct utsname system;
    time_t now = time(NULL);
    const struct tm *parts = gmtime(&now);
    if (uname(&system) >= 0) snprintf(kernel, sizeof kernel, "%.60s %.60s", system.sysname, system.release);
    if (!parts || !strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", parts)) date[0] = '\0';
    host_file_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "", governor, sizeof governor);
    text_print(out, json_text, "{\"compiler\":%s,\"flags\":%s,\"cpu\":%s,\"governor\":%s,\"kernel\":%s,\"date\":%s,"
               "\"argv\":[", HOST_COMPILER, host_known(GPUARENA_FLAGS), host_known(host_cpu(cpu, sizeof cpu)),
               host_known(governor), host_known(kernel), host_known(date));
    for (size_t at = 0; argv && argv[at]; at++) {
        if (at) fputc(',', out);
        json_text(out, argv[at]);
    }
    fprintf(out, "],\"cpus\":%ld,\"load\":%s}", sysconf(_SC_NPROCESSORS_ONLN),
            *host_load(load, sizeof load) ? load : "null");
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
    text_print(out, json_text, "{\"name\":%s,\"uuid\":%s,\"total_bytes\":%" PRIu64 ",\"other_bytes\":%" PRIu64
               ",\"driver\":%s", host_known(self->name), self->uuid, self->total_bytes, self->other_bytes,
               host_known(self->driver));
    fprintf(out, ",\"driver_cuda\":\"%d.%d\",\"runtime_cuda\":\"%d.%d\",\"other_processes\":%s", driver / 1000,
            driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10, processes);
    fprintf(out, ",\"free_bytes\":%" PRIu64 ",\"pci\":\"%s\",\"compute_capability\":\"%d.%d\",\"multiprocessors\":%d,"
            "\"ecc\":%s}", self->total_bytes - self->other_bytes, self->pci, self->capability / 10,
            self->capability % 10, self->multiprocessors, self->corrects ? "true" : "false");
}
