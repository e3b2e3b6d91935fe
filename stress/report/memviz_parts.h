/* What the files of memviz share.
   Knows nothing of pickles. Tested by tests/timelines.t. */
#ifndef STRESS_REPORT_MEMVIZ_PARTS_H
#define STRESS_REPORT_MEMVIZ_PARTS_H

#include "../result/record.h"

typedef struct memviz_segment {
    uint64_t offset, bytes;
    size_t   order;
    int      comes, is_mapped;                   /* is_mapped: pages, else cudaMalloc's */
} memviz_segment;

/* Held at the end of the record, by offset; free them. NULL: no host memory. */
memviz_segment *memviz_segments(const record *drawn, size_t *count);

#endif
