/* The formats that `replay:` reads: one row here and in replay.c each. A format is recognised by its first line.
   They must not know of files: they get the whole text.
   Tested by tests/test_workload_replay.c. */
#ifndef STRESS_WORKLOAD_REPLAY_H
#define STRESS_WORKLOAD_REPLAY_H

#include "family.h"
#include "reader.h"

typedef struct replay_format {
    const char *first_line;                      /* for messages */
    int (*recognises)(slice first_line);         /* without newline and carriage return */
    int (*read)(reader *in);                     /* from the first line on; 0, or -1 with a problem */
} replay_format;

extern const replay_format replay_trace, replay_rmm, replay_intervals;

#endif
