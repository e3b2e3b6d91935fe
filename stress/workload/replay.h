/* The formats that `replay:` reads: one row here and in replay.c each. A format is recognised by its first line.
   They must not know of files: they get the whole text.
   Tested by tests/test_workload_replay.c. */
#ifndef STRESS_WORKLOAD_REPLAY_H
#define STRESS_WORKLOAD_REPLAY_H

#include <stdio.h>

#include "family.h"
#include "reader.h"

typedef struct replay_format {
    const char *first_line;                      /* for messages */
    int (*recognises)(slice first_line);         /* without newline and carriage return */
    int (*read)(reader *in);                     /* from the first line on; 0, or -1 with a problem */
} replay_format;

extern const replay_format replay_trace, replay_rmm, replay_intervals;

typedef struct replay_content { char *bytes; size_t length; } replay_content;      /* whoever has it frees bytes */

/* The rest of a file, up to READER_MAX_FILE_BYTES, at most once into the same. All: 0, or -1 with a problem. */
int replay_fill(FILE *file, replay_content *into, stream_builder *builder);

/* A snapshot of PyTorch by its name, .pickle or .pkl: its trace, by python3. */
int replay_is_snapshot(const char *path);
int replay_convert(const char *path, replay_content *into, stream_builder *builder);
/* Says the command that makes a trace of it. Returns -1. */
int replay_refuse_snapshot(const char *path, const char *obstacle, stream_builder *builder);

#endif
