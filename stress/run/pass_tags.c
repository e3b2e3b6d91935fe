/* The thread's scope of tags around an allocation.
   It must not know workloads, rows or reports.
   Tested by tests/tags.t. */
#include "pass_tags.h"

gpuarena_result pass_tags_alloc(pass_clock *clock, const op_stream *from, const op *next, void **ptr,
                                gpuarena_stream stream)
{
    int is_tagged = from->tags && clock->pool->arena && !clock->pool->is_disturbed && !clock->timing;
    uint32_t label = is_tagged ? from->tags[next->first] : 0;
    if (!label) return pass_clock_alloc(clock, ptr, next->value, stream);
    uint32_t before = gpuarena_tag_scope(gpuarena_tag(from->labels[label - 1]));
    gpuarena_result result = pass_clock_alloc(clock, ptr, next->value, stream);
    gpuarena_tag_scope(before);
    return result;
}
