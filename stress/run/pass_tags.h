/* An allocation of a pass by the tag that its stream has for it, so that refusals tell what is live by tag.
   It must not know workloads, rows or reports. Tested by tests/tags.t. */
#ifndef STRESS_RUN_PASS_TAGS_H
#define STRESS_RUN_PASS_TAGS_H

#include "pass_clock.h"
#include "../workload/workload.h"

/* pass_clock_alloc, whose result it is. Timing passes have no tags, which would be measured, too; nor have arenas
   with caches, which serve no tagged block, or labels that are no names of tags or beyond GPUARENA_TAGS. */
gpuarena_result pass_tags_alloc(pass_clock *clock, const op_stream *from, const op *next, void **ptr,
                                gpuarena_stream stream);

#endif
