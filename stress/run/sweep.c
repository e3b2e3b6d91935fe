/* Counting rows as they come, workload by workload, repeat by repeat, policy by policy. */
#include "sweep.h"

#include "../../gpuarena.h"

/* ---- Which shard this process is, and marks */

enum { SHARD_MOST = 1000000 };

typedef struct shard_source { const char *index, *first, *last, *step, *count; } shard_source;
static const shard_source shard_sources[] = {    /* first match; first, last, step: of the array's indices,
                                                    else NULL */
    { "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX", "SLURM_ARRAY_TASK_STEP",
      "SLURM_ARRAY_TASK_COUNT" },
    { "JOB_COMPLETION_INDEX", NULL, NULL, NULL, NULL },                      /* Kubernetes */
    { "SLURM_PROCID", NULL, NULL, NULL, "SLURM_NTASKS" },
    { "OMPI_COMM_WORLD_RANK", NULL, NULL, NULL, "OMPI_COMM_WORLD_SIZE" },
    { "PMI_RANK", NULL, NULL, NULL, "PMI_SIZE" },
};

static int shard_number(const char *name, uint64_t *number, problem *why)
{
    const char *text = program_environment(name);
    if (text && slice_decimal(slice_of(text), number)) return 0;
    return problem_set(why, EXIT_USAGE, "%s: expected a number, found %s (--shard none: all rows)", name,
                       text ? slice_show(slice_of(text)).text : "nothing");
}

/* An array may begin anywhere and have a step, but must have no other gaps: rows would be left out. */
static int shard_array(const shard_source *source, shard_mark *made, problem *why)
{
    uint64_t first, last, step = 1;
    if (shard_number(source->first, &first, why) || shard_number(source->last, &last, why)) return -1;
    if (program_environment(source->step) && shard_number(source->step, &step, why)) return -1;
    int is_even = step && last >= first && made->index >= first && (last - first) % step == 0
        && (last - first) / step + 1 == made->count && (made->index - first) % step == 0;
    if (!is_even) {
        return problem_set(why, EXIT_USAGE, "%s: the array is from %" PRIu64 " to %" PRIu64 " and has %" PRIu64
                           " tasks: expected one without gaps (--shard none: all rows)", source->index, first, last,
                           made->count);
    }
    made->index = (made->index - first) / step;
    return 0;
}

static int shard_check(const shard_mark *made, problem *why)
{
    if (made->count && made->count <= SHARD_MOST && made->index < made->count) return 0;
    return problem_set(why, EXIT_USAGE, "%s: shard %" PRIu64 " of %" PRIu64
                       ": expected i/n, i from 0 to n - 1, n up to %d", made->source, made->index, made->count,
                       SHARD_MOST);
}

/* count 0: from the environment too. */
static int shard_detect(shard_mark *made, uint64_t count, problem *why)
{
    for (size_t at = 0; at < sizeof shard_sources / sizeof shard_sources[0]; at++) {
        const shard_source *source = &shard_sources[at];
        if (!program_environment(source->index)) continue;
        made->source = source->index;
        made->count = count;
        if (shard_number(source->index, &made->index, why)) return -1;
        if (!count && !source->count) {
            return problem_set(why, EXIT_USAGE, "%s says which shard this is, and not of how many: give --shard "
                               "auto/N, or --shard none for all rows", source->index);
        }
        if (!count && shard_number(source->count, &made->count, why)) return -1;
        if (source->first && shard_array(source, made, why)) return -1;
        return shard_check(made, why);
    }
    if (!count) return 0;
    return problem_set(why, EXIT_USAGE, "--shard auto: no Slurm array or tasks, MPI or Kubernetes job is here");
}

int shard_find(shard_mark *made, const char *text, problem *why)
{
    slice rest = slice_of(text ? text : ""), index;
    *made = (shard_mark){ .count = 1, .source = "" };
    if (!text) return shard_detect(made, 0, why);
    if (!strcmp(text, "none")) return 0;
    made->source = "--shard";
    if (!slice_take(&rest, '/', &index) || !slice_decimal(rest, &made->count)) made->count = 0;
    if (made->count && slice_is(index, "auto")) return shard_detect(made, made->count, why);
    if (!made->count || !slice_decimal(index, &made->index)) {
        return problem_set(why, EXIT_USAGE, "--shard: expected i/n, such as 0/16, auto/n or none, found '%s'", text);
    }
    return shard_check(made, why);
}

uint64_t shard_rows(uint64_t index, uint64_t count, uint64_t rows)
{
    return rows / count + (rows % count > index);
}

const char *shard_mark_print(const shard_mark *mark, char *text, size_t size)
{
    snprintf(text, size, "# gpuarena-stress shard %" PRIu64 "/%" PRIu64 " rows %" PRIu64 " version %s seed %" PRIu64
             " sweep %" PRIu64, mark->index, mark->count, mark->rows, mark->version, mark->seed, mark->sweep);
    return text;
}

/* The line must be what is written of the values in it. */
int shard_mark_read(slice line, shard_mark *mark)
{
    char text[SHARD_MARK_ROOM], again[SHARD_MARK_ROOM];
    snprintf(text, sizeof text, "%.*s", (int)(line.length < sizeof text ? line.length : 0), line.bytes);
    int found = sscanf(text, "# gpuarena-stress shard %" SCNu64 "/%" SCNu64 " rows %" SCNu64 " version %23s seed %"
                       SCNu64 " sweep %" SCNu64, &mark->index, &mark->count, &mark->rows, mark->version, &mark->seed,
                       &mark->sweep);
    return found == 6 && mark->count <= SHARD_MOST && mark->index < mark->count
        && !strcmp(text, shard_mark_print(mark, again, sizeof again)) ? 0 : -1;
}

