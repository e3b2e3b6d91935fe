/* Reads the CSV logs of RMM's logging_resource_adaptor, from 2019 to today; pointers are ids, rows are in order.
   Must not know of files, nor look at times and threads.
   Tested by tests/test_workload_replay.c. */
#include "replay.h"

#include <inttypes.h>

typedef struct rmm_layout {
    const char *header;
    size_t      columns, action, pointer, size, stream;              /* how many, and where */
} rmm_layout;

/* RMM 0.15 and later; up to 0.14; the CNMeM-based RMM of 2019. */
static const rmm_layout rmm_layouts[] = {
    { "Thread,Time,Action,Pointer,Size,Stream", 6, 2, 3, 4, 5 },
    { "Time,Action,Pointer,Size,Stream", 5, 1, 2, 3, 4 },
    { "Event Type,Device ID,Address,Stream,Size (bytes),Free Memory,Total Memory,Current Allocs,Start,End,Elapsed,"
      "Location",
      12, 0, 2, 4, 3 }
};

typedef enum rmm_action { RMM_ALLOCATE, RMM_FREE, RMM_FAILURE } rmm_action;

typedef struct rmm_row {
    rmm_action action;
    slice      pointer_text;
    uint64_t   pointer;                          /* 0: (nil), 0x0 */
    uint64_t   bytes, stream;
} rmm_row;

static const rmm_layout *rmm_find_layout(slice header)
{
    for (size_t i = 0; i < sizeof rmm_layouts / sizeof rmm_layouts[0]; i++) {
        if (slice_is(header, rmm_layouts[i].header)) {
            return &rmm_layouts[i];
        }
    }
    return NULL;
}

static int rmm_read_action(reader *in, slice text, rmm_row *row)
{
    static const struct { const char *word; rmm_action action; } actions[] = {
        { "allocate", RMM_ALLOCATE }, { "free", RMM_FREE }, { "deallocate", RMM_FREE },
        { "allocate failure", RMM_FAILURE }, { "Alloc", RMM_ALLOCATE }, { "Free", RMM_FREE }
    };
    for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++) {
        if (slice_is(text, actions[i].word)) {
            row->action = actions[i].action;
            return 0;
        }
    }
    return stream_refuse(in->builder, "Action is %s, expected allocate, free, deallocate or allocate failure",
                         slice_show(text).text);
}

static int rmm_read_pointer(reader *in, slice text, rmm_row *row)
{
    row->pointer = 0;
    row->pointer_text = text;
    if (slice_is(text, "(nil)") || slice_hexadecimal(text, &row->pointer)) {
        return 0;
    }
    return stream_refuse(in->builder, "Pointer is %s, expected a 0x hexadecimal number below 2^64, or (nil)",
                         slice_show(text).text);
}

/* 0, 0x0 and 0x1 (cudaStreamLegacy) are one stream. Handles are taken as numbers. */
static int rmm_read_stream(reader *in, slice text, rmm_row *row)
{
    if (!slice_hexadecimal(text, &row->stream) && !slice_decimal(text, &row->stream)) {
        return stream_refuse(in->builder, "Stream is %s, expected a decimal or 0x hexadecimal number below 2^64",
                             slice_show(text).text);
    }
    row->stream = row->stream == 1 ? 0 : row->stream;
    return 0;
}

static int rmm_read_size(reader *in, slice text, rmm_row *row)
{
    if (!slice_decimal(text, &row->bytes)) {
        return stream_refuse(in->builder, "Size is %s, expected a decimal number below 2^64", slice_show(text).text);
    }
    return 0;
}

static int rmm_read_row(reader *in, const rmm_layout *layout, slice line, rmm_row *row)
{
    slice field;
    for (size_t column = 0; column < layout->columns; column++) {
        if (reader_field(in, &line, ',', "its last column", layout->header, &field)) {
            return -1;
        }
        if ((column == layout->action && rmm_read_action(in, field, row)) ||
            (column == layout->pointer && rmm_read_pointer(in, field, row)) ||
            (column == layout->size && rmm_read_size(in, field, row)) ||
            (column == layout->stream && rmm_read_stream(in, field, row))) {
            return -1;
        }
    }
    return reader_end_of_line(in, line, layout->header);
}

/* A request that failed when the log was written is asked for again, and given back at once: whether this policy
   could have served it is what the replay is for. Its id is 0, which no live block of a log has. */
static int rmm_failure(reader *in, const rmm_row *row)
{
    slice no_tag = { NULL, 0 };
    uint32_t block;
    if (stream_alloc(in->builder, 0, row->bytes, row->stream, no_tag, &block)) {
        return -1;
    }
    return stream_free_on(in->builder, block, row->stream);
}

/* Null pointers are allocations of no bytes, and their frees: there is nothing to replay. The size of a free is not
   compared with its allocation's: CNMeM wrote 0, and RMM's pools go by what they know themselves. */
static int rmm_apply(reader *in, const rmm_row *row)
{
    slice no_tag = { NULL, 0 };
    id_entry *entry;
    if (row->action == RMM_FAILURE) {
        return rmm_failure(in, row);
    }
    if (row->pointer == 0 && row->action == RMM_ALLOCATE && row->bytes > 0) {
        return stream_refuse(in->builder, "Pointer is %s for %" PRIu64 " bytes, expected an address",
                             slice_show(row->pointer_text).text, row->bytes);
    }
    if (row->pointer == 0) {
        return 0;
    }
    if (row->action == RMM_ALLOCATE) {
        return reader_alloc(in, row->pointer, row->pointer_text, row->bytes, row->stream, no_tag);
    }
    if (reader_live(in, row->pointer, row->pointer_text, &entry)) {
        return -1;
    }
    return reader_free_on(in, entry, row->stream);
}

static int rmm_read(reader *in)
{
    slice line;
    rmm_row row;
    int found = reader_line(in, &line);
    const rmm_layout *layout = found > 0 ? rmm_find_layout(line) : NULL;
    while (layout && (found = reader_line(in, &line)) > 0) {
        if (rmm_read_row(in, layout, line, &row) || rmm_apply(in, &row)) {
            return -1;
        }
    }
    return found < 0 ? -1 : 0;
}

static int rmm_recognises(slice first_line)
{
    return rmm_find_layout(first_line) != NULL;
}

const replay_format replay_rmm = { "Thread,Time,Action,Pointer,Size,Stream", rmm_recognises, rmm_read };
