/* Building op streams: arrays that grow, bytes that are summed with a check, labels that are kept once. */
#include "stream.h"

int stream_refuse(stream_builder *builder, const char *format, ...)
{
    char text[sizeof builder->why->text];
    PROBLEM_PRINT(text, sizeof text, format);
    builder->failed = 1;
    if (builder->line > 0) {
        return problem_set(builder->why, EXIT_USAGE, "%s:%" PRIu64 ": %s", builder->source, builder->line, text);
    }
    return problem_set(builder->why, EXIT_USAGE, "%s: %s", builder->source, text);
}

static int op_is_counted(const op *of)
{
    return of->kind == OP_ALLOC || of->kind == OP_FREE;
}

int stream_is_over(const stream_builder *builder)
{
    return builder->failed || builder->is_cut;
}

static void stream_append_one(stream_builder *builder, op next)
{
    op_stream *stream = builder->stream;
    if (stream->op_count >= builder->most_ops) {
        stream_refuse(builder, "more than %zu operations, expected a shorter workload", builder->most_ops);
        return;
    }
    ARRAY_RESERVE(stream->ops, builder->op_capacity, stream->op_count + 1);
    if (stream->thread_count > 1) {
        ARRAY_RESERVE(stream->threads, builder->thread_capacity, stream->op_count + 1);
        stream->threads[stream->op_count] = builder->thread;
    }
    stream->rival_count += next.kind == OP_RIVAL;
    stream->ops[stream->op_count++] = next;
}

/* Appends an operation, behind the events that are due. */
static void stream_append(stream_builder *builder, op next)
{
    const op_stream *stream = builder->stream;
    const int is_counted = op_is_counted(&next);
    for (; is_counted && builder->event_count > 0
         && builder->events->op <= stream->alloc_count + stream->free_count; builder->event_count--) {
        const op due = { builder->events->bytes, 0, 0, (uint32_t)builder->events->gives_back, OP_RIVAL };
        stream_append_one(builder, due);
        builder->events++;
    }
    stream_append_one(builder, next);
    if (is_counted && !builder->failed) builder->is_cut = --builder->ops_left == 0;
}

/* Same text, same label. Two texts of one hash (never seen) cost a copy each, no more. */
static uint32_t stream_label(stream_builder *builder, slice text)
{
    op_stream *stream = builder->stream;
    const uint64_t hash = slice_hash(text), known = device_table_find(&builder->label_by_hash, hash);
    if (known && slice_is(text, stream->labels[known - 1])) return (uint32_t)(known - 1);
    ARRAY_RESERVE(stream->labels, builder->label_capacity, stream->label_count + 1);
    stream->labels[stream->label_count++] = program_copy(text.bytes, text.length);
    (void)device_table_take(&builder->label_by_hash, hash);
    device_table_add(&builder->label_by_hash, hash, stream->label_count);
    return (uint32_t)(stream->label_count - 1);  /* never more than operations, so 32 bits do */
}

void stream_begin(stream_builder *builder, op_stream *stream, const char *source, uint64_t ops_limit, problem *why)
{
    const stream_builder begun = { .stream = stream, .why = why, .source = source, .most_ops = STREAM_MAX_OPS,
                                   .ops_left = ops_limit, .is_cut = ops_limit == 0 };
    *builder = begun;
    memset(stream, 0, sizeof *stream);
}

int stream_end(stream_builder *builder, uint64_t seed)
{
    free(builder->blocks);
    builder->blocks = NULL;
    device_table_clear(&builder->label_by_hash);
    builder->stream->seed = seed;
    if (builder->failed) op_stream_free(builder->stream);
    return builder->failed ? -1 : 0;
}

uint32_t stream_alloc(stream_builder *builder, uint64_t id, uint64_t bytes, uint64_t on_stream, slice tag)
{
    op_stream *stream = builder->stream;
    const size_t block = stream->block_count;
    const op next = { bytes, on_stream, (uint32_t)block, 0, OP_ALLOC };
    const stream_block made = { bytes, on_stream };
    if (stream_is_over(builder)) return 0;
    if (bytes > UINT64_MAX - builder->live_bytes) {
        stream_refuse(builder, "%" PRIu64 " bytes beside %" PRIu64 " live ones, expected a sum below 2^64", bytes,
                      builder->live_bytes);
        return 0;
    }
    uint32_t label = tag.bytes ? stream_label(builder, tag) + 1 : 0;
    stream_append(builder, next);
    if (builder->failed) return 0;
    ARRAY_RESERVE_BOTH(stream->ids, stream->tags, builder->id_capacity, block + 1);
    ARRAY_RESERVE(builder->blocks, builder->block_capacity, block + 1);
    stream->ids[block] = id;
    stream->tags[block] = label;
    builder->blocks[block] = made;
    stream->block_count++;
    builder->live_bytes += bytes;
    memory_raise(&stream->requested_peak_bytes, builder->live_bytes);
    stream->alloc_count++;
    if (builder->most_bytes && builder->live_bytes > builder->most_bytes) builder->is_cut = 1;
    return next.first;
}

