/* Specifications with one more option behind them. */
#include "batch_varied.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/search.h"
#include "workload.h"

enum { BATCH_VARIED_LEAST = 4, BATCH_VARIED_MOST = 17 };     /* values whose peaks are held against the first's */

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
    return workload_vary(spec, key, &self->key, why);
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

static uint64_t batch_varied_double(uint64_t value, uint64_t highest)
{
    uint64_t doubled = value ? value * 2 : 1;
    return value < highest / 2 ? doubled : highest;
}

typedef struct batch_making {
    const batch_varied *varied;
    problem             first, worst;            /* of the lowest; and what ended all, if anything did */
} batch_making;

/* Whether there is such a workload at all. Of nothing everything completes: 0 is a value where it allocates. */
static int batch_varied_makes(void *user, uint64_t value)
{
    batch_making *self = user;
    op_stream stream;
    problem why = { 0, "" };
    if (!batch_varied_make(self->varied, value, 0, &stream, &why)) {
        int answer = value || stream.alloc_count;
        op_stream_free(&stream);
        return answer;
    }
    problem_set(&self->first, why.exit_code, "%s", why.text);
    if (why.exit_code == EXIT_USAGE) return 0;
    return problem_set(&self->worst, why.exit_code, "%s", why.text);
}

int batch_varied_lowest(batch_varied *self, problem *why)
{
    batch_making making = { self, { 0, "" }, { 0, "" } };
    uint64_t bad = self->key.lowest, good = bad;
    int answer = batch_varied_makes(&making, good);
    if (!answer) answer = search_gallop(&bad, 0, self->key.highest, 0, 1, batch_varied_makes, &making, &good);
    if (answer > 0 && good > bad) answer = bisect_between(&good, &bad, 1, batch_varied_makes, &making);
    const problem *told = answer < 0 ? &making.worst : &making.first;
    if (answer <= 0) return problem_set(why, told->exit_code, "%s", told->text);
    self->key.lowest = good;
    return 0;
}

/* 0 may mean that there is none of it, as lora=0 does: what an option adds is seen from 1 on, if it goes on. */
static uint64_t batch_varied_first(const workload_key *key)
{
    return key->lowest || key->highest == 1 ? key->lowest : 1;
}

/* A value that requests more than the first is enough to know. Where none has and some have less, more of them
   are asked than where all are alike, as what is random may rise late. */
int batch_varied_grows(const batch_varied *self, problem *why)
{
    uint64_t value = batch_varied_first(&self->key), first_bytes = 0;
    int is_less = 0;
    for (int asked = 0; asked < (is_less ? BATCH_VARIED_MOST : BATCH_VARIED_LEAST); asked++) {
        op_stream stream;
        problem unmade = { 0, "" };
        if (batch_varied_make(self, value, first_bytes, &stream, &unmade)) {
            if (unmade.exit_code == EXIT_USAGE) break;
            return problem_set(why, unmade.exit_code, "%s", unmade.text);
        }
        uint64_t bytes = stream.requested_peak_bytes;
        op_stream_free(&stream);
        if (asked && bytes > first_bytes) return 0;
        if (asked && bytes < first_bytes) is_less = 1;
        if (!asked) first_bytes = bytes;
        if (value == self->key.highest) break;
        value = batch_varied_double(value, self->key.highest);
    }
    if (!is_less) return 0;
    return problem_set(why, EXIT_USAGE, "workload %.*s: a larger %s is no larger workload, expected another option "
                       "to vary", (int)strcspn(self->spec, ":"), self->spec, self->key.key);
}
