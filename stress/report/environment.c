/* The record of a CUDA device, printed.
   It must not ask CUDA anything.
   Tested by tests/test_report.c. */
#include "environment.h"

#include <inttypes.h>
#include <string.h>

#include "json.h"
#include "plot.h"

static void environment_others(const cuda_environment *self, char *text, size_t size)
{
    if (self->process_count < 0) snprintf(text, size, "other processes: unknown");
    else if (!self->process_count) snprintf(text, size, "no other process");
    else snprintf(text, size, "%d other process%s", self->process_count, self->process_count == 1 ? "" : "es");
}

const char *environment_line(const cuda_environment *self, char *text, size_t size)
{
    char others[48], total[16], in_use[16];
    environment_others(self, others, sizeof others);
    snprintf(text, size, "%s, %s, %s of it in use before the first op, driver %s%sCUDA %d.%d, runtime %d.%d, %s",
             self->name, plot_bytes(self->total_bytes, total, sizeof total),
             plot_bytes(self->other_bytes, in_use, sizeof in_use), self->driver,
             self->driver[0] ? ", up to " : "for ", self->driver_version / 1000, self->driver_version % 1000 / 10,
             self->runtime_version / 1000, self->runtime_version % 1000 / 10, others);
    return text;
}

static void environment_version(FILE *out, const char *name, int version)
{
    fprintf(out, ",\"%s\":\"%d.%d\"", name, version / 1000, version % 1000 / 10);
}

/* "" is not known; so is what nvidia-smi says it does not know or support: [N/A], [Not Supported]. */
static void environment_text(FILE *out, const char *name, const char *text, size_t length)
{
    char word[96];
    snprintf(word, sizeof word, "%.*s", (int)length, text);
    fprintf(out, ",\"%s\":", name);
    if (*word && *word != '[') json_text(out, word);
    else fputs("null", out);
}

static void environment_modes(FILE *out, const char *modes)
{
    static const char *const names[] = { "persistence", "ecc_mode", "mig_mode", "compute_mode" };
    for (size_t at = 0; at < sizeof names / sizeof names[0]; at++) {
        size_t length = strcspn(modes, ",");
        environment_text(out, names[at], modes, length);
        modes += length;
        modes += strspn(modes, ", ");
    }
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
    environment_text(out, "clocks", self->clocks, sizeof self->clocks);
    fprintf(out, ",\"free_bytes\":%" PRIu64 ",\"pci\":\"%s\",\"compute_capability\":\"%d.%d\",\"multiprocessors\":%d,"
            "\"ecc\":%s", self->total_bytes - self->other_bytes, self->pci, self->capability / 10,
            self->capability % 10, self->multiprocessors, self->corrects ? "true" : "false");
    environment_modes(out, self->modes);
    environment_text(out, "throttle_reasons", self->throttle, sizeof self->throttle);
    fputc('}', out);
}
