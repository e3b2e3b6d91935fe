/* Specifications with one more option behind them.
   It must not know of policies or devices.
   Tested by tests/batch.t. */
#include "batch_varied.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bisect.h"
#include "workload/mix.h"

int batch_varied_begin(batch_varied *self, const char *spec, const workload_options *options, const char *key,
                       problem *why)
{
    slice rest = slice_of(spec), one;
    memset(self, 0, sizeof *self);
    self->spec = spec;
    self->options = *options;
    if (mix_take(&rest, &one) && rest.bytes) {
        return problem_set(why, EXIT_USAGE, "workload %s: joined by '+', expected one alone to vary", spec);
    }
    if (workload_vary(spec, key, &self->key, why)) return -1;
    if (!self->key.lowest) self->key.lowest = 1;                             /* of nothing everything completes */
    return 0;
}

int batch_varied_make(const batch_varied *self, uint64_t value, uint64_t most_bytes, op_stream *stream, problem *why)
{
    workload_options options = self->options;
    options.most_bytes = most_bytes;
    size_t room = strlen(self->spec) + strlen(self->key.key) + 24;
    char *text = malloc(room);
    if (!text) return problem_set(why, EXIT_HARNESS, "no host memory for the workload");
    snprintf(text, room, "%s%c%s=%" PRIu64, self->spec, strchr(self->spec, ':') ? ',' : ':', self->key.key, value);
    int failed = mix_make(text, &options, stream, why);
    free(text);
    return failed;
}

typedef struct batch_making {
    const batch_varied *varied;
    problem             first, worst;            /* of the lowest; and what ended all, if anything did */
} batch_making;

/* Whether there is such a workload at all. */
static int batch_varied_makes(void *user, uint64_t value)
{
    batch_making *self = user;
    op_stream stream;
    problem why = { 0, "" };
    if (!batch_varied_make(self->varied, value, 0, &stream, &why)) {
        op_stream_free(&stream);
        return 1;
    }
    problem_set(&self->first, why.exit_code, "%s", why.text);
    if (why.exit_code == EXIT_USAGE) return 0;
    return problem_set(&self->worst, why.exit_code, "%s", why.text);
}

int batch_varied_lowest(batch_varied *self, problem *why)
{
    batch_making making = { self, { 0, "" }, { 0, "" } };
    uint64_t bad = self->key.lowest, good = bad, highest = self->key.highest;
    int answer = batch_varied_makes(&making, good);
    while (!answer && good < highest) {
        bad = good;
        good = good < highest / 2 ? good * 2 : highest;
        answer = batch_varied_makes(&making, good);
    }
    if (answer > 0 && good > bad) answer = bisect_between(&good, &bad, 1, batch_varied_makes, &making);
    const problem *told = answer < 0 ? &making.worst : &making.first;
    if (answer <= 0) return problem_set(why, told->exit_code, "%s", told->text);
    self->key.lowest = good;
    return 0;
}