char *shard_path(const char *text, const shard_mark *mark)
{
    static const char word[] = "{shard}";
    const char *at = mark ? strstr(text, word) : NULL;
    char last[24];
    if (!at) return program_copy(text, strlen(text));
    size_t room = strlen(text) + 64;
    char *made = program_need(room, 1);
    int digits = snprintf(last, sizeof last, "%" PRIu64, mark->count - 1);
    snprintf(made, room, "%.*s%0*" PRIu64 "-of-%" PRIu64 "%s", (int)(at - text), text, digits, mark->index,
             mark->count, at + strlen(word));
    return made;
}

/* ---- The rows of a run */

uint64_t shard_owned(const shard_mark *mark, uint64_t first, uint64_t count)
{
    return shard_rows(mark->index, mark->count, first + count) - shard_rows(mark->index, mark->count, first);
}

const char *shard_part(const shard_mark *mark, char *text, size_t size)
{
    if (mark->count == 1) return NULL;
    snprintf(text, size, "shard %" PRIu64 "/%" PRIu64 ": %" PRIu64 " of %" PRIu64 " rows", mark->index, mark->count,
             shard_rows(mark->index, mark->count, mark->rows), mark->rows);
    return text;
}

static uint64_t shard_mix(uint64_t hash, uint64_t more)
{
    return hash * UINT64_C(0x100000001b3) ^ more;
}

/* All that was asked for and makes rows, and how long workloads are, which may be files: shards of one run have the
   same. */
static uint64_t shard_hash(const cli *asked, const plan *made)
{
    uint64_t hash = slice_hash(slice_of(asked->command));
    for (size_t index = 0; index < CLI_COUNT; index++) {
        const cli_value *value = &asked->values[index];
        int counts = cli_option_at(index)->effect != CLI_NO_EFFECT;
        if (!counts || !value->given || index == CLI_SEED) continue;
        hash = shard_mix(hash, slice_hash(slice_of(cli_option_at(index)->name)));
        for (size_t item = 0; item < value->item_count; item++) {
            hash = shard_mix(hash, slice_hash(slice_of(value->items[item])));
        }
        if (value->text) hash = shard_mix(hash, slice_hash(slice_of(value->text)));
    }
    for (size_t index = 0; index < made->workload_count; index++) {
        hash = shard_mix(shard_mix(hash, made->workloads[index].stream.alloc_count),
                         made->workloads[index].stream.free_count);
    }
    return hash;
}

int shard_start(shard_mark *mark, const cli *asked, const plan *made, uint64_t times, problem *why)
{
    mark->seed = asked->values[CLI_SEED].number;
    mark->sweep = shard_hash(asked, made);
    snprintf(mark->version, sizeof mark->version, "%s", GPUARENA_VERSION_TEXT);
    mark->times = times;
    mark->rows = made->case_count * times;
    if (mark->count == 1) return 0;
    program_say("shard %" PRIu64 "/%" PRIu64 ", %" PRIu64 " of %" PRIu64 " rows, from %s\n", mark->index,
            mark->count, shard_rows(mark->index, mark->count, mark->rows), mark->rows, mark->source);
    if (!asked->values[CLI_FAIL_IF].given) return 0;
    return problem_set(why, EXIT_USAGE, "--fail-if: not on one shard: give it to %s merge, for all rows",
                       program_name());
}

/* ---- One line from the option table */

/* Left out: what the line says otherwise, or what a recording has in itself. */
static int repro_omits(const repro *line, size_t index, const char *faults)
{
    if (index == CLI_DEVICE) return line->capacity_bytes != 0;
    if (index == CLI_OPS || index == CLI_QUICK) return line->is_recording || line->ops != UINT64_MAX;
    if (index == CLI_FAULTS) return *faults != '\0';
    return line->is_recording && (index == CLI_SEED || index == CLI_STEPS || index == CLI_THREADS);
}

void repro_write(FILE *out, const repro *line)
{
    const char *faults = line->faults ? line->faults : "", *asked = line->asked->values[CLI_FAULTS].text;
    char text[4200];
    fprintf(out, "repro: ");
    cli_print_word(out, line->asked->argv[0]);
    fprintf(out, " %s -w ", line->command);
    cli_print_word(out, line->workload);
    fprintf(out, " -p ");
    cli_print_word(out, line->policy);
    for (size_t index = 0; cli_option_at(index); index++) {
        const cli_option *option = cli_option_at(index);
        const cli_value *value = &line->asked->values[index];
        if (!value->given || option->effect < CLI_SHAPES_RESULTS || repro_omits(line, index, faults)) continue;
        const char *given = index == CLI_DEVICE ? line->device : value->text;
        fprintf(out, " --%s%s", option->name, given ? " " : "");
        if (given) cli_print_word(out, given);
    }
    if (*faults) {                               /* the recording's, behind what was asked for */
        snprintf(text, sizeof text, "%s%s%s", asked ? asked : "", asked ? ";" : "", faults);
        fputs(" --faults ", out);
        cli_print_word(out, text);
    }
    if (line->times) fprintf(out, " --repeat %" PRIu64, line->times);
    if (line->ops && line->ops != UINT64_MAX) fprintf(out, " --ops %" PRIu64, line->ops);
    if (line->limit_bytes) fprintf(out, " --limit %" PRIu64, line->limit_bytes);
    if (line->capacity_bytes) fprintf(out, " --device sim:%" PRIu64, line->capacity_bytes);
    fputc('\n', out);
}
