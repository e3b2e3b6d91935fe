/* The record of a CUDA device, printed.
   It must not ask CUDA anything.
   Tested by tests/test_report.c. */
#include "environment.h"

#include <inttypes.h>

#include "json.h"
#include "table.h"

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
             self->name, table_bytes(self->total_bytes, total, sizeof total),
             table_bytes(self->other_bytes, in_use, sizeof in_use), self->driver,
             self->driver[0] ? ", up to " : "for ", self->driver_version / 1000, self->driver_version % 1000 / 10,
             self->runtime_version / 1000, self->runtime_version % 1000 / 10, others);
    return text;
}

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
    fputs(",\"clocks\":", out);
    if (self->clocks[0]) json_text(out, self->clocks);
    else fputs("null", out);
    fputc('}', out);
}