void stream_free(stream_builder *builder, uint32_t block, const uint64_t *on_stream)
{
    if (stream_is_over(builder)) return;
    const stream_block *freed = &builder->blocks[block];
    const op next = { 0, on_stream ? *on_stream : freed->stream, block, on_stream != NULL, OP_FREE };
    stream_append(builder, next);
    if (builder->failed) return;
    builder->live_bytes -= freed->bytes;
    builder->stream->free_count++;
}

void stream_step(stream_builder *builder, slice label)
{
    if (stream_is_over(builder)) return;
    const op next = { 0, 0, stream_label(builder, label), 0, OP_STEP };
    stream_append(builder, next);
}

void stream_kernel(stream_builder *builder, uint64_t on_stream, uint64_t duration_ns)
{
    const op next = { duration_ns, on_stream, (uint32_t)builder->stream->touch_count, 0, OP_KERNEL };
    if (stream_is_over(builder)) return;
    if (duration_ns > STREAM_MAX_WORK_NS - builder->stream->work_ns) {
        stream_refuse(builder, "%" PRIu64 " ns of work beside %" PRIu64 ", expected at most 2^62 ns in all",
                      duration_ns, builder->stream->work_ns);
        return;
    }
    builder->stream->work_ns += duration_ns;
    stream_append(builder, next);
}

void stream_touch(stream_builder *builder, uint32_t block)
{
    op_stream *stream = builder->stream;
    if (stream_is_over(builder)) return;
    if (stream->touch_count >= STREAM_MAX_TOUCHES) {
        stream_refuse(builder, "kernels touch more than %d blocks, expected a shorter workload",
                      (int)STREAM_MAX_TOUCHES);
        return;
    }
    ARRAY_RESERVE(stream->touches, builder->touch_capacity, stream->touch_count + 1);
    stream->touches[stream->touch_count++] = block;
    stream->ops[stream->op_count - 1].count++;
}

void stream_wait(stream_builder *builder, uint64_t on_stream, uint64_t for_stream)
{
    const op next = { for_stream, on_stream, 0, 0, OP_WAIT };
    if (!stream_is_over(builder)) stream_append(builder, next);
}

/* ---- A finished op stream: it can be written as `gpuarena-trace 1`, asked for its threads, and freed */

/* A rival's operation, as the part of --faults that does the same. */
static int write_rival(const op *at, uint64_t number, char *text, size_t size)
{
    return snprintf(text, size, "rival@%" PRIu64 "=%s%" PRIu64, number, at->count ? "-" : "", at->value);
}

static void write_op(const op_stream *stream, const op *at, uint64_t number, FILE *out)
{
    char word[64];
    switch (at->kind) {
    case OP_ALLOC:
        fprintf(out, "a %" PRIu64 " %" PRIu64 " %" PRIu64, stream->ids[at->first], at->value, at->stream);
        if (stream->tags[at->first] > 0) fprintf(out, " %s", stream->labels[stream->tags[at->first] - 1]);
        break;
    case OP_FREE:
        fprintf(out, "f %" PRIu64, stream->ids[at->first]);
        if (at->count > 0) fprintf(out, " %" PRIu64, at->stream);
        break;
    case OP_KERNEL:
        fprintf(out, "k %" PRIu64 " %" PRIu64, at->stream, at->value);
        for (uint32_t i = 0; i < at->count; i++) {
            fprintf(out, " %" PRIu64, stream->ids[stream->touches[at->first + i]]);
        }
        break;
    case OP_STEP: fprintf(out, "s %s", stream->labels[at->first]); break;
    case OP_WAIT: fprintf(out, "w %" PRIu64 " %" PRIu64, at->stream, at->value); break;
    case OP_RIVAL:
        write_rival(at, number, word, sizeof word);
        fprintf(out, "# --faults %s", word);
        break;
    }
    fputc('\n', out);
}

