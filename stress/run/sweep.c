/* Counting rows as they come, workload by workload, repeat by repeat, policy by policy.
   It must not know how a row is made. */
#include "sweep.h"

#include <inttypes.h>
#include <stdio.h>

#include "../../gpuarena.h"
#include "../base/program.h"

uint64_t sweep_rows_of(const sweep *self, const plan_workload *workload)
{
    uint64_t count = 0;
    for (size_t item = 0; item < self->made->policy_count; item++) {
        count += (uint64_t)plan_wants(self->made, workload, &self->made->policies[item]);
    }
    return count * self->times;
}

uint64_t sweep_owned(const sweep *self, uint64_t first, uint64_t count)
{
    return shard_rows(self->part.index, self->part.count, first + count)
        - shard_rows(self->part.index, self->part.count, first);
}

int sweep_is_part(const sweep *self)
{
    return self->part.count > 1;
}

const char *sweep_part(const sweep *self, char *text, size_t size)
{
    const shard_mark *mark = &self->mark;
    if (!sweep_is_part(self)) return NULL;
    snprintf(text, size, "shard %" PRIu64 "/%" PRIu64 ": %" PRIu64 " of %" PRIu64 " rows", mark->index, mark->count,
             shard_rows(mark->index, mark->count, mark->rows), mark->rows);
    return text;
}

static uint64_t sweep_mix(uint64_t hash, uint64_t more)
{
    return hash * UINT64_C(0x100000001b3) ^ more;
}

/* All that was asked for and makes rows, and how long workloads are, which may be files: shards of one run have the
   same. */
static uint64_t sweep_hash(const cli *asked, const plan *made)
{
    static const cli_id also[] = { CLI_FILTER, CLI_NO_TIMING, CLI_TIMES, CLI_WARMUP };
    uint64_t hash = slice_hash(slice_of(asked->command));
    for (size_t index = 0; index < CLI_COUNT; index++) {
        const cli_value *value = &asked->values[index];
        int counts = index == CLI_WORKLOAD || index == CLI_POLICY || cli_option_at(index)->effect != CLI_NO_EFFECT;
        for (size_t at = 0; at < sizeof also / sizeof also[0]; at++) counts |= index == (size_t)also[at];
        if (!counts || !value->given || index == CLI_SEED) continue;
        hash = sweep_mix(hash, slice_hash(slice_of(cli_option_at(index)->name)));
        for (size_t item = 0; item < value->item_count; item++) {
            hash = sweep_mix(hash, slice_hash(slice_of(value->items[item])));
        }
        if (value->text) hash = sweep_mix(hash, slice_hash(slice_of(value->text)));
    }
    for (size_t index = 0; index < made->workload_count; index++) {
        hash = sweep_mix(sweep_mix(hash, made->workloads[index].stream.alloc_count),
                         made->workloads[index].stream.free_count);
    }
    return hash;
}

int sweep_start(sweep *self, const cli *asked, const plan *made, problem *why)
{
    self->asked = asked;
    self->made = made;
    shard_mark *mark = &self->mark;
    mark->index = self->part.index;
    mark->count = self->part.count;
    mark->seed = asked->values[CLI_SEED].number;
    mark->sweep = sweep_hash(asked, made);
    snprintf(mark->version, sizeof mark->version, "%s", GPUARENA_VERSION_TEXT);
    for (size_t index = 0; index < made->workload_count; index++) {
        mark->rows += sweep_rows_of(self, &made->workloads[index]);
    }
    if (mark->count == 1) return 0;
    program_say("shard %" PRIu64 "/%" PRIu64 ", %" PRIu64 " of %" PRIu64 " rows, from %s\n", mark->index,
            mark->count, shard_rows(mark->index, mark->count, mark->rows), mark->rows, self->part.source);
    if (!asked->values[CLI_FAIL_IF].given) return 0;
    return problem_set(why, EXIT_USAGE, "--fail-if: not on one shard: give it to %s merge, for all rows",
                       program_name());
}

/* ---- One line from the option table */

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
