/* Which shard this process is, and marks.
   It must not know what rows are. */
#include "shard.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static const char *shard_variable(const char *name)
{
    const char *text = name ? getenv(name) : NULL;
    return text && *text ? text : NULL;
}

static int shard_number(const char *name, uint64_t *number, problem *why)
{
    const char *text = shard_variable(name);
    if (text && slice_decimal(slice_of(text), number)) return 0;
    return problem_set(why, EXIT_USAGE, "%s: expected a number, found %s (--shard none: all rows)", name,
                       text ? slice_show(slice_of(text)).text : "nothing");
}

/* An array may begin anywhere and have a step, but must have no other gaps: rows would be left out. */
static int shard_array(const shard_source *source, shard *made, problem *why)
{
    uint64_t first, last, step = 1;
    if (shard_number(source->first, &first, why) || shard_number(source->last, &last, why)) return -1;
    if (shard_variable(source->step) && shard_number(source->step, &step, why)) return -1;
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

static int shard_check(const shard *made, problem *why)
{
    if (made->count && made->count <= SHARD_MOST && made->index < made->count) return 0;
    return problem_set(why, EXIT_USAGE, "%s: shard %" PRIu64 " of %" PRIu64
                       ": expected i/n, i from 0 to n - 1, n up to %d", made->source, made->index, made->count,
                       SHARD_MOST);
}

/* count 0: from the environment too. */
static int shard_detect(shard *made, uint64_t count, problem *why)
{
    for (size_t at = 0; at < sizeof shard_sources / sizeof shard_sources[0]; at++) {
        const shard_source *source = &shard_sources[at];
        if (!shard_variable(source->index)) continue;
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

int shard_find(shard *made, const char *text, problem *why)
{
    slice rest = slice_of(text ? text : ""), index;
    const shard whole = { 0, 1, "" };
    *made = whole;
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

int shard_owns(uint64_t index, uint64_t count, uint64_t row)
{
    return row % count == index;
}

uint64_t shard_rows(uint64_t index, uint64_t count, uint64_t rows)
{
    return rows / count + (rows % count > index);
}

static const char shard_words[] = "# gpuarena-stress shard";

const char *shard_mark_print(const shard_mark *mark, char *text, size_t size)
{
    snprintf(text, size, "%s %" PRIu64 "/%" PRIu64 " rows %" PRIu64 " version %s seed %" PRIu64 " sweep %" PRIu64,
             shard_words, mark->index, mark->count, mark->rows, mark->version, mark->seed, mark->sweep);
    return text;
}

/* The word behind this one; -1: there is none, or another. */
static int shard_field(slice *rest, const char *word, slice *value)
{
    slice found;
    return !slice_take(rest, ' ', &found) || !slice_is(found, word) || !slice_take(rest, ' ', value) ? -1 : 0;
}

int shard_mark_read(slice line, shard_mark *mark)
{
    slice value, index;
    size_t length = strlen(shard_words) + 1;
    if (!slice_begins(line, shard_words) || line.length <= length) return -1;
    slice rest = { line.bytes + length, line.length - length };
    if (!slice_take(&rest, ' ', &value) || !slice_take(&value, '/', &index) || !slice_decimal(index, &mark->index)
        || !slice_decimal(value, &mark->count) || !mark->count || mark->count > SHARD_MOST
        || mark->index >= mark->count) return -1;
    if (shard_field(&rest, "rows", &value) || !slice_decimal(value, &mark->rows)
        || shard_field(&rest, "version", &value) || value.length >= sizeof mark->version) return -1;
    memcpy(mark->version, value.bytes, value.length);
    mark->version[value.length] = '\0';
    return shard_field(&rest, "seed", &value) || !slice_decimal(value, &mark->seed)
        || shard_field(&rest, "sweep", &value) || !slice_decimal(value, &mark->sweep) || rest.length ? -1 : 0;
}

char *shard_path(const char *text, uint64_t index, uint64_t count)
{
    static const char word[] = "{shard}";
    const char *at = strstr(text, word);
    size_t room = strlen(text) + 64;
    char *made = malloc(room), last[24];
    if (!made) return NULL;
    int digits = snprintf(last, sizeof last, "%" PRIu64, count - 1);
    if (!at) snprintf(made, room, "%s", text);
    else snprintf(made, room, "%.*s%0*" PRIu64 "-of-%" PRIu64 "%s", (int)(at - text), text, digits, index, count,
                  at + strlen(word));
    return made;
}