int op_stream_write(const op_stream *stream, FILE *out)
{
    uint64_t number = 0;                         /* of the allocation or free that comes next */
    fputs("gpuarena-trace 1\n", out);
    for (uint64_t at = 0; at < stream->op_count; at++) {
        write_op(stream, &stream->ops[at], number, out);
        number += (uint64_t)op_is_counted(&stream->ops[at]);
    }
    return fflush(out) != 0 || ferror(out) ? -1 : 0;
}

const char *op_stream_faults(const op_stream *stream, char *text, size_t size)
{
    uint64_t number = 0;
    text[0] = '\0';
    for (const op *at = stream->ops; at < stream->ops + stream->op_count; at++) {
        char word[64];
        number += (uint64_t)op_is_counted(at);
        if (at->kind != OP_RIVAL) continue;
        size_t length = (size_t)write_rival(at, number, word, sizeof word);
        if (strlen(text) + length + 2 > size) break;
        text_add(text, size, "%s%s", *text ? ";" : "", word);
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
    for (size_t i = 0; i < stream->label_count; i++) free(stream->labels[i]);
    free(stream->labels);
    free(stream->threads);
    free(stream->touches);
    free(stream->tags);
    free(stream->ids);
    free(stream->ops);
    memset(stream, 0, sizeof *stream);
}

/* ---- Op by op through the builder, which counts and judges the operations that are kept */

static uint64_t copy_stream(stream_builder *builder, const stream_copy *copy, uint64_t number)
{
    if (number <= (UINT64_MAX - copy->first) / copy->stride) return number * copy->stride + copy->first;
    stream_refuse(builder, "stream %" PRIu64 ", expected below 2^64 / %" PRIu64 " beside others", number,
                  copy->stride);
    return 0;
}

static void copy_kernel(stream_builder *builder, const stream_copy *copy, const op *next, uint64_t stream)
{
    stream_kernel(builder, stream, next->value);
    for (uint32_t at = 0; at < next->count; at++) {
        uint32_t block = copy->blocks[copy->from->touches[next->first + at]];
        if (block != STREAM_NO_BLOCK) stream_touch(builder, block);
    }
}

static uint32_t copy_alloc(stream_builder *builder, const stream_copy *copy, const op *next, uint64_t stream)
{
    uint32_t tag = copy->from->tags[next->first];
    uint64_t id = copy->keeps_ids ? copy->from->ids[next->first] : builder->stream->block_count;
    slice label = { NULL, 0 };
    if (tag) label = slice_of(copy->from->labels[tag - 1]);
    return stream_alloc(builder, id, next->value, stream, label);
}

void stream_copy_op(stream_builder *builder, const stream_copy *copy, const op *next)
{
    const uint64_t stream = copy_stream(builder, copy, next->stream);
    const uint32_t block = next->kind == OP_FREE ? copy->blocks[next->first] : STREAM_NO_BLOCK;
    switch (next->kind) {
    case OP_ALLOC:
        copy->blocks[next->first] = copy_alloc(builder, copy, next, stream);
        return;
    case OP_FREE:
        if (block != STREAM_NO_BLOCK) stream_free(builder, block, next->count ? &stream : NULL);
        return;
    case OP_RIVAL:
        if (!stream_is_over(builder)) stream_append(builder, *next);
        return;
    case OP_KERNEL: copy_kernel(builder, copy, next, stream); return;
    case OP_STEP:   stream_step(builder, slice_of(copy->from->labels[next->first])); return;
    case OP_WAIT:   stream_wait(builder, stream, copy_stream(builder, copy, next->value));
    }
}

int op_stream_subset(const op_stream *from, const unsigned char *keep, size_t op_count, op_stream *made, problem *why)
{
    stream_builder builder;
    const stream_copy copy = { from, program_need(from->block_count, sizeof *copy.blocks), 1, 0, 1 };
    stream_begin(&builder, made, "subset", UINT64_MAX, why);
    for (size_t block = 0; block < from->block_count; block++) copy.blocks[block] = STREAM_NO_BLOCK;
    for (size_t index = 0; index < op_count; index++) {
        if (keep[index]) stream_copy_op(&builder, &copy, &from->ops[index]);
    }
    free(copy.blocks);
    return stream_end(&builder, from->seed);
}
