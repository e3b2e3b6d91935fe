/* Lines, fields, numbers and live ids of a trace, each with the message for what is wrong with it.
   Must not know of any one format, nor of policies and devices.
   Tested by tests/test_workload_replay.c. */
#include "reader.h"

#include <inttypes.h>

int reader_line(reader *in, slice *line)
{
    if (in->rest.length == 0) {
        return 0;
    }
    in->builder->line++;
    slice_take(&in->rest, '\n', line);
    if (line->length > READER_MAX_LINE_BYTES) {
        return stream_refuse(in->builder, "a line of %zu bytes, expected at most %d", line->length,
                             (int)READER_MAX_LINE_BYTES);
    }
    if (!in->rest.bytes) {
        return stream_refuse(in->builder, "%s is cut off, expected a newline at its end", slice_show(*line).text);
    }
    if (line->length > 0 && line->bytes[line->length - 1] == '\r') {
        line->length--;
    }
    return 1;
}

int reader_field(reader *in, slice *rest, char separator, const char *name, const char *grammar, slice *field)
{
    if (!slice_take(rest, separator, field)) {
        return stream_refuse(in->builder, "the line ends before %s, expected %s", name, grammar);
    }
    return 0;
}

int reader_number(reader *in, slice *rest, char separator, const char *name, const char *grammar, uint64_t *number)
{
    slice field;
    if (reader_field(in, rest, separator, name, grammar, &field)) {
        return -1;
    }
    if (!slice_decimal(field, number)) {
        return stream_refuse(in->builder, "%s is %s, expected a decimal number below 2^64 in %s", name,
                             slice_show(field).text, grammar);
    }
    return 0;
}

int reader_end_of_line(reader *in, slice rest, const char *grammar)
{
    if (rest.bytes) {
        return stream_refuse(in->builder, "%s after the last field, expected %s", slice_show(rest).text, grammar);
    }
    return 0;
}

int reader_alloc(reader *in, uint64_t id, slice shown, uint64_t bytes, uint64_t on_stream, slice tag)
{
    id_entry *entry = id_map_add(&in->ids, id);
    if (!entry) {
        return stream_no_memory(in->builder);
    }
    if (entry->state == ID_LIVE) {
        return stream_refuse(in->builder, "%s is live since line %" PRIu64 ", expected its free before this",
                             slice_show(shown).text, entry->line);
    }
    entry->state = ID_LIVE;
    entry->line = in->builder->line;
    return stream_alloc(in->builder, id, bytes, on_stream, tag, &entry->value);
}

int reader_live(reader *in, uint64_t id, slice shown, id_entry **entry)
{
    *entry = id_map_find(&in->ids, id);
    if (!*entry) {
        return stream_refuse(in->builder, "%s was never allocated, expected a live block", slice_show(shown).text);
    }
    if ((*entry)->state == ID_FREED) {
        return stream_refuse(in->builder, "%s is free already, since line %" PRIu64 ", expected a live block",
                             slice_show(shown).text, (*entry)->line);
    }
    return 0;
}

int reader_free(reader *in, id_entry *entry)
{
    entry->state = ID_FREED;
    entry->line = in->builder->line;
    return stream_free(in->builder, entry->value);
}

int reader_free_on(reader *in, id_entry *entry, uint64_t on_stream)
{
    entry->state = ID_FREED;
    entry->line = in->builder->line;
    return stream_free_on(in->builder, entry->value, on_stream);
}
