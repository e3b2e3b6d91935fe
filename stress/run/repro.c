/* One line from the option table.
   It must not know of devices, policies or rows.
   Tested by tests/cli.t, tests/shrink.t and tests/interrupt.t. */
#include "repro.h"

#include <inttypes.h>

/* Left out: what the line says otherwise, or what a recording has in itself. */
static int repro_omits(const repro *line, size_t index)
{
    if (index == CLI_DEVICE) return line->capacity_bytes != 0;
    if (index == CLI_OPS || index == CLI_QUICK) return line->is_recording || line->ops != UINT64_MAX;
    if (index == CLI_FAULTS) return line->faults && *line->faults;
    return line->is_recording && (index == CLI_SEED || index == CLI_STEPS || index == CLI_THREADS);
}

static void repro_option(FILE *out, const char *name, uint64_t number)
{
    if (number) fprintf(out, " --%s %" PRIu64, name, number);
}

/* The recording's, behind what was asked for. */
static void repro_faults(FILE *out, const repro *line)
{
    char text[4200];
    const char *asked = line->asked->values[CLI_FAULTS].text;
    if (!line->faults || !*line->faults) return;
    snprintf(text, sizeof text, "%s%s%s", asked ? asked : "", asked ? ";" : "", line->faults);
    fputs(" --faults ", out);
    cli_print_word(out, text);
}

void repro_write(FILE *out, const repro *line)
{
    fprintf(out, "repro: ");
    cli_print_word(out, line->program);
    fprintf(out, " %s -w ", line->command);
    cli_print_word(out, line->workload);
    fprintf(out, " -p ");
    cli_print_word(out, line->policy);
    for (size_t index = 0; cli_option_at(index); index++) {
        const cli_option *option = cli_option_at(index);
        const cli_value *value = &line->asked->values[index];
        if (!value->given || option->effect == CLI_NO_EFFECT || repro_omits(line, index)) continue;
        const char *text = index == CLI_DEVICE ? line->device : value->text;
        fprintf(out, " --%s%s", option->name, text ? " " : "");
        if (text) cli_print_word(out, text);
    }
    repro_faults(out, line);
    repro_option(out, "repeat", line->times);
    repro_option(out, "ops", line->ops == UINT64_MAX ? 0 : line->ops);
    repro_option(out, "limit", line->limit_bytes);
    if (line->capacity_bytes) fprintf(out, " --device sim:%" PRIu64, line->capacity_bytes);
    fputc('\n', out);
}
