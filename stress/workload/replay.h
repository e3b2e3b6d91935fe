/* The formats that `replay:` reads: one row here and in replay.c each. A format is recognised by its first line.
   They must not know of files: they get the whole text. */
#ifndef STRESS_WORKLOAD_REPLAY_H
#define STRESS_WORKLOAD_REPLAY_H

#include <stdio.h>

#include "family.h"
#include "stream.h"

/* ---- What the readers of all trace formats share: lines, fields, numbers and live ids, each with its message */

/* Longer lines and larger files are refused. */
enum { READER_MAX_LINE_BYTES = 1 << 20, READER_MAX_FILE_BYTES = 1 << 29 };

typedef struct reader {
    stream_builder *builder;                     /* its line is the reader's */
    slice  rest;                                 /* unread text */
    id_map ids;
} reader;

typedef struct replay_format {
    const char *first_line;                      /* for messages */
    int (*recognises)(slice first_line);         /* without newline and carriage return */
    int (*read)(reader *in);                     /* from the first line on; 0, or -1 with a problem */
} replay_format;

extern const replay_format replay_trace, replay_rmm, replay_intervals;

typedef struct replay_content { char *bytes; size_t length; } replay_content;      /* whoever has it frees bytes */

#endif
