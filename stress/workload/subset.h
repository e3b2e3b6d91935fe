/* A part of an op stream that is an op stream itself: what is left out takes all that needs it along.
   It must not know why anything is left out. Tested by tests/test_shrink.c. */
#ifndef STRESS_WORKLOAD_SUBSET_H
#define STRESS_WORKLOAD_SUBSET_H

#include "stream.h"

/* keep: by operation of `from`, of which the first op_count count; frees of what is left out go, too. Kernels touch
   what is left. Ids, tags and labels stay, so that it can be written; one thread makes all. Fills *made, to be freed
   by op_stream_free. -1 and a problem, EXIT_HARNESS; *made is then empty. */
int op_stream_subset(const op_stream *from, const unsigned char *keep, size_t op_count, op_stream *made,
                     problem *why);

#endif
