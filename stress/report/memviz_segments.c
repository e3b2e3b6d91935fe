/* What a snapshot says was there at the end: segments of cudaMalloc's that are still held, and runs of mapped pages.
   It must not know the history of blocks.
   Tested by tests/timelines.t. */
#include <stdlib.h>

#include "memviz_parts.h"

static int memviz_compare_offsets(const void *left, const void *right)
{
    const memviz_segment *one = left, *other = right;
    if (one->offset != other->offset) return one->offset < other->offset ? -1 : 1;
    return one->order < other->order ? -1 : one->order > other->order;
}

/* Of each base the latest: held, if it was obtained then. */
static size_t memviz_held(memviz_segment *list, size_t count)
{
    size_t kept = 0;
    qsort(list, count, sizeof *list, memviz_compare_offsets);
    for (size_t at = 0; at < count; at++) {
        int is_last = at + 1 == count || list[at + 1].offset != list[at].offset;
        if (is_last && list[at].comes > 0) list[kept++] = list[at];
    }
    return kept;
}

/* Edges, +1 and -1, become runs that are covered. Each edge takes one place, so that a run fits where its end was. */
static size_t memviz_covered(memviz_segment *edges, size_t count)
{
    size_t kept = 0;
    int depth = 0;
    uint64_t begin = 0;
    qsort(edges, count, sizeof *edges, memviz_compare_offsets);
    for (size_t at = 0; at < count;) {
        uint64_t offset = edges[at].offset;
        int before = depth;
        for (; at < count && edges[at].offset == offset; at++) depth += edges[at].comes;
        if (before <= 0 && depth > 0) begin = offset;
        if (before <= 0 || depth > 0) continue;
        const memviz_segment run = { begin, offset - begin, 0, 1, 1 };
        edges[kept++] = run;
    }
    return kept;
}

static void memviz_take(const record *drawn, memviz_segment *list, size_t *segment_count, memviz_segment *edges,
                        size_t *edge_count)
{
    for (size_t at = 0; at < drawn->change_count; at++) {
        const record_change *change = &drawn->changes[at];
        int comes = change->kind == SIM_CALL_OBTAIN || change->kind == SIM_CALL_VM_MAP ? 1 : -1;
        const memviz_segment first = { change->offset, change->bytes, at, comes, 0 };
        const memviz_segment last = { change->offset + change->bytes, 0, at, -comes, 0 };
        if (change->kind == SIM_CALL_OBTAIN || change->kind == SIM_CALL_GIVE_BACK) {
            list[(*segment_count)++] = first;
        } else {
            edges[(*edge_count)++] = first;
            edges[(*edge_count)++] = last;
        }
    }
}

memviz_segment *memviz_segments(const record *drawn, size_t *count)
{
    size_t held = 0, edge_count = 0;
    memviz_segment *list = calloc(drawn->change_count * 2 + 1, sizeof *list);
    memviz_segment *edges = calloc(drawn->change_count * 2 + 1, sizeof *edges);
    *count = 0;
    if (list && edges) {
        memviz_take(drawn, list, &held, edges, &edge_count);
        held = memviz_held(list, held);
        edge_count = memviz_covered(edges, edge_count);
        for (size_t at = 0; at < edge_count; at++) list[held++] = edges[at];
        qsort(list, held, sizeof *list, memviz_compare_offsets);
        *count = held;
    }
    free(edges);
    return list;
}
