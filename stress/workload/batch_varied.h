/* A workload one of whose options is varied: made with a value, and which values there are at all.
   It must not know of policies or devices. */
#ifndef STRESS_WORKLOAD_BATCH_VARIED_H
#define STRESS_WORKLOAD_BATCH_VARIED_H

#include "workload.h"

typedef struct batch_varied {
    const char      *spec;                       /* one workload, without that option */
    workload_options options;
    workload_key     key;
} batch_varied;

/* key NULL: the workload's own. -1 and EXIT_USAGE: several joined by '+', and as workload_vary does. */
int batch_varied_begin(batch_varied *self, const char *spec, const workload_options *options, const char *key,
                       problem *why);
/* The workload with this value, up to where more than so many bytes are live, 0: all. 0, or -1 and a problem. */
int batch_varied_make(const batch_varied *self, uint64_t value, uint64_t most_bytes, op_stream *stream, problem *why);
/* Where a workload's other options forbid the lowest value, or it is 0 and then nothing is allocated: key.lowest goes
   up to the first that there is. -1 and EXIT_USAGE: there is none, as the lowest says; EXIT_HARNESS. */
int batch_varied_lowest(batch_varied *self, problem *why);
/* Behind batch_varied_lowest. -1 and EXIT_USAGE: the larger the option the less is requested, so that there is no
   largest to find; EXIT_HARNESS. */
int batch_varied_grows(const batch_varied *self, problem *why);

#endif
