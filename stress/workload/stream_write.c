/* What can be done with a finished op stream: write it as `gpuarena-trace 1`, ask for its threads, and free it.
   Must not know of families, files or devices.
   Tested by tests/test_workload_stream.c, and by tests/test_workload_train.c against the reference generator. */
#include "stream.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void write_alloc(const op_stream *stream, const op *at, FILE *out)
{
    uint32_t tag = stream->tags[at->first];
    fprintf(out, "a %" PRIu64 " %" PRIu64 " %" PRIu64, stream->ids[at->first], at->value, at->stream);
    if (tag > 0) {
        fprintf(out, " %s", stream->labels[tag - 1]);
    }
}

static void write_free(const op_stream *stream, const op *at, FILE *out)
{
    fprintf(out, "f %" PRIu64, stream->ids[at->first]);
    if (at->count > 0) {
        fprintf(out, " %" PRIu64, at->stream);
    }
}

static void write_kernel(const op_stream *stream, const op *at, FILE *out)
{
    fprintf(out, "k %" PRIu64 " %" PRIu64, at->stream, at->value);
    for (uint32_t i = 0; i < at->count; i++) {
        fprintf(out, " %" PRIu64, stream->ids[stream->touches[at->first + i]]);
    }
}

/* The part of --faults that does the same. */
static int write_rival(const op *at, uint64_t number, char *text, size_t size)
{
    return snprintf(text, size, "rival@%" PRIu64 "=%s%" PRIu64, number, at->count ? "-" : "", at->value);
}

static void write_op(const op_stream *stream, const op *at, uint64_t number, FILE *out)
{
    char rival[64];
    switch (at->kind) {
    case OP_ALLOC:  write_alloc(stream, at, out); break;
    case OP_FREE:   write_free(stream, at, out); break;
    case OP_KERNEL: write_kernel(stream, at, out); break;
    case OP_STEP:   fprintf(out, "s %s", stream->labels[at->first]); break;
    case OP_WAIT:   fprintf(out, "w %" PRIu64 " %" PRIu64, at->stream, at->value); break;
    case OP_RIVAL:
        write_rival(at, number, rival, sizeof rival);
        fprintf(out, "# --faults %s", rival);
        break;
    }
    fputc('\n', out);
}

int op_stream_write(const op_stream *stream, FILE *out)
{
    uint64_t number = 0;                         /* of the allocation or free that comes next */
    fputs("gpuarena-trace 1\n", out);
    for (size_t i = 0; i < stream->op_count; i++) {
        write_op(stream, &stream->ops[i], number, out);
        number += stream->ops[i].kind == OP_ALLOC || stream->ops[i].kind == OP_FREE;
    }
    return fflush(out) != 0 || ferror(out) ? -1 : 0;
}

const char *op_stream_faults(const op_stream *stream, char *text, size_t size)
{
    uint64_t number = 0;
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < stream->op_count; i++) {
        char rival[64];
        number += stream->ops[i].kind == OP_ALLOC || stream->ops[i].kind == OP_FREE;
        if (stream->ops[i].kind != OP_RIVAL) continue;
        size_t length = (size_t)write_rival(&stream->ops[i], number, rival, sizeof rival);
        if (used + length + 2 > size) break;
        used += (size_t)snprintf(text + used, size - used, "%s%s", used > 0 ? ";" : "", rival);
    }
    return text;
}

uint32_t op_stream_threads(const op_stream *stream)
{
    return stream->thread_count > 0 ? stream->thread_count : 1;
}

uint32_t op_stream_thread(const op_stream *stream, size_t index)
{
    return stream->threads ? stream->threads[index] : 0;
}

void op_stream_free(op_stream *stream)
{
    for (size_t i = 0; i < stream->label_count; i++) {
        free(stream->labels[i]);
    }
    free(stream->labels);
    free(stream->threads);
    free(stream->touches);
    free(stream->tags);
    free(stream->ids);
    free(stream->ops);
    memset(stream, 0, sizeof *stream);
}
