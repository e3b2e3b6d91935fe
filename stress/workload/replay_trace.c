/* Reads `gpuarena-trace 1`, strictly: what is read and written again is the same text, but for comments and
   carriage returns.
   Must not know of files.
   Tested by tests/test_workload_replay.c. */
#include "replay.h"

static int trace_word(reader *in, slice text, const char *name, const char *grammar)
{
    if (!slice_is_word(text)) {
        return stream_refuse(in->builder, "%s is %s, expected one word in %s", name, slice_show(text).text, grammar);
    }
    return 0;
}

/* The id, its text, and the entry of the live block that it names. */
static int trace_live_id(reader *in, slice *rest, const char *grammar, id_entry **entry)
{
    slice shown = *rest, after = *rest;
    uint64_t id;
    if (reader_number(in, rest, ' ', "ID", grammar, &id)) {
        return -1;
    }
    slice_take(&after, ' ', &shown);
    return reader_live(in, id, shown, entry);
}

static const char trace_alloc_grammar[] = "`a ID BYTES STREAM [TAG]`";

static int trace_alloc(reader *in, slice rest)
{
    slice shown = rest, after = rest, tag = { NULL, 0 };
    uint64_t id, bytes, on_stream;
    slice_take(&after, ' ', &shown);
    if (reader_number(in, &rest, ' ', "ID", trace_alloc_grammar, &id) ||
        reader_number(in, &rest, ' ', "BYTES", trace_alloc_grammar, &bytes) ||
        reader_number(in, &rest, ' ', "STREAM", trace_alloc_grammar, &on_stream)) {
        return -1;
    }
    if (slice_take(&rest, ' ', &tag) && trace_word(in, tag, "TAG", trace_alloc_grammar)) {
        return -1;
    }
    if (reader_end_of_line(in, rest, trace_alloc_grammar)) {
        return -1;
    }
    return reader_alloc(in, id, shown, bytes, on_stream, tag);
}

static const char trace_free_grammar[] = "`f ID [STREAM]`";

static int trace_free(reader *in, slice rest)
{
    id_entry *entry;
    uint64_t on_stream = 0;
    if (trace_live_id(in, &rest, trace_free_grammar, &entry)) {
        return -1;
    }
    int names_stream = rest.bytes != NULL;
    if (names_stream && reader_number(in, &rest, ' ', "STREAM", trace_free_grammar, &on_stream)) {
        return -1;
    }
    if (reader_end_of_line(in, rest, trace_free_grammar)) {
        return -1;
    }
    return names_stream ? reader_free_on(in, entry, on_stream) : reader_free(in, entry);
}

static const char trace_step_grammar[] = "`s LABEL`";

static int trace_step(reader *in, slice rest)
{
    slice label;
    if (reader_field(in, &rest, ' ', "LABEL", trace_step_grammar, &label) ||
        trace_word(in, label, "LABEL", trace_step_grammar) || reader_end_of_line(in, rest, trace_step_grammar)) {
        return -1;
    }
    return stream_step(in->builder, label);
}

static const char trace_kernel_grammar[] = "`k STREAM NANOSECONDS [ID..]`";

static int trace_kernel(reader *in, slice rest)
{
    uint64_t on_stream, duration_ns;
    if (reader_number(in, &rest, ' ', "STREAM", trace_kernel_grammar, &on_stream) ||
        reader_number(in, &rest, ' ', "NANOSECONDS", trace_kernel_grammar, &duration_ns) ||
        stream_kernel(in->builder, on_stream, duration_ns)) {
        return -1;
    }
    while (rest.bytes) {
        id_entry *entry;
        if (trace_live_id(in, &rest, trace_kernel_grammar, &entry) || stream_touch(in->builder, entry->value)) {
            return -1;
        }
    }
    return 0;
}

static const char trace_wait_grammar[] = "`w STREAM STREAM2`";

static int trace_wait(reader *in, slice rest)
{
    uint64_t on_stream, for_stream;
    if (reader_number(in, &rest, ' ', "STREAM", trace_wait_grammar, &on_stream) ||
        reader_number(in, &rest, ' ', "STREAM2", trace_wait_grammar, &for_stream) ||
        reader_end_of_line(in, rest, trace_wait_grammar)) {
        return -1;
    }
    return stream_wait(in->builder, on_stream, for_stream);
}

static int trace_operation(reader *in, slice line)
{
    static const struct { char letter; int (*read)(reader *in, slice rest); } kinds[] = {
        { 'a', trace_alloc }, { 'f', trace_free }, { 's', trace_step }, { 'k', trace_kernel }, { 'w', trace_wait }
    };
    slice rest = line, kind;
    slice_take(&rest, ' ', &kind);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && kind.length == 1; i++) {
        if (kind.bytes[0] == kinds[i].letter) {
            return kinds[i].read(in, rest);
        }
    }
    return stream_refuse(in->builder, "%s, expected a line that begins with a, f, s, k, w or #",
                         slice_show(line).text);
}

static int trace_line(reader *in, slice line)
{
    if (in->builder->line == 1) {
        return slice_is(line, "gpuarena-trace 1")
               ? 0 : stream_refuse(in->builder, "%s, expected \"gpuarena-trace 1\"", slice_show(line).text);
    }
    return slice_begins(line, "#") ? 0 : trace_operation(in, line);
}

static int trace_read(reader *in)
{
    slice line;
    int found;
    while ((found = reader_line(in, &line)) > 0) {
        if (trace_line(in, line)) {
            return -1;
        }
    }
    return found;
}

static int trace_recognises(slice first_line)
{
    return slice_begins(first_line, "gpuarena-trace");
}

const replay_format replay_trace = { "gpuarena-trace 1", trace_recognises, trace_read };
