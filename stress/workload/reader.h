/* What the readers of all trace formats share: lines, fields, numbers and live ids, each with its message.
   It must not know of any one format, nor of policies and devices. Nothing recurses; every loop consumes text.
   Tested by tests/test_workload_replay.c. */
#ifndef STRESS_WORKLOAD_READER_H
#define STRESS_WORKLOAD_READER_H

#include "stream.h"

/* Longer lines and larger files are refused. */
enum { READER_MAX_LINE_BYTES = 1 << 20, READER_MAX_FILE_BYTES = 1 << 29 };

typedef struct reader {
    stream_builder *builder;                     /* its line is the reader's */
    slice  rest;                                 /* unread text */
    id_map ids;
} reader;

/* 1: *line is the next one, without its newline and the carriage return that may stand before it. 0: there is none.
   -1: it is too long, or has no newline: whoever wrote it may have been cut off. */
int reader_line(reader *in, slice *line);

/* Takes the next field off *rest. `name` and `grammar` are for the message when there is none. */
int reader_field(reader *in, slice *rest, char separator, const char *name, const char *grammar, slice *field);
int reader_number(reader *in, slice *rest, char separator, const char *name, const char *grammar, uint64_t *number);
int reader_end_of_line(reader *in, slice rest, const char *grammar);

/* Ids as the text names them: an id is allocated while not live, freed and touched while live. `shown` is its text.
   */
int reader_alloc(reader *in, uint64_t id, slice shown, uint64_t bytes, uint64_t on_stream, slice tag);
int reader_live(reader *in, uint64_t id, slice shown, id_entry **entry);
int reader_free(reader *in, id_entry *entry);
int reader_free_on(reader *in, id_entry *entry, uint64_t on_stream);

#endif
