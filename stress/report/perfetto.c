/* Runs as trace events, the JSON that ui.perfetto.dev and chrome://tracing open: a process for each row, with its
   memory as counters, its steps, and the refusal. Times are microseconds of the simulated device's clock. On CUDA,
   where a record has no clock, times are operations. The memory counters are the samples of the series. */
#include "output.h"

enum { PERFETTO_STEPS = 1 };                     /* the thread that steps are drawn on */

typedef struct perfetto {
    FILE         *out;
    const record *drawn;
    size_t        process;                       /* the row, from 1 */
    int           is_clocked;                    /* 0: a time is an operation */
} perfetto;

/* Begins the next event, up to its own fields. */
static void perfetto_event(const perfetto *self, const char *kind, const char *comma)
{
    fprintf(self->out, "%s\n{\"ph\":\"%s\",\"pid\":%zu", comma, kind, self->process);
}

static void perfetto_time(const perfetto *self, const char *name, uint64_t ops, uint64_t vns)
{
    if (!self->is_clocked) fprintf(self->out, ",\"%s\":%" PRIu64, name, ops);
    else fprintf(self->out, ",\"%s\":%" PRIu64 ".%03u", name, vns / 1000, (unsigned)(vns % 1000));
}

static void perfetto_name(const perfetto *self, const char *name)
{
    perfetto_event(self, "M", self->process > 1 ? "," : "");
    text_print(self->out, json_text, ",\"name\":\"process_name\",\"args\":{\"name\":%s}}", name);
}

/* Writes the steps. Each lasts until the next, the last until the end. */
static void perfetto_steps(const perfetto *self)
{
    const record *drawn = self->drawn;
    for (size_t at = 0; at < drawn->step_count; at++) {
        const record_step *step = &drawn->steps[at], end = { drawn->op_count, drawn->end_vns, 0 };
        const record_step *next = at + 1 < drawn->step_count ? step + 1 : &end;
        perfetto_event(self, "X", ",");
        perfetto_time(self, "ts", step->op, step->now_vns);
        perfetto_time(self, "dur", next->op - step->op, next->now_vns - step->now_vns);
        text_print(self->out, json_text, ",\"tid\":%d,\"name\":%s,\"args\":{\"step\":%zu,\"op\":%" PRIu64 "}}",
                   PERFETTO_STEPS, drawn->stream->labels[step->label], at + 1, step->op);
    }
}

static void perfetto_samples(const perfetto *self)
{
    for (size_t at = 0; at < self->drawn->sample_count; at++) {
        const record_sample *sample = &self->drawn->samples[at];
        const memory_use *use = &sample->use;
        perfetto_event(self, "C", ",");
        perfetto_time(self, "ts", sample->op, sample->now_vns);
        fprintf(self->out, ",\"name\":\"memory\",\"args\":{\"requested\":%" PRIu64 ",\"live\":%" PRIu64
                ",\"reserved\":%" PRIu64 ",\"pending\":%" PRIu64 ",\"free\":%" PRIu64 ",\"largest_free\":%" PRIu64
                ",\"stranded\":%" PRIu64 "}}", use->requested_bytes, use->live_bytes, use->reserved_bytes,
                use->pending_bytes, use->free_bytes, use->largest_bytes, use->stranded_bytes);
    }
}

static void perfetto_refusal(const perfetto *self, const char *why)
{
    const record *drawn = self->drawn;
    const record_refusal *refusal = &drawn->refusal;
    uint64_t now_vns = drawn->end_vns;
    if (!refusal->happened) return;
    for (size_t at = drawn->sample_count; at-- > 0 && drawn->samples[at].op >= refusal->op;) {
        now_vns = drawn->samples[at].now_vns;    /* the first sample from the refusal on */
    }
    perfetto_event(self, "i", ",");
    perfetto_time(self, "ts", refusal->op, now_vns);
    text_print(self->out, json_text, ",\"tid\":%d,\"s\":\"p\",\"name\":\"out of memory\",\"args\":{\"op\":%" PRIu64
               ",\"requested\":%" PRIu64 ",\"why\":%s}}", PERFETTO_STEPS, refusal->op, refusal->requested_bytes, why);
}

static void perfetto_write(FILE *out, const report *material)
{
    const row_list *list = &material->list;
    char note[ROW_NOTE_ROOM];
    perfetto self = { out, NULL, 1, 0 };
    text_print(out, json_text, "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"schema\":\"gpuarena-perfetto/1\","
               "\"device\":%s", material->device);
    if (*row_list_note(list, note, sizeof note)) text_print(out, json_text, ",\"not_all_rows\":%s", note);
    fputs(",\"ts\":\"microseconds of the device's virtual clock; operations where it has none\"},\"traceEvents\":[",
          out);
    for (size_t index = 0; index < list->count; index++, self.process++) {
        const row *shown = &list->rows[index];
        char name[1024];
        snprintf(name, sizeof name, "%s, %s", row_policy(shown), row_workload(shown));
        perfetto_name(&self, name);
        perfetto_event(&self, "M", ",");
        fprintf(out, ",\"name\":\"process_sort_index\",\"args\":{\"sort_index\":%zu}}", self.process);
        perfetto_event(&self, "M", ",");
        fprintf(out, ",\"tid\":%d,\"name\":\"thread_name\",\"args\":{\"name\":\"steps\"}}", PERFETTO_STEPS);
        self.drawn = shown->recording;
        if (!self.drawn) continue;
        self.is_clocked = self.drawn->end_vns > 0;
        perfetto_steps(&self);
        perfetto_samples(&self);
        perfetto_refusal(&self, shown->note);
    }
    if (*note) {                                 /* a process behind those of the rows, with a mark */
        perfetto_name(&self, note);
        perfetto_event(&self, "i", ",");
        text_print(out, json_text, ",\"ts\":0,\"tid\":%d,\"s\":\"p\",\"name\":%s}", PERFETTO_STEPS, note);
    }
    fputs("\n]}\n", out);
}

const output_kind output_perfetto = {
    "perfetto", "run", 0, RECORD_SERIES, perfetto_write,
    "of run: trace events for ui.perfetto.dev: a process a row, memory as counters, steps, out of memory; in "
    "microseconds of the simulated clock (on CUDA: in operations)",
};
